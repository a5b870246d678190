"""Minimum-Bayes-risk decoding as a job over segments."""

from __future__ import annotations

import pickle

import pytest

from decoding.corpus.jobs import MBRJob
from decoding.corpus.runner import Segment
from decoding.extraction.oracle import oracle
from decoding.minimum_risk.mbr import mbr, mbr_kbest
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
    job = MBRJob(metrics, scale=2.0)
    (found,) = pickle.loads(pickle.dumps(job))([segment(space)])
    assert found.consensus[0].tokens == mbr(space, GRR(), scale=2.0).tokens
    assert found.one_best == ("a", "hat")
    references = ["the cat"]
    for place, metric in enumerate(metrics):
        judge = metric.against(references)
        assert found.stats[0][place].tolist() == judge.stats(found.consensus[0].tokens).tolist()
        assert found.one_best_stats[place].tolist() == judge.stats("a hat").tolist()
        if metric != TBLEU(order=1):
            expected = oracle(space, judge).stats
            assert found.oracle_stats[place].tolist() == expected.tolist()
    # under tBLEU a lattice cannot be searched
    assert found.oracle_stats[3] is None


def test_lists_ranks_and_no_references():
    nbest = nbest_of("a b", "a c", "a b c", id="n")
    (found,) = MBRJob((WER(),), k=2)([segment(nbest)])
    assert [each.tokens for each in found.consensus] == [
        each.tokens for each in mbr_kbest(nbest, WER(), k=2)
    ]
    assert (found.stats, found.one_best_stats, found.oracle_stats) == (None, None, None)
    assert found.arcs == 7


def test_no_oracles():
    nbest = nbest_of("a b", "a c").replaced(references=["a c"])
    (found,) = MBRJob((WER(),), oracles=False)([segment(nbest)])
    assert found.oracle_stats is None
    assert found.stats is not None


def test_methods_with_their_own_objective():
    space = Lattice.from_arcs(ARCS, finals=[2])
    (found,) = MBRJob((WER(),), method="linear")([segment(space)])
    assert found.consensus[0].method == "linear"


def test_evidence_and_systems_by_id():
    nbest, other = nbest_of("a b", "a c", id="n"), nbest_of("x", id="n")
    (found,) = MBRJob((WER(),), evidence={"n": other})([segment(nbest)])
    assert found.consensus[0].expected == 2.0
    job = MBRJob((WER(),), systems=({"n": other},), system_weights=[1, 99])
    (found,) = job([segment(nbest)])
    assert found.consensus[0].text == "x"
    for tables in ({"evidence": {}}, {"systems": ({},)}):
        with pytest.raises(OptionError, match="there is no segment 'n'"):
            MBRJob((WER(),), **tables)([segment(nbest)])
