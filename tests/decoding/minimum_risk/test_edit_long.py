"""Expected edits over long lattices: what a band of positions finds is what whole rows have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lattices
from decoding import sample_data
from decoding.minimum_risk.edit import edit
from lattices import Lattice, Vocabulary
from lattices.algorithms import best, prune
from lattices.errors import TooLargeError
from tests.decoding.minimum_risk.test_edit import assert_same_bins, naive, network_of
from tests.strategies import examples, small_lattices

#: whole rows are kept for fewer words
LONG = 128


def join(parts: list[Lattice]) -> Lattice:
    """Return one lattice of the paths of one after another, by arcs without words."""
    rows: list[tuple[int, int, str, float]] = []
    ends: list[tuple[int, float]] = []
    begin = 0
    for part in parts:
        rows += [(state, begin + part.start, "", score) for state, score in ends]
        rows += [
            (begin + int(src), begin + int(dst), part.vocabulary.word(int(label)), float(score))
            for src, dst, label, score in zip(
                part.src, part.dst, part.label, part.score, strict=True
            )
        ]
        ends = [(begin + int(state), float(part.final[state])) for state in part.finals]
        begin += part.num_states
    return Lattice.from_arcs(rows, dict(ends), states=begin, start=parts[0].start)


@st.composite
def long_lattices(draw: st.DrawFn) -> tuple[Lattice, list[str]]:
    """Draw a chain of small lattices, few and many words in turn, and a sentence like it."""
    kinds = [
        draw(small_lattices(words=words, max_arcs=7))
        for words in draw(st.sampled_from([("ab", "abcd"), ("abcdefgh", "ijklmnop", "qrstuvwx")]))
    ]
    random = draw(st.randoms(use_true_random=False))
    parts: list[Lattice] = []
    words: list[str] = []
    while len(words) <= LONG + 24 and len(parts) < 2 * LONG:
        parts.append(random.choice(kinds))
        words += best(parts[-1]).tokens or ("y",)
    return join(parts), [random.choice("aiq") if random.random() < 0.1 else each for each in words]


@settings(max_examples=examples(12, 4))
@given(long_lattices(), st.sampled_from([0.5, 1.0, 3.0]))
def test_a_band_finds_what_whole_rows_do(drawn: tuple[Lattice, list[str]], scale: float) -> None:
    lattice, start = drawn
    # alignments that cost the same are told apart by rounding here, so bins are not compared
    objective, _ = naive(lattice, start, scale)
    found = edit(lattice, scale=scale, start=start, decode=False)
    assert found.proven
    assert found.expected == pytest.approx(objective, abs=1e-9)
    # where memory is for the narrowest band alone, it is as good, or known not to be
    memory = 3000 * lattice.num_states + 32 * lattice.num_arcs
    try:
        less = edit(lattice, scale=scale, start=start, decode=False, memory=memory)
    except TooLargeError:
        return
    assert less.expected >= objective - 1e-9
    assert sum(each.posterior for row in less.network.bins for each in row) == pytest.approx(
        2 * len(start) + 1
    )
    if less.proven:
        assert less.expected == pytest.approx(objective, abs=1e-9)


def chain_of_samples(count: int) -> Lattice:
    """Return packaged lattices end to end, pruned to be quick for a judge."""
    vocabulary = Vocabulary()
    paths = sorted(sample_data().glob("*.slf.gz"))[:count]
    spaces = [next(lattices.read(path, vocabulary=vocabulary)) for path in paths]
    return join([prune(space, density=6) for space in spaces if isinstance(space, Lattice)])


def test_chained_lattices() -> None:
    lattice = chain_of_samples(12)
    found = edit(lattice, scale=0.1)
    assert len(found.tokens) > LONG
    assert found.proven
    objective, gamma = naive(lattice, found.tokens, 0.1)
    assert found.expected == pytest.approx(objective, abs=1e-9)
    assert_same_bins(network_of(found), gamma)


def test_memory_grows_with_the_band_and_not_with_the_sentence() -> None:
    """Whole rows would take 26 GB."""
    count = 20_000
    rows = []
    for state in range(count):
        rows.append((state, state + 1, f"w{state % 997}", 0.0))
        rows.append((state, state + 1, f"x{state % 31}", -1.0))
    lattice = Lattice.from_arcs(rows, [count])
    found = edit(lattice, memory=200_000_000)
    assert found.proven
    assert len(found.tokens) == count
    assert found.expected == pytest.approx(count / (1 + np.e))
    assert {round(each.confidence, 9) for each in found.network.words} == {
        round(np.e / (1 + np.e), 9)
    }


def test_no_band_is_known_to_do() -> None:
    """All words are the same: far from its place a sentence fits as well as there."""
    count = 400
    rows = [(state, state + 1, "a", 0.0) for state in range(count)]
    rows += [(state, state + 2, "a", 0.0) for state in range(count - 1)]
    lattice = Lattice.from_arcs(rows, [count], id="same")
    start = ["a"] * 280
    whole = edit(lattice, start=start, decode=False)
    part = edit(lattice, start=start, decode=False, memory=1_000_000)
    assert (whole.proven, part.proven) == (True, False)
    assert part.expected >= whole.expected - 1e-9
    assert part.to_dict()["proven"] is False
    with pytest.raises(TooLargeError, match="'same': 401 lattice states x a sentence of 280 words"):
        edit(lattice, start=start, memory=500_000)


def test_real_lattices_end_to_end(shared_data: Path) -> None:
    read = lattices.read(next(shared_data.glob("multi30k-deen/val.*.d10.jsonl.gz")))
    lattice = join([part for part, _ in zip(read, range(14), strict=False)])
    found = edit(lattice, scale=5.0)
    assert found.proven
    assert len(found.tokens) > LONG
    objective, gamma = naive(lattice, found.tokens, 5.0)
    assert found.expected == pytest.approx(objective, abs=1e-9)
    assert_same_bins(network_of(found), gamma)
