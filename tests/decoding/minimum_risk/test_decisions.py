"""The one function for all methods."""

from __future__ import annotations

import dataclasses
import inspect
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lattices
from decoding import EditDistance, FastConsensus, Linear, Pairwise, mbr, mbr_kbest
from decoding.minimum_risk.decisions import METHODS, method_with
from decoding.minimum_risk.evidence import Evidence, evidence_of
from decoding.minimum_risk.method import MBRProblem, Method
from fstmetrics import BLEU, CER, GRR, TBLEU, WER, WRR
from lattices import Forest, Hypothesis, Lattice, NBest
from lattices.algorithms import k_best
from lattices.errors import OptionError, SpaceError, UnknownNameError
from tests.decoding.minimum_risk.lists import nbest_of, small_lists
from tests.strategies import small_forests, small_lattices

METRICS = [WER(), WRR(), GRR(), BLEU(smooth="add-k"), TBLEU(smooth="add-k")]


def ranking(candidates, evidence, metric):
    """Return sentences best first, by a double loop; ``candidates`` are ``(words, score)``."""
    best: dict[tuple[str, ...], float] = {}
    for tokens, score in candidates:
        best[tokens] = max(score, best.get(tokens, score))
    weighted = [
        (evidence.nbest.tokens(entry), weight) for entry, weight in enumerate(evidence.weight)
    ]
    sign = -1.0 if metric.higher_is_better else 1.0
    scored = []
    for tokens, score in best.items():
        mean = sum(weight * metric.against([each]).score(tokens) for each, weight in weighted)
        scored.append((round(sign * mean, 11), -score, tokens, float(mean)))
    return sorted(scored)


def check(found, expected, metric):
    """Of equal expectations and model scores any sentence may come first."""
    row_of = {row[2]: row for row in expected}
    assert len({each.tokens for each in found}) == len(found)
    assert [row_of[each.tokens][:2] for each in found] == [
        row[:2] for row in expected[: len(found)]
    ]
    assert [each.expected for each in found] == pytest.approx(
        [row[3] for row in expected[: len(found)]], abs=1e-12
    )


@pytest.mark.parametrize("metric", METRICS, ids=str)
@settings(max_examples=20)
@given(nbest=small_lists(), scale=st.sampled_from([0.0, 1.0, 2.0]))
def test_lists(metric, nbest, scale):
    expected = ranking(
        [(each.tokens, each.score) for each in nbest], evidence_of(nbest, scale=scale), metric
    )
    check(mbr_kbest(nbest, metric, scale=scale, k=3), expected, metric)
    best = mbr(nbest, metric, scale=scale)
    check([best], expected, metric)
    assert best.method == "pairwise"
    assert best.exact
    assert best.candidates == len(expected)
    entry = nbest[best.hypothesis.index]
    assert (entry.tokens, entry.score) == (best.tokens, best.hypothesis.score)


@pytest.mark.parametrize("metric", [WER(), BLEU(smooth="add-k")], ids=str)
@settings(max_examples=20)
@given(lattice=small_lattices())
def test_lattices_by_their_lists(metric, lattice):
    every = k_best(lattice, 1000, distinct=True)
    expected = ranking(
        [(each.tokens, each.score) for each in every], evidence_of(lattice, k=1000), metric
    )
    found = mbr(lattice, metric, method=Pairwise(candidates=1000, evidence_size=1000))
    check([found], expected, metric)
    assert lattice.hypothesis(found.hypothesis.arcs).tokens == found.tokens


@settings(max_examples=20)
@given(forest=small_forests())
def test_forests_by_their_lists(forest):
    every = k_best(forest, 1000, distinct=True)
    expected = ranking(
        [(each.tokens, each.score) for each in every], evidence_of(forest, k=1000), GRR()
    )
    found = mbr(forest, GRR(), method=Pairwise(candidates=1000, evidence_size=1000))
    check([found], expected, GRR())
    assert forest.hypothesis(found.hypothesis.arcs).tokens == found.tokens


@settings(max_examples=20)
@given(small_lists(max_size=4), small_lattices(), st.floats(0.1, 0.9))
def test_several_systems(nbest, lattice, share):
    spaces, weights = [nbest, lattice], [share, 1.0 - share]
    evidence = evidence_of(spaces, system_weights=weights)
    # the first system that has a sentence gives it its score
    candidates = {each.tokens: each.score for each in k_best(lattice, 100, distinct=True)}
    own: dict[tuple[str, ...], float] = {}
    for each in nbest:
        own[each.tokens] = max(each.score, own.get(each.tokens, each.score))
    expected = ranking([*(candidates | own).items()], evidence, WER())
    found = mbr(spaces, WER(), system_weights=weights, method="pairwise")
    check([found], expected, WER())


