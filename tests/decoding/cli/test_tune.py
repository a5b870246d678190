"""Scales and penalties on a development set, against all paths of small lattices."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import mbr
from decoding.tasks.tune import Axis, WeightGrid, tune_weights
from fstmetrics import WER, corpus_score
from lattices import Lattice, read, write
from lattices.algorithms import best_words
from lattices.errors import OptionError
from lattices.formats.weights import read_weights
from lattices.spaces.scales import Scales, count_words, weights_of
from tests.decoding.cli.commandline import command, words

run = command("tune")
rescore = command("rescore")
REFERENCES = ["a b c", "b c", "c a"]


@st.composite
def speech(draw) -> list[tuple]:
    """Arcs of a lattice of three slots, with Kaldi's features; a word may be left out."""
    arcs = []
    for state in range(3):
        for word in draw(st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=3)):
            graph, acoustic = (-draw(st.integers(0, 40)) / 4 for _ in range(2))
            arcs.append(
                (state, state + 1, word, graph + acoustic, {"graph": graph, "acoustic": acoustic})
            )
    return arcs


def best_sentences(arcs: list[tuple], lmwt: float, penalty: float) -> set[tuple[str, ...]]:
    """Return the sentences of the best paths, all of which are tried."""
    found: dict[tuple[str, ...], float] = {}
    for path in product(*([arc for arc in arcs if arc[0] == state] for state in range(3))):
        said = tuple(arc[2] for arc in path if arc[2])
        costs = [arc[4]["graph"] + arc[4]["acoustic"] / lmwt for arc in path]
        score = sum(costs) - penalty * len(said)
        found[said] = max(found.get(said, -math.inf), score)
    return {said for said, score in found.items() if abs(score - max(found.values())) < 1e-6}


@settings(max_examples=40, deadline=None)
@given(lattices=st.lists(speech(), min_size=3, max_size=3))
def test_every_point_is_a_best_path(lattices) -> None:
    every, lattices = lattices, [Lattice.from_arcs(arcs, finals=[3]) for arcs in lattices]
    axes = (Axis("lmwt", (1.0, 4.0, 9.0), "acoustic", "inverse"),
            Axis("wip", (-1.0, 0.0, 2.0), "words", "penalty"))  # fmt: skip
    grid = WeightGrid(axes)
    for arcs, lattice in zip(every, lattices, strict=True):
        for (lmwt, penalty), said in zip(grid.points, grid.choices(lattice), strict=True):
            assert said in best_sentences(arcs, lmwt, penalty)
    table = tune_weights(lattices, [[each] for each in REFERENCES], WER(), grid)
    assert table.best.score == min(point.score for point in table.points)
    # what the best point says, as weights
    spaces = [count_words(each).reweighted({"graph": 1.0, **table.best.weights})
              for each in lattices]  # fmt: skip
    said = [" ".join(best_words(space)) for space in spaces]
    assert corpus_score(WER(), said, [[each] for each in REFERENCES]) == table.best.score


def test_scales_of_mbr_decide() -> None:
    arcs = [(0, 1, "a", -1.0), (1, 2, "b"), (2, 5, "e"), (0, 3, "x", -1.1), (0, 3, "y", -1.2),
            (3, 4, "c"), (4, 5, "d")]  # fmt: skip
    lattice = Lattice.from_arcs(arcs, finals=[5])
    grid = WeightGrid((Axis("scale", (0.5, 1.0, 100.0)),), metric=WER())
    assert grid.choices(lattice) == [
        mbr(lattice, WER(), scale=scale).tokens for scale in (0.5, 1.0, 100.0)
    ]
    for axes, message in (
        ((Axis("scale", (1.0,)), Axis("x", (1.0,), "x")), "is the last axis"),
        ((Axis("a", (1.0,), "x"), Axis("b", (1.0,), "x")), "a and b are the same weight"),
    ):
        with pytest.raises(OptionError, match=message):
            WeightGrid(axes, metric=WER())
    with pytest.raises(OptionError, match="not above 0"):
        Axis("lmwt", (0.0,), "acoustic", "inverse")


