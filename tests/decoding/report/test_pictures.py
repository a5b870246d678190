"""The part of a space that is drawn."""

from __future__ import annotations

import math
from collections import defaultdict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from decoding import oracle
from decoding.report.pictures import MBR, ONE_BEST, ORACLE, select_neighbourhood, sentences
from fstmetrics import WER
from lattices import Forest, Hypothesis, Lattice, NBest
from lattices.algorithms import best
from tests.judges import model_score
from tests.strategies import sentences as some_sentences
from tests.strategies import small_forests, small_lattices


@given(small_lattices(), some_sentences(), st.integers(1, 12), st.floats(0.1, 2.0))
def test_against_enumeration(
    lattice: Lattice, reference: list[str], most: int, scale: float
) -> None:
    found = oracle(lattice, WER().against([reference])).hypothesis
    top = best(lattice)
    picture = select_neighbourhood(lattice, found.arcs, scale=scale, most=most)
    mass: dict[tuple[int, int, str], float] = defaultdict(float)
    paths = list(lattice.paths())
    weights = [math.exp(scale * model_score(lattice, path)) for path in paths]
    for path, weight in zip(paths, weights, strict=True):
        for arc in path.arcs:
            place = (int(lattice.src[arc]), int(lattice.dst[arc]))
            mass[(*place, lattice.vocabulary.word(int(lattice.label[arc])))] += weight / sum(
                weights
            )
    # parallel arcs of one word are one; whether all of them are drawn is a matter of their scores
    states = sorted({state for place in mass for state in place[:2]})
    for src, dst, word, posterior, _ in picture["arcs"]:
        if most >= lattice.num_arcs:
            assert posterior == pytest.approx(mass[states[src], states[dst], word], abs=1e-4)
        else:
            assert posterior <= max(mass[each] for each in mass if each[2] == word) + 1e-4
    for arcs, mark in ((found.arcs, ORACLE), (top.arcs, ONE_BEST)):
        words = [lattice.vocabulary.word(int(lattice.label[arc])) for arc in arcs]
        assert words == [word for *_, word, _, marks in picture["arcs"] if marks & mark]
    assert len(picture["arcs"]) <= most + len(set(found.arcs) | set(top.arcs))
    assert picture["all"] == lattice.num_arcs


#: the two arcs of its worst way are of equal value, but for rounding
ROUNDED = Lattice.from_arcs(
    [(0, 1, "a", -2.0), (0, 1, "a", -1.9), (0, 2, "a"), (0, 2, "a"), (0, 2, "a"),
     (1, 3, "a", -1.21528461), (2, 4, "a"), (3, 4, "a", -1.59223609)],
    {4: 1.0},
)  # fmt: skip


@given(small_lattices(), some_sentences(), st.integers(1, 6))
@example(ROUNDED, [], 6)
@example(ROUNDED, [], 5)
def test_all_that_is_drawn_lies_on_complete_paths(
    lattice: Lattice, reference: list[str], most: int
) -> None:
    found = oracle(lattice, WER().against([reference])).hypothesis
    picture = select_neighbourhood(lattice, found.arcs, most=most)
    reached, arcs = {picture["start"]}, picture["arcs"]
    ending = set(picture["finals"])
    for _ in arcs:
        reached |= {dst for src, dst, *_ in arcs if src in reached}
        ending |= {src for src, dst, *_ in arcs if dst in ending}
    # numbers in the order of the lattice, which is topological: the page relies on it
    for src, dst, *_ in arcs:
        assert src < dst
        assert src in reached
        assert dst in ending
    assert reached <= set(range(picture["states"]))


def test_whole_small_lattice_has_the_posteriors_of_its_arcs() -> None:
    arcs = [(0, 1, "a", 0.0), (0, 1, "a", 0.0), (0, 1, "b", 0.0), (1, 2, "", 0.0), (0, 2, "c", 0.0)]
    lattice = Lattice.from_arcs(arcs, [2])
    path = oracle(lattice, WER().against(["b"])).hypothesis.arcs
    picture = select_neighbourhood(lattice, path, [4])
    found = {(src, dst, word): (mass, marks) for src, dst, word, mass, marks in picture["arcs"]}
    assert {place: mass for place, (mass, _) in found.items()} == {
        (0, 1, "a"): 0.5,
        (0, 1, "b"): 0.25,
        (1, 2, ""): 0.75,
        (0, 2, "c"): 0.25,
    }
    assert found[0, 1, "b"][1] & ORACLE
    assert any(marks & MBR for _, marks in found.values())


def test_ways_around_the_oracle_come_before_those_around_the_best() -> None:
    """What the oracle lost before does not count against a way that leaves it later."""
    arcs = [(0, 1, "best", 0.0), (0, 2, "y", -50.0), (1, 3, "", 0.0)]
    arcs += [(2, 3, "right", 0.0), (2, 3, "near", -0.5), (3, 4, "end", 0.0)]
    arcs += [(3, 4, f"far{n}", -5.0 - n) for n in range(9)]
    lattice = Lattice.from_arcs(arcs, [4])
    path = oracle(lattice, WER().against(["y right end"])).hypothesis.arcs
    picture = select_neighbourhood(lattice, path, most=6)
    assert [word for _, _, word, *_ in picture["arcs"]] == [
        "best", "y", "", "right", "near", "end",
    ]  # fmt: skip


@given(small_lattices(exact=True), some_sentences(), st.integers(1, 6))
def test_nothing_that_is_left_out_is_nearer(
    lattice: Lattice, reference: list[str], most: int
) -> None:
    """By trying every path: what it has more than the oracle where it is away from it."""
    found = oracle(lattice, WER().against([reference])).hypothesis
    path = set(found.arcs)
    states = [lattice.start, *(int(lattice.dst[arc]) for arc in found.arcs)]
    prefix = [0.0]
    for arc in found.arcs:
        prefix.append(prefix[-1] + float(lattice.score[arc]))
    total = prefix[-1] + float(lattice.final[states[-1]])
    worth: dict[int, float] = dict.fromkeys(path, 0.0)
    for other in lattice.paths():
        away: list[int] = []
        left, gain = 0, 0.0
        for arc in other.arcs:
            away.append(arc)
            gain += float(lattice.score[arc])
            if int(lattice.dst[arc]) in states:
                back = states.index(int(lattice.dst[arc]))
                for each in away:
                    worth[each] = max(worth.get(each, -9e9), gain - (prefix[back] - prefix[left]))
                away, left, gain = [], back, 0.0
        end = int(lattice.dst[other.arcs[-1]]) if other.arcs else lattice.start
        for each in away:
            ending = gain + float(lattice.final[end]) - (total - prefix[left])
            worth[each] = max(worth.get(each, -9e9), ending)
    picture = select_neighbourhood(lattice, found.arcs, most=most)
    drawn = {(word, marks) for _, _, word, _, marks in picture["arcs"]}
    words = {word for word, _ in drawn}
    ranked = sorted(worth.values(), reverse=True)
    least = ranked[most] if most < len(ranked) else -math.inf
    for arc, value in worth.items():
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
