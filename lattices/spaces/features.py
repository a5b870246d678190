"""Named features in a sparse matrix: one row an arc, a state or a hypothesis."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from lattices._native import FeatureColumns, canonical_rows
from lattices._native import reordered_rows as native_rows
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError, SpaceError

#: ``scipy.sparse.csr_array``; scipy ships no types
FeatureMatrix: TypeAlias = Any
Weights: TypeAlias = "Mapping[str, float] | ArrayLike"
#: a lattice, a forest or a list
Featured = TypeVar("Featured", bound=Any)


class FeatureRows:
    """The parts of a sparse matrix: what readers make and kernels take, without scipy.

    Attributes
    ----------
    data : float64 column
    indices : int32 column
        The column of each value.
    indptr : int32 column
        Where rows begin in the other two; one more entry than there are rows.
    shape : tuple of int
        How many rows and columns there are.
    """

    __slots__ = ("_matrix", "data", "indices", "indptr", "shape")

    def __init__(self, data: Any, indices: Any, indptr: Any, width: int) -> None:
        self.data, self.indices, self.indptr = data, indices, indptr
        self.shape = (len(indptr) - 1, width)
        self._matrix: FeatureMatrix = None

    @classmethod
    def dense(cls, values: Array) -> FeatureRows:
        """Return the rows of a table in which every value is stored, zeros among them."""
        rows, width = values.shape
        columns = np.tile(np.arange(width, dtype=np.int32), rows)
        bounds = width * np.arange(rows + 1, dtype=np.int32)
        return cls(floats(values.ravel()), ints(columns), ints(bounds), width)

    @property
    def nnz(self) -> int:
        """How many values are stored."""
        return len(self.data)

    @property
    def matrix(self) -> FeatureMatrix:
        """The ``csr_array`` of these parts, made when it is first asked for, without a copy."""
        if self._matrix is None:
            # takes longer to import than a lattice to be searched
            from scipy.sparse import csr_array

            # the constructor would look at the parts again, in more time than a reader needs
            matrix = csr_array.__new__(csr_array)
            parts = {"data": self.data, "indices": self.indices, "indptr": self.indptr}
            matrix.__dict__.update(csr_array((0, 0)).__dict__, **parts, _shape=self.shape)
            self._matrix = matrix
        return self._matrix

    def widen(self, width: int) -> FeatureRows:
        """Return the rows with more columns, which are empty."""
        return FeatureRows(self.data, self.indices, self.indptr, width)

    def column(self, place: int) -> FloatColumn:
        """Return one feature of all rows, 0 where there is none.

        Examples
        --------
        >>> rows = FeatureRows(floats([1, 2, 4]), ints([1, 0, 1]), ints([0, 1, 1, 3]), 2)
        >>> rows.column(1).tolist()
        [1.0, 0.0, 4.0]
        """
        of_it = self.indices == place
        row = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))[of_it]
        return floats(np.bincount(row, self.data[of_it], self.shape[0]))

    def keep(self, kept: Array) -> FeatureRows:
        """Return the rows without some of their values."""
        count = np.concatenate(([0], np.cumsum(kept)))
        bounds = ints(count[self.indptr])
        return FeatureRows(floats(self.data[kept]), ints(self.indices[kept]), bounds, self.shape[1])

    def canonicalize(self) -> FeatureRows:
        """Return the rows with columns in order, and one value for each."""
        found = canonical_rows(*matrix_columns(self))
        return self if found is None else FeatureRows(*found[::-1], self.shape[1])

    def __getstate__(self) -> tuple[Any, ...]:
        """Return what is pickled."""
        return self.data, self.indices, self.indptr, self.shape[1]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Take what was pickled; arrays come out of a pickle writable."""
        data, indices, indptr, width = state
        self.__init__(floats(data), ints(indices), ints(indptr), width)  # type: ignore[misc]


class Features:
    """A field of a space that is given and had as ``csr_array``, and held as :class:`FeatureRows`.

    None is its default.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the field."""
        self._name = name

    def __get__(self, space: Any, owner: type | None = None) -> FeatureMatrix | None:
        """Return the matrix, None if the space has none."""
        found = None if space is None else make_rows(space, self._name)
        return found.matrix if isinstance(found, FeatureRows) else found

    def __set__(self, space: Any, value: object) -> None:
        """Take what the constructor is given."""
        space.__dict__[self._name] = value


