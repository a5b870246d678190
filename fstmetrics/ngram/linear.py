"""Linear BLEU: BLEU's logarithm to first order, and its automaton."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from fstmetrics.contract import Prepared, S
from fstmetrics.machine import Machine
from fstmetrics.ngram.bleu import BLEU, BLEUEvaluator
from fstmetrics.references import Reference, check_references
from fstmetrics.signature import option
from lattices._native import NgramTrie, sentence_ngrams
from lattices.algorithms.ngrams import check_order
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError, argument
from lattices.intersection.automata import ANY, Automaton, Part
from lattices.vocabulary import Vocabulary

#: gains are multiples of the largest factor over this power of two
_STEPS = 36
# the columns of the rows of a trie
_PREFIX, _WORD, _SUFFIX, _LENGTH = range(4)


class Factors(NamedTuple):
    """What a word costs or gains by itself, and what an n-gram of each length gains."""

    word: float
    #: for lengths 1, 2, ..
    ngram: tuple[float, ...]

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.ngram)

    @property
    def unit(self) -> float:
        """What all gains are rounded to multiples of, a power of two: their sums are exact.

        What is lost is less than 1e-10 of the largest factor.
        """
        largest = max(abs(self.word), *map(abs, self.ngram))
        # of the smallest floats there are no fractions
        return math.ldexp(1.0, max(math.frexp(largest)[1] - _STEPS, -1000)) if largest else 1.0

    @property
    def theta(self) -> FloatColumn:
        """The factor of a word, then those of n-grams by length."""
        return floats((self.word, *self.ngram))


def linear_factors(
    p: float = 0.85,
    r: float = 0.75,
    T: float = 10.0,
    order: int = 4,
    *,
    theta: Sequence[float] | None = None,
    word_penalty: float | None = None,
) -> Factors:
    """Return the factors ``theta`` of Tromble et al. 2008.

    Examples
    --------
    >>> linear_factors(p=0.5, r=0.5, T=10, order=2)
    Factors(word=-0.1, ngram=(0.1, 0.2))
    >>> linear_factors(theta=[-1, 1, 1], word_penalty=0.5)
    Factors(word=-1.5, ngram=(1.0, 1.0))
    """
    if theta is None:
        order = check_order(order)
        for name, value in (("p", p), ("r", r), ("T", T)):
            if not 0.0 < value < math.inf:
                raise OptionError(f"{argument(name)} is a positive number, not {value}")
        try:
            factors = [-1.0 / T, *(1.0 / (order * T * p * r**n) for n in range(order))]
        except (OverflowError, ZeroDivisionError):
            raise OptionError(f"p={p}, r={r} and T={T} give factors that are not finite") from None
    else:
        try:
            factors = [float(value) for value in theta]
        except (TypeError, ValueError):
            raise OptionError(f"{argument('theta')} is a list of numbers, not {theta!r}") from None
        if len(factors) < 2:
            raise OptionError(f"theta has one number for words and others for n-grams: {theta}")
        check_order(len(factors) - 1)
    factors[0] -= word_penalty or 0.0
    for value in factors:
        if not math.isfinite(value):
            raise OptionError(f"the factors of words and n-grams are finite numbers: {factors}")
    return Factors(factors[0], tuple(factors[1:]))


def ngram_machine(
    ngrams: NgramTrie,
    value: FloatColumn,
    factors: Factors,
    words: Mapping[int, Sequence[int]] | None = None,
) -> Machine:
    """Return the machine that gains ``theta_0`` for a word and ``theta_|u| * value(u)`` for u."""
    if min(factors.ngram) < 0.0:
        raise OptionError(
            f"an automaton of linear BLEU has no n-grams that cost something: {factors.ngram}"
        )
    rows = ngrams.rows()
    unit, length = factors.unit, rows[:, _LENGTH]
    gain = np.rint(factors.theta[length] * value / unit)
    gain[0] = 0.0
    # the ends of an n-gram are shorter than it
    for order in range(2, factors.order + 1):
        some = length == order
        gain[some] += gain[rows[some, _SUFFIX]]
    contexts = np.flatnonzero(length < factors.order)
    state = np.zeros(len(rows), np.int32)
    state[contexts] = np.arange(len(contexts))
    read = np.arange(1, len(rows))
    reached = np.where(length[read] < factors.order, read, rows[read, _SUFFIX])
    word = np.rint(factors.word / unit)
    src, dst, label = state[rows[read, _PREFIX]], state[reached], rows[read, _WORD]
    earned = word + gain[read]
    if words is not None:
        arcs = [(arc, number) for arc, own in enumerate(label.tolist()) for number in words[own]]
        place, label = np.array(arcs, np.int32).reshape(-1, 2).T
        src, dst, earned = src[place], dst[place], earned[place]
    silent = contexts[1:]
    nothing = np.zeros(len(silent))
    initial = np.full(len(contexts), -np.inf)
    initial[0] = 0.0
    automaton = Automaton(
        ints(np.concatenate([src, state[silent], [0]])),
        ints(np.concatenate([dst, state[rows[silent, _SUFFIX]], [0]])),
        ints(np.concatenate([label, nothing, [ANY]])),
        floats(np.concatenate([earned, nothing, [word]])),
        floats(initial),
        floats(np.zeros(len(contexts))),
    )
    return Machine((Part(automaton, 1.0 / unit),), "proxy")


@dataclass(frozen=True, kw_only=True)
class LinearBLEU(BLEU):
    """BLEU, searched by its linear form: a machine for lattices and forests.

    Scores are BLEU's. Spaces are searched for the sentence E with the highest

    ``theta_0 |E| + sum over n of theta_n * (n-grams of E that a reference has)``,

    the first-order approximation of the logarithm of corpus BLEU (Tromble et al. 2008):
    ``theta_0 = -1 / T`` and ``theta_n = w_n / (T p r^(n-1))``, where p is the unigram precision of
    the corpus, r the ratio of one precision to the one before, T the number of words, and w_n the
    weight of the order, 1/4 with four of them. Nothing is clipped, and there is no brevity
    penalty: only theta_0 says that a word must earn its place. So its machine is a *proxy* of BLEU
    and never proves a result; it is small (:func:`ngram_machine`), and serves wherever a machine
    does. Sokolov et al. (2012) call the sentences it finds LB oracles.

    Costs O(arcs x n-grams of the references) in the kernel; a forest is expanded to a lattice.

    Other options are those of :class:`fstmetrics.BLEU`, of words as they are in the space: no
    tokeniser, no characters.

    Parameters
    ----------
    p, r, T : float
        Positive; :meth:`fitted` takes p and r from the statistics of a corpus. T weighs the whole
        against the model's score.

    References
    ----------
    Tromble, Kumar, Och and Macherey. Lattice minimum Bayes-risk decoding for statistical machine
    translation. EMNLP 2008.

    Sokolov, Wisniewski and Yvon. Computing lattice BLEU oracle scores for machine translation.
    EACL 2012.

    Examples
    --------
    >>> evaluator = LinearBLEU(order=2).against(["the cat sat"])
    >>> evaluator.machine(Vocabulary(["the", "cat", "hat"]))
    <Machine of 4 states, 7 arcs, proxy>
    >>> str(LinearBLEU(p=0.7, r=0.6))
    'linear-bleu:order=4,length=closest,smooth=none,tokenize=none,p=0.7,r=0.6,T=10'
    """

    name: ClassVar[str] = "linear-bleu"
    heading: ClassVar[str] = "linear BLEU"
    p: float = option(0.85, always=True)
    r: float = option(0.75, always=True)
    T: float = option(10.0, always=True)

    def __post_init__(self) -> None:
        """Refuse what means nothing, and units that are not the words of a space."""
        super().__post_init__()
        if self.unit != "word" or self.tokenize != "none":
            raise OptionError(
                f"{self.name} reads the words of lattices as they are: "
                "unit=word and tokenize=none, or take bleu"
            )
        _ = self.factors

    @cached_property
    def factors(self) -> Factors:
        """What words and n-grams gain."""
        even = linear_factors(self.p, self.r, self.T, self.order)
        shares = self.order * self.scoring[0]
        return Factors(even.word, tuple((shares * even.ngram).tolist()))

    def fitted(self, stats: FloatColumn) -> LinearBLEU:
        """Return the metric with the p and r of a corpus.

        p is its unigram precision, and ``p r^(n-1)`` fits the logarithms of the others best.

        Parameters
        ----------
        stats : float64 column
            A row of the metric's statistics, or a sum of rows, with matches of each order.

        Examples
        --------
        >>> metric = LinearBLEU(order=2)
        >>> stats = metric.stats("the cat sat on mats", ["the cat sat on the mat"])
        >>> fitted = metric.fitted(stats)
        >>> fitted.p, round(fitted.r, 4)
        (0.8, 0.9375)
        """
        matches, totals = np.reshape(stats[:-2], (2, self.order))
        if not (matches > 0).all():
            raise OptionError(f"p and r need matches of every order, not {matches.tolist()}")
        falls = np.log(matches / totals) - np.log(matches[0] / totals[0])
        steps = np.arange(self.order)
        slope = float(steps @ falls / max(steps @ steps, 1))
        return replace(self, p=float(matches[0] / totals[0]), r=math.exp(slope))

    def against(self, references: Iterable[Reference]) -> LinearBLEUEvaluator:
        """Return an evaluator for the references of one segment."""
        return LinearBLEUEvaluator(self, check_references(references))


class LinearBLEUEvaluator(BLEUEvaluator):
    """BLEU made ready for the references of one segment, and the machine of its linear form."""

    metric: LinearBLEU

    def prepare(self, space: S) -> Prepared[S]:
        """Return the lattice or forest as it is: its words are those of the metric."""
        return Prepared(space)

    def machine(self, vocabulary: Vocabulary, labels: IntColumn | None = None) -> Machine:
        """Return the machine over the words of a space, or over those that ``labels`` lists."""
        return linear_machine(self, self.metric.factors, vocabulary, labels)


def linear_machine(
    evaluator: BLEUEvaluator,
    factors: Factors,
    vocabulary: Vocabulary,
    labels: IntColumn | None = None,
) -> Machine:
    """Return the machine that gains by every n-gram that a reference of the evaluator has."""
    metric, numbers = evaluator.metric, evaluator.numbers
    sentences = metric.reference_units(evaluator.references)
    units = [numbers[each] for sentence in sentences for each in sentence]
    offset = np.cumsum([0, *map(len, sentences)])
    trie, _ = sentence_ngrams(ints(units), ints(offset), metric.order)
    words: dict[int, list[int]] = {number: [] for number in numbers.values()}
    if metric.lowercase:
        known = range(1, len(vocabulary)) if labels is None else np.unique(labels).tolist()
        for number in known:
            unit = numbers.get(vocabulary.word(number).lower()) if number else None
            if unit is not None:
                words[unit].append(number)
    else:
        for word, unit in numbers.items():
            if word in vocabulary:
                words[unit].append(vocabulary.id(word))
    return replace(ngram_machine(trie, np.ones(len(trie)), factors, words), vocabulary=vocabulary)
