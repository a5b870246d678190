"""The k best and the worst sentences of lattices and forests under a machine, each once.

There are two ways. *Product*: a maximum over sentences of a maximum over alignments is one
maximum, so the product with the machine serves for the best, and each sentence is taken by its best
path and alignment. The whole product of a forest (Bar-Hillel, Perles and Shamir 1961) would be
large, and nearly all of it is far from the best: only what comes near is built, by an exact bound,
and the bound is lowered until k sentences are found above it. Then there are none other above it
(``native/forest_ranked.hpp``). *Rows* (:mod:`.rows`) have one value for each sentence, so they
serve for the best and for the worst, as long as they are few.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from lattices import _native
from lattices.algorithms.kbest import check_paths, rank_k_best, rows
from lattices.arrays import IntColumn, ints
from lattices.errors import EngineError
from lattices.intersection.automata import Automaton, Part, SearchMachine, alignments
from lattices.intersection.engine import Ranked, TargetSides, name_space_in_errors
from lattices.intersection.rows import RowMachine, forest_row_product, row_product
from lattices.limits import MEMORY, Limits
from lattices.spaces import Forest, Lattice
from lattices.spaces.forest import order_rows


def best_sentences(
    lattice: Lattice,
    automaton: Automaton,
    k: int,
    model_weight: float,
    words: IntColumn | None = None,
    *,
    memory: int = MEMORY,
) -> list[IntColumn]:
    """Return the paths of the ``k`` sentences of the highest gain plus weighted model score.

    Best first. Cost: O(arcs x machine arcs), and O(k x arcs x log(arcs)) of the product.
    """
    word = lattice.label if words is None else words
    with name_space_in_errors(lattice):
        found = _native.best_in_product(
            lattice.columns, word, automaton.row_columns, model_weight, k, min(memory, 2**62)
        )
    return rows(check_paths(lattice, found))


def best_near(
    lattice: Lattice,
    machine: SearchMachine,
    k: int,
    model_weight: float,
    words: IntColumn | None = None,
    *,
    memory: int = MEMORY,
) -> Ranked:
    """Return the ``k`` sentences of the highest gain plus weighted model score of a long lattice.

    They are looked for among the paths whose value is near the best, of which the slack grows until
    there are so many; where memory ends that, those of the slack before are not proven. Cost: that
    of the best, and for each slack O(pairs near the best).
    """
    from lattices.intersection.worst_of_stretches import scale_parts

    parts = scale_parts(machine) or [Part(machine.automaton, 1.0)]
    word = lattice.label if words is None else words
    given = [(part.automaton.columns, 1.0, part.bonus) for part in parts]
    with name_space_in_errors(lattice):
        arcs, offset, proven = _native.search_near(
            lattice.columns, word, given, model_weight, k, min(memory, 2**62)
        )
    return Ranked(rows(check_paths(lattice, (arcs, offset))), "product", proven)


def worst_sentences(
    lattice: Lattice,
    machine: RowMachine,
    k: int,
    model_weight: float,
    limits: Limits,
    words: IntColumn | None = None,
) -> list[IntColumn] | None:
    """Return the paths of the ``k`` sentences of the lowest gain plus weighted model score.

    None if the product with rows takes more than ``limits``.
    """
    product = row_product(lattice, machine, limits)
    if product is None:
        return None
    word = lattice.label if words is None else words
    paths = rank_k_best(
        product.graph,
        product.gain,
        product.final_gain,
        k,
        sign=-1.0,
        weight=model_weight,
        words=ints(word[product.origin]),
    )
    return [ints(product.origin[path]) for path in paths]


class RankedForest(NamedTuple):
    """The derivations of the best sentences, and each bound that was tried.

    A try is how much less than the best was looked for, and whether that was all.
    """

    derivations: list[IntColumn]
    tries: list[tuple[float, bool]]


def rank_forest(
    forest: Forest,
    machine: SearchMachine,
    k: int,
    model_weight: float,
    words: IntColumn | None = None,
    *,
    memory: int = MEMORY,
) -> RankedForest:
    """Return the derivations of the ``k`` sentences of the highest value, best first.

    Cost: that of the kernel for each bound, and O(links x log) of the product above it.
    """
    parts = alignments(machine)
    if parts is None:
        raise EngineError(
            f"forest {forest.id!r}: the product is that with alignments to sentences, not to "
            "reference lattices"
        )
    said = forest.symbol if words is None else words
    with name_space_in_errors(forest):
        derivations, tries = _native.rank_forest(
            forest.columns, said, parts, model_weight, k, min(memory, 2**62)
        )
    return RankedForest([ints(edges) for edges in derivations], tries)


def rank_forest_sentences(
    forest: Forest,
    automaton: Automaton,
    k: int,
    model_weight: float,
    limits: Limits,
    *,
    worst: bool,
    words: IntColumn | TargetSides | None = None,
) -> list[IntColumn] | None:
    """Return the derivations of the ``k`` best or worst sentences, by rows; None beyond the limits.

    Ranked by gain plus weighted model score; ties go to the higher model score.
    """
    product = forest_row_product(
        forest, automaton, limits, k=k, worst=worst, model_weight=model_weight
    )
    if product is None:
        return None
    graph = product.graph
    if isinstance(words, TargetSides):
        symbol, offset = order_rows(*words, graph.origin)
        said = symbol
    else:
        symbol, offset = graph.symbol, graph.symbol_offset
        column = forest.symbol if words is None else words
        said = order_rows(column, forest.symbol_offset, graph.origin)[0]
    found = _native.ranked_derivations(
        _native.ForestColumns(
            graph.head,
            graph.tail,
            graph.tail_offset,
            symbol,
            offset,
            graph.score,
            graph.in_offset,
            graph.root,
            f"forest {forest.id!r}",
        ),
        said,
        graph.gain,
        -1.0 if worst else 1.0,
        model_weight,
        k,
    )
    edges, begins = found
    origin = graph.origin[edges]
    return [ints(origin[begin:end]) for begin, end in pairwise(begins.tolist())]
