"""Minimum-risk decoding that minds the worst cases: the conditional value at risk of a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from decoding.minimum_risk.evidence import Evidence, candidates_of, evidence_of, listing
from decoding.minimum_risk.method import Consensus, MBRProblem, Method
from decoding.minimum_risk.pairs.scores import rank, score_matrix
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError


def worst_means(scores: FloatColumn, weights: FloatColumn, share: float) -> FloatColumn:
    """Return the mean of each column's lowest scores, as far as their weights are ``share``.

    Of a score on the border only what is still wanted of its weight counts. Cost: a sort of each
    column.

    Examples
    --------
    >>> scores = floats([[0.0, 0.5], [1.0, 0.5], [1.0, 1.0]])
    >>> worst_means(scores, floats([0.25, 0.25, 0.5]), 0.5).tolist()
    [0.5, 0.5]
    """
    order = np.argsort(scores, axis=0, kind="stable")
    weight = weights[order]
    before = np.cumsum(weight, axis=0) - weight
    counted = np.clip(share - before, 0.0, weight)
    return floats((counted * np.take_along_axis(scores, order, axis=0)).sum(axis=0) / share)


@dataclass(frozen=True, kw_only=True)
class CautiousMBR(Method):
    """The candidate whose metric is best on average over the sentences that suit it worst.

    Of the sentences of evidence ``e``, with the model's probabilities, those against which a
    candidate scores worst count, until their probabilities add up to ``share``: the conditional
    value at risk of Rockafellar and Uryasev (2000) in place of the expectation. With ``share=1``
    that is the expectation, and the method is ``pairwise``; near 0 the worst case alone decides.

    Parameters
    ----------
    share : float
        Above 0, and at most 1.
    size : int, optional
        How many candidates there are, and sentences of evidence: by default all entries of a list,
        and 100 sentences of a lattice or forest.

    References
    ----------
    Rockafellar and Uryasev. Optimization of conditional value-at-risk. Journal of Risk 2, 2000.

    Examples
    --------
    "a cat sat" is the best on average; if "the dog barked" was said, it has every word wrong:

    >>> from decoding import mbr
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis, NBest
    >>> texts = {"a cat sat": 0.6, "the dog barked": 0.3, "the cat sat": 0.1}
    >>> entries = [Hypothesis(tuple(text.split()), float(np.log(p))) for text, p in texts.items()]
    >>> nbest = NBest.from_hypotheses(entries)
    >>> for share in (1.0, 0.3):
    ...     found = mbr(nbest, WER(), method=CautiousMBR(share=share))
    ...     print(found.text, round(found.expected, 3))
    a cat sat 0.333
    the cat sat 0.667
    """

    name: ClassVar[str] = "cautious"
    ranks: ClassVar[bool] = True

    share: float = 0.5
    size: int | None = None

    def __post_init__(self) -> None:
        """Refuse shares that are none."""
        super().__post_init__()
        if not 0.0 < self.share <= 1.0:
            raise OptionError(f"share={self.share}, expected a number above 0 and at most 1")

    def decide(self, problem: MBRProblem, k: int = 1) -> list[Consensus]:
        """Return the ``k`` best candidates."""
        metric = self.require_metric(problem.metric)
        choices = candidates_of([listing(space, self.size) for space in problem.spaces])
        evidence = problem.evidence
        if not isinstance(evidence, Evidence):
            evidence = evidence_of(
                problem.spaces if evidence is None else evidence,
                k=self.size,
                scale=problem.scale,
                system_weights=problem.system_weights,
            )
        sign = 1.0 if metric.higher_is_better else -1.0
        gains = floats(sign * score_matrix(choices.nbest, evidence.nbest, metric))
        expected = floats(sign * worst_means(gains, evidence.weight, self.share))
        return [
            Consensus(
                choices.hypothesis(place),
                float(expected[place]),
                self.name,
                exact=True,
                candidates=len(choices.nbest),
                evidence=len(evidence.nbest),
            )
            for place in rank(choices.nbest, expected, metric, k).tolist()
        ]
