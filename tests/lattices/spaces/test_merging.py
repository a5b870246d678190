"""Lattices of lists: the same sentences, scores and features; recombined ones are marked."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lattices import Hypothesis, Lattice, NBest, OptionError, merge
from lattices.spaces.merging import RECOMBINED, merge_entries

SENTENCES = st.lists(st.sampled_from("abc"), max_size=5).map(tuple)
LISTS = st.lists(
    st.tuples(SENTENCES, st.integers(-40, 0).map(lambda each: each / 4), st.booleans()),
    min_size=1,
    max_size=8,
)


def nbest_of(rows: Any, features: bool = True) -> NBest:
    return NBest.from_hypotheses(
        [
            Hypothesis(tokens, score, {"lm": score * 2} if features and has else {})
            for tokens, score, has in rows
        ],
        id="s",
        references=("a b",),
    )


def expected(rows: Any) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return the log of the summed probability of each sentence, and its best entry's feature."""
    scores = defaultdict(list)
    for tokens, score, has in rows:
        scores[tokens].append((score, score * 2 if has else 0.0))
    return {
        tokens: (
            math.log(math.fsum(math.exp(score) for score, _ in some)),
            max(some, key=lambda each: each[0])[1],
        )
        for tokens, some in scores.items()
    }


def paths(lattice: Lattice) -> list[Hypothesis]:
    return list(lattice.paths())


@settings(max_examples=100)
@given(rows=LISTS)
def test_one_path_for_each_sentence(rows: Any) -> None:
    """Probabilities are those of the list, by enumeration; no two paths have the same words."""
    lattice = merge(nbest_of(rows))
    found = paths(lattice)
    wanted = expected(rows)
    assert sorted(each.tokens for each in found) == sorted(wanted)
    for each in found:
        score, feature = wanted[each.tokens]
        assert each.score == pytest.approx(score, abs=1e-12)
        assert each.features.get("lm", 0.0) == feature
    assert (lattice.id, lattice.references) == ("s", ("a b",))
    # deterministic: a word leaves a state once
    arcs = [*zip(lattice.src.tolist(), lattice.label.tolist(), strict=True)]
    assert len(arcs) == len(set(arcs))


@settings(max_examples=100)
@given(rows=LISTS, same=st.integers(1, 3))
def test_recombined_paths_are_marked(rows: Any, same: int) -> None:
    """What is not marked is the list; what is, has parts of sentences that fit by so many words."""
    found = paths(merge(nbest_of(rows), same))
    plain = [each for each in found if RECOMBINED not in each.features]
    wanted = expected(rows)
    assert sorted(each.tokens for each in plain) == sorted(wanted)
    assert len({each.tokens for each in found}) == len(found)
    for each in plain:
        assert each.score == pytest.approx(wanted[each.tokens][0], abs=1e-12)
    windows = {
        sentence[begin : begin + same + 1]
        for sentence in (("<s>",) * same + tokens + ("</s>",) for tokens in wanted)
        for begin in range(len(sentence) - same)
    }
    best = max(score for score, _ in wanted.values())
    for each in found:
        padded = ("<s>",) * same + each.tokens + ("</s>",)
        assert {padded[i : i + same + 1] for i in range(len(padded) - same)} <= windows
        assert each.score <= best + 1e-12
        assert each.features.get(RECOMBINED, 0.0) % 1.0 == 0.0


def test_two_sentences_cross() -> None:
    rows = [(tuple("axyb"), -1.0, False), (tuple("cxyd"), -2.0, False)]
    found = {each.text: each.features for each in merge(nbest_of(rows), 2).paths()}
    assert {*found} == {"a x y b", "c x y d", "a x y d", "c x y b"}
    assert [text for text, features in found.items() if features] == ["a x y d", "c x y b"]
    assert len(paths(merge(nbest_of(rows), 3))) == 2


def test_what_is_shared() -> None:
    """100 sentences of two words before a common end: 10 arcs, 10 arcs, one state at the end."""
    rows = [((f"a{i}", f"b{j}", "c", "d"), -1.0, False) for i in range(10) for j in range(10)]
    lattice = merge(nbest_of(rows))
    assert (lattice.num_states, lattice.num_arcs) == (5, 22)
    rows[0] = (rows[0][0], -2.0, False)
    assert merge(nbest_of(rows)).num_arcs == 32


def test_samples_without_scores_are_counted() -> None:
    samples = [Hypothesis(tuple(text.split())) for text in ("a b", "a c", "a b", "a b")]
    found = {each.text: each.score for each in merge(NBest.from_hypotheses(samples)).paths()}
    assert found == {"a b": pytest.approx(math.log(3)), "a c": pytest.approx(0.0)}


def test_times_keep_ends_apart() -> None:
    nbest = nbest_of([(tuple("ab"), -1.0, False), (tuple("cb"), -1.0, False)])
    lattice = merge_entries(nbest, times=[[0.0, 0.5, 1.0], [0.0, 0.25, 1.0]])
    assert lattice.times is not None
    assert sorted(lattice.times.tolist()) == [0.0, 0.25, 0.5, 1.0]
    assert merge(nbest).num_states == 3


def test_words_in_the_place_of_others() -> None:
    nbest = nbest_of([(tuple("ab"), -1.0, False), (tuple("ac"), -2.0, False)])
    lattice = merge_entries(nbest, others={0: [{"x": -3.0}, {"c": -1.0, "d": -0.5}], 1: [{}, {}]})
    found = {each.text: (each.score, each.features.get(RECOMBINED, 0)) for each in lattice.paths()}
    assert found == {
        "a b": (-1.0, 0), "a c": (-2.0, 0), "a d": (-1.5, 1),
        "x b": (-4.0, 1), "x c": (-5.0, 1), "x d": (-4.5, 2),
    }  # fmt: skip


def test_what_is_wrong() -> None:
    with pytest.raises(OptionError, match="recombine=-1"):
        merge(nbest_of([(("a",), 0.0, False)]), -1)
    with pytest.raises(OptionError):
        merge(NBest.from_hypotheses([]))
    np.testing.assert_equal(paths(merge(nbest_of([((), -1.0, True)])))[0].features, {"lm": -2.0})
