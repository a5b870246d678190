"""Forests through other engines, and reference lattices: the same derivations as the kernel's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.extraction import forests as forest_oracle
from decoding.extraction.forests import best_derivations
from fstmetrics import CER, GRR, WER, WRR, quality
from lattices import Forest, Lattice
from lattices.errors import EngineError
from lattices.intersection import expanded as forest_expanded
from lattices.intersection.expanded import best_parse
from lattices.testing import sentences
from tests.strategies import small_forests

REFERENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=5).map(" ".join), min_size=1)
METRICS = st.sampled_from([WER(), WRR(), GRR(), GRR(n=2, alpha=0.0), CER()])


@settings(max_examples=60, deadline=None)
@given(small_forests(exact=True), REFERENCES, METRICS)
def test_openfst_finds_the_same_scores(forest, references, metric):
    pytest.importorskip("pynini")
    evaluator = metric.against(references)
    (kernel,) = best_derivations([forest], [evaluator])
    (other,) = best_derivations([forest], [evaluator], engine="openfst")
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
        (found,) = best_derivations([forest], [evaluator], engine=engine, model_weight=model_weight)
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
        patch.setattr(forest_oracle, "MOST_REFERENCE_SENTENCES", most)
        (found,) = best_derivations([forest], [evaluator], engine=engine)
    assert evaluator.score(found.hypothesis.tokens) == evaluator.score(expected.tokens)
    assert found.hypothesis.score == expected.score
    assert found.exact


def test_what_is_too_large_is_refused(monkeypatch):
    forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0, 0], [1, 0])], id="seg")
    reference = reference_lattice([["a", "b"], ["a"]])
    monkeypatch.setattr(forest_expanded, "MOST_STATES", 2)
    with pytest.raises(EngineError, match=r"'seg'.*more than 2 states"):
        best_derivations([forest], [WER().against(["a"])], engine="openfst")
    (found,) = best_derivations([forest], [WER().against([reference])])
    assert found.hypothesis.text == "a a"
    monkeypatch.setattr(forest_oracle, "MOST_REFERENCE_SENTENCES", 1)
    with pytest.raises(EngineError, match=r"'seg'.*more than 2 states"):
        best_derivations([forest], [WER().against([reference])])


def test_every_sentence_of_a_small_forest_is_its_own_oracle():
    forest = Forest.from_edges(
        [(0, [], ["a"]), (0, [], ["b", "a"]), (1, [0, 0], [1, "c", 0]), (1, [0], [0])]
    )
    for tokens in sentences(forest):
        for engine in ("kernel", "openfst"):
            if engine == "openfst":
                pytest.importorskip("pynini")
            (found,) = best_derivations([forest], [GRR().against([tokens])], engine=engine)
            assert found.hypothesis.tokens == tokens
