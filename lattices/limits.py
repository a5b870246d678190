"""Limits of searches, which everything that searches has for defaults."""

from __future__ import annotations

from typing import NamedTuple

#: bytes that one search may take: rows, pairs and their arcs, labels
MEMORY = 2 * 10**9
#: bytes that are more than there are, and that native types hold
NO_LIMIT = 2**62


class Limits(NamedTuple):
    """What a search may take: pairs of a state and a row, or prefixes; and bytes."""

    budget: int
    memory: int = MEMORY
