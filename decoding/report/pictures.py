"""What a page draws of a search space: a lattice where its paths differ, or the best sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

import numpy as np

from fstmetrics.alignment.metric import Edit
from lattices.algorithms import k_best, posteriors
from lattices.algorithms.kbest import best_path
from lattices.algorithms.ngrams import list_weights
from lattices.arrays import Array, FloatColumn, floats
from lattices.spaces import Forest, Lattice, NBest
from lattices.vocabulary import EPSILON

#: arcs of ways around the oracle, and its own
MOST_ARCS = 24
MOST_SENTENCES = 10
#: marks of arcs: who takes them, that the reference has these words instead, that words are folded
ORACLE, ONE_BEST, MBR, REFERENCE, FOLDED = 1, 2, 4, 8, 16
#: seconds between moments that are taken for one: then 47 words come again in pictures of the
#: packaged lattices, with 0.03 76, with 0.05 63, with 0.1 68
TOGETHER = 0.08


class _Spans(NamedTuple):
    """The arcs of a lattice in columns, those of one word between the same moments together."""

    src: Array
    dst: Array
    label: Array
    #: of the best of them
    score: FloatColumn
    #: the sum of their posteriors
    mass: FloatColumn
    marks: Array


class _Ways(NamedTuple):
    """The best way around a path through each arc."""

    #: the score that it has more than the path between the two states that they share
    worth: FloatColumn
    #: these states, as numbers of arcs of the path before them
    leaves: Array
    returns: Array


class _Arc(NamedTuple):
    """An arc that is drawn."""

    src: int
    dst: int
    word: str
    mass: float
    marks: int


def select_differences(
    lattice: Lattice,
    oracle: Sequence[int],
    chosen: Sequence[int] = (),
    edits: Sequence[Edit] = (),
    *,
    scale: float = 1.0,
    most: int = MOST_ARCS,
) -> dict[str, Any]:
    """Return the parts of a lattice where oracle, 1-best, a choice and the reference differ.

    The nearest ways around the oracle are kept where something differs, or everywhere if nothing
    does. A way leaves the oracle in one state and comes back in another, and is worth the score
    that it has more than the oracle between the two. Words of one span are one arc, with the sum of
    their posteriors; words that all paths share are folded into one. ``edits`` align the oracle to
    the reference, which is drawn where the oracle has errors. Cost: O(arcs * log(arcs)).

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "cat"), (1, 2, "hat", -9.0)], [2]
    ... )
    >>> found = select_differences(lattice, [1, 2], most=3)
    >>> for arc in found["arcs"]:
    ...     print(*arc)
    0 1 a 0.69 2
    0 1 the 0.31 1
    1 2 cat 0.9999 3
    """
    paths = {ORACLE: oracle, ONE_BEST: best_path(lattice).tolist(), MBR: chosen}
    place = _number_moments(lattice)
    spans, span_of = _merge_spans(lattice, place, scale, paths)
    followed = {
        mark: [span for arc in path if (span := span_of[arc]) >= 0] for mark, path in paths.items()
    }
    spine, start = followed.pop(ORACLE), int(place[lattice.start])
    ends: dict[int, float] = {}
    for state in lattice.finals.tolist():
        score = float(lattice.final[state])
        ends[int(place[state])] = max(score, ends.get(int(place[state]), score))
    ways = _find_ways(spans, spine, start, ends)
    word = lattice.vocabulary.word
    columns = spans.src, spans.dst, spans.label, spans.mass, spans.marks

    def draw(numbers: Sequence[int]) -> list[_Arc]:
        rows = zip(*(column[numbers].tolist() for column in columns), strict=True)
        return [_Arc(src, dst, word(label), *rest) for src, dst, label, *rest in rows]

    path = draw(spine)
    stretches = _align_stretches(path, edits)
    others = [draw(way) for way in followed.values() if way]
    differ = _find_differences(path, others, stretches)
    # what is around the differences
    inside = np.cumsum([0, *differ])
    near = inside[np.maximum(ways.returns, ways.leaves + 1)] > inside[ways.leaves]
    worth = np.where(near, ways.worth, -np.inf)
    keep = worth > -np.inf
    if keep.sum() > most:
        # arcs of equal value, rounding aside, are added together, so whole ways are
        least = np.sort(worth)[-most - 1]
        keep = worth > least + 1e-9 * (1.0 + abs(least))
    keep |= spans.marks > 0
    keep[spine] = False
    used, beside = list(differ), np.flatnonzero(keep).tolist()
    for number in beside:
        for at in range(ways.leaves[number], ways.returns[number]):
            used[at] = True
    drawn = [*draw(beside), *_fold(path, used)]
    drawn += [
        _Arc(path[each.first].src, path[each.last - 1].dst, " ".join(each.words), 0.0, REFERENCE)
        for each in stretches
    ]
    drawn, finals = _merge_states(_trim(drawn, start, ends), start, ends)
    return _number(drawn, start, finals, lattice.num_arcs)


def _number_moments(lattice: Lattice) -> Array:
    """Return a number of each state, the same for states of one moment; without times their own.

    What takes no time is of one moment unless it has a word. Numbers are in topological order.
    """
    src, dst, times = lattice.src, lattice.dst, lattice.times
    if times is None or (times[dst] < times[src]).any():
        return np.arange(lattice.num_states)
    moment, first = np.zeros(lattice.num_states, dtype=np.int64), -math.inf
    number = -1
    for state in np.argsort(times, kind="stable").tolist():
        if times[state] > first + TOGETHER:
            number, first = number + 1, float(times[state])
        moment[state] = number
    depth = np.zeros_like(moment)
    short = np.flatnonzero(moment[src] == moment[dst])
    for arc in short.tolist():
        one, other = src[arc], dst[arc]
        depth[other] = max(depth[other], depth[one] + int(lattice.label[arc] != EPSILON))
    found: Array = np.unique(moment * (1 + depth.max()) + depth, return_inverse=True)[1]
    return found


def _merge_spans(
    lattice: Lattice, place: Array, scale: float, paths: dict[int, Sequence[int]]
) -> tuple[_Spans, list[int]]:
    """Return spans in topological order, and the number of the one that has each arc, or -1."""
    src, dst = place[lattice.src], place[lattice.dst]
    long = src != dst
    words, places = 1 + int(lattice.label.max(initial=0)), 1 + int(place.max())
    keys, inverse = np.unique(
        (src[long] * places + dst[long]) * words + lattice.label[long], return_inverse=True
    )
    mass = floats(np.bincount(inverse, posteriors(lattice, scale).arcs[long], len(keys)))
    score, marks = np.full(len(keys), -np.inf), np.zeros(len(keys), dtype=np.int64)
    np.maximum.at(score, inverse, lattice.score[long])
    span_of = np.full(lattice.num_arcs, -1)
    span_of[long] = inverse
    for mark, path in paths.items():
        taken = span_of[list(path)]
        marks[taken[taken >= 0]] |= mark
    ends, label = np.divmod(keys, words)
    begins, ends = np.divmod(ends, places)
    return _Spans(begins, ends, label, score, mass, marks), span_of.tolist()


def _find_ways(spans: _Spans, spine: Sequence[int], start: int, ends: dict[int, float]) -> _Ways:
    """Return the best way around a path through each arc.

    The scores from the start to the states of the path and from there to the end are those of the
    path, whatever else leads there.
    """
    src, dst, score = spans.src.tolist(), spans.dst.tolist(), spans.score.tolist()
    states = [start, *(dst[number] for number in spine)]
    size = 1 + max([start, *ends, *dst])
    before, after = [-math.inf] * size, [-math.inf] * size
    leaves, returns = [0] * size, [len(spine)] * size
    for state, final in ends.items():
        after[state] = final
    before[start] = 0.0
    for at, number in enumerate(spine):
        before[states[at + 1]] = before[states[at]] + score[number]
        leaves[states[at + 1]] = at + 1
    for at in reversed(range(len(spine))):
        after[states[at]] = score[spine[at]] + after[states[at + 1]]
        returns[states[at]] = at
    total, fixed = after[start], {*states}
    # arcs are sorted by their sources, and states are in topological order
    arcs = list(zip(src, dst, score, strict=True))
    for one, other, own in arcs:
        if before[one] + own > before[other] and other not in fixed:
            before[other], leaves[other] = before[one] + own, leaves[one]
    for one, other, own in reversed(arcs):
        if own + after[other] > after[one] and one not in fixed:
            after[one], returns[one] = own + after[other], returns[other]
    worth = np.array(before)[spans.src] + spans.score + np.array(after)[spans.dst] - total
    return _Ways(worth, np.array(leaves)[spans.src], np.array(returns)[spans.dst])


class _Stretch(NamedTuple):
    """Arcs of the oracle, from one to before another, and what the reference has instead."""

    first: int
    last: int
    words: list[str]


def _align_stretches(path: Sequence[_Arc], edits: Sequence[Edit]) -> list[_Stretch]:
    """Return where the oracle is wrong; nothing if the edits are not of its words.

    A word that is missing takes the word beside it, since it has no arc of its own.
    """
    said = [at for at, arc in enumerate(path) if arc.word]
    if sum(edit.operation != "deletion" for edit in edits) != len(said):
        return []
    found: list[tuple[int, int, list[str]]] = []
    at, begin, wanted = 0, -1, list[str]()
    for edit in edits:
        right = edit.operation == "match"
        if begin < 0 and not right:
            begin, wanted = at, []
        if right and begin == at:
            wanted.append(edit.reference)
        elif right and begin >= 0:
            found.append((begin, at, wanted))
            begin = -1
        if not right and edit.operation != "insertion":
            wanted.append(edit.reference)
        at += edit.operation != "deletion"
        if right and begin >= 0:
            found.append((begin, at, wanted))
            begin = -1
    if 0 < begin == at:
        # with the word before it, or what that is part of
        before = found.pop() if found and found[-1][1] == at else None
        begin, _, words = before or (at - 1, at, [path[said[-1]].word])
        wanted = [*words, *wanted]
    if 0 <= begin < at:
        found.append((begin, at, wanted))
    return [_Stretch(said[one], said[other - 1] + 1, words) for one, other, words in found]


def _find_differences(
    path: Sequence[_Arc], others: Iterable[Sequence[_Arc]], stretches: Iterable[_Stretch]
) -> list[bool]:
    """Return of each arc of the oracle whether it is at or beside a difference, all if none is.

    The last is of what comes behind it.
    """
    differ = [False] * (1 + len(path))
    place = {arc.dst: at for at, arc in enumerate(path, 1)}
    for other in others:
        left, said = 0, set[_Arc]()
        for arc in other:
            said |= {arc} - {*path}
            at = place.get(arc.dst)
            if at is None and arc != other[-1]:
                continue
            at = len(path) if at is None else at
            said |= {*path[left:at]} - {*other}
            if any(each.word for each in said):
                differ[left : max(at, left + 1)] = [True] * max(at - left, 1)
            left, said = at, set()
    for stretch in stretches:
        differ[stretch.first : stretch.last] = [True] * (stretch.last - stretch.first)
    if not any(differ):
        return [True] * len(differ)
    wide = list(differ)
    for step in (1, -1):
        near = False
        for at in range(len(path))[::step]:
            wide[at] |= near
            # silence beside a difference leads to the next word
            near = differ[at] or (near and not path[at].word)
    return wide


def _fold(arcs: Sequence[_Arc], used: Sequence[bool]) -> list[_Arc]:
    """Return the arcs of a path, two words or more in a row that nothing is drawn around as one."""
    found: list[_Arc] = []
    run: list[_Arc] = []
    for arc, kept in zip([*arcs, None], [*used[: len(arcs)], True], strict=True):
        if arc is not None and not kept:
            run.append(arc)
            continue
        spoken = [each for each in run if each.word]
        if len(spoken) > 1:
            marks = int(np.bitwise_and.reduce([each.marks for each in spoken])) | FOLDED
            text, mass = " ".join(each.word for each in spoken), min(each.mass for each in spoken)
            run = [_Arc(run[0].src, run[-1].dst, text, mass, marks)]
        found += run
        run = []
        if arc is not None:
            found.append(arc)
    return found


def _trim(arcs: Sequence[_Arc], start: int, ends: Iterable[int]) -> list[_Arc]:
    """Leave out what is on no complete path."""
    reached, ending = {start}, {*ends}
    for _ in arcs:
        reached |= {arc.dst for arc in arcs if arc.src in reached}
        ending |= {arc.src for arc in arcs if arc.dst in ending}
    return [arc for arc in arcs if arc.src in reached and arc.dst in ending]


def _merge_states(
    arcs: Sequence[_Arc], start: int, ends: Iterable[int]
) -> tuple[list[_Arc], set[int]]:
    """Merge states that the same words lead from, or to, until none are left; and the last states.

    The sentences stay the same, and parallel arcs of one word become one.
    """
    arcs, finals = list(arcs), {*ends}
    unchanged, backward = 0, True
    while unchanged < 2:
        new = _find_alike(arcs, backward, finals if backward else {start})
        unchanged = unchanged + 1 if all(one == other for one, other in new.items()) else 0
        backward = not backward
        finals = {new.get(state, state) for state in finals}
        merged: dict[tuple[int, int, str, int], _Arc] = {}
        for arc in arcs:
            key = new[arc.src], new[arc.dst], arc.word, arc.marks & REFERENCE
            twin = merged.get(key, _Arc(*key[:3], 0.0, 0))
            merged[key] = twin._replace(mass=twin.mass + arc.mass, marks=twin.marks | arc.marks)
        arcs = list(merged.values())
    return arcs, finals


def _find_alike(arcs: Sequence[_Arc], backward: bool, apart: Set[int]) -> dict[int, int]:
    """Return for each state the first whose arcs lead to, or come from, the same by the same words.

    ``apart`` are states that are unlike all others.
    """
    beside: dict[int, set[tuple[str, int, int]]] = {}
    for arc in arcs:
        own, other = (arc.src, arc.dst) if backward else (arc.dst, arc.src)
        beside.setdefault(other, set())
        beside.setdefault(own, set()).add((arc.word, arc.marks & REFERENCE, other))
    sorter = TopologicalSorter(
        {state: sorted({other for *_, other in some}) for state, some in sorted(beside.items())}
    )
    new: dict[int, int] = {}
    known: dict[tuple[Any, bool], int] = {}
    for state in sorter.static_order():
        words = frozenset((word, mark, new[other]) for word, mark, other in beside[state])
        new[state] = known.setdefault((words, state in apart), state)
    return new


def _number(arcs: Sequence[_Arc], start: int, finals: Iterable[int], among: int) -> dict[str, Any]:
    """Return arcs as the page has them: states in topological order, and arcs by their states."""
    sorter: TopologicalSorter[int] = TopologicalSorter({start: ()})
    for arc in arcs:
        sorter.add(arc.dst, arc.src)
    number = {state: place for place, state in enumerate(sorter.static_order())}
    rows = [
        [number[arc.src], number[arc.dst], arc.word, round(min(arc.mass, 1.0), 4), arc.marks]
        for arc in arcs
    ]
    return {
        "states": len(number),
        "start": number[start],
        "finals": sorted(number[state] for state in finals if state in number),
        "arcs": sorted(rows),
        "all": among,
    }


def sentences(
    space: NBest | Forest, *, scale: float = 1.0, most: int = MOST_SENTENCES
) -> dict[str, Any]:
    """Return the best sentences of a list or forest by the model, with their probabilities.

    Those of a list are entries, in the order of their scores, and their probabilities are among
    all entries; of a forest they are different sentences, with probabilities among those that
    are returned.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> some = [Hypothesis(("a",), 0.0), Hypothesis(("b", "c"), -1.0)]
    >>> sentences(NBest.from_hypotheses(some), most=1)
    {'rows': [['a', 0.7311, 0.0]], 'all': 2, 'among': 2}
    """
    if isinstance(space, NBest):
        order = np.argsort(-space.score, kind="stable")[:most].tolist()
        weight = list_weights(space, scale)
        rows = [
            [" ".join(space.tokens(at)), round(float(weight[at]), 4), float(space.score[at])]
            for at in order
        ]
        return {"rows": rows, "all": len(space), "among": len(space)}
    found = k_best(space, most, distinct=True)
    share = np.exp(scale * (np.array([each.score for each in found]) - found[0].score))
    share /= share.sum()
    rows = [
        [each.text, round(float(part), 4), each.score]
        for each, part in zip(found, share, strict=True)
    ]
    return {"rows": rows, "all": None, "among": len(found)}
