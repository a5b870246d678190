"""The contract of an engine: what it is asked, what it answers, how it chooses among equals.

A problem is a lattice or a forest and a machine. Every engine returns a path, or a derivation, of
the highest value and, among those, of the highest model score (summed from the end of a path; of a
derivation, that of an edge plus what is below it). Beyond that the answer is the same for the same
input, whatever the number of threads, but it is not said which one it is, and engines may differ.

To search is all that an engine must be able to do. Ranking, the k best and the worst sentences, is
an ability that it may have; what is asked of an engine without it is answered by the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from lattices.arrays import IntColumn
from lattices.errors import TooLargeError, argument
from lattices.intersection.automata import SearchMachine
from lattices.limits import MEMORY
from lattices.spaces import Forest, Lattice

#: a space, and the machine that reads its words
Problem: TypeAlias = tuple[Lattice | Forest, SearchMachine]


class Found(NamedTuple):
    """A best path, or a best derivation.

    Attributes
    ----------
    value : float
        What was maximised: the machine's value plus the weighted model score.
    arcs : int32 column
        The path, as indexes of the lattice's arcs; or the derivation, as indexes of the forest's
        edges from the top down, the tails of an edge one after the other.
    part : int
        Which part of the machine the value comes from.
    """

    value: float
    arcs: IntColumn
    part: int


class Ranked(NamedTuple):
    """The k best or worst sentences.

    Attributes
    ----------
    paths : list of int32 columns
        A path or derivation of each sentence, as :attr:`Found.arcs`; best (or worst) first.
    method : str
        How they were found, for reports.
    proven : bool
        Whether there are no better (or worse) ones.
    gap : float or None
        By how much the value of another may surpass that of the first, if something is known.
    """

    paths: list[IntColumn]
    method: str
    proven: bool = True
    gap: float | None = None


def explain_too_large(space: Lattice | Forest, problem: str) -> TooLargeError:
    """Return the error that a search takes too much memory, with what helps."""
    return TooLargeError(
        f"{space.kind} {space.id!r}: {problem}; allow more ({argument('memory')}), prune it, or "
        "cut it into shorter segments"
    )


@contextmanager
def name_space_in_errors(space: Lattice | Forest) -> Iterator[None]:
    """Let memory errors inside the block name the space."""
    try:
        yield
    except TooLargeError as problem:
        raise explain_too_large(space, str(problem)) from None


class TargetSides(NamedTuple):
    """The target sides of a forest's edges in words that differ from what machines read.

    That of edge ``e`` is ``symbol[offset[e]:offset[e + 1]]``, with words and tails as in a forest.
    """

    symbol: IntColumn
    offset: IntColumn


class Engine(Protocol):
    """A way to intersect lattices, forests or both with machines."""

    @property
    def name(self) -> str:
        """The name in the registry."""

    def can_run(self, space: Lattice | Forest, machine: SearchMachine) -> Literal[True] | str:
        """Return True, or the reason why this engine cannot search the space."""

    def best(
        self,
        problems: Sequence[Problem],
        *,
        model_weight: float = 0.0,
        workers: int = 1,
        memory: int = MEMORY,
    ) -> list[Found | None]:
        """Return the best path or derivation of each space, or None where none is complete.

        Its value is the machine's value of its words plus ``model_weight`` times its model score.
        """


@runtime_checkable
class RankingEngine(Engine, Protocol):
    """An engine that also finds the k best and the worst sentences, each once."""

    def k_best(
        self,
        problem: Problem,
        k: int,
        *,
        model_weight: float = 0.0,
        budget: int,
        memory: int = MEMORY,
        words: IntColumn | TargetSides | None = None,
    ) -> Ranked | None:
        """Return the ``k`` sentences of the highest value, or None if that takes too much."""

    def worst(
        self,
        problem: Problem,
        k: int,
        *,
        model_weight: float = 0.0,
        budget: int,
        memory: int = MEMORY,
        words: IntColumn | TargetSides | None = None,
    ) -> Ranked | None:
        """Return the ``k`` sentences of the lowest value, or None if that takes too much."""
