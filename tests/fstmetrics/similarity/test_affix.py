from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics import WER, AffixSimilarity, Wildcards, parse_metric
from fstmetrics.similarity.affix import affix_distance, affix_distances, check_matrix
from lattices import OptionError

# "A" and U+0081 share their last six bits, as do "a" and "!": the filter by letters sees one bit
words = st.lists(st.text("abcA\x81!ж𝄞", max_size=9), max_size=5)


def edits(one, other):
    row = list(range(len(other) + 1))
    for j, letter in enumerate(one, 1):
        diagonal, row[0] = row[0], j
        for i, another in enumerate(other, 1):
            cost = diagonal + (letter != another)
            diagonal, row[i] = row[i], min(cost, row[i] + 1, row[i - 1] + 1)
    return row[-1]


def distance_by_definition(one, other):
    pieces = {one[i:j] for i in range(len(one)) for j in range(i + 1, len(one) + 1)}
    common = [piece for piece in pieces if piece in other]
    if not common:
        return 1.0
    longest = max(map(len, common))
    splits = [
        edits(one[:i], other[:j]) + edits(one[i + longest :], other[j + longest :])
        for i in range(len(one) - longest + 1)
        for j in range(len(other) - longest + 1)
        if one[i : i + longest] == other[j : j + longest]
    ]
    return min(1.0, min(splits) / longest)


@given(words, words, st.sampled_from([0.0, 0.05, 1 / 3, 0.5, 0.99, 1.0]))
def test_all_pairs_equal_the_definition(left, right, limit):
    expected = np.array([[distance_by_definition(a, b) for b in right] for a in left])
    expected = expected.reshape(len(left), len(right))
    assert np.array_equal(affix_distances(left, right), expected)
    cut = np.where(expected <= limit, expected, 1.0)
    assert np.array_equal(affix_distances(left, right, limit=limit), cut)
    similar = AffixSimilarity(epsilon=limit).matrix(left, right)
    assert np.array_equal(similar, np.where(expected <= limit, 1.0 - expected, 0.0))


@pytest.mark.parametrize("length", range(2, 60))
def test_a_distance_that_equals_the_limit_is_within_it(length):
    # 49 * (1 / 49) is less than 1 in floating point
    assert affix_distance("x" * length, "x" * length + "y") == 1 / length
    assert AffixSimilarity(epsilon=1 / length).matrix(["x" * length], ["x" * length + "y"])[0, 0]


def test_odd_words():
    assert affix_distance("\ud800x", "\ud800x") == 0.0
    assert affix_distance("", "") == 1.0
    assert affix_distances([], ["a"]).shape == (0, 1)
    assert affix_distances(["a"], []).shape == (1, 0)
    assert affix_distance("ab" * 300, "ba" * 300) == 1 / 599 * 2


def test_what_a_plug_in_returns_is_checked():
    class Wrong:
        def __init__(self, matrix):
            self.answer = matrix

        def matrix(self, words, others):
            return self.answer

    for matrix, message in (
        (np.zeros((1, 2)), "shape"),
        (np.full((1, 1), 1.5), "outside"),
        (np.full((1, 1), np.nan), "outside"),
    ):
        with pytest.raises(OptionError, match=message):
            check_matrix(Wrong(matrix), ["a"], ["b"])
        with pytest.raises(OptionError, match=message):
            WER(similarity=Wrong(matrix)).against(["a"]).score("b")


def test_wildcards_match_anything() -> None:
    wild = Wildcards(words="<unk>|a")
    assert wild.matrix(["a", "b"], ["b", "c", "<unk>"]).tolist() == [[1, 1, 1], [1, 0, 1]]
    assert wild.matrix([], ["b"]).shape == (0, 1)
    metric = parse_metric("wer:similarity=wildcards(words=<unk>|a)")
    assert metric == WER(similarity=wild)
    assert str(metric) == "wer:similarity=wildcards(words=<unk>|a)"
    for words in ("", "a||b", "a b", "a,b", "(a)"):
        with pytest.raises(OptionError, match="between them, without blanks"):
            Wildcards(words=words)
