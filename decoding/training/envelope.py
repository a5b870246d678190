"""Upper envelopes along a line of weights: who is best at every step, exactly.

Along ``weights + step * direction`` the score of a hypothesis is a straight line, and the best
hypothesis is given by the maximum of all lines: finitely many segments, each with one
hypothesis, whatever the size of the space.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from decoding.training.envelope_forest import forest_envelope
from decoding.training.envelope_hull import INTERCEPT, LEFT, SLOPE, list_envelope
from decoding.training.envelope_lattice import lattice_envelope
from lattices.algorithms.best import arc_ranks
from lattices.algorithms.forest_derivations import too_many_edges
from lattices.algorithms.paths import no_complete_path
from lattices.arrays import Array, FloatColumn, IntColumn, column, floats, ints
from lattices.errors import SpaceError
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.features import FeatureMatrix, Weights, weight_vector


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
    the next in double precision. Of hypotheses with equal lines the one that
    :func:`lattices.best` would take is there: the smaller sentence (in forests, the shorter
    one first), then the smaller arcs; of a list, the first. Sums of slopes and intercepts are
    exact, see :mod:`decoding.training.envelope_hull`; so ties do not depend on rounding.

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
    features = feature_rows(space)
    sides = [weight_vector(each, space.feature_names) for each in (weights, direction)]
    return envelope_of_lines(space, features @ np.stack(sides, axis=1))


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


def envelope_of_lines(space: Space, lines: Array) -> Envelope:
    """Return the envelope of a space whose rows have the intercepts and slopes ``lines``.

    One row for each row of :func:`feature_rows`.
    """
    lines = column(lines, np.float64)
    if isinstance(space, NBest):
        return _of_list(space, lines)
    if isinstance(space, Forest):
        found, arcs, arc_offset, words, word_offset = forest_envelope(
            space.head, space.tail, space.tail_offset, space.symbol, space.symbol_offset,
            space.in_offset, space.vocabulary.ranks(), lines, space.root,
        )  # fmt: skip
        if arc_offset[-1] < 0:
            raise too_many_edges(space)
    else:
        found, arcs, arc_offset, words, word_offset = lattice_envelope(
            space.dst, space.out_offset, space.label, arc_ranks(space),
            column(space.final > -np.inf, np.bool_),
            lines[: space.num_arcs], lines[space.num_arcs :], space.start,
        )  # fmt: skip
        if not len(found):
            raise no_complete_path(space)
    if np.isnan(found[0, SLOPE]):
        raise SpaceError(f"the scores of space {space.id!r} are too large to be added up")
    return _envelope(space, found, arcs, arc_offset, words, word_offset)


def _of_list(nbest: NBest, lines: FloatColumn) -> Envelope:
    if not len(nbest):
        raise SpaceError(f"n-best list {nbest.id!r} is empty")
    if not np.abs(lines).max() < 1e300:
        raise SpaceError(f"the scores of n-best list {nbest.id!r} are too large")
    intercept, slope = floats(lines[:, 0]), floats(lines[:, 1])
    found, entries = list_envelope(
        slope, intercept, nbest.label, nbest.offset, nbest.vocabulary.ranks()
    )
    begin, size = nbest.offset[entries], np.diff(nbest.offset)[entries]
    word_offset = np.concatenate(([0], np.cumsum(size)))
    places = np.arange(word_offset[-1]) + np.repeat(begin - word_offset[:-1], size)
    offset = np.arange(len(entries) + 1)
    return _envelope(nbest, found, entries, offset, nbest.label[places], word_offset)


def _envelope(
    space: Space, lines: Array, arcs: Array, arc_offset: Array, words: Array, word_offset: Array
) -> Envelope:
    return Envelope(
        space,
        floats(lines[:, SLOPE]),
        floats(lines[:, INTERCEPT]),
        floats(lines[:, LEFT]),
        ints(arcs),
        ints(arc_offset),
        ints(words),
        ints(word_offset),
    )
