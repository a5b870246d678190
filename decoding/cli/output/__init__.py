"""Output of commands: lines for a segment, tables for a corpus."""
