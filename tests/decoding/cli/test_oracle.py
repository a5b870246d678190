"""``fstmetrics oracle``."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest

from decoding import oracle as find_oracle
from decoding.cli import running
from decoding.cli.main import main
from fstmetrics import GRR, WER, corpus_score
from lattices import best, k_best
from lattices.formats import read, write
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from tests.decoding.cli.commandline import CAT, cats, command, lattice_line, words

run = command("oracle")


def table(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return cats(tmp_path / "cats.jsonl")


def test_tsv_is_the_default(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(file) == 0
    printed = capsys.readouterr()
    assert printed.out == "s0\t1.0\tthe cat\ns1\t1.0\tthe cat\ns2\t1.0\tthe cat\n"
    lines = printed.err.splitlines()
    assert lines[0].split() == ["metric", "1-best", "4-GRR", "oracle"]
    assert lines[1].split() == ["4-GRR", "%", "0.00", "100.00"]
    assert lines[2].split() == ["WER", "%", "100.00", "0.00"]
    assert lines[3] == "4-GRR is grr:n=4,alpha=1,beta=0"
    assert lines[4:10] == [
        "%4-GRR 0.00 [ 0 / 9, 0 ins, 0 del, 6 sub ] 1-best",
        "%SER 100.00 [ 3 / 3 ] 1-best",
        "%WER 100.00 [ 6 / 6, 0 ins, 0 del, 6 sub ] 1-best",
        "%4-GRR 100.00 [ 9 / 9, 0 ins, 0 del, 0 sub ] 4-GRR oracle",
        "%SER 0.00 [ 0 / 3 ] 4-GRR oracle",
        "%WER 0.00 [ 0 / 6, 0 ins, 0 del, 0 sub ] 4-GRR oracle",
    ]
    assert lines[10] == "3 segments, 0 failed"
    assert lines[11].startswith("12 arcs in ")
    assert lines[11].endswith(" arcs/s, engine kernel")


def test_starting_up_is_no_part_of_the_seconds(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.json"
    real = running.progress
    monkeypatch.setattr(running, "progress", lambda *a, **o: (time.sleep(1.0), real(*a, **o))[1])
    assert run(file, "-q", "--summary", summary) == 0
    assert json.loads(summary.read_text())["seconds"] < 1.0


def test_scores_read_back_as_the_same_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(lattice_line("a", CAT, ["the cat sat"]))
    assert run(path, "-q", "--metric", "wer") == 0
    assert float(table(capsys.readouterr().out)[0][1]) == 1 / 3


def test_quiet(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(file, "-q") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "flags", [["--metric", "wer", "grr:n=2"], ["--metric", "wer", "--metric", "grr:n=2"]]
)
def test_json_lines_and_summary(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, summary = tmp_path / "a.jsonl", tmp_path / "summary.json"
    arcs = [[0, 1, "the", -1.0, {"lm": 2.0}], [1, 2, "cat", -0.5, {"lm": -0.5, "tm": 1.0}]]
    path.write_text(lattice_line("x", arcs, ["a", "the cat sat"]))  # type: ignore[arg-type]
    assert run(path, *flags, "--format", "jsonl", "--summary", summary) == 0
    (found,) = objects(capsys.readouterr().out)
    assert found == {
        "id": "x",
        "rank": 1,
        "score": 1 / 3,
        "words": ["the", "cat"],
        "text": "the cat",
        "metric": "wer",
        "scores": {"wer": 1 / 3, "grr:n=2,alpha=1,beta=0": 3 / 5},
        "stats": {
            "matches": 2.0,
            "substitutions": 0.0,
            "insertions": 0.0,
            "deletions": 1.0,
            "possible": 3.0,
        },
        "model_score": -1.5,
        "features": {"lm": 1.5, "tm": 1.0},
        "reference": 1,
        "alignment": [
            ["match", "the", "the"],
            ["match", "cat", "cat"],
            ["deletion", "", "sat"],
        ],
        "exact": True,
    }
    written = json.loads(summary.read_text())
    assert written["metric"] == "wer"
    assert (written["segments"], written["failed"], written["failures"]) == (1, 0, [])
    assert (written["results"], written["exact"], written["arcs"]) == (1, 1, 2)
    assert (written["oracle"], written["one_best"]) == (1 / 3, 1 / 3)
    assert written["metrics"] == {
        "wer": {"oracle": 1 / 3, "one_best": 1 / 3},
        "grr:n=2,alpha=1,beta=0": {"oracle": 3 / 5, "one_best": 3 / 5},
    }
    assert written["engine"] == "kernel"
    assert written["arcs_per_second"] * written["seconds"] == pytest.approx(2)
    assert set(written) >= {"version", "k", "worst", "model_weight"}


def test_the_first_metric_searches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    # one path has all the words and two too many, the other has a word missing
    whole = [(0, 1, "a", 0.0), (1, 2, "b", 0.0), (2, 3, "x", 0.0), (3, 4, "y", 0.0)]
    path.write_text(lattice_line("a", [*whole, (0, 4, "b", 0.0)], ["a b"]))
    assert run(path, "-q", "--metric", "wer", "grr:alpha=0") == 0
    assert table(capsys.readouterr().out)[0][1:] == ["0.5", "b"]
    assert run(path, "-q", "--metric", "grr:alpha=0", "wer") == 0
    assert table(capsys.readouterr().out)[0][1:] == ["1.0", "a b x y"]


def test_k_and_worst(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(file, "-q", "-k", "3") == 0
    assert table(capsys.readouterr().out)[:4] == [
        ["s0", "1.0", "the cat"],
        ["s0", repr(1 / 3), "a cat"],
        ["s0", repr(1 / 3), "the hat"],
        ["s1", "1.0", "the cat"],
    ]
    assert run(file, "-q", "-k", "9", "--format", "jsonl") == 0
    found = objects(capsys.readouterr().out)
    assert [line["rank"] for line in found] == [1, 2, 3, 4] * 3
    assert run(file, "--worst") == 0
    printed = capsys.readouterr()
    assert table(printed.out)[0] == ["s0", "0.0", "a hat"]
    assert printed.err.splitlines()[0].split() == ["metric", "1-best", "4-GRR", "worst"]


def test_model_weight(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(file, "-q", "--model-weight", "100") == 0
    assert table(capsys.readouterr().out)[0] == ["s0", "0.0", "a hat"]
    # the worst with a negative weight: what the model likes and the metric does not
    assert run(file, "-q", "--worst", "--model-weight", "-100") == 0
    assert table(capsys.readouterr().out)[0] == ["s0", "0.0", "a hat"]


def test_engines_agree(file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("pynini")
    assert run(file, "-q", "--metric", "wer") == 0
    expected = capsys.readouterr().out
    summary = tmp_path / "s.json"
    for engine in ("kernel", "openfst"):
        assert run(file, "-q", "--metric", "wer", "--engine", engine, "--summary", summary) == 0
        assert capsys.readouterr().out == expected
        assert json.loads(summary.read_text())["engine"] == engine


def test_beyond_the_budget_results_are_not_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    letters = "abcdefgh"
    arcs = [
        (state, state + 1, letter, -float(index))
        for state in range(12)
        for index, letter in enumerate(letters)
    ]
    path, summary = tmp_path / "a.jsonl", tmp_path / "s.json"
    path.write_text(lattice_line("x", arcs, ["a b c d e f g h a b c d e f"]))
    assert run(path, "--worst", "--budget", "13", "--summary", summary) == 0
    assert (
        "1 of 1 results are the worst that were found, perhaps not the worst there are"
        in capsys.readouterr().err
    )
    written = json.loads(summary.read_text())
    assert (written["results"], written["exact"], written["worst"]) == (1, 0, True)


def test_beyond_the_memory_results_are_not_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arcs = [(state, state + 1, letter, 0.0) for state in range(10) for letter in "abcdef"]
    path, summary = tmp_path / "a.jsonl", tmp_path / "s.json"
    path.write_text(lattice_line("x", arcs, ["a b c d e f a b c d", "f e d c b a f e d c b"]))
    assert run(path, "--worst", "--memory", "100k", "--summary", summary) == 0
    assert (
        "1 of 1 results are the worst that were found, perhaps not the worst there are"
        in capsys.readouterr().err
    )
    assert json.loads(summary.read_text())["exact"] == 0
    assert run(path, "--worst", "--memory", "9") == 2
    assert "needs more than 9 bytes of memory" in capsys.readouterr().err


def test_references_by_id_and_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cats(tmp_path / "cats.jsonl", 2, refs=False)
    by_id = words(tmp_path / "text", "s1 the hat", "other x", "s0 the cat")
    by_line = words(tmp_path / "refs", "the cat", "the hat")
    expected = [["s0", "1.0", "the cat"], ["s1", "1.0", "the hat"]]
    for refs, layout, said in (
        (by_id, "auto", "by id"),
        (by_id, "kaldi", "by id"),
        (by_line, "auto", "by line"),
        (by_line, "plain", "by line"),
    ):
        assert run(file, "--refs", refs, "--refs-format", layout) == 0
        printed = capsys.readouterr()
        assert table(printed.out) == expected
        assert f"2 segments, 0 failed, references {said}" in printed.err


def test_references_that_are_given_replace_those_inside(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refs = words(tmp_path / "refs", "a hat", "a hat", "a hat")
    more = words(tmp_path / "more", "a cat", "x", "x")
    assert run(file, "-q", "--refs", refs, more, "--format", "jsonl") == 0
    found = objects(capsys.readouterr().out)
    assert [(line["text"], line["reference"]) for line in found] == [("a hat", 0)] * 3


def test_one_segment_without_a_reference_among_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = cats(tmp_path / "cats.jsonl", 3, refs=False)
    refs = words(tmp_path / "text", "s1 the cat", "s2 the cat")
    assert run(file, "--refs", refs, "--workers", "2") == 1
    printed = capsys.readouterr()
    assert [row[0] for row in table(printed.out)] == ["s1", "s2"]
    assert f"{file}:1: segment 's0': {refs}: no reference for 's0'" in printed.err
    assert "2 segments, 1 failed, references by id" in printed.err


def test_numbers_of_lines_that_differ_write_nothing(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refs = words(tmp_path / "refs", *["the cat"] * 4)
    out, summary = tmp_path / "out", tmp_path / "summary"
    assert run(file, "--refs", refs, "-o", out, "--summary", summary) == 2
    assert capsys.readouterr().err == f"fstmetrics: error: {refs}: 4 lines for 3 segments\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cats.jsonl", "refs"]


def test_a_file_that_is_lost_does_not_shift_the_references_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = [tmp_path / name for name in ("1.jsonl", "2.txt", "3.jsonl")]
    for path in inputs:
        path.write_text(lattice_line("", CAT))
    inputs[1].write_text("no lattice\n")
    refs = words(tmp_path / "refs", "the cat", "the cat", "a hat")
    assert run(*inputs, "--refs", refs, "-o", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert "2.txt: looks like none" in error
    assert "3 lines for 2 segments" in error
    assert not (tmp_path / "out").exists()


def test_no_references_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cats(tmp_path / "cats.jsonl", 3, refs=False)
    assert run(file, "-o", tmp_path / "out") == 2
    assert capsys.readouterr().err == (
        f"fstmetrics: error: {file}:1: none of the first 3 segments has references in the input "
        "('refs' or 'references' of JSON lines and Arrow); give them by --refs FILE; if only later "
        "ones have, --partial-refs goes on\n"
    )
    assert not (tmp_path / "out").exists()


def test_bad_segments_among_good_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out, summary = tmp_path / "a.jsonl", tmp_path / "out.tsv", tmp_path / "s.json"
    lines = [
        lattice_line("good", CAT, ["the cat"]),
        "{broken\n",
        lattice_line("cycle", [(0, 1, "a", 0.0), (1, 0, "b", 0.0)], ["a"]),
        lattice_line("dead", CAT, ["the cat"], finals={"3": 0.0}, states=4),
        lattice_line("silent", CAT),
        lattice_line("good", CAT, ["the cat"]),
        lattice_line("fine", CAT, ["a hat"]),
    ]
    path.write_text("".join(lines))
    assert run(path, "-o", out, "--summary", summary) == 1
    assert out.read_text() == "good\t1.0\tthe cat\nfine\t1.0\ta hat\n"
    written = json.loads(summary.read_text())
    assert (written["segments"], written["failed"], written["oracle"]) == (2, 5, 1.0)
    failures = [(each["id"], each["place"]) for each in written["failures"]]
    names = [("", 2), ("", 3), ("dead", 4), ("silent", 5), ("good", 6)]
    assert failures == [(name, f"{path}:{line}") for name, line in names]
    reasons = [each["reason"] for each in written["failures"]]
    for reason, part in zip(
        reasons,
        ["not JSON", "cycle", "no complete path", "no references", "is that of"],
        strict=True,
    ):
        assert part in reason
    assert capsys.readouterr().err.count(str(path)) >= 5


def test_an_option_that_no_segment_can_be_searched_with_is_told_once(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.tsv"
    assert run(file, "--metric", "bleu:tokenize=intl", "-o", out) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "cats.jsonl:1: segment 's0'" in line
    assert "tokenize=intl depends on what stands" in line
    assert line.endswith("(the same for all 3 segments: nothing could be searched)")
    assert not out.exists()


def test_where_all_fail_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{broken\n" * 12)
    assert run(path, "-o", tmp_path / "out", "--summary", tmp_path / "s") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"fstmetrics: error: {path}:1: not JSON")
    assert line.endswith("(the same for all 12 segments: nothing could be searched)")
    assert [each.name for each in tmp_path.iterdir()] == ["a.jsonl"]


def test_one_cause_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    without = [lattice_line(f"u{n}", CAT) for n in range(40)]
    broken = [f'{{"id": "x{n}", "finals": {{}}, "arcs": [[0, {n}]]}}\n' for n in range(2, 32)]
    path.write_text("".join([lattice_line("good", CAT, ["the cat"]), *without, *broken]))
    assert run(path, "-o", tmp_path / "out") == 1
    first, second, *summary = capsys.readouterr().err.splitlines()
    assert first == (
        f"fstmetrics: {path}:2: segment 'u0': no references in the file, and none were given "
        "(and 39 more like it)"
    )
    assert second.startswith(f"fstmetrics: {path}:42: ")
    assert second.endswith("(and 29 more like it)")
    assert summary[0].split() == ["metric", "1-best", "4-GRR", "oracle"]


def test_words_that_would_break_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        lattice_line("tab", [(0, 1, "a\tb", 0.0)], ["a b"])
        + lattice_line("x\ny", [(0, 1, "a", 0.0)], ["a b"])
        + lattice_line("blank", [(0, 1, "a b", 0.0)], ["a b"])
    )
    assert run(path) == 1
    printed = capsys.readouterr()
    assert [row[0::2] for row in table(printed.out)] == [["blank", "a b"]]
    assert printed.err.count("use --format jsonl") == 2
    assert "1 segments, 2 failed" in printed.err
    assert run(path, "--format", "jsonl") == 0
    found = objects(capsys.readouterr().out)
    assert [line["words"] for line in found] == [["a\tb"], ["a"], ["a b"]]


def test_lists_are_searched_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moses = words(
        tmp_path / "a.nbest",
        "0 ||| a hat ||| lm= -1 ||| -1",
        "0 ||| the cat ||| lm= -2 ||| -2",
        "1 ||| a hat ||| lm= -1 ||| -1",
    )
    refs = words(tmp_path / "refs", "the cat", "the cat")
    summary = tmp_path / "s.json"
    assert run(moses, "-q", "--refs", refs, "--metric", "wer", "--summary", summary) == 0
    assert table(capsys.readouterr().out) == [["0", "0.0", "the cat"], ["1", "1.0", "a hat"]]
    written = json.loads(summary.read_text())
    assert (written["oracle"], written["one_best"], written["engine"]) == (0.5, 1.0, "scorer")
    assert run(moses, "-q", "--refs", refs, "--metric", "wer", "-k", "2") == 0
    assert [row[0] for row in table(capsys.readouterr().out)] == ["0", "0", "1"]


def test_directories_formats_and_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "lattices"
    folder.mkdir()
    text = "VERSION=1.0\nN=3 L=2\nI=0\nI=1 W=<s>\nI=2 W=hello\nJ=0 S=0 E=1 a=-1\nJ=1 S=1 E=2 a=-1\n"
    (folder / "u1.slf").write_text(text)
    (folder / "u2.slf.gz").write_bytes(gzip.compress(text.encode()))
    refs = words(tmp_path / "text", "u1 hello", "u2 hello")
    assert run(folder, "-q", "--refs", refs) == 0
    assert table(capsys.readouterr().out) == [["u1", "1.0", "hello"], ["u2", "1.0", "hello"]]
    flags = ["--input-format", "htk", "--option", "tags=keep", "--option", "quotes=none"]
    assert run(folder, "-q", "--refs", refs, "--metric", "wer", *flags) == 0
    assert [row[1:] for row in table(capsys.readouterr().out)] == [["1.0", "<s> hello"]] * 2
    assert run(folder, "-q", "--refs", refs, "--option", "tags=maybe") == 2
    assert "tags is one of drop, keep, not 'maybe'" in capsys.readouterr().err


def test_output_may_be_compressed(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv.gz"
    assert run(file, "-q", "-o", out) == 0
    assert gzip.decompress(out.read_bytes()).startswith(b"s0\t1.0\tthe cat\n")


@pytest.mark.parametrize("layout", ["tsv", "jsonl"])
def test_workers_give_the_same_bytes(layout: str, tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 100)
    path.write_text(path.read_text() + "{broken\n")
    refs = words(tmp_path / "text", *(f"s{n} the cat sat {n}" for n in range(95)))
    outputs = []
    for workers in (1, 2):
        out = tmp_path / f"out{workers}"
        flags = ["--metric", "grr", "wer", "--format", layout, "--workers", workers]
        assert run(path, "-q", "--refs", refs, *flags, "-o", out) == 1
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]
    assert outputs[0].count(b"\n") == 95


def test_real_translation_lattices(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared_data / "multi30k-deen" / "tiny20.de-en.lat.d10.jsonl"
    summary = tmp_path / "s.json"
    assert run(path, "--metric", "grr", "wer", "--summary", summary) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines()[0].split("  ")[-1] == "4-GRR oracle"
    rows = table(printed.out)
    spaces = list(read(path))
    assert [row[0] for row in rows] == [space.id for space in spaces]
    references = [space.references for space in spaces]
    best = [find_oracle(space, GRR().against(space.references)) for space in spaces]
    assert [row[1:] for row in rows] == [[repr(each.score), each.text] for each in best]
    written = json.loads(summary.read_text())
    texts = [each.tokens for each in best]
    assert written["oracle"] == corpus_score(GRR(), texts, references)
    assert written["metrics"]["wer"]["oracle"] == corpus_score(WER(), texts, references)


def test_real_speech_lattices(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lattices among which are some without a reference."""
    folder = shared_data / "pocketsphinx"
    files = sorted(folder.glob("*.slf.gz"))
    assert run(*files, "--refs", folder / "refs.txt", "--metric", "wer") == 1
    printed = capsys.readouterr()
    assert len(table(printed.out)) == 19
    assert "no reference for 's032.noisy'" in printed.err
    assert printed.err.splitlines()[-7].split() == ["WER", "%", "9.58", "2.30"]


