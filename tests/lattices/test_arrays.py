"""Columns: contiguous, of one type, and nobody can write to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.arrays import floats, ints, isotonic
from lattices.errors import SpaceError


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def test_a_column_is_read_only_and_the_array_it_came_from_is_not() -> None:
    own = np.arange(3, dtype=np.int32)
    column = ints(own)
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 7
    with pytest.raises(ValueError, match="WRITEABLE"):
        column.flags.writeable = True
    own[0] = 7
    assert column.tolist() == [0, 1, 2]
    assert ints(column) is column
    assert ints(column[1:]).base is not None
    assert np.shares_memory(ints(column[1:]), column)


@pytest.mark.parametrize(
    "lend",
    [
        lambda memory: np.frombuffer(memory, np.float64),
        lambda memory: read_only(np.frombuffer(memory, np.float64)),
        lambda memory: np.frombuffer(memoryview(memory).toreadonly(), np.float64),
        lambda memory: read_only(np.frombuffer(memory, np.float64))[::1],
        lambda memory: np.asarray(memoryview(read_only(np.frombuffer(memory, np.float64)))),
    ],
)
def test_memory_that_somebody_else_can_write_to_is_copied(lend) -> None:
    memory = bytearray(np.arange(3.0).tobytes())
    column = floats(lend(memory))
    memory[:] = bytes(len(memory))
    assert column.tolist() == [0.0, 1.0, 2.0]


def test_an_array_that_its_owner_can_unlock_is_copied() -> None:
    own = read_only(np.arange(3.0))
    column = floats(own)
    own.flags.writeable = True
    own[:] = np.nan
    assert column.tolist() == [0.0, 1.0, 2.0]


def test_bytes_and_mapped_files_are_not_copied(tmp_path) -> None:
    memory = np.arange(3.0).tobytes()
    (tmp_path / "numbers").write_bytes(memory)
    for lent in (np.frombuffer(memory), np.memmap(tmp_path / "numbers", np.float64, "r")):
        assert np.shares_memory(floats(lent), lent)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([2**31], "2147483648"),
        ([10**19], "10000000000000000000"),
        ([10**30], "too large"),
        (np.array([2**40]), "1099511627776"),
        ([0.5], "0.5"),
        ([np.nan], "nan"),
        ([None], "NoneType"),
        (["1"], "U1"),
        ([1j], "complex"),
        ([[1], [2, 3]], "inhomogeneous|setting an array"),
        ({1: 2}, "dict"),
    ],
)
def test_numbers_that_no_column_holds(values, named) -> None:
    with pytest.raises(SpaceError, match=f"'src'.*({named}).* expected whole numbers"):
        ints(values, "'src'")


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
