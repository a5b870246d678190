"""Expected values over rows, their variance and gradient, judged by listing and by differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.training.risk.expected import Expectation, expectation
from decoding.training.risk.graphs import lattice_graph
from fstmetrics import GRR, WRR
from fstmetrics.alignment.metric import AlignmentMetric
from lattices import Lattice
from lattices.errors import SpaceError
from lattices.limits import Limits
from tests.judges import score_by_recursion
from tests.strategies import sentences, small_lattices

METRICS = (WRR(), GRR(), GRR(n=2, alpha=-0.9, beta=1))


def listed(
    lattice: Lattice, references: list[list[str]], metric: AlignmentMetric, scale: float
) -> tuple[float, float, float, np.ndarray, np.ndarray, np.ndarray]:
    """Return log total, mean, variance and the covariances of arcs and ends, path by path."""
    paths = list(lattice.paths())
    score = np.array([scale * path.score for path in paths])
    total = math.log(np.exp(score - score.max()).sum()) + score.max()
    part = np.exp(score - total)
    value = np.array([score_by_recursion(path.tokens, references, metric) for path in paths])
    mean = float(part @ value)
    arcs, ends = np.zeros(lattice.num_arcs), np.zeros(lattice.num_states)
    passed = np.zeros(lattice.num_arcs)
    for path, share, objective in zip(paths, part, value, strict=True):
        for arc in path.arcs:
            arcs[arc] += scale * share * (objective - mean)
            passed[arc] += share
        end = lattice.dst[path.arcs[-1]] if path.arcs else lattice.start
        ends[end] += scale * share * (objective - mean)
    return total, mean, float(part @ value**2) - mean**2, arcs, ends, passed


def expected(
    lattice: Lattice, references: list[list[str]], metric: AlignmentMetric, scale: float
) -> Expectation:
    graph = lattice_graph(lattice, metric.against(references), Limits(1_000_000))
    assert graph is not None
    final = np.where(np.isfinite(lattice.final), lattice.final, 0.0)
    return expectation(graph, np.concatenate((lattice.score, final)), scale=scale)


@settings(max_examples=40)
@given(
    small_lattices(),
    st.lists(sentences(max_size=5), min_size=1, max_size=2),
    st.sampled_from(METRICS),
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)
def test_equals_enumeration(
    lattice: Lattice, references: list[list[str]], metric: AlignmentMetric, scale: float
) -> None:
    total, mean, variance, arcs, ends, passed = listed(lattice, references, metric, scale)
    found = expected(lattice, references, metric, scale)
    assert found.log_total == pytest.approx(total, abs=1e-9)
    assert found.mean == pytest.approx(mean, abs=1e-9)
    assert found.variance == pytest.approx(variance, abs=1e-8)
    assert found.gradient[: lattice.num_arcs] == pytest.approx(arcs, abs=1e-8)
    assert found.gradient[lattice.num_arcs :] == pytest.approx(ends, abs=1e-8)
    assert found.count[: lattice.num_arcs] == pytest.approx(passed, abs=1e-9)


@settings(max_examples=20)
@given(small_lattices(), sentences(max_size=5), st.data())
def test_gradient_equals_differences(
    lattice: Lattice, reference: list[str], data: st.DataObject
) -> None:
    if not lattice.num_arcs:
        return
    arc = data.draw(st.integers(0, lattice.num_arcs - 1))
    step = 1e-4

    def mean(change: float) -> float:
        score = lattice.score.copy()
        score[arc] += change
        return expected(lattice.replaced(score=score), [reference], GRR(), 2.0).mean

    found = expected(lattice, [reference], GRR(), 2.0)
    slope = (mean(step) - mean(-step)) / (2 * step)
    assert found.gradient[arc] == pytest.approx(slope, abs=1e-5)


def test_budget_and_dead_lattices() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "a"), (1, 2, "b")], finals=[2])
    assert lattice_graph(lattice, GRR().against(["a b"]), Limits(2)) is None
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3)
    with pytest.raises(SpaceError, match="no complete path"):
        lattice_graph(dead, GRR().against(["a b"]), Limits(1000))


def test_distant_scores() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", 0.0), (0, 1, "b", -1e6)], finals=[1])
    found = expected(lattice, [["a"]], WRR(), 1.0)
    assert found.mean == 1.0
    assert found.variance == 0.0
    assert np.isfinite(found.gradient).all()
