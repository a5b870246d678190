"""Matrices of scores and expectations: the same as a double loop over the metric."""

from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lattices
from decoding import Pairwise, mbr, mbr_kbest
from decoding.minimum_risk.evidence import Evidence
from decoding.minimum_risk.pairs import scores as scores_module
from decoding.minimum_risk.pairs.scores import (
    expected_scores,
    has_kernel,
    rank,
    score_matrix,
)
from decoding.minimum_risk.pairwise import Numerator
from fstmetrics import (
    BLEU,
    BLEUSBP,
    CER,
    GRR,
    PER,
    TBLEU,
    WER,
    WRR,
    AffixSimilarity,
    BLEUModif,
    Bllip,
    ParseTable,
    Utility,
    WERModif,
    parse_metric,
)
from fstmetrics.alignment.metric import AlignmentMetric
from fstmetrics.dependency.parses import Parse
from fstmetrics.pairs import alignment_scores, edit_scores
from fstmetrics.similarity.vectors import WordVectors
from lattices import Hypothesis, NBest
from lattices.errors import OptionError
from tests.decoding.minimum_risk.lists import WORDS, nbest_of, small_lists
from tests.judges import score_by_recursion
from tests.strategies import small_lattices

SOFT = AffixSimilarity(epsilon=0.9)
VECTORS = WordVectors(["a", "b", "ab"], np.array([[1.0, 0.0], [0.6, 0.8], [-0.5, 1.0]]))
WITH_KERNEL = [
    WER(), WRR(), CER(), CER(spaces=False), PER(), GRR(), GRR(n=1), GRR(n=2, alpha=-0.9, beta=1.0),
    GRR(n=9, alpha=0.3), WER(similarity=SOFT), GRR(n=3, similarity=SOFT), WERModif(vectors=VECTORS),
    BLEU(), BLEU(order=1), BLEU(smooth="exp"), BLEU(smooth="exp", effective_order=True),
    BLEU(smooth="floor"), BLEU(smooth="add-k", order=2), BLEU(smooth="add-k", smooth_value=0.5),
    BLEU(effective_order=True), BLEU(mean="arithmetic"), BLEU(weights=[0, 3, 1], order=3),
    BLEU(lowercase=True, smooth="floor"), BLEU(unit="char", order=7, smooth="floor"),
    BLEU(unit="char", spaces=False, order=2), BLEU(tokenize="13a", smooth="exp"),
    BLEU(brevity="none", order=2, smooth="exp"), BLEU(brevity="none", mean="arithmetic"),
    BLEU(brevity="smooth", smooth="add-k"),
    BLEU(length="average"), BLEUSBP(smooth="exp"), parse_metric("chrf"),
    parse_metric("chrf:word_order=2,beta=3"), parse_metric("chrf:eps_smoothing=true,char_order=3"),
    parse_metric("chrf:whitespace=true,lowercase=true,word_order=1"),
    parse_metric("ter"), parse_metric("ter:case_sensitive=true"),
]  # fmt: skip
ONE_BY_ONE = [TBLEU(epsilon=0.4), BLEUModif(vectors=VECTORS, order=2)]


def double_loop(candidates, evidence, metric):
    evaluators = [metric.against([evidence.tokens(entry)]) for entry in range(len(evidence))]
    return np.array(
        [
            [evaluator.score(candidates.tokens(entry)) for entry in range(len(candidates))]
            for evaluator in evaluators
        ]
    ).reshape(len(evidence), len(candidates))


def check(candidates, evidence, metric):
    found = score_matrix(candidates, evidence, metric)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, double_loop(candidates, evidence, metric), rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", WITH_KERNEL, ids=str)
@settings(max_examples=25)
@given(candidates=small_lists(max_size=5), evidence=small_lists(max_size=5))
@example(candidates=nbest_of("a", ""), evidence=nbest_of("", "a a"))
def test_kernels_equal_a_double_loop(metric, candidates, evidence):
    assert has_kernel(metric)
    check(candidates, evidence, metric)
    check(candidates, candidates, metric)


