"""The search for the best sentence of a lattice, judged by scoring every one of them."""

from __future__ import annotations

import math
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import ExactRisk, PrefixSearch, mbr
from decoding.minimum_risk.evidence import Evidence, evidence_of, rows
from decoding.minimum_risk.exact import expected_metric
from decoding.minimum_risk.pairs.scores import expected_scores
from fstmetrics import BLEU, BLEUSBP, CER, GRR, TBLEU, WER, WRR, AffixSimilarity
from fstmetrics.alignment.metric import AlignmentMetric
from lattices import Forest, Hypothesis, Lattice, NBest, read, to_lattice
from lattices.errors import OptionError, SpaceError
from tests.judges import score_by_recursion
from tests.strategies import sentences, small_forests, small_lattices

METRICS = (WER(), WRR(), GRR(), GRR(n=2, alpha=-0.9, beta=1), GRR(n=3, alpha=0, beta=0.5))


@st.composite
def judges(draw: st.DrawFn, words: str = "abcd") -> Evidence:
    """Draw weighted sentences, many of equal weight, some of none."""
    some = draw(st.lists(sentences(words, max_size=5), min_size=1, max_size=5))
    weight = draw(st.lists(st.integers(0, 3), min_size=len(some), max_size=len(some)))
    weight[0] += 1
    return Evidence(NBest.from_hypotheses([Hypothesis(tuple(each)) for each in some]), weight)


