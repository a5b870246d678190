r"""Edit-distance MBR: the sentence of the fewest expected edits, by a recursion over the lattice.

Let :math:`p(a)` be the probability that a path through the target :math:`n` of arc :math:`a` came
there by it, from :math:`s_a` and with the word :math:`w_a`. For a sentence of bins
:math:`r_1 \dots r_Q` and the cost :math:`l(u, v) = [u \ne v]`,

.. math::

    \alpha(n, q) = \sum_{a \to n} p(a) \, \alpha_a(q), \qquad
    \alpha_a(q) = \min \{ \alpha(s_a, q - 1) + l(w_a, r_q), \;
        \alpha(s_a, q) + 1 + \delta, \; \alpha_a(q - 1) + l(\epsilon, r_q) \}

and :math:`\alpha` at the ends is the objective. The minimum is taken once for all paths that come
to :math:`s_a`, where edit distance would take it for each of them: the recursion is the expected
cost of alignments that are shared, and so never less than the expected edit distance. Going back
along the minima gives the posterior :math:`\gamma(q, w)` of word :math:`w` in bin :math:`q`. For
the same alignments the cost is what stands in no bin plus :math:`\sum_q 1 - \gamma(q, r_q)`, which
the most probable word of each bin lowers; aligning anew lowers it further.

The recursion runs over one lattice, whatever the space is. It is exact where no two arcs lead to
one state, so a list becomes the tree of its prefixes; equal entries are one leaf, with the mass of
all of them.

References
----------
H. Xu, D. Povey, L. Mangu and J. Zhu, Minimum Bayes risk decoding and system combination based on a
recursion for edit distance, Computer Speech and Language 25(4), 2011.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from decoding._native import decide_edits, edit_bins, prefix_tree
from decoding.minimum_risk.method import (
    Consensus,
    MBRProblem,
    Method,
    Spaces,
    as_systems,
    check_scale,
    system_shares,
)
from fstmetrics.alignment.metric import is_word_error
from lattices.algorithms import k_best_paths, to_lattice, total, union
from lattices.algorithms.paths import explain_no_path
from lattices.algorithms.semirings import LOG
from lattices.algorithms.trimming import find_useful_states
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError, SpaceError, argument
from lattices.intersection.engine import explain_too_large
from lattices.limits import MEMORY
from lattices.records import public_fields
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.arguments import check_filled
from lattices.vocabulary import EPSILON

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from decoding.minimum_risk.confusion_network import ConfusionNetwork

#: the most states that a forest may take as a lattice
FOREST_STATES = 100_000

_NO_TIMES = floats([])
#: to which posteriors are told apart
_DIGITS = 12


class EditSpace(NamedTuple):
    """What the recursion runs over."""

    #: its scores, multiplied by ``scale``, are logarithms of masses
    lattice: Lattice
    scale: float
    #: what was given; None if that was several
    space: Space | None
    #: of a list, for every state of its tree: the best score of the entries that end there
    leaf_score: FloatColumn | None = None
    #: how many bytes the recursion may take
    memory: int = MEMORY

    def beginnings(self, count: int) -> list[IntColumn]:
        """Return the words of the model's best sentences, of several spaces the most probable.

        None at all stands for the words of the lattice's best path.
        """
        lattice = self.lattice
        if self.leaf_score is not None:
            lattice = lattice.replaced(final=self.leaf_score)
        elif count == 1:
            return []
        paths = k_best_paths(lattice, count, distinct=True)
        return [
            _select_words(lattice, paths.arcs[begin:end])
            for begin, end in pairwise(paths.offset.tolist())
        ]

    def mass_error(self) -> SpaceError:
        """Return the error that says why the sum of all masses is not a finite number."""
        lattice = self.lattice
        if not find_useful_states(lattice)[lattice.start]:
            return explain_no_path(lattice)
        return SpaceError(
            f"the scores of lattice {lattice.id!r} are too large for scale {self.scale}"
        )

    def hypothesis(self, found: Hypothesis) -> Hypothesis:
        """Return a sentence as the space has it; a score of ``-inf`` says that it has no path."""
        if isinstance(self.space, NBest):
            nbest, words = self.space, self.lattice.vocabulary.encode(found.tokens)
            begin, size = nbest.offset, len(words)
            same = [
                entry
                for entry in np.flatnonzero(np.diff(begin) == size).tolist()
                if np.array_equal(nbest.label[begin[entry] : begin[entry] + size], words)
            ]
            if same:
                return nbest[max(same, key=lambda entry: float(nbest.score[entry]))]
            return Hypothesis(found.tokens, -math.inf)
        if self.space is self.lattice:
            return found
        # the arcs are those of the lattice made here, not of the caller's
        return Hypothesis(found.tokens, found.score, found.features)

    def bins(
        self, times: FloatColumn, words: IntColumn
    ) -> tuple[IntColumn, FloatColumn, IntColumn, IntColumn]:
        """Return what :func:`edit_bins` does, alternatives of equal posteriors by their words.

        A vocabulary's order depends on what was read before, and so on the number of workers.
        """
        label, number, offset, chosen = edit_bins(
            self.lattice.columns, self.scale, times, words, self.memory
        )
        place = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
        posterior = -number[:, 0].round(_DIGITS)
        if not ((np.diff(place) == 0) & (np.diff(posterior) == 0)).any():
            return label, number, offset, chosen
        names = [self.lattice.vocabulary.word(each) for each in label.tolist()]
        order = np.lexsort((np.unique(names, return_inverse=True)[1], posterior, place))
        return ints(label[order]), floats(number[order]), offset, ints(np.argsort(order)[chosen])

    def network(self, words: IntColumn) -> ConfusionNetwork:
        """Return the confusion network to which the recursion aligns the space for a sentence."""
        from decoding.minimum_risk.confusion_network import ConfusionNetwork, sort_times

        lattice = self.lattice
        times = _NO_TIMES if lattice.times is None else lattice.times
        label, number, offset, chosen = self.bins(times, words)
        posterior = number[:, 0]
        begin = end = bin_begin = bin_end = None
        if lattice.times is not None:
            known = posterior > 0.0
            nowhere = np.full((len(number), 2), np.nan)
            moments = np.divide(
                number[:, 1:], posterior[:, None], out=nowhere, where=known[:, None]
            )
            begin, end = floats(moments[:, 0]), floats(moments[:, 1])
            bin_begin, bin_end = sort_times(*np.add.reduceat(number[:, 1:], offset[:-1]).T)
        return ConfusionNetwork(
            vocabulary=lattice.vocabulary,
            label=ints(label),
            # rounding may carry a certainty just above one
            posterior=floats(np.minimum(posterior, 1.0)),
            offset=ints(offset),
            chosen=ints(chosen),
            begin=begin,
            end=end,
            bin_begin=bin_begin,
            bin_end=bin_end,
            id=lattice.id,
            references=lattice.references,
        )


def _select_words(lattice: Lattice, path: IntColumn) -> IntColumn:
    """Return the labels of a path that are words."""
    label = lattice.label[path]
    return ints(label[label != EPSILON])


def edit_space(space: Space, scale: float) -> EditSpace:
    """Return one space, ready for the recursion."""
    check_scale(scale)
    if isinstance(space, NBest):
        tree, leaf_score = _prefixes(space, scale)
        return EditSpace(tree, 1.0, space, leaf_score)
    if isinstance(space, Forest):
        try:
            lattice = to_lattice(space, FOREST_STATES)
        except SpaceError as problem:
            raise SpaceError(
                f"{problem}; for method edit, use its k best sentences as a list instead"
            ) from problem
        return EditSpace(lattice, scale, space)
    return EditSpace(space, scale, space)


def join_edit_spaces(
    spaces: Sequence[Space], scale: float, weights: Sequence[float] | None
) -> EditSpace:
    """Return the union of several spaces, each with its weight as its mass."""
    if not spaces:
        raise OptionError("no space at all, expected at least one")
    shares = system_shares(weights, len(spaces)).tolist()
    if len(spaces) == 1:
        return edit_space(spaces[0], scale)
    parts = []
    for space, part in zip(spaces, shares, strict=True):
        if part > 0.0:
            found = edit_space(space, scale)
            lattice = found.lattice
            mass = total(lattice, LOG, found.scale)
            final = LOG.weights(lattice.final, found.scale) + (math.log(part) - mass)
            score = LOG.weights(lattice.score, found.scale)
            parts.append(lattice.replaced(score=score, final=final))
    return EditSpace(union(parts), 1.0, None)


def _prefixes(nbest: NBest, scale: float) -> tuple[Lattice, FloatColumn]:
    """Return the tree of a list, with masses as scores, and the best model score of each leaf."""
    check_filled([nbest])
    mass = LOG.weights(nbest.score, scale)
    src, label, masses, scores = prefix_tree(nbest.label, nbest.offset, floats(mass), nbest.score)
    lattice = Lattice(
        vocabulary=nbest.vocabulary,
        src=ints(src),
        dst=ints(np.arange(1, len(src) + 1)),
        label=ints(label),
        score=floats(np.zeros(len(src))),
        final=floats(masses),
        id=nbest.id,
        source=nbest.source,
        references=nbest.references,
    )
    return lattice, floats(scores)


#: how often the sentence may change; real lattices take two or three changes
MOST_CHANGES = 100
#: how many alternatives of bins are tried at a minimum
SWAPS = 4


@dataclass(frozen=True, kw_only=True)
class EditConsensus(Consensus):
    """The sentence with the fewest expected edits, and the network it came from.

    ``expected`` is the objective of the recursion, an upper bound of the expected edits of the
    sentence, and ``exact`` is whether that is 0, below which nothing can be. The sentence need
    not be one of the space: then its score is ``-inf``, and it has neither features nor path.

    Attributes
    ----------
    network : ConfusionNetwork
        Bins with posteriors and times; ``network.words`` has the confidences of the sentence.
    objectives : tuple of float
        The objective of the sentence that was begun with and of each lower one after it; the last
        is ``expected``.
    settled : bool
        Whether the last sentence could not be improved; False if ``iterations`` were too few.
    proven : bool
        Whether ``expected`` is the objective of whole rows. False where a long lattice would have
        needed a wider band of positions than ``memory`` holds: then it is that of alignments in
        the band, which is no lower, and so are the bins.
    """

    objectives: tuple[float, ...]
    settled: bool
    proven: bool
    _space: EditSpace = field(repr=False, compare=False)
    _one_best: tuple[str, ...] | None = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the decision, and its words with confidences and times, without the bins."""
        found = public_fields(self)
        return {**found, "confidences": [word._asdict() for word in self.network.words]}

    @property
    def beside(self) -> tuple[str, ...] | None:
        """The words of the model's best path, if the search began with them."""
        return self._one_best

    def _repr_html_(self) -> str:
        """Return the confusion network for a notebook, in which the sentence is bold."""
        told = f"{self.expected:.4g} edits expected, in {len(self.tokens)} words; method edit"
        return f"{self.network._repr_html_()}\n<p>{told}</p>"

    @cached_property
    def network(self) -> ConfusionNetwork:
        """The bins with posteriors and times; made when it is first asked for."""
        return self._space.network(self._space.lattice.vocabulary.encode(self.tokens))


