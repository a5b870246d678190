"""What commands write, other commands read: every format of every command, into every reader."""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lattices
from decoding.cli.main import COMMANDS, build_parser
from decoding.cli.option_table import SENTENCES
from decoding.corpus.writers import sentence_line
from fstmetrics import WER
from lattices.algorithms import best_words
from lattices.errors import OptionError
from lattices.formats import FORMATS
from tests.decoding.cli.commandline import command, words
from tests.decoding.report.pages import unpacked

run = command()

#: what makes commands write sentences, or spaces with sentences in them
WRITERS: dict[str, list[str]] = {
    "oracle": [],
    "mbr": ["--method", "edit"],
    "rescore": ["--weights", "WEIGHTS"],
    "confusion": [],
    "nbest": ["-k", "3"],
    "sample": ["-n", "4"],
    "convert": [],
    "features": ["--add", "length=python:numpy.char:str_len"],
    "prune": ["--beam", "3"],
    "union": ["SPACES"],
}
#: commands that write weights, tables, pages or automata
OTHERS = {"tune", "tune-mbr", "train", "score", "compare", "choices", "report", "correlate",
          "calibrate", "study", "info", "compile", "formats", "metrics", "demo", "doctor",
          "completion", "find"}  # fmt: skip
#: formats of a table that oracle writes instead of sentences
TABLES = {"table", "json", "latex", "markdown"}
REFS = {"u1": "the cat sat", "u2": "2 dogs 3.5", "u3": "no", "u4": "a b c d e"}


def option(name: str, dest: str) -> argparse.Action | None:
    parsers = build_parser([name])._actions[-1].choices
    assert isinstance(parsers, dict)
    return next((each for each in parsers[name]._actions if each.dest == dest), None)


def formats(name: str) -> list[str]:
    """Return all formats that a command writes, by its own parser or by the registry."""
    action = option(name, "format")
    if action is not None:
        return [each for each in action.choices or () if each not in TABLES]
    kinds = ("nbest", "any") if name in ("nbest", "sample") else ("lattice", "any")
    known = (FORMATS.get(each) for each in FORMATS.names())
    return [
        each.name
        for each in known
        if each.writable and not each.single and each.kind in kinds and each.name != "kaldi-scp"
    ]


