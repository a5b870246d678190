"""Oracles under BLEU: the search by labels against enumeration, with sacreBLEU as the judge."""

from __future__ import annotations

from collections.abc import Iterable
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU as SacreBLEU

import decoding
from decoding import corpus_oracle, oracle_kbest
from decoding.extraction import bleu_search
from decoding.extraction.bleu_search import label_search, statistics_fronts
from decoding.extraction.search import Search
from decoding.training.hope_fear import hope_fear
from fstmetrics import BLEU, BLEUSBP
from fstmetrics.external.tokenizers import WORD_BY_WORD
from lattices.errors import OptionError
from lattices.spaces import Forest, Hypothesis, Lattice, NBest
from tests.strategies import sentences, small_forests, small_lattices

#: scores closer than this are the same
CLOSE = 1e-9


def sentences_of(space: Lattice | Forest) -> list[Hypothesis]:
    """Return all sentences, each once, with the best of its scores."""
    every: Iterable[Hypothesis] = (
        space.paths() if isinstance(space, Lattice) else space.derivations()
    )
    best: dict[tuple[str, ...], Hypothesis] = {}
    for each in every:
        if each.tokens not in best or each.score > best[each.tokens].score:
            best[each.tokens] = each
    return list(best.values())


def spaces() -> st.SearchStrategy[Lattice | Forest]:
    return st.one_of(
        small_lattices(max_states=7, max_arcs=14, words="ab"),
        small_lattices(max_states=7, max_arcs=12, words="abc"),
        small_forests(words="ab"),
        small_forests(words="abc"),
    )


#: labels after which a bound is made, or not
quick = st.sampled_from([0, 3, 10, 30_000])
references = st.lists(sentences("abc", max_size=7), min_size=1, max_size=3)


@st.composite
def metrics(draw: st.DrawFn, *, by_sacrebleu: bool = False) -> BLEU:
    order = draw(st.integers(1, 5))
    smooth = draw(st.sampled_from(["none", "floor", "add-k", "exp"]))
    value = 0.0
    if smooth == "floor":
        value = draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))
    elif smooth == "add-k":
        value = draw(st.sampled_from([0.0, 0.3, 2.0]))
    options = {
        "order": order,
        "smooth": smooth,
        "smooth_value": value,
        "effective_order": draw(st.booleans()),
    }
    if by_sacrebleu:
        return BLEU(**options)
    options["length"] = draw(st.sampled_from(["closest", "shortest", "average"]))
    options["mean"] = draw(st.sampled_from(["geometric", "geometric", "arithmetic"]))
    if draw(st.booleans()):
        weights = draw(st.lists(st.sampled_from([0, 1, 2]), min_size=order, max_size=order))
        options["weights"] = weights if any(weights) else "uniform"
    if draw(st.integers(0, 2)) == 0:
        return BLEU(**options, brevity=draw(st.sampled_from(["smooth", "none"])))
    return draw(st.sampled_from([BLEU, BLEUSBP]))(**options)


def judge(metric: BLEU, tokens: tuple[str, ...], references: list[list[str]]) -> float:
    scorer = SacreBLEU(
        max_ngram_order=metric.order,
        smooth_method=metric.smooth,
        smooth_value=metric.smooth_value if metric.smooth in ("floor", "add-k") else None,
        effective_order=metric.effective_order,
        tokenize="none",
    )
    streams = [[" ".join(each)] for each in references]
    return float(scorer.corpus_score([" ".join(tokens)], streams).score) / 100.0


@given(space=spaces(), references=references, metric=metrics(by_sacrebleu=True), quick=quick)
def test_the_best_is_what_sacrebleu_likes_best(
    space: Lattice | Forest, references: list[list[str]], metric: BLEU, quick: int
) -> None:
    with mock.patch.object(bleu_search, "QUICK", quick):
        (found,) = label_search([space], [metric.against(references)])
    (best,) = found.sentences
    scores = [(judge(metric, each.tokens, references), each.score) for each in sentences_of(space)]
    top = max(score for score, _ in scores)
    assert best.exact
    assert judge(metric, best.hypothesis.tokens, references) == pytest.approx(top, abs=CLOSE)
    assert found.bound == pytest.approx(top, abs=CLOSE)
    # of equals the one with the higher model score
    ties = [model for score, model in scores if score >= top - CLOSE]
    assert best.hypothesis.score == pytest.approx(max(ties), abs=CLOSE)


