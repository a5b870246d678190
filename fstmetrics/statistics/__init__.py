"""Statistics over scores: significance, correlation, studies of options."""
