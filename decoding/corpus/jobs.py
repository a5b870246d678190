"""Jobs over batches of segments, for :func:`decoding.corpus.runner.run`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from decoding.corpus.runner import Job, Segment
from decoding.extraction.oracle import (
    Oracle,
    density_curve,
    find_oracles,
    oracle,
    oracle_at,
    ranked_oracles,
    score_hypothesis,
)
from decoding.extraction.search import SEARCH, Search
from fstmetrics import Evaluator, Metric, has_machine
from fstmetrics.contract import can_search, decomposes, for_segment, has_matches
from fstmetrics.references import Reference
from lattices.algorithms import best, best_words
from lattices.arrays import FloatColumn
from lattices.errors import OptionError, TooLargeError, argument
from lattices.formats.references import References
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.arguments import check_filled

if TYPE_CHECKING:
    from decoding.extraction.corpus import Candidates
    from decoding.minimum_risk.results import Consensus, Method
    from decoding.minimum_risk.systems import Spaces


def is_unscored(space: Space) -> bool:
    """Tell whether the model's scores do not tell the sentences of a space apart.

    All scores of arcs or edges are 0, or those of a list are equal, though there is a choice;
    what :func:`lattices.algorithms.best` then returns is the first by the order of the file, and
    no opinion.

    Examples
    --------
    >>> from lattices import Lattice
    >>> [is_unscored(Lattice.from_arcs([(0, 1, "a", at), (0, 1, "b")], [1])) for at in (0.0, -0.5)]
    [True, False]
    """
    if isinstance(space, NBest):
        return len(space) > 1 and bool((space.score == space.score[0]).all())
    if space.score.any():
        return False
    if isinstance(space, Forest):
        return space.num_edges > space.num_nodes
    ends = space.final[np.isfinite(space.final)]
    # a chain has a state more than it has arcs
    return not ends.any() and space.num_arcs + len(ends) > space.num_states


@dataclass(frozen=True)
class SegmentOracles:
    """The oracles of one segment, and what the model's own choice scores.

    Attributes
    ----------
    oracles : tuple of Oracle
        Best first, or worst first where the worst were asked for.
    stats : tuple of tuples of float64 columns
        For each oracle, its statistics under each metric.
    one_best : tuple of str
        The words of the model's best.
    one_best_stats : tuple of float64 columns
        Its statistics under each metric.
    arcs : int
        The arcs of a lattice, the edges of a forest, the words of an n-best list.
    engine : str
        Who searched.
    decomposes : bool
        Whether the best oracle is part of the best corpus, whatever the other segments are.
    unscored : bool
        Whether ``one_best`` is arbitrary, since the model has no scores.
    """

    oracles: tuple[Oracle, ...]
    stats: tuple[tuple[FloatColumn, ...], ...]
    one_best: tuple[str, ...]
    one_best_stats: tuple[FloatColumn, ...]
    arcs: int
    engine: str
    decomposes: bool
    unscored: bool = False


def evaluators_of(
    metrics: Iterable[Metric], space: Space, references: tuple[Reference, ...]
) -> list[Evaluator]:
    """Return an evaluator of each metric for a segment, with its source where one takes it."""
    return [for_segment(metric, [space]).against(references) for metric in metrics]


@dataclass(frozen=True)
class OracleJob:
    """Search every segment under the first metric, and score what is found under all.

    Attributes
    ----------
    metrics : tuple of Metric
    references : References or None
        Those of the segments themselves if None.
    k, model_weight
        As in :func:`decoding.oracle`, :func:`decoding.oracle_kbest` and :func:`decoding.worst`;
        the best alone are found batch by batch.
    worst : bool
        Look for the worst instead.
    search : Search

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1], references=["the"]
    ... )
    >>> result, = OracleJob((WER(),))([Segment(0, "", 0, lattice)])
    >>> result.oracles[0].text, result.oracles[0].score, result.one_best
    ('the', 0.0, ('a',))
    """

    metrics: tuple[Metric, ...]
    references: References | None = None
    k: int = 1
    worst: bool = False
    model_weight: float = 0.0
    search: Search = SEARCH

    def __call__(self, segments: Sequence[Segment]) -> list[SegmentOracles]:
        """Return the oracles of each segment."""
        references = [segment.references(self.references, required=True) for segment in segments]
        spaces = [segment.space for segment in segments]
        evaluators = [
            for_segment(self.metrics[0], [space]).against(some)
            for space, some in zip(spaces, references, strict=True)
        ]
        found = self._together(spaces, evaluators) or [
            self._alone(space, evaluator)
            for space, evaluator in zip(spaces, evaluators, strict=True)
        ]
        return [
            self._scored(space, found_here, evaluator, some)
            for space, found_here, evaluator, some in zip(
                spaces, found, evaluators, references, strict=True
            )
        ]

    def _together(
        self, spaces: list[Space], evaluators: list[Evaluator]
    ) -> list[list[Oracle]] | None:
        """Return the best of all spaces by one call, or None where one call will not do."""
        # the evaluators are all of one metric
        searches = has_machine(evaluators[0]) or has_matches(evaluators[0])
        if self.k > 1 or self.worst or not searches:
            return None
        found = find_oracles(
            spaces, evaluators, self.search, model_weight=self.model_weight, one_best=True
        )
        return [[each] for each in found]

    def _alone(self, space: Space, evaluator: Evaluator) -> list[Oracle]:
        return ranked_oracles(
            space,
            evaluator,
            self.k,
            self.search,
            worst=self.worst,
            model_weight=self.model_weight,
        )

    def _scored(
        self,
        space: Space,
        found: list[Oracle],
        evaluator: Evaluator,
        references: tuple[Reference, ...],
    ) -> SegmentOracles:
        others = evaluators_of(self.metrics[1:], space, references)
        if (beside := found[0].beside) is not None:
            words, row = beside
        else:
            words = best_words(space)
            row = evaluator.stats(words)
        return SegmentOracles(
            oracles=tuple(found),
            stats=tuple(
                (each.stats, *(other.stats(each.tokens) for other in others)) for each in found
            ),
            one_best=words,
            one_best_stats=(row, *(other.stats(words) for other in others)),
            arcs=_size(space),
            engine=found[0].engine,
            decomposes=decomposes(evaluator),
            unscored=is_unscored(space),
        )


@dataclass(frozen=True)
class SegmentCandidates:
    """What a corpus oracle may choose from for one segment.

    Attributes
    ----------
    candidates : Candidates
    oracles : tuple of Oracle
        Each candidate, scored by the first metric.
    stats : float64 array
        For each candidate, its statistics under all metrics, one after the other.
    arcs : int
        As in :class:`SegmentOracles`.
    decomposes : bool
        Whether the sentence oracle is part of the best corpus, whatever the other segments are.
    unscored : bool
        As in :class:`SegmentOracles`.
    """

    candidates: Candidates
    oracles: tuple[Oracle, ...]
    stats: FloatColumn
    arcs: int
    decomposes: bool
    unscored: bool


@dataclass(frozen=True)
class CandidatesJob:
    """Find what :func:`decoding.corpus_oracle` chooses from, so that spaces need not be kept.

    Attributes
    ----------
    metrics, references
        As in :class:`OracleJob`.
    search : Search

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1], references=["the", "an old"]
    ... )
    >>> result, = CandidatesJob((WER(),))([Segment(0, "", 0, lattice)])
    >>> [found.text for found in result.oracles], result.decomposes
    (['the', 'a'], False)
    """

    metrics: tuple[Metric, ...]
    references: References | None = None
    search: Search = SEARCH

    def __call__(self, segments: Sequence[Segment]) -> list[SegmentCandidates]:
        """Return the candidates of each segment."""
        references = [segment.references(self.references, required=True) for segment in segments]
        spaces = [segment.space for segment in segments]
        evaluators = [
            evaluators_of(self.metrics, space, some)
            for space, some in zip(spaces, references, strict=True)
        ]
        check_filled(spaces)
        from decoding.extraction.corpus import candidates

        found = candidates(spaces, [first for first, *_ in evaluators], self.search)
        results = []
        for segment, here, (first, *others) in zip(segments, found, evaluators, strict=True):
            tokens = [each.tokens for each in here.hypotheses]
            columns = [np.array([other.stats(each) for each in tokens]) for other in others]
            results.append(
                SegmentCandidates(
                    here,
                    tuple(
                        [
                            score_hypothesis(each, first, False, here.engine)
                            for each in here.hypotheses
                        ]
                    ),
                    np.hstack([here.rows, *columns]),
                    _size(segment.space),
                    decomposes(first),
                    is_unscored(segment.space),
                )
            )
        return results


@dataclass(frozen=True)
class SegmentCurve:
    """The oracles of one segment among more and more sentences, or in larger and larger lattices.

    Attributes
    ----------
    stats : tuple of tuples of float64 columns
        For each point, the statistics of its oracle under each metric.
    sizes : tuple of int
        For each point, the sentences of the list or the arcs of the lattice.
    words : int
        Those of the model's best.
    engine : str
        Who searched.
    decomposes, unscored : bool
        As in :class:`SegmentOracles`.
    """

    stats: tuple[tuple[FloatColumn, ...], ...]
    sizes: tuple[int, ...]
    words: int
    engine: str
    decomposes: bool
    unscored: bool


@dataclass(frozen=True)
class CurveJob:
    """Find the oracles of every segment at each size of its list, or density of its lattice.

    Attributes
    ----------
    metrics, references
        As in :class:`OracleJob`.
    at : tuple of int
        As in :func:`decoding.oracle_at`.
    densities : tuple of float
        As in :func:`decoding.density_curve`, instead.
    search : Search

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1], references=["the"]
    ... )
    >>> result, = CurveJob((WER(),), at=(1, 10))([Segment(0, "", 0, lattice)])
    >>> result.sizes, [WER().score(row) for row, in result.stats]
    ((1, 2), [1.0, 0.0])
    """

    metrics: tuple[Metric, ...]
    references: References | None = None
    at: tuple[int, ...] = ()
    densities: tuple[float, ...] = ()
    search: Search = SEARCH

    def __call__(self, segments: Sequence[Segment]) -> list[SegmentCurve]:
        """Return the points of each segment."""
        return [self._of(segment) for segment in segments]

    def _of(self, segment: Segment) -> SegmentCurve:
        space = segment.space
        references = segment.references(self.references, required=True)
        first, *others = evaluators_of(self.metrics, space, references)
        points: list[tuple[int, Oracle]]
        if self.at:
            points = [(each.sentences, each.oracle) for each in oracle_at(space, first, self.at)]
        elif isinstance(space, Lattice):
            curve = density_curve(space, first, self.densities, **asdict(self.search))
            points = [(each.arcs, each.oracle) for each in curve]
        else:
            raise OptionError(
                f"{argument('densities')} is for lattices, and this is "
                f"{'an n-best list' if isinstance(space, NBest) else 'a forest'}; "
                f"{argument('at')} is for all"
            )
        return SegmentCurve(
            tuple(
                (each.stats, *(other.stats(each.tokens) for other in others)) for _, each in points
            ),
            tuple(size for size, _ in points),
            len(best_words(space)),
            points[0][1].engine,
            decomposes(first),
            is_unscored(space),
        )


def _size(space: Space) -> int:
    return len(space.label) if isinstance(space, NBest) else len(space.score)


@dataclass(frozen=True)
class SpaceInfo:
    """The size of one lattice, forest or n-best list.

    Attributes
    ----------
    kind : {"lattice", "nbest", "forest"}
    states, arcs : int or None
        Nodes and edges of a forest; None for an n-best list.
    paths : int
        Complete paths, or derivations, exactly; the entries of an n-best list.
    density : float or None
        Arcs for each word of the best path; None without a path, and for n-best lists.
    shortest, longest : int or None
        Words of the shortest and of the longest path; None without a path.
    words : frozenset of str
        Every word that occurs.
    unscored : bool
        Whether the best path is arbitrary, since the model has no scores.
    """

    kind: str
    states: int | None
    arcs: int | None
    paths: int
    density: float | None
    shortest: int | None
    longest: int | None
    words: frozenset[str]
    unscored: bool = False


class InfoJob:
    """Measure every segment.

    Examples
    --------
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "a")], finals=[2])
    >>> info, = InfoJob()([Segment(0, "", 0, lattice)])
    >>> info.paths, info.density, info.longest, sorted(info.words)
    (2, 1.5, 2, ['a', 'b'])
    """

    def __call__(self, segments: Sequence[Segment]) -> list[SpaceInfo]:
        """Return the size of each segment."""
        return [
            _nbest_info(segment.space)
            if isinstance(segment.space, NBest)
            else _graph_info(segment.space)
            for segment in segments
        ]


def _graph_info(space: Lattice | Forest) -> SpaceInfo:
    from lattices.algorithms import density, path_count, path_lengths

    paths = path_count(space)
    lengths = path_lengths(space) if paths else None
    if isinstance(space, Lattice):
        states, arcs, used = space.num_states, space.num_arcs, space.label
    else:
        states, arcs, used = space.num_nodes, space.num_edges, space.symbol[space.symbol > 0]
    return SpaceInfo(
        kind=space.kind,
        states=states,
        arcs=arcs,
        paths=paths,
        density=density(space) if paths else None,
        shortest=lengths.shortest if lengths else None,
        longest=lengths.longest if lengths else None,
        words=frozenset(space.vocabulary.decode(np.unique(used).tolist())),
        unscored=is_unscored(space),
    )


def _nbest_info(nbest: NBest) -> SpaceInfo:
    lengths = np.diff(nbest.offset).tolist()
    return SpaceInfo(
        kind="nbest",
        states=None,
        arcs=None,
        paths=len(nbest),
        density=None,
        shortest=min(lengths, default=None),
        longest=max(lengths, default=None),
        words=frozenset(nbest.vocabulary.decode(np.unique(nbest.label).tolist())),
        unscored=is_unscored(nbest),
    )


R = TypeVar("R")


@dataclass(frozen=True)
class SegmentRescored:
    """What the model says about one segment under other weights.

    Attributes
    ----------
    hypothesis : Hypothesis
        With its new score.
    stats, one_best_stats : tuple of float64 columns, or None
        Under each metric, the statistics of the hypothesis, and those of what was best by the
        scores in the file; None without references.
    unweighted : tuple of str
        Features that have no weight, and counted nothing.
    size : int
        The arcs of a lattice, the edges of a forest, the entries of an n-best list.
    unscored : bool
        Whether what was best in the file is arbitrary, since it has no scores.
    """

    hypothesis: Hypothesis
    stats: tuple[FloatColumn, ...] | None
    one_best_stats: tuple[FloatColumn, ...] | None
    unweighted: tuple[str, ...]
    size: int
    unscored: bool = False


@dataclass(frozen=True)
class RescoreJob:
    """Find the best sentence of every segment under weights, and score it under all metrics.

    Attributes
    ----------
    weights : mapping of str to float
    missing : {"error", "zero"}
        As in :class:`decoding.corpus.transforms.Rescored`.
    metrics : tuple of Metric
    references : References or None
        Those of the segments themselves if None; where a segment has none nothing is scored.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> arcs = [(0, 1, "a", -0.5, {"lm": -3.0}), (0, 1, "the", -0.75, {"lm": -1.0})]
    >>> lattice = Lattice.from_arcs(arcs, finals=[1], references=["the"])
    >>> found, = RescoreJob({"lm": 0.5}, metrics=(WER(),))([Segment(0, "", 0, lattice)])
    >>> found.hypothesis.text, found.hypothesis.score
    ('the', -0.5)
    >>> [WER().score(some[0]) for some in (found.one_best_stats, found.stats)]
    [1.0, 0.0]
    """

    weights: Mapping[str, float]
    missing: str = "error"
    metrics: tuple[Metric, ...] = ()
    references: References | None = None

    def __call__(self, segments: Sequence[Segment]) -> list[SegmentRescored]:
        """Return what the model says about each segment."""
        from decoding.corpus.transforms import Rescored

        rescored = Rescored(self.weights, self.missing)
        return [self._scored(segment, rescored(segment)) for segment in segments]

    def _scored(self, segment: Segment, rescored: Space) -> SegmentRescored:
        found = best(rescored)
        stats = one_best_stats = None
        references = segment.references(self.references)
        if references and self.metrics:
            evaluators = evaluators_of(self.metrics, segment.space, references)
            before = best_words(segment.space)
            stats = tuple(evaluator.stats(found.tokens) for evaluator in evaluators)
            one_best_stats = tuple(evaluator.stats(before) for evaluator in evaluators)
        from decoding.corpus.transforms import unweighted

        names = unweighted(segment.space, self.weights)
        return SegmentRescored(
            found, stats, one_best_stats, names, len(rescored.score), is_unscored(segment.space)
        )


@dataclass(frozen=True)
class UnweightedNoted(Generic[R]):
    """A job, and for each segment the features that weights leave out.

    Examples
    --------
    >>> from lattices import Lattice
    >>> def ids(segments):
    ...     return [segment.id for segment in segments]
    >>> lattice = Lattice.from_arcs([(0, 1, "a", 0.0, {"lm": 1.0})], finals=[1], id="s1")
    >>> UnweightedNoted(ids, {})([Segment(0, "", 0, lattice)])
    [('s1', ('lm',))]
    """

    job: Job[R]
    weights: Mapping[str, float]

    def __call__(self, segments: Sequence[Segment]) -> list[tuple[R, tuple[str, ...]]]:
        """Return the job's result for each segment, and the features."""
        from decoding.corpus.transforms import unweighted

        names = [unweighted(segment.space, self.weights) for segment in segments]
        return list(zip(self.job(segments), names, strict=True))


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
        metric that cannot search the space, or not in the memory that a search may take.
    arcs : int
        The arcs of a lattice, the edges of a forest, the words of an n-best list.
    unscored : bool
        Whether ``one_best`` is arbitrary, since the model has no scores.
    decomposes : bool
        Whether all these oracles are part of the best corpus, whatever the other segments are.
    """

    consensus: tuple[Consensus, ...]
    one_best: tuple[str, ...]
    stats: tuple[tuple[FloatColumn, ...], ...] | None
    one_best_stats: tuple[FloatColumn, ...] | None
    oracle_stats: tuple[FloatColumn | None, ...] | None
    arcs: int
    unscored: bool = False
    decomposes: bool = True


@dataclass(frozen=True)
class MBRJob:
    """Decode every segment under the first metric, and score what is chosen under all.

    Attributes
    ----------
    metrics : tuple of Metric
        The first one decides, unless the method has an objective of its own; the others score.
    references : References or None
        Those of the segments themselves if None; where a segment has none nothing is scored.
    method, scale, k, system_weights
        As in :func:`decoding.mbr` and :func:`decoding.mbr_kbest`.
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
    method: str | Method = "auto"
    scale: float = 1.0
    k: int = 1
    system_weights: Sequence[float] | None = None
    oracles: bool = True
    evidence: Mapping[str, Space] | None = None
    systems: tuple[Mapping[str, Space], ...] = ()

    def __call__(self, segments: Sequence[Segment]) -> list[SegmentConsensus]:
        """Return what is chosen for each segment."""
        chosen = zip(segments, self._chosen(segments), strict=True)
        return [self._decided(segment, found) for segment, found in chosen]

    def _decided(self, segment: Segment, found: Sequence[Consensus]) -> SegmentConsensus:
        space = segment.space
        words = found[0].beside or best_words(space)
        references = segment.references(self.references)
        stats = one_best_stats = oracle_stats = None
        whole = True
        if references:
            evaluators = evaluators_of(self.metrics, space, references)
            stats = tuple(
                tuple(evaluator.stats(each.tokens) for evaluator in evaluators) for each in found
            )
            one_best_stats = tuple(evaluator.stats(words) for evaluator in evaluators)
            if self.oracles:
                oracle_stats = tuple(_oracle_stats(space, evaluator) for evaluator in evaluators)
                found_by = zip(evaluators, oracle_stats, strict=True)
                whole = all(decomposes(one) for one, row in found_by if row is not None)
        return SegmentConsensus(
            tuple(found),
            words,
            stats,
            one_best_stats,
            oracle_stats,
            _size(space),
            is_unscored(space),
            whole,
        )

    def _chosen(self, segments: Sequence[Segment]) -> list[Sequence[Consensus]]:
        from decoding.minimum_risk.mbr import decide_batch, method_class
        from decoding.minimum_risk.results import Method

        method = self.method
        if isinstance(method, str) and (method != "auto" or self.k > 1):
            method = method_class("pairwise" if method == "auto" else method)()
        own = isinstance(method, Method) and method.own_objective
        return decide_batch(
            [self._spaces(segment) for segment in segments],
            None if own else self.metrics[0],
            k=self.k if self.k > 1 else None,
            evidence=None
            if self.evidence is None
            else [_same_segment(each, self.evidence, "the evidence") for each in segments],
            scale=self.scale,
            method=method,
            system_weights=self.system_weights,
        )

    def _spaces(self, segment: Segment) -> Spaces:
        if not self.systems:
            return segment.space
        others = [_same_segment(segment, table, "another system") for table in self.systems]
        return [segment.space, *others]


def _same_segment(segment: Segment, table: Mapping[str, Space], where: str) -> Space:
    if segment.id not in table:
        raise OptionError(f"there is no segment {segment.id!r} in {where}")
    return table[segment.id]


def _oracle_stats(space: Space, evaluator: Evaluator) -> FloatColumn | None:
    if not isinstance(space, NBest) and not can_search(evaluator):
        return None
    try:
        return oracle(space, evaluator).stats
    except TooLargeError:
        return None  # the decision stands without it, and the summary has no oracle
