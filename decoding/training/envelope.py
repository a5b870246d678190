"""Upper envelopes along a line of weights: the best sentence at every step, exactly.

Along ``weights + step * direction`` the score of a hypothesis is a straight line, and the best
hypothesis is given by the maximum of all lines: finitely many segments, each with one
hypothesis, whatever the size of the space.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from decoding._native import SentenceNumbers, envelopes
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import abilities_of, nbest_stats
from lattices.algorithms import sample_paths
from lattices.algorithms.kbest import explain_too_many_edges
from lattices.algorithms.paths import explain_no_path
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.features import (
    FeatureMatrix,
    Weights,
    matrix_columns,
    weight_vector,
    widen_rows,
)
from lattices.vocabulary import Vocabulary

# what may be wrong with a space
_TOO_LARGE, _TOO_MANY_EDGES = 2, 3


@dataclass(frozen=True, eq=False)
class Envelope:
    """The best hypotheses of a space along a line of weights, from left to right."""

    space: Space
    #: the score of the segment's hypothesis at a step is ``intercept + step * slope``; slopes
    #: ascend
    slope: FloatColumn
    intercept: FloatColumn
    #: the step where each segment begins; the first begins at ``-inf``
    left: FloatColumn
    #: the hypothesis of segment ``i`` is ``arcs[arc_offset[i]:arc_offset[i + 1]]``: arcs of a
    #: lattice, edges of a forest, or the one entry of a list
    arcs: IntColumn
    arc_offset: IntColumn
    #: its words, as numbers of the space's vocabulary
    words: IntColumn
    word_offset: IntColumn

    def __len__(self) -> int:
        """Return how many segments there are."""
        return len(self.left)

    def at(self, step: float) -> int:
        """Return the segment of a step; where two meet, the one on the right."""
        return int(np.searchsorted(self.left, step, side="right")) - 1

    def hypothesis(self, segment: int) -> Hypothesis:
        """Return the hypothesis of a segment, with the features and the score of the space."""
        some = self.arcs[self.arc_offset[segment] : self.arc_offset[segment + 1]].tolist()
        return self.space[some[0]] if isinstance(self.space, NBest) else self.space.hypothesis(some)

    def tokens(self, segment: int) -> tuple[str, ...]:
        """Return the words of a segment's hypothesis."""
        bounds = self.word_offset[segment : segment + 2]
        return self.space.vocabulary.decode(self.words[bounds[0] : bounds[1]].tolist())


def envelope(space: Space, weights: Weights, direction: Weights) -> Envelope:
    """Return who is best under ``weights + step * direction``, for every step.

    Cost: O(n log n) for a list.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", 0.0, {"lm": -1.0}), (0, 1, "the", 0.0, {"lm": -2.0, "tm": 1.0})],
    ...     finals=[1],
    ... )
    >>> found = envelope(lattice, {"lm": 1.0, "tm": 0.0}, {"lm": 0.0, "tm": 1.0})
    >>> [(found.tokens(each), float(found.left[each])) for each in range(len(found))]
    [(('a',), -inf), (('the',), 1.0)]
    """
    sides = [weight_vector(each, space.feature_names) for each in (weights, direction)]
    rows = feature_rows(space)
    found = WeightedRows([space], rows, [0, rows.shape[0]])
    return next(iter(found.envelopes(sides[0], sides[1])))


def feature_rows(space: Space) -> FeatureMatrix:
    """Return the features of all that has a line: entries, edges, or arcs and then states."""
    if space.features is None:
        raise SpaceError(f"space {space.id!r} has no features to weight")
    if not isinstance(space, Lattice):
        return space.features
    from scipy.sparse import csr_array, vstack

    last = space.final_features
    if last is None:
        last = csr_array((space.num_states, len(space.feature_names)))
    return vstack([space.features, last], format="csr")


