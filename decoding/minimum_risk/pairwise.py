"""Pairwise MBR: every candidate against every sentence of evidence, under any metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import numpy as np

from decoding.extraction.ranking import ranking
from decoding.minimum_risk.evidence import (
    Candidates,
    EntryWeights,
    Evidence,
    candidates_of,
    evidence_from,
    evidence_listing,
    evidence_of,
    listing,
    rows,
)
from decoding.minimum_risk.method import (
    Consensus,
    MBRProblem,
    Method,
    Spaces,
    as_systems,
    check_scale,
)
from fstmetrics import Metric
from fstmetrics.alignment.metric import AlignmentMetric
from fstmetrics.contract import ROUNDING, metric_abilities_of, nbest_stats, scores_of
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.records import PlainRecord
from lattices.spaces import Forest, NBest, Space

#: scores of pairs that are in memory at once
_PAIRS = 1 << 22


def score_matrix(candidates: NBest, evidence: NBest, metric: Metric) -> FloatColumn:
    """Return the metric of each candidate against each sentence of evidence as its reference.

    Entry ``[e, c]`` is ``metric.against([evidence e]).score(candidate c)``. WER, WRR, CER, GRR,
    PER, TER, BLEU, BLEU-SBP, chrF and METEOR score all pairs at once (``metric.pair_scores``); any
    other prepares each sentence of evidence as a reference and scores the list of candidates.
    """
    if not (len(candidates) and len(evidence)):
        return np.empty((len(evidence), len(candidates)))
    pair_scores = metric_abilities_of(metric).pair_scores
    if pair_scores is not None:
        return pair_scores(metric, candidates, evidence)
    return np.array(
        [
            scores_of(metric, nbest_stats(metric.against([evidence.tokens(entry)]), candidates))
            for entry in range(len(evidence))
        ]
    )


def has_kernel(metric: Metric) -> bool:
    """Tell whether whole matrices of the metric's scores are computed at once."""
    return metric_abilities_of(metric).pair_scores is not None


