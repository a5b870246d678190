"""Oracles under BLEU over lattices and forests, as they are called, and on real data."""

from __future__ import annotations

import random
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lattices
from decoding import corpus_oracle, hope_fear, oracle, oracle_kbest, oracles, worst
from decoding.extraction.corpus_oracle import statistics_front
from fstmetrics import BLEU, BLEUSBP, GRR, TBLEU, WER, LinearBLEU
from lattices.errors import EngineError, OptionError, SpaceError
from lattices.spaces import Forest, Hypothesis, Lattice, NBest
from tests.laws.test_bleu_oracles import sentences_of
from tests.strategies import sentences, small_forests, small_lattices

LATTICE = Lattice.from_arcs(
    [
        (0, 1, "the", -1.0),
        (0, 1, "a", -0.5),
        (1, 2, "cat", -1.0),
        (1, 2, "the", -0.1),
        (2, 3, "sat", -2.0),
        (2, 3, "cat", -0.1),
        (1, 3, "", -0.4),
    ],
    finals=[3],
)
REFERENCES = ["the cat sat"]


def test_the_best_the_k_best_and_the_worst() -> None:
    evaluator = BLEU(order=2, smooth="add-k").against(REFERENCES)
    found = oracle(LATTICE, evaluator)
    assert (found.text, found.score, found.exact) == ("the cat sat", 1.0, True)
    assert (found.engine, found.bound, found.edits) == ("labels", None, ())
    assert found.stats.tolist() == evaluator.stats("the cat sat").tolist()
    every = sorted({evaluator.score(each.tokens) for each in sentences_of(LATTICE)}, reverse=True)
    best = oracle_kbest(LATTICE, evaluator, 3)
    assert [each.score for each in best][:2] == every[:2]
    assert [each.text for each in worst(LATTICE, evaluator)] == ["a"]
    assert oracle(Forest.from_lattice(LATTICE), evaluator).text == "the cat sat"


def test_short_sentences_with_an_effective_order_and_a_model_weight() -> None:
    # so many labels that a bound is made, of which the weights of orders differ with the length
    def problem(length: int) -> tuple[Lattice, Any]:
        rng, words = random.Random(2), "abcdef"
        references = [" ".join(rng.choice(words) for _ in range(length)), "x"]
        arcs = [
            (at, at + 1, word, rng.uniform(-1, 0))
            for at in range(length)
            for word in rng.sample(words, 3)
        ]
        arcs += [(at, at + 1, "", rng.uniform(-1, 0)) for at in range(0, length, 2)]
        lattice = Lattice.from_arcs([*arcs, (0, length, "x", -8.0)], finals=[length])
        return lattice, BLEU(smooth="exp", effective_order=True).against(references)

    found = oracle(*problem(20), model_weight=0.02)
    assert (found.text, found.score, found.exact) == ("x", 1.0, True)
    assert oracle_kbest(*problem(20), 3, model_weight=0.02)[0].text == "x"
    # the fear of so many words more takes ten seconds
    assert hope_fear(*problem(18), scale=50.0).hope.text == "x"


def test_matches_are_clipped_by_need() -> None:
    # "the the" has two matches, but the reference has the word once
    arcs = [(0, 1, "the"), (1, 2, "the"), (1, 2, "dog"), (2, 3, "the"), (2, 3, "cat")]
    lattice = Lattice.from_arcs(arcs, finals=[3])
    for space in (lattice, Forest.from_lattice(lattice)):
        found = oracle(space, BLEU(order=1).against(["a the cat"]))
        assert (found.tokens[2], found.score, found.exact) == ("cat", 2 / 3, True)
        # two references: as often as one of them has it
        found = oracle(space, BLEU(order=1).against(["the the b", "the cat c"]))
        assert (found.text, found.score) == ("the the cat", 1.0)


def test_without_smoothing_the_model_decides_between_zeros() -> None:
    evaluator = BLEU().against(["nothing of it all"])
    assert oracle(LATTICE, evaluator).text == lattices.best(LATTICE).text
    evaluator = BLEU().against(REFERENCES)
    best = max(sentences_of(LATTICE), key=lambda each: each.score)
    found = oracle(LATTICE, evaluator)
    assert (found.score, found.hypothesis.score) == (0.0, best.score)
    assert [each.hypothesis.score for each in worst(LATTICE, evaluator, 2)] == sorted(
        (each.score for each in sentences_of(LATTICE)), reverse=True
    )[:2]


