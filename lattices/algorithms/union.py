"""Union of lattices, and of forests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import cast

import numpy as np
from scipy.sparse import csr_array, vstack

from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice
from lattices.spaces.arguments import GRAPHS, Graph, takes
from lattices.spaces.features import FeatureMatrix, widened_rows
from lattices.vocabulary import EPSILON, Vocabulary


@takes(spaces=GRAPHS)
def union(spaces: Sequence[Graph]) -> Graph:
    """Return one lattice, or one forest, with all paths of several of one segment.

    A new start state has an epsilon arc of score 0 to each lattice's own start, or a new root an
    edge to each forest's own root, so no path changes its words, score or features; one that
    occurs twice stays twice. One space alone comes back as it is. The words are those of the
    first vocabulary, which grows. Feature names are merged, a feature that a space does not have
    being 0 there. ``id``, ``source``, ``references`` and ``metadata`` are those of the first space
    that has any; times, categories and spans are kept if all have them. The new root gets the
    category of the first root, and the span from the first to the last word of all roots.
    Cost: O(arcs), or O(edges, tails and symbols).

    Raises
    ------
    OptionError
        If there is no space at all, or lattices and forests are mixed.

    Examples
    --------
    >>> one = Lattice.from_arcs([(0, 1, "a", -1.0)], finals=[1])
    >>> other = Lattice.from_arcs([(0, 1, "b", -2.0)], finals=[1])
    >>> [(path.text, path.score) for path in union([one, other]).paths()]
    [('a', -1.0), ('b', -2.0)]
    """
    forests = [space for space in spaces if isinstance(space, Forest)]
    lattices = [space for space in spaces if isinstance(space, Lattice)]
    if forests and lattices:
        raise OptionError("the union of lattices with forests, expected either of them alone")
    return cast(Graph, _forest_union(forests) if forests else _lattice_union(lattices))


def _lattice_union(lattices: Sequence[Lattice]) -> Lattice:
    if not lattices:
        raise OptionError("the union of no lattices at all, expected at least one")
    if len(lattices) == 1:
        return lattices[0]
    vocabulary = lattices[0].vocabulary
    sizes = [lattice.num_states for lattice in lattices]
    # state 0 is the new start
    shift = np.cumsum([1, *sizes[:-1]]).tolist()
    starts = [lattice.start + first for lattice, first in zip(lattices, shift, strict=True)]
    names = tuple(dict.fromkeys(chain.from_iterable(one.feature_names for one in lattices)))
    featured = any(lattice.features is not None for lattice in lattices)
    ended = any(lattice.final_features is not None for lattice in lattices)
    return Lattice(
        vocabulary=vocabulary,
        src=_joined(
            [0] * len(lattices), [one.src + s for one, s in zip(lattices, shift, strict=True)]
        ),
        dst=_joined(starts, [one.dst + s for one, s in zip(lattices, shift, strict=True)]),
        label=_joined([EPSILON] * len(lattices), [_labels(one, vocabulary) for one in lattices]),
        score=floats(np.concatenate([np.zeros(len(lattices)), *(one.score for one in lattices)])),
        final=floats(np.concatenate([[-np.inf], *(one.final for one in lattices)])),
        features=_stacked(
            len(lattices), [(one, one.features, one.num_arcs) for one in lattices], names
        )
        if featured
        else None,
        final_features=_stacked(
            1, [(one, one.final_features, one.num_states) for one in lattices], names
        )
        if ended
        else None,
        feature_names=names,
        times=_times(lattices),
        id=next((one.id for one in lattices if one.id), ""),
        source=next((one.source for one in lattices if one.source), ""),
        references=next((one.references for one in lattices if one.references), ()),
        metadata=next((one.metadata for one in lattices if one.metadata), {}),
    )


def _joined(first: list[int], rest: list[IntColumn]) -> IntColumn:
    return ints(np.concatenate([np.asarray(first, dtype=np.int32), *rest]))


def _labels(lattice: Lattice, vocabulary: Vocabulary) -> IntColumn:
    """Return the labels of the lattice as numbers of ``vocabulary``."""
    if lattice.vocabulary is vocabulary:
        return lattice.label
    used, place = np.unique(lattice.label, return_inverse=True)
    numbers = vocabulary.add_all(lattice.vocabulary.word(label) for label in used.tolist())
    return ints(np.asarray(numbers, dtype=np.int32)[place])


def _stacked(
    blank: int, parts: list[tuple[Lattice, FeatureMatrix | None, int]], names: tuple[str, ...]
) -> FeatureMatrix:
    """Return the rows of all parts under the merged names, after ``blank`` rows of nothing."""
    place = {name: column for column, name in enumerate(names)}
    matrices = [
        widened_rows(matrix, lattice.feature_names, place, rows) for lattice, matrix, rows in parts
    ]
    return vstack([csr_array((blank, len(names))), *matrices], format="csr")


def _times(lattices: Sequence[Lattice]) -> FloatColumn | None:
    times = [lattice.times for lattice in lattices if lattice.times is not None]
    if len(times) < len(lattices):
        return None
    begin = min(float(own[lattice.start]) for own, lattice in zip(times, lattices, strict=True))
    return floats(np.concatenate([[begin], *times]))


def _forest_union(forests: Sequence[Forest]) -> Forest:
    if len(forests) == 1:
        return forests[0]
    vocabulary = forests[0].vocabulary
    count, nodes = len(forests), sum(one.num_nodes for one in forests)
    shift = np.cumsum([0, *(one.num_nodes for one in forests[:-1])]).tolist()
    placed = list(zip(forests, shift, strict=True))
    names = tuple(dict.fromkeys(chain.from_iterable(one.feature_names for one in forests)))
    roots = [one.root + first for one, first in placed]
    ones = ints(np.arange(1, count + 1))
    return Forest(
        vocabulary=vocabulary,
        head=ints(np.concatenate([*(one.head + s for one, s in placed), [nodes] * count])),
        tail=ints(np.concatenate([*(one.tail + s for one, s in placed), roots])),
        tail_offset=_offsets([one.tail_offset for one in forests], ones),
        symbol=ints(
            np.concatenate([*(_symbols(one, vocabulary) for one in forests), [-1] * count])
        ),
        symbol_offset=_offsets([one.symbol_offset for one in forests], ones),
        score=floats(np.concatenate([*(one.score for one in forests), np.zeros(count)])),
        num_nodes=nodes + 1,
        root=nodes,
        features=_edge_features(forests, names)
        if any(one.features is not None for one in forests)
        else None,
        feature_names=names,
        categories=(
            *chain.from_iterable(one.categories for one in forests),
            forests[0].categories[forests[0].root],
        )
        if all(one.categories for one in forests)
        else (),
        spans=_spans(forests),
        id=next((one.id for one in forests if one.id), ""),
        source=next((one.source for one in forests if one.source), ""),
        references=next((one.references for one in forests if one.references), ()),
        metadata=next((one.metadata for one in forests if one.metadata), {}),
    )


def _offsets(parts: list[IntColumn], last: IntColumn) -> IntColumn:
    """Return offsets of rows one after the other; ``last`` counts from the end of the parts."""
    ends = np.cumsum([0, *(part[-1] for part in parts)])
    rows = [part[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    return ints(np.concatenate([[0], *rows, last + ends[-1]]))


def _symbols(forest: Forest, vocabulary: Vocabulary) -> IntColumn:
    """Return the target sides with words as numbers of ``vocabulary``."""
    if forest.vocabulary is vocabulary:
        return forest.symbol
    used, place = np.unique(forest.symbol, return_inverse=True)
    numbers = used.copy()
    words = forest.vocabulary.decode(used[used > 0].tolist())
    numbers[used > 0] = vocabulary.add_all(words)
    return ints(numbers[place])


def _edge_features(forests: Sequence[Forest], names: tuple[str, ...]) -> FeatureMatrix:
    """Return the rows of all forests under the merged names, then empty ones for the new root."""
    number = {name: column for column, name in enumerate(names)}
    parts = [
        widened_rows(each.features, each.feature_names, number, each.num_edges) for each in forests
    ]
    return vstack([*parts, csr_array((len(forests), len(names)))], format="csr")


def _spans(forests: Sequence[Forest]) -> IntColumn | None:
    spans = [forest.spans for forest in forests if forest.spans is not None]
    if len(spans) < len(forests):
        return None
    roots = np.array([own[one.root] for own, one in zip(spans, forests, strict=True)])
    return ints(np.concatenate([*spans, [[roots[:, 0].min(), roots[:, 1].max()]]]))
