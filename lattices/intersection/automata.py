"""Automata that engines search with: over the words of a space, in columns.

An :class:`Automaton` is explicit, arc by arc. An :class:`Alignment` is the automaton of
the edit and n-gram metrics, of which the kernel knows the shape: it is kept as a few
columns and expanded to arcs only for those who ask.

Every gain is a whole number of units. Sums are then exact in any order, a tie is a tie on
every engine, and single precision is enough wherever the totals stay below 2**24.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from lattices._native import (
    AlignmentColumns,
    AlignmentListColumns,
    AutomatonColumns,
    RowAutomatonColumns,
    topological_numbers,
)
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError

#: label of an arc that reads every real word
ANY = -1
#: totals of whole numbers below this are exact in single precision
SINGLE_PRECISION = 2.0**24
#: the finest fraction of a gain that is kept where gains are no simple fractions
FINEST_UNIT = 2.0**-30


@dataclass(frozen=True, eq=False)
class Automaton:
    """An explicit weighted automaton: arcs by word, by ANY or by epsilon, with gains.

    Attributes
    ----------
    src, dst : int32 columns
    label : int32 column
        A number of the vocabulary, 0 for epsilon, :data:`ANY` for every real word.
    gain : float64 column
        Whole numbers of units.
    initial, final : float64 columns, one entry a state
        The gain of beginning or ending there, ``-inf`` where that is not allowed.
    dominated : (s, t, lead)
        Three columns: state ``s`` can be forgotten wherever its gain plus ``lead`` does not exceed
        that of ``t``, because no suffix earns more than ``lead`` better from ``s`` than from ``t``.
    order : int32 column
        Made here: the states, each after those with an epsilon arc into it.
    """

    src: IntColumn
    dst: IntColumn
    label: IntColumn
    gain: FloatColumn
    initial: FloatColumn
    final: FloatColumn
    dominated: tuple[IntColumn, IntColumn, FloatColumn] = field(
        default_factory=lambda: (ints([]), ints([]), floats([]))
    )
    order: IntColumn = field(init=False)

    def __post_init__(self) -> None:
        """Check the columns and order the states along epsilon arcs."""
        put = self.__dict__.__setitem__
        for name in ("src", "dst", "label"):
            put(name, ints(getattr(self, name)))
        for name in ("gain", "initial", "final"):
            put(name, floats(getattr(self, name)))
        forgotten, kept, lead = self.dominated
        put("dominated", (ints(forgotten), ints(kept), floats(lead)))
        states = self.num_states
        if not len(self.src) == len(self.dst) == len(self.label) == len(self.gain):
            raise OptionError("the columns of an automaton differ in length")
        if len(self.initial) != states:
            raise OptionError(f"{len(self.initial)} initial gains for {states} states")
        if len(self.src) and (
            min(self.src.min(), self.dst.min()) < 0 or max(self.src.max(), self.dst.max()) >= states
        ):
            raise OptionError(f"an arc names a state that is not one of 0..{states - 1}")
        if not np.isfinite(self.gain).all():
            raise OptionError("a gain is not finite")
        put("order", ints(self._epsilon_order()))

    def _epsilon_order(self) -> Array:
        silent = np.flatnonzero(self.label == 0)
        number, done = topological_numbers(
            ints(self.src[silent]), ints(self.dst[silent]), self.num_states
        )
        if done < self.num_states:
            raise OptionError("an automaton has a cycle of epsilon arcs")
        return np.argsort(number)

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return len(self.final)

    @property
    def largest_gain(self) -> float:
        """The largest gain or cost of one arc."""
        return float(np.abs(self.gain).max(initial=0.0))

    @cached_property
    def columns(self) -> AutomatonColumns:
        """The automaton as native code takes it: checked once, for any number of searches."""
        return AutomatonColumns(self.row_columns)

    @cached_property
    def row_columns(self) -> RowAutomatonColumns:
        """The columns as rows read them: checked once, for any number of calls."""
        return RowAutomatonColumns(
            self.src,
            self.dst,
            self.label,
            self.gain,
            self.initial,
            self.final,
            self.order,
            *self.dominated,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but what is made again when it is needed."""
        made = ("columns", "row_columns")
        return {name: value for name, value in self.__dict__.items() if name not in made}


