"""Named features in a sparse matrix: one row an arc, a state or a hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError, SpaceError

#: ``scipy.sparse.csr_array``; scipy ships no types
FeatureMatrix: TypeAlias = Any
Weights: TypeAlias = "Mapping[str, float] | ArrayLike"


def checked_features(matrix: Any, rows: int, names: Sequence[str], what: str) -> FeatureMatrix:
    """Return ``matrix`` as float64 CSR of ``rows`` rows, or say what is wrong with it."""
    if not isinstance(matrix, csr_array) or matrix.dtype != np.float64:
        matrix = csr_array(matrix, dtype=np.float64)
    if matrix.shape != (rows, len(names)):
        raise SpaceError(
            f"{what} have shape {matrix.shape}, expected {(rows, len(names))}: "
            "one row each and one column a feature name"
        )
    if not np.isfinite(matrix.data).all():
        raise SpaceError(f"{what} hold a value that is not finite")
    return matrix


def weight_vector(weights: Weights, names: Sequence[str]) -> FloatColumn:
    """Return the weights in the order of ``names``.

    A mapping must name every feature that the space has: a feature left out would be
    weighted zero without a word. Names the space does not have are no harm.

    Examples
    --------
    >>> weight_vector({"lm": 0.5, "tm": 2.0, "unused": 1.0}, ["tm", "lm"]).tolist()
    [2.0, 0.5]
    """
    if isinstance(weights, Mapping):
        missing = [name for name in names if name not in weights]
        if missing:
            raise OptionError(f"no weight for the features {', '.join(missing)}")
        vector = floats([weights[name] for name in names])
    else:
        vector = floats(weights)
        if vector.shape != (len(names),):
            raise OptionError(f"{vector.size} weights for {len(names)} features")
    if not np.isfinite(vector).all():
        raise OptionError("a weight is not finite")
    return vector


def feature_matrix(rows: Iterable[Mapping[str, float] | None], names: list[str]) -> FeatureMatrix:
    """Return one sparse row for each mapping; names not seen before are appended to ``names``.

    Examples
    --------
    >>> names = ["lm"]
    >>> feature_matrix([{"lm": -1.0}, None, {"tm": 2.0}], names).toarray().tolist()
    [[-1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]
    >>> names
    ['lm', 'tm']
    """
    number = {name: index for index, name in enumerate(names)}
    columns: list[int] = []
    values: list[float] = []
    bounds = [0]
    for row in rows:
        if row:
            columns.extend([number.setdefault(name, len(number)) for name in row])
            values.extend(row.values())
        bounds.append(len(values))
    names[:] = number
    return csr_array(
        (
            np.array(values, dtype=np.float64),
            np.array(columns, np.int32),
            np.array(bounds, np.int32),
        ),
        shape=(len(bounds) - 1, len(number)),
    )


def summed_rows(matrix: FeatureMatrix, rows: Sequence[int]) -> FloatColumn:
    """Return the sum of a few rows, dense: many times faster than slicing the matrix.

    Examples
    --------
    >>> summed_rows(csr_array([[1.0, 0.0], [0.5, 2.0], [9.0, 9.0]]), [0, 1]).tolist()
    [1.5, 2.0]
    """
    bounds = matrix.indptr
    entries = [entry for row in rows for entry in range(bounds[row], bounds[row + 1])]
    return floats(
        np.bincount(
            matrix.indices[entries], weights=matrix.data[entries], minlength=matrix.shape[1]
        )
    )


def as_mapping(vector: ArrayLike, names: Sequence[str]) -> dict[str, float]:
    """Return the non-zero entries of a dense feature vector by name."""
    return {
        name: float(value)
        for name, value in zip(names, np.asarray(vector, dtype=np.float64), strict=True)
        if value != 0.0
    }