class EditOptions(TypedDict, total=False):
    """The options of :class:`EditDistance`, as functions take them by name."""

    start: Sequence[str] | None
    starts: int
    swaps: int
    iterations: int
    decode: bool
    memory: int


def edit(
    spaces: Spaces,
    *,
    scale: float = 1.0,
    system_weights: Sequence[float] | None = None,
    **options: Unpack[EditOptions],
) -> EditConsensus:
    """Return a sentence with few expected edits, its confusion network and its confidences.

    A local minimum of the objective of Xu et al. 2011, see this module: every sentence on the way
    there has a lower one than the sentence before.

    Examples
    --------
    The best path is ``a b``, but ``c`` is the more probable word of the first place.

    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -1.0), (1, 2, "b", -0.4), (0, 3, "c", -1.0), (3, 2, "b", -0.7),
    ...      (3, 2, "d", -0.6)], finals=[2]
    ... )
    >>> found = edit(lattice)
    >>> found.text, [round(word.confidence, 2) for word in found.network.words]
    ('c b', [0.61, 0.68])
    >>> [round(objective, 2) for objective in found.objectives]
    [0.93, 0.71]
    """
    (found,) = edit_batch([spaces], scale=scale, system_weights=system_weights, **options)
    return found


def word_alternatives(
    space: Space, *, scale: float = 1.0, smallest: float = 0.0
) -> list[dict[str, Any]]:
    """Return what may have been said in each place: words with confidences, and times.

    They are the slots of the confusion network of the sentence with the least expected edits
    (:func:`edit`).

    Parameters
    ----------
    space
        A lattice or a list, such as a recogniser's n-best list.
    scale
        What scores are multiplied by to become log-probabilities.
    smallest
        Words with a lower confidence are left out, and slots in which none is left.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "cat")], [2], times=[0.0, 0.2, 0.6]
    ... )
    >>> first, second = word_alternatives(lattice, smallest=0.01)
    >>> [(each["word"], round(each["confidence"], 2)) for each in first["words"]]
    [('a', 0.69), ('the', 0.31)]
    >>> second
    {'begin': 0.2, 'end': 0.6, 'words': [{'word': 'cat', 'confidence': 1.0}]}
    """
    slots = edit(space, scale=scale).network.slots
    for slot in slots:
        slot["words"] = [each for each in slot["words"] if each["confidence"] >= smallest]
    return [slot for slot in slots if any(each["word"] for each in slot["words"])]


