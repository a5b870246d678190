from __future__ import annotations

import math
import pickle
import random
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics import AffixSimilarity, Bllip, ParseTable, corpus_score, parse_metric
from fstmetrics.dependency.bllip import bllip_score
from fstmetrics.dependency.parses import PARSERS, Parse, read_conllu
from fstmetrics.testing import check_metric
from lattices import Lattice, OptionError
from lattices.errors import UnknownNameError


def chain(tokens):
    """Parse as a right-branching chain."""
    return range(len(tokens))


@pytest.fixture
def chain_parser():
    PARSERS.register("chain", lambda model: chain)
    yield "chain"
    PARSERS.unregister("chain")


@pytest.mark.parametrize("mean", ["geometric", "f1"])
@pytest.mark.parametrize("reference", ["best", "mean", "worst", "any"])
@pytest.mark.parametrize("pooled", [True, False])
def test_the_laws_hold(chain_parser, mean, reference, pooled):
    check_metric(Bllip(parser=chain_parser, mean=mean, reference=reference, pooled=pooled))


words = st.lists(st.sampled_from("abc"), max_size=6)


@given(words, st.lists(words, min_size=1, max_size=3))
def test_it_equals_the_definition(hypothesis, references):
    def pairs(tokens):
        return [*zip([None, *tokens], tokens, strict=False)]

    geometric, harmonic = [], []
    for reference in references:
        left, matches = pairs(reference), 0
        for pair in pairs(hypothesis):
            if pair in left:
                left.remove(pair)
                matches += 1
        precision = matches / len(hypothesis) if hypothesis else float(not reference)
        recall = matches / len(reference) if reference else float(not hypothesis)
        geometric.append((precision * recall) ** 0.5)
        total = precision + recall
        harmonic.append(2 * precision * recall / total if total else 0.0)
    for mean, scores in (("geometric", geometric), ("f1", harmonic)):
        for choice, expected in (
            ("best", max(scores)), ("mean", sum(scores) / len(scores)), ("worst", min(scores))
        ):  # fmt: skip
            metric = Bllip(parser=chain, mean=mean, reference=choice)
            assert metric.against(references).score(hypothesis) == pytest.approx(expected)
            bags = [Counter(pairs(reference)) for reference in references]
            score = bllip_score(Counter(pairs(hypothesis)), bags, mean=mean, reference=choice)
            assert score == pytest.approx(expected)


@given(words, st.lists(words, min_size=1, max_size=3))
def test_any_reference_by_its_definition(hypothesis, references):
    """A dependency matches as often as one of the references has it; shorter ones are punished."""

    def pairs(tokens):
        return [*zip([None, *tokens], tokens, strict=False)]

    own = pairs(hypothesis)
    matches = sum(
        min(own.count(pair), max(pairs(reference).count(pair) for reference in references))
        for pair in set(own)
    )
    sizes = sorted(map(len, references), key=lambda size: (abs(size - len(own)), size))
    expected = float(sizes[0] == 0)
    if own:
        expected = matches / len(own) * min(1.0, math.exp(1 - sizes[0] / len(own)))
    metric = Bllip(parser=chain, reference="any")
    assert metric.against(references).score(hypothesis) == pytest.approx(expected)
    assert Bllip(parser=chain, reference="any", pooled=True).score(
        metric.against(references).stats(hypothesis)
    ) == pytest.approx(expected)
    if len(references) == 1 and len(own) >= len(references[0]) and own:
        assert expected == pytest.approx(matches / len(own))


LIKENESS = {frozenset("ab"): 0.75, frozenset("bc"): 0.25, frozenset("a"): 0.5}


class Table:
    """A similarity by table; equal words have 1 whatever it says."""

    def matrix(self, words, others):
        return np.array(
            [[LIKENESS.get(frozenset({one, other}), 0.0) for other in others] for one in words]
        ).reshape(len(words), len(others))


few = st.lists(st.sampled_from("abc"), max_size=4)


@given(few, few)
def test_similar_words_by_enumeration(hypothesis, reference):
    def alike(one, other):
        if one == other:
            return 1.0
        return LIKENESS.get(frozenset({one, other}), 0.0) if one and other else 0.0

    own, others = (list(zip([None, *side], side, strict=False)) for side in (hypothesis, reference))
    fewer, more = sorted((own, others), key=len)
    matches = max(
        sum(
            alike(head, other_head) * alike(word, other_word)
            for (head, word), (other_head, other_word) in zip(fewer, chosen, strict=True)
        )
        for chosen in permutations(more, len(fewer))
    )
    metric = Bllip(parser=chain, similarity=Table())
    stats = metric.against([reference]).stats(hypothesis)
    assert stats[0] == pytest.approx(matches)
    if own and others:
        expected = matches / math.sqrt(len(own) * len(others))
        assert metric.score(stats) == pytest.approx(expected)


@given(words, st.lists(words, min_size=1, max_size=3), st.sampled_from(["best", "any"]))
def test_words_that_are_all_different_change_nothing(hypothesis, references, choice):
    strict = Bllip(parser=chain, reference=choice).against(references)
    soft = Bllip(parser=chain, reference=choice, similarity=AffixSimilarity(epsilon=0.1))
    assert soft.against(references).score(hypothesis) == pytest.approx(strict.score(hypothesis))


