"""Segments on which two metrics disagree."""

from __future__ import annotations

import math
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics.statistics.studies.disagreements import disagreements
from lattices.errors import OptionError

numbers = st.floats(-1, 1).map(lambda value: round(value, 3))


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=3, max_size=12), st.booleans())
def test_by_the_definition(points, error_rate: bool) -> None:
    one, other, human = map(list, zip(*points, strict=True))
    if min(len(set(column)) for column in (one, other, human)) < 2:
        return
    up = (True, not error_rate)
    found = disagreements(one, other, human=human, threshold=0.5, higher_is_better=up)

    def standard(column, sign=1):
        return [sign * (value - fmean(column)) / pstdev(column) for value in column]

    z = standard(one), standard(other, -1 if error_rate else 1)
    said = standard(human)
    expected = {
        at
        for at in range(len(points))
        if z[0][at] * z[1][at] < -1e-12 and max(abs(z[0][at]), abs(z[1][at])) >= 0.5 + 1e-9
    }
    assert expected <= {each.point for each in found.found}
    for each in found.found:
        at = each.point
        assert each.z == pytest.approx((z[0][at], z[1][at]))
        assert each.scores == (one[at], other[at])
        assert each.human == pytest.approx(said[at], abs=1e-12)
        assert each.z[0] * each.z[1] < 0
        assert max(map(abs, each.z)) >= 0.5
        if abs(said[at]) > 1e-9:
            assert each.right == (0 if z[0][at] * said[at] > 0 else 1)
    gaps = [abs(each.z[0] - each.z[1]) for each in found.found]
    assert gaps == sorted(gaps, reverse=True)
    assert sum(found.right) <= len(found.found)


def test_missing_judgements() -> None:
    found = disagreements([0, 1, 2], [2, 1, 0], human=[math.nan, 1, 2])
    assert {each.point: each.right for each in found.found} == {0: None, 2: 0}
    assert disagreements([0, 1], [1, 0]).right == (0, 0)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (([1, 2], [1]), {}, "expected two of the same"),
        (([1, 1], [1, 2]), {}, "no standard deviation"),
        (([1, 2], [1, 2]), {"threshold": -1}, "expected 0 or more"),
        (([1, 2], [1, 2]), {"human": [1]}, "human scores of shape"),
        (([1, math.nan], [1, 2]), {}, "no standard deviation"),
    ],
)
def test_wrong_input(columns, options, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        disagreements(*columns, **options)
