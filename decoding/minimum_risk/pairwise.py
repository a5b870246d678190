"""Pairwise MBR: every candidate against every sentence of evidence, under any metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

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
from decoding.minimum_risk.pairs.pruning import (
    Survivors,
    bound_expectations,
    confident_expectations,
    halved_expectations,
)
from decoding.minimum_risk.pairs.scores import (
    Pairs,
    Search,
    check_expectations,
    expect_scores,
    has_kernel,
    rank,
    run,
    run_together,
    score_matrix,
)
from fstmetrics import Metric
from fstmetrics.alignment.metric import AlignmentMetric
from fstmetrics.contract import metric_abilities_of
from lattices.arrays import FloatColumn, floats, ints
from lattices.errors import OptionError
from lattices.records import PlainRecord
from lattices.spaces import Forest, NBest, Space

if TYPE_CHECKING:
    from decoding.minimum_risk.pairs.diverse import Selection


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


@dataclass(frozen=True)
class DiverseConsensus(Consensus):
    """One of several decisions that ``Pairwise(diversity=...)`` or ``Pairwise(cover=True)`` made.

    Attributes
    ----------
    objective : float
        What all of them together reach, in the metric's own direction.
    bound : float
        What no choice of as many sentences is better than.
    """

    objective: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class Pairwise(Method):
    """The candidate with the best expected metric against a list of evidence.

    ``argmax over candidates c of sum over evidence e of P(e) * metric(c, e)``, the minimum for
    an error rate. Any metric: each sentence of evidence is its reference in turn. Expectations
    that differ by no more than 1e-12 are equal; ties go to the higher model score.

    Metrics without a kernel for whole matrices
    (:func:`decoding.minimum_risk.pairs.scores.has_kernel`) leave out candidates that provably
    cannot win, as evidence is processed; where several are asked for, all pairs are scored.
    :class:`Evidence` comes with its weights, and the options that would make them are refused.

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
        Score against the average of the evidence, in linear time: its n-grams under BLEU and chrF
        (:func:`decoding.minimum_risk.pairs.aggregate.aggregate_scores`), the mean vector of a
        utility with an encoder.
    centroids : int, optional
        Score against so many centroids of the vectors of the evidence (Deguchi et al. 2024), each
        weighing what its cluster does; for a utility with an encoder.
    calls : float, optional
        Score a share of the pairs only, such as 0.125: by sequential halving (Jinnai & Ariu 2024),
        which compares all candidates with some of the evidence, the better half of them with some
        more, and so on.
    rank : int, optional
        With ``calls``, complete a matrix of this rank, such as 8, from pairs drawn at random
        instead (probabilistic MBR, Trabelsi et al. 2024).
    confidence : float, optional
        Such as 0.99: leave out candidates that a bootstrap finds worse with this confidence.
        The result then says ``exact=False`` if it has left out any.
    diversity : float, optional
        For several: the weight of the mean similarity of those chosen, under the metric, against
        the mean of their expectations. Chosen greedily; results are :class:`DiverseConsensus`.
    cover : bool
        For several: those of which the best is expected to be best, ``sum over e of P(e) * max over
        chosen c of metric(c, e)``. Chosen greedily, which reaches 1 - 1/e of the most.
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
    centroids: int | None = None
    calls: float | None = None
    rank: int | None = None
    confidence: float | None = None
    diversity: float | None = None
    cover: bool = False
    matrix: bool = False
    normalised: bool = True

    def decide(self, problem: MBRProblem, k: int = 1) -> list[Consensus]:
        """Return the ``k`` candidates with the best expectations, best first."""
        return run(self._search(problem, k))

    def decide_batch(
        self, problems: Sequence[MBRProblem], k: int = 1
    ) -> Sequence[Sequence[Consensus]]:
        """Return what :meth:`decide` does for each segment, by full batches of a utility."""
        if type(self).decide is not Pairwise.decide:
            # a subclass that decides otherwise
            return super().decide_batch(problems, k)
        return run_together(self._search(problem, k) for problem in problems)

    def _check_options(self, k: int) -> None:
        """Refuse options that exclude each other."""
        few = [
            name
            for name in ("aggregate", "centroids", "calls", "confidence")
            if getattr(self, name) not in (None, False)
        ]
        several = [
            name for name in ("diversity", "cover") if getattr(self, name) not in (None, False)
        ]
        every = ["matrix"] * self.matrix + several
        if len(few) > 1 or len(several) > 1:
            raise OptionError(
                f"{' and '.join(few if len(few) > 1 else several)} exclude each other"
            )
        if few and every:
            raise OptionError(f"{every[0]} is of all pairs, without {few[0]}")
        if self.calls is not None and not 0.0 < self.calls <= 1.0:
            raise OptionError(f"a share of the calls is above 0 and at most 1, not {self.calls}")
        if self.rank is not None and self.calls is None:
            raise OptionError("a rank is that of a matrix of which a share, calls, is scored")
        if self.confidence is not None and k > 1:
            raise OptionError("confidence is for one candidate against each sentence of evidence")

    def _search(self, problem: MBRProblem, k: int) -> Search[list[Consensus]]:
        spaces, metric, evidence, scale, system_weights = problem
        metric = self.require_metric(metric)
        self._check_options(k)
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
        return (yield from self._choose(candidates_of(listings), judges, metric, k))

    def _sources(self, spaces: Sequence[Space]) -> tuple[int | None, Sequence[Space]]:
        """Return the size of the lists of candidates, and where they come from."""
        if self.candidates is None or isinstance(self.candidates, int):
            return self.candidates, spaces
        return None, as_systems(self.candidates, "candidates")

    def _choose(
        self, choices: Candidates, evidence: Evidence, metric: Metric, k: int
    ) -> Search[list[Consensus]]:
        nbest = choices.nbest
        plain_over = metric_abilities_of(metric).plain_over
        if plain_over is not None:
            metric = plain_over(metric, nbest, evidence.nbest)
        kind: type[Consensus] = Consensus
        more: dict[str, Any] = {}
        together = self.diversity is not None or self.cover
        if self.matrix or together:
            scores = yield Pairs(metric, nbest, evidence.nbest)
            expected = check_expectations(floats(evidence.weight @ scores), metric)
            found = Survivors(ints(np.arange(len(nbest))), expected, scores.size)
            if self.matrix:
                kind, more = PairwiseConsensus, {"matrix": _matrix(nbest, evidence, scores)}
        else:
            found = yield from self._expect(nbest, evidence, metric, k)
        remaining = nbest if len(found.place) == len(nbest) else rows(nbest, found.place)
        best = rank(remaining, found.expected, metric, len(remaining) if together else k).tolist()
        if together:
            kind = DiverseConsensus
            selection = yield from self._select(nbest, evidence, metric, scores, expected, k)
            sign = 1.0 if metric.higher_is_better else -1.0
            more = {"objective": sign * selection.objective, "bound": sign * selection.bound}
            best = [place for place in best if place in selection.chosen]
        return [
            kind(
                hypothesis=choices.hypothesis(int(found.place[each])),
                expected=float(found.expected[each]),
                method=self._called,
                exact=found.exact,
                candidates=len(nbest),
                evidence=len(evidence.nbest),
                pairs=found.scored,
                **more,
            )
            for each in best
        ]

    @property
    def _called(self) -> str:
        """What the objective is called in results."""
        for option, name in (("aggregate", "aggregate"), ("centroids", "centroids")):
            if getattr(self, option):
                return name
        if self.calls is None or (self.calls == 1.0 and self.rank is None):
            return self.name
        return "halving" if self.rank is None else "low-rank"

    def _expect(
        self, nbest: NBest, evidence: Evidence, metric: Metric, k: int
    ) -> Search[Survivors]:
        """Search for the expectations of candidates, of those at least that may be chosen."""
        if self.aggregate or self.centroids is not None:
            from decoding.minimum_risk.pairs.centroids import centroid_expectations, has_vectors

            if self.centroids is not None or has_vectors(metric):
                count = 1 if self.centroids is None else self.centroids
                search = centroid_expectations(nbest, evidence, metric, count, self.seed)
                return (yield from search)
            from decoding.minimum_risk.pairs.aggregate import aggregate_scores

            expected = aggregate_scores(nbest, evidence, metric)
            return Survivors(ints(np.arange(len(nbest))), expected, len(nbest))
        if self.calls is not None and self.calls < 1.0 and self.rank is None:
            return (
                yield from halved_expectations(nbest, evidence, metric, self.calls, k, self.seed)
            )
        if self.calls is not None and self.rank is not None:
            from decoding.minimum_risk.pairs.completion import completed_expectations

            given = self.calls, self.rank, self.seed
            return (yield from completed_expectations(nbest, evidence, metric, *given))
        if self.confidence is not None:
            return (
                yield from confident_expectations(
                    nbest, evidence, metric, self.confidence, self.seed
                )
            )
        if k == 1 and not has_kernel(metric):
            return (yield from bound_expectations(nbest, evidence, metric))
        expected = yield from expect_scores(nbest, evidence, metric)
        every = ints(np.arange(len(nbest)))
        return Survivors(every, expected, len(nbest) * len(evidence.nbest))

    def _select(
        self,
        nbest: NBest,
        evidence: Evidence,
        metric: Metric,
        scores: FloatColumn,
        expected: FloatColumn,
        k: int,
    ) -> Search[Selection]:
        """Search for the candidates that are best together, and how good that is."""
        from decoding.minimum_risk.pairs.diverse import choose_apart, choose_covering

        sign = 1.0 if metric.higher_is_better else -1.0
        if self.diversity is None:
            return choose_covering(sign * scores, evidence.weight, k)
        alike = scores
        if not _same_sentences(nbest, evidence.nbest):
            alike = yield Pairs(metric, nbest, nbest)
        return choose_apart(sign * expected, sign * alike, k, self.diversity)


def _same_sentences(one: NBest, other: NBest) -> bool:
    return (
        one.vocabulary is other.vocabulary
        and np.array_equal(one.label, other.label)
        and np.array_equal(one.offset, other.offset)
    )


def _matrix(candidates: NBest, evidence: Evidence, scores: FloatColumn) -> UtilityMatrix:
    from fstmetrics.external.utility import texts_of

    said, expected = (tuple(texts_of(some)) for some in (candidates, evidence.nbest))
    return UtilityMatrix(said, expected, evidence.weight, floats(scores.T))
