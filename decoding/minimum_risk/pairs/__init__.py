"""Scores of pairs of a candidate and a sentence of evidence: all of them, or few, and choices."""
