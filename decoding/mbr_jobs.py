"""Minimum-Bayes-risk decoding of a batch of segments: a job of :func:`decoding.corpus.run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoding.corpus import Segment
from decoding.jobs import is_unscored, one_best
from decoding.mbr import mbr
from decoding.minimum_risk.evidence_lists import Spaces
from decoding.minimum_risk.results import Consensus
from decoding.oracle import oracle
from fstmetrics import Evaluator, Metric, has_machine
from fstmetrics.references import Reference
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.formats.references import References
from lattices.spaces import Forest, Lattice, NBest, Space


@dataclass(frozen=True)
class SegmentConsensus:
    """What was chosen for one segment, and what it scores where there are references.

    Attributes
    ----------
    consensus : tuple of Consensus
        Best first.
    one_best : tuple of str
        The words of the model's best.
    stats : tuple of tuples of float64 columns, or None
        For each choice, its statistics under each metric; None without references.
    one_best_stats : tuple of float64 columns, or None
        Those of the model's best.
    oracle_stats : tuple of float64 columns or None, or None
        Under each metric, those of the sentence of the space that is best under it; None for a
        metric that cannot search the space.
    arcs : int
        The arcs of a lattice, the edges of a forest, the words of an n-best list.
    unscored : bool
        Whether ``one_best`` is arbitrary, since the model has no scores.
    """

    consensus: tuple[Consensus, ...]
    one_best: tuple[str, ...]
    stats: tuple[tuple[FloatColumn, ...], ...] | None
    one_best_stats: tuple[FloatColumn, ...] | None
    oracle_stats: tuple[FloatColumn | None, ...] | None
    arcs: int
    unscored: bool = False


@dataclass(frozen=True)
class MBRJob:
    """Decode every segment under the first metric, and score what is chosen under all.

    Attributes
    ----------
    metrics : tuple of Metric
        The first one decides, where the method takes a metric; the others score.
    references : References or None
        Those of the segments themselves if None; where a segment has none nothing is scored.
    method, scale, k, options
        As in :func:`decoding.mbr.mbr`; ``options`` has the rest of its arguments.
    objective : bool
        Whether the first metric is given to the method; False for ``linear`` and others that
        have their own.
    oracles : bool
        Whether the oracle of each segment is searched for, too.
    evidence : mapping of str to Space, optional
        What to average over for each segment, by its id; the segment itself by default.
    systems : tuple of mappings of str to Space
        What other systems said about each segment, by its id, to be combined with it.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> some = [("a cat sat", -0.1), ("the cat sat", -0.3), ("the cat lay", -0.4)]
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(tuple(text.split()), at) for text, at in some], references=["the cat lay"]
    ... )
    >>> result, = MBRJob((WER(),))([Segment(0, "", 0, nbest)])
    >>> [round(WER().score(row[0]), 3)
    ...  for row in (result.one_best_stats, result.stats[0], result.oracle_stats)]
    [0.667, 0.333, 0.0]
    """

    metrics: tuple[Metric, ...]
    references: References | None = None
    method: str = "auto"
    scale: float = 1.0
    k: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    objective: bool = True
    oracles: bool = True
    evidence: Mapping[str, Space] | None = None
    systems: tuple[Mapping[str, Space], ...] = ()

    def __call__(self, segments: Sequence[Segment]) -> list[SegmentConsensus]:
        """Return what is chosen for each segment."""
        return [self._decided(segment) for segment in segments]

    def _decided(self, segment: Segment) -> SegmentConsensus:
        space = segment.space
        found = self._chosen(segment)
        words = one_best(space)
        references = self._references(segment)
        stats = one_best_stats = oracle_stats = None
        if references:
            judges = [metric.against(references) for metric in self.metrics]
            stats = tuple(tuple(judge.stats(each.tokens) for judge in judges) for each in found)
            one_best_stats = tuple(judge.stats(words) for judge in judges)
            if self.oracles:
                oracle_stats = tuple(_oracle_stats(space, judge) for judge in judges)
        return SegmentConsensus(
            tuple(found),
            words,
            stats,
            one_best_stats,
            oracle_stats,
            _size(space),
            is_unscored(space),
        )

    def _chosen(self, segment: Segment) -> list[Consensus]:
        metric = self.metrics[0] if self.objective else None
        given: dict[str, Any] = {"scale": self.scale, "method": self.method, **self.options}
        spaces: Spaces = segment.space
        if self.systems:
            others = [_same_segment(segment, table, "another system") for table in self.systems]
            spaces = [segment.space, *others]
        if self.evidence is not None:
            given["evidence"] = _same_segment(segment, self.evidence, "the evidence")
        if self.k > 1:
            return mbr(spaces, metric, k=self.k, **given)
        return [mbr(spaces, metric, **given)]

    def _references(self, segment: Segment) -> tuple[Reference, ...]:
        if self.references is not None:
            return self.references.get(segment.id, segment.position)
        return segment.space.references


def _same_segment(segment: Segment, table: Mapping[str, Space], where: str) -> Space:
    if segment.id not in table:
        raise OptionError(f"there is no segment {segment.id!r} in {where}")
    return table[segment.id]


def _oracle_stats(space: Space, judge: Evaluator) -> FloatColumn | None:
    if not isinstance(space, NBest) and not has_machine(judge):
        return None
    return oracle(space, judge).stats


def _size(space: Space) -> int:
    if isinstance(space, Lattice):
        return space.num_arcs
    return space.num_edges if isinstance(space, Forest) else len(space.label)
