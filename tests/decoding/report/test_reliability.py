"""How far confidences can be believed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.report.reliability import reliability

WORDS = st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), min_size=1, max_size=40)


@given(WORDS, st.integers(1, 12))
def test_against_the_definition(words: list[tuple[float, bool]], bins: int) -> None:
    found = reliability([c for c, _ in words], [r for _, r in words], bins)
    assert found is not None
    error = 0.0
    for number in range(bins):
        inside = [(c, r) for c, r in words if min(int(c * bins), bins - 1) == number]
        here = found.bins[number]
        assert (here.words, here.right) == (len(inside), sum(r for _, r in inside))
        if inside:
            mean = sum(c for c, _ in inside) / len(inside)
            share = sum(r for _, r in inside) / len(inside)
            assert here.confidence == pytest.approx(mean)
            error += len(inside) / len(words) * abs(mean - share)
    assert found.error == pytest.approx(error, abs=1e-12)


def test_normalised_cross_entropy() -> None:
    right = [True] * 3 + [False]
    same = reliability([0.75] * 4, right)
    sure = reliability([1.0] * 3 + [0.0], right)
    assert same is not None
    assert sure is not None
    assert same.cross_entropy == pytest.approx(0.0)
    assert sure.cross_entropy == pytest.approx(1.0)
    found = reliability([0.9, 0.8, 0.6, 0.3], right)
    assert found is not None
    entropy = -(3 * math.log2(0.75) + math.log2(0.25))
    told = math.log2(0.9) + math.log2(0.8) + math.log2(0.6) + math.log2(0.7)
    assert found.cross_entropy == pytest.approx((entropy + told) / entropy)


def test_nothing_to_say() -> None:
    assert reliability([], []) is None
    found = reliability([0.5, 1.0], [True, True])
    assert found is not None
    assert found.cross_entropy is None