def expected_scores(
    candidates: NBest, evidence: Evidence, metric: Metric, *, power: int = 1
) -> FloatColumn:
    """Return the expected metric of each candidate, or that of a power of it.

    ``sum over e of weight(e) * metric(candidate, e) ** power``: the average of sentence scores in
    the metric's own definition, each normalised by its own sentence of evidence.
    """
    step = max(1, _PAIRS // max(1, len(candidates)))
    if len(evidence.nbest) <= step:
        total = evidence.weight @ score_matrix(candidates, evidence.nbest, metric) ** power
    else:
        total = np.zeros(len(candidates))
        for first in range(0, len(evidence.nbest), step):
            last = min(first + step, len(evidence.nbest))
            some = rows(evidence.nbest, ints(np.arange(first, last)))
            total += evidence.weight[first:last] @ score_matrix(candidates, some, metric) ** power
    return check_expectations(total, metric)


def check_expectations(expected: FloatColumn, metric: Metric) -> FloatColumn:
    """Return expectations that can be compared, or raise OptionError."""
    if np.isnan(expected).any():
        raise OptionError(f"{metric} gives a sentence of evidence no score: its mean is no number")
    return floats(expected)


def rank(nbest: NBest, expected: FloatColumn, metric: Metric, k: int = 1) -> IntColumn:
    """Return the places of the ``k`` candidates with the best expectations, best first.

    Expectations that differ by no more than 1e-12 are equal. Ties go to the higher model score,
    then to the first in the list.
    """
    objective = expected if metric.higher_is_better else -expected
    return ints(ranking(objective, nbest.score, ROUNDING)[:k])


#: what sums of scores in another order may differ by, with a wide margin
_ROUNDING = 1e-9
#: sentences of evidence before candidates are first compared
_FIRST = 8
#: draws of evidence for the bootstrap: at first, and at most
_FIRST_DRAWS, _MOST_DRAWS = 16, 256
_RESAMPLES = 500


class Survivors(NamedTuple):
    """The candidates that are left, with their expectations over all of the evidence."""

    #: where they stand among the candidates
    place: IntColumn
    #: the expected metric of each
    expected: FloatColumn
    #: how many pairs of candidate and evidence were scored
    scored: int


def highest_quality(metric: Metric) -> float | None:
    """Return the best score that a metric can give, negated for an error rate; None if unknown."""
    if isinstance(metric, AlignmentMetric):
        bounded = metric.insertion >= 0 and metric.deletion >= 0
        return (0.0 if metric.error_rate else 1.0) if bounded else None
    from fstmetrics import BLEU, CHRF, PER, TER, Bllip

    if isinstance(metric, BLEU | Bllip | CHRF | PER | TER):
        return 1.0 if metric.higher_is_better else 0.0
    return None


def bound_expectations(candidates: NBest, evidence: Evidence, metric: Metric) -> Survivors:
    """Return the candidates that may be the best, the best among them for certain.

    Evidence is taken in the order of its weights, the heaviest first.
    """
    sign = 1.0 if metric.higher_is_better else -1.0
    bound = highest_quality(metric)
    if bound is None:
        every = ints(np.arange(len(candidates)))
        expected = expected_scores(candidates, evidence, metric)
        return Survivors(every, expected, len(candidates) * len(evidence.nbest))
    order = np.argsort(-evidence.weight, kind="stable")
    weight = evidence.weight[order]
    left = np.append(np.cumsum(weight[::-1])[::-1], 0.0)

    def shares(some: Array, first: int, last: int) -> Array:
        """Return what each sentence of evidence adds to the expectation of each candidate."""
        found = score_matrix(
            rows(candidates, some), rows(evidence.nbest, order[first:last]), metric
        )
        return sign * weight[first:last, None] * found

    alive = np.arange(len(candidates))
    reached = np.zeros(len(candidates))
    best, complete = -np.inf, dict[int, Array]()
    heard, scored = 0, 0
    while heard < len(order):
        end = min(len(order), 2 * heard or _FIRST)
        fresh = np.array([each for each in alive.tolist() if each not in complete], dtype=np.int64)
        reached[fresh] += shares(fresh, heard, end).sum(axis=0)
        scored += len(fresh) * (end - heard)
        for leader, known in complete.items():
            reached[leader] += known[heard:end].sum()
        heard = end
        check_expectations(reached, metric)
        leader = int(alive[np.argmax(reached[alive])])
        if heard < len(order) and leader not in complete:
            complete[leader] = np.zeros(len(order))
            complete[leader][heard:] = shares(np.array([leader]), heard, len(order))[:, 0]
            scored += len(order) - heard
            best = max(best, reached[leader] + complete[leader].sum())
        alive = alive[reached[alive] + left[heard] * bound >= best - _ROUNDING]
    return Survivors(ints(alive), sign * reached[alive], scored)


def confident_expectations(
    candidates: NBest, evidence: Evidence, metric: Metric, confidence: float, seed: int = 0
) -> Survivors:
    """Return the candidates that a bootstrap does not rule out: probably with the best.

    Sentences are drawn from the evidence, 16 at first and twice as many from round to round, up to
    256.
    """
    if not 0.0 < confidence < 1.0:
        raise OptionError(f"a confidence is above 0 and below 1, not {confidence}")
    sign = 1.0 if metric.higher_is_better else -1.0
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(evidence.weight), _MOST_DRAWS, p=evidence.weight)
    known = np.zeros((len(evidence.weight), len(candidates)))
    heard = np.zeros(len(evidence.weight), dtype=bool)
    alive = np.arange(len(candidates))
    count, scored = _FIRST_DRAWS, 0

    def hear(some: Array) -> int:
        fresh = some[~heard[some]]
        heard[fresh] = True
        if len(fresh):
            found = score_matrix(rows(candidates, alive), rows(evidence.nbest, fresh), metric)
            known[np.ix_(fresh, alive)] = sign * found
        return len(fresh) * len(alive)

    while count <= _MOST_DRAWS and len(alive) > 1:
        scored += hear(np.unique(drawn[:count]))
        objective = check_expectations(known[drawn[:count]][:, alive], metric)
        times = rng.multinomial(count, np.full(count, 1.0 / count), size=_RESAMPLES)
        means = times @ objective
        leader = int(np.argmax(objective.sum(axis=0)))
        # equal candidates win against each other in all resamples, up to rounding
        wins = (means >= means[:, [leader]] - _ROUNDING).mean(axis=0)
        alive = alive[(wins > 1.0 - confidence) | (np.arange(len(alive)) == leader)]
        count *= 2
    scored += hear(np.arange(len(evidence.weight)))
    expected = check_expectations(evidence.weight @ known[:, alive], metric)
    return Survivors(ints(alive), sign * expected, scored)


