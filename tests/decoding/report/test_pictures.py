"""The part of a space that is drawn."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from decoding import oracle
from decoding.report.pictures import (
    FOLDED,
    MBR,
    ONE_BEST,
    ORACLE,
    REFERENCE,
    select_differences,
    sentences,
)
from fstmetrics import WER
from lattices import Forest, Hypothesis, Lattice, NBest
from lattices.algorithms import best
from tests.judges import model_score
from tests.strategies import sentences as some_sentences
from tests.strategies import small_forests, small_lattices

#: the two arcs of its worst way are of equal value, but for rounding
ROUNDED = Lattice.from_arcs(
    [(0, 1, "a", -2.0), (0, 1, "a", -1.9), (0, 2, "a"), (0, 2, "a"), (0, 2, "a"),
     (1, 3, "a", -1.21528461), (2, 4, "a"), (3, 4, "a", -1.59223609)],
    {4: 1.0},
)  # fmt: skip


def drawn(picture: dict[str, Any], marks: int = 0, without: int = 0) -> Iterator[tuple[str, ...]]:
    """Iterate over the sentences of a picture, of arcs that have one of some marks, or any."""

    def follow(state: int, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if state in picture["finals"]:
            yield words
        for src, dst, word, _, own in picture["arcs"]:
            if src == state and (not marks or own & marks) and not own & without:
                yield from follow(dst, (*words, *word.split()))

    return follow(picture["start"], ())


@given(small_lattices(), some_sentences(), st.integers(1, 12), st.booleans())
@example(ROUNDED, [], 6, False)
@example(ROUNDED, [], 5, True)
def test_what_is_drawn_is_in_the_lattice_and_the_reference(
    lattice: Lattice, reference: list[str], most: int, chosen: bool
) -> None:
    evaluator = WER().against([" ".join(reference)])
    found, top = oracle(lattice, evaluator), best(lattice)
    edits = evaluator.judge(found.tokens).edits
    other = list(lattice.paths())[-1] if chosen else None
    picture = select_differences(
        lattice, found.hypothesis.arcs, other.arcs if other else (), edits, most=most
    )
    said = {path.tokens for path in lattice.paths()}
    assert {*drawn(picture, without=REFERENCE)} <= said
    assert found.tokens in drawn(picture, ORACLE)
    assert top.tokens in drawn(picture, ONE_BEST)
    assert other is None or other.tokens in drawn(picture, MBR)
    # the oracle, and what the reference has in the place of its errors
    if found.tokens:
        assert tuple(reference) in drawn(picture, ORACLE | REFERENCE)
    # numbers are in topological order, which the page relies on, and every arc is on a path
    reached, ending = {picture["start"]}, {*picture["finals"]}
    for _ in picture["arcs"]:
        reached |= {dst for src, dst, *_ in picture["arcs"] if src in reached}
        ending |= {src for src, dst, *_ in picture["arcs"] if dst in ending}
    for src, dst, *_ in picture["arcs"]:
        assert src < dst
        assert {src, dst} <= reached & ending
    assert picture["all"] == lattice.num_arcs


@given(small_lattices(), st.floats(0.1, 2.0))
def test_posteriors_against_enumeration(lattice: Lattice, scale: float) -> None:
    """Where nothing differs and there is room, all is drawn: how often each word is expected."""
    picture = select_differences(lattice, best(lattice).arcs, scale=scale, most=1000)
    mass: dict[str, float] = defaultdict(float)
    paths = list(lattice.paths())
    weights = [math.exp(scale * model_score(lattice, path)) for path in paths]
    for path, weight in zip(paths, weights, strict=True):
        for word in path.tokens:
            mass[word] += weight / sum(weights)
    found: dict[str, float] = defaultdict(float)
    for *_, word, posterior, _ in picture["arcs"]:
        if word:
            found[word] += posterior
    assert found == pytest.approx(mass, abs=1e-4 * lattice.num_arcs)
    assert {*drawn(picture)} == {path.tokens for path in paths}


def test_whole_small_lattice_has_the_posteriors_of_its_arcs() -> None:
    arcs = [(0, 1, "a", 0.0), (0, 1, "a", 0.0), (0, 1, "b", 0.0), (1, 2, "", 0.0), (0, 2, "c", 0.0)]
    lattice = Lattice.from_arcs(arcs, [2])
    path = oracle(lattice, WER().against(["b"])).hypothesis.arcs
    picture = select_differences(lattice, path, [4])
    found = {(src, dst, word): (mass, marks) for src, dst, word, mass, marks in picture["arcs"]}
    assert {place: mass for place, (mass, _) in found.items()} == {
        (0, 1, "a"): 0.5,
        (0, 1, "b"): 0.25,
        (1, 2, ""): 0.75,
        (0, 2, "c"): 0.25,
    }
    assert found[0, 1, "b"][1] & ORACLE
    assert any(marks & MBR for _, marks in found.values())


def test_words_of_one_span_are_one() -> None:
    """Two states of one moment, of different histories, and one that is a frame away."""
    arcs = [
        (0, 1, "a", 0.0),
        (0, 2, "b", 0.0),
        (1, 3, "c", 0.0),
        (2, 4, "c", 0.0),
        (3, 5, "d", 0.0),
    ]
    lattice = Lattice.from_arcs([*arcs, (4, 5, "d", 0.0)], [5], times=[0, 1, 1, 2, 2.02, 3])
    picture = select_differences(lattice, [0, 2, 4])
    found = [(src, dst, word, mass) for src, dst, word, mass, _ in picture["arcs"]]
    assert found == [(0, 1, "a", 0.5), (0, 1, "b", 0.5), (1, 2, "c", 1.0), (2, 3, "d", 1.0)]
    # a word that is no longer than that has a span of its own
    short = Lattice.from_arcs([(0, 1, "a"), (1, 2, "b")], [2], times=[0, 1, 1.01])
    assert [row[2] for row in select_differences(short, [0, 1])["arcs"]] == ["a", "b"]


def test_words_of_all_paths_are_folded() -> None:
    words = [*"abcdefgh"]
    arcs = [(n, n + 1, word, 0.0) for n, word in enumerate(words)]
    lattice = Lattice.from_arcs([*arcs, (4, 5, "x", -1.0), (0, 1, "y", -1.0)], [8])
    evaluator = WER().against(["a b c d x f g h"])
    found = oracle(lattice, evaluator)
    picture = select_differences(
        lattice, found.hypothesis.arcs, edits=evaluator.judge(found.tokens).edits
    )
    shown = [(word, bool(marks & FOLDED)) for _, _, word, _, marks in picture["arcs"]]
    assert shown == [
        ("a b c", True), ("d", False), ("e", False), ("x", False), ("f", False), ("g h", True),
    ]  # fmt: skip
    # the reference has a word that the lattice does not have
    missing = WER().against(["a b c d e f z g h"])
    found = oracle(lattice, missing)
    edits = missing.judge(found.tokens).edits
    picture = select_differences(lattice, found.hypothesis.arcs, edits=edits)
    wanted = [word for _, _, word, _, marks in picture["arcs"] if marks & REFERENCE]
    assert wanted == ["z g"]


def test_ways_around_the_oracle_come_before_those_around_the_best() -> None:
    """What the oracle lost before does not count against a way that leaves it later."""
    arcs = [(0, 1, "best", 0.0), (0, 2, "y", -50.0), (1, 3, "", 0.0)]
    arcs += [(2, 3, "right", 0.0), (2, 3, "near", -0.5), (3, 4, "end", 0.0)]
    arcs += [(3, 4, f"far{n}", -5.0 - n) for n in range(9)]
    lattice = Lattice.from_arcs(arcs, [4])
    path = oracle(lattice, WER().against(["y right end"])).hypothesis.arcs
    picture = select_differences(lattice, path, most=6)
    assert [word for _, _, word, *_ in picture["arcs"]] == [
        "best", "y", "", "near", "right", "end",
    ]  # fmt: skip


@given(small_lattices(exact=True), st.integers(1, 6))
def test_nothing_that_is_left_out_is_nearer(lattice: Lattice, most: int) -> None:
    """By trying every path: what it has more than the best where it is away from it."""
    found = best(lattice)
    path = set(found.arcs)
    states = [lattice.start, *(int(lattice.dst[arc]) for arc in found.arcs)]
    prefix = [0.0]
    for arc in found.arcs:
        prefix.append(prefix[-1] + float(lattice.score[arc]))
    total = prefix[-1] + float(lattice.final[states[-1]])
    gains: dict[int, float] = dict.fromkeys(path, 0.0)
    for other in lattice.paths():
        away: list[int] = []
        left, gain = 0, 0.0
        for arc in other.arcs:
            away.append(arc)
            gain += float(lattice.score[arc])
            if int(lattice.dst[arc]) in states:
                back = states.index(int(lattice.dst[arc]))
                for each in away:
                    gains[each] = max(gains.get(each, -9e9), gain - (prefix[back] - prefix[left]))
                away, left, gain = [], back, 0.0
        end = int(lattice.dst[other.arcs[-1]]) if other.arcs else lattice.start
        for each in away:
            ending = gain + float(lattice.final[end]) - (total - prefix[left])
            gains[each] = max(gains.get(each, -9e9), ending)
    picture = select_differences(lattice, found.arcs, most=most)
    drawn = {(word, marks) for _, _, word, _, marks in picture["arcs"]}
    words = {word for word, _ in drawn}
    ranked = sorted(gains.values(), reverse=True)
    least = ranked[most] if most < len(ranked) else -math.inf
    for arc, value in gains.items():
        if value > least:
            assert lattice.vocabulary.word(int(lattice.label[arc])) in words
    assert len(picture["arcs"]) <= most + len(path | set(best(lattice).arcs))


@given(small_forests(), st.integers(1, 4))
def test_sentences_of_a_forest(forest: Forest, most: int) -> None:
    scores: dict[str, float] = {}
    for derivation in forest.derivations():
        scores[derivation.text] = max(derivation.score, scores.get(derivation.text, -math.inf))
    found = sentences(forest, most=most)
    ranked = sorted(scores.values(), reverse=True)[:most]
    assert [row[2] for row in found["rows"]] == pytest.approx(ranked)
    assert sum(row[1] for row in found["rows"]) == pytest.approx(1.0, abs=1e-3)


def test_sentences_of_a_list_are_in_the_order_of_their_scores() -> None:
    nbest = NBest.from_hypotheses([Hypothesis(("a",), -2.0), Hypothesis(("b", "c"), -1.0)])
    found = sentences(nbest, scale=2.0)
    assert [row[0] for row in found["rows"]] == ["b c", "a"]
    assert found["rows"][0][1] == round(1 / (1 + math.exp(-2)), 4)
