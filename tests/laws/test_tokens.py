"""Lattices of posteriors, lexicons and language models, judged by enumeration."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices import FormatError, Lattice, OptionError, SpaceError, from_posteriors, remove_epsilon
from lattices.algorithms.semirings import LOG
from lattices.formats.arpa import ArpaModel
from lattices.tokens import posteriors
from lattices.tokens.arpa import apply_language_model, apply_lexicon
from tests.lattices.formats.test_arpa import MODEL
from tests.strategies import small_lattices

TOKENS = ["-", "a", "b", "c"]
Paths = list[tuple[tuple[str, ...], float]]


def matrices(frames: int = 5) -> st.SearchStrategy[np.ndarray]:
    scores = st.sampled_from([-0.125, -0.5, -1.0, -2.25, -4.0, -8.0, -math.inf])
    rows = st.tuples(*[scores] * 4).filter(lambda row: max(row) > -math.inf)
    return st.lists(rows, min_size=0, max_size=frames).map(
        lambda rows: np.array(rows).reshape(len(rows), 4)
    )


def collapsed(alignment: tuple[int, ...], blank: int | None) -> tuple[str, ...]:
    return tuple(TOKENS[token] for token, _ in itertools.groupby(alignment) if token != blank)


def enumerated(matrix: np.ndarray, blank: int | None) -> Paths:
    found = []
    for alignment in itertools.product(range(4), repeat=len(matrix)):
        score = sum(matrix[frame, token] for frame, token in enumerate(alignment))
        if score > -math.inf:
            found.append((collapsed(alignment, blank), float(score)))
    return sorted(found)


def paths(lattice: Lattice) -> Paths:
    return sorted((path.tokens, path.score) for path in lattice.paths())


def totals(found: Paths) -> dict[tuple[str, ...], float]:
    sums: dict[tuple[str, ...], float] = defaultdict(float)
    for words, score in found:
        sums[words] += math.exp(score)
    return dict(sums)


@pytest.mark.parametrize("pairs", [0, posteriors._PAIRS])
@given(matrix=matrices(), blank=st.sampled_from([0, 2, -1, None]))
def test_all_alignments(pairs: int, matrix: np.ndarray, blank: int | None) -> None:
    """With chains between all tokens, and with an arc for each pair of tokens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posteriors, "_PAIRS", pairs)
        lattice = from_posteriors(matrix, TOKENS, blank=blank, beam=math.inf)
    expected = enumerated(matrix, None if blank is None else blank % 4)
    ours = paths(lattice)
    # scores are whole eighths: sums are exact in any order. Runs of frames with one token are the
    # same alignment, so that the paths are the same one by one
    assert ours == expected
    assert lattice.times is not None
    assert lattice.times[lattice.finals].tolist() == [float(len(matrix))] * len(lattice.finals)
    # summed over alignments, sentences have the probabilities that CTC defines
    summed = totals(paths(remove_epsilon(lattice, LOG)))
    assert summed.keys() == totals(expected).keys()
    for words, total in totals(expected).items():
        assert summed[words] == pytest.approx(total)


@given(matrices(), st.sampled_from([0.0, 0.5, 1.0, 3.0]))
def test_beam(matrix: np.ndarray, beam: float) -> None:
    """All that is within the beam is there, and every state is on something within it."""
    everything = enumerated(matrix, 0)
    best = max(score for _, score in everything)
    lattice = from_posteriors(matrix, TOKENS, beam=beam)
    ours = paths(lattice)
    within = [path for path in everything if path[1] >= best - beam]
    assert [path for path in ours if path[1] >= best - beam] == within
    forward, backward = _best_ways(lattice)
    assert (forward + backward >= best - beam).all()


