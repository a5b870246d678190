"""Bad files of every format: one FormatError with file and line, never another exception.

:mod:`tests.lattices.formats.bad_files` has a file of each format, and what can be wrong with it.
A format that is registered but not there fails :func:`test_every_format_is_here`, and a kind of
damage that is neither tried nor said to make no sense fails :func:`test_every_kind_is_tried`.
"""

from __future__ import annotations

import gzip
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lattices import to_arrow
from lattices.errors import FormatError
from lattices.formats import FORMATS, formats, read
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from tests.lattices.algorithms.comparing import parts
from tests.lattices.formats.bad_files import (
    BAD,
    BINARIES,
    BINARY,
    COLUMNAR,
    DIGITS,
    KINDS,
    LONG,
    SENSELESS,
    SYMBOLS,
    TABLE,
    TEXTS,
    Bad,
    changed_table,
    damaged,
    good,
    good_spaces,
    stored_table,
    written_file,
)


def _check(folder: Path, fmt_name: str, data: bytes, message: str, **options: Any) -> None:
    """Check the whole of the one error that a file is."""
    (folder / "words.txt").write_text(SYMBOLS)
    file = folder / "bad"
    file.write_bytes(data)
    given = {
        key: folder / "words.txt" if value == TABLE else value for key, value in options.items()
    }
    with pytest.raises(FormatError) as caught:
        list(read(file, fmt_name, **given))
    said = str(caught.value)
    wanted = re.escape(message.format(folder=folder)).replace(r"\.\.\.", ".*")
    assert re.fullmatch(re.escape(f"{file}:") + " ?" + wanted, said, re.DOTALL), said
    assert "\n" not in said


def _named(bad: Bad) -> str:
    return f"{bad.fmt}-{bad.kind}"


def test_every_format_is_here() -> None:
    assert {info.name for info in formats()} == {*TEXTS, *BINARY, "kaldi-scp"} == set(SENSELESS)


@pytest.mark.parametrize("fmt_name", FORMATS.names())
def test_every_kind_is_tried(fmt_name: str) -> None:
    tried = {bad.kind for bad in (*BAD, *BINARIES) if bad.fmt == fmt_name}
    if fmt_name in ("arrow", "parquet"):
        tried = {kind for kind, *_ in COLUMNAR} | {"utf-8"}
    assert not tried & SENSELESS[fmt_name]
    assert tried | SENSELESS[fmt_name] == set(KINDS)


@pytest.mark.parametrize("fmt_name", FORMATS.names())
def test_good_files_are_good(tmp_path: Path, fmt_name: str) -> None:
    file = tmp_path / "good"
    file.write_bytes(good(fmt_name, tmp_path))
    spaces = list(read(file, fmt_name))
    one = FORMATS.get(fmt_name).single and fmt_name != "asr-json"
    assert len(spaces) == (1 if one else 2)
    assert "cat" in spaces[0].vocabulary


@pytest.mark.parametrize("bad", [*BAD, *BINARIES], ids=_named)
def test_bad_file_is_one_error(tmp_path: Path, bad: Bad) -> None:
    _check(tmp_path, bad.fmt, damaged(bad, tmp_path), bad.message, **bad.options)


@pytest.mark.parametrize("fmt_name", ["arrow", "parquet"])
@pytest.mark.parametrize(("kind", "column", "value", "message"), COLUMNAR)
def test_bad_column_is_one_error(
    tmp_path: Path, fmt_name: str, kind: str, column: str, value: Any, message: str
) -> None:
    _check(tmp_path, fmt_name, stored_table(fmt_name, changed_table(column, value)), message)


@pytest.mark.parametrize("fmt_name", ["arrow", "parquet"])
def test_bad_text_in_a_column_is_one_error(tmp_path: Path, fmt_name: str) -> None:
    data = stored_table(fmt_name, to_arrow(good_spaces(fmt_name)))
    # the word, not the column `category`
    damaged, count = re.subn(rb"cat(?!egory)", b"c\xff\xff", data)
    assert count
    _check(tmp_path, fmt_name, damaged, "...damaged: ...UTF8...")


