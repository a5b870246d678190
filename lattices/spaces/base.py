"""Base of lattices, forests and lists: scores, features, and what is known of the segment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any, ClassVar, TypeVar

import numpy as np

from lattices.arrays import Array, FloatColumn, column, floats
from lattices.errors import SpaceError
from lattices.spaces.features import FeatureMatrix, Weights, weight_vector
from lattices.vocabulary import Vocabulary

S = TypeVar("S", bound="SpaceBase")


class SpaceBase:
    """What all kinds of spaces have; a subclass is a frozen dataclass with these fields and more.

    Attributes
    ----------
    kind : {"lattice", "nbest", "forest"}
        The kind, as formats call it.
    """

    kind: ClassVar[str]
    #: columns that :meth:`replaced` takes, beside what is known of the segment
    _scores: ClassVar[tuple[str, ...]] = ("score",)
    #: attributes that are made when they are needed, and made again after pickling
    _made: ClassVar[frozenset[str]] = frozenset(("columns", "feature_columns", "finals"))

    vocabulary: Vocabulary
    score: FloatColumn
    features: FeatureMatrix | None
    feature_names: tuple[str, ...]
    id: str
    source: str
    references: tuple[Any, ...]
    metadata: Mapping[str, Any]

    @property
    def about(self) -> dict[str, Any]:
        """What is known of the segment: ``id``, ``source``, ``references`` and ``metadata``.

        Examples
        --------
        >>> from lattices import Lattice
        >>> Lattice.from_arcs([(0, 1, "a")], finals=[1], id="s1", references=["a b"]).about
        {'id': 's1', 'source': '', 'references': ('a b',), 'metadata': {}}
        """
        return {
            "id": self.id,
            "source": self.source,
            "references": self.references,
            "metadata": self.metadata,
        }

    @classmethod
    def from_normal_form(cls: type[S], **fields: Any) -> S:
        """Return a space of fields that are known to be right: nothing is checked or copied.

        All are needed, also those that the class would have made of the columns.
        """
        space = cls.__new__(cls)
        space.__dict__.update(fields)
        return space

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: all but what is made again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name not in self._made}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Take what was pickled; arrays come out of a pickle writable."""
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value = column(value, value.dtype)
            self.__dict__[name] = value

    def _take_names(self, *names: str) -> None:
        """Make tuples of fields; check the vocabulary, by which all kinds have their words."""
        if not isinstance(self.vocabulary, Vocabulary):
            raise SpaceError(f"'vocabulary' is {self.vocabulary!r:.60}, expected a Vocabulary")
        for name in names:
            try:
                self.__dict__[name] = tuple(getattr(self, name))
            except TypeError as problem:
                raise SpaceError(f"{name!r} is a sequence: {problem}") from problem

    def _take_columns(self, kind: Callable[[Any, str], Array], *names: str) -> None:
        """Make columns of fields, of one dimension."""
        for name in names:
            made = kind(getattr(self, name), repr(name))
            if made.ndim != 1:
                raise SpaceError(f"{name!r} has shape {made.shape}, expected one dimension")
            self.__dict__[name] = made

    def replaced(self: S, **changes: Any) -> S:
        """Return a copy with other scores or metadata; the structure is shared, not checked again.

        ``score`` (of lattices also ``final``), ``id``, ``source``, ``references`` and ``metadata``
        can be changed so.
        """
        allowed = {*self._scores, "id", "source", "references", "metadata"}
        if not allowed.issuperset(changes):
            raise SpaceError(f"only {', '.join(sorted(allowed))} can be replaced")
        result = self.from_normal_form(**self.__getstate__())
        for name in self._scores:
            if name in changes:
                changes[name] = floats(changes[name], repr(name))
                if changes[name].shape != getattr(self, name).shape:
                    raise SpaceError(f"{name!r} has {changes[name].size} entries")
        if "references" in changes:
            changes["references"] = tuple(changes["references"])
        result.__dict__.update(changes)
        if not changes.keys().isdisjoint(self._scores):
            result._check_values()
        return result

    def reweighted(self: S, weights: Weights, *, missing: str = "warn") -> S:
        """Return the space with every score set to ``features @ weights``; the order stays.

        A feature without a weight counts nothing: with one warning, or without a word if
        ``missing`` is ``zero``. It is an error if that is ``error``, or if no feature has a weight.

        Examples
        --------
        >>> from lattices import Forest
        >>> forest = Forest.from_edges([(0, [], ["a"], 0.0, {"lm": -2.0})])
        >>> forest.reweighted({"lm": 0.5}).score.tolist()
        [-1.0]
        """
        return self.replaced(
            score=self._weighable() @ weight_vector(weights, self.feature_names, missing)
        )

    def _weighable(self) -> FeatureMatrix:
        if self.features is None:
            raise SpaceError(f"{self.kind} {self.id!r} has no features to weight")
        return self.features

    def _check_values(self) -> None:
        """Raise SpaceError for values that no space of this kind may have."""
        raise NotImplementedError

    def _check_scores(self, what: str) -> None:
        if not np.isfinite(self.score).all():
            odd = int(np.flatnonzero(~np.isfinite(self.score))[0])
            raise SpaceError(f"{what} {odd} has score {self.score[odd]}, expected a finite number")


#: states or nodes without arcs or edges that a space may have
SPARE = 1_000_000


def check_count(count: int, what: str, edges: int, those: str) -> None:
    """Raise SpaceError for a number of states or nodes out of proportion to the arcs or edges.

    One wrong digit must not ask for all the memory there is.
    """
    check_whole([count], f"the number of {what}")
    if not 0 < count <= SPARE + 2 * edges:
        raise SpaceError(f"{count} {what} for {edges} {those}")


def check_whole(numbers: Iterable[object], what: str) -> None:
    """Raise SpaceError for a number of a state or node that is no whole number."""
    for number in numbers:
        if not isinstance(number, Integral):
            raise SpaceError(f"{what} is a whole number, not {number!r}")