def make_rows(space: Any, name: str = "features") -> FeatureRows | None:
    """Return the features of a space as they are held, or those of its ends."""
    held = space.__dict__
    if name not in held:
        # native code owns them, or they are of ends where nothing ends
        own: FeatureColumns | None = held.get("feature_columns")
        held[name] = None
        if own is not None:
            values, columns, bounds = own.rows(name == "final_features")
            if name == "features" or len(bounds) > 1:
                held[name] = FeatureRows(values, columns, bounds, len(space.feature_names))
    found: FeatureRows | None = held[name]
    return found


def matrix_columns(matrix: FeatureMatrix) -> tuple[IntColumn, IntColumn, FloatColumn]:
    """Return where rows begin, the column and the value of each entry, as kernels want them."""
    return ints(matrix.indptr), ints(matrix.indices), floats(matrix.data)


_NO_ROWS = ints([0]), ints([]), floats([])


def feature_rows(matrix: FeatureMatrix) -> FeatureRows:
    """Return the parts of a sparse matrix, read-only."""
    bounds, columns, values = matrix_columns(matrix)
    return FeatureRows(values, columns, bounds, matrix.shape[1])


def feature_columns(
    names: tuple[str, ...], count: int, rows: FeatureRows | None, ends: FeatureRows | None
) -> FeatureColumns | None:
    """Return the features of ``count`` arcs, and of ends, as native code takes them.

    None if there are none; a lattice may have features at its ends alone.
    """
    if rows is None and ends is None:
        return None
    of_rows = (ints(np.zeros(count + 1)), *_NO_ROWS[1:]) if rows is None else matrix_columns(rows)
    return FeatureColumns(names, *of_rows, *(_NO_ROWS if ends is None else matrix_columns(ends)))


def reorder_rows(matrix: FeatureMatrix, order: Array) -> FeatureRows:
    """Return these rows, an empty one for each negative number: ``matrix[order]``, but faster."""
    values, columns, bounds = native_rows(*matrix_columns(matrix), ints(order))
    return FeatureRows(values, columns, bounds, matrix.shape[1])


def widen_rows(
    matrix: FeatureMatrix | None, names: Sequence[str], column: Mapping[str, int], rows: int
) -> FeatureMatrix:
    """Return rows of features in the columns of a table of more; empty rows if there are none."""
    from scipy.sparse import csr_array

    shape = (rows, len(column))
    if matrix is None or not len(names):
        return csr_array(shape)
    columns = np.array([column[name] for name in names], dtype=np.int32)
    return csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=shape)


def check_features(matrix: Any, rows: int, names: Sequence[str], what: str) -> FeatureRows:
    """Return ``matrix`` as float64 CSR of ``rows`` rows, or say what is wrong with it."""
    if not isinstance(matrix, FeatureRows):
        from scipy.sparse import csr_array

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
    found = feature_rows(matrix)
    # refuses what would be outside of the matrix
    FeatureColumns(tuple(names), found.indptr, found.indices, found.data, *_NO_ROWS)
    return found


#: what a feature without a weight is: 0 with a warning, 0, or an error
MISSING = ("warn", "zero", "error")


class MissingWeightWarning(UserWarning):
    """Features without a weight, which count nothing."""


def check_missing(
    weights: Mapping[str, float], names: Sequence[str], missing: str, what: str = "no weight"
) -> None:
    """Say which features have no weight: as a warning or as an error, or not at all.

    Where none has one, the weights are of another model, which is an error unless 0 is asked for.
    """
    if missing not in MISSING:
        raise OptionError(f"missing is one of {', '.join(MISSING)}, not {missing!r}")
    left = [name for name in names if name not in weights]
    if not left or missing == "zero":
        return
    told = f"{what} for the features {', '.join(left)}"
    if missing == "error" or len(left) == len(names):
        raise OptionError(told)
    # from one place, so that a loop over segments warns once
    warnings.warn(f"{told}: they count nothing", MissingWeightWarning, stacklevel=1)


