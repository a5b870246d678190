"""N-best lists in lines: Moses' fields and tab-separated columns."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.errors import FormatError
from lattices.formats import parse_record
from lattices.formats.lists.moses import FORMAT as MOSES
from lattices.formats.lists.tsv import FORMAT as TSV
from lattices.spaces import Hypothesis, NBest
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import parts, problems, read_bytes, written

# what str.split would cut at, and str.splitlines too, is inside words here
ODD = "\u00a0\u2028\u3000\x85\x1c:=|_0\"'é"
WORD = st.text(st.sampled_from("ab" + ODD), min_size=1, max_size=4).filter(
    lambda word: "||" not in word and word[0] != "|" != word[-1]
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.sampled_from(
    ["lm", "tm_0", "tm_1", "tm_2", "tm", "tm_0_0", "tm_0_1", "feature", "feature_0", "feature_1",
     "x=", "y:", "=", "a=b", "w_1", "0"]
)  # fmt: skip
HYPOTHESES = st.lists(
    st.builds(
        Hypothesis,
        st.lists(WORD, max_size=4).map(tuple),
        NUMBERS,
        st.dictionaries(NAMES, NUMBERS.filter(bool), max_size=6),
    ),
    min_size=1,
    max_size=3,
)


def contents(nbest: NBest) -> list[tuple[tuple[str, ...], float, dict[str, float]]]:
    return [(one.tokens, one.score, dict(one.features)) for one in nbest]


@given(st.lists(HYPOTHESES, min_size=1, max_size=3), st.permutations(["a", "b\u00a0", "c d"]))
def test_moses_round_trip(lists: list[list[Hypothesis]], names: list[str]) -> None:
    spaces = [
        NBest.from_hypotheses(entries, id=name) for entries, name in zip(lists, names, strict=False)
    ]
    back = _parsed(MOSES, written(MOSES, *spaces))
    assert [space.id for space in back] == [space.id for space in spaces]
    assert [contents(space) for space in back] == [contents(space) for space in spaces]


@given(st.lists(HYPOTHESES, min_size=1, max_size=3))
def test_tsv_round_trip(lists: list[list[Hypothesis]]) -> None:
    spaces = [
        NBest.from_hypotheses([Hypothesis(e.tokens, e.score) for e in entries], id=f"u {number}")
        for number, entries in enumerate(lists)
    ]
    back = _parsed(TSV, written(TSV, *spaces))
    assert [parts(space) for space in back] == [parts(space) for space in spaces]


def _parsed(fmt, data: bytes) -> list[NBest]:  # type: ignore[no-untyped-def]
    words = Vocabulary()
    return [parse_record(fmt, record, words) for record in fmt.records(io.BytesIO(data), "f")]


def test_moses_dialects(tmp_path: Path) -> None:
    data = (
        b"0||| mr president , \t||| d= 0 -3.3 lm: -47.2 w= -14 ||| -9.26049\r\n"
        b"0 |||  ||| d: 1 2 lm= 5 ||| 1e2 ||| 0-1=0 ||| 0-0 1-1\n"
        b"1 ||| A A ||| lm_0=-28.045 tm_pt_0=-172.000 ||| -195.045\n"
        b"2 ||| b ||| 1.5 2.5 lm= 3 ||| 0\n"
        b"x y ||| c ||| ||| 0"
    )
    lists = read_bytes(tmp_path, data, None)
    assert [one.id for one in lists] == ["0", "1", "2", "x y"]
    assert contents(lists[0]) == [
        (("mr", "president", ","), -9.26049, {"d_1": -3.3, "lm": -47.2, "w": -14.0}),
        ((), 100.0, {"d_0": 1.0, "d_1": 2.0, "lm": 5.0}),
    ]
    assert lists[0].feature_names == ("d_0", "d_1", "lm", "w")
    assert lists[0].metadata == {"extra": ["", "0-1=0 ||| 0-0 1-1"]}
    assert contents(lists[1])[0][2] == {"lm_0": -28.045, "tm_pt_0": -172.0}
    assert contents(lists[2])[0][2] == {"feature_0": 1.5, "feature_1": 2.5, "lm": 3.0}
    assert lists[3].features is None
    assert [parts(one) for one in _parsed(MOSES, written(MOSES, *lists))] == [
        parts(one) for one in lists
    ]


def test_moses_writes_the_usual_spelling() -> None:
    entries = [
        Hypothesis(("a",), -1.0, {"TM0_0": 1.0, "TM0_1": 2.0, "LM0": -3.0}),
        Hypothesis(("b",), -2.0, {"TM0_1": 4.0}),
    ]
    assert written(MOSES, NBest.from_hypotheses(entries, id="0")).decode().splitlines() == [
        "0 ||| a ||| TM0= 1.0 2.0 LM0= -3.0 ||| -1.0",
        "0 ||| b ||| TM0= 0.0 4.0 ||| -2.0",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"a ||| b ||| 1", "3 fields between |||, expected 4"),
        (b"no fields at all", "1 fields between |||, expected 4"),
        (b"a ||| b ||| lm= x ||| 1", "'x', expected a finite number"),
        (b"a ||| b ||| lm=x ||| 1", "'x', expected a finite number"),
        (b"a ||| b ||| lm= nan ||| 1", "'nan', expected a finite number"),
        (b"a ||| b ||| lm= 1 ||| -inf", "'-inf', expected a finite number"),
        (b"a ||| b ||| lm= 1 ||| ", "'', expected a finite number"),
        (b"a ||| \xff ||| lm= 1 ||| 1", "invalid UTF-8: invalid start byte"),
    ],
)
def test_bad_moses_line_fails_its_list_by_its_own_number(
    tmp_path: Path, line: bytes, expected: str
) -> None:
    good = b"%s ||| x ||| lm= 1 ||| 0\n"
    data = good % b"first" + good % b"a" + b"\n" + line + b"\n" + good % b"a" + good % b"last"
    spaces, messages = problems(tmp_path, data, "moses-nbest")
    assert [space.id for space in spaces] == ["first", "last"]
    assert messages == [f"4: {expected}"]


def test_tsv_columns(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfu1\t1\t-0.5\ta b\r\nu1\t2\t-1e3\t\r\n\r\nu1\t3\t-2\r\nu 2\t0\t3\tc\r\n"
    one, two = read_bytes(tmp_path, data, "nbest-tsv")
    assert (one.id, two.id) == ("u1", "u 2")
    assert [(h.tokens, h.score) for h in one] == [(("a", "b"), -0.5), ((), -1000.0), ((), -2.0)]


def test_tsv_is_known_by_words_that_are_a_number_but_for_a_numbered_id() -> None:
    assert TSV.sniff(b"u1\t1\t-0.5\t0\n")
    assert TSV.sniff(b"1\t1\t-0.5\tzero\n")
    assert not TSV.sniff(b"0\t1\t5\t0.5\n")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"u\t1", "2 columns, expected id, rank, score, words"),
        (b"u\t1\t-1\ta\tb", "5 columns, expected id, rank, score, words"),
        (b"u\tone\t-1\ta", "rank 'one', expected a whole number"),
        (b"u\t1\tx\ta", "score 'x', expected a finite number"),
        (b"u\t1\tnan\ta", "score 'nan', expected a finite number"),
        (b"u\t1\tinf\ta", "score 'inf', expected a finite number"),
        (b"u\t1\t0\t\xff", "invalid UTF-8: invalid start byte"),
    ],
)
def test_bad_tsv_line(tmp_path: Path, line: bytes, expected: str) -> None:
    data = b"a\t1\t0\tx\nu\t1\t0\tx\n" + line + b"\nz\t1\t0\tx\n"
    spaces, messages = problems(tmp_path, data, "nbest-tsv")
    assert [space.id for space in spaces] == ["a", "z"]
    assert messages == [f"3: {expected}"]


def test_a_line_without_columns_is_its_own_segment(tmp_path: Path) -> None:
    spaces, messages = problems(tmp_path, b"u\t1\t0\tx\nwords\nu\t2\t0\ty\n", "nbest-tsv")
    assert [space.id for space in spaces] == ["u"]
    assert messages[0] == "2: 1 columns, expected id, rank, score, words"


def test_long_lines(tmp_path: Path) -> None:
    words = b"word " * 20_000
    (one,) = read_bytes(tmp_path, b"0 ||| " + words + b"||| lm= 1 ||| 0\n", None)
    assert len(one[0].tokens) == 20_000
    (one,) = read_bytes(tmp_path, b"0\t1\t0\t" + words + b"\n", "nbest-tsv")
    assert len(one[0].tokens) == 20_000


def nbest(*words: str, **rest: object) -> NBest:
    return NBest.from_hypotheses([Hypothesis(words)], **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spaces", "expected"),
    [
        ([nbest("a", id="x"), nbest("b", id="x")], "two lists in a row"),
        ([nbest("a", id=" x")], "cannot stand in a field"),
        ([nbest("a", id="x\ny")], "cannot stand in a field"),
        ([nbest("a b", id="x")], "cannot hold the words with blanks"),
        ([nbest("a", id="x", metadata={"k": 1})], "cannot hold the metadata"),
        ([NBest.from_hypotheses([], id="x")], "cannot hold the empty list"),
    ],
)
@pytest.mark.parametrize("fmt", [MOSES, TSV])
def test_what_cannot_be_written(fmt, spaces: list[NBest], expected: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(FormatError, match=expected):
        written(fmt, *spaces)


def test_separators_inside_parts() -> None:
    with pytest.raises(FormatError, match="cannot stand in a field"):
        written(TSV, nbest("a", id="x\ty"))
    with pytest.raises(FormatError, match="cannot stand in a field"):
        written(MOSES, nbest("a", id="x|||y"))
    for words in [("a|||b",), ("|", "|||"), ("|||",)]:
        with pytest.raises(FormatError, match=r"holds \|\|\|, which separates"):
            written(MOSES, nbest(*words, id="x"))
    named = NBest.from_hypotheses([Hypothesis(("a",), 0.0, {"two words": 1.0})], id="x")
    with pytest.raises(FormatError, match="features 'two words'"):
        written(MOSES, named)
    with pytest.raises(FormatError, match="metadata 'extra'"):
        written(MOSES, nbest("a", id="x", metadata={"extra": ["", ""]}))
