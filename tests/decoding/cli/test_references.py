"""References in the layouts of sclite, through the commands."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from decoding.cli.main import main
from tests.decoding.cli.commandline import CAT, command, lattice_line, words

run = command()


@pytest.fixture
def lattices(tmp_path: Path) -> Path:
    """Return three lattices of "um yes", "uh yes" and "yes", one sentence each."""
    path = tmp_path / "said.jsonl"
    path.write_text(
        lattice_line("a", [(0, 1, "um", -1.0), (1, 2, "yes", -1.0)])
        + lattice_line("b", [(0, 1, "uh", -1.0), (1, 2, "yes", -1.0)])
        + lattice_line("c", [(0, 1, "yes", -1.0)])
    )
    return path


ALTERNATIVES = ["{ um / uh / @ } yes (a)", "{ um / uh / @ } yes (b)", "{ um / uh / @ } yes (c)"]


@pytest.mark.parametrize("workers", [1, 2])
def test_every_alternative_is_right(
    tmp_path: Path, lattices: Path, workers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    refs = words(tmp_path / "refs.trn", *ALTERNATIVES)
    arguments = ("oracle", lattices, "--workers", workers, "--metric", "wer", "--refs", refs)
    assert run(*arguments) == 0
    printed = capsys.readouterr()
    assert printed.out == "a\t0.0\tum yes\nb\t0.0\tuh yes\nc\t0.0\tyes\n"
    assert "references by id" in printed.err
    wrong = words(tmp_path / "wrong.trn", *(line.replace("um", "er") for line in ALTERNATIVES))
    assert run(*arguments[:-1], wrong) == 0
    assert [float(line.split("\t")[1]) for line in capsys.readouterr().out.splitlines()] == [
        0.5, 0.0, 0.0,
    ]  # fmt: skip


def test_scores_are_against_the_best_alternative(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refs = words(tmp_path / "refs.trn", *(line.replace("(", "(u1") for line in ALTERNATIVES))
    hyps = words(tmp_path / "hyps", "u1a um yes", "u1b yes", "u1c er yes")
    assert (
        run("score", hyps, "--refs", refs, "--metric", "wer", "--segments", "--format", "json") == 0
    )
    (system,) = json.loads(capsys.readouterr().out)["systems"]
    scores = [next(iter(entry["scores"].values())) for entry in system["segment_scores"]]
    assert scores == [0.0, 0.0, 0.5]


def test_stm_with_ids_made_by_a_template(
    tmp_path: Path, lattices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refs = words(
        tmp_path / "refs.stm",
        "f A a 0.00 1.00 <o,f0,male> um yes",
        "f A b 1.00 2.00 uh yes",
        "f A c 2.00 3.00 IGNORE_TIME_SEGMENT_IN_SCORING",
    )
    arguments = ("oracle", lattices, "-q", "--metric", "wer", "--refs", refs)
    assert run(*arguments, "--refs-id", "{speaker}") == 1
    printed = capsys.readouterr()
    assert printed.out == "a\t0.0\tum yes\nb\t0.0\tuh yes\n"
    assert "refs.stm:3: 'c' is excluded from scoring" in printed.err
    assert run(*arguments) == 2
    assert (
        "its ids are such as 'f', --refs-id TEMPLATE makes others of {" in capsys.readouterr().err
    )
    assert run(*arguments, "--refs-id", "{speaker.x}") == 2
    assert "no field 'speaker.x'" in capsys.readouterr().err


def test_ctm(tmp_path: Path, lattices: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refs = words(
        tmp_path / "refs.ctm",
        *(f"{name} 1 {begin} 0.2 {word} 0.9"
          for name, text in (("a", "um yes"), ("b", "uh yes"), ("c", "yes"))
          for begin, word in zip(("0.00", "0.50"), text.split(), strict=False)),
    )  # fmt: skip
    assert run("oracle", lattices, "-q", "--metric", "wer", "--refs", refs) == 0
    assert capsys.readouterr().out == "a\t0.0\tum yes\nb\t0.0\tuh yes\nc\t0.0\tyes\n"


def test_errors_say_where(
    tmp_path: Path, lattices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refs = words(tmp_path / "refs.trn", "um yes (a)", "{ uh / yes (b)", "yes (c)")
    for format in ("auto", "trn"):
        assert run("oracle", lattices, "--refs", refs, "--refs-format", format) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert f"{refs}:2: a {{ without its }}" in printed.err


def test_more_sentences_than_can_be_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text(lattice_line("a", [(n, n + 1, "b", -1.0) for n in range(100)]))
    refs = words(tmp_path / "refs.trn", "{ a / b } " * 100 + "(a)")
    assert run("oracle", path, "-q", "--metric", "wer", "--refs", refs) == 0
    assert capsys.readouterr().out.startswith("a\t0.0\tb b b")


def test_ids_of_espnet(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared_data / "librispeech-nbest"
    few = tmp_path / "few.tsv"
    with gzip.open(folder / "dev_clean.nbest.tsv.gz", "rb") as lists:
        few.write_bytes(b"".join(islice(lists, 1000)))
    arguments = ("oracle", few, "--input-format", "nbest-tsv", "--metric", "wer", "--refs")
    trn = folder / "dev_clean.score_wer.ref.trn"
    assert run(*arguments, trn) == 2
    told = capsys.readouterr().err
    assert "which the id template {utterance} drops (--refs-id {utterance})" in told
    assert run(*arguments, trn, "--refs-id", "{utterance}") == 0
    by_trn = capsys.readouterr().out
    assert run(*arguments, folder / "dev_clean.ref.txt") == 0
    assert capsys.readouterr().out == by_trn


@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_line_for_an_id_makes_no_words_of_ids(
    tmp_path: Path, lattices: Path, workers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    refs = words(tmp_path / "text", "a um yes", "b uh yes", "b yes")
    arguments = ("oracle", lattices, "--workers", workers, "--metric", "wer", "--refs", refs)
    assert run(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"{refs}:3: a second line for the id 'b', which {refs}:2 has already" in printed.err
    assert "--refs-format kaldi takes" in printed.err
    assert "--refs-format plain takes" in printed.err
    assert run(*arguments, "--refs-format", "plain") == 0


@pytest.mark.parametrize("command", ["oracle", "mbr", "convert"])
def test_one_line_that_may_begin_with_an_id(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "said.jsonl"
    source.write_text(lattice_line("s035", [(0, 1, "um", -1.0), (1, 2, "yes", -1.0)]))
    refs, out = words(tmp_path / "text", "abc um yes"), tmp_path / "out.jsonl"
    arguments = (command, source, "-o", out, "--refs", refs)
    assert run(*arguments) == 2
    told = capsys.readouterr().err
    assert f"{refs}: no line begins with 's035'" in told
    assert "--refs-format kaldi takes the first word of each line for its id" in told
    assert "--refs-format plain takes line i for segment i" in told
    assert not out.exists()
    assert run(*arguments, "--refs-format", "plain") == 0
    # a segment without a name of its own has no line but by its number
    source.write_text(lattice_line("", [(0, 1, "um", -1.0), (1, 2, "yes", -1.0)]))
    assert run(command, source, "-o", tmp_path / "more.jsonl", "--refs", refs) == 0


def test_one_line_of_a_system_that_begins_with_another_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refs = words(tmp_path / "text", "abc um yes")
    assert run("score", words(tmp_path / "hyps", "s035 um yes"), "--refs", refs) == 2
    assert "--refs-format plain takes line i for segment i" in capsys.readouterr().err
    assert run("score", words(tmp_path / "plain", "um yes"), "--refs", refs) == 0


@pytest.mark.parametrize("command", ["score", "compare"])
def test_ids_of_systems_are_not_taken_for_words(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ["um yes", "um no", "no"]
    plain, refs = words(tmp_path / "plain", *said), words(tmp_path / "refs", *said)
    by_id = words(tmp_path / "text", *(f"utt-{n} {line}" for n, line in enumerate(said)))
    for systems in ([plain, by_id], [by_id, plain]):
        arguments = (command, *systems, "--refs", refs, "--metric", "wer")
        assert run(*arguments) == 2
        told = capsys.readouterr().err
        assert f"{by_id}: lines begin with what look like ids ('utt-0')" in told
        assert "--refs-format plain takes line i for segment i" in told
        assert run(*arguments, "--refs-format", "plain") == 0
        capsys.readouterr()
    # the other way round
    assert run(command, plain, plain, "--refs", by_id) == 2
    assert "segments have no ids, though lines begin with" in capsys.readouterr().err


def test_a_system_that_is_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = words(tmp_path / "empty")
    for line in ("u1 um yes", "um yes"):
        assert run("score", empty, "--refs", words(tmp_path / "refs", line)) == 2
        assert capsys.readouterr().err == f"fstmetrics: error: {empty}: 0 lines for 1 references\n"


def test_scores_with_an_id_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = ["u1 um yes", "u2 uh yes", "u3 yes"]
    bad = ["u1 um yes", "u2 uh yes", "u2 yes"]
    for hyps, refs in ((good, bad), (bad, good)):
        files = words(tmp_path / "hyps", *hyps), words(tmp_path / "refs", *refs)
        assert run("score", files[0], "--refs", files[1], "--metric", "wer") == 2
        printed = capsys.readouterr()
        odd = files[hyps is good]
        assert f"{odd}:3: a second line for the id 'u2', which {odd}:2 has already" in printed.err


#: the commands that can do nothing without references; features are for train
NEEDS = {
    "oracle": [],
    "oracle --at": ["--at", "1,2"],
    "choices": [],
    "report": [],
    "calibrate": [],
    "tune": ["--scale", "1"],
    "tune-mbr": [],
    "train": ["--metric", "wer"],
}


def _corpus(path: Path, later: int, **fields: object) -> Path:
    """Write twenty segments without references, and some that have them."""
    arcs = [(*arc, {"lm": arc[3]}) for arc in CAT]
    lines = [lattice_line(f"u{n}", arcs, **fields) for n in range(20)]
    lines += [lattice_line(f"v{n}", arcs, ["the cat"]) for n in range(later)]
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("needs", NEEDS)
def test_that_the_first_segments_have_no_references_is_told_at_once(
    needs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = _corpus(tmp_path / "a.jsonl", 4, ref="the cat", note=3), tmp_path / "out"
    argv = [needs.split()[0], file, "-o", out, *NEEDS[needs]]
    assert run(*argv) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{file}:1: none of the first 16 segments has references" in line
    assert "('refs' or 'references' of JSON lines and Arrow); other keys are 'ref', 'note'" in line
    assert "give them by --refs FILE; if only later ones have, --partial-refs goes on" in line
    assert not out.exists()
    # no segment that has them is lost to those who know that there are some
    assert run(*argv, "--partial-refs") == 1
    assert "segment 'u0': no references" in capsys.readouterr().err
    assert out.exists()


@pytest.mark.parametrize("command", ["oracle", "mbr", "convert"])
def test_files_that_have_no_id_of_the_first_segments(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = _corpus(tmp_path / "a.jsonl", 4), tmp_path / "out.jsonl"
    refs = words(tmp_path / "refs", *(f"v{n} the cat" for n in range(4)))
    argv = [command, file, "-o", out, "--refs", refs, "--refs-format", "kaldi"]
    assert run(*argv) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{refs}: no reference for 'u0' in 4 lines" in line
    assert "nor for any other of the first 16 segments; it has 'v0', 'v1', 'v2'; " in line
    assert not out.exists()
    assert run(*argv, "--partial-refs") == 1
    assert out.read_text().count("\n") == 4


def test_references_by_their_long_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(lattice_line("x", CAT, references=["the cat"]))
    assert run("oracle", file, "--metric", "wer") == 0
    assert capsys.readouterr().out == "x\t0.0\tthe cat\n"


def test_variants_in_brackets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words(tmp_path / "refs", "u1 [Anne|Ann] is [going to|gonna] walk", "u2 [um|] no [noise]")
    words(tmp_path / "hyp", "u1 Ann is gonna run", "u2 no [noise]")
    command = ["score", str(tmp_path / "hyp"), "--refs", str(tmp_path / "refs"), "--metric", "wer"]
    assert main([*command, "--refs-variants"]) == 0
    assert "%WER 16.67 [ 1 / 6, 0 ins, 0 del, 1 sub ]" in capsys.readouterr().out
    assert main(command) == 0
    assert "%WER 16.67" not in capsys.readouterr().out
    words(tmp_path / "refs", "u1 [Anne|Ann], is", "u2 no")
    assert main([*command, "--refs-variants"]) == 1
    problem = "segment 'u1': the reference has '[Anne|Ann],': variants stand between blanks"
    assert problem in capsys.readouterr().err
