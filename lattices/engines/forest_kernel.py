"""The fast engine for forests: the best derivation under a machine made of alignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from lattices._native import AlignmentColumns, search_forests
from lattices.arrays import Array, column, kernel
from lattices.engines.automata import SINGLE_PRECISION, Alignment, Machines, Part, SearchMachine
from lattices.engines.forest_inside import fill_tables
from lattices.engines.forest_plan import matchless_spans, plan_tables, table_stride
from lattices.engines.forward import LANES
from lattices.engines.found import Found
from lattices.errors import EngineError
from lattices.spaces.forest import Forest

#: the most cells that the tables of one search may ask memory for
MOST_CELLS = 2**29


class ForestKernel:
    """Items from the bottom up, the derivation by evaluating again from the top down.

    Of several derivations with the highest value, one with the highest model score is returned
    (that of an edge plus what is below it, in the order of its target side).

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

        Without a beam and a band it is, and has the highest model score of all of that value;
        with them, of those that were not left out. See docs/engines.md.

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
        parts: list[list[tuple[AlignmentColumns, float, float]]] = []
        for forest, machine in zip(forests, machines, strict=True):
            reason = self.can_run(forest, machine)
            if reason is not True:
                raise EngineError(f"forest {forest.id!r}: {reason}")
            parts.append(
                [
                    (part.automaton.columns, part.denominator, part.bonus)
                    for part in machine.parts
                    if isinstance(part.automaton, Alignment)
                ]
            )
        answers = search_forests(
            [forest.columns for forest in forests],
            parts,
            model_weight,
            np.inf if beam is None else beam,
            -1.0 if band is None else band,
            MOST_CELLS,
            workers,
        )
        found: list[tuple[Found, bool]] = []
        for forest, (problem, value, edges, part, proven) in zip(forests, answers, strict=True):
            if not problem and part < 0:
                problem = f"a beam of {beam} and a band of {band} leave no derivation"
            if problem:
                raise EngineError(f"forest {forest.id!r}: {problem}")
            found.append((Found(value, edges, part), proven))
        return found


ENGINE = ForestKernel()


class Inside(NamedTuple):
    """The filled tables of one part, in the order in which the way down takes them."""

    value: float
    top: Any
    tables: tuple[Any, ...]


def fill_part(
    forest: Forest,
    columns: tuple[Array, ...],
    part: Part,
    longest: float,
    model_weight: float,
) -> Inside:
    """Fill the tables for one part of a machine, as the search for the k best takes them."""
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
    substitution = -np.inf if -alignment.insertion >= alignment.deletion else alignment.deletion
    spans = matchless_spans(*columns, length, chain, follow, alignment.position)
    gathered = np.empty(int(width.max()), precision)
    arguments = (
        table, silent, levels[LANES:], gathered, bias, *columns, length, order, stride,
        precision(alignment.insertion), precision(substitution), precision(alignment.deletion),
        chain, follow, alignment.position, column(alignment.weight, precision), *plan,
        row_offset, row_high, spans,
    )  # fmt: skip
    fill_tables(*arguments)
    start = int(base[forest.root])
    top = table[start : start + length + 1].max()
    # takes back what the last column carries for deletions
    gain = float(top) - length * alignment.deletion
    return Inside((gain + part.bonus) / part.denominator, top, arguments)


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
