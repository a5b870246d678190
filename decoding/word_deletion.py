"""Word deletion: what training for a metric does with a licence to leave words out.

A lattice gets deletion arcs (:func:`lattices.algorithms.allow_deletion`), whose feature is trained
with the others; the metric decides how much is left out (Chiang et al. 2008, section 3.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.training.mert import MERT
from fstmetrics import Metric
from fstmetrics.contract import corpus_stats
from fstmetrics.references import Reference
from fstmetrics.statistics.resampling import ResamplingOptions
from fstmetrics.statistics.significance import Comparison, paired_bootstrap
from lattices.algorithms import allow_deletion, best
from lattices.algorithms.epsilon import DELETION
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.records import PlainRecord
from lattices.spaces import Hypothesis, Lattice

#: what may be deleted
KINDS = ("none", "word", "sentence")
#: lattices and the references of each
Corpus = tuple[Sequence[Lattice], Sequence[Sequence[Reference]]]


@dataclass(frozen=True)
class DeletionResult(PlainRecord):
    """What one training came to, on one corpus, by one metric."""

    #: that the weights were trained for
    trained: Metric
    #: what may be left out
    kind: str
    corpus: str
    #: the share of words that are
    deleted: float
    metric: Metric
    score: float
    #: with the same training without deletion; None if this is it
    comparison: Comparison | None
    weights: Mapping[str, float]


def word_deletion(
    corpora: Mapping[str, Corpus],
    metrics: Sequence[Metric],
    *,
    judges: Sequence[Metric] = (),
    kinds: Sequence[str] = KINDS,
    start: Mapping[str, float],
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    resampling: ResamplingOptions | None = None,
) -> list[DeletionResult]:
    """Train for each metric with each kind of deletion, and score what is best then.

    Parameters
    ----------
    corpora
        By name; the first is the one that is trained on, the others are held out.
    metrics
        To train for, by MERT.
    judges
        To score by, beside the metric that was trained for.
    kinds
        ``none`` is the baseline of the comparisons and always first.
    start
        Weights of the features; that of deletion begins so low that nothing is left out.
    seed, options
        Of :class:`decoding.training.mert.MERT`.
    resampling
        Of the comparisons, :func:`fstmetrics.statistics.paired_bootstrap`.

    Raises
    ------
    OptionError
        For an unknown kind, or no metric or corpus.

    Examples
    --------
    >>> from fstmetrics import WRR
    >>> lattice = Lattice.from_arcs([(0, 1, "the", -1.0, {"lm": -1.0}),
    ...     (1, 2, "uh", -9.0, {"lm": -9.0}), (2, 3, "cat", -2.0, {"lm": -2.0})], finals=[3])
    >>> found = word_deletion({"dev": ([lattice] * 2, [["the cat"]] * 2)}, [WRR()],
    ...                       kinds=["word"], start={"lm": 1.0}, resampling={"samples": 20})
    >>> [(one.kind, f"{one.deleted:.2f}", one.score) for one in found]
    [('none', '0.00', 0.5), ('word', '0.33', 1.0)]
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise OptionError(f"deletion of {unknown[0]!r}, expected one of {', '.join(KINDS)}")
    if not (metrics and corpora):
        raise OptionError("word deletion needs a metric to train for, and lattices")
    found = []
    for trained in metrics:
        scored_by = [trained, *(one for one in judges if str(one) != str(trained))]
        baseline: dict[str, list[FloatColumn]] = {}
        for kind in ("none", *(each for each in kinds if each != "none")):
            changed = {
                name: ([_allow(lattice, kind) for lattice in lattices], references)
                for name, (lattices, references) in corpora.items()
            }
            learner = MERT(
                start=_begin(start, corpora.values(), kind), seed=seed, **(options or {})
            )
            learner.fit(*next(iter(changed.values())), trained)
            for name, (lattices, references) in changed.items():
                said = [best(lattice.reweighted(learner.weights)) for lattice in lattices]
                stats = [
                    corpus_stats(one, [s.tokens for s in said], references) for one in scored_by
                ]
                if kind == "none":
                    baseline[name] = stats
                found += [
                    DeletionResult(
                        trained, kind, name, _share(said), metric,
                        float(metric.score(rows.sum(axis=0))),
                        None if kind == "none"
                        else paired_bootstrap(metric, rows, base, **(resampling or {})),
                        learner.weights,
                    )
                    for metric, rows, base in zip(scored_by, stats, baseline[name], strict=True)
                ]  # fmt: skip
    return found


def _allow(lattice: Lattice, kind: str) -> Lattice:
    return lattice if kind == "none" else allow_deletion(lattice, whole=kind == "sentence")


def _begin(start: Mapping[str, float], corpora: Iterable[Corpus], kind: str) -> Mapping[str, float]:
    """Return the weights with one of deletion under which no word or sentence is left out."""
    if kind == "none":
        return start
    scored = [lattice.reweighted(start) for lattices, _ in corpora for lattice in lattices]
    if kind == "word":
        lowest = min(float(lattice.score.min(initial=0.0)) for lattice in scored)
    else:
        lowest = min(said.score / max(1, len(said.tokens)) for said in map(best, scored))
    # a step below, by which nothing is tied
    return {**start, DELETION: min(lowest, 0.0) * 1.01 - 1e-3}


def _share(said: Sequence[Hypothesis]) -> float:
    """Return the share of words that were left out, of those and the ones that were said."""
    deleted = sum((one.features or {}).get(DELETION, 0.0) for one in said)
    words = sum(len(one.tokens) for one in said)
    return float(deleted / max(1.0, deleted + words))
