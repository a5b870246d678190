"""Limits of searches, which everything that searches has for defaults."""

from __future__ import annotations

#: bytes that one search may take: rows, pairs and their arcs, labels
MEMORY = 2 * 10**9
#: bytes that are more than there are, and that native types hold
NO_LIMIT = 2**62
