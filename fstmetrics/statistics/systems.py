"""Systems: what each of them said, from a file, and the statistics of it under metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from fstmetrics.alignment.family import Judgement
from fstmetrics.contract import Evaluator, Metric, checked_rows
from fstmetrics.references import Overlap, Reference, compares_words, overlap
from fstmetrics.statistics.significance import Comparison, Estimate, bootstrap
from lattices.algorithms.kbest import best_words
from lattices.arrays import FloatColumn
from lattices.errors import Error, FormatError, OptionError
from lattices.formats import Format, parse_record
from lattices.formats.base import decoded_lines, split_words
from lattices.formats.reading import available, named, sniffs
from lattices.formats.references import References
from lattices.formats.references.files import is_own_id
from lattices.formats.references.ids import IdTemplate
from lattices.formats.references.nist import READERS, Lines, looks_like, second_line
from lattices.formats.streams import display_name, opened
from lattices.records import Record
from lattices.vocabulary import Vocabulary

TEXT = "text"
#: layouts of NIST's sclite that hypotheses come in
TRANSCRIPTS = ("trn", "ctm")
_LOOKED_AT = 8
_BLANKS = " \t\v\f"

Line = tuple[int, str, list[str]]


class Scorer:
    """The metrics, made ready for the references of each segment.

    Parameters
    ----------
    metrics
        What scores.
    references
        The references of all segments.
    id_template
        How ids are made of the fields of trn or ctm.
    keep
        Whether to keep what was made ready: for more than one system.
    sentences
        Whether systems keep their sentences, too.

    Attributes
    ----------
    shared : Overlap
        What references and sentences have in common, so far.
    on_scored : function
        Called after each segment; nothing by default.
    """

    def __init__(
        self,
        metrics: tuple[Metric, ...],
        references: References,
        id_template: str | None = None,
        *,
        keep: bool = True,
        sentences: bool = False,
    ) -> None:
        self.metrics, self.references, self.id_template = metrics, references, id_template
        self.shared = Overlap.UNKNOWN
        self._compare_words = any(map(compares_words, metrics))
        self._keep = keep
        self.sentences = sentences
        self._evaluators: dict[tuple[str, int], tuple[Evaluator, ...]] = {}
        self.on_scored: Callable[[], None] = lambda: None

    def stats(self, name: str, position: int, words: Sequence[str]) -> list[FloatColumn]:
        """Return the statistics of one segment under each metric."""
        # the layout of the references knows which of the two decides
        segment = name, position
        evaluators = self._evaluators.get(segment)
        if evaluators is None:
            references = self.references.get(name, position)
            evaluators = tuple(one.against(references) for one in self.metrics)
            if self._keep:
                self._evaluators[segment] = evaluators
        if self._compare_words and self.shared < Overlap.WORDS:
            common = overlap(frozenset(words), self.references.get(name, position))
            self.shared = max(self.shared, common)
        found = [
            checked_rows(metric, [evaluator.stats(words)])[0]
            for metric, evaluator in zip(self.metrics, evaluators, strict=True)
        ]
        self.on_scored()
        return found


class Sentence(NamedTuple):
    """What a system said of a segment, and the references of it."""

    words: tuple[str, ...]
    references: tuple[Reference, ...]


@dataclass
class System:
    """The statistics of one system, by segment, and what could not be scored.

    Attributes
    ----------
    name : str
        The name of its file.
    metrics : tuple of Metric
    note : str
        What a reader of its scores should know.
    problem : str
        Why it may be no system for these references: it shares no word with them.
    stats : dict
        From the id of a segment to one row of statistics for each metric.
    failures : list of FormatError
        One for each segment that could not be scored.
    sentences : dict
        From the id of a segment to what was said, where the scorer is to keep it.
    """

    name: str
    metrics: tuple[Metric, ...]
    note: str = ""
    problem: str = ""
    stats: dict[str, list[FloatColumn]] = field(default_factory=dict)
    failures: list[FormatError] = field(default_factory=list)
    sentences: dict[str, Sentence] = field(default_factory=dict)

    def add(self, scorer: Scorer, id: str, name: str, position: int, words: Sequence[str]) -> None:
        """Score what was said of a segment; its references are found by name or position."""
        self.stats[id] = scorer.stats(name, position, words)
        if scorer.sentences:
            self.sentences[id] = Sentence(tuple(words), scorer.references.get(name, position))

    def judgements(
        self, aligner: Callable[[Metric], Metric] | None = None
    ) -> Iterator[tuple[str, Judgement]]:
        """Iterate over segments with their alignments, by the first metric that aligns.

        Parameters
        ----------
        aligner
            Gives the metric to align by in the place of one; itself by default.

        Raises
        ------
        OptionError
            If there is none.
        """
        for id, (words, references) in self.sentences.items():
            metrics = self.metrics if aligner is None else map(aligner, self.metrics)
            evaluators = (metric.against(references) for metric in metrics)
            judge = next((e.judge for e in evaluators if hasattr(e, "judge")), None)
            if judge is None:
                names = ", ".join(map(str, self.metrics))
                raise OptionError(f"{names}: no metric that aligns words, such as wer")
            yield id, judge(words)

    def segment_scores(self) -> Iterator[tuple[str, list[float]]]:
        """Iterate over the segments with their score under each metric."""
        for name, rows in self.stats.items():
            yield name, [m.score(row) for m, row in zip(self.metrics, rows, strict=True)]

    def matrices(self, names: Sequence[str] | None = None) -> list[FloatColumn]:
        """Return for each metric one row of statistics a segment, in order or in that of names."""
        rows = self.stats.values() if names is None else [self.stats[name] for name in names]
        return [np.array(of_metric) for of_metric in zip(*rows, strict=True)]

    def totals(self) -> list[FloatColumn]:
        """Return the sum of the statistics under each metric."""
        return [matrix.sum(axis=0) for matrix in self.matrices()]

    def scores(self) -> list[float]:
        """Return the corpus score under each metric."""
        return [m.score(row) for m, row in zip(self.metrics, self.totals(), strict=True)]

    def estimates(
        self, *, samples: int = 1000, level: float = 0.95, seed: int = 0
    ) -> list[Estimate]:
        """Return the corpus score under each metric with its interval (bootstrap)."""
        return [
            bootstrap(metric, matrix, samples=samples, level=level, seed=seed)
            for metric, matrix in zip(self.metrics, self.matrices(), strict=True)
        ]

    def fail(self, id: str, line: int, problem: Error) -> None:
        """Note why a segment has no statistics."""
        reason = problem.problem if isinstance(problem, FormatError) else str(problem)
        where = f"segment {id!r}: " if id else ""
        self.failures.append(FormatError(where + reason, self.name, line))


def read_system(path: str, format: str | None, scorer: Scorer) -> System:
    """Return a system with the statistics of all its segments.

    Raises
    ------
    FormatError
        For a file that does not fit the references at all. What is wrong with single segments,
        is in the failures.
    """
    system = System(display_name(path), scorer.metrics)
    scorer.shared = Overlap.UNKNOWN
    with opened(path) as (head, stream):
        found = _format(head, format)
        if found is None:
            _score_lines(stream, system, scorer, format)
        else:
            system.note = f"the best entry of each {found.name} list is scored"
            _score_lists(found, stream, system, scorer)
    system.problem = scorer.shared.problem
    return system


def read_complete(path: str, format: str | None, scorer: Scorer) -> System:
    """Return a system that has an output for every reference.

    Raises
    ------
    FormatError
        If a segment failed, or if there are none for some references.
    """
    system = read_system(path, format, scorer)
    references = scorer.references
    if system.failures:
        first, *more = system.failures
        rest = f" (and {len(more)} more failures)" if more else ""
        raise FormatError(first.problem + rest, system.name, first.line)
    if len(system.stats) != len(references):
        missing = next((name for name in references.ids if name not in system.stats), "")
        raise FormatError(
            f"hypotheses for {len(system.stats)} of {len(references)} references"
            + (f"; the first that has none is {missing!r}" if missing else ""),
            system.name,
        )
    return system


def paired_matrices(systems: Sequence[System], references: References) -> list[list[FloatColumn]]:
    """Return for each system and metric the statistics of the same segments in the same order.

    Parameters
    ----------
    systems
        As :func:`read_complete` gives them.
    references
        If they go by id, so do the systems; if not, the order of each is that of the references,
        whatever its ids are.
    """
    names = list(systems[0].stats) if references.layout == "kaldi" else None
    return [system.matrices(names) for system in systems]


@dataclass(frozen=True)
class SystemComparison(Record):
    """One system against a baseline under one metric, by several tests.

    Attributes
    ----------
    metric : Metric
    system : str
    baseline_score, score : float
        Of the corpus.
    results : sequence of Comparison
        One for each test.
    """

    metric: Metric
    system: str
    baseline_score: float
    score: float
    results: Sequence[Comparison]


def compare_systems(
    systems: Sequence[System],
    references: References,
    tests: Sequence[Callable[..., Comparison]],
) -> list[SystemComparison]:
    """Return the comparisons of all systems with the first, metric by metric.

    Parameters
    ----------
    systems
        As :func:`read_complete` gives them, the baseline first.
    references
        What they were scored against.
    tests
        Such as :func:`fstmetrics.paired_bootstrap`, called with a metric and the statistics of
        the system and of the baseline.
    """
    baseline, *others = paired_matrices(systems, references)
    return [
        SystemComparison(
            metric,
            system.name,
            metric.score(baseline[place].sum(axis=0)),
            metric.score(stats[place].sum(axis=0)),
            [test(metric, stats[place], baseline[place]) for test in tests],
        )
        for place, metric in enumerate(systems[0].metrics)
        for system, stats in zip(systems[1:], others, strict=True)
    ]


def describe_layout(references: References) -> str:
    """Return how references were taken, in words."""
    layouts = {"kaldi": "by id", "plain": "line by line"}
    return f"references are taken {layouts[references.layout]}"


def _format(head: bytes, name: str | None) -> Format | None:
    """Return the format of n-best lists that a file is in, or None for lines of text."""
    if name in (TEXT, *TRANSCRIPTS):
        return None
    if name is not None:
        return named(name)
    lists = [entry for entry in available() if entry.kind in ("nbest", "any")]
    return next((entry for entry in lists if sniffs(entry, head)), None)


def _score_lines(stream: BinaryIO, system: System, scorer: Scorer, format: str | None) -> None:
    lines = [(n, text, split_words(text)) for n, text in decoded_lines(stream, system.name)]
    if not lines:
        raise FormatError(f"0 lines for {len(scorer.references)} references", system.name)
    transcripts = _transcripts(lines, system.name, scorer, format)
    if transcripts:
        for position, (name, text) in enumerate(transcripts.items()):
            _add(system, scorer, name, position, split_words(text), 0)
    elif _are_by_id(lines, system.name, scorer.references):
        places: dict[str, int] = {}
        for number, _, words in lines:
            if not words:
                continue
            name = words[0]
            first = places.setdefault(name, number)
            if first != number:
                raise FormatError(second_line(name, system.name, first), system.name, number)
            _add(system, scorer, name, number - 1, words[1:], number)
    else:
        _check_count(system.name, len(lines), "lines", scorer.references)
        for number, _, words in lines:
            system.add(scorer, str(number), _unnamed(number), number - 1, words)


def _add(
    system: System, scorer: Scorer, name: str, position: int, words: list[str], line: int
) -> None:
    """Score one segment that has an id."""
    try:
        system.add(scorer, name, name, position, words)
    except FormatError as problem:
        system.fail(name, line, problem)


def _unnamed(number: int) -> str:
    """Return a name for a line without an id; no line begins with it, for it has a blank in it."""
    return f"line {number}"


def _are_by_id(lines: list[Line], path: str, references: References) -> bool:
    """Tell whether lines of text begin with ids, and settle the layout of the references.

    Two plain files may begin with the same words; so first words count as ids only if they
    all have a digit in them, and are ids of the references. Where they look like ids, and the
    references were found to have none, they are not taken for words either.
    """
    names = [words[0] for _, _, words in lines if words]
    likely = all(any(letter.isdigit() for letter in name) for name in names)
    references.settle(names[:_LOOKED_AT] if likely and names else [_unnamed(1)])
    if references.layout == "kaldi":
        return True
    different = len(set(names)) == len(names)
    alike = len(names) > 1 or any(map(is_own_id, names))
    if references.guessed and likely and different and alike:
        raise FormatError(
            f"lines begin with what look like ids ({names[0]!r}), and those of the references do "
            f"not{references.both_readings()}",
            path,
        )
    return False


def _transcripts(
    lines: list[Line], path: str, scorer: Scorer, format: str | None
) -> dict[str, str]:
    """Return hypotheses in a layout of sclite's by their ids; none if they are not in one.

    By itself only trn is recognised, where all lines end in ``(id)`` and the references have
    such ids: rows of a ctm look much like lines of text.
    """
    references = scorer.references
    texts = [text.strip(_BLANKS) for _, text, _ in lines]
    if format in TRANSCRIPTS:
        found = _read_transcripts(texts, path, str(format), scorer.id_template)
        references.settle(list(found)[:_LOOKED_AT])
        if references.layout != "kaldi":
            raise FormatError(f"{format} goes by id, but the references do not", path)
        return found
    if format is not None or not looks_like("trn", texts):
        return {}
    try:
        found = _read_transcripts(texts, path, "trn", scorer.id_template)
    except FormatError:
        # sentences that end in brackets
        return {}
    references.settle(list(found)[:_LOOKED_AT])
    return found if set(found) & set(references.ids) else {}


def _read_transcripts(
    texts: list[str], path: str, layout: str, id_template: str | None
) -> dict[str, str]:
    template = None if id_template is None else IdTemplate(id_template)
    if template is not None and not template.suits(layout):
        # it is for the references, which are in another layout
        template = None
    entries = READERS[layout](Lines(path, texts), template).entries
    if not entries:
        raise FormatError(f"no segment of layout {layout}", path)
    plain = {name: entry for name, entry in entries.items() if isinstance(entry, str)}
    ambiguous = next((name for name in entries if name not in plain), None)
    if ambiguous is not None:
        raise FormatError(f"segment {ambiguous!r}: a hypothesis has alternatives", path)
    return plain


def _score_lists(format: Format, stream: BinaryIO, system: System, scorer: Scorer) -> None:
    position = -1
    for position, record in enumerate(format.records(stream, system.name)):
        name = ""
        try:
            space: Any = parse_record(format, record, Vocabulary())
            name = space.id
            if name in system.stats:
                raise FormatError("a second list with this id")
            system.add(scorer, name, name, position, best_words(space))
        except Error as problem:
            system.fail(name, record.line, problem)
    if position >= 0:
        _check_count(system.name, position + 1, "lists", scorer.references)


def _check_count(path: str, count: int, what: str, references: References) -> None:
    """Refuse more or fewer outputs than references, where only their order pairs them."""
    if references.layout == "plain" and count != len(references):
        raise FormatError(f"{count} {what} for {len(references)} references", path)