@pytest.mark.parametrize("fmt_name", [*TEXTS, "kaldi-scp"])
@pytest.mark.parametrize("change", ["mark", "carriage returns", "both"])
def test_byte_order_mark_and_carriage_returns_change_nothing(
    tmp_path: Path, fmt_name: str, change: str
) -> None:
    data = good(fmt_name, tmp_path)
    file = tmp_path / "f"
    file.write_bytes(data)
    expected = [parts(space) for space in read(file, fmt_name)]
    if change != "mark":
        data = data.replace(b"\n", b"\r\n")
    file.write_bytes(data if change == "carriage returns" else b"\xef\xbb\xbf" + data)
    assert [parts(space) for space in read(file, fmt_name)] == expected
    if fmt_name != "espnet":  # whose files are told by where they are
        assert [parts(space) for space in read(file)] == expected


@pytest.mark.parametrize("fmt_name", FORMATS.names())
def test_word_of_100_000_characters_is_read(tmp_path: Path, fmt_name: str) -> None:
    if fmt_name in TEXTS:
        data = good(fmt_name, tmp_path).replace(b"cat", LONG.encode())
    else:
        options = {"ark": tmp_path / "long.ark"} if fmt_name == "kaldi-scp" else {}
        data = written_file(fmt_name, good_spaces(fmt_name, LONG), **options)
    file = tmp_path / "f"
    file.write_bytes(data)
    words = [word for space in read(file, fmt_name) for word in space.vocabulary]
    assert LONG in words


@pytest.mark.parametrize("fmt_name", FORMATS.names())
def test_number_of_5_000_digits_as_a_word_is_kept(tmp_path: Path, fmt_name: str) -> None:
    fmt = FORMATS.get(fmt_name)
    if not fmt.writable:
        pytest.skip("read only")
    options = {"ark": tmp_path / "long.ark"} if fmt_name == "kaldi-scp" else {}
    file = tmp_path / "f"
    space: Space = Lattice.from_arcs([(0, 1, DIGITS, -0.25)], [1], id="a")
    if fmt.kind == "nbest":
        space = NBest.from_hypotheses([Hypothesis((DIGITS,), -0.25)], id="a")
    if fmt.kind == "forest":
        space = Forest.from_edges([(0, [], [DIGITS], -0.25)], id="a")
    file.write_bytes(written_file(fmt_name, [space], **options))
    # whole numbers alone may be those of a table
    (again,) = read(file, fmt_name, **({"labels": "words"} if "labels" in fmt.options else {}))
    assert DIGITS in again.vocabulary


