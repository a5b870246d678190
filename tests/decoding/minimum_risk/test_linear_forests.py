"""The k best sentences of forests under lattice MBR, against every sentence of small ones."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import Linear, mbr, mbr_kbest
from lattices import Forest, Hypothesis, Lattice, NBest, Vocabulary, k_best, read
from tests.decoding.minimum_risk.test_linear import Words, factors, gain, presence, ranked
from tests.strategies import small_forests, small_lattices


@settings(max_examples=100)
@given(
    small_forests(words="ab"),
    factors,
    st.sampled_from([1.0, 0.3, 0.0]),
    st.one_of(st.integers(1, 6), st.just(1000)),
)
def test_the_k_best_of_a_forest(
    forest: Forest, theta: tuple[float, ...], scale: float, k: int
) -> None:
    posterior = presence([forest], [1.0], len(theta) - 1, scale)
    expected = ranked([forest], posterior, theta)
    highest = {words: -score for _, score, words in expected}
    found = mbr_kbest(forest, scale=scale, k=k, method=Linear(theta=theta))
    assert len({each.tokens for each in found}) == len(found) == min(k, len(expected))
    for each, (value, _, _) in zip(found, expected, strict=False):
        assert each.expected == pytest.approx(-value, abs=2e-8)
        assert gain(each.tokens, posterior, theta) == pytest.approx(-value, abs=2e-8)
        assert each.hypothesis == forest.hypothesis(each.hypothesis.arcs)
        assert each.hypothesis.score == pytest.approx(highest[each.tokens], abs=1e-9)
        assert (each.method, each.exact, each.candidates) == ("linear", True, -1)
    keys = [(-each.expected, -each.hypothesis.score) for each in found]
    for one, other in pairwise(keys):
        assert one <= other or one == pytest.approx(other, abs=1e-12)
    assert found[0] == mbr(forest, scale=scale, method=Linear(theta=theta))


@settings(max_examples=100)
@given(
    small_forests(words="ab", exact=True),
    st.sampled_from([0.0, -0.5, 1.0]),
    st.one_of(st.integers(1, 8), st.just(1000)),
)
def test_ties_go_to_the_score(forest: Forest, word: float, k: int) -> None:
    # gains are those of the words alone: sentences of one length tie, or all of them
    highest: dict[Words, float] = {}
    for each in forest.derivations():
        highest[each.tokens] = max(each.score, highest.get(each.tokens, -math.inf))
    expected = sorted((-word * len(words), -score) for words, score in highest.items())
    found = mbr_kbest(forest, k=k, method=Linear(theta=(word, 0.0, 0.0)))
    assert [(-each.expected, -each.hypothesis.score) for each in found] == expected[:k]
    assert len({each.tokens for each in found}) == len(found)
    for each in found:
        assert each.expected == word * len(each.tokens)
        assert each.hypothesis.score == highest[each.tokens]
        assert each.hypothesis == forest.hypothesis(each.hypothesis.arcs)
    assert found == mbr_kbest(forest, k=k, method=Linear(theta=(word, 0.0, 0.0)))


@settings(max_examples=60)
@given(small_lattices(words="abc", max_states=7, max_arcs=14), factors, st.integers(1, 8))
def test_a_forest_made_of_a_lattice(lattice: Lattice, theta: tuple[float, ...], k: int) -> None:
    one = mbr_kbest(lattice, k=k, method=Linear(theta=theta))
    other = mbr_kbest(Forest.from_lattice(lattice), k=k, method=Linear(theta=theta))
    assert [each.expected for each in other] == pytest.approx(
        [each.expected for each in one], abs=1e-9
    )
    posterior = presence([lattice], [1.0], len(theta) - 1, 1.0)
    values = [value for value, _, _ in ranked([lattice], posterior, theta)]
    if len(set(values)) == len(values):
        assert [each.tokens for each in other] == [each.tokens for each in one]


@settings(max_examples=40)
@given(small_forests(words="ab"), small_forests(words="bc"), factors, st.integers(2, 6))
def test_several_forests(one: Forest, other: Forest, theta: tuple[float, ...], k: int) -> None:
    posterior = presence([one, other], [1.0, 1.0], len(theta) - 1, 1.0)
    expected = ranked([one, other], posterior, theta)
    found = mbr_kbest([one, other], k=k, method=Linear(theta=theta))
    assert len({each.tokens for each in found}) == len(found) == min(k, len(expected))
    for each, (value, _, _) in zip(found, expected, strict=False):
        assert each.expected == pytest.approx(-value, abs=2e-8)
        assert gain(each.tokens, posterior, theta) == pytest.approx(-value, abs=2e-8)


def test_the_order_of_a_forest_is_kept_among_several() -> None:
    # one score and one gain for all
    forest = Forest.from_edges([(0, [], ["a", "b"]), (0, [], ["c"])])
    alone = [each.text for each in mbr_kbest(forest, k=5, method=Linear(theta=(0.0, 0.0)))]
    assert sorted(alone) == ["a b", "c"]
    nbest = NBest.from_hypotheses([Hypothesis(("d",)), Hypothesis(("c",))])
    found = mbr_kbest([forest, nbest], k=5, method=Linear(theta=(0.0, 0.0)))
    assert sorted(each.text for each in found) == ["a b", "c", "d"]
    assert [each.text for each in found if each.text in alone] == alone
    assert found[0] == mbr([forest, nbest], method=Linear(theta=(0.0, 0.0)))


def test_derivations_of_one_sentence_are_one_result_by_the_best_of_them() -> None:
    # 2^40 derivations of "a a ... a b", which differ in their scores only; one of "c"
    edges: list[tuple[int, list[int], list[str | int], float]] = [
        (0, [], ["b"], 0.0),
        *((n, [n - 1], ["a", 0], score) for n in range(1, 41) for score in (-1.0, -0.5)),
        (40, [], ["c"], -3.0),
    ]
    found = mbr_kbest(
        Forest.from_edges(edges, vocabulary=Vocabulary("abc")), scale=0.1, k=10, method="linear"
    )
    assert {each.text: each.hypothesis.score for each in found} == {
        " ".join(["a"] * 40 + ["b"]): -20.0,
        "c": -3.0,
    }


def test_sentences_without_words() -> None:
    forest = Forest.from_edges([(0, [], [], -1.0), (0, [], ["a"], -2.0), (0, [], [], -0.5)])
    found = mbr_kbest(forest, k=3, method=Linear(theta=(-1.0, 0.0)))
    assert [(each.tokens, each.hypothesis.score) for each in found] == [((), -0.5), (("a",), -2.0)]


def test_real_forests_against_lists_of_all_their_sentences(shared_data: Path) -> None:
    path = shared_data / "multi30k-deen" / "hiero150.de-en.forest.d10.jsonl.gz"
    compared = 0
    for _, forest in zip(range(12), read(path), strict=False):
        assert isinstance(forest, Forest)
        every = NBest.from_hypotheses(k_best(forest, 2000, distinct=True))
        found = mbr_kbest(forest, scale=15.0, k=50, method="linear")
        assert len(found) == min(50, len(every))
        if len(every) < 2000:
            compared += 1
            listed = mbr_kbest(every, evidence=forest, scale=15.0, k=50, method="linear")
            assert [each.tokens for each in found] == [each.tokens for each in listed]
            for one, other in zip(found, listed, strict=True):
                assert one.expected == pytest.approx(other.expected, abs=1e-9)
                assert one.hypothesis.score == pytest.approx(other.hypothesis.score, abs=1e-9)
    assert compared