def edit_batch(
    segments: Sequence[Spaces],
    *,
    scale: float = 1.0,
    system_weights: Sequence[float] | None = None,
    workers: int = 1,
    **options: Unpack[EditOptions],
) -> list[EditConsensus]:
    """Return what :func:`edit` does for each of many segments, in one native call.

    Examples
    --------
    >>> some = [Lattice.from_arcs([(0, 1, word)], finals=[1]) for word in ("a", "b")]
    >>> [found.text for found in edit_batch(some, workers=2)]
    ['a', 'b']
    """
    method = EditDistance(**options) if options else _DEFAULT
    problems = [
        MBRProblem(as_systems(spaces), scale=scale, system_weights=system_weights)
        for spaces in segments
    ]
    return _decide(problems, method, workers)


@dataclass(frozen=True, kw_only=True)
class EditDistance(Method):
    """The sentence with the fewest expected edits, by :func:`edit`: for WER and WRR over words.

    Parameters
    ----------
    start : sequence of str, optional
        The sentence to begin with. By default there are two: the model's best (of several spaces
        the most probable path), and the path with the most probable arcs, the one with the
        highest sum of posteriors (each less 0.05). The lower objective counts, of equals the
        first. Words that are new to the space's vocabulary are added to it.
    starts : int
        From how many of the model's best sentences to begin, where ``start`` is not given.
    swaps : int
        How many alternatives of bins to try where no change of a single bin is left that lowers the
        objective. Some changes take two bins at once, such as one word for two: so another word, or
        none, is put into a bin, the closest in posterior first (no more than 0.5 behind), and the
        search goes on from there. What is lower takes the place of the sentence, and is tried in
        turn. 0 leaves it at the recursion, as Kaldi does.
    iterations : int
        How often the sentence may change.
    decode : bool
        False leaves the sentence as it is, and says only how confident one can be of it.
    memory : int
        How many bytes the search may take; see :attr:`EditConsensus.proven`.
    """

    name = "edit"
    own_objective = True
    takes_evidence = False

    start: Sequence[str] | None = None
    starts: int = 1
    swaps: int = SWAPS
    iterations: int = MOST_CHANGES
    decode: bool = True
    memory: int = MEMORY

    def __post_init__(self) -> None:
        """Refuse numbers out of range, and what contradicts itself."""
        super().__post_init__()
        for name, least in (("iterations", 0), ("swaps", 0), ("memory", 1)):
            if getattr(self, name) < least:
                given = getattr(self, name)
                raise OptionError(f"{argument(name)} is {given}, expected {least} or more")
        if self.starts < 1 or (self.starts > 1 and (self.start is not None or not self.decode)):
            raise OptionError(
                f"{argument('starts')} is {self.starts}, expected 1 or more, and 1 with a start of "
                "one's own or without decoding"
            )

    def decide(self, problem: MBRProblem, k: int = 1) -> Sequence[EditConsensus]:
        """Return a sentence with few expected edits."""
        return self.decide_batch([problem])[0]

    def decide_batch(
        self, problems: Sequence[MBRProblem], k: int = 1
    ) -> Sequence[Sequence[EditConsensus]]:
        """Return a sentence with few expected edits for each segment, by one native call."""
        for problem in problems:
            if problem.metric is not None and not is_word_error(problem.metric):
                raise OptionError(
                    f"edit minimises the expected word errors: wer or wrr, not {problem.metric}"
                )
        return [[found] for found in _decide(problems, self)]

    def beginnings(self, space: EditSpace) -> list[IntColumn]:
        """Return the sentences to begin with; see :meth:`EditSpace.beginnings`."""
        if self.start is None:
            return space.beginnings(self.starts)
        return [_labels(space.lattice, self.start)]