def _cut_places(data: bytes) -> list[int]:
    """Return every line end, and 200 places more, all within the file."""
    ends = [found.end() for found in re.finditer(b"\n", data)] if len(data) < 2000 else []
    step = max(1, len(data) // 200)
    return sorted({*ends, *range(1, len(data), step)} - {len(data)})


#: Files without a count or a terminator. Whoever cuts one of them behind a line, or within the
#: last one, has made another good file: fewer arcs, hypotheses or words, and nothing tells.
OPEN = {
    "moses-graph", "moses-nbest", "nbest-tsv", "openfst-text", "srilm-nbest",
    "csv", "espnet", "fairseq", "json-rows",
}  # fmt: skip
#: Files that say how many lines there are, but not where the last one ends: `a=-1.25` may have
#: been `a=-1.257`, and `lat.ark:2` of a script file `lat.ark:278`.
COUNTED = {"htk", "hypergraph", "joshua-forest", "kaldi-scp", "mesh"}


@pytest.mark.parametrize("fmt_name", FORMATS.names())
def test_cut_files_are_never_shortened_in_silence(tmp_path: Path, fmt_name: str) -> None:
    data = good(fmt_name, tmp_path)
    file = tmp_path / "f"
    file.write_bytes(data)
    expected = [parts(space) for space in read(file, fmt_name)]
    shortened = []
    for place in _cut_places(data):
        file.write_bytes(data[:place])
        errors: list[FormatError] = []
        found = [parts(space) for space in read(file, fmt_name, on_error=errors.append)]
        assert errors or len(found) <= len(expected)
        if found != expected[: len(found)]:
            # whatever is lost, it is from the last segment
            assert found[:-1] == expected[: len(found) - 1]
            shortened.append(place)
    if fmt_name in OPEN:
        assert shortened, "the format has become safe: take it out of OPEN"
    elif fmt_name in COUNTED:
        behind_lines = [place for place in shortened if data[place - 1 : place] == b"\n"]
        assert not behind_lines
    else:
        assert not shortened


@pytest.mark.parametrize("fmt_name", FORMATS.names())
def test_cut_or_damaged_gzip_is_one_error(tmp_path: Path, fmt_name: str) -> None:
    packed = gzip.compress(good(fmt_name, tmp_path))
    file = tmp_path / "f.gz"
    for size in range(2, len(packed), max(1, len(packed) // 40)):
        file.write_bytes(packed[:size])
        with pytest.raises(FormatError, match=r"f\.gz: the gzip file is cut short"):
            list(read(file, fmt_name))
    file.write_bytes(packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:])
    with pytest.raises(
        FormatError, match=r"f\.gz: the gzip file is damaged: .*incorrect data check"
    ):
        list(read(file, fmt_name))


@pytest.mark.parametrize("fmt_name", FORMATS.names())
def test_names_do_not_mislead(tmp_path: Path, fmt_name: str) -> None:
    data = good(fmt_name, tmp_path)
    # one of the same name for each, as the id may come from it
    expected = []
    for folder, content in (("a", data), ("b", data), ("c", gzip.compress(data))):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / ("f.gz" if folder == "b" else "f")
        file.write_bytes(content)
        expected.append([parts(space) for space in read(file, fmt_name)])
    assert expected[0] == expected[1] == expected[2]


@pytest.mark.parametrize("fmt_name", FORMATS.names())
def test_bytes_that_are_no_file_are_one_error(tmp_path: Path, fmt_name: str) -> None:
    file = tmp_path / "f.txt"
    file.write_bytes(random.Random(0).randbytes(5000))
    with pytest.raises(FormatError, match=r"f\.txt: looks like none of the known formats"):
        list(read(file))
    with pytest.raises(FormatError, match=re.escape(f"{file}:")) as caught:
        list(read(file, fmt_name))
    assert len(str(caught.value)) < 1000
    for content in (b"", b"\n\n", b"\xef\xbb\xbf"):
        file.write_bytes(content)
        with pytest.raises(FormatError, match=r"empty|no |not |expected|damaged"):
            list(read(file, fmt_name))


LIMITED = """
import resource, sys
from pathlib import Path
from lattices import to_arrow
from lattices.errors import FormatError
from lattices.formats import read

files = [line.split() for line in Path(sys.argv[1]).read_text().splitlines()]
for format, good, _ in files:
    list(read(good, format))
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000,) * 2)
for format, _, bad in files:
    try:
        list(read(bad, format))
    except FormatError as problem:
        print(format, "refused:", problem)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_announced_gigabytes_are_not_allocated(tmp_path: Path) -> None:
    announced = [bad for bad in (*BAD, *BINARIES) if bad.kind == "announced"]
    listing = []
    for number, bad in enumerate(announced):
        (tmp_path / f"{number}-good").write_bytes(good(bad.fmt, tmp_path))
        (tmp_path / f"{number}-bad").write_bytes(damaged(bad, tmp_path))
        listing.append(f"{bad.fmt} {tmp_path}/{number}-good {tmp_path}/{number}-bad\n")
    (tmp_path / "files").write_text("".join(listing))
    script = [sys.executable, "-c", LIMITED, str(tmp_path / "files")]
    run = subprocess.run(script, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("refused:") == len(announced)
