"""The k best and the worst of lattices that are searched in parts, beside enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import oracle_kbest, worst
from fstmetrics import CER, GRR, WER, WRR, AffixSimilarity
from fstmetrics.contract import quality
from lattices import Lattice, concatenate
from lattices.errors import TooLargeError
from lattices.intersection import kernel, worst_of_stretches
from lattices.intersection.kernel import ENGINE
from lattices.intersection.product_kbest import best_near, best_sentences
from lattices.limits import Limits
from tests.judges import model_score
from tests.strategies import examples, sentences, small_lattices

METRICS = [
    WER(),
    WRR(),
    GRR(),
    GRR(n=2, alpha=-0.9, beta=1.0),
    GRR(n=6, alpha=2.0, beta=-0.5),
    GRR(similarity=AffixSimilarity(epsilon=0.5)),
]
WEIGHTS = st.sampled_from([0.0, 0.0, 0.5, -0.25])


@pytest.fixture
def everything_is_long(monkeypatch):
    """Search in parts whatever its size, with stretches of one word or more."""
    monkeypatch.setattr(kernel, "WHOLE_PAIRS", 0)
    monkeypatch.setattr(worst_of_stretches, "WORDS", 1)


def values_by_words(lattice, evaluator, weight):
    """Return the objective of each sentence by enumeration: of its best path, and of its worst."""
    best: dict[tuple[str, ...], float] = {}
    lowest: dict[tuple[str, ...], float] = {}
    for path in lattice.paths():
        value = quality(evaluator.metric, evaluator.score(path.tokens))
        value += weight * model_score(lattice, path)
        best[path.tokens] = max(value, best.get(path.tokens, value))
        lowest[path.tokens] = min(value, lowest.get(path.tokens, value))
    return best, lowest


@settings(max_examples=examples(300))
@given(
    small_lattices(exact=True),
    st.lists(sentences(), min_size=1, max_size=3),
    st.sampled_from(METRICS),
    WEIGHTS,
    st.sampled_from([1, 2, 5, 1000]),
)
def test_the_k_best_near_the_best_equal_enumeration(lattice, references, metric, weight, k):
    evaluator = metric.against([" ".join(words) for words in references])
    machine = evaluator.machine(lattice.vocabulary)
    found = best_near(lattice, machine, k, weight / machine.unit)
    assert found.proven
    said = [lattice.hypothesis(path).tokens for path in found.paths]
    values, _ = values_by_words(lattice, evaluator, weight)
    assert len(said) == len(set(said)) == min(k, len(values))
    wanted = sorted(values.values(), reverse=True)[:k]
    assert [values[words] for words in said] == pytest.approx(wanted, abs=1e-9)


def chain(random, segments, words="abcdef"):
    """Return a chained lattice with arcs that skip states, and a reference that is like it."""
    parts = []
    for _ in range(segments):
        states = int(random.integers(3, 9))
        arcs = [(at, at + 1) for at in range(states - 1)]
        arcs += [
            (at, min(states - 1, at + int(random.integers(1, 3))))
            for at in random.integers(0, states - 1, 3).tolist()
        ]
        labels = random.choice([*words, ""], len(arcs), p=[0.95 / len(words)] * len(words) + [0.05])
        scores = random.integers(-4, 4, len(arcs)) / 4
        parts.append(
            Lattice.from_arcs(
                [(*ends, *rest) for *rest, ends in zip(labels, scores, arcs, strict=True)],
                finals=[states - 1],
            )
        )
    path = next(iter(concatenate(parts).paths())).tokens
    said = [word if random.random() < 0.7 else random.choice([*words]) for word in path]
    return concatenate(parts), " ".join(said)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weight", [0.0, 0.25])
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_the_k_best_near_the_best_equal_those_of_the_whole_product(metric, weight, seed):
    lattice, reference = chain(np.random.default_rng(seed), 60)
    machine = metric.against([reference]).machine(lattice.vocabulary)
    scaled = weight / machine.unit
    whole = [
        lattice.hypothesis(path) for path in best_sentences(lattice, machine.automaton, 20, scaled)
    ]
    found = best_near(lattice, machine, 20, scaled)
    some = [lattice.hypothesis(path) for path in found.paths]
    evaluator = metric.against([reference])

    def value(each):
        return quality(metric, evaluator.score(each.tokens)) + weight * model_score(lattice, each)

    assert found.proven
    assert len({each.tokens for each in some}) == 20
    assert [value(each) for each in some] == pytest.approx([value(each) for each in whole])


def test_of_equal_sentences_the_better_model_score_comes_first(everything_is_long):
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -2.0), (0, 1, "b", -1.0), (0, 1, "the", -9.0), (1, 2, "c", 0.0)], finals=[2]
    )
    found = oracle_kbest(lattice, WER().against(["the c"]), 3)
    assert [(each.text, each.score) for each in found] == [("the c", 0), ("b c", 0.5), ("a c", 0.5)]
    assert all(each.exact for each in found)


def test_the_k_best_are_refused_below_what_they_take_and_proven_above():
    lattice, reference = chain(np.random.default_rng(1), 40)
    evaluator = WER().against([reference, "a b c"])
    machine = evaluator.machine(lattice.vocabulary)
    refused, unproven, memory = [], [], 1000
    while True:
        try:
            found = best_near(lattice, machine, 200, 0.0, memory=memory)
        except TooLargeError as problem:
            refused.append(str(problem))
        else:
            if found.proven:
                break
            unproven.append(memory)
        memory = memory * 5 // 4
    assert all("of memory or more" in problem for problem in refused)
    assert refused
    assert len(found.paths) == 200


def lattice_of(parts, times):
    return concatenate(parts * times) if len(parts) * times > 1 else parts[0]


@settings(max_examples=examples(300))
@given(
    st.lists(small_lattices(exact=True, features=False), min_size=1, max_size=2),
    st.lists(sentences(), min_size=1, max_size=2),
    st.sampled_from(METRICS),
    WEIGHTS,
    st.sampled_from([1, 1, 3]),
)
def test_what_is_said_of_the_worst_holds(parts, references, metric, weight, k):
    lattice = lattice_of(parts, 2)
    evaluator = metric.against([" ".join(words) for words in references])
    machine = evaluator.machine(lattice.vocabulary)
    before, worst_of_stretches.WORDS = worst_of_stretches.WORDS, 1
    try:
        found = worst_of_stretches.worst_of_stretches(
            ENGINE, lattice, machine, k, weight, Limits(1_000_000)
        )
    finally:
        worst_of_stretches.WORDS = before
    if found is None:
        return
    _, values = values_by_words(lattice, evaluator, weight)
    said = [lattice.hypothesis(path).tokens for path in found.paths]
    assert len(said) == len(set(said)) == min(k, len(values))
    wanted = sorted(values.values())[:k]
    reached = [values[words] for words in said]
    assert all(value >= lowest - 1e-9 for value, lowest in zip(reached, wanted, strict=True))
    if found.proven:
        assert reached == pytest.approx(wanted, abs=1e-9)
    if found.gap is not None:
        assert reached[0] - found.gap <= wanted[0] + 1e-9


@pytest.mark.parametrize("metric", [WER(), CER(), GRR()], ids=str)
def test_the_worst_of_a_long_lattice_has_a_bound(metric, everything_is_long):
    lattice, reference = chain(np.random.default_rng(3), 40)
    evaluator = metric.against([reference])
    (found,) = worst(lattice, evaluator)
    (wanted,) = worst(lattice, evaluator, budget=10_000_000) if found.exact else (found,)
    assert found.score == pytest.approx(wanted.score)
    if not found.exact:
        assert found.bound is not None
        assert quality(metric, found.bound) <= quality(metric, found.score)
    several = worst(lattice, evaluator, 4)
    assert len({each.tokens for each in several}) == 4
