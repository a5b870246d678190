from __future__ import annotations

import pytest

import fstmetrics.ngram.tbleu
from fstmetrics import TBLEU, WER, AffixSimilarity, corpus_score
from fstmetrics.statistics import threshold_sweep
from lattices import OptionError

HYPOTHESES = ["we walked home", "they talk", ""]
REFERENCES = [["we walks home", "we run home"], ["they talked"], ["so"]]


@pytest.mark.parametrize(
    "factory",
    [
        lambda epsilon: TBLEU(order=2, epsilon=epsilon),
        lambda epsilon: WER(similarity=AffixSimilarity(epsilon=epsilon)),
    ],
)
def test_each_point_is_the_corpus_under_its_value(factory):
    values = [0.0, 0.3, 0.5, 1.0]
    points = threshold_sweep(factory, values, HYPOTHESES, REFERENCES)
    assert [point.value for point in points] == values
    for point in points:
        assert point.metric == factory(point.value)
        assert point.score == corpus_score(point.metric, HYPOTHESES, REFERENCES)
        assert point.stats.shape == (3, len(point.metric.stat_names))
    assert len({point.score for point in points}) > 1


def test_words_are_matched_once_for_all_values(monkeypatch):
    calls = []
    plain = fstmetrics.ngram.tbleu.affix_distances

    def count(*words, limit=None):
        # with a limit it only asks which words are near at all, for each value
        if limit is not None:
            return plain(*words, limit=limit)
        calls.append(tuple(map(tuple, words)))
        return plain(*words)

    monkeypatch.setattr(fstmetrics.ngram.tbleu, "affix_distances", count)
    fstmetrics.ngram.tbleu.matching.cache_clear()
    values = [0.1 * step for step in range(1, 11)]
    threshold_sweep(lambda epsilon: TBLEU(epsilon=epsilon), values, HYPOTHESES, REFERENCES)
    assert len(calls) == len({*calls}) > 1


def test_bad_sweeps():
    def factory(epsilon):
        return TBLEU(epsilon=epsilon)

    with pytest.raises(OptionError, match="at least one value"):
        threshold_sweep(factory, [], HYPOTHESES, REFERENCES)
    with pytest.raises(OptionError, match="3 hypotheses, but references for 1"):
        threshold_sweep(factory, [0.1], HYPOTHESES, REFERENCES[:1])
    with pytest.raises(OptionError, match="a list, not one string"):
        threshold_sweep(factory, [0.1], ["a"], ["a"])
    assert threshold_sweep(factory, [0.1], [], [])[0].score == 0.0
