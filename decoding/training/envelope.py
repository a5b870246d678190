"""Upper envelopes along a line of weights: the best sentence at every step, exactly.

Along ``weights + step * direction`` the score of a hypothesis is a straight line, and the best
hypothesis is given by the maximum of all lines: finitely many segments, each with one
hypothesis, whatever the size of the space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from decoding._native import envelopes, feature_lines, list_envelope
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import nbest_stats
from lattices.algorithms import sample_paths
from lattices.algorithms.kbest import explain_too_many_edges
from lattices.algorithms.paths import explain_no_path
from lattices.arrays import Array, FloatColumn, IntColumn, column, floats, ints
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
_NO_PATH, _TOO_LARGE, _TOO_MANY_EDGES = 1, 2, 3


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
    lines = feature_lines(*matrix_columns(feature_rows(space)), *sides)
    return next(envelopes_of_lines([space], lines, [0, len(lines)]))


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


def envelopes_of_lines(
    spaces: Sequence[Space], lines: Array, offset: Sequence[int], workers: int = 1
) -> Iterator[Envelope]:
    """Iterate over the envelopes of spaces whose rows have the intercepts and slopes ``lines``.

    Space ``i`` has the rows from ``offset[i]`` up to ``offset[i + 1]``, one for each row of
    :func:`feature_rows`. All lattices and forests are searched in one native call, in
    ``workers`` threads.
    """
    lines = column(lines, np.float64)
    graphs = [number for number, space in enumerate(spaces) if not isinstance(space, NBest)]
    found = iter(_make_graph_envelopes(spaces, graphs, lines, offset, workers) if graphs else ())
    for number, space in enumerate(spaces):
        if isinstance(space, NBest):
            yield _make_list_envelope(space, lines[offset[number] : offset[number + 1]])
        else:
            yield next(found)


def _make_graph_envelopes(
    spaces: Sequence[Space], graphs: list[int], lines: Array, offset: Sequence[int], workers: int
) -> Iterator[Envelope]:
    if len(graphs) < len(spaces):
        parts = [lines[offset[number] : offset[number + 1]] for number in graphs]
        lines = np.concatenate(parts)
        offset = np.cumsum([0, *map(len, parts)]).tolist()
    chosen: list[Any] = [spaces[number] for number in graphs]
    handles = [space.columns for space in chosen]
    found = envelopes(handles, lines, np.array(offset, np.int64), workers)
    culprit, problem = found[-2:]
    if problem == _NO_PATH:
        raise explain_no_path(chosen[culprit])
    if problem == _TOO_LARGE:
        name = chosen[culprit].id
        raise SpaceError(f"the scores of space {name!r} are too large to be added up")
    if problem == _TOO_MANY_EDGES:
        raise explain_too_many_edges(chosen[culprit])
    return _cut(chosen, *found[:-2])


def _make_list_envelope(nbest: NBest, lines: FloatColumn) -> Envelope:
    if not len(nbest):
        raise SpaceError(f"n-best list {nbest.id!r} is empty")
    if not np.abs(lines).max() < 1e300:
        raise SpaceError(f"the scores of n-best list {nbest.id!r} are too large")
    return next(_cut([nbest], *list_envelope(lines, nbest.label, nbest.offset)[:-2]))


def _cut(spaces: Sequence[Space], count: Array, *columns: Array) -> Iterator[Envelope]:
    """Iterate over the envelopes whose columns stand end to end."""
    slope, intercept, left, arcs, arc_offset, words, word_offset = map(_read_only, columns)
    for space, (first, last) in zip(spaces, pairwise(count.tolist()), strict=True):
        arc_bounds = arc_offset[first : last + 1]
        word_bounds = word_offset[first : last + 1]
        yield Envelope(
            space,
            slope[first:last],
            intercept[first:last],
            left[first:last],
            arcs[arc_bounds[0] : arc_bounds[-1]],
            arc_bounds - arc_bounds[0],
            words[word_bounds[0] : word_bounds[-1]],
            word_bounds - word_bounds[0],
        )


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


#: paths from which the variation of features is told
_DRAWN = 32


class SentenceStats:
    """The statistics of one segment's sentences, computed when they are first asked for."""

    def __init__(self, evaluator: Evaluator, vocabulary: Vocabulary) -> None:
        self._evaluator, self._vocabulary = evaluator, vocabulary
        self._row: dict[bytes, int] = {}
        self._rows = np.empty((0, len(evaluator.metric.stat_names)))

    def serves(self, evaluator: Evaluator, vocabulary: Vocabulary) -> bool:
        """Tell whether the statistics are those that another evaluator would give."""
        mine = self._evaluator
        return self._vocabulary is vocabulary and (
            mine is evaluator
            or (mine.metric == evaluator.metric and mine.references == evaluator.references)
        )

    def rows(self, words: IntColumn, offset: IntColumn) -> FloatColumn:
        """Return one row for each sentence ``words[offset[i]:offset[i + 1]]``."""
        raw, bounds = words.tobytes(), (words.itemsize * offset).tolist()
        keys = [raw[begin:end] for begin, end in pairwise(bounds)]
        fresh = [key for key in dict.fromkeys(keys) if key not in self._row]
        if fresh:
            self._add(fresh)
        get = self._row.__getitem__
        found: FloatColumn = self._rows[[get(key) for key in keys]]
        return found

    def _add(self, keys: Sequence[bytes]) -> None:
        label = np.frombuffer(b"".join(keys), dtype=np.int32)
        sizes = [len(key) // label.itemsize for key in keys]
        nbest = NBest(
            self._vocabulary,
            ints(label),
            ints(np.cumsum([0, *sizes])),
            floats(np.zeros(len(keys))),
        )
        first = len(self._row)
        self._rows = np.concatenate((self._rows, nbest_stats(self._evaluator, nbest)))
        self._row.update(zip(keys, range(first, first + len(keys)), strict=True))


class Turns(NamedTuple):
    """Where the corpus changes along a line."""

    #: the statistics of the corpus far to the left, before all turns
    base: FloatColumn
    #: where some segment's best sentence changes to one with other statistics, in order
    step: FloatColumn
    #: what is added to the statistics there
    change: FloatColumn


class EnvelopeCorpus:
    """Spaces with their evaluators, made ready for many lines of weights.

    The features of all spaces stand in one sparse matrix, so that a line costs one product; and
    the statistics of a sentence are computed once, however often it is best.

    Attributes
    ----------
    names : tuple of str
        The features of all spaces, in the order of their first occurrence.

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
    ) -> None:
        if len(spaces) != len(evaluators):
            raise OptionError(f"{len(spaces)} spaces, but {len(evaluators)} evaluators")
        if not spaces:
            raise OptionError("there are no spaces to train on")
        self.spaces = tuple(spaces)
        self.evaluators = tuple(evaluators)
        if any(evaluator.metric != self.metric for evaluator in self.evaluators):
            raise OptionError("the evaluators of a corpus are all of one metric")
        self.names = tuple(dict.fromkeys(chain.from_iterable(s.feature_names for s in spaces)))
        column = {name: place for place, name in enumerate(self.names)}
        rows = [feature_rows(space) for space in spaces]
        blocks = [
            widen_rows(some, space.feature_names, column, some.shape[0])
            for some, space in zip(rows, spaces, strict=True)
        ]
        self._offset = np.cumsum([0, *(block.shape[0] for block in blocks)]).tolist()
        self._features = vstack(blocks, format="csr")
        # sums in one order, however the spaces were read
        self._features.sort_indices()
        known: Sequence[SentenceStats | None] = [None] * len(spaces)
        if earlier is not None and len(earlier.spaces) == len(spaces):
            known = earlier._stats
        self._stats: list[SentenceStats] = [
            before
            if before is not None and before.serves(evaluator, space.vocabulary)
            else SentenceStats(evaluator, space.vocabulary)
            for before, space, evaluator in zip(known, spaces, evaluators, strict=True)
        ]

    @property
    def metric(self) -> Metric:
        """The metric of the evaluators."""
        return self.evaluators[0].metric

    @cached_property
    def deviations(self) -> FloatColumn:
        """How much each feature varies among the hypotheses of one space.

        The root of the mean variance over spaces: of the entries of a list, and of 32 random
        paths of a lattice or a forest, all of them equally likely. The draw is always the same.
        """
        rng = np.random.default_rng(0)
        total, square = np.zeros((2, len(self.names)))
        for space, (begin, end) in zip(self.spaces, pairwise(self._offset), strict=True):
            rows = self._features[begin:end]
            if not isinstance(space, NBest):
                rows = path_rows(space, rng) @ rows
            dense = rows.toarray()
            total += dense.var(axis=0)
            square += np.square(dense).mean(axis=0)
        # a feature that is always the same varies by rounding alone
        total[total <= 1e-18 * square] = 0.0
        return floats(np.sqrt(total / len(self.spaces)))

    def vector(self, weights: Weights) -> FloatColumn:
        """Return weights in the order of :attr:`names`."""
        return weight_vector(weights, self.names)

    def mapping(self, vector: FloatColumn) -> dict[str, float]:
        """Return weights by name."""
        return dict(zip(self.names, vector.tolist(), strict=True))

    def envelopes(self, weights: Weights, direction: Weights) -> Iterator[Envelope]:
        """Iterate over the envelopes of the spaces."""
        sides = self.vector(weights), self.vector(direction)
        lines = feature_lines(*matrix_columns(self._features), *sides)
        return envelopes_of_lines(self.spaces, lines, self._offset)

    def turns(self, weights: Weights, direction: Weights) -> Turns:
        """Return where the statistics of the corpus change along a line, and how."""
        rows, left = [], []
        for found, stats in zip(self.envelopes(weights, direction), self._stats, strict=True):
            rows.append(stats.rows(found.words, found.word_offset))
            left.append(found.left)
        table, step = np.concatenate(rows), np.concatenate(left)
        first = np.isneginf(step)
        change = table[1:] - table[:-1]
        # neighbouring segments with equal statistics are merged
        real = ~first[1:] & change.any(axis=1)
        step, change = step[1:][real], change[real]
        order = np.argsort(step, kind="stable")
        return Turns(floats(table[first].sum(axis=0)), floats(step[order]), floats(change[order]))

    def stats(self, weights: Weights) -> FloatColumn:
        """Return one row of statistics for each space's best sentence under the weights."""
        nowhere = np.zeros(len(self.names))
        return np.concatenate(
            [
                stats.rows(found.words, found.word_offset)
                for found, stats in zip(self.envelopes(weights, nowhere), self._stats, strict=True)
            ]
        )

    def score(self, weights: Weights) -> float:
        """Return the metric of the best sentences under the weights, ties as of ``best``."""
        return self.metric.score(self.stats(weights).sum(axis=0))


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
