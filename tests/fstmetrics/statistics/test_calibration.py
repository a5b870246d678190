"""Calibration: measures by their definitions and by sclite's numbers, isotonic maps by minimax."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from fstmetrics.statistics.calibration import (
    Calibration,
    cross_entropy,
    expected_calibration_error,
    fit_map,
    fit_scale,
    measure_quality,
    normalised_cross_entropy,
    read_calibration,
    reliability,
)
from lattices.errors import FormatError, OptionError

#: confidences, and whether words are right
words = st.lists(
    st.tuples(st.one_of(st.integers(0, 20).map(lambda n: n / 20), st.floats(0, 1)), st.booleans()),
    min_size=1,
    max_size=60,
)


def nce_by_definition(pairs: list[tuple[float, bool]]) -> float:
    """Return NIST's NCE, term by term, with sclite's distance from 0 and 1."""
    right = sum(correct for _, correct in pairs)
    share = right / len(pairs)
    most = -right * math.log2(share) - (len(pairs) - right) * math.log2(1 - share)
    bits = 0.0
    for confidence, correct in pairs:
        near = min(max(confidence, 1e-7), 1 - 1e-7)
        bits += math.log2(near) if correct else math.log2(1 - near)
    return (most + bits) / most


@given(words)
def test_nce_is_its_definition(pairs: list[tuple[float, bool]]) -> None:
    found = normalised_cross_entropy(*zip(*pairs, strict=True))
    if len({correct for _, correct in pairs}) < 2:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(nce_by_definition(pairs), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("confidences", "correct", "nce"),
    [
        ([0.9, 0.8, 0.3, 1.0, 0.0], [1, 1, 0, 1, 0], 0.796),
        ([0.5, 1.0, 0.5], [1, 0, 1], -8.167),
        ([0.5, 0.5, 0.0], [1, 0, 1], -8.167),
    ],
)
def test_nce_is_what_sclite_prints(
    confidences: list[float], correct: list[int], nce: float
) -> None:
    """Numbers of sclite 2.10 of Debian's sctk, for ctm files with these confidences."""
    assert round(normalised_cross_entropy(confidences, correct), 3) == nce


def test_the_share_of_right_words_has_no_information() -> None:
    assert normalised_cross_entropy([0.75] * 4, [1, 1, 1, 0]) == pytest.approx(0.0)
    assert normalised_cross_entropy([1, 1, 1, 0], [1, 1, 1, 0]) == pytest.approx(1.0, abs=1e-6)


@given(words, st.integers(1, 15))
def test_ece_is_its_definition(pairs: list[tuple[float, bool]], bins: int) -> None:
    confidences, correct = zip(*pairs, strict=True)
    error = 0.0
    for number in range(bins):
        # ends as reliability has them: a bin begins with its low end, and the last has both
        here = [pair for pair in pairs if min(int(pair[0] * bins), bins - 1) == number]
        if here:
            mean = sum(confidence for confidence, _ in here) / len(here)
            right = sum(is_right for _, is_right in here) / len(here)
            error += len(here) / len(pairs) * abs(mean - right)
    assert expected_calibration_error(confidences, correct, bins) == pytest.approx(error)
    found = reliability(confidences, correct, bins)
    assert sum(each.words for each in found) == len(pairs)
    for each in found:
        if each.words:
            assert each.low - 1e-9 <= each.confidence <= each.high + 1e-9


def test_bins_have_their_low_ends() -> None:
    found = reliability([0.0, 0.5, 1.0], [True, True, True], 2)
    assert [each.words for each in found] == [1, 2]
    for place in range(100):
        # 0.58 * 100 is less than 58
        assert reliability([place / 100], [True], 100)[place].words == 1
    assert math.isnan(reliability([0.9], [True], 2)[0].correct)
    assert math.isnan(expected_calibration_error([], []))
    assert measure_quality([], []).words == 0


def isotonic_by_minimax(values: list[float], weights: list[float]) -> list[float]:
    """Return the isotonic regression by its minimax formula, over all pairs of ends."""

    def mean(first: int, last: int) -> float:
        total = sum(weights[first : last + 1])
        return (
            sum(v * w for v, w in zip(values[first : last + 1], weights[first:], strict=False))
            / total
        )

    count = len(values)
    return [
        max(min(mean(first, last) for last in range(at, count)) for first in range(at + 1))
        for at in range(count)
    ]


