"""Several forests as one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from scipy.sparse import csr_array, vstack

from lattices.arrays import IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Forest
from lattices.spaces.features import FeatureMatrix
from lattices.vocabulary import Vocabulary


def forest_union(forests: Sequence[Forest]) -> Forest:
    """Return one forest with all derivations of several forests of one segment.

    A new root has an edge of score 0 to each forest's own root, so no derivation changes its
    words, score or features; one that occurs twice stays twice. One forest alone comes back
    as it is.

    The words are those of the first forest's vocabulary, which grows if others have words it
    does not know. Feature names are merged, a feature that a forest does not have being 0
    there. ``id``, ``source``, ``references`` and ``metadata`` are those of the first forest
    that has any. Categories and spans are kept if all forests have them; the new root gets
    the category of the first root, and the span from the first to the last word of all roots.
    Cost: O(edges, tails and symbols).

    Raises
    ------
    OptionError
        If there is no forest at all.

    Examples
    --------
    >>> one = Forest.from_edges([(0, [], ["a"], -1.0)])
    >>> other = Forest.from_edges([(0, [], ["b"], -2.0)])
    >>> [(found.text, found.score) for found in forest_union([one, other]).derivations()]
    [('a', -1.0), ('b', -2.0)]
    """
    if not forests:
        raise OptionError("the union of no forests at all, expected at least one")
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
        features=_features(forests, names)
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


def _features(forests: Sequence[Forest], names: tuple[str, ...]) -> FeatureMatrix:
    """Return the rows of all forests under the merged names, then empty ones for the new root."""
    number = {name: column for column, name in enumerate(names)}
    parts = []
    for forest in forests:
        shape = (forest.num_edges, len(names))
        if forest.features is None:
            parts.append(csr_array(shape))
        else:
            own = forest.features
            columns = np.array([number[name] for name in forest.feature_names], np.int32)
            parts.append(csr_array((own.data, columns[own.indices], own.indptr), shape=shape))
    return vstack([*parts, csr_array((len(forests), len(names)))], format="csr")


def _spans(forests: Sequence[Forest]) -> IntColumn | None:
    spans = [forest.spans for forest in forests if forest.spans is not None]
    if len(spans) < len(forests):
        return None
    roots = np.array([own[one.root] for own, one in zip(spans, forests, strict=True)])
    return ints(np.concatenate([*spans, [[roots[:, 0].min(), roots[:, 1].max()]]]))
