"""Fast consensus decoding against a plain definition."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import FastConsensus, mbr, mbr_kbest
from lattices import Forest, Hypothesis, Lattice, NBest, OptionError, Space, SpaceError
from tests.decoding.minimum_risk.test_linear import every_path, ngrams_of
from tests.strategies import small_forests, small_lattices

Words = tuple[str, ...]


def expected_counts(
    systems: Sequence[Space], weights: Sequence[float], order: int, scale: float
) -> dict[Words, float]:
    found: dict[Words, float] = defaultdict(float)
    for system, weight in zip(systems, weights, strict=True):
        paths = every_path(system)
        masses = [math.exp(scale * path.score) for path in paths]
        for path, mass in zip(paths, masses, strict=True):
            for ngram in ngrams_of(path.tokens, order):
                found[ngram] += weight / sum(weights) * mass / sum(masses)
    return found


def bleu(words: Words, counts: dict[Words, float], order: int) -> float:
    """Return the definition in the docstring, written out."""
    length = math.fsum(value for ngram, value in counts.items() if len(ngram) == 1)
    if not words:
        return 1.0 if length == 0.0 else 0.0
    logs = []
    for n in range(1, min(order, len(words)) + 1):
        own = Counter(ngram for ngram in ngrams_of(words, order) if len(ngram) == n)
        matched = math.fsum(min(times, counts.get(ngram, 0.0)) for ngram, times in own.items())
        if matched <= 1e-13:
            return 0.0
        logs.append(math.log(matched / (len(words) - n + 1)))
    return math.exp(min(0.0, 1.0 - length / len(words)) + sum(logs) / len(logs))


@given(
    st.one_of(small_lattices(words="ab", max_states=7, max_arcs=14), small_forests(words="ab")),
    st.integers(1, 4),
    st.sampled_from([1.0, 0.3]),
)
def test_the_best_of_all_sentences(space: Lattice | Forest, order: int, scale: float) -> None:
    counts = expected_counts([space], [1.0], order, scale)
    objective = {path.tokens: bleu(path.tokens, counts, order) for path in every_path(space)}
    found = mbr_kbest(space, scale=scale, k=len(objective) + 1, method=FastConsensus(order=order))
    assert [each.expected for each in found] == pytest.approx(
        sorted(objective.values(), reverse=True), abs=1e-7
    )
    for each in found:
        assert each.expected == pytest.approx(objective[each.tokens], abs=1e-7)
        assert each.hypothesis == space.hypothesis(each.hypothesis.arcs)
        assert (each.method, each.candidates, each.evidence) == ("consensus", len(objective), -1)
    assert mbr(space, scale=scale, method=FastConsensus(order=order)) == found[0]
    short = mbr_kbest(space, scale=scale, k=2, method=FastConsensus(order=order))
    assert [each.expected for each in short] == [each.expected for each in found[:2]]


@settings(max_examples=50)
@given(small_lattices(words="abc"), small_forests(words="bca"), st.floats(0.1, 3.0))
def test_several_systems(one: Lattice, other: Forest, weight: float) -> None:
    systems, weights = [one, other], [weight, 1.0]
    counts = expected_counts(systems, weights, 4, 1.0)
    objective = {
        path.tokens: bleu(path.tokens, counts, 4)
        for system in systems
        for path in every_path(system)
    }
    found = mbr(systems, system_weights=weights, method="consensus")
    assert found.expected == pytest.approx(max(objective.values()), abs=1e-7)
    listed = mbr(
        NBest.from_hypotheses(map(Hypothesis, objective)),
        evidence=systems,
        system_weights=weights,
        method="consensus",
    )
    assert listed.expected == pytest.approx(found.expected, abs=1e-9)


def test_few_candidates_are_the_best_of_the_model() -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -1.0), (0, 1, "b", -1.1), (0, 1, "c", -1.2), (1, 2, "d")], finals=[2]
    )
    assert mbr(lattice, method=FastConsensus(candidates=1)).text == "a d"
    assert mbr(lattice, method=FastConsensus(candidates=2)).candidates == 2


def test_sentences_without_words() -> None:
    empty = Lattice.from_arcs([(0, 1, "")], finals=[1])
    assert (mbr(empty, method="consensus").tokens, mbr(empty, method="consensus").expected) == (
        (),
        1.0,
    )
    some = NBest.from_hypotheses([Hypothesis((), 0.0), Hypothesis(("a",), -9.0)])
    assert mbr(some, method="consensus").expected > 0.0
    assert mbr(some, method="consensus").text == "a"


def test_equal_entries_are_one_sentence_and_the_higher_score_stands_for_it() -> None:
    some = [Hypothesis(("a",), -2.0), Hypothesis(("b",), -3.0), Hypothesis(("a",), -1.0)]
    found = mbr_kbest(NBest.from_hypotheses(some), k=3, method="consensus")
    assert [(each.text, each.hypothesis.index) for each in found] == [("a", 2), ("b", 1)]


def test_what_is_refused() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    for method in (
        FastConsensus(candidates=0), FastConsensus(order=0), FastConsensus(merge="mean")
    ):  # fmt: skip
        with pytest.raises(OptionError):
            mbr(lattice, method=method)
    with pytest.raises(SpaceError, match="no complete path"):
        mbr(Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3), method="consensus")
    with pytest.raises(OptionError, match="empty"):
        mbr(NBest.from_hypotheses([]), method="consensus")