def test_every_command_is_a_writer_or_none() -> None:
    assert WRITERS.keys() | OTHERS == COMMANDS.keys()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Lattices with times and features, and the references in both layouts."""

    def lattice(id: str, *slots: str) -> lattices.Lattice:
        arcs = [
            (place, place + 1, word, -0.3 - rank, {"lm": -0.3 - rank})
            for place, slot in enumerate(slots)
            for rank, word in enumerate(slot.split("/"))
        ]
        times = [0.25 * place for place in range(len(slots) + 1)]
        return lattices.Lattice.from_arcs(arcs, [len(slots)], id=id, times=times)

    spaces = [
        lattice("u1", "the/a", "hat/cat", "sat"),
        lattice("u2", "2/3", "cats/dogs", "3.5"),
        lattice("u3", "yes/no"),
        lattice("u4", "0.5/a", "b", "x/c", "d"),
    ]
    lattices.write(tmp_path / "spaces.jsonl", spaces)
    words(tmp_path / "WEIGHTS", "lm 1")
    words(tmp_path / "kaldi", *(f"{id} {text}" for id, text in REFS.items()))
    words(tmp_path / "plain", *REFS.values())
    words(tmp_path / "human", "u1 0.3", "u2 0.4", "u3 0.9", "u4 0.1")
    words(tmp_path / "human-text", "1 0.3", "2 0.4", "3 0.9", "4 0.1")
    return tmp_path


def write(corpus: Path, name: str, format: str, *more: object) -> tuple[int, Path]:
    out = corpus / "out"  # nothing in its name
    files = {"WEIGHTS": corpus / "WEIGHTS", "SPACES": corpus / "spaces.jsonl"}
    options = [files.get(each, each) for each in WRITERS[name]]
    argv: list[object] = [name, corpus / "spaces.jsonl", *options, "-q", "-o", out, *more]
    if option(name, "format") is not None:
        argv += ["--format", format]
    else:
        argv += ["--to", format, "--lossy"]
    if option(name, "summary") is not None:
        argv += ["--summary", corpus / "summary.json"]
        argv += ["--refs", corpus / "kaldi", "--metric", "wer"]
    return run(*argv), out


def expected_score(corpus: Path, name: str, out: Path) -> float:
    """Return the WER that the command itself tells, or that of the best sentences of its spaces."""
    kinds = {"oracle": "oracle", "mbr": "mbr", "rescore": "rescored"}
    if name in kinds:
        summary = json.loads((corpus / "summary.json").read_text())
        return float(summary["metrics"]["wer"][kinds[name]])
    source = out if name == "sample" else corpus / "spaces.jsonl"
    said = {space.id: best_words(space) for space in lattices.read(source)}
    return float(WER().score(sum(WER().stats(said[id], [ref]) for id, ref in REFS.items())))


def readings(corpus: Path, out: Path, format: str) -> Iterator[tuple[str, Any]]:
    """Iterate over commands that read an output, and the WER that each finds."""
    refs: list[object] = ["--refs", corpus / "kaldi"]
    human = corpus / "human"
    if format == "text":
        refs, human = ["--refs", corpus / "plain", "--refs-format", "plain"], corpus / "human-text"
    wer, shown = ["--metric", "wer"], corpus / "shown"

    def table(name: str, *argv: object) -> Any:
        assert run(name, *argv, *refs, "-q", "--format", "json", "-o", shown) == 0
        return json.loads(shown.read_text())

    yield "score", table("score", out, *wer)["systems"][0]["scores"]["wer"]
    base = refs[1]
    yield "compare", table("compare", base, out, *wer, "--samples", 10)["comparisons"][0]["score"]
    values = ["--metric", "grr", "--option", "alpha", "--values", "1,2"]
    assert len(table("study", "sweep", out, *values)["points"]) == 2
    found = table("correlate", out, "--human", human, *wer, "--samples", 10)
    assert "wer" in json.dumps(found)
    page = corpus / "page.html"
    assert run("report", out, *refs, *wer, "-q", "--samples", 10, "-o", page) == 0
    scores = unpacked(page.read_bytes())["report"]["systems"][0]["scores"]
    # of results that were saved, there is no 1-best
    yield "report", next(iter(scores.values()))[0]["score"]
    summary = corpus / "votes.json"
    systems = ["--systems", out, out, *refs, *wer, "-q", "--summary", summary]
    assert run("mbr", *systems, "-o", corpus / "votes") == 0
    kind = "one_best" if format in FORMATS.names() and format not in SENTENCES else "mbr"
    yield "mbr --systems", json.loads(summary.read_text())["metrics"]["wer"][kind]


#: a union is no confusion network
CASES = [
    (name, format)
    for name in WRITERS
    for format in formats(name)
    if (name, format) not in (("union", "mesh"), ("union", "sausages"))
]


@pytest.mark.parametrize(("name", "format"), CASES)
def test_what_is_written_is_read(name: str, format: str, corpus: Path) -> None:
    code, out = write(corpus, name, format)
    assert code == 0
    expected = expected_score(corpus, name, out)
    for reader, found in readings(corpus, out, format):
        assert found == pytest.approx(expected), reader
    packed = corpus / "packed"
    packed.write_bytes(gzip.compress(out.read_bytes()))
    for reader, found in readings(corpus, packed, format):
        assert found == pytest.approx(expected), reader
        break


def as_references(corpus: Path, out: Path) -> float:
    shown = corpus / "shown"
    argv = ["score", corpus / "kaldi", "--refs", out, "--metric", "wer", "-q", "--format", "json"]
    assert run(*argv, "-o", shown) == 0
    return float(json.loads(shown.read_text())["systems"][0]["stats"]["wer"]["substitutions"])


@pytest.mark.parametrize("name", ["oracle", "mbr", "rescore"])
def test_results_are_references(name: str, corpus: Path) -> None:
    """All formats with ids give the same references."""
    kinds = [each for each in formats(name) if each != "text"]
    found = {each: as_references(corpus, write(corpus, name, each)[1]) for each in kinds}
    assert len(set(found.values())) == 1, found
    assert write(corpus, name, "text")[0] == 0
    assert run("score", corpus / "kaldi", "--refs", corpus / "out", "-q") == 2


RANKED = [(name, format) for name in ("oracle", "mbr") for format in formats(name)]


@pytest.mark.parametrize(("name", "format"), RANKED)
def test_of_several_ranks_the_first_counts(
    name: str, format: str, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under WER the worst has the highest score; formats without ranks refuse them."""
    more = ["-k", 3] if name == "oracle" else ["-k", 3, "--method", "pairwise"]
    code, out = write(corpus, name, format, *more)
    if format in (*SENTENCES, "ctm"):
        assert code == 2
        assert not out.exists()
        if format != "ctm":
            assert f"--format {format} has one sentence of each segment" in capsys.readouterr().err
        return
    assert code == 0
    expected = expected_score(corpus, name, out)
    for reader, found in readings(corpus, out, format):
        assert found == pytest.approx(expected), reader


