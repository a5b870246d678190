"""Command line of fstmetrics."""
