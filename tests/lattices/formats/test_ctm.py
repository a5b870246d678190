"""CTM: what is written is read back, to the digits that are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.errors import FormatError
from lattices.formats.references.ctm import ctm_lines
from lattices.formats.references.nist import TimedWord, TranscriptLines, read_timed_words

MILLISECONDS = st.integers(0, 10**6)
WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]), min_size=1
).filter(lambda word: word not in ("<ALT>", "<ALT_BEGIN>", "<ALT_END>"))
SEGMENTS = st.lists(
    st.tuples(WORDS, MILLISECONDS, MILLISECONDS, st.none() | st.floats(0.0, 1.0)), min_size=1
)


@given(SEGMENTS)
def test_words_come_back(rows: list[tuple[str, int, int, float | None]]) -> None:
    words = [
        TimedWord(word, begin / 1000, (begin + length) / 1000, confidence)
        for word, begin, length, confidence in rows
    ]
    lines = ctm_lines("s1", words, "A").splitlines()
    (found,) = read_timed_words(TranscriptLines("x.ctm", lines)).values()
    for read, given_word in zip(found, sorted(words, key=lambda word: word.begin), strict=True):
        assert read.word == given_word.word
        assert (read.begin, read.end) == pytest.approx((given_word.begin, given_word.end))
        assert (read.confidence is None) == (given_word.confidence is None)
        assert read.confidence == pytest.approx(given_word.confidence, abs=1e-6)


def test_no_words_are_no_lines() -> None:
    assert ctm_lines("s1", []) == ""


@pytest.mark.parametrize(
    ("id", "word", "channel", "odd"),
    [("a b", "w", "1", "a b"), ("", "w", "1", ""), ("a", "new york", "1", "new york"),
     ("a", "", "1", ""), ("a", "w", "\t", "\\\\t")],
)  # fmt: skip
def test_what_cannot_stand_in_a_line(id: str, word: str, channel: str, odd: str) -> None:
    with pytest.raises(FormatError, match=f"'{odd}' cannot stand in a line of ctm"):
        ctm_lines(id, [TimedWord(word, 0.0, 1.0)], channel)