@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("format", [each for each in formats("oracle") if each != "text"])
def test_odd_content_comes_through(format: str, worst: bool, tmp_path: Path) -> None:
    """Empty sentences, words that are numbers, one segment alone, CRLF and a byte order mark."""
    arcs = [(0, 1, "", -0.1), (0, 1, "7", -0.2)]
    for count in (1, 2):
        spaces = [lattices.Lattice.from_arcs(arcs, [1], id=f"u{n}") for n in range(count)]
        lattices.write(tmp_path / "a.jsonl", spaces)
        refs = words(tmp_path / "refs", *(f"u{n} 7" for n in range(count)))
        flags = ["--refs", refs, "--metric", "wer", "-q"]
        out, shown = tmp_path / "out", tmp_path / "shown"
        more = ["--format", format, "-o", out, *(["--worst"] if worst else [])]
        assert run("oracle", tmp_path / "a.jsonl", *flags, *more) == 0
        odd = tmp_path / "odd"
        content = out.read_bytes()
        if format != "parquet":
            content = b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")
        odd.write_bytes(content)
        for path in (out, odd):
            assert run("score", path, *flags, "--format", "json", "-o", shown) == 0
            (found,) = json.loads(shown.read_text())["systems"]
            assert (found["segments"], found["scores"]["wer"]) == (count, float(worst))


def test_ids_with_blanks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spaces = [
        lattices.Lattice.from_arcs([(0, 1, word)], [1], id=f"seg {word}") for word in ("a", "b")
    ]
    lattices.write(tmp_path / "a.jsonl", spaces)
    refs, out = words(tmp_path / "refs", "a", "c"), tmp_path / "out"
    flags = ["--refs", refs, "--refs-format", "plain", "--metric", "wer", "-q"]
    for format in formats("oracle"):
        code = run("oracle", tmp_path / "a.jsonl", *flags, "--format", format, "-o", out)
        if format in ("kaldi", "trn"):
            assert code == 2
            assert f"'seg a' is no id that {format} can hold" in capsys.readouterr().err
            continue
        assert run("score", out, *flags, "--format", "tsv") == 0
        assert capsys.readouterr().out.splitlines()[1].endswith("\t2\t0.5")


@pytest.mark.parametrize("text", ["{ a / b }", "(a) b", "@ a", ";; a"])
def test_words_that_are_signs_of_trn(text: str) -> None:
    with pytest.raises(OptionError, match="means something else in trn"):
        sentence_line("trn", "u1", 0.0, text)


