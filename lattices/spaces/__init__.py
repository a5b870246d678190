"""Search spaces: lattices, forests and n-best lists, frozen and columnar."""

from __future__ import annotations

from typing import TypeAlias

from lattices.spaces.forest import Forest
from lattices.spaces.hypothesis import Hypothesis
from lattices.spaces.lattice import Lattice
from lattices.spaces.nbest import NBest

Space: TypeAlias = Lattice | NBest | Forest

__all__ = ["Forest", "Hypothesis", "Lattice", "NBest", "Space"]
