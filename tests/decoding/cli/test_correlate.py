"""``fstmetrics correlate``, the file of human scores, and pictures."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from decoding.plots import Scatter, plot_format, scatter_plots
from fstmetrics import GRR, WER, corpus_stats
from fstmetrics.statistics import (
    calibrated_accuracy,
    correlate,
    correlate_systems,
    graded_kappa,
    pairwise_accuracy,
    soft_pairwise_accuracy,
    wmt_tau,
)
from fstmetrics.statistics.human import match_systems, read_human, short_names
from lattices.errors import FormatError, OptionError
from tests.decoding.cli.commandline import command, words

REFS = ["the cat sat", "on the mat", "and slept there", "all day long"]
OUTPUTS = {
    "good": ["the cat sat", "on the mat", "and slept", "all day long"],
    "fair": ["the hat sat", "on mat", "and slept there", "all the day long"],
    "poor": ["a hat", "on a mat", "slept", "every day"],
    "bad": ["hat", "in", "he woke up", "no no no"],
}


run = command()


@pytest.fixture
def systems(tmp_path: Path) -> list[Path]:
    return [words(tmp_path / f"test.{name}.7.de-en.txt", *OUTPUTS[name]) for name in OUTPUTS]


@pytest.fixture
def refs(tmp_path: Path) -> Path:
    return words(tmp_path / "refs", *REFS)


def stats(metric, name):
    return corpus_stats(metric, OUTPUTS[name], [[reference] for reference in REFS])


# systems


SCORES = {"good": 0.7, "fair": 0.8, "poor": -0.2, "bad": -0.9}


def test_systems_as_json(systems, refs, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    human = words(tmp_path / "human.tsv", *(f"{name}\t{score}" for name, score in SCORES.items()))
    flags = ["--metric", "wer", "grr", "--samples", "100", "--seed", "4", "--format", "json"]
    for resample in ("systems", "segments"):
        argv = [*systems, "--refs", refs, "--human", human, *flags, "--resample", resample]
        assert run("correlate", *argv) == 0
        printed = capsys.readouterr()
        found = json.loads(printed.out)
        warning, layout = printed.err.splitlines()
        assert warning.startswith(f"fstmetrics: warning: {systems[-1]}: no word of the references")
        assert layout == "fstmetrics: references are taken line by line"
        assert found["level"] == "system"
        rows = iter(found["correlations"])
        for metric in (WER(), GRR()):
            for method in ("pearson", "spearman", "kendall"):
                judge = correlate_systems(
                    list(SCORES.values()),
                    metric,
                    [stats(metric, name) for name in SCORES],
                    method=method,
                    resample=resample,
                    samples=100,
                    seed=4,
                )
                row = next(rows)
                assert (row["metric"], row["method"]) == (str(metric), method)
                assert row["value"] == pytest.approx(judge.value)
                assert row["value"] > 0.5
                assert row["interval"] == pytest.approx([judge.interval.low, judge.interval.high])
            judge = pairwise_accuracy(
                list(SCORES.values()),
                metric,
                [stats(metric, name) for name in SCORES],
                resample=resample,
                samples=100,
                seed=4,
            )
            row = next(rows)
            assert (row["metric"], row["method"]) == (str(metric), "pa")
            assert row["value"] == judge.value
            assert row["interval"] == pytest.approx([judge.interval.low, judge.interval.high])
        assert [point["human"] for point in found["points"]] == list(SCORES.values())
        assert found["points"][3]["scores"]["wer"] == pytest.approx(
            WER().score(stats(WER(), "bad").sum(axis=0))
        )


def test_systems_as_table_tsv_and_latex(
    systems, refs, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    human = words(tmp_path / "human", *(f"{name} {score}" for name, score in SCORES.items()))
    argv = ["correlate", *systems, "--refs", refs, "--human", human, "--metric", "wer"]
    judge = correlate_systems(list(SCORES.values()), WER(), [stats(WER(), name) for name in SCORES])
    assert run(*argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["metric", "systems", "pearson", "spearman", "kendall", "pa"]
    assert lines[1].startswith(f"WER           4  {judge}")
    assert lines[-1].endswith("95 % intervals by 1000 resamples of the systems, seed 0")
    assert run(*argv, "--format", "tsv") == 0
    header, row, *_ = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert dict(zip(header, row, strict=True)) == {
        "metric": "wer",
        "level": "system",
        "method": "pearson",
        "value": repr(judge.value),
        "low": repr(judge.interval.low),
        "high": repr(judge.interval.high),
        "p_value": repr(judge.p_value),
        "points": "4",
    }
    assert run(*argv, "--format", "latex") == 0
    assert f"WER & $4$ & ${judge.value:.4f}$ ${judge.interval}$ &" in capsys.readouterr().out


def test_what_cannot_be_matched_is_named(
    systems, refs, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    human = words(tmp_path / "human", "good 1", "fair 2", "poor 3", "unknown 4")
    assert run("correlate", *systems, refs, "--refs", refs, "--human", human) == 0
    printed = capsys.readouterr()
    assert f"{human}: unknown: no file of this name; left out" in printed.err
    assert f"{systems[3]}: no human score; left out" in printed.err
    assert f"{refs}: no human score; left out" in printed.err
    assert printed.out.splitlines()[1].split()[1] == "3"


def test_a_metric_that_says_the_same_of_all(
    refs, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = [words(tmp_path / name, *REFS) for name in ("a", "b", "c")]
    human = words(tmp_path / "human", "a 1", "b 2", "c 3")
    argv = ["correlate", *same, "--refs", refs, "--human", human, "--metric", "wer"]
    assert run(*argv) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].split() == [
        *["WER", "3", *["undefined"] * 3],
        # no pair is in the order that people have it in
        *["0.0000", "[0.0000,", "0.0000]"],
    ]
    assert "wer: pearson is undefined: the metric says 0 for all" in printed.err
    picture = tmp_path / "a.png"
    assert run(*argv, "--format", "json", "--plot", picture) == 0
    assert json.loads(capsys.readouterr().out)["correlations"][0]["value"] is None
    assert picture.stat().st_size > 1000


# segments


def judgements() -> dict[tuple[str, str], float]:
    rng = np.random.default_rng(5)
    base = {"good": 80, "fair": 60, "poor": 45, "bad": 10}
    return {
        (name, str(n)): float(round(base[name] + rng.normal(0, 15)))
        for name in OUTPUTS
        for n in range(1, 5)
        if (name, n) != ("poor", 2)
    }


@pytest.mark.parametrize("metric", [WER(), GRR(n=2)], ids=str)
def test_segments(metric, systems, refs, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    given = judgements()
    lines = (f"{name}\t{segment}\t{score}" for (name, segment), score in given.items())
    human = words(tmp_path / "human.tsv", "system\tid\tscore", *lines)
    flags = ["--metric", metric, "--format", "json", "--samples", "50"]
    assert run("correlate", *systems, "--refs", refs, "--human", human, *flags) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["level"] == "segment"
    sign = 1 if metric.higher_is_better else -1
    scores = [
        sign * metric.against([REFS[int(segment) - 1]]).score(OUTPUTS[name][int(segment) - 1])
        for name, segment in given
    ]
    said = list(given.values())
    groups = [segment for _, segment in given]
    rows = {row["method"]: row for row in found["correlations"]}
    pairwise = ["wmt14", "acc_eq", "spa"]
    assert list(rows) == ["pearson", "spearman", "kendall", *pairwise, "kappa"]
    for method in ("pearson", "spearman", "kendall"):
        judge = correlate(said, scores, method=method, groups=groups, samples=50)
        assert rows[method]["value"] == pytest.approx(judge.value)
        assert rows[method]["interval"] == pytest.approx([judge.interval.low, judge.interval.high])
        assert rows[method]["points"] == len(given) == 15
    matrices = [
        [
            [values[list(given).index((name, str(n)))] if (name, str(n)) in given else np.nan
             for n in range(1, 5)]
            for name in OUTPUTS
        ]
        for values in (said, scores)
    ]  # fmt: skip
    tau = wmt_tau(*matrices, samples=50)
    assert rows["wmt14"]["value"] == pytest.approx(tau.value)
    assert rows["wmt14"]["interval"] == pytest.approx([tau.interval.low, tau.interval.high])
    assert rows["wmt14"]["points"] == tau.concordant + tau.discordant + tau.metric_ties
    judge = calibrated_accuracy(*matrices, samples=50)
    assert rows["acc_eq"]["value"] == pytest.approx(judge.value)
    assert rows["acc_eq"]["epsilon"] == pytest.approx(judge.epsilon)
    assert rows["acc_eq"]["interval"] == pytest.approx([judge.interval.low, judge.interval.high])
    # one output has no judgement
    assert rows["spa"]["value"] is None
    judge = graded_kappa(said, scores, low=None, high=None)
    assert rows["kappa"]["value"] == pytest.approx(judge.value)
    assert found["points"][0]["segment"] == "1"


def test_soft_accuracy_of_segments_that_all_systems_have(systems, refs, tmp_path, capsys) -> None:
    given = {**judgements(), ("poor", "2"): 50.0}
    lines = (f"{name}\t{segment}\t{score}" for (name, segment), score in given.items())
    human = words(tmp_path / "human.tsv", *lines)
    flags = ["--metric", "grr", "--format", "json", "--samples", "50"]
    assert run("correlate", *systems, "--refs", refs, "--human", human, *flags) == 0
    (row,) = (
        each
        for each in json.loads(capsys.readouterr().out)["correlations"]
        if each["method"] == "spa"
    )
    people = [[given[name, str(n)] for n in range(1, 5)] for name in OUTPUTS]
    judge = soft_pairwise_accuracy(
        people, GRR(), [stats(GRR(), name) for name in OUTPUTS], samples=50
    )
    assert row["value"] == pytest.approx(judge.value)
    assert row["interval"] == pytest.approx([judge.interval.low, judge.interval.high])


def test_segments_of_one_system(systems, refs, tmp_path, capsys) -> None:
    human = words(tmp_path / "human", "4 10", "1 90", "3 60", "2 30")
    argv = ["correlate", systems[1], "--refs", refs, "--human", human, "--metric", "grr:n=2"]
    assert run(*argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["metric", "points", "pearson", "spearman", "kendall", "kappa"]
    metric = GRR(n=2)
    scores = [metric.against([REFS[n]]).score(OUTPUTS["fair"][n]) for n in (3, 0, 2, 1)]
    judge = correlate([10, 90, 60, 30], scores, samples=1000, groups=["4", "1", "3", "2"])
    assert f"  4  {judge}" in lines[1]
    picture = tmp_path / "a.svg"
    assert run(*argv, "--plot", picture) == 0
    assert ">grr:n=2,alpha=1,beta=0<" in picture.read_text()


def test_segments_that_are_not_there(systems, refs, tmp_path, capsys) -> None:
    human = words(tmp_path / "human.tsv", "good\t1\t5", "good\t5\t5", "fair\t1\t2")
    out, picture = tmp_path / "out", tmp_path / "a.png"
    flags = ["-o", out, "--plot", picture]
    assert run("correlate", *systems, "--refs", refs, "--human", human, *flags) == 2
    assert f"{human}:2: no segment '5' in {systems[0]}\n" in capsys.readouterr().err
    assert not out.exists()
    assert not picture.exists()


# errors


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["good 1", "fair x"], ":2: score 'x', expected a number"),
        (["good 1", "fair nan"], ":2: score 'nan', expected a number"),
        (["good 1", "fair\t1\t2"], ":2: 3 columns, expected 2"),
        (["good"], ":1: 1 columns, expected 2 or 3"),
        (["a b c d"], ":1: 4 columns, expected 2 or 3"),
        (["good 1", "fair 2", "good 1"], ":3: a second score for 'good'"),
        (["good\t1\t1", "good\t1\t2"], ":2: a second score for 'good' '1'"),
        (["", "# nothing", "++++"], ": no scores"),
        (["good 1", "fair 2"], ": scores of 2 of the systems, expected 3 or more"),
        (["x 1", "y 2"], ": none of the systems is among the files, such as 'x'"),
        (["test.good 1", "fair 2", "good 3"], ":3: 'good' and 'test.good' may both be "),
        (["good 1", "de-en 2"], ":2: 'de-en' may be any of "),
    ],
)
def test_human_scores_that_cannot_be_used(
    lines, message, systems, refs, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    human, out = words(tmp_path / "human", *lines), tmp_path / "out"
    assert run("correlate", *systems, "--refs", refs, "--human", human, "-o", out) == 2
    assert f"error: {human}{message}" in capsys.readouterr().err
    assert not out.exists()


def test_outputs_that_do_not_fit(systems, refs, tmp_path, capsys) -> None:
    human = words(tmp_path / "human", "good 1", "fair 2", "poor 3")
    words(systems[1], "one line")
    out, picture = tmp_path / "out", tmp_path / "a.png"
    flags = ["-o", out, "--plot", picture]
    assert run("correlate", *systems, "--refs", refs, "--human", human, *flags) == 2
    assert f"error: {systems[1]}: 1 lines for 4 references\n" in capsys.readouterr().err
    assert not out.exists()
    assert not picture.exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--plot", "a.bmp"], "a.bmp: a picture ends in one of .png, .svg, .pdf"),
        (["--plot", "no/such/a.png"], "no such directory"),
        (["--human", "-"], "--human is a file"),
        (["--human", "nothing"], "nothing: No such file"),
    ],
)
def test_wrong_usage(flags, message, systems, refs, tmp_path, capsys) -> None:
    human = words(tmp_path / "human", "good 1", "fair 2", "poor 3")
    assert run("correlate", *systems, "--refs", refs, "--human", human, *flags) == 2
    assert message in capsys.readouterr().err


# files of human scores


def test_the_layout_of_wmt(tmp_path: Path) -> None:
    file = words(
        tmp_path / "wmt", "test.a.1.txt 0.5 (1.0, 2.0)", "+++++", "test.b.2.txt -0.25 (3.0, 3.0)"
    )
    found = read_human(str(file), one_system=False)
    assert [(one.system, one.score, one.line) for one in found.entries] == [
        ("test.a.1.txt", 0.5, 1),
        ("test.b.2.txt", -0.25, 3),
    ]
    assert not found.by_segment


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("newstest.online-B.0.de-en.txt", "d/newstest.online-B.0.de-en.txt"),
        ("newstest.online-B.0.de-en", "d/newstest.online-B.0.de-en.txt"),
        ("online-B.0", "d/newstest.online-B.0.de-en.txt"),
        ("online-B", "d/newstest.online-B.0.de-en.txt"),
        ("x.KIT.y", "d/KIT.gz"),
        ("KIT", "d/KIT.gz"),
        ("folder", "folder/out"),
        ("online", None),
    ],
)
def test_names_of_systems(name, expected, tmp_path: Path) -> None:
    paths = ["d/newstest.online-B.0.de-en.txt", "d/newstest.LIMSI-KIT.1.de-en.txt", "d/KIT.gz"]
    human = read_human(str(words(tmp_path / "human", f"{name} 1")), one_system=False)
    assert match_systems(human, [*paths, "folder/out"]).get(name) == expected


def test_an_exact_name_wins(tmp_path: Path) -> None:
    human = read_human(str(words(tmp_path / "human", "a 1", "a.b 2")), one_system=False)
    assert match_systems(human, ["x/a", "x/a.b"]) == {"a": "x/a", "a.b": "x/a.b"}
    human = read_human(str(words(tmp_path / "human", "a 1")), one_system=False)
    with pytest.raises(FormatError, match="'a' may be any of"):
        match_systems(human, ["x/a", "y/a"])


def test_short_names() -> None:
    assert short_names(["n.a.1.en", "n.b.2.en"]) == ["a.1", "b.2"]
    assert short_names(["x/out", "y/out"]) == ["x/out", "y/out"]
    assert short_names(["a.b", "a.b.c"]) == ["b", "b.c"]


# pictures


def panel(count: int = 3) -> Scatter:
    return Scatter(
        "Pearson 0.9", "wer", [0.1, 0.2, 0.3][:count], [3.0, 2.0, 1.0][:count], ["a_b", "$c", "d"],
        higher_is_better=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("format", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_pictures_are_the_same_every_time(format, magic) -> None:
    picture = scatter_plots([panel()] * 2, format)
    assert picture.startswith(magic)
    assert scatter_plots([panel()] * 2, format) == picture
    with pytest.raises(OptionError, match="nothing to plot"):
        scatter_plots([], format)


def test_pictures_name_their_points() -> None:
    text = scatter_plots([panel()], "svg").decode()
    for label in ("a_b", "$c", "d", "Pearson 0.9", "wer (lower is better)", "human score"):
        assert f">{label}<" in text


def test_labels_do_not_cover_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    figure_module = pytest.importorskip("matplotlib.figure")
    figures = []
    saved = figure_module.Figure.savefig
    monkeypatch.setattr(
        figure_module.Figure,
        "savefig",
        lambda self, *args, **options: (figures.append(self), saved(self, *args, **options))[1],
    )
    near = [0.5 + n / 1000 for n in range(6)]
    scatter_plots([Scatter("", "", near, near, [f"system-{n}" for n in range(6)])])
    (axis,) = figures[0].axes
    renderer = figures[0].canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in axis.texts]
    assert len(boxes) == 6
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


def test_formats_of_pictures() -> None:
    assert plot_format("x/a.SVG") == "svg"
    with pytest.raises(OptionError, match="ends in one of"):
        plot_format("png")


def test_without_matplotlib(
    systems, refs, tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    human = words(tmp_path / "human", "good 1", "fair 2", "poor 3")
    out = tmp_path / "out"
    flags = ["--plot", tmp_path / "a.png", "-o", out]
    assert run("correlate", *systems, "--refs", refs, "--human", human, *flags) == 2
    assert "pip install 'fstmetrics[plot]'" in capsys.readouterr().err
    assert not out.exists()


# real data


def test_wmt15(shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wang and Merlo 2016, Table 2: WER 0.930 into English, on average, of tokenised text."""
    values = []
    for pair, human, count, metrics in (
        ("de-en", "deu-eng", 13, ["wer", "grr"]),
        ("fr-en", "fre-eng", 7, ["wer"]),
    ):
        folder = shared_data / "wmt15" / pair
        files = sorted(folder.glob("*.txt"))
        (reference,) = (path for path in files if "-ref." in path.name)
        argv = [*files, "--refs", reference, "--human", folder.parent / f"wmt15.{human}.txt"]
        flags = ["--metric", *metrics, "--samples", "100", "--format", "json"]
        picture = tmp_path / f"{pair}.svg"
        assert run("correlate", *argv, *flags, "--plot", picture) == 0
        printed = capsys.readouterr()
        assert printed.err.count("no human score; left out") == 2
        found = json.loads(printed.out)
        assert len(found["points"]) == count
        values.append(found["correlations"][0]["value"])
        assert all(row["value"] > 0.6 for row in found["correlations"])
        assert ">online-B.0<" in picture.read_text()
    assert math.fsum(values) / 2 == pytest.approx(0.930, abs=0.015)
