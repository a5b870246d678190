"""Costs, scales, times and losses of Kaldi's archives."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from lattices.errors import FormatError, OptionError
from lattices.formats.base import Unsupported
from lattices.formats.kaldi.text import FORMAT
from lattices.spaces import Lattice
from tests.lattices.algorithms.comparing import parts, written
from tests.lattices.formats.test_kaldi_text import COMPACT, parsed
from tests.strategies import small_lattices


def test_scales(tmp_path: Path) -> None:
    plain = parsed(tmp_path, COMPACT)
    scaled = parsed(tmp_path, COMPACT, lm_scale="0.5", acoustic_scale=0.1)
    again = plain.reweighted({"graph": 0.5, "acoustic": 0.1})
    assert scaled.score.tolist() == again.score.tolist()
    assert scaled.final.tolist() == again.final.tolist()
    assert scaled.score[1] == -(0.5 * 8.5 + 0.1 * 1099.5)
    silent = parsed(tmp_path, COMPACT, lm_scale=0, acoustic_scale=0)
    assert silent.final.tolist() == [-np.inf, -np.inf, 0.0, 0.0]
    for value in ("x", "nan", "inf", None):
        with pytest.raises(OptionError, match="lm_scale is a finite number, not"):
            parsed(tmp_path, COMPACT, lm_scale=value)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (b"0 1 a 1,2,5\n0 1 b 1,2,5_5\n1\n", None),
        (b"0 1 a 1,2,\n1\n", None),
        (b"0 1 a 1,2,5\n2 1 a 1,2,5\n1\n", None),
        # states out of order: those that come late in the file may come early in time
        (b"0 2 a 1,2,5\n2 1 a 1,2,5_5\n1\n", [0.0, 0.01, 0.03]),
        (b"0 2 a 1,2,5\n2 1 a 1,2,5_5\n0 1 b 0,0,1_1_1\n1\n", [0.0, 0.01, 0.03]),
        (b"0 2 a 1,2,5\n2 1 a 1,2,5_5\n0 1 b 0,0,1_1\n1\n", None),
    ],
)
def test_times_need_paths_that_agree(
    tmp_path: Path, lines: bytes, expected: list[float] | None
) -> None:
    found = parsed(tmp_path, b"k\n" + lines)
    assert (found.times is None) == (expected is None)
    if expected is not None:
        assert found.times.tolist() == pytest.approx(expected)


@given(small_lattices(features=False))
def test_features_round_trip(lattice: Lattice) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = parsed(Path(folder), written(FORMAT, lattice), lm_scale=0.25)
        again = parsed(Path(folder), written(FORMAT, first), lm_scale=0.25)
    assert parts(again) == parts(first)


def test_losses() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", -1.0, {"lm": 2.0})], [1], id="a", source="s")
    with pytest.raises(FormatError, match="cannot hold the features of segment 'a'"):
        written(FORMAT, lattice)
    losses = Unsupported("kaldi", allowed=True)
    buffer = io.BytesIO()
    FORMAT.write(buffer, [lattice], losses)
    assert buffer.getvalue() == b"a \n0\t1\ta\t1.0,0.0,\n1\t0.0,0.0,\n\n"
    assert "features" in losses.message
    assert "source texts" in losses.message
    rows = [(0, 1, "a", -1.0, {"graph": -1.0}), (0, 1, "b", -9.0, {"graph": -1.0, "acoustic": 0.0})]
    rescored = Lattice.from_arcs(rows, [1], id="a")
    with pytest.raises(FormatError, match="scores that are no weighted sums of graph and acoustic"):
        written(FORMAT, rescored)


def test_costs_come_back_to_the_bit(tmp_path: Path) -> None:
    costs = [0.1, 1 / 3, 2.0**0.5 * 1e-9, 123456789.123456789, 5e-324, 1.7976931348623157e308]
    rows = [(0, 1, f"w{place}", -cost) for place, cost in enumerate(costs)]
    found = parsed(tmp_path, written(FORMAT, Lattice.from_arcs(rows, [1], id="k")))
    assert found.score.tolist() == [-cost for cost in costs]
