"""Human scores, and the correlations of metrics with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fstmetrics import GRR, WER, corpus_score
from fstmetrics.statistics.human import correlate_human, match_systems, read_human
from fstmetrics.statistics.systems import Scorer, read_complete
from lattices.errors import FormatError
from lattices.formats.references import read_references
from tests.fstmetrics.statistics.test_systems import REFS, lines

OUTPUTS = {
    "good": ["the cat sat", "on the mat", "all day"],
    "fair": ["the hat sat", "on mat", "all the day long"],
    "bad": ["hat", "in", "no no no"],
}
METRICS = (WER(), GRR(n=2))


@pytest.fixture
def scored(tmp_path: Path):
    references = read_references([lines(tmp_path / "refs", *REFS)], format="plain")
    scorer = Scorer(METRICS, references)
    paths = {name: lines(tmp_path / f"{name}.txt", *texts) for name, texts in OUTPUTS.items()}
    return {name: read_complete(path, None, scorer) for name, path in paths.items()}, references


def test_systems_are_correlated_by_quality(scored, tmp_path: Path) -> None:
    systems, references = scored
    human = read_human(
        lines(tmp_path / "human", "good 0.9", "fair 0.7", "bad 0.1", "other 3"), one_system=False
    )
    assert set(match_systems(human, [system.name for system in systems.values()])) == set(systems)
    found = correlate_human(human, systems, references, samples=10)
    assert (found.level, len(found.points), found.notes()) == ("system", 3, [])
    for metric, one in zip(METRICS, found.found, strict=True):
        scores = [corpus_score(metric, texts, [[r] for r in REFS]) for texts in OUTPUTS.values()]
        assert one.scores == pytest.approx(scores)
        sign = 1 if metric.higher_is_better else -1
        expected = stats.pearsonr([0.9, 0.7, 0.1], sign * np.array(scores)).statistic
        assert one.coefficients[0].value == pytest.approx(expected)
        assert one.coefficients[0].interval is not None


def test_segments_have_taus_and_kappa_too(scored, tmp_path: Path) -> None:
    systems, references = scored
    rows = [f"{name} {n + 1} {len(name) + n}" for name in OUTPUTS for n in range(3)]
    human = read_human(lines(tmp_path / "human", *rows), one_system=False)
    found = correlate_human(human, systems, references, samples=10)
    assert found.level == "segment"
    assert found.points[4] == (systems["fair"].name, "2")
    methods = [each.method for each in found.found[0].coefficients]
    assert methods == ["pearson", "spearman", "kendall", "wmt14", "acc_eq", "spa", "kappa"]


def test_a_segment_without_output_is_named(scored, tmp_path: Path) -> None:
    systems, references = scored
    path = lines(tmp_path / "human", "good 1 0.5", "good 9 0.5")
    human = read_human(path, one_system=False)
    with pytest.raises(FormatError, match="human:2: no segment '9' in "):
        correlate_human(human, systems, references)