def test_a_score_among_the_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where blanks separate, nothing tells the number from a word: the user does."""
    lines = ["u1 0.5 the cat", "u2 1 the dog"]
    system = words(tmp_path / "system", *lines)
    refs = words(tmp_path / "refs", "u1 the cat", "u2 the dog")
    flags = ["--refs", refs, "--metric", "wer"]
    assert run("score", system, *flags) == 2
    assert capsys.readouterr().err == (
        f"fstmetrics: error: {system}: every line is an id, a number and words; --input-format "
        "kaldi takes the number for a word, --input-format tsv for a score\n"
    )
    for format, wer in {"kaldi": "0.5", "tsv": "0.0"}.items():
        assert run("score", system, *flags, "--input-format", format, "--format", "tsv") == 0
        assert capsys.readouterr().out.splitlines()[1].endswith(f"\t2\t{wer}")
    # references that begin with numbers, too, say that they are words
    digits = words(tmp_path / "digits", "u1 5 the cat", "u2 1 the dog")
    assert run("score", system, "--refs", digits, "--metric", "wer", "--format", "tsv") == 0
    capsys.readouterr()
    assert run("mbr", "--systems", system, system, "-q") == 2
    assert "--systems-format kaldi takes the number for a word" in capsys.readouterr().err
    scored = words(tmp_path / "scored", "u1 0.5 the cat", "u2 1.5 the dog")
    assert run("score", refs, "--refs", scored, "--metric", "wer") == 2
    assert "--refs-format kaldi takes the number for a word" in capsys.readouterr().err
    assert run("score", refs, "--refs", scored, "--refs-format", "tsv", "--metric", "wer") == 0


def test_first_words_that_may_be_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = words(tmp_path / "one", "the cat", "a dog")
    assert run("mbr", "--systems", one, one, "-q") == 2
    assert "--systems-format kaldi takes them for ids" in capsys.readouterr().err
    assert run("mbr", "--systems", one, one, "-q", "--systems-format", "text") == 0
    assert capsys.readouterr().out == "1\t0.0\tthe cat\n2\t0.0\ta dog\n"


def test_calibrate_takes_a_ctm(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its confidences are mapped; sentences that have none are refused."""
    flags = ["--refs", corpus / "kaldi", "-o", corpus / "calibration.json"]
    for format in formats("mbr"):
        assert write(corpus, "mbr", format)[0] == 0
        refs = ["--refs", corpus / "plain"] if format == "text" else flags[:2]
        code = run("calibrate", corpus / "out", *refs, *flags[2:])
        error = capsys.readouterr().err
        if format == "ctm":
            assert code == 0
            found = json.loads((corpus / "calibration.json").read_text())
            assert found["scale"] == 1.0
            told = [float(line.split()[5]) for line in (corpus / "out").read_text().splitlines()]
            assert all(min(told) <= confidence <= max(told) for confidence, _ in found["points"])
            assert found["points"]
        else:
            assert code == 2
            assert "sentences without confidences" in error


def test_silence_in_a_ctm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "out", "u1 1 0.0 0.5 yes 0.9", "u1 1 0.5 0.5 sir 0.9")
    refs = words(tmp_path / "refs", "u1 yes sir", "u2 no")
    assert run("score", system, "--refs", refs, "--metric", "wer", "--format", "tsv") == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1] == f"{system}\t2\t{1 / 3!r}"
    assert "1 segments without words in the ctm count as empty" in printed.err


def test_lines_longer_than_the_head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Results are known by their first fields, however long the line is."""
    many = [f"w{n}" for n in range(2000)]
    arcs = [(n, n + 1, word, 0.0, {"lm": -1.0}) for n, word in enumerate(many)]
    space = lattices.Lattice.from_arcs(arcs, [2000], id="u1")
    lattices.write(tmp_path / "a.jsonl", [space])
    refs, out = words(tmp_path / "refs", f"u1 {' '.join(many)}"), tmp_path / "out"
    for name in ("oracle", "mbr", "rescore", "confusion"):
        options = ["--weights", words(tmp_path / "WEIGHTS", "lm 1")] if name == "rescore" else []
        argv = [name, tmp_path / "a.jsonl", *options, "--format", "jsonl", "-o", out, "-q"]
        flags = [] if name == "confusion" else ["--refs", refs, "--metric", "wer"]
        assert run(*argv, *flags) == 0
        assert len(out.read_bytes().split(b"\n")[0]) > 5000
        assert run("score", out, "--refs", refs, "--metric", "wer", "--format", "tsv", "-q") == 0
        assert capsys.readouterr().out.splitlines()[1] == f"{out}\t1\t0.0"


def test_standard_input(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for format in formats("oracle"):
        if format == "text":
            continue
        _, out = write(corpus, "oracle", format)
        with out.open("rb") as stream:
            monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": stream})())
            flags = ["--refs", corpus / "kaldi", "--metric", "wer", "-q"]
            assert run("score", "-", *flags, "--format", "json", "-o", corpus / "shown") == 0
        (found,) = json.loads((corpus / "shown").read_text())["systems"]
        assert found["scores"]["wer"] == pytest.approx(expected_score(corpus, "oracle", out))
