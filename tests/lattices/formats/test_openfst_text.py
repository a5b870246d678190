"""OpenFst text files: what the columns mean, and what other tools make of what we write."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lattices import formats
from lattices.errors import FormatError, OptionError
from lattices.formats.base import LossWarning
from lattices.formats.openfst.text import FORMAT
from lattices.interop import from_fst, to_fst
from lattices.spaces import Lattice
from lattices.testing import check_format
from lattices.vocabulary import Vocabulary
from tests.lattices.formats.parsing import parser
from tests.strategies import small_lattices

DATA = Path(os.environ.get("FSTMETRICS_DATA", Path(__file__).parents[4] / "shared" / "data"))
WORDS = ("a", "7", "0.5", "[x]", "na\u00efve", "10\u00a0000", "Infinity")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("text")


parsed = parser(FORMAT, Lattice, "x.att")


def sentences(lattice: Lattice) -> list[tuple[str, float]]:
    return sorted((path.text, path.score) for path in lattice.paths())


def test_the_laws_of_formats(tmp_path: Path) -> None:
    check_format(FORMAT)
    check_format(FORMAT, write_options={"acceptor": "no"})
    symbols = {"symbols": str(tmp_path / "words.syms")}
    check_format(FORMAT, options=symbols, write_options={"labels": "numbers", **symbols})


def test_an_acceptor() -> None:
    lattice = parsed("0 1 the 0.5\n0\t1\ta\t1.5\n1 2 <eps>\n\n1   2 cat 1e-1\n2 0.25\n1\n")
    assert lattice.num_states == 3
    assert sentences(lattice) == [
        ("a", -1.75),
        ("a", -1.5),
        ("a cat", pytest.approx(-1.85)),
        ("the", -0.75),
        ("the", -0.5),
        ("the cat", pytest.approx(-0.85)),
    ]
    assert lattice.id == "x"


def test_a_transducer() -> None:
    text = "0 1 das the 0.5\n1 2 haus house\n2\n"
    assert sentences(parsed(text)) == [("the house", -0.5)]
    assert sentences(parsed(text, side="input")) == [("das haus", -0.5)]
    assert sentences(parsed(text, acceptor="no")) == [("the house", -0.5)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # words and costs
        ("0 1 cat 2\n1\n", [("cat", -2.0)]),
        ("0 1 7 0.5\n1\n", [("7", -0.5)]),
        ("0 1 7 2.\n1\n", [("7", -2.0)]),
        ("0 1 7 Infinity\n0 1 8 1\n1\n", [("8", -1.0)]),
        # three columns somewhere
        ("0 1 7 2\n0 1 8\n1\n", [("7", -2.0), ("8", 0.0)]),
        # input and output
        ("0 1 cat 2\n0 1 dog x\n1\n", [("2", 0.0), ("x", 0.0)]),
        ("0 1 7 7\n1 2 8 8\n2\n", [("7 8", 0.0)]),
        # five columns somewhere
        ("0 1 7 2\n0 1 8 3 0.5\n1\n", [("2", 0.0), ("3", -0.5)]),
        # nothing to decide
        ("0 0.5\n", [("", -0.5)]),
        ("0\n", [("", 0.0)]),
    ],
)
def test_telling_acceptors_from_transducers(text: str, expected: list[tuple[str, float]]) -> None:
    words = [word for sentence, _ in expected for word in sentence.split()]
    if words and all(map(str.isdigit, words)):
        with pytest.raises(
            FormatError, match=r"labels are whole numbers, .* symbols=FILE gives one"
        ):
            parsed(text)
        assert sentences(parsed(text, labels="numbers")) == expected
    else:
        assert sentences(parsed(text)) == expected


def test_what_cannot_be_told_has_to_be_said() -> None:
    text = "0 1 7 7\n\n1 2 8 2\n2\n"
    with pytest.raises(FormatError, match=r"^x\.att:1: .*acceptor=yes or acceptor=no"):
        parsed(text)
    assert sentences(parsed(text, acceptor="yes", labels="numbers")) == [("7 8", -9.0)]
    assert sentences(parsed(text, acceptor="no", labels="numbers")) == [("7 2", 0.0)]
    with pytest.raises(OptionError, match="acceptor is one of auto, yes, no, not 'maybe'"):
        parsed(text, acceptor="maybe")


def test_states_and_the_start() -> None:
    lattice = parsed("5 900 b 1\n30 5 a 1\n900 2\n7 Infinity\n", acceptor="yes")
    assert lattice.num_states == 4
    assert sentences(lattice) == [("b", -3.0)]
    kept = parsed("1 2 a 0.5\n0 1 b 0.5\n2\n")
    assert (kept.start, kept.src.tolist()) == (1, [0, 1])
    # of two final costs the last counts
    assert sentences(parsed("0 1 a\n1 5\n1 2\n")) == [("a", -2.0)]


def test_epsilon_and_labels(tmp_path: Path) -> None:
    numbers, words = "0 1 7 0.5\n1 2 0 0.5\n2\n", "0 1 seven 0.5\n1 2 - 0.5\n2\n"
    table = tmp_path / "words.syms"
    table.write_text("- 0\nseven\t7\n0 8\n")
    assert sentences(parsed(numbers, labels="numbers")) == [("7", -1.0)]
    assert sentences(parsed(numbers, labels="words")) == [("7 0", -1.0)]
    assert sentences(parsed(numbers, symbols=str(table))) == [("seven", -1.0)]
    assert sentences(parsed(words, symbols=str(table))) == [("seven", -1.0)]
    assert sentences(parsed(words)) == [("seven -", -1.0)]
    with pytest.raises(FormatError, match=r"^x\.att:1: the label 'seven' is no number from 0"):
        parsed(words, labels="numbers")
    with pytest.raises(FormatError, match=r"^x\.att:2: the label '9' is not in the symbol table"):
        parsed(numbers.replace("1 2 0", "1 2 9"), symbols=str(table))
    with pytest.raises(FormatError, match=r"^x\.att:2: the label '<eps>' is not in the symbol"):
        parsed(words.replace("2 -", "2 <eps>"), symbols=str(table))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0 1 a b 0.5 6\n1\n", "1: 6 columns, expected 1 to 5"),
        ("0 1 a 0.5\n0 1 a a 0.5\n0 1 a\n1\n", "3: 3 columns, .* line 2 has 5"),
        ("0 1 a 0.5\n\nx 0.5\n", "3: state 'x', expected a number from 0"),
        ("0 -1 a 0.5\n1\n", "1: state '-1'"),
        ("0 1 a 0.5\n1 cheap\n", "2: cost 'cheap', expected a number or Infinity"),
        ("0 1 a\n0 1 b nan\n1\n", "2: cost 'nan'"),
        ("0 1 a\n0 1 b -Infinity\n1\n", "2: cost '-Infinity'"),
        ("0 1 a\n0 1 b BadNumber\n1\n", "2: cost 'BadNumber'"),
        ("0 1 a\n0 1 b 1.0,2.0,3_4\n1\n", "2: cost '1.0,2.0,3_4'"),
        ("0 1 a\n0 1 b 3_4\n1\n", "2: cost '3_4'"),
        ("0 1 a 0.5\n1 0 b 0.5\n1\n", "1: the lattice has a cycle"),
        ("0 1 a 0.5\n", "1: no state is final"),
        ("0 1 a 0.5\n1 Infinity\n", "1: no state is final"),
        ("0 99999999999999999999 a 0.5\n1\n", "1: "),
    ],
)
def test_errors_have_a_place(text: str, problem: str) -> None:
    with pytest.raises(FormatError, match=rf"^x\.att:{problem}"):
        parsed(text)


def test_bytes_that_are_no_text() -> None:
    record = formats.Record(b"0 1 a\n0 1 \xff\n1\n", "x.att", 1, 0)
    with pytest.raises(FormatError, match=r"^x\.att:2: invalid UTF-8"):
        formats.parse_record(FORMAT, record, Vocabulary())


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"0 1 a 0.5\n1", True),
        (b"\n0\t1\ta\tb\t0.5\n1\t0.5\n", True),
        (b"0 1 a 0.5\n0 cut off in the mid", True),
        (b"3\n", True),
        (b"0 ||| a house ||| lm= -1 ||| -1\n", False),
        (b"VERSION=1.0\nN=3 L=4\n", False),
        (b"<eps> 0\nthe 1\n", False),
        (b'{"id": 3}\n', False),
        (b"utt1\n0 1 a 0.5,1,\n", False),
        (b"", False),
        (b"\xd6\xfd\xb2\x7e\x06\0\0\0vector", False),
    ],
)
def test_sniffing(head: bytes, expected: bool) -> None:
    assert FORMAT.sniff(head) is expected


@given(st.binary(max_size=200))
def test_sniffing_never_fails(head: bytes) -> None:
    assert FORMAT.sniff(head) in (True, False)


@given(
    small_lattices(words=WORDS, features=False),
    st.sampled_from(["yes", "no"]),
    st.sampled_from(["words", "numbers"]),
    st.booleans(),
)
def test_lattices_come_back_bit_by_bit(
    folder: Path, lattice: Lattice, acceptor: str, labels: str, table: bool
) -> None:
    options = {"acceptor": acceptor, "labels": labels}
    symbols = {}
    if table or labels == "numbers":
        symbols = {"symbols": str(folder / "words.syms")}
    spelt = {lattice.vocabulary.word(label) for label in lattice.label.tolist()} - {""}
    # which would be read as numbers of the table, and is refused
    assume(not (table and labels == "words" and spelt and all(map(str.isdecimal, spelt))))
    formats.write(folder / "seg-1.att", [lattice], **options, **symbols)
    reading = dict(symbols)
    if labels == "words":
        # whole numbers among the words would be looked up by number
        reading["labels"] = "words"
    (found,) = formats.read(folder / "seg-1.att", **reading)
    assert isinstance(found, Lattice)
    assert (found.id, found.start) == ("seg-1", lattice.start)
    for name in ("src", "dst", "score", "final"):
        np.testing.assert_array_equal(getattr(found, name), getattr(lattice, name))
    words = [space.vocabulary.word for space in (found, lattice)]
    assert list(map(words[0], found.label)) == list(map(words[1], lattice.label))


@given(lattice=small_lattices(words=("12", "b", "3.5", "nan"), features=False))
def test_our_own_files_need_no_options(folder: Path, lattice: Lattice) -> None:
    for acceptor in ("yes", "no"):
        formats.write(folder / "auto.att", [lattice], acceptor=acceptor)
        # whole numbers alone may be those of a table
        used = set(map(lattice.vocabulary.word, lattice.label.tolist()))
        given = {"labels": "words"} if used == {"12"} else {}
        (found,) = formats.read(folder / "auto.att", **given)
        assert isinstance(found, Lattice)
        assert sentences(found) == sentences(lattice)


@given(small_lattices(features=False))
def test_openfst_compiles_what_we_write(folder: Path, lattice: Lattice) -> None:
    pywrapfst = pytest.importorskip("pywrapfst")
    pynini = pytest.importorskip("pynini")
    table = folder / "compiled.syms"
    formats.write(folder / "compiled.att", [lattice], symbols=str(table))
    symbols = pywrapfst.SymbolTable.read_text(str(table))
    compiler = pywrapfst.Compiler(
        acceptor=True, isymbols=symbols, osymbols=symbols, keep_isymbols=True, keep_osymbols=True,
        keep_state_numbering=True,
    )  # fmt: skip
    compiler.write((folder / "compiled.att").read_text())
    fst = pynini.Fst.from_pywrapfst(compiler.compile())
    assert (fst.start(), fst.num_states()) == (lattice.start, lattice.num_states)
    (found,) = from_fst(pynini.shortestpath(fst)).paths()
    best = max(path.score for path in lattice.paths())
    assert found.score == pytest.approx(best, rel=1e-6, abs=1e-5)


@given(small_lattices(features=False))
def test_we_read_what_openfst_prints(lattice: Lattice) -> None:
    pytest.importorskip("pynini")
    fst = to_fst(lattice, symbols=True)
    symbols = fst.output_symbols()
    printed = fst.print(isymbols=symbols, osymbols=symbols, acceptor=True, show_weight_one=True)
    found = parsed(printed)
    assert found.num_states == lattice.num_states
    expected = sentences(lattice)
    assert [text for text, _ in sentences(found)] == [text for text, _ in expected]
    np.testing.assert_allclose(
        [score for _, score in sentences(found)],
        [score for _, score in expected],
        rtol=1e-4,
        atol=1e-4,
    )


def test_what_cannot_be_written(tmp_path: Path) -> None:
    def lattice(*words: str, **rest: object) -> Lattice:
        return Lattice.from_arcs([(0, 1, word) for word in words], finals=[1], id="s", **rest)

    file = tmp_path / "x.att"
    with pytest.raises(FormatError, match="has a blank in it"):
        formats.write(file, [lattice("two words")])
    with pytest.raises(FormatError, match="is the name of epsilon"):
        formats.write(file, [lattice("<eps>")])
    with pytest.raises(FormatError, match="labels=numbers with symbols=FILE keeps them"):
        formats.write(file, [lattice("0", "1")])
    with pytest.raises(OptionError, match="needs symbols=FILE"):
        formats.write(file, [lattice("a")], labels="numbers")
    with pytest.raises(FormatError, match="one segment a file"):
        formats.write(file, [lattice("a"), lattice("b")])
    with pytest.raises(FormatError, match="source texts of segment 's'"):
        formats.write(file, [lattice("a", source="ein")])
    assert not file.exists()
    full = lattice("a", source="ein", references=["a"], times=[0.0, 1.0], metadata={"k": 1})
    with pytest.warns(LossWarning, match="times .*; source texts .*; references .*; metadata"):
        formats.write(file, [full], lossy=True)
    assert file.read_text() == "0\t1\ta\t0.0\n1\t0.0\n"
    formats.write(file, [lattice("0", "1", "")])
    assert file.read_text().count("<eps>") == 1


def test_real_lattices(tmp_path: Path) -> None:
    archive = DATA / "multi30k-deen" / "val.de-en.lat.d10.att.tar.gz"
    if not archive.exists():
        pytest.skip("the data is not here")
    chosen = {f"val.de-en.{number}.att" for number in range(0, 1014, 20)}
    with tarfile.open(archive) as tar:
        for member in tar:
            name = os.path.basename(member.name)
            if name in chosen:
                content = tar.extractfile(member)
                assert content is not None
                (tmp_path / name).write_bytes(content.read())
    found = {lattice.id: lattice for lattice in formats.read(tmp_path)}
    assert len(found) == len(chosen)
    seen = 0
    with gzip.open(DATA / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            lattice = found.get(str(row["id"]))
            if lattice is None:
                continue
            assert isinstance(lattice, Lattice)
            finals = {
                int(state): value[0] if isinstance(value, list) else value
                for state, value in row["finals"].items()
            }
            expected = Lattice.from_arcs(
                [arc[:4] for arc in row["arcs"]],
                finals,
                states=row["states"],
                start=row["start"],
                vocabulary=lattice.vocabulary,
            )
            for name in ("src", "dst", "label", "start"):
                np.testing.assert_array_equal(getattr(lattice, name), getattr(expected, name))
            # the text has seven digits
            np.testing.assert_allclose(lattice.score, expected.score, rtol=1e-6)
            np.testing.assert_allclose(lattice.final, expected.final, rtol=1e-6)
            seen += 1
    assert seen == len(chosen)


@pytest.mark.parametrize("words", [("1", "2"), ("a", "b")])
def test_text_of_k2_is_refused_with_a_hint(tmp_path: Path, words: tuple[str, str]) -> None:
    path = tmp_path / "x.att"
    path.write_text(f"0 1 {words[0]} -0.5\n1 2 {words[1]} -0.25\n2 3 -1 -0.125\n3\n")
    with pytest.raises(FormatError, match=r"format k2.*labels=words"):
        list(formats.read(path, "openfst-text"))
    (lattice,) = formats.read(path, "openfst-text", labels="words")
    assert "-1" in lattice.vocabulary
    (scored,) = formats.read(path, labels="words")
    assert [hypothesis.score for hypothesis in scored.paths()] == [-0.875]  # type: ignore[union-attr]


def test_the_word_minus_one_is_a_word_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "x.att"
    path.write_text("0 1 -1 0.5\n1 2 degrees\n2\n")
    (lattice,) = formats.read(path)
    assert [hypothesis.text for hypothesis in lattice.paths()] == ["-1 degrees"]  # type: ignore[union-attr]
