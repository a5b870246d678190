"""The fast engine for forests: the best derivation under a machine made of alignments."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

import numpy as np

from lattices.arrays import Array, column, ints, kernel
from lattices.engines.automata import SINGLE_PRECISION, Alignment, Machines, Part, SearchMachine
from lattices.engines.forest_bounds import (
    band_promise,
    band_windows,
    match_bounds,
    word_ranges,
)
from lattices.engines.forest_inside import fill_tables
from lattices.engines.forest_plan import matchless_spans, plan_tables, table_stride
from lattices.engines.forest_tight import find_tight
from lattices.engines.forest_tracing import choose_derivation
from lattices.engines.forward import LANES
from lattices.engines.found import Found
from lattices.errors import EngineError
from lattices.spaces.derivation import derivation_parts
from lattices.spaces.forest import Forest

#: the most cells that the tables of one search may ask memory for
MOST_CELLS = 2**29
#: what sums of model scores may be off by
_ROUNDING = 1e-9


class ForestKernel:
    """Tables from the bottom up, the derivation by evaluating again from the top down.

    Every derivation of the highest value is looked at, and among equals the rule of
    :mod:`lattices.engines.found` decides: the highest model score (of an edge plus what is
    below it, in the order of its target side), then the smallest sentence, then the smallest
    edge numbers from the top down.

    Cost: O(edges x length**2) for words and O(length**3) for each tail that no edge begins
    with, in vectors of single precision wherever totals allow. A forest made of a lattice
    takes O(edges x length), as the lattice does.
    """

    name = "kernel"

    def can_run(self, forest: Forest, machine: SearchMachine) -> Literal[True] | str:
        """Return True, or the reason why this engine cannot search the forest."""
        if all(isinstance(part.automaton, Alignment) for part in machine.parts):
            return True
        return "forests are searched with alignments to sentences, not to reference lattices"

    def best(
        self,
        forests: Sequence[Forest],
        machines: Machines,
        *,
        model_weight: float = 0.0,
        workers: int = 1,
    ) -> list[Found]:
        """Return the best derivation of each forest; ``arcs`` are its edges, from the top down.

        Raises
        ------
        EngineError
            If a machine has other parts than alignments, or the tables would take more than
            ``MOST_CELLS`` cells.
        """
        found = self.search(forests, machines, model_weight=model_weight, workers=workers)
        return [each for each, _ in found]

    def search(
        self,
        forests: Sequence[Forest],
        machines: Machines,
        *,
        model_weight: float = 0.0,
        workers: int = 1,
        beam: float | None = None,
        band: int | None = None,
    ) -> list[tuple[Found, bool]]:
        """Return a derivation of each forest, and whether its value is proven to be the best.

        Without a beam and a band it is, and the tie rule chooses among all of that value; with
        them, among those that were not left out. See :mod:`lattices.engines.forest_bounds`.

        Parameters
        ----------
        beam : float, optional
            In units of the value: how much less than the best of its node an item may promise.
        band : int, optional
            How many reference words an item may be outside of the range of its node.

        Raises
        ------
        EngineError
            As :meth:`best`, or if beam and band leave nothing.
        """
        problems = list(zip(forests, machines, strict=True))
        for forest, machine in problems:
            answer = self.can_run(forest, machine)
            if answer is not True:
                raise EngineError(f"forest {forest.id!r}: {answer}")

        def search(problem: tuple[Forest, SearchMachine]) -> tuple[Found, bool]:
            return _search(*problem, model_weight, beam, band)

        if workers > 1 and len(problems) > 1:
            with ThreadPoolExecutor(workers) as pool:
                return list(pool.map(search, problems))
        return [search(problem) for problem in problems]


ENGINE = ForestKernel()


class Inside(NamedTuple):
    """The filled tables of one part, in the order in which the way down takes them."""

    value: float
    top: Any
    tables: tuple[Any, ...]
    #: the highest value that anything left out can have
    promise: float = -np.inf


def _search(
    forest: Forest,
    machine: SearchMachine,
    model_weight: float,
    beam: float | None,
    band: int | None,
) -> tuple[Found, bool]:
    columns = (
        forest.in_offset,
        forest.tail,
        forest.tail_offset,
        forest.symbol,
        forest.symbol_offset,
    )
    longest = longest_sentence(*columns, forest.root)
    filled = [
        fill_part(forest, columns, part, longest, model_weight, beam, band)
        for part in machine.parts
    ]
    best = max(inside.value for inside in filled)
    if best == -np.inf:
        raise EngineError(
            f"forest {forest.id!r}: a beam of {beam} and a band of {band} leave no derivation"
        )
    rank = forest.vocabulary.ranks()
    ties: list[tuple[float, Array, int]] = []
    for number, (part, inside) in enumerate(zip(machine.parts, filled, strict=True)):
        if inside.value == best:
            jobs, links, items = find_tight(inside.top, forest.root, *inside.tables)
            stride = table_stride(part.automaton.length)  # type: ignore[union-attr]
            edges, model = choose_derivation(
                jobs, links, items, forest.score, forest.tail_offset, forest.symbol,
                forest.symbol_offset, part.automaton.order * stride, stride, rank,
            )  # fmt: skip
            ties.append((model, edges, number))
    if len(ties) > 1:
        ties.sort(key=lambda tie: (-tie[0], _spelling(forest, tie[1], rank), tie[1].tolist()))
    _, edges, number = ties[0]
    # whole numbers are exact; sums with model scores are rounded, in another order each
    slack = 0.0 if model_weight == 0.0 else _ROUNDING * max(1.0, abs(best))
    proven = all(inside.promise == -np.inf or inside.promise <= best - slack for inside in filled)
    return Found(best, ints(edges), number), proven


def _spelling(forest: Forest, edges: Array, rank: Array) -> list[int]:
    """Return the words of a derivation as numbers in the order of the strings."""
    words, _ = derivation_parts(forest, edges.tolist())
    order: list[int] = rank[words].tolist() if words else []
    return order


def fill_part(
    forest: Forest,
    columns: tuple[Array, ...],
    part: Part,
    longest: float,
    model_weight: float,
    beam: float | None = None,
    band: int | None = None,
) -> Inside:
    """Fill the tables for one part of a machine."""
    alignment = part.automaton
    assert isinstance(alignment, Alignment)
    length, order = alignment.length, alignment.order
    single = (longest + alignment.num_states) * alignment.largest_gain < SINGLE_PRECISION
    precision = np.float32 if single and model_weight == 0.0 else np.float64
    bias: Array = (model_weight * part.denominator * forest.score).astype(precision)
    stride = int(table_stride(length))
    chain, follow = _chained(alignment.word, len(forest.vocabulary))
    plan = plan_tables(
        *columns, forest.root, length, order, stride, chain, follow, alignment.position
    )
    _, base, width, left_offset, *_ = plan
    if base[-1] > MOST_CELLS:
        raise EngineError(
            f"forest {forest.id!r} and a reference of {length} words take tables of {base[-1]} "
            f"cells, more than {MOST_CELLS}"
        )
    table = np.empty(int(base[-1]), precision)
    # up to where each row of each table has items
    row_offset = np.cumsum(np.append(0, np.diff(base) // np.maximum(width, 1)))
    row_high = np.empty(row_offset[-1], np.int32)
    silent = np.empty(forest.num_nodes, precision)
    most_rows = length + 1 + int(np.diff(left_offset).max()) * (order - 1)
    most_levels = int(np.diff(forest.symbol_offset).max()) + 1
    # a vector more than there are levels: a step looks at the place before the first
    levels = np.full(max(2 * most_rows, most_levels) * order * stride + LANES, -np.inf, precision)
    spans = np.empty((0, length + 1), np.int32)
    substitution = alignment.deletion
    if beam is None and band is None:
        if -alignment.insertion >= substitution:
            substitution = -np.inf
        spans = matchless_spans(*columns, length, chain, follow, alignment.position)
    gathered = np.empty(int(width.max()), precision)
    arguments = (
        table, silent, levels[LANES:], gathered, bias, *columns, length, order, stride,
        precision(alignment.insertion), precision(substitution), precision(alignment.deletion),
        chain, follow, alignment.position, column(alignment.weight, precision), *plan,
        row_offset, row_high, spans,
    )  # fmt: skip
    windows = np.empty((0, 4), np.int64)
    ranges, around, earned = np.empty((0, 6)), np.empty(0), np.empty(0)
    per_word = order * max(0.0, alignment.heaviest)
    promise = -np.inf
    if beam is not None or band is not None:
        ranges, below, around = word_ranges(*columns, forest.root, bias)
        earned = match_bounds(
            forest.symbol, length, order, chain, follow, alignment.position, alignment.weight
        )
        if band is not None:
            costs = (float(alignment.insertion), float(alignment.deletion))
            windows = band_windows(ranges, forest.root, length, float(band))
            promise = band_promise(
                ranges, below, around, windows, plan[0], earned, per_word, *costs
            )
    width_of_beam = np.inf if beam is None else float(beam) * part.denominator
    promise = max(
        promise,
        fill_tables(windows, width_of_beam, ranges, around, earned, per_word, *arguments),
    )
    start = int(base[forest.root])
    top = table[start : start + length + 1].max()
    # takes back what the last column carries for deletions
    gain = float(top) - length * alignment.deletion
    left_out = (promise - length * alignment.deletion + part.bonus) / part.denominator
    return Inside((gain + part.bonus) / part.denominator, top, arguments, left_out)


@kernel
def longest_sentence(in_offset, tail, tail_offset, symbol, symbol_offset, root):  # type: ignore[no-untyped-def]
    """Return the number of words of the longest sentence: it can be huge, hence a float."""
    words = np.zeros(len(in_offset) - 1)
    for node in range(len(words)):
        for edge in range(in_offset[node], in_offset[node + 1]):
            count = 0.0
            for index in range(symbol_offset[edge], symbol_offset[edge + 1]):
                if symbol[index] > 0:
                    count += 1.0
                else:
                    count += words[tail[tail_offset[edge] - 1 - symbol[index]]]
            words[node] = max(words[node], count)
    return words[root]


@kernel
def _chained(word, words):  # type: ignore[no-untyped-def]
    """Return the first match of each word, and the next one of the same word for each match."""
    chain = np.full(words, -1, np.int32)
    follow = np.empty(len(word), np.int32)
    for entry in range(len(word) - 1, -1, -1):
        follow[entry] = chain[word[entry]]
        chain[word[entry]] = entry
    return chain, follow