@given(
    space=spaces(),
    references=references,
    metric=metrics(by_sacrebleu=True),
    scale=st.sampled_from([0.1, 1.0, 10.0]),
    quick=quick,
)
def test_hope_and_fear_are_what_sacrebleu_says(
    space: Lattice | Forest, references: list[list[str]], metric: BLEU, scale: float, quick: int
) -> None:
    with mock.patch.object(bleu_search, "QUICK", quick):
        found = hope_fear(space, metric.against(references), scale=scale)
    every = sentences_of(space)
    scores = {each.tokens: scale * judge(metric, each.tokens, references) for each in every}
    for sign, chosen in ((1.0, found.hope), (-1.0, found.fear)):
        top = max(each.score + sign * scores[each.tokens] for each in every)
        assert chosen.exact
        value = chosen.hypothesis.score + sign * scores[chosen.tokens]
        assert value == pytest.approx(top, abs=1e-8)
    assert scores[found.oracle.tokens] == pytest.approx(max(scores.values()), abs=1e-8)


@given(
    space=spaces(),
    references=references,
    metric=metrics(),
    k=st.integers(1, 5),
    worst=st.booleans(),
    weight=st.sampled_from([0.0, 0.0, 0.1, -0.3, 2.0]),
    quick=quick,
)
def test_the_k_best_and_worst_are_sorted_and_complete(
    space: Lattice | Forest,
    references: list[list[str]],
    metric: BLEU,
    k: int,
    worst: bool,
    weight: float,
    quick: int,
) -> None:
    evaluator = metric.against(references)
    with mock.patch.object(bleu_search, "QUICK", quick):
        (found,) = label_search([space], [evaluator], k, worst=worst, model_weight=weight)
    sign = -1.0 if worst else 1.0
    every: Iterable[Hypothesis] = (
        space.paths() if isinstance(space, Lattice) else space.derivations()
    )
    objective: dict[tuple[str, ...], tuple[float, float]] = {}
    for each in every:
        value = sign * (evaluator.score(each.tokens) + weight * each.score)
        key = (round(value, 9), each.score)
        objective[each.tokens] = max(objective.get(each.tokens, key), key)
    wanted = sorted(objective.values(), reverse=True)[:k]
    assert all(each.exact for each in found.sentences)
    tokens = [each.hypothesis.tokens for each in found.sentences]
    assert len(set(tokens)) == len(tokens) == len(wanted)
    got = [
        (
            sign * (evaluator.score(each.hypothesis.tokens) + weight * each.hypothesis.score),
            each.hypothesis.score,
        )
        for each in found.sentences
    ]
    np.testing.assert_allclose(got, wanted, atol=1e-8)
    assert sign * found.bound == pytest.approx(wanted[0][0], abs=1e-8)


@given(
    space=st.one_of(
        small_lattices(max_states=4, max_arcs=8, words="ab", exact=True),
        small_forests(max_nodes=4, words="ab", exact=True),
    ),
    reference=st.one_of(
        sentences("abc", max_size=3), st.lists(st.sampled_from("ab"), min_size=50, max_size=90)
    ),
    metric=metrics(),
    k=st.integers(1, 3),
    quick=quick,
)
@example(
    space=Lattice.from_arcs([(0, 1, "a", -2.0), (0, 1, "b", -1.0), (1, 2, "a", 0.0)], finals=[2]),
    reference=["b"],
    metric=BLEU(order=3, smooth="floor"),
    k=1,
    quick=30_000,
)
@example(
    # next to nothing is left by the brevity penalty
    space=Lattice.from_arcs([(0, 1, "a", -2.0), (0, 1, "b", -1.0), (1, 2, "a", 0.0)], finals=[2]),
    reference=["a"] * 80,
    metric=BLEU(order=2),
    k=1,
    quick=0,
)
def test_of_equals_the_better_model_score_is_found(
    space: Lattice | Forest, reference: list[str], metric: BLEU, k: int, quick: int
) -> None:
    """Short sentences score 0, whatever they match: the model decides between them."""
    evaluator = metric.against([reference])
    every = sentences_of(space)
    # what is rounding and what is not must be clear
    assume(not any(1e-13 < evaluator.score(each.tokens) < 1e-9 for each in every))
    for sign, search in ((1.0, oracle_kbest), (-1.0, decoding.worst)):
        values = [(round(sign * evaluator.score(each.tokens), 10), each.score) for each in every]
        wanted = np.array(sorted(values, reverse=True))
        for given_space in (space, NBest.from_hypotheses(every)):
            with mock.patch.object(bleu_search, "QUICK", quick):
                found = search(given_space, evaluator, k)
            got = [(round(sign * each.score, 10), each.hypothesis.score) for each in found]
            np.testing.assert_allclose(got, wanted[:k])
            if search is oracle_kbest:
                chosen = corpus_oracle([given_space], [[reference]], metric)
                got = [(round(chosen.score, 10), chosen.hypotheses[0].score)]
                np.testing.assert_allclose(got, wanted[:1])


