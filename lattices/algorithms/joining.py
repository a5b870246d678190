"""Several lattices as one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from scipy.sparse import csr_array, vstack

from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Lattice
from lattices.spaces.features import FeatureMatrix
from lattices.vocabulary import EPSILON, Vocabulary


def union(lattices: Sequence[Lattice]) -> Lattice:
    """Return one lattice with all paths of several lattices of one segment.

    A new start state has an epsilon arc of score 0 to each lattice's own start, so no path
    changes its words, score or features; a path that occurs twice stays twice. One lattice
    alone comes back as it is.

    The words are those of the first lattice's vocabulary, which grows if others have words
    it does not know. Feature names are merged, a feature that a lattice does not have being
    0 there. ``id``, ``source``, ``references`` and ``metadata`` are those of the first
    lattice that has any; times are kept if all lattices have them. Cost: O(arcs).

    Raises
    ------
    OptionError
        If there is no lattice at all.

    Examples
    --------
    >>> one = Lattice.from_arcs([(0, 1, "a", -1.0)], finals=[1])
    >>> other = Lattice.from_arcs([(0, 1, "b", -2.0)], finals=[1])
    >>> [(path.text, path.score) for path in union([one, other]).paths()]
    [('a', -1.0), ('b', -2.0)]
    """
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
    matrices = [csr_array((blank, len(names)))]
    for lattice, matrix, rows in parts:
        if matrix is None:
            matrices.append(csr_array((rows, len(names))))
        else:
            columns = np.array([place[name] for name in lattice.feature_names], dtype=np.int32)
            matrices.append(
                csr_array(
                    (matrix.data, columns[matrix.indices], matrix.indptr), shape=(rows, len(names))
                )
            )
    return vstack(matrices, format="csr")


def _times(lattices: Sequence[Lattice]) -> FloatColumn | None:
    times = [lattice.times for lattice in lattices if lattice.times is not None]
    if len(times) < len(lattices):
        return None
    begin = min(float(own[lattice.start]) for own, lattice in zip(times, lattices, strict=True))
    return floats(np.concatenate([[begin], *times]))
