"""What the decoder said: search spaces, their files, and exact algorithms over them."""

from __future__ import annotations

from lattices.errors import Error, FormatError, OptionError, SpaceError
from lattices.spaces import Hypothesis, Lattice, NBest, Space
from lattices.vocabulary import Vocabulary

__all__ = [
    "Error",
    "FormatError",
    "Hypothesis",
    "Lattice",
    "NBest",
    "OptionError",
    "Space",
    "SpaceError",
    "Vocabulary",
]
