"""References: Kaldi's layout, plain files, and telling them apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from lattices.errors import FormatError, OptionError, UnknownNameError
from lattices.formats.references import References, read_references
from lattices.spaces import Lattice
from tests.lattices.algorithms.comparing import packed

KALDI = b"u2 the cat\nu1 a dog\nu3\n"
PLAIN = b"the cat\n\na dog\n"


def made(folder: Path, *contents: bytes) -> list[Path]:
    paths = []
    for number, data in enumerate(contents):
        path = folder / f"ref{number}"
        path.write_bytes(data)
        paths.append(path)
    return paths


def all_of(references: References, *ids: str) -> list[tuple[str | Lattice, ...]]:
    return [references.get(name, position) for position, name in enumerate(ids)]


def test_by_id_in_any_order(tmp_path: Path) -> None:
    paths = made(tmp_path, KALDI)
    expected = [("a dog",), ("the cat",), ("",)]
    known = read_references(paths, ["u1", "u2", "u3"])
    lazy = read_references(paths)
    told = read_references(paths, format="kaldi")
    assert (known.layout, lazy.layout, told.layout) == ("kaldi", "auto", "kaldi")
    for references in (known, lazy, told):
        assert all_of(references, "u1", "u2", "u3") == expected
        assert references.layout == "kaldi"
        # a subset of the segments may be wanted
        references.finish(2)
        with pytest.raises(FormatError, match="no reference for 'u4' in 3 lines"):
            references.get("u4", 3)
        assert len(references) == 3


def test_by_position(tmp_path: Path) -> None:
    paths = made(tmp_path, PLAIN)
    known = read_references(paths, ["0", "1", "2"])
    lazy = read_references(paths)
    told = read_references(paths, ["the", "1", "2"], format="plain")
    for references in (known, lazy, told):
        assert all_of(references, "0", "1", "2") == [("the cat",), ("",), ("a dog",)]
        references.finish(3)
        with pytest.raises(FormatError, match=r"3 lines, and no reference for segment 4 \('3'\)"):
            references.get("3", 3)


@pytest.mark.parametrize("segments", [0, 2, 4])
def test_left_over_lines_are_never_silent(tmp_path: Path, segments: int) -> None:
    paths = made(tmp_path, PLAIN)
    lazy = read_references(paths)
    lazy.get("0", 0)
    with pytest.raises(FormatError, match=f"ref0: 3 lines for {segments} segments"):
        lazy.finish(segments)
    ids = [str(number) for number in range(segments)]
    if segments:
        with pytest.raises(FormatError, match=f"3 lines for {segments} segments"):
            read_references(paths, ids)
    with pytest.raises(FormatError, match=f"3 lines for {segments} segments|no reference"):
        read_references(paths, ids, format="plain")


def test_neither_layout_tells_counts_and_first_missing(tmp_path: Path) -> None:
    paths = made(tmp_path, KALDI)
    with pytest.raises(
        FormatError, match=r"3 lines for 2 segments, and no line that begins with 'u9'"
    ):
        read_references(paths, ["u1", "u9"])
    repeated = made(tmp_path, b"u1 a\nu1 b\n")
    with pytest.raises(FormatError, match="lines that begin with 'u1' twice"):
        read_references(repeated, ["u1"])
    twice = r"ref0:2: a second line for the id 'u1', which .*ref0:1 has already"
    with pytest.raises(FormatError, match=twice + "$"):
        read_references(repeated, format="kaldi")
    # as many lines as segments does not make ids words
    for known in (["u1", "u2"], None):
        with pytest.raises(FormatError, match=twice + "; format=kaldi takes .*, format=plain"):
            read_references(repeated, known).get("u1", 0)
    plain = read_references(repeated, ["u1", "u2"], format="plain")
    assert all_of(plain, "u1", "u2") == [("u1 a",), ("u1 b",)]


def test_several_references(tmp_path: Path) -> None:
    paths = made(tmp_path, KALDI, b"u1 x\nu2 y\nu3 z\n")
    assert all_of(read_references(paths), "u1", "u2") == [("a dog", "x"), ("the cat", "y")]
    paths = made(tmp_path, PLAIN, b"x\ny\nz\n")
    assert all_of(read_references(paths), "0", "1") == [("the cat", "x"), ("", "y")]
    # ids in one file and none in the other
    paths = made(tmp_path, KALDI, b"x\ny\nz\n")
    for known in (["u1", "u2", "u3"], None):
        with pytest.raises(
            FormatError, match=r"ref1: no line begins with 'u1', but .*ref0 is by id"
        ):
            read_references(paths, known).get("u1", 0)
    plain = read_references(paths, ["u1", "u2", "u3"], format="plain")
    assert plain.get("u1", 0) == ("u2 the cat", "x")
    with pytest.raises(FormatError, match=r"ref1: 2 lines, but 3 in .*ref0"):
        read_references(made(tmp_path, PLAIN, b"x\ny\n"))
    missing = read_references(made(tmp_path, KALDI, b"u1 x\nu2 y\nu4 z\n"), format="kaldi")
    with pytest.raises(FormatError, match="ref1: no reference for 'u3'"):
        missing.get("u3", 0)


def test_marks_line_ends_gzip_and_blanks(tmp_path: Path) -> None:
    (path,) = made(tmp_path, packed(b"\xef\xbb\xbfu1 \t a\xc2\xa0b  c \r\nu2\td\r\n\r\n"))
    references = read_references([path], ["u1", "u2"])
    assert references.layout == "kaldi"
    assert all_of(references, "u1", "u2") == [("a\u00a0b  c",), ("d",)]


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"ref0:2: invalid UTF-8"):
        read_references(made(tmp_path, b"a\n\xff\n"))
    with pytest.raises(FormatError, match="ref0: the file is empty"):
        read_references(made(tmp_path, b""))
    with pytest.raises(FormatError, match="cut short"):
        read_references(made(tmp_path, packed(b"a b c\n" * 10)[:-5]))
    with pytest.raises(FileNotFoundError):
        read_references([tmp_path / "none"])
    with pytest.raises(OptionError, match="one reference file or more"):
        read_references([])
    with pytest.raises(OptionError, match="one reference file or more"):
        read_references("file")
    with pytest.raises(UnknownNameError, match="known: auto, ctm, kaldi, plain, stm, trn, tsv"):
        read_references(made(tmp_path, PLAIN), format="xml")


def test_ids_are_not_taken_for_words(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("utt1 a house\nutt2 a home\n")
    with pytest.raises(FormatError, match=r"no line for 'utt1.noisy', though lines begin with"):
        read_references([file]).get("utt1.noisy", 0)
    assert read_references([file], format="plain").get("x", 0) == ("utt1 a house",)
    by_any = read_references([file])
    by_any.settle(["unheard", "utt2"])
    assert by_any.layout == "kaldi"
    with pytest.raises(FormatError, match="no reference for 'unheard'"):
        by_any.get("unheard", 0)
    plain = tmp_path / "plain"
    plain.write_text("3 men\ntwo men\n")
    assert read_references([plain]).get("1", 1) == ("two men",)
    with pytest.raises(FormatError, match=r"no line begins with 'seg-1', and first words"):
        read_references([plain]).get("seg-1", 1)
    plain.write_text("3 men\ntwo men\ntwo more\n")
    assert read_references([plain]).get("seg-1", 1) == ("two men",)


IDS = [f"utt{number}" for number in range(1, 6)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # one id twice, though there are as many lines as segments
        (["utt1 a", "utt2 b", "utt2 c", "utt4 d", "utt5 e"], "ref0:3: a second line for the id"),
        # the same in a file whose ids the segments do not have
        (["x1 a", "x2 b", "x2 c", "x4 d", "x5 e"], "ref0: no line for 'utt1', though lines begin"),
        # one line that has none
        (["x1 a", "x2 b", "and so on", "x4 d", "x5 e"], "no line for 'utt1', though lines begin"),
        # a file of another set of segments, one of which is the same
        (["utt1 a", "x2 b", "x3 c", "x4 d", "x5 e"], None),
        (["utt1 a", "b", "the c", "d", "e f"], "begins with the id 'utt1', but none with 'utt2'"),
        (["a (utt1)", "b (utt2)", "c", "d (utt4)", "e (utt5)"], "some lines end in ids, as those"),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_where_lines_may_begin_with_ids_nothing_is_guessed(
    tmp_path: Path, lines: list[str], expected: str | None, known: bool
) -> None:
    paths = made(tmp_path, "\n".join(lines).encode())

    def settled() -> None:
        references = read_references(paths, IDS if known else None)
        references.settle(IDS)
        references.get("utt2", 1)

    with pytest.raises(FormatError) as caught:
        settled()
    message = str(caught.value)
    assert (expected or "no reference for 'utt2' in 5 lines") in message
    if expected:
        assert "; format=kaldi takes the first word" in message
        assert "format=plain takes line i for segment i" in message
    plain = read_references(paths, IDS, format="plain")
    assert all_of(plain, *IDS) == [(line,) for line in lines]


@pytest.mark.parametrize("known", [False, True])
def test_one_line_whose_id_is_none_of_the_segments(tmp_path: Path, known: bool) -> None:
    paths = made(tmp_path, b"utt1 a house\n")
    with pytest.raises(FormatError, match="no line for 'utt7', though lines begin with what look"):
        read_references(paths, ["utt7"] if known else None).get("utt7", 0)


BOTH = "; format=kaldi takes the first word .* its id, format=plain takes line i for segment i"


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("ids", [["utt7"], ["abd", "b"], ["0", "utt7"], ["9a", "utt7", "x"]])
def test_first_words_that_may_be_ids_are_not_taken_for_words(
    tmp_path: Path, ids: list[str], known: bool
) -> None:
    lines = ["abc a small house", "we need it", "Abc a house"][: len(ids)]
    paths = made(tmp_path, "\n".join(lines).encode())
    with pytest.raises(FormatError, match=f"'{ids[0]}', .* could be other ids .'abc'.{BOTH}"):
        read_references(paths, ids if known else None).settle(ids)
    plain = read_references(paths, ids, format="plain")
    assert all_of(plain, *ids) == [(line,) for line in lines]


def test_one_file_of_two_may_begin_with_ids(tmp_path: Path) -> None:
    both = read_references(made(tmp_path, b"the cat\nthe dog\n", b"a cat\nthe dog\n"))
    with pytest.raises(FormatError, match=f"ref1: no line begins with 'utt1'.*{BOTH}"):
        both.settle(["utt1", "utt2"])


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("data", [b"\n", b"\r\n\r\n", b"\xef\xbb\xbf\n"])
@pytest.mark.parametrize("name", ["utt1", "0"])
def test_a_file_without_a_word_is_no_reference_by_itself(
    tmp_path: Path, data: bytes, name: str, known: bool
) -> None:
    paths = made(tmp_path, data)
    count = data.count(b"\n")
    ids = [name, "utt2"][:count]
    with pytest.raises(FormatError, match=f"ref0: no words in {count} lines{BOTH}"):
        read_references(paths, ids if known else None).settle(ids)
    assert all_of(read_references(paths, ids, format="plain"), *ids) == [("",)] * count


@pytest.mark.parametrize("format", ["auto", "kaldi", "trn"])
def test_an_id_in_another_case_is_told(tmp_path: Path, format: str) -> None:
    line = b"it is (UTT-A1)\n" if format == "trn" else b"UTT-A1 it is\n"
    references = read_references(made(tmp_path, line), format=format)
    with pytest.raises(FormatError, match=r"'utt-a1'.*; 'UTT-A1' is it in another case"):
        references.get("utt-a1", 0)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("ids", "lines"),
    [
        # numbers are what segments without names have, and a blank is in no id
        (["0"], ["abc a small house"]),
        (["1", "2"], ["a house", "the house"]),
        ([""], ["a house"]),
        (["line 1"], ["a house"]),
        # what begins two lines is no id
        (["utt1", "utt2"], ["a house", "a home"]),
        (["utt1", "utt2", "utt3"], ["one", "the house", "the home"]),
        (["utt1", "utt2", "utt3"], ["", "a", "a"]),
    ],
)
def test_first_words_that_cannot_be_ids_are_words(
    tmp_path: Path, ids: list[str], lines: list[str], known: bool
) -> None:
    paths = made(tmp_path, ("\n".join(lines) + "\n").encode())
    references = read_references(paths, ids if known else None)
    assert all_of(references, *ids) == [(line,) for line in lines]
    assert references.layout == "plain"


@pytest.mark.parametrize("known", [False, True])
def test_sentences_may_begin_with_numbers_of_segments(tmp_path: Path, known: bool) -> None:
    lines = ["the cat", "2 dogs", "the end", "a house", ""]
    paths = made(tmp_path, "\n".join([*lines, "3"]).encode())
    ids = list(map(str, range(6)))
    references = read_references(paths, ids if known else None)
    references.settle(ids)
    assert all_of(references, *ids) == [(line,) for line in [*lines, "3"]]
    # first words that are all different, and two of which are ids, leave a doubt
    paths = made(tmp_path, b"the cat\n2 dogs\nan end\na house\n\n3\n")
    with pytest.raises(FormatError, match="a line begins with the id '2', but none with '0'"):
        read_references(paths, ids if known else None).settle(ids)
    paths = made(tmp_path, b"0 the cat\n1 2 dogs\n2 the end\n3 a house\n4\n5 3\n")
    references = read_references(paths, ids if known else None)
    assert all_of(references, *ids) == [(line,) for line in [*lines, "3"]]