@given(words)
def test_the_map_is_isotonic_regression(pairs: list[tuple[float, bool]]) -> None:
    confidences, correct = zip(*pairs, strict=True)
    share = sum(correct) / len(correct)
    groups: dict[float, list[bool]] = {}
    for confidence, is_right in pairs:
        groups.setdefault(round(confidence, 6), []).append(is_right)
    at = sorted(groups)
    sizes = [float(len(groups[each])) for each in at]
    values = [(sum(groups[each]) + share) / (len(groups[each]) + 1) for each in at]
    right = isotonic_by_minimax(values, sizes)
    assert isotonic_regression(values, weights=sizes).x == pytest.approx(right)
    points = fit_map(confidences, correct, pieces=1000, words=1)
    knots = {round(value, 9) for value in right}
    assert len(points) == len(knots)
    found = Calibration(None, points)
    for place, value in points:
        inside = [(c, n) for c, n, r in zip(at, sizes, right, strict=True) if abs(r - value) < 1e-9]
        total = sum(n for _, n in inside)
        low, high = min(c for c, _ in inside), max(c for c, _ in inside)
        assert low - 1e-9 <= place <= high + 1e-9
        assert place == pytest.approx(sum(c * n for c, n in inside) / total)
        assert found([place])[0] == pytest.approx(value)


@given(words, st.integers(1, 8), st.integers(1, 12))
def test_maps_rise_and_never_are_certain(
    pairs: list[tuple[float, bool]], pieces: int, least: int
) -> None:
    confidences, correct = zip(*pairs, strict=True)
    points = fit_map(confidences, correct, pieces=pieces, words=least)
    assert 1 <= len(points) <= pieces
    assert len(points) <= max(1, len(pairs) // least)
    became = Calibration(None, points)(np.linspace(0, 1, 101))
    assert (np.diff(became) >= 0).all()
    if 0 < sum(correct) < len(correct):
        assert 0 < became.min() <= became.max() < 1


def test_a_map_is_worth_its_entropy() -> None:
    """Confidences that are too high by a known function are brought back."""
    rng = np.random.default_rng(3)
    truth = rng.uniform(0.2, 0.95, 20_000)
    correct = rng.random(len(truth)) < truth
    given_, right = np.sqrt(truth), np.arange(len(truth)) % 2 == 0
    points = fit_map(given_[right], correct[right])
    became = Calibration(None, points)(given_[~right])
    assert np.abs(became - truth[~right]).mean() < 0.02
    before, after = (cross_entropy(each, correct[~right]) for each in (given_[~right], became))
    best = cross_entropy(truth[~right], correct[~right])
    assert best < after < best + 0.01 * (before - best) + 30


def test_equal_entropies_leave_scores_alone() -> None:
    assert fit_scale([2.0, 2.0, 2.0], [0.25, 1.0, 2.0]) == 1.0
    assert fit_scale([2.0, 2.5, 1.0], [0.25, 1.0, 2.0]) == 2.0


def test_files(tmp_path: Path) -> None:
    one = Calibration(0.25, ((0.1, 0.2), (0.9, 0.8)))
    path = tmp_path / "calibration.json"
    one.write(path)
    assert read_calibration(path) == one
    Calibration().write(path)
    assert read_calibration(path)([0.1, 1.0]).tolist() == [0.1, 1.0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no calibration"),
        ("[1, 2]", "expected an object with scale and points"),
        ("3", "no calibration"),
        ('{"scale": 1}', "expected an object with scale and points"),
        ('{"scale": "1", "points": []}', "'1', expected a number"),
        ('{"scale": true, "points": []}', "True, expected a number"),
        ('{"scale": -1, "points": []}', "finite and from 0"),
        ('{"scale": 1, "points": [[0.5]]}', "no calibration"),
        ('{"scale": 1, "points": [[0.5, 0.2], [0.4, 0.3]]}', "do not rise"),
        ('{"scale": 1, "points": [[0.5, 0.2], [0.6, 0.1]]}', "do not rise"),
        ('{"scale": 1, "points": [[0.5, 1.5]]}', "do not rise from 0 to 1"),
        ('{"scale": NaN, "points": []}', "finite and from 0"),
    ],
)
def test_bad_files(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=problem) as raised:
        read_calibration(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("confidences", "correct"),
    [
        ([0.5], [True, False]),
        ([1.5], [True]),
        ([math.nan], [True]),
        (["sure"], [True]),
        ([None, [0.5]], [True, True]),
        ([0.5], [2]),
        ([0.5], ["false"]),
        ([0.5], [math.nan]),
    ],
)
def test_bad_confidences(confidences: list[float], correct: list[bool]) -> None:
    with pytest.raises(OptionError):
        cross_entropy(confidences, correct)
    with pytest.raises(OptionError):
        fit_map(confidences, correct)


def test_no_words() -> None:
    with pytest.raises(OptionError, match="no word"):
        fit_map([], [])
    wrong: tuple[Any, ...] = (0, 2.5, 10**12)
    for bins in wrong:
        with pytest.raises(OptionError, match="bins"):
            reliability([0.5], [True], bins)
    assert json.loads(Calibration().to_json()) == {"scale": None, "points": []}
