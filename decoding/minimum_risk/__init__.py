"""Minimum-Bayes-risk decoding: the sentence with the best expected metric, by several methods."""
