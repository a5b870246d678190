"""The k best or worst sentences of a forest by way of its lattice.

Where a forest has too many matrices, its lattice (:func:`lattices.algorithms.forest_to_lattice`)
may still have few rows; if it has few states.
"""

from __future__ import annotations

import numpy as np

from lattices import _native
from lattices.algorithms.forest_to_lattice import forest_to_lattice
from lattices.arrays import Array, IntColumn, ints
from lattices.engines.automata import Automaton
from lattices.engines.ranked import best_sentences, worst_sentences
from lattices.engines.row_search import lowest_path
from lattices.engines.rows import MEMORY, RowMachine
from lattices.errors import SpaceError
from lattices.spaces.forest import Forest
from lattices.spaces.lattice import Lattice
from lattices.vocabulary import Vocabulary


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
