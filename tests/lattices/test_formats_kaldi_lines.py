"""The kernels that read lines of Kaldi's text, against Python's own numbers and dictionaries."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.arrays import column
from lattices.errors import FormatError
from lattices.formats.base import Record
from lattices.formats.decimal_numbers import decimal
from lattices.formats.kaldi_lines import (
    _careful,
    _plain_lines,
    cut_lines,
    distinct_labels,
    is_compact,
    read_lines,
)

ODD = ["", ".", "+", "-.", "1e", "e5", "1e+", "1_0", "inf", "nan", "1..2", "1e3.", "0x1", "1 "]
PLAIN = [".5", "5.", "+3", "-0", "0.0e5", "1E3", "1e-05", "00012", "1e22"]
#: halfway between two doubles
HALFWAY = "9007199254740993"
NUMBERS = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(-1e4, 1e4, width=32).map(lambda value: f"{value:g}"),
    st.from_regex(r"[+-]?[0-9]{0,21}\.?[0-9]{0,21}([eE][+-]?[0-9]{1,4})?", fullmatch=True),
    st.integers(2**53, 2**54).map(lambda value: f"{value}.5"),
    st.sampled_from([*ODD, *PLAIN, HALFWAY]),
)


def converted(text: str) -> tuple[float, bool]:
    data = column(np.frombuffer(b"<" + text.encode() + b">", np.uint8), np.uint8)
    value, sure = decimal(data, 1, len(data) - 1, np.zeros(1, np.uint64))
    return value, bool(sure)


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


@given(NUMBERS)
def test_numbers_are_those_of_python(text: str) -> None:
    value, sure = converted(text)
    if sure:
        assert bits(value) == bits(float(text))


def test_most_numbers_are_sure() -> None:
    chance = random.Random(0)
    texts = [repr(chance.gauss(0, 10 ** chance.randrange(-8, 8))) for _ in range(20_000)]
    found = [converted(text) for text in texts]
    assert [bits(value) for value, _ in found] == [bits(float(text)) for text in texts]
    assert all(sure for _, sure in found)
    assert all(converted(text)[1] for text in PLAIN)
    assert not any(converted(text)[1] for text in ODD)


WEIGHTS = st.one_of(
    st.tuples(NUMBERS, NUMBERS, st.from_regex(r"[0-9_]{0,5}", fullmatch=True)).map(",".join),
    st.tuples(NUMBERS, NUMBERS).map(",".join),
    st.sampled_from(["Infinity,Infinity,", "Infinity,Infinity", "1,2,3-4", "1,2,3,4", "a", ","]),
)
STATES = st.sampled_from(["0", "1", "007", "x", "-1", "9" * 18, "9" * 19, "2"])
IDS = st.sampled_from(["0", "00", "17", "<eps>", "x"])


@given(
    st.one_of(
        st.tuples(STATES),
        st.tuples(STATES, WEIGHTS),
        st.tuples(STATES, STATES, st.just("w"), WEIGHTS),
        st.tuples(STATES, STATES, IDS, st.just("w"), WEIGHTS),
        st.tuples(STATES, STATES, IDS, st.just("w")),
    ),
    st.booleans(),
)
def test_kernels_and_careful_reading_agree(row: tuple[str, ...], compact: bool) -> None:
    """What the kernel takes for plain is what the careful reading says, to the bit."""
    record = Record(f"key\n{' '.join(row)}\n".encode(), "f", 1, 0)
    lines = cut_lines(record)
    found = lines.row(1)
    if len(found) != len(row) or len(found) not in ((1, 2, 4) if compact else (1, 2, 4, 5)):
        return
    *columns, odd = (
        each[1] for each in _plain_lines(lines.data, lines.width, lines.bounds, compact)
    )
    if not odd:
        src, dst, graph, acoustic, frames = _careful(record, 1, found, compact)
        assert columns[:2] == [src, dst]
        assert [bits(value) for value in columns[2:4]] == [bits(graph), bits(acoustic)]
        assert columns[4] == frames


def test_the_first_bad_line_is_named() -> None:
    record = Record(b"key\n0 1 a 1,2,\n1 y b 1,2,\n1 2 c x,2,\n2\n", "f", 1, 0)
    lines = cut_lines(record)
    with pytest.raises(FormatError, match=r"f:3: state 'y', expected a number from 0"):
        read_lines(lines, is_compact(lines))


@given(st.lists(st.text("abé", min_size=1, max_size=3), min_size=1, max_size=60))
def test_distinct_labels(words: list[str]) -> None:
    text = "key\n" + "".join(f"0 1 {word} 0,0,\n" for word in words) + "1\n"
    lines = cut_lines(Record(text.encode(), "f", 1, 0))
    labels, which = distinct_labels(lines, lines.width[1:] > 2, compact=True)
    assert [label.decode() for label in labels] == list(dict.fromkeys(words))
    assert [labels[number].decode() for number in which] == words


def test_blanks_are_those_of_ascii() -> None:
    text = "key\r\n0\v1\fa\u00a0b \t 1,2,\n\u20281\n".encode()
    lines = cut_lines(Record(text, "f", 1, 0))
    assert [lines.row(line) for line in range(3)] == [
        [one.encode() for one in row]
        for row in (["key"], ["0", "1", "a\u00a0b", "1,2,"], ["\u20281"])
    ]
