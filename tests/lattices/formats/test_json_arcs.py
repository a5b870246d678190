"""The two readers of JSON lines: one from bytes, one from JSON; they agree on every record."""

from __future__ import annotations

import json
import math
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lattices.errors import FormatError
from lattices.formats import parse_record, read_records
from lattices.formats.base import Record
from lattices.formats.json.lines import FORMAT, JsonLines, arcs_apart, parse_carefully
from lattices.spaces import Lattice, Space
from lattices.testing import sample_lattices
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import written
from tests.strategies import small_lattices


class Careful(JsonLines):
    """The format without its fast reader."""

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        return parse_carefully(record, vocabulary)


def everything(space: Space) -> dict[str, Any]:
    """Return all that a space holds, to the bit, and the order of its vocabulary."""
    found: dict[str, Any] = {"words": list(space.vocabulary)}
    for name, value in space.__getstate__().items():
        if name == "vocabulary":
            continue
        if isinstance(value, np.ndarray):
            value = value.dtype, value.shape, value.tobytes(), value.flags.writeable
        elif hasattr(value, "indptr"):
            parts = value.data, value.indices, value.indptr
            value = value.shape, [(part.dtype, part.tobytes()) for part in parts]
        elif name == "references":
            value = [everything(each) if isinstance(each, Lattice) else each for each in value]
        found[name] = repr(value) if name == "metadata" else value
    return found


def outcome(fmt: JsonLines, payload: bytes) -> Any:
    """Return what becomes of a record: all that it holds, or what is wrong and where."""
    vocabulary = Vocabulary(["known", "the"])
    try:
        space = parse_record(fmt, Record(payload, "file", 7, 3), vocabulary)
    except FormatError as problem:
        return str(problem), list(vocabulary)
    return everything(space)


def agree(payload: bytes) -> None:
    assert outcome(FORMAT, payload) == outcome(Careful(), payload)


def is_usual(payload: bytes) -> bool:
    return arcs_apart(Record(payload, "file", 7, 3)) is not None


NUMBERS = st.one_of(
    st.sampled_from(["0", "1", "-1", "-0", "-0.0", "0.0", "1e0", "1E+2", "-2.5e-3", "0e5", "1e22"]),
    st.floats(-100, 100).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)
ODD_NUMBERS = st.sampled_from(
    ["NaN", "-Infinity", "1e400", "01", "1.", ".5", "+1", "1e", "--1", "true", "null", '"1"', "[]",
     "9" * 19, "-" + "9" * 20, "9" * 5000, "1" + "0" * 400 + ".0", "1.5.5", "0x1", "1_0", "- 1"]
)  # fmt: skip
ESCAPES = {"\t": r"\t", "\n": r"\n", '"': r"\"", "\\": r"\\", "/": r"\/", "\b": r"\b"}
NAMES = st.sampled_from(["lm", "tm", "", "é", "a b", 'q"', "\\", "日本", "lm\n", "😀"])
WORDS = st.one_of(NAMES, st.text(st.characters(exclude_categories=["Cs"]), max_size=3))


class Spelling:
    """Writes JSON in all the ways there are, as hypothesis chooses."""

    def __init__(self, draw: st.DrawFn, oddity: float) -> None:
        self._draw = draw
        self._chance = random.Random(draw(st.integers(0, 2**32)))
        self._oddity, self._dense = oddity, draw(st.booleans())

    def odd(self) -> bool:
        return self._chance.random() < self._oddity

    def blank(self) -> str:
        return "" if self._dense else self._chance.choice(["", "", " ", "\t", "  ", "\r", "\n"])

    def number(self) -> str:
        return self._draw(ODD_NUMBERS if self.odd() else NUMBERS)

    def state(self, text: str) -> str:
        odd = ["-1", "01", "1.0", "true", '"0"', "9" * 19, "2147483648", "1e0", "-0"]
        return self._chance.choice(odd) if self.odd() else text

    def string(self, text: str) -> str:
        if self.odd():
            return self._chance.choice([r'"\ud800"', r'"\x"', '"\x01"', r'"\u12"', "7", "null"])
        pieces = []
        for char in text:
            must = char in '"\\' or char < " "
            if not must and self._chance.random() < 0.9:
                pieces.append(char)
            elif char in ESCAPES and self._chance.random() < 0.5:
                pieces.append(ESCAPES[char])
            else:
                units = char.encode("utf-16-be").hex()
                pieces += [rf"\u{units[at : at + 4]}" for at in range(0, len(units), 4)]
        return f'"{"".join(pieces)}"'

    def joined(self, opening: str, items: list[str], closing: str) -> str:
        middle = ",".join(f"{self.blank()}{item}{self.blank()}" for item in items)
        return f"{opening}{middle or self.blank()}{closing}"

    def object(self, items: list[tuple[str, str]]) -> str:
        if items and self.odd():
            items = [*items, self._chance.choice(items)]
        pairs = [f"{self.string(k)}{self.blank()}:{self.blank()}{v}" for k, v in items]
        return self.joined("{", pairs, "}")


