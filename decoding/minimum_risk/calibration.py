"""Calibration of word confidences on a development set: a scale of scores, and a map.

The scale is the one under which the confidences of the words of the model's best sentences have the
least cross entropy with their being right: those sentences are the same at every scale, so that
all scales are judged by the same words. The map is fitted to what is decided at that scale: words
of the sentences with the fewest expected edits, with the confidences that ``mbr`` writes. A word is
right if the alignment of its sentence to the reference, which is sclite's, matches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decoding.corpus.outcomes import Segment
from decoding.minimum_risk.edit import EditConsensus, edit
from decoding.minimum_risk.method import check_scale
from decoding.minimum_risk.rover import CONFIDENCE
from fstmetrics import WER, Metric, Normalised
from fstmetrics.alignment.rates import SCLITE
from fstmetrics.references import Reference
from fstmetrics.statistics.calibration import (
    Calibration,
    Quality,
    cross_entropy,
    fit_map,
    fit_scale,
    measure_quality,
)
from lattices.algorithms import best_words
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError, argument
from lattices.formats.references import References
from lattices.records import PlainRecord
from lattices.spaces import Lattice, Space
from lattices.vocabulary import EPSILON

#: every half octave from 1/64 to 64
SCALES = tuple(2.0 ** (step / 2) for step in range(-12, 13))
#: without a calibration
PLAIN_SCALE = 1.0


class MarkedWords(NamedTuple):
    """The words of a sentence, or of many: how confident one was, and whether they are right."""

    confidences: FloatColumn
    correct: NDArray[np.bool_]


def mark_right_words(
    words: Sequence[str], references: Iterable[Reference], normalise: str | None = None
) -> list[bool | None]:
    """Return whether each word is right: matched by the alignment of sclite to the reference.

    Examples
    --------
    >>> mark_right_words("a cat sat down".split(), ["the cat sat"])
    [False, True, True, False]
    >>> mark_right_words(["The", "--", "cat"], ["the cat"], "lower+punctuation")
    [True, None, True]
    """
    parts: list[tuple[str, ...]] = [(word,) for word in words]
    if normalise is not None:
        metric = Normalised(WER(), normalise)
        parts = [metric.sentence([word]) for word in words]
        together = metric.sentence(list(words))
        if together != tuple(part for some in parts for part in some):
            raise OptionError(
                f"{normalise} makes {' '.join(together)!r} of {' '.join(words)!r}, which is not "
                "what it makes of the words one by one: their confidences cannot be judged"
            )
        references = [metric.reference(each) for each in references]
    said = [part for some in parts for part in some]
    edits = SCLITE.against(references).judge(said).edits
    matched = iter([each.operation == "match" for each in edits if each.operation != "deletion"])
    taken = [list(islice(matched, len(some))) for some in parts]
    return [all(some) if some else None for some in taken]


class SegmentWords(NamedTuple):
    """What one segment tells about each scale."""

    #: the cross entropy of the words of the model's best sentence at each scale
    entropies: FloatColumn
    #: the words of the decision at each scale
    decided: tuple[MarkedWords, ...]


@dataclass(frozen=True)
class CalibrationTask:
    """Judge the confidences of every segment: a task of :func:`decoding.run`.

    Examples
    --------
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0)], [1], references=["a"])
    >>> found, = CalibrationTask((1.0, 2.0)).process([Segment(0, "", 0, lattice)])
    >>> [round(float(words.confidences[0]), 3) for words in found.decided]
    [0.731, 0.881]
    """

    #: those to choose from; 1 is one of them, to tell what it is like without a calibration
    scales: tuple[float, ...] = SCALES
    #: those of the segments themselves if None
    references: References | None = None
    #: as of :func:`mark_right_words`
    normalise: str | None = None

    def __post_init__(self) -> None:
        """Refuse scales that mean nothing, before anything is computed."""
        if PLAIN_SCALE not in self.scales or len(set(self.scales)) < len(self.scales):
            raise OptionError(f"{argument('scales')} has 1 and no value twice, not {self.scales}")
        for scale in self.scales:
            check_scale(scale)
            if not scale:
                raise OptionError(f"{argument('scales')} has a 0, which leaves nothing of a model")

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What decides whether a word is right."""
        return (WER() if self.normalise is None else Normalised(WER(), self.normalise),)

    def process(self, segments: Sequence[Segment]) -> list[SegmentWords]:
        """Return the words of each segment."""
        return [
            self.words_of(segment.space, segment.references(self.references, required=True))
            for segment in segments
        ]

    def words_of(self, space: Space, references: Sequence[Reference]) -> SegmentWords:
        """Return the words of one segment."""
        own = best_words(space)
        known: dict[tuple[str, ...], list[bool | None]] = {}

        def mark_words(words: tuple[str, ...], sure: Iterable[float]) -> MarkedWords:
            if words not in known:
                known[words] = mark_right_words(words, references, self.normalise)
            pairs = zip(sure, known[words], strict=True)
            kept = [(one, right) for one, right in pairs if right is not None]
            confidences, correct = zip(*kept, strict=True) if kept else ((), ())
            return MarkedWords(floats(confidences), np.asarray(correct, dtype=np.bool_))

        def mark_consensus(found: EditConsensus) -> MarkedWords:
            return mark_words(found.tokens, [word.confidence for word in found.network.words])

        given = _find_confidences(space)
        if given is not None:
            # the same at every scale
            words = mark_words(own, given)
            count = len(self.scales)
            return SegmentWords(floats([cross_entropy(*words)] * count), (words,) * count)
        entropies, decided = [], []
        for scale in self.scales:
            found = edit(space, scale=scale)
            words = mark_consensus(found)
            decided.append(words)
            # the decision mostly is the model's best
            if found.tokens != own:
                words = mark_consensus(edit(space, scale=scale, start=own, decode=False))
            entropies.append(cross_entropy(*words))
        return SegmentWords(floats(entropies), tuple(decided))


