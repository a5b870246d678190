"""``fstmetrics mbr``."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from decoding import Linear, Pairwise, mbr, mbr_kbest
from decoding import oracle as find_oracle
from decoding.cli.running import SENTENCE_ORACLES
from fstmetrics import BLEU, GRR, WER, corpus_score
from lattices import Forest, Lattice
from lattices.formats import read, write
from tests.decoding.cli.commandline import CAT, cats, command, lattice_line, words

LISTS = """\
0 ||| a cat sat ||| f= 1 ||| -0.1
0 ||| the cat sat ||| f= 1 ||| -0.3
0 ||| the cat lay ||| f= 1 ||| -0.4
1 ||| one two three ||| f= 1 ||| -1
1 ||| one two ||| f= 1 ||| -3
"""


run = command("mbr")


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    path = tmp_path / "lists.nbest"
    path.write_text(LISTS)
    return path


@pytest.fixture
def refs(tmp_path: Path) -> Path:
    return words(tmp_path / "refs.txt", "the cat lay", "one two three")


def test_tsv_and_the_table(lists: Path, refs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lists, "--refs", refs, "--metric", "wer", "grr") == 0
    printed = capsys.readouterr()
    rows = [line.split("\t") for line in printed.out.splitlines()]
    found = [mbr(space, WER()) for space in read(lists)]
    assert rows == [[str(n), repr(each.expected), each.text] for n, each in enumerate(found)]
    lines = [line.split() for line in printed.err.splitlines()]
    assert lines[0] == ["metric", "1-best", "mbr", "own", "oracle"]
    assert lines[1] == ["WER", "%", "33.33", "16.67", "0.00"]
    assert lines[2][0] == "4-GRR"
    assert printed.err.splitlines()[3] == f"4-GRR is {GRR()}"
    assert printed.err.splitlines()[4] == "%WER 33.33 [ 2 / 6, 0 ins, 0 del, 2 sub ] 1-best"
    assert "%WER 16.67 [ 1 / 6, 0 ins, 0 del, 1 sub ] mbr" in printed.err.splitlines()
    assert "%SER 50.00 [ 1 / 2 ] mbr" in printed.err.splitlines()
    assert printed.err.splitlines()[-2] == "2 segments, 0 failed"
    assert printed.err.splitlines()[-1].endswith("method pairwise")


def test_oracles_in_a_summary_are_each_metric_s_own(
    lists: Path, refs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.json"
    argv = [lists, "--refs", refs, "--metric", "wer", "bleu:order=2", "--summary", summary]
    assert run(*argv) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].split("  ")[-1] == "own sentence oracles"
    assert SENTENCE_ORACLES in lines
    written = json.loads(summary.read_text())
    assert written["decomposes"] is False
    assert all("oracle" not in scores for scores in written["metrics"].values())
    own = written["metrics"][str(BLEU(order=2))]["own_oracle"]
    found = [
        find_oracle(space, BLEU(order=2).against([text])).tokens
        for space, text in zip(read(lists), refs.read_text().splitlines(), strict=True)
    ]
    each = [[text] for text in refs.read_text().splitlines()]
    assert own == corpus_score(BLEU(order=2), found, each)
    assert run(*argv[:4], "bleu:order=2") == 0
    assert capsys.readouterr().err.splitlines()[0].split("  ")[-1] == "sentence oracles"
    assert run(*argv, "--no-oracle") == 0
    assert SENTENCE_ORACLES not in capsys.readouterr().err


def test_json_lines_and_summary(
    lists: Path, refs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.json"
    flags = ["--metric", "bleu:order=2", "--format", "jsonl", "-k", 2, "--scale", 3]
    assert run(lists, *flags, "--refs", refs, "--summary", summary, "-q") == 0
    printed = objects(capsys.readouterr().out)
    expected = [
        each for space in read(lists) for each in mbr_kbest(space, BLEU(order=2), scale=3.0, k=2)
    ]
    assert [row["text"] for row in printed] == [each.text for each in expected]
    assert [row["expected"] for row in printed] == [each.expected for each in expected]
    assert [row["rank"] for row in printed] == [1, 2, 1, 2]
    first = printed[0]
    assert first["scores"] == {
        str(BLEU(order=2)): BLEU(order=2).against(["the cat lay"]).score(first["words"])
    }
    assert (first["candidates"], first["evidence"], first["exact"]) == (3, 3, True)
    told = json.loads(summary.read_text())
    chosen = [row["words"] for row in printed if row["rank"] == 1]
    assert told["metrics"][str(BLEU(order=2))]["mbr"] == corpus_score(
        BLEU(order=2), chosen, [["the cat lay"], ["one two three"]]
    )
    assert (told["segments"], told["judged"], told["scale"]) == (2, 2, 3.0)


def test_without_references(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lists, "--metric", "wer") == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 2
    assert printed.err.splitlines()[0] == "2 segments, 0 failed, 2 without references"


def test_lattices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cats(tmp_path / "cats.jsonl")
    assert run(file, "--metric", "wer") == 0
    printed = capsys.readouterr()
    assert [line.split("\t")[2] for line in printed.out.splitlines()] == ["a hat"] * 3
    assert printed.err.splitlines()[-1].endswith("method edit") or "not proven" in printed.err
    # metrics that cannot search leave the oracle unknown
    for metric, oracle in (("bleu:order=1", "1.0000"), ("ter", "-"), ("bleu:tokenize=intl", "-")):
        assert run(file, "--metric", metric, "--method", "pairwise") == 0
        assert capsys.readouterr().err.splitlines()[1].split()[-1] == oracle


def test_workers_give_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cats(tmp_path / "cats.jsonl", 40)
    printed = []
    for workers in (1, 2):
        assert run(file, "--metric", "grr", "--samples", 5, "--workers", workers, "-q") == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_evidence_and_systems(
    lists: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.nbest"
    other.write_text("0 ||| a dog sat ||| f= 1 ||| 0\n1 ||| one ||| f= 1 ||| 0\n")
    assert run(lists, "--metric", "wer", "--evidence", other, "-q") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows == [["0", repr(1 / 3), "a cat sat"], ["1", "1.0", "one two"]]
    flags = ["--systems", other, "--system-weights", "0.1", "0.9"]
    assert run(lists, "--metric", "wer", "-q", *flags) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    spaces = list(zip(read(lists), read(other), strict=True))
    expected = [mbr(pair, WER(), system_weights=[0.1, 0.9]) for pair in spaces]
    assert [row[2] for row in rows] == [each.text for each in expected] == ["a dog sat", "one"]


def test_a_segment_without_evidence_fails_alone(
    lists: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.nbest"
    other.write_text("1 ||| one ||| f= 1 ||| 0\n")
    assert run(lists, "--metric", "wer", "--evidence", other) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("1\t")
    assert "there is no segment '0' in the evidence" in printed.err


def test_options_of_methods(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lists, "--metric", "wer", "--set", "uniform=true", "--candidates", 1, "-q") == 0
    found = [
        mbr(space, WER(), method=Pairwise(uniform=True, candidates=1)) for space in read(lists)
    ]
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows == [[str(n), repr(each.expected), each.text] for n, each in enumerate(found)]
    theta = "theta=-0.1/0.2/0.3/0.4/0.5"
    assert run(lists, "--metric", "wer", "--method", "linear", "--set", theta, "-q") == 0
    found = [mbr(space, method=Linear(theta=[-0.1, 0.2, 0.3, 0.4, 0.5])) for space in read(lists)]
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[2] for row in rows] == [each.text for each in found]


def test_the_k_best_of_forests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -0.1), (0, 1, "the", -0.3), (1, 2, "cat", 0.0), (1, 2, "hat", -2.0)],
        finals=[2], id="s1",
    )  # fmt: skip
    path = tmp_path / "forests.jsonl"
    write(path, [Forest.from_lattice(lattice)])
    assert run(path, "--method", "linear", "-k", 3, "--format", "jsonl", "-q") == 0
    printed = objects(capsys.readouterr().out)
    expected = mbr_kbest(lattice, k=3, method="linear")
    assert [row["text"] for row in printed] == [each.text for each in expected]
    assert [row["rank"] for row in printed] == [1, 2, 3]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--method", "best"], "no method named 'best'"),
        (["--set", "nothing=1"], "method pairwise has no option '--set nothing'"),
        (["--method", "edit", "--samples", "3"], "method edit has no option '--samples'"),
        (["--set", "samples=3", "--samples", "3"], "samples is given twice"),
        (["--evidence", "-"], "not standard input"),
        (["--metric", "bleu", "--scale", "-1"], "a scale is a finite number from 0 on"),
        (["--set", "evidence_size=1e3"], "--set evidence_size is a whole number, not '1e3'"),
        (["--set", "uniform=2"], "--set uniform is true or false, not '2'"),
        (["--method", "exact", "--set", "budget=1.5"], "--set budget is a whole number, not '1.5'"),
        (["--method", "edit", "--set", "iterations=9999999999"], "is at most 2147483647"),
        (["--method", "linear", "--set", "word_penalty=x"], "word_penalty is a number, not 'x'"),
        (["--method", "linear", "--set", "theta=x"], "theta is a list of numbers, not 'x'"),
        (["--method", "linear", "--set", "theta=1"], "theta has one number for words and others"),
        (["--method", "linear:p=x"], "--set p is a number, not 'x'"),
        (["--method", "linear:p=1", "--set", "p=2"], "--set p is given twice"),
        (["--method", "linear", "--set", "r=1e-320"], "give factors that are not finite"),
        (
            ["--method", "edit", "--metric", "wer", "--normalize", "lower"],
            "--method edit has an objective of its own",
        ),
    ],
)
def test_what_is_refused(
    flags: list[str], message: str, lists: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(lists, *flags) == 2
    assert message in capsys.readouterr().err


def test_segments_that_only_another_system_has_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("u1 the cat\n")
    second.write_text("u1 a cat\nu9 more words\n")
    assert run("--systems", first, second) == 0
    told = capsys.readouterr().err
    assert f"{second}: 1 segments that the first system lacks are left out, such as 'u9'" in told
    assert run("--systems", first, first) == 0
    assert "left out" not in capsys.readouterr().err


def test_alternatives_of_equal_posteriors_come_by_their_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # "z" is before "b" in the vocabulary
    arcs = [(0, 1, "the", 0.0), (0, 1, "z", -1.0), (0, 1, "b", -1.0)]
    path = tmp_path / "ties.jsonl"
    write(path, [Lattice.from_arcs(arcs, finals=[1], id="s1")])
    assert run(path, "--metric", "wer", "--format", "jsonl", "--confidences", "-q") == 0
    ((word,),) = [row["confidences"] for row in objects(capsys.readouterr().out)]
    assert [other for other, _ in word["alternatives"]] == ["b", "z"]


def test_resuming(tmp_path: Path, refs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that is interrupted goes on, and ends as if it had not been."""
    from decoding.corpus.table import Totals

    path = tmp_path / "many.jsonl"
    path.write_text("".join(lattice_line(f"s{n}", CAT, ["the cat"]) for n in range(300)))
    whole, parts = tmp_path / "whole.tsv", tmp_path / "parts.tsv"
    flags = ["--metric", "grr", "wer", "--method", "pairwise"]
    summaries = [tmp_path / "one.json", tmp_path / "two.json"]
    assert run(path, *flags, "-o", whole, "--summary", summaries[0], "-q") == 0
    original, done = Totals.add, 0

    def interrupted(self: Any, outcome: Any) -> None:
        nonlocal done
        done += 1
        if done > 250:
            raise KeyboardInterrupt
        original(self, outcome)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Totals, "add", interrupted)
        assert run(path, *flags, "-o", parts, "-q") == 130
    assert run(path, *flags, "-o", parts, "--resume", "--summary", summaries[1], "-q") == 0
    assert parts.read_text() == whole.read_text()
    one, two = (json.loads(each.read_text())["metrics"] for each in summaries)
    assert one == two


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        # an approximation by design: nothing to worry about
        (["--method", "edit"], False),
        (["--method", "linear", "--metric", "bleu"], False),
        (["--method", "exact", "--set", "budget=1", "--samples", "2"], True),
        (["--method", "search"], False),
    ],
)
def test_only_what_should_be_exact_says_that_it_is_not(
    flags: list[str], told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cats.jsonl"
    path.write_text(lattice_line("s0", CAT))
    metric = [] if "--metric" in flags else ["--metric", "wer"]
    assert run(path, *metric, *flags) == 0
    shown = capsys.readouterr().err
    assert "not proven" not in shown
    assert ("perhaps not the best there are" in shown) == told


def test_confidences_and_alternatives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    # two places that do not depend on each other: posteriors are those of each alone
    path.write_text(lattice_line("s1", CAT, times=[0.0, 0.25, 0.75]))
    flags = [path, "--metric", "wer", "-q", "--confidences"]
    assert run(*flags, "--format", "jsonl") == 0
    first, second = json.loads(capsys.readouterr().out)["confidences"]
    article, noun = 1 / (1 + math.exp(-0.8)), 1 / (1 + math.exp(-0.5))
    assert (first["word"], second["word"]) == ("a", "hat")
    assert first["confidence"] == pytest.approx(article)
    assert second["confidence"] == pytest.approx(noun)
    ((other, posterior),) = first["alternatives"]
    assert (other, posterior) == ("the", pytest.approx(1 - article))
    assert (first["begin"], first["end"], second["end"]) == (0.0, 0.25, 0.75)
    assert run(*flags) == 2
    assert "--confidences are for --format jsonl, not tsv" in capsys.readouterr().err
    assert run(*flags, "--format", "jsonl", "--method", "pairwise") == 2
    assert "method pairwise has no confidences; use --method edit" in capsys.readouterr().err


UTILITY = """
def common(pairs):
    with open("calls.txt", "a") as file:
        file.writelines(f"{pair}\\n" for pair in pairs)
    return [len({*a.split()} & {*b.split()}) / len({*a.split()} | {*b.split()}) for a, b in pairs]

def edits(pairs):
    return [1.0 - each for each in common(pairs)]


def copies(triples):
    return [hypothesis == source for hypothesis, _, source in triples]
"""


@pytest.fixture
def utility(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a function in a module of the current directory, which has lattices."""
    (tmp_path / "utilities_of_mbr.py").write_text(UTILITY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    cats(tmp_path / "a.jsonl", 4)
    return "python:utilities_of_mbr:common"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_function_of_ones_own(
    utility: str, workers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same as without the cache; with it no pair is scored twice, by any run."""
    flags = ["a.jsonl", "--metric", utility, "-q", "--no-oracle", "--workers", workers]
    assert run(*flags, "-o", "plain.tsv") == 0
    Path("calls.txt").unlink()
    assert run(*flags, "--cache", "scores.sqlite", "-o", "one.tsv") == 0
    calls = Path("calls.txt").read_text().splitlines()
    # four sentences against four, and the chosen and the first against the reference
    assert set(calls) >= {f"({a!r}, {b!r})" for a in SENTENCES for b in SENTENCES}
    if workers == 1:
        assert len(calls) == len(set(calls)) == 16
    assert run(*flags, "--cache", "scores.sqlite", "-o", "two.tsv") == 0
    assert Path("calls.txt").read_text().splitlines() == calls
    plain, one, two = (Path(f"{name}.tsv").read_text() for name in ("plain", "one", "two"))
    assert plain == one == two


def test_edits_or_rates(tmp_path: Path) -> None:
    texts = ("a", "a b c d", "a b c x", "a b y d")
    path, out = tmp_path / "n.jsonl", tmp_path / "out.tsv"
    row = {"id": "0", "nbest": [{"words": text, "score": 0.0} for text in texts]}
    path.write_text(json.dumps(row) + "\n")
    for flags, line in (
        ([], "0\t0.5625\ta\n"),
        (["--set", "normalised=false"], "0\t1.25\ta b c d\n"),
    ):
        assert run(path, "--metric", "wer", "--method", "pairwise", *flags, "-q", "-o", out) == 0
        assert out.read_text() == line


def test_sources_are_part_of_what_is_scored_and_cached(
    utility: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Segments with the same sentences and other sources, in one cache."""
    entries = [{"text": "ein Hut", "score": 0.0}, {"text": "zwei Hüte", "score": 0.0}]
    rows = [
        {"id": str(place), "nbest": entries, "refs": ["ein Hut"], **src}
        for place, src in enumerate(
            [{"src": "ein Hut"}, {"src": "zwei Hüte"}, {"source": "zwei Hüte"}, {}]
        )
    ]
    Path("n.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    metric = utility.replace(":common", ":copies,source=true")
    flags = ["n.jsonl", "--metric", metric, "--cache", "scores.sqlite", "-q", "-o"]
    for out in ("one.tsv", "two.tsv"):
        assert run(*flags, out) == 1
        assert capsys.readouterr().err.count("takes the source of a segment") == 1
    one = Path("one.tsv").read_text()
    assert [line.split("\t")[2] for line in one.splitlines()] == [
        "ein Hut", "zwei Hüte", "zwei Hüte",
    ]  # fmt: skip
    assert Path("two.tsv").read_text() == one


SENTENCES = ["a hat", "a cat", "the hat", "the cat"]


def test_the_matrix_of_all_scores(utility: str) -> None:
    flags = ["a.jsonl", "-q", "--matrix", "m.jsonl", "--format", "jsonl", "-o", "out.jsonl"]
    assert run(*flags, "--metric", utility, "--workers", "2") == 0
    rows = [json.loads(line) for line in Path("m.jsonl").read_text().splitlines()]
    found = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"s{number}" for number in range(4)]
    for row, best in zip(rows, found, strict=True):
        assert row["metric"] == utility
        assert sorted(row["candidates"]) == sorted(row["evidence"]) == sorted(SENTENCES)
        assert sum(row["weights"]) == pytest.approx(1.0)
        expected = np.array(row["scores"]) @ row["weights"]
        assert best["expected"] == pytest.approx(expected.max())
        assert best["text"] == row["candidates"][expected.argmax()]
        place = {text: number for number, text in enumerate(row["evidence"])}
        for text, scores in zip(row["candidates"], row["scores"], strict=True):
            assert scores[place["a hat"]] == len({*text.split()} & {"a", "hat"}) / len(
                {*text.split()} | {"a", "hat"}
            )
    # lower is better: the same choice by what is not shared
    assert run("a.jsonl", "--metric", f"{utility[:-6]}edits,higher_is_better=false", "-q",
               "--format", "jsonl", "-o", "edits.jsonl") == 0  # fmt: skip
    edits = [json.loads(line) for line in Path("edits.jsonl").read_text().splitlines()]
    for one, other in zip(found, edits, strict=True):
        assert (one["text"], one["expected"]) == (
            other["text"],
            pytest.approx(1 - other["expected"]),
        )


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--cache", "c", "--metric", "wer"], "--cache is for scores of python:MODULE:FUNCTION"),
        (["--cache", "utilities_of_mbr.py", "--metric", "{}"],
         "utilities_of_mbr.py: no cache of scores (file is not a database)"),
        (["--metric", "python:utilities_of_mbr:nope"], "is not there"),
        (["--matrix", "m", "--method", "edit", "--metric", "wer"],
         "--matrix is of --method pairwise"),
        (["--matrix", "m", "--resume", "-o", "x"], "--resume goes on with results"),
        (["--matrix", "m", "-o", "m"], "-o and --matrix are the same file"),
        (["--matrix", "a.jsonl"], "a.jsonl"),
        (["--matrix", "m", "--set", "aggregate=true", "--metric", "bleu"],
         "matrix is of all pairs"),
    ],
)  # fmt: skip
def test_wrong_caches_and_matrices(
    utility: str, flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("a.jsonl").read_text()
    assert run("a.jsonl", *(flag.format(utility) for flag in flags)) == 2
    error = capsys.readouterr().err
    assert said in error or said.replace("-o and --matrix", "--matrix and -o") in error
    assert not Path("m").exists()
    assert Path("a.jsonl").read_text() == before


OF_SOURCES = """
import numpy as np

class Model:
    def encode(self, texts):
        return np.array([[len(text)] for text in texts])

    def __call__(self, hypotheses, references, sources):
        return -abs(hypotheses - sources)[:, 0] - 0.0 * references[:, 0]

model = Model()

def longer(hypotheses, references, sources):
    return [len(one) + 0 * len(other) - len(source)
            for one, other, source in zip(hypotheses, references, sources)]
"""


@pytest.mark.parametrize("by_id", [False, True])
def test_sources_of_a_file_and_what_is_counted(
    lists: Path,
    tmp_path: Path,
    by_id: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    # for another module of this name
    monkeypatch.delitem(sys.modules, "my_model", raising=False)
    Path("my_model.py").write_text(OF_SOURCES)
    sources = ["1 ein ein", "0 die katze la"] if by_id else ["die katze la", "ein ein"]
    file = words(tmp_path / "sources.txt", *sources)
    metric = ("--metric", "python:my_model:model,batch=4")
    assert run(lists, "--sources", file, *metric, "--summary", "summary.json") == 0
    printed = capsys.readouterr()
    assert [line.split("\t")[2] for line in printed.out.splitlines()] == ["the cat sat", "one two"]
    counted = json.loads(Path("summary.json").read_text())["utility"]
    assert counted == {"pairs": 13, "cached": 0, "calls": 4, "encoded": 7, "encodings": 2}
    line = "13 pairs asked for, 0 of them in the cache; 4 calls, 7 texts encoded in 2"
    assert line in printed.err
    cached = ("--cache", "cache", "--metric", "python:my_model:longer,batch=4")
    for known in (0, 13):
        assert run(lists, "--sources", file, *cached) == 0
        assert f"13 pairs asked for, {known} of them" in capsys.readouterr().err
    short = words(tmp_path / "short.txt", sources[1])
    assert run(lists, "--sources", short, *metric) == (1 if by_id else 2)
    assert "no source for" in capsys.readouterr().err
    assert run(lists, *metric) == 2
    assert "takes the source of a segment, and this one has none" in capsys.readouterr().err
    long = words(tmp_path / "long.txt", "eins", "zwei x", "drei y")
    assert run(lists, "--sources", long, *metric) == 2
    assert "3 lines for 2 segments" in capsys.readouterr().err
