"""Forward and backward passes against sums over enumerated paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.algorithms import inside, outside, posteriors, total
from lattices.algorithms.semirings import COUNT, LOG, VITERBI, Semiring
from lattices.errors import SpaceError
from lattices.spaces import Lattice
from tests.strategies import small_lattices

semirings = st.sampled_from([VITERBI, LOG, COUNT])
scales = st.sampled_from([1.0, 0.5, 3.0, 0.0, -1.0])


def partial_paths(lattice: Lattice, begin: int) -> list[tuple[int, ...]]:
    """Return every path from ``begin``, complete or not, as indexes of arcs."""
    paths: list[tuple[int, ...]] = [()]
    for path in paths:
        end = lattice.dst[path[-1]] if path else begin
        paths += [(*path, int(arc)) for arc in np.flatnonzero(lattice.src == end)]
    return paths


def end_of(lattice: Lattice, path: tuple[int, ...], begin: int) -> int:
    return int(lattice.dst[path[-1]]) if path else begin


def summed(semiring: Semiring, weights: list[float]) -> float:
    result = semiring.zero
    for weight in weights:
        result = semiring.plus(result, weight)
    return result


def weight_of(semiring: Semiring, scores: list[float], scale: float) -> float:
    if semiring is COUNT:
        return 1.0
    return sum(scale * score for score in scores)


@given(small_lattices(), semirings, scales)
def test_inside_is_the_sum_over_paths_from_the_start(lattice, semiring, scale):
    paths = partial_paths(lattice, lattice.start)
    expected = [
        summed(
            semiring,
            [
                weight_of(semiring, lattice.score[list(path)].tolist(), scale)
                for path in paths
                if end_of(lattice, path, lattice.start) == state
            ],
        )
        for state in range(lattice.num_states)
    ]
    np.testing.assert_allclose(inside(lattice, semiring, scale), expected, rtol=0, atol=1e-12)


@given(small_lattices(), semirings, scales)
def test_outside_is_the_sum_over_paths_to_the_end(lattice, semiring, scale):
    expected = []
    for state in range(lattice.num_states):
        weights = []
        for path in partial_paths(lattice, state):
            ending = lattice.final[end_of(lattice, path, state)]
            if ending > -np.inf:
                scores = [*lattice.score[list(path)].tolist(), float(ending)]
                weights.append(weight_of(semiring, scores, scale))
        expected.append(summed(semiring, weights))
    np.testing.assert_allclose(outside(lattice, semiring, scale), expected, rtol=0, atol=1e-12)


@given(small_lattices(), semirings, scales)
def test_total_is_the_sum_over_complete_paths(lattice, semiring, scale):
    weights = [weight_of(semiring, [path.score], scale) for path in lattice.paths()]
    assert total(lattice, semiring, scale) == pytest.approx(
        summed(semiring, weights), rel=1e-12, abs=1e-12
    )


@given(small_lattices(), st.sampled_from([1.0, 0.3, 10.0, 0.0, -1.0]))
def test_posteriors_are_shares_of_enumerated_paths(lattice, scale):
    paths = list(lattice.paths())
    scores = scale * np.array([path.score for path in paths])
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    arcs, states = np.zeros(lattice.num_arcs), np.zeros(lattice.num_states)
    finals = np.zeros(lattice.num_states)
    for path, share in zip(paths, shares, strict=True):
        arcs[list(path.arcs)] += share
        states[[lattice.start, *lattice.dst[list(path.arcs)].tolist()]] += share
        finals[end_of(lattice, path.arcs, lattice.start)] += share
    found = posteriors(lattice, scale)
    np.testing.assert_allclose(found.arcs, arcs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.states, states, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.finals, finals, rtol=0, atol=1e-12)
    assert max(found.arcs.max(initial=0), found.states.max(), found.finals.max()) <= 1.0


def test_scores_far_from_zero_neither_overflow_nor_vanish():
    for far in (-1e5, 1e5):
        lattice = Lattice.from_arcs([(0, 1, "a", far), (0, 1, "b", far - np.log(3))], finals=[1])
        np.testing.assert_allclose(posteriors(lattice).arcs, [0.75, 0.25], rtol=1e-9)
        assert total(lattice) == pytest.approx(far + np.log(4 / 3), rel=1e-15)


def test_without_a_complete_path():
    lattice = Lattice.from_arcs([(0, 1, "a"), (2, 3, "b")], finals=[3], id="stuck")
    assert inside(lattice).tolist() == [0.0, 0.0, -np.inf, -np.inf]
    assert outside(lattice).tolist() == [-np.inf, -np.inf, 0.0, 0.0]
    for ask in (total, posteriors, lambda stuck: total(stuck, COUNT)):
        with pytest.raises(SpaceError, match="'stuck' has no complete path"):
            ask(lattice)
