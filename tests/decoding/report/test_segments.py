"""What a page has of each segment."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings

from decoding import mbr, oracle, oracle_at
from decoding.corpus.outcomes import Segment
from decoding.extraction.search import Search
from decoding.report.segments import ReportTask, SegmentReport, word_aligner
from fstmetrics import BLEU, CER, GRR, WER, Metric, Normalised, parse_metric
from lattices import Forest, Hypothesis, Lattice, NBest, Space
from lattices.algorithms import best_words
from tests.strategies import sentences, small_lattices


def report(
    space: Space, metrics: tuple[Metric, ...] = (WER(), GRR()), **options: Any
) -> SegmentReport:
    (found,) = ReportTask(metrics, **options).process([Segment(0, "file", 1, space)])
    return found


def hypothesis_of(sentence: dict[str, Any]) -> list[str]:
    return [edit[1] for edit in sentence["edits"] if edit[0] != "d"]


def reference_of(sentence: dict[str, Any]) -> list[str]:
    return [edit[-1] for edit in sentence["edits"] if edit[0] != "i"]


@settings(max_examples=60)
@given(small_lattices(), sentences())
def test_sentences_statistics_and_errors_belong_together(
    lattice: Lattice, reference: list[str]
) -> None:
    text = " ".join(reference)
    found = report(lattice.replaced(references=[text]))
    detail = json.loads(found.detail)
    chosen = {each["kind"]: each for each in detail["sentences"] if each["kind"]}
    words = {
        "one_best": best_words(lattice),
        "mbr": mbr(lattice, WER()).tokens,
        "oracle": oracle(lattice, WER().against([text])).tokens,
    }
    assert words.keys() == chosen.keys() == found.stats.keys() == found.counts.keys()
    for kind, tokens in words.items():
        assert hypothesis_of(chosen[kind]) == list(tokens)
        assert reference_of(chosen[kind]) == text.split()
        counts = found.counts[kind]
        own = WER().against([text]).score(tokens)
        errors = counts.substitutions + counts.insertions + counts.deletions
        assert errors == len(found.errors[kind])
        if reference:
            assert errors / counts.words == pytest.approx(own)
        assert chosen[kind]["scores"][0] == pytest.approx(own, abs=1e-6)
    assert len(found.confidences) == len(found.right) == len(words["mbr"])
    assert found.right == tuple(edit[0] == "=" for edit in chosen["mbr"]["edits"] if edit[0] != "d")
    assert pickle.loads(pickle.dumps(found)) == found


def test_oracles_are_those_of_each_metric() -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "a"), (1, 2, "b"), (2, 3, "z"), (3, 4, "z"), (0, 5, "a"), (5, 6, "z"), (6, 7, "c"),
         (7, 4, "d")],
        [4], references=["a b c d"],
    )  # fmt: skip
    found = report(lattice)
    rows = found.stats["oracle"]
    for metric, row in zip((WER(), GRR()), rows, strict=True):
        expected = oracle(lattice, metric.against(["a b c d"]))
        assert list(row or ()) == expected.stats.tolist()


def test_a_metric_that_cannot_search_has_no_oracle_of_a_lattice() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], [1], references=["b"])
    metric = parse_metric("tbleu")
    found = report(lattice, (metric, WER()))
    assert found.stats["oracle"][0] is None
    assert found.stats["oracle"][1] is not None
    assert found.curves == ()
    listed = NBest.from_hypotheses([Hypothesis(("a",)), Hypothesis(("b",))], references=["b"])
    assert report(listed, (metric, WER())).stats["oracle"][0] is not None


def test_lists_have_sentences_and_lattices_a_picture() -> None:
    listed = NBest.from_hypotheses(
        [Hypothesis(("a",), -1.0), Hypothesis(("b",), -2.0)], references=["b"]
    )
    detail = json.loads(report(listed).detail)
    assert [row[0] for row in detail["list"]["rows"]] == ["a", "b"]
    assert "lattice" not in detail
    forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -2.0)], references=["b"])
    assert [row[0] for row in json.loads(report(forest).detail)["list"]["rows"]] == ["a", "b"]
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], [1], references=["b"])
    assert len(json.loads(report(lattice).detail)["lattice"]["arcs"]) == 2


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_curve_of_a_list_goes_on_beyond_its_end(size: int) -> None:
    words = ["x y", "a y", "a b", "c", "d", "e", "f"][:size]
    listed = NBest.from_hypotheses(
        [Hypothesis(tuple(text.split()), -n) for n, text in enumerate(words)], references=["a b"]
    )
    sizes = (1, 2, 5, 10, 20)
    (found,) = report(listed, at=sizes).curves
    expected = oracle_at(listed, WER().against(["a b"]), sizes)
    assert found.sizes == tuple(point.sentences for point in expected)
    assert [list(row[0] or ()) for row in found.stats] == [
        point.oracle.stats.tolist() for point in expected
    ]


def test_alternatives_in_a_reference() -> None:
    choice = Lattice.from_arcs([(0, 1, "um"), (0, 1, "uh"), (1, 2, "yes")], [2])
    lattice = Lattice.from_arcs([(0, 1, "uh"), (1, 2, "yes")], [2], references=[choice])
    found = report(lattice)
    assert found.reference == "uh yes"
    assert found.counts["one_best"].words == 2


def test_normalised_words_that_are_others_have_no_confidence() -> None:
    lattice = Lattice.from_arcs([(0, 1, "A"), (1, 2, "!"), (2, 3, "B")], [3], references=["a b"])
    plain = report(lattice, (Normalised(WER(), "lower"),))
    assert plain.right == (True, False, True)
    assert report(lattice, (Normalised(WER(), "lower+punctuation"),)).confidences == ()


def test_a_network_that_cannot_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The k best of a forest that is too large as a lattice are still compared."""
    monkeypatch.setattr("decoding.minimum_risk.edit.FOREST_STATES", 2)
    edges: list[tuple[int, list[int], list[Any], float]]
    edges = [(0, [], ["a"], 0.0), (0, [], ["b"], -1.0), (1, [0, 0], [0, "x", 1], 0.0)]
    forest = Forest.from_edges(edges, references=["a x a"])
    found = report(forest, (WER(),), at=(1, 2))
    assert "no confusion network" in json.loads(found.detail)["trouble"]
    assert found.confidences == ()


def test_which_metric_aligns() -> None:
    assert word_aligner([BLEU(), CER(), GRR(n=2), WER()]) == GRR(n=2)
    assert word_aligner([CER()]) == WER()
    lower = Normalised(CER(), "lower")
    assert word_aligner([lower]) == Normalised(WER(), "lower")


def test_an_oracle_that_is_not_proven_says_so() -> None:
    arcs = [(n, n + 1, word, -0.1 * place) for n in range(6) for place, word in enumerate("abc")]
    lattice = Lattice.from_arcs(arcs, [6], references=["c b a c b a"])
    found = report(lattice, (BLEU(smooth="add-k"),), search=Search(budget=1))
    labels = [each["label"] for each in json.loads(found.detail)["sentences"]]
    assert labels == ["1-best", "MBR", "oracle (not proven)"]
    assert not found.exact