def test_a_sentence_is_its_words() -> None:
    # "ab c" and "a bc" have the same characters
    arcs = [(0, 1, "ab"), (1, 2, "c"), (0, 3, "a"), (3, 2, "bc"), (0, 1, "ab", -1.0)]
    lattice = Lattice.from_arcs(arcs, finals=[2])
    metric = BLEU(order=2, unit="char", spaces=False)
    for space in (lattice, Forest.from_lattice(lattice)):
        found = oracle_kbest(space, metric.against(["abc"]), 5)
        assert {each.text for each in found} == {"ab c", "a bc"}
        assert [each.score for each in found] == [1.0, 1.0]


def test_lower_case_and_blanks() -> None:
    lattice = Lattice.from_arcs([(0, 1, "THE"), (0, 1, "a"), (1, 2, "Cat")], finals=[2])
    for unit in ("word", "char"):
        evaluator = BLEU(order=2, lowercase=True, unit=unit).against(["the cat"])
        found = oracle(lattice, evaluator)
        assert (found.text, found.score) == ("THE Cat", 1.0)
        assert oracle(lattice, BLEU(order=2, unit=unit).against(["the cat"])).score < 1.0
    odd = Lattice.from_arcs([(0, 1, "ΣΑΣ")], finals=[1])
    assert oracle(odd, BLEU(order=1, lowercase=True).against(["σας"])).score == 1.0
    with pytest.raises(OptionError, match=r"depend on their word for 'Σ'.*k_best"):
        oracle(odd, BLEU(order=1, lowercase=True, unit="char").against(["σας"]))


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        (
            BLEU(smooth="floor", smooth_value=1.5),
            "with a floor above 1 a match may lower the score",
        ),
        (BLEU(tokenize="intl"), "tokenize=intl depends on what stands beside a word"),
    ],
)
def test_settings_that_cannot_search_are_refused(metric: BLEU, problem: str) -> None:
    for find in (oracle, worst, statistics_front):
        with pytest.raises(OptionError, match=rf"cannot search .*: {problem}; .*k_best"):
            find(LATTICE, metric.against(REFERENCES))  # type: ignore[operator]


def test_metrics_of_their_own_are_refused() -> None:
    class Squared(BLEU):
        def score(self, stats: Any) -> float:
            return super().score(stats) ** 2

    with pytest.raises(OptionError, match="its score is its own"):
        oracle(LATTICE, Squared().against(REFERENCES))
    with pytest.raises(OptionError, match="has no machine"):
        oracle(LATTICE, TBLEU().against(REFERENCES))
    with pytest.raises(OptionError, match="has no machine"):
        oracle(LATTICE, BLEU().against(REFERENCES), engine="openfst")
    with pytest.raises(OptionError, match="has no front of statistics"):
        statistics_front(LATTICE, WER().against(REFERENCES))


def test_a_machine_goes_first() -> None:
    metric = LinearBLEU(order=2)
    assert oracle(LATTICE, metric.against(REFERENCES)).engine == "kernel"
    assert corpus_oracle([LATTICE], [REFERENCES], metric).hypotheses[0].text == "the cat sat"


def test_spaces_without_sentences_and_without_words() -> None:
    evaluator = BLEU(smooth="exp").against(["a"])
    with pytest.raises(SpaceError, match="no complete path"):
        oracle(Lattice.from_arcs([(1, 2, "a")], finals=[2], start=0), evaluator)
    with pytest.raises(SpaceError, match="derivation"):
        oracle(Forest.from_edges([(1, [0], [0])]), evaluator)
    empty = Lattice.from_arcs([], finals=[0], states=1)
    for references in (["a"], [""]):
        found = oracle(empty, BLEU(smooth="exp").against(references))
        assert (found.tokens, found.score, found.exact) == ((), 0.0, True)
    front = statistics_front(empty, evaluator)
    assert front.rows.tolist() == [evaluator.stats("").tolist()]


def test_totals_that_overflow_are_errors() -> None:
    evaluator = BLEU(order=1).against(["a b"])
    high = Lattice.from_arcs([(0, 1, "a", 1e308), (1, 2, "b", 1e308)], finals=[2])
    with pytest.raises(SpaceError, match="overflow"):
        oracle(high, evaluator)
    with pytest.raises(SpaceError):
        oracle(Forest.from_lattice(high), evaluator)
    low = Lattice.from_arcs([(0, 1, "a", -10.0)], finals=[1], id="seg")
    with pytest.raises(EngineError, match=r"'seg'.*no finite value"):
        oracle(low, evaluator, model_weight=1e308)


def test_batches_are_what_their_parts_are() -> None:
    listed = NBest.from_hypotheses([Hypothesis(("the", "cat"), -1.0)])
    spaces = [LATTICE, Forest.from_lattice(LATTICE), listed, LATTICE]
    evaluators = [
        BLEU(smooth="add-k").against(REFERENCES),
        BLEUSBP(order=2).against(["a cat"]),
        BLEU().against(REFERENCES),
        GRR().against(REFERENCES),
    ]
    found = oracles(spaces, evaluators, workers=2)
    alone = [oracle(*problem) for problem in zip(spaces, evaluators, strict=True)]
    assert [each.hypothesis for each in found] == [each.hypothesis for each in alone]
    assert [each.engine for each in found] == ["labels", "labels", "scorer", "kernel"]


