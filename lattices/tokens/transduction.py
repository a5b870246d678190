"""Spaces read by a machine that writes other words: exact, path by path, with the way back.

The machine is a function from its state and a word to the states it may go to and the words it
writes. A state of the resulting lattice is a pair of both states; a node of the resulting forest
is a node with the states of the machine before and after its words. There is one path for every
path of the lattice and every run of the machine over it, and one derivation for every derivation
of the forest, with the same score; what leads nowhere is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import SpaceError
from lattices.spaces import Forest, Lattice
from lattices.spaces.features import make_rows, reorder_rows
from lattices.vocabulary import Vocabulary

Place = TypeVar("Place", bound=Hashable)
#: where the machine goes, the words it writes, and what is to be added to the score
Move: TypeAlias = "tuple[Place, tuple[str, ...], float]"
#: the words that are written at the end, and what is to be added
End: TypeAlias = "tuple[tuple[str, ...], float]"


class Transduced(NamedTuple):
    """What a machine has made of a lattice."""

    # with the scores and features of the original; ``gain`` and ``final_gain`` are not in them
    lattice: Lattice
    # one entry an arc; the arc of the original that was read there, -1 where a word before has more
    # than one word: a path is the path ``origin[path][origin[path] >= 0]`` of the original
    origin: IntColumn
    # what the machine says is to be added
    gain: FloatColumn
    final_gain: FloatColumn


def transduce(
    lattice: Lattice,
    begin: Place,
    moves: Callable[[Place, str], Iterable[Move[Place]]],
    ending: Callable[[Place], End | None],
    vocabulary: Vocabulary,
) -> Transduced:
    """Return the lattice of what a machine writes."""
    numbers: list[dict[Place, int]] = [{} for _ in range(lattice.num_states)]
    numbers[lattice.start][begin] = 0
    under = [lattice.start]  # the state of the original, and 1 for states within chains of words
    within = [0]
    rows: list[tuple[int, int, str, int, float]] = []
    ends: dict[int, float] = {}
    words = lattice.vocabulary.strings
    bounds, targets, labels = (
        part.tolist() for part in (lattice.out_offset, lattice.dst, lattice.label)
    )
    # states are in topological order: all pairs of one are known when its turn comes
    for state in range(lattice.num_states):
        for place, source in list(numbers[state].items()):
            if lattice.final[state] > -np.inf:
                end = ending(place)
                if end is not None:
                    last = source
                    for out in end[0]:
                        rows.append((last, len(under), out, -1, 0.0))
                        last = len(under)
                        under.append(state)
                        within.append(1)
                    ends[last] = end[1]
            for arc in range(bounds[state], bounds[state + 1]):
                word = words[labels[arc]]
                options = moves(place, word) if word else ((place, (), 0.0),)
                for after, written, gain in options:
                    target = numbers[targets[arc]].setdefault(after, len(under))
                    if target == len(under):
                        under.append(targets[arc])
                        within.append(0)
                    last = source
                    origin = arc
                    for out in written[:-1]:
                        rows.append((last, len(under), out, origin, gain))
                        last, origin, gain = len(under), -1, 0.0
                        under.append(state)
                        within.append(1)
                    rows.append((last, target, written[-1] if written else "", origin, gain))
    if not ends:
        raise SpaceError(f"no path of lattice {lattice.id!r} is left")
    return _build(lattice, np.array(under), np.array(within), rows, ends, vocabulary)


def _build(
    lattice: Lattice,
    under: Any,
    within: Any,
    rows: list[tuple[int, int, str, int, float]],
    ends: dict[int, float],
    vocabulary: Vocabulary,
) -> Transduced:
    # in topological order, so that building the lattice changes no order and origins stay
    count = len(under)
    order = np.lexsort((np.arange(count), within, under))
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    src = place[np.array([row[0] for row in rows], np.int64)]
    dst = place[np.array([row[1] for row in rows], np.int64)]
    final = np.zeros(count, bool)
    final[place[list(ends)]] = True

    # only what leads to an end
    alive = final.tolist()
    pairs = sorted(zip(src.tolist(), dst.tolist(), strict=True), reverse=True)
    for source, target in pairs:
        if alive[target]:
            alive[source] = True
    kept_states = np.flatnonzero(alive)
    number = np.full(count, -1)
    number[kept_states] = np.arange(len(kept_states))
    kept = np.flatnonzero((number[src] >= 0) & (number[dst] >= 0))
    kept = kept[np.lexsort((kept, dst[kept], src[kept]))]
    origin = ints(np.array([row[3] for row in rows], np.int64)[kept])
    gain = floats(np.array([row[4] for row in rows])[kept])
    old = under[order][kept_states]
    final = final[kept_states]
    final_gain = np.zeros(len(kept_states))
    for each, extra in ends.items():
        final_gain[number[place[each]]] = extra
    label = vocabulary.add_all(rows[row][2] for row in kept.tolist())
    # a place of -1, the last entry, is overwritten
    score = np.where(origin >= 0, lattice.score[origin], 0.0) if len(origin) else np.empty(0)
    features, last = make_rows(lattice), make_rows(lattice, "final_features")
    made = Lattice(
        vocabulary=vocabulary,
        src=ints(number[src[kept]]),
        dst=ints(number[dst[kept]]),
        label=ints(label),
        score=floats(score),
        final=floats(np.where(final, lattice.final[old], -np.inf)),
        start=0,
        features=None if features is None else reorder_rows(features, origin),
        final_features=(
            None if last is None else reorder_rows(last, ints(np.where(final, old, -1)))
        ),
        feature_names=lattice.feature_names,
        times=None if lattice.times is None else floats(lattice.times[old]),
        **lattice.about,
    )
    return Transduced(made, origin, gain, floats(final_gain))


class TransducedForest(NamedTuple):
    """What a machine has made of a forest."""

    forest: Forest  # with the scores of the original; features, categories and spans stay behind
    # one entry an edge; the edge of the original behind each: ``origin[edges]`` is the derivation
    # of the original
    origin: IntColumn


def transduce_forest(
    forest: Forest,
    begin: Place,
    step: Callable[[Place, str], tuple[Place, tuple[str, ...]]],
    ending: Callable[[Place], tuple[str, ...]],
    vocabulary: Vocabulary,
) -> TransducedForest:
    """Return the forest of what a deterministic machine writes, reading sentences left to right.

    By Bar-Hillel, Perles and Shamir (1961), from the root down: states are made when met.
    """
    runs = _ForestRuns(forest, step).group_by_state(begin)
    # only what the root needs; the nodes of the original are in topological order
    top = (forest.root, begin, begin)
    rows = [
        run._replace(side=(*run.side, *ending(after)))
        for after, some in runs[forest.root, begin].items()
        for run in some
    ]
    needed = {top: rows}
    waiting = [tail for run in rows for tail in run.tails]
    while waiting:
        item = waiting.pop()
        if item not in needed:
            node, before, after = item
            needed[item] = runs[node, before][after]
            waiting += [tail for run in needed[item] for tail in run.tails]
    number = {item: place for place, item in enumerate(sorted(needed, key=lambda item: item[0]))}
    edges = [(head, run) for item, head in number.items() for run in needed[item]]
    sides = [
        [part if isinstance(part, int) else vocabulary.add(part) for part in run.side]
        for _, run in edges
    ]
    origin = ints([run.edge for _, run in edges])
    made = Forest(
        vocabulary=vocabulary,
        head=ints([head for head, _ in edges]),
        tail=ints([number[tail] for _, run in edges for tail in run.tails]),
        tail_offset=ints(np.cumsum([0, *(len(run.tails) for _, run in edges)])),
        symbol=ints([symbol for side in sides for symbol in side]),
        symbol_offset=ints(np.cumsum([0, *map(len, sides)])),
        score=floats(forest.score[origin]),
        num_nodes=len(number),
        root=number[top],
        id=forest.id,
        source=forest.source,
        references=forest.references,
        metadata=forest.metadata,
    )
    return TransducedForest(made, origin)


class _Run(NamedTuple):
    """One way of the machine over an edge: what stands for its tails, and what it writes."""

    edge: int
    tails: tuple[tuple[int, Any, Any], ...]
    side: tuple[str | int, ...]


class _ForestRuns(Generic[Place]):
    """The ways of a machine over the edges of a forest, by node and state before."""

    def __init__(
        self, forest: Forest, step: Callable[[Place, str], tuple[Place, tuple[str, ...]]]
    ) -> None:
        self.step = step
        self.words = forest.vocabulary.strings
        self.root = forest.root
        self.in_offset: list[int] = forest.in_offset.tolist()
        columns = (forest.tail, forest.tail_offset, forest.symbol, forest.symbol_offset)
        self.tail, self.tail_offset, self.symbol, self.symbol_offset = (
            column.tolist() for column in columns
        )
        self.known: dict[tuple[int, Place], dict[Place, list[_Run]]] = {}

    def group_by_state(self, begin: Place) -> dict[tuple[int, Place], dict[Place, list[_Run]]]:
        """Return them by the state after: those of the root, and of all that it needs."""
        # forests are deeper than the stack of Python: a stack of our own, of what is half done
        stack = [self._expand(self.root, begin)]
        while stack:
            wanted = next(stack[-1], None)
            if wanted is None:
                stack.pop()
            elif wanted not in self.known:
                stack.append(self._expand(*wanted))
        return self.known

    def _expand(self, node: int, before: Place) -> Iterator[tuple[int, Place]]:
        """Find the ways over the edges of a node; iterate over what has to be known first."""
        found: dict[Place, list[_Run]] = {}
        for edge in range(self.in_offset[node], self.in_offset[node + 1]):
            tails = self.tail[self.tail_offset[edge] : self.tail_offset[edge + 1]]
            none: tuple[tuple[int, Any, Any], ...] = tuple((each, None, None) for each in tails)
            partial: list[tuple[Place, _Run]] = [(before, _Run(edge, none, ()))]
            for symbol in self.symbol[self.symbol_offset[edge] : self.symbol_offset[edge + 1]]:
                read: list[tuple[Place, _Run]] = []
                for place, run in partial:
                    if symbol > 0:
                        after, written = self.step(place, self.words[symbol])
                        read.append((after, run._replace(side=run.side + written)))
                        continue
                    slot = -1 - symbol
                    if (tails[slot], place) not in self.known:
                        yield tails[slot], place
                    for after in self.known[tails[slot], place]:
                        item = (tails[slot], place, after)
                        chosen = (*run.tails[:slot], item, *run.tails[slot + 1 :])
                        read.append((after, _Run(edge, chosen, (*run.side, symbol))))
                partial = read
            for after, run in partial:
                found.setdefault(after, []).append(run)
        self.known[node, before] = found
