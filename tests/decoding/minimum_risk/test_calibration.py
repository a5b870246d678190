"""Calibration of the confidences of spaces: by mbr at every scale, and by enumerated alignments."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import EditDistance, mbr
from decoding.minimum_risk.calibration import (
    SCALES,
    CalibrationTask,
    MarkedWords,
    SegmentWords,
    fit_calibration,
    mark_right_words,
)
from decoding.minimum_risk.edit import edit
from fstmetrics import WER
from fstmetrics.statistics.calibration import Calibration, cross_entropy, fit_map, measure_quality
from lattices import Hypothesis, Lattice, NBest, OptionError, Space
from lattices.algorithms import best_words, sample
from tests.strategies import sentences, small_forests, small_lattices


def matches_of_sclite(words: list[str], reference: list[str]) -> set[tuple[bool, ...]]:
    """Return which words can be right in an alignment of the least 4 S + 3 (D + I)."""

    @cache
    def least(here: int, there: int) -> tuple[int, frozenset[tuple[bool, ...]]]:
        if here == len(words) and there == len(reference):
            return 0, frozenset([()])
        found: list[tuple[int, frozenset[tuple[bool, ...]]]] = []
        if here < len(words):
            cost, rest = least(here + 1, there)
            found.append((cost + 3, frozenset((False, *each) for each in rest)))
        if there < len(reference):
            cost, rest = least(here, there + 1)
            found.append((cost + 3, rest))
        if here < len(words) and there < len(reference):
            same = words[here] == reference[there]
            cost, rest = least(here + 1, there + 1)
            found.append((cost + 4 * (not same), frozenset((same, *each) for each in rest)))
        best = min(cost for cost, _ in found)
        return best, frozenset().union(*(flags for cost, flags in found if cost == best))

    return set(least(0, 0)[1])


@given(sentences("abc", max_size=6), sentences("abc", max_size=6))
def test_right_words_are_those_of_sclite(words: list[str], reference: list[str]) -> None:
    assert tuple(mark_right_words(words, [reference])) in matches_of_sclite(words, reference)


def test_normalised_words() -> None:
    assert mark_right_words(["The", "CAT"], ["the cat"], "lower") == [True, True]
    assert mark_right_words(["The", "CAT"], ["the cat"]) == [False, False]
    assert mark_right_words(["it", "--", "is."], ["It was!"], "lower+punctuation") == [
        True,
        None,
        False,
    ]
    assert mark_right_words([], ["a"]) == []


@settings(max_examples=30)
@given(
    st.one_of(small_lattices(words="ab"), small_forests(words="ab")), sentences("ab", max_size=4)
)
def test_words_are_those_of_mbr(space: Space, reference: list[str]) -> None:
    job = CalibrationTask((0.5, 1.0, 3.0))
    found = job.words_of(space, [reference])
    own = best_words(space)
    for scale, entropy, words in zip(job.scales, found.entropies, found.decided, strict=True):
        decision = mbr(space, WER(), scale=scale, method=EditDistance())
        said = [word.confidence for word in decision.network.words]
        assert words.confidences.tolist() == pytest.approx(said)
        assert words.correct.tolist() == mark_right_words(decision.tokens, [reference])
        fixed = edit(space, start=own, decode=False, scale=scale)
        assert fixed.tokens == own
        said = [word.confidence for word in fixed.network.words]
        assert entropy == pytest.approx(cross_entropy(said, mark_right_words(own, [reference])))


def random_segments(rng: Random, count: int, scales: int = 3) -> list[SegmentWords]:
    found = []
    for _ in range(count):
        decided = []
        for _ in range(scales):
            size = rng.randint(0, 5)
            confidences = np.array([rng.random() for _ in range(size)])
            correct = np.array([rng.random() < each**2 for each in confidences], dtype=bool)
            decided.append(MarkedWords(confidences, correct))
        found.append(SegmentWords(np.array([rng.random() for _ in range(scales)]), tuple(decided)))
    return found


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_folds_are_held_out(folds: int) -> None:
    """What is held out is judged by a fit to the rest, one part after the other, by hand."""
    scales = (0.5, 1.0, 2.0)
    words = random_segments(Random(folds), 41)
    report = fit_calibration(words, scales, folds)

    def fit(some: list[SegmentWords]) -> tuple[int, tuple[tuple[float, float], ...]]:
        sums = [sum(float(each.entropies[place]) for each in some) for place in range(3)]
        place = sums.index(min(sums))
        confidences = [c for each in some for c in each.decided[place].confidences.tolist()]
        correct = [r for each in some for r in each.decided[place].correct.tolist()]
        return place, fit_map(confidences, correct)

    mapped: list[float] = []
    plain: list[float] = []
    correct: list[bool] = []
    for part in range(folds):
        place, points = fit([each for n, each in enumerate(words) if n % folds != part])
        for number, each in enumerate(words):
            if number % folds == part:
                confidences = each.decided[place].confidences
                plain += confidences.tolist()
                mapped += Calibration(None, points)(confidences).tolist()
                correct += each.decided[place].correct.tolist()
    assert report.scaled == measure_quality(plain, correct)
    assert report.mapped == measure_quality(mapped, correct)
    place, points = fit(words)
    assert report.calibration == Calibration(scales[place], points)
    before = [each.decided[1] for each in words]
    assert report.before.words == sum(len(each.correct) for each in before)
    assert report.fitted.words == sum(len(each.decided[place].correct) for each in words)
    assert (report.segments, report.folds) == (41, folds)


def test_a_scale_that_was_drawn_from_is_found() -> None:
    """References that are drawn from the lattices at a scale of 1/4 have that scale."""
    rng = Random(7)
    job = CalibrationTask(SCALES)
    words = []
    for number in range(500):
        arcs = [
            (place, place + 1, word, rng.uniform(-16.0, 0.0))
            for place in range(4)
            for word in "abc"
        ]
        lattice = Lattice.from_arcs(arcs, [4])
        (said,) = sample(lattice, 1, scale=0.25, rng=np.random.default_rng(number))
        words.append(job.words_of(lattice, [said.tokens]))
    report = fit_calibration(words, SCALES)
    assert report.calibration.scale == pytest.approx(0.25, rel=0.5)
    assert report.before.nce < 0 < report.scaled.nce
    assert report.before.ece > 2 * report.scaled.ece


def test_lists_have_confidences_too() -> None:
    said = [("a cat", -1.0), ("a hat", -2.0), ("a cat", -3.0)]
    nbest = NBest.from_hypotheses([Hypothesis(tuple(t.split()), s) for t, s in said])
    found = CalibrationTask((1.0,)).words_of(nbest, ["a hat"])
    masses = np.exp([-1.0, -2.0, -3.0])
    right = [1.0, (masses[0] + masses[2]) / masses.sum()]
    assert found.decided[0].confidences.tolist() == pytest.approx(right)
    assert found.decided[0].correct.tolist() == [True, False]


@pytest.mark.parametrize("scales", [(2.0,), (1.0, 1.0), (1.0, 0.0), (1.0, -1.0)])
def test_bad_scales(scales: tuple[float, ...]) -> None:
    with pytest.raises(OptionError):
        CalibrationTask(scales)


def test_too_few_segments() -> None:
    words = random_segments(Random(1), 2)
    with pytest.raises(OptionError, match="2 segments in 3 parts"):
        fit_calibration(words, (0.5, 1.0, 2.0), 3)
    with pytest.raises(OptionError, match="1 parts"):
        fit_calibration(words, (0.5, 1.0, 2.0), 1)
    empty = MarkedWords(np.zeros(0), np.zeros(0, dtype=bool))
    nothing = [SegmentWords(np.zeros(1), (empty,))] * 4
    with pytest.raises(OptionError, match="no word"):
        fit_calibration(nothing, (1.0,))