@given(small_lists(), small_lists())
@settings(max_examples=20)
def test_other_evidence_and_other_candidates(one, other):
    expected = ranking([(each.tokens, each.score) for each in one], evidence_of(other), WRR())
    check([mbr(one, WRR(), evidence=other)], expected, WRR())
    check([mbr(one, WRR(), evidence=evidence_of(other))], expected, WRR())
    check([mbr(other, WRR(), method=Pairwise(candidates=one))], expected, WRR())


def test_few_candidates():
    nbest = nbest_of("a b c", "a b d", "x y z", scores=[-2.0, -2.5, -1.0])
    found = mbr(nbest, WER(), method=Pairwise(candidates=1))
    assert (found.text, found.candidates, found.evidence) == ("x y z", 1, 3)
    assert mbr(nbest, WER(), scale=0.0).text == "a b c"


def test_samples():
    lattice = Lattice.from_arcs([(0, 1, "a", 0.0), (0, 1, "b", -0.5)], finals=[1])
    found = mbr(lattice, WER(), method=Pairwise(samples=100, seed=4))
    assert found.text == "a"
    assert found.expected == mbr(lattice, WER(), method=Pairwise(samples=100, seed=4)).expected
    assert 0.2 < found.expected < 0.6


def test_aggregated_evidence():
    nbest = nbest_of("a b c d", "a b c e", "f", scores=[0.0, 0.0, 0.5])
    found = mbr(nbest, BLEU(order=2), method=Pairwise(aggregate=True))
    assert (found.text, found.method) == ("a b c d", "aggregate")
    assert [
        each.text for each in mbr_kbest(nbest, BLEU(order=2), k=5, method=Pairwise(aggregate=True))
    ][-1] == "f"


def test_confidence():
    texts = [" ".join(f"{place:06b}") for place in range(64)]
    nbest = nbest_of(*texts, scores=-0.2 * np.arange(64))
    found = mbr(nbest, WER(), method=Pairwise(confidence=0.95))
    assert found.tokens == mbr(nbest, WER()).tokens
    assert not found.exact
    assert found.candidates == 64


def test_empty_sentences_and_single_ones():
    assert mbr_kbest(nbest_of("", "a"), WER(), k=2)[0].tokens in {(), ("a",)}
    one = mbr(nbest_of("a b"), BLEU())
    assert (one.text, one.candidates, one.evidence) == ("a b", 1, 1)
    empty = mbr(Lattice.from_arcs([(0, 1, "")], finals=[1]), GRR())
    assert (empty.tokens, empty.expected) == ((), 1.0)


def test_the_choice_of_a_method():
    lattice = Lattice.from_arcs([(0, 1, "a", 0.0), (0, 1, "b", -0.5)], finals=[1])
    assert mbr(lattice, WER()).method == "edit"
    assert mbr([lattice, lattice], WRR(), system_weights=[1, 2]).method == "edit"
    for metric in (CER(), GRR(), BLEU()):
        assert mbr(lattice, metric).method == "pairwise"
    assert mbr(lattice, WER(), evidence=lattice).method == "pairwise"
    assert mbr_kbest(lattice, WER(), k=1)[0].method == "pairwise"
    assert mbr(Forest.from_lattice(lattice), WER()).method == "pairwise"
    assert mbr(nbest_of("a"), WER()).method == "pairwise"


# rover takes what several systems said, a sentence each: see test_rover
@pytest.mark.parametrize("method", [name for name in METHODS.names() if name != "rover"])
def test_every_method(method):
    """On one lattice whose best sentence all of them agree on."""
    lattice = Lattice.from_arcs(
        [(0, 1, "a", 0.0), (0, 1, "the", -0.2), (1, 2, "cat", 0.0), (1, 2, "hat", -3.0)],
        finals=[2],
    )
    own = {"linear": None, "consensus": BLEU()}
    found = mbr(lattice, own.get(method, WER()), method=method)
    assert (found.text, found.method) == ("a cat", method)


