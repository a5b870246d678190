"""Curves, grids and histories, drawn from results; those of commands are tested with these."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

import decoding
from decoding import MIRA, density_curve, oracle_at
from decoding.minimum_risk.tuning import TuningPoint, TuningTable
from decoding.plots import Plot
from decoding.training.learner import History, Round
from fstmetrics import WER
from lattices import Lattice, OptionError

pytest.importorskip("matplotlib")

LATTICE = Lattice.from_arcs(
    [(0, 1, "a", 0.0, {"lm": 1.0}), (0, 1, "the", -1.0, {"tm": 1.0}), (1, 2, "cat"),
     (1, 2, "hat", -2.0, {"lm": -1.0})],
    finals=[2],
)  # fmt: skip
AGAINST = WER().against(["the hat"])


def values(plot: Plot, panel: int = 0):
    found = plot.panels[panel]
    return {curve.label: dict(zip(found.places, curve.values, strict=True))
            for curve in found.curves}  # fmt: skip


def test_curves_of_oracles():
    curve = decoding.plot(density_curve(LATTICE, AGAINST, [1, 1.5, 9]))
    assert values(curve) == {"": {1.0: 1.0, 1.5: 0.5, 2.0: 0.0}}
    assert curve.panels[0].across == "arcs a word"
    at = decoding.plot(oracle_at(LATTICE, AGAINST, [1, 2, 4]))
    assert list(values(at)[""]) == [1, 2, 4]
    assert values(at)[""][4] == 0.0


@pytest.mark.parametrize("sign", [1, -1])
def test_a_grid_has_a_curve_for_each_p_and_marks_the_best(sign):
    scores = {(0.5, 1.0): (0.2, 0.3), (0.5, 2.0): (0.4, 0.1), (0.7, 1.0): (0.5, 0.6),
              (0.7, 2.0): (0.45, 0.35)}  # fmt: skip
    points = [
        TuningPoint(scale, p, r, 10.0, sign * score)
        for (p, scale), both in scores.items()
        for r, score in zip((0.5, 0.6), both, strict=True)
    ]
    points.sort(key=lambda point: -sign * point.score)
    table = TuningTable(tuple(points), "bleu", sign * 0.25, 3)
    found = decoding.plot(table)
    assert values(found) == {
        "p = 0.5": {1.0: sign * 0.3, 2.0: sign * 0.4},
        "p = 0.7": {1.0: sign * 0.6, 2.0: sign * 0.45},
    }
    assert [curve.mark for curve in found.panels[0].curves] == [None, 0]
    assert found.panels[0].level == sign * 0.25
    assert found.panels[0].doubling
    flat = [TuningPoint(0.0, p, 0.5, 10.0, points[0].score) for p in (0.5, 0.7)]
    found = decoding.plot(TuningTable((*flat, *points), "bleu", sign * 0.25, 3))
    assert not found.panels[0].doubling
    assert values(found)["p = 0.7"][0.0] == points[0].score


def test_a_history_has_its_objective_and_its_weights():
    learner = MIRA().fit([LATTICE], [["the hat"]], WER())
    found = decoding.plot(learner.history)
    rounds = [one.number for one in learner.history]
    assert list(values(found)[""]) == rounds
    assert values(found, 1)["lm"][rounds[-1]] == learner.history[-1].weights["lm"]
    many = [Round(1, 0.5, 0.1, {f"f{n}": float(n) for n in range(50)}, {})]
    assert len(values(decoding.plot(History(many)), 1)) == 10


def test_pictures_are_saved_by_the_end_of_their_name(tmp_path):
    plot = decoding.plot(density_curve(LATTICE, AGAINST, [1, 2]))
    for name, magic in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")):
        plot.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(magic)
    ElementTree.fromstring(plot._repr_svg_())
    assert plot._repr_svg_() == str(plot)
    with pytest.raises(OptionError, match=r"a\.gif: a picture ends in one of"):
        plot.save(tmp_path / "a.gif")


@pytest.mark.parametrize("nothing", [[], History(), 3])
def test_nothing_to_plot(nothing):
    with pytest.raises(OptionError, match="nothing to plot"):
        decoding.plot(nothing)


def test_what_is_no_curve():
    with pytest.raises(OptionError, match="a list of str to plot, expected a density curve"):
        decoding.plot(["a", "b"])