#: with the default options
_DEFAULT = EditDistance()


def _decide(
    problems: Sequence[MBRProblem], method: EditDistance, workers: int = 1
) -> list[EditConsensus]:
    """Decide for segments of one or more spaces each, in one native call."""
    ready = [
        edit_space(spaces[0], scale)
        if len(spaces) == 1 and weights is None
        else join_edit_spaces(spaces, scale, weights)
        for spaces, _, _, scale, weights in problems
    ]
    if method.memory != MEMORY:
        ready = [each._replace(memory=method.memory) for each in ready]
    table, trouble = decide_edits(
        [
            (
                each.lattice.columns, each.lattice.feature_columns,
                each.lattice.vocabulary.strings, each.scale, method.beginnings(each),
            )
            for each in ready
        ],
        method.start is None and method.decode,
        method.iterations if method.decode else 0,
        method.swaps if method.decode else 0,
        method.memory,
        workers,
    )  # fmt: skip
    for place, large in trouble:
        space = ready[place]
        raise explain_too_large(space.lattice, large) if large else space.mass_error()
    decided = []
    for place, (tokens, score, objectives, settled, proven, one_best) in enumerate(table.rows()):
        found = EditConsensus.__new__(EditConsensus)
        hypothesis = Hypothesis.defer((table, place), tokens=tokens, score=score)
        # all fields at once: the __init__ of a frozen class, one by one, takes three times as long
        vars(found).update(
            hypothesis=ready[place].hypothesis(hypothesis),
            expected=objectives[-1],
            method="edit",
            exact=objectives[-1] == 0.0,
            candidates=-1,
            evidence=_evidence(problems[place].spaces),
            objectives=objectives,
            settled=settled,
            proven=proven,
            _space=ready[place],
            _one_best=one_best,
        )
        decided.append(found)
    return decided


def _labels(lattice: Lattice, words: Sequence[str]) -> IntColumn:
    if isinstance(words, str):
        raise OptionError(
            f"{argument('start')} is the string {words!r:.40}, expected a list of words"
        )
    labels = ints(lattice.vocabulary.add_all(words))
    return ints(labels[labels != EPSILON])


def _evidence(spaces: Sequence[Space]) -> int:
    """Return how many entries lists have, -1 where there is more than lists."""
    entries = 0
    for space in spaces:
        if not isinstance(space, NBest):
            return -1
        entries += len(space)
    return entries
