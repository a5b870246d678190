"""Pairwise accuracies against their definitions, and against published cases."""

from __future__ import annotations

import math
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics import GRR, WER, Utility, corpus_stats
from fstmetrics.statistics import (
    calibrated_accuracy,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)
from fstmetrics.statistics.human import match_systems, read_human
from lattices.errors import OptionError

#: a metric whose statistics may be anything: the mean of a column
MEAN = Utility(lambda pairs: [0.0 for _ in pairs], "mean")


def columns(scores) -> list[np.ndarray]:
    return [np.stack([row, np.ones(len(row))], axis=1) for row in np.asarray(scores, float)]


# systems


def test_accuracy_by_its_definition() -> None:
    rng = np.random.default_rng(3)
    people, scores = rng.integers(5, size=8), rng.integers(5, size=(8, 4))
    means = scores.mean(axis=1)
    pairs = list(combinations(range(8), 2))
    agree = [
        np.sign(people[i] - people[j]) == np.sign(means[i] - means[j]) for i, j in pairs
    ]  # fmt: skip
    found = pairwise_accuracy(people, MEAN, columns(scores), samples=300)
    assert found.value == pytest.approx(np.mean(agree))
    assert (found.method, found.points) == ("pa", 8)
    # by hand, with the same draws
    table = dict(zip(pairs, agree, strict=True))
    rng, values = np.random.default_rng(0), []
    for drawn in rng.integers(8, size=(300, 8)).tolist():
        counted = [table[min(i, j), max(i, j)] for i, j in combinations(drawn, 2) if i != j]
        values.append(np.mean(counted))
    assert found.interval.low == pytest.approx(np.percentile(values, 2.5))
    assert found.interval.high == pytest.approx(np.percentile(values, 97.5))


def test_segments_are_resampled() -> None:
    scores = [[1, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]]
    people = [3, 2, 1]
    found = pairwise_accuracy(people, MEAN, columns(scores), resample="segments", samples=200)
    rng, values = np.random.default_rng(0), []
    for drawn in rng.integers(4, size=(200, 4)):
        means = np.array(scores)[:, drawn].mean(axis=1)
        values.append(np.mean([means[i] > means[j] for i, j in combinations(range(3), 2)]))
    assert found.interval.low == pytest.approx(np.percentile(values, 2.5))
    assert found.interval.high == pytest.approx(np.percentile(values, 97.5))


def test_error_rates_are_turned() -> None:
    references = [["the cat"], ["sat down"]]
    outputs = [["the cat", "sat down"], ["the hat", "sat down"], ["a hat", "sat"]]
    stats = [corpus_stats(WER(), output, references) for output in outputs]
    assert pairwise_accuracy([3, 2, 1], WER(), stats).value == 1.0
    assert pairwise_accuracy([1, 2, 3], WER(), stats).value == 0.0
    people = [[3, 3], [2, 2], [1, 1]]
    assert soft_pairwise_accuracy(people, WER(), stats, permutations=4000).value > 0.9


def exact_p_value(one, other) -> float:
    """The p-value over all exchanges."""
    effect = sum(one) - sum(other)
    null = [
        sum(sign * (a - b) for sign, a, b in zip(signs, one, other, strict=True))
        for signs in product((-1, 1), repeat=len(one))
    ]
    return float(np.mean([each >= effect - 1e-9 for each in null]))


def test_soft_accuracy_by_its_definition() -> None:
    rng = np.random.default_rng(4)
    people, scores = rng.normal(size=(4, 7)), rng.normal(size=(4, 7))
    people += np.arange(4)[:, np.newaxis] / 3
    far = [
        abs(exact_p_value(people[i], people[j]) - exact_p_value(scores[i], scores[j]))
        for i, j in combinations(range(4), 2)
    ]
    found = soft_pairwise_accuracy(people, MEAN, columns(scores), permutations=20_000, samples=100)
    assert found.value == pytest.approx(1 - np.mean(far), abs=0.02)
    assert found.interval.low <= found.value <= found.interval.high
    # the example of the authors' code: all exchanges but one lead by less
    one, other = [0.8, 0.9, 0.7, 1.0, 0.6], [0.2, 0.3, 0.1, 0.4, 0.0]
    assert exact_p_value(one, other) == 1 / 32
    # a metric is as sure as itself, and as people who say the same
    assert soft_pairwise_accuracy(scores, MEAN, columns(scores)).value == 1.0