def test_beyond_the_budget_there_is_a_bound() -> None:
    evaluator = BLEU(order=2, smooth="add-k").against(REFERENCES)
    found = oracle(LATTICE, evaluator, budget=2)
    assert not found.exact
    assert found.bound is not None
    assert found.bound >= 1.0
    assert oracle(LATTICE, evaluator, memory=1).exact is False
    (lowest,) = worst(LATTICE, evaluator, budget=2)
    assert (lowest.exact, lowest.bound) == (False, 0.0)
    with pytest.raises(OptionError, match="at least 1"):
        oracle(LATTICE, evaluator, budget=0)


@given(
    st.lists(
        st.tuples(
            st.one_of(
                small_lattices(max_states=5, max_arcs=7, words="ab"), small_forests(words="ab")
            ),
            st.lists(sentences("ab", max_size=5), min_size=1, max_size=2),
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from([BLEU(order=2), BLEU(order=1), BLEUSBP(order=2), BLEU(smooth="exp")]),
    st.sampled_from([1, 30, 1_000_000]),
)
def test_corpus_oracles_are_the_best_of_all_choices(
    corpus: list[tuple[Lattice | Forest, list[list[str]]]], metric: BLEU, budget: int
) -> None:
    spaces, references = zip(*corpus, strict=True)
    found = corpus_oracle(spaces, references, metric, budget=budget)
    rows = [
        {tuple(metric.stats(each.tokens, of_segment)) for each in sentences_of(space)}
        for space, of_segment in corpus
    ]
    top = max(metric.score(np.sum(choice, axis=0)) for choice in product(*rows))
    assert found.bound is not None
    assert found.bound >= top - 1e-9
    chosen = [
        metric.stats(each.tokens, some)
        for each, some in zip(found.hypotheses, references, strict=True)
    ]
    assert found.score == pytest.approx(metric.score(np.sum(chosen, axis=0)), abs=1e-12)
    singles = [
        metric.stats(oracle(space, metric.against(some)).tokens, some) for space, some in corpus
    ]
    if budget == 1_000_000:
        assert found.score >= metric.score(np.sum(singles, axis=0)) - 1e-12
        assert found.sentence_score == pytest.approx(metric.score(np.sum(singles, axis=0)))
        assert found.score <= top + 1e-12
        if found.exact:
            assert found.score == pytest.approx(top, abs=1e-9)


def test_limits_beyond_what_native_types_hold_are_none() -> None:
    evaluator = BLEU(order=2, smooth="add-k").against(REFERENCES)
    every = oracle_kbest(LATTICE, evaluator, 2**40, budget=10**30, memory=10**30)
    assert len(every) == len(sentences_of(LATTICE))
    assert all(each.exact for each in every)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"k": 2.5}, "oracle_kbest: k is a float, expected a whole number"),
        ({"k": "2"}, "oracle_kbest: k is the string '2', expected a whole number"),
        ({"k": 2, "budget": 1e6}, "budget is a float, expected a whole number"),
        ({"k": 2, "model_weight": "1"}, "model_weight is the string '1', expected a number"),
        ({"k": 2, "engine": "foo"}, "'foo'"),
        ({"k": 2, "engine": "openfst"}, "no machine for engine openfst: it is searched by labels"),
    ],
)
def test_arguments_that_mean_nothing(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(lattices.Error, match=re.escape(problem)):
        oracle_kbest(LATTICE, BLEU(smooth="add-k").against(REFERENCES), **arguments)


@pytest.mark.parametrize("name", ["val.de-en.lat.d10", "hiero150.de-en.forest.d10"])
def test_real_spaces_are_proven(shared_data: Path, name: str) -> None:
    spaces: Any = list(lattices.read(shared_data / "multi30k-deen" / f"{name}.jsonl.gz"))[:150]
    references = [space.references for space in spaces]
    for metric in (BLEU(smooth="add-k"), BLEU(smooth="exp")):
        evaluators = [metric.against(some) for some in references]
        found = oracles(spaces, evaluators)
        assert all(each.exact for each in found)
        # no sentence of a long list is better
        for space, evaluator, best in list(zip(spaces, evaluators, found, strict=True))[:20]:
            some = lattices.k_best(space, 200, distinct=True)
            assert best.score >= max(evaluator.score(each.tokens) for each in some) - 1e-12
    together = corpus_oracle(spaces, references, BLEU())
    assert together.gap is not None
    assert together.gap < 1e-4
    assert together.score >= together.sentence_score > together.first_score
