"""The native reader of Kaldi's text, against a reader in Python: one line after the other."""

from __future__ import annotations

import math
import random
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices._native import empty_line_ends, kaldi_text
from lattices.errors import FormatError
from lattices.formats import parse_record
from lattices.formats.base import Record
from lattices.formats.kaldi.text import EMPTY_LINE, FORMAT, KaldiText
from lattices.vocabulary import Vocabulary

ODD = ["", ".", "+", "-.", "1e", "e5", "1e+", "1_0", "nan", "1..2", "1e3.", "0x1", "+-1", "- 1",
       "nan(1)", "infinit", "1\0", "--1", "++1", "-+inf", "e", "1,"]  # fmt: skip
PLAIN = [".5", "5.", "+3", "-0", "0.0e5", "1E3", "1e-05", "00012", "1e22", "+.5e+1"]
#: halfway between two doubles, and beyond their range
HARD = ["9007199254740993", "1e400", "-1e400", "1e-400", "-1e-400", "1e99999", "0" * 400 + "1",
        "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623159e308",
        "1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1e401", "999999999999999", "9" * 16,
        "0.000000000000000000000012345"]  # fmt: skip
INFINITE = ["inf", "-inf", "+inf", "INF", "Infinity", "iNFINITY", "-Infinity"]
NUMBERS = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(-1e4, 1e4, width=32).map(lambda value: f"{value:g}"),
    st.from_regex(r"[+-]?[0-9]{0,21}\.?[0-9]{0,21}([eE][+-]?[0-9]{1,4})?", fullmatch=True),
    st.integers(2**53, 2**54).map(lambda value: f"{value}.5"),
    st.sampled_from([*ODD, *PLAIN, *HARD, *INFINITE]),
)


def read(*rows: str) -> KaldiText:
    return KaldiText(*kaldi_text("".join(f"{row}\n" for row in ("key", *rows, "")).encode()))