class WeightedRows:
    """Spaces with the rows of their features, to be searched along many lines of weights.

    Space ``i`` has the rows from ``offset[i]`` up to ``offset[i + 1]``, as of
    :func:`feature_rows`.
    """

    def __init__(
        self, spaces: Sequence[Space], features: FeatureMatrix, offset: Sequence[int]
    ) -> None:
        self.spaces, self.features, self.offset = spaces, features, offset
        self._columns = matrix_columns(features)
        self._bounds = np.array(offset, np.int64)
        self._handles = [
            (space.label, space.offset) if isinstance(space, NBest) else space.columns
            for space in spaces
        ]

    def envelopes(
        self, weights: FloatColumn, direction: FloatColumn, workers: int = 1
    ) -> Envelopes:
        """Search all spaces along a line, in one native call on so many threads."""
        found: Any = envelopes(
            self._handles, self._columns, self._bounds, weights, direction, workers
        )
        culprit, problem = found[-2:]
        if problem:
            raise _explain(self.spaces[culprit], problem)
        return Envelopes(self.spaces, *map(_read_only, found[:-2]))


def _explain(space: Any, problem: int) -> SpaceError:
    """Return why a space has no envelope."""
    if problem == _TOO_LARGE:
        return SpaceError(f"the scores of space {space.id!r} are too large to be added up")
    if problem == _TOO_MANY_EDGES:
        return explain_too_many_edges(space)
    if isinstance(space, NBest):
        return SpaceError(f"n-best list {space.id!r} is empty")
    return explain_no_path(space)


@dataclass(frozen=True, eq=False)
class Envelopes:
    """The envelopes of several spaces, end to end: those of space ``i`` from ``count[i]`` on."""

    spaces: Sequence[Space]
    count: IntColumn
    slope: FloatColumn
    intercept: FloatColumn
    left: FloatColumn
    arcs: IntColumn
    arc_offset: IntColumn
    words: IntColumn
    word_offset: IntColumn

    def __iter__(self) -> Iterator[Envelope]:
        """Iterate over the envelopes of the spaces."""
        for space, (first, last) in zip(self.spaces, pairwise(self.count.tolist()), strict=True):
            arc_bounds = self.arc_offset[first : last + 1]
            word_bounds = self.word_offset[first : last + 1]
            yield Envelope(
                space,
                self.slope[first:last],
                self.intercept[first:last],
                self.left[first:last],
                self.arcs[arc_bounds[0] : arc_bounds[-1]],
                arc_bounds - arc_bounds[0],
                self.words[word_bounds[0] : word_bounds[-1]],
                word_bounds - word_bounds[0],
            )


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


#: paths from which the variation of features is told
_DRAWN = 32
#: values of features that are kept in one matrix; of more, so many at a time are put together anew
#: for each line, from where the spaces have them: an Arrow file is mapped
KEPT, AT_ONCE = 2**24, 2**20


class NumberedWords(NamedTuple):
    """What the words of spaces are to their evaluators, for all spaces at once."""

    #: ``place << 32 | word`` of the words that have a number, ascending; and the numbers
    key: Array
    number: IntColumn
    rows: tuple[Callable[[IntColumn, IntColumn], FloatColumn], ...]

    @staticmethod
    def of(judges: Sequence[tuple[Evaluator, Vocabulary]]) -> NumberedWords | None:
        """Return the numbers; None if some evaluator has none."""
        keys, numbers, rows = [], [], []
        for place, (evaluator, vocabulary) in enumerate(judges):
            made = abilities_of(evaluator).number_stats
            stats = None if made is None else made(evaluator, vocabulary)
            if stats is None:
                return None
            keys.append((place << 32) | stats.words.astype(np.int64))
            numbers.append(stats.numbers)
            rows.append(stats.rows)
        return NumberedWords(np.concatenate(keys), ints(np.concatenate(numbers)), tuple(rows))

    def translate(self, words: IntColumn, place: Array) -> IntColumn:
        """Return the numbers of words of these places."""
        if not len(self.key):
            return ints(np.zeros(len(words)))
        wanted = (place.astype(np.int64) << 32) | words
        at = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        return ints(np.where(self.key[at] == wanted, self.number[at], 0))


