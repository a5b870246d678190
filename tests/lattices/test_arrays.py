"""Columns: contiguous, of one type, read only, and copied only where they must be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.arrays import floats, ints, isotonic


def test_a_column_is_read_only_and_the_array_it_came_from_is_not() -> None:
    own = np.arange(3, dtype=np.int32)
    column = ints(own)
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 7
    own[0] = 7
    assert column.tolist() == [7, 1, 2]
    assert np.shares_memory(own, column)
    assert ints(column) is column


def test_other_types_and_strides_are_copied() -> None:
    assert ints([1.0, 2.0]).dtype == np.int32
    assert floats([1, 2]).dtype == np.float64
    every_other = np.arange(6, dtype=np.float64)[::2]
    column = floats(every_other)
    assert column.flags.c_contiguous
    assert column.tolist() == [0.0, 2.0, 4.0]
    assert not np.shares_memory(every_other, column)


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 10)), min_size=1, max_size=30))
def test_isotonic_regression_is_that_of_scipy(pairs):
    optimize = pytest.importorskip("scipy.optimize")
    if not hasattr(optimize, "isotonic_regression"):
        pytest.skip("scipy 1.12 or newer")
    values, weights = zip(*pairs, strict=True)
    judged = optimize.isotonic_regression(values, weights=weights).x
    np.testing.assert_allclose(isotonic(values, weights), judged, rtol=1e-9, atol=1e-9)
