"""Rows give every sentence its one value: worst, k best and all scores equal enumeration."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decoding
from decoding import worst
from fstmetrics import GRR, WER, WRR
from lattices.formats.openfst.codec import decode, encode
from lattices.intersection.openfst import acceptor_columns, transducer_columns
from lattices.intersection.rows import RowMachine, row_product
from lattices.limits import Limits
from tests.judges import model_score, score_by_recursion
from tests.laws.test_intersection import METRICS
from tests.strategies import examples, sentences, small_lattices


def objective(lattice, path, references, metric, weight):
    return score_by_recursion(path.tokens, references, metric) + weight * path.score


@settings(max_examples=examples(600))
@given(
    small_lattices(),
    st.lists(sentences(), min_size=1, max_size=2),
    METRICS,
    st.sampled_from([0.0, -1.0, 0.3]),
)
def test_worst_equals_enumeration(lattice, references, metric, weight):
    found = worst(lattice, metric.against(references), model_weight=weight)[0]
    expected = min(objective(lattice, path, references, metric, weight) for path in lattice.paths())
    assert found.exact
    assert objective(lattice, found.hypothesis, references, metric, weight) == pytest.approx(
        expected, abs=1e-6
    )


@settings(max_examples=examples(400))
@given(
    small_lattices(exact=True), sentences(), st.sampled_from([WER(), GRR(), GRR(n=2, alpha=2.0)])
)
def test_worst_breaks_ties_by_the_rule(lattice, reference, metric):
    found = worst(lattice, metric.against([reference]))[0]
    expected = min(
        (score_by_recursion(path.tokens, [reference], metric), -model_score(lattice, path))
        for path in lattice.paths()
    )
    arcs = found.hypothesis.arcs
    path = next(path for path in lattice.paths() if path.arcs == arcs)
    value = score_by_recursion(path.tokens, [reference], metric)
    assert (value, -model_score(lattice, path)) == expected
    again = worst(lattice, metric.against([reference]))[0]
    assert again.hypothesis.arcs == arcs


@settings(max_examples=examples(400))
@given(
    small_lattices(exact=True),
    st.lists(sentences(), min_size=1, max_size=2),
    st.sampled_from([WER(), WRR(), GRR(), GRR(n=3, alpha=2.0, beta=1.0)]),
    st.booleans(),
    st.integers(1, 12),
)
def test_k_best_sentences_equal_enumeration(lattice, references, metric, worst, k):
    sign = 1 if worst else -1
    ranked = {}
    for path in lattice.paths():
        key = (
            sign * score_by_recursion(path.tokens, references, metric),
            -model_score(lattice, path),
        )
        ranked[path.tokens] = min(key, ranked.get(path.tokens, key))
    found = (decoding.worst if worst else decoding.oracle_kbest)(
        lattice, metric.against(references), k
    )
    assert [ranked[each.tokens] for each in found] == sorted(ranked.values())[:k]
    assert len({each.tokens for each in found}) == len(found)
    assert all(-ranked[each.tokens][1] == each.hypothesis.score for each in found)
    assert [each.score for each in found] == [
        metric.against(references).score(each.tokens) for each in found
    ]
    assert all(each.exact for each in found)


@settings(max_examples=examples(300))
@given(small_lattices(exact=True), st.lists(sentences(), min_size=1, max_size=2), METRICS)
def test_the_product_holds_every_path_with_its_value(lattice, references, metric):
    machine = metric.against(references).machine(lattice.vocabulary)
    product = row_product(lattice, RowMachine(machine.automaton, lattice.num_states), Limits(10**6))
    graph = product.graph
    found = Counter()
    for path in graph.paths():
        arcs = list(path.arcs)
        end = int(graph.dst[arcs[-1]]) if arcs else graph.start
        gain = product.opening + product.gain[arcs].sum() + product.final_gain[end]
        found[path.tokens, path.score, round(gain * machine.unit, 6)] += 1
    expected = Counter(
        (path.tokens, path.score, round(score_by_recursion(path.tokens, references, metric), 6))
        for path in lattice.paths()
    )
    assert found == expected


@settings(max_examples=100)
@given(small_lattices(exact=True, max_states=8, max_arcs=16), sentences())
def test_beyond_the_budget_the_answer_is_labelled(lattice, reference):
    evaluator = GRR().against([reference])
    cut = worst(lattice, evaluator, budget=1)[0]
    exact = worst(lattice, evaluator)[0]
    assert cut.score >= exact.score
    assert exact.exact
    if cut.exact:
        assert cut.score == exact.score


@settings(max_examples=examples(200))
@given(small_lattices(exact=True), sentences(), st.sampled_from([WER(), GRR(), GRR(n=2, beta=1.0)]))
def test_openfst_determinisation_gives_every_path_the_same_value(lattice, reference, metric):
    pynini = pytest.importorskip("pynini")
    machine = metric.against([reference]).machine(lattice.vocabulary)
    automaton, other = machine.automaton, len(lattice.vocabulary)
    words = np.unique(automaton.label[automaton.label > 0])
    left = transducer_columns(lattice, words, other, 0.0)
    right = acceptor_columns(automaton, np.append(words, other).astype(np.int32))
    product = pynini.compose(
        pynini.Fst.read_from_string(encode(left)),
        pynini.Fst.read_from_string(encode(right)).arcsort("ilabel"),
    )
    # one path for each sequence of arcs, with the best of its alignments
    single = pynini.determinize(product.project("input").rmepsilon())
    found = decode(single.write_to_string())
    stack, values = [(found.start, (), 0.0)], {}
    while stack:
        state, arcs, cost = stack.pop()
        if found.final[state] < np.inf:
            path = tuple(arc for arc in arcs if arc < lattice.num_arcs)
            assert (path, arcs[-1]) not in values
            values[path, arcs[-1]] = -(cost + found.final[state])
        for index in np.flatnonzero(found.src == state):
            arc = int(found.ilabel[index]) - 1
            stack.append((int(found.dst[index]), (*arcs, arc), cost + found.weight[index]))
    assert len(values) == sum(1 for _ in lattice.paths())
    for (path, _), gain in values.items():
        tokens = lattice.hypothesis(path).tokens
        expected = score_by_recursion(tokens, [reference], metric)
        assert gain * machine.unit == pytest.approx(expected, abs=1e-6)
    found = worst(lattice, metric.against([reference]))[0]
    lowest = min(values.values()) * machine.unit
    assert score_by_recursion(found.tokens, [reference], metric) == pytest.approx(lowest, abs=1e-6)
