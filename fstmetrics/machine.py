"""The compiled form of a metric: a weighted automaton over a space's words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.intersection.automata import ANY, Automaton, Part, explicit
from lattices.vocabulary import EPSILON, EPSILON_NAME, Vocabulary

if TYPE_CHECKING:
    from fractions import Fraction

    from lattices.drawing import Svg
    from lattices.formats.openfst.codec import FstColumns

Relation: TypeAlias = Literal["exact", "bound", "proxy"]
_RELATIONS: tuple[Relation, ...] = ("exact", "bound", "proxy")

#: whole numbers up to here survive a sum of a million in double precision
_LARGEST_WHOLE = 2**33
OTHER_NAME = "<other>"
#: gains from here on are shown as what they are worth
_LONGEST_GAIN = 10_000


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
    rounded : bool
        Whether gains were rounded so far that the machine may take a sentence for better than
        another which the metric puts before it: with a cost of 1e-9, say.

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
    rounded: bool = False

    def __post_init__(self) -> None:
        """Refuse a machine that says nothing."""
        if not self.parts:
            raise OptionError("a machine has at least one part")
        for part in self.parts:
            if not 0 < part.denominator < math.inf:
                raise OptionError(f"a denominator is positive and finite, not {part.denominator}")

    @staticmethod
    def union(machines: Iterable[Machine]) -> Machine:
        """Return the machine whose value is the best of several: one for each reference."""
        several = tuple(machines)
        return Machine(
            tuple(part for machine in several for part in machine.parts),
            max((machine.relation for machine in several), key=_RELATIONS.index),
            any(machine.rounded for machine in several),
        )

    @property
    def proves(self) -> bool:
        """Whether the best sentence of the machine is sure to be the metric's."""
        return self.relation == "exact" and not self.rounded

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
        return Automaton(src, dst, label, gain, initial, final, (forgotten, kept, lead))

    @cached_property
    def unit(self) -> float:
        """The value of one unit of gain of :attr:`automaton`.

        One over the least common multiple of the denominators, so that gains stay whole.
        Where the largest gain would pass 2**33 then, as it may with soft matches or costs that
        are no simple fractions, and several references, the unit is the least power of two
        times as large that keeps it below. Gains that were multiples of that power stay
        exact; the others are rounded to the nearest, and are wrong by at most 2**-33 of the
        largest gain. Values nearer to each other than the sum of these errors over a sentence
        may be taken for equal, or change places.
        """
        from fractions import Fraction

        denominators = {float(part.denominator) for part in self.parts}
        common = Fraction(max(denominators))
        exact = all(map(_is_whole, self.parts))
        if len(denominators) > 1:
            exact &= all(denominator.is_integer() for denominator in denominators)
            if exact:
                common = Fraction(math.lcm(*map(int, denominators)))
        # in fractions, for the multiple of many denominators is beyond any float
        bits = _spare_bits(self._largest_value * common)
        # where no grid is exact, the finest is taken
        return float(Fraction(2) ** -(min(0, bits) if exact else bits) / common)

    @property
    def _largest_value(self) -> Fraction:
        """The largest value of one arc, or of beginning or ending, over all parts."""
        from fractions import Fraction

        return max(
            Fraction(_largest_gain(part)) / Fraction(part.denominator) for part in self.parts
        )

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
        from lattices.formats.openfst.codec import encode
        from lattices.optional import require_pynini

        columns = self.to_columns(vocabulary)
        table = self.symbols(vocabulary, columns) if symbols else None
        return require_pynini().Fst.read_from_string(
            encode(columns, isymbols=table, osymbols=table)
        )

    def to_columns(self, vocabulary: Vocabulary) -> FstColumns:
        """Return the acceptor of :meth:`to_fst` in columns; pynini is not needed."""
        from lattices.intersection.openfst import acceptor_columns

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

    def plot(self, vocabulary: Vocabulary | None = None) -> Svg:
        """Return a picture of the machine as SVG: a notebook shows it, ``save(path)`` writes it.

        Arcs are labelled ``word:gain``; ``any`` reads every word, ``ε`` none. Gains are those of
        each part, before the division by its denominator, which is in the legend; where they
        are no small numbers, after it. States of an alignment are named ``i,m``: ``i`` words of
        the reference are behind, the last ``m`` matched in a row. States that no path reaches are
        left out.

        Parameters
        ----------
        vocabulary : Vocabulary, optional
            The one the machine was made for; without it words are shown by their numbers, as
            ``#5``, and so they are in a notebook, which shows machines of up to 300 arcs by
            themselves.

        Raises
        ------
        SpaceError
            If it is too large to be drawn.

        Examples
        --------
        >>> from fstmetrics import WRR
        >>> words = Vocabulary(["the", "cat"])
        >>> picture = WRR().against(["the cat"]).machine(words).plot(words)
        >>> [label in str(picture) for label in ("the:1", "any:−1", "ε:0")]
        [True, True, True]
        """
        from lattices.drawing import Arc, Graph, Node, draw

        nodes: list[Node] = []
        arcs: list[Arc] = []
        hidden = 0
        is_simple = all(_largest_gain(part) < _LONGEST_GAIN for part in self.parts)
        for part in self.parts:
            automaton = explicit(part)
            # runs of matches before the first word, for example, which nothing leads to
            reached = _reached(automaton)
            hidden += automaton.num_states - len(reached)
            number = {state: len(nodes) + place for place, state in enumerate(reached)}
            for state in reached:
                first, last = float(automaton.initial[state]), float(automaton.final[state])
                text, note = _state_text(part, state)
                if first > -math.inf:
                    note += f", initial {first:g}"
                if last > -math.inf:
                    note += f", final {last + part.bonus:g}"
                nodes.append(Node(text, first > -math.inf, last > -math.inf, note))
            for source, target, label, gain in zip(
                automaton.src.tolist(),
                automaton.dst.tolist(),
                automaton.label.tolist(),
                automaton.gain.tolist(),
                strict=True,
            ):
                if source in number:
                    # not minus zero
                    value = (gain if is_simple else gain / part.denominator) + 0.0
                    number_text = f"{value:.4g}".replace("-", "−")
                    named = f"{_label_text(label, vocabulary)}:{number_text}"
                    arcs.append(Arc(number[source], (number[target],), named, is_word=label > 0))
        denominators = dict.fromkeys(f"{part.denominator:g}" for part in self.parts)
        notes = [f"gains are divided by {' and by '.join(denominators)}"] if is_simple else []
        if hidden:
            notes.append(f"{hidden} states that no path reaches are left out")
        title = f"{self.num_states} states, {len(self.automaton.src)} arcs, {self.relation}"
        return draw(Graph(nodes, arcs, title=title, notes=notes))

    def _repr_svg_(self) -> str | None:
        """Return the picture for a notebook, which shows the plain text of what is too large."""
        from lattices.drawing.graph import READABLE

        return str(self.plot()) if len(self.automaton.src) <= READABLE else None


