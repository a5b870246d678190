"""Determinization, minimization and pushing, judged by enumerating sentences."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.algorithms.determinize import DELTA, determinize, minimize, push
from lattices.errors import MissingDependencyError, OptionError, SpaceError, TooLargeError
from lattices.interop import from_fst, to_fst
from lattices.spaces import Lattice
from tests.strategies import small_lattices

OPERATIONS = [determinize, minimize]


@st.composite
def nearly_tied(draw: st.DrawFn) -> Lattice:
    """Draw a lattice with paths whose scores differ by about as much as counts as equal."""
    lattice = draw(small_lattices(features=False))
    losses = st.sampled_from([0.0, 3e-7, 9e-7, 1.1e-6, 1.9e-6, 5e-6, 0.3, 1.7])
    score = [-draw(losses) for _ in range(lattice.num_arcs)]
    return lattice.replaced(score=np.array(score))


def best_scores(lattice: Lattice) -> dict[tuple[str, ...], float]:
    """Return the best score of every sentence, by enumeration."""
    found: dict[tuple[str, ...], float] = {}
    for path in lattice.paths():
        found[path.tokens] = max(path.score, found.get(path.tokens, -np.inf))
    return found


def assert_deterministic(lattice: Lattice) -> None:
    assert (lattice.label > 0).all()
    arcs = list(zip(lattice.src.tolist(), lattice.label.tolist(), strict=True))
    assert len(set(arcs)) == len(arcs)


@pytest.mark.parametrize("operation", OPERATIONS)
@given(lattice=small_lattices(features=False) | nearly_tied())
def test_each_sentence_once_with_its_best_score(operation, lattice: Lattice) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("pynini")
    expected = best_scores(lattice)
    found = operation(lattice)
    assert_deterministic(found)
    paths = list(found.paths())
    assert {path.tokens for path in paths} == expected.keys()
    assert len(paths) == len(expected)
    best = max(expected.values())
    for path in paths:
        score = expected[path.tokens]
        # as documented: losses cross in single precision, and each state that is merged has its own
        within = 1e-6 * (best - score) + DELTA * (len(path.tokens) + 1)
        assert abs(path.score - score) <= (DELTA if score == best else within) + 1e-12


@pytest.mark.parametrize("operation", OPERATIONS)
@given(lattice=small_lattices(exact=True, features=False))
def test_scores_on_a_grid_are_exact(operation, lattice: Lattice) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("pynini")
    assert best_scores(operation(lattice)) == best_scores(lattice)


@given(small_lattices(exact=True, features=False))
def test_the_smallest_there_is(lattice: Lattice) -> None:
    pytest.importorskip("pynini")
    scores = best_scores(lattice)
    # one state for each way in which sentences can go on, scores compared from the best
    ways = set()
    for prefix in {tokens[:cut] for tokens in scores for cut in range(len(tokens) + 1)}:
        rest = {t[len(prefix) :]: s for t, s in scores.items() if t[: len(prefix)] == prefix}
        ways.add(frozenset((tokens, s - max(rest.values())) for tokens, s in rest.items()))
    assert minimize(lattice).num_states == len(ways)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_kept(operation) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("pynini")
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -1.0), (0, 1, "a", -2.0), (0, 1, "", 0.0)],
        finals=[1],
        id="s1",
        source="ein",
        references=["a"],
        metadata={"beam": 7},
    )
    found = operation(lattice)
    assert found.vocabulary is lattice.vocabulary
    for name in ("id", "source", "references", "metadata"):
        assert getattr(found, name) == getattr(lattice, name)
    assert best_scores(found) == {("a",): -1.0, (): 0.0}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_features_are_not_dropped_without_a_word(operation) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("pynini")
    arc = (0, 1, "a", -1.0, {"lm": -1.0})
    lattice = Lattice.from_arcs([arc], finals=[1], times=[0.0, 0.5], id="s1")
    with pytest.raises(OptionError, match="lose the features and times of lattice 's1'"):
        operation(lattice)
    assert operation(lattice, drop_features=True).features is None
    for delta in (0, 1e308):
        with pytest.raises(OptionError, match=f"delta={delta:g}".replace("+", r"\+")):
            operation(lattice, delta=delta, drop_features=True)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_small_differences_of_large_scores(operation) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("pynini")
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -1e6), (0, 2, "a", -1e6 - 0.001), (1, 3, "b", -1e6), (2, 3, "c", -1e6)],
        finals=[3],
    )
    found = best_scores(operation(lattice))
    assert found == pytest.approx(best_scores(lattice), rel=0, abs=1e-6)


@pytest.mark.parametrize("operation", [determinize, minimize, push])
def test_no_complete_path(operation) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("pynini")
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[2])
    with pytest.raises(SpaceError, match="no complete path"):
        operation(lattice)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_without_pynini(operation, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setitem(sys.modules, "pynini", None)
    with pytest.raises(MissingDependencyError, match="conda-forge"):
        operation(Lattice.from_arcs([(0, 1, "a")], finals=[1]))


@given(small_lattices(), st.booleans())
def test_pushing_keeps_every_path(lattice: Lattice, to_final: bool) -> None:
    found = push(lattice, to_final=to_final)
    for name in ("src", "dst", "label", "start", "features", "id"):
        assert getattr(found, name) is getattr(lattice, name)
    for path in lattice.paths():
        assert found.hypothesis(path.arcs).score == pytest.approx(path.score, abs=1e-12)
        assert found.hypothesis(path.arcs).features == path.features


@given(small_lattices(features=False))
def test_pushed_to_the_start_the_best_way_on_is_free(lattice: Lattice) -> None:
    found = push(lattice)
    for state in range(found.start + 1, found.num_states):
        onward = [path.score for path in _from(found, state).paths()]
        if onward:
            assert max(onward) == pytest.approx(0.0, abs=1e-12)


@given(small_lattices(features=False))
def test_pushed_to_the_end_the_best_way_there_is_free(lattice: Lattice) -> None:
    found = push(lattice, to_final=True)
    for state in range(found.num_states):
        there = np.full(found.num_states, -np.inf)
        there[state] = 0.0
        scores = [path.score for path in found.replaced(final=there).paths()]
        if scores:
            assert max(scores) == pytest.approx(0.0, abs=1e-12)


def _from(lattice: Lattice, state: int) -> Lattice:
    names = ("vocabulary", "src", "dst", "label", "score", "final")
    return Lattice(**{name: getattr(lattice, name) for name in names}, start=state)


@given(small_lattices(features=False), st.booleans())
def test_openfst_pushes_the_same_way(lattice: Lattice, to_final: bool) -> None:
    pytest.importorskip("pynini")
    # OpenFst leaves states on no path alone in its own way, so they go first
    trimmed = from_fst(to_fst(lattice).connect(), lattice.vocabulary)
    towards = "to_final" if to_final else "to_initial"
    theirs = from_fst(to_fst(trimmed).push(reweight_type=towards), lattice.vocabulary)
    ours = push(trimmed, to_final=to_final)
    np.testing.assert_allclose(ours.score, theirs.score, atol=1e-5)
    np.testing.assert_allclose(ours.final, theirs.final, atol=1e-5)


def test_pushing_leaves_dead_ends_alone() -> None:
    arcs = [(0, 1, "a", -1.0), (0, 2, "b", -2.0), (3, 1, "c", -3.0)]
    lattice = Lattice.from_arcs(arcs, finals={1: -1.0})
    dead = dict(zip(lattice.vocabulary.decode(lattice.label), range(3), strict=True))["b"]
    assert push(lattice).score[dead] == -2.0
    assert push(lattice, to_final=True).final.tolist().count(-np.inf) == 3


def test_what_explodes_is_refused(monkeypatch):
    """A word that was an "a" twelve words before the end takes 2**12 states to be remembered."""
    arcs = []
    for begin in range(20):
        tail = 100 + 40 * begin
        arcs += [(begin, begin + 1, "a"), (begin, begin + 1, "b"), (begin, tail, "a")]
        arcs += [(tail + at, tail + at + 1, word) for at in range(12) for word in "ab"]
    lattice = Lattice.from_arcs(arcs, finals=[112 + 40 * begin for begin in range(20)], id="seg")
    monkeypatch.setattr(sys.modules[determinize.__module__], "MOST_STATES", 1000)
    with pytest.raises(TooLargeError, match="'seg' takes 1,000 states or more"):
        determinize(lattice)
