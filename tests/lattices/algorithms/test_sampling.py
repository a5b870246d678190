"""Random paths against the distribution over enumerated paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from lattices.algorithms import sample, sample_paths
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Lattice
from tests.strategies import small_lattices


def walked(lattice: Lattice, rng: np.random.Generator, scale: float) -> tuple[int, ...]:
    """Draw one path by inverting the distribution function over enumerated paths, step by step."""
    left = [(path.arcs, np.exp(scale * path.score)) for path in lattice.paths()]
    walk: tuple[int, ...] = ()
    while True:
        # to end comes first, then the arcs in their order
        masses: dict[int, float] = {}
        for arcs, mass in left:
            step = arcs[len(walk)] if len(arcs) > len(walk) else -1
            masses[step] = masses.get(step, 0.0) + mass
        point = rng.random() * sum(masses.values())
        for step in sorted(masses):
            point -= masses[step]
            if point < 0:
                break
        if step == -1:
            return walk
        walk = (*walk, step)
        left = [(arcs, mass) for arcs, mass in left if arcs[: len(walk)] == walk]


@given(small_lattices(), st.integers(0, 2**32), st.sampled_from([1.0, 0.0, 2.5, -1.0]))
def test_every_step_inverts_the_distribution_function(lattice, seed, scale):
    found = sample(lattice, 20, np.random.default_rng(seed), scale)
    rng = np.random.default_rng(seed)
    expected = [lattice.hypothesis(walked(lattice, rng, scale)) for _ in range(20)]
    assert found == expected


def test_frequencies_are_the_probabilities():
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -0.5), (0, 1, "b", -1.0), (0, 2, "", -2.0), (1, 2, "c", 0.3), (1, 2, "d")],
        finals={1: -1.0, 2: 0.1},
    )
    paths = list(lattice.paths())
    shares = np.exp([2.0 * path.score for path in paths])
    draws = 20_000
    found = sample(lattice, draws, np.random.default_rng(20), scale=2.0)
    counts = [sum(path.arcs == one.arcs for one in found) for path in paths]
    assert chisquare(counts, draws * shares / shares.sum()).pvalue > 0.001


def test_the_seed_decides():
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "c"), (1, 2, "d")], finals=[2])
    one = sample_paths(lattice, 50, np.random.default_rng(3))
    other = sample_paths(lattice, 50, np.random.default_rng(3))
    assert one.arcs.tolist() == other.arcs.tolist()
    assert one.offset.tolist() == list(range(0, 101, 2))
    assert one.arcs.tolist() != sample_paths(lattice, 50, np.random.default_rng(4)).arcs.tolist()


def test_long_paths_outgrow_the_first_store():
    length = 500
    lattice = Lattice.from_arcs([(s, s + 1, "a") for s in range(length)], finals=[length])
    paths = sample_paths(lattice, 3, np.random.default_rng(0))
    assert paths.arcs.tolist() == list(range(length)) * 3


def test_nothing_drawn():
    lattice = Lattice.from_arcs([(0, 1, "a", 0.0, {"lm": 1.0})], finals=[1])
    assert sample(lattice, 0, np.random.default_rng(0)) == []


def test_arguments_are_checked():
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    with pytest.raises(OptionError, match="n is -1"):
        sample(lattice, -1, np.random.default_rng(0))
    with pytest.raises(OptionError, match="default_rng"):
        sample(lattice, 1, 42)
    with pytest.raises(OptionError, match="scale"):
        sample(lattice, 1, np.random.default_rng(0), scale=np.nan)
    with pytest.raises(SpaceError, match="has no complete path"):
        sample(Lattice.from_arcs([(1, 2, "a")], finals=[2]), 1, np.random.default_rng(0))