def number(text: str) -> float | None:
    """Return what Python's float makes of a number, or None where C would see none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return None if "_" in text or not text.isascii() or text != text.strip() else value


def converted(text: str) -> float | None:
    """Return what the native reader makes of a finite number, or None."""
    found = read(f"0 1 w {text},0,")
    return float(found.graph[0]) if not found.problem else None


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


@given(NUMBERS)
def test_numbers_are_those_of_python(text: str) -> None:
    expected, found = number(text), converted(text)
    if expected is None or not math.isfinite(expected):
        assert found is None
    else:
        assert found is not None
        assert bits(found) == bits(expected)


def test_many_numbers() -> None:
    chance = random.Random(0)
    texts = [repr(chance.gauss(0, 10 ** chance.randrange(-8, 8))) for _ in range(20_000)]
    found = read(*(f"0 1 w {text},{float(text):.6g}," for text in texts))
    assert [bits(value) for value in found.graph] == [bits(float(text)) for text in texts]
    assert found.acoustic.tolist() == [float(f"{float(text):.6g}") for text in texts]


def test_which_spellings_are_numbers() -> None:
    assert all(converted(text) == float(text) for text in PLAIN)
    assert not any(converted(text) is not None for text in (*ODD, *INFINITE))
    for text in INFINITE:
        # a state that is not final is the only place for them
        found = read("0 1 w", f"1 {text},{text},", "0 0,0,")
        assert bool(found.problem) == text.startswith("-")
        if not found.problem:
            assert found.final_graph.tolist() == found.final_acoustic.tolist() == [0.0, math.inf]


WEIGHTS = st.one_of(
    st.tuples(NUMBERS, NUMBERS, st.from_regex(r"[0-9_]{0,5}", fullmatch=True)).map(",".join),
    st.tuples(NUMBERS, NUMBERS).map(",".join),
    st.sampled_from(["Infinity,Infinity,", "Infinity,Infinity", "1,2,3-4", "1,2,3,4", "a", ","]),
)
STATES = st.sampled_from(["0", "1", "007", "x", "-1", "9" * 18, "9" * 19, "2"])
IDS = st.sampled_from(["0", "00", "17", "<eps>", "x"])


def judged(row: list[str], compact: bool) -> tuple[Any, ...] | str:
    """Return what one line says, (source, target, graph, acoustic, frames), or what is wrong."""
    arc, full = len(row) > 2, 4 if compact else 5
    graph = acoustic = 0.0
    frames = 0
    if len(row) in (2, full):
        parts = row[-1].split(",")
        costs = [number(part) for part in parts[:2]]
        infinite = not arc and costs == [math.inf, math.inf]
        finite = all(cost is not None and math.isfinite(cost) for cost in costs)
        if len(parts) != (3 if compact else 2) or not (infinite or finite):
            return "weight"
        graph, acoustic = (cost for cost in costs if cost is not None)
        ids = parts[2] if compact else ""
        if ids.translate({ord(char): None for char in "0123456789_"}):
            return "transition-ids"
        frames = ids.count("_") + 1 if ids else 0
    if arc and not compact:
        if not row[2].isdigit() and row[2] != "<eps>":
            return "transition-id"
        frames = int(row[2].strip("0") not in ("", "<eps>"))
    for text in row[: 2 if arc else 1]:
        if not text.isdigit() or len(text) > 18:
            return "state"
    return int(row[0]), int(row[1]) if arc else None, graph, acoustic, frames


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
def test_native_and_plain_reading_agree(row: tuple[str, ...], compact: bool) -> None:
    """What the native reader says of a line is what the judge says, to the bit."""
    # a line that tells which kind it is comes first
    above = "7 7 v 0,0,5" if compact else "7 7 3 v 0,0"
    payload = f"key\n{above}\n{' '.join(row)}\n\n".encode()
    columns = payload.split(b"\n")[2].split()
    if [column.decode() for column in columns] != list(row):
        return
    text = [column.decode() for column in columns]
    if len(text) not in ((1, 2, 4) if compact else (1, 2, 4, 5)):
        return
    found = KaldiText(*kaldi_text(payload))
    if not compact and len(text) == 4 and "," in text[3]:
        assert (found.problem, found.line) == (5, 2)
        return
    assert found.compact == compact
    expected = judged(text, compact)
    record = Record(payload, "f", 1, 0)
    if isinstance(expected, str):
        assert found.problem
        with pytest.raises(FormatError, match=rf"^f:3: {expected} '.*', expected "):
            parse_record(FORMAT, record, Vocabulary())
        return
    assert found.problem == 0
    src, dst, graph, acoustic, frames = expected
    states = sorted({7, src} | ({dst} if dst is not None else set()))
    assert found.start == states.index(7)
    if dst is None:
        assert found.src.tolist() == [states.index(7)]
        costs = found.final_graph[states.index(src)], found.final_acoustic[states.index(src)]
    else:
        assert (found.src[1], found.dst[1]) == (states.index(src), states.index(dst))
        assert found.frames[1] == frames
        costs = found.graph[1], found.acoustic[1]
    assert [bits(value) for value in costs] == [bits(graph), bits(acoustic)]


def test_the_first_bad_line_is_named() -> None:
    record = Record(b"key\n0 1 a 1,2,\n1 y b 1,2,\n1 2 c x,2,\n2\n\n", "f", 1, 0)
    with pytest.raises(FormatError, match=r"f:3: state 'y', expected a number from 0"):
        parse_record(FORMAT, record, Vocabulary())


@given(st.lists(st.text("abé", min_size=1, max_size=3), min_size=1, max_size=60))
def test_distinct_labels(words: list[str]) -> None:
    found = read(*(f"0 1 {word} 0,0," for word in words), "1")
    assert [label.decode() for label in found.labels] == list(dict.fromkeys(words))
    assert [found.labels[number].decode() for number in found.label] == words
    assert [words[line - 1] for line in found.label_line] == list(dict.fromkeys(words))


def test_blanks_are_those_of_ascii() -> None:
    found = KaldiText(*kaldi_text("key\r\n0\v1\fa\u00a0b \t 1,2,\n1\n\n".encode()))
    assert found.labels == ["a\u00a0b".encode()]
    assert (found.src.tolist(), found.dst.tolist()) == ([0], [1])
    # a line separator is a letter like others
    found = KaldiText(*kaldi_text("key\n0 1 a 1,2,\n\u20281\n\n".encode()))
    assert (found.problem, found.line) == (9, 2)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", 1),
        (b"\n", 1),
        (b"key", 1),
        (b"key\n", 1),
        (b"key\n0 1 a 1,2,\n1\n", 1),
        (b"key\n0 1 a 1,2,\n1\n \t", 1),
        (b"\n\n", 2),
        (b"a key\n0\n\n", 2),
        (b"key\n\n", 3),
        (b"key\n0\n \r\n1 2 3 4 5 6\n", 0),
    ],
)
def test_lattices_end_at_an_empty_line(data: bytes, problem: int) -> None:
    assert KaldiText(*kaldi_text(data)).problem == problem


@given(st.text("\n \ta", max_size=12))
def test_empty_lines(text: str) -> None:
    data = text.encode()
    found = [match.end() for match in EMPTY_LINE.finditer(data)]
    assert empty_line_ends(data) == found
