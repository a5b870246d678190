"""Patterns and their matches, judged by Python's regular expressions over enumerated sentences."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lattices import Forest, Lattice, NBest, Pattern, find
from lattices.errors import OptionError, SpaceError
from lattices.vocabulary import Vocabulary
from tests.strategies import sentences, small_forests, small_lattices

#: a pattern of ours, and one of Python's where each word is a letter
Both = tuple[str, str]


def _combine(parts: st.SearchStrategy[Both]) -> st.SearchStrategy[Both]:
    lists = st.lists(parts, min_size=1, max_size=3)
    signs = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}"])
    return st.one_of(
        lists.map(lambda some: (" ".join(o for o, _ in some), "".join(p for _, p in some))),
        lists.map(
            lambda some: (
                f"({'|'.join(o for o, _ in some)})",
                f"(?:{'|'.join(p for _, p in some)})",
            )
        ),
        st.tuples(parts, signs).map(
            lambda both: (f"({both[0][0]}){both[1]}", f"(?:{both[0][1]}){both[1]}")
        ),
    )


WORDS: st.SearchStrategy[Both] = st.sampled_from(
    [("a", "a"), ("b", "b"), ("c", "c"), (".", "."), ("/[ab]/", "[ab]"), ("x", "x")]
)
PATTERNS = st.recursive(WORDS, _combine, max_leaves=5)


def _paths(lattice: Lattice) -> Iterator[tuple[float, list[int]]]:
    """Yield the score and the arcs of every complete path."""

    def walk(state: int) -> Iterator[tuple[float, list[int]]]:
        if lattice.final[state] > -np.inf:
            yield float(lattice.final[state]), []
        for arc in np.flatnonzero(lattice.src == state).tolist():
            for score, rest in walk(int(lattice.dst[arc])):
                yield score + float(lattice.score[arc]), [arc, *rest]

    return walk(lattice.start)


def _ends(judge: re.Pattern[str], text: str) -> set[int]:
    """Return behind how many letters some match ends."""
    return {
        end
        for end in range(1, len(text) + 1)
        if any(judge.fullmatch(text, begin, end) for begin in range(end))
    }


def _pattern(both: Both) -> tuple[Pattern, re.Pattern[str]]:
    judge = re.compile(both[1])
    assume(not judge.fullmatch(""))
    return Pattern(both[0]), judge


@given(small_lattices(max_arcs=8), PATTERNS, st.sampled_from([1.0, 0.5]), st.booleans())
def test_posteriors_are_sums_over_paths(
    lattice: Lattice, both: Both, scale: float, timed: bool
) -> None:
    pattern, judge = _pattern(both)
    if timed:
        times = np.linspace(0.0, 1.0, lattice.num_states)
        lattice = Lattice(
            lattice.vocabulary, lattice.src, lattice.dst, lattice.label, lattice.score,
            lattice.final, lattice.start, times=times,
        )  # fmt: skip
    found = find(lattice, pattern, scale)
    paths = list(_paths(lattice))
    best = max(score for score, _ in paths)
    weights = [math.exp(scale * (score - best)) for score, _ in paths]
    whole = matched = 0.0
    occurring = np.zeros(len(found.occurrences))
    possible = set()
    assert found.ending is not None
    for weight, (_, arcs) in zip(weights, paths, strict=True):
        spoken = [arc for arc in arcs if lattice.label[arc]]
        text = "".join(lattice.vocabulary.word(int(lattice.label[arc])) for arc in spoken)
        ends = {spoken[end - 1] for end in _ends(judge, text)}
        whole += weight
        matched += weight * bool(ends)
        possible |= ends
        for number in {int(found.ending[arc]) for arc in ends}:
            assert number >= 0
            occurring[number] += weight
    assert found.posterior == pytest.approx(matched / whole, abs=1e-12)
    assert [one.posterior for one in found.occurrences] == pytest.approx(
        (occurring / whole).tolist(), abs=1e-12
    )
    assert set(np.flatnonzero(found.ending >= 0).tolist()) == possible
    for one in found.occurrences:
        assert judge.fullmatch("".join(one.words))
        if timed:
            assert one.begin is not None
            assert one.end is not None
            assert one.begin < one.end


@given(small_forests(), PATTERNS)
def test_forests_are_sums_over_derivations(forest: Forest, both: Both) -> None:
    pattern, judge = _pattern(both)
    derivations = list(forest.derivations())
    best = max(each.score for each in derivations)
    weights = [math.exp(each.score - best) for each in derivations]
    matched = [
        weight
        for weight, each in zip(weights, derivations, strict=True)
        if judge.search("".join(each.tokens))
    ]
    assert find(forest, pattern).posterior == pytest.approx(sum(matched) / sum(weights), abs=1e-9)


@given(sentences("abc"), PATTERNS)
def test_sentences_match_as_regular_expressions_do(words: Sequence[str], both: Both) -> None:
    pattern, judge = _pattern(both)
    text = "".join("z" if word == "<s>" else word for word in words)
    assert pattern.matches(words) == bool(judge.search(text))
    assert pickle.loads(pickle.dumps(pattern)).matches(words) == pattern.matches(words)


def test_lists_have_places_and_no_times() -> None:
    from lattices import Hypothesis

    entries = [("we", "walked", "home"), ("he", "walks", "home"), ("walking",)]
    nbest = NBest.from_hypotheses([Hypothesis(words) for words in entries])
    found = find(nbest, "/walk(s|ed|ing)?/ home?")
    assert found.posterior == pytest.approx(1.0)
    first, second = found.occurrences
    assert (first.place, first.begin, first.posterior) == (1.0, None, pytest.approx(2 / 3))
    assert (second.place, second.words) == (0.0, ("walking",))


def test_repeated_words_are_two_occurrences_of_one_sentence() -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "no"), (1, 2, "no"), (0, 2, "know", -1.0)], [2], times=[0.0, 0.4, 0.8]
    )
    found = find(lattice, "no")
    share = 1 / (1 + math.exp(-1))
    assert found.posterior == pytest.approx(share)
    assert [(one.begin, one.posterior) for one in found.occurrences] == [
        (0.0, pytest.approx(share)),
        (pytest.approx(0.4), pytest.approx(share)),
    ]


def test_slightly_different_times_are_one_occurrence() -> None:
    """Overlapping alternatives are added, each path once."""
    lattice = Lattice.from_arcs(
        [(0, 1, "x"), (0, 2, "x"), (1, 3, "no"), (2, 3, "no"), (3, 4, "no")],
        [4],
        times=[0.0, 0.10, 0.15, 0.5, 0.9],
    )
    found = find(lattice, "no")
    assert [one.posterior for one in found.occurrences] == pytest.approx([1.0, 1.0])
    assert sorted(one.begin or 0.0 for one in found.occurrences) == pytest.approx([0.125, 0.5])
    assert found.posterior == 1.0


def test_thresholds_leave_occurrences_out_not_the_posterior() -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "a"), (0, 1, "b"), (1, 2, "a"), (1, 2, "b"), (1, 2, "c")], [2]
    )
    found = find(lattice, "a", threshold=0.4)
    assert (len(found.occurrences), found.posterior) == (1, pytest.approx(1 - 1 / 2 * 2 / 3))
    with pytest.raises(OptionError, match=r"threshold=2.* expected a probability"):
        find(lattice, "a", threshold=2.0)


def test_vocabularies_that_grow() -> None:
    vocabulary = Vocabulary(["a"])
    pattern = Pattern("/[bc]/", ignore_case=True)
    one = Lattice.from_arcs([(0, 1, "a")], [1], vocabulary=vocabulary)
    assert find(one, pattern).posterior == 0.0
    other = Lattice.from_arcs([(0, 1, "B")], [1], vocabulary=vocabulary)
    assert find(other, pattern).posterior == 1.0
    assert find(one, pattern).posterior == 0.0
    assert find(Lattice.from_arcs([(0, 1, "c")], [1]), pattern).posterior == 1.0


def test_signs_are_words_behind_a_backslash() -> None:
    said = ["what", "?", "(", "why", ")", "U.S.", "a/b", "."]
    for text in (r"what \?", r"\( why \)", "U.S.", "a/b", r"a/b \.", r"\wh\y"):
        assert Pattern(text).matches(said), text
    assert not Pattern(r"why \.").matches(said)
    assert not Pattern("u.s.").matches(said)
    assert Pattern("u.s.", ignore_case=True).matches(said)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no word is needed"),
        ("a*", "no word is needed"),
        ("(a|)", "no word is needed"),
        ("a ) b", r"character 3: a \) without its \("),
        ("* a", r"character 1: \* repeats nothing"),
        ("a{2", "character 2: expected {N}"),
        ("a{3,2}", "is no range"),
        ("/[/", "character 1: /.*unterminated"),
        ("/a", "a / without the one"),
        ("a \\", "nothing behind it"),
        ("(a{900}){900}", "more than 1000 words"),
        (".* a .{20}", "takes more than 10000 states"),
    ],
)  # fmt: skip
def test_what_is_no_pattern(text: str, problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        find(Lattice.from_arcs([(0, 1, "a")], [1]), text)


def test_a_lattice_without_a_path() -> None:
    with pytest.raises(SpaceError, match="no complete path"):
        find(Lattice.from_arcs([(0, 1, "a")], [2], states=3), "a")