def qualities(
    lattice: Lattice, evidence: Evidence, metric: AlignmentMetric
) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return, for every sentence, its expected rate (higher is better) and its best score."""
    found: dict[tuple[str, ...], tuple[float, float]] = {}
    for path in lattice.paths():
        rate = sum(
            weight * score_by_recursion(path.tokens, [evidence.nbest.tokens(entry)], metric)
            for entry, weight in enumerate(evidence.weight.tolist())
        )
        _, score = found.get(path.tokens, (0.0, -math.inf))
        found[path.tokens] = rate, max(score, path.score)
    return found


@settings(max_examples=60)
@given(small_lattices(), judges(), st.sampled_from(METRICS))
def test_finds_the_best_of_all_sentences(
    lattice: Lattice, evidence: Evidence, metric: AlignmentMetric
) -> None:
    known = qualities(lattice, evidence, metric)
    best = max(rate for rate, _ in known.values())
    tied = {words: score for words, (rate, score) in known.items() if rate >= best - 1e-11}
    found = mbr(lattice, metric, evidence=evidence, method="search")
    assert found.exact
    assert found.candidates == -1
    assert found.evidence == len(evidence.nbest)
    assert found.expected == pytest.approx(1 - best if metric.error_rate else best, abs=1e-9)
    highest = max(tied.values())
    assert found.hypothesis.score == pytest.approx(highest)
    assert tied[found.tokens] >= highest - 1e-12
    assert found == mbr(lattice, metric, evidence=evidence, method="search")
    path = lattice.hypothesis(found.hypothesis.arcs)
    assert (path.tokens, path.score) == (found.tokens, found.hypothesis.score)


@settings(max_examples=30)
@given(small_lattices(), st.sampled_from(METRICS), st.sampled_from([0.0, 1.0, 3.0]))
def test_agrees_with_exact_over_all_strings(
    lattice: Lattice, metric: AlignmentMetric, scale: float
) -> None:
    evidence = evidence_of(lattice, scale=scale, k=10_000)
    found = mbr(lattice, metric, evidence=evidence, method="search")
    true = mbr(lattice, metric, scale=scale, method=ExactRisk(candidates="all"))
    assert found.exact
    assert true.exact
    assert found.expected == pytest.approx(true.expected, abs=1e-9)
    again = mbr(lattice, metric, scale=scale, method=PrefixSearch(evidence_size=10_000))
    assert again.tokens == found.tokens


@settings(max_examples=30)
@given(small_lattices(), judges(), st.integers(1, 3), st.integers(1, 10))
def test_beams_and_budgets_say_what_they_are(
    lattice: Lattice, evidence: Evidence, beam: int, budget: int
) -> None:
    known = qualities(lattice, evidence, GRR())
    best = max(rate for rate, _ in known.values())
    for found in (
        mbr(lattice, GRR(), evidence=evidence, method=PrefixSearch(beam=beam)),
        mbr(lattice, GRR(), evidence=evidence, method=PrefixSearch(budget=budget)),
    ):
        assert found.expected == pytest.approx(known[found.tokens][0], abs=1e-9)
        if found.exact:
            assert found.expected == pytest.approx(best, abs=1e-9)


def wide(words: int, choices: str = "abc") -> Lattice:
    """Return a lattice of all sentences of so many words."""
    arcs = [(state, state + 1, word) for state in range(words) for word in choices]
    return Lattice.from_arcs(arcs, finals=[words])


def test_a_narrow_beam_is_not_called_exact() -> None:
    texts = ("abcabc", "bcabca", "cabcab", "aabbcc", "ccbbaa")
    evidence = Evidence(NBest.from_hypotheses([Hypothesis(tuple(t)) for t in texts]), [1] * 5)
    proven = mbr(wide(6), GRR(), evidence=evidence, method="search")
    assert proven.exact
    assert not mbr(wide(6), GRR(), evidence=evidence, method=PrefixSearch(beam=1)).exact
    few = mbr(wide(6), GRR(), evidence=evidence, method=PrefixSearch(budget=10))
    assert not few.exact
    assert few.expected <= proven.expected + 1e-12


@settings(max_examples=25)
@given(small_lattices(), judges(), st.randoms(use_true_random=False))
def test_the_order_of_arcs_does_not_matter(
    lattice: Lattice, evidence: Evidence, random: object
) -> None:
    arcs = [
        (int(src), int(dst), lattice.vocabulary.word(int(label)), float(score))
        for src, dst, label, score in zip(
            lattice.src, lattice.dst, lattice.label, lattice.score, strict=True
        )
    ]
    random.shuffle(arcs)  # type: ignore[attr-defined]
    finals = {int(state): float(lattice.final[state]) for state in lattice.finals}
    other = Lattice.from_arcs(arcs, finals=finals, states=lattice.num_states, start=lattice.start)
    for metric in (WER(), GRR()):
        for beam in (None, 2):
            one = mbr(lattice, metric, evidence=evidence, method=PrefixSearch(beam=beam))
            two = mbr(other, metric, evidence=evidence, method=PrefixSearch(beam=beam))
            assert one.hypothesis.score == pytest.approx(two.hypothesis.score, abs=1e-12)
            assert one.expected == pytest.approx(two.expected, abs=1e-12)
            assert one.exact == two.exact


@settings(max_examples=25)
@given(small_forests(), judges("abc"))
def test_forests(forest: Forest, evidence: Evidence) -> None:
    found = mbr(forest, GRR(), evidence=evidence, method="search")
    there = mbr(to_lattice(forest), GRR(), evidence=evidence, method="search")
    assert (found.tokens, found.expected) == (there.tokens, there.expected)
    assert found.hypothesis.arcs == ()


@settings(max_examples=25)
@given(small_lattices(words=["ab", "abc", "b", "c"]), st.data())
def test_characters_and_soft_matches(lattice: Lattice, data: st.DataObject) -> None:
    some = data.draw(st.lists(sentences(["ab", "abc", "d"], max_size=3), min_size=1, max_size=3))
    evidence = Evidence(
        NBest.from_hypotheses([Hypothesis(tuple(each)) for each in some]), [1.0] * len(some)
    )
    for metric in (CER(), WER(similarity=AffixSimilarity())):
        least = min(
            sum(metric.against([each]).score(path.tokens) for each in some) / len(some)
            for path in lattice.paths()
        )
        assert mbr(lattice, metric, evidence=evidence, method="search").expected == pytest.approx(
            least, abs=1e-7
        )


def test_lists_and_several_systems() -> None:
    some = [Hypothesis(("a", "b"), -1.0), Hypothesis(("a", "c"), -2.0), Hypothesis(("a",), -3.0)]
    nbest = NBest.from_hypotheses(some)
    found = mbr(nbest, WER(), scale=0.0, method="search")
    assert (found.tokens, found.candidates, found.exact) == (("a",), 3, True)
    one = Lattice.from_arcs([(0, 1, "a"), (1, 2, "b")], finals=[2])
    other = Lattice.from_arcs([(0, 1, "a"), (1, 2, "c")], finals=[2])
    mixed = mbr([one, other], WER(), system_weights=[1, 3], method="search")
    assert mixed.text == "a c"
    assert mixed.expected == pytest.approx(0.125)
    assert mixed.evidence == 2


def test_empty_sentences() -> None:
    silent = Lattice.from_arcs([(0, 1, "", -1.0), (0, 1, "a", 0.0)], finals=[1])
    evidence = Evidence(NBest.from_hypotheses([Hypothesis(()), Hypothesis(("a",))]), [3, 1])
    for metric in METRICS[:3]:
        assert mbr(silent, metric, evidence=evidence, method="search").tokens == ()
    only = Lattice.from_arcs([], finals=[0], states=1)
    assert mbr(only, WER(), evidence=evidence, method="search").expected == pytest.approx(0.25)


@settings(max_examples=40)
@given(
    st.one_of(small_lattices(), small_forests()),
    judges(),
    st.sampled_from([BLEU(order=2, smooth="add-k"), BLEUSBP(order=2, smooth="exp")]),
    st.sampled_from([1, 3, 20_000]),
)
def test_bleu_lists_all_sentences_if_they_are_few(
    space: Lattice | Forest, evidence: Evidence, metric: BLEU, budget: int
) -> None:
    found = mbr(space, metric, evidence=evidence, method=PrefixSearch(budget=budget))
    every = space.paths() if isinstance(space, Lattice) else space.derivations()
    objective = {
        each.tokens: sum(
            weight * metric.against([evidence.nbest.tokens(entry)]).score(each.tokens)
            for entry, weight in enumerate(evidence.weight.tolist())
        )
        for each in every
    }
    assert found.exact == (len(objective) <= budget)
    assert found.expected == pytest.approx(objective[found.tokens], abs=1e-9)
    if found.exact:
        assert found.expected == pytest.approx(max(objective.values()), abs=1e-9)


def test_errors() -> None:
    lattice = wide(2)
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3)
    evidence = Evidence(NBest.from_hypotheses([Hypothesis(("a",))]), [1])
    with pytest.raises(SpaceError, match="no complete path"):
        mbr(dead, WER(), evidence=evidence, method="search")
    with pytest.raises(OptionError, match="no alignment metric"):
        mbr(lattice, TBLEU(), evidence=evidence, method="search")
    with pytest.raises(OptionError, match="a beam is of alignments"):
        mbr(lattice, BLEU(), evidence=evidence, method=PrefixSearch(beam=9))
    with pytest.raises(OptionError, match="beam"):
        mbr(lattice, WER(), evidence=evidence, method=PrefixSearch(beam=0))
    with pytest.raises(OptionError, match="budget"):
        mbr(lattice, WER(), evidence=evidence, method=PrefixSearch(budget=0))


def test_real_lattices(shared_data: Path) -> None:
    """All sentences can be listed here, each with the mass of its paths: a third opinion."""
    lattices = read(shared_data / "multi30k-deen" / "tiny20.de-en.lat.d10.jsonl")
    for lattice in islice(lattices, 8):
        evidence = evidence_of(lattice, scale=15.0, k=20_000)
        for metric in (WER(), GRR()):
            means = expected_scores(evidence.nbest, evidence, metric)
            best = means.min() if metric.error_rate else means.max()
            found = mbr(lattice, metric, evidence=evidence, method="search")
            assert found.exact
            assert found.expected == pytest.approx(best, abs=1e-9)
            few = rows(evidence.nbest, np.arange(min(20, len(evidence.nbest))))
            true = expected_metric(lattice, metric, few, scale=15.0)
            assert true.exact.all()
            assert true.expected == pytest.approx(means[:20], abs=1e-9)
