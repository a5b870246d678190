"""Named features in a sparse matrix: one row an arc, a state or a hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, hstack

from lattices._native import FeatureColumns
from lattices._native import reordered_rows as native_rows
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError, SpaceError

#: ``scipy.sparse.csr_array``; scipy ships no types
FeatureMatrix: TypeAlias = Any
Weights: TypeAlias = "Mapping[str, float] | ArrayLike"
#: a lattice, a forest or a list
Featured = TypeVar("Featured", bound=Any)


_EMPTY = csr_array((0, 0))


def sparse_rows(values: Any, columns: Any, bounds: Any, width: int) -> FeatureMatrix:
    """Return the sparse matrix of parts that are known to be right, without a copy.

    The constructor of scipy would look at them again, in more time than a reader needs to find
    them.

    Parameters
    ----------
    values : float64 column
    columns : int32 column
        The column of each value.
    bounds : int32 column
        Where rows begin in the other two; one more entry than there are rows.
    width : int
        How many columns there are.

    Examples
    --------
    >>> sparse_rows(floats([1, 1]), ints([1, 0]), ints([0, 0, 2]), 3).toarray().tolist()
    [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    matrix = csr_array.__new__(csr_array)
    parts = {"data": values, "indices": columns, "indptr": bounds}
    matrix.__dict__.update(_EMPTY.__dict__, **parts, _shape=(len(bounds) - 1, width))
    return matrix


def matrix_columns(matrix: FeatureMatrix) -> tuple[IntColumn, IntColumn, FloatColumn]:
    """Return where rows begin, the column and the value of each entry, as kernels want them.

    Examples
    --------
    >>> [part.tolist() for part in matrix_columns(csr_array([[0.0, 1.5], [2.0, 0.0]]))]
    [[0, 1, 2], [1, 0], [1.5, 2.0]]
    """
    return ints(matrix.indptr), ints(matrix.indices), floats(matrix.data)


_NO_ROWS = matrix_columns(_EMPTY)


def frozen_matrix(matrix: FeatureMatrix) -> FeatureMatrix:
    """Return a sparse matrix whose parts nobody can write to."""
    bounds, columns, values = matrix_columns(matrix)
    return sparse_rows(values, columns, bounds, matrix.shape[1])


def feature_columns(
    names: tuple[str, ...], count: int, rows: FeatureMatrix | None, ends: FeatureMatrix | None
) -> FeatureColumns | None:
    """Return the features of ``count`` arcs, and of ends, as native code takes them.

    None if there are none; a lattice may have features at its ends alone.
    """
    if rows is None and ends is None:
        return None
    of_rows = matrix_columns(csr_array((count, len(names))) if rows is None else rows)
    return FeatureColumns(names, *of_rows, *(_NO_ROWS if ends is None else matrix_columns(ends)))


def reordered_rows(matrix: FeatureMatrix, order: Array) -> FeatureMatrix:
    """Return these rows, an empty one for each negative number: ``matrix[order]``, but faster.

    Examples
    --------
    >>> matrix = csr_array([[1.0, 2.0], [0.0, 3.0]])
    >>> reordered_rows(matrix, np.array([1, -1, 0])).toarray().tolist()
    [[0.0, 3.0], [0.0, 0.0], [1.0, 2.0]]
    """
    values, columns, bounds = native_rows(*matrix_columns(matrix), ints(order))
    return sparse_rows(values, columns, bounds, matrix.shape[1])


def widened_rows(
    matrix: FeatureMatrix | None, names: Sequence[str], column: Mapping[str, int], rows: int
) -> FeatureMatrix:
    """Return rows of features in the columns of a table of more; empty rows if there are none.

    Parameters
    ----------
    matrix
        The rows, or None.
    names
        The features of its columns.
    column
        The column of each feature of the table.
    rows
        How many rows there are.

    Examples
    --------
    >>> rows = csr_array([[1.0, 2.0]])
    >>> widened_rows(rows, ["lm", "tm"], {"tm": 0, "wp": 1, "lm": 2}, 1).toarray().tolist()
    [[2.0, 0.0, 1.0]]
    """
    shape = (rows, len(column))
    if matrix is None or not len(names):
        return csr_array(shape)
    columns = np.array([column[name] for name in names], dtype=np.int32)
    return csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=shape)


def checked_features(matrix: Any, rows: int, names: Sequence[str], what: str) -> FeatureMatrix:
    """Return ``matrix`` as float64 CSR of ``rows`` rows, or say what is wrong with it."""
    try:
        if not isinstance(matrix, csr_array) or matrix.dtype != np.float64:
            matrix = csr_array(matrix, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise SpaceError(f"{what} are no matrix of numbers: {problem}") from problem
    if matrix.shape != (rows, len(names)):
        raise SpaceError(
            f"{what} have shape {matrix.shape}, expected {(rows, len(names))}: "
            "one row each and one column a feature name"
        )
    if not np.isfinite(matrix.data).all():
        raise SpaceError(f"{what} hold a value that is not finite")
    bounds, columns, values = matrix_columns(matrix)
    # refuses what would be outside of the matrix
    FeatureColumns(tuple(names), bounds, columns, values, *_NO_ROWS)
    return sparse_rows(values, columns, bounds, len(names))


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
        vector = floats(weights, "the vector of weights")
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


def add_feature(space: Featured, name: str, values: ArrayLike) -> Featured:
    """Return a lattice, forest or list with one more feature; scores stay as they are.

    Parameters
    ----------
    space : Lattice, Forest or NBest
    name : str
        One that no other feature has.
    values : array of float
        One for each entry of a list, arc of a lattice or edge of a forest.

    Raises
    ------
    SpaceError
        If there is a feature of that name, there are not as many values, or one is not finite.

    Examples
    --------
    >>> from lattices import from_hypotheses
    >>> nbest = add_feature(from_hypotheses([("a cat", -1.0), ("cat", -2.0)]), "words", [2, 1])
    >>> nbest[0].features, nbest.reweighted({"words": 0.5}).score.tolist()
    ({'words': 2.0}, [1.0, 0.5])
    """
    if name in space.feature_names:
        raise SpaceError(f"there is a feature {name!r} already")
    column = floats(values, f"the feature {name!r}")
    count = len(space.score)
    if column.shape != (count,):
        raise SpaceError(f"{name!r} has values of shape {column.shape}, expected ({count},)")
    if not np.isfinite(column).all():
        place = int(np.flatnonzero(~np.isfinite(column))[0])
        raise SpaceError(f"{name!r} has {column[place]} at {place}, expected a finite number")
    before = space.features
    if before is None:
        before = csr_array((count, len(space.feature_names)))
    changes = {
        "features": csr_array(hstack([before, csr_array(column[:, None])])),
        "feature_names": (*space.feature_names, name),
    }
    ends = getattr(space, "final_features", None)
    if ends is not None:
        changes["final_features"] = csr_array(hstack([ends, csr_array((ends.shape[0], 1))]))
    return replace(space, **changes)
