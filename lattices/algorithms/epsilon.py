"""Epsilon arcs: lattices without them, and lattices in which words may be left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices._native import epsilon_closures
from lattices.algorithms.kbest import best_words
from lattices.algorithms.semirings import LOG, VITERBI, Semiring
from lattices.algorithms.trimming import trim
from lattices.algorithms.union import stack_features
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Lattice
from lattices.spaces.arguments import LATTICE, takes
from lattices.spaces.features import FeatureMatrix, make_rows
from lattices.vocabulary import EPSILON

#: the feature of arcs that leave words out
DELETION = "deletion"


class _Closures(NamedTuple):
    """What epsilon paths lead from which state to which, the empty paths included."""

    begin: IntColumn
    end: IntColumn
    score: FloatColumn
    #: the last arc of the best such path, and the entry of the path before it; -1 if empty
    arc: IntColumn
    previous: IntColumn


@takes(lattice=LATTICE)
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
        If the lattice has no complete path, or if scores along epsilon paths overflow.
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
    closures = _Closures(*epsilon_closures(lattice.columns, semiring is LOG))
    entry, arc = _following(lattice, np.flatnonzero(~silent), closures.end)

    ending = np.flatnonzero(lattice.final[closures.end] > -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        score = closures.score[entry] + lattice.score[arc]
        ends = closures.score[ending] + lattice.final[closures.end[ending]]
    if not (np.isfinite(score).all() and np.isfinite(ends).all()):
        raise SpaceError(
            f"the scores of lattice {lattice.id!r} overflow: those along epsilon paths add up to "
            "infinity; make them smaller"
        )
    final = np.full(lattice.num_states, -np.inf)
    semiring.plus.at(final, closures.begin[ending], ends)

    features = final_features = None
    names: tuple[str, ...] = ()
    if semiring is VITERBI and lattice.features is not None:
        names = lattice.feature_names
        silently = _collect_silent_features(lattice, closures)
        features = silently[entry] + lattice.features[arc]
        final_features = _collect_final_features(lattice, closures, silently, ending, ends)
    return trim(
        Lattice(
            vocabulary=lattice.vocabulary,
            src=ints(closures.begin[entry]),
            dst=ints(lattice.dst[arc]),
            label=ints(lattice.label[arc]),
            score=floats(score),
            final=floats(final),
            start=lattice.start,
            features=features,
            final_features=final_features,
            feature_names=names,
            times=lattice.times,
            **lattice.about,
        )
    ).space


def _following(lattice: Lattice, spoken: Array, end: IntColumn) -> tuple[Array, Array]:
    """Return all pairs of a closure entry and an arc with a word that leaves its end."""
    offset = np.searchsorted(lattice.src[spoken], np.arange(lattice.num_states + 1))
    counts = offset[end + 1] - offset[end]
    entry = np.repeat(np.arange(len(end)), counts)
    within = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    return entry, spoken[offset[end[entry]] + within]


def _collect_silent_features(lattice: Lattice, closures: _Closures) -> FeatureMatrix:
    """Return the features along the epsilon path of each closure entry."""
    from scipy.sparse import csr_array

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


def _collect_final_features(
    lattice: Lattice,
    closures: _Closures,
    silently: FeatureMatrix,
    ending: Array,
    ends: FloatColumn,
) -> FeatureMatrix:
    """Return the features of the best way to end from each state."""
    from scipy.sparse import csr_array

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


@takes(lattice=LATTICE)
def allow_deletion(lattice: Lattice, *, whole: bool = False, feature: str = DELETION) -> Lattice:
    """Return a lattice with epsilon arcs beside its words, which count as deletions.

    An arc with a word gets a second one beside it that says nothing, has the score 0 and no feature
    but ``feature``, which is 1: the number of words that a path leaves out. With ``whole`` there is
    one such arc only, from the start to an end of its own, whose feature is the number of words of
    the best path: all words are left out, or none. Chiang et al. (2008, section 3.3) add rules to a
    decoder that match words and say nothing; this does it to what a decoder said, so words of
    the output are deleted, not of the input. Scores of language models are not recomputed.

    Give the feature a weight that is low enough, or training will begin with silence: scores are
    mostly below 0. Cost: O(arcs).

    Raises
    ------
    OptionError
        If the lattice has the feature already.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "the", -1.0, {"lm": -1.0}), (1, 2, "cat", -4.0, {"lm": -4.0})], finals=[2])
    >>> deleting = allow_deletion(lattice).reweighted({"lm": 1.0, "deletion": -2.0})
    >>> sorted((path.score, path.text) for path in deleting.paths())
    [(-6.0, 'cat'), (-5.0, 'the cat'), (-4.0, ''), (-3.0, 'the')]
    >>> silent = allow_deletion(lattice, whole=True).reweighted({"lm": 1.0, "deletion": -2.0})
    >>> sorted((path.score, path.text) for path in silent.paths())
    [(-5.0, 'the cat'), (-4.0, '')]
    """
    if feature in lattice.feature_names:
        raise OptionError(f"lattice {lattice.id!r} has a feature {feature!r} already")
    begin: Array
    end: Array
    price: Array
    if whole:
        count = len(best_words(lattice))
        begin, end, price = map(np.atleast_1d, (lattice.start, lattice.num_states, count))
    else:
        spoken = np.flatnonzero(lattice.label != EPSILON)
        begin, end, price = lattice.src[spoken], lattice.dst[spoken], np.ones(len(spoken))
    from scipy.sparse import csr_array

    more, states = len(price), int(whole)
    names = (*lattice.feature_names, feature)
    prices = csr_array(price.astype(np.float64).reshape(more, 1))
    rows = [(make_rows(lattice), lattice.feature_names, lattice.num_arcs)]
    last = [
        (make_rows(lattice, "final_features"), lattice.feature_names, lattice.num_states),
        (None, (), states),
    ]
    times = lattice.times
    if times is not None and whole:
        times = floats([*times, times.max()])
    return Lattice(
        vocabulary=lattice.vocabulary,
        src=ints(np.concatenate([lattice.src, begin])),
        dst=ints(np.concatenate([lattice.dst, end])),
        label=ints(np.concatenate([lattice.label, np.full(more, EPSILON)])),
        score=floats(np.concatenate([lattice.score, np.zeros(more)])),
        final=floats(np.concatenate([lattice.final, np.zeros(states)])),
        start=lattice.start,
        features=stack_features([*rows, (prices, (feature,), more)], names),
        final_features=stack_features(last, names),
        feature_names=names,
        times=times,
        **lattice.about,
    )
