"""Dependency metrics: Bllip, and the parses that it reads."""
