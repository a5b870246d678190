"""Minimum-Bayes-risk decoding as a task over segments."""

from __future__ import annotations

import pickle

import pytest

from decoding.corpus.outcomes import Segment
from decoding.extraction.oracle_search import oracle
from decoding.minimum_risk.decisions import mbr, mbr_kbest
from decoding.tasks.mbr import MBRTask
from fstmetrics import BLEU, GRR, TBLEU, WER
from lattices import Forest, Lattice
from lattices.errors import OptionError
from tests.decoding.minimum_risk.lists import nbest_of

ARCS = [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "hat", -0.2), (1, 2, "cat", -0.7)]


def segment(space, position=0):
    return Segment(position, "", 0, space)


@pytest.mark.parametrize("forest", [False, True])
def test_one_best_mbr_and_oracle(forest):
    space = Lattice.from_arcs(ARCS, finals=[2], references=["the cat"], id="x")
    space = Forest.from_lattice(space) if forest else space
    metrics = (GRR(), WER(), BLEU(order=1), TBLEU(order=1))
    task = MBRTask(metrics, scale=2.0)
    (found,) = pickle.loads(pickle.dumps(task)).process([segment(space)])
    chosen = found["words"]
    assert chosen == mbr(space, GRR(), scale=2.0).tokens
    assert found["one_best"] == ("a", "hat")
    _, kinds = task.layout.split(found.sums)
    references = ["the cat"]
    for place, metric in enumerate(metrics):
        judge = metric.against(references)
        assert kinds["mbr"][place].stats.tolist() == judge.stats(chosen).tolist()
        assert kinds["one_best"][place].stats.tolist() == judge.stats("a hat").tolist()
        if metric != TBLEU(order=1):
            expected = oracle(space, judge).stats
            assert kinds["own_oracle"][place].stats.tolist() == expected.tolist()
    # under tBLEU a lattice cannot be searched
    assert kinds["own_oracle"][3][0] == 0


def test_lists_ranks_and_no_references():
    nbest = nbest_of("a b", "a c", "a b c", id="n")
    task = MBRTask((WER(),), k=2)
    (found,) = task.process([segment(nbest)])
    assert [each["words"] for each in found.fields()] == [
        each.tokens for each in mbr_kbest(nbest, WER(), k=2)
    ]
    counts, kinds = task.layout.split(found.sums)
    assert [each.segments for rows in kinds.values() for each in rows] == [0, 0, 0]
    assert "scores" not in found.fields()[0]
    assert counts["arcs"] == 7


def test_no_oracles():
    nbest = nbest_of("a b", "a c").replaced(references=["a c"])
    task = MBRTask((WER(),), oracles=False)
    (found,) = task.process([segment(nbest)])
    _, kinds = task.layout.split(found.sums)
    assert {kind: only.segments for kind, (only,) in kinds.items()} == {
        "mbr": 1, "one_best": 1, "own_oracle": 0
    }  # fmt: skip


def test_methods_with_their_own_objective():
    space = Lattice.from_arcs(ARCS, finals=[2])
    (found,) = MBRTask((WER(),), method="linear").process([segment(space)])
    assert found["method"] == "linear"


def test_evidence_and_systems_by_id():
    nbest, other = nbest_of("a b", "a c", id="n"), nbest_of("x", id="n")
    (found,) = MBRTask((WER(),), evidence={"n": other}).process([segment(nbest)])
    assert found["expected"] == 2.0
    task = MBRTask((WER(),), systems=({"n": other},), system_weights=[1, 99])
    (found,) = task.process([segment(nbest)])
    assert found["text"] == "x"
    for tables in ({"evidence": {}}, {"systems": ({},)}):
        with pytest.raises(OptionError, match="there is no segment 'n'"):
            MBRTask((WER(),), **tables).process([segment(nbest)])
