"""Searches and algorithms over lattices and forests."""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class LatticeColumns:
    """The columns of a lattice, checked."""

    def __init__(self, src: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], in_arc: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], in_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], start: int) -> None: ...

class ForestColumns:
    """The columns of a forest, checked."""

    def __init__(self, head: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], tail: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], tail_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], symbol: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], symbol_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], in_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], root: int) -> None: ...

def normal_form(src: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: int) -> tuple[int, Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    Return what a lattice lacks to be in normal form, the order of its arcs, and the arcs into
    and out of its states.
    """

def topological_numbers(src: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], nodes: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], int]:
    """
    Return a number for every node, sources first, and how many could be numbered.
    """

@overload
def inside_scores(space: LatticeColumns, semiring: int, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

@overload
def inside_scores(space: ForestColumns, semiring: int, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Return the sum over all that leads to each node."""

@overload
def outside_scores(space: LatticeColumns, semiring: int, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], inside: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

@overload
def outside_scores(space: ForestColumns, semiring: int, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], inside: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Return the sum over all that completes each node."""

class AutomatonColumns:
    def __init__(self, src: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], initial: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], forgotten: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], kept: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], lead: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def largest_total(self, steps: float) -> float:
        """Return a bound of what any alignment gains or loses."""

    def has_whole_gains(self) -> bool:
        """Tell whether all gains are whole numbers."""

def epsilon_order(states: int, src: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], dst: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """
    Return the states, each after those with an epsilon arc into it, unless there is a cycle.
    """

class AutomatonRows:
    """An automaton, ready to be read by rows."""

    def __init__(self, automaton: AutomatonColumns, narrow: bool) -> None: ...

    def read(self, words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """
        Return the rows before, between and behind the words of a sentence, and what was
        gained with each, then by ending. What is absent is less than -2**29.
        """

    def words(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """Return the words that some arc reads, ascending."""

def row_product(lattice: LatticeColumns, machine: AutomatonRows, pairs: int, bytes: int) -> tuple[float, int, Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]] | None:
    """
    Return the product of a lattice with rows, or None beyond the budget of pairs and bytes:
    the opening gain, the number of rows; state and ending of each pair; source, target,
    origin and gain of each arc.
    """

class LengthGraph:
    """
    Weighted sentences as a graph to walk, every step with its probability and its length.

    Nodes are in topological order, the first one is the start. Edges are grouped by target:
    those into node q are in_offset[q] up to in_offset[q + 1]. An edge has the place of its word
    in words (-1 for none) and the probability of being taken once at its source; a node has the
    probability of ending once there, and the number of words behind it.
    """

    @property
    def words(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def in_offset(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def source(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def word(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def taken(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def stop(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def length(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def nodes(self) -> int:
        """How many nodes there are."""

    @property
    def longest(self) -> int:
        """How many words the longest sentence has."""

def length_graph(lattice: LatticeColumns, scale: float, outside: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> LengthGraph:
    """
    Return a lattice with its states split by the number of words behind them.
    """

def list_graph(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> LengthGraph:
    """
    Return the prefix tree of weighted sentences label[offset[i]:offset[i + 1]].
    """

class AlignmentColumns:
    """Several alignments of one order, ready to be read by rows."""

    def __init__(self, length: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], position: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: int, insertion: float, deletion: float, heaviest: float, narrow: bool) -> None: ...

    def read(self, number: int, words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """
        Return the rows before, between and behind some words (places among those that the
        alignments were made for) under one alignment, and what was gained with each, then by
        ending. What is absent is less than -2**29.
        """

def value_moments(graph: LengthGraph, alignments: AlignmentColumns, constant: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pairs: int, bytes: int, negligible: float) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    Return mean and variance of the value under each alignment, the probability that was not
    followed, and the pairs of a node and a row that there were, -1 beyond the budget.
    """
