"""Deletion arcs: lattices in which words, or the whole sentence, may be left out at a price."""

from __future__ import annotations

import numpy as np

from lattices.algorithms.kbest import best_words
from lattices.algorithms.union import stack_features
from lattices.arrays import Array, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Lattice
from lattices.spaces.arguments import LATTICE, takes
from lattices.spaces.features import make_rows
from lattices.vocabulary import EPSILON

#: the feature of deletion arcs
DELETION = "deletion"


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