@dataclass(frozen=True)
class Numerator:
    """What an alignment metric divides by the length of the reference, for all pairs of two lists.

    For WER that is the number of edits.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat")), Hypothesis(("cat",))])
    >>> Numerator(WER()).pair_scores(nbest, nbest).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    metric: AlignmentMetric

    @property
    def higher_is_better(self) -> bool:
        """False for error rates."""
        return self.metric.higher_is_better

    def __str__(self) -> str:
        """Return the metric's name."""
        return f"the numerator of {self.metric}"

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the numerator of each candidate (columns) against each sentence (rows)."""
        metric = self.metric
        scores = score_matrix(candidates, evidence, metric)
        possible = np.array([
            [metric.possible(len(metric.units(evidence.tokens(entry))))]
            for entry in range(len(evidence))
        ])  # fmt: skip
        # against an empty sentence an error rate is the number of errors, a rate 1 and its gain
        found = scores * np.maximum(possible, 1)
        if not metric.error_rate:
            found -= possible == 0
        return floats(np.round(found, 12))


@dataclass(frozen=True)
class UtilityMatrix(PlainRecord):
    """The scores of all candidates against all sentences of evidence.

    ``scores @ weights`` are the expectations by which a candidate is chosen.
    """

    #: their texts, each once
    candidates: tuple[str, ...]
    evidence: tuple[str, ...]
    #: of the evidence, of sum 1
    weights: FloatColumn
    #: one row a candidate, one column a sentence of evidence
    scores: FloatColumn


@dataclass(frozen=True)
class PairwiseConsensus(Consensus):
    """A decision with the scores of all pairs, which ``Pairwise(matrix=True)`` asks for."""

    matrix: UtilityMatrix = field(repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Pairwise(Method):
    """The candidate with the best expected metric against a list of evidence.

    ``argmax over candidates c of sum over evidence e of P(e) * metric(c, e)``, the minimum for
    an error rate. Any metric: each sentence of evidence is its reference in turn. Expectations
    that differ by no more than 1e-12 are equal; ties go to the higher model score.

    Metrics without a kernel for whole matrices (:func:`decoding.minimum_risk.pairwise.has_kernel`)
    leave out candidates that provably cannot win, as evidence is processed; where several are asked
    for, all pairs are scored. :class:`Evidence` comes with its weights, and the options that would
    make them are refused.

    Parameters
    ----------
    evidence_size : int, optional
        The size of the list of evidence: by default all entries of a list, 100 sentences of a
        lattice, 100 derivations of a forest.
    candidates : int or spaces, optional
        How many sentences can be chosen, the best of each space; or where they come from. By
        default all entries of a list, 100 sentences of a lattice or forest.
    samples, seed, weights, uniform, merge
        How sentences become evidence: see :func:`decoding.minimum_risk.evidence.evidence_of`.
    aggregate : bool
        Score against the average of the evidence, in linear time; BLEU and chrF only. See
        :func:`decoding.minimum_risk.aggregate.aggregate_scores`.
    confidence : float, optional
        Such as 0.99: leave out candidates that a bootstrap finds worse with this confidence.
        The result then says ``exact=False`` if it has left out any.
    matrix : bool
        Score all pairs and keep the scores: results have them as their ``matrix``, a
        :class:`UtilityMatrix`.
    normalised : bool
        False takes the numerator of WER, WRR, CER or GRR in place of the rate: the expected number
        of edits under WER. So long sentences of evidence count for more, as they do in the WER of a
        corpus, and as ``edit`` has it; with True all count the same, as in a mean of rates.

    Examples
    --------
    The sentence in the middle, though the model likes another best:

    >>> from decoding import mbr, mbr_kbest
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis, NBest
    >>> some = [("a cat sat", -0.1), ("the cat sat", -0.3), ("the cat lay", -0.4)]
    >>> nbest = NBest.from_hypotheses([Hypothesis(tuple(text.split()), at) for text, at in some])
    >>> found = mbr(nbest, WER())
    >>> found.text, round(found.expected, 3), found.candidates, found.evidence
    ('the cat sat', 0.227, 3, 3)
    >>> [each.text for each in mbr_kbest(nbest, WER(), k=2, method=Pairwise(uniform=True))]
    ['the cat sat', 'a cat sat']
    >>> mbr(nbest, WER(), method=Pairwise(matrix=True)).matrix.scores.round(2).tolist()
    [[0.0, 0.33, 0.67], [0.33, 0.0, 0.33], [0.67, 0.33, 0.0]]
    >>> mbr(nbest, WER(), method=Pairwise(normalised=False)).text
    'the cat sat'
    """

    name = "pairwise"
    ranks = True

    evidence_size: int | None = None
    candidates: int | Spaces | None = None
    samples: int | None = None
    seed: int = 0
    weights: EntryWeights | None = None
    uniform: bool = False
    merge: str = "sum"
    aggregate: bool = False
    confidence: float | None = None
    matrix: bool = False
    normalised: bool = True

    def decide(self, problem: MBRProblem, k: int = 1) -> list[Consensus]:
        """Return the ``k`` candidates with the best expectations, best first."""
        spaces, metric, evidence, scale, system_weights = problem
        metric = self.require_metric(metric)
        if self.confidence is not None and (k > 1 or self.aggregate):
            raise OptionError("confidence is for one candidate against each sentence of evidence")
        if self.matrix and (self.aggregate or self.confidence is not None):
            raise OptionError("a matrix is of all pairs, without aggregate and confidence")
        if not self.normalised:
            if not isinstance(metric, AlignmentMetric) or self.aggregate:
                raise OptionError(f"{metric} has no numerator of its own: it is normalised")
            metric = cast(Metric, Numerator(metric))
        check_scale(scale)
        size, sources = self._sources(spaces)
        listings = [listing(space, size) for space in sources]
        if isinstance(evidence, Evidence):
            options = (self.evidence_size, self.samples, self.weights, system_weights)
            made = scale != 1.0 or self.uniform or self.merge != "sum"
            if made or any(option is not None for option in options):
                raise OptionError("the evidence has weights already: no options can make others")
            judges = evidence
        elif (
            evidence is None
            and self.samples is None
            and sources is spaces
            and size == self.evidence_size
        ):
            shared = [
                evidence_listing(one.space, size, self.merge)
                if isinstance(one.space, Forest)
                else one
                for one in listings
            ]
            judges = evidence_from(
                shared, scale=scale, weights=self.weights, uniform=self.uniform,
                system_weights=system_weights, merge=self.merge,
            )  # fmt: skip
        else:
            judges = evidence_of(
                spaces if evidence is None else evidence, scale=scale, k=self.evidence_size,
                samples=self.samples, seed=self.seed, weights=self.weights, uniform=self.uniform,
                system_weights=system_weights, merge=self.merge,
            )  # fmt: skip
        return self._choose(candidates_of(listings), judges, metric, k)

    def _sources(self, spaces: Sequence[Space]) -> tuple[int | None, Sequence[Space]]:
        """Return the size of the lists of candidates, and where they come from."""
        if self.candidates is None or isinstance(self.candidates, int):
            return self.candidates, spaces
        return None, as_systems(self.candidates, "candidates")

    def _choose(
        self, choices: Candidates, evidence: Evidence, metric: Metric, k: int
    ) -> list[Consensus]:
        nbest, place, method = choices.nbest, None, self.name
        plain_over = metric_abilities_of(metric).plain_over
        if plain_over is not None:
            metric = plain_over(metric, nbest, evidence.nbest)
        matrix = self._matrix(nbest, evidence, metric) if self.matrix else None
        if matrix is not None:
            expected = check_expectations(floats(matrix.scores @ matrix.weights), metric)
        elif self.aggregate:
            from decoding.minimum_risk.aggregate import aggregate_scores

            expected, method = aggregate_scores(nbest, evidence, metric), "aggregate"
        elif self.confidence is not None:
            place, expected, _ = confident_expectations(
                nbest, evidence, metric, self.confidence, self.seed
            )
        elif k == 1 and not has_kernel(metric):
            place, expected, _ = bound_expectations(nbest, evidence, metric)
        else:
            expected = expected_scores(nbest, evidence, metric)
        remaining = nbest if place is None else rows(nbest, place)
        exact = self.confidence is None or len(remaining) == len(nbest)
        found = [
            Consensus(
                hypothesis=choices.hypothesis(best if place is None else int(place[best])),
                expected=float(expected[best]),
                method=method,
                exact=exact,
                candidates=len(nbest),
                evidence=len(evidence.nbest),
            )
            for best in rank(remaining, expected, metric, k).tolist()
        ]
        if matrix is None:
            return found
        return [PairwiseConsensus(**vars(each), matrix=matrix) for each in found]

    def _matrix(self, candidates: NBest, evidence: Evidence, metric: Metric) -> UtilityMatrix:
        said, expected = (
            tuple(" ".join(some.tokens(entry)) for entry in range(len(some)))
            for some in (candidates, evidence.nbest)
        )
        scores = floats(score_matrix(candidates, evidence.nbest, metric).T)
        return UtilityMatrix(said, expected, evidence.weight, scores)
