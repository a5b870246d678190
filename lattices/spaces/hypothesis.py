"""Hypothesis: one sentence of a search space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from lattices.records import PlainRecord

D = TypeVar("D", bound="Deferred")


class Deferred:
    """Something with fields that are made when they are first asked for.

    ``_later`` is the table of a search, the row in it, and what else fields are made of.
    """

    __slots__ = ("_later",)

    #: fields that may be missing
    _deferred: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def defer(cls: type[D], later: tuple[Any, ...], **fields: Any) -> D:
        """Return an object most of whose fields are still in the table."""
        made = object.__new__(cls)
        put = object.__setattr__
        put(made, "_later", later)
        for name, value in fields.items():
            put(made, name, value)
        return made

    if not TYPE_CHECKING:  # the fields are declared by the classes that have them

        def __getattr__(self, name: str) -> Any:
            """Make a field that is still in the columns; Python asks here for what is missing."""
            if name not in self._deferred:
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
            made = self._make(name)
            object.__setattr__(self, name, made)
            return made


@dataclass(frozen=True, slots=True)
class Hypothesis(Deferred, PlainRecord):
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

    _deferred = frozenset(("features", "arcs", "index"))

    tokens: tuple[str, ...]
    score: float = 0.0
    features: Mapping[str, float] = field(default_factory=dict)
    arcs: tuple[int, ...] = ()
    index: int = -1

    if not TYPE_CHECKING:

        def _make(self, name: str) -> Any:
            table, place = self._later
            return -1 if name == "index" else getattr(table, name)(place)

    @property
    def text(self) -> str:
        """The tokens, joined by blanks."""
        return " ".join(self.tokens)

    def to_dict(self) -> dict[str, Any]:
        """Return text, words, model score and features."""
        return {
            "text": self.text,
            "words": list(self.tokens),
            "model_score": self.score,
            "features": dict(self.features),
        }
