"""Systems: what each of them said, from a file, and the statistics of it under metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fstmetrics.alignment.metric import Edit, Judgement, is_word_error
from fstmetrics.alignment.rates import SCLITE
from fstmetrics.contract import Evaluator, Metric, abilities_of, check_rows, compares_words
from fstmetrics.normalisation.metric import Normalised
from fstmetrics.references import Reference
from fstmetrics.statistics.matched_pairs import matched_pairs, prefer_insertions
from fstmetrics.statistics.resampling import sum_blocks
from fstmetrics.statistics.significance import Comparison, Estimate, bootstrap
from fstmetrics.vocabulary_warning import Overlap, overlap
from lattices.arrays import FloatColumn
from lattices.errors import Error, FormatError, OptionError
from lattices.formats.references import References
from lattices.formats.system_outputs import LAYOUTS, Output, make_placeholder, read_output
from lattices.records import PlainRecord


class Scorer:
    """The metrics, made ready for the references of each segment.

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
            check_rows(metric, [evaluator.stats(words)])[0]
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
    """The statistics of one system, by segment, and what could not be scored."""

    #: the name of its file
    name: str
    metrics: tuple[Metric, ...]
    #: what a reader of its scores should know
    note: str = ""
    #: why it may be no system for these references: it shares no word with them
    problem: str = ""
    #: from the id of a segment to one row of statistics for each metric
    stats: dict[str, list[FloatColumn]] = field(default_factory=dict)
    #: one for each segment that could not be scored
    failures: list[FormatError] = field(default_factory=list)
    #: from the id of a segment to what was said, where the scorer is to keep it
    sentences: dict[str, Sentence] = field(default_factory=dict)

    def add(self, scorer: Scorer, id: str, name: str, position: int, words: Sequence[str]) -> None:
        """Score what was said of a segment; its references are found by name or position."""
        self.stats[id] = scorer.stats(name, position, words)
        if scorer.sentences:
            self.sentences[id] = Sentence(tuple(words), scorer.references.get(name, position))

    def judgements(
        self, aligner: Callable[[Metric], Metric] | None = None
    ) -> Iterator[tuple[str, Judgement]]:
        """Iterate over segments with their alignments, by the first metric that aligns."""
        for id, (words, references) in self.sentences.items():
            metrics = self.metrics if aligner is None else map(aligner, self.metrics)
            evaluators = (metric.against(references) for metric in metrics)
            for evaluator in evaluators:
                judge = abilities_of(evaluator).judge
                if judge is not None:
                    yield id, judge(evaluator, words)
                    break
            else:
                names = ", ".join(map(str, self.metrics))
                raise OptionError(f"{names}: no metric that aligns words, such as wer")

    def segment_scores(self) -> Iterator[tuple[str, list[float]]]:
        """Iterate over the segments with their score under each metric."""
        for name, rows in self.stats.items():
            yield name, [m.score(row) for m, row in zip(self.metrics, rows, strict=True)]

    def matrices(self, names: Sequence[str] | None = None) -> list[FloatColumn]:
        """Return for each metric one row of statistics a segment, in order or in that of names."""
        rows = self.stats.values() if names is None else [self.stats[name] for name in names]
        return [np.array(of_metric) for of_metric in zip(*rows, strict=True)]

    def totals(self, names: Sequence[str] | None = None) -> list[FloatColumn]:
        """Return the sum of the statistics under each metric, of all segments or of some."""
        return [matrix.sum(axis=0) for matrix in self.matrices(names)]

    def scores(self, names: Sequence[str] | None = None) -> list[float]:
        """Return the corpus score under each metric, of all segments or of some."""
        return [m.score(row) for m, row in zip(self.metrics, self.totals(names), strict=True)]

    def estimates(
        self,
        *,
        samples: int = 1000,
        level: float = 0.95,
        seed: int = 0,
        group_of: Callable[[str], str] | None = None,
    ) -> list[Estimate]:
        """Return the corpus score under each metric with its interval (bootstrap).

        ``group_of`` gives the block of a segment, where blocks are resampled.
        """
        matrices = self.matrices()
        if group_of is not None:
            blocks = [group_of(id) for id in self.stats]
            matrices = [sum_blocks(matrix, blocks) for matrix in matrices]
        return [
            bootstrap(metric, matrix, samples=samples, level=level, seed=seed)
            for metric, matrix in zip(self.metrics, matrices, strict=True)
        ]

    def fail(self, id: str, line: int, problem: Error) -> None:
        """Note why a segment has no statistics."""
        reason = problem.problem if isinstance(problem, FormatError) else str(problem)
        where = f"segment {id!r}: " if id else ""
        self.failures.append(FormatError(where + reason, self.name, line))


