"""Derivations of a forest in columns, and the sentences they say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from lattices.algorithms.paths import Paths
from lattices.arrays import Array, ints
from lattices.errors import SpaceError
from lattices.spaces import Forest, Hypothesis
from lattices.spaces.derivation import spelt

#: a column of edges holds no more than this
MOST_EDGES = 2**31 - 1


def too_many_edges(forest: Forest) -> SpaceError:
    """Return the error that says that derivations are too large to be written out."""
    return SpaceError(
        f"the derivations of forest {forest.id!r} that were asked for have more than "
        f"{MOST_EDGES} edges: some node is used again and again by each of them"
    )


def derivations_found(forest: Forest, edges: Array, offset: Array) -> Paths:
    """Return the edges that were found in columns, or raise the error that they are too many.

    Too many are told by a negative last offset, see :func:`~.forest_best.unrolled`.
    """
    if offset[-1] < 0:
        raise too_many_edges(forest)
    return Paths(ints(edges), ints(offset))


def forest_hypotheses(forest: Forest, derivations: Paths) -> list[Hypothesis]:
    """Return the sentences of many derivations, as :meth:`Forest.hypothesis` of each.

    Each row of ``derivations`` has the edges of one, from the top down; they are trusted to
    be derivations of the root. All features come from one sparse product. Cost: O(total
    number of edges and words).

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (1, [0], [0, "b"]), (1, [], ["c"])])
    >>> [found.text for found in forest_hypotheses(forest, Paths.of([[2], [1, 0]]))]
    ['c', 'a b']
    """
    words, word_offset, scores = spelt(
        derivations.arcs,
        derivations.offset,
        forest.tail_offset,
        forest.symbol,
        forest.symbol_offset,
        forest.score,
    )
    features = _summed_features(forest, derivations)
    edges, numbers = derivations.arcs.tolist(), words.tolist()
    return [
        Hypothesis(
            tokens=forest.vocabulary.decode(numbers[first:last]),
            score=score,
            features=features[place],
            arcs=tuple(edges[begin:end]),
        )
        for place, ((begin, end), (first, last), score) in enumerate(
            zip(
                pairwise(derivations.offset.tolist()),
                pairwise(word_offset.tolist()),
                scores.tolist(),
                strict=True,
            )
        )
    ]


def _summed_features(forest: Forest, derivations: Paths) -> list[dict[str, float]]:
    count = len(derivations.offset) - 1
    if forest.features is None or count == 0:
        return [{} for _ in range(count)]
    ones = np.ones(len(derivations.arcs))
    shape = (count, forest.num_edges)
    # an edge that a derivation uses twice has two entries, and the product adds them up
    rows = csr_array((ones, derivations.arcs, derivations.offset), shape=shape)
    total = csr_array(rows @ forest.features)
    total.sort_indices()
    total.eliminate_zeros()
    names = forest.feature_names
    columns, values, bounds = total.indices.tolist(), total.data.tolist(), total.indptr.tolist()
    return [
        {names[columns[entry]]: values[entry] for entry in range(begin, end)}
        for begin, end in pairwise(bounds)
    ]
