"""Correlations, taus and kappas against definitions written out, and against scipy."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fstmetrics import GRR, WER, corpus_stats
from fstmetrics.statistics import correlate, correlate_systems, graded_kappa, kappa, wmt_tau
from fstmetrics.statistics.correlation import METHODS, grades, pair_counts
from lattices.errors import OptionError

RNG = np.random.default_rng(42)
HUMAN = np.round(RNG.normal(size=30), 1)
SCORES = np.round(HUMAN + RNG.normal(size=30), 1)
JUDGES = {
    "pearson": scipy_stats.pearsonr,
    "spearman": scipy_stats.spearmanr,
    "kendall": scipy_stats.kendalltau,
}


# coefficients


def test_coefficients_by_their_definitions() -> None:
    x, y = HUMAN.tolist(), SCORES.tolist()
    n = len(x)
    assert len(set(x)) < n  # ties are what makes tau-b differ from tau-a
    mx, my = sum(x) / n, sum(y) / n
    covariance = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    norm = math.sqrt(sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y))
    assert correlate(x, y).value == pytest.approx(covariance / norm)

    def rank(values: list[float]) -> list[float]:
        return [
            sum(other < value for other in values) + (values.count(value) + 1) / 2
            for value in values
        ]

    assert correlate(x, y, method="spearman").value == pytest.approx(
        correlate(rank(x), rank(y)).value
    )
    agree = tied_x = tied_y = 0
    for i, j in combinations(range(n), 2):
        dx, dy = x[i] - x[j], y[i] - y[j]
        agree += (dx * dy > 0) - (dx * dy < 0)
        tied_x += dx == 0
        tied_y += dy == 0
    pairs = n * (n - 1) / 2
    tau = agree / math.sqrt((pairs - tied_x) * (pairs - tied_y))
    assert correlate(x, y, method="kendall").value == pytest.approx(tau)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pairs_at_most", [0, 100])
def test_intervals_are_those_of_the_naive_loop(method, pairs_at_most, monkeypatch) -> None:
    monkeypatch.setattr("fstmetrics.statistics.correlation._ALL_PAIRS", pairs_at_most)
    rng = np.random.default_rng(9)
    values = []
    for _ in range(200):
        drawn = rng.integers(len(HUMAN), size=len(HUMAN))
        values.append(JUDGES[method](HUMAN[drawn], SCORES[drawn]).statistic)
    found = correlate(HUMAN, SCORES, method=method, samples=200, level=0.8, seed=9)
    judged = JUDGES[method](HUMAN, SCORES)
    assert (found.value, found.p_value) == pytest.approx((judged.statistic, judged.pvalue))
    assert found.interval.low == pytest.approx(np.percentile(values, 10))
    assert found.interval.high == pytest.approx(np.percentile(values, 90))
    assert (found.samples, found.points, found.method) == (200, 30, method)


def test_points_of_a_group_are_drawn_together() -> None:
    groups = np.repeat(np.arange(10), 3)[::-1]
    rng = np.random.default_rng(3)
    values = []
    for _ in range(100):
        drawn = [i for g in rng.integers(10, size=10) for i in range(30) if groups[i] == g]
        values.append(scipy_stats.pearsonr(HUMAN[drawn], SCORES[drawn]).statistic)
    blocks = []
    found = correlate(HUMAN, SCORES, groups=groups, samples=100, seed=3, on_drawn=blocks.append)
    assert sum(blocks) == 100
    assert found.interval.low == pytest.approx(np.percentile(values, 2.5))
    # the same point ten times over is no news
    copies = [np.repeat(column[:10], 10) for column in (HUMAN, SCORES)]
    by_group = correlate(*copies, groups=np.repeat(np.arange(10), 10), samples=500).interval
    alone = correlate(*copies, samples=500).interval
    assert by_group.high - by_group.low > 2 * (alone.high - alone.low)
    with pytest.raises(OptionError, match="groups of shape"):
        correlate(HUMAN, SCORES, groups=[1, 2], samples=10)


def test_resamples_that_do_not_vary_are_left_out() -> None:
    found = correlate([1, 2, 3], [1, 2, 4], samples=900)
    # all three draws are the same one time in nine
    assert 740 < found.samples < 860
    assert -1 <= found.interval.low <= found.interval.high <= 1


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_side_has_no_correlation(method) -> None:
    for human, metric, who in ((HUMAN, SCORES * 0 + 0.5, "metric"), (HUMAN * 0, SCORES, "people")):
        found = correlate(human, metric, method=method, samples=100)
        assert math.isnan(found.value)
        assert math.isnan(found.p_value)
        assert found.interval is None
        assert who in found.note
        assert str(found) == f"undefined ({found.note})"


@pytest.mark.parametrize(
    ("human", "metric", "options", "message"),
    [
        ([1, 2], [1, 2], {}, "2 points, expected 3 or more"),
        ([1, 2, 3], [1, 2], {}, "columns of shapes"),
        ([[1, 2, 3]], [[1, 2, 3]], {}, "columns of shapes"),
        ([1, 2, math.nan], [1, 2, 3], {}, "not finite"),
        ([1, 2, 3], [1, 2, math.inf], {}, "not finite"),
        ([1, 2, 3], [1, 2, 3], {"method": "tau"}, "method='tau'"),
        ([1, 2, 3], [1, 2, 3], {"samples": -1}, "samples=-1"),
        ([1, 2, 3], [1, 2, 3], {"samples": 5, "level": 0}, "level=0"),
    ],
)
def test_what_has_no_correlation(human, metric, options, message) -> None:
    with pytest.raises(OptionError, match=message):
        correlate(human, metric, **options)


# systems


def of_systems(metric):
    references = [["a b c d"], ["e f g"], ["h i j k l"]] * 4
    outputs = []
    for wrong in range(1, 6):
        words = (reference.split() for (reference,) in references)
        outputs.append(
            [
                " ".join("x" if (i + n) * 7 % 11 < wrong else w for i, w in enumerate(line))
                for n, line in enumerate(words)
            ]
        )
    return [corpus_stats(metric, output, references) for output in outputs]


@pytest.mark.parametrize("metric", [WER(), GRR()], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_systems_and_their_segments(metric, method) -> None:
    human = [0.8, 0.9, 0.3, 0.4, 0.1]
    stats = of_systems(metric)
    sign = 1 if metric.higher_is_better else -1
    scores = [sign * metric.score(matrix.sum(axis=0)) for matrix in stats]
    by_system = correlate_systems(human, metric, stats, method=method, samples=50, seed=2)
    assert by_system == correlate(human, scores, method=method, samples=50, seed=2)
    assert by_system.value > 0.5
    rng = np.random.default_rng(2)
    values = []
    for _ in range(50):
        drawn = rng.integers(12, size=12)
        resampled = [sign * metric.score(matrix[drawn].sum(axis=0)) for matrix in stats]
        values.append(JUDGES[method](human, resampled).statistic)
    found = correlate_systems(
        human, metric, stats, method=method, resample="segments", samples=50, seed=2
    )
    assert found.value == by_system.value
    assert found.interval.low == pytest.approx(np.percentile(values, 2.5))
    assert found.interval.high == pytest.approx(np.percentile(values, 97.5))
    assert correlate_systems(human, metric, stats, method=method, samples=0).interval is None


def test_systems_that_do_not_fit() -> None:
    stats = of_systems(WER())
    for human, matrices, options, message in (
        ([1, 2, 3, 4, 5], [*stats[:4], stats[4][:-1]], {}, "systems of 11 to 12 segments"),
        ([1, 2, 3, 4], stats, {}, "columns of shapes"),
        ([1, 2], stats[:2], {}, "2 points"),
        ([], [], {}, "0 points"),
        ([1, 2, 3, 4, 5], stats, {"resample": "words"}, "resample='words'"),
    ):
        with pytest.raises(OptionError, match=message):
            correlate_systems(human, WER(), matrices, **options)


# taus


@pytest.mark.parametrize("gap", [0.0, 0.5])
def test_taus_of_wmt_by_their_tables(gap) -> None:
    """The coefficients of Macháček and Bojar 2014: X is left out of sums above and below."""
    tables = {
        "wmt12": {"<": {"<": 1, "=": -1, ">": -1}, ">": {"<": -1, "=": -1, ">": 1}},
        "wmt13": {"<": {"<": 1, "=": "X", ">": -1}, ">": {"<": -1, "=": "X", ">": 1}},
        "wmt14": {"<": {"<": 1, "=": 0, ">": -1}, ">": {"<": -1, "=": 0, ">": 1}},
    }
    rng = np.random.default_rng(1)
    human = np.round(rng.normal(size=(5, 40)), 1)
    metric = np.round(human + rng.normal(size=(5, 40)))
    human[1, 3] = human[4, 0] = metric[2, 7] = np.nan

    def sign(difference: float, tie: float) -> str:
        return "=" if difference == 0 or abs(difference) < tie else "<>"[int(difference > 0)]

    for variant, table in tables.items():
        above = below = 0
        for segment in range(40):
            for one, other in combinations(range(5), 2):
                said = human[one, segment] - human[other, segment]
                scored = metric[one, segment] - metric[other, segment]
                if math.isnan(said) or math.isnan(scored) or sign(said, gap) == "=":
                    continue
                coefficient = table[sign(said, gap)][sign(scored, 0.0)]
                if coefficient != "X":
                    above += coefficient
                    below += 1
        found = wmt_tau(human, metric, variant=variant, gap=gap)
        assert found.value == pytest.approx(above / below)
        assert min(found.concordant, found.discordant, found.metric_ties, found.human_ties) > 0


def test_the_interval_of_a_tau_is_from_segments() -> None:
    rng = np.random.default_rng(1)
    human = rng.normal(size=(4, 25))
    metric = np.round(human + rng.normal(size=(4, 25)))
    draws = np.random.default_rng(8)
    values = []
    for _ in range(60):
        drawn = draws.integers(25, size=25)
        values.append(wmt_tau(human[:, drawn], metric[:, drawn]).value)
    found = wmt_tau(human, metric, samples=60, seed=8)
    assert found.interval.low == pytest.approx(np.percentile(values, 2.5))
    assert found.interval.high == pytest.approx(np.percentile(values, 97.5))
    assert str(found) == f"{found.value:.4f} {found.interval}"


def test_taus_without_pairs() -> None:
    found = wmt_tau([[1.0, 2.0]], [[1.0, 2.0]], samples=10)
    assert math.isnan(found.value)
    assert (found.interval, found.samples) == (None, 0)
    # people see no difference
    assert wmt_tau([[1.0], [1.0]], [[1.0], [2.0]]).human_ties == 1
    for human, metric, options, message in (
        ([[1.0]], [[1.0, 2.0]], {}, "matrices of shapes"),
        ([1.0], [1.0], {}, "matrices of shapes"),
        ([[1.0]], [[1.0]], {"variant": "wmt99"}, "variant='wmt99'"),
        ([[1.0]], [[1.0]], {"gap": -1}, "gap=-1"),
    ):
        with pytest.raises(OptionError, match=message):
            wmt_tau(human, metric, **options)
    assert pair_counts(np.zeros((0, 3)), np.zeros((0, 3))).tolist() == [[0, 0, 0, 0]] * 3


# kappa


def test_grades_have_their_lower_ends() -> None:
    """Denoual and Lepage 2005: [0, 0.1[ is grade 0, [0.9, 1] is grade 9, 0.435 is grade 4."""
    assert grades([0.435, 0.05, 0.95, 1.0]).tolist() == [4, 0, 9, 9]
    # every end as it is written, whatever its nearest binary number
    assert grades([float(f"0.{i}") for i in range(10)]).tolist() == list(range(10))
    assert grades([-1.0, 0.0, 1.0], k=2, low=-1, high=1).tolist() == [0, 1, 1]
    for scores, options, message in (
        ([1.1], {}, "a score of 1.1"),
        ([math.nan], {}, "a score of nan"),
        ([0.5], {"k": 1}, "k=1"),
        ([0.5], {"low": 1, "high": 1}, "the lower one first"),
    ):
        with pytest.raises(OptionError, match=message):
            grades(scores, **options)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_by_its_definition(weights) -> None:
    rng = np.random.default_rng(4)
    a = rng.integers(5, size=200).tolist()
    b = [min(4, grade + int(rng.integers(3))) for grade in a]
    distance = {
        "none": lambda i, j: i != j,
        "linear": lambda i, j: abs(i - j),
        "quadratic": lambda i, j: (i - j) ** 2,
    }[weights]
    observed = sum(distance(i, j) for i, j in zip(a, b, strict=True)) / 200
    expected = sum(distance(i, j) for i in a for j in b) / 200**2
    assert kappa(a, b, weights=weights) == pytest.approx(1 - observed / expected)


def test_kappa_of_known_tables() -> None:
    # 50 applications, 20 accepted and 15 refused by both: (0.7 - 0.5) / (1 - 0.5)
    a = [0] * 25 + [1] * 25
    b = [0] * 20 + [1] * 5 + [0] * 10 + [1] * 15
    assert kappa(a, b) == pytest.approx(0.4)
    assert kappa([0, 1, 2], [0, 1, 2], weights="linear") == 1.0
    assert kappa([0, 1], [1, 0]) == -1.0
    assert math.isnan(kappa([3, 3], [3, 3]))
    assert kappa([3, 3], [2, 2]) == 0.0


def test_graded_kappa() -> None:
    rng = np.random.default_rng(6)
    one = rng.random(300)
    other = np.clip(one + rng.normal(0, 0.1, 300), 0, 1)
    found = graded_kappa(one, other, weights="linear", samples=4000, seed=1)
    assert found.value == kappa(grades(one), grades(other), weights="linear")
    values = []
    for _ in range(1000):
        drawn = rng.integers(300, size=300)
        values.append(kappa(grades(one[drawn]), grades(other[drawn]), weights="linear"))
    assert found.interval.low == pytest.approx(np.percentile(values, 2.5), abs=0.01)
    assert found.interval.high == pytest.approx(np.percentile(values, 97.5), abs=0.01)
    # on scales of their own, shifting and stretching one changes nothing
    own = graded_kappa(one, other, low=None, high=None)
    assert own.value == graded_kappa(one, 8 * other - 4, low=None, high=None).value
    flat = graded_kappa(one * 0, one * 0, low=None, high=None)
    assert math.isnan(flat.value)
    assert flat.note


@pytest.mark.parametrize(
    ("one", "other", "options", "message"),
    [
        ([0, 1], [0], {}, "columns of shapes"),
        ([], [], {}, "columns of shapes"),
        ([0.5, 1.0], [0, 1], {}, "not whole numbers"),
        ([-1, 1], [0, 1], {}, "not whole numbers"),
        ([0, 1], [0, 1], {"weights": "cubic"}, "weights='cubic'"),
    ],
)
def test_what_has_no_kappa(one, other, options, message) -> None:
    with pytest.raises(OptionError, match=message):
        kappa(one, other, **options)


def test_what_has_no_grades() -> None:
    for one in ([], [math.nan], [[0.5]]):
        with pytest.raises(OptionError, match="finite scores"):
            graded_kappa(one, one)
