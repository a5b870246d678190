"""The best and the k best paths, derivations or sentences, found lazily from the top.

Every state of a lattice keeps the list of its best suffixes, every node of a forest that of its
best derivations, best first, and makes the next one only when it is asked for (algorithm 3 of
Huang & Chiang, 2005; ``native/kbest.hpp``). For sentences instead of paths, a state or node
passes over words it has given before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from operator import index

import numpy as np

from lattices import _native
from lattices._native import FeatureColumns
from lattices.algorithms.paths import Paths, explain_no_path, hypotheses
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.arguments import GRAPH, SPACE, check_filled, takes


@takes(space=GRAPH)
def best_path(space: Lattice | Forest) -> IntColumn:
    """Return the arcs, or from the top down the edges, of :func:`best`'s answer.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -2.0), (0, 1, "b", -1.0)], finals=[1])
    >>> best_path(lattice).tolist()
    [1]
    >>> forest = Forest.from_edges([(0, [], ["a"], -2.0), (0, [], ["b"], -1.0), (1, [0], [0])])
    >>> best_path(forest).tolist()
    [2, 1]
    """
    return _native.best_path(space.columns)


@takes(space=SPACE)
def best(space: Space) -> Hypothesis:
    """Return the sentence of the highest score; of a list, the first entry that has it.

    Which of several is returned whose score is the highest is not specified, but always the same
    one. Scores are compared at every state and node: two sums that differ before they are rounded
    together are no tie. Cost: O(arcs), or O(edges and tails).

    Raises
    ------
    SpaceError
        If the lattice has no complete path, or if the scores of paths overflow.
    OptionError
        If the list is empty.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "the", -0.5), (0, 1, "a", -0.7), (1, 2, "cat", -1.0)], finals=[2]
    ... )
    >>> best(lattice).text, best(Forest.from_lattice(lattice)).score
    ('the cat', -1.5)
    """
    if isinstance(space, NBest):
        return space[_highest(space)]
    return space.hypothesis(best_path(space).tolist())


def best_words(space: Space) -> tuple[str, ...]:
    """Return the words of :func:`best`'s answer, without looking its features up.

    Examples
    --------
    >>> best_words(Lattice.from_arcs([(0, 1, "a", -0.5), (0, 1, "the", -0.1)], finals=[1]))
    ('the',)
    """
    if isinstance(space, Lattice):
        # once a segment: the type is known, and nothing has to be checked
        path = _native.best_path(space.columns)
        return space.vocabulary.decode(space.label[path].tolist())
    return space.tokens(_highest(space)) if isinstance(space, NBest) else best(space).tokens


def _highest(nbest: NBest) -> int:
    check_filled([nbest])
    return int(np.argmax(nbest.score))


#: no search gives more, and no column of edges holds more: there is no room for them
_MOST = 2**31 - 1


@takes(space=GRAPH)
def k_best(space: Lattice | Forest, k: int, distinct: bool = False) -> list[Hypothesis]:
    """Return the ``k`` best paths or derivations, best first, or all if there are fewer.

    The order of equal scores is always the same, but not specified.

    Exact for every lattice and forest, for sentences too: a state or node passes over words that
    it has given before. Take the first derivation of any sentence, and in it a part that a node
    would have passed over: the node has given the same words by a part that comes before it,
    and with that in its place the sentence would have a derivation that comes before its
    first. So the first derivation of every sentence is made of parts that are given.

    No state or node ever gives more than ``k``, so the cost is at most O(k * arcs * log(arcs)) in a
    lattice; in a forest it is O(edges) for the best, and O(number of tails * log) for each that
    a node takes from its heap: one for each that it gives, and more only where sentences are
    passed over.

    Parameters
    ----------
    space : Lattice or Forest
    k : int
        At least 1.
    distinct : bool
        Whether to give each sentence once, by its best path, instead of every path.

    Raises
    ------
    SpaceError
        If the lattice has no complete path, or derivations are too long to be written out.

    References
    ----------
    L. Huang and D. Chiang, Better k-best Parsing, IWPT 2005.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (0, 1, "a", -2.0), (0, 1, "b", -3.0)], finals=[1]
    ... )
    >>> [(found.text, found.score) for found in k_best(lattice, 2)]
    [('a', -1.0), ('a', -2.0)]
    >>> [found.text for found in k_best(Forest.from_lattice(lattice), 2, distinct=True)]
    ['a', 'b']
    """
    return hypotheses(space, k_best_paths(space, k, distinct))


@takes(space=GRAPH)
def k_best_paths(space: Lattice | Forest, k: int, distinct: bool = False) -> Paths:
    """Return the paths or derivations of :func:`k_best`, in columns.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0)], finals=[1])
    >>> k_best_paths(lattice, 5).arcs.tolist()
    [0, 1]
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -2.0), (1, [0], [0])])
    >>> k_best_paths(forest, 5).arcs.tolist()
    [2, 0, 2, 1]
    """
    most = _check_count(k)
    if isinstance(space, Lattice):
        return check_paths(space, _native.k_best_paths(space.columns, most, bool(distinct)))
    return Paths(*map(ints, _native.k_best_derivations(space.columns, most, bool(distinct))))


def _check_count(k: int) -> int:
    if index(k) < 1:
        raise OptionError(f"k is {k}, expected at least 1")
    return min(index(k), _MOST)


def k_best_lists(
    spaces: Sequence[Lattice | Forest], k: int, distinct: bool = False, workers: int = 1
) -> list[NBest]:
    """Return the sentences of :func:`k_best` of each space as a list, with their features.

    Lattices are searched by one native call, and their lists are parts of its columns.
    """
    lattices = [space for space in spaces if isinstance(space, Lattice)]
    label, offset, score, sizes, features, finite = _native.k_best_lists(
        [(each.columns, each.feature_columns) for each in lattices],
        _check_count(k),
        bool(distinct),
        workers,
    )
    made = iter(zip(sizes, features, strict=True))
    entry = word = row = 0
    found = []
    for space in spaces:
        if isinstance(space, Forest):
            found.append(list_of_paths(space, k_best_paths(space, k, distinct)))
            continue
        (entries, words), columns = next(made)
        if not entries:
            raise explain_no_path(space)
        found.append(
            _list_of_columns(
                space,
                label[word : word + words],
                offset[row : row + entries + 1],
                score[entry : entry + entries],
                columns,
                finite,
            )
        )
        entry, word, row = entry + entries, word + words, row + entries + 1
    return found


def list_of_paths(space: Lattice | Forest, paths: Paths) -> NBest:
    """Return complete paths or derivations as a list, with their scores and features."""
    if isinstance(space, Lattice):
        parts = _native.path_list(space.columns, space.feature_columns, *paths)
        return _list_of_columns(space, *parts)
    about = {"feature_names": space.feature_names, **space.about}
    return NBest.from_hypotheses(hypotheses(space, paths), vocabulary=space.vocabulary, **about)


def _list_of_columns(
    lattice: Lattice,
    label: IntColumn,
    offset: IntColumn,
    score: FloatColumn,
    features: FeatureColumns | None,
    finite: bool,
) -> NBest:
    about = {"feature_names": lattice.feature_names, **lattice.about}
    nbest = NBest.from_columns(lattice.vocabulary, label, offset, score, features, **about)
    # which says what is not
    return nbest if finite else replace(nbest, metadata=lattice.metadata)


def explain_too_many_edges(forest: Forest) -> SpaceError:
    """Return the error that derivations are too large to be listed."""
    return SpaceError(
        f"the derivations of forest {forest.id!r} that were asked for have more than "
        f"{_MOST} edges: some node is used again and again by each of them"
    )


def rank_k_best(
    lattice: Lattice,
    value: FloatColumn,
    final_value: FloatColumn,
    k: int,
    *,
    sign: float = 1.0,
    weight: float = 0.0,
    words: IntColumn | None = None,
) -> list[IntColumn]:
    """Return the arcs of the ``k`` sentences of the highest ``sign * (value + weight * score)``.

    Each sentence comes once, by its best path. Equal values go to the higher score.
    """
    found = _native.ranked_paths(
        lattice.columns,
        lattice.label if words is None else words,
        floats(value),
        floats(final_value),
        sign,
        weight,
        min(k, _MOST),
    )
    return rows(check_paths(lattice, found))


def rows(paths: Paths) -> list[IntColumn]:
    """Return paths in columns one by one."""
    return [ints(paths.arcs[begin:end]) for begin, end in pairwise(paths.offset.tolist())]


def check_paths(lattice: Lattice, found: tuple[IntColumn, IntColumn]) -> Paths:
    """Return the paths of a lattice that a search found, or raise the error that says why not."""
    arcs, offset = found
    if len(offset) == 1:
        raise explain_no_path(lattice)
    return Paths(ints(arcs), ints(offset))
