"""Sums that no order changes."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from decoding.corpus import table as module
from decoding.corpus.table import ExactSums

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def exactly(values: list[float]) -> float:
    try:
        return float(sum(map(Fraction, values), Fraction()))
    except OverflowError:
        return math.inf if sum(map(Fraction, values)) > 0 else -math.inf


@given(st.lists(st.tuples(FINITE, st.integers(-5, 5)), min_size=1, max_size=30), st.data())
def test_sums_are_rounded_once_in_whatever_order_and_parts(
    rows: list[tuple[float, int]], data: st.DataObject
) -> None:
    expected = [exactly([float(row[column]) for row in rows]) for column in (0, 1)]
    order = data.draw(st.permutations(rows))
    cut = data.draw(st.integers(0, len(rows)))
    one, other = ExactSums(), ExactSums()
    for number, row in enumerate(order):
        (one if number < cut else other).add(np.array(row, float))
    # as it goes from a worker to whoever puts the parts together
    one.merge(ExactSums(json.loads(json.dumps(other.state()))))
    found = one.value()
    assert found is not None
    assert found.tolist() == expected


@given(st.lists(FINITE, min_size=1, max_size=30), st.integers(1, 4))
def test_however_many_are_added_at_a_time(values: list[float], rows: int) -> None:
    before, module.ROWS = module.ROWS, rows
    try:
        found = ExactSums()
        for value in values:
            found.add(np.array([value]))
        assert found.value().tolist() == [exactly(values)]  # type: ignore[union-attr]
    finally:
        module.ROWS = before


def test_what_is_not_finite_stays_so() -> None:
    found = ExactSums()
    found.add(np.array([math.inf, math.inf, 1.0, -math.inf]))
    found.add(np.array([1.0, -math.inf, math.nan, 2.0]))
    (infinite, contradiction, nothing, below) = found.value()  # type: ignore[misc]
    assert infinite == math.inf
    assert math.isnan(contradiction)
    assert math.isnan(nothing)
    assert below == -math.inf


def test_without_rows_there_are_no_sums() -> None:
    found = ExactSums()
    assert found.value() is None
    assert found.state() is None
    found.merge(ExactSums())
    assert found.value() is None
