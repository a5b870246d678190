"""Few calls of a utility: full batches, texts encoded once, choices as by all pairs if proven."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import Pairwise, mbr, mbr_kbest
from decoding.minimum_risk.decisions import decide_batch
from decoding.minimum_risk.evidence import Evidence, evidence_of
from decoding.minimum_risk.pairs.centroids import choose_centroids, find_clusters
from decoding.minimum_risk.pairs.completion import complete_matrix
from decoding.minimum_risk.pairs.diverse import choose_apart, choose_covering
from decoding.minimum_risk.pairs.scores import Pairs, expected_scores, run, run_together
from fstmetrics import BLEU, WER, Normalised, Utility
from lattices import NBest
from lattices.errors import OptionError
from tests.decoding.minimum_risk.lists import distinct, nbest_of, small_lists

BLEU_OF_TWO = BLEU(order=2, smooth="add-k")


def overlap(hypotheses, references):
    return [
        len({*one.split()} & {*other.split()}) / (1 + len({*one.split()} | {*other.split()}))
        for one, other in zip(hypotheses, references, strict=True)
    ]


def letters(texts):
    return np.array([[text.count(letter) for letter in "01 "] for text in texts], dtype=float)


def near(hypotheses, references):
    return 1.0 / (1.0 + ((hypotheses - references) ** 2).sum(axis=1))


def numbers(first, count, scale=0.1):
    texts = [" ".join(f"{place:011b}") for place in range(first, first + count)]
    return nbest_of(*texts, scores=np.linspace(0, -scale, count))


class Counting:
    """A function of texts or vectors that remembers how much it was given at a time."""

    def __init__(self, function):
        self.function, self.sizes = function, []

    def __call__(self, hypotheses, references):
        self.sizes.append(len(hypotheses))
        return self.function(hypotheses, references)


METHODS = {
    "all": Pairwise(),
    "halving": Pairwise(calls=0.25),
    "low rank": Pairwise(calls=0.25, rank=4),
    "bootstrap": Pairwise(confidence=0.95),
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("cached", [False, True])
def test_batches_of_many_segments_are_full(method, cached, tmp_path):
    lists = [numbers(100 * place, 17 + place) for place in range(12)]
    alone = [mbr(one, Utility(overlap, "overlap"), method=method).text for one in lists]
    function = Counting(overlap)
    more = {"cache": str(tmp_path / "scores"), "version": "1"} if cached else {}
    utility = Utility(function, "overlap", batch=64, **more)
    found = decide_batch(lists, Normalised(utility, "lower"), method=method)
    if method.confidence is None:
        assert [each.text for (each,) in found] == alone
    # all but the last, where every search that is left waits
    calls, sizes = utility.calls, [*function.sizes]
    assert all(size == 64 for size in sizes[: -len(lists)])
    assert sizes[0] == 64
    assert (calls.calls, calls.pairs, calls.cached) == (len(sizes), sum(sizes), 0)
    again = decide_batch(lists, utility, method=method)
    assert [each.text for (each,) in again] == [each.text for (each,) in found]
    assert (calls.cached, len(function.sizes)) == (
        (sum(sizes), len(sizes)) if cached else (0, 2 * len(sizes))
    )


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_texts_are_encoded_once_by_full_batches(method):
    given = []

    def encode(texts):
        given.append(texts)
        return letters(texts)

    lists = [numbers(first, 20) for first in (0, 20, 40, 5)]
    utility = Utility(near, "near", encode=encode, batch=16)
    found = decide_batch(lists, utility, method=method)
    texts = [text for some in given for text in some]
    assert len({*texts}) == len(texts) == 60
    assert [len(some) for some in given] == [16, 16, 16, 12]
    assert (utility.calls.encoded, utility.calls.encodings) == (60, 4)
    plain = Utility(lambda one, other: near(letters(one), letters(other)), "near")
    if method.confidence is None:
        assert [each.text for (each,) in found] == [
            mbr(one, plain, method=method).text for one in lists
        ]


def test_a_source_is_encoded_too():
    def head(hypotheses, references, sources):
        return near(hypotheses, sources) + 0.0 * references[:, 0]

    utility = Utility(head, "near", encode=letters)
    nbest = NBest.from_hypotheses(list(numbers(0, 40)), id="x", source="1 1 1 0 0 0 0 0 0 0 0")
    for method in (Pairwise(), Pairwise(aggregate=True), Pairwise(centroids=3)):
        assert letters([mbr(nbest, utility, method=method).text])[0, 1] == 3
    with pytest.raises(OptionError, match="near takes the source of a segment, and this one has"):
        mbr(numbers(0, 3), utility)


def test_an_object_has_an_encoder():
    class Head:
        encode = staticmethod(letters)

        def __call__(self, hypotheses, references):
            return near(hypotheses, references)

    assert mbr(numbers(0, 9), Utility(Head(), "near")).pairs == 81


@pytest.mark.parametrize(
    ("utility", "said"),
    [
        (Utility(lambda a, b, c, d: 0, "f"), r"f takes 4 arguments, expected \(pairs\) or \(hypo"),
        (Utility(lambda a, b: 0, "f", source=True), r"takes 2 arguments, expected \(triples\) or"),
        (Utility(lambda a: 0, "f", encode=letters), r"1 arguments, expected \(hypotheses, ref"),
        (Utility(near, "f", encode=lambda texts: [1.0]), r"encoder of f was given 4 texts and ret"),
        (Utility(near, "f", encode=lambda texts: 1 / 0), r"encoder of f has failed: ZeroDivision"),
    ],
)
def test_what_no_utility_is(utility, said):
    with pytest.raises(OptionError, match=said):
        mbr(numbers(0, 4), utility)


def test_what_no_options_go_together():
    for options, said in [
        ({"batch": 0}, "a batch has at least 1 pair"),
    ]:
        with pytest.raises(OptionError, match=said):
            Utility(overlap, **options)
    for options, said in [
        ({"calls": 0.0}, "above 0 and at most 1"),
        ({"calls": 0.5, "rank": 0}, "a rank is at least 1"),
        ({"rank": 3}, "a share, calls, is scored"),
        ({"calls": 0.5, "confidence": 0.9}, "calls and confidence exclude each other"),
        ({"cover": True, "diversity": 0.5}, "diversity and cover exclude"),
        ({"cover": True, "calls": 0.5}, "cover is of all pairs, without calls"),
        ({"centroids": 2}, "has no vectors: centroids are for"),
        ({"centroids": 0}, "at least 1 centroid"),
    ]:
        with pytest.raises(OptionError, match=said):
            mbr(numbers(0, 4), BLEU(), method=Pairwise(**options))


def test_searches_take_turns_and_answers_are_theirs():
    utility = Utility(lambda pairs: [len(one) + len(other) for one, other in pairs], batch=7)

    def search(one, other):
        first = yield Pairs(utility, one, other)
        second = yield Pairs(utility, other, one, (np.array([0]), np.array([0])))
        return first, second

    given = [(nbest_of("a" * size, "b"), nbest_of("c" * size, "dd", "e")) for size in range(1, 9)]
    for size, (first, second) in enumerate(run_together(search(*each) for each in given), start=1):
        assert first.tolist() == [[2 * size, 1 + size], [size + 2, 3], [size + 1, 2]]
        assert second.tolist() == [2 * size]
    assert run_together([]) == []


@settings(max_examples=30)
@given(
    small_lists(max_size=12),
    st.sampled_from([1.0, 0.7, 0.3, 0.05]),
    st.integers(1, 4),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([WER(), BLEU_OF_TWO]),
)
def test_a_share_of_the_pairs(nbest, calls, k, rank, metric):
    nbest = distinct(nbest)
    found = mbr_kbest(nbest, metric, k=k, method=Pairwise(calls=calls, rank=rank))
    assert len({each.text for each in found}) == len(found) == min(k, len(nbest))
    most = max(len(nbest), calls * len(nbest) ** 2)
    assert all(each.pairs <= most for each in found)
    whole = mbr_kbest(nbest, metric, k=k)
    if found[0].exact:
        assert [each.text for each in found] == [each.text for each in whole]
    assert found[0].exact or calls < 1.0 or len(nbest) > k
    if calls == 1.0 and k == 1:
        assert found[0].expected == pytest.approx(whole[0].expected, abs=1e-9)


def test_halving_finds_what_is_best_by_few_pairs():
    right = dict.fromkeys(METHODS, 0)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        nbest = nbest_of(*sorted({" ".join(rng.choice(list("abc"), 6)) for _ in range(60)}))
        best = mbr(nbest, BLEU_OF_TWO).expected
        for name, method in METHODS.items():
            text = mbr(nbest, BLEU_OF_TWO, method=method).text
            evidence = evidence_of(nbest)
            right[name] += expected_scores(nbest_of(text), evidence, BLEU_OF_TWO)[0] > best - 0.01
    assert right["all"] == 20
    assert right["halving"] >= 14
    assert right["low rank"] >= 6


def test_a_matrix_of_low_rank_is_completed():
    rng = np.random.default_rng(1)
    whole = rng.random((30, 2)) @ rng.random((2, 40))
    observed = rng.random(whole.shape) < 0.5
    start = rng.random((40, 3))
    found = complete_matrix(whole, observed, start, penalty=1e-3, rounds=50)
    assert np.abs(found - whole)[~observed].max() < 0.05
    # by rows, one at a time
    left = np.array([
        np.linalg.solve(start.T @ (start * seen[:, None]) + 0.1 * np.eye(3), start.T @ (row * seen))
        for row, seen in zip(whole, observed, strict=True)
    ])  # fmt: skip
    right = np.array([
        np.linalg.solve(left.T @ (left * seen[:, None]) + 0.1 * np.eye(3), left.T @ (row * seen))
        for row, seen in zip(whole.T, observed.T, strict=True)
    ])  # fmt: skip
    once = complete_matrix(whole, observed, start, rounds=1)
    np.testing.assert_allclose(once, left @ right.T, atol=1e-12)


def test_as_many_centroids_as_texts_are_all_pairs():
    def head(hypotheses, references):
        return near(hypotheses, references)

    nbest = numbers(0, 30)
    utility = Utility(head, "near", encode=lambda texts: letters(texts) + 0.01 * np.arange(3))
    whole = mbr(nbest, utility)
    found = mbr(nbest, utility, method=Pairwise(centroids=30))
    assert (found.text, found.method, found.exact) == (whole.text, "centroids", False)
    assert found.expected == pytest.approx(whole.expected)
    mean = evidence_of(nbest).weight @ letters([" ".join(each.tokens) for each in nbest])
    one = mbr(nbest, utility, method=Pairwise(aggregate=True))
    assert (one.method, one.pairs) == ("aggregate", 30)
    assert one.expected == pytest.approx(near(letters([one.text]), mean[None]).item(), abs=0.01)


@given(st.integers(0, 99), st.integers(1, 6))
def test_clusters_are_where_k_means_ends(seed, count):
    rng = np.random.default_rng(seed)
    vectors, weight = rng.normal(size=(25, 2)), rng.random(25)
    weight /= weight.sum()
    start = choose_centroids(vectors, weight, count, rng)
    centroids, cluster = find_clusters(vectors, weight, start, rounds=200)
    far = ((vectors[:, None] - centroids) ** 2).sum(axis=2)
    assert (far.argmin(axis=1) == cluster).all()
    for place in {*cluster.tolist()}:
        its = cluster == place
        mean = weight[its] @ vectors[its] / weight[its].sum()
        np.testing.assert_allclose(centroids[place], mean, atol=1e-12)


@given(st.integers(0, 999), st.integers(1, 4), st.sampled_from([0.0, 0.3, 2.0]))
def test_diverse_choices_by_enumeration(seed, k, weight):
    rng = np.random.default_rng(seed)
    quality, alike = rng.random(6), rng.random((6, 6))

    def objective(chosen):
        pairs = [alike[i, j] for i in chosen for j in chosen if i != j]
        return quality[[*chosen]].mean() - weight * (np.mean(pairs) if pairs else 0.0)

    every = {some: objective(some) for some in combinations(range(6), k)}
    found = choose_apart(quality, alike, k, weight)
    assert found.objective == pytest.approx(every[tuple(sorted(found.chosen))])
    assert max(every.values()) <= found.bound + 1e-12
    # greedily: each step is the best of its size, given those before
    for step in range(1, k + 1):
        some = found.chosen[:step]
        others = [objective([*some[:-1], one]) for one in range(6) if one not in some[:-1]]
        assert objective(some) == pytest.approx(max(others))
    if weight == 0.0:
        assert found.objective == pytest.approx(max(every.values()))


@given(st.integers(0, 999), st.integers(1, 4))
def test_covers_by_enumeration(seed, k):
    rng = np.random.default_rng(seed)
    scores, weight = rng.random((5, 7)) ** 3, rng.random(5)
    every = [weight @ scores[:, [*some]].max(axis=1) for some in combinations(range(7), k)]
    found = choose_covering(scores, weight, k)
    floor = weight @ scores.min(axis=1)
    assert found.objective == pytest.approx(weight @ scores[:, found.chosen].max(axis=1))
    assert max(every) <= found.bound + 1e-12
    assert found.objective - floor >= (1 - 1 / np.e) * (max(every) - floor) - 1e-12
    assert found.bound - floor <= (found.objective - floor) / (1 - 1 / np.e) + 1e-12


@pytest.mark.parametrize("metric", [WER(), BLEU_OF_TWO], ids=str)
def test_diverse_decisions(metric):
    nbest = numbers(0, 20)
    plain = mbr_kbest(nbest, metric, k=3)
    same = mbr_kbest(nbest, metric, k=3, method=Pairwise(diversity=0.0))
    assert [each.text for each in same] == [each.text for each in plain]
    # other evidence than the candidates: their own pairs are asked for
    other = Evidence(nbest_of("0 0 1", "1 1 1 0"), [1, 2])
    for given_evidence in (None, other):
        apart = mbr_kbest(
            nbest, metric, k=3, method=Pairwise(diversity=5.0), evidence=given_evidence
        )
        assert {each.text for each in apart} != {each.text for each in plain}
        sign = 1.0 if metric.higher_is_better else -1.0
        assert sign * apart[0].bound >= sign * apart[0].objective
        assert [each.expected for each in apart] == sorted(
            (each.expected for each in apart), reverse=metric.higher_is_better
        )
    covering = mbr_kbest(nbest, metric, k=3, method=Pairwise(cover=True))
    weights = evidence_of(nbest).weight
    scores = np.array([[metric.against([one.tokens]).score(each.text) for each in covering]
                       for one in nbest])  # fmt: skip
    best = scores.max(axis=1) if metric.higher_is_better else scores.min(axis=1)
    assert covering[0].objective == pytest.approx(weights @ best)


def test_one_search_alone():
    def search():
        scores = yield Pairs(
            WER(), nbest_of("a b"), nbest_of("a", "b c"), (np.array([0]), np.array([1]))
        )
        return scores.tolist()

    assert run(search()) == [1.0]