def _best_ways(lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
    forward, backward = np.full(lattice.num_states, -np.inf), lattice.final.copy()
    forward[lattice.start] = 0.0
    for arc in range(lattice.num_arcs):
        src, dst = lattice.src[arc], lattice.dst[arc]
        forward[dst] = max(forward[dst], forward[src] + lattice.score[arc])
    for arc in reversed(range(lattice.num_arcs)):
        src, dst = lattice.src[arc], lattice.dst[arc]
        backward[src] = max(backward[src], backward[dst] + lattice.score[arc])
    return forward, backward


LEXICON = {"A": "a", "AB": ["a b", "b"], "ABC": ("a", "b", "c"), "C": "c", "see": "c"}
SPELLINGS = [("A", "a"), ("AB", "ab"), ("AB", "b"), ("ABC", "abc"), ("C", "c"), ("see", "c")]


def cut(tokens: tuple[str, ...]) -> list[tuple[str, ...]]:
    if not tokens:
        return [()]
    return [
        (word, *rest)
        for word, spelling in SPELLINGS
        if tokens[: len(spelling)] == tuple(spelling)
        for rest in cut(tokens[len(spelling) :])
    ]


@given(matrices())
def test_lexicon(matrix: np.ndarray) -> None:
    expected = sorted(
        (words, score) for tokens, score in enumerated(matrix, 0) for words in cut(tokens)
    )
    if not expected:
        with pytest.raises(SpaceError, match="no path of lattice '' is left"):
            from_posteriors(matrix, TOKENS, beam=math.inf, lexicon=LEXICON)
        return
    assert paths(from_posteriors(matrix, TOKENS, beam=math.inf, lexicon=LEXICON)) == expected


def judged(words: tuple[str, ...]) -> float:
    """Return the log-probability by the definition, with log10 numbers of the file."""
    one = {"</s>": -0.75, "a": -0.5, "b": -1.25, "<unk>": -2.0}
    two = {("<s>", "a"): -0.25, ("a", "b"): -0.5, ("b", "</s>"): -0.125}
    three = {("<s>", "a", "b"): -0.0625}
    back = {("<s>",): -0.5, ("a",): -0.25, ("b",): -0.125, ("<s>", "a"): -0.0625,
            ("a", "b"): -0.03125}  # fmt: skip
    text = ["<s>", *(word if word in one else "<unk>" for word in words), "</s>"]
    total = 0.0
    for place in range(1, len(text)):
        long, short, word = tuple(text[max(0, place - 2) : place]), text[place - 1], text[place]
        if (*long, word) in three:
            total += three[(*long, word)]
            continue
        total += back.get(long, 0.0) if len(long) == 2 else 0.0
        if (short, word) in two:
            total += two[(short, word)]
        else:
            total += back.get((short,), 0.0) + one[word]
    return total * math.log(10)


@given(small_lattices(), st.sampled_from([0.5, 1.0]))
def test_language_model(tmp_path_factory: Any, lattice: Lattice, scale: float) -> None:
    path = tmp_path_factory.mktemp("arpa") / "model.arpa"
    path.write_text(MODEL)
    found = apply_language_model(lattice, path, lm_scale=scale, word_score=0.25)
    expected = sorted(
        (each.tokens, each.score + scale * judged(each.tokens) + 0.25 * len(each.tokens))
        for each in lattice.paths()
    )
    ours = paths(found)
    assert [words for words, _ in ours] == [words for words, _ in expected]
    np.testing.assert_allclose([s for _, s in ours], [s for _, s in expected], atol=1e-9)
    weights = {"base": 1.0, "lm": scale, "words": 0.25}
    np.testing.assert_allclose(found.reweighted(weights).score, found.score, atol=1e-9)


def test_all_together(tmp_path: Path) -> None:
    matrix = np.log(np.random.default_rng(0).dirichlet(np.ones(4), 6))
    (tmp_path / "lexicon.txt").write_text("a a\nb b\nc c\nab a b\n")
    (tmp_path / "model.arpa").write_text(MODEL)
    found = from_posteriors(
        matrix, TOKENS, beam=math.inf, lexicon=tmp_path / "lexicon.txt",
        language_model=tmp_path / "model.arpa", lm_scale=0.5, frame_shift=0.02, id="u",
    )  # fmt: skip
    expected: dict[tuple[str, ...], float] = defaultdict(float)
    for tokens, score in enumerated(matrix, 0):
        for words in _cut_more(tokens):
            expected[words] += math.exp(score + 0.5 * judged(words))
    ours = totals(paths(found))
    assert ours.keys() == expected.keys()
    for words, total in expected.items():
        assert ours[words] == pytest.approx(total)
    assert (found.id, found.times is not None and found.times.max()) == ("u", pytest.approx(0.12))


def _cut_more(tokens: tuple[str, ...]) -> list[tuple[str, ...]]:
    if not tokens:
        return [()]
    found = [(tokens[0], *rest) for rest in _cut_more(tokens[1:])]
    if tokens[:2] == ("a", "b"):
        found += [("ab", *rest) for rest in _cut_more(tokens[2:])]
    return found


def test_long_runs_are_short() -> None:
    """A thousand frames by a thousand tokens, most of them blank."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(0.0, 1.0, (1000, 1000))
    peaks = rng.integers(1, 1000, 1000)
    peaks[rng.random(1000) < 0.7] = 0
    matrix[np.arange(1000), peaks] += 20.0
    matrix -= np.log(np.exp(matrix).sum(axis=1, keepdims=True))
    lattice = from_posteriors(matrix, [f"t{n}" for n in range(1000)], frame_shift=0.02)
    assert lattice.num_arcs < 1000
    expected = [f"t{token}" for token, _ in itertools.groupby(peaks.tolist()) if token]
    assert next(lattice.paths()).tokens == tuple(expected)
    everything = from_posteriors(matrix[:50], [f"t{n}" for n in range(1000)], beam=100.0)
    assert 50 * 1000 < everything.num_arcs < 50 * 10_000
    best = remove_epsilon(lattice).num_arcs
    assert best == len(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": ["-", "a"]}, r"log_probs of shape \(2, 4\), expected frames x 2 tokens"),
        ({"blank": "_"}, "blank='_' is none of the tokens"),
        ({"blank": 4}, "blank=4, expected the column of one of 4 tokens"),
        ({"beam": float("nan")}, "beam=nan, expected a number from 0"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        from_posteriors(np.zeros((2, 4)), **{"tokens": TOKENS, **options})


def test_wrong_numbers(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="no token is possible in frame 1"):
        from_posteriors(np.array([[0.0] * 4, [-np.inf] * 4]), TOKENS)
    with pytest.raises(SpaceError, match="not a number"):
        from_posteriors(np.array([[0.0, np.nan, 0.0, 0.0]]), TOKENS)
    lattice = Lattice.from_arcs([(0, 1, "z")], [1])
    with pytest.raises(SpaceError, match="the word 'z' is not in the language model, nor is <unk>"):
        apply_language_model(lattice, ArpaModel(1, {("a",): -1.0}, {}))
    path = tmp_path / "lexicon"
    path.write_text("a a\nb\n")
    with pytest.raises(FormatError, match=r"lexicon:2: 'b' without a spelling"):
        apply_lexicon(lattice, path)
