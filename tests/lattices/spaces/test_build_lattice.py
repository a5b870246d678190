"""Lattices that are built natively are those of the constructor, and so is what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.arrays import floats, ints
from lattices.errors import SpaceError
from lattices.spaces import Lattice
from lattices.spaces.features import FeatureRows, make_rows, reorder_rows
from lattices.spaces.lattice import build_lattice
from tests.lattices.algorithms.comparing import parts
from tests.strategies import small_lattices


def outcome(build: Any, columns: dict[str, Any]) -> Any:
    """Return all that a lattice holds, or what is wrong with it."""
    try:
        found = build(**columns)
    except SpaceError as problem:
        return str(problem)
    made = [getattr(found, name).tolist() for name in ("src", "in_arc", "in_offset", "out_offset")]
    # an empty array that anybody may write to is no harm
    kept = [
        len(column) and column.flags.writeable for column in (found.src, found.score, found.in_arc)
    ]
    return parts(found), made, kept


@given(small_lattices(), st.data())
def test_any_order_and_anything_wrong(lattice: Lattice, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(lattice.num_arcs))), np.int32)
    state = np.array(data.draw(st.permutations(range(lattice.num_states))), np.int32)
    if data.draw(st.booleans()):
        state = np.arange(lattice.num_states, dtype=np.int32)
    features, ends = make_rows(lattice), make_rows(lattice, "final_features")
    columns: dict[str, Any] = {
        "vocabulary": lattice.vocabulary,
        "src": ints(state[lattice.src[order]]),
        "dst": ints(state[lattice.dst[order]]),
        "label": ints(lattice.label[order]),
        "score": floats(lattice.score[order]),
        "final": floats(lattice.final[np.argsort(state)]),
        "start": int(state[lattice.start]),
        "features": None if features is None else reorder_rows(features, order),
        "final_features": None if ends is None else reorder_rows(ends, np.argsort(state)),
        "feature_names": lattice.feature_names,
        "times": floats(np.arange(lattice.num_states)) if data.draw(st.booleans()) else None,
        "id": "x",
    }
    what = data.draw(st.sampled_from(["", "src", "dst", "label", "score", "final", "start", "cut"]))
    if what == "start":
        columns["start"] = data.draw(st.sampled_from([-1, lattice.num_states]))
    elif what == "cut":
        columns["score"] = columns["score"][1:]
    elif what and len(columns[what]):
        odd = columns[what].copy()
        wild = [-1, 2**31 - 1] if odd.dtype == np.int32 else [np.nan, np.inf, -np.inf]
        odd[data.draw(st.integers(0, len(odd) - 1))] = data.draw(st.sampled_from(wild))
        columns[what] = odd
    assert outcome(build_lattice, columns) == outcome(Lattice, columns)


@pytest.mark.parametrize(
    "rows",
    [
        FeatureRows(floats([1.0]), ints([1]), ints([0, 1]), 1),
        FeatureRows(floats([1.0]), ints([-1]), ints([0, 1]), 1),
        FeatureRows(floats([1.0]), ints([0]), ints([0, 2]), 1),
        FeatureRows(floats([1.0]), ints([0]), ints([1, 1]), 1),
        FeatureRows(floats([np.inf]), ints([0]), ints([0, 1]), 1),
        FeatureRows(floats([1.0]), ints([0]), ints([0, 1, 1]), 1),
    ],
)
def test_matrices_that_are_none(rows: FeatureRows) -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], [1])
    columns = {name: getattr(lattice, name) for name in ("vocabulary", "src", "dst", "label")}
    columns |= {"score": lattice.score, "final": lattice.final, "feature_names": ("lm",)}
    with pytest.raises(SpaceError):
        build_lattice(**columns, features=rows)


def test_times_and_references_are_those_of_the_constructor() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], [1])
    columns = {
        name: getattr(lattice, name)
        for name in ("vocabulary", "src", "dst", "label", "score", "final")
    }
    with pytest.raises(SpaceError, match="3 times for 2 states"):
        build_lattice(**columns, times=floats([0.0, 1.0, 2.0]))
    assert build_lattice(**columns, references=["a", "b"]).references == ("a", "b")
