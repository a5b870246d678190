"""Small forests as lattices: the second opinion of every engine that searches lattices.

The forest is expanded to the lattice of its derivations, an engine finds the best sentence
there, and the sentence is parsed: of its derivations in the forest, one with the highest model
score is returned. Nothing here is shared with the forest
kernel. Forests that reorder can take exponentially many states, so there is a limit.

The k best or worst sentences of a forest by way of its lattice.

Where a forest has too many matrices, its lattice (:func:`lattices.algorithms.forest_to_lattice`)
may still have few rows; if it has few states.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lattices import _native
from lattices.algorithms.expansion import forest_to_lattice
from lattices.arrays import Array, IntColumn, ints
from lattices.errors import EngineError, SpaceError
from lattices.intersection.automata import Automaton, SearchMachine
from lattices.intersection.engine import Engine, Found
from lattices.intersection.ranked import best_sentences, worst_sentences
from lattices.intersection.rows import MEMORY, RowMachine, lowest_path
from lattices.spaces.forest import Forest
from lattices.spaces.lattice import Lattice
from lattices.vocabulary import Vocabulary

#: the most states of a lattice that a forest is expanded to
MOST_STATES = 100_000


def search_expanded(
    forest: Forest,
    machine: SearchMachine,
    engine: Engine,
    *,
    model_weight: float = 0.0,
    max_states: int | None = None,
) -> Found:
    """Return the best derivation of a forest, found by an engine for lattices.

    The value is the engine's. Where model scores are compared, they are added up along the
    path of the lattice, and sentences whose scores differ by rounding alone may change places.
    Cost: that of :func:`lattices.forest_to_lattice` and of the engine, and O(edges x
    length**2) or more for the parse.

    Parameters
    ----------
    forest : Forest
    machine : SearchMachine
    engine : Engine
    model_weight : float
    max_states : int, optional
        The most states of the lattice, :data:`MOST_STATES` by default.

    Raises
    ------
    EngineError
        If the lattice would have more, or the engine cannot search it.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices.intersection.openfst import ENGINE
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0, 0], [1, "or", 0])])
    >>> machine = WER().against(["a or b"]).machine(forest.vocabulary)
    >>> search_expanded(forest, machine, ENGINE).arcs.tolist()
    [2, 1, 0]
    """
    from lattices.algorithms.expansion import forest_to_lattice

    limit = MOST_STATES if max_states is None else max_states
    plain = replace(forest, features=None, feature_names=())
    try:
        lattice = forest_to_lattice(plain, limit)
    except SpaceError as problem:
        raise EngineError(
            f"forest {forest.id!r} is searched as a lattice here, which would take more than "
            f"{limit} states: prune it, or take the kernel and references that are sentences"
        ) from problem
    answer = engine.can_run(lattice, machine)
    if answer is not True:
        raise EngineError(f"forest {forest.id!r}, as a lattice: {engine.name}: {answer}")
    found = engine.best([lattice], [machine], model_weight=model_weight)[0]
    if found is None:
        raise EngineError(f"forest {forest.id!r}: {engine.name} found no sentence")
    words = [word for word in lattice.label[found.arcs].tolist() if word]
    return Found(found.value, ints(best_parse(forest, words, model_weight < 0)), found.part)


#: a node, and the words of a sentence from one place up to another
_Span = tuple[int, int, int]


class _Parse(NamedTuple):
    """The best derivation of a span: its score, its edge, and the spans of the tails by slot."""

    score: float
    edge: int
    tails: tuple[_Span, ...]


def best_parse(forest: Forest, words: list[int], lowest: bool = False) -> list[int]:
    """Return a derivation of a sentence with the highest model score, or the lowest.

    It is given as edges from the top down.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -2.0), (0, [], ["a"], -1.0)])
    >>> best_parse(forest, [1]), best_parse(forest, [1], lowest=True)
    ([1], [0])
    """
    chart: dict[_Span, _Parse] = {}
    # the ends of all spans of a node, by their beginning
    ends: list[dict[int, list[int]]] = [{} for _ in range(forest.num_nodes)]
    for edge, head in enumerate(forest.head.tolist()):  # tails come before heads
        for (begin, end), parse in _edge_parses(forest, edge, words, chart, ends, lowest).items():
            known = chart.get((head, begin, end))
            if known is None:
                ends[head].setdefault(begin, []).append(end)
            if known is None or _is_better(parse, known, lowest):
                chart[head, begin, end] = parse
    return _edges(chart[forest.root, 0, len(words)], chart)


def _edge_parses(
    forest: Forest,
    edge: int,
    words: list[int],
    chart: dict[_Span, _Parse],
    ends: list[dict[int, list[int]]],
    lowest: bool,
) -> dict[tuple[int, int], _Parse]:
    """Return the best parse by one edge of every span that it can derive."""
    first, last = forest.tail_offset[edge : edge + 2].tolist()
    tails = forest.tail[first:last].tolist()
    nothing: tuple[_Span, ...] = ((-1, 0, 0),) * len(tails)
    score = float(forest.score[edge])
    partial = {(place, place): _Parse(score, edge, nothing) for place in range(len(words) + 1)}
    side = forest.symbol[forest.symbol_offset[edge] : forest.symbol_offset[edge + 1]].tolist()
    for symbol in side:
        grown: dict[tuple[int, int], _Parse] = {}
        for (begin, middle), parse in partial.items():
            if symbol > 0:
                if middle < len(words) and words[middle] == symbol:
                    grown[begin, middle + 1] = parse
                continue
            slot = -1 - symbol
            for end in ends[tails[slot]].get(middle, ()):
                span = (tails[slot], middle, end)
                filled = (*parse.tails[:slot], span, *parse.tails[slot + 1 :])
                longer = _Parse(parse.score + chart[span].score, edge, filled)
                known = grown.get((begin, end))
                if known is None or _is_better(longer, known, lowest):
                    grown[begin, end] = longer
        partial = grown
    return partial


def _is_better(one: _Parse, other: _Parse, lowest: bool) -> bool:
    return one.score < other.score if lowest else one.score > other.score


def _edges(parse: _Parse, chart: dict[_Span, _Parse]) -> list[int]:
    """Return the edges of a parse from the top down."""
    edges: list[int] = []
    waiting = [parse]
    while waiting:
        parse = waiting.pop()
        edges.append(parse.edge)
        waiting.extend(chart[span] for span in reversed(parse.tails))
    return edges


def ranked_lattice_sentences(
    forest: Forest,
    automaton: Automaton,
    k: int,
    model_weight: float,
    budget: int,
    *,
    worst: bool,
    max_states: int,
    words: IntColumn | None = None,
    memory: int = MEMORY,
) -> list[IntColumn] | None:
    """Return the derivations of the ``k`` best or worst sentences, best or worst first.

    None if the lattice has more than ``max_states`` states, or more than ``budget`` pairs of a
    state and a row are needed. The parameters are those of
    :func:`~.forest_rows.ranked_forest_sentences`.

    Examples
    --------
    >>> from fstmetrics import WRR
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["a"], 0.1), (0, [], ["x"]), (0, [], ["y"]), (1, [0, 0], [1, 0])]
    ... )
    >>> automaton = WRR().against(["b a"]).machine(forest.vocabulary).automaton
    >>> found = ranked_lattice_sentences(
    ...     forest, automaton, 2, 0.0, 100, worst=True, max_states=100
    ... )
    >>> sorted(forest.hypothesis(edges).text for edges in found)
    ['a x', 'a y']
    """
    try:
        lattice, said = _expanded(forest, words, max_states)
    except SpaceError:
        return None
    paths: list[IntColumn] | None
    if not worst:
        paths = best_sentences(lattice, automaton, k, model_weight, said)
    elif k > 1:
        rows = RowMachine(automaton, lattice.num_states)
        paths = worst_sentences(lattice, rows, k, model_weight, budget, said, memory=memory)
    else:
        rows = RowMachine(automaton, lattice.num_states)
        lowest = lowest_path(lattice, rows, model_weight=model_weight, budget=budget, memory=memory)
        paths = None if lowest is None else [lowest[1]]
    return None if paths is None else [_derivation(forest, lattice, path) for path in paths]


def _expanded(
    forest: Forest, words: IntColumn | None, max_states: int
) -> tuple[Lattice, IntColumn | None]:
    """Return the lattice of a marked forest, and what its arcs say, if not their labels."""
    if words is None:
        return forest_to_lattice(
            _marked(forest, forest.vocabulary, forest.symbol), max_states
        ), None
    # a label for each pair of what is read and what is said
    spoken = forest.symbol > 0
    pairs, number = np.unique(
        np.stack([forest.symbol[spoken], words[spoken]]), axis=1, return_inverse=True
    )
    symbol = forest.symbol.copy()
    symbol[spoken] = 1 + number.ravel()
    names = Vocabulary(str(pair) for pair in range(pairs.shape[1]))
    lattice = forest_to_lattice(_marked(forest, names, ints(symbol)), max_states)
    read, said = (ints(np.append(0, row)[lattice.label]) for row in pairs)
    relabelled = Lattice(
        vocabulary=forest.vocabulary,
        src=lattice.src,
        dst=lattice.dst,
        label=read,
        score=lattice.score,
        final=lattice.final,
        start=lattice.start,
        features=lattice.features,
        feature_names=lattice.feature_names,
        id=forest.id,
    )
    return relabelled, said


def _marked(forest: Forest, vocabulary: Vocabulary, symbol: IntColumn) -> Forest:
    """Return the forest with a feature for every edge, which its lattice will have on one arc."""
    from scipy.sparse import eye_array

    return Forest(
        vocabulary=vocabulary,
        head=forest.head,
        tail=forest.tail,
        tail_offset=forest.tail_offset,
        symbol=symbol,
        symbol_offset=forest.symbol_offset,
        score=forest.score,
        num_nodes=forest.num_nodes,
        root=forest.root,
        features=eye_array(forest.num_edges, format="csr"),
        feature_names=tuple(map(str, range(forest.num_edges))),
    )


def _derivation(forest: Forest, lattice: Lattice, path: Array) -> IntColumn:
    """Return the derivation that a path of the lattice of a marked forest stands for."""
    marks = lattice.features[path]  # type: ignore[index]
    edges = ints(marks.indices)
    # a lattice that was made from the end has the edges from the top down there
    mirrored = bool(forest.head[edges[0]] != forest.root)
    top_down = ints(edges[::-1]) if mirrored else edges
    return ints(_native.in_tail_order(forest.columns, top_down, mirrored))
