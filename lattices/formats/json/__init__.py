"""JSON lines, the native format."""
