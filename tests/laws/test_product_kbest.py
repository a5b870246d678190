"""The k best sentences of forests: what comes near the best, and the order of equals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import GRR, WER, WRR, AffixSimilarity
from lattices import Lattice
from lattices.errors import EngineError, TooLargeError
from lattices.intersection.kernel import ENGINE
from lattices.intersection.product_kbest import rank_forest
from lattices.spaces import Forest
from tests.strategies import examples, sentences, small_forests

METRICS = [
    WER(),
    WRR(),
    GRR(),
    GRR(n=2, alpha=-0.9, beta=1.0),
    GRR(n=3, alpha=0.0, beta=0.0),
    GRR(similarity=AffixSimilarity(epsilon=0.5)),
]


def ranking(forest, evaluator, weight, sign=1.0):
    """Return the sentences by enumeration, each with the best keys of its derivations."""
    best: dict[tuple[str, ...], tuple[float, float]] = {}
    better = -1.0 if not evaluator.metric.higher_is_better else 1.0
    for found in forest.derivations():
        value = better * evaluator.score(found.tokens) + weight * found.score
        key = (-sign * value, -found.score)
        best[found.tokens] = min(key, best.get(found.tokens, key))
    return sorted((*key, tokens) for tokens, key in best.items())


def check_ties(found, wanted, k):
    """Compare values and model scores with a ranking; which of equal sentences come is free."""
    keys = {tokens: key for *key, tokens in wanted}
    assert len({each.tokens for each in found}) == len(found)
    assert [keys[each.tokens] for each in found] == [key for *key, _ in wanted[:k]]
    assert all(each.score == -keys[each.tokens][1] for each in found)


@settings(max_examples=examples(150))
@given(
    small_forests(),
    st.lists(sentences("abc"), min_size=1, max_size=3),
    st.sampled_from(METRICS),
    st.sampled_from([0.0, 0.5, -0.25]),
    st.sampled_from([1, 2, 5, 1000]),
)
def test_best_equals_enumeration(forest, references, metric, weight, k):
    evaluator = metric.against([" ".join(words) for words in references])
    machine = evaluator.machine(forest.vocabulary)
    edges = rank_forest(forest, machine, k, weight).derivations
    found = [forest.hypothesis(each.tolist()) for each in edges]
    wanted = ranking(forest, evaluator, weight)
    assert len(found) == len({each.tokens for each in found}) == min(k, len(wanted))
    # tails come in their own order, whatever that of the target sides
    assert {each.arcs for each in found} <= {each.arcs for each in forest.derivations()}
    values = {tokens: -loss for loss, _, tokens in wanted}
    assert [values[each.tokens] for each in found] == pytest.approx(
        [-loss for loss, *_ in wanted[:k]], abs=1e-7
    )
    (first,) = ENGINE.best([(forest, machine)], model_weight=weight)
    assert values[found[0].tokens] == pytest.approx(
        values[forest.hypothesis(first.arcs.tolist()).tokens], abs=1e-7
    )


@settings(max_examples=100)
@given(small_forests(exact=True), sentences("abc"), st.sampled_from(METRICS[:5]))
def test_equal_sentences_stand_in_the_order_of_model_scores(forest, reference, metric):
    evaluator = metric.against([" ".join(reference)])
    edges = rank_forest(forest, evaluator.machine(forest.vocabulary), 7, 0.0).derivations
    found = [forest.hypothesis(each.tolist()) for each in edges]
    check_ties(found, ranking(forest, evaluator, 0.0), 7)


def test_the_bound_is_lowered_no_further_than_needed():
    rows = [(0, [], [word]) for word in "abcdefgh"]
    forest = Forest.from_edges([*rows, (1, [0] * 4, [0, 1, 2, 3])])
    machine = WRR().against(["a b c d"]).machine(forest.vocabulary)
    # one sentence is right, 4 * 7 have one word wrong
    found, tries = rank_forest(forest, machine, 29, 0.0)
    assert len(found) == 29
    assert tries == [(0.0, False), (0.25, False)]
    assert {sum(edge < 8 for edge in edges.tolist()) for edges in found} == {4}
    wrong = [
        sum(word != right for word, right in zip(said, "abcd", strict=True))
        for said in (forest.hypothesis(edges.tolist()).tokens for edges in found)
    ]
    assert wrong == [0] + [1] * 28


def test_any_of_many_ties():
    rows = [(0, [], [word]) for word in "abcd"] + [(0, [], ["b", "a"]), (0, [], ["a", "c"])]
    forest = Forest.from_edges([*rows, (1, [0], [0])])
    machine = GRR(n=1, alpha=0.0).against(["x"]).machine(forest.vocabulary)

    def texts(k):
        found = rank_forest(forest, machine, k, 0.0).derivations
        return [forest.hypothesis(edges.tolist()).text for edges in found]

    assert len(set(texts(3))) == 3
    assert texts(3) == texts(3)
    assert sorted(texts(9)) == ["a", "a c", "b", "b a", "c", "d"]


def test_reference_lattices_and_huge_products_are_refused():
    forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0], [0])], id="seg")
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    with pytest.raises(EngineError, match="reference lattices"):
        rank_forest(forest, WER().against([lattice]).machine(forest.vocabulary), 2, 0.0)
    machine = WER().against(["a"]).machine(forest.vocabulary)
    for memory in (1, 1000):  # no room for the tables, or for the product
        with pytest.raises(TooLargeError, match=r"'seg'.* of memory or more.*allow more"):
            rank_forest(forest, machine, 2, 0.0, memory=memory)


def test_deep_forests_and_wordless_ones():
    depth = 2_000
    edges = [(node, [node - 1], [0]) for node in range(1, depth)]
    forest = Forest.from_edges([(0, [], ["b"]), (0, [], ["c"]), (0, [], []), *edges])
    machine = WER().against(["c"]).machine(forest.vocabulary)
    found = rank_forest(forest, machine, 9, 0.0).derivations
    assert [forest.hypothesis(each.tolist()).text for each in found] in (
        ["c", "", "b"],
        ["c", "b", ""],
    )
    quiet = Forest.from_edges([(0, [], [], -1.0), (1, [0, 0], [0, 1], -0.5), (1, [], [], -3.0)])
    machine = GRR().against(["a"]).machine(quiet.vocabulary)
    (only,) = rank_forest(quiet, machine, 5, 0.1).derivations
    assert only.tolist() == [1, 0, 0]