class SentenceStats:
    """The statistics of the sentences of spaces, computed when they are first asked for."""

    def __init__(self, spaces: Sequence[Space], evaluators: Sequence[Evaluator]) -> None:
        self._judges = [
            (evaluator, space.vocabulary)
            for evaluator, space in zip(evaluators, spaces, strict=True)
        ]
        self._by_number = NumberedWords.of(self._judges)
        self._forget()

    def _forget(self) -> None:
        self._numbers = SentenceNumbers()
        self._known = 0
        self._rows = np.empty((0, len(self._judges[0][0].metric.stat_names)))

    def serves(self, spaces: Sequence[Space], evaluators: Sequence[Evaluator]) -> bool:
        """Tell whether the statistics are those that other evaluators would give."""
        return len(spaces) == len(self._judges) and all(
            vocabulary is space.vocabulary
            and (
                mine is other
                or (mine.metric == other.metric and mine.references == other.references)
            )
            for (mine, vocabulary), space, other in zip(
                self._judges, spaces, evaluators, strict=True
            )
        )

    def rows(self, found: Envelopes, first: int = 0) -> FloatColumn:
        """Return one row for each sentence of the envelopes of the spaces from the first on."""
        count = np.concatenate((np.zeros(first, np.int32), found.count))
        number, fresh = self._numbers.number(count, found.words, found.word_offset)
        if len(fresh):
            try:
                self._add(found, count, fresh)
            except BaseException:
                # the sentences have numbers already, but no rows
                self._forget()
                raise
        rows: FloatColumn = self._rows[number]
        return rows

    def _add(self, found: Envelopes, count: Array, fresh: IntColumn) -> None:
        """Compute the rows of sentences that are new, in their order."""
        end = self._known + len(fresh)
        if end > len(self._rows):
            more = np.empty((max(end, 2 * len(self._rows)), self._rows.shape[1]))
            more[: self._known] = self._rows[: self._known]
            self._rows = more
        bounds = found.word_offset
        places, first = np.unique(
            np.searchsorted(count, fresh, side="right") - 1, return_index=True
        )
        sizes = bounds[fresh + 1] - bounds[fresh]
        offset = np.concatenate(([0], np.cumsum(sizes)))
        words = found.words[np.arange(offset[-1]) + np.repeat(bounds[fresh] - offset[:-1], sizes)]
        ends = [*first[1:].tolist(), len(fresh)]
        if self._by_number is not None:
            words = self._by_number.translate(
                words, np.repeat(places, np.diff(offset[[*first.tolist(), len(fresh)]]))
            )
        for place, begin, end in zip(places.tolist(), first.tolist(), ends, strict=True):
            own = ints(words[offset[begin] : offset[end]])
            starts = ints(offset[begin : end + 1] - offset[begin])
            if self._by_number is not None:
                rows = self._by_number.rows[place](own, starts)
            else:
                evaluator, vocabulary = self._judges[place]
                scores = floats(np.zeros(end - begin))
                rows = nbest_stats(evaluator, NBest(vocabulary, own, starts, scores))
            self._rows[self._known : self._known + end - begin] = rows
            self._known += end - begin


class Turns(NamedTuple):
    """Where the corpus changes along a line."""

    #: the statistics of the corpus far to the left, before all turns
    base: FloatColumn
    #: where some segment's best sentence changes to one with other statistics, in order
    step: FloatColumn
    #: what is added to the statistics there
    change: FloatColumn


class Changes(NamedTuple):
    """How the statistics of spaces change along a line, those of space after space."""

    #: the statistics far to the left, before all turns
    first: FloatColumn
    #: the space of each turn
    place: Array
    #: as of :class:`Turns`, from left to right for each space
    step: FloatColumn
    change: FloatColumn


