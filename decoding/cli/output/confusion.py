"""Confusion networks as text: time-marked words, JSON lines, and the formats of other tools."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from decoding.corpus.outcomes import Segment
from decoding.minimum_risk.confusion import ConfidentWord, ConfusionNetwork
from decoding.minimum_risk.edit import EditConsensus, edit
from decoding.plain_json import json_text
from lattices.errors import FormatError, OptionError, SpaceError
from lattices.formats import FORMATS
from lattices.formats.base import BLANKS, Unsupported
from lattices.formats.references import References

if TYPE_CHECKING:
    from fstmetrics.statistics.calibration import Calibration

#: what a network can be written as
FORMAT_NAMES = ("jsonl", "mesh", "sausages", "ctm")


def words_of(
    network: ConfusionNetwork, calibration: Calibration | None = None
) -> tuple[ConfidentWord, ...]:
    """Return the words of the sentence, with confidences as a calibration makes them.

    Examples
    --------
    >>> from fstmetrics.statistics.calibration import Calibration
    >>> from lattices import Lattice
    >>> network = edit(Lattice.from_arcs([(0, 1, "a")], [1])).network
    >>> words_of(network, Calibration(1.0, ((1.0, 0.875),)))[0].confidence
    0.875
    """
    words = network.words
    if calibration is None:
        return words
    became = calibration([word.confidence for word in words]).tolist()
    return tuple(
        word._replace(confidence=confidence) for word, confidence in zip(words, became, strict=True)
    )


def ctm_lines(
    network: ConfusionNetwork, channel: str = "1", calibration: Calibration | None = None
) -> str:
    r"""Return the words of the sentence as NIST's ctm has them, with times and confidences.

    One line a word: the id, the channel, begin and duration in seconds, word, confidence.

    Raises
    ------
    SpaceError
        If the space has no times.
    FormatError
        If the id or a word is empty or has blanks in it.

    Examples
    --------
    >>> from lattices import Lattice
    >>> arcs = [(0, 1, "a", -1.0), (0, 1, "the", -0.5), (1, 2, "cat")]
    >>> lattice = Lattice.from_arcs(arcs, [2], times=[0.0, 0.25, 0.75], id="s1")
    >>> print(ctm_lines(edit(lattice).network), end="")
    s1 1 0.000 0.250 the 0.622459
    s1 1 0.250 0.500 cat 1.000000
    """
    if network.bin_begin is None:
        raise SpaceError("there are no times in the lattice, and ctm has a time for every word")
    words = words_of(network, calibration)
    for text in (network.id, channel, *(found.word for found in words)):
        if not text or any(blank in text for blank in BLANKS):
            raise FormatError(f"{text!r} cannot stand in a line of ctm")
    return "".join(
        f"{network.id} {channel} {begin:.3f} {end - begin:.3f} {word} {confidence:.6f}\n"
        for word, confidence, begin, end in words
        if begin is not None and end is not None
    )


def json_line(found: EditConsensus, calibration: Calibration | None = None) -> str:
    r"""Return a decision and its network as one line of JSON.

    ``id``; ``text``; ``words``, each with ``word``, ``confidence``, ``begin`` and ``end``;
    ``expected_edits``; ``objectives``; ``settled``; ``model_score``, null for a sentence that the
    space does not have; ``bins``, each with ``begin``, ``end`` and ``words``, pairs of a word, ""
    for none, and a posterior. Times are null where the space has none.

    Examples
    --------
    >>> import json
    >>> from lattices import Lattice
    >>> line = json_line(edit(Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], [1], id="s1")))
    >>> json.loads(line)["bins"][1]
    {'begin': None, 'end': None, 'words': [['a', 0.5], ['b', 0.5]]}
    """
    network = found.network
    score = found.hypothesis.score
    times = network.times or [(None, None)] * len(network)
    fields = {
        "id": network.id,
        "text": found.text,
        "words": [each._asdict() for each in words_of(network, calibration)],
        "expected_edits": found.expected,
        "objectives": found.objectives,
        "settled": found.settled,
        "model_score": score if math.isfinite(score) else None,
        "bins": [
            {
                "begin": begin,
                "end": end,
                "words": [[each.word, each.posterior] for each in alternatives],
            }
            for (begin, end), alternatives in zip(times, network.bins, strict=True)
        ],
    }
    return json_text(fields) + "\n"


def network_bytes(
    found: EditConsensus,
    format: str,
    channel: str = "1",
    calibration: Calibration | None = None,
) -> bytes:
    """Return a decision in one of the formats; ``mesh`` and ``sausages`` hold bins without times.

    Examples
    --------
    >>> from lattices import Lattice
    >>> network_bytes(edit(Lattice.from_arcs([(0, 1, "a")], [1], id="s1")), "sausages")
    b's1 [ <eps> 1.0 ] [ a 1.0 ] [ <eps> 1.0 ] \\n'
    """
    if format == "ctm":
        return ctm_lines(found.network, channel, calibration).encode("utf-8")
    if format == "jsonl":
        return json_line(found, calibration).encode("utf-8")
    if format not in FORMAT_NAMES:
        raise OptionError(f"format {format!r}, expected one of {', '.join(FORMAT_NAMES)}")
    stream = io.BytesIO()
    # there is no room for times and references in either, whoever writes them
    FORMATS.get(format).write(
        stream, [found.network.to_lattice()], Unsupported(format, allowed=True)
    )
    return stream.getvalue()


@dataclass(frozen=True)
class SegmentNetwork:
    """What is written for a segment, and what is summed up.

    Attributes
    ----------
    data : bytes
    words : int
        Of the sentence.
    expected : float
        Its expected edits.
    """

    data: bytes
    words: int
    expected: float


@dataclass(frozen=True)
class ConfusionJob:
    """Decide for every segment by expected edits, and spell the network out.

    Attributes
    ----------
    format : str
        One of ``FORMAT_NAMES``.
    channel : str
        Of ctm.
    sentences : References or None
        The sentences to begin with; the model's best if None.
    options : mapping
        The rest of the arguments of :func:`decoding.minimum_risk.edit.edit`.
    calibration : Calibration or None
        Of the confidences; its scale is not looked at.

    Examples
    --------
    >>> from lattices import Lattice
    >>> segment = Segment(0, "", 0, Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], [1], id="s1"))
    >>> ConfusionJob("mesh")([segment])[0].expected
    0.5
    """

    format: str
    channel: str = "1"
    sentences: References | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None

    def __call__(self, segments: Sequence[Segment]) -> list[SegmentNetwork]:
        """Return the network of each segment."""
        return [self._of(segment) for segment in segments]

    def _of(self, segment: Segment) -> SegmentNetwork:
        found = edit(segment.space, start=self._start(segment), **self.options)
        data = network_bytes(found, self.format, self.channel, self.calibration)
        return SegmentNetwork(data, len(found.tokens), found.expected)

    def _start(self, segment: Segment) -> list[str] | None:
        if self.sentences is None:
            return None
        (given,) = self.sentences.get(segment.id, segment.position)
        if not isinstance(given, str):
            raise OptionError("the sentence to begin with has alternatives in it")
        return given.split()
