"""Small forests as lattices: for engines that search no forests, and for long sentences.

The forest is expanded to the lattice of its derivations, an engine finds the best sentence
there, and the sentence is parsed: of its derivations in the forest, one with the highest model
score is returned. Nothing here is shared with the forest
kernel. Forests that reorder can take exponentially many states, so there is a limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from lattices.algorithms.expansion import to_lattice
from lattices.arrays import ints
from lattices.errors import EngineError, SpaceError
from lattices.intersection.automata import SearchMachine
from lattices.intersection.engine import Engine, Found
from lattices.limits import MEMORY
from lattices.spaces.forest import Forest
from lattices.spaces.lattice import Lattice

#: the most states of a lattice that a forest is expanded to
MOST_STATES = 100_000


def search_as_lattice(
    engine: Engine,
    forest: Forest,
    machine: SearchMachine,
    *,
    model_weight: float = 0.0,
    memory: int = MEMORY,
) -> Found:
    """Return the best derivation of a forest, found by an engine in the forest's lattice.

    An engine that searches lattices alone can call this for the forests it is given. Cost: that of
    :func:`lattices.to_lattice` and of the engine, and O(edges x length**2) or more for the parse.
    """
    lattice = as_lattice(forest)
    answer = engine.can_run(lattice, machine)
    if answer is not True:
        raise EngineError(f"forest {forest.id!r}, as a lattice: {engine.name}: {answer}")
    found = engine.best([(lattice, machine)], model_weight=model_weight, memory=memory)[0]
    if found is None:
        raise EngineError(f"forest {forest.id!r}: {engine.name} found no sentence")
    words = [word for word in lattice.label[found.arcs].tolist() if word]
    return Found(found.value, ints(best_parse(forest, words, model_weight < 0)), found.part)


def as_lattice(forest: Forest) -> Lattice:
    """Return the lattice of the derivations of a forest, without features; refused if too large."""
    plain = replace(forest, features=None, feature_names=())
    try:
        return to_lattice(plain, MOST_STATES)
    except SpaceError as problem:
        raise EngineError(
            f"forest {forest.id!r} is searched as a lattice here, which would take more than "
            f"{MOST_STATES} states: prune it, take its n-best list, or the kernel and a metric and "
            "references by which it searches forests"
        ) from problem


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
    """
    chart: dict[_Span, _Parse] = {}
    places: dict[int, list[int]] = {}
    for place, word in enumerate(words):
        places.setdefault(word, []).append(place)
    # the ends of all spans of a node, by their beginning
    ends: list[dict[int, list[int]]] = [{} for _ in range(forest.num_nodes)]
    for edge, head in enumerate(forest.head.tolist()):  # tails come before heads
        found = _edge_parses(forest, edge, words, places, chart, ends, lowest)
        for (begin, end), parse in found.items():
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
    places: dict[int, list[int]],
    chart: dict[_Span, _Parse],
    ends: list[dict[int, list[int]]],
    lowest: bool,
) -> dict[tuple[int, int], _Parse]:
    """Return the best parse by one edge of every span that it can derive."""
    first, last = forest.tail_offset[edge : edge + 2].tolist()
    tails = forest.tail[first:last].tolist()
    nothing: tuple[_Span, ...] = ((-1, 0, 0),) * len(tails)
    score = float(forest.score[edge])
    side = forest.symbol[forest.symbol_offset[edge] : forest.symbol_offset[edge + 1]].tolist()
    if not side:
        begins: Iterable[int] = range(len(words) + 1)
    elif side[0] > 0:
        begins = places.get(side[0], ())
    else:
        begins = ends[tails[-1 - side[0]]]
    partial = {(place, place): _Parse(score, edge, nothing) for place in begins}
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
