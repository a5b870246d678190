"""Lattice MBR against every sentence of small spaces."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import Linear, mbr, mbr_kbest
from decoding.minimum_risk.evidence import evidence_of
from fstmetrics.ngram.linear import linear_factors
from lattices import (
    Forest,
    Hypothesis,
    Lattice,
    NBest,
    OptionError,
    Space,
    SpaceError,
    best,
    k_best,
    read,
)
from lattices.errors import UnknownNameError
from tests.strategies import small_forests, small_lattices

factors = st.one_of(
    st.sampled_from([(-0.1, 0.3, 0.2, 0.4), (-1.0, 1.0), (0.0, 0.0, 1.0), (0.5, -0.3, 0.2, -0.4)]),
    st.lists(st.integers(-50, 50).map(lambda n: n / 50), min_size=2, max_size=5).map(tuple),
)
Words = tuple[str, ...]


def every_path(space: Space) -> list[Hypothesis]:
    if isinstance(space, Lattice):
        return list(space.paths())
    return list(space.derivations()) if isinstance(space, Forest) else list(space)


def ngrams_of(words: Words, order: int) -> list[Words]:
    return [
        words[begin : begin + length]
        for length in range(1, order + 1)
        for begin in range(len(words) - length + 1)
    ]


def presence(
    systems: Sequence[Space], weights: Sequence[float], order: int, scale: float
) -> dict[Words, float]:
    """Return the mean over the systems of the probability that a sentence has each n-gram."""
    found: dict[Words, float] = defaultdict(float)
    for system, weight in zip(systems, weights, strict=True):
        paths = every_path(system)
        masses = [math.exp(scale * path.score) for path in paths]
        for path, mass in zip(paths, masses, strict=True):
            for ngram in set(ngrams_of(path.tokens, order)):
                found[ngram] += weight / sum(weights) * mass / sum(masses)
    return found


def gain(words: Words, posterior: dict[Words, float], theta: Sequence[float]) -> float:
    own = ngrams_of(words, len(theta) - 1)
    return theta[0] * len(words) + math.fsum(
        theta[len(ngram)] * posterior.get(ngram, 0.0) for ngram in own
    )


def ranked(
    spaces: Sequence[Space], posterior: dict[Words, float], theta: Sequence[float]
) -> list[tuple[float, float, Words]]:
    """Return all sentences: by gain, then score, then words."""
    best_score: dict[Words, float] = {}
    for space in spaces:
        for path in every_path(space):
            known = best_score.get(path.tokens, -math.inf)
            best_score[path.tokens] = max(known, path.score)
    return sorted(
        (-round(gain(words, posterior, theta), 8), -score, words)
        for words, score in best_score.items()
    )


def check_best(found: Hypothesis, value: float, expected: list[tuple[float, float, Words]]) -> None:
    assert value == pytest.approx(-expected[0][0], abs=2e-8)
    own = next(each for each in expected if each[2] == found.tokens)
    assert own[0] == expected[0][0]
    assert found.score == pytest.approx(-own[1], abs=1e-9)
    # of equal gains the highest score: no other may be clearly higher
    assert -own[1] >= max(-score for first, score, _ in expected if first == own[0]) - 1e-9


@given(small_lattices(words="ab", max_states=7, max_arcs=14), factors, st.sampled_from([1.0, 0.3]))
def test_a_lattice_gives_the_true_best(
    lattice: Lattice, theta: tuple[float, ...], scale: float
) -> None:
    posterior = presence([lattice], [1.0], len(theta) - 1, scale)
    found = mbr(lattice, scale=scale, method=Linear(theta=theta))
    expected = ranked([lattice], posterior, theta)
    check_best(found.hypothesis, found.expected, expected)
    assert found.hypothesis == lattice.hypothesis(found.hypothesis.arcs)
    assert (found.method, found.exact, found.candidates, found.evidence) == ("linear", True, -1, -1)


@settings(max_examples=60)
@given(small_lattices(words="ab", max_states=7, max_arcs=14, exact=True))
def test_ties_go_to_the_score(lattice: Lattice) -> None:
    # all sentences gain nothing: what is left is the lattice's own best score
    found = mbr(lattice, method=Linear(theta=(0.0, 0.0)))
    assert found.expected == 0.0
    assert found.hypothesis.score == best(lattice).score
    assert found.hypothesis == lattice.hypothesis(found.hypothesis.arcs)
    assert found == mbr(lattice, method=Linear(theta=(0.0, 0.0)))


@given(small_forests(words="ab"), factors, st.sampled_from([1.0, 0.3]))
def test_a_forest_gives_the_true_best(
    forest: Forest, theta: tuple[float, ...], scale: float
) -> None:
    posterior = presence([forest], [1.0], len(theta) - 1, scale)
    found = mbr(forest, scale=scale, method=Linear(theta=theta))
    check_best(found.hypothesis, found.expected, ranked([forest], posterior, theta))
    assert found.hypothesis == forest.hypothesis(found.hypothesis.arcs)


@given(
    st.one_of(small_lattices(words="ab", max_states=7, max_arcs=14), small_forests(words="ab")),
    factors.filter(lambda theta: min(theta[1:]) >= 0),
    st.sampled_from([1.0, 0.3]),
)
def test_intersections_in_openfst_give_what_the_kernel_does(
    space: Lattice | Forest, theta: tuple[float, ...], scale: float
) -> None:
    pytest.importorskip("pynini")
    found = mbr(space, scale=scale, method=Linear(theta=theta))
    other = mbr(space, scale=scale, method=Linear(theta=theta, engine="openfst"))
    # OpenFst adds in single precision
    assert other.expected == pytest.approx(found.expected, abs=1e-5)
    posterior = presence([space], [1.0], len(theta) - 1, scale)
    assert other.expected == pytest.approx(gain(other.tokens, posterior, theta), abs=1e-8)
    assert other.hypothesis == space.hypothesis(other.hypothesis.arcs)


def test_openfst_combines_systems_and_has_other_evidence() -> None:
    pytest.importorskip("pynini")
    one = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0), (1, 2, "c")], finals=[2])
    two = Lattice.from_arcs([(0, 1, "b", 0.0), (1, 2, "c"), (1, 2, "d", -3.0)], finals=[2])
    for options in ({}, {"system_weights": [1, 5]}, {"evidence": [two]}):
        expected = mbr([one, two], method=Linear(word_penalty=0.1), **options)
        found = mbr([one, two], method=Linear(word_penalty=0.1, engine="openfst"), **options)
        assert found.tokens == expected.tokens
        assert found.expected == pytest.approx(expected.expected)


def test_what_no_engine_but_the_kernel_does() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    for engine in ("auto", "kernel"):
        assert mbr_kbest(lattice, k=2, method=Linear(engine=engine))[0].text == "a"
    openfst = Linear(engine="openfst")
    with pytest.raises(OptionError, match="openfst finds the best sentence, not the k best"):
        mbr_kbest(lattice, k=2, method=openfst)
    with pytest.raises(OptionError, match="no n-best lists"):
        mbr(NBest.from_hypotheses(lattice.paths()), method=openfst)
    with pytest.raises(OptionError, match="no n-grams that cost something"):
        mbr(lattice, method=Linear(theta=(0.0, -1.0), engine="openfst"))
    with pytest.raises(UnknownNameError, match="no engine named 'fast'"):
        mbr(lattice, method=Linear(engine="fast"))


@settings(max_examples=60)
@given(small_lattices(words="abc", max_states=7, max_arcs=14), factors)
def test_a_lattice_as_a_forest_and_as_a_list(lattice: Lattice, theta: tuple[float, ...]) -> None:
    found = mbr(lattice, method=Linear(theta=theta))
    forest = mbr(Forest.from_lattice(lattice), method=Linear(theta=theta))
    nbest = mbr(NBest.from_hypotheses(lattice.paths()), method=Linear(theta=theta))
    for other in (forest, nbest):
        assert other.expected == pytest.approx(found.expected, abs=1e-9)
        assert other.hypothesis.score == pytest.approx(found.hypothesis.score, abs=1e-9)
    expected = ranked([lattice], presence([lattice], [1.0], len(theta) - 1, 1.0), theta)
    if len(expected) == 1 or expected[0][:2] < (expected[1][0], expected[1][1] - 1e-9):
        assert found.tokens == forest.tokens == nbest.tokens


@settings(max_examples=60)
@given(small_lattices(words="ab", max_states=7, max_arcs=14), factors, st.integers(1, 6))
def test_the_k_best(lattice: Lattice, theta: tuple[float, ...], k: int) -> None:
    posterior = presence([lattice], [1.0], len(theta) - 1, 1.0)
    expected = ranked([lattice], posterior, theta)
    nbest = NBest.from_hypotheses(lattice.paths(), vocabulary=lattice.vocabulary)
    for space in (lattice, nbest):
        found = mbr_kbest(space, k=k, method=Linear(theta=theta))
        assert len(found) == min(k, len(expected))
        assert len({each.tokens for each in found}) == len(found)
        for each, (value, _, _) in zip(found, expected, strict=False):
            assert each.expected == pytest.approx(-value, abs=2e-8)
            assert gain(each.tokens, posterior, theta) == pytest.approx(-value, abs=2e-8)
        assert found[0] == mbr(space, method=Linear(theta=theta))


@settings(max_examples=60)
@given(
    small_lattices(words="abc"),
    st.one_of(small_lattices(words="bcd"), small_forests(words="bca")),
    st.tuples(st.floats(0.0, 2.0), st.floats(0.1, 2.0)),
    factors,
)
def test_several_systems(
    one: Lattice, other: Space, weights: tuple[float, float], theta: tuple[float, ...]
) -> None:
    posterior = presence([one, other], weights, len(theta) - 1, 1.0)
    found = mbr([one, other], system_weights=weights, method=Linear(theta=theta))
    expected = ranked([one, other], posterior, theta)
    assert found.expected == pytest.approx(-expected[0][0], abs=2e-8)
    assert gain(found.tokens, posterior, theta) == pytest.approx(-expected[0][0], abs=2e-8)
    apart = mbr(one, evidence=[one, other], system_weights=weights, method=Linear(theta=theta))
    assert apart.expected == pytest.approx(-ranked([one], posterior, theta)[0][0], abs=2e-8)
    # evidence that lists a system twice is evidence of a heavier system
    doubled = mbr(one, evidence=[one, one], method=Linear(theta=theta))
    assert doubled.expected == pytest.approx(
        mbr(one, method=Linear(theta=theta)).expected, abs=1e-9
    )


@settings(max_examples=40)
@given(small_lattices(words="ab", max_states=7, max_arcs=14, exact=True), st.data())
def test_neither_the_order_of_arcs_nor_split_mass_matters(
    lattice: Lattice, data: st.DataObject
) -> None:
    arcs = [
        (int(src), int(dst), lattice.vocabulary.word(int(label)), float(score))
        for src, dst, label, score in zip(
            lattice.src, lattice.dst, lattice.label, lattice.score, strict=True
        )
    ]
    finals = {int(state): float(lattice.final[state]) for state in lattice.finals}
    theta = (-0.2, 0.3, 0.4)

    def chosen(rows: list[tuple[int, int, str, float]]) -> tuple[float, float]:
        changed = Lattice.from_arcs(rows, finals, states=lattice.num_states, start=lattice.start)
        found = mbr(changed, method=Linear(theta=theta))
        return found.hypothesis.score, found.expected

    assert chosen(arcs) == chosen(data.draw(st.permutations(arcs)))
    if arcs:
        split = data.draw(st.integers(0, len(arcs) - 1))
        *same, score = arcs[split]
        halves = [(*same, score + math.log(share)) for share in (0.3, 0.7)]
        doubled = [*arcs[:split], *halves, *arcs[split + 1 :]]
        assert chosen(doubled)[1] == pytest.approx(chosen(arcs)[1], abs=1e-9)


def test_merging_by_the_best_path() -> None:
    pytest.importorskip("pynini")
    # five equal paths for "a b", one somewhat better for "c d"
    arcs = [(0, 1, "a", -1.0)] * 5 + [(1, 3, "b", 0.0), (0, 2, "c", -0.5), (2, 3, "d", 0.0)]
    lattice = Lattice.from_arcs(arcs, finals=[3])
    assert mbr(lattice, method="linear").text == "a b"
    assert mbr(lattice, method=Linear(merge="max")).text == "c d"
    assert mbr(Forest.from_lattice(lattice), method=Linear(merge="max")).text == "c d"
    assert mbr(NBest.from_hypotheses(lattice.paths()), method=Linear(merge="max")).text == "c d"


def test_factors_are_those_of_the_paper() -> None:
    found = linear_factors(0.85, 0.72, 10.0)
    assert found.word == -0.1
    for n, value in enumerate(found.ngram, start=1):
        assert value == pytest.approx(1 / (4 * 10 * 0.85 * 0.72 ** (n - 1)))
    assert linear_factors(word_penalty=0.5).word == pytest.approx(-0.6)


def test_a_word_penalty_makes_sentences_shorter() -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "a"), (1, 2, "b"), (0, 2, "c", -0.5), (2, 3, "d")], finals=[3]
    )
    assert mbr(lattice, method=Linear(word_penalty=-1.0)).text == "a b d"
    assert mbr(lattice, method=Linear(word_penalty=1.0)).text == "c d"


def test_small_and_strange_spaces() -> None:
    one = Lattice.from_arcs([(0, 1, "a", -3.0)], finals=[1])
    assert mbr(one, method="linear").text == "a"
    empty = Lattice.from_arcs([(0, 1, "", -3.0)], finals=[1])
    found = mbr_kbest(empty, k=3, method="linear")
    assert [(each.tokens, each.expected) for each in found] == [((), 0.0)]
    both = Lattice.from_arcs([(0, 1, "a", -3.0), (0, 1, "", -1.0)], finals=[1])
    assert mbr(both, scale=0.0, method=Linear(theta=(-1.0, 0.5))).tokens == ()
    twins = NBest.from_hypotheses([Hypothesis(("a",), -1.0)] * 20_000 + [Hypothesis(("b",), -1.0)])
    assert mbr(twins, method="linear").text == "a"
    assert (mbr(twins, method="linear").candidates, mbr(twins, method="linear").evidence) == (
        20_001,
        20_001,
    )
    assert [each.text for each in mbr_kbest(twins, k=5, method="linear")] == ["a", "b"]


def test_what_is_refused() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3)
    with pytest.raises(SpaceError, match="no complete path"):
        mbr(dead, method="linear")
    with pytest.raises(OptionError, match="empty"):
        mbr(NBest.from_hypotheses([]), method="linear")
    with pytest.raises(OptionError, match="empty"):
        mbr(lattice, evidence=NBest.from_hypotheses([]), method="linear")
    wrong = [
        Linear(p=0.0), Linear(r=math.nan), Linear(T=-1.0), Linear(theta=[1.0]), Linear(order=0),
        Linear(theta=[0.0, math.inf]), Linear(merge="mean"), Linear(word_penalty=math.nan),
    ]  # fmt: skip
    for method in wrong:
        with pytest.raises(OptionError):
            mbr(lattice, method=method)
    arguments: list[dict[str, Any]] = [
        {"scale": math.nan}, {"evidence": []}, {"evidence": "lattice"},
        {"evidence": evidence_of(lattice)},
        {"system_weights": [1.0, 2.0]}, {"system_weights": [-1.0]}, {"system_weights": [0.0]},
    ]  # fmt: skip
    for options in arguments:
        with pytest.raises(OptionError):
            mbr(lattice, method="linear", **options)
    with pytest.raises(OptionError, match="k is at least 1"):
        mbr_kbest(lattice, k=0, method="linear")
    with pytest.raises(OptionError):
        mbr([], method="linear")


def test_real_lattices_against_all_sentences_of_a_long_list(shared_data: Path) -> None:
    folder = shared_data / "multi30k-deen"
    for name in ("val.de-en.lat.d10.jsonl.gz", "hiero150.de-en.forest.d10.jsonl.gz"):
        for _, space in zip(range(2), read(folder / name), strict=False):
            assert not isinstance(space, NBest)
            found = mbr(space, scale=15.0, method="linear")
            sentences = NBest.from_hypotheses(k_best(space, 2000, distinct=True))
            listed = mbr(sentences, evidence=space, scale=15.0, method="linear")
            assert found.expected >= listed.expected - 1e-9
            if len(sentences) < 2000:
                assert found.expected == pytest.approx(listed.expected, abs=1e-9)
                assert found.tokens == listed.tokens
            assert np.isfinite(found.expected)
