"""Envelopes against the enumeration of all hypotheses, in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.training.envelope import Envelope, envelope
from lattices import Forest, Hypothesis, Lattice, NBest, best
from lattices.errors import OptionError, SpaceError
from tests.strategies import FEATURE_NAMES, GENERAL, GRID, small_forests, small_lattices

vectors = st.tuples(*[st.integers(-3, 3).map(float)] * len(FEATURE_NAMES))
general_vectors = st.tuples(*[GENERAL] * len(FEATURE_NAMES))


@st.composite
def small_lists(draw, values=GRID):
    rows = st.dictionaries(st.sampled_from(FEATURE_NAMES), values, max_size=3)
    words = st.lists(st.sampled_from("abc"), max_size=3).map(tuple)
    some = draw(st.lists(st.builds(Hypothesis, words, features=rows), min_size=1, max_size=8))
    return NBest.from_hypotheses(some, feature_names=FEATURE_NAMES)


def everything(space):
    if isinstance(space, NBest):
        return list(space)
    return list(space.derivations() if isinstance(space, Forest) else space.paths())


def line_of(hypothesis, weights, direction):
    """The line, exactly: (slope, intercept)."""
    features = [Fraction(hypothesis.features.get(name, 0.0)) for name in FEATURE_NAMES]
    return tuple(
        sum(Fraction(each) * value for each, value in zip(side, features, strict=True))
        for side in (direction, weights)
    )


def envelope_by_enumeration(space, weights, direction):
    """All that is best somewhere, from left to right: (step, line, sentences), by trying all.

    Of sentences with equal lines any may be taken.
    """
    lines = {}
    for hypothesis in everything(space):
        line = line_of(hypothesis, weights, direction)
        lines.setdefault(line, set()).add(hypothesis.tokens)
    # far to the left the smallest slope is best, and of parallel lines the higher one
    lowest = min(slope for slope, _ in lines)
    now = max(line for line in lines if line[0] == lowest)
    found = [(None, now, lines[now])]
    while True:
        turns = [
            ((now[1] - height) / (slope - now[0]), -slope, -height)
            for slope, height in lines
            if slope > now[0]
        ]
        if not turns:
            return found
        step, slope, height = min(turns)
        now = (-slope, -height)
        found.append((step, now, lines[now]))


def described(found: Envelope):
    return [
        (
            None if left == -np.inf else left,
            (Fraction(slope), Fraction(intercept)),
        )
        for left, slope, intercept in zip(
            found.left.tolist(), found.slope.tolist(), found.intercept.tolist(), strict=True
        )
    ]


def check_exactly(space, weights, direction):
    found = envelope(space, weights, direction)
    judge = envelope_by_enumeration(space, weights, direction)
    assert described(found) == [
        (None if step is None else step.numerator / step.denominator, line)
        for step, line, _ in judge
    ]
    for place, (_, _, sentences) in enumerate(judge):
        assert found.tokens(place) in sentences
        hypothesis = found.hypothesis(place)
        assert hypothesis.tokens == found.tokens(place)
        assert line_of(hypothesis, weights, direction) == (
            Fraction(found.slope[place]),
            Fraction(found.intercept[place]),
        )


@given(small_lists(), vectors, vectors)
def test_lists_equal_enumeration(nbest, weights, direction):
    check_exactly(nbest, weights, direction)


@given(small_lattices(exact=True, features=True), vectors, vectors)
def test_lattices_equal_enumeration(lattice, weights, direction):
    check_exactly(lattice, weights, direction)


@given(small_forests(exact=True, features=True), vectors, vectors)
def test_forests_equal_enumeration(forest, weights, direction):
    check_exactly(forest, weights, direction)


@settings(max_examples=40)
@given(
    small_lists(GENERAL)
    | small_lattices(exact=False, features=True)
    | small_forests(exact=False, features=True),
    general_vectors,
    general_vectors,
)
def test_the_envelope_is_the_maximum_at_every_step_and_on_both_sides_of_every_turn(
    space, weights, direction
):
    found = envelope(space, weights, direction)
    lines = np.array([line_of(each, weights, direction) for each in everything(space)], dtype=float)
    turns = found.left[1:]
    near = 1e-9 * np.maximum(1.0, np.abs(turns))
    steps = np.concatenate((np.linspace(-20, 20, 161), turns - near, turns, turns + near))
    for step in steps.tolist():
        values = lines @ [step, 1.0]
        place = found.at(step)
        own = line_of(found.hypothesis(place), weights, direction)
        reached = float(own[0]) * step + float(own[1])
        assert reached == pytest.approx(values.max(), rel=1e-9, abs=1e-9 * max(1.0, abs(step)))
        assert found.intercept[place] + step * found.slope[place] == pytest.approx(
            reached, rel=1e-9, abs=1e-9 * max(1.0, abs(step))
        )
    assert (np.diff(found.slope) > 0).all()
    assert (np.diff(found.left) > 0).all()


@given(small_lattices(exact=True, features=True), vectors)
def test_without_a_direction_it_is_the_best_path(lattice, weights):
    found = envelope(lattice, weights, (0.0, 0.0, 0.0))
    assert len(found) == 1
    reweighted = lattice.reweighted(weights)
    arcs = found.hypothesis(0).arcs
    assert reweighted.hypothesis(arcs).score == best(reweighted).score == found.intercept[0]


@given(small_forests(exact=True, features=True), vectors)
def test_without_a_direction_it_is_the_best_derivation(forest, weights):
    found = envelope(forest, weights, (0.0, 0.0, 0.0))
    assert len(found) == 1
    reweighted = forest.reweighted(weights)
    edges = found.hypothesis(0).arcs
    assert reweighted.hypothesis(edges).score == best(reweighted).score == found.intercept[0]


@settings(max_examples=60)
@given(small_lattices(features=True), general_vectors, general_vectors)
def test_a_lattice_as_a_forest(lattice, weights, direction):
    """Sums are exact, so the same lines come out of both, to the last digit."""
    found = envelope(lattice, weights, direction)
    other = envelope(Forest.from_lattice(lattice), weights, direction)
    assert found.left.tolist() == other.left.tolist()
    assert found.slope.tolist() == other.slope.tolist()
    assert found.intercept.tolist() == other.intercept.tolist()


def test_sums_do_not_depend_on_the_order_of_arcs():
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in doubles; here both paths have one line."""
    values = [0.1, 0.2, 0.3, 0.7]

    def arcs(base, order, word):
        numbers = [0, *range(base, base + len(order) - 1), 100]
        return [
            (numbers[place], numbers[place + 1], word, 0.0, {"lm": value, "tm": -value})
            for place, value in enumerate(order)
        ]

    one, other = arcs(1, values, "b"), arcs(10, values[::-1], "a")
    lines = []
    for rows in (one, other, [*one, *other]):
        found = envelope(
            Lattice.from_arcs(rows, finals=[100]), {"lm": 1.0, "tm": 0.5}, {"lm": 0.3, "tm": 1.7}
        )
        lines.append((found.slope.tolist(), found.intercept.tolist()))
    assert len(lines[0][0]) == 1
    assert lines[0] == lines[1] == lines[2]


