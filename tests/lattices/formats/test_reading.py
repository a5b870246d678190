"""Reading and writing whatever the format: sniffing, gzip, directories, errors, losses."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lattices import plugins
from lattices.errors import FormatError, OptionError, UnknownNameError
from lattices.formats import (
    FORMATS,
    formats,
    parse_record,
    read,
    read_records,
    write,
)
from lattices.formats.base import Format, Record
from lattices.formats.reading import find_claimants
from lattices.spaces import Lattice, Space
from lattices.testing import check_format, sample_forests, sample_lattices, sample_nbests
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import packed, problems

LINE = b'{"id": "%s", "finals": {"1": 0}, "arcs": [[0, 1, "%s", -0.5]]}\n'
SLF = b"VERSION=1.0\nN=2 L=1\nI=0\nI=1 W=hi\nJ=0 S=0 E=1 a=-1\n"
NBEST = b"0 ||| hi ||| lm= 1 ||| -1\n"
TSV = b"u1\t1\t-0.5\thi there\n"


def jsonl(*names: str) -> bytes:
    return b"".join(LINE % (name.encode(), b"w" + name.encode()) for name in names)


@pytest.mark.parametrize("name", FORMATS.names())
def test_laws(name: str, tmp_path: Path) -> None:
    fmt = FORMATS.get(name)
    assert fmt.name == name
    beside = {"ark": str(tmp_path / "lattices.ark")} if "ark" in fmt.write_options else {}
    networks = name in ("mesh", "sausages")
    check_format(fmt, confusion_networks() if networks else None, write_options=beside)


def confusion_networks() -> list[Lattice]:
    """Lattices that are chains of slots."""
    words = Vocabulary()
    arcs = [(0, 1, "the", -0.5), (0, 1, "a", -0.75), (1, 2, "", -0.25), (1, 2, "naïve", -2.0)]
    return [
        Lattice.from_arcs(arcs, [2], vocabulary=words, id="first"),
        Lattice.from_arcs([(0, 1, "日本語", -0.125)], [1], vocabulary=words, id="second-1.2"),
    ]


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (jsonl("a"), "x", "jsonl"),
        (jsonl("a"), "x.slf", "jsonl"),
        (b"\xef\xbb\xbf" + jsonl("a"), "x", "jsonl"),
        (SLF, "x", "htk"),
        (b"# comment\r\n\r\n" + SLF, "x.jsonl", "htk"),
        (NBEST, "x", "moses-nbest"),
        (NBEST.replace(b"0 |||", b"0|||"), "x.txt", "moses-nbest"),
        (TSV, "x", "nbest-tsv"),
        (packed(TSV), "x.txt", "nbest-tsv"),
        (b"0\t1\tthe\t0.5\n1\n", "x", "openfst-text"),
        (b"0\t1\t5\t0.5\n1\n", "x", "openfst-text"),
    ],
)
def test_content_tells_the_format(tmp_path: Path, data: bytes, name: str, expected: str) -> None:
    (tmp_path / name).write_bytes(data)
    ((found, record),) = read_records(tmp_path / name)
    assert found.name == expected
    assert record.path == str(tmp_path / name)


def test_suffix_decides_where_content_does_not(tmp_path: Path) -> None:
    broken = tmp_path / "x.jsonl"
    broken.write_bytes(b"[1]\n")
    with pytest.raises(FormatError, match=r"x\.jsonl:1: a line holds one object, not list"):
        list(read(broken))
    both = b"0\t1\t2.5\thi\n1\t2\t3.5\tyou\n"
    for name in ("x.tsv", "x.att"):
        (tmp_path / name).write_bytes(both)
    assert [found.name for found, _ in read_records(tmp_path / "x.tsv")] == ["nbest-tsv"] * 2
    assert [found.name for found, _ in read_records(tmp_path / "x.att")] == ["openfst-text"]
    (tmp_path / "x").write_bytes(both)
    with pytest.raises(FormatError, match=r"could be any of nbest-tsv, openfst-text"):
        list(read(tmp_path / "x"))


def test_unknown_content_lists_the_formats(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(bytes(range(256)) * 20)
    with pytest.raises(FormatError, match=r"x\.txt: looks like none .*htk, .*jsonl, .*moses-nbest"):
        list(read(tmp_path / "x.txt"))


@pytest.mark.parametrize("data", [b"", packed(b""), b"\n \n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["jsonl", "htk", "moses-nbest", "nbest-tsv"])
def test_empty_files_are_errors(tmp_path: Path, data: bytes, name: str) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(FormatError, match="empty"):
        list(read(tmp_path / "x", name))


def test_missing_file_and_empty_directory(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none")
    (tmp_path / ".hidden").write_bytes(jsonl("a"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(FormatError, match="no files"):
        read(tmp_path)


def test_directory_in_sorted_order_survives_a_bad_file(tmp_path: Path) -> None:
    (tmp_path / "2.jsonl").write_bytes(jsonl("c", "d"))
    (tmp_path / "10.slf").write_bytes(SLF)
    (tmp_path / "3.bin").write_bytes(b"\x00\x01")
    (tmp_path / ".hidden").write_bytes(b"\x00")
    (tmp_path / "4").mkdir()
    problems: list[FormatError] = []
    assert [space.id for space in read(tmp_path, on_error=problems.append)] == ["10", "c", "d"]
    assert [os.path.basename(one.path) for one in problems] == ["3.bin"]
    with pytest.raises(FormatError, match=r"3\.bin"):
        list(read(tmp_path))


def test_text_beside_spaces_is_left_out_of_a_directory(tmp_path: Path) -> None:
    others = ("README.md", "refs.txt", "text", "empty.log", "notes.é", "z.rst", "lat.1", "lat.2.gz")
    for name in others:
        (tmp_path / name).write_text("" if "empty" in name else "# the cät sat\n" * 1000)
    (tmp_path / "a.slf").write_bytes(SLF)
    (tmp_path / "b.slf").write_text("the cat sat\n")
    wrong: list[FormatError] = []
    first = "README.md, empty.log, lat.1, lat.2.gz, notes.é and 3 more left out: no search spaces$"
    with pytest.warns(UserWarning, match=first) as warned:
        assert [space.id for space in read(tmp_path, on_error=wrong.append)] == ["a"]
    assert len(warned) == 1
    # what is called as spaces are is damaged
    assert [os.path.basename(each.path) for each in wrong] == ["b.slf"]
    # so are parts of what others are parts of
    (tmp_path / "lat.3.gz").write_bytes(packed(SLF))
    with pytest.warns(UserWarning, match="empty.log, notes.é, refs.txt, text and 1 more"):
        assert len(list(read(tmp_path, on_error=wrong.append))) == 2
    assert [os.path.basename(one.path) for one in wrong[1:]] == ["b.slf", "lat.1", "lat.2.gz"]
    # a file that is named is read
    with pytest.raises(FormatError, match="looks like none"):
        list(read(tmp_path / "README.md"))
    # and where nothing is a space, nothing says what is
    for name in ("a.slf", "b.slf", "lat.3.gz"):
        (tmp_path / name).unlink()
    with pytest.raises(FormatError, match="looks like none"):
        list(read(tmp_path))


def test_one_bad_record_loses_nothing_but_itself(tmp_path: Path) -> None:
    data = jsonl("a") + b"{broken\n" + b'{"finals": {"0": "x"}, "arcs": []}\n\n' + jsonl("b")
    spaces, messages = problems(tmp_path, data, "jsonl")
    assert [space.id for space in spaces] == ["a", "b"]
    assert [message[0] for message in messages] == ["2", "3"]
    with pytest.raises(FormatError) as caught:
        list(read(tmp_path / "f", "jsonl"))
    assert caught.value.line == 2


def test_repeated_ids_are_errors_of_the_second(tmp_path: Path) -> None:
    spaces, messages = problems(tmp_path, jsonl("a", "b", "a"), "jsonl")
    assert [space.id for space in spaces] == ["a", "b"]
    assert messages == ["3: segment 'a': the id is that of 1 already"]
    tsv = b"u\t1\t-1\ta\nv\t1\t-1\tb\nu\t2\t-2\tc\n"
    assert problems(tmp_path, tsv, "nbest-tsv")[1] == [
        "3: segment 'u': the id is that of 1 already"
    ]
    # and so they are in two files of a directory
    for name in ("1.jsonl", "2.jsonl"):
        (tmp_path / name).write_bytes(jsonl("a", name))
    (tmp_path / "f").unlink()
    found: list[FormatError] = []
    assert [space.id for space in read(tmp_path, on_error=found.append)] == [
        "a", "1.jsonl", "2.jsonl",
    ]  # fmt: skip
    known = f"the id is that of {tmp_path / '1.jsonl'}:1 already"
    assert list(map(str, found)) == [f"{tmp_path / '2.jsonl'}:1: segment 'a': {known}"]


def test_ids_from_number_or_file_name(tmp_path: Path) -> None:
    line = b'{"finals": {"0": 0}, "arcs": []}\n'
    (tmp_path / "x.jsonl").write_bytes(line + b"{}\n" + line)
    assert [s.id for s in read(tmp_path / "x.jsonl", on_error=lambda _: None)] == ["0", "2"]
    (tmp_path / "s.noisy.lat.gz").write_bytes(packed(SLF))
    assert [s.id for s in read(tmp_path / "s.noisy.lat.gz")] == ["s.noisy"]


def test_one_vocabulary_for_all(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(jsonl("a", "b"))
    words = Vocabulary(["wb"])
    one, other = read(tmp_path / "x", vocabulary=words)
    assert one.vocabulary is other.vocabulary is words
    assert list(words) == ["wb", "wa"]


def test_options_are_checked(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(jsonl("a"))
    with pytest.raises(OptionError, match=r"jsonl has no option 'tags' \(it has none\)"):
        read(tmp_path / "x", "jsonl", tags="keep")
    with pytest.raises(OptionError, match="no option 'tags'"):
        list(read(tmp_path / "x", tags="keep", on_error=lambda _: None))
    (tmp_path / "x").write_bytes(SLF)
    with pytest.raises(OptionError, match=r"it has quotes, score, tags"):
        list(read(tmp_path / "x", tag="keep"))
    with pytest.raises(OptionError, match="tags is one of drop, keep, not 'yes'"):
        list(read(tmp_path / "x", tags="yes", on_error=lambda _: None))
    with pytest.raises(UnknownNameError, match="did you mean jsonl"):
        read(tmp_path / "x", "json")


def test_records_can_be_parsed_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(jsonl("a", "b"))
    pairs = [
        (found.name, pickle.loads(pickle.dumps(record)))
        for found, record in read_records(tmp_path / "x")
    ]
    spaces = [parse_record(FORMATS.get(name), record, Vocabulary()) for name, record in pairs]
    assert [space.id for space in spaces] == ["a", "b"]
    assert [record.number for _, record in pairs] == [0, 1]


class Careless(Format):
    """A format whose parser lets anything through."""

    name = "careless"
    description = "for tests"
    kind = "lattice"
    suffixes = (".careless",)
    writable = False

    def __init__(self, problem: Exception) -> None:
        self.problem = problem

    def sniff(self, head: bytes) -> bool:
        return False

    def records(self, stream, path):  # type: ignore[no-untyped-def]
        for line, text in enumerate(stream, start=1):
            yield Record(text, path, line, line - 1)

    def parse(self, record, vocabulary, **options):  # type: ignore[no-untyped-def]
        raise self.problem


@pytest.mark.parametrize(
    "problem",
    [KeyError("k"), IndexError("i"), ValueError(""), TypeError("t"), ZeroDivisionError("z"),
     AttributeError("a"), RecursionError("r"), OverflowError("o"), FormatError("f"),
     UnicodeDecodeError("utf-8", b"x", 0, 1, "bad")],
)  # fmt: skip
def test_whatever_a_parser_raises_has_a_place(tmp_path: Path, problem: Exception) -> None:
    (tmp_path / "x").write_bytes(b"\none\n")
    fmt = Careless(problem)
    with pytest.raises(FormatError) as caught:
        list(read(tmp_path / "x", fmt))
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "x"), 1)
    assert caught.value.problem
    with pytest.raises(OptionError, match="careless can be read, but not written"):
        write(tmp_path / "y.careless", [], fmt)
    check_format(fmt)


def test_laws_catch_a_format_that_breaks_them() -> None:
    with pytest.raises(AssertionError, match=r"OSError.*expected a FormatError"):
        check_format(Careless(OSError("disk")))

    jsonl = type(FORMATS.get("jsonl"))

    class Rounding(jsonl):  # type: ignore[misc, valid-type]
        def write(self, stream, spaces, losses, **options):  # type: ignore[no-untyped-def]
            rounded = [space.replaced(score=np.round(space.score, 1)) for space in spaces]
            super().write(stream, rounded, losses, **options)

    with pytest.raises(AssertionError, match="has scores"):
        check_format(Rounding())

    class Forgetful(jsonl):  # type: ignore[misc, valid-type]
        def parse(self, record, vocabulary, **options):  # type: ignore[no-untyped-def]
            return super().parse(record, vocabulary, **options).replaced(id="same")

    with pytest.raises(AssertionError, match="ids"):
        check_format(Forgetful(), sample_lattices()[:1])


def test_listing_covers_everything_and_survives_a_broken_plugin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert {info.name for info in formats()} == set(FORMATS.names())
    listed = {info.name: info for info in formats()}
    assert listed["htk"].suffixes[:2] == (".slf", ".lat")
    assert listed["jsonl"].access == "read, write"
    get = FORMATS.get

    def broken(name: str) -> Format:
        if name == "htk":
            raise ModuleNotFoundError("No module named 'x'")
        return get(name)

    monkeypatch.setattr(FORMATS, "get", broken)
    listed = {info.name: info for info in formats()}
    assert (listed["htk"].access, listed["htk"].description) == (
        "",
        "not available: No module named 'x'",
    )


#: a file of each format that is not written; every other is written
WRITTEN_ELSEWHERE = {
    "alto": b'<alto><TextLine><String CONTENT="hi"/></TextLine></alto>',
    "hocr": b"<html><p class='ocr_par'><i class='ocr_line'><b class='ocrx_word'>hi</b></i></html>",
    "page-xml": b"<PcGts><TextLine><TextEquiv><Unicode>hi</Unicode></TextEquiv></TextLine></PcGts>",
    "asr-json": b'{"alternatives": [{"text": "hi", "confidence": 2.5}]}',
    "espnet": b"u1 hi\n",
    "fairseq": b"H-0\t-0.5\thi\n",
    "joshua-forest": b"# target ||| features\n1 1\n1\nhi ||| lm=-1\n",
    "json-rows": b'{"text": "hi", "score": -1}\n',
    "moses-graph": b"0 hyp=0 stack=0 forward=1 fscore=-1\n"
    b"0 hyp=1 stack=1 back=0 score=-1 transition=-1 forward=-1 fscore=-1 covered=0-0 out=hi\n",
    "sphinx": b"# -logbase 1.0001\nFrames 2\nNodes 2\n0 hi 0 0 0\n1 </s> 1 1 1\n"
    b"Initial 0\nFinal 1\nEdges\n0 1 -5\nEnd\n",
    "srilm-nbest": b"-1 -1 1 hi\n",
}
SAMPLES: dict[str, Space] = {
    **dict.fromkeys(("lattice", "any"), sample_lattices()[1]),
    **dict.fromkeys(("mesh", "sausages"), confusion_networks()[1]),
    "nbest": sample_nbests()[0],
    "forest": sample_forests()[1],
}


@pytest.mark.parametrize("name", FORMATS.names())
def test_no_segment_of_a_folder_is_lost(name: str, tmp_path: Path) -> None:
    """A file of one segment names it, if nothing else does; what is refused is told."""
    fmt, folder = FORMATS.get(name), tmp_path / "folder"
    folder.mkdir()
    for stem in ("one.a", "two"):
        file = folder / "".join((stem, *fmt.suffixes[:1]))
        if fmt.writable:
            beside = {"ark": str(tmp_path / f"{stem}.ark")} if "ark" in fmt.write_options else {}
            space = SAMPLES.get(name, SAMPLES[fmt.kind]).replaced(id="")
            write(file, [space], fmt, lossy=True, **beside)
        else:
            file.write_bytes(WRITTEN_ELSEWHERE[name])
    problems: list[FormatError] = []
    ids = [space.id for space in read(folder, fmt, on_error=problems.append)]
    assert len(ids) + len(problems) == 2
    if fmt.single:
        assert ids == ["one.a", "two"]
    else:
        assert ids
        assert all("is that of" in problem.problem for problem in problems)


def test_several_segments_of_a_file_differ(tmp_path: Path) -> None:
    slf = tmp_path / "two.slf"
    slf.write_bytes(2 * SLF)
    assert [space.id for space in read(slf)] == ["two", "two-1"]
    vosk = tmp_path / "talk.json"
    vosk.write_bytes(2 * b'{"result": [], "text": "hi"}\n')
    assert [space.id for space in read(vosk)] == ["talk", "talk-1"]
    vosk.write_bytes(b'{"partial": "h"}\n{"result": [], "text": "hi"}\n')
    assert [space.id for space in read(vosk)] == ["talk"]
    mesh = tmp_path / "net.mesh"
    mesh.write_bytes(2 * b"numaligns 1\nposterior 1\nalign 0 hi 1\n")
    assert [space.id for space in read(mesh)] == ["net", "net-1"]


def test_suffixes_are_those_of_the_formats() -> None:
    """Known without loading a format; those that two formats have are left out."""
    owners: dict[str, list[str]] = {}
    for name in plugins.FORMATS:
        for suffix in FORMATS.get(name).suffixes:
            owners.setdefault(suffix, []).append(name)
    assert {each: names[0] for each, names in owners.items() if len(names) == 1} == plugins.SUFFIXES


@given(
    st.lists(st.text("abcz\xe9n", min_size=1), min_size=3, max_size=6),
    st.lists(st.text("abc 019.,:=[]{}|#-\"'\n", max_size=30), max_size=5),
)
@example(["name", "of", "it"], ["numaligns 3"])
@example(["key", "of", "it"], ["0 1 a 1,2,", "1 0,0,"])
def test_no_format_claims_lines_of_words(first: list[str], rest: list[str]) -> None:
    """Which is why none is loaded to be asked."""
    head = "\n".join([" ".join(first), *rest]).encode()
    known = find_claimants(head)
    for name in plugins.FORMATS:
        entry = FORMATS.get(name)
        assert entry in known or not entry.sniff(head), name


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory taken is not told")
@pytest.mark.parametrize(
    "name", ["jsonl", "arrow", "kaldi", "kaldi-binary", "htk", "openfst", "openfst-text"]
)
def test_lattices_that_nobody_has_take_no_memory(name: str, tmp_path: Path) -> None:
    """Those of native code, too."""
    arcs = [(state, state + 1, f"w{state % 50}", -1.0) for state in range(10_000)]
    write(tmp_path / "lattice", [Lattice.from_arcs(arcs, finals=[len(arcs)])], name, lossy=True)

    def take_after(times: int) -> int:
        for _ in range(times):
            assert [lattice.num_arcs for lattice in read(tmp_path / "lattice", name)] == [10_000]
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = take_after(3)
    # each has more than half a megabyte
    assert take_after(40) - before < 10_000_000
