"""Lattices without epsilon arcs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from lattices.algorithms.trimming import trim
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints, kernel
from lattices.errors import OptionError
from lattices.semirings import LOG, VITERBI, Semiring
from lattices.spaces import Lattice
from lattices.spaces.features import FeatureMatrix
from lattices.vocabulary import EPSILON


class _Closures(NamedTuple):
    """What epsilon paths lead from which state to which, the empty paths included."""

    begin: IntColumn
    end: IntColumn
    score: FloatColumn
    #: the last arc of the best such path, and the entry of the path before it; -1 if empty
    arc: IntColumn
    previous: IntColumn


@kernel
def _closures(dst, label, out_offset, score, wanted, logarithmic):  # type: ignore[no-untyped-def]
    """Return the columns of the closures of the wanted states, state by state."""
    states = len(wanted)
    room = 2 * states + 16
    column = np.empty((room, 4), np.int32)
    weight = np.empty(room, np.float64)
    count = 0
    # of paths from `begin`: their sum, the best, its last arc and the entry before that
    reached_from = np.full(states, -1, np.int32)
    total, best = np.empty(states), np.empty(states)
    arc_to, entry_before = np.empty(states, np.int32), np.empty(states, np.int32)
    for begin in range(states):
        if not wanted[begin]:
            continue
        reached_from[begin] = begin
        total[begin] = best[begin] = 0.0
        arc_to[begin] = entry_before[begin] = -1
        state = last = begin
        while state <= last:
            if reached_from[state] == begin:
                if count == room:
                    room *= 2
                    longer = np.empty((room, 4), np.int32)
                    longer[:count] = column
                    column = longer
                    weight = np.concatenate((weight, weight))
                column[count, 0] = begin
                column[count, 1] = state
                column[count, 2] = arc_to[state]
                column[count, 3] = entry_before[state]
                weight[count] = total[state] if logarithmic else best[state]
                for arc in range(out_offset[state], out_offset[state + 1]):
                    if label[arc] != EPSILON:
                        continue
                    target = dst[arc]
                    fresh = reached_from[target] != begin
                    if fresh or best[state] + score[arc] > best[target]:
                        best[target] = best[state] + score[arc]
                        arc_to[target] = arc
                        entry_before[target] = count
                    more = total[state] + score[arc]
                    total[target] = more if fresh else np.logaddexp(total[target], more)
                    reached_from[target] = begin
                    last = max(last, target)
                count += 1
            state += 1
    return column[:count], weight[:count]


def remove_epsilon(lattice: Lattice, semiring: Semiring = VITERBI) -> Lattice:
    """Return a lattice without epsilon arcs that has the same sentences.

    Under VITERBI every sentence keeps the score of its best path; under LOG the logarithm
    of the sum over all its paths. (The number of paths does not survive: all epsilon paths
    between two states become one.) A state's arcs become those of all states that epsilon
    paths lead to from it, the scores of these paths added; states that only epsilon arcs
    lead to disappear, and so does what lies on no complete path. A lattice without epsilon
    arcs comes back as it is.

    Under VITERBI the features are those along the best epsilon path, so the score of a
    path is still the product of its features and the weights. Under LOG one arc stands for
    many paths and no features would be true of it: there are none.

    Cost: O(states + arcs) times the size of the largest epsilon closure, and as many arcs in
    the worst case: a lattice with many long epsilon paths grows a great deal.

    References
    ----------
    M. Mohri, Generic epsilon-removal and input epsilon-normalization algorithms for
    weighted transducers, International Journal of Foundations of Computer Science, 2002.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.
    OptionError
        If the semiring is neither VITERBI nor LOG.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "", -1.0), (0, 1, "a", -3.0), (1, 2, "b", -1.0)], finals=[2]
    ... )
    >>> sorted((path.text, path.score) for path in remove_epsilon(lattice).paths())
    [('a b', -4.0), ('b', -2.0)]
    """
    if semiring not in (VITERBI, LOG):
        raise OptionError(f"epsilons under {semiring.name}, expected VITERBI or LOG")
    silent = lattice.label == EPSILON
    if not silent.any():
        return lattice
    wanted = np.zeros(lattice.num_states, np.bool_)
    wanted[lattice.start] = True
    wanted[lattice.dst[~silent]] = True
    columns, weight = _closures(
        lattice.dst, lattice.label, lattice.out_offset, lattice.score, wanted, semiring is LOG
    )
    closures = _Closures(columns[:, 0], columns[:, 1], weight, columns[:, 2], columns[:, 3])
    entry, arc = _following(lattice, np.flatnonzero(~silent), closures.end)

    ending = np.flatnonzero(lattice.final[closures.end] > -np.inf)
    ends = closures.score[ending] + lattice.final[closures.end[ending]]
    final = np.full(lattice.num_states, -np.inf)
    semiring.plus.at(final, closures.begin[ending], ends)

    features = final_features = None
    names: tuple[str, ...] = ()
    if lattice.features is not None and semiring is VITERBI:
        names = lattice.feature_names
        silently = _silent_features(lattice, closures)
        features = silently[entry] + lattice.features[arc]
        final_features = _final_features(lattice, closures, silently, ending, ends)
    return trim(
        Lattice(
            vocabulary=lattice.vocabulary,
            src=ints(closures.begin[entry]),
            dst=ints(lattice.dst[arc]),
            label=ints(lattice.label[arc]),
            score=floats(closures.score[entry] + lattice.score[arc]),
            final=floats(final),
            start=lattice.start,
            features=features,
            final_features=final_features,
            feature_names=names,
            times=lattice.times,
            id=lattice.id,
            source=lattice.source,
            references=lattice.references,
            metadata=lattice.metadata,
        )
    ).lattice


def _following(lattice: Lattice, spoken: Array, end: IntColumn) -> tuple[Array, Array]:
    """Return all pairs of a closure entry and an arc with a word that leaves its end."""
    offset = np.searchsorted(lattice.src[spoken], np.arange(lattice.num_states + 1))
    counts = offset[end + 1] - offset[end]
    entry = np.repeat(np.arange(len(end)), counts)
    within = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    return entry, spoken[offset[end[entry]] + within]


def _silent_features(lattice: Lattice, closures: _Closures) -> FeatureMatrix:
    """Return the features along the epsilon path of each closure entry."""
    rows, columns = [], []
    arcs, previous = closures.arc.tolist(), closures.previous.tolist()
    for row in np.flatnonzero(closures.arc >= 0).tolist():
        entry = row
        while arcs[entry] >= 0:
            rows.append(row)
            columns.append(arcs[entry])
            entry = previous[entry]
    chosen = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(arcs), lattice.num_arcs))
    return chosen @ lattice.features


def _final_features(
    lattice: Lattice,
    closures: _Closures,
    silently: FeatureMatrix,
    ending: Array,
    ends: FloatColumn,
) -> FeatureMatrix:
    """Return the features of the best way to end from each state."""
    order = np.lexsort((ending, -ends, closures.begin[ending]))
    state, place = np.unique(closures.begin[ending][order], return_index=True)
    entry = ending[order][place]
    along = silently[entry]
    if lattice.final_features is not None:
        along = along + lattice.final_features[closures.end[entry]]
    placed = csr_array(
        (np.ones(len(state)), (state, np.arange(len(state)))),
        shape=(lattice.num_states, len(state)),
    )
    return placed @ along
