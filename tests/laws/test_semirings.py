"""The laws of a semiring, on random values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.algorithms.semirings import COUNT, LOG, VITERBI, Semiring
from lattices.errors import OptionError

SEMIRINGS = {
    VITERBI: st.one_of(st.just(-math.inf), st.floats(-50, 50)),
    LOG: st.one_of(st.just(-math.inf), st.floats(-50, 50)),
    COUNT: st.integers(0, 1000).map(float),
}


@st.composite
def semirings_with_values(draw: st.DrawFn) -> tuple[Semiring, float, float, float]:
    semiring = draw(st.sampled_from(list(SEMIRINGS)))
    values = SEMIRINGS[semiring]
    return semiring, draw(values), draw(values), draw(values)


def close(left: float, right: float) -> bool:
    return left == right or math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-12)


@given(semirings_with_values())
def test_plus_is_a_commutative_monoid(drawn):
    semiring, a, b, c = drawn
    plus = semiring.plus
    assert close(plus(plus(a, b), c), plus(a, plus(b, c)))
    assert close(plus(a, b), plus(b, a))
    assert plus(a, semiring.zero) == a == plus(semiring.zero, a)


@given(semirings_with_values())
def test_times_is_a_monoid_that_zero_annihilates(drawn):
    semiring, a, b, c = drawn
    times = semiring.times
    assert close(times(times(a, b), c), times(a, times(b, c)))
    assert times(a, semiring.one) == a == times(semiring.one, a)
    assert times(a, semiring.zero) == semiring.zero == times(semiring.zero, a)


@given(semirings_with_values())
def test_times_distributes_over_plus(drawn):
    semiring, a, b, c = drawn
    plus, times = semiring.plus, semiring.times
    assert close(times(a, plus(b, c)), plus(times(a, b), times(a, c)))
    assert close(times(plus(a, b), c), plus(times(a, c), times(b, c)))


@given(st.floats(-5, 5), st.floats(-50, 50))
def test_log_is_the_logarithm_of_the_sum(a, b):
    assert close(LOG.plus(a, b), math.log(math.exp(a) + math.exp(b)))


@pytest.mark.parametrize("scale", [1.0, 2.5, 0.0, -1.0])
@pytest.mark.parametrize("semiring", SEMIRINGS, ids=lambda semiring: semiring.name)
def test_what_cannot_happen_weighs_zero_at_every_scale(semiring, scale):
    weights = semiring.weights([-2.0, -np.inf], scale)
    assert weights.tolist() == [1.0 if semiring is COUNT else -2.0 * scale, semiring.zero]


@pytest.mark.parametrize("scale", [math.nan, math.inf])
def test_a_scale_is_finite(scale):
    with pytest.raises(OptionError, match="finite"):
        LOG.weights([0.0], scale)


def test_semirings_are_told_apart_by_code_and_name():
    assert len({semiring.code for semiring in SEMIRINGS}) == len(SEMIRINGS)
    assert len({semiring.name for semiring in SEMIRINGS}) == len(SEMIRINGS)
