"""Corpus runs: streamed, parallel, in order, resumable."""
