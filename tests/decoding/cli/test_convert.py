"""``fstmetrics convert``, and what it shares with the other commands that write segments."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lattices
from lattices import Lattice, read
from lattices.formats import FORMATS
from tests.decoding.cli.commandline import CAT, cats, command, lattice_line, words
from tests.lattices.algorithms.comparing import best_score, parts
from tests.lattices.real_spaces import BUNDLED

run = command()


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


FULL = lattice_line(
    "u1",
    [(0, 1, "a", -0.1), (0, 2, "the", 1e-17), (1, 2, "", -3.0)],
    ["the cat", "a cat"],
    src="le chat",
    times=[0.0, 0.25, 0.5],
    speaker="x",
)
LISTS = '{"id":"n1","nbest":[{"words":"the cat","score":-1.5,"features":{"lm":-2.0}}]}\n'


@pytest.mark.parametrize("target", ["o.jsonl", "o.jsonl.gz", "o.arrow", "o.parquet"])
@pytest.mark.parametrize("workers", [1, 2])
def test_there_and_back_is_exact(target: str, workers: int, tmp_path: Path) -> None:
    if target in ("o.arrow", "o.parquet"):
        pytest.importorskip("pyarrow")
    source, out, again = tmp_path / "a.jsonl", tmp_path / target, tmp_path / "b.jsonl"
    source.write_text(FULL + LISTS + lattice_line("u2", CAT))
    assert run("convert", source, "-o", out, "--workers", workers) == 0
    assert run("convert", out, "-o", again, "--workers", workers) == 0
    assert [parts(one) for one in read(again)] == [parts(one) for one in read(source)]
    assert listing(tmp_path) == sorted(["a.jsonl", target, "b.jsonl"])


@pytest.mark.parametrize("target", ["plf", "openfst-text", "htk"])
def test_exact_formats_hold_scores_to_the_last_digit(target: str, tmp_path: Path) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "out"
    source.write_text(lattice_line("s", [(0, 1, "x", -0.1), (0, 1, "y", -1 / 3), (1, 2, "", 0.7)]))
    out.mkdir()
    assert FORMATS.get(target).exact
    assert run("convert", source, "-o", out, "--to", target) == 0
    back = tmp_path / "b.jsonl"
    assert run("convert", out, "-o", back, "--lossy") == 0
    (one,), (other,) = read(source), read(back)
    found = [(path.tokens, path.score) for path in other.paths()]
    assert found == [(path.tokens, path.score) for path in one.paths()]


def test_what_is_written_does_not_depend_on_workers(tmp_path: Path) -> None:
    source = cats(tmp_path / "a.jsonl", 150)
    for target in ("o.plf", "o.jsonl.gz", "o.lat"):
        written = []
        for workers in (1, 2, 3):
            out = tmp_path / f"{workers}{target}"
            extra = ["--to", "kaldi"] if target == "o.lat" else []
            assert run("convert", source, "-o", out, "--lossy", "--workers", workers, *extra) == 0
            written.append(out.read_bytes())
        assert written[0] == written[1] == written[2]
        assert len(list(read(tmp_path / f"1{target}"))) == 150


def test_one_bad_segment_harms_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text(
        lattice_line("s0", CAT)
        + "what?\n"
        + lattice_line("s2", CAT, refs=["the cat"])
        + LISTS
        + lattice_line("s4", [(0, 1, "*EPS*", 0.0)])
        + lattice_line("s5", CAT)
    )
    for workers in (1, 2):
        out = tmp_path / f"{workers}.plf"
        assert run("convert", source, "-o", out, "--workers", workers) == 1
        assert [space.id for space in read(out)] == ["s0", "s5"]
        lines = capsys.readouterr().err.splitlines()
        assert lines[0].startswith(f"fstmetrics: {source}:2: ")
        assert lines[1:] == [
            f"fstmetrics: {source}:3: segment 's2': plf cannot hold its references; --lossy "
            "leaves such things out",
            f"fstmetrics: {source}:4: segment 'n1': plf holds no n-best lists",
            f"fstmetrics: {source}:5: segment 's4': the word '*EPS*' of segment 's4' would not "
            "come back from a line",
            "fstmetrics: 2 segments written, 4 failed",
        ]


def test_a_cell_that_cannot_be_is_the_failure_of_its_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = '"nbest": [{"words": "a", "score": -1}]'
    source, out = tmp_path / "a.jsonl", tmp_path / "o.tsv"
    source.write_text(
        f'{{"id": "good", {entry}}}\n{{"id": "a\\tb", {entry}}}\n{{"id": "fine", {entry}}}\n'
    )
    assert run("convert", source, "-o", out) == 1
    assert out.read_text() == "good\t1\t-1.0\ta\nfine\t1\t-1.0\ta\n"
    assert "segment 'a\\tb': the id" in capsys.readouterr().err


def test_losses_are_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "o.plf"
    source.write_text(lattice_line("s0", CAT) + FULL + lattice_line("s2", CAT, ["x"]))
    assert run("convert", source, "-o", out, "--lossy") == 0
    left_out = "fstmetrics: plf cannot hold, and left out:"
    assert sorted(capsys.readouterr().err.splitlines()) == [
        f"{left_out} metadata of segment 'u1'",
        f"{left_out} references of segment 'u1' and 1 more segments",
        f"{left_out} source texts of segment 'u1'",
        f"{left_out} times of segment 'u1'",
    ]
    assert [space.id for space in read(out)] == ["s0", "u1", "s2"]


def test_where_all_is_lost_there_is_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = cats(tmp_path / "a.jsonl", 40)
    for out in ("o.plf", "o.lat.gz"):
        extra = ["--to", "kaldi"] if out == "o.lat.gz" else []
        assert run("convert", source, "-o", tmp_path / out, *extra) == 2
        error = capsys.readouterr().err
        assert error.startswith("fstmetrics: error: ")
        assert "cannot hold its references; --lossy leaves such things out" in error
        assert "all 40 segments: nothing could be written" in error
        assert error.count("\n") == 1
    assert listing(tmp_path) == ["a.jsonl"]


@pytest.mark.parametrize(
    ("content", "extra", "message"),
    [
        ("", [], "the file is empty"),
        (None, [], "No such file or directory"),
        (FULL, ["--to", "jsnl"], "no format named 'jsnl'; did you mean jsonl"),
        (FULL, ["--to", "sphinx"], "format sphinx can be read, but not written"),
        (FULL, ["--input-format", "hkt"], "no format named 'hkt'; did you mean htk"),
        (FULL, ["--option", "colour=red"], "format jsonl has no option 'colour'"),
        (FULL, ["--write-option", "colour=red"], "writer of format jsonl has no option 'colour'"),
        (
            FULL,
            ["--to", "plf", "--write-option", "scores=x"],
            "scores is one of log, prob",
        ),
    ],
)
def test_what_is_wrong_is_one_line(
    content: str | None,
    extra: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    if content is not None:
        source.write_text(content)
    assert run("convert", source, "-o", out, *extra) == 2
    error = capsys.readouterr().err
    assert error.startswith("fstmetrics: error: ")
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("o.unknown", "no format by the suffix"),
        ("none/o.jsonl", "no such directory"),
        ("none/", "no such directory"),
    ],
)
def test_where_nothing_can_be_written(
    out: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = cats(tmp_path / "a.jsonl")
    assert run("convert", source, "-o", f"{tmp_path}/{out}") == 2
    assert message in capsys.readouterr().err
    assert listing(tmp_path) == ["a.jsonl"]


def test_a_directory_gets_one_file_a_segment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "out"
    source.write_text("".join(lattice_line(name, CAT) for name in ("s0", "../up", "s2")))
    out.mkdir()
    assert run("convert", source, "-o", f"{out}/", "--to", "htk", "--workers", 2) == 1
    assert listing(out) == ["s0.slf", "s2.slf"]
    assert [space.id for space in read(out)] == ["s0", "s2"]
    assert "segment '../up': the id '../up' cannot be a file name" in capsys.readouterr().err
    assert listing(tmp_path) == ["a.jsonl", "out"]


def test_ids_that_cannot_name_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "out"
    names = ["", "a/b", ".hidden", "x" * 300, "fine"]
    source.write_text("".join(lattice_line(name, CAT) for name in names))
    out.mkdir()
    assert run("convert", source, "-o", out, "--to", "openfst-text") == 1
    # a segment without an id is called by its place
    assert listing(out) == ["0.att", "fine.att"]
    error = capsys.readouterr().err
    assert "the id is too long for the name of a file" in error
    assert error.count("cannot be a file name") == 2


def test_one_file_for_one_segment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "o.fst"
    source = cats(tmp_path / "two.jsonl", 2, refs=False)
    assert run("convert", source, "-o", out, "--to", "openfst") == 2
    assert "openfst holds one segment a file; write to a directory" in capsys.readouterr().err
    assert not out.exists()
    source = cats(tmp_path / "one.jsonl", 1, refs=False)
    assert run("convert", source, "-o", out, "--to", "openfst") == 0
    (lattice,) = read(out)
    assert lattices.best(lattice).text == "a hat"


def test_one_id_for_two_segments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = words(tmp_path / "a.tsv", "u\t1\t-1\ta"), words(tmp_path / "b.tsv", "u\t1\t-1\tb")
    out = tmp_path / "o.nbest"
    assert run("convert", one, two, "-o", out) == 1
    assert out.read_text() == "u ||| a |||  ||| -1.0\n"
    assert f"{two}:1: segment 'u': the id is that of {one}:1 already" in capsys.readouterr().err


def test_a_symbol_table_is_written_by_one_process(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    names = [f"w{number}" for number in range(120)]
    source.write_text("".join(lattice_line(name, [(0, 1, name, -1.0)]) for name in names))
    tables = []
    for workers in (1, 2):
        symbols, out = tmp_path / f"{workers}.txt", tmp_path / f"{workers}.lat"
        written = ["--to", "kaldi-binary", "--write-option", f"symbols={symbols}"]
        assert run("convert", source, "-o", out, *written, "--workers", workers) == 0
        assert [
            lattices.best(space).text for space in read(out, "kaldi-binary", symbols=symbols)
        ] == names
        tables.append(symbols.read_text())
    assert tables[0] == tables[1]
    assert tables[0].splitlines()[1:] == [f"{name}\t{n}" for n, name in enumerate(names, start=1)]


def test_an_archive_with_a_script_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, ark = tmp_path / "a.jsonl", tmp_path / "o.ark"
    source.write_text(
        lattice_line("s0", CAT) + lattice_line("s1", CAT, ["x"]) + lattice_line("s2", CAT)
    )
    out = tmp_path / "o.scp"
    assert run("convert", source, "-o", out, "--write-option", f"ark={ark}", "--workers", 2) == 1
    assert [space.id for space in read(out)] == ["s0", "s2"]
    capsys.readouterr()
    argv = ["-o", tmp_path, "--to", "kaldi-scp", "--write-option", f"ark={ark}"]
    assert run("convert", source, *argv) == 2
    assert "one file for all segments" in capsys.readouterr().err


@pytest.mark.parametrize("layout", ["kaldi", "plain"])
@pytest.mark.parametrize("workers", [1, 2])
def test_references_are_attached(layout: str, workers: int, tmp_path: Path) -> None:
    source, out = cats(tmp_path / "a.jsonl", 70), tmp_path / "o.jsonl"
    ids = [f"s{number} " if layout == "kaldi" else "" for number in range(70)]
    lines = [f"{name}ref number {number}" for number, name in enumerate(ids)]
    refs = words(tmp_path / "refs", *(lines[::-1] if layout == "kaldi" else lines))
    assert run("convert", source, "-o", out, "--workers", workers, "--refs", refs) == 0
    assert [space.references for space in read(out)] == [
        (f"ref number {number}",) for number in range(70)
    ]


def test_references_that_do_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = cats(tmp_path / "a.jsonl", 3), tmp_path / "o.jsonl"
    refs = words(tmp_path / "refs", "one", "two", "two", "four")
    assert run("convert", source, "-o", out, "--refs", refs) == 2
    assert "4 lines for 3 segments" in capsys.readouterr().err
    assert not out.exists()
    refs = words(tmp_path / "text", "s0 zero", "s2 two")
    assert run("convert", source, "-o", out, "--refs", refs) == 1
    assert [space.references for space in read(out)] == [("zero",), ("two",)]
    assert "segment 's1': " in capsys.readouterr().err


def test_a_damaged_file_among_good_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad, out = cats(tmp_path / "a.jsonl", 2), tmp_path / "b.gz", tmp_path / "o.jsonl"
    bad.write_bytes(gzip.compress(cats(tmp_path / "c.jsonl", 50).read_bytes())[:-20])
    assert run("convert", bad, good, "-o", out) == 1
    assert "the gzip file is cut short" in capsys.readouterr().err
    assert {"s0", "s1"} <= {space.id for space in read(out)}


def test_pipes() -> None:
    command = [sys.executable, "-m", "decoding.cli.main", "convert", "-"]
    made = subprocess.run(command, input=FULL.encode(), capture_output=True, check=True)
    assert made.stderr == b""
    assert json.loads(made.stdout) | {"feature_names": []} == {
        **json.loads(FULL), "states": 3, "start": 0, "feature_names": [],
        "refs": ["the cat", "a cat"],
    }  # fmt: skip
    argv = [*command, "--to", "plf", "--lossy"]
    plf = subprocess.run(argv, input=made.stdout, capture_output=True, check=True)
    assert plf.stdout.startswith(b'<seg id="u1">(((')


def test_a_file_of_the_input_is_not_written_in_a_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """s0.jsonl holds s0 and s1: the file of s0 would take its place."""
    source = cats(tmp_path / "s0.jsonl", 2)
    before = source.read_bytes()
    assert run("convert", source, "-o", tmp_path) == 1
    assert source.read_bytes() == before
    assert (tmp_path / "s1.jsonl").exists()
    assert "s0.jsonl is a file that this command reads" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "target"),
    [
        ("multi30k-deen/tiny20.de-en.lat.d10.jsonl", "o.plf"),
        ("multi30k-deen/tiny20.de-en.lat.d10.jsonl", "o.lat"),
        ("multi30k-deen/tiny20.de-en.lat.d10.jsonl", "o.jsonl.gz"),
        ("fisher-plf/fisher_dev1000.plf.gz", "o.jsonl"),
    ],
)
def test_real_lattices_keep_their_best_path(
    shared_data: Path, file: str, target: str, tmp_path: Path
) -> None:
    out = tmp_path / target
    extra = ["--to", "kaldi"] if target == "o.lat" else []
    assert run("convert", shared_data / file, "-o", out, "--lossy", *extra, "--workers", 2) == 0
    before, after = list(read(shared_data / file)), list(read(out))
    assert [space.id for space in after] == [space.id for space in before]
    for one, other in zip(before, after, strict=True):
        assert isinstance(one, Lattice)
        assert isinstance(other, Lattice)
        assert best_score(other) == pytest.approx(best_score(one), abs=1e-9)
        assert lattices.path_count(other) == lattices.path_count(one)


def test_oracles_after_conversions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From SLF through our containers and Kaldi's archives to SLF again, by the command."""
    first, last = tmp_path / "first", tmp_path / "last"
    first.mkdir()
    last.mkdir()
    for file in BUNDLED.glob("*.slf.gz"):
        shutil.copy(file, first)
    refs = BUNDLED / "refs.txt"
    lines = tmp_path / "all.jsonl"
    columns = tmp_path / "all.arrow"
    # doubles, and six digits in Kaldi's own precision
    double, single = tmp_path / "double.ark", tmp_path / "single.ark"
    run("convert", first, "-o", lines, "--refs", refs)
    run("convert", lines, "-o", columns)
    run("convert", columns, "-o", double, "--write-option", "arc_type=compactlattice84", "--lossy")
    run("convert", columns, "-o", single, "--lossy")
    run("convert", double, "-o", last, "--to", "htk", "--lossy")
    assert "references" in capsys.readouterr().err
    assert sorted(path.name for path in last.iterdir()) == sorted(
        path.name.removesuffix(".gz") for path in first.iterdir()
    )
    tables = {}
    for source in (first, lines, columns, double, single, last):
        given = ["--refs", refs] if source not in (lines, columns) else []
        for metric in ("wer", "grr"):
            out = tmp_path / "oracles.tsv"
            run("oracle", source, *given, "--metric", metric, "-o", out, "-q")
            tables[source, metric] = out.read_text(encoding="utf-8").splitlines()
    for metric in ("wer", "grr"):
        wanted = tables[first, metric]
        assert len(wanted) == len(list(first.iterdir()))
        for source in (lines, columns, double, last):
            assert tables[source, metric] == wanted, source
        # rounding may make ties or break them, but an oracle scores what it scores
        assert [line.split("\t")[:2] for line in tables[single, metric]] == [
            line.split("\t")[:2] for line in wanted
        ]