@pytest.mark.parametrize("method", METHODS.names())
def test_options_that_all_methods_share(method):
    """Those are arguments of mbr, and what a method has besides is shown by help."""
    kind = METHODS.get(method)
    shared = set(inspect.signature(mbr).parameters)
    assert shared == {*MBRProblem._fields} - {"spaces"} | {"space", "method"}
    for decide in (kind.decide, Method.decide):
        assert list(inspect.signature(decide).parameters) == ["self", "problem", "k"]
    own = inspect.signature(kind).parameters
    assert own
    assert not shared & set(own)
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in own.values())
    assert set(own) == {each.name for each in dataclasses.fields(kind)}
    assert method_with(method, {}) == kind()


NBEST = nbest_of("a", "b")


@pytest.mark.parametrize(
    ("space", "metric", "options", "message"),
    [
        (NBEST, WER(), {"method": "best"}, "no method named 'best'"),
        (NBEST, WER(), {"method": "edit", "evidence": NBEST}, "method edit has no option 'evid"),
        (NBEST, None, {}, "needs a metric"),
        (NBEST, None, {"method": "pairwise"}, "needs a metric"),
        (NBEST, BLEU(), {"method": "edit"}, "expected word errors"),
        (NBEST, WER(), {"method": "linear"}, "stands for bleu"),
        (NBEST, WER(), {"method": Linear()}, "stands for bleu"),
        (NBEST, WER(), {"method": FastConsensus()}, "stands for bleu"),
        (NBEST, CER(), {"method": EditDistance()}, "expected word errors"),
        (NBEST, WER(), {"method": Pairwise(candidates=0)}, "at least 1 sentence"),
        (NBEST, BLEU(), {"method": Pairwise(confidence=0.9, aggregate=True)}, "confidence"),
        (NBEST, WER(), {"method": Pairwise(aggregate=True)}, "n-gram counts"),
        (NBEST, WER(), {"evidence": Evidence(NBEST, [1, 1]), "scale": 2.0}, "weights already"),
        (NBEST, WER(), {"method": Pairwise(weights=[float("nan"), 1])}, "not nan"),
        (NBest.from_hypotheses([], id="no"), WER(), {}, "'no'"),
        ([], WER(), {}, "no space"),
    ],
)
def test_what_is_refused(space, metric, options, message):
    with pytest.raises((OptionError, UnknownNameError), match=message):
        mbr(space, metric, **options)


@pytest.mark.parametrize(
    ("method", "k", "message"),
    [
        ("pairwise", 0, "k is at least 1"),
        (Pairwise(confidence=0.9), 2, "confidence"),
        ("exact", 2, "method exact has no option 'k'"),
        ("edit", 1, "method edit has no option 'k'"),
    ],
)
def test_what_is_refused_of_lists(method, k, message):
    with pytest.raises(OptionError, match=message):
        mbr_kbest(NBEST, WER(), k=k, method=method)


def test_options_by_name():
    assert method_with("linear", {"p": 0.7}) == Linear(p=0.7)
    with pytest.raises(OptionError, match=r"method edit has no option 'samples' \(it has decode"):
        method_with("edit", {"samples": 3})


def test_a_lattice_without_a_complete_path():
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3)
    for metric in (WER(), BLEU()):
        with pytest.raises(SpaceError, match="no complete path"):
            mbr(dead, metric)


def test_a_million_duplicates():
    count = 1_000_000
    words = nbest_of("a b c d").vocabulary
    label = np.resize([1, 2, 3, 1, 2, 4], 3 * count)
    nbest = NBest(words, label, np.arange(0, 3 * count + 1, 3), -np.arange(count) / count)
    found = mbr(nbest, WER())
    assert (found.text, found.candidates, found.hypothesis.index) == ("a b c", 2, 0)


def test_the_order_of_entries_and_arcs_does_not_matter():
    texts = ["a b", "b a", "c", "c c", "a"]
    for metric in METRICS:
        one = mbr(nbest_of(*texts), metric)
        other = mbr(nbest_of(*texts[::-1]), metric)
        assert one.expected == pytest.approx(other.expected, abs=1e-12)
        assert one.hypothesis.score == other.hypothesis.score


def test_real_lattices(shared_data):
    path = shared_data / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz"
    for lattice in islice(lattices.read(path), 3):
        for metric in (BLEU(smooth="add-k"), GRR()):
            found = mbr(lattice, metric, scale=10.0)
            evidence = evidence_of(lattice, scale=10.0)
            few = [Hypothesis(found.tokens), lattices.best(lattice)]
            expected = ranking([(each.tokens, each.score) for each in few], evidence, metric)
            check([found], expected, metric)