def test_scales_are_those_of_the_file() -> None:
    arcs = [(0, 1, "a", -5.0, {"graph": -2.0, "acoustic": -3.0})]
    lattice = Lattice.from_arcs(arcs, finals=[1])
    assert weights_of(lattice) == {"graph": 1.0, "acoustic": 1.0}
    assert Scales(lm_scale=2.0)(lattice).score.tolist() == [-7.0]
    other = lattice.replaced(metadata={"weights": {"graph": 1.0, "acoustic": 0.1}})
    with pytest.raises(OptionError, match="no sum of the features"):
        weights_of(other)
    # nothing is asked where all are given
    assert Scales(acoustic_scale=1.0, lm_scale=3.0)(other).score.tolist() == [-9.0]
    with pytest.raises(OptionError, match="needs a feature acoustic; it has none"):
        Scales(acoustic_scale=1.0)(Lattice.from_arcs([(0, 1, "a", -5.0)], finals=[1]))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    words(tmp_path / "words.txt", "<eps> 0", "a 1", "b 2", "c 3")
    words(tmp_path / "lat.txt", "u1", "0 1 1 1,30,", "0 1 2 3,10,", "1 0,0,", "",
          "u2", "0 1 3 2,10,", "0 1 2 1,40,", "1 0,0,", "")  # fmt: skip
    words(tmp_path / "text", "u1 a", "u2 c")
    return tmp_path


def test_the_command(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, weights = archive / "t.tsv", archive / "w.txt"
    argv = [archive / "lat.txt", "--option", f"symbols={archive / 'words.txt'}"]
    flags = [*argv, "--refs", archive / "text"]
    assert run(*flags, "--lmwt", "1,15,100", "--word-ins-penalty=-1,0", "-o", out,
               "--write-weights", weights) == 0  # fmt: skip
    rows = [line.split("\t") for line in out.read_text().splitlines()]
    assert rows[0] == ["lmwt", "word-ins-penalty", "wer"]
    # u1 needs an LM that counts more than 10, u2 one that counts less than 30
    assert rows[1] == ["15.0", "-1.0", "0.0"]
    assert {row[2] for row in rows[3:]} == {"0.5"}
    told = capsys.readouterr().err
    assert "WER % 50.00 (1-best), 0.00 (best: lmwt 15, word-ins-penalty -1)" in told
    assert f"fstmetrics rescore SPACES --weights {weights}" in told
    assert rescore(*flags, "--weights", weights, "--metric", "wer", "-o", archive / "o") == 0
    assert "%WER 0.00 [ 0 / 2, 0 ins, 0 del, 0 sub ] rescored" in capsys.readouterr().err
    assert run(*flags, "--lm-scale", "1,15", "--acoustic-scale", "1", "--plot", archive / "h.svg",
               "-o", out) == 0  # fmt: skip
    assert out.read_text().splitlines()[1] == "1.0\t15.0\t0.0"
    assert "lm-scale" in (archive / "h.svg").read_text()
    assert run(*flags, "--lmwt", "1,15", "--scale", "0.1,1", "-o", out, "--workers", 2,
               "--plot", archive / "h.png") == 0  # fmt: skip
    assert len(out.read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "nothing to try: give --acoustic-scale"),
        (["--grid", "tm=1,2"], "no feature 'tm'; there are graph, acoustic"),
        (["--grid", "acoustic=1,x"], "argument --grid: acoustic='x' is not a number"),
        (["--lmwt", "0,1"], "lmwt: 0 is not above 0"),
        (["--grid", "acoustic=1,2", "--lmwt", "1"], "lmwt and acoustic are the same weight"),
        (["--scale", "1", "--write-weights", "w"], "a scale of MBR is no weight"),
    ],
)
def test_wrong_grids(
    flags: list[str], message: str, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [archive / "lat.txt", "--option", f"symbols={archive / 'words.txt'}"]
    assert run(*argv, "--refs", archive / "text", "-o", archive / "o", *flags) == 2
    assert message in capsys.readouterr().err
    assert not (archive / "o").exists()


def test_real_lattices_are_tuned_in_one_pass(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "multi30k-deen"
    some = list(zip(range(20), read(folder / "val.de-en.lat.d10.jsonl.gz"), strict=False))
    write(tmp_path / "dev.jsonl", [space for _, space in some])
    flags = ["--weights", folder / "weights.de-en", "--grid", "lm=0.05,0.1", "--metric", "wer"]
    assert run(tmp_path / "dev.jsonl", *flags, "-o", tmp_path / "t", "-q") == 0
    scores = {row.split("\t")[0]: float(row.split("\t")[1])
              for row in (tmp_path / "t").read_text().splitlines()[1:]}  # fmt: skip

    for value, weight in product(scores, [0.05, 0.1]):
        if float(value) == weight:
            given = {**read_weights(folder / "weights.de-en"), "lm": weight}
            said = [" ".join(best_words(space.reweighted(given))) for _, space in some]
            references = [space.references for _, space in some]
            assert scores[value] == pytest.approx(corpus_score(WER(), said, references))
