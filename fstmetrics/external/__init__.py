"""Metrics and tokenisers of other packages."""
