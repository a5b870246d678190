"""Fast consensus decoding: the sentence most like the expected n-gram counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decoding import _native
from decoding.minimum_risk.evidence import listing
from decoding.minimum_risk.linear import (
    ListSearch,
    count,
    mix_values,
    searches_of,
)
from decoding.minimum_risk.method import (
    Consensus,
    MBRProblem,
    Method,
    check_scale,
    system_shares,
)
from lattices.algorithms import NgramPosteriors
from lattices.algorithms.ngrams import COUNT, check_kinds, check_order
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError, argument
from lattices.spaces import Hypothesis, NBest, Space

#: expected counts are rounded to multiples of this, so that the order of sums does not matter
_UNIT = 2.0**-36


@dataclass(frozen=True, kw_only=True)
class FastConsensus(Method):
    """The candidate with the highest BLEU against expected n-gram counts.

    With ``c(u)`` the expected count of each n-gram over *all* sentences of the evidence, and
    ``L`` the expected number of words, a sentence ``E`` is worth

    ``BLEU(E) = exp(min(0, 1 - L / |E|) + mean over n of log P_n)``, where
    ``P_n = sum over n-grams u of length n of min(#u(E), c(u)) / (|E| - n + 1)``.

    This is fast consensus decoding of DeNero et al. 2009: the reference is replaced by the mean
    of its features. It is not the mean of BLEU over references, which ``pairwise`` maximises,
    but takes time linear in the number of candidates. The mean is over the orders that ``E`` is
    long enough for; BLEU is 0 if some ``P_n`` is, or if ``E`` has no words though ``L > 0``.
    Expected counts are rounded to multiples of ``2^-36``, so that sums are exact in any order.

    The objective does not decompose over arcs. Candidates are therefore the best sentences of
    the model, each once, as in the paper; the answer is the best of these, and ``exact`` says no
    more than that. Cost: expected counts (:func:`lattices.ngram_posteriors`), the list, and
    O(words of the list x order).

    Parameters
    ----------
    order : int
        The longest n-grams.
    candidates : int
        How many sentences of each lattice or forest; of a list all are taken.
    merge : {"sum", "max"}
        As of :class:`~decoding.minimum_risk.linear.Linear`.

    References
    ----------
    J. DeNero, D. Chiang and K. Knight. Fast consensus decoding over translation forests.
    ACL 2009.

    Examples
    --------
    >>> from decoding import mbr
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (1, 2, "b"), (2, 5, "e"),
    ...      (0, 3, "x", -1.1), (0, 3, "y", -1.2), (3, 4, "c"), (4, 5, "d")], finals=[5]
    ... )
    >>> found = mbr(lattice, method=FastConsensus(order=2))
    >>> found.text, found.method, found.candidates
    ('x c d', 'consensus', 3)
    """

    name = "consensus"
    own_objective = True
    ranks = True

    order: int = 4
    candidates: int = 1000
    merge: str = "sum"

    def decide(self, problem: MBRProblem, k: int = 1) -> list[Consensus]:
        """Return the ``k`` candidates that are worth most, best first."""
        spaces, metric, evidence, scale, system_weights = problem
        self.check_bleu(metric)
        if self.candidates < 1:
            raise OptionError(f"{argument('candidates')} is at least 1, not {self.candidates}")
        check_scale(scale)
        order = check_order(self.order)
        check_kinds(COUNT, self.merge)
        sources = searches_of(spaces if evidence is None else evidence, order)
        weights = system_shares(system_weights, len(sources))
        posteriors = [source.posteriors(scale, COUNT, self.merge) for source in sources]
        pools = [_pool(space, self.candidates, order) for space in spaces]
        number = count([pool.search for pool in pools]), count(sources)
        found: list[Consensus] = []
        for pool in pools:
            objective = _bleu(pool.search, posteriors, weights)
            for entry in pool.select_highest(objective, k):
                each = pool.hypothesis(entry)
                found.append(Consensus(each, float(objective[entry]), self.name, True, *number))
        first: dict[tuple[str, ...], Consensus] = {}
        for result in found:
            first.setdefault(result.tokens, result)
        results = sorted(first.values(), key=lambda each: (-each.expected, -each.hypothesis.score))
        return results[:k]


class _SentencePool(NamedTuple):
    """The candidates of one space: their words, and how to get at one of them."""

    search: ListSearch
    hypothesis: Callable[[int], Hypothesis]
    distinct: bool

    def select_highest(self, objective: FloatColumn, k: int) -> list[int]:
        """Return the ``k`` entries worth most, and all that are worth as much as the last."""
        if not self.distinct:
            nbest = self.search.space
            found = _native.ranked_sentences(nbest.label, nbest.offset, objective, nbest.score, k)
            return [int(entry) for entry in found]
        limit = np.partition(objective, -k)[-k] if k < len(objective) else -np.inf
        return [int(entry) for entry in np.flatnonzero(objective >= limit)]


def _pool(space: Space, number: int, order: int) -> _SentencePool:
    given = isinstance(space, NBest)
    found = listing(space, None if given else number)
    return _SentencePool(ListSearch(found.nbest, order), found.hypothesis, not given)


def _bleu(
    search: ListSearch, posteriors: Sequence[NgramPosteriors], weights: FloatColumn
) -> FloatColumn:
    """Return what each candidate is worth."""
    expected = np.rint(mix_values(search, posteriors, weights) / _UNIT) * _UNIT
    length = sum(
        weight * one.value[one.length == 1].sum()
        for one, weight in zip(posteriors, weights.tolist(), strict=True)
    )
    rounded = float(np.rint(length / _UNIT) * _UNIT)
    of = search.listed
    return _native.expected_bleu(
        of.ngrams, of.gram, search.space.offset, floats(expected), rounded, of.order
    )