def test_lines_through_one_point_leave_the_outer_two():
    rows = [{"x": float(slope)} for slope in range(-3, 4)]
    nbest = NBest.from_hypotheses([Hypothesis(("a",), 0.0, row) for row in rows])
    found = envelope(nbest, {"x": 0.0}, {"x": 1.0})
    assert found.slope.tolist() == [-3.0, 3.0]
    assert found.left.tolist() == [-np.inf, 0.0]
    assert found.at(0.0) == 1


def test_an_empty_sentence_and_a_single_state():
    lattice = Lattice.from_arcs([], finals=[0], final_features={0: {"lm": 2.0}})
    found = envelope(lattice, [1.0], [3.0])
    assert (found.tokens(0), found.intercept[0], found.slope[0]) == ((), 2.0, 6.0)
    assert found.hypothesis(0).arcs == ()


def test_many_equal_paths_are_one():
    rows = [(state, state + 1, "a", 0.0, {"lm": -1.0}) for state in range(40) for _ in range(5)]
    found = envelope(Lattice.from_arcs(rows, finals=[40]), [1.0], [1.0])
    assert len(found) == 1
    assert found.intercept.tolist() == [-40.0]
    assert [arc // 5 for arc in found.hypothesis(0).arcs] == list(range(40))


def test_a_node_used_too_often_is_refused():
    rows = [(0, [], ["a"], 0.0, {"lm": 1.0})]
    rows += [(node, [node - 1] * 2, [0, 1], 0.0, {"lm": 1.0}) for node in range(1, 40)]
    with pytest.raises(SpaceError, match="more than"):
        envelope(Forest.from_edges(rows), [1.0], [1.0])


@pytest.mark.parametrize("weight", [1e308, 1e305])
@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
def test_scores_that_are_too_large_are_refused(kind, weight):
    features = {"lm": 1e3}
    space = {
        "list": NBest.from_hypotheses([Hypothesis(("a",), 0.0, features)]),
        "lattice": Lattice.from_arcs([(0, 1, "a", 0.0, features)], finals=[1]),
        "forest": Forest.from_edges([(0, [], ["a"], 0.0, features)]),
    }[kind]
    with np.errstate(over="ignore"), pytest.raises(SpaceError, match="too large"):
        envelope(space, [weight], [0.0])


def test_what_has_no_envelope_says_so():
    with pytest.raises(SpaceError, match="no features"):
        envelope(Lattice.from_arcs([(0, 1, "a")], finals=[1]), {}, {})
    with pytest.raises(SpaceError, match="is empty"):
        envelope(NBest.from_hypotheses([], feature_names=["lm"]), [1.0], [1.0])
    apart = Lattice.from_arcs([(0, 1, "a", 0.0, {"lm": 1.0})], finals=[2], states=3)
    with pytest.raises(SpaceError, match="no complete path"):
        envelope(apart, [1.0], [1.0])
    with pytest.raises(OptionError, match="not finite"):
        envelope(apart, [np.nan], [1.0])
    with pytest.raises(OptionError, match="no weight for the features lm"):
        envelope(apart, {"lm": 1.0}, {})
