"""Rows for forests: the product has one value for each sentence, and the right ones are left."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import GRR, WER, AffixSimilarity
from lattices import Lattice
from lattices.intersection import rows as rows_module
from lattices.intersection.product_kbest import rank_forest_sentences
from lattices.intersection.rows import RowMachine, forest_row_product, row_product
from lattices.limits import Limits
from lattices.spaces import Forest
from tests.laws.test_product_kbest import METRICS, check_ties, ranking
from tests.strategies import examples, sentences, small_forests, small_lattices

REFERENCES = st.lists(sentences("abc"), min_size=1, max_size=3)


def derivations(graph, node=None):
    """Return the edges of the forest and the gain of every derivation of a hypergraph."""
    node = graph.root if node is None else node
    found = []
    for edge in range(graph.in_offset[node], graph.in_offset[node + 1]):
        parts = [((int(graph.origin[edge]),), float(graph.gain[edge]))]
        for below in graph.tail[graph.tail_offset[edge] : graph.tail_offset[edge + 1]].tolist():
            parts = [
                (edges + more, gain + extra)
                for edges, gain in parts
                for more, extra in derivations(graph, below)
            ]
        found += parts
    return found


@settings(max_examples=100)
@given(small_forests(max_derivations=30), REFERENCES, st.sampled_from(METRICS[:5]))
def test_every_derivation_carries_the_value_of_its_sentence(forest, references, metric):
    evaluator = metric.against([" ".join(words) for words in references])
    machine = evaluator.machine(forest.vocabulary)
    product = forest_row_product(forest, machine.automaton, Limits(10_000))
    found = dict(derivations(product.graph))
    assert len(found) == len(derivations(product.graph))
    values = {each.arcs: evaluator.score(each.tokens) for each in forest.derivations()}
    assert found.keys() == values.keys()
    for edges, gain in found.items():
        value = gain * machine.unit
        assert (1.0 - value if metric.name == "wer" else value) == pytest.approx(
            values[edges], abs=1e-9
        )


@settings(max_examples=examples(200))
@given(
    small_forests(),
    REFERENCES,
    st.sampled_from(METRICS),
    st.sampled_from([0.0, 0.5, -0.25, 0.01]),
    st.sampled_from([1, 2, 5, 1000]),
    st.booleans(),
)
def test_ranked_equals_enumeration(forest, references, metric, weight, k, worst):
    evaluator = metric.against([" ".join(words) for words in references])
    machine = evaluator.machine(forest.vocabulary)
    edges = rank_forest_sentences(
        forest, machine.automaton, k, weight / machine.unit, Limits(10_000), worst=worst
    )
    found = [forest.hypothesis(each.tolist()) for each in edges]
    wanted = ranking(forest, evaluator, weight, -1.0 if worst else 1.0)
    assert len(found) == len({each.tokens for each in found}) == min(k, len(wanted))
    losses = {tokens: loss for loss, _, tokens in wanted}
    assert [losses[each.tokens] for each in found] == pytest.approx(
        [loss for loss, *_ in wanted[:k]], abs=1e-7
    )


@settings(max_examples=examples(150))
@given(
    small_forests(exact=True),
    sentences("abc"),
    st.sampled_from(METRICS[:5]),
    st.sampled_from([1, 3, 8]),
)
def test_ties_among_the_worst(forest, reference, metric, k):
    evaluator = metric.against([" ".join(reference)])
    machine = evaluator.machine(forest.vocabulary)
    edges = rank_forest_sentences(forest, machine.automaton, k, 0.0, Limits(10_000), worst=True)
    found = [forest.hypothesis(each.tolist()) for each in edges]
    check_ties(found, ranking(forest, evaluator, 0.0, -1.0), k)


@settings(max_examples=60)
@given(small_lattices(words="abc"), sentences("abc"), st.sampled_from([WER(), GRR()]))
def test_the_forest_of_a_lattice_has_no_more_pairs_than_the_lattice(lattice, reference, metric):
    machine = metric.against([" ".join(reference)]).machine(lattice.vocabulary)
    forest = Forest.from_lattice(lattice)
    rows = row_product(lattice, RowMachine(machine.automaton, lattice.num_states), Limits(10_000))
    # the root, and final states that also go on
    bound = rows.pairs + 1 + lattice.num_states
    assert forest_row_product(forest, machine.automaton, Limits(10_000)).pairs <= bound


def test_dominated_pairs_are_left_out():
    words = [(0, [], [word], -float(rank)) for rank, word in enumerate("xyzabc")]
    forest = Forest.from_edges([*words, (1, [0] * 3, [0, 1, 2]), (2, [1, 1], [1, 0])])
    automaton = GRR().against(["a b c a"]).machine(forest.vocabulary).automaton
    every = forest_row_product(forest, automaton, Limits(10_000))
    worst = forest_row_product(forest, automaton, Limits(10_000), k=1, worst=True)
    few = forest_row_product(forest, automaton, Limits(10_000), k=3, worst=True)
    assert worst.pairs < few.pairs < every.pairs
    (found,) = rank_forest_sentences(forest, automaton, 1, 0.0, Limits(10_000), worst=True)
    assert forest.hypothesis(found.tolist()).text == "x x x x x x"


def test_the_budget(monkeypatch):
    forest = Forest.from_edges(
        [*((0, [], [word]) for word in "abcx"), (1, [0, 0], [1, "b", 0]), (2, [1, 1], [0, 1])]
    )
    automaton = GRR().against(["a b c"]).machine(forest.vocabulary).automaton
    pairs = forest_row_product(forest, automaton, Limits(10_000)).pairs
    assert forest_row_product(forest, automaton, Limits(pairs)).pairs == pairs
    assert forest_row_product(forest, automaton, Limits(pairs - 1)) is None
    assert rank_forest_sentences(forest, automaton, 3, 0.0, Limits(1), worst=True) is None
    monkeypatch.setattr(rows_module, "MOST_CELLS", 10)
    assert forest_row_product(forest, automaton, Limits(10_000)) is None


def test_sentences_that_cannot_be_written_down(monkeypatch):
    monkeypatch.setattr(rows_module, "MOST_CELLS", 2**12)
    doubling = [(node, [node - 1] * 2, [0, 1]) for node in range(1, 60)]
    forest = Forest.from_edges([(0, [], ["a"]), *doubling])
    automaton = WER().against(["b"]).machine(forest.vocabulary).automaton
    assert rank_forest_sentences(forest, automaton, 1, 0.0, Limits(10_000), worst=True) is None


def test_soft_matches_to_several_references_do_not_overflow():
    forest = Forest.from_edges([(0, [], []), (0, [], ["a"])])
    metric = GRR(similarity=AffixSimilarity(epsilon=0.5))
    machine = metric.against(["", "a a a a"]).machine(forest.vocabulary)
    for worst, wanted in ((True, [1, 0]), (False, [0, 1])):
        found = rank_forest_sentences(forest, machine.automaton, 2, 0.0, Limits(100), worst=worst)
        assert [edges.tolist() for edges in found] == [[edge] for edge in wanted]


def test_reference_lattices():
    forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (0, [], ["x"]), (1, [0], [0])])
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    automaton = WER().against([lattice]).machine(forest.vocabulary).automaton
    found = rank_forest_sentences(forest, automaton, 3, 0.0, Limits(100), worst=True)
    assert [forest.hypothesis(edges.tolist()).text for edges in found] in (
        ["x", "a", "b"],
        ["x", "b", "a"],
    )
