"""Commands that read and write search spaces."""
