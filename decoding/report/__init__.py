"""A page about a corpus: scores, curves, errors, confidences, and every segment to look into."""
