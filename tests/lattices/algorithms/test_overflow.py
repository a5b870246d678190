"""Scores whose sums leave the range of doubles: one error that says so, never a wrong answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices import Forest, Lattice, SpaceError
from lattices.algorithms import (
    Trimmed,
    best,
    best_path,
    density,
    inside,
    log_path_count,
    max_marginals,
    outside,
    path_count,
    path_lengths,
    posteriors,
    prune,
    prune_beam,
    prune_density,
    prune_posterior,
    push,
    remove_epsilon,
    sample,
    total,
    trim,
)
from lattices.algorithms.semirings import COUNT, LOG, VITERBI
from tests.strategies import small_lattices

Space = Lattice | Forest
HUGE = 1e308


def chain(*scores: float, final: float = 0.0) -> Lattice:
    """Return a lattice of one state after the other, with two arcs between them."""
    arcs = [
        (state, state + 1, word, score) for state, score in enumerate(scores) for word in ("a", "b")
    ]
    return Lattice.from_arcs(arcs, finals={len(scores): final}, id="big")


def both(lattice: Lattice) -> list[Space]:
    return [lattice, Forest.from_lattice(lattice)]


UP, DOWN = chain(HUGE, HUGE), chain(-HUGE, -HUGE)
SPACES = [
    *both(UP),
    *both(DOWN),
    *both(chain(0.0, HUGE, final=HUGE)),
    *both(chain(-HUGE, HUGE, HUGE, HUGE)),
]

QUESTIONS: dict[str, Callable[[Space], object]] = {
    "total": total,
    "total of the best": lambda space: total(space, VITERBI),
    "inside or outside": lambda space: [inside(space), outside(space)],
    "best": best,
    "best_path": best_path,
    "density": density,
    "posteriors": posteriors,
    "sample": lambda space: sample(space, 3, np.random.default_rng(0)),
    "beam": lambda space: prune_beam(space, 1.0),
    "density pruning": lambda space: prune_density(space, 1.0),
    "posterior pruning": lambda space: prune_posterior(space, 0.1),
    "prune": lambda space: prune(space, posterior=0.5),
}


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("question", QUESTIONS)
def test_totals_that_overflow_are_an_error_that_says_so(space, question):
    with pytest.raises(SpaceError, match=r"'big' overflow: .*-?inf.*1e\+308") as caught:
        QUESTIONS[question](space)
    for untrue in ("no complete path", "not final", "nan"):
        assert untrue not in str(caught.value)


@pytest.mark.parametrize("space", [*both(UP), *both(DOWN)], ids=str)
def test_a_path_whose_score_overflows_has_no_hypothesis(space):
    path = [0, 2] if isinstance(space, Lattice) else [space.num_edges - 1, 3, 1, 0]
    with pytest.raises(SpaceError, match=r"'big' overflow: those of a path add up to -?inf"):
        space.hypothesis(path)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_what_needs_no_sums_of_scores_is_answered(space):
    length = path_lengths(space).longest
    assert path_lengths(space) == (length, length)
    assert path_count(space) == total(space, COUNT) == 2**length
    assert log_path_count(space) == pytest.approx(length * math.log(2.0))
    assert trim(space) == Trimmed(space, 0, 0)


@pytest.mark.parametrize("semiring", [VITERBI, LOG])
def test_a_scale_that_overflows_is_named(semiring):
    for space in both(chain(-1e300)):
        with pytest.raises(SpaceError, match=r"1e\+300 in size and a scale of 1e\+10"):
            total(space, semiring, scale=1e10)
        assert total(space, semiring, scale=1e-300) == pytest.approx(
            -1.0 + (math.log(2.0) if semiring is LOG else 0.0)
        )


@pytest.mark.parametrize("semiring", [VITERBI, LOG])
def test_one_impossible_path_among_others_does_no_harm(semiring):
    # the sum of the first path is below all doubles: it weighs nothing beside the second
    arcs = [(0, 1, "a", -HUGE), (1, 3, "b", -HUGE), (0, 2, "c", -1.0), (2, 3, "d", -2.0)]
    lattice = Lattice.from_arcs(arcs, finals=[3])
    for space in both(lattice):
        assert total(space, semiring) == -3.0
        assert best(space).text == "c d"
        found = posteriors(space)
        assert np.isfinite(np.concatenate(found)).all()
    assert posteriors(lattice).arcs.tolist() == [0.0, 1.0, 0.0, 1.0]
    assert [one.text for one in sample(lattice, 5, np.random.default_rng(0))] == ["c d"] * 5
    # what a path through it loses is no number
    with pytest.raises(SpaceError, match="what a path loses to the best one of -3 is infinite"):
        max_marginals(lattice)
    with pytest.raises(SpaceError, match="what a path loses"):
        max_marginals(Forest.from_lattice(lattice))


def test_what_lies_on_no_path_may_overflow():
    # states 3 and 4 lead nowhere, and 5 cannot be reached
    arcs = [(0, 1, "a", -1.0), (0, 3, "b", HUGE), (3, 4, "b", HUGE), (2, 1, "c", HUGE)]
    lattice = Lattice.from_arcs(arcs, finals={1: 0.0, 2: 0.0})
    assert best(lattice).score == total(lattice) == -1.0
    assert posteriors(lattice).arcs.sum() == 1.0
    assert prune_beam(lattice, math.inf).num_arcs == 1
    with pytest.raises(SpaceError, match="overflow"):
        inside(lattice)


def test_scores_at_the_border_are_numbers():
    for space in both(chain(HUGE, -HUGE, HUGE)):
        assert best(space).score == total(space, VITERBI) == HUGE
        assert np.isfinite(np.concatenate(posteriors(space))).all()
        assert [one.score for one in sample(space, 2, np.random.default_rng(1))] == [HUGE, HUGE]
        assert prune(space, beam=1.0) is space
        assert prune(space, posterior=0.1) is space


def test_a_forest_whose_derivations_are_too_large_to_add_up():
    rows = [(0, [], ["a"], -1.0), *((node + 1, [node, node], [0, 1]) for node in range(1100))]
    forest = Forest.from_edges(rows, id="big")
    for ask in (total, best, posteriors, lambda large: prune(large, beam=1.0)):
        with pytest.raises(SpaceError, match="'big' overflow: they add up to -inf at node"):
            ask(forest)
    assert path_lengths(forest) == (2**1100, 2**1100)
    assert path_count(forest) == 1
    many = Forest.from_edges([(0, [], ["b"], 0.0), *rows], id="big")
    with pytest.raises(SpaceError, match="too many to count exactly"):
        path_count(many)


def test_scores_that_are_moved_may_overflow():
    with pytest.raises(SpaceError, match="overflow"):
        push(Lattice.from_arcs([(0, 1, "a", HUGE), (0, 1, "b", -HUGE)], finals=[1]))
    with pytest.raises(SpaceError, match="overflow"):
        push(chain(-HUGE, -HUGE), to_final=True)
    for semiring in (VITERBI, LOG):
        with pytest.raises(SpaceError, match="overflow"):
            remove_epsilon(
                Lattice.from_arcs([(0, 1, "", HUGE), (1, 2, "a", HUGE)], finals=[2]), semiring
            )
        with pytest.raises(SpaceError, match="overflow"):
            remove_epsilon(
                Lattice.from_arcs([(0, 1, "a", 0.0), (1, 2, "", -HUGE)], finals={2: -HUGE}),
                semiring,
            )


def answered(ask: Callable[[Space], Any], space: Space) -> Any:
    """Return the answer, or None where the sums overflow."""
    try:
        return ask(space)
    except SpaceError as problem:
        if "overflow" not in str(problem):
            raise
        return None


@given(small_lattices(exact=True), st.data())
def test_an_answer_or_an_error(lattice, data):
    sizes = st.sampled_from([0.0, 1.0, -1.0, HUGE, -HUGE, HUGE / 2, -HUGE / 2])
    scores = data.draw(st.lists(sizes, min_size=lattice.num_arcs, max_size=lattice.num_arcs))
    lattice = lattice.replaced(score=np.array(scores))
    exact = [sum(map(int, (scores[arc] for arc in path))) for path in _complete(lattice)]
    for space in both(lattice):
        found = answered(best, space)
        if found is not None:
            # the final scores are of another size
            assert found.score == pytest.approx(float(max(exact)), rel=1e-12, abs=20.0)
        shares = answered(posteriors, space)
        if shares is not None:
            assert all(np.isfinite(column).all() for column in shares)
            assert path_count(prune(space, posterior=0.0)) == path_count(space)


def _complete(lattice: Lattice) -> list[tuple[int, ...]]:
    return [path.arcs for path in lattice.replaced(score=np.zeros(lattice.num_arcs)).paths()]


def test_what_no_path_passes_may_overflow() -> None:
    huge = [(0, 1, "a", HUGE), (1, 2, "a", HUGE), (2, 3, "b")]
    lattice = Lattice.from_arcs(huge, finals=[3], start=2)
    assert posteriors(lattice).arcs.tolist() == [0.0, 0.0, 1.0]