@st.composite
def records(draw: st.DrawFn, oddity: float = 0.0) -> bytes:
    spell = Spelling(draw, oddity)
    states = draw(st.integers(1, 5))
    some_names = draw(st.lists(NAMES, max_size=3, unique=True))

    def features() -> str:
        names = draw(st.permutations(some_names)) if some_names else []
        names = names[: draw(st.integers(0, len(names)))]
        if spell.odd():
            return draw(st.sampled_from(["null", "[]", "7", '{"a": {}}', '{"a": [1]}']))
        return spell.object([(name, spell.number()) for name in names])

    arcs = []
    for _ in range(draw(st.integers(0, 6))):
        src = draw(st.integers(0, states))
        dst = draw(st.integers(0, states))
        if draw(st.integers(0, 9)):
            src, dst = min(src, dst), max(src, dst) + (src == dst)
        row = [spell.state(str(src)), spell.state(str(dst)), spell.string(draw(WORDS))]
        row += [spell.number(), features()][: draw(st.sampled_from([0, 1, 2, 2, 2]))]
        if spell.odd():
            row = row[: draw(st.integers(0, 2))] if draw(st.booleans()) else [*row, "1"]
        arcs.append(spell.joined("[", row, "]"))
    ends = draw(st.lists(st.integers(0, states), min_size=1, max_size=3, unique=True))
    finals = spell.object([(str(end), spell.number()) for end in ends])
    fields = [("arcs", spell.joined("[", arcs, "]")), ("finals", finals)]
    reference = '{"arcs": [[0, 1, "ref", -1, {"r": 2}]], "finals": {"1": 0}}'
    more = {
        "id": spell.string(draw(WORDS)),
        "src": spell.string("[{"),
        "refs": spell.joined("[", [spell.string("a } b"), reference], "]"),
        "states": str(states + 2),
        "start": "0",
        "feature_names": spell.joined("[", [spell.string(n) for n in ("tm", "new")], "]"),
        "final_features": spell.object([(str(ends[0]), features())]),
        "times": spell.joined("[", ["0.5"] * (states + 2), "]"),
        "hyp": '{"arcs": [[], {"arcs": "]}"}], "n": -0}',
        "nbest": "[]",
        "arcs ": "1",
    }
    chosen = draw(st.lists(st.sampled_from([*more]), unique=True, max_size=5))
    fields += [(name, more[name]) for name in chosen if name != "nbest" or spell.odd()]
    text = spell.object(draw(st.permutations(fields)))
    return (spell.blank() + text + spell.blank()).encode("utf-8")


@given(records())
def test_readers_agree_on_records_in_any_spelling(payload: bytes) -> None:
    agree(payload)


@given(records(oddity=0.03))
def test_readers_agree_on_records_with_something_odd(payload: bytes) -> None:
    agree(payload)


@given(records(), st.data())
def test_readers_agree_on_damaged_records(payload: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(payload)))
    damage = data.draw(st.sampled_from(["cut", "drop", "put", "flip", "again"]))
    size = data.draw(st.integers(1, 4))
    if damage == "cut":
        payload = payload[:place]
    elif damage == "drop":
        payload = payload[:place] + payload[place + size :]
    elif damage == "put":
        alphabet = b'[]{}",:\\0e-.+ntu\x00\x1f\x80\xff \t'
        put = bytes(data.draw(st.lists(st.sampled_from(alphabet), min_size=1, max_size=size)))
        payload = payload[:place] + put + payload[place:]
    elif damage == "flip" and place < len(payload):
        other = payload[place] ^ (1 << data.draw(st.integers(0, 7)))
        payload = payload[:place] + bytes([other]) + payload[place + 1 :]
    else:
        payload = payload[: place + size] + payload[place:]
    agree(payload)


def with_arcs(arcs: str, more: str = "") -> bytes:
    return f'{{"finals": {{"1": 0}}, "arcs": {arcs}{more}}}'.encode()


