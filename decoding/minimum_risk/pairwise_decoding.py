"""MBR over lists: the candidate with the best expected metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from decoding.minimum_risk.aggregate import aggregate_scores
from decoding.minimum_risk.confidence import bounded_expectations, confident_expectations
from decoding.minimum_risk.evidence import (
    EntryWeights,
    Evidence,
    checked_scale,
    evidence_from,
    evidence_listing,
    evidence_of,
)
from decoding.minimum_risk.evidence_lists import (
    Candidates,
    Spaces,
    as_systems,
    candidates_of,
    listing,
    rows,
)
from decoding.minimum_risk.pairwise import expected_scores, has_kernel, ranked
from decoding.minimum_risk.results import Consensus
from fstmetrics import Metric
from lattices.errors import OptionError, argument
from lattices.spaces import Forest


@overload
def pairwise(
    spaces: Spaces,
    metric: Metric,
    *,
    scale: float = 1.0,
    evidence: Evidence | Spaces | None = None,
    evidence_size: int | None = None,
    candidates: int | Spaces | None = None,
    samples: int | None = None,
    seed: int = 0,
    weights: EntryWeights | None = None,
    uniform: bool = False,
    system_weights: Sequence[float] | None = None,
    merge: str = "sum",
    aggregate: bool = False,
    confidence: float | None = None,
    k: None = None,
) -> Consensus: ...
@overload
def pairwise(
    spaces: Spaces,
    metric: Metric,
    *,
    scale: float = 1.0,
    evidence: Evidence | Spaces | None = None,
    evidence_size: int | None = None,
    candidates: int | Spaces | None = None,
    samples: int | None = None,
    seed: int = 0,
    weights: EntryWeights | None = None,
    uniform: bool = False,
    system_weights: Sequence[float] | None = None,
    merge: str = "sum",
    aggregate: bool = False,
    confidence: float | None = None,
    k: int,
) -> list[Consensus]: ...
def pairwise(
    spaces: Spaces,
    metric: Metric,
    *,
    scale: float = 1.0,
    evidence: Evidence | Spaces | None = None,
    evidence_size: int | None = None,
    candidates: int | Spaces | None = None,
    samples: int | None = None,
    seed: int = 0,
    weights: EntryWeights | None = None,
    uniform: bool = False,
    system_weights: Sequence[float] | None = None,
    merge: str = "sum",
    aggregate: bool = False,
    confidence: float | None = None,
    k: int | None = None,
) -> Consensus | list[Consensus]:
    """Return the candidate with the best expected metric, or the ``k`` best.

    ``argmax over candidates c of sum over evidence e of P(e) * metric(c, e)``, the minimum for
    an error rate. Any metric: each sentence of evidence is its reference in turn. Expectations
    that differ by no more than 1e-12 are equal; ties go to the higher model score.

    Metrics without a kernel for whole matrices (:func:`decoding.minimum_risk.pairwise.has_kernel`)
    leave out candidates that provably cannot win, as evidence is heard.

    Parameters
    ----------
    spaces : Lattice, Forest or NBest, or a sequence of them
        What one system, or each of several, said about one segment.
    metric : Metric
    scale, samples, seed, weights, uniform, system_weights, merge
        How sentences become evidence: see :func:`decoding.minimum_risk.evidence.evidence_of`.
    evidence : Evidence or spaces, optional
        What to average over, by default what is chosen from. :class:`Evidence` comes with its
        weights, and the options that would make them are refused.
    evidence_size : int, optional
        The size of the list of evidence: by default all entries of a list, 100 sentences of a
        lattice, 100 derivations of a forest.
    candidates : int or spaces, optional
        How many sentences can be chosen, the best of each space; or where they come from. By
        default all entries of a list, 100 sentences of a lattice or forest.
    aggregate : bool
        Score against the average of the evidence, in linear time; BLEU and chrF only. See
        :func:`decoding.minimum_risk.aggregate.aggregate_scores`.
    confidence : float, optional
        Such as 0.99: leave out candidates that a bootstrap finds worse with this confidence.
        The result then says ``exact=False`` if it has left out any.
    k : int, optional
        Return a list of that many, best first; fewer if there are fewer. All pairs are scored.

    Raises
    ------
    OptionError
        If there are no candidates, no evidence, or options contradict each other.
    SpaceError
        If a lattice has no complete path.

    Examples
    --------
    The sentence in the middle, though the model likes another best:

    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis, NBest
    >>> some = [("a cat sat", -0.1), ("the cat sat", -0.3), ("the cat lay", -0.4)]
    >>> nbest = NBest.from_hypotheses([Hypothesis(tuple(text.split()), at) for text, at in some])
    >>> found = pairwise(nbest, WER())
    >>> found.text, round(found.expected, 3), found.candidates, found.evidence
    ('the cat sat', 0.227, 3, 3)
    >>> [each.text for each in pairwise(nbest, WER(), k=2)]
    ['the cat sat', 'a cat sat']
    """
    if k is not None and k < 1:
        raise OptionError(f"{argument('k')} is at least 1, not {k}")
    if confidence is not None and (k is not None or aggregate):
        raise OptionError("confidence is for one candidate against each sentence of evidence")
    checked_scale(scale)
    own = as_systems(spaces)
    size = candidates if isinstance(candidates, int) else None
    sources = own if candidates is None or size is not None else as_systems(candidates)  # type: ignore[arg-type]
    listings = [listing(space, size) for space in sources]
    if isinstance(evidence, Evidence):
        _refuse_evidence_options(
            scale != 1.0, evidence_size, samples, weights, uniform, system_weights, merge != "sum"
        )
        judges = evidence
    elif evidence is None and samples is None and sources is own and size == evidence_size:
        shared = [
            evidence_listing(one.space, size, merge) if isinstance(one.space, Forest) else one
            for one in listings
        ]
        judges = evidence_from(
            shared, scale=scale, weights=weights, uniform=uniform,
            system_weights=system_weights, merge=merge,
        )  # fmt: skip
    else:
        judges = evidence_of(
            own if evidence is None else evidence, scale=scale, k=evidence_size, samples=samples,
            seed=seed, weights=weights, uniform=uniform, system_weights=system_weights, merge=merge,
        )  # fmt: skip
    found = _chosen(candidates_of(listings), judges, metric, aggregate, confidence, seed, k)
    return found if k is not None else found[0]


def _refuse_evidence_options(*given: object) -> None:
    if any(option is not None and option is not False for option in given):
        raise OptionError("the evidence has weights already: no options can make others")


def _chosen(
    choices: Candidates,
    evidence: Evidence,
    metric: Metric,
    aggregate: bool,
    confidence: float | None,
    seed: int,
    k: int | None,
) -> list[Consensus]:
    nbest, place, method = choices.nbest, None, "pairwise"
    if aggregate:
        expected, method = aggregate_scores(nbest, evidence, metric), "aggregate"
    elif confidence is not None:
        place, expected, _ = confident_expectations(nbest, evidence, metric, confidence, seed)
    elif k is None and not has_kernel(metric):
        place, expected, _ = bounded_expectations(nbest, evidence, metric)
    else:
        expected = expected_scores(nbest, evidence, metric)
    remaining = nbest if place is None else rows(nbest, place)
    exact = confidence is None or len(remaining) == len(nbest)
    return [
        Consensus(
            hypothesis=choices.hypothesis(best if place is None else int(place[best])),
            expected=float(expected[best]),
            method=method,
            exact=exact,
            candidates=len(nbest),
            evidence=len(evidence.nbest),
        )
        for best in ranked(remaining, expected, metric, k or 1).tolist()
    ]
