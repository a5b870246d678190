"""Expected edits of many segments by one call: what each of them alone would be."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import EditDistance
from decoding.minimum_risk.decisions import decide_batch, mbr
from decoding.minimum_risk.edit import EditConsensus, edit, edit_batch
from fstmetrics import WER
from lattices import Forest, Lattice, NBest
from lattices.algorithms import best_words
from lattices.errors import OptionError, SpaceError, TooLargeError
from lattices.spaces import Space
from tests.decoding.minimum_risk.lists import nbest_of
from tests.strategies import small_forests, small_lattices

SPACES = st.one_of(small_lattices(features=True), small_lattices(), small_forests())
GOOD = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1], id="good")
DEAD = Lattice.from_arcs([(0, 1, "a"), (2, 3, "b")], finals=[3], id="dead")


def as_list(space: Space) -> Space:
    return NBest.from_hypotheses(list(space.paths()), vocabulary=space.vocabulary)  # type: ignore[union-attr]


def all_of(found: EditConsensus) -> dict[str, Any]:
    """Return the decision with all that can be asked of it."""
    return {
        **found.to_dict(),
        "arcs": found.hypothesis.arcs,
        "index": found.hypothesis.index,
        "objectives": found.objectives,
        "bins": found.network.bins,
    }


@settings(max_examples=100)
@given(st.lists(SPACES, max_size=5), st.sampled_from([0.0, 0.5, 2.0]), st.integers(1, 3))
def test_each_is_decided_as_alone(spaces: list[Space], scale: float, workers: int) -> None:
    spaces += [as_list(space) for space in spaces if isinstance(space, Lattice)]
    found = edit_batch(spaces, scale=scale, workers=workers)
    assert [all_of(each) for each in found] == [all_of(edit(each, scale=scale)) for each in spaces]
    assert [all_of(pickle.loads(pickle.dumps(each))) for each in found] == list(map(all_of, found))


@given(small_lattices(features=True))
def test_a_path_has_what_the_lattice_says_of_it(lattice: Lattice) -> None:
    found = edit(lattice).hypothesis
    if np.isfinite(found.score):
        assert found == lattice.hypothesis(found.arcs)
        best = max(path.score for path in lattice.paths() if path.tokens == found.tokens)
        assert found.score == pytest.approx(best)
    else:
        assert (found.arcs, found.features) == ((), {})
        assert found.tokens not in {path.tokens for path in lattice.paths()}


@given(SPACES)
def test_the_best_beside_is_that_of_the_model(space: Space) -> None:
    found = edit(space)
    if isinstance(space, Lattice):
        assert found.beside == best_words(space)
    assert edit(space, start=["a"]).beside is None
    assert mbr(space, WER(), method="pairwise").beside is None


@settings(max_examples=50)
@given(st.lists(SPACES, max_size=4), st.booleans())
def test_a_batch_may_take_several_methods(spaces: list[Space], several: bool) -> None:
    segments = [[space, space] for space in spaces] if several else spaces
    found = decide_batch(segments, WER())
    methods = ["edit" if isinstance(space, Lattice) else "pairwise" for space in spaces]
    assert [each.method for (each,) in found] == methods
    alone = [mbr(each, WER()) for each in segments]
    assert [each.to_dict() for (each,) in found] == [each.to_dict() for each in alone]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_error_names_the_space(place: int) -> None:
    spaces = [GOOD, GOOD]
    spaces.insert(place, DEAD)
    with pytest.raises(SpaceError, match="'dead' has no complete path"):
        edit_batch(spaces)
    large = Lattice.from_arcs(
        [(state, state + 1, word) for state in range(50) for word in "ab"], [50], id="large"
    )
    spaces[place] = large
    with pytest.raises(TooLargeError, match=r"^lattice 'large': 51 lattice states"):
        edit_batch(spaces, memory=5_000)
    spaces[place] = Lattice.from_arcs([(0, 1, "a", 1e308), (0, 1, "b")], finals=[1], id="steep")
    with pytest.raises(SpaceError, match="'steep' are too large for scale 10"):
        edit_batch(spaces, scale=10.0)


def test_of_ranks_and_evidence_a_batch_says_what_one_does() -> None:
    some = [nbest_of("a b", "a c", "a b c"), nbest_of("c", "d")]
    found = decide_batch(some, WER(), k=2, method="pairwise", evidence=[None, some[0]])
    assert [[each.text for each in ranked] for ranked in found] == [["a b", "a c"], ["c", "d"]]
    with pytest.raises(OptionError, match="method edit has no option 'k'"):
        decide_batch(some, method="edit", k=2)
    with pytest.raises(OptionError, match="method edit has no option 'evidence'"):
        decide_batch(some, method=EditDistance(), evidence=[None, some[0]])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"iterations": -1}, "iterations is -1, expected 0 or more"),
        ({"swaps": -1}, "swaps is -1, expected 0 or more"),
        ({"memory": 0}, "memory is 0, expected 1 or more"),
        ({"starts": 0}, "starts is 0, expected 1 or more"),
        ({"starts": 2, "start": ["a"]}, "and 1 with a start of one's own"),
        ({"starts": 2, "decode": False}, "and 1 with a start of one's own"),
        ({"starts": 1.5}, "'?starts'? is a whole number, not 1.5"),
    ],
)
def test_options_are_refused_before_anything_is_decided(
    options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(OptionError, match=problem):
        EditDistance(**options)
    with pytest.raises(OptionError, match=problem):
        edit(Forest.from_lattice(GOOD), **options)


def test_a_method_may_take_more_memory_than_the_default() -> None:
    assert mbr(GOOD, WER(), method=EditDistance(memory=2**40)).text == "a"