def test_a_word_of_another_form_matches_in_part():
    metric = parse_metric("bllip:parser=chain_of_words,similarity=affix(epsilon=0.5)")
    PARSERS.register("chain_of_words", lambda model: chain)
    try:
        # (None, walked) is like (None, walks) by half, and so is (walked, home)
        assert metric.against(["walks home"]).stats("walked home")[0] == 1.0
    finally:
        PARSERS.unregister("chain_of_words")


def test_a_corpus_is_the_mean_of_segments_or_pooled():
    hypotheses, references = ["a b", "c"], [["a b"], ["x y z c"]]
    assert corpus_score(Bllip(parser=chain), hypotheses, references) == 0.5
    pooled = Bllip(parser=chain, pooled=True)
    assert corpus_score(pooled, hypotheses, references) == pytest.approx(2 / (3 * 6) ** 0.5)
    assert corpus_score(pooled, ["a b"], [["a b", "a c d"]]) == 1.0
    both = Bllip(parser=chain, pooled=True, reference="mean")
    assert corpus_score(both, ["a b"], [["a b", "a c d"]]) == pytest.approx(3 / (4 * 5) ** 0.5)
    assert corpus_score(Bllip(parser=chain), [], []) == 0.0


def test_case():
    assert Bllip(parser=chain).against(["In school"]).score("in School") == 1.0
    assert Bllip(parser=chain, lowercase=False).against(["In school"]).score("in school") == 0.0


def test_signatures(chain_parser, tmp_path):
    path = tmp_path / "a.conllu"
    for metric in (
        Bllip(parses=str(path), mean="f1"),
        Bllip(parser="chain:model", reference="worst", pooled=True, lowercase=False),
        Bllip(parser="chain", reference="any", similarity=AffixSimilarity(epsilon=0.5)),
    ):
        assert parse_metric(str(metric)) == metric
    metric = Bllip(parser=chain_parser)
    assert metric.against(["a"]).score("a") == 1.0
    again = pickle.loads(pickle.dumps(metric))
    assert again == metric
    assert again.against(["a b"]).score("a b") == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs dependencies"),
        ({"parses": "a", "parser": "b"}, "either parses=FILE or parser=NAME"),
        ({"parser": "b", "mean": "average"}, "expected one of geometric, f1"),
        ({"parser": "b", "reference": "first"}, "expected one of best, mean, worst, any"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message):
        Bllip(**options)


def test_parsers_and_tables_that_do_not_answer():
    with pytest.raises(UnknownNameError, match="no parser named 'none'"):
        Bllip(parser="none").against(["a"])
    with pytest.raises(OptionError, match="1 heads for 2 words"):
        Bllip(parser=lambda tokens: [0]).against(["a b"])
    with pytest.raises(OptionError, match="the head of word 1 is 7"):
        Bllip(parser=lambda tokens: [7]).against(["a"])
    with pytest.raises(OptionError, match="memory has no parse of 'a'"):
        Bllip(parses=ParseTable([])).against(["a"])
    evaluator = Bllip(parses=ParseTable([Parse(("a",), (0,))])).against(["a"])
    assert evaluator.score("") == 0.0
    with pytest.raises(OptionError, match="has no parse of 'b'"):
        evaluator.score("b")
    with pytest.raises(OptionError, match="not as a lattice"):
        Bllip(parser=chain).against([Lattice.from_arcs([(0, 1, "a", 0.0)], finals=[1])])
    with pytest.raises(OptionError, match="at least one reference"):
        bllip_score(Counter(), [])


def test_perturbed_treebank(shared_data):
    pytest.importorskip("conllu")
    path = str(shared_data / "treebanks" / "en_pud-ud-test.conllu")
    parses = list(read_conllu(path))
    references = [[parse.words] for parse in parses]
    assert corpus_score(Bllip(parses=path), [parse.words for parse in parses], references) == 1.0
    # each wrong head costs one dependency, unless the new head is the same word
    rng = random.Random(0)
    scores = []
    for errors in (1, 3):
        bags = []
        for parse in parses:
            heads = list(parse.heads)
            for place in rng.sample(range(len(heads)), min(errors, len(heads))):
                others = [
                    head for head in range(len(heads) + 1) if head not in (place + 1, heads[place])
                ]
                heads[place] = rng.choice(others)
            bags.append(Parse(parse.words, tuple(heads)).bag(lowercase=True))
        kept = [
            bllip_score(bag, [parse.bag(lowercase=True)])
            for bag, parse in zip(bags, parses, strict=True)
        ]
        least = [max(0, 1 - errors / len(parse.words)) for parse in parses]
        assert np.all(np.array(kept) >= np.array(least) - 1e-12)
        scores.append(np.mean(kept))
    assert scores[1] < scores[0] < 1
    # a sentence against another one
    shifted = [*references[1:], references[0]]
    assert corpus_score(Bllip(parses=path), [parse.words for parse in parses], shifted) < 0.1
