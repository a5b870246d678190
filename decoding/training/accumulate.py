"""What a decoder said over several iterations, put together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array, vstack

from lattices.algorithms import union
from lattices.arrays import IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.features import FeatureMatrix
from lattices.vocabulary import Vocabulary


def accumulate(old: NBest, new: NBest) -> NBest:
    """Return one list with the entries of two lists of one segment, each once.

    Entries with the same words and the same features are one; the first of them stays, with
    its score, where it was. New entries follow in their order. A feature that a list does not
    name is 0 there; without features on both sides the words alone count.

    The vocabulary is that of the old list, which grows if the new one has words it does not
    know. ``id``, ``source``, ``references`` and ``metadata`` are those of the old list, or of
    the new one where the old has none. Cost: O(words and features of both).

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> old = NBest.from_hypotheses([Hypothesis(("a",), -1.0, {"lm": 1.0})])
    >>> new = NBest.from_hypotheses(
    ...     [Hypothesis(("b",), -1.0, {"tm": 2.0}), Hypothesis(("a",), -3.0, {"lm": 1.0})]
    ... )
    >>> [(each.text, each.features) for each in accumulate(old, new)]
    [('a', {'lm': 1.0}), ('b', {'tm': 2.0})]
    """
    names = tuple(dict.fromkeys((*old.feature_names, *new.feature_names)))
    features = None
    keys = [b""] * (len(old) + len(new))
    if old.features is not None or new.features is not None:
        features = csr_array(vstack([_columns(one, names) for one in (old, new)], format="csr"))
        features.sum_duplicates()
        features.eliminate_zeros()
        keys = _row_keys(features)
    label = np.concatenate((old.label, _labels(new, old.vocabulary)))
    offset = np.concatenate((old.offset, old.offset[-1] + new.offset[1:]))
    raw, bounds = label.tobytes(), (label.itemsize * offset).tolist()
    first: dict[tuple[bytes, bytes], int] = {}
    for place, (begin, end) in enumerate(pairwise(bounds)):
        first.setdefault((raw[begin:end], keys[place]), place)
    kept = np.array(sorted(first.values()), dtype=np.int64)
    sizes = np.diff(offset)[kept]
    ends = np.concatenate(([0], np.cumsum(sizes)))
    places = np.arange(ends[-1]) + np.repeat(offset[:-1][kept] - ends[:-1], sizes)
    return NBest(
        vocabulary=old.vocabulary,
        label=ints(label[places]),
        offset=ints(ends),
        score=floats(np.concatenate((old.score, new.score))[kept]),
        features=None if features is None else features[kept],
        feature_names=names,
        id=old.id or new.id,
        source=old.source or new.source,
        references=old.references or new.references,
        metadata=old.metadata or new.metadata,
    )


def accumulated(old: Space, new: Space) -> Space:
    """Return what two spaces of one segment have, whatever their kind.

    Lists by :func:`accumulate`; lattices and forests by :func:`lattices.union`, in which a path
    that both have is there twice.

    Raises
    ------
    OptionError
        If they are not of one kind.
    """
    if isinstance(old, NBest) and isinstance(new, NBest):
        return accumulate(old, new)
    if isinstance(old, Lattice) and isinstance(new, Lattice):
        return union([old, new])
    if isinstance(old, Forest) and isinstance(new, Forest):
        return union([old, new])
    raise OptionError(
        f"segment {old.id!r} was a {type(old).__name__} and is now a {type(new).__name__}"
    )


def _labels(nbest: NBest, vocabulary: Vocabulary) -> IntColumn:
    """Return the words of a list as numbers of another vocabulary, which grows."""
    if nbest.vocabulary is vocabulary:
        return nbest.label
    used, place = np.unique(nbest.label, return_inverse=True)
    numbers = vocabulary.add_all(map(nbest.vocabulary.word, used.tolist()))
    return ints(np.array(numbers, dtype=np.int32)[place])


def _columns(nbest: NBest, names: tuple[str, ...]) -> FeatureMatrix:
    """Return the features of a list in other columns."""
    shape = (len(nbest), len(names))
    if nbest.features is None or not nbest.feature_names:
        return csr_array(shape)
    number = {name: place for place, name in enumerate(names)}
    columns = np.array([number[name] for name in nbest.feature_names], dtype=np.int32)
    rows = nbest.features
    return csr_array((rows.data, columns[rows.indices], rows.indptr), shape=shape)


def _row_keys(features: FeatureMatrix) -> list[bytes]:
    """Return the content of each row, for comparison."""
    columns, values = features.indices.astype(np.int64).tobytes(), features.data.tobytes()
    return [
        columns[8 * begin : 8 * end] + values[8 * begin : 8 * end]
        for begin, end in pairwise(features.indptr.tolist())
    ]
