"""Lattice MBR: the sentence with the highest expected linear BLEU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import merge as merge_sorted
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np

from decoding import _native
from decoding.minimum_risk.evidence import Evidence
from decoding.minimum_risk.method import (
    Consensus,
    MBRProblem,
    Method,
    Spaces,
    as_systems,
    check_scale,
    system_shares,
)
from fstmetrics.contract import Machine
from fstmetrics.ngram.linear import Factors, linear_factors, ngram_machine
from lattices._native import NgramTrie
from lattices.algorithms import NgramPosteriors, Paths, hypotheses
from lattices.algorithms.ngrams import (
    MAX,
    PRESENCE,
    ListNgrams,
    Unfolded,
    check_kinds,
    merge_sentences,
    unfold,
)
from lattices.algorithms.paths import explain_no_path
from lattices.arrays import FloatColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError, argument
from lattices.intersection import choose, kernel
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.arguments import check_filled
from lattices.vocabulary import Vocabulary

#: no search gives more sentences
_MOST = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class Linear(Method):
    """The sentence of a space with the highest expected linear BLEU, exactly.

    What is maximised over all sentences ``E`` of the space is

    ``G(E) = theta_0 |E| + sum over n-grams u of theta_|u| * #u(E) * P(u)``

    where ``#u(E)`` is how often ``E`` has ``u``, and ``P(u)`` the probability that a sentence
    of the evidence has it at all (:func:`lattices.ngram_posteriors`), of several systems the
    weighted mean. This is the lattice MBR of Tromble et al. 2008, from a first-order approximation
    of the logarithm of corpus BLEU. Of several systems any sentence can be chosen.

    Cost: that of unfolding the space to contexts of ``order - 1`` words and of the posteriors;
    the search adds O(unfolded arcs), and that of the ``k`` best what :func:`lattices.k_best`
    takes for what is unfolded. Ties go to the higher model score. Sums of gains are exact, so
    what ties does not depend on the order of arcs.

    Parameters
    ----------
    theta : sequence of float, optional
        ``theta_0, ..., theta_N``; they also set the order.
    p, r, T : float
        What ``theta`` is made of if it is not given: unigram precision, precision ratio, and
        number of unigrams (:func:`linear_factors`). The
        precisions are those of the task, to be estimated or tuned on a development set
        (:func:`~decoding.minimum_risk.tuning.tune_linear`); the defaults are only a beginning.
        (Moses has 0.8 and 0.6; HiFST wants to be told.)
    order : int
        The longest n-grams.
    word_penalty : float, optional
        Taken off for each word, besides ``theta_0``.
    merge : {"sum", "max"}
        Whether all paths of a sentence make its probability, or the best alone, as in HiFST.
    engine : str
        ``auto`` and ``kernel`` search the unfolded space. Any other engine, such as ``openfst``,
        intersects a lattice, or a forest as a lattice, with the automaton of linear BLEU in which
        n-grams weigh their posteriors (:func:`fstmetrics.ngram.linear.ngram_machine`): the
        definition, slow, and in OpenFst's single precision.

    Raises
    ------
    SpaceError
        If a lattice has no complete path, or there are too many contexts.
    OptionError
        If a number is out of range, or another engine than the kernel is asked for the k best, to
        search a list, or for n-grams that cost something.

    References
    ----------
    R. Tromble, S. Kumar, F. Och and W. Macherey. Lattice minimum Bayes-risk decoding for
    statistical machine translation. EMNLP 2008.

    Examples
    --------
    The best path is "a b e", but most of the probability is on sentences with "c d":

    >>> from decoding import mbr, mbr_kbest
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (1, 2, "b"), (2, 5, "e"),
    ...      (0, 3, "x", -1.1), (0, 3, "y", -1.2), (3, 4, "c"), (4, 5, "d")], finals=[5]
    ... )
    >>> found = mbr(lattice, method=Linear(p=0.8))
    >>> found.text, found.method, found.exact
    ('x c d', 'linear', True)
    >>> [each.text for each in mbr_kbest(lattice, k=3, method="linear")]
    ['x c d', 'y c d', 'a b e']
    >>> mbr(lattice, method=Linear(engine="openfst")).text
    'x c d'
    """

    name = "linear"
    own_objective = True
    ranks = True

    theta: Sequence[float] | None = None
    p: float = 0.85
    r: float = 0.75
    T: float = 10.0
    order: int = 4
    word_penalty: float | None = None
    merge: str = "sum"
    engine: str = "auto"

    def decide(self, problem: MBRProblem, k: int = 1) -> list[Consensus]:
        """Return the ``k`` sentences that gain most, each once, best first."""
        spaces, metric, evidence, scale, system_weights = problem
        self.check_bleu(metric)
        check_scale(scale)
        factors = linear_factors(
            self.p, self.r, self.T, self.order, theta=self.theta, word_penalty=self.word_penalty
        )
        check_kinds(PRESENCE, self.merge)
        searches, sources = prepare_spaces(spaces, evidence, factors.order)
        weights = system_shares(system_weights, len(sources))
        posteriors = [source.posteriors(scale, PRESENCE, self.merge) for source in sources]
        values = [mix_values(search, posteriors, weights) for search in searches]
        if self.engine in ("auto", kernel.ENGINE.name):
            found = [
                search.k_best(factors, value, k)
                for search, value in zip(searches, values, strict=True)
            ]
        elif k > 1:
            raise OptionError(
                f"{argument('engine')} {self.engine} finds the best sentence, not the k best"
            )
        else:
            found = [
                [intersect(search, factors, value, self.engine)]
                for search, value in zip(searches, values, strict=True)
            ]
        return [
            Consensus(each.hypothesis, each.gain, self.name, True, count(searches), count(sources))
            for each in merge_results(found, k)
        ]


class RankedPaths(NamedTuple):
    """A sentence and what it gains."""

    hypothesis: Hypothesis
    gain: float


class GraphSearch:
    """A lattice or forest made ready: unfolded once, searched under many gains."""

    def __init__(self, space: Lattice | Forest, order: int) -> None:
        self.unfolded: Unfolded = unfold(space, order)
        self.space = space
        self.order = order

    @property
    def ngrams(self) -> NgramTrie:
        """The n-grams of the space."""
        return self.unfolded.ngrams

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.space.vocabulary

    @property
    def sentences(self) -> int:
        """-1: all sentences of the space are searched."""
        return -1

    def posteriors(self, scale: float, kind: str, merge: str) -> NgramPosteriors:
        """Return the posteriors of the n-grams."""
        return (self._merged if merge == MAX else self.unfolded).posteriors(scale, kind)

    @cached_property
    def _merged(self) -> Unfolded:
        """The space with each sentence once, unfolded."""
        return unfold(merge_sentences(self.space), self.order)

    def k_best(self, factors: Factors, value: FloatColumn, k: int) -> list[RankedPaths]:
        """Return the ``k`` sentences that gain most, each once, by its best score."""
        space = self.space
        gains, edges, offset = _native.most_gaining(
            space.columns, self.unfolded.graph, value, factors.theta, factors.unit, min(k, _MOST)
        )
        if k == 1:
            return [RankedPaths(space.hypothesis(edges.tolist()), float(gains[0]))]
        sentences = hypotheses(space, Paths(ints(edges), ints(offset)))
        return list(map(RankedPaths, sentences, gains.tolist()))


class ListSearch:
    """An n-best list with its n-grams."""

    def __init__(self, nbest: NBest, order: int) -> None:
        check_filled([nbest])
        self.listed: ListNgrams = ListNgrams.of(nbest, order)
        self.space = nbest

    @property
    def ngrams(self) -> NgramTrie:
        """The n-grams of the list."""
        return self.listed.ngrams

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.space.vocabulary

    @property
    def sentences(self) -> int:
        """The number of entries."""
        return len(self.space)

    def posteriors(self, scale: float, kind: str, merge: str) -> NgramPosteriors:
        """Return the posteriors of the n-grams."""
        return self.listed.posteriors(scale, kind, merge)

    def k_best(self, factors: Factors, value: FloatColumn, k: int) -> list[RankedPaths]:
        """Return the ``k`` sentences that gain most, each once, by its best score."""
        nbest = self.space
        gains = _native.sentence_gains(
            self.ngrams, self.listed.gram, nbest.offset, value, factors.theta, factors.unit
        )
        chosen = _native.ranked_sentences(
            nbest.label, nbest.offset, gains, nbest.score, min(k, _MOST)
        )
        return [RankedPaths(nbest[entry], float(gains[entry])) for entry in chosen.tolist()]


LinearSearch: TypeAlias = GraphSearch | ListSearch


def linear_machine(
    space: Space, factors: Factors, *, scale: float = 1.0, merge: str = "sum"
) -> Machine:
    """Return the automaton whose best path in a space is what :class:`Linear` chooses."""
    check_scale(scale)
    check_kinds(PRESENCE, merge)
    search = search_of(space, factors.order)
    value = search.posteriors(scale, PRESENCE, merge).values_of(search.ngrams, search.vocabulary)
    return replace(ngram_machine(search.ngrams, value, factors), vocabulary=search.vocabulary)


def intersect(
    search: LinearSearch, factors: Factors, value: FloatColumn, engine: str
) -> RankedPaths:
    """Return the sentence that gains most by an intersection with the automaton of the gains.

    Cost: O(arcs x n-grams) at worst; a forest is expanded to a lattice.
    """
    if isinstance(search, ListSearch):
        raise OptionError(
            f"{argument('engine')} {engine} intersects lattices and forests, no n-best lists"
        )
    space = search.space
    machine = ngram_machine(search.ngrams, value, factors)
    (best,) = choose(engine, space, machine).best([(space, machine)])
    if best is None:
        raise explain_no_path(space)
    hypothesis = space.hypothesis(best.arcs.tolist())
    # single precision chose it; what it gains is told exactly
    line = Lattice.from_arcs(
        [(at, at + 1, word) for at, word in enumerate(hypothesis.tokens)],
        finals=[len(hypothesis.tokens)],
        states=len(hypothesis.tokens) + 1,
        vocabulary=space.vocabulary,
    )
    (gain,) = kernel.ENGINE.best([(line, machine)])
    return RankedPaths(hypothesis, gain.value if gain is not None else best.value)


def search_of(space: Space, order: int) -> LinearSearch:
    """Return a space made ready. Cost: that of unfolding it."""
    return ListSearch(space, order) if isinstance(space, NBest) else GraphSearch(space, order)


def prepare_spaces(
    spaces: Spaces, evidence: Evidence | Spaces | None, order: int
) -> tuple[list[LinearSearch], list[LinearSearch]]:
    """Return the spaces to search and those of the evidence, each unfolded once."""
    searches = searches_of(spaces, order)
    return searches, searches if evidence is None else searches_of(evidence, order, searches)


def searches_of(
    spaces: Evidence | Spaces, order: int, ready: Sequence[LinearSearch] = ()
) -> list[LinearSearch]:
    """Return spaces made ready, those that already are as they are."""
    if isinstance(spaces, Evidence):
        raise OptionError("the evidence is Evidence, expected a Lattice, a Forest or an NBest")
    known = {id(search.space): search for search in ready}
    return [known.get(id(space)) or search_of(space, order) for space in as_systems(spaces)]


def count(searches: Sequence[LinearSearch]) -> int:
    """Return how many sentences there are, or -1 if they are all those of some space."""
    numbers = [search.sentences for search in searches]
    return -1 if -1 in numbers else sum(numbers)


def mix_values(
    search: LinearSearch, posteriors: Sequence[NgramPosteriors], weights: FloatColumn
) -> FloatColumn:
    """Return the mean value, over the systems of the evidence, of each n-gram of a space."""
    if len(posteriors) == 1:
        return posteriors[0].values_of(search.ngrams, search.vocabulary)
    value = np.zeros(len(search.ngrams))
    for one, weight in zip(posteriors, weights.tolist(), strict=True):
        value += weight * one.values_of(search.ngrams, search.vocabulary)
    return floats(value)


def merge_results(found: Sequence[Sequence[RankedPaths]], k: int) -> list[RankedPaths]:
    """Return the best results of several spaces; equal sentences are one, the first."""
    if len(found) == 1:
        return list(found[0])
    known: set[tuple[str, ...]] = set()
    own: list[list[RankedPaths]] = []
    for some in found:
        own.append([each for each in some if each.hypothesis.tokens not in known])
        known.update(each.hypothesis.tokens for each in some)
    ranked = merge_sorted(*own, key=lambda each: (-each.gain, -each.hypothesis.score))
    return list(islice(ranked, k))
