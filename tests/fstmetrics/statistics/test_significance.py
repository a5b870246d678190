"""Bootstrap, randomization and sign tests against slow ones, closed forms, and other packages."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fstmetrics import BLEU, GRR, WER, WRR, corpus_stats
from fstmetrics.statistics import (
    bootstrap,
    paired_bootstrap,
    randomization,
    resampling,
    sign_test,
    substitution_test,
)
from lattices.errors import OptionError

PAIRED = [paired_bootstrap, randomization, sign_test, substitution_test]


class MeanMetric:
    """The mean of one number a segment: what scipy can judge."""

    higher_is_better = True
    stat_names = ("sum", "count")

    def score(self, stats: np.ndarray) -> float:
        return float(stats[0] / stats[1])


def mean_stats(values: np.ndarray) -> np.ndarray:
    return np.column_stack((values, np.ones(len(values))))


def references_of(count: int) -> list[list[str]]:
    rng = random.Random(7)
    return [[" ".join(rng.choices("abcdefgh", k=rng.randint(4, 12)))] for _ in range(count)]


def noisy(references: list[list[str]], noise: float) -> list[str]:
    """Outputs in which some words of the references are wrong and some are missing."""
    rng = random.Random(f"{noise}")
    return [
        " ".join(
            "x" if rng.random() < noise else word
            for word in reference.split()
            if rng.random() > noise / 4
        )
        for (reference,) in references
    ]


def two_systems(metric, count=60, noises=(0.25, 0.3)):
    """Statistics of two systems for the same references."""
    references = references_of(count)
    return [corpus_stats(metric, noisy(references, noise), references) for noise in noises]


# bootstrap


@pytest.mark.parametrize("metric", [WER(), GRR(), BLEU()], ids=str)
def test_paired_bootstrap_is_the_naive_loop(metric) -> None:
    a, b = two_systems(metric)
    n, samples = len(a), 300
    rng = np.random.default_rng(5)
    effects = []
    for _ in range(samples):
        drawn = [int(i) for i in rng.integers(n, size=n)]
        scores = [metric.score(sum(rows[i] for i in drawn)) for rows in (a, b)]
        effects.append(scores[0] - scores[1])
    observed = metric.score(sum(a)) - metric.score(sum(b))
    mean = sum(effects) / samples
    sign = 1 if metric.higher_is_better else -1
    result = paired_bootstrap(metric, a, b, samples=samples, level=0.9, seed=5)
    assert result.effect == pytest.approx(observed, abs=1e-12)
    far = sum(abs(e - mean) >= abs(observed) for e in effects)
    assert result.p_value == (far + 1) / (samples + 1)
    assert result.wins == sum(sign * e > 1e-12 for e in effects)
    assert result.losses == sum(sign * e < -1e-12 for e in effects)
    assert result.wins + result.losses + result.ties == samples
    ordered = sorted(effects)
    assert result.interval.low == pytest.approx(np.percentile(ordered, 5))
    assert result.interval.high == pytest.approx(np.percentile(ordered, 95))
    for alternative, way in (("better", sign), ("worse", -sign)):
        far = sum(way * (e - mean) >= way * observed for e in effects)
        one_sided = paired_bootstrap(metric, a, b, samples=samples, alternative=alternative, seed=5)
        assert one_sided.p_value == (far + 1) / (samples + 1)


@pytest.mark.parametrize("test", [paired_bootstrap, randomization])
def test_blocks_change_nothing(test, monkeypatch) -> None:
    a, b = two_systems(WER())
    whole = test(WER(), a, b, seed=3)
    monkeypatch.setattr(resampling, "_BLOCK", 7 * len(a) + 1)
    drawn = []
    assert test(WER(), a, b, seed=3, on_drawn=drawn.append) == whole
    assert set(drawn[:-1]) == {7}
    assert sum(drawn) == whole.samples
    assert test(WER(), a, b, seed=4) != whole
    assert test(WER(), a, b, seed=np.random.default_rng(3)) == whole


def test_bootstrap_agrees_with_scipy() -> None:
    values = np.random.default_rng(0).gamma(2.0, size=200)
    found = bootstrap(MeanMetric(), mean_stats(values), samples=20_000, level=0.9)
    judge = scipy_stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, confidence_level=0.9, method="percentile", rng=1
    )
    spread = judge.standard_error
    assert found.score == pytest.approx(values.mean())
    assert found.standard_error == pytest.approx(spread, rel=0.03)
    assert found.interval.low == pytest.approx(judge.confidence_interval.low, abs=spread / 15)
    assert found.interval.high == pytest.approx(judge.confidence_interval.high, abs=spread / 15)
    assert found.interval.level == 0.9


def test_bootstrap_intervals_cover() -> None:
    """A 90 % interval has the true mean in it about 90 times in 100."""
    rng = np.random.default_rng(11)
    covered = 0
    for trial in range(400):
        values = rng.normal(size=50)
        interval = bootstrap(
            MeanMetric(), mean_stats(values), samples=400, level=0.9, seed=trial
        ).interval
        covered += interval.low <= 0 <= interval.high
    assert 0.85 < covered / 400 < 0.94


# randomization


def test_randomization_estimates_the_exact_p_value() -> None:
    metric = BLEU(order=2)
    a, b = two_systems(metric, count=10, noises=(0.2, 0.4))
    observed = abs(metric.score(a.sum(0)) - metric.score(b.sum(0)))
    as_far = 0
    for swaps in itertools.product((0, 1), repeat=len(a)):
        one = sum(b[i] if swap else a[i] for i, swap in enumerate(swaps))
        other = sum(a[i] if swap else b[i] for i, swap in enumerate(swaps))
        as_far += abs(metric.score(one) - metric.score(other)) >= observed - 1e-12
    exact = as_far / 2 ** len(a)
    assert 0.01 < exact < 0.9
    trials = 40_000
    found = randomization(metric, a, b, trials=trials)
    assert found.p_value == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / trials))
    assert (found.samples, found.interval, found.wins) == (trials, None, None)


@pytest.mark.parametrize(
    ("alternative", "side"), [("two-sided", "two-sided"), ("better", "greater"), ("worse", "less")]
)
def test_randomization_agrees_with_scipy(alternative, side) -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(0.35, 1, size=12)
    b = rng.normal(0.0, 1, size=12)
    judge = scipy_stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
        alternative=side,
    )
    found = randomization(
        MeanMetric(), mean_stats(a), mean_stats(b), trials=40_000, alternative=alternative
    )
    assert found.effect == pytest.approx(a.mean() - b.mean())
    assert found.p_value == pytest.approx(judge.pvalue, abs=0.01)


def test_randomization_agrees_with_sacrebleu(monkeypatch) -> None:
    significance = pytest.importorskip("sacrebleu.significance")
    from sacrebleu.metrics import BLEU as SacreBLEU

    monkeypatch.setenv("SACREBLEU_SEED", "1")
    references = references_of(80)
    first, second = noisy(references, 0.25), noisy(references, 0.3)
    metric = BLEU()
    a, b = (corpus_stats(metric, each, references) for each in (first, second))
    lines = [[reference for (reference,) in references]]
    judged = significance.PairedTest(
        [("b", second), ("a", first)],
        {"BLEU": SacreBLEU(tokenize="none", references=lines)},
        references=None,
        test_type="ar",
        n_samples=10_000,
    )()[1]["BLEU"]
    found = randomization(metric, a, b)
    assert 0.005 < found.p_value < 0.7
    assert 100 * found.effect == pytest.approx(judged[1].score - judged[0].score)
    assert found.p_value == pytest.approx(judged[1].p_value, abs=0.02)


def test_p_values_are_never_zero() -> None:
    zeros, ones = mean_stats(np.zeros(50)), mean_stats(np.ones(50))
    assert randomization(MeanMetric(), ones, zeros, trials=99).p_value == 1 / 100
    assert paired_bootstrap(MeanMetric(), ones, zeros, samples=99).p_value == 1 / 100


# sign tests


def signs(wins: int, losses: int, ties: int) -> tuple[np.ndarray, np.ndarray]:
    difference = np.array([1.0] * wins + [-1.0] * losses + [0.0] * ties)
    return mean_stats(difference), mean_stats(np.zeros(len(difference)))


@pytest.mark.parametrize("test", [sign_test, substitution_test])
@pytest.mark.parametrize(
    ("counts", "ties", "alternative", "expected"),
    [
        ((9, 1, 0), "drop", "two-sided", 2 * (1 + 10) / 2**10),
        ((9, 1, 5), "drop", "two-sided", 2 * (1 + 10) / 2**10),
        ((9, 1, 0), "drop", "better", (1 + 10) / 2**10),
        ((1, 9, 0), "drop", "worse", (1 + 10) / 2**10),
        ((1, 9, 0), "drop", "better", (2**10 - 1) / 2**10),
        ((4, 0, 4), "split", "better", (1 + 8 + 28) / 2**8),
        ((4, 0, 5), "split", "better", (1 + 8 + 28) / 2**8),
        ((0, 0, 4), "drop", "two-sided", 1.0),
    ],
)
def test_signs_have_the_tails_of_the_binomial(test, counts, ties, alternative, expected) -> None:
    result = test(MeanMetric(), *signs(*counts), ties=ties, alternative=alternative)
    assert result.p_value == pytest.approx(expected)
    assert (result.wins, result.losses, result.ties) == counts
    assert result.samples == counts[0] + counts[1] + (counts[2] // 2 * 2 if ties == "split" else 0)


@pytest.mark.parametrize("metric", [WER(), GRR()], ids=str)
def test_both_sign_tests_agree_where_the_metric_decomposes(metric) -> None:
    a, b = two_systems(metric, noises=(0.2, 0.3))
    sound, substituted = sign_test(metric, a, b), substitution_test(metric, a, b)
    assert sound.wins != sound.losses
    assert (sound.wins, sound.losses, sound.p_value) == (
        substituted.wins,
        substituted.losses,
        substituted.p_value,
    )


def test_substitution_is_the_naive_loop() -> None:
    metric = BLEU()
    a, b = two_systems(metric)
    base = metric.score(b.sum(axis=0))
    scores = [
        metric.score(sum(a[j] if j == i else b[j] for j in range(len(b)))) for i in range(len(b))
    ]
    result = substitution_test(metric, a, b)
    assert result.wins == sum(score > base + 1e-12 for score in scores)
    assert result.losses == sum(score < base - 1e-12 for score in scores)
    assert result.wins != sign_test(metric, a, b).wins


def test_with_bleu_each_system_beats_the_other() -> None:
    """Chiang et al. 2008, section 3.1: one output is too long, the other too short."""
    references = [[" ".join(f"w{s}.{i}" for i in range(20))] for s in range(30)]
    long = [f"{reference} junk" for (reference,) in references]
    short = [" ".join(reference.split()[:19]) for (reference,) in references]
    metric = BLEU()
    a, b = (corpus_stats(metric, outputs, references) for outputs in (long, short))
    there, back = substitution_test(metric, a, b), substitution_test(metric, b, a)
    assert (there.wins, there.losses) == (back.wins, back.losses) == (30, 0)
    assert there.p_value == back.p_value == pytest.approx(2 / 2**30)
    assert there.effect == -back.effect != 0
    # which cannot happen to a metric that decomposes
    a, b = (corpus_stats(GRR(), outputs, references) for outputs in (long, short))
    there, back = substitution_test(GRR(), a, b), substitution_test(GRR(), b, a)
    assert (there.wins, there.losses) == (back.losses, back.wins)


def test_the_contradiction_on_real_outputs(shared_data: Path) -> None:
    folder = shared_data / "wmt15" / "en-de"

    def lines(name: str) -> list[str]:
        (path,) = folder.glob(f"*{name}*")
        return path.read_text(encoding="utf-8").split("\n")[:-1]

    references = [[line] for line in lines("-ref.")]
    outputs = lines(".LIMSI-KIT-Joint."), lines(".uedin-syntax.")
    for metric, contradicts in ((BLEU(), True), (GRR(), False)):
        a, b = (corpus_stats(metric, output, references) for output in outputs)
        there = substitution_test(metric, a, b, alternative="better")
        back = substitution_test(metric, b, a, alternative="better")
        assert (max(there.p_value, back.p_value) < 0.0001) == contradicts
        assert (there.wins == back.losses) != contradicts


# all


@pytest.mark.parametrize("test", PAIRED)
@pytest.mark.parametrize("alternative", ["two-sided", "better", "worse"])
def test_a_system_against_itself(test, alternative) -> None:
    a, _ = two_systems(GRR())
    result = test(GRR(), a, a.copy(), alternative=alternative)
    assert (result.effect, result.p_value, result.alternative) == (0.0, 1.0, alternative)


@pytest.mark.parametrize("test", PAIRED)
def test_error_rates_mirror_recognition_rates(test) -> None:
    """WRR is 1 - WER, and its statistics are the same."""
    a, b = two_systems(WER())
    error, right = test(WER(), a, b), test(WRR(), a, b)
    assert error.effect == pytest.approx(-right.effect)
    assert error.p_value == right.p_value
    assert (error.wins, error.losses) == (right.wins, right.losses)
    if error.interval is not None:
        assert error.interval.low == pytest.approx(-right.interval.high)
    swapped = test(WER(), b, a)
    assert swapped.effect == pytest.approx(-error.effect)
    assert (swapped.wins, swapped.losses) == (error.losses, error.wins)


@pytest.mark.parametrize(
    ("test", "options"),
    [(paired_bootstrap, {"samples": 199}), (randomization, {"trials": 199}), (sign_test, {})],
)
def test_false_alarms_are_as_rare_as_promised(test, options) -> None:
    """Two systems that are alike differ significantly about once in twenty times, not more."""
    rng = np.random.default_rng(2024)
    experiments = 600
    alarms = 0
    for _ in range(experiments):
        words = rng.integers(5, 30, size=40).astype(float)
        errors = rng.binomial(words.astype(int), 0.3, size=(2, 40)).astype(float)
        rows = [np.column_stack((words - e, e, np.zeros(40), np.zeros(40), words)) for e in errors]
        alarms += test(WER(), *rows, **options).p_value <= 0.05
    deviation = math.sqrt(0.05 * 0.95 / experiments)
    assert 0.01 < alarms / experiments < 0.05 + 3 * deviation


def test_a_real_difference_is_found() -> None:
    a, b = two_systems(GRR(), count=150, noises=(0.1, 0.3))
    for test in PAIRED:
        result = test(GRR(), a, b)
        assert result.effect > 0
        assert result.p_value < 0.01
        assert test(GRR(), a, b, alternative="worse").p_value > 0.95


@pytest.mark.parametrize("test", PAIRED)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, b: (a, b[:-1]), "60 segments of one system, but 59 of the other"),
        (lambda a, b: (a[:1], b[:1]), "1 segments, expected 2 or more"),
        (lambda a, b: (a[0], b[0]), "statistics of shape"),
        (lambda a, b: (a[:, :2], b), "statistics of shape"),
        (lambda a, b: (a * np.nan, b), "not finite"),
        (lambda a, b: ("x", b), "statistics that are no numbers"),
    ],
)
def test_statistics_that_do_not_fit(test, change, message) -> None:
    with pytest.raises(OptionError, match=message):
        test(WER(), *change(*two_systems(WER())))


@pytest.mark.parametrize(
    ("test", "options", "message"),
    [
        (paired_bootstrap, {"samples": 0}, "samples=0"),
        (paired_bootstrap, {"level": 1.0}, "level=1.0"),
        (paired_bootstrap, {"alternative": "greater"}, "alternative='greater'"),
        (randomization, {"trials": -1}, "samples=-1"),
        (randomization, {"alternative": ""}, "alternative=''"),
        (sign_test, {"ties": "keep"}, "ties='keep'"),
        (substitution_test, {"alternative": "x"}, "alternative='x'"),
        (paired_bootstrap, {"samples": "many"}, "samples is the string 'many', expected a whole"),
        (paired_bootstrap, {"level": None}, "level is None, expected a number"),
        (paired_bootstrap, {"seed": -1}, "seed=-1, expected a whole number from 0"),
        (randomization, {"trials": 2.5}, "trials is a float, expected a whole number"),
        (randomization, {"seed": "x"}, "seed='x', expected a whole number"),
    ],
)
def test_options_outside_their_range(test, options, message) -> None:
    with pytest.raises(OptionError, match=message):
        test(WER(), *two_systems(WER()), **options)


def test_a_metric_that_gives_no_number() -> None:
    rows = np.column_stack((np.ones(5), [1.0, 0, 0, 0, 0]))

    class Undefined(MeanMetric):
        def score(self, stats: np.ndarray) -> float:
            return float(stats[0] / stats[1]) if stats[1] else math.nan

    with pytest.raises(OptionError, match="gives no number"):
        bootstrap(Undefined(), rows)


def test_results_are_frozen_and_printable() -> None:
    a, b = two_systems(WER())
    result = paired_bootstrap(WER(), a, b)
    with pytest.raises(FrozenInstanceError):
        result.effect = 1.0
    assert f"p = {result.p_value:.2g} (bootstrap of 1000, two-sided)" in str(result)
