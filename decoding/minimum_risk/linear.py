"""Lattice MBR: the sentence with the highest expected linear BLEU."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge as merge_sorted
from itertools import islice
from typing import overload

import numpy as np

from decoding.minimum_risk.evidence import checked_scale
from decoding.minimum_risk.linear_gains import (
    Factors,
    Ranked,
    linear_factors,
    ngram_gains,
    word_gain,
)
from decoding.minimum_risk.linear_search import Search, search_of
from decoding.minimum_risk.results import Consensus
from lattices.algorithms import NgramPosteriors
from lattices.algorithms.ngram_tables import PRESENCE, check_kinds
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice, NBest, Space


@overload
def linear(
    spaces: Space | Sequence[Space],
    *,
    scale: float = 1.0,
    theta: Sequence[float] | None = None,
    p: float = 0.85,
    r: float = 0.75,
    T: float = 10.0,
    order: int = 4,
    word_penalty: float | None = None,
    merge: str = "sum",
    evidence: Space | Sequence[Space] | None = None,
    system_weights: Sequence[float] | None = None,
    k: None = None,
) -> Consensus: ...
@overload
def linear(
    spaces: Space | Sequence[Space],
    *,
    scale: float = 1.0,
    theta: Sequence[float] | None = None,
    p: float = 0.85,
    r: float = 0.75,
    T: float = 10.0,
    order: int = 4,
    word_penalty: float | None = None,
    merge: str = "sum",
    evidence: Space | Sequence[Space] | None = None,
    system_weights: Sequence[float] | None = None,
    k: int,
) -> list[Consensus]: ...
def linear(
    spaces: Space | Sequence[Space],
    *,
    scale: float = 1.0,
    theta: Sequence[float] | None = None,
    p: float = 0.85,
    r: float = 0.75,
    T: float = 10.0,
    order: int = 4,
    word_penalty: float | None = None,
    merge: str = "sum",
    evidence: Space | Sequence[Space] | None = None,
    system_weights: Sequence[float] | None = None,
    k: int | None = None,
) -> Consensus | list[Consensus]:
    """Return the sentence of a space with the highest expected linear BLEU, exactly.

    What is maximised over all sentences ``E`` of the space is

    ``G(E) = theta_0 |E| + sum over n-grams u of theta_|u| * #u(E) * P(u)``

    where ``#u(E)`` is how often ``E`` has ``u``, and ``P(u)`` the probability that a sentence
    of the evidence has it at all (:func:`lattices.ngram_posteriors`). This is the lattice MBR
    of Tromble et al. 2008, from a first-order approximation of the logarithm of corpus BLEU.

    Cost: that of unfolding the space to contexts of ``order - 1`` words and of the posteriors;
    the search adds O(unfolded arcs), and that of the ``k`` best what :func:`lattices.k_best`
    takes for what is unfolded. Ties go to the higher model score, then to the smaller sentence
    in the order of its words; in a forest to the one with fewer words before that. Sums of
    gains are exact, so ties do not depend on the order of arcs.

    Parameters
    ----------
    spaces : Lattice, Forest or NBest, or several
        Where the sentence is searched for. Of several systems any sentence can be chosen.
    scale : float
        What scores are multiplied by before they become probabilities.
    theta : sequence of float, optional
        ``theta_0, ..., theta_N``; they also set the order.
    p, r, T : float
        What ``theta`` is made of if it is not given: unigram precision, precision ratio, and
        number of unigrams (:func:`~decoding.minimum_risk.linear_gains.linear_factors`). The
        precisions are those of the task, to be estimated or tuned on a development set
        (:func:`~decoding.minimum_risk.tuning.tune_linear`); the defaults are only a beginning.
        (Moses has 0.8 and 0.6; HiFST wants to be told.)
    order : int
        The longest n-grams.
    word_penalty : float, optional
        Taken off for each word, besides ``theta_0``.
    merge : {"sum", "max"}
        Whether all paths of a sentence make its probability, or the best alone, as in HiFST.
    evidence : space or spaces, optional
        What probabilities come from; by default the spaces themselves.
    system_weights : sequence of float, optional
        One weight for each space of the evidence, not negative: ``P(u)`` is the weighted mean
        of its probabilities in each. By default all are equal.
    k : int, optional
        Return a list of that many sentences, each once, best first; all if there are fewer.

    Raises
    ------
    SpaceError
        If a lattice has no complete path, or there are too many contexts.
    OptionError
        If a list is empty, the scale is negative or not finite, or another number out of range.

    References
    ----------
    R. Tromble, S. Kumar, F. Och and W. Macherey. Lattice minimum Bayes-risk decoding for
    statistical machine translation. EMNLP 2008.

    Examples
    --------
    The best path is "a b e", but most of the probability is on sentences with "c d":

    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (1, 2, "b"), (2, 5, "e"),
    ...      (0, 3, "x", -1.1), (0, 3, "y", -1.2), (3, 4, "c"), (4, 5, "d")], finals=[5]
    ... )
    >>> found = linear(lattice)
    >>> found.text, found.method, found.exact
    ('x c d', 'linear', True)
    >>> [each.text for each in linear(lattice, k=3)]
    ['x c d', 'y c d', 'a b e']
    """
    if k is not None and k < 1:
        raise OptionError(f"k is at least 1, not {k}")
    checked_scale(scale)
    factors = linear_factors(p, r, T, order, theta=theta, word_penalty=word_penalty)
    check_kinds(PRESENCE, merge)
    searches, sources = made_ready(spaces, evidence, factors.order)
    weights = checked_weights(system_weights, len(sources))
    posteriors = [source.posteriors(scale, PRESENCE, merge) for source in sources]
    found = chosen(searches, posteriors, weights, factors, k or 1)
    results = [
        Consensus(each.hypothesis, each.gain, "linear", True, count(searches), count(sources))
        for each in found
    ]
    return results if k is not None else results[0]


def made_ready(
    spaces: Space | Sequence[Space], evidence: Space | Sequence[Space] | None, order: int
) -> tuple[list[Search], list[Search]]:
    """Return the spaces to search and those of the evidence, each unfolded once."""
    searches = [search_of(space, order) for space in listed(spaces)]
    if evidence is None:
        return searches, searches
    known = {id(search.space): search for search in searches}
    sources = [known.get(id(space)) or search_of(space, order) for space in listed(evidence)]
    return searches, sources


def listed(spaces: Space | Sequence[Space]) -> list[Space]:
    """Return one space or several as a list that is not empty."""
    if isinstance(spaces, Lattice | Forest | NBest):
        return [spaces]
    several = list(spaces)
    if not several:
        raise OptionError("no space at all, expected at least one")
    return several


def checked_weights(weights: Sequence[float] | None, systems: int) -> FloatColumn:
    """Return the weights of systems, made to sum to one."""
    if weights is None:
        return floats(np.full(systems, 1.0 / systems))
    column = np.asarray(weights, dtype=np.float64)
    if column.shape != (systems,):
        raise OptionError(f"{column.size} weights for {systems} systems")
    if not np.isfinite(column).all() or (column < 0.0).any() or column.sum() <= 0.0:
        raise OptionError(
            f"weights of systems are not negative and not all zero: {column.tolist()}"
        )
    return floats(column / column.sum())


def count(searches: Sequence[Search]) -> int:
    """Return how many sentences there are, or -1 if they are all those of some space."""
    numbers = [search.sentences for search in searches]
    return -1 if -1 in numbers else sum(numbers)


def mixed_values(
    search: Search, posteriors: Sequence[NgramPosteriors], weights: FloatColumn
) -> FloatColumn:
    """Return the mean value, over the systems of the evidence, of each n-gram of a space."""
    if len(posteriors) == 1:
        return posteriors[0].values_of(search.ngrams, search.vocabulary)
    value = np.zeros(len(search.ngrams.row))
    for one, weight in zip(posteriors, weights.tolist(), strict=True):
        value += weight * one.values_of(search.ngrams, search.vocabulary)
    return floats(value)


def chosen(
    searches: Sequence[Search],
    posteriors: Sequence[NgramPosteriors],
    weights: FloatColumn,
    factors: Factors,
    k: int,
) -> list[Ranked]:
    """Return the ``k`` best sentences of all spaces."""
    found: list[list[Ranked]] = []
    for search in searches:
        gain = ngram_gains(factors, search.ngrams, mixed_values(search, posteriors, weights))
        word = word_gain(factors)
        found.append([search.best(gain, word)] if k == 1 else search.k_best(gain, word, k))
    return merged(found, k)


def merged(found: Sequence[Sequence[Ranked]], k: int) -> list[Ranked]:
    """Return the best of what several spaces gave; the first that has a sentence stands for it.

    What one space gave stays in its order: forests have an order of ties of their own.
    """
    known: set[tuple[str, ...]] = set()
    own: list[list[Ranked]] = []
    for some in found:
        own.append([each for each in some if each.hypothesis.tokens not in known])
        known.update(each.hypothesis.tokens for each in some)
    ranked = merge_sorted(
        *own, key=lambda each: (-each.gain, -each.hypothesis.score, each.hypothesis.tokens)
    )
    return list(islice(ranked, k))
