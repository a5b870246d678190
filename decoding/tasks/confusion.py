"""Confusion networks of a corpus: what ``fstmetrics confusion`` does, and their writers."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from decoding.corpus.outcomes import Segment
from decoding.corpus.table import SumsLayout, Table, Totals
from decoding.minimum_risk.confusion_network import ConfidentWord, ConfusionNetwork
from decoding.minimum_risk.edit import EditConsensus, edit, edit_batch
from lattices.errors import OptionError, SpaceError
from lattices.formats import FORMATS
from lattices.formats.base import Unsupported
from lattices.formats.references import References
from lattices.formats.references.ctm import ctm_lines
from lattices.formats.references.nist import TimedWord

if TYPE_CHECKING:
    from decoding.minimum_risk.method import Consensus
    from fstmetrics.statistics.calibration import Calibration


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


def network_ctm(
    network: ConfusionNetwork, channel: str = "1", calibration: Calibration | None = None
) -> str:
    """Return the words of the sentence as lines of ctm, with times and confidences."""
    if network.bin_begin is None:
        raise SpaceError("there are no times in the lattice, and ctm has a time for every word")
    return ctm_lines(
        network.id,
        [
            TimedWord(word, begin, end, confidence)
            for word, confidence, begin, end in words_of(network, calibration)
            if begin is not None and end is not None
        ],
        channel,
    )


def network_of(found: Consensus) -> ConfusionNetwork:
    """Return the network of a decision, or raise OptionError if the method has none."""
    if not isinstance(found, EditConsensus):
        raise OptionError(f"method {found.method} has no confidences; use --method edit")
    return found.network


@dataclass(frozen=True)
class CtmWriter:
    """Lines of ctm, of tables that have decisions with networks."""

    channel: str = "1"
    #: of the confidences; its scale is not looked at
    calibration: Calibration | None = None

    def __call__(self, table: Table) -> list[list[str]]:
        """Return the lines of each result."""
        return [
            [network_ctm(network_of(each), self.channel, self.calibration) for each in of_segment]
            for of_segment in table.column("consensus")
        ]


@dataclass(frozen=True)
class NetworkWriter:
    """Networks in a format of confusion networks, such as ``mesh``, which holds no times."""

    format: str

    def __call__(self, table: Table) -> list[list[str]]:
        """Return the text of each network."""
        return [
            [network_text(each.network, self.format) for each in of_segment]
            for of_segment in table.column("consensus")
        ]


def slot_lines(table: Table) -> list[list[str]]:
    """Return a line of JSON for each segment: id, text, and slots of alternative words."""
    from decoding.plain_json import json_text

    return [
        [
            json_text({"id": id, "text": each.text, "slots": each.network.slots}) + "\n"
            for each in of_segment
        ]
        for id, of_segment in zip(table.ids, table.column("consensus"), strict=True)
    ]


def network_text(network: ConfusionNetwork, format: str) -> str:
    r"""Return a network in a format.

    Examples
    --------
    >>> from lattices import Lattice
    >>> network_text(edit(Lattice.from_arcs([(0, 1, "a")], [1], id="s1")).network, "sausages")
    's1 [ <eps> 1.0 ] [ a 1.0 ] [ <eps> 1.0 ] \n'
    """
    stream = io.BytesIO()
    # neither format has fields for times and references
    FORMATS.get(format).write(stream, [network.to_lattice()], Unsupported(format, allowed=True))
    return stream.getvalue().decode("utf-8")


@dataclass(frozen=True)
class ConfusionTask:
    """Decide for every segment by expected edits.

    The columns are ``text``; ``words``, each with ``word``, ``confidence``, ``begin`` and ``end``;
    ``expected_edits``; ``objectives``; ``settled``; ``proven``; ``model_score``, None for a
    sentence that the space does not have; ``bins``, each with ``begin``, ``end`` and ``words``,
    pairs of a word, "" for none, and a posterior. Times are None where the space has none.

    Examples
    --------
    >>> from lattices import Lattice
    >>> segment = Segment(0, "", 0, Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], [1], id="s1"))
    >>> found, = ConfusionTask().process([segment])
    >>> found["expected_edits"], found["bins"][1]
    (0.5, {'begin': None, 'end': None, 'words': [['a', 0.5], ['b', 0.5]]})
    """

    #: the sentences to begin with; the model's best if None
    sentences: References | None = None
    #: the rest of the arguments of :func:`decoding.minimum_risk.edit.edit`
    options: Mapping[str, Any] = field(default_factory=dict)
    #: of the confidences; its scale is not looked at
    calibration: Calibration | None = None

    @property
    def references(self) -> References | None:
        """Nothing is scored; the sentences to begin with are of the segments as references are."""
        return self.sentences

    @property
    def layout(self) -> SumsLayout:
        """What the sums are."""
        return SumsLayout((), ("words", "expected_edits"), ())

    def process(self, segments: Sequence[Segment]) -> Table:
        """Return the network of each segment."""
        if self.sentences is None:
            found = edit_batch([segment.space for segment in segments], **self.options)
        else:
            found = [
                edit(segment.space, start=_start(segment, self.sentences), **self.options)
                for segment in segments
            ]
        networks = [each.network for each in found]
        return Table(
            [segment.id for segment in segments],
            {
                "text": lambda: [each.text for each in found],
                "words": lambda: [
                    [word._asdict() for word in words_of(each, self.calibration)]
                    for each in networks
                ],
                "expected_edits": [each.expected for each in found],
                "objectives": [each.objectives for each in found],
                "settled": [each.settled for each in found],
                "proven": [each.proven for each in found],
                "model_score": lambda: [
                    score if math.isfinite(score := each.hypothesis.score) else None
                    for each in found
                ],
                "bins": lambda: [_bins(each) for each in networks],
            },
            about={"consensus": [[each] for each in found], "engine": ["edit"] * len(found)},
            sums=self.layout.sums(
                len(found),
                [[len(each.tokens) for each in found], [each.expected for each in found]],
            ),
        )

    def summary(self, totals: Totals) -> dict[str, Any]:
        """Return what there is to tell of a corpus."""
        return totals.summary()


def _start(segment: Segment, sentences: References) -> list[str]:
    (given,) = sentences.get(segment.id, segment.position)
    if not isinstance(given, str):
        raise OptionError("the sentence to begin with has alternatives in it")
    return given.split()


def _bins(network: ConfusionNetwork) -> list[dict[str, Any]]:
    times = network.times or [(None, None)] * len(network)
    return [
        {"begin": begin, "end": end, "words": [[each.word, each.posterior] for each in bin]}
        for (begin, end), bin in zip(times, network.bins, strict=True)
    ]
