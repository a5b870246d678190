"""Similarity of words, and the metrics that are made of it."""
