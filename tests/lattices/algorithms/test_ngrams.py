"""N-gram posteriors against every path of small lattices, forests and lists."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lattices import (
    Forest,
    Hypothesis,
    Lattice,
    NBest,
    OptionError,
    Space,
    SpaceError,
    Vocabulary,
    k_best,
    ngram_posteriors,
    read,
    trim,
)
from lattices.algorithms import NgramPosteriors, ngrams
from lattices.algorithms import ngram_posteriors as module_function
from tests.strategies import small_forests, small_lattices

orders = st.integers(1, 5)
scales = st.sampled_from([1.0, 0.5, 3.0, 0.0, -1.0])
kinds = st.sampled_from(["presence", "count"])
Ngram = tuple[str, ...]


def every_path(space: Space) -> list[Hypothesis]:
    if isinstance(space, Lattice):
        return list(space.paths())
    return list(space.derivations()) if isinstance(space, Forest) else list(space)


def merged_by_best(paths: Iterable[Hypothesis]) -> list[Hypothesis]:
    best: dict[Ngram, Hypothesis] = {}
    for path in paths:
        if path.tokens not in best or path.score > best[path.tokens].score:
            best[path.tokens] = path
    return list(best.values())


def by_enumeration(
    paths: list[Hypothesis], order: int, scale: float, kind: str
) -> dict[Ngram, float]:
    """Return what the definitions say, n-gram by n-gram and path by path."""
    weights = [math.exp(scale * path.score) for path in paths]
    expected: dict[Ngram, float] = defaultdict(float)
    for path, weight in zip(paths, weights, strict=True):
        words = path.tokens
        counts = Counter(
            words[begin : begin + length]
            for length in range(1, order + 1)
            for begin in range(len(words) - length + 1)
        )
        for ngram, count in counts.items():
            expected[ngram] += weight / sum(weights) * (count if kind == "count" else 1)
    return expected


def check(found: NgramPosteriors, expected: dict[Ngram, float], within: float = 1e-12) -> None:
    values = dict(found.items())
    assert values.keys() >= expected.keys()
    for ngram, value in values.items():
        assert value == pytest.approx(expected.get(ngram, 0.0), rel=within, abs=within)
        assert found[ngram] == value


@given(small_lattices(words="ab", max_states=7, max_arcs=14), orders, scales, kinds)
def test_a_lattice_gives_what_its_paths_do(
    lattice: Lattice, order: int, scale: float, kind: str
) -> None:
    found = ngram_posteriors(lattice, order, scale, kind)
    expected = by_enumeration(every_path(lattice), order, scale, kind)
    check(found, expected)
    assert len(found) == len(expected)


@settings(max_examples=40)
@given(small_lattices(words="a", max_states=6, max_arcs=10), orders, scales)
def test_n_grams_that_overlap_themselves(lattice: Lattice, order: int, scale: float) -> None:
    expected = by_enumeration(every_path(lattice), order, scale, "presence")
    check(ngram_posteriors(lattice, order, scale), expected)


@given(small_forests(words="ab"), orders, scales, kinds)
def test_a_forest_gives_what_its_derivations_do(
    forest: Forest, order: int, scale: float, kind: str
) -> None:
    expected = by_enumeration(every_path(forest), order, scale, kind)
    check(ngram_posteriors(forest, order, scale, kind), expected)


@settings(max_examples=40)
@given(small_lattices(words="abc", max_states=7, max_arcs=14), orders, kinds)
def test_a_lattice_as_a_forest(lattice: Lattice, order: int, kind: str) -> None:
    found = ngram_posteriors(Forest.from_lattice(lattice), order, kind=kind)
    check(found, dict(ngram_posteriors(lattice, order, kind=kind).items()))


@settings(max_examples=40)
@given(small_lattices(words="ab"), orders, scales, kinds, st.sampled_from(["sum", "max"]))
def test_a_list_gives_what_its_entries_do(
    lattice: Lattice, order: int, scale: float, kind: str, merge: str
) -> None:
    nbest = NBest.from_hypotheses(every_path(lattice), vocabulary=lattice.vocabulary)
    paths = every_path(nbest)
    expected = by_enumeration(
        merged_by_best(paths) if merge == "max" else paths, order, scale, kind
    )
    found = ngram_posteriors(nbest, order, scale, kind, merge)
    check(found, {**dict.fromkeys(dict(found.items()), 0.0), **expected})


@settings(max_examples=40)
@given(st.one_of(small_lattices(words="ab"), small_forests(words="ab")), orders, kinds)
def test_sentences_merged_by_their_best_path(
    space: Lattice | Forest, order: int, kind: str
) -> None:
    pytest.importorskip("pynini")
    found = ngram_posteriors(space, order, 1.0, kind, "max")
    # determinization keeps scores in single precision
    check(found, by_enumeration(merged_by_best(every_path(space)), order, 1.0, kind), 1e-4)


@settings(max_examples=40)
@given(small_lattices(words="ab", max_states=7, max_arcs=14), st.data())
def test_neither_the_order_of_arcs_nor_split_mass_matters(
    lattice: Lattice, data: st.DataObject
) -> None:
    arcs = [
        (int(src), int(dst), lattice.vocabulary.word(int(label)), float(score))
        for src, dst, label, score in zip(
            lattice.src, lattice.dst, lattice.label, lattice.score, strict=True
        )
    ]
    if arcs:
        split = data.draw(st.integers(0, len(arcs) - 1))
        src, dst, word, score = arcs[split]
        share = data.draw(st.floats(0.1, 0.9))
        arcs[split : split + 1] = [
            (src, dst, word, score + math.log(share)),
            (src, dst, word, score + math.log(1 - share)),
        ]
    finals = {int(state): float(lattice.final[state]) for state in lattice.finals}
    changed = Lattice.from_arcs(
        data.draw(st.permutations(arcs)), finals, states=lattice.num_states, start=lattice.start
    )
    check(ngram_posteriors(changed, 3), dict(ngram_posteriors(lattice, 3).items()), 1e-10)


def test_words_of_another_vocabulary() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a"), (1, 2, "b"), (1, 2, "c")], finals=[2])
    other = Lattice.from_arcs(
        [(0, 1, "x"), (1, 2, "c"), (0, 2, "a"), (2, 3, "b")],
        finals=[3],
        vocabulary=Vocabulary("zcab"),
    )
    table = ngram_posteriors(other, 2)
    found = ngram_posteriors(lattice, 2).values_of(table.table, other.vocabulary)
    named = {ngram: None for ngram, _ in table.items()}
    words = [other.vocabulary.decode(row) for row in table.words.tolist()]
    assert set(words) == set(named)
    values = dict(zip(words, found[1:].tolist(), strict=True))
    assert values["x",] == values["x", "c"] == values["c", "b"] == 0.0
    assert (values["a",], values["b",], values["c",], values["a", "b"]) == (1.0, 0.5, 0.5, 0.5)


def test_long_chains_of_repeats() -> None:
    lattice = Lattice.from_arcs(
        [(state, state + 1, word, 0.0) for state in range(60) for word in ("a", "b")], finals=[60]
    )
    found = ngram_posteriors(lattice, 1)
    assert found["a"] == pytest.approx(1 - 2.0**-60, abs=1e-12)
    assert ngram_posteriors(lattice, 1, kind="count")["a"] == pytest.approx(30.0)


def test_extreme_scales_neither_overflow_nor_vanish() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", -900.0), (0, 1, "b", -1000.0)], finals={1: -1e4})
    assert ngram_posteriors(lattice, 1, 50.0)["a"] == 1.0
    assert ngram_posteriors(lattice, 1, 0.0)["b"] == 0.5
    for space in (lattice, Forest.from_lattice(lattice), NBest.from_hypotheses(lattice.paths())):
        with pytest.raises(OptionError, match="infinite"):
            ngram_posteriors(space, 1, 1e307)


def test_sentences_without_words_have_no_n_grams() -> None:
    lattice = Lattice.from_arcs([(0, 1, "")], finals=[1])
    assert len(ngram_posteriors(lattice)) == 0
    assert list(ngram_posteriors(Forest.from_lattice(lattice)).items()) == []
    assert len(ngram_posteriors(NBest.from_hypotheses([Hypothesis((), 0.0)]))) == 0


def test_what_is_refused() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3)
    with pytest.raises(SpaceError, match="no complete path"):
        ngram_posteriors(dead)
    with pytest.raises(SpaceError, match="empty"):
        ngram_posteriors(NBest.from_hypotheses([]))
    for wrong in ({"order": 0}, {"order": 2.5}, {"kind": "both"}, {"merge": "mean"}):
        with pytest.raises(OptionError):
            ngram_posteriors(lattice, **wrong)  # type: ignore[arg-type]
    for scale in (math.nan, math.inf):
        with pytest.raises(OptionError):
            ngram_posteriors(lattice, scale=scale)
    with pytest.raises(OptionError, match="3 words"):
        ngram_posteriors(lattice, 2)["a", "b", "c"]


def test_too_many_contexts_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    lattice = Lattice.from_arcs(
        [(state, state + 1, word) for state in range(8) for word in "abcd"], finals=[8]
    )
    monkeypatch.setattr(ngrams, "MOST_EDGES", 100)
    with pytest.raises(SpaceError, match="prune it"):
        ngrams.unfold(lattice, 4)


def by_path_counting(lattice: Lattice, n: int, scale: float) -> dict[Ngram, float]:
    """Return presence by the forward procedure of Blackwood et al., with dictionaries.

    For each state and context: the mass that is there, and how much of it has seen each n-gram.
    """
    backward = [-math.inf] * lattice.num_states
    for state in reversed(range(lattice.num_states)):
        terms = [scale * float(lattice.final[state])]
        for arc in range(lattice.out_offset[state], lattice.out_offset[state + 1]):
            terms.append(scale * float(lattice.score[arc]) + backward[lattice.dst[arc]])
        backward[state] = float(np.logaddexp.reduce(terms))
    mass: list[dict[Ngram, float]] = [defaultdict(float) for _ in backward]
    seen: list[dict[Ngram, dict[Ngram, float]]] = [
        defaultdict(lambda: defaultdict(float)) for _ in backward
    ]
    mass[lattice.start][()] = 1.0
    total: dict[Ngram, float] = defaultdict(float)
    for state in range(lattice.start, lattice.num_states):
        end = math.exp(scale * float(lattice.final[state]) - backward[state])
        for context, here in mass[state].items():
            for ngram, part in seen[state][context].items():
                total[ngram] += part * end
            for arc in range(lattice.out_offset[state], lattice.out_offset[state + 1]):
                target = int(lattice.dst[arc])
                share = math.exp(
                    scale * float(lattice.score[arc]) + backward[target] - backward[state]
                )
                words = (*context, *lattice.vocabulary.decode([int(lattice.label[arc])]))
                after = words[len(words) - n + 1 :] if len(words) >= n else words
                whole = words if len(words) == n and len(words) > len(context) else None
                mass[target][after] += here * share
                there = seen[target][after]
                for ngram, part in seen[state][context].items():
                    if ngram != whole:
                        there[ngram] += part * share
                if whole:
                    there[whole] += here * share
        seen[state].clear()
    return total


def test_real_lattices_against_path_counting(shared_data: Path) -> None:
    spaces = read(shared_data / "multi30k-deen" / "val.de-en.lat.d50.jsonl.gz")
    repeated = 0
    for _, lattice in zip(range(4), spaces, strict=False):
        assert isinstance(lattice, Lattice)
        found = ngram_posteriors(lattice, 4, 15.0)
        counts = ngram_posteriors(lattice, 4, 15.0, "count")
        repeated += int((counts.value > found.value + 1e-6).sum())
        for n in range(1, 5):
            expected = by_path_counting(lattice, n, 15.0)
            own = {ngram: value for ngram, value in found.items() if len(ngram) == n}
            assert own.keys() == expected.keys()
            for ngram, value in own.items():
                assert value == pytest.approx(expected[ngram], abs=1e-10)
    assert repeated > 10


def test_a_real_forest_against_a_long_list_of_its_derivations(shared_data: Path) -> None:
    # at this scale nearly all the mass is in the best derivations
    spaces = read(shared_data / "multi30k-deen" / "hiero150.de-en.forest.d10.jsonl.gz")
    for _, forest in zip(range(2), spaces, strict=False):
        assert isinstance(forest, Forest)
        nbest = NBest.from_hypotheses(k_best(forest, 5000))
        for kind in ("presence", "count"):
            exact = ngram_posteriors(forest, 4, 40.0, kind)
            for ngram, value in ngram_posteriors(nbest, 4, 40.0, kind).items():
                assert exact[ngram] == pytest.approx(value, abs=1e-3)


@settings(max_examples=30)
@given(small_lattices(words="ab", max_states=7, max_arcs=14), st.integers(1, 3))
def test_path_counting_itself(lattice: Lattice, n: int) -> None:
    reached = ngram_posteriors(lattice, n)
    expected = by_path_counting(trim(lattice).space, n, 1.0)
    for ngram, value in reached.items():
        if len(ngram) == n:
            assert value == pytest.approx(expected[ngram], abs=1e-10)


def test_the_package_has_it() -> None:
    assert module_function is ngram_posteriors
    assert np.isclose(ngram_posteriors(Lattice.from_arcs([(0, 1, "a")], [1])).value, [1.0]).all()


def test_too_many_pairs_of_contexts_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [(0, [], [word]) for word in "abcd"]
    pairs = [(node + 1, [node, node], [0, 1]) for node in range(3)]
    forest = Forest.from_edges([*words, *pairs])
    assert ngram_posteriors(forest, 2)["a", "b"] > 0.0
    monkeypatch.setattr(ngrams, "MOST_EDGES", 100)
    with pytest.raises(SpaceError, match="prune it"):
        ngram_posteriors(forest, 4)