class LineCorpus(ABC):
    """Spaces to be searched along many lines of weights, wherever they are."""

    #: the features of all spaces, in the order of their first occurrence
    names: tuple[str, ...]
    #: that of the evaluators
    metric: Metric

    @property
    @abstractmethod
    def deviations(self) -> FloatColumn:
        """How much each feature varies among the hypotheses of one space.

        The root of the mean variance over spaces: of the entries of a list, and of 32 random
        paths of a lattice or a forest, all of them equally likely. The draw is always the same.
        """

    @abstractmethod
    def changes(self, weights: Weights, direction: Weights) -> Changes:
        """Return how the statistics of each space change along a line."""

    @abstractmethod
    def stats(self, weights: Weights) -> FloatColumn:
        """Return one row of statistics for each space's best sentence under the weights."""

    def vector(self, weights: Weights) -> FloatColumn:
        """Return weights in the order of :attr:`names`."""
        return weight_vector(weights, self.names)

    def mapping(self, vector: FloatColumn) -> dict[str, float]:
        """Return weights by name."""
        return dict(zip(self.names, vector.tolist(), strict=True))

    def turns(self, weights: Weights, direction: Weights) -> Turns:
        """Return where the statistics of the corpus change along a line, and how."""
        found = self.changes(weights, direction)
        order = np.argsort(found.step, kind="stable")
        base = floats(found.first.sum(axis=0))
        return Turns(base, floats(found.step[order]), floats(found.change[order]))

    def score(self, weights: Weights) -> float:
        """Return the metric of the best sentences under the weights, ties as of ``best``."""
        return self.metric.score(self.stats(weights).sum(axis=0))


@dataclass
class Variation:
    """How much features vary, summed up over spaces: see :attr:`LineCorpus.deviations`."""

    rng: np.random.Generator
    spaces: int
    total: FloatColumn
    square: FloatColumn

    @classmethod
    def none(cls, features: int) -> Variation:
        """Return the sums over no space."""
        return cls(np.random.default_rng(0), 0, np.zeros(features), np.zeros(features))

    def add(self, space: Space, rows: FeatureMatrix) -> None:
        """Add a space that has these rows of features."""
        if not isinstance(space, NBest):
            rows = path_rows(space, self.rng) @ rows
        dense = rows.toarray()
        self.total += dense.var(axis=0)
        self.square += np.square(dense).mean(axis=0)
        self.spaces += 1

    @property
    def deviations(self) -> FloatColumn:
        """The root of the mean variance."""
        # a feature that is always the same varies by rounding alone
        real = self.total > 1e-18 * self.square
        return floats(np.sqrt(np.where(real, self.total, 0.0) / self.spaces))


