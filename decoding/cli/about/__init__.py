"""Commands that list formats and metrics, and a demonstration."""
