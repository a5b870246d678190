"""Phrases in a corpus: what ``fstmetrics find`` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from decoding.corpus.outcomes import Segment
from decoding.corpus.table import SumsLayout, Table, Totals
from decoding.corpus.transcripts import make_timed_path
from fstmetrics.statistics.term_detection import TermSpan
from lattices.errors import FormatError, OptionError
from lattices.formats.references.ids import IdTemplate
from lattices.formats.references.nist import (
    TimedWord,
    TranscriptLines,
    looks_like,
    read_stm,
    read_timed_words,
)
from lattices.formats.streams import display_name, number_lines
from lattices.intersection.matches import Matches, find_all
from lattices.intersection.patterns import Pattern
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary

#: seconds between two words of a reference over which no phrase goes
LONGEST_PAUSE = 0.5


@dataclass(frozen=True)
class FindTask:
    """Find phrases in every segment; a result is a phrase that a sentence may have.

    The columns are ``phrase``, its name; ``posterior``, that the sentence has it; and
    ``occurrences``, each with ``posterior``, ``begin``, ``end``, ``place`` and ``words``.

    Examples
    --------
    >>> segment = Segment(0, "", 0, Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], [1], id="s1"))
    >>> table = FindTask({"first": Pattern("a"), "other": Pattern("c")}).process([segment])
    >>> [(row["id"], row["phrase"], row["posterior"]) for row in table[0].fields()]
    [('s1', 'first', 0.5)]
    """

    #: by their names
    phrases: Mapping[str, Pattern]
    scale: float = 1.0
    #: posteriors below it are left out, of sentences and of occurrences
    threshold: float = 0.0

    references = None

    @property
    def layout(self) -> SumsLayout:
        """What is counted: phrases found in sentences, and seconds of speech."""
        return SumsLayout((), ("found", "seconds"), ())

    def process(self, segments: Sequence[Segment]) -> Table:
        """Return what is found in each segment."""
        names, patterns = list(self.phrases), list(self.phrases.values())
        rows: list[tuple[str, Matches]] = []
        sizes = []
        for segment in segments:
            found = find_all(segment.space, patterns, self.scale, self.threshold)
            # what cannot be there is no result, even where all is asked for
            kept = [
                (name, matches)
                for name, matches in zip(names, found, strict=True)
                if matches.posterior > 0.0 and matches.posterior >= self.threshold
            ]
            sizes.append(len(kept))
            rows += kept
        return Table(
            [segment.id for segment in segments],
            {
                "phrase": [name for name, _ in rows],
                "posterior": [matches.posterior for _, matches in rows],
                "occurrences": lambda: [
                    [
                        {**each._asdict(), "words": " ".join(each.words)}
                        for each in found.occurrences
                    ]
                    for _, found in rows
                ],
            },
            sizes=sizes,
            about={"engine": ["patterns"] * len(segments)},
            sums=self.layout.sums(
                len(segments), [sizes, [_seconds(segment.space) for segment in segments]]
            ),
        )

    def summary(self, totals: Totals) -> dict[str, Any]:
        """Return what there is to tell of a corpus."""
        return totals.summary()


def _seconds(space: Any) -> float:
    """Return how long a segment takes, 0 where nothing tells."""
    times = space.times if isinstance(space, Lattice) else None
    return 0.0 if times is None else float(np.ptp(times))


def read_phrases(path: str, ignore_case: bool = False) -> dict[str, Pattern]:
    """Return the phrases of a file: ``pattern`` or ``name<TAB>pattern`` a line; # begins comments.

    A phrase without a name has its text for one.
    """
    found: dict[str, Pattern] = {}
    for line, text in number_lines(path):
        if not text.strip() or text.startswith("#"):
            continue
        name, _, pattern = text.rpartition("\t")
        name, pattern = name.strip() or pattern.strip(), pattern.strip()
        try:
            if name in found:
                raise OptionError(f"the phrase {name!r} comes twice")
            found[name] = Pattern(pattern, ignore_case)
        except OptionError as problem:
            raise FormatError(str(problem), path, line) from problem
    if not found:
        raise FormatError("no phrases", path)
    return found


class Spoken(NamedTuple):
    """Where phrases are said, by references with times."""

    spans: list[TermSpan]
    #: whether words have times; else phrases are said somewhere in their segment
    timed: bool
    #: the segments that there are, with their seconds; 0 where only words have times
    segments: dict[str, float]


def read_spoken(
    paths: Sequence[str],
    phrases: Mapping[str, Pattern],
    layout: str = "auto",
    template: str | None = None,
) -> Spoken:
    """Return where phrases are said, by the times of words of a ctm, or of segments of an stm.

    As in NIST's evaluations no phrase goes over a pause of more than half a second.
    """
    ids = None if template is None else IdTemplate(template)
    patterns = list(phrases.values())
    spans: list[TermSpan] = []
    kinds: dict[str, str] = {}
    segments: dict[str, float] = {}
    for path in paths:
        file = TranscriptLines(display_name(path), [line.strip() for _, line in number_lines(path)])
        fitting = [layout] if layout != "auto" else _find_layouts(file)
        if not fitting:
            raise FormatError("no times: values of a search need a ctm or an stm", file.path)
        kind, *_ = fitting
        kinds[kind] = file.path
        if len(kinds) > 1:
            raise FormatError(f"{kind}, but {next(iter(kinds.values()))} is not", file.path)
        if kind == "ctm":
            timed = read_timed_words(file, ids)
            pieces = ((id, piece) for id, words in timed.items() for piece in _pieces(words))
            spaces = [(id, make_timed_path(piece, Vocabulary(), id)) for id, piece in pieces]
            segments |= dict.fromkeys(timed, 0.0)
        else:
            table = read_stm(file, ids)
            spaces = [
                (id, _sentence(said) if isinstance(said, str) else said.lattice(id))
                for id, said in table.entries.items()
            ]
            segments |= table.seconds
        spans += [
            TermSpan(name, id, one.begin or 0.0, one.end or 0.0)
            for id, space in spaces
            for name, found in zip(phrases, find_all(space, patterns), strict=True)
            for one in found.occurrences
        ]
    return Spoken(spans, "ctm" in kinds, segments)


def _find_layouts(file: TranscriptLines) -> list[str]:
    return [kind for kind in ("ctm", "stm") if looks_like(kind, file.lines)]


def _sentence(text: str) -> Lattice:
    words = text.split()
    return Lattice.from_arcs([(at, at + 1, word) for at, word in enumerate(words)], [len(words)])


def _pieces(words: Sequence[TimedWord]) -> Iterator[Sequence[TimedWord]]:
    """Return the words between pauses."""
    begin = 0
    for at in range(1, len(words) + 1):
        if at == len(words) or words[at].begin - words[at - 1].end > LONGEST_PAUSE:
            yield words[begin:at]
            begin = at


def list_detections(rows: Iterable[Mapping[str, Any]], timed: bool) -> list[TermSpan]:
    """Return the occurrences of fields of results; ``timed`` leaves out those without times.

    Posteriors that differ by their rounding are ties.
    """
    return [
        TermSpan(
            row["phrase"],
            row["id"],
            one["begin"] or 0.0,
            one["end"] or 0.0,
            round(one["posterior"], 9),
        )
        for row in rows
        for one in row["occurrences"]
        if one["begin"] is not None or not timed
    ]
