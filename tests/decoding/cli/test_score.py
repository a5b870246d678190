"""``fstmetrics score``: intervals, LaTeX, trn and ctm; the rest is in test_cli_others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from decoding.cli.main import main
from decoding.cli.tables import latex
from fstmetrics import GRR, WER, corpus_stats
from fstmetrics.statistics import bootstrap
from tests.decoding.cli.commandline import command, words

REFS = ["the cat sat", "on the mat", "and slept there", "all day long"]
OUTPUTS = ["the hat sat", "on mat", "and slept there", "all the day long"]


run = command()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return words(tmp_path / "my_system", *OUTPUTS), words(tmp_path / "refs", *REFS)


def expected(metric, **options):
    stats = corpus_stats(metric, OUTPUTS, [[reference] for reference in REFS])
    return bootstrap(metric, stats, **options)


def test_intervals_as_a_table(files, capsys: pytest.CaptureFixture[str]) -> None:
    system, refs = files
    flags = ["--metric", "wer", "--metric", "grr", "--intervals", "--samples", "50", "--seed", "3"]
    assert run("score", system, "--refs", refs, *flags, "--level", "0.8") == 0
    header, row, _, signature, note, *rates = capsys.readouterr().out.splitlines()
    assert header.split() == ["system", "segments", "words", "WER", "%", "4-GRR", "%"]
    assert signature == "4-GRR is grr:n=4,alpha=1,beta=0"
    for metric in (WER(), GRR()):
        judge = expected(metric, samples=50, seed=3, level=0.8)
        low, high = 100 * judge.interval.low, 100 * judge.interval.high
        assert f"{100 * judge.score:.2f} [{low:.2f}, {high:.2f}]" in row
    assert rates == [
        f"%WER 25.00 [ 3 / 12, 1 ins, 1 del, 1 sub ] {system}",
        f"%SER 75.00 [ 3 / 4 ] {system}",
        f"%4-GRR 54.17 [ 13 / 24, 1 ins, 1 del, 1 sub ] {system}",
    ]
    assert note.endswith("80 % intervals by 50 resamples of the segments, seed 3")


def test_intervals_as_tsv_and_json(files, capsys: pytest.CaptureFixture[str]) -> None:
    system, refs = files
    flags = ["--metric", "wer", "--intervals", "--samples", "50"]
    assert run("score", system, "--refs", refs, *flags, "--format", "tsv") == 0
    one = expected(WER(), samples=50)
    header, row = capsys.readouterr().out.splitlines()
    assert header == "system\tsegments\twer\twer low\twer high"
    assert row == f"{system}\t4\t{one.score}\t{one.interval.low}\t{one.interval.high}"
    assert run("score", system, "--refs", refs, *flags, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["resampling"] == {"method": "bootstrap", "samples": 50, "seed": 0, "level": 0.95}
    assert found["systems"][0]["intervals"] == {
        "wer": {
            "low": one.interval.low,
            "high": one.interval.high,
            "standard_error": one.standard_error,
        }
    }
    assert found["systems"][0]["scores"] == {"wer": one.score}


def test_latex(files, capsys: pytest.CaptureFixture[str]) -> None:
    system, refs = files
    flags = ["--metric", "wer", "--format", "latex"]
    assert run("score", system, "--refs", refs, *flags) == 0
    escaped = str(system).replace("_", r"\_")
    assert [line for line in capsys.readouterr().out.splitlines() if line[0] != "%"] == [
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"system & segments & words & WER \% \\",
        r"\midrule",
        rf"{escaped} & $4$ & $12$ & $25.00$ \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert run("score", system, "--refs", refs, *flags, "--intervals", "--fractions") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("% fstmetrics ")
    assert f"${expected(WER()).score:.4f}$ ${expected(WER()).interval}$" in printed
    assert run("score", system, "--refs", refs, *flags, "--segments") == 0
    assert rf"{escaped} & $2$ & $33.33$ \\" in capsys.readouterr().out


def test_latex_escapes() -> None:
    cells = [r"a\b_{c}^", "50 % & $5 #1", "[x]", "<a|b>", "1.0e-05", "+0.1 [-1, 2]", ""]
    line = latex(["n"] * len(cells), [cells]).splitlines()[4]
    assert line == (
        r"a\textbackslash{}b\_\{c\}\textasciicircum{} & 50 \% \& \$5 \#1 & {}[x] & "
        r"\textless{}a\textbar{}b\textgreater{} & $1.0e-05$ & $+0.1$ $[-1, 2]$ &  \\"
    )


@pytest.mark.parametrize("format", ["tsv", "latex"])
def test_segments_have_no_intervals(format, files, capsys: pytest.CaptureFixture[str]) -> None:
    system, refs = files
    flags = ["--segments", "--intervals", "--format", format]
    assert run("score", system, "--refs", refs, *flags) == 2
    assert "only systems have intervals" in capsys.readouterr().err


def test_one_segment_has_no_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system, refs = words(tmp_path / "one", "a"), words(tmp_path / "refs", "a b")
    out = tmp_path / "out"
    assert run("score", system, "--refs", refs, "--intervals", "-o", out) == 2
    assert "1 segments, expected 2 or more" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    "flags", [["--level", "1"], ["--level", "x"], ["--samples", "0"], ["--seed", "-1"]]
)
def test_numbers_outside_their_range(flags, files, capsys: pytest.CaptureFixture[str]) -> None:
    system, refs = files
    assert run("score", system, "--refs", refs, "--intervals", *flags) == 2
    assert f"argument {flags[0]}" in capsys.readouterr().err


# transcripts of sclite


TRN = ["and slept there (s-03)", "the hat sat (s-01)", "on mat (s-02)", "(s-04)"]


@pytest.mark.parametrize("flags", [[], ["--input-format", "trn"]])
@pytest.mark.parametrize("layout", ["trn", "kaldi"])
def test_trn(flags, layout, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "hyp.trn", *TRN)
    numbered = list(enumerate(REFS, start=1))
    by_layout = {
        "trn": [f"{reference} (s-0{n})" for n, reference in numbered],
        "kaldi": [f"s-0{n} {reference}" for n, reference in numbered],
    }
    refs = words(tmp_path / "refs", *by_layout[layout])
    shown = ["--metric", "wer", "--segments", "--format", "tsv"]
    assert run("score", system, "--refs", refs, *shown, *flags) == 0
    rows = [line.split("\t")[1:] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["s-03", "0.0"], ["s-01", repr(1 / 3)], ["s-02", repr(1 / 3)], ["s-04", "1.0"]]


def test_trn_with_other_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "hyp.trn", "the hat sat (s1-s1-u1)", "on mat (s1-s1-u2)")
    refs = words(tmp_path / "ref.trn", "the cat sat (s1-s1-u1)", "on the mat (s1-s1-u2)")
    shown = ["--metric", "wer", "--segments", "--format", "tsv", "--refs-id", "{utterance}"]
    assert run("score", system, "--refs", refs, *shown) == 0
    rows = [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == ["s1-u1", "s1-u2"]


def test_ctm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "hyp.ctm", "u1 1 0.5 0.2 hat", "u1 1 0.1 0.2 the", "u2 1 0.0 0.3 on")
    refs = words(tmp_path / "text", "u1 the cat", "u2 on")
    shown = ["--metric", "wer", "--input-format", "ctm"]
    assert run("score", system, "--refs", refs, *shown) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[1:4] == ["2", "3", "33.33"]


def test_sentences_in_brackets_are_no_trn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    system = words(tmp_path / "one", "he left (again)", "she left (again)")
    refs = words(tmp_path / "refs", "he left (once)", "she left (again)")
    flags = ["--refs-format", "plain", "--metric", "wer"]
    assert run("score", system, "--refs", refs, *flags) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].split()[1:4] == ["2", "6", "16.67"]
    assert "line by line" in printed.err


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["the cat"], ":1: expected 'words (id)'"),
        (["a (u1)", "b (u1)"], ":2: a second line for the id 'u1', which FILE:1 has already"),
        (["{ a / b } (u1)", "c (u2)"], ": segment 'u1': a hypothesis has alternatives"),
        ([";; nothing"], ": no segment of layout trn"),
    ],
)
def test_damaged_trn(lines, message, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system, refs = words(tmp_path / "hyp", *lines), words(tmp_path / "text", "u1 a", "u2 b")
    assert run("score", system, "--refs", refs, "--input-format", "trn") == 2
    expected = message.replace("FILE", str(system))
    assert capsys.readouterr().err == f"fstmetrics: error: {system}{expected}\n"


def test_trn_needs_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system, refs = words(tmp_path / "hyp", "a (u1)"), words(tmp_path / "refs", "a")
    flags = ["--input-format", "trn", "--refs-format", "plain"]
    assert run("score", system, "--refs", refs, *flags) == 2
    assert "trn goes by id, but the references do not" in capsys.readouterr().err


def test_errors_are_counted_by_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default WER, whose errors sclite would count the same way, 4-GRR and BLEU."""
    system = words(tmp_path / "one", "the hat sat", "on mat", "and slept there now", "all day long")
    refs = words(tmp_path / "refs", *REFS)
    assert run("score", system, "--refs", refs) == 0
    header, row, blank, *signatures, errors, wrong, _ = capsys.readouterr().out.splitlines()
    assert header.split() == ["system", "segments", "words", "WER", "%", "4-GRR", "%", "BLEU"]
    assert row.split()[1:4] == ["4", "12", "25.00"]
    assert blank == ""
    assert signatures[-1].startswith("BLEU is bleu:order=4,")
    assert errors == f"%WER 25.00 [ 3 / 12, 1 ins, 1 del, 1 sub ] {system}"
    assert wrong == f"%SER 75.00 [ 3 / 4 ] {system}"