@pytest.mark.parametrize(
    "arcs",
    [
        "[]",
        '[[0, 1, "a"]]',
        '[[0,1,"",-0,{}],[0,1,"the",0.1e1,{"x":1}]]',
        r'[[0, 1, "caf\u00e9 \"\ud83d\ude00", 1, {"\u006cm": 2, "tm": 0.30000000000000004}]]',
        '[[0, 1, "many digits", 0.1234567890123456789012345, {"x": 1e-300, "y": -5e-324}]]',
        '[[0, 1, "a", 1, {"x": 1, "y": 2}], [0, 1, "b", 1, {"y": 1, "x": 2}]]',
    ],
)
def test_usual_records_are_read_from_bytes(arcs: str) -> None:
    assert is_usual(with_arcs(arcs))
    agree(with_arcs(arcs))


@pytest.mark.parametrize(
    "arcs",
    [
        "null",
        "{}",
        '[[0, 1, "a"],]',
        '[[0, 1, "a"]',
        '[[0, 1, "a" "b"]]',
        "[[0, 1]]",
        '[[0, 1, "a", 1, {}, 1]]',
        '[[0, 1, "a", null]]',
        '[[0, 1, "a", 1, null]]',
        '[[0, 1, "a", 1, {"x": true}]]',
        '[[0, 1, "a", 1, {"x": 1, "x": 2}]]',
        r'[[0, 1, "a", 1, {"x": 1, "\u0078": 2}]]',
        '[[0, 1, "a", 1, {"x": 1,}]]',
        r'[[0, 1, "\ud800", 1]]',
        r'[[0, 1, "\q", 1]]',
        '[[0, 1, "a\x0b", 1]]',
        '[[0, 1, "a", NaN]]',
        '[[0, 1, "a", 99999999999999999999]]',
        '[[0, 1, "a", 01]]',
        '[[0, 1, "a", +1]]',
        '[[0, 1, "a", 1.]]',
        '[[0, -1, "a"]]',
        '[[0, 4294967297, "a"]]',
        '[[0, 1.0, "a"]]',
        '[[00, 1, "a"]]',
        '[[true, 1, "a"]]',
        '[[0, 1, "a"]], "arcs": []',
        r'[[0, 1, "a"]], "\u0061rcs": []',
        '[[0, 1, "a"]], "x": }',
        '[[0, 1, "a"]], "x": ' + "[" * 100_000,
    ],
)
def test_unusual_records_are_left_to_json(arcs: str) -> None:
    assert not is_usual(with_arcs(arcs))
    agree(with_arcs(arcs))


def test_infinity_beside_a_character_of_two_escapes() -> None:
    payload = with_arcs(r'[[0, 1, "\ud83d\ude00", 1]]').replace(b'"1": 0', b'"1": 1e400')
    assert "infinite" in outcome(FORMAT, payload)[0]
    agree(payload)


def test_bytes_that_are_no_text_are_left_to_json() -> None:
    for word in (b"\xff", b"\xc3", b"\xed\xa0\x80"):
        payload = with_arcs('[[0, 1, "?", 1]]').replace(b"?", word)
        assert not is_usual(payload)
        agree(payload)


@given(NUMBERS)
@example("9007199254740993")
@example("0.1e-400")
@example("123456789012345678")
@example("0." + "0" * 30 + "12345678901234567895")
def test_numbers_are_those_of_json(text: str) -> None:
    usual = arcs_apart(Record(with_arcs(f'[[0, 1, "a", {text}, {{"x": {text}}}]]'), "", 1, 0))
    expected = json.loads(text)
    if usual is None:
        # large whole numbers are no business of floats
        assert isinstance(expected, int)
        assert len(text) > 18
        return
    for found in (usual[1].score[0], usual[1].value[0]):
        assert struct.pack("<d", found) == struct.pack("<d", float(expected))


@given(small_lattices())
def test_what_is_written_here_is_usual(lattice: Lattice) -> None:
    line = written(FORMAT, lattice)
    assert is_usual(line)
    agree(line)
    escaped = json.dumps(json.loads(line)).encode()
    assert is_usual(escaped)
    agree(escaped)


def test_samples_are_usual() -> None:
    for lattice in sample_lattices():
        assert is_usual(written(FORMAT, lattice))


def test_thousands_of_words_and_names() -> None:
    arcs = [[n, n + 1, f"w{n}", n / 7, {f"f{n}": 1, f"f{n // 2}": math.pi}] for n in range(1, 3000)]
    payload = json.dumps({"finals": {"3000": 0}, "start": 1, "arcs": arcs}).encode()
    assert is_usual(payload)
    agree(payload)


def test_real_lattices(shared_data: Path) -> None:
    for name in ("d10", "d50"):
        path = shared_data / "multi30k-deen" / f"val.de-en.lat.{name}.jsonl.gz"
        for number, (_, record) in enumerate(read_records(path)):
            if number == 25:
                break
            assert is_usual(record.payload)
            agree(record.payload)
