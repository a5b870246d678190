"""Search graphs of Moses."""