def test_real_lists(shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shared_data / "librispeech-nbest"
    with gzip.open(folder / "dev_clean.nbest.tsv.gz", "rt") as stream:
        head = [next(stream) for _ in range(200)]
    some = tmp_path / "some.tsv"
    some.write_text("".join(head))
    assert run(some, "-q", "--refs", folder / "dev_clean.ref.txt", "--metric", "wer") == 0
    rows = table(capsys.readouterr().out)
    assert [row[0] for row in rows] == list(dict.fromkeys(line.split("\t")[0] for line in head))


def lists(folder: Path) -> tuple[Path, Path]:
    """Write two n-best lists, and references under which their best sentences are too long."""
    nbest = words(
        folder / "nbest.txt",
        "0 ||| a b x ||| lm=0 ||| -1.0",
        "0 ||| a b ||| lm=0 ||| -2.0",
        "0 ||| z ||| lm=0 ||| -0.5",
        "1 ||| a b c d y y ||| lm=0 ||| -1.0",
    )
    return nbest, words(folder / "refs.txt", "a b c d", "a b c d")


def several_lengths(folder: Path) -> Path:
    """Write two lattices; the first does better for the corpus against its longer reference."""
    path, short, long = folder / "several.jsonl", "a b c", "a b c d e f g x y"
    arcs: list[tuple[int, int, str, float]] = []
    for text, first in ((short, 1), (long, 3)):
        states = [0, *range(first, first + len(text.split()) - 1), 11]
        arcs += [
            (states[place], states[place + 1], word, 0.0) for place, word in enumerate(text.split())
        ]
    other = [
        (place, place + 1, word, 0.0) for place, word in enumerate(["p", "q", "x", "x", "x", "x"])
    ]
    path.write_text(
        lattice_line("s0", arcs, ["a b c", "a b c d e f g h i j"])
        + lattice_line("s1", other, ["p q r s t u"])
    )
    return path


def test_the_corpus_oracle_of_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nbest, refs = lists(tmp_path)
    summary = tmp_path / "summary.json"
    command = [nbest, "--refs", refs, "--metric", "bleu:order=1", "wer"]
    assert run(*command) == 0
    printed = capsys.readouterr()
    assert [line[2] for line in table(printed.out)] == ["a b x", "a b c d y y"]
    assert printed.err.split("\n")[0].split("  ")[-1] == "BLEU sentence oracles"
    assert running.SENTENCE_ORACLES in printed.err
    assert run(*command, "--corpus", "--summary", summary) == 0
    printed = capsys.readouterr()
    assert [line[0::2] for line in table(printed.out)] == [["0", "a b"], ["1", "a b c d y y"]]
    lines = printed.err.splitlines()
    assert [cell.strip() for cell in lines[0].split("  ") if cell] == [
        "metric", "1-best", "BLEU sentence oracles", "BLEU corpus oracle", "bound",
    ]  # fmt: skip
    assert lines[1].split()[1:] == ["0.4954", "0.6667", "0.7500", "0.7500"]
    assert lines[2].split() == ["WER", "%", "75.00", "50.00", "50.00", "-"]
    assert lines[8].endswith("corpus oracle: the best choice for the corpus (proven)")
    written = json.loads(summary.read_text())
    assert written["corpus"] is True
    assert (written["oracle"], written["bound"], written["gap"]) == (0.75, 0.75, 0.0)
    assert written["sentence_oracles"] == pytest.approx(6 / 9)
    assert written["metrics"]["wer"] == {"oracle": 0.5, "one_best": 0.75, "sentence_oracles": 0.5}


def test_the_corpus_oracle_of_lattices_with_several_references(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = several_lengths(tmp_path), tmp_path / "o.tsv"
    assert run(path, "--metric", "wer") == 0
    printed = capsys.readouterr()
    assert table(printed.out)[0][2] == "a b c"
    assert "sentence oracles" in printed.err.split("\n")[0]
    assert run(path, "--metric", "wer", "--corpus", "--workers", 2, "-o", out) == 0
    assert table(out.read_text())[0] == ["s0", repr(3 / 10), "a b c d e f g x y"]
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].split() == ["WER", "%", "44.44", "44.44", "43.75", "43.75"]
    assert run(path, "--metric", "wer", "--corpus", "--format", "jsonl", "-q") == 0
    found = objects(capsys.readouterr().out)
    assert [(each["id"], each["reference"]) for each in found] == [("s0", 1), ("s1", 0)]
    # what is exact is the choice, not a sentence
    assert not {"rank", "exact"} & set(found[0])


def test_with_one_reference_both_oracles_are_the_same(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(file, "--metric", "wer") == 0
    plain = capsys.readouterr()
    assert "sentence oracles" not in plain.err
    assert run(file, "--metric", "wer", "--corpus") == 0
    printed = capsys.readouterr()
    assert printed.out == plain.out
    lines = printed.err.splitlines()
    assert lines[1].split() == ["WER", "%", "100.00", "0.00", "0.00", "0.00"]
    assert lines[6] == (
        "sentence oracles and corpus oracle are the same for wer with these references"
    )


def test_no_bound_is_made_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        f"{n} ||| {' '.join('abcdefg'[: m + 1])} ||| ||| -{m}.0" for n in range(8) for m in range(6)
    ]
    nbest, refs = words(tmp_path / "n.txt", *rows), words(tmp_path / "r.txt", *["a b c x"] * 8)
    metric = "bleu:order=2,mean=arithmetic"
    assert run(nbest, "--refs", refs, "--metric", metric, "--corpus") == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].split()[4] == "-"
    assert lines[3].endswith("(no bound is known)")