def test_metrics_of_one_name_have_headings_of_their_own(
    files, capsys: pytest.CaptureFixture[str]
) -> None:
    system, refs = files
    assert run("score", system, "--refs", refs, "--metric", "GRR", "grr:n=2", "Grr:alpha=0") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "system",
        "segments",
        "words",
        "4-GRR",
        "alpha=1",
        "%",
        "2-GRR",
        "%",
        "4-GRR",
        "alpha=0",
        "%",
    ]
    assert lines[3:6] == [
        "4-GRR alpha=1 is grr:n=4,alpha=1,beta=0",
        "2-GRR is grr:n=2,alpha=1,beta=0",
        "4-GRR alpha=0 is grr:n=4,alpha=0,beta=0",
    ]


def test_normalised_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hypotheses = words(tmp_path / "h.txt", "the CAT", "a hat")
    references = words(tmp_path / "r.txt", "The cat.", "the hat")
    argv = ["score", str(hypotheses), "--refs", str(references), "--metric", "wer"]
    assert main([*argv, "--normalize", "lower+punctuation"]) == 0
    shown = capsys.readouterr()
    assert "25.00" in shown.out
    assert "wer:normalise=lower+punctuation" in shown.out + shown.err
    assert main([*argv[:-1], "wer:normalise=lower+punctuation"]) == 0
    assert "25.00" in capsys.readouterr().out
    assert main([*argv, "--fractions", "--decimals", "1"]) == 0
    assert " 0.750" in capsys.readouterr().out
    assert main([*argv, "--normalise", "lowr"]) == 2
    assert "did you mean lower?" in capsys.readouterr().err
    assert main([*argv[:-1], "wer:normalise=lower", "--normalize", "nfkc"]) == 2
    assert "--normalize nfkc, and wer:normalise=lower has normalisers" in capsys.readouterr().err


