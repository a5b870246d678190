"""Expected metric over a list of derivations, where all are too many.

Two estimators, both for any metric, and both labelled where they are used:

- the ``k`` best derivations, with their probabilities renormalised: biased, since the rest is
  left out, but smooth in the scores as long as the list stays the same;
- random derivations: mean and gradient are unbiased, and come with a standard error.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from fstmetrics import Evaluator
from fstmetrics.contract import nbest_stats, scores_of
from lattices._native import spell_derivations
from lattices.algorithms import Paths, k_best_paths, sample_paths
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.spaces import Forest, Lattice, NBest
from lattices.spaces.features import FeatureMatrix


class DerivationList(NamedTuple):
    """Some derivations of a space, each once."""

    #: the metric of its sentence
    value: FloatColumn
    #: how often each derivation uses each slot: its slots, one after the other, so that one that is
    #: used twice has two entries
    use: FeatureMatrix
    #: how often each was drawn; None if they were not drawn
    times: IntColumn | None
    #: whether these are all derivations of the space
    complete: bool


class ListExpectation(NamedTuple):
    """What a list says about a random derivation."""

    mean: float
    variance: float
    #: the standard error of the mean: 0 of a complete list, not known (NaN) of any other that was
    #: not drawn
    error: float
    #: the derivative of the mean by the score there
    gradient: FloatColumn
    #: the logarithm of the sum of ``exp(scale * score)`` over the list
    log_mass: float


def best_list(space: Lattice | Forest, evaluator: Evaluator, k: int) -> DerivationList:
    """Return the ``k`` derivations of the highest score, or all if there are no more.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b", -1.0)], finals=[1])
    >>> found = best_list(lattice, WER().against(["b"]), 1)
    >>> found.value.tolist(), found.use.toarray().tolist(), found.complete
    ([1.0], [[1.0, 0.0, 0.0, 1.0]], False)
    """
    paths = k_best_paths(space, k + 1)
    found = len(paths.offset) - 1
    if found > k:
        paths = Paths(ints(paths.arcs[: paths.offset[k]]), ints(paths.offset[: k + 1]))
    return _list(space, evaluator, paths, None, found <= k)


def join_lists(one: DerivationList, other: DerivationList) -> DerivationList:
    """Return two lists of a space, neither of them drawn, as one: what is in both comes once.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b", -1.0)], finals=[1])
    >>> turned = lattice.replaced(score=[-1.0, 0.0])
    >>> lists = [best_list(each, WER().against(["b"]), 1) for each in (lattice, turned, turned)]
    >>> join_lists(join_lists(lists[0], lists[1]), lists[2]).value.tolist()
    [1.0, 0.0]
    """
    known = set(_keys(one.use))
    new = [place for place, key in enumerate(_keys(other.use)) if key not in known]
    complete = one.complete or other.complete
    if not new:
        return one._replace(complete=complete)
    use = csr_array(vstack([one.use, other.use[new]], format="csr"))
    return DerivationList(floats(np.append(one.value, other.value[new])), use, None, complete)


def _keys(use: FeatureMatrix) -> list[bytes]:
    bounds, slots = use.indptr.tolist(), ints(use.indices)
    return [slots[begin:end].tobytes() for begin, end in pairwise(bounds)]


def draw_list(
    space: Lattice | Forest,
    evaluator: Evaluator,
    samples: int,
    rng: np.random.Generator,
    scale: float = 1.0,
) -> DerivationList:
    """Return ``samples`` random derivations, in proportion to ``exp(scale * score)``."""
    paths = sample_paths(space, samples, rng, scale)
    bounds, arcs = paths.offset.tolist(), paths.arcs
    first: dict[bytes, int] = {}
    place = np.empty(samples, np.int64)
    chosen: list[int] = []
    for number in range(samples):
        key = arcs[bounds[number] : bounds[number + 1]].tobytes()
        place[number] = first.setdefault(key, len(first))
        if place[number] == len(chosen):
            chosen.append(number)
    distinct = Paths.of(arcs[bounds[number] : bounds[number + 1]].tolist() for number in chosen)
    return _list(space, evaluator, distinct, ints(np.bincount(place)), False)


def _list(
    space: Lattice | Forest,
    evaluator: Evaluator,
    paths: Paths,
    times: IntColumn | None,
    complete: bool,
) -> DerivationList:
    count = len(paths.offset) - 1
    if isinstance(space, Forest):
        label, offset, _ = spell_derivations(space.columns, paths.arcs, paths.offset)
        slots, used, bounds = space.num_edges, paths.arcs, paths.offset
    else:
        label, offset = _words(space, paths)
        slots = space.num_arcs + space.num_states
        # every path ends somewhere, and that is a slot as well
        used = np.insert(paths.arcs, paths.offset[1:], space.num_arcs + _ends(space, paths))
        bounds = ints(paths.offset + np.arange(count + 1))
    nbest = NBest(space.vocabulary, ints(label), ints(offset), floats(np.zeros(count)))
    value = scores_of(evaluator.metric, nbest_stats(evaluator, nbest))
    use = csr_array((np.ones(len(used)), used, bounds), shape=(count, slots))
    return DerivationList(floats(value), use, times, complete)


def _words(lattice: Lattice, paths: Paths) -> tuple[Array, Array]:
    label = lattice.label[paths.arcs]
    spoken = np.concatenate(([0], np.cumsum(label > 0)))
    return label[label > 0], spoken[paths.offset]


def _ends(lattice: Lattice, paths: Paths) -> Array:
    ends = np.full(len(paths.offset) - 1, lattice.start)
    some = np.flatnonzero(np.diff(paths.offset))
    ends[some] = lattice.dst[paths.arcs[paths.offset[some + 1] - 1]]
    return ends


def list_expectation(
    some: DerivationList, score: FloatColumn, *, scale: float = 1.0
) -> ListExpectation:
    """Return what a list says about a random derivation of its space.

    A list that was drawn must be asked under the scores and the scale it was drawn with. With
    ``n`` draws, variance and gradient are divided by ``n - 1``, which makes them unbiased.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    >>> some = best_list(lattice, WER().against(["b"]), 2)
    >>> list_expectation(some, np.zeros(4)).gradient.tolist()
    [0.25, -0.25, 0.0, 0.0]
    """
    total = scale * (some.use @ score)
    highest = float(total.max())
    mass = np.exp(total - highest)
    if some.times is None:
        share, factor = mass / mass.sum(), 1.0
    else:
        draws = int(some.times.sum())
        share, factor = some.times / draws, draws / (draws - 1)
    mean = float(share @ some.value)
    apart = share * (some.value - mean)
    variance = factor * float(apart @ (some.value - mean))
    if some.times is not None:
        error = float(np.sqrt(variance / draws))
    else:
        error = 0.0 if some.complete else np.nan
    return ListExpectation(
        mean,
        variance,
        error,
        floats(scale * factor * (some.use.T @ apart)),
        highest + float(np.log(mass.sum())),
    )
