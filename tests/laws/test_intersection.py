"""Both engines, the paper's machine and enumeration give the same best value and path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import GRR, WER, WRR, AffixSimilarity
from lattices.intersection import ENGINES
from tests.judges import model_score, paper_machine, score_by_recursion
from tests.strategies import examples, sentences, small_lattices

METRICS = st.one_of(
    st.just(WER()),
    st.just(WRR()),
    st.builds(
        GRR,
        n=st.integers(1, 6),
        alpha=st.sampled_from([1.0, 0.0, -0.9, 0.5, 2.0, 1 / 3]),
        beta=st.sampled_from([0.0, 1.0, 0.25, -0.5]),
    ),
)
ENGINE_NAMES = ("kernel", "openfst")


@settings(max_examples=examples(1000))
@given(small_lattices(exact=True), st.lists(sentences(), min_size=1, max_size=3), METRICS)
def test_engines_agree_with_enumeration(lattice, references, metric):
    evaluator = metric.against(references)
    machine = evaluator.machine(lattice.vocabulary)
    expected = max(score_by_recursion(path.tokens, references, metric) for path in lattice.paths())
    found = {name: ENGINES.get(name).best([(lattice, machine)])[0] for name in ENGINE_NAMES}
    for result in found.values():
        assert result.value == pytest.approx(expected, abs=1e-6)
        tokens = lattice.hypothesis(result.arcs).tokens
        assert score_by_recursion(tokens, references, metric) == pytest.approx(expected, abs=1e-6)
    kernel, openfst = (
        model_score(lattice, lattice.hypothesis(each.arcs)) for each in found.values()
    )
    assert kernel == openfst


@settings(max_examples=examples(500))
@given(
    small_lattices(exact=True),
    sentences(),
    st.sampled_from([WER(), GRR(), GRR(n=2), GRR(n=3, alpha=2.0, beta=1.0)]),
)
def test_of_equal_values_the_highest_model_score_is_taken(lattice, reference, metric):
    paths = list(lattice.paths())
    values = [
        (score_by_recursion(path.tokens, [reference], metric), model_score(lattice, path))
        for path in paths
    ]
    machine = metric.against([reference]).machine(lattice.vocabulary)
    for name in ENGINE_NAMES:
        found = ENGINES.get(name).best([(lattice, machine)])[0]
        path = lattice.hypothesis(found.arcs)
        value = score_by_recursion(path.tokens, [reference], metric)
        assert (value, model_score(lattice, path)) == max(values)
        again = ENGINES.get(name).best([(lattice, machine)])[0]
        assert again.arcs.tolist() == found.arcs.tolist()


@settings(max_examples=examples(300))
@given(small_lattices(exact=True), sentences(), METRICS)
def test_the_papers_machine_has_the_same_best_value(lattice, reference, metric):
    ours = metric.against([reference]).machine(lattice.vocabulary)
    papers = paper_machine(reference, metric, lattice.vocabulary)
    kernel = ENGINES.get("kernel")
    assert kernel.best([(lattice, ours)])[0].value == pytest.approx(
        kernel.best([(lattice, papers)])[0].value, abs=1e-9
    )


@settings(max_examples=examples(300))
@given(
    small_lattices(),
    st.lists(sentences(), min_size=1, max_size=2),
    METRICS,
    st.sampled_from([0.5, -0.5, 3.0, 0.01]),
)
def test_model_weight_interpolates(lattice, references, metric, weight):
    machine = metric.against(references).machine(lattice.vocabulary)
    expected = max(
        score_by_recursion(path.tokens, references, metric) + weight * path.score
        for path in lattice.paths()
    )
    for name in ENGINE_NAMES:
        found = ENGINES.get(name).best([(lattice, machine)], model_weight=weight)[0]
        assert found.value == pytest.approx(expected, abs=1e-5)
        path = lattice.hypothesis(found.arcs)
        value = score_by_recursion(path.tokens, references, metric) + weight * path.score
        assert value == pytest.approx(expected, abs=1e-5)


@settings(max_examples=examples(200))
@given(small_lattices(words=("walk", "walked", "talked", "x")), sentences(("walking", "talk")))
def test_soft_matching_agrees_with_the_scorer(lattice, reference):
    for metric in (
        WER(similarity=AffixSimilarity(epsilon=0.9)),
        GRR(n=3, similarity=AffixSimilarity(epsilon=0.9)),
    ):
        evaluator = metric.against([reference])
        machine = evaluator.machine(lattice.vocabulary, np.unique(lattice.label))
        best = max(
            (evaluator.score(path.tokens) for path in lattice.paths()),
            key=lambda score: score if metric.higher_is_better else -score,
        )
        for name in ENGINE_NAMES:
            found = ENGINES.get(name).best([(lattice, machine)])[0]
            score = evaluator.score(lattice.hypothesis(found.arcs).tokens)
            assert score == pytest.approx(best, abs=1e-5)


@settings(max_examples=examples(200))
@given(
    small_lattices(exact=True, max_states=5, max_arcs=7),
    small_lattices(max_states=5, max_arcs=7),
    METRICS,
)
def test_a_reference_lattice_is_the_list_of_its_sentences(lattice, reference, metric):
    listed = sorted({path.tokens for path in reference.paths()})
    whole, split = metric.against([reference]), metric.against(listed)
    for path in lattice.paths():
        assert whole.score(path.tokens) == pytest.approx(split.score(path.tokens), abs=1e-9)
    for name in ENGINE_NAMES:
        engine = ENGINES.get(name)
        one = engine.best([(lattice, whole.machine(lattice.vocabulary))])[0]
        other = engine.best([(lattice, split.machine(lattice.vocabulary))])[0]
        assert one.value == pytest.approx(other.value, abs=1e-6)


@settings(max_examples=100)
@given(st.lists(st.tuples(small_lattices(exact=True), sentences()), min_size=1, max_size=8))
def test_a_batch_on_two_threads_equals_one_by_one(problems):
    kernel = ENGINES.get("kernel")
    lattices = [lattice for lattice, _ in problems]
    machines = [GRR().against([ref]).machine(lattice.vocabulary) for lattice, ref in problems]
    together = kernel.best(list(zip(lattices, machines, strict=True)), workers=2)
    for lattice, machine, found in zip(lattices, machines, together, strict=True):
        alone = kernel.best([(lattice, machine)])[0]
        assert (found.value, found.arcs.tolist()) == (alone.value, alone.arcs.tolist())
