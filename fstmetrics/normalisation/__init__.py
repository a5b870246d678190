"""Text made alike before it is compared: case, punctuation, spellings, numbers."""