@pytest.fixture
def talk(tmp_path: Path) -> list[object]:
    (tmp_path / "text").write_text("ann-1 the cat sat\nann-2 the hat\nbob-1 a b c d\n")
    (tmp_path / "hyps").write_text("ann-1 a cat sat\nann-2 a hat up\nbob-1 a b c d\n")
    return ["score", tmp_path / "hyps", "--refs", tmp_path / "text", "--metric", "wer"]


def test_groups_and_errors_stand_above_the_systems(
    talk: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*talk, "--by", "speaker", "--top", 5) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:7]] == [
        ["group", "segments", "words", "WER", "%"],
        ["ann", "2", "5", "60.00"],
        ["bob", "1", "4", "0.00"],
        [],
        ["error", "times", "reference", "hypothesis", "segments"],
        ["substitution", "2", "the", "a", "ann-1", "ann-2"],
        ["insertion", "1", "up", "ann-2"],
    ]
    assert lines[8].split()[:3] == ["system", "segments", "words"]
    assert run(*talk, "--by=-(.)", "--sort", "wer") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["2", "1"]
    assert run(*talk, "--by=-(.)", "--sort", "seconds") == 2
    assert "--sort seconds: the columns are" in capsys.readouterr().err


def test_groups_and_errors_for_programs(
    talk: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*talk, "--by", "length", "--format", "tsv") == 0
    rows = [line.split("\t")[1:] for line in capsys.readouterr().out.splitlines()]
    assert rows == [
        ["group", "segments", "words", "wer"],
        ["2-3", "2", "5", "0.6"],
        ["4-7", "1", "4", "0.0"],
    ]
    assert run(*talk, "--by=-(.)", "--top", 1, "--format", "json") == 0
    (system,) = json.loads(capsys.readouterr().out)["systems"]
    assert [(each["group"], each["scores"]["wer"]) for each in system["groups"]] == [
        ("1", 1 / 7),
        ("2", 1.0),
    ]
    assert system["errors"][0] == {
        "operation": "substitution",
        "reference": "the",
        "hypothesis": "a",
        "times": 2,
        "segments": ["ann-1", "ann-2"],
    }


def test_alignments_are_shown(
    talk: list[object], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(*talk, "--show", "errors") == 0
    assert capsys.readouterr().out.startswith(
        "ann-1  the cat sat\n"
        "       [a] cat sat\n"
        "\n"
        "ann-2  the hat\n"
        "       [a] hat {up}\n"
        "\n"
        "[word] substitution   {word} insertion   *** deletion\n"
    )
    assert run(*talk, "--show", "all") == 0
    assert "bob-1  a b c d\n       a b c d\n" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert run(*talk, "--show", "errors") == 0
    assert "\x1b[33m[a]\x1b[0m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(*talk, "--show", "errors") == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--show", "all", "--format", "json"], "--show is for people, not for --format json"),
        (
            ["--by", "speaker", "--top", "3", "--format", "csv"],
            "--by and --top exclude one another",
        ),
        (["--by", "speaker", "--intervals", "--format", "csv"], "only systems have intervals"),
        (["--top", "3", "--metric", "bleu"], ""),
        (["--by", "("], "groups by '(', expected speaker, length, a file"),
    ],
)
def test_what_breakdowns_are_not_with(
    talk: list[object], flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*talk, *flags) == (2 if said else 0)
    assert said in capsys.readouterr().err


def test_errors_need_a_metric_that_aligns(
    talk: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*talk[:-1], "bleu", "--top", 3) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no metric that aligns words, such as wer" in printed.err
