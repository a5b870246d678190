"""The command ``fstmetrics train`` and what it reads and writes."""