def _reached(automaton: Automaton) -> list[int]:
    """Return the states that a path from an initial one reaches, in order."""
    after: dict[int, list[int]] = {}
    for source, target in zip(automaton.src.tolist(), automaton.dst.tolist(), strict=True):
        after.setdefault(source, []).append(target)
    waiting = np.flatnonzero(automaton.initial > -np.inf).tolist()
    found = set(waiting)
    while waiting:
        for state in after.get(waiting.pop(), ()):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return sorted(found)


def _state_text(part: Part, state: int) -> tuple[str, str]:
    """Return the name of a state of a part, and what it means."""
    aligned = part.automaton
    if isinstance(aligned, Automaton):
        return str(state), f"state {state}"
    run, behind = divmod(state, aligned.length + 1)
    note = f"state {state}: {behind} words of the reference behind"
    if aligned.order == 1:
        return str(behind), note
    return f"{behind},{run}", f"{note}, {run} matched in a row"


def _label_text(label: int, vocabulary: Vocabulary | None) -> str:
    """Return a label of an arc for people."""
    if label == ANY:
        return "any"
    if label == EPSILON:
        return "ε"
    return f"#{label}" if vocabulary is None else vocabulary.word(label)


def _largest_gain(part: Part) -> float:
    """Return the largest gain or cost of one arc, of beginning or of ending."""
    automaton = part.automaton
    if not isinstance(automaton, Automaton):
        match = automaton.heaviest * automaton.order if len(automaton.weight) else 0.0
        return max(match, abs(automaton.insertion), abs(automaton.deletion), abs(part.bonus))
    ends = np.concatenate([automaton.initial, automaton.final + part.bonus])
    return max(automaton.largest_gain, float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0)))


def _is_whole(part: Part) -> bool:
    """Tell whether all gains of a part are whole numbers."""
    automaton = part.automaton
    if isinstance(automaton, Automaton):
        ends = np.concatenate([automaton.initial, automaton.final + part.bonus])
        gains = np.concatenate([automaton.gain, ends[np.isfinite(ends)]])
    else:
        costs = (automaton.insertion, automaton.deletion, automaton.heaviest, part.bonus)
        gains = np.concatenate([automaton.weight, costs])
    return bool((gains == np.rint(gains)).all())


def _spare_bits(gain: Fraction) -> int:
    """Return by how many bits a gain may still grow; negative if it is too large already."""
    from fractions import Fraction

    ratio = gain / _LARGEST_WHOLE
    bits = ratio.denominator.bit_length() - ratio.numerator.bit_length()
    # off by one at most: the quotient of two numbers of equal length is below 2
    return bits if ratio * Fraction(2) ** bits <= 1 else bits - 1
