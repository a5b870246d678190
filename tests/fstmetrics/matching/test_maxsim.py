from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import MAXSIM, AffixSimilarity, corpus_score, parse_metric
from fstmetrics.testing import check_metric
from lattices import OptionError


class Near:
    """Letters that follow each other are alike by half."""

    def matrix(self, words, others):
        return np.array(
            [[{0: 1.0, 1: 0.5}.get(abs(ord(a) - ord(b)), 0.0) for b in others] for a in words]
        ).reshape(len(words), len(others))


def by_definition(words, reference, order, alpha, similarity):
    """MAXSIM_n with the best of all matchings of what is not equal, by enumeration."""
    scores = []
    for n in range(1, order + 1):
        own, other = (
            [tuple(side[at : at + n]) for at in range(len(side) - n + 1)]
            for side in (words, reference)
        )
        if not own and not other:
            continue
        sizes, matches = (len(own), len(other)), 0.0
        for gram in list(own):
            if gram in other:
                own.remove(gram)
                other.remove(gram)
                matches += 1
        if similarity is not None:

            def weight(one, two):
                parts = [similarity.matrix([a], [b])[0, 0] for a, b in zip(one, two, strict=True)]
                return sum(parts) / len(parts) if all(parts) else 0.0

            few, many = sorted([own, other], key=len)
            matches += max(
                sum(weight(one, two) for one, two in zip(few, some, strict=True))
                for some in permutations(many, len(few))
            )
        if not matches:
            scores.append(0.0)
            continue
        precision, recall = matches / sizes[0], matches / sizes[1]
        scores.append(precision * recall / (alpha * precision + (1 - alpha) * recall))
    return sum(scores) / len(scores) if scores else 0.0


@settings(max_examples=80)
@given(
    st.lists(st.sampled_from("abcd"), max_size=6),
    st.lists(st.sampled_from("abcd"), max_size=6),
    st.integers(1, 3),
    st.sampled_from([0.5, 0.9]),
    st.sampled_from([None, Near()]),
)
def test_it_equals_its_definition(words, reference, order, alpha, similarity):
    metric = MAXSIM(order=order, alpha=alpha, stemmer="none", similarity=similarity)
    expected = by_definition(words, reference, order, alpha, similarity)
    assert metric.against([reference]).score(words) == pytest.approx(expected)


def test_a_worked_example():
    # 3 of 4 words, 1 of 3 pairs, no triple; precision and recall are the same
    metric = MAXSIM(stemmer="none")
    assert metric.against(["the cat sat down"]).score("the cat sits down") == pytest.approx(
        (3 / 4 + 1 / 3 + 0) / 3
    )
    # as long as three words: one more is wrong, and recall counts nine times as much
    found = metric.against(["a b"]).score("a b c")
    assert found == pytest.approx((1 / (0.9 + 0.1 * 3 / 2) + 1 / (0.9 + 0.1 * 2)) / 3)


def test_the_steps_of_the_paper():
    """By hand: tokens without letters go, equal n-grams match, a graph of the others is matched.

    Words: a matches a, of b and x against c and z only b and c are alike (0.5): 1.5 of 3. Pairs:
    (a b) and (a c) weigh (1 + 0.5) / 2, the others have a part of 0: 0.75 of 2. Triples: x and z
    are not alike: 0 of 1.
    """
    metric = MAXSIM(stemmer="none", similarity=Near())
    assert metric.against(["a c z ."]).score("a , b x") == pytest.approx(
        (1.5 / 3 + 0.75 / 2 + 0) / 3
    )
    whole = MAXSIM(order=1, stemmer="none", punctuation=True)
    assert whole.against(["a c ."]).score("a b .") == pytest.approx(2 / 3)


def test_stems_stand_for_lemmas():
    pytest.importorskip("nltk")
    evaluator = MAXSIM().against(["The cats were running"])
    assert evaluator.score("the cat were run") == pytest.approx(1.0)


def test_a_corpus_is_the_mean_of_its_segments():
    metric = MAXSIM(order=1, alpha=0.5, stemmer="none")
    hypotheses, references = ["a", "a b c"], [["a"], ["x", "c d e"]]
    # of several references the mean counts
    assert corpus_score(metric, hypotheses, references) == pytest.approx((1 + (0 + 1 / 3) / 2) / 2)
    assert corpus_score(metric, [], []) == 0.0


@pytest.mark.parametrize(
    "metric",
    [
        MAXSIM(stemmer="none"),
        MAXSIM(order=2, stemmer="none", similarity=AffixSimilarity(epsilon=0.9)),
        MAXSIM(stemmer="none", lowercase=False, alpha=0.5),
    ],
    ids=str,
)
def test_the_laws_hold(metric):
    check_metric(metric)


def test_signatures():
    text = "maxsim:order=2,alpha=0.5,stemmer=none,similarity=affix(epsilon=0.5)"
    assert str(parse_metric(text)) == text


def test_bad_options():
    with pytest.raises(OptionError, match="order is a whole number"):
        MAXSIM(order=0)
    with pytest.raises(OptionError, match="alpha is a number from 0 to 1"):
        MAXSIM(alpha=2)
