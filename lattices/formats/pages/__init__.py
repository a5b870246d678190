"""Pages of text: what recognisers of print and handwriting write, line by line."""
