"""The tally of a corpus: counts, statistics and scores of what was written."""

from __future__ import annotations

import numpy as np
import pytest

from decoding.cli.output.lines import Lines, Tally, sums_of
from decoding.corpus.outcomes import Done, Failure
from fstmetrics import CER, WER, corpus_score

METRICS = (WER(), CER())
PAIRS = [("a cat", "the cat"), ("the cat sat", "the cat sat"), ("on mat", "on the mat")]


def rows(hypothesis: str, reference: str) -> list[np.ndarray]:
    return [metric.stats(hypothesis, [reference]) for metric in METRICS]


def done(number: int, *kinds: list[np.ndarray | None] | None) -> Done[Lines]:
    sums = sums_of(METRICS, (number, True), *kinds)
    return Done(number, "f", number + 1, f"s{number}", Lines(f"line {number}\n", sums, "kernel"))


def tally() -> Tally:
    return Tally(METRICS, ("arcs", "exact"), ("chosen", "one_best"))


def test_scores_are_those_of_the_corpus() -> None:
    found = tally()
    for number, pair in enumerate(PAIRS):
        assert found.add(done(number, rows(*pair), rows("", pair[1]))) == b"line %d\n" % number
    assert found.add(Failure(3, "f", 4, "s3", "no path")) == b""
    summary = found.summary()
    assert (summary["segments"], summary["judged"], summary["failed"]) == (3, 3, 1)
    assert (summary["arcs"], summary["exact"], summary["engine"]) == (3, 3, "kernel")
    hypotheses, references = zip(*PAIRS, strict=True)
    for metric in METRICS:
        scores = summary["metrics"][str(metric)]
        against = [[reference] for reference in references]
        assert scores["chosen"] == pytest.approx(corpus_score(metric, hypotheses, against))
        assert scores["one_best"] == pytest.approx(corpus_score(metric, [""] * 3, against))


def test_a_kind_that_is_not_always_there_has_no_score() -> None:
    found = tally()
    first, second = (rows(*pair) for pair in PAIRS[:2])
    found.add(done(0, first, first))
    found.add(done(1, second, [second[0], None]))
    scores = found.summary()["metrics"]
    assert scores["cer"]["one_best"] is None
    assert scores["cer"]["chosen"] is not None
    assert scores["wer"]["one_best"] == scores["wer"]["chosen"]


def test_without_references_there_are_no_scores() -> None:
    found = tally()
    found.add(done(0, None, None))
    summary = found.summary()
    assert summary["judged"] == 0
    assert summary["metrics"]["wer"] == {"chosen": None, "one_best": None}


def test_a_tally_goes_on_where_another_was_stopped() -> None:
    outcomes = [done(number, rows(*pair), rows(*pair)) for number, pair in enumerate(PAIRS)]
    whole, one, other = tally(), tally(), tally()
    for outcome in outcomes:
        whole.add(outcome)
    one.start(None)
    one.add(outcomes[0])
    other.start(one.state())
    for outcome in outcomes[1:]:
        other.add(outcome)
    expected, found = whole.summary(), other.summary()
    del expected["seconds"], found["seconds"]
    assert found == expected
