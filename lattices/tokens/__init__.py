"""Tokens of models and words: posteriors, pieces of words, lexicons and n-gram models."""