def weight_vector(weights: Weights, names: Sequence[str], missing: str = "warn") -> FloatColumn:
    """Return the weights in the order of ``names``.

    A feature that a mapping does not name has the weight 0, with a warning unless ``missing`` is
    ``zero``. It is an error if that is ``error``, or if no feature has a weight. Names the space
    does not have are no harm. A vector may be a tensor, which is read as numbers.

    Examples
    --------
    >>> weight_vector({"lm": 0.5, "tm": 2.0, "unused": 1.0}, ["tm", "lm"]).tolist()
    [2.0, 0.5]
    """
    if isinstance(weights, Mapping):
        check_missing(weights, names, missing)
        vector = floats([weights.get(name, 0.0) for name in names])
    else:
        given: Any = weights
        if hasattr(given, "detach"):
            given = given.detach().cpu().numpy()
        vector = floats(given, "the vector of weights")
    if vector.shape != (len(names),):
        raise OptionError(f"{vector.size} weights for {len(names)} features")
    if not np.isfinite(vector).all():
        raise OptionError("a weight is not finite")
    return vector


def feature_matrix(rows: Iterable[Mapping[str, float] | None], names: list[str]) -> FeatureRows:
    """Return one sparse row for each mapping; names not seen before are appended to ``names``."""
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
    data = np.array(values, dtype=np.float64)
    if data.ndim != 1:
        raise ValueError("the value of a feature is one number")
    return FeatureRows(data, np.array(columns, np.int32), np.array(bounds, np.int32), len(number))


def feature_texts(space: Any) -> list[str]:
    """Return what a function gives values: the hypotheses of a list, else the words, in order.

    Examples
    --------
    >>> from lattices import from_hypotheses
    >>> feature_texts(from_hypotheses([("a cat", -1.0), ("cat", -2.0)]))
    ['a cat', 'cat']
    """
    if hasattr(space, "offset"):
        return [" ".join(space.tokens(entry)) for entry in range(len(space))]
    labels = space.symbol if hasattr(space, "symbol") else space.label
    return list(space.vocabulary.decode(labels[labels > 0].tolist()))


def feature_column(space: Any, numbers: Array) -> FloatColumn:
    """Return the value of each entry, arc or edge, from those of :func:`feature_texts`."""
    if hasattr(space, "offset"):
        return floats(numbers)
    if not hasattr(space, "symbol"):
        column = np.zeros(len(space.score))
        column[space.label > 0] = numbers
        return floats(column)
    edge = np.repeat(np.arange(len(space.score)), np.diff(space.symbol_offset))
    said = edge[space.symbol > 0]
    return floats(np.bincount(said, weights=numbers, minlength=len(space.score)))


def _call_once(function: Callable[[list[str]], Any], texts: list[str]) -> Array:
    """Return what a function gives each text; it is called with distinct ones."""
    place: dict[str, int] = {}
    numbers = [place.setdefault(text, len(place)) for text in texts]
    given = (
        floats(list(function(list(place))), "what the function returns") if place else floats([])
    )
    if given.shape != (len(place),):
        raise OptionError(
            f"the function returned {len(given)} values for {len(place)} texts, expected as many"
        )
    found: Array = given[numbers]
    return found


def add_feature(
    space: Featured, name: str, values: ArrayLike | Callable[[list[str]], Any]
) -> Featured:
    """Return a lattice, forest or list with one more feature; scores stay as they are.

    Parameters
    ----------
    space : Lattice, Forest or NBest
    name : str
        One that no other feature has.
    values : array of float, or function
        One for each entry of a list, arc of a lattice or edge of a forest. Or a function of a list
        of distinct texts that returns as many numbers, as ``fstmetrics features`` takes it: texts
        are the hypotheses of a list, and the words of a lattice or forest, whose values add up
        along a path.

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
    >>> longer = add_feature(nbest, "letters", lambda texts: [len(text) for text in texts])
    >>> [each.features["letters"] for each in longer]
    [5.0, 3.0]
    """
    from scipy.sparse import csr_array, hstack

    if name in space.feature_names:
        raise SpaceError(f"there is a feature {name!r} already")
    if callable(values):
        values = feature_column(space, _call_once(values, feature_texts(space)))
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
