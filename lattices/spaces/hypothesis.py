"""One sentence a decoder could have said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Hypothesis:
    """A sentence with what the model says of it.

    Attributes
    ----------
    tokens : tuple of str
        The words, epsilons left out.
    score : float
        The model's log-score, higher is better.
    features : mapping
        Non-zero features by name, summed along the path.
    arcs : tuple of int
        The path through the lattice as indexes of arcs; empty for an n-best entry.
    index : int
        The entry of the n-best list; -1 for a path of a lattice.
    """

    tokens: tuple[str, ...]
    score: float = 0.0
    features: Mapping[str, float] = field(default_factory=dict)
    arcs: tuple[int, ...] = ()
    index: int = -1

    @property
    def text(self) -> str:
        """The tokens, joined by blanks."""
        return " ".join(self.tokens)