@pytest.mark.parametrize("metric", ONE_BY_ONE, ids=str)
@settings(max_examples=5)
@given(candidates=small_lists(max_size=4), evidence=small_lists(max_size=4))
def test_any_other_metric_too(metric, candidates, evidence):
    assert not has_kernel(metric)
    check(candidates, evidence, metric)


def test_a_metric_over_parses():
    parses = ParseTable([Parse(("a", "b"), (2, 0)), Parse(("b",), (0,))])
    metric = Bllip(parses=parses)
    check(nbest_of("a b", "b"), nbest_of("b", "a b"), metric)


@pytest.mark.parametrize("metric", [WER(), CER(), WRR()], ids=str)
@pytest.mark.parametrize("longest", [3, 64, 65, 130, 300])
def test_edit_distances_by_rapidfuzz(metric, longest):
    """Whole numbers over whole numbers: not the smallest difference."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    rng = random.Random(longest)
    texts = [[rng.choice("abcde") for _ in range(rng.randint(0, longest))] for _ in range(140)]
    # similar ones, too
    texts += [
        [word for word in text for _ in range(rng.choice([0, 1, 1, 1, 1, 2]))] for text in texts[:9]
    ]
    some = NBest.from_hypotheses([Hypothesis(tuple(text)) for text in texts])
    other = NBest.from_hypotheses([Hypothesis(tuple(text)) for text in texts[::17]])
    units = texts if metric != CER() else [list(" ".join(text)) for text in texts]
    distance = cdist(units[::17], units, scorer=Levenshtein.distance)
    length = np.array([len(text) for text in units[::17]])[:, None]
    expected = distance / np.maximum(length, 1)
    if metric == WRR():
        with np.errstate(all="ignore"):
            expected = np.where(length > 0, (length - distance) / length, 1.0 - distance)
    assert np.array_equal(edit_scores(some, other, metric), expected)


@settings(max_examples=40)
@given(small_lists(longest=5), small_lists(longest=5), st.integers(1, 4), st.sampled_from([0, 1]))
def test_alignments_by_recursion(candidates, evidence, n, beta):
    metric = GRR(n=n, beta=float(beta))
    found = alignment_scores(candidates, evidence, metric)
    for e, reference in enumerate(evidence):
        for c, candidate in enumerate(candidates):
            expected = score_by_recursion(candidate.tokens, [reference.tokens], metric)
            assert found[e, c] == expected


@pytest.mark.parametrize(
    "metric", [GRR(), BLEU(smooth="exp"), PER(), parse_metric("chrf")], ids=str
)
def test_more_than_fit_side_by_side(metric):
    """Lists are worked on in parts, and words repeat often."""
    rng = random.Random(5)
    texts = [" ".join(rng.choices("ab", k=rng.randint(0, 12))) for _ in range(300)]
    check(nbest_of(*texts), nbest_of(*texts[::60]), metric)
    check(nbest_of(*texts[::60]), nbest_of(*texts), metric)


def test_sentences_of_many_equal_words():
    check(nbest_of("a " * 70000), nbest_of("a " * 69999, "b a"), PER())


def test_a_changed_metric_is_not_taken_for_the_original():
    class Halved(WER):
        def score(self, stats):
            return super().score(stats) / 2

    class Squared(BLEU):
        def scores(self, rows):
            return super().scores(rows) ** 2

    nbest = nbest_of("a b c d e", "a b c e e", "b")
    assert not has_kernel(Halved())
    check(nbest, nbest, Halved())
    check(nbest, nbest, Squared())


@pytest.mark.parametrize("metric", [WER(), BLEU(smooth="exp"), GRR(), TBLEU()], ids=str)
@given(candidates=small_lists(), evidence=small_lists(), data=st.data())
@settings(max_examples=15)
def test_expectations(metric, candidates, evidence, data):
    size = len(evidence)
    weight = data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    weight[0] += 1
    found = expected_scores(candidates, Evidence(evidence, weight), metric)
    expected = np.array(weight) @ double_loop(candidates, evidence, metric) / sum(weight)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_memory_is_bounded(monkeypatch):
    nbest = nbest_of("a b", "a c", "b c", "a", "b c a")
    evidence = Evidence(nbest, [1, 2, 3, 4, 5])
    whole = expected_scores(nbest, evidence, WER())
    monkeypatch.setattr(scores_module, "_PAIRS", 10)
    np.testing.assert_allclose(expected_scores(nbest, evidence, WER()), whole, atol=1e-15)


def test_a_score_that_is_no_number():
    class Broken(TBLEU):
        def score(self, stats):
            return float("nan")

    with pytest.raises(OptionError, match="no number"):
        expected_scores(nbest_of("a"), Evidence(nbest_of("a"), [1]), Broken())


def test_nothing_to_compare():
    assert score_matrix(nbest_of(), nbest_of("a"), WER()).shape == (1, 0)
    assert score_matrix(nbest_of("a"), nbest_of(), BLEU()).shape == (0, 1)


@given(small_lists(words=WORDS[:3]), st.data())
def test_ranking(nbest, data):
    size = len(nbest)
    expected = np.array(
        data.draw(st.lists(st.sampled_from([0.25, 0.5, 0.75]), min_size=size, max_size=size))
    )
    noise = data.draw(st.lists(st.sampled_from([0.0, 1e-14]), min_size=size, max_size=size))
    k = data.draw(st.integers(1, size + 1))

    def key(place):
        return expected[place], -nbest.score[place]

    keys = sorted(map(key, range(size)))
    for found in (
        rank(nbest, expected + noise, WER(), k).tolist(),
        rank(nbest, noise - expected, WRR(), k).tolist(),
    ):
        assert len(set(found)) == len(found) == min(k, size)
        assert [key(place) for place in found] == keys[:k]


@pytest.mark.parametrize("metric", [WER(), GRR(), BLEU(smooth="exp"), CER(), parse_metric("chrf")])
def test_real_lists(shared_data, metric):
    path = shared_data / "multi30k-deen" / "val.de-en.100best.gz"
    for nbest in islice(lattices.read(path), 2):
        few = NBest.from_hypotheses([nbest[entry] for entry in range(0, 100, 20)])
        check(nbest, few, metric)


def test_a_utility_is_called_once_and_decides_as_a_loop_does() -> None:
    rng = np.random.default_rng(11)
    some = [
        Hypothesis(tuple(rng.choice(list("abcd"), rng.integers(1, 5)).tolist()), float(score))
        for score in rng.normal(size=12)
    ]
    nbest = NBest.from_hypotheses(some)
    calls = []

    def jaccard(pairs):
        calls.append(pairs)
        words = [({*a.split()}, {*b.split()}) for a, b in pairs]
        return [len(a & b) / len(a | b) for a, b in words]

    found = mbr(nbest, Utility(jaccard, "jaccard"))
    (pairs,) = calls
    assert len(pairs) == len(set(pairs)) == len({each.tokens for each in some}) ** 2
    weights = np.exp([each.score for each in some])
    weights /= weights.sum()
    expected = {
        each.text: sum(
            weight * jaccard([(each.text, other.text)])[0]
            for weight, other in zip(weights, some, strict=True)
        )
        for each in some
    }
    assert found.expected == pytest.approx(max(expected.values()))
    assert found.expected == pytest.approx(expected[found.text])


@settings(max_examples=60)
@given(small_lattices(features=False), st.sampled_from([WER(), BLEU(order=2), TBLEU(order=1)]))
def test_the_matrix_is_all_scores(lattice, metric):
    """Entry by entry what the metric says of two sentences; the same choice as without it."""
    nbest = NBest.from_hypotheses(lattice.paths())
    found = mbr_kbest(nbest, metric, k=3, method=Pairwise(matrix=True))
    plain = mbr_kbest(nbest, metric, k=3, method=Pairwise())
    assert [each.text for each in found] == [each.text for each in plain]
    assert [each.expected for each in found] == pytest.approx([each.expected for each in plain])
    matrix = found[0].matrix
    assert sorted(matrix.candidates) == sorted({each.text for each in nbest})
    for candidate, row in zip(matrix.candidates, matrix.scores, strict=True):
        right = [metric.against([one.split()]).score(candidate) for one in matrix.evidence]
        assert row.tolist() == pytest.approx(right)
    expected = dict(zip(matrix.candidates, matrix.scores @ matrix.weights, strict=True))
    assert found[0].expected == pytest.approx(expected[found[0].text])
    assert found[0].to_dict()["matrix"]["scores"] == matrix.scores.tolist()


def test_a_matrix_is_of_all_pairs():
    nbest = NBest.from_hypotheses([Hypothesis(("a",)), Hypothesis(("b",))])
    for other in ({"aggregate": True}, {"confidence": 0.9}):
        with pytest.raises(OptionError, match="matrix is of all pairs"):
            mbr(nbest, BLEU(), method=Pairwise(matrix=True, **other))


def test_vectors_of_sentences():
    """The utility that the page on MBR has, with vectors whose cosines are known."""
    models = pytest.importorskip("gensim.models")
    words = models.KeyedVectors(2)
    words.add_vectors(["cat", "dog", "car"], np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]))

    def cosine(pairs):
        known = {text for pair in pairs for text in pair}
        vector = {text: words.get_mean_vector(text.split(), post_normalize=True) for text in known}
        return [vector[a] @ vector[b] for a, b in pairs]

    nbest = NBest.from_hypotheses([Hypothesis((word,), 0.0) for word in ("cat", "dog", "car")])
    found = mbr(nbest, Utility(cosine, "cosine"), method=Pairwise(matrix=True))
    # the dog is between the others
    assert (found.text, found.expected) == ("dog", pytest.approx((0.8 + 1.0 + 0.6) / 3))
    assert found.matrix.scores == pytest.approx(
        np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.6], [0.0, 0.6, 1.0]])
    )


@given(small_lists(), small_lists())
def test_edits_are_those_of_rapidfuzz(candidates: NBest, evidence: NBest) -> None:
    """Without normalisation WER counts edits, and the fewest expected ones are chosen."""
    from rapidfuzz.distance import Levenshtein

    weighted = Evidence(evidence, np.exp(evidence.score - evidence.score.max()))
    method = Pairwise(candidates=candidates, normalised=False, matrix=True)
    found = mbr(candidates, WER(), method=method, evidence=weighted)
    edits = np.array([[Levenshtein.distance(one.tokens, other.tokens) for other in evidence]
                      for one in candidates])  # fmt: skip
    expected = edits @ weighted.weight
    assert found.expected == pytest.approx(expected.min())
    assert expected[[each.text for each in candidates].index(found.text)] == pytest.approx(
        expected.min()
    )
    assert {*found.matrix.scores.ravel().tolist()} == {*edits.ravel().tolist()}


@given(small_lists(), small_lists(), st.sampled_from([WER(), WRR(), CER(), GRR(n=2, alpha=0.5)]))
def test_numerators(candidates: NBest, evidence: NBest, metric: AlignmentMetric) -> None:
    found = Numerator(metric).pair_scores(candidates, evidence)
    wanted = [
        [metric.fractions(metric.stats(one.tokens, [other.tokens])[None])[0][0]
         for one in candidates]
        for other in evidence
    ]  # fmt: skip
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_edits_and_rates_differ() -> None:
    """One edit in a short sentence is much of it: a mean of rates prefers to avoid that."""
    nbest = NBest.from_hypotheses(
        [Hypothesis(tuple(text.split()), 0.0) for text in ("a", "a b c d", "a b c x", "a b y d")]
    )
    rates, edits = (mbr(nbest, WER(), method=Pairwise(normalised=each)) for each in (True, False))
    assert (rates.text, edits.text) == ("a", "a b c d")
    assert edits.expected == (3 + 0 + 1 + 1) / 4
    with pytest.raises(OptionError, match=r"bleu.* has no numerator of its own"):
        mbr(nbest, BLEU(), method=Pairwise(normalised=False))
