"""Tasks: what commands do with a corpus, a frozen dataclass each, whose results are tables."""
