"""Exact expectation of a metric, over all sentences of a space.

``pairwise`` averages over a list of evidence, ``edit`` minimises a bound. Here the mean of WER,
WRR, CER or GRR is over *all* paths of a lattice, each with its posterior probability:

    E(c) = sum over paths e of P(e) * metric(c, e)

with the words of the path as the reference and the candidate as the hypothesis. This is what
the other methods are measured by. BLEU and other metrics that score all pairs of two lists at
once go by the same formula over the sentences of the space one by one, where these are few enough
to be listed.

Evidence and candidates in the form in which the engine takes expectations.

The metrics are not symmetric: the candidate is the hypothesis, a sentence of the evidence the
reference. But their numerator,

    max over alignments of sum over k of M_k - insertion * I - deletion * D,

is the same from either side: matches in a row are in a row on both sides, what is inserted on
one is deleted on the other. So the automaton of the candidate, with the two costs exchanged,
reads the evidence. What it is divided by depends on the length of the evidence alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from decoding.extraction.search import check_limits
from decoding.minimum_risk.evidence import (
    Evidence,
    candidates_of,
    evidence_from,
    evidence_of,
    listing,
)
from decoding.minimum_risk.method import (
    Consensus,
    MBRProblem,
    Method,
    Spaces,
    as_systems,
    check_scale,
    system_shares,
)
from decoding.minimum_risk.pairs.scores import expected_scores, has_kernel, rank
from decoding.reranking import draw
from fstmetrics import Metric
from fstmetrics.alignment.metric import AlignmentMetric
from fstmetrics.references import split_tokens
from fstmetrics.similarity.affix import check_matrix
from lattices._native import LengthGraph, in_bytes
from lattices.algorithms import to_lattice
from lattices.arrays import FloatColumn, floats, ints
from lattices.errors import OptionError, SpaceError, TooLargeError, argument
from lattices.intersection import Alignment
from lattices.intersection.automata import alignment_of
from lattices.intersection.expectations import expectations, length_graph, list_graph
from lattices.limits import MEMORY, Limits
from lattices.spaces import Forest, Hypothesis, NBest, Space
from lattices.spaces.arguments import WHOLE
from lattices.vocabulary import Vocabulary

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: the most states that a forest may take as a lattice
FOREST_STATES = 100_000
#: so many nodes of evidence may share a row
_SHARED = 4


@dataclass(frozen=True, eq=False)
class EvidenceGraph:
    """Evidence that can be walked, in the units of a metric."""

    graph: LengthGraph
    #: of the units
    vocabulary: Vocabulary
    #: how many there are, if they were listed; -1 for all of a lattice
    sentences: int = -1


def check_metric(metric: Metric) -> None:
    """Refuse a metric whose evidence can neither be read by rows nor scored as a whole list."""
    if not isinstance(metric, AlignmentMetric) and not has_kernel(metric):
        raise OptionError(
            f"{metric} is no alignment metric: this takes WER, WRR, CER and GRR, and BLEU, "
            "BLEU-SBP, PER and chrF on spaces of few sentences; for others there is method pairwise"
        )


def evidence_graph(
    evidence: Evidence | Space, metric: AlignmentMetric, scale: float, memory: int = MEMORY
) -> EvidenceGraph:
    """Return one system's evidence as a graph."""
    if isinstance(evidence, NBest):
        evidence = evidence_of(evidence, scale=scale)
    if isinstance(evidence, Evidence):
        return _make_list_graph(evidence.nbest, evidence.weight, metric)
    lattice = to_lattice(evidence, FOREST_STATES)
    prepared = metric.against([()]).prepare(lattice).space
    return EvidenceGraph(length_graph(prepared, scale, memory=memory), prepared.vocabulary)


def _make_list_graph(nbest: NBest, weight: FloatColumn, metric: AlignmentMetric) -> EvidenceGraph:
    label, offset, vocabulary = nbest.label, nbest.offset, nbest.vocabulary
    if metric.characters:
        vocabulary = Vocabulary()
        spelt = [metric.units(nbest.tokens(entry)) for entry in range(len(nbest))]
        label = ints(vocabulary.add_all(unit for units in spelt for unit in units))
        offset = ints(np.cumsum([0, *map(len, spelt)]))
    return EvidenceGraph(list_graph(label, offset, weight), vocabulary, len(nbest))


