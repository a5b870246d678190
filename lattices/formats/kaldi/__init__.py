"""Kaldi's archives and script files, and k2's text."""
