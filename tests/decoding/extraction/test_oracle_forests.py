"""Forests through other engines, and reference lattices: the same derivations as the kernel's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.extraction import ranking
from decoding.extraction.oracle_search import oracle, oracle_kbest, worst
from fstmetrics import CER, GRR, WER, WRR
from fstmetrics.contract import quality
from lattices import Forest, Lattice
from lattices.arrays import ints
from lattices.errors import EngineError
from lattices.intersection import ANY, ENGINES, Found, Ranked
from lattices.intersection import forest_as_lattice as forest_expanded
from lattices.intersection.forest_as_lattice import best_parse, search_as_lattice
from lattices.intersection.kernel import ENGINE as KERNEL
from lattices.testing import sentences
from tests.strategies import small_forests

REFERENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=5).map(" ".join), min_size=1)
METRICS = st.sampled_from([WER(), WRR(), GRR(), GRR(n=2, alpha=0.0), CER()])


@settings(max_examples=60, deadline=None)
@given(small_forests(exact=True), REFERENCES, METRICS)
def test_openfst_finds_the_same_scores(forest, references, metric):
    pytest.importorskip("pynini")
    evaluator = metric.against(references)
    kernel = oracle(forest, evaluator)
    other = oracle(forest, evaluator, engine="openfst")
    scores = [evaluator.score(found.hypothesis.tokens) for found in (kernel, other)]
    assert scores[0] == scores[1]
    assert (other.hypothesis.score, other.exact) == (kernel.hypothesis.score, kernel.exact)
    assert (kernel.engine, other.engine) == ("kernel", "openfst")


@settings(max_examples=40, deadline=None)
@given(small_forests(), REFERENCES, st.sampled_from([0.5, -1.0]))
def test_openfst_finds_the_same_value_with_a_model(forest, references, model_weight):
    pytest.importorskip("pynini")
    evaluator = GRR().against(references)
    values = []
    for engine in ("kernel", "openfst"):
        found = oracle(forest, evaluator, engine=engine, model_weight=model_weight)
        sentence = found.hypothesis
        values.append(evaluator.score(sentence.tokens) + model_weight * sentence.score)
    assert values[0] == pytest.approx(values[1], abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(small_forests(exact=True), st.booleans())
def test_a_sentence_is_parsed_to_the_best_of_its_derivations(forest, lowest):
    everything = list(forest.derivations())
    tokens = everything[0].tokens
    scores = [one.score for one in everything if one.tokens == tokens]
    words = [forest.vocabulary.id(token) for token in tokens]
    found = forest.hypothesis(best_parse(forest, words, lowest))
    assert (found.tokens, found.score) == (tokens, min(scores) if lowest else max(scores))


def reference_lattice(alternatives):
    arcs = [(place, place + 1, word) for place, words in enumerate(alternatives) for word in words]
    return Lattice.from_arcs(arcs, finals=[len(alternatives)], states=len(alternatives) + 1)


@settings(max_examples=40, deadline=None)
@given(
    small_forests(exact=True),
    st.lists(st.sets(st.sampled_from(["a", "b", "d", ""]), min_size=1), min_size=1, max_size=3),
    st.sampled_from([WER(), GRR()]),
    st.sampled_from(["auto", "openfst"]),
    st.sampled_from([0, 64]),
)
def test_reference_lattices(forest, alternatives, metric, engine, most):
    if engine == "openfst":
        pytest.importorskip("pynini")
    evaluator = metric.against(["c c", reference_lattice(alternatives)])
    expected = min(
        forest.derivations(),
        key=lambda one: (-quality(metric, evaluator.score(one.tokens)), -one.score),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "MOST_REFERENCE_SENTENCES", most)
        found = oracle(forest, evaluator, engine=engine)
    assert evaluator.score(found.hypothesis.tokens) == evaluator.score(expected.tokens)
    assert found.hypothesis.score == expected.score
    assert found.exact


def test_what_is_too_large_is_refused(monkeypatch):
    forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0, 0], [1, 0])], id="seg")
    reference = reference_lattice([["a", "b"], ["a"]])
    monkeypatch.setattr(forest_expanded, "MOST_STATES", 2)
    with pytest.raises(EngineError, match=r"'seg'.*more than 2 states"):
        oracle(forest, WER().against(["a"]), engine="openfst")
    found = oracle(forest, WER().against([reference]))
    assert found.hypothesis.text == "a a"
    monkeypatch.setattr(ranking, "MOST_REFERENCE_SENTENCES", 1)
    with pytest.raises(EngineError, match=r"'seg'.*more than 2 states"):
        oracle(forest, WER().against([reference]))


def test_every_sentence_of_a_small_forest_is_its_own_oracle():
    forest = Forest.from_edges(
        [(0, [], ["a"]), (0, [], ["b", "a"]), (1, [0, 0], [1, "c", 0]), (1, [0], [0])]
    )
    for tokens in sentences(forest):
        for engine in ("kernel", "openfst"):
            if engine == "openfst":
                pytest.importorskip("pynini")
            found = oracle(forest, GRR().against([tokens]), engine=engine)
            assert found.hypothesis.tokens == tokens


class Enumerating:
    """A third party's engine: every sentence of a space, scored by the machine's own arcs."""

    name = "mine"

    def can_run(self, space, machine):
        return True if isinstance(space, Forest) else "I search forests alone"

    def best(self, problems, *, model_weight=0.0, workers=1, memory=0):
        return [self._best(*problem, model_weight) for problem in problems]

    def _best(self, forest, machine, model_weight):
        found = []
        for one in forest.derivations():
            gain = gain_of(machine.automaton, forest.vocabulary, one.tokens)
            value = gain * machine.unit + model_weight * one.score
            found.append((value, one.score, ints(one.arcs)))
        if not found:
            return None
        value, _, edges = max(found, key=lambda each: each[:2])
        return Found(value, edges, 0)


def gain_of(automaton, vocabulary, tokens):
    """Return the best gain with which an automaton reads a sentence, by relaxation."""
    arcs = list(
        zip(
            *(getattr(automaton, name).tolist() for name in ("src", "dst", "label", "gain")),
            strict=True,
        )
    )

    def closed(row):
        for _ in row:
            for src, dst, label, gain in arcs:
                if label == 0:
                    row[dst] = max(row[dst], row[src] + gain)
        return row

    row = closed(automaton.initial.tolist())
    for word in map(vocabulary.id, tokens):
        after = [-np.inf] * len(row)
        for src, dst, label, gain in arcs:
            if label in (ANY, word):
                after[dst] = max(after[dst], row[src] + gain)
        row = closed(after)
    return max(np.add(row, automaton.final))


@pytest.fixture
def mine():
    ENGINES.register("mine", Enumerating())
    yield
    ENGINES.unregister("mine")


@pytest.mark.parametrize("metric", [WER(), GRR(n=2), CER()], ids=str)
@pytest.mark.parametrize("model_weight", [0.0, 0.5])
def test_a_third_partys_engine_searches_forests(mine, metric, model_weight):
    forest = Forest.from_edges(
        [(0, [], ["cat"], -1.0), (0, [], ["dog"]), (1, [0, 0], [1, "and", 0]), (1, [0], ["the", 0])]
    )
    for reference in ("the dog", "cat and dog", "x"):
        evaluator = metric.against([reference])
        theirs = oracle(forest, evaluator, engine="mine", model_weight=model_weight)
        ours = oracle(forest, evaluator, model_weight=model_weight)
        assert (theirs.engine, ours.engine) == ("mine", "kernel")
        assert (theirs.hypothesis, theirs.score) == (ours.hypothesis, ours.score)
        assert theirs.exact
    with pytest.raises(EngineError, match="mine finds the best sentence alone"):
        oracle_kbest(forest, evaluator, 2, engine="mine")
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1], id="seg")
    with pytest.raises(EngineError, match="lattice 'seg': mine: I search forests alone"):
        oracle(lattice, metric.against(["a"]), engine="mine")


def test_a_third_partys_engine_ranks_if_it_can(mine):
    class Ranking(Enumerating):
        def k_best(self, problem, k, *, model_weight=0.0, budget, memory=0, words=None):
            (found,) = self.best([problem], model_weight=model_weight)
            return Ranked([found.arcs] * k, "mine", proven=False)

        def worst(self, problem, k, *, model_weight=0.0, budget, memory=0, words=None):
            return None

    ENGINES.register("ranking", Ranking())
    try:
        forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"])])
        evaluator = WER().against(["b"])
        found = oracle_kbest(forest, evaluator, 2, engine="ranking")
        assert [(each.text, each.engine, each.exact) for each in found] == [
            ("b", "mine", False)
        ] * 2
        (lowest,) = worst(forest, evaluator, engine="ranking")
        assert (lowest.text, lowest.engine) == ("a", "scorer")
    finally:
        ENGINES.unregister("ranking")


def test_an_engine_for_lattices_alone_may_take_the_lattice_of_a_forest(mine):
    class OfLattices(Enumerating):
        def can_run(self, space, machine):
            return True

        def best(self, problems, *, model_weight=0.0, workers=1, memory=0):
            return [
                search_as_lattice(self, space, machine, model_weight=model_weight)
                if isinstance(space, Forest)
                else KERNEL.best([(space, machine)], model_weight=model_weight)[0]
                for space, machine in problems
            ]

    ENGINES.register("of-lattices", OfLattices())
    try:
        forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0, 0], [1, "or", 0])])
        found = oracle(forest, WER().against(["b or a"]), engine="of-lattices")
        assert (found.hypothesis.arcs, found.score) == ((2, 0, 1), 0.0)
    finally:
        ENGINES.unregister("of-lattices")
