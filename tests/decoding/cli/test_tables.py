from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.cli.tables import display_width, legend, shorten, side_by_side, table
from fstmetrics import WER


def test_wide_letters_are_aligned() -> None:
    lines = table(["word", "n"], [["猫", "1"], ["e\u0301te\u0301", "22"]]).splitlines()
    assert [display_width(line) for line in lines] == [8, 8, 8]


@given(st.integers(10_000_000, 10**400))
def test_shortened_is_within_half_a_hundredth(number: int) -> None:
    mantissa, exponent = shorten(number).split("e")
    assert len(mantissa) == 4
    assert 1 <= float(mantissa) < 10
    scale = 10 ** int(exponent)
    off = abs(100 * number - int(mantissa.replace(".", "")) * scale)
    # half a hundredth, and the little that is lost before rounding
    assert 1000 * off <= 502 * scale


@pytest.mark.parametrize("number", [0, 1, 9_999_999])
def test_small_numbers_stay_as_they_are(number: int) -> None:
    assert shorten(number) == str(number)


@pytest.mark.parametrize(
    ("number", "text"),
    [(10**7, "1.00e7"), (9_999_999_999, "1.00e10"), (10**15 - 1, "1.00e15"), (10**23, "1.00e23")],
)
def test_powers_of_ten(number: int, text: str) -> None:
    assert shorten(number) == text


def aligned(reference: str, *sentences: str, **options: object) -> list[str]:
    evaluator = WER().against([reference])
    rows = [(str(n), evaluator.judge(sentence).edits) for n, sentence in enumerate(sentences)]
    return side_by_side(reference.split(), rows, **options)  # type: ignore[arg-type]


def test_every_kind_of_error_is_marked() -> None:
    assert aligned("the cat sat on it", "the cat sat it", "oh the hat sat on it") == [
        "        the cat   sat on  it",
        "0       the cat   sat *** it",
        "1  {oh} the [hat] sat on  it",
    ]


def test_two_that_insert_in_one_place_share_columns() -> None:
    assert aligned("a b", "a x y b", "a z b") == [
        "   a         b",
        "0  a {x} {y} b",
        "1  a {z}     b",
    ]


def test_nothing_was_said() -> None:
    assert aligned("", "", "um") == ["", "0", "1  {um}"]


def test_long_lines_are_broken_between_words() -> None:
    lines = aligned("aaa bbb ccc ddd", "aaa bbb ccc xxxxx", label="id", width=12)
    assert lines == [
        "id  aaa bbb",
        "0   aaa bbb",
        "    ccc",
        "    ccc",
        "    ddd",
        "    [xxxxx]",
    ]


def test_colours_do_not_move_columns() -> None:
    plain = aligned("the cat sat", "the hat sat")
    coloured = aligned("the cat sat", "the hat sat", colour=True)
    assert coloured != plain
    assert [line.replace("\x1b[33m", "").replace("\x1b[0m", "") for line in coloured] == plain
    assert legend(colour=True).count("\x1b[0m") == 3


words = st.lists(st.sampled_from("abc"), max_size=5).map(" ".join)


@given(words, words, words, st.integers(1, 40))
def test_all_words_are_shown_in_order(reference: str, one: str, two: str, width: int) -> None:
    lines = aligned(reference, one, two, label="r", width=width)
    for row, sentence in enumerate((reference, one, two)):
        shown = " ".join(line[3:] for line in lines[row::3])
        for mark in "[]{}":
            shown = shown.replace(mark, "")
        assert shown.replace("***", "").split() == sentence.split()
