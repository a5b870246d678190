"""Small random lists for the tests of minimum-risk decoding."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from lattices import Hypothesis, NBest, Vocabulary
from tests.strategies import GENERAL, GRID, sentences

WORDS = ("a", "b", "ab", "Ab", "c.", "10\u00a0000")


def nbest_of(*texts: str, scores: Iterable[float] = (), id: str = "") -> NBest:
    """Return a list of texts, with scores of 0 if none are given."""
    own = list(scores) or [0.0] * len(texts)
    return NBest.from_hypotheses(
        [Hypothesis(tuple(text.split()), at) for text, at in zip(texts, own, strict=True)], id=id
    )


def small_lists(
    *, words: Iterable[str] = WORDS, min_size: int = 1, max_size: int = 6, longest: int = 6
) -> st.SearchStrategy[NBest]:
    """Draw lists with repeated and empty sentences, and numbers of words that do not begin at 1."""
    names = list(words)
    entries = st.tuples(sentences(names, unknown=(), max_size=longest), GRID | GENERAL)
    return st.lists(entries, min_size=min_size, max_size=max_size).map(
        lambda some: NBest.from_hypotheses(
            [Hypothesis(tuple(text), score) for text, score in some],
            vocabulary=Vocabulary(["z", *names[::-1], "y"]),
        )
    )


def distinct(nbest: NBest) -> NBest:
    """Return the first of equal entries."""
    first: dict[tuple[str, ...], Hypothesis] = {}
    for each in nbest:
        first.setdefault(each.tokens, each)
    return NBest.from_hypotheses(
        [Hypothesis(each.tokens, each.score) for each in first.values()],
        vocabulary=nbest.vocabulary,
    )
