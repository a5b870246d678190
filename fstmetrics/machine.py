"""The compiled form of a metric: a weighted automaton over a space's words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from lattices.arrays import floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.intersection.automata import ANY, Automaton, Part, make_explicit
from lattices.spaces import Forest, Lattice
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
    vocabulary : Vocabulary, optional
        The one the machine was made for: the words that labels are the numbers of.

    Examples
    --------
    >>> from fstmetrics import GRR
    >>> from lattices import Vocabulary
    >>> machine = GRR().against(["the cat sat"]).machine(Vocabulary(["cat", "the", "dog"]))
    >>> machine
    <Machine of 16 states, 30 arcs, exact>

    Printed, it lists states and arcs; ``any`` reads every word, ``ε`` none:

    >>> from fstmetrics import WRR
    >>> print(WRR().against(["the cat"]).machine(Vocabulary(["cat", "the"])))
    <Machine of 3 states, 9 arcs, exact>
    gains are divided by 2; begins in 0; ends in 2
    from  reads  gain  to
    0     ε         0  1
    0     any       0  1
    0     any      -1  0
    0     the       1  1
    1     ε         0  2
    1     any       0  2
    1     any      -1  1
    1     cat       1  2
    2     any      -1  2
    """

    parts: tuple[Part, ...]
    relation: Relation = "exact"
    rounded: bool = False
    vocabulary: Vocabulary | None = None

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
            several[0].vocabulary if several else None,
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
            automaton = make_explicit(part)
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

    def to_fst(self, words: Vocabulary | Lattice | Forest, *, symbols: bool = False) -> Any:
        """Compile to an OpenFst acceptor; costs are negated values, a machine's ANY one arc a word.

        Of a lattice or forest, it reads its words, and no others, by their numbers, so that it
        composes with what :func:`lattices.to_fst` makes of the lattice: the shortest path is an
        oracle. Of a
        vocabulary it is smaller: words that no arc of the machine names are one class, numbered
        ``len(vocabulary)`` and named ``<other>``, to which other words have to be mapped first.

        Weights are in single precision: sums are good to about 1e-6.

        Parameters
        ----------
        words : Lattice, Forest or Vocabulary
            The space that the machine was made for, or its vocabulary. For a metric over
            characters it is the space in characters (:func:`fstmetrics.contract.compile_for`).
        symbols : bool
            Attach a symbol table: of a space all of its vocabulary, as :func:`lattices.to_fst`
            does, of a vocabulary the classes.

        Returns
        -------
        pynini.Fst
            Arcs are sorted by their labels.

        Examples
        --------
        >>> import lattices, pynini
        >>> from fstmetrics import WER
        >>> lattice = lattices.Lattice.from_arcs(
        ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "hat", -0.2), (1, 2, "cat", -0.7)],
        ...     finals=[2],
        ... )
        >>> machine = WER().against(["the cat sat"]).machine(lattice.vocabulary)
        >>> words = lattices.to_fst(lattice, scores=False)
        >>> best = pynini.shortestpath(pynini.compose(words, machine.to_fst(lattice)))
        >>> found = lattices.best(lattices.from_fst(best, lattice.vocabulary))
        >>> found.text, round(found.score, 4)
        ('the cat', 0.6667)
        """
        from lattices.formats.openfst.codec import encode
        from lattices.interop import symbol_table
        from lattices.optional import require_pynini

        columns = self.to_columns(words)
        table = None
        if symbols:
            if isinstance(words, Vocabulary):
                table = self.symbols(words, columns)
            else:
                table = symbol_table(words.vocabulary)
        return require_pynini().Fst.read_from_string(
            encode(columns, isymbols=table, osymbols=table)
        )

    def to_columns(self, words: Vocabulary | Lattice | Forest) -> FstColumns:
        """Return the acceptor of :meth:`to_fst` in columns; pynini is not needed."""
        from lattices.formats.openfst.codec import with_labels
        from lattices.intersection.openfst import acceptor_columns

        if isinstance(words, Vocabulary):
            classes = np.append(np.unique(self.automaton.label), len(words))
            size = len(words) + 1
        else:
            self._check_words_of(words)
            classes = np.unique(words.label if isinstance(words, Lattice) else words.symbol)
            size = len(words.vocabulary)
        columns = acceptor_columns(self.automaton, ints(classes[classes > 0]), self.unit)
        return with_labels(columns, ints(np.arange(size)))

    def _check_words_of(self, space: Lattice | Forest) -> None:
        """Refuse a space in which the machine's labels are numbers of other words."""
        own, other = self.vocabulary, space.vocabulary
        if own is None or own is other:
            return
        for label in np.unique(self.automaton.label).tolist():
            if label > EPSILON and (label >= len(other) or own.word(label) != other.word(label)):
                raise OptionError(
                    f"the machine was made for another vocabulary: its word {label} is "
                    f"{own.word(label)!r}; make it for that of {type(space).__name__.lower()} "
                    f"{space.id!r}"
                )

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

    def __str__(self) -> str:
        """Return the states and arcs of each part in a table, as :meth:`plot` would draw them."""
        tables = [repr(self)]
        for part in self.parts:
            states, arcs = _find_reached(part)
            names = {state: _state_text(part, state)[0] for state in states}
            begins, ends = (
                ", ".join(
                    names[state] + (f" with {gains[state]:g}" if gains[state] else "")
                    for state in states
                    if gains[state] > -math.inf
                )
                for gains in (make_explicit(part).initial, make_explicit(part).final + part.bonus)
            )
            rows = [("from", "reads", "gain", "to")]
            rows += [
                (names[source], _label_text(label, self.vocabulary), f"{gain:g}", names[target])
                for source, target, label, gain in sorted(arcs, key=lambda arc: arc[0])
            ]
            first, second, third = (
                max(map(len, column)) for column in list(zip(*rows, strict=True))[:3]
            )
            tables.append(
                f"gains are divided by {part.denominator:g}; begins in {begins}; ends in {ends}"
            )
            tables += [
                f"{source:{first}}  {reads:{second}}  {gain:>{third}}  {target}"
                for source, reads, gain, target in rows
            ]
        return "\n".join(tables)

    def to_networkx(self) -> Any:
        """Return the machine as a ``networkx.MultiDiGraph``, all parts side by side.

        ============  ======================================================================
        graph         ``relation`` and ``rounded``; ``parts``, a pair of the denominator and the
                      bonus of each
        node          the state's number; ``part``; ``initial`` and ``final``, the gain of
                      beginning and of ending there, where that is allowed
        edge          ``word`` (``""`` for epsilon, None for any word) and ``gain``
        ============  ======================================================================

        Raises
        ------
        OptionError
            If the machine does not know its words: :attr:`vocabulary` is None.

        Examples
        --------
        >>> from fstmetrics import WRR
        >>> words = Vocabulary(["cat", "the"])
        >>> graph = WRR().against(["the cat"]).machine(words).to_networkx()
        >>> graph.graph["parts"], graph.get_edge_data(1, 2)[0]
        ([(2.0, 0.0)], {'word': '', 'gain': 0.0})
        >>> Machine.from_networkx(graph, words)
        <Machine of 3 states, 9 arcs, exact>
        """
        import networkx  # slow to load

        if self.vocabulary is None:
            raise OptionError("the machine does not know its words: its vocabulary is None")
        graph = networkx.MultiDiGraph(
            relation=self.relation,
            rounded=self.rounded,
            parts=[(part.denominator, part.bonus) for part in self.parts],
        )
        words: list[str | None] = ["", *self.vocabulary, None]  # ANY is -1, the last
        for number, part in enumerate(self.parts):
            automaton, base = make_explicit(part), len(graph)
            for state in range(automaton.num_states):
                gains = {"initial": automaton.initial[state], "final": automaton.final[state]}
                finite = {name: float(gain) for name, gain in gains.items() if gain > -math.inf}
                graph.add_node(base + state, part=number, **finite)
            for source, target, label, gain in _arcs(automaton):
                graph.add_edge(base + source, base + target, word=words[label], gain=gain)
        return graph

    @staticmethod
    def from_networkx(graph: Any, vocabulary: Vocabulary) -> Machine:
        """Return the machine of a graph that has the attributes of :meth:`to_networkx`.

        Parameters
        ----------
        graph : networkx.MultiDiGraph or networkx.DiGraph
            Nodes may be anything; one without ``part`` is of the first. Without ``parts`` there is
            one, of denominator 1, and without ``relation`` the machine is a ``proxy``.
        vocabulary : Vocabulary
            Of the space to search; grows by words that it does not have.

        Raises
        ------
        OptionError
            If an edge has no word or leads to another part, a gain is not finite, or edges
            without a word make a cycle.

        Examples
        --------
        >>> import networkx
        >>> graph = networkx.DiGraph()
        >>> graph.add_node("here", initial=0.0, final=0.0)
        >>> graph.add_edge("here", "here", word="cat", gain=1.0)
        >>> print(Machine.from_networkx(graph, Vocabulary()))
        <Machine of 1 states, 1 arcs, proxy>
        gains are divided by 1; begins in 0; ends in 0
        from  reads  gain  to
        0     cat       1  0
        """
        parts = []
        for number, (denominator, bonus) in enumerate(graph.graph.get("parts", [(1.0, 0.0)])):
            nodes = [node for node, data in graph.nodes(data=True) if data.get("part", 0) == number]
            place = {node: state for state, node in enumerate(nodes)}
            src, dst, label, gain = [], [], [], []
            for source, target, data in graph.edges(nodes, data=True):
                word = data.get("word", 0)
                if target not in place or not (word is None or isinstance(word, str)):
                    raise OptionError(
                        f"the edge {source!r} -> {target!r} has the word {word!r}, expected a "
                        "string or None, and a target in the same part"
                    )
                src.append(place[source])
                dst.append(place[target])
                label.append(ANY if word is None else vocabulary.add(word))
                gain.append(data.get("gain", 0.0))
            initial, final = (
                floats([graph.nodes[node].get(name, -math.inf) for node in nodes])
                for name in ("initial", "final")
            )
            automaton = Automaton(ints(src), ints(dst), ints(label), floats(gain), initial, final)
            parts.append(Part(automaton, denominator, bonus))
        about = graph.graph
        return Machine(
            tuple(parts), about.get("relation", "proxy"), about.get("rounded", False), vocabulary
        )

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
            For a machine that does not know its own: without one words are shown by their numbers,
            as ``#5``.

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
        drawn: list[Arc] = []
        hidden = 0
        words = self.vocabulary if vocabulary is None else vocabulary
        is_simple = all(_largest_gain(part) < _LONGEST_GAIN for part in self.parts)
        for part in self.parts:
            automaton = make_explicit(part)
            states, arcs = _find_reached(part)
            hidden += automaton.num_states - len(states)
            number = {state: len(nodes) + place for place, state in enumerate(states)}
            for state in states:
                first, last = float(automaton.initial[state]), float(automaton.final[state])
                text, note = _state_text(part, state)
                if first > -math.inf:
                    note += f", initial {first:g}"
                if last > -math.inf:
                    note += f", final {last + part.bonus:g}"
                nodes.append(Node(text, first > -math.inf, last > -math.inf, note))
            for source, target, label, gain in arcs:
                value = gain if is_simple else gain / part.denominator
                number_text = f"{value:.4g}".replace("-", "−")
                named = f"{_label_text(label, words)}:{number_text}"
                drawn.append(Arc(number[source], (number[target],), named, is_word=label > 0))
        denominators = dict.fromkeys(f"{part.denominator:g}" for part in self.parts)
        notes = [f"gains are divided by {' and by '.join(denominators)}"] if is_simple else []
        if hidden:
            notes.append(f"{hidden} states that no path reaches are left out")
        title = f"{self.num_states} states, {len(self.automaton.src)} arcs, {self.relation}"
        return draw(Graph(nodes, drawn, title=title, notes=notes))

    def _repr_svg_(self) -> str | None:
        """Return the picture for a notebook, which shows the plain text of what is too large."""
        from lattices.drawing.graph import READABLE

        return str(self.plot()) if len(self.automaton.src) <= READABLE else None


def _arcs(automaton: Automaton) -> Iterator[tuple[int, int, int, float]]:
    """Iterate over source, target, label and gain of the arcs."""
    columns = automaton.src, automaton.dst, automaton.label, automaton.gain + 0.0  # not minus zero
    return zip(*(column.tolist() for column in columns), strict=True)


def _find_reached(part: Part) -> tuple[list[int], list[tuple[int, int, int, float]]]:
    """Return the states that a path from an initial one reaches, in order, and their arcs.

    Runs of matches before the first word, for example, have states, and nothing leads to them.
    """
    automaton = make_explicit(part)
    arcs = list(_arcs(automaton))
    after: dict[int, list[int]] = {}
    for source, target, *_ in arcs:
        after.setdefault(source, []).append(target)
    waiting = np.flatnonzero(automaton.initial > -np.inf).tolist()
    found = set(waiting)
    while waiting:
        for state in after.get(waiting.pop(), ()):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return sorted(found), [arc for arc in arcs if arc[0] in found]


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
