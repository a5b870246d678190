"""``fstmetrics study``: BLEU in characters, sweeps, and pictures of curves."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from statistics import fmean, pstdev

import pytest

from decoding.cli.option_table import values
from decoding.plots import Curve, Panel, line_plots
from fstmetrics import BLEU, GRR, TBLEU, WER, corpus_score, corpus_stats
from fstmetrics.statistics import correlate, wmt_tau
from fstmetrics.statistics.studies.characters import char_bleu_study
from fstmetrics.statistics.studies.disagreements import disagreements
from fstmetrics.statistics.studies.genres import genre_mixing
from fstmetrics.statistics.studies.silence import Outputs
from lattices.errors import OptionError
from tests.decoding.cli.commandline import command, lattice_line, words

REFS = ["the cat sat down", "on the mat it slept", "and slept there today", "all day long"]
OUTPUTS = {
    "good": ["the cat sat down", "on the mat it sleeps", "and slept", "all day long"],
    "fair": ["the cats sat down", "on mat it slept", "and slept there", "all the days long"],
    "poor": ["a hat sat", "on a mat", "slept today", "every day"],
}
HUMAN = {"good": 0.7, "fair": 0.8, "poor": -0.2}


run = command()


@pytest.fixture
def systems(tmp_path: Path) -> list[Path]:
    return [words(tmp_path / f"test.{name}.7.de-en.txt", *OUTPUTS[name]) for name in OUTPUTS]


@pytest.fixture
def refs(tmp_path: Path) -> Path:
    return words(tmp_path / "refs", *REFS)


@pytest.fixture
def human(tmp_path: Path) -> Path:
    return words(tmp_path / "human", *(f"{name} {score}" for name, score in HUMAN.items()))


# BLEU in characters


def judge(**options: object) -> list:
    everything = [line for lines in OUTPUTS.values() for line in lines]
    references = [[line] for line in REFS] * len(OUTPUTS)
    return char_bleu_study(everything, references, **options)  # type: ignore[arg-type]


def test_char_bleu_as_json(systems, refs, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--max-n", 2, "--max-m", 6, "--spaces", "drop", "--share", 0.5, "--format", "json"]
    metric = ["--metric", "bleu:lowercase=true"]
    assert run("study", "char-bleu", *systems, "--refs", refs, *metric, *flags) == 0
    found = json.loads(capsys.readouterr().out)
    expected = judge(base=BLEU(lowercase=True), max_n=2, max_m=6, spaces=False, share=0.5)
    assert found["segments"] == 12
    assert found["characters"].startswith("bleu:order=6,")
    assert "spaces=false" in found["characters"]
    for one, same in zip(found["equivalents"], expected, strict=True):
        assert one["order"] == same.order
        assert one["best_pearson"] == same.best_pearson
        assert one["best_kappa"] == same.best_kappa
        assert one["first_below"] == same.first_below
        assert one["pearson"] == pytest.approx(same.pearson)
        assert one["kappa"] == pytest.approx(same.kappa)
        assert one["below"] == (pytest.approx(same.below) if same.below else None)


def test_char_bleu_as_tables(systems, refs, capsys: pytest.CaptureFixture[str]) -> None:
    expected = judge(max_m=5)
    argv = ["study", "char-bleu", *systems, "--refs", refs, "--max-m", 5]
    assert run(*argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "words",
        "by",
        "Pearson",
        "r",
        "by",
        "kappa",
        "kappa",
        "by",
        "90",
        "%",
    ]
    cells = lines[1].split()
    assert cells[0] == "1"
    assert int(cells[1]) == expected[0].best_pearson
    assert float(cells[2]) == pytest.approx(max(expected[0].pearson), abs=1e-3)
    assert "12 segment scores" in lines[-2]
    assert "--max-m" in lines[-1]
    assert run(*argv, "--format", "tsv") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["words", "characters", "pearson", "kappa", "below"]
    assert len(rows) == 1 + 4 * 5
    assert rows[1][4] == ""
    assert float(rows[6][4]) == expected[1].below[0]
    assert run(*argv, "--format", "latex") == 0
    assert r"\begin{tabular}" in capsys.readouterr().out


def test_char_bleu_is_of_bleu(systems, refs, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("study", "char-bleu", *systems, "--refs", refs, "--metric", "wer") == 2
    assert "the study is of bleu" in capsys.readouterr().err
    assert run("study", "char-bleu", *systems, "--refs", refs, "--share", "2") == 2
    assert "share=2" in capsys.readouterr().err


# sweeps


def test_sweep_with_people(systems, refs, human, capsys: pytest.CaptureFixture[str]) -> None:
    option = ["--metric", "tbleu:order=1", "--option", "epsilon", "--values", "0,0.25,...,1"]
    flags = ["--human", human, "--samples", 20, "--format", "json"]
    assert run("study", "sweep", *systems, "--refs", refs, *option, *flags) == 0
    found = json.loads(capsys.readouterr().out)
    assert [point["value"] for point in found["points"]] == [0, 0.25, 0.5, 0.75, 1]
    assert list(found["human"].values()) == list(HUMAN.values())
    for point in found["points"]:
        metric = TBLEU(order=1, epsilon=point["value"])
        references = [[line] for line in REFS]
        scores = [corpus_score(metric, lines, references) for lines in OUTPUTS.values()]
        assert point["metric"] == str(metric)
        assert list(point["scores"].values()) == pytest.approx(scores)
        assert point["pearson"] == pytest.approx(correlate(list(HUMAN.values()), scores).value)
        assert point["interval"][0] <= point["interval"][1]


def test_sweep_tables(systems, refs, human, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["study", "sweep", *systems, "--refs", refs, "--metric", "grr", "--option", "n"]
    assert run(*argv, "--values", "1,2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["n", "good", "fair", "poor"]
    expected = corpus_score(GRR(n=2), OUTPUTS["fair"], [[line] for line in REFS])
    assert lines[2].split()[2] == f"{expected:.4f}"
    assert run(*argv[:-1], "alpha", "--values=-0.9,0") == 0
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "-0.9"
    assert run(*argv, "--values", "1,2", "--format", "tsv", "--human", human) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0][:5] == ["metric", "option", "value", "system", "score"]
    assert rows[0][5:] == ["human", "pearson", "low", "high"]
    assert len(rows) == 1 + 2 * 3
    assert rows[5][0] == "grr:n=2,alpha=1,beta=0"
    assert float(rows[5][4]) == expected
    assert float(rows[5][5]) == HUMAN["fair"]
    assert run(*argv, "--values", "1", "--format", "latex", "--human", human) == 0
    assert "Pearson" in capsys.readouterr().out


def test_systems_without_scores_are_left_out(
    systems, refs, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    extra = words(tmp_path / "test.extra.7.de-en.txt", *REFS)
    scores = {**HUMAN, "unknown": 0.3}
    human = words(tmp_path / "more", *(f"{name} {score}" for name, score in scores.items()))
    argv = ["study", "sweep", "--metric", "grr", "--option", "alpha", "--values", "1", "--human"]
    argv += [human, "--format", "json", "--refs", refs, "--"]
    assert run(*argv, *systems, extra) == 0
    printed = capsys.readouterr()
    assert "unknown: no file of this name; left out" in printed.err
    assert "extra.7.de-en.txt: no human score; left out" in printed.err
    assert len(json.loads(printed.out)["points"][0]["scores"]) == 3
    assert run(*argv, *systems[:2]) == 2
    assert "scores of 2 of the systems, expected 3 or more" in capsys.readouterr().err


def test_constant_scores_are_undefined_not_an_error(
    refs, human, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = [words(tmp_path / f"x.{name}.txt", *REFS) for name in OUTPUTS]
    argv = ["study", "sweep", *same, "--refs", refs, "--human", human, "--metric", "grr"]
    assert run(*argv, "--option", "alpha", "--values", "1") == 0
    printed = capsys.readouterr()
    assert "alpha=1: the correlation is undefined: the metric says 1 for all" in printed.err
    assert "undefined" in printed.out
    assert run(*argv, "--option", "alpha", "--values", "1", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["points"][0]["pearson"] is None


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--option", "gamma", "--values", "1"], "grr has no numeric option 'gamma'"),
        (["--option", "n", "--values", "1.5"], "whole number"),
        (["--option", "n", "--values", "0,1,...,2.5"], "do not lead to 2.5"),
        (["--option", "n", "--values", "1", "--plot", "x.gif"], "a picture ends in"),
        (["--option", "n", "--values", "1", "--plot", "-"], "--plot is a file"),
        (["--option", "n", "--values", "1", "--plot", "nowhere/x.svg"], "no such directory"),
        (["--values", "1"], "--option"),
    ],
)
def test_wrong_sweeps(systems, refs, flags, message, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("study", "sweep", *systems, "--refs", refs, "--metric", "grr", *flags) == 2
    assert message in capsys.readouterr().err


SEGMENTS = {"good": (4, 3, 2, 4), "fair": (3, 4, 2, 2), "poor": (1, 1, 2, 3)}


@pytest.fixture
def by_segment(tmp_path: Path) -> Path:
    return words(
        tmp_path / "segments",
        *(f"{name} {at} {v}" for name, of in SEGMENTS.items() for at, v in enumerate(of, 1)),
    )


def test_sweep_against_people_who_judge_segments(
    systems, refs, by_segment, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["study", "sweep", *systems, "--refs", refs, "--human", by_segment, "--metric", "wer"]
    argv = [*argv[:-1], "grr", "--option", "alpha", "--values", "0,1", "--samples", 20]
    assert run(*argv, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert "human" not in found
    assert found["resampling"]["of"] == "segments"
    for point in found["points"]:
        metric = GRR(alpha=point["value"])
        quality = [
            [metric.against([ref]).score(line) for ref, line in zip(REFS, lines, strict=True)]
            for lines in OUTPUTS.values()
        ]
        expected = wmt_tau([*SEGMENTS.values()], quality, samples=20)
        assert point["wmt14"] == expected.value
        assert point["interval"] == [expected.interval.low, expected.interval.high]
    assert run(*argv) == 0
    assert capsys.readouterr().out.split()[:2] == ["alpha", "tau"]
    assert run(*argv, "--human-level", "system") == 2
    assert "scores of segments, expected scores of systems" in capsys.readouterr().err


RANKS = [
    "srclang,trglang,srcIndex,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rID",
    *(f"deu,eng,{at},{at},j,{one},1,{two},2,1"
      for at, one, two in [(1, "good", "poor"), (2, "fair", "good"), (3, "poor", "good"),
                           (4, "fair", "poor")]),
]  # fmt: skip


def test_ranks_of_wmt_as_human_scores(
    systems, refs, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = words(tmp_path / "ranks.csv", *RANKS)
    argv = [*systems, "--refs", refs, "--human", ranks, "--metric", "grr", "--samples", 20]
    argv += ["--format", "json"]
    assert run("correlate", *argv) == 0
    found = json.loads(capsys.readouterr().out)
    taus = {one["method"]: one["value"] for one in found["correlations"]}
    assert set(taus) == {"wmt12", "wmt13", "wmt14"}
    sign = []
    for line in RANKS[1:]:
        fields = line.split(",")
        at = int(fields[2]) - 1
        one, two = (GRR().against([REFS[at]]).score(OUTPUTS[n][at]) for n in (fields[5], fields[7]))
        sign.append((one > two) - (one < two))
    assert taus["wmt14"] == pytest.approx((sign.count(1) - sign.count(-1)) / len(sign))
    assert run("study", "sweep", *argv, "--option", "alpha", "--values", "1") == 0
    (point,) = json.loads(capsys.readouterr().out)["points"]
    assert point["wmt14"] == taus["wmt14"]
    assert run("correlate", *argv, "--human-level", "system") == 0
    found = json.loads(capsys.readouterr().out)
    said = {Path(one["system"]).name.split(".")[1]: one["human"] for one in found["points"]}
    # good : poor 1 : 1, fair : good 1 : 0, fair : poor 1 : 0
    assert said == {"good": 0.25, "fair": 1.0, "poor": 0.25}
    assert run("correlate", *argv, "--plot", tmp_path / "x.svg") == 2
    assert "ranks of pairs are none" in capsys.readouterr().err


def test_grid_over_two_options(
    systems, refs, human, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["study", "sweep", "--refs", refs, "--metric", "grr:n=2", "--samples", 20]
    argv += ["--option", "alpha", "--values", "0,1", "--option", "beta", "--values", "0,0.5,1"]
    judged = [*argv, "--human", human, "--format", "tsv", "--", *systems]
    assert run(*judged) == 0
    header, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert header[:6] == ["metric", "beta", "option", "value", "system", "score"]
    assert len(rows) == 2 * 3 * 3
    cells = {}
    for row in rows:
        named = dict(zip(header, row, strict=True))
        metric = GRR(n=2, alpha=float(named["value"]), beta=float(named["beta"]))
        assert named["metric"] == str(metric)
        scores = [corpus_score(metric, o, [[line] for line in REFS]) for o in OUTPUTS.values()]
        expected = correlate(list(HUMAN.values()), scores).value
        assert float(named["pearson"]) == pytest.approx(expected)
        cells[named["value"], named["beta"]] = f"{expected:.4f}"
    judged.remove("--format")
    judged.remove("tsv")
    assert run(*judged) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["alpha", "/", "beta", "0", "0.5", "1"]
    assert lines[2] == ["1", *(cells["1.0", beta] for beta in ("0.0", "0.5", "1.0"))]
    assert run(*argv, "--", systems[0]) == 0
    score = corpus_score(GRR(n=2, alpha=1, beta=0.5), OUTPUTS["good"], [[r] for r in REFS])
    assert capsys.readouterr().out.splitlines()[2].split()[2] == f"{score:.4f}"
    assert run(*argv, "--", *systems) == 2
    assert "give --human, or one system" in capsys.readouterr().err
    assert run(*argv, "--option", "n", "--", systems[0]) == 2
    assert "--option and --values once, or twice" in capsys.readouterr().err
    pytest.importorskip("matplotlib")
    picture = tmp_path / "grid.svg"
    assert run(*argv, "--human", human, "--plot", picture, "--", *systems) == 0
    assert "beta=0.5" in picture.read_text(encoding="utf-8")


# the studies of the papers


def json_of(capsys: pytest.CaptureFixture[str], *argv: object) -> list[dict]:
    assert run("study", *argv, "--format", "json") == 0
    return json.loads(capsys.readouterr().out)["rows"]


def test_char_bleu_by_length_system_and_count(
    systems, refs, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["char-bleu", *systems, "--refs", refs, "--max-n", 2, "--order", 5, "--show"]
    lines = [line for of in OUTPUTS.values() for line in of]
    pairs = [(line, ref) for of in OUTPUTS.values() for line, ref in zip(of, REFS, strict=True)]
    by_words = [BLEU(order=2).against([ref]).score(line) for line, ref in pairs]
    five = BLEU(order=5, unit="char")
    by_letters = [five.against([ref]).score(line) for line, ref in pairs]
    rows = json_of(capsys, *argv, "lengths", "--max-m", 6)
    assert sum(row["points"] for row in rows) == len(lines)
    for row in rows:
        some = [at for at, line in enumerate(lines) if len(line.split()) == int(row["length"])]
        assert row["points"] == len(some)
        assert row["share"] == len(some) / len(lines)
        assert row["mean"] == pytest.approx(fmean(by_words[at] for at in some))
        assert row["deviation"] == pytest.approx(pstdev(by_words[at] for at in some))
        if len(some) > 2:
            expected = correlate([by_words[a] for a in some], [by_letters[a] for a in some])
            assert row["pearson"] == pytest.approx(expected.value, nan_ok=True)
            assert row["pearson_best"] >= row["pearson"] - 1e-12
        else:
            assert row["best"] is None
    rows = json_of(capsys, *argv, "systems")
    for row in rows:
        at = 4 * [*OUTPUTS].index(row["system"])
        assert row["words"] == pytest.approx(fmean(by_words[at : at + 4]))
        assert row["characters"] == pytest.approx(fmean(by_letters[at : at + 4]))
        assert row["difference"] == pytest.approx(row["characters"] - row["words"])
    assert [row["words_rank"] for row in rows] == sorted(row["words_rank"] for row in rows)
    rows = json_of(capsys, *argv, "counts", "--order", 9)
    few = [len(line.split()) < 2 for line in lines]
    short = [len(line) < 9 for line in lines]
    assert rows[0]["few"] == sum(a and b for a, b in zip(few, short, strict=True))
    assert rows[1]["enough"] == sum(not (a or b) for a, b in zip(few, short, strict=True))
    assert rows[2]["total"] == len(lines)
    assert rows[2]["few"] == sum(few)
    assert run("study", *argv, "systems", "--plot", "x.svg") == 2
    assert "--plot draws --show orders" in capsys.readouterr().err


def test_genres(systems, refs, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    by = words(tmp_path / "genres", "news", "news", "web", "web")
    argv = ["genres", *systems, "--refs", refs, "--by", by, "--metric", "bleu:order=1", "wer"]
    rows = json_of(capsys, *argv)
    for metric, row in zip((BLEU(order=1), WER()), rows, strict=True):
        totals = {
            genre: {
                name: corpus_stats(metric, of[part], [[r] for r in REFS[part]]).sum(axis=0)
                for name, of in OUTPUTS.items()
            }
            for genre, part in (("news", slice(0, 2)), ("web", slice(2, 4)))
        }
        expected = genre_mixing(metric, totals)
        assert (row["better"], row["inverted"]) == (expected.better, expected.inverted)
        if expected.first is not None:
            assert row["first"] == " + ".join(expected.first.systems)
            assert row["first together"] == expected.first.together
    assert rows[0]["better"] > 0
    assert run("study", *argv) == 0
    out = capsys.readouterr().out
    assert "genres: news (2 segments), web (2 segments)" in out
    assert run("study", *argv[:-4], "length", "--metric", "wer") == 0
    assert "4-7 (3 segments)" in capsys.readouterr().out
    assert run("study", *argv[:-5], "--by", "nothing", "--metric", "wer") == 2
    assert "1 genres, expected 2 or more" in capsys.readouterr().err


def test_deletion(systems, refs, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["deletion", *systems, "--refs", refs, "--metric", "bleu:order=1", "wer"]
    argv += ["--samples", 20]
    rows = json_of(capsys, *argv, "--share", "0.3,0.6")
    said = {name: [line.split() for line in of] for name, of in OUTPUTS.items()}
    outputs = Outputs.of((BLEU(order=1), WER()), said, [[line] for line in REFS])
    expected = outputs.silence([0.3, 0.6], samples=20)
    assert len(rows) == len(expected)
    for row, one in zip(rows, expected, strict=True):
        assert (row["system"], row["segments"]) == (one.system, one.segments)
        assert row["deleted"] == one.share
        assert (row["score"], row["effect"]) == (one.score, one.comparison.effect)
        assert row["p_value"] == one.comparison.p_value
    rows = json_of(capsys, *argv, "--attack")
    assert [row["free"] for row in rows] == [one.free for one in outputs.attacks(samples=20)]
    assert run("study", *argv, "--attack") == 0
    assert "for nothing" in capsys.readouterr().out
    assert run("study", *argv[:2], *argv[4:], "--share", "0.5") == 2
    assert "agreement needs two systems or more" in capsys.readouterr().err
    assert run("study", *argv, "--share", "2") == 2
    assert "share=2" in capsys.readouterr().err
    pytest.importorskip("matplotlib")
    picture = tmp_path / "deletion.svg"
    assert run("study", *argv, "--plot", picture) == 0
    assert "share of words deleted" in picture.read_text(encoding="utf-8")


def test_word_deletion(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    def line(id: str, ref: str, *said: tuple[str, float]) -> str:
        arcs = [[at, at + 1, word, 0.0, {"lm": lm}] for at, (word, lm) in enumerate(said)]
        return lattice_line(id, arcs, [ref])

    noisy = [
        line("a", "the cat", ("the", -1.0), ("uh", -7.0), ("cat", -2.0)),
        line("b", "on mats", ("on", -1.0), ("mats", -2.0), ("er", -8.0)),
    ]
    lattices = words(tmp_path / "dev.jsonl", *noisy)
    start = words(tmp_path / "weights", "lm 1")
    argv = ["word-deletion", lattices, "--start", start, "--metric", "wrr", "--judge", "wer"]
    argv += ["--samples", 20, "--test", lattices]
    rows = json_of(capsys, *argv)
    word = {(row["corpus"], row["metric"]): row for row in rows if row["deletion"] == "word"}
    assert set(word) == {(c, m) for c in ("dev", "test") for m in ("wrr", "wer")}
    assert word["dev", "wrr"]["score"] == 1.0
    assert word["test", "wer"]["score"] == 0.0
    assert word["dev", "wrr"]["deleted"] == 2 / 6
    assert run("study", *argv) == 0
    assert "33.3 %" in capsys.readouterr().out
    assert run("study", *argv[:-2], "--test-refs", start) == 2
    assert "--test-refs goes with --test" in capsys.readouterr().err
    nbest = words(tmp_path / "x.nbest", "0 ||| the cat ||| lm= -1 ||| -1")
    wrong = ["word-deletion", nbest, "--start", start, "--refs", words(tmp_path / "r", "the cat")]
    assert run("study", *wrong) == 2
    assert "in lattices, not in forests or lists" in capsys.readouterr().err


def test_ranks(systems, refs, human, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["ranks", *systems, "--refs", refs, "--metric", "wer", "bleu:order=1"]
    rows = json_of(capsys, *argv, "--human", human)
    assert [row["system"] for row in rows] == ["fair", "good", "poor"]
    assert [row["human rank"] for row in rows] == [1, 2, 3]
    wer = {name: corpus_score(WER(), of, [[r] for r in REFS]) for name, of in OUTPUTS.items()}
    assert [row["wer"] for row in rows] == [wer[row["system"]] for row in rows]
    ranks = {name: 1 + sum(other < score for other in wer.values()) for name, score in wer.items()}
    assert [row["wer rank"] for row in rows] == [ranks[row["system"]] for row in rows]
    assert "human" not in json_of(capsys, *argv)[0]
    pytest.importorskip("matplotlib")
    picture = tmp_path / "ranks.svg"
    assert run("study", *argv, "--human", human, "--plot", picture) == 0
    assert "people" in picture.read_text(encoding="utf-8")


def test_disagreements(systems, refs, by_segment, capsys: pytest.CaptureFixture[str]) -> None:
    precision = "bleu:order=1,brevity=none"
    argv = ["disagreements", *systems, "--refs", refs, "--metric", precision, "wer"]
    argv += ["--threshold", 0.1]
    rows = json_of(capsys, *argv, "--human", by_segment)
    points = [(name, at) for name in OUTPUTS for at in range(4)]
    scores = [
        [metric.against([REFS[at]]).score(OUTPUTS[name][at]) for name, at in points]
        for metric in (BLEU(order=1, brevity="none"), WER())
    ]
    said = [SEGMENTS[name][at] for name, at in points]
    expected = disagreements(*scores, human=said, threshold=0.1, higher_is_better=(True, False))
    assert len(rows) == len(expected.found) > 0
    for row, one in zip(rows, expected.found, strict=True):
        name, at = points[one.point]
        assert f".{name}." in row["system"]
        assert row["segment"] == str(at + 1)
        assert row["BLEU z"] == pytest.approx(one.z[0])
        assert row["hypothesis"] == OUTPUTS[name][at]
        assert row["reference"] == REFS[at]
        assert row["right"] == ("" if one.right is None else ["BLEU", "WER"][one.right])
    assert run("study", *argv, "--human", by_segment, "--top", 1) == 0
    out = capsys.readouterr().out
    assert f"on the side of people: BLEU {expected.right[0]}, WER {expected.right[1]}" in out
    for form in ("table", "tsv", "csv", "json", "latex", "markdown"):
        assert run("study", *argv, "--threshold", 9, "--format", form) == 0
    assert "0 of 12 segments" in capsys.readouterr().out
    assert run("study", *argv[:-3], "--threshold", 1) == 2
    assert "expected two different metrics, not 1" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["study"], ["study", "sweep"], ["study", "nothing"]])
def test_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*argv) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith("fstmetrics: error: ")


def test_missing_inputs(refs, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("study", "char-bleu", "--refs", refs) == 2
    assert "no HYPS given" in capsys.readouterr().err


# lists of values


def test_values_in_equal_steps() -> None:
    assert values("0,0.05,...,1") == [step / 20 for step in range(21)]
    assert values("1, 0.5, ..., 0, 7") == [1, 0.5, 0, 7]
    assert values("3") == [3]
    assert values("1,2,...,3") == [1, 2, 3]


@pytest.mark.parametrize(
    "text", ["", "a", "0,...,1", "0,1,...", "...", "0,0,...,1", "0,1,...,0.5", "1,1", "inf", "0,,1",
             "0,1e-9,...,1", "0,1,...,...,3"],
)  # fmt: skip
def test_lists_that_are_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        values(text)


# pictures


@pytest.mark.parametrize(("suffix", "head"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_plots(systems, refs, human, tmp_path, suffix: str, head: bytes) -> None:
    pytest.importorskip("matplotlib")
    orders, thresholds = tmp_path / f"orders.{suffix}", tmp_path / f"thresholds.{suffix}"
    out = ["-o", tmp_path / "table"]
    assert run("study", "char-bleu", *systems, "--refs", refs, "--plot", orders, *out) == 0
    option = ["--metric", "grr", "--option", "alpha", "--values", "0,1", "--human", human]
    assert run("study", "sweep", *systems, "--refs", refs, *option, "--plot", thresholds, *out) == 0
    for picture in (orders, thresholds):
        assert picture.read_bytes().startswith(head)
    if suffix == "svg":
        text = orders.read_text(encoding="utf-8")
        assert "kappa over ten grades" in text
        assert "4 words" in text
        assert "Correlation with people" in thresholds.read_text(encoding="utf-8")


def test_the_same_curves_are_the_same_bytes() -> None:
    pytest.importorskip("matplotlib")
    curves = [Curve("_a$b", [1.0, math.nan], mark=1), Curve("", [2.0, 3.0], [1.5, 2.5], [3, 4], 0)]
    panel = Panel("title", "across", "upwards", [0.0, 1.0], curves, 0.5)
    first = line_plots([panel, panel], "svg")
    assert first == line_plots([panel, panel], "svg")
    assert b"a$b" in first
    many = Panel("many", "x", "y", [1.0], [Curve(str(n), [n]) for n in range(12)])
    assert line_plots([many], "png").startswith(b"\x89PNG")
    with pytest.raises(OptionError, match="nothing to plot"):
        line_plots([])


def test_real_outputs(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep over three systems of WMT15 agrees with BLEU at 0."""
    folder = shared_data / "wmt15" / "fr-en"
    some = [next(folder.glob(f"*2015.online-{letter}.*")) for letter in "ABE"]
    (reference,) = folder.glob("*-ref.*")
    human = shared_data / "wmt15" / "wmt15.fre-eng.txt"
    argv = ["study", "sweep", *some, "--refs", reference, "--human", human, "--samples", 10]
    argv += ["--metric", "tbleu", "--option", "epsilon", "--values", "0", "--format", "json"]
    assert run(*argv) == 0
    (point,) = json.loads(capsys.readouterr().out)["points"]
    # the files begin with a byte order mark
    lines = [path.read_text(encoding="utf-8-sig").split("\n") for path in (some[0], reference)]
    expected = corpus_score(BLEU(), lines[0][:-1], [[line] for line in lines[1][:-1]])
    assert point["scores"][str(some[0])] == pytest.approx(expected)
    assert point["pearson"] > 0.9
