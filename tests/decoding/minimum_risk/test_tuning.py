"""Tuning lattice MBR: every point is what decoding with its parameters scores."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import Linear, mbr
from decoding.cli.choice import tune_mbr
from decoding.cli.main import main
from decoding.minimum_risk.tuning import LinearGrid, tune_linear
from fstmetrics import BLEU, GRR, WER, Metric, corpus_score, quality
from lattices import Forest, Lattice, NBest, OptionError, Space, read
from lattices.algorithms import best_words
from lattices.errors import FormatError
from tests.strategies import sentences, small_forests, small_lattices

METRICS = (WER(), GRR(), BLEU(order=2, smooth="add-k"))


def command(*words: str) -> int:
    """Run the command as the command line would."""
    parser = argparse.ArgumentParser(prog="fstmetrics tune-mbr")
    tune_mbr.add_arguments(parser)
    parser.set_defaults(parser=parser)
    return tune_mbr.run(parser.parse_args(words))


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.one_of(small_lattices(words="ab"), small_forests(words="ab")), sentences("ab")
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(METRICS),
    st.sampled_from([None, 0.05]),
)
def test_every_point_is_what_decoding_scores(
    segments: list[tuple[Space, list[str]]], metric: Metric, word_penalty: float | None
) -> None:
    spaces = [space for space, _ in segments]
    references = [[reference] for _, reference in segments]
    options = {"scales": [0.5, 2.0], "ps": [0.5, 0.9], "rs": [0.7], "Ts": [1.0, 10.0]}
    table = tune_linear(spaces, references, metric, order=2, word_penalty=word_penalty, **options)
    assert len(table.points) == 8
    for point in table.points:
        method = Linear(p=point.p, r=point.r, T=point.T, order=2, word_penalty=word_penalty)
        chosen = [mbr(space, scale=point.scale, method=method).tokens for space in spaces]
        assert point.score == pytest.approx(corpus_score(metric, chosen, references))
    scores = [quality(metric, point.score) for point in table.points]
    assert scores == sorted(scores, reverse=True)
    assert table.best == table.points[0]
    own = [best_words(space) for space in spaces]
    assert table.one_best == pytest.approx(corpus_score(metric, own, references))
    assert (table.metric, table.segments) == (str(metric), len(spaces))


def test_equal_scores_stand_in_the_order_of_the_grid() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    table = tune_linear([lattice], [["a"]], WER(), scales=[2, 1], ps=[0.9, 0.5], rs=[0.7])
    assert [(point.scale, point.p) for point in table.points] == [
        (2.0, 0.9), (2.0, 0.5), (1.0, 0.9), (1.0, 0.5),
    ]  # fmt: skip


@settings(max_examples=15)
@given(small_lattices(words="abc"), small_forests(words="bca"))
def test_several_systems(one: Lattice, other: Forest) -> None:
    grid = LinearGrid((1.0,), (0.6, 0.9), (0.7,), system_weights=(0.3, 0.7))
    found = [
        mbr([one, other], system_weights=(0.3, 0.7), method=Linear(p=p, r=0.7)).tokens
        for p in (0.6, 0.9)
    ]
    assert grid.choices([one, other]) == found


def test_what_is_refused() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    wrong: Sequence[dict[str, Sequence[float]]] = (
        {"scales": []}, {"ps": [0.0]}, {"rs": [-1.0]}, {"Ts": [0.0]}, {"scales": [float("nan")]},
        {"ps": [0.5, 0.5]},
    )  # fmt: skip
    for options in wrong:
        with pytest.raises(OptionError):
            tune_linear([lattice], [["a"]], WER(), **options)
    with pytest.raises(OptionError, match="more spaces"):
        tune_linear([lattice] * 2, [["a"]], WER())
    with pytest.raises(OptionError, match="references for 2 segments"):
        tune_linear([lattice], [["a"], ["b"]], WER())
    with pytest.raises(OptionError, match="no segment"):
        tune_linear([], [], WER())


ARCS = [
    (0, 1, "a", -1.0), (1, 2, "b", 0.0), (2, 5, "e", 0.0),
    (0, 3, "x", -1.1), (0, 3, "y", -1.2), (3, 4, "c", 0.0), (4, 5, "d", 0.0),
]  # fmt: skip


def corpus(path: Path, refs: Sequence[str | None] = ("x c d", "a b e")) -> Path:
    lines = []
    for number, reference in enumerate(refs):
        fields = {"id": f"s{number}", "finals": {"5": 0.0}, "arcs": ARCS}
        lines.append(fields | ({"refs": [reference]} if reference is not None else {}))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_command_writes_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = corpus(tmp_path / "dev.jsonl", ("x c d", "x c d", "a b e"))
    out = tmp_path / "table.tsv"
    grid = ("--scale", "1", "100", "--p", "0.85", "--r", "0.75", "0.5")
    assert command(str(file), "--metric", "wer", *grid, "-o", str(out)) == 0
    header, *rows = [line.split("\t") for line in out.read_text().splitlines()]
    assert header == ["scale", "p", "r", "T", str(WER())]
    spaces = list(read(file))
    table = tune_linear(
        spaces, [space.references for space in spaces], WER(), scales=[1, 100], ps=[0.85],
        rs=[0.75, 0.5],
    )  # fmt: skip
    assert [tuple(map(float, row)) for row in rows] == [
        (point.scale, point.p, point.r, point.T, point.score) for point in table.points
    ]
    said = capsys.readouterr().err
    assert "--method linear --scale 1.0 --set p=0.85 --set r=0.75 --set T=10" in said
    assert "3 segments, 4 points" in said
    name, *words = said.splitlines()[-1].split()
    assert name == "fstmetrics"
    assert main([str(file) if word == "SPACES" else word for word in words]) == 0


def test_references_from_a_file_and_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = corpus(tmp_path / "dev.jsonl", (None, None))
    refs = tmp_path / "refs.txt"
    refs.write_text("x c d\na b e\n")
    small = (
        "--refs-format",
        "plain",
        "--metric",
        "wer",
        "--scale",
        "1",
        "--p",
        "0.8",
        "--r",
        "0.7",
    )
    assert command(str(file), "--refs", str(refs), *small) == 0
    assert capsys.readouterr().out.count("\n") == 2
    file.write_text(file.read_text() + "what?\n")
    refs.write_text("x c d\na b e\nx\n")
    assert command(str(file), "--refs", str(refs), *small) == 1
    refs.write_text("x c d\na b e\nx\ny\n")
    with pytest.raises(FormatError, match="4 lines for 3 segments"):
        command(str(file), "--refs", str(refs), *small)


def test_without_references_nothing_is_written(tmp_path: Path) -> None:
    file = corpus(tmp_path / "dev.jsonl", (None,))
    out = tmp_path / "table.tsv"
    with pytest.raises(FormatError, match="nothing could be searched"):
        command(str(file), "-o", str(out))
    assert not out.exists()


def test_real_lattices_gain_from_tuning(shared_data: Path) -> None:
    file = shared_data / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz"
    spaces = [space for _, space in zip(range(40), read(file), strict=False)]
    assert not any(isinstance(space, NBest) for space in spaces)
    references = [space.references for space in spaces]
    table = tune_linear(
        spaces, references, BLEU(), scales=[1, 10, 30], ps=[0.6, 0.8], rs=[0.6, 0.75]
    )
    assert table.best.score >= table.one_best