# segments


@pytest.mark.parametrize(
    ("people", "scores", "epsilon", "value"),
    [
        # the cases of google-research/mt-metrics-eval, tau_optimization_test.py
        ([[1, 2, 3, 4]], [[0, 2, 6, 8]], 0, 1.0),
        ([[1, 1, 1, 4]], [[0, 2, 6, 8]], 4, 4 / 6),
        (
            [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, None, 3, 2], [None] * 5],
            [[0, 5, 2, 3, 2], [None, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [None] * 5],
            1,
            0.4916666666666668,
        ),
    ],
)
def test_published_cases(people, scores, epsilon, value) -> None:
    found = calibrated_accuracy(np.array(people, float).T, np.array(scores, float).T)
    assert (found.value, found.epsilon) == (pytest.approx(value), epsilon)


def test_all_thresholds_of_a_published_case() -> None:
    people, scores = np.array([[1, 1, 1, 4]]).T, np.array([[0, 2, 6, 8]]).T
    taus = [calibrated_accuracy(people, scores, epsilon=e).value for e in (0, 2, 4, 6, 8)]
    assert taus == pytest.approx([3 / 6, 3 / 6, 4 / 6, 4 / 6, 3 / 6])


few = st.integers(0, 4).map(float) | st.just(math.nan)


def plain(people, scores, epsilon) -> float:
    values = []
    for said, scored in zip(people.T, scores.T, strict=True):
        agree = []
        for i, j in combinations(range(len(said)), 2):
            order, gap = said[i] - said[j], scored[i] - scored[j]
            if not math.isnan(order + gap):
                sign = 0.0 if abs(gap) <= epsilon else np.sign(gap)
                agree.append(np.sign(order) == sign)
        if agree:
            values.append(np.mean(agree))
    return float(np.mean(values)) if values else math.nan


@given(st.lists(st.tuples(*[few] * 6), min_size=1, max_size=4))
def test_accuracy_with_ties_by_its_definition(segments) -> None:
    people, scores = np.array(segments).T[:3], np.array(segments).T[3:]
    found = calibrated_accuracy(people, scores)
    if math.isnan(plain(people, scores, 0)):
        assert math.isnan(found.value)
        assert found.note
        return
    values = {e: plain(people, scores, e) for e in range(5)}
    assert found.value == pytest.approx(max(values.values()))
    # the smallest of equals
    assert found.epsilon == min(e for e, value in values.items() if value > found.value - 1e-9)
    for e, value in values.items():
        assert calibrated_accuracy(people, scores, epsilon=e).value == pytest.approx(value)


def test_resamples_are_calibrated() -> None:
    rng = np.random.default_rng(8)
    people = rng.integers(3, size=(4, 12)).astype(float)
    scores = people + rng.normal(size=(4, 12))
    found = calibrated_accuracy(people, scores, samples=60)
    rng = np.random.default_rng(0)
    values = [
        calibrated_accuracy(people[:, drawn], scores[:, drawn]).value
        for drawn in rng.integers(12, size=(60, 12))
    ]
    assert found.interval.low == pytest.approx(np.percentile(values, 2.5))
    assert found.interval.high == pytest.approx(np.percentile(values, 97.5))


# errors


