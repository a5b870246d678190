"""The k best and the worst sentences of forests, as oracles, and in batches of mixed spaces."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decoding
from decoding.corpus.runner import Segment
from decoding.extraction import oracle_search as oracle_module
from decoding.extraction import ranking
from decoding.extraction.oracle_search import oracle, oracle_kbest, oracles, worst
from decoding.tasks.oracle import OracleTask
from fstmetrics import CER, GRR, TBLEU, WER, WRR
from lattices import Lattice
from lattices.errors import OptionError
from lattices.intersection import kernel
from lattices.spaces import Forest, Hypothesis, NBest
from tests.lattices.forests import real_forests
from tests.strategies import sentences, small_forests, small_lattices

WEIGHTS = st.sampled_from([0.0, 0.5, -0.25])
METRICS = st.sampled_from([WER(), WRR(), GRR(), GRR(n=2, alpha=2.0)])
FOREST = Forest.from_edges(
    [
        (0, [], ["cat"], -1.0, {"lm": -2.0}),
        (0, [], ["dog"], -3.0, {"lm": -5.0}),
        (1, [0], ["the", 0], 0.0),
        (1, [0, 0], [1, "and", 0], -0.5),
    ],
    id="s1",
)


@settings(max_examples=100)
@given(
    small_lattices(words="abc"),
    st.lists(sentences("abc"), min_size=1, max_size=2),
    METRICS,
    WEIGHTS,
    st.sampled_from([1, 3, 10]),
    st.booleans(),
)
def test_the_forest_of_a_lattice_has_the_sentences_of_the_lattice(
    lattice, references, metric, weight, k, worst
):
    evaluator = metric.against([" ".join(words) for words in references])
    ranked = decoding.worst if worst else decoding.oracle_kbest
    here = ranked(Forest.from_lattice(lattice), evaluator, k, model_weight=weight)
    there = ranked(lattice, evaluator, k, model_weight=weight)
    assert all(found.exact for found in here)
    assert len({found.tokens for found in here}) == len(here) == len(there)
    sign = 1.0 if metric.higher_is_better else -1.0

    def values(some):
        return [sign * each.score + weight * each.hypothesis.score for each in some]

    assert values(here) == pytest.approx(values(there), abs=1e-7)


@settings(max_examples=60)
@given(small_lattices(words="abc", exact=True), sentences("abc"), METRICS, st.booleans())
def test_ties_are_those_of_the_lattice(lattice, reference, metric, worst):
    evaluator = metric.against([" ".join(reference)])
    here = (decoding.worst if worst else decoding.oracle_kbest)(
        Forest.from_lattice(lattice), evaluator, 6
    )
    there = (decoding.worst if worst else decoding.oracle_kbest)(lattice, evaluator, 6)
    assert [(found.score, found.hypothesis.score) for found in here] == [
        (found.score, found.hypothesis.score) for found in there
    ]


@settings(max_examples=60)
@given(small_forests(), sentences("abc"), METRICS, WEIGHTS)
def test_the_first_of_the_best_is_the_oracle(forest, reference, metric, weight):
    evaluator = metric.against([" ".join(reference)])
    best = oracle(forest, evaluator, model_weight=weight)
    several = oracle_kbest(forest, evaluator, 3, model_weight=weight)
    sign = 1.0 if metric.higher_is_better else -1.0
    first, only = (
        (sign * each.score + weight * each.hypothesis.score, each.hypothesis.score)
        for each in (several[0], best)
    )
    assert first == pytest.approx(only, abs=1e-9)
    fear = worst(forest, evaluator, model_weight=-1.0)[0]
    lowest = min(sign * evaluator.score(each.tokens) - each.score for each in forest.derivations())
    assert fear.exact
    assert sign * fear.score - fear.hypothesis.score == pytest.approx(lowest, abs=1e-7)


def test_the_product_answers_where_rows_are_too_many(monkeypatch):
    evaluator = GRR().against(["dog and cat", "the dog"])
    by_rows = oracle_kbest(FOREST, evaluator, 4)
    monkeypatch.setattr(kernel, "QUICK_PAIRS", 1)
    by_product = oracle_kbest(FOREST, evaluator, 4)
    assert {found.engine for found in by_rows} == {"rows"}
    assert {found.engine for found in by_product} == {"product"}
    assert [found.hypothesis for found in by_product] == [found.hypothesis for found in by_rows]
    assert by_rows[0].hypothesis.features == {"lm": -5.0}


def test_beyond_the_budget(monkeypatch):
    evaluator = WER().against(["dog and cat"])
    proven = worst(FOREST, evaluator, 2)
    assert [(each.text, each.exact, each.engine) for each in proven] == [
        ("the dog", True, "rows"),
        ("the cat", True, "rows"),
    ]
    listed = worst(FOREST, evaluator, 2, budget=1)
    assert [(each.text, each.exact, each.engine) for each in listed] == [
        ("the dog", False, "scorer"),
        ("the cat", False, "scorer"),
    ]
    monkeypatch.setattr(ranking, "KBEST_FALLBACK", 1)
    assert worst(FOREST, evaluator, budget=1)[0].text == "the cat"


def test_characters():
    evaluator = CER().against(["the dog"])
    every = sorted(
        FOREST.derivations(),
        key=lambda each: (evaluator.score(each.tokens), -each.score, each.tokens),
    )
    found = oracle_kbest(FOREST, evaluator, 3)
    assert [each.hypothesis for each in found] == every[:3]
    assert (found[0].text, found[0].hypothesis.arcs) == ("the dog", (2, 1))
    lowest = worst(FOREST, evaluator)[0]
    assert lowest.score == evaluator.score(every[-1].tokens)


def test_reference_lattices():
    lattice = Lattice.from_arcs([(0, 1, "the"), (1, 2, "cat"), (1, 2, "dog")], finals=[2])
    found = oracle_kbest(FOREST, WER().against([lattice]), 3)
    assert [(each.text, each.score) for each in found[:2]] == [("the cat", 0.0), ("the dog", 0.0)]
    assert found[2].exact


def test_batches_of_mixed_spaces(monkeypatch):
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    nbest = NBest.from_hypotheses([Hypothesis(("a",), -1.0), Hypothesis(("c",), -2.0)])
    spaces = [FOREST, nbest, lattice, FOREST]
    evaluators = [WER().against([words]) for words in ("the dog", "c", "b", "cat and")]
    found = oracles(spaces, evaluators)
    alone = [oracle(*problem) for problem in zip(spaces, evaluators, strict=True)]
    assert [each.hypothesis for each in found] == [each.hypothesis for each in alone]
    assert [each.text for each in found] == ["the dog", "c", "b", "cat and cat"]
    with pytest.raises(OptionError, match="4 spaces, but 3 evaluators"):
        oracles(spaces, evaluators[:3])
    with pytest.raises(OptionError, match="has no machine"):
        oracles([nbest, FOREST], [TBLEU().against(["a"])] * 2)
    batches = []
    search_words = oracle_module.search_words

    def watched(problems, *rest):
        some = list(problems)
        batches.append(len(some))
        return search_words(some, *rest)

    monkeypatch.setattr(oracle_module, "search_words", watched)
    segments = [
        Segment(place, "f", place, space.replaced(references=("the dog",)))
        for place, space in enumerate([FOREST, lattice, FOREST])
    ]
    results = OracleTask((WER(),)).process(segments)
    assert batches == [3]
    assert [each["text"] for each in results] == ["the dog", "a", "the dog"]
    assert list(map(len, OracleTask((WER(),), k=2, worst=True).process(segments))) == [2] * 3


@pytest.mark.parametrize("worst", [False, True])
def test_real_forests_are_proven(shared_data, worst):
    for forest in real_forests(shared_data, "d10")[::15]:
        evaluator = GRR().against(forest.references)
        found = (decoding.worst if worst else decoding.oracle_kbest)(forest, evaluator, 10)
        assert all(each.exact for each in found)
        scores = [each.score for each in found]
        assert scores == sorted(scores, reverse=not worst)
        alone = (decoding.worst if worst else decoding.oracle_kbest)(forest, evaluator, 1)[0]
        assert found[0].score == alone.score
        assert found[0].hypothesis.score == pytest.approx(alone.hypothesis.score)
