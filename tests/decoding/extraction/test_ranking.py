"""The k best and the worst: sentences differ if their words do, and come in the order of scores."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decoding
from decoding import oracle, oracle_kbest, worst
from fstmetrics import CER, GRR, WER, WRR
from lattices import Lattice
from lattices.intersection import kernel
from lattices.spaces import Forest, Hypothesis, NBest
from tests.strategies import examples, sentences, small_forests, small_lattices

WORDS = ["a", "b", "ab"]
LATTICE = Lattice.from_arcs([(0, 1, "a"), (1, 2, "b"), (0, 2, "ab", -1.0)], finals=[2])
FOREST = Forest.from_edges(
    [(0, [], ["a"]), (1, [], ["b"]), (2, [0, 1], [0, 1]), (2, [], ["ab"], -1.0)]
)


def as_list(space):
    paths = space.derivations() if isinstance(space, Forest) else space.paths()
    return NBest.from_hypotheses([Hypothesis(path.tokens, path.score) for path in paths])


def keys(found):
    return [(each.score, each.hypothesis.score) for each in found]


def check_against_the_list(space, evaluator, k, worst):
    found = (decoding.worst if worst else decoding.oracle_kbest)(space, evaluator, k)
    assert all(each.exact for each in found)
    assert len({each.tokens for each in found}) == len(found)
    assert keys(found) == keys(
        (decoding.worst if worst else decoding.oracle_kbest)(as_list(space), evaluator, k)
    )


@pytest.mark.parametrize("space", [LATTICE, FOREST])
@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("spaces", [False, True])
def test_words_that_share_their_characters_are_two_sentences(space, worst, spaces):
    found = (decoding.worst if worst else decoding.oracle_kbest)(
        space, CER(spaces=spaces).against(["ab"]), 5
    )
    assert {each.text for each in found} == {"a b", "ab"}
    assert all(each.exact for each in found)
    check_against_the_list(space, CER(spaces=spaces).against(["ab"]), 5, worst)


@settings(max_examples=examples(150))
@given(
    small_lattices(words=WORDS, exact=True),
    sentences(WORDS),
    st.booleans(),
    st.booleans(),
    st.integers(2, 9),
)
def test_characters_of_lattices(lattice, reference, spaces, worst, k):
    check_against_the_list(lattice, CER(spaces=spaces).against([" ".join(reference)]), k, worst)


@settings(max_examples=examples(150))
@given(
    small_forests(words=WORDS, exact=True),
    sentences(WORDS),
    st.booleans(),
    st.booleans(),
    st.integers(2, 9),
)
def test_characters_of_forests(forest, reference, spaces, worst, k):
    check_against_the_list(forest, CER(spaces=spaces).against([" ".join(reference)]), k, worst)


def test_characters_where_rows_are_too_many(monkeypatch):
    evaluator = CER(spaces=False).against(["ab"])
    monkeypatch.setattr(kernel, "QUICK_PAIRS", 1)
    found = oracle_kbest(FOREST, evaluator, 5)
    assert {each.engine for each in found} == {"product"}
    check_against_the_list(FOREST, evaluator, 5, worst=False)


@settings(max_examples=100)
@given(small_forests(words=WORDS, exact=True), sentences(WORDS), st.integers(2, 9))
def test_characters_of_the_product_of_a_forest(forest, reference, k):
    evaluator = CER(spaces=False).against([" ".join(reference)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "QUICK_PAIRS", 1)
        check_against_the_list(forest, evaluator, k, worst=False)


# "a" is right, and "a x" costs alpha; the model likes it better
TINY = Lattice.from_arcs([(0, 1, "a", 0.0), (0, 2, "a", 0.0), (2, 1, "x", 1.0)], finals=[1])
COSTS = [1e-12, 1e-9, 2.0**-30, 3e-7, 0.1234, 1 / 3, 0.123456789]


@pytest.mark.parametrize("alpha", COSTS)
@pytest.mark.parametrize("kind", ["lattice", "forest", "list"])
def test_costs_however_small_count_or_the_answer_is_not_proven(alpha, kind):
    space = {"lattice": TINY, "forest": Forest.from_lattice(TINY), "list": as_list(TINY)}[kind]
    evaluator = GRR(n=1, alpha=alpha).against(["a"])
    for engine in ["auto", "kernel", "openfst"] if kind != "list" else ["auto"]:
        best = oracle(space, evaluator, engine=engine)
        assert best.text == "a" or not best.exact
    lowest = worst(space, evaluator)[0]
    assert lowest.text == "a x" or not lowest.exact
    for worst_first in (False, True):
        found = (decoding.worst if worst_first else decoding.oracle_kbest)(space, evaluator, 2)
        scores = [each.score for each in found]
        assert scores == sorted(scores, reverse=not worst_first)
        assert len({each.text for each in found}) == 2
        (one,) = (decoding.worst if worst_first else decoding.oracle_kbest)(space, evaluator, 1)
        assert one.text == ("a x" if worst_first else "a") or not one.exact


def test_costs_of_few_decimals_are_proven():
    for metric in (GRR(), WER(), GRR(alpha=1 / 3, beta=-0.5), GRR(alpha=0.1234), GRR(alpha=-0.9)):
        evaluator = metric.against(["a", "a x y"])
        assert all(each.exact for each in oracle_kbest(TINY, evaluator, 2))
        assert oracle(TINY, evaluator).exact
    for alpha in (1e-12, 1e-9):
        assert not oracle(TINY, GRR(alpha=alpha).against(["a"])).exact


@settings(max_examples=100)
@given(
    small_lattices(exact=True),
    st.lists(sentences(), min_size=1, max_size=2),
    st.sampled_from(COSTS),
    st.sampled_from([0.0, 1e-10, 0.25]),
    st.booleans(),
)
def test_lists_stand_in_the_order_of_scores(lattice, references, alpha, beta, worst):
    evaluator = GRR(n=2, alpha=alpha, beta=beta).against(references)
    for space in (lattice, Forest.from_lattice(lattice)):
        found = (decoding.worst if worst else decoding.oracle_kbest)(space, evaluator, 6)
        scores = [each.score for each in found]
        assert scores == sorted(scores, reverse=not worst)
        if all(each.exact for each in found):
            every = as_list(lattice)
            wanted = [
                each.score
                for each in (decoding.worst if worst else decoding.oracle_kbest)(
                    every, evaluator, 6
                )
            ]
            assert scores == pytest.approx(wanted, abs=1e-15)


def test_a_fraction_and_a_model_score_tie_in_lists_as_in_lattices():
    # 2/3 - 1 and -1/3 are the same, and not in floats
    some = [Hypothesis(("c", "b"), -2.0), Hypothesis(tuple("aaddca"), 0.0)]
    evaluator = WRR().against(["d c b"])
    entries = NBest.from_hypotheses(some)
    arcs = [(0, 1, "c", -2.0), (1, 9, "b")]
    arcs += [(0, 2, "a"), (2, 3, "a"), (3, 4, "d"), (4, 5, "d"), (5, 6, "c"), (6, 9, "a")]
    for space in (entries, Lattice.from_arcs(arcs, finals=[9])):
        for search in (oracle_kbest, worst):
            found = search(space, evaluator, 2, model_weight=0.5)
            assert [each.hypothesis.score for each in found] == [0.0, -2.0]


def test_the_first_of_references_that_differ_by_rounding_counts():
    # -3.5 / 5 and -2.1 / 3 are the same, and not in floats
    evaluator = GRR(n=1, alpha=-0.9, beta=0.7).against(["a a b a c", "a c a"])
    nothing = Lattice.from_arcs([], finals=[0], states=1)
    for space in (nothing, as_list(nothing), Forest.from_lattice(nothing)):
        assert oracle(space, evaluator).reference == 0
