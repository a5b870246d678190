"""The worst sentences of long lattices, stretch by stretch, with a bound.

A lattice is cut where every path passes, and the reference into as many pieces. An alignment may
keep to the pieces, and the best of all alignments gains no less than that:

    value of a sentence  >=  sum over stretches of (gain of its stretch against the piece),

so no sentence is worth less than the sum of what is lowest in each stretch, where rows are few
(:mod:`.rows`). Those lowest stretches make a sentence; its own best alignment says where the pieces
of the next round end. If it is worth no more than the bound of its round, it is proven the worst.
The ``k`` worst are looked for among the sentences of the lowest sums, which come in order: proven
when the k-th is worth no more than the last sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from lattices import _native
from lattices.algorithms.kbest import rank_k_best
from lattices.algorithms.trimming import find_useful_states, trim
from lattices.algorithms.union import stretch_bounds
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.intersection.automata import Alignment, Part, SearchMachine, alignment_of
from lattices.intersection.engine import Engine, Found, Ranked
from lattices.intersection.rows import (
    RowMachine,
    RowProduct,
    cut_lowest_path,
    lowest_path,
    row_product,
)
from lattices.limits import Limits
from lattices.spaces import Lattice

#: words that a stretch has, at least
WORDS = 10
#: rounds after which the pieces of a reference stay as they are
ROUNDS = 8
#: what the search of a stretch may take
STRETCH = Limits(1_000_000, 2**29)
#: pairs of a state and a row in which the k worst are looked for
_PAIRS = 200_000


def scale_parts(machine: SearchMachine) -> list[Part] | None:
    """Return the parts with gains in units of the machine; None if some part is no alignment."""
    scaled = []
    for part in machine.parts:
        alignment, factor = part.automaton, 1.0 / (part.denominator * machine.unit)
        if not isinstance(alignment, Alignment):
            return None
        insertion, deletion, heaviest, bonus = np.rint(
            np.array([alignment.insertion, alignment.deletion, alignment.heaviest, part.bonus])
            * factor
        ).tolist()
        weight = floats(np.rint(alignment.weight * factor))
        whole = replace(
            alignment, insertion=insertion, deletion=deletion, heaviest=heaviest, weight=weight
        )
        scaled.append(Part(whole, 1.0, bonus))
    return scaled


@dataclass(frozen=True)
class _Problem:
    """A lattice in stretches, and what its sentences are worth."""

    whole: Lattice  # without what no path uses
    arcs: IntColumn  # of the lattice that was given, for each arc
    first: IntColumn  # the first arc of each stretch
    stretches: list[Lattice]
    weight: float  # of model scores, in units
    limits: Limits

    @staticmethod
    def of(lattice: Lattice, weight: float, limits: Limits) -> _Problem | None:
        """Cut a lattice; None if there is no place for that."""
        useful = find_useful_states(lattice)
        if not useful[lattice.start]:
            return None  # there is no path
        arcs = np.flatnonzero(useful[lattice.src] & useful[lattice.dst])
        whole = trim(
            Lattice(
                lattice.vocabulary, lattice.src, lattice.dst, lattice.label, lattice.score,
                lattice.final, lattice.start, id=lattice.id,
            )
        ).space  # fmt: skip
        bounds = stretch_bounds(whole, WORDS)
        if len(bounds) < 2:
            return None
        last = whole.num_states - 1
        first = np.searchsorted(whole.src, bounds)
        stretches = []
        for number, (begin, end) in enumerate(pairwise([*bounds, last])):
            stop = first[number + 1] if number + 1 < len(first) else whole.num_arcs
            own = slice(first[number], stop)
            final = whole.final[begin : end + 1].copy()
            if end < last:
                final[:] = -np.inf
                final[-1] = 0.0
            stretches.append(
                Lattice(
                    lattice.vocabulary, ints(whole.src[own] - begin), ints(whole.dst[own] - begin),
                    whole.label[own], whole.score[own], floats(final), id=lattice.id,
                )
            )  # fmt: skip
        return _Problem(whole, ints(arcs), ints(first), stretches, weight, limits)

    def cut_reference(self, alignment: Alignment, path: IntColumn) -> list[int]:
        """Return where the best alignment of a path is where each stretch begins, and its end."""
        labels = self.whole.label[path]
        spoken = np.concatenate(([0], np.cumsum(labels > 0)))
        counts = spoken[np.searchsorted(path, self.first[1:])]
        return [0, *_align(alignment, labels[labels > 0], counts.tolist()), alignment.length]

    def find_lowest(
        self, alignment: Alignment, places: Sequence[int], known: dict[tuple[int, int, int], Found]
    ) -> tuple[float, IntColumn]:
        """Return a bound of the sum of what is lowest in each stretch, and the path."""
        total, paths = 0.0, []
        for number, (begin, end) in enumerate(pairwise(places)):
            key = number, begin, end
            if key not in known:
                stretch = self.stretches[number]
                rows = RowMachine(_piece(alignment, begin, end).automaton, stretch.num_states)
                known[key] = self._lowest(stretch, rows)
            lowest = known[key]
            total += lowest.value if lowest.part == 0 else -np.inf
            paths.append(lowest.arcs + self.first[number])
        return total, ints(np.concatenate(paths))

    def _lowest(self, stretch: Lattice, rows: RowMachine) -> Found:
        """Return what is lowest in a stretch; of part 1 if it is not proven."""
        found = lowest_path(stretch, rows, self.limits, model_weight=self.weight)
        if found is not None:
            return Found(*found, 0)
        widest = max(1, self.limits.budget // stretch.num_states)
        cut = cut_lowest_path(
            stretch, rows, model_weight=self.weight, widest=widest, memory=self.limits.memory
        )
        return Found(*cut, 1)

    def find_lowest_sums(
        self, alignment: Alignment, places: Sequence[int], words: IntColumn, k: int
    ) -> tuple[list[IntColumn], FloatColumn, bool]:
        """Return the paths of the ``k`` sentences of the lowest sums, these, and if it was all.

        Of a stretch with many rows only the lowest sentence is among them.
        """
        ends: Array = np.zeros(0, np.int64)
        states, opening, whole = 0, 0.0, True
        ending = np.zeros(0)
        columns: list[tuple[Array, ...]] = []
        final = np.zeros(0)
        limits = Limits(max(1, min(self.limits.budget, _PAIRS) // len(self.stretches)))
        for number, (begin, end) in enumerate(pairwise(places)):
            stretch = self.stretches[number]
            rows = RowMachine(_piece(alignment, begin, end).automaton, stretch.num_states)
            product = row_product(stretch, rows, limits)
            if product is None:
                whole = False
                product = self._lowest_alone(stretch, rows)
            graph = product.graph
            if number:
                silent = np.zeros(len(ends))
                start = silent + states + graph.start
                columns.append((ends, start, ending + product.opening, silent - 1, silent))
            else:
                opening = product.opening
            behind = product.origin + self.first[number]
            columns.append(
                (graph.src + states, graph.dst + states, product.gain, behind, graph.score)
            )
            ends, ending = graph.finals + states, product.final_gain[graph.finals]
            states, final = states + graph.num_states, graph.final
        finals, final_gain = np.full(states, -np.inf), np.zeros(states)
        finals[-len(final) :] = final
        final_gain[ends] = ending
        src, dst, gain, origin, score = map(np.concatenate, zip(*columns, strict=True))
        order = np.lexsort((dst, src))
        src, dst, origin = (ints(each[order]) for each in (src, dst, origin))
        gain, score = floats(gain[order]), floats(score[order])
        label = ints(np.append(words, 0)[origin])
        chain = Lattice(self.whole.vocabulary, src, dst, label, score, floats(finals))
        sums, found = [], []
        for path in rank_k_best(chain, gain, floats(final_gain), k, sign=-1.0, weight=self.weight):
            end = int(dst[path[-1]]) if len(path) else chain.start
            model = score[path].sum() + finals[end]
            sums.append(opening + gain[path].sum() + final_gain[end] + self.weight * model)
            found.append(ints(origin[path][origin[path] >= 0]))
        return found, floats(sums), whole

    def _lowest_alone(self, stretch: Lattice, rows: RowMachine) -> RowProduct:
        """Return a product with the lowest sentence of a stretch alone."""
        value, path, _ = self._lowest(stretch, rows)
        steps = np.arange(len(path))
        final = np.full(len(path) + 1, -np.inf)
        final[-1] = stretch.final[stretch.dst[path[-1]] if len(path) else stretch.start]
        graph = Lattice(
            stretch.vocabulary, ints(steps), ints(steps + 1), stretch.label[path],
            stretch.score[path], floats(final),
        )  # fmt: skip
        gain = value - self.weight * (graph.score.sum() + final[-1])
        ending = np.zeros(len(final))
        ending[-1] = gain
        return RowProduct(graph, floats(np.zeros(len(path))), floats(ending), 0.0, path, 0)

    def evaluate(
        self, engine: Engine, machine: SearchMachine, paths: Sequence[IntColumn], weight: float
    ) -> list[float]:
        """Return what sentences are worth, each searched as a lattice of its own."""
        problems = []
        for path in paths:
            final = np.full(len(path) + 1, -np.inf)
            at = self.whole.dst[path[-1]] if len(path) else self.whole.start
            final[-1] = self.whole.final[at]
            steps = np.arange(len(path))
            label, score = self.whole.label[path], self.whole.score[path]
            problems.append(
                (
                    Lattice(
                        self.whole.vocabulary, ints(steps), ints(steps + 1), label, score,
                        floats(final),
                    ),
                    machine,
                )
            )  # fmt: skip
        found = engine.best(problems, model_weight=weight, memory=self.limits.memory)
        return [-np.inf if each is None else each.value for each in found]


def worst_of_stretches(
    engine: Engine,
    lattice: Lattice,
    machine: SearchMachine,
    k: int,
    model_weight: float,
    limits: Limits,
    words: IntColumn | None = None,
) -> Ranked | None:
    """Return the ``k`` worst sentences that are found; None where a lattice cannot be cut.

    ``gap`` is how much less another may be worth. Cost: that of the worst of each stretch, a few
    times over, and O(words x reference length) for each round.
    """
    parts, unit = scale_parts(machine), machine.unit
    own = Limits(min(limits.budget, STRETCH.budget), min(limits.memory, STRETCH.memory))
    problem = None if parts is None else _Problem.of(lattice, model_weight / unit, own)
    if problem is None or parts is None:
        return None
    lowest, worst_path = np.inf, ints([])
    bound, bounding, best_places = -np.inf, parts[0], [0]
    for part in parts:
        alignment = alignment_of(part)
        known: dict[tuple[int, int, int], Found] = {}
        tried: set[tuple[int, ...]] = set()
        path = ints(_native.best_path(problem.whole.columns))
        while len(tried) < ROUNDS:
            places = problem.cut_reference(alignment, path)
            if tuple(places) in tried:
                break
            tried.add(tuple(places))
            total, path = problem.find_lowest(alignment, places, known)
            total = (total + part.bonus) * unit
            (value,) = problem.evaluate(engine, machine, [path], model_weight)
            if value < lowest:
                lowest, worst_path = value, path
            if total > bound or len(best_places) == 1:
                bound, bounding, best_places = total, part, places
            if is_proven(lowest, bound):
                break
    if k == 1 and is_proven(lowest, bound):
        return Ranked([ints(problem.arcs[worst_path])], "rows")
    said = (lattice.label if words is None else words)[problem.arcs]
    many = max(50, 4 * k)
    paths, totals, whole = problem.find_lowest_sums(alignment_of(bounding), best_places, said, many)
    if not any(np.array_equal(_spoken(said[path]), _spoken(said[worst_path])) for path in paths):
        paths.append(worst_path)
    values = problem.evaluate(engine, machine, paths, model_weight)
    order = np.argsort(values, kind="stable")[:k]
    last = np.inf if len(totals) < many else (float(totals[-1]) + bounding.bonus) * unit
    proven = whole and is_proven(values[order[-1]], last)
    gap = values[order[0]] - bound if bound > -np.inf else None
    return Ranked([ints(problem.arcs[paths[at]]) for at in order], "rows", proven, gap)


def _spoken(words: IntColumn) -> IntColumn:
    return ints(words[words > 0])


def is_proven(value: float, bound: float) -> bool:
    """Whether a value is no more than a bound, but for rounding."""
    return value <= bound + 1e-9 * max(1.0, abs(value))


def _piece(alignment: Alignment, begin: int, end: int) -> Alignment:
    """Return the alignment to a piece of the reference."""
    inside = (alignment.position >= begin) & (alignment.position < end)
    return replace(
        alignment,
        length=end - begin,
        word=alignment.word[inside],
        position=ints(alignment.position[inside] - begin),
        weight=alignment.weight[inside],
    )


def _align(alignment: Alignment, words: Array, counts: Sequence[int]) -> list[int]:
    """Return how much of the reference is behind after so many words, in a best alignment.

    The recurrence of ``native/alignments.hpp``, a row of all places a step; with each cell goes the
    place that its best alignment had at the last of the counts, where runs of matches end. Cost:
    O(words x length x order).
    """
    length, order = alignment.length, alignment.order
    ranked = np.argsort(alignment.word, kind="stable")
    matching = alignment.word[ranked]
    everywhere = np.arange(length + 1)
    paid = alignment.deletion * everywhere
    gain = np.full((order, length + 1), -np.inf)
    gain[0] = -paid
    before = np.zeros((order, length + 1), np.int32)
    kept: list[Array] = []

    waiting = list(counts)
    for number in range(len(words) + 1):
        while waiting and waiting[0] == number:
            waiting.pop(0)
            kept.append(before[0].copy())
            before[:] = everywhere
        if number == len(words):
            break
        new, came = np.full_like(gain, -np.inf), before.copy()
        new[0] = gain[0] - alignment.insertion
        moved = gain[0, :-1] > new[0, 1:]
        new[0, 1:][moved], came[0, 1:][moved] = gain[0, :-1][moved], before[0, :-1][moved]
        own = ranked[slice(*np.searchsorted(matching, [words[number], words[number] + 1]))]
        at, weight = alignment.position[own], alignment.weight[own]
        for run in range(order):
            onward = min(run + 1, order - 1)
            value = gain[run, at] + (run + 1) * weight
            better = value > new[onward, at + 1]
            new[onward, at[better] + 1] = value[better]
            came[onward, at[better] + 1] = before[run, at[better]]
        for run in range(1, order):
            better = new[run] > new[0]
            new[0][better], came[0][better] = new[run][better], came[run][better]
        # deletions: the best of all places to the left
        carried = new[0] + paid
        highest = np.maximum.accumulate(carried)
        source = np.maximum.accumulate(np.where(carried == highest, everywhere, 0))
        new[0], came[0] = highest - paid, came[0][source]
        gain, before = new, came
    here, found = length, []
    # the first leads to the beginning
    for table in [before[0], *kept[:0:-1]][: len(kept)]:
        here = int(table[here])
        found.append(here)
    return found[::-1]
