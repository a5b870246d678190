"""Trimming and pruning against filters over enumerated paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lattices.algorithms import (
    best,
    density,
    density_masks,
    max_marginals,
    posteriors,
    prune,
    prune_beam,
    prune_density,
    prune_posterior,
    subset,
)
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Hypothesis, Lattice
from tests.strategies import small_lattices


def end_of(lattice: Lattice, path: Hypothesis) -> int:
    return int(lattice.dst[path.arcs[-1]]) if path.arcs else lattice.start


def contents(paths: list[Hypothesis]) -> Counter[tuple[object, ...]]:
    return Counter((p.tokens, p.score, tuple(sorted(p.features.items()))) for p in paths)


def paths_within(
    lattice: Lattice, arcs: Callable[[int], bool], ends: Callable[[int], bool]
) -> list[Hypothesis]:
    return [
        path
        for path in lattice.paths()
        if all(map(arcs, path.arcs)) and ends(end_of(lattice, path))
    ]


def by_arc_and_end(lattice: Lattice) -> tuple[dict[int, float], dict[int, float]]:
    """Return the score of the best path through every arc, and into every end."""
    arcs: dict[int, float] = {}
    ends: dict[int, float] = {}
    for path in lattice.paths():
        for arc in path.arcs:
            arcs[arc] = max(arcs.get(arc, -np.inf), path.score)
        end = end_of(lattice, path)
        ends[end] = max(ends.get(end, -np.inf), path.score)
    return arcs, ends


def assert_trimmed(lattice: Lattice) -> None:
    on_a_path = {lattice.start}
    for path in lattice.paths():
        on_a_path.update(lattice.dst[list(path.arcs)].tolist())
    assert on_a_path == set(range(lattice.num_states))
    assert {arc for path in lattice.paths() for arc in path.arcs} == set(range(lattice.num_arcs))


masks = st.lists(st.sampled_from([True, True, True, False]), min_size=10, max_size=10)


@given(small_lattices())
def test_max_marginals_are_the_scores_of_best_paths(lattice):
    arcs, ends = by_arc_and_end(lattice)
    found = max_marginals(lattice)
    assert found.best == best(lattice).score
    np.testing.assert_allclose(
        found.arcs, [arcs.get(arc, -np.inf) for arc in range(lattice.num_arcs)], atol=1e-12
    )
    np.testing.assert_allclose(
        found.finals, [ends.get(state, -np.inf) for state in range(lattice.num_states)], atol=1e-12
    )
    path = best(lattice)
    assert (found.arc_loss[list(path.arcs)] == 0.0).all()
    assert found.final_loss[end_of(lattice, path)] == 0.0


@given(small_lattices(exact=True), st.sampled_from([0.0, 0.25, 1.0, 2.5, np.inf]))
def test_a_beam_keeps_what_lies_on_a_path_within_it(lattice, beam):
    arcs, ends = by_arc_and_end(lattice)
    limit = best(lattice).score - beam
    expected = paths_within(
        lattice, lambda arc: arcs[arc] >= limit, lambda state: ends[state] >= limit
    )
    found = prune(lattice, beam=beam)
    assert contents(list(found.paths())) == contents(expected)
    assert_trimmed(found)


@given(small_lattices(exact=False), st.floats(0.0, 2.0))
def test_every_arc_within_a_beam_lies_on_a_path_within_it(lattice, beam):
    found = prune_beam(lattice, beam)
    losses = max_marginals(lattice)
    assert found.num_arcs == (losses.arc_loss <= beam).sum()
    assert len(found.finals) == (losses.final_loss <= beam).sum()
    assert best(found).score == best(lattice).score


@given(small_lattices(), st.floats(0.0, 1.0), st.sampled_from([1.0, 0.2, 5.0]))
def test_a_posterior_threshold_keeps_likely_arcs_and_the_best_path(lattice, threshold, scale):
    shares = posteriors(lattice, scale)
    values = np.concatenate([shares.arcs, shares.finals])
    assume((abs(values - threshold) > 1e-9).all())
    path = best(lattice)
    expected = paths_within(
        lattice,
        lambda arc: shares.arcs[arc] > threshold or arc in path.arcs,
        lambda state: shares.finals[state] > threshold or state == end_of(lattice, path),
    )
    found = prune(lattice, posterior=threshold, scale=scale)
    assert contents(list(found.paths())) == contents(expected)
    assert_trimmed(found)


@given(small_lattices(exact=True), st.sampled_from([0.1, 0.5, 1.0, 1.5, 2.0, 4.0, 50.0]))
def test_a_density_keeps_the_best_arcs_that_fit(lattice, wanted):
    arcs, ends = by_arc_and_end(lattice)
    path = best(lattice)
    budget = wanted * max(1, len(path.tokens))
    # all levels of scores that the budget allows, from the best down
    level, dropped = -np.inf, True
    for score in sorted(set(arcs.values()), reverse=True):
        if sum(value >= score for value in arcs.values()) > budget:
            level = score
            break
    else:
        dropped = False
    expected = paths_within(
        lattice,
        lambda arc: not dropped or arcs[arc] > level or arc in path.arcs,
        lambda state: not dropped or ends[state] > level or state == end_of(lattice, path),
    )
    found = prune(lattice, density=wanted)
    assert contents(list(found.paths())) == contents(expected)
    assert density(found) <= max(wanted, len(path.arcs) / max(1, len(path.tokens)))
    assert best(found).tokens == path.tokens
    masks = density_masks(lattice, wanted, max_marginals(lattice))
    assert contents(list(subset(lattice, *masks).paths())) == contents(expected)


def test_arcs_that_tie_at_the_boundary_go_together():
    lattice = Lattice.from_arcs(
        [(0, 1, "a", 0.0), (0, 1, "b", -1.0), (0, 1, "c", -1.0), (0, 1, "d", -2.0)], finals=[1]
    )
    kept = {wanted: prune_density(lattice, wanted).num_arcs for wanted in (1.0, 2.0, 3.0, 3.9, 4.0)}
    assert kept == {1.0: 1, 2.0: 1, 3.0: 3, 3.9: 3, 4.0: 4}


def test_pruning_is_asked_for_in_one_way():
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    with pytest.raises(OptionError, match="0 ways"):
        prune(lattice)
    with pytest.raises(OptionError, match="2 ways"):
        prune(lattice, beam=1.0, density=2.0)


@pytest.mark.parametrize(
    "option", [{"beam": -1.0}, {"beam": np.nan}, {"density": 0.0}, {"posterior": 1.5}]
)
def test_options_out_of_range(option):
    with pytest.raises(OptionError, match="expected"):
        prune(Lattice.from_arcs([(0, 1, "a")], finals=[1]), **option)


@pytest.mark.parametrize("ask", [prune_beam, prune_density, prune_posterior])
def test_without_a_complete_path(ask):
    with pytest.raises(SpaceError, match="has no complete path"):
        ask(Lattice.from_arcs([(1, 2, "a")], finals=[2]), 0.5)