def test_what_does_not_fit() -> None:
    stats = columns([[1, 2], [2, 3], [3, 4]])
    for call, message in (
        (lambda: pairwise_accuracy([1, 2], MEAN, stats), "human scores of"),
        (lambda: pairwise_accuracy([1], MEAN, stats[:1]), "1 systems, expected 2 or more"),
        (lambda: pairwise_accuracy([1, 2, math.nan], MEAN, stats), "one finite human score"),
        (lambda: pairwise_accuracy([1, 2, 3], MEAN, stats, resample="x"), "resample='x'"),
        (
            lambda: pairwise_accuracy([1, 2], MEAN, [stats[0], np.vstack(stats)]),
            "systems of 2 to 6 segments",
        ),
        (
            lambda: soft_pairwise_accuracy([[1, 2], [1, math.nan], [1, 2]], MEAN, stats),
            "expected a finite one for each of 3 systems and 2 segments",
        ),
        (lambda: calibrated_accuracy([[1]], [[1, 2]]), "matrices of shapes"),
        (lambda: calibrated_accuracy([[1], [2]], [[1], [2]], epsilon=-1), "epsilon=-1"),
    ):
        with pytest.raises(OptionError, match=message):
            call()


# real data


def test_wmt15(shared_data: Path) -> None:
    """On WMT15 German-English, the accuracy follows from Kendall's tau where nothing is tied."""
    from scipy.stats import kendalltau

    folder = shared_data / "wmt15" / "de-en"
    human = read_human(str(folder.parent / "wmt15.deu-eng.txt"), one_system=False)
    files = match_systems(human, [str(path) for path in sorted(folder.glob("newstest2015.*"))])
    said = [entry.score for entry in human.entries if entry.system in files]
    (reference,) = folder.glob("*-ref.*")
    references = [[line] for line in reference.read_text("utf-8").splitlines()]
    stats = [
        corpus_stats(WER(), Path(files[name]).read_text("utf-8").splitlines(), references)
        for name in dict.fromkeys(entry.system for entry in human.entries)
        if name in files
    ]
    found = pairwise_accuracy(said, WER(), stats, samples=100)
    rates = [WER().score(matrix.sum(axis=0)) for matrix in stats]
    tau = kendalltau(said, [-rate for rate in rates]).statistic
    assert found.value == pytest.approx((tau + 1) / 2)
    assert found.points == 13


def test_wmt15_segments(shared_data: Path) -> None:
    """Segment scores of WER in the place of people, rounded so that there are ties."""
    folder = shared_data / "wmt15" / "fr-en"
    (reference,) = folder.glob("*-ref.*")
    references = [[line] for line in reference.read_text("utf-8").splitlines()][:120]
    stats = [
        corpus_stats(metric, path.read_text("utf-8").splitlines()[:120], references)
        for metric in (WER(), GRR())
        for path in sorted(folder.glob("*2015.*"))
    ]
    wer, grr = stats[:7], stats[7:]
    people = 1 - np.round([WER().score(row) for one in wer for row in one], 1).reshape(7, 120)
    scores = np.array([GRR().score(row) for one in grr for row in one]).reshape(7, 120)
    found = calibrated_accuracy(people, scores)
    thresholds = np.unique(np.abs(scores[:, None] - scores[None]).round(12))[::50]
    assert plain(people, scores, found.epsilon) == pytest.approx(found.value)
    assert all(plain(people, scores, e) <= found.value + 1e-9 for e in thresholds[:40])
    # signs of all exchanges, by another generator
    signs = np.random.default_rng(5).choice([-1.0, 1.0], size=(8000, 120))
    far = []
    for i, j in combinations(range(7), 2):
        gaps = people[i] - people[j], scores[i] - scores[j]
        p = [np.mean(signs @ gap >= gap.sum() - 1e-9) for gap in gaps]
        far.append(abs(p[0] - p[1]))
    soft = soft_pairwise_accuracy(people, MEAN, columns(scores), permutations=4000, samples=100)
    assert soft.value == pytest.approx(1 - np.mean(far), abs=0.02)
    assert soft.interval is not None
    assert soft.interval.low <= soft.value <= soft.interval.high
