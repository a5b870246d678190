"""Tables of results, and their sums over a corpus: counts, statistics and scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.corpus.outcomes import Done, Failure
from decoding.corpus.table import Results, SumsLayout, Table, Totals
from decoding.corpus.writers import WRITERS, json_lines, rows
from fstmetrics import CER, WER, corpus_score

METRICS = (WER(), CER())
PAIRS = [("a cat", "the cat"), ("the cat sat", "the cat sat"), ("on mat", "on the mat")]
LAYOUT = SumsLayout(METRICS, ("arcs", "exact"), ("chosen", "one_best"))


def stats(hypothesis: str, reference: str) -> list[np.ndarray]:
    return [metric.stats(hypothesis, [reference]) for metric in METRICS]


def done(number: int, *kinds: Sequence[np.ndarray | None] | None) -> Done[Results]:
    each = [None if kind is None else [[row] for row in kind] for kind in kinds]
    sums = LAYOUT.sums(1, (number, True), *each)
    table = Table([f"s{number}"], {}, about={"engine": ["kernel"]}, sums=sums)
    return Done(number, "f", number + 1, f"s{number}", table[0])


def test_scores_are_those_of_the_corpus() -> None:
    found = Totals(LAYOUT)
    for number, pair in enumerate(PAIRS):
        found.add(done(number, stats(*pair), stats("", pair[1])))
    found.add(Failure(3, "f", 4, "s3", "no path"))
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
    found = Totals(LAYOUT)
    first, second = (stats(*pair) for pair in PAIRS[:2])
    found.add(done(0, first, first))
    found.add(done(1, second, [second[0], None]))
    scores = found.summary()["metrics"]
    assert scores["cer"]["one_best"] is None
    assert scores["cer"]["chosen"] is not None
    assert scores["wer"]["one_best"] == scores["wer"]["chosen"]


def test_without_references_there_are_no_scores() -> None:
    found = Totals(LAYOUT)
    found.add(done(0, None, None))
    summary = found.summary()
    assert summary["judged"] == 0
    assert summary["metrics"]["wer"] == {"chosen": None, "one_best": None}


def test_totals_go_on_where_others_were_stopped() -> None:
    outcomes = [done(number, stats(*pair), stats(*pair)) for number, pair in enumerate(PAIRS)]
    whole, one, other = Totals(LAYOUT), Totals(LAYOUT), Totals(LAYOUT)
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


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5))
def test_segments_have_their_results(sizes: list[int]) -> None:
    count = sum(sizes)
    made = []

    def texts() -> list[str]:
        made.append(1)
        return [f"w{number}" for number in range(count)]

    bounds = [None if number % 2 else 0.5 for number in range(count)]
    table = Table(
        [f"s{place}" for place in range(len(sizes))],
        {"text": texts, "score": [*range(count)], "bound": bounds},
        sizes=sizes,
        optional=["bound"],
        about={"arcs": [*range(len(sizes))]},
    )
    number = 0
    for place, (results, size) in enumerate(zip(table, sizes, strict=True)):
        assert (len(results), results["arcs"], results["score"]) == (size, place, number)
        for fields in results.fields():
            expected = {"id": f"s{place}", "text": f"w{number}", "score": number}
            assert fields == (expected if number % 2 else {**expected, "bound": 0.5})
            number += 1
    assert len(made) == 1
    assert (
        [len(lines) for lines in json_lines(table)] == sizes == [len(each) for each in rows(table)]
    )
    first, *_ = WRITERS.get("tsv")(table)[-1]
    assert first == f"s{len(sizes) - 1}\t{count - sizes[-1]}\tw{count - sizes[-1]}\n"
