"""Upper envelopes along a line of weights: who is best at every step, exactly.

Along ``weights + step * direction`` the score of a hypothesis is a straight line, and the best
hypothesis is given by the maximum of all lines: finitely many segments, each with one
hypothesis, whatever the size of the space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from decoding._native import envelopes, feature_lines, list_envelope
from lattices.algorithms.forest_derivations import too_many_edges
from lattices.algorithms.paths import no_complete_path
from lattices.arrays import Array, FloatColumn, IntColumn, column
from lattices.errors import SpaceError
from lattices.spaces import Hypothesis, Lattice, NBest, Space
from lattices.spaces.features import FeatureMatrix, Weights, matrix_columns, weight_vector

# what may be wrong with a space
_NO_PATH, _TOO_LARGE, _TOO_MANY_EDGES = 1, 2, 3


@dataclass(frozen=True, eq=False)
class Envelope:
    """The best hypotheses of a space along a line of weights, from left to right.

    Attributes
    ----------
    space : Lattice, NBest or Forest
    slope, intercept : float64 columns, one entry a segment
        The score of the segment's hypothesis at a step is ``intercept + step * slope``; slopes
        ascend.
    left : float64 column
        The step where each segment begins; the first begins at ``-inf``. Steps ascend.
    arcs, arc_offset : int32 columns
        The hypothesis of segment ``i`` is ``arcs[arc_offset[i]:arc_offset[i + 1]]``: arcs of a
        lattice, edges of a forest, or the one entry of a list.
    words, word_offset : int32 columns
        Its words, as numbers of the space's vocabulary.
    """

    space: Space
    slope: FloatColumn
    intercept: FloatColumn
    left: FloatColumn
    arcs: IntColumn
    arc_offset: IntColumn
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

    Segments are those of positive length: a hypothesis that is best in a single point, where
    others cross, has none, nor has one whose segment is shorter than a step can be told from
    the next in double precision. Of hypotheses with equal lines one is there, of a list the
    first. Sums of slopes and intercepts are exact: both are rounded once, to multiples of a power
    of two that no sum loses; so ties do not depend on rounding.

    Cost: O(n log n) for a list. For lattices and forests it is O(arcs times segments of a
    state), and the segments of a state are at most its arcs with all those below (Macherey et
    al. 2008; in forests likewise, Kumar et al. 2009), and a few dozen in practice.

    Parameters
    ----------
    space : Lattice, NBest or Forest
        With features.
    weights, direction : mapping of str to float, or array
        In the manner of ``space.reweighted``.

    Raises
    ------
    SpaceError
        If the space has no features, no complete path or no entry, or if scores are too large.

    References
    ----------
    Och. Minimum error rate training in statistical machine translation. ACL 2003.

    Macherey, Och, Thayer and Uszkoreit. Lattice-based minimum error rate training for
    statistical machine translation. EMNLP 2008.

    Kumar, Macherey, Dyer and Och. Efficient minimum error rate training and minimum Bayes-risk
    decoding for translation hypergraphs and lattices. ACL 2009.

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
    """Return the features of all that has a line: entries, edges, or arcs and then states.

    Raises
    ------
    SpaceError
        If there are none.
    """
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
    found = iter(_of_graphs(spaces, graphs, lines, offset, workers) if graphs else ())
    for number, space in enumerate(spaces):
        if isinstance(space, NBest):
            yield _of_list(space, lines[offset[number] : offset[number + 1]])
        else:
            yield next(found)


def _of_graphs(
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
        raise no_complete_path(chosen[culprit])
    if problem == _TOO_LARGE:
        name = chosen[culprit].id
        raise SpaceError(f"the scores of space {name!r} are too large to be added up")
    if problem == _TOO_MANY_EDGES:
        raise too_many_edges(chosen[culprit])
    return _cut(chosen, *found[:-2])


def _of_list(nbest: NBest, lines: FloatColumn) -> Envelope:
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
