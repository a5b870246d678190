"""Oracle extraction: the best, the worst and the k best under a metric."""
