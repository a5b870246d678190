"""Oracles under chrF: the search by labels against enumeration, with sacreBLEU as the judge."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF as SacreCHRF

import decoding
from decoding.extraction import bleu_search
from decoding.extraction.bleu_search import label_search
from decoding.extraction.search import Search
from decoding.training.hope_fear import hope_fear
from fstmetrics import CHRF
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice
from tests.laws.test_bleu_oracles import CLOSE, quick, sentences_of
from tests.strategies import sentences, small_forests, small_lattices

WORDS = ["a", "ab", "ba", "bb", "A"]


def spaces() -> st.SearchStrategy[Lattice | Forest]:
    return st.one_of(
        small_lattices(max_states=7, max_arcs=14, words=WORDS[:3]),
        small_lattices(max_states=7, max_arcs=12, words=WORDS),
        small_forests(words=WORDS[:4]),
    )


references = st.lists(sentences(WORDS[:4], max_size=6), min_size=1, max_size=3)
metrics = st.builds(
    CHRF,
    char_order=st.integers(1, 6),
    beta=st.sampled_from([0.5, 1.0, 2.0, 3.0]),
    lowercase=st.booleans(),
    whitespace=st.booleans(),
    eps_smoothing=st.booleans(),
)


def judge(metric: CHRF, text: str, references: list[list[str]]) -> float:
    scorer = SacreCHRF(
        char_order=metric.char_order,
        word_order=0,
        beta=metric.beta,
        lowercase=metric.lowercase,
        whitespace=metric.whitespace,
        eps_smoothing=metric.eps_smoothing,
    )
    score = scorer.sentence_score(text, [" ".join(each) for each in references]).score
    return float(score) / 100.0


@given(space=spaces(), references=references, metric=metrics, quick=quick)
def test_the_best_is_what_sacrebleu_likes_best(space, references, metric, quick):
    with mock.patch.object(bleu_search, "QUICK", quick):
        (found,) = label_search([space], [metric.against(references)])
    (best,) = found.sentences
    scores = [(judge(metric, each.text, references), each.score) for each in sentences_of(space)]
    top = max(score for score, _ in scores)
    assert best.exact
    assert judge(metric, best.hypothesis.text, references) == pytest.approx(top, abs=CLOSE)
    assert found.bound == pytest.approx(top, abs=CLOSE)
    # of equals the one with the higher model score
    ties = [model for score, model in scores if score >= top - CLOSE]
    assert best.hypothesis.score == pytest.approx(max(ties), abs=CLOSE)


@given(
    space=spaces(),
    references=references,
    metric=metrics,
    k=st.integers(1, 5),
    weight=st.sampled_from([0.0, 0.1, -0.3, 2.0]),
    quick=quick,
)
def test_the_k_best_are_sorted_and_complete(space, references, metric, k, weight, quick):
    evaluator = metric.against(references)
    with mock.patch.object(bleu_search, "QUICK", quick):
        (found,) = label_search([space], [evaluator], k, model_weight=weight)
    every = space.paths() if isinstance(space, Lattice) else space.derivations()
    objective: dict[tuple[str, ...], float] = {}
    for each in every:
        value = judge(metric, each.text, references) + weight * each.score
        objective[each.tokens] = max(objective.get(each.tokens, value), value)
    wanted = sorted(objective.values(), reverse=True)[:k]
    assert all(each.exact for each in found.sentences)
    tokens = [each.hypothesis.tokens for each in found.sentences]
    assert len(set(tokens)) == len(tokens) == len(wanted)
    got = [
        judge(metric, each.hypothesis.text, references) + weight * each.hypothesis.score
        for each in found.sentences
    ]
    assert got == pytest.approx(wanted, abs=1e-8)


@given(space=spaces(), references=references, metric=metrics, scale=st.sampled_from([0.1, 10.0]))
def test_worst_hope_and_fear(space, references, metric, scale):
    """Against several references the worst may be unproven, but has its bound."""
    evaluator = metric.against(references)
    scores = {each.tokens: judge(metric, each.text, references) for each in sentences_of(space)}
    (found,) = label_search([space], [evaluator], worst=True)
    (lowest,) = found.sentences
    assert lowest.exact or len(references) > 1
    if lowest.exact:
        assert scores[lowest.hypothesis.tokens] == pytest.approx(min(scores.values()), abs=CLOSE)
    assert found.bound <= min(scores.values()) + CLOSE
    chosen = hope_fear(space, evaluator, scale=scale)
    top = max(each.score + scale * scores[each.tokens] for each in sentences_of(space))
    assert chosen.hope.exact
    value = chosen.hope.hypothesis.score + scale * scores[chosen.hope.tokens]
    assert value == pytest.approx(top, abs=1e-8)


@given(
    space=spaces(), references=references, metric=metrics, budget=st.integers(1, 60), quick=quick
)
def test_bounds_hold_beyond_the_budget(space, references, metric, budget, quick):
    scores = [judge(metric, each.text, references) for each in sentences_of(space)]
    for worst in (False, True):
        with mock.patch.object(bleu_search, "QUICK", quick):
            (found,) = label_search(
                [space], [metric.against(references)], 1, Search(budget=budget), worst=worst
            )
        score = judge(metric, found.sentences[0].hypothesis.text, references)
        top = min(scores) if worst else max(scores)
        if found.sentences[0].exact:
            assert score == pytest.approx(top, abs=CLOSE)
        assert found.bound <= top + CLOSE if worst else found.bound >= top - CLOSE


def test_words_beside_characters_are_refused():
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    with pytest.raises(OptionError, match="word_order=2 counts n-grams of words, too; take an n-"):
        decoding.oracle(lattice, CHRF(word_order=2).against(["a"]))
