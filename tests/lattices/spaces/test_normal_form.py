"""The normal form of lattices and matrices of features, against sorting in plain Python."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from lattices import Lattice, SpaceError, Vocabulary
from lattices.arrays import floats, ints
from lattices.spaces.features import FeatureRows, reorder_rows
from lattices.spaces.lattice import NORMAL, UNORDERED, UNSORTED, WRONG, normal_form

WORDS = ("a", "b")
STATES = st.integers(-1, 5)
SCORES = st.sampled_from([0.0, -1.0, 0.5, math.inf, -math.inf, math.nan])
ARCS = st.lists(
    st.tuples(STATES, STATES, st.integers(-1, 4), SCORES | st.floats(-9, 0)), max_size=9
)
GOOD_ARCS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(3, 4), st.integers(0, 2), st.floats(-9, 0)), max_size=9
)
FINALS = st.lists(SCORES | st.just(0.0), min_size=1, max_size=5)


def columns(arcs: list[Any], final: list[float]) -> tuple[Any, ...]:
    src, dst, label, score = zip(*arcs, strict=True) if arcs else ((), (), (), ())
    return ints(src), ints(dst), ints(label), floats(score), floats(final)


def state_of(arcs: list[Any], final: list[float], words: int) -> int:
    """Return what the kernel is to say, by the definition."""
    states = range(len(final))
    good = all(
        src in states and dst in states and label in range(words) and math.isfinite(score)
        for src, dst, label, score in arcs
    )
    if not good or not all(math.isfinite(score) or score == -math.inf for score in final):
        return WRONG
    if not any(math.isfinite(score) for score in final):
        return WRONG
    if not all(src < dst for src, dst, *_ in arcs):
        return UNORDERED
    pairs = [arc[:2] for arc in arcs]
    return NORMAL if pairs == sorted(pairs) else UNSORTED


@given(st.one_of(ARCS, GOOD_ARCS), st.one_of(FINALS, st.just([0.0] * 5)))
def test_one_pass_says_what_the_definition_says(arcs: list[Any], final: list[float]) -> None:
    found, order, in_arc, in_offset, out_offset = normal_form(*columns(arcs, final), 3)
    assert found == state_of(arcs, final, 3)
    if found not in (NORMAL, UNSORTED):
        return
    expected = sorted(range(len(arcs)), key=lambda arc: arcs[arc][:2])
    assert order.tolist() == expected
    targets = [arcs[arc][1] for arc in expected]
    assert in_arc.tolist() == sorted(range(len(arcs)), key=lambda place: targets[place])
    for offset, side in ((out_offset, 0), (in_offset, 1)):
        counts = [sum(arc[side] < state for arc in arcs) for state in range(len(final) + 1)]
        assert offset.tolist() == counts


@given(st.one_of(ARCS, GOOD_ARCS), st.one_of(FINALS, st.just([0.0] * 5)))
def test_lattices_are_built_or_said_to_be_wrong(arcs: list[Any], final: list[float]) -> None:
    state = state_of(arcs, final, 3)
    parts = columns(arcs, final)
    marks = csr_array(np.diag(np.arange(1.0, len(arcs) + 1))) if arcs else None
    names = tuple(map(str, range(len(arcs))))
    problem = ""
    try:
        lattice = Lattice(Vocabulary(WORDS), *parts, features=marks, feature_names=names)
    except SpaceError as found:
        problem = str(found)
    if problem:
        assert state == WRONG or (state == UNORDERED and "cycle" in problem)
        return
    assert state != WRONG
    assert (lattice.src < lattice.dst).all()
    pairs = list(zip(lattice.src.tolist(), lattice.dst.tolist(), strict=True))
    assert pairs == sorted(pairs)
    if lattice.features is not None:
        # every arc has kept its mark
        came = [round(mark) - 1 for mark in lattice.features.sum(axis=1)]
        assert sorted(came) == list(range(len(arcs)))
        assert lattice.score.tolist() == [arcs[arc][3] for arc in came]
        assert lattice.label.tolist() == [arcs[arc][2] for arc in came]


@given(st.data())
def test_rows_in_another_order(data: st.DataObject) -> None:
    height, width = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 4))
    entries = st.tuples(st.integers(0, width - 1), st.floats(-9, 9))
    rows = [data.draw(st.lists(entries, max_size=4)) for _ in range(height)]
    parts = (
        np.array([value for row in rows for _, value in row], np.float64),
        np.array([place for row in rows for place, _ in row], np.int32),
        np.cumsum([0, *map(len, rows)], dtype=np.int32),
    )
    judge = csr_array(parts, shape=(height, width))
    matrix = FeatureRows(*parts, width).matrix
    assert vars(matrix).keys() == vars(judge).keys()
    assert matrix.shape == judge.shape
    assert matrix.toarray().tolist() == judge.toarray().tolist()
    order = np.array(data.draw(st.permutations(range(height))), np.int64)
    found, expected = reorder_rows(matrix, order), judge[order]
    for name in ("data", "indices", "indptr", "shape"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    long = csr_array(parts, shape=(height, width))
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    assert reorder_rows(long, order).matrix.toarray().tolist() == expected.toarray().tolist()


def test_wrong_features_come_before_cycles() -> None:
    circle = columns([(0, 1, 1, 0.0), (1, 0, 1, 0.0)], [0.0, 0.0])
    with pytest.raises(SpaceError, match="arc features have shape"):
        Lattice(Vocabulary(WORDS), *circle, features=csr_array((1, 1)), feature_names=("x",))
    with pytest.raises(SpaceError, match="cycle"):
        Lattice(Vocabulary(WORDS), *circle)


def test_features_are_held_in_parts_and_given_as_a_matrix() -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "a", 0.0, {"lm": 1.0}), (0, 1, "b", 0.0, {"tm": 2.0})],
        finals=[1],
        final_features={1: {"end": 4.0}},
    )
    for space in (lattice, pickle.loads(pickle.dumps(lattice)), copy.deepcopy(lattice)):
        assert isinstance(space.features, csr_array)
        assert space.features is space.features
        assert space.features.toarray().tolist() == [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
        assert space.final_features.toarray().tolist() == [[0.0] * 3, [0.0, 0.0, 4.0]]
        assert not space.features.data.flags.writeable
        with pytest.raises(FrozenInstanceError):
            space.features = None
    assert Lattice.from_arcs([(0, 1, "a")], finals=[1]).features is None
    assert replace(lattice, features=lattice.features * 2.0).features.sum() == 6.0


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(-4, 4).map(float)), max_size=5),
        max_size=5,
    )
)
def test_canonical_rows_are_those_of_scipy(rows: list[list[tuple[int, float]]]) -> None:
    """Columns ascend, repeated ones are added up, zeros that are stored stay."""
    flat = [entry for row in rows for entry in row]
    bounds = ints(np.cumsum([0, *map(len, rows)]))
    matrix = FeatureRows(
        floats([value for _, value in flat]), ints([column for column, _ in flat]), bounds, 4
    )
    expected = csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(len(rows), 4))
    ordered = all(a[0] < b[0] for row in rows for a, b in pairwise(row))
    found = matrix.canonicalize()
    assert (found is matrix) == ordered
    expected = expected.copy()
    expected.sum_duplicates()
    assert found.indptr.tolist() == expected.indptr.tolist()
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.data.tolist() == expected.data.tolist()