def _find_confidences(space: Space) -> list[float] | None:
    """Return the confidences of the words of a sentence that has them, as one of a ctm does."""
    if not isinstance(space, Lattice) or CONFIDENCE not in space.feature_names:
        return None
    if space.features is None or not np.array_equal(space.dst, space.src + 1):
        return None
    sure = space.features.toarray()[:, space.feature_names.index(CONFIDENCE)]
    return [float(one) for one in sure[space.label != EPSILON]]


@dataclass(frozen=True)
class CalibrationReport(PlainRecord):
    """A calibration, and what it does to the confidences of a development set."""

    #: fitted to all segments
    calibration: Calibration
    #: of scale 1, as it is without a calibration
    before: Quality
    #: of the scale alone, and of scale and map, where each part of the segments was judged by what
    #: was fitted to the others
    scaled: Quality
    mapped: Quality
    #: of the calibration on the very words that it was fitted to
    fitted: Quality
    #: how many there were, and of how many parts
    segments: int
    folds: int


def fit_calibration(
    segments: Sequence[SegmentWords], scales: Sequence[float] = SCALES, folds: int = 2
) -> CalibrationReport:
    """Return the calibration of a development set, judged by cross-validation.

    Segment ``i`` is in part ``i % folds``.
    """
    if folds < 2 or len(segments) < folds:
        raise OptionError(
            f"{len(segments)} segments in {folds} parts, expected two parts or more and a segment "
            "for each"
        )
    places = {scale: place for place, scale in enumerate(scales)}

    def fit(some: Sequence[SegmentWords]) -> tuple[float, Calibration, MarkedWords]:
        entropies = np.sum([each.entropies for each in some], axis=0)
        scale = fit_scale(entropies.tolist(), scales)
        words = _join([each.decided[places[scale]] for each in some])
        return scale, Calibration(scale, fit_map(*words)), words

    _, whole, fitted = fit(segments)
    scaled, mapped = [], []
    for part in range(folds):
        others = [each for number, each in enumerate(segments) if number % folds != part]
        scale, calibration, _ = fit(others)
        held_out = _join([each.decided[places[scale]] for each in segments[part::folds]])
        scaled.append(held_out)
        mapped.append(MarkedWords(calibration(held_out.confidences), held_out.correct))
    before = _join([each.decided[places[PLAIN_SCALE]] for each in segments])
    return CalibrationReport(
        whole,
        measure_quality(*before),
        measure_quality(*_join(scaled)),
        measure_quality(*_join(mapped)),
        measure_quality(whole(fitted.confidences), fitted.correct),
        len(segments),
        folds,
    )


def _join(words: Sequence[MarkedWords]) -> MarkedWords:
    confidences, correct = zip(*words, strict=True)
    return MarkedWords(floats(np.concatenate(confidences)), np.concatenate(correct))
