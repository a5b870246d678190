"""Statistics of metrics."""