def read_system(path: str, format: str | None, scorer: Scorer) -> System:
    """Return a system with the statistics of all its segments.

    ``path`` and ``format`` as in :func:`lattices.formats.system_outputs.read_output`.
    """
    references = scorer.references
    output = read_output(path, format, references, scorer.id_template)
    system = System(output.path, scorer.metrics, output.note)
    scorer.shared = Overlap.UNKNOWN
    for id, line, problem in output.failures:
        system.fail(id, line, problem)
    _check_count(output, references)
    for id, words, line, position in output.said:
        name = id if output.has_ids else make_placeholder(line)
        try:
            system.add(scorer, id, name, position, words)
        except Error as problem:
            if not output.has_ids:
                raise
            system.fail(id, line, problem)
    # the first segment may have settled how references are taken
    _check_count(output, references)
    system.problem = scorer.shared.problem
    return system


def read_complete(path: str, format: str | None, scorer: Scorer) -> System:
    """Return a system that has an output for every reference."""
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


def pair_matrices(systems: Sequence[System], references: References) -> list[list[FloatColumn]]:
    """Return for each system and metric the statistics of the same segments in the same order."""
    names = list(systems[0].stats) if references.layout == "kaldi" else None
    return [system.matrices(names) for system in systems]


@dataclass(frozen=True)
class SystemComparison(PlainRecord):
    """One system against a baseline under one metric, by several tests."""

    metric: Metric
    system: str
    #: of the corpus
    baseline_score: float
    score: float
    #: one for each test
    results: Sequence[Comparison]


def compare_systems(
    systems: Sequence[System],
    references: References,
    tests: Sequence[Callable[..., Comparison]],
    *,
    group_of: Callable[[str], str] | None = None,
    mapsswe: str | None = None,
) -> list[SystemComparison]:
    """Return the comparisons of all systems with the first, metric by metric.

    ``group_of`` gives the block of a segment, where blocks are resampled; ``mapsswe`` is the
    alternative that is tested for in matched pairs, under metrics of word errors.
    """
    baseline, *others = pair_matrices(systems, references)
    blocks = None if group_of is None else [group_of(id) for id in systems[0].stats]

    def compare(place: int, system: System, stats: FloatColumn) -> list[Comparison]:
        metric = system.metrics[place]
        both = stats, baseline[place]
        if blocks is not None:
            both = sum_blocks(both[0], blocks), sum_blocks(both[1], blocks)
        found = [test(metric, *both) for test in tests]
        if mapsswe is not None and counts_word_errors(metric):
            score, before = (metric.score(each.sum(axis=0)) for each in (stats, baseline[place]))
            pairs = _align_pairs(system, systems[0], metric)
            found.append(matched_pairs(*pairs, alternative=mapsswe).compare(score - before))
        return found

    return [
        SystemComparison(
            metric,
            system.name,
            metric.score(baseline[place].sum(axis=0)),
            metric.score(stats[place].sum(axis=0)),
            compare(place, system, stats[place]),
        )
        for place, metric in enumerate(systems[0].metrics)
        for system, stats in zip(systems[1:], others, strict=True)
    ]


def counts_word_errors(metric: Metric) -> bool:
    """Tell whether a metric is WER or WRR over words, normalised or not."""
    return is_word_error(metric.metric if isinstance(metric, Normalised) else metric)


def sclite_aligner(metric: Metric) -> Metric:
    """Return what aligns words as sclite does, in the place of WER or WRR, normalised or not.

    Any other metric aligns by itself.

    Examples
    --------
    >>> from fstmetrics import CER, WER
    >>> str(sclite_aligner(WER())), str(sclite_aligner(CER()))
    ('grr:n=1,alpha=0.5,beta=0', 'cer')
    """
    if isinstance(metric, Normalised):
        return Normalised(sclite_aligner(metric.metric), metric.normalise)
    return SCLITE if is_word_error(metric) else metric


def align_as_sclite(
    metric: Metric, words: Sequence[str], references: Sequence[Reference]
) -> tuple[Edit, ...]:
    """Return the alignment of a sentence that sclite has, in the place of one under a metric."""
    evaluator = sclite_aligner(metric).against(references)
    judge = abilities_of(evaluator).judge
    if judge is None:
        raise OptionError(f"{metric} aligns no words, which matched pairs are made of")
    return prefer_insertions(judge(evaluator, words).edits)


def _align_pairs(
    one: System, other: System, metric: Metric
) -> tuple[list[Sequence[Edit]], list[Sequence[Edit]]]:
    """Return the alignments of both systems, segment by segment, as sclite aligns."""
    ids = list(other.sentences)
    return (
        [align_as_sclite(metric, *one.sentences[id]) for id in ids],
        [align_as_sclite(metric, *other.sentences[id]) for id in ids],
    )


def describe_layout(references: References) -> str:
    """Return how references were taken, in words."""
    layouts = {"kaldi": "by id", "plain": "line by line"}
    return f"references are taken {layouts[references.layout]}"


def _check_count(output: Output, references: References) -> None:
    """Refuse more or fewer sentences than references, where only their order pairs them."""
    if references.layout == "plain" and output.count != len(references):
        what = "lines" if output.layout in LAYOUTS else "lists"
        raise FormatError(f"{output.count} {what} for {len(references)} references", output.path)
