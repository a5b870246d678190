"""``fstmetrics compare``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fstmetrics import BLEU, GRR, WER, corpus_stats
from fstmetrics.statistics import paired_bootstrap, randomization, sign_test, substitution_test
from tests.decoding.cli.commandline import command, words

REFS = ["the cat sat", "on the mat", "and slept there", "all day long"] * 5
BASE = ["the hat sat", "on mat", "and slept there", "all the day long"] * 5
BETTER = ["the cat sat", "on the mat", "and slept", "all day long"] * 5


run = command()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    return (
        words(tmp_path / "base", *BASE),
        words(tmp_path / "better", *BETTER),
        words(tmp_path / "refs", *REFS),
    )


def stats(metric, outputs):
    return corpus_stats(metric, outputs, [[reference] for reference in REFS])


def test_all_tests_as_json(files, capsys: pytest.CaptureFixture[str]) -> None:
    base, better, refs = files
    flags = ["--metric", "wer", "bleu", "--test", "all", "--samples", "200", "--seed", "7"]
    assert run("compare", base, better, "--refs", refs, *flags, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["baseline"], found["segments"], found["seed"]) == (str(base), 20, 7)
    for metric, compared in zip((WER(), BLEU()), found["comparisons"], strict=True):
        a, b = stats(metric, BETTER), stats(metric, BASE)
        assert (compared["metric"], compared["system"]) == (str(metric), str(better))
        assert compared["baseline_score"] == pytest.approx(metric.score(b.sum(axis=0)))
        assert compared["score"] == pytest.approx(metric.score(a.sum(axis=0)))
        expected = [
            paired_bootstrap(metric, a, b, samples=200, seed=7),
            randomization(metric, a, b, trials=200, seed=7),
            sign_test(metric, a, b),
            substitution_test(metric, a, b),
        ]
        names = [test["method"] for test in compared["tests"]]
        assert names[len(expected) :] == ["mapsswe"] * (metric == WER())
        for result, judge in zip(compared["tests"], expected, strict=False):
            for name in ("effect", "p_value", "method", "samples", "wins", "losses", "ties"):
                assert result[name] == getattr(judge, name)
        interval = compared["tests"][0]["interval"]
        assert (interval["low"], interval["high"]) == (
            expected[0].interval.low,
            expected[0].interval.high,
        )


def test_the_table(files, capsys: pytest.CaptureFixture[str]) -> None:
    base, better, refs = files
    flags = ["--metric", "wer", "--test", "randomization", "bootstrap"]
    assert run("compare", base, better, better, "--refs", refs, *flags) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == (
        ["metric", "system", "score", "effect", "95", "%", "interval", "test", "p", "won", "lost"]
    )
    assert lines[1].split() == ["WER", "%", str(base), "(baseline)", "25.00"]
    judge = paired_bootstrap(WER(), stats(WER(), BETTER), stats(WER(), BASE))
    assert lines[2] == lines[4]
    ends = [f"{100 * end:.2f}" for end in (judge.interval.low, judge.interval.high)]
    assert f"{100 * judge.effect:+.2f}  [{ends[0]}, {ends[1]}]  bootstrap" in lines[2]
    assert lines[2].split()[-2:] == [str(judge.wins), str(judge.losses)]
    assert "randomization" in lines[3]
    assert lines[-2].endswith("95 % intervals by 1000 resamples of the segments, seed 0")
    assert lines[-1] == "randomization by 10000 shuffles, seed 0"


def test_tsv_and_latex(files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, better, refs = files
    flags = ["--metric", "grr", "--test", "sign", "--alternative", "better", "--ties", "split"]
    out = tmp_path / "out.tsv"
    assert run("compare", base, better, "--refs", refs, *flags, "--format", "tsv", "-o", out) == 0
    header, row = (line.split("\t") for line in out.read_text().splitlines())
    found = dict(zip(header, row, strict=True))
    judge = sign_test(
        GRR(), stats(GRR(), BETTER), stats(GRR(), BASE), alternative="better", ties="split"
    )
    assert found["p_value"] == repr(judge.p_value)
    assert (found["low"], found["high"], found["alternative"]) == ("", "", "better")
    assert (found["wins"], found["losses"], found["ties"]) == ("15", "5", "0")
    assert run("compare", base, better, "--refs", refs, *flags, "--format", "latex") == 0
    printed = capsys.readouterr().out
    assert "% p-values are for systems that are better\n" in printed
    assert rf"sign & ${judge.p_value:.3f}$ & $15$ & $5$ \\" in printed


def test_systems_by_id_in_any_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def lines(texts: list[str]) -> list[str]:
        return [f"u{n} {text}" for n, text in enumerate(texts)]

    base = words(tmp_path / "base", *lines(BASE))
    better = words(tmp_path / "better", *reversed(lines(BETTER)))
    refs = words(tmp_path / "text", *lines(REFS))
    flags = ["--metric", "wer", "--test", "sign", "--format", "json"]
    assert run("compare", base, better, "--refs", refs, *flags) == 0
    (result,) = json.loads(capsys.readouterr().out)["comparisons"][0]["tests"]
    judge = sign_test(WER(), stats(WER(), BETTER), stats(WER(), BASE))
    assert (result["wins"], result["losses"]) == (judge.wins, judge.losses)


def test_lists_are_compared_by_their_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = words(tmp_path / "a.tsv", "u1\t1\t-2\tx", "u1\t2\t-1\tthe", "u2\t1\t-1\tcat")
    other = words(tmp_path / "b.tsv", "u1\t1\t-1\tx", "u2\t1\t-1\tcat")
    refs = words(tmp_path / "text", "u1 the", "u2 cat")
    assert run("compare", base, other, "--refs", refs, "--metric", "wer", "--format", "tsv") == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].split("\t")[3:6] == ["0.0", "0.5", "0.5"]
    assert f"{other}: the best entry of each nbest-tsv list is scored" in printed.err


def test_lists_and_lines_in_the_order_of_the_references(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = words(tmp_path / "base", "the cat", "x")
    other = words(tmp_path / "nbest", "0 ||| the cat ||| f= 1 ||| -1", "1 ||| sat ||| f= 1 ||| -1")
    refs = words(tmp_path / "refs", "the cat", "sat")
    flags = ["--metric", "wer", "--test", "sign", "--format", "tsv"]
    assert run("compare", base, other, "--refs", refs, *flags) == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t")[-3:] == ["1", "0", "1"]


def test_empty_lines_are_empty_hypotheses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, other = words(tmp_path / "a", "x", "", "y"), words(tmp_path / "b", "x", "z", "")
    refs = words(tmp_path / "refs", "x", "z", "y")
    flags = ["--metric", "wer", "--test", "sign", "--format", "tsv"]
    assert run("compare", base, other, "--refs", refs, *flags) == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t")[-3:] == ["1", "1", "1"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a", "b"], "2 lines for 3 references"),
        (["a", "b", "c", "d"], "4 lines for 3 references"),
        ([], "0 lines for 3 references"),
    ],
)
def test_numbers_of_lines_that_differ(
    lines, message, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, other = words(tmp_path / "base", "a", "b", "c"), words(tmp_path / "other", *lines)
    refs, out = words(tmp_path / "refs", "a", "b", "c"), tmp_path / "out"
    assert run("compare", base, other, "--refs", refs, "-o", out) == 2
    assert capsys.readouterr().err == f"fstmetrics: error: {other}: {message}\n"
    assert not out.exists()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["u1 a"], "{other}: hypotheses for 1 of 2 references; the first that has none is 'u2'"),
        (["u1 a", "u2 b", "u3 c"], "{other}:3: segment 'u3': "),
        (["u1 a", "u1 b"], "{other}:2: a second line for the id 'u1'"),
    ],
)
def test_ids_that_differ(
    lines, message, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, other = words(tmp_path / "base", "u1 a", "u2 b"), words(tmp_path / "other", *lines)
    refs, out = words(tmp_path / "text", "u1 a", "u2 b"), tmp_path / "out"
    flags = ["--refs-format", "kaldi", "-o", out]
    assert run("compare", base, other, "--refs", refs, *flags) == 2
    error = capsys.readouterr().err
    assert error.startswith("fstmetrics: error: " + message.format(other=other))
    assert error.count("\n") == 1
    assert not out.exists()


def test_bytes_that_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, refs = words(tmp_path / "base", "a", "b"), words(tmp_path / "refs", "a", "b")
    other = tmp_path / "other"
    other.write_bytes(b"a\nb\xff\n")
    assert run("compare", base, other, "--refs", refs) == 2
    assert f"{other}:2: invalid UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["BASE", "--refs", "REFS"], "no system to compare"),
        (["--refs", "REFS"], "no HYPS given"),
        (["BASE", "BETTER", "--refs", "REFS", "--test", "t"], "invalid choice: 't'"),
        (["BASE", "BETTER", "--refs", "REFS", "--metric", "wre"], "did you mean"),
        (["BASE", "BETTER", "--refs", "REFS", "-o", "no/such/file"], "no such directory"),
        (["BASE", "nothing", "--refs", "REFS"], "nothing: No such file"),
    ],
)
def test_wrong_usage(argv, message, files, capsys: pytest.CaptureFixture[str]) -> None:
    base, better, refs = files
    names = {"BASE": base, "BETTER": better, "REFS": refs}
    assert run("compare", *(names.get(each, each) for each in argv)) == 2
    assert message in capsys.readouterr().err


def test_matched_pairs_and_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [f"ann-{n}" for n in range(4)] + [f"bob-{n}" for n in range(4)]
    refs = words(tmp_path / "refs", *(f"{id} a b c d e f" for id in ids))
    base = words(tmp_path / "base", *(f"{id} a x c d e f" for id in ids))
    better = words(tmp_path / "better", *(f"{id} a b c d e f" for id in ids[1:]), "ann-0 x b c d e")
    flags = ["--refs", refs, "--metric", "wer", "grr"]
    assert run("compare", base, better, *flags, "--test", "mapsswe", "--format", "json") == 0
    wer, grr = json.loads(capsys.readouterr().out)["comparisons"]
    # of ann-0 one segment with an error of both, and one at its end
    assert grr["tests"] == []
    (test,) = wer["tests"]
    assert (test["samples"], test["wins"], test["losses"], test["ties"]) == (9, 7, 1, 1)
    assert wer["score"] - wer["baseline_score"] == pytest.approx(test["effect"])
    assert run("compare", base, better, *flags, "--test", "all", "--blocks", "speaker") == 0
    shown = capsys.readouterr().out
    assert "of the blocks" in shown
    assert len(re.findall(" mapsswe ", shown)) == 1
    assert run("compare", base, better, *flags[:2], "--metric", "bleu", "--test", "mapsswe") == 2
    assert "--test mapsswe is of word errors: add --metric wer" in capsys.readouterr().err
