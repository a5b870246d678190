"""What all methods of mbr make of the same odd input: one result, or one clear error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from decoding.minimum_risk.decisions import METHODS, mbr
from decoding.minimum_risk.evidence import evidence_of
from decoding.minimum_risk.pairwise import Pairwise
from decoding.minimum_risk.tuning import LinearGrid, tune_linear
from fstmetrics import WER
from lattices import Hypothesis, Lattice, NBest, OptionError, SpaceError
from lattices.spaces import Forest

# rover takes systems that said one sentence, with confidences: test_rover.py
EVERY = pytest.mark.parametrize("method", [name for name in METHODS.names() if name != "rover"])
KINDS = pytest.mark.parametrize("kind", ["lattice", "forest", "nbest"])
BAD_SCALES = pytest.mark.parametrize("scale", [math.nan, -1.0, -1e-300, math.inf, -math.inf])


def decoded(space, method, **options):
    """Decode with the metric of the method: those with an objective of their own have none."""
    metric = None if method in ("linear", "consensus", "edit", "rover") else WER()
    return mbr(space, metric, method=method, **options)


def nbest_of(*entries):
    return NBest.from_hypotheses([Hypothesis(tuple(text.split()), at) for text, at in entries])


def space_of(kind, *entries):
    """Return sentences as a lattice with a path for each, as its forest, or as a list."""
    if kind == "nbest":
        return nbest_of(*entries)
    arcs, end = [], 1 + sum(len(text.split()) for text, _ in entries)
    state = 1
    for text, score in entries:
        words = text.split() or [""]
        for place, word in enumerate(words):
            source = 0 if place == 0 else state - 1
            target = end if place == len(words) - 1 else state
            arcs.append((source, target, word, score if place == 0 else 0.0))
            state += target != end
    lattice = Lattice.from_arcs(arcs, finals=[end])
    return Forest.from_lattice(lattice) if kind == "forest" else lattice


SENTENCES = (("a b c", -9.0), ("a b d", -4.0), ("a e c", -0.5), ("f b c", -7.0))


@pytest.mark.parametrize("method", METHODS.names())
@KINDS
@BAD_SCALES
def test_a_scale_is_finite_and_not_negative(method, kind, scale):
    with pytest.raises(OptionError) as problem:
        decoded(space_of(kind, *SENTENCES), method, scale=scale)
    assert str(problem.value) == f"a scale is a finite number from 0 on, not {scale}"


@pytest.mark.parametrize("method", ["pairwise", "exact", "search"])
@BAD_SCALES
def test_a_bad_scale_is_refused_where_the_evidence_is_given_too(method, scale):
    space = nbest_of(*SENTENCES)
    with pytest.raises(OptionError, match="a scale is a finite number from 0 on"):
        decoded(space, method, evidence=evidence_of(space), scale=scale)


@BAD_SCALES
def test_tuning_refuses_the_same_scales(scale):
    with pytest.raises(OptionError, match="a scale is a finite number from 0 on"):
        tune_linear([nbest_of(*SENTENCES)], [["a b c"]], WER(), LinearGrid([1.0, scale]))


@EVERY
@KINDS
def test_at_scale_0_scores_say_nothing(method, kind):
    found = decoded(space_of(kind, *SENTENCES), method, scale=0.0)
    level = decoded(space_of(kind, *((text, 0.0) for text, _ in SENTENCES)), method)
    assert found.text == level.text == "a b c"
    assert found.expected == pytest.approx(level.expected, abs=1e-12)
    assert decoded(space_of(kind, *SENTENCES), method).text == "a e c"


@KINDS
def test_at_scale_0_the_mean_is_that_of_all_sentences(kind):
    # one of three words is wrong with three of the four, which have three words each
    space = space_of(kind, *SENTENCES)
    for method in ("pairwise", "exact", "search"):
        assert decoded(space, method, scale=0.0).expected == pytest.approx(0.25)
    assert decoded(space, "edit", scale=0.0).expected == pytest.approx(0.75)


@EVERY
@KINDS
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e6])
@pytest.mark.parametrize("text", ["a b", ""])
def test_one_path_is_chosen(method, kind, text, scale):
    found = decoded(space_of(kind, (text, -1.0)), method, scale=scale)
    assert (found.text, found.hypothesis.score) == (text, -1.0)
    if method in ("pairwise", "edit", "exact", "search"):
        assert found.expected == 0.0
    assert np.isfinite(found.expected)


@EVERY
def test_a_lattice_of_one_state(method):
    found = decoded(Lattice.from_arcs([], finals=[0]), method)
    assert (found.tokens, found.hypothesis.score) == ((), 0.0)


@EVERY
@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_a_lattice_without_a_complete_path(method, scale):
    dead = Lattice.from_arcs([(0, 1, "a"), (2, 3, "b")], finals=[3], id="dead")
    with pytest.raises(SpaceError, match="'dead' has no complete path"):
        decoded(dead, method, scale=scale)


@EVERY
@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_an_empty_list(method, scale):
    with pytest.raises(OptionError, match=r"is empty|there is no evidence"):
        decoded(nbest_of(), method, scale=scale)


@EVERY
@KINDS
@pytest.mark.parametrize("weight", [math.nan, math.inf, -1.0])
def test_weights_of_systems_are_finite_and_not_negative(method, kind, weight):
    space = space_of(kind, *SENTENCES)
    with pytest.raises(OptionError, match=r"not negative"):
        decoded([space, space], method, system_weights=[1.0, weight])


@pytest.mark.parametrize("weight", [math.nan, math.inf, -1.0])
def test_weights_of_entries_are_finite_and_not_negative(weight):
    with pytest.raises(OptionError, match="a weight of evidence is finite and not negative"):
        mbr(nbest_of(*SENTENCES), WER(), method=Pairwise(weights=[1.0, weight, 1.0, 1.0]))


@KINDS
@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_scores_that_are_no_numbers_make_no_space(kind, score):
    with pytest.raises(SpaceError, match="expected a finite number"):
        space_of(kind, ("a", score), ("b", 0.0))