@dataclass(frozen=True, eq=False)
class Alignment:
    """The automaton of all alignments to one reference, under k-gram matches up to ``order``.

    States are ``(i, m)``: ``i`` reference words are behind, the last ``m`` of them (at most ``order
    - 1``) matched in a row.

    Attributes
    ----------
    length, order : int
    insertion, deletion : float
        Costs, in units.
    word, position, weight : columns, one entry a possible match
        ``word`` of the vocabulary matches reference word ``position`` (from 0) with ``weight``
        units; several entries for one position make the match soft.
    heaviest : float
        No weight is larger.
    """

    length: int
    order: int
    insertion: float
    deletion: float
    word: IntColumn
    position: IntColumn
    weight: FloatColumn
    heaviest: float

    def __post_init__(self) -> None:
        """Make columns of the matches."""
        self.__dict__.update(
            word=ints(self.word), position=ints(self.position), weight=floats(self.weight)
        )

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return self.order * (self.length + 1)

    @property
    def largest_gain(self) -> float:
        """The largest gain or cost of one arc."""
        return max(self.heaviest * self.order, abs(self.insertion), abs(self.deletion))

    @cached_property
    def columns(self) -> AlignmentColumns:
        """The columns as native code takes them: checked once, for any number of searches."""
        return AlignmentColumns(
            self.length,
            self.order,
            self.insertion,
            self.deletion,
            self.heaviest,
            self.word,
            self.position,
            self.weight,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but what is made again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "columns"}

    @cached_property
    def automaton(self) -> Automaton:
        """The same automaton, arc by arc; state ``(i, m)`` has number ``m * (length + 1) + i``."""
        width, top = self.length + 1, self.order - 1
        position = np.arange(self.length)
        everywhere = np.arange(width)
        silent = np.zeros(self.length, dtype=np.int32)
        columns: list[tuple[Array, Array, Array, Array]] = [
            (position, position + 1, silent, np.full(self.length, -self.deletion)),
            (position, position + 1, silent + ANY, np.zeros(self.length)),
            (everywhere, everywhere, np.full(width, ANY), np.full(width, -self.insertion)),
        ]
        for run in range(self.order):
            here, there = run * width, min(run + 1, top) * width
            columns.append(
                (
                    here + self.position,
                    there + self.position + 1,
                    self.word,
                    (run + 1) * self.weight,
                )
            )
            if run:
                nothing = np.zeros(width)
                columns.append((here + everywhere, everywhere, nothing, nothing))
        src, dst, label, gain = (np.concatenate(parts) for parts in zip(*columns, strict=True))
        initial = np.full(self.num_states, -np.inf)
        final = initial.copy()
        initial[0] = 0.0
        final[self.length] = 0.0  # a run at the end is forgotten first, at no cost
        return Automaton(src, dst, label, gain, initial, final, self._find_dominated())

    def _find_dominated(self) -> tuple[IntColumn, IntColumn, FloatColumn]:
        """Return when a run of matches is no longer worth remembering."""
        if self.order == 1:
            return ints([]), ints([]), floats([])
        place = np.arange(self.length + 1)
        ahead = np.minimum(self.order, self.length - place)
        matches = np.minimum(
            np.arange(self.order)[:, None] + np.arange(1, self.order + 1), self.order
        )
        earned = np.pad(np.cumsum(matches, axis=1), ((0, 0), (1, 0)))
        runs = [
            (run, other)
            for run in range(1, self.order)
            for other in (*range(run + 1, self.order), *range(run))
        ]
        run, other = np.array(runs).T
        lead = self.heaviest * np.maximum(earned[run] - earned[other], 0.0)[:, ahead]
        width = self.length + 1
        forgotten, kept = ((each[:, None] * width + place).ravel() for each in (run, other))
        return ints(forgotten), ints(kept), floats(lead.ravel())


class Part(NamedTuple):
    """One automaton of a machine, with what turns its gain into the metric's value.

    The value of a sentence is ``(gain + bonus) / denominator``.
    """

    automaton: Alignment | Automaton
    denominator: float
    bonus: float = 0.0


class SearchMachine(Protocol):
    """What engines need of a machine: a union of parts, of which the best one counts."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The automata and their scales."""

    @property
    def automaton(self) -> Automaton:
        """All parts as one explicit automaton; a gain times :attr:`unit` is a value."""

    @property
    def unit(self) -> float:
        """The value of one unit of gain of :attr:`automaton`."""


def alignments(machine: SearchMachine) -> list[tuple[AlignmentColumns, float, float]] | None:
    """Return the parts of a machine as native searches of forests take them.

    None if some part is no alignment to a sentence, as that of a reference lattice.
    """
    parts = []
    for part in machine.parts:
        if not isinstance(part.automaton, Alignment):
            return None
        parts.append((part.automaton.columns, part.denominator, part.bonus))
    return parts


def list_columns(alignments: Sequence[Alignment]) -> AlignmentListColumns:
    """Return alignments of one order and with the same costs as native code takes many of them."""
    first = alignments[0]
    return AlignmentListColumns(
        first.order,
        first.insertion,
        first.deletion,
        first.heaviest,
        ints([each.length for each in alignments]),
        ints(np.cumsum([0, *(len(each.word) for each in alignments)])),
        ints(np.concatenate([each.word for each in alignments])),
        ints(np.concatenate([each.position for each in alignments])),
        floats(np.concatenate([each.weight for each in alignments])),
    )


def alignment_of(part: Part) -> Alignment:
    """Return the alignment that a part is."""
    if not isinstance(part.automaton, Alignment):
        raise OptionError("the machine is no alignment to a sentence")
    return part.automaton


def make_explicit(part: Part) -> Automaton:
    """Return the automaton of a part, arc by arc."""
    automaton = part.automaton
    return automaton.automaton if isinstance(automaton, Alignment) else automaton
