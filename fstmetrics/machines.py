"""The compiled form of a metric: a weighted automaton over a space's words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from lattices.arrays import floats, ints
from lattices.engines.automata import (
    FINEST_UNIT,
    Automaton,
    Part,
    explicit,
)
from lattices.errors import OptionError
from lattices.vocabulary import EPSILON_NAME, Vocabulary

if TYPE_CHECKING:
    from lattices.openfst_codec import FstColumns

Relation: TypeAlias = Literal["exact", "bound", "proxy"]
_RELATIONS: tuple[Relation, ...] = ("exact", "bound", "proxy")

#: whole numbers up to here survive a sum of a million in double precision
_LARGEST_WHOLE = 2.0**33
OTHER_NAME = "<other>"


@dataclass(frozen=True, eq=False)
class Machine:
    """A union of automata; the value of a sentence is the best of its parts.

    Attributes
    ----------
    parts : tuple of Part
        Automata with the scale that turns their gain into the metric's value.
    relation : {"exact", "bound", "proxy"}
        How the best value of a sentence relates to the metric: equal to it (or to its
        complement, for an error rate), never below it, or merely like it.

    Examples
    --------
    >>> from fstmetrics import GRR
    >>> from lattices import Vocabulary
    >>> machine = GRR().against(["the cat sat"]).machine(Vocabulary(["cat", "the", "dog"]))
    >>> machine
    <Machine of 16 states, 30 arcs, exact>
    """

    parts: tuple[Part, ...]
    relation: Relation = "exact"

    def __post_init__(self) -> None:
        """Refuse a machine that says nothing."""
        if not self.parts:
            raise OptionError("a machine has at least one part")
        for part in self.parts:
            if not part.denominator > 0:
                raise OptionError(f"a denominator is positive, not {part.denominator}")

    @staticmethod
    def union(machines: Iterable[Machine]) -> Machine:
        """Return the machine whose value is the best of several: one for each reference."""
        several = tuple(machines)
        return Machine(
            tuple(part for machine in several for part in machine.parts),
            max((machine.relation for machine in several), key=_RELATIONS.index),
        )

    def scaled(self, factor: float) -> Machine:
        """Return the machine with every value multiplied by a positive number."""
        if not (math.isfinite(factor) and factor > 0):
            raise OptionError(f"a machine is scaled by a positive number, not {factor}")
        parts = tuple(part._replace(denominator=part.denominator / factor) for part in self.parts)
        return replace(self, parts=parts)

    @cached_property
    def automaton(self) -> Automaton:
        """All parts as one explicit automaton; a gain times :attr:`unit` is a value."""
        pieces = []
        base = 0
        for part in self.parts:
            automaton = explicit(part)
            factor = 1.0 / (part.denominator * self.unit)
            forgotten, kept, lead = automaton.dominated
            pieces.append(
                (
                    automaton.src + base,
                    automaton.dst + base,
                    automaton.label,
                    np.rint(automaton.gain * factor),
                    np.rint(automaton.initial * factor),
                    np.rint((automaton.final + part.bonus) * factor),
                    forgotten + base,
                    kept + base,
                    # rounding may not make a state look more useless than it is
                    np.ceil(lead * factor),
                )
            )
            base += automaton.num_states
        src, dst, label, gain, initial, final, forgotten, kept, lead = (
            np.concatenate(columns) for columns in zip(*pieces, strict=True)
        )
        return Automaton(
            ints(src),
            ints(dst),
            ints(label),
            floats(gain),
            floats(initial),
            floats(final),
            (ints(forgotten), ints(kept), floats(lead)),
        )

    @cached_property
    def unit(self) -> float:
        """The value of one unit of gain of :attr:`automaton`.

        One over the least common multiple of the denominators, so that gains stay whole;
        where that grows too large, or a denominator is no whole number, a fine grid.
        """
        denominators = [part.denominator for part in self.parts]
        if all(denominator.is_integer() for denominator in map(float, denominators)):
            common = math.lcm(*(int(denominator) for denominator in denominators))
            largest = max(
                part.automaton.largest_gain * common / part.denominator for part in self.parts
            )
            if largest <= _LARGEST_WHOLE:
                return 1.0 / common
        return FINEST_UNIT / max(1.0, *denominators)

    def to_fst(self, vocabulary: Vocabulary, *, symbols: bool = False) -> Any:
        """Compile to an OpenFst acceptor over classes of words; costs are negated values.

        A word that the machine knows is its own class, numbered as in the vocabulary; all
        the others are one class, numbered ``len(vocabulary)`` and named ``<other>``. ANY
        is expanded over the classes.

        Parameters
        ----------
        vocabulary : Vocabulary
            The one the machine was made for.
        symbols : bool
            Attach a symbol table with the classes.

        Returns
        -------
        pynini.Fst
        """
        from lattices.openfst_codec import encode
        from lattices.optional import require_pynini

        columns = self.to_columns(vocabulary)
        table = self.symbols(vocabulary, columns) if symbols else None
        return require_pynini().Fst.read_from_string(
            encode(columns, isymbols=table, osymbols=table)
        )

    def to_columns(self, vocabulary: Vocabulary) -> FstColumns:
        """Return the acceptor of :meth:`to_fst` in columns; pynini is not needed."""
        from lattices.engines.openfst import acceptor_columns

        return acceptor_columns(self.automaton, len(vocabulary), self.unit)

    def symbols(self, vocabulary: Vocabulary, columns: FstColumns) -> dict[int, str]:
        """Return the names of the classes that the acceptor reads, and of epsilon.

        Raises
        ------
        OptionError
            If a word of the vocabulary is spelt as one of the names that are no words.
        """
        for name in (EPSILON_NAME, OTHER_NAME):
            if name in vocabulary:
                raise OptionError(f"the word {name!r} is the name of another symbol here")
        other = len(vocabulary)
        numbers = np.unique(columns.ilabel).tolist()
        named = {number: vocabulary.word(number) for number in numbers if 0 < number < other}
        return {0: EPSILON_NAME, **named, other: OTHER_NAME}

    @property
    def num_states(self) -> int:
        """How many states there are, over all parts."""
        return sum(part.automaton.num_states for part in self.parts)

    def __repr__(self) -> str:
        """Return the size and the relation."""
        arcs = len(self.automaton.src)
        return f"<Machine of {self.num_states} states, {arcs} arcs, {self.relation}>"
