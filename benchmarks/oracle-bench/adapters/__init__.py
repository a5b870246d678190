"""A file for each tool: what it NEEDS, which tasks it HAS for which files, and ``answer``."""
