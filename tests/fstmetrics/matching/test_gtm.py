from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import GTM, corpus_score, parse_metric
from fstmetrics.testing import check_metric
from lattices import Lattice, OptionError

some = st.lists(st.sampled_from("abc"), max_size=5)


def match_sizes(words, others, e):
    """The sizes of all matchings of equal words, by enumeration."""
    for count in range(min(len(words), len(others)) + 1):
        for left in combinations(range(len(words)), count):
            for right in permutations(range(len(others)), count):
                pairs = list(zip(left, right, strict=True))
                if any(words[i] != others[j] for i, j in pairs):
                    continue
                starts = [(i, j) for i, j in pairs if (i - 1, j - 1) not in pairs]
                runs = []
                for i, j in starts:
                    length = 0
                    while (i + length, j + length) in pairs:
                        length += 1
                    runs.append(length)
                yield sum(run**e for run in runs) ** (1 / e)


@settings(max_examples=60)
@given(some, some)
def test_the_match_size(words, others):
    assert GTM().stats(words, [others])[0] == max(match_sizes(words, others, 1))
    for e in (1.2, 2.0):
        found = GTM(e=e).stats(words, [others])[0]
        sizes = list(match_sizes(words, others, e))
        assert any(found == pytest.approx(size) for size in sizes)
        assert found <= max(sizes) + 1e-9


def test_worked_examples():
    reference = "a b c d e f"
    # runs of 3 and 2; x is matched by nothing
    assert GTM().against([reference]).score("d e f x a b") == pytest.approx(5 / 6)
    for e in (1.2, 2.0):
        size = (3**e + 2**e) ** (1 / e)
        assert GTM(e=e).against([reference]).score("d e f x a b") == pytest.approx(size / 6)
        assert GTM(e=e).against([reference]).score(reference) == pytest.approx(1)
    # P = 2 / 3, R = 2 / 6
    assert GTM().against([reference]).score("a b z") == pytest.approx(2 * 2 / 9)
    # the longest run first: b c d, though a b and c d would leave more
    assert GTM(e=2).stats("b c d a b", ["a b c d"])[0] == pytest.approx((3**2 + 1) ** 0.5)


def test_a_corpus_is_the_f_measure_of_sums():
    # the references of the second are 2 words long in the mean
    hypotheses, references = ["a b", "c"], [["a b x"], ["d", "c d e"]]
    assert corpus_score(GTM(), hypotheses, references) == pytest.approx(2 * 3 / (3 + 5))


@pytest.mark.parametrize("metric", ["gtm", "gtm:e=1.2", "gtm:e=2,lowercase=true"])
def test_the_laws_hold(metric):
    check_metric(parse_metric(metric))


def test_case():
    assert GTM().against(["A cat"]).score("a cat") == 0.5
    assert GTM(lowercase=True).against(["A cat"]).score("a cat") == 1.0


def test_bad_options():
    with pytest.raises(OptionError, match="e is a number of at least 1, not"):
        GTM(e=0.5)
    with pytest.raises(OptionError, match="gtm takes references as sentences"):
        GTM().against([Lattice.from_arcs([(0, 1, "a", 0.0)], finals=[1])])


def test_powers_that_are_not_finite():
    words = tuple("abcdefghijk")
    assert GTM(e=400).against([words]).score(words) == 1.0
    assert GTM(e=1e308).stats("a b c d", ["a b x c"])[0] == pytest.approx(2)


def test_empty_sides():
    assert GTM().against([""]).score("") == GTM(e=2).against(["a"]).score("") == 0.0


def test_several_references_share_one_grid():
    references = ["a b c x", "d e f y z w"]
    # 3 words of each; the second run would pass the mean length, 5, and is cut
    for e in (1.0, 1.2, 2.0):
        size = (3**e + 2**e) ** (1 / e)
        found = GTM(e=e).stats("a b c d e f", references).tolist()
        assert found == pytest.approx([size, 6, 5])
    # no run crosses from one reference into the next
    assert GTM(e=2).stats("a b", ["x a", "b y"])[0] == pytest.approx(2**0.5)


@settings(max_examples=60)
@given(some, st.lists(some, min_size=2, max_size=3), st.permutations(range(3)))
def test_without_a_reward_for_runs_the_order_is_free(words, references, order):
    moved = [references[place] for place in order if place < len(references)]
    found, other = (GTM().stats(words, each).tolist() for each in (references, moved))
    assert found == pytest.approx(other)
    assert found[0] <= min(found[1:]) + 1e-9