def reading_alignments(
    sentences: Sequence[Sequence[str]], evidence: EvidenceGraph, metric: AlignmentMetric
) -> list[Alignment]:
    """Return, for each candidate, the automaton that reads the evidence."""
    vocabulary = evidence.vocabulary
    like = alignment_of(metric.against([()]).machine(vocabulary).parts[0])
    one = like.heaviest
    hard = metric.similarity is None
    read = () if hard else vocabulary.decode(evidence.graph.words.tolist())
    result = []
    for sentence in sentences:
        units = metric.units(sentence)
        if metric.similarity is None or not units or not read:
            numbers = vocabulary.encode(units)
            position = np.flatnonzero(numbers > 0)
            word, weight = numbers[position], np.full(len(position), one)
        else:
            distinct = {unit: place for place, unit in enumerate(dict.fromkeys(units))}
            soft = check_matrix(metric.similarity, tuple(distinct), read)
            soft = np.maximum(soft, np.array([[mine == its for its in read] for mine in distinct]))
            table = np.rint(soft[[distinct[unit] for unit in units]] * one)
            position, place = np.nonzero(table)
            word, weight = evidence.graph.words[place], table[position, place]
        swapped = Alignment(
            len(units), like.order, like.deletion, like.insertion,
            ints(word), ints(position), floats(weight), one,
        )  # fmt: skip
        result.append(swapped)
    return result


def values_by_length(
    metric: AlignmentMetric, longest: int, one: float, normalised: bool
) -> tuple[FloatColumn, FloatColumn]:
    """Return ``a`` and ``b`` for each length: a gain of ``g`` units is worth ``a + b * g``.

    ``one`` match has that many units. Without normalisation the worth is the numerator of the
    metric: matches less costs, or for an error rate the number of errors.
    """
    length = np.arange(longest + 1)
    if normalised:
        possible = np.array([metric.possible(words) for words in length.tolist()], dtype=float)
        constant = np.where(possible > 0.0, 0.0, 1.0)
        factor = 1.0 / (np.maximum(possible, 1.0) * one)
        if metric.error_rate:
            constant, factor = 1.0 - constant, -factor
    else:
        constant = length.astype(float) if metric.error_rate else np.zeros(longest + 1)
        factor = np.full(longest + 1, (-1.0 if metric.error_rate else 1.0) / one)
    return floats(constant), floats(factor)


#: pairs of a lattice state and a row that one candidate may take
DEFAULT_BUDGET = 100_000
#: prefixes that are less probable than this are not followed
NEGLIGIBLE = 1e-15
#: the most probability that may be lost so where the result is still called exact
_LOST = 1e-9
#: pairs that cost as much as listing a sentence and scoring it
_PAIRS = 10
#: the most sentences that can be all candidates of a space
MOST_SENTENCES = 10_000
Beyond = Literal["sample", "raise"]


@dataclass(frozen=True, eq=False)
class ExpectedMetric:
    """What to expect of each of several sentences."""

    #: the mean of the metric over the evidence
    expected: FloatColumn
    #: the standard deviation of the metric over the evidence
    deviation: FloatColumn
    #: of ``expected``: 0 where it is exact, otherwise what the samples leave open
    standard_error: FloatColumn
    #: whether the mean is over all of the evidence
    exact: NDArray[np.bool_]
    #: the largest probability, over candidates, of prefixes that were not followed
    lost: float
    #: how many sentences were averaged over, -1 if all of a lattice were
    evidence: int


