"""Commands that score systems: scores, significance, correlation, studies."""