@pytest.mark.parametrize("workers", [1, 2])
def test_words_of_pieces(workers: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    pieces = [(0, 1, "▁the", -0.5), (1, 2, "▁c", -1.0), (1, 2, "▁h", -2.0), (2, 3, "at", 0.0)]
    source.write_text(
        lattice_line("s", pieces, ["the hat"])
        + '{"id":"n","nbest":[{"words":"▁the ▁c at","score":-1.5}]}\n'
    )
    assert run("convert", source, "--words", "▁", "-o", out, "--workers", workers) == 0
    lattice, nbest = read(out)
    assert isinstance(lattice, Lattice)
    assert sorted((path.text, path.score) for path in lattice.paths()) == [
        ("the cat", -1.5),
        ("the hat", -2.5),
    ]
    assert lattice.references == ("the hat",)
    assert isinstance(nbest, lattices.NBest)
    assert [each.text for each in nbest] == ["the cat"]
    assert run("convert", source, "--words", "", "-o", out) == 2
    assert "--words is empty" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "count"), [(["--merge"], 2), (["--recombine", 1], 4)])
def test_lists_become_lattices(options: list[str | int], count: int, tmp_path: Path) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    samples = [{"words": "the cat sat"}, {"words": "a cat slept"}, {"words": "a cat slept"}]
    source.write_text(json.dumps({"id": "n", "nbest": samples}) + "\n" + lattice_line("u", CAT))
    assert run("convert", source, *options, "-o", out) == 0
    merged, kept = read(out)
    assert isinstance(merged, Lattice)
    assert [path.tokens for path in merged.paths() if not path.features] == [
        ("the", "cat", "sat"), ("a", "cat", "slept")
    ]  # fmt: skip
    assert lattices.path_count(merged) == count
    assert parts(kept) == parts(list(read(source))[1])