def test_a_corpus_oracle_without_the_segments_that_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = several_lengths(tmp_path)
    first, second = path.read_text().splitlines(keepends=True)
    path.write_text(first + "what?\n" + second)
    assert run(path, "--metric", "wer", "--corpus") == 1
    printed = capsys.readouterr()
    assert [line[0] for line in table(printed.out)] == ["s0", "s1"]
    assert "2 segments, 1 failed" in printed.err
    path.write_text("what?\n")
    assert run(path, "--metric", "wer", "--corpus") == 2
    assert "nothing could be searched" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("-k", ["-k", 2]),
        ("--worst", ["--worst"]),
        ("--model-weight", ["--model-weight", 0.5]),
        ("--resume", ["--resume", "-o", "o.tsv"]),
    ],
)
def test_what_a_corpus_oracle_does_not_go_with(
    name: str, flags: list[object], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(file, "--corpus", *flags) == 2
    assert f"--corpus and {name} exclude one another" in capsys.readouterr().err


def spaces_with(score: float) -> list[Space]:
    """Return a lattice, a forest and a list of two sentences, one of them with this score."""
    refs, lm = ["the"], {"lm": 1.0}
    arcs = [(0, 1, "a", score, lm), (0, 1, "the", 0.0, lm)]
    edges = [(0, [], ["a"], score, lm), (0, [], ["the"], 0.0, lm)]
    entries = [Hypothesis(("a",), score, lm), Hypothesis(("the",), 0.0, lm)]
    return [
        Lattice.from_arcs(arcs, [1], id="l", references=refs),
        Forest.from_edges(edges, id="f", references=refs),
        NBest.from_hypotheses(entries, id="n", references=refs),
    ]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("command", ["oracle", "mbr", "rescore", "info"])
def test_a_model_without_scores_is_told(
    command: str, workers: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # one sentence is not arbitrary, whatever its score
    arcs = [(0, 1, "the", 0.0, {"lm": 1.0}), (1, 2, "end", 0.0, {"lm": 1.0})]
    chain = Lattice.from_arcs(arcs, [2], id="c", references=["the"])
    path, summary, weights = (tmp_path / name for name in ("x.jsonl", "summary", "weights"))
    weights.write_text("lm 1\n")
    options: list[object] = ["--workers", workers, "-o", tmp_path / "out"]
    if command == "rescore":
        options += ["--weights", weights, "--missing", "zero"]
    if command != "info":
        options += ["--metric", "wer", "--summary", summary]
    for spaces, count, told in (
        ([*spaces_with(0.0)], 3, "the model has no scores: "),
        ([*spaces_with(0.0), chain], 3, "the model has no scores in 3 of 4 segments: "),
        ([*spaces_with(-0.5), chain], 0, None),
    ):
        write(path, spaces)
        assert main([command, *map(str, (path, *options))]) == 0
        error = capsys.readouterr().err
        if told is None:
            assert "no scores" not in error
        else:
            (line,) = (line for line in error.splitlines() if "no scores" in line)
            assert told in line
            assert line.endswith(" is arbitrary, the first of equals")
        if command != "info":
            assert json.loads(summary.read_text())["unscored"] == count


@pytest.mark.parametrize(
    "metric", ["bleu:order=2,smooth=add-k", "chrf", "0.5*bleu:order=2,smooth=add-k + 0.5*wrr"]
)
def test_labels_search_lattices(
    metric: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = several_lengths(tmp_path)
    assert run(path, "--metric", metric, "--format", "jsonl") == 0
    printed = capsys.readouterr()
    assert [each["exact"] for each in objects(printed.out)] == [True, True]
    assert "engine labels" in printed.err
    assert "smoothing" not in printed.err
    assert run(path, "--metric", metric, "--budget", 1, "--format", "jsonl") == 0
    printed = capsys.readouterr()
    assert [each["exact"] for each in objects(printed.out)] == [False, False]
    assert all(each["bound"] >= each["score"] for each in objects(printed.out))
    assert "a larger --budget or --memory may tell" in printed.err


def test_bleu_searches_lattices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = several_lengths(tmp_path)
    summary = tmp_path / "summary.json"
    assert run(path, "--metric", "bleu:order=2", "--corpus", "--summary", summary) == 0
    written = json.loads(summary.read_text())
    assert written["oracle"] >= written["sentence_oracles"] >= written["one_best"]
    assert written["bound"] >= written["oracle"]
    capsys.readouterr()
    # the references share no sequence of ten words with anything
    assert run(path, "--metric", "bleu:order=11") == 0
    assert (
        "2 of 2 segments have no sentence above 0: with a smoothing, as in bleu:smooth=add-k"
        in capsys.readouterr().err
    )
    assert run(path, "--metric", "bleu:tokenize=intl") == 2
    assert "tokenize=intl depends on what stands" in capsys.readouterr().err
    assert run(path, "--metric", "bleu - ter") == 2
    assert "cannot search a lattice: ter:case_sensitive=false has no machine" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_normalised_oracle(
    workers: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arcs = [(0, 1, "a", -0.1), (0, 1, "THE", -0.9), (1, 2, "hat", -0.2), (1, 2, "cat,", -0.7)]
    path = tmp_path / "a.jsonl"
    path.write_text(lattice_line("s", arcs, ["The cat."]))
    argv = ["oracle", str(path), "--metric", "wer", "--normalize", "lower+punctuation"]
    assert main([*argv, "--workers", str(workers)]) == 0
    shown = capsys.readouterr()
    assert shown.out == "s\t0.0\tTHE cat,\n"
    assert "WER %   100.00    0.00" in shown.err


LISTS = """\
a\t1\t-1.0\tthe hat
a\t2\t-2.0\ta cat
a\t3\t-3.0\tthe cat
b\t1\t-1.0\tdogs bark
b\t2\t-2.0\tdog bark
"""


@pytest.fixture
def ranked(tmp_path: Path) -> list[object]:
    (tmp_path / "lists.tsv").write_text(LISTS)
    (tmp_path / "refs.txt").write_text("a the cat\nb dog barks\n")
    refs = ["--refs", tmp_path / "refs.txt", "--refs-format", "kaldi"]
    return [tmp_path / "lists.tsv", *refs, "--metric", "wer"]


def test_oracles_at_k(ranked: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    # errors of the best so far: 1 and 2 of 4 words, then 1 and 1, then 0 and 1
    assert run(*ranked, "--at", "3,1,2,50") == 0
    printed = capsys.readouterr().out
    assert printed.splitlines() == [
        " k  sentences  WER %",
        " 1        1.0  75.00",
        " 2        2.0  50.00",
        " 3        2.5  25.00",
        "50        2.5  25.00",
        "",
        "2 segments, 0 failed",
    ]
    assert run(*ranked, "--at", "1,3", "--format", "tsv") == 0
    assert table(capsys.readouterr().out) == [
        ["k", "sentences", "wer"],
        ["1", "1.0", "0.75"],
        ["3", "2.5", "0.25"],
    ]
    assert run(*ranked, "--at", "2", "--format", "json", "--workers", 2) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["points"] == [{"k": 2, "sentences": 2.0, "scores": {"wer": 0.5}}]


def test_oracles_of_lattices_at_k_and_by_density(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 'a hat', 'the hat', 'a cat', 'the cat' by their scores
    assert run(file, "--metric", "wer", "--at", "1,2,4", "--format", "tsv") == 0
    assert [row[2] for row in table(capsys.readouterr().out)[1:]] == ["1.0", "0.5", "0.0"]
    plot = tmp_path / "curve.svg"
    flags = ["--metric", "wer", "--densities", "1,1.5,9", "--format", "tsv", "--plot", plot]
    assert run(file, *flags) == 0
    assert table(capsys.readouterr().out) == [
        ["density", "arcs_a_word", "wer"],
        ["1.0", "1.0", "1.0"],
        ["1.5", "1.5", "0.5"],
        ["9.0", "2.0", "0.0"],
    ]
    assert "<svg" in plot.read_text()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--at", "0,1"], "'0,1': 0 is no whole number from 1 on"),
        (["--densities", "0,1"], "'0,1': 0 is not above 0"),
        (["--at", "1", "-k", "2"], "--at and -k exclude one another"),
        (["--at", "1", "--summary", "x.json"], "--at and --summary exclude one another"),
        (["--at", "1", "--format", "jsonl"], "--format jsonl: --at can be table, tsv, json"),
        (["--format", "latex"], "--format latex: lines of segments can be tsv, jsonl"),
        (["--plot", "x.svg"], "--plot draws the table of --at or --densities"),
    ],
)
def test_what_a_table_of_oracles_is_not_with(
    file: Path, flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(file, *flags) == 2
    assert said in capsys.readouterr().err


def test_lists_have_no_density(ranked: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*ranked, "--densities", "1,2") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "--densities is for lattices, and this is an n-best list; --at is for" in printed.err


def test_where_errors_are(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # the model says 'a hat', the lattice has 'the cat'
    summary = tmp_path / "summary.json"
    flags = ["--metric", "wer", "--by", "s(.)", "--top", 1, "--show", "errors"]
    assert run(file, *flags, "--summary", summary) == 0
    printed = capsys.readouterr()
    assert printed.out == "s0\t0.0\tthe cat\ns1\t0.0\tthe cat\ns2\t0.0\tthe cat\n"
    lines = printed.err.splitlines()
    assert lines[:3] == ["s0        the cat", "  oracle  the cat", "  1-best  [a] [hat]"]
    assert [line.split() for line in lines if line.startswith("1-best ")] == [
        ["1-best", "substitution", "3", "the", "a", "s0", "s1", "s2"],
    ]
    groups = lines.index("group  segments  words  1-best WER %  oracle WER %")
    assert [line.split() for line in lines[groups + 1 : groups + 4]] == [
        [place, "1", "2", "100.00", "0.00"] for place in "012"
    ]
    found = json.loads(summary.read_text())["breakdown"]
    assert found["oracle"]["errors"] == []
    assert [each["scores"] for each in found["one_best"]["groups"]] == [{"wer": 1.0}] * 3


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--by", "speaker", "--at", "1"], "--at and --by exclude one another"),
        (["--top", "3", "--corpus"], "--corpus and --top exclude one another"),
        (["--show", "all", "-q"], "--show is part of the summary, which -q leaves out"),
        (["--top", "1", "--resume", "-o", "x"], "--top and --resume exclude one another"),
        (["--by", "("], "groups by '(', expected speaker"),
        (["--by", "speaker"], "segment 's0' has no speaker before a - or _ in its id"),
    ],
)
def test_what_a_breakdown_is_not_with(
    file: Path, flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(file, *flags) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


@pytest.mark.parametrize("workers", [1, 2])
def test_all_best_sentences(
    workers: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lattice = Lattice.from_arcs(CAT, finals=[2], references=["one dog"])
    forest = Forest.from_lattice(lattice).replaced(references=["a hat sat"])
    entries = [Hypothesis(("a", "cat"), -1.0), Hypothesis(("the", "cat"), -2.0)]
    nbest = NBest.from_hypotheses([*entries, Hypothesis(("cat",), 0.0)], references=["a dog"])
    spaces: list[Space] = [lattice, forest, nbest]
    write(tmp_path / "in.jsonl", (each.replaced(id=f"s{n}") for n, each in enumerate(spaces)))
    out, plain = tmp_path / "best.jsonl", tmp_path / "plain.tsv"
    flags = ["--metric", "wer", "--workers", workers, "-q"]
    assert run(tmp_path / "in.jsonl", *flags, "--write-spaces", out) == 0
    lines = capsys.readouterr().out
    assert run(tmp_path / "in.jsonl", *flags, "-o", plain) == 0
    assert lines == plain.read_text()
    found = list(read(out))
    assert [each.id for each in found] == ["s0", "s1", "s2"]
    shown = [
        sorted(each.text for each in (space if isinstance(space, NBest) else k_best(space, 9)))
        for space in found
    ]
    assert shown == [["a cat", "a hat", "the cat", "the hat"], ["a hat"], ["a cat"]]
    assert [best(space).text for space in found] == [row[2] for row in table(lines)]


def test_what_all_best_sentences_are_not_with(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "best.jsonl"
    for flags in (["-k", 2], ["--worst"], ["--corpus"], ["--model-weight", 1], ["--top", 3]):
        assert run(file, "--write-spaces", out, *flags) == 2
        assert f"--write-spaces and {flags[0]} exclude one another" in capsys.readouterr().err
    assert run(file, "--write-spaces", out, "--at", 1) == 2
    assert "--at and --write-spaces exclude one another" in capsys.readouterr().err
    assert run(file, "--write-spaces", file) == 2
    assert "is a file that this command reads" in capsys.readouterr().err
    assert run(file, "--write-spaces", out, "--metric", "bleu") == 2
    assert "has no machine" in capsys.readouterr().err
    assert not out.exists()


def test_wildcards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.jsonl"
    write(path, [Lattice.from_arcs(CAT, finals=[2], id="s1", references=["<unk> hat"])])
    assert run(path, "--metric", "wer", "grr", "--wildcard", "<unk>", "[noise]", "-q") == 0
    assert capsys.readouterr().out == "s1\t0.0\ta hat\n"
    assert run(path, "--metric", "wer", "--normalize", "lower", "--wildcard", "<unk>", "-q") == 0
    assert capsys.readouterr().out == "s1\t0.0\ta hat\n"
    assert run(path, "--metric", "wer", "--normalize", "drop:<unk>|a", "-q") == 0
    assert capsys.readouterr().out == "s1\t0.0\ta hat\n"
    assert run(path, "--metric", "wer", "cer", "--wildcard", "<unk>") == 2
    assert "--wildcard is for wer, wrr and grr" in capsys.readouterr().err