@given(
    space=spaces(),
    references=references,
    metric=metrics(),
    k=st.integers(1, 3),
    weight=st.sampled_from([0.0, 0.0, 0.5, -0.25]),
    budget=st.integers(1, 60),
    quick=quick,
)
@example(
    # orders that a sentence has no n-grams of count in longer ones
    space=Lattice.from_arcs([(0, 1, "a", 0.0)], finals=[0, 1]),
    references=[["a", "a"]],
    metric=BLEU(order=2, effective_order=True),
    k=1,
    weight=0.5,
    budget=2,
    quick=0,
)
def test_bounds_hold_beyond_the_budget(
    space: Lattice | Forest,
    references: list[list[str]],
    metric: BLEU,
    k: int,
    weight: float,
    budget: int,
    quick: int,
) -> None:
    evaluator = metric.against(references)
    every: Iterable[Hypothesis] = (
        space.paths() if isinstance(space, Lattice) else space.derivations()
    )
    scores = [evaluator.score(each.tokens) + weight * each.score for each in every]
    for worst in (False, True):
        with mock.patch.object(bleu_search, "QUICK", quick):
            (found,) = label_search(
                [space], [evaluator], k, Search(budget=budget), worst=worst, model_weight=weight
            )
        best, *others = found.sentences
        assert 1 + len(others) == min(k, len(sentences_of(space)))
        score = evaluator.score(best.hypothesis.tokens) + weight * best.hypothesis.score
        top = min(scores) if worst else max(scores)
        if best.exact:
            assert score == pytest.approx(top, abs=CLOSE)
        assert found.bound <= top + CLOSE if worst else found.bound >= top - CLOSE


@given(space=spaces(), references=references, metric=metrics(), budget=st.integers(1, 60))
def test_fronts_dominate_all_statistics(
    space: Lattice | Forest, references: list[list[str]], metric: BLEU, budget: int
) -> None:
    evaluator = metric.against(references)
    every = sentences_of(space)
    rows = {each.tokens: evaluator.stats(each.tokens) for each in every}
    for limit in (budget, 1_000_000):
        (front,) = statistics_fronts([space], [evaluator], Search(budget=limit))
        for row, hypothesis in zip(front.rows, front.hypotheses, strict=True):
            assert row.tolist() == rows[hypothesis.tokens].tolist()
        matches = metric.order
        for row in rows.values():
            assert any(
                (other[matches:] == row[matches:]).all() and (other >= row).all()
                for other in front.outer
            )
    assert front.exact
    assert front.rows.tolist() == front.outer.tolist()
    assert len({tuple(row) for row in front.rows.tolist()}) == len(front.rows)


# tokens

TOKENIZED = ["Well,", "3.5", ".", "it's", "2,000-", "a.b", "&quot;A", "-", "ΣΑΣ", "5,"]
pieces = st.text(".,-&;:'\"!/<>()[]0123abcÀΣ%$", min_size=1, max_size=6)


@pytest.mark.parametrize("name", sorted(WORD_BY_WORD))
@given(words=st.lists(pieces, min_size=1, max_size=4))
def test_tokens_of_words_are_tokens_of_the_sentence(name, words):
    for metric in (
        BLEU(tokenize=name),
        BLEU(tokenize=name, lowercase=True),
        BLEU(tokenize=name, unit="char", spaces=False),
    ):
        assert metric.units(words) == tuple(unit for word in words for unit in metric.units([word]))
    spelt = BLEU(tokenize=name, unit="char")
    assert spelt.units(words) == tuple(" ".join("".join(spelt.units([each])) for each in words))


def test_intl_is_not_word_by_word():
    metric = BLEU(tokenize="intl")
    assert metric.units(["a", "'5"]) == ("a", "'", "5")
    assert metric.units(["'5"]) == ("'5",)


@given(
    st.one_of(
        small_lattices(max_states=6, max_arcs=9, words=TOKENIZED),
        small_forests(words=TOKENIZED[:6]),
    ),
    st.lists(sentences(TOKENIZED, unknown=["well", ","]), min_size=1, max_size=2),
    st.sampled_from(["exp", "add-k"]),
)
def test_oracles_under_13a(space, given, smooth):
    """sacreBLEU's default, of texts, with sacreBLEU as the judge."""
    metric = BLEU(tokenize="13a", smooth=smooth, smooth_value=float(smooth == "add-k"))
    judge = SacreBLEU(smooth_method=smooth, effective_order=False)
    texts = [" ".join(each) for each in given]
    evaluator = metric.against(texts)
    scores = {
        each.text: judge.sentence_score(each.text, texts).score / 100
        for each in sentences_of(space)
    }
    found = decoding.oracle(space, evaluator)
    assert found.exact
    assert found.text in scores
    assert found.score == pytest.approx(max(scores.values()), abs=CLOSE)
    assert scores[found.text] == pytest.approx(found.score, abs=CLOSE)
    lowest, *_ = decoding.worst(space, evaluator)
    assert lowest.score == pytest.approx(min(scores.values()), abs=CLOSE)


def test_words_without_tokens_are_refused():
    lattice = Lattice.from_arcs([(0, 1, "<skipped>")], finals=[1])
    with pytest.raises(OptionError, match="the word '<skipped>' has no pieces"):
        decoding.oracle(lattice, BLEU(tokenize="13a").against(["a"]))