class AveragingOptions(TypedDict, total=False):
    """The fields of :class:`Averaging`, as functions take them by name."""

    normalised: bool
    budget: int
    memory: int
    negligible: float
    beyond: Beyond
    samples: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Averaging:
    """How a metric is averaged over the paths of a lattice."""

    #: False gives the expected numerator: the expected number of errors for an error rate, which is
    #: what speech recognition minimises, or the matches less costs for a recognition rate
    normalised: bool = True
    #: the most pairs that a candidate may take; lists need none
    budget: int = DEFAULT_BUDGET
    #: the most bytes that the pairs of a candidate, and the lattice split by lengths, may take
    memory: int = MEMORY
    #: prefixes (of one state and row, together) that are less probable are not followed
    negligible: float = NEGLIGIBLE
    #: what to do beyond the budget or the memory
    beyond: Beyond = "sample"
    #: how many paths are drawn then
    samples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        if self.beyond not in get_args(Beyond):
            raise OptionError(f"{argument('beyond', self.beyond)}: expected one of sample, raise")
        for name in ("budget", "memory"):
            WHOLE.check("expected_metric", name, getattr(self, name))
        check_limits(self.budget, self.memory)
        if self.samples < 2:
            raise OptionError(f"at least 2 samples are drawn, not {self.samples}")
        if not 0.0 <= self.negligible < 1.0:
            raise OptionError(
                f"a negligible probability is at least 0 and below 1, not {self.negligible}"
            )

    @property
    def sentences(self) -> int:
        """How many sentences may be listed and scored one by one."""
        return max(1, self.budget // _PAIRS)


def expected_metric(
    evidence: Evidence | Spaces,
    metric: Metric,
    candidates: NBest | Sequence[str | Sequence[str]],
    *,
    scale: float = 1.0,
    system_weights: Sequence[float] | None = None,
    **options: Unpack[AveragingOptions],
) -> ExpectedMetric:
    """Return the expected metric of sentences over all paths of a lattice.

    A path has probability ``exp(scale * score)`` over the sum of that over all paths; paths with
    the same words count together, of course.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "c"), (1, 2, "")], finals=[2])
    >>> found = expected_metric(lattice, WER(), ["a c", "a", "d"])
    >>> found.expected.tolist(), found.exact.tolist()
    ([0.875, 0.625, 1.0], [True, True, True])
    >>> expected_metric(lattice, WER(), ["a c", "a"], normalised=False).expected.tolist()
    [1.0, 1.0]
    """
    how = Averaging(**options)
    check_scale(scale)
    check_metric(metric)
    if not how.normalised and not isinstance(metric, AlignmentMetric):
        raise OptionError(f"{metric} has no numerator of its own: it is normalised")
    sentences = [
        candidates.tokens(entry)
        if isinstance(candidates, NBest)
        else split_tokens(candidates[entry])
        for entry in range(len(candidates))
    ]
    systems: Sequence[Evidence | Space]
    systems = (evidence,) if isinstance(evidence, Evidence) else as_systems(evidence)
    shares = system_shares(system_weights, len(systems)).tolist()
    mean = second = np.zeros(len(sentences))
    error, lost = np.zeros(len(sentences)), 0.0
    exact, counts = True, 0
    for share, system in zip(shares, systems, strict=True):
        if share == 0.0:
            continue
        if isinstance(metric, AlignmentMetric):
            found = _expect_by_rows(system, metric, sentences, scale, how)
        else:
            found = _expect_by_listing(system, metric, sentences, scale, how.sentences)
        drawn = found is None
        if found is None:
            if how.beyond == "raise":
                what = f"{how.budget} pairs of a state and a row, or than {in_bytes(how.memory)}"
                if not isinstance(metric, AlignmentMetric):
                    what = f"{how.sentences} sentences"
                raise OptionError(
                    f"the expected metric over {_name(system)} takes more than {what}: "
                    "raise the budget, prune, or take samples"
                )
            found = _over_samples(system, metric, sentences, scale, how)
            error = error + share**2 * found.variance / (how.samples - 1)
        mean = mean + share * found.mean
        second = second + share * (found.variance + found.mean**2)
        lost = max(lost, found.lost)
        if lost > 0.5:
            raise OptionError(f"with negligible={how.negligible} most of {_name(system)} is lost")
        exact = exact and not drawn and lost <= _LOST
        counts = -1 if counts < 0 or found.sentences < 0 else counts + found.sentences
    return ExpectedMetric(
        floats(mean),
        floats(np.sqrt(np.maximum(second - mean**2, 0.0))),
        floats(np.sqrt(error)),
        np.full(len(sentences), exact),
        lost,
        counts,
    )


class _Moments(NamedTuple):
    """Mean and variance of each candidate, the mass that was lost, and over how many sentences."""

    mean: FloatColumn
    variance: FloatColumn
    lost: float
    sentences: int


def _expect_by_rows(
    system: Evidence | Space,
    metric: AlignmentMetric,
    sentences: Sequence[Sequence[str]],
    scale: float,
    how: Averaging,
) -> _Moments | None:
    """Return expectations, or None if the budget does not suffice for a lattice or forest."""
    try:
        graph = evidence_graph(system, metric, scale, how.memory)
    except TooLargeError:
        return None
    except SpaceError:
        if isinstance(system, Forest):
            return None
        raise
    if graph.sentences >= 0:
        some = system if isinstance(system, Evidence) else evidence_of(system, scale=scale)
        return _expect_over_list(graph, metric, sentences, how, some)
    return _moments(graph, metric, sentences, how)


def _over_samples(
    system: Evidence | Space,
    metric: Metric,
    sentences: Sequence[Sequence[str]],
    scale: float,
    how: Averaging,
) -> _Moments:
    """Return expectations over sentences that are drawn from a space; lists need no drawing."""
    space = system.nbest if isinstance(system, Evidence) else system
    if isinstance(metric, AlignmentMetric):
        drawn = draw(space, how.samples, how.seed, scale)
        weight = floats(np.ones(len(drawn)))
        graph = _make_list_graph(drawn, weight, metric)
        some = Evidence(drawn, floats(weight / len(drawn)))
        return _expect_over_list(graph, metric, sentences, replace(how, negligible=0.0), some)
    some = evidence_of(space, scale=scale, samples=how.samples, seed=how.seed)
    return _over_list(some, metric, sentences)._replace(sentences=how.samples)


def _expect_over_list(
    graph: EvidenceGraph,
    metric: AlignmentMetric,
    sentences: Sequence[Sequence[str]],
    how: Averaging,
    evidence: Evidence,
) -> _Moments:
    """Return expectations over the prefix tree of a list, which has no more pairs than nodes.

    Where its rows take too much, the sentences are scored one by one.
    """
    found = _moments(graph, metric, sentences, replace(how, budget=graph.graph.nodes + 1))
    if found is not None:
        return found
    if how.normalised and has_kernel(metric):
        return _over_list(evidence, metric, sentences)._replace(sentences=graph.sentences)
    raise TooLargeError(
        f"rows of {max(map(len, sentences))} words over {graph.sentences} sentences of "
        f"evidence take {in_bytes(_row_bytes(graph, metric, sentences))}, more than "
        f"{in_bytes(how.memory)} of memory; allow more ({argument('memory')}), or take fewer "
        f"sentences ({argument('samples')})"
    )


def _row_bytes(
    graph: EvidenceGraph, metric: AlignmentMetric, sentences: Sequence[Sequence[str]]
) -> int:
    """Return about what the rows of the longest candidate take, one a node of the graph."""
    longest = max((len(metric.units(each)) for each in sentences), default=0)
    return 4 * metric.order * (longest + 1) * graph.graph.nodes


def _moments(
    graph: EvidenceGraph,
    metric: AlignmentMetric,
    sentences: Sequence[Sequence[str]],
    how: Averaging,
) -> _Moments | None:
    # what is clearly too much is not begun; some nodes share their rows
    if _row_bytes(graph, metric, sentences) > _SHARED * how.memory:
        return None
    alignments = reading_alignments(sentences, graph, metric)
    one = alignments[0].heaviest if alignments else 1.0
    constant, factor = values_by_length(metric, graph.graph.longest, one, how.normalised)
    found = expectations(
        graph.graph, alignments, constant, factor, Limits(how.budget, how.memory), how.negligible,
    )  # fmt: skip
    if (found.pairs < 0).any():
        return None
    return _Moments(found.mean, found.variance, float(found.lost.max(initial=0.0)), graph.sentences)


def _expect_by_listing(
    system: Evidence | Space,
    metric: Metric,
    sentences: Sequence[Sequence[str]],
    scale: float,
    most: int,
) -> _Moments | None:
    """Return expectations over all sentences of a space, or None if there are more than that."""
    if isinstance(system, NBest):
        system = evidence_of(system, scale=scale)
    if isinstance(system, Evidence):
        return _over_list(system, metric, sentences)
    try:
        # in a lattice the mass of a sentence is that of all its paths
        listed = listing(to_lattice(system, FOREST_STATES), most + 1)
    except SpaceError:
        if isinstance(system, Forest):
            return None
        raise
    if len(listed.nbest) > most:
        return None
    found = _over_list(evidence_from([listed], scale=scale), metric, sentences)
    return found._replace(sentences=-1)


def _over_list(evidence: Evidence, metric: Metric, sentences: Sequence[Sequence[str]]) -> _Moments:
    """Return expectations over the sentences of a list, scored by pairs."""
    candidates = NBest.from_hypotheses([Hypothesis(tuple(each)) for each in sentences])
    mean = expected_scores(candidates, evidence, metric)
    second = expected_scores(candidates, evidence, metric, power=2)
    return _Moments(mean, np.maximum(second - mean**2, 0.0), 0.0, len(evidence.nbest))


def _name(system: Evidence | Space) -> str:
    space = system.nbest if isinstance(system, Evidence) else system
    return f"{type(space).__name__} {space.id!r}"


@dataclass(frozen=True, kw_only=True)
class ExactRisk(Method):
    """The candidate with the best true expected metric: reranking by exact risk.

    Of WER, WRR, CER or GRR; of BLEU, BLEU-SBP, PER and chrF over spaces whose sentences are no
    more than a tenth of the budget. Ties, up to 1e-12, go to the higher model score.

    Parameters
    ----------
    candidates : int, "all" or spaces, optional
        How many sentences can be chosen, the best of each space; or where they come from. By
        default all entries of a list, 100 sentences of a lattice or forest.
    normalised, budget, memory, beyond, samples, seed
        As of :class:`Averaging`.

    Examples
    --------
    The best path is not the sentence with the fewest errors to expect:

    >>> from decoding import mbr
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (0, 2, "b", -1.1), (0, 2, "b", -2.5), (1, 3, "x"), (2, 3, "y"),
    ...      (2, 3, "z", -0.1)], finals=[3],
    ... )
    >>> found = mbr(lattice, WER(), method=ExactRisk(candidates="all"))
    >>> found.text, round(found.expected, 4), found.exact, found.evidence
    ('b y', 0.4797, True, -1)
    """

    name = "exact"

    candidates: int | Spaces | Literal["all"] | None = None
    normalised: bool = True
    budget: int = DEFAULT_BUDGET
    memory: int = MEMORY
    beyond: Beyond = "sample"
    samples: int = 1000
    seed: int = 0

    def decide(self, problem: MBRProblem, k: int = 1) -> list[Consensus]:
        """Return the best candidate."""
        spaces, metric, evidence, scale, system_weights = problem
        metric = self.require_metric(metric)
        size: int | None = None
        sources = spaces
        if self.candidates == "all":
            size = MOST_SENTENCES + 1
        elif isinstance(self.candidates, int):
            size = self.candidates
        elif self.candidates is not None:
            sources = as_systems(self.candidates, "candidates")
        choices = candidates_of([listing(space, size) for space in sources])
        if self.candidates == "all" and any(len(one.nbest) == size for one in choices.listings):
            raise OptionError(
                f"there are more than {MOST_SENTENCES} sentences: give a number of them"
            )
        found = expected_metric(
            spaces if evidence is None else evidence, metric, choices.nbest, scale=scale,
            system_weights=system_weights, normalised=self.normalised, budget=self.budget,
            memory=self.memory, beyond=self.beyond, samples=self.samples, seed=self.seed,
        )  # fmt: skip
        best = int(rank(choices.nbest, found.expected, metric)[0])
        return [
            Consensus(
                hypothesis=choices.hypothesis(best),
                expected=float(found.expected[best]),
                method=self.name,
                exact=bool(found.exact.all()),
                candidates=len(choices.nbest),
                evidence=found.evidence,
            )
        ]