class EnvelopeCorpus(LineCorpus):
    """Spaces with their evaluators, made ready for many lines of weights.

    The features of all spaces stand in one sparse matrix, so that a line costs one product (of
    large corpora, in several that are not kept: see :data:`KEPT`); and the statistics of a sentence
    are computed once, however often it is best. Lines are searched in ``workers`` threads.
    ``names`` are more features than those of the spaces, if it is given.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": 1.0}), Hypothesis(("b",), 0.0, {"tm": 1.0})]
    ... )
    >>> corpus = EnvelopeCorpus([nbest], [WER().against(["b"])])
    >>> corpus.names, corpus.score([2.0, 1.0]), corpus.score({"lm": 0.0, "tm": 1.0})
    (('lm', 'tm'), 1.0, 0.0)
    """

    def __init__(
        self,
        spaces: Sequence[Space],
        evaluators: Sequence[Evaluator],
        *,
        earlier: EnvelopeCorpus | None = None,
        workers: int = 1,
        names: Sequence[str] | None = None,
    ) -> None:
        if len(spaces) != len(evaluators):
            raise OptionError(f"{len(spaces)} spaces, but {len(evaluators)} evaluators")
        if not spaces:
            raise OptionError("there are no spaces to train on")
        self._workers = workers
        self.spaces = tuple(spaces)
        self.evaluators = tuple(evaluators)
        self.metric = self.evaluators[0].metric
        if any(evaluator.metric != self.metric for evaluator in self.evaluators):
            raise OptionError("the evaluators of a corpus are all of one metric")
        self.names = feature_names_of(spaces) if names is None else tuple(names)
        self._column = {name: place for place, name in enumerate(self.names)}
        values = np.cumsum([0 if each.features is None else each.features.nnz for each in spaces])
        self._keeps = bool(values[-1] <= KEPT)
        # where those begin that are searched together
        part = np.zeros(len(values)) if self._keeps else values // AT_ONCE
        self._begin = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(spaces)]
        self._kept: WeightedRows | None = None
        if self._keeps:
            self._kept = self._rows(0, len(spaces))
        else:
            # what is wrong with one is said at once
            for space in spaces:
                feature_rows(space)
        known: SentenceStats | None = None if earlier is None else earlier._stats
        if known is None or not known.serves(self.spaces, self.evaluators):
            known = SentenceStats(self.spaces, self.evaluators)
        self._stats: SentenceStats = known

    @cached_property
    def deviations(self) -> FloatColumn:
        found = Variation.none(len(self.names))
        self.add_variation(found, range(len(self.spaces)))
        return found.deviations

    def add_variation(self, found: Variation, places: Iterable[int]) -> None:
        """Add how much features vary in some of the spaces."""
        for place in places:
            found.add(self.spaces[place], self._block(self.spaces[place]))

    def _block(self, space: Space) -> FeatureMatrix:
        """Return the features of a space in the columns of the corpus, sorted."""
        rows = feature_rows(space)
        block = widen_rows(rows, space.feature_names, self._column, rows.shape[0])
        # sums in one order, however the spaces were read
        if not block.has_sorted_indices:
            block = block.copy()
            block.sort_indices()
        return block

    def _rows(self, begin: int, end: int) -> WeightedRows:
        """Put the features of some spaces together."""
        spaces = self.spaces[begin:end]
        blocks = [self._block(space) for space in spaces]
        offset = np.cumsum([0, *(block.shape[0] for block in blocks)]).tolist()
        return WeightedRows(spaces, vstack(blocks, format="csr"), offset)

    def envelopes(self, weights: Weights, direction: Weights) -> Iterator[Envelopes]:
        """Iterate over the envelopes of the spaces, of many at a time."""
        sides = self.vector(weights), self.vector(direction)
        for begin, end in pairwise(self._begin):
            rows = self._kept or self._rows(begin, end)
            yield rows.envelopes(*sides, self._workers)

    def changes(self, weights: Weights, direction: Weights) -> Changes:
        found = [
            self._changes_of(some, begin)
            for begin, some in zip(self._begin, self.envelopes(weights, direction), strict=False)
        ]
        if len(found) == 1:
            return found[0]
        first, place, step, change = map(np.concatenate, zip(*found, strict=True))
        return Changes(floats(first), place, floats(step), floats(change))

    def _changes_of(self, found: Envelopes, begin: int) -> Changes:
        """Return the changes of spaces from one on."""
        table, step = self._stats.rows(found, begin), found.left
        first = np.isneginf(step)
        change = table[1:] - table[:-1]
        # neighbouring segments with equal statistics are merged
        real = np.flatnonzero(~first[1:] & change.any(axis=1))
        place = (first.cumsum() - 1)[1:][real] + begin
        return Changes(floats(table[first]), place, floats(step[1:][real]), floats(change[real]))

    def stats(self, weights: Weights) -> FloatColumn:
        found = self.envelopes(weights, np.zeros(len(self.names)))
        rows = [
            self._stats.rows(some, begin) for begin, some in zip(self._begin, found, strict=False)
        ]
        return floats(np.concatenate(rows))


def feature_names_of(spaces: Iterable[Any]) -> tuple[str, ...]:
    """Return the features of all spaces, in the order of their first occurrence."""
    return tuple(dict.fromkeys(chain.from_iterable(space.feature_names for space in spaces)))


def path_rows(space: Lattice | Forest, rng: np.random.Generator) -> FeatureMatrix:
    """Return random paths as rows of ones, over what :func:`feature_rows` has rows for."""
    paths = sample_paths(space, _DRAWN, rng, scale=0.0)
    arcs, offset = paths.arcs, paths.offset
    size = space.num_edges if isinstance(space, Forest) else space.num_arcs + space.num_states
    rows = csr_array((np.ones(len(arcs)), arcs, offset), shape=(_DRAWN, size))
    if isinstance(space, Lattice):
        last = np.where(np.diff(offset) > 0, offset[1:], 0) - 1
        end = np.full(_DRAWN, space.start)
        end[last >= 0] = space.dst[arcs[last[last >= 0]]]
        ends = (np.arange(_DRAWN), space.num_arcs + end)
        rows = rows + csr_array((np.ones(_DRAWN), ends), shape=rows.shape)
    return rows
