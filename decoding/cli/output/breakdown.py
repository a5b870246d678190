"""Groups of segments, frequent errors and alignments, for ``score`` and ``oracle``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from decoding.cli.tables import (
    Report,
    format_scores,
    legend,
    score_headings,
    side_by_side,
)
from decoding.corpus.outcomes import Done, Failure
from fstmetrics.alignment.pra import pra
from fstmetrics.statistics.breakdown import (
    LENGTH,
    OTHERS,
    ErrorCount,
    GroupScores,
    frequent_errors,
    grouping,
    length_group,
    make_sort_key,
    scores_by_group,
)
from fstmetrics.statistics.systems import Sentence, System, sclite_aligner
from lattices.errors import OptionError, argument

if TYPE_CHECKING:
    from decoding.corpus.table import Results
    from fstmetrics import Metric
    from fstmetrics.alignment.metric import Edit


class Details(NamedTuple):
    """What is known of a system beyond its scores, if it is asked for."""

    #: with its sentences, unless there are but groups by id
    system: System
    groups: list[GroupScores] | None
    errors: list[ErrorCount] | None

    def content(self) -> dict[str, Any]:
        """Return what JSON has of it."""
        found: dict[str, Any] = {}
        if self.groups is not None:
            names = [str(metric) for metric in self.system.metrics]
            found["groups"] = [
                {
                    "group": each.group,
                    "segments": each.segments,
                    **({} if each.words is None else {"words": each.words}),
                    "scores": dict(zip(names, each.scores, strict=True)),
                }
                for each in self.groups
            ]
        if self.errors is not None:
            found["errors"] = [each.to_dict() for each in self.errors]
        return found


def details_of(
    systems: Sequence[System],
    by: str | None,
    top: int | None,
    groups_of: Mapping[str, str] | None = None,
) -> list[Details]:
    """Return the groups and the most frequent errors of each system.

    ``groups_of`` has the groups by id where segments have a field of that name.
    """
    found = []
    for system in systems:
        groups = errors = None
        if by:
            group_of = groups_of.__getitem__ if groups_of else group_by(system, by)
            groups = scores_by_group(system, group_of)
        if top:
            aligned = ((id, judgement.edits) for id, judgement in system.judgements())
            errors = frequent_errors(aligned, top)
        found.append(Details(system, groups, errors))
    return found


def group_by(system: System, by: str) -> Callable[[str], str]:
    """Return what gives the group of a segment by its id; lengths are those of its references."""
    if by != LENGTH:
        return grouping(by)
    return {id: length_group(_length(system, id)) for id in system.stats}.__getitem__


def _length(system: System, id: str) -> int:
    """Return the words of the first reference of a segment."""
    reference = system.sentences[id].references[0]
    if not isinstance(reference, str):
        raise OptionError(f"--by length: the reference of segment {id!r} has alternatives")
    return len(reference.split())


def detail_tables(
    details: Sequence[Details],
    notes: Sequence[str],
    sort: str | None = None,
    *,
    joined: bool = False,
) -> list[Report]:
    """Return the tables of groups and errors, as far as there are any.

    Groups are sorted by a column; ``joined`` has all systems on the line of a group.
    """
    tables = []
    if details[0].groups is not None:
        tables.append(_group_table(details, notes, sort, joined))
    if details[0].errors is not None:
        named = 1 if len(details) == 1 else 0
        errors = [
            [system.name, error.operation, str(error.times), error.reference, error.hypothesis,
             " ".join(error.segments)]
            for system, _, found in details
            for error in found or ()
        ]  # fmt: skip
        header = ["system", "error", "times", "reference", "hypothesis", "segments"]
        left = [column - named for column in (0, 1, 3, 4, 5)]
        shown = [row[named:] for row in errors]
        tables.append(table_part(header[named:], shown, [header, *errors], (), left))
    return tables


class _GroupRow(NamedTuple):
    """A line of the table of groups: of one system, or of all."""

    names: list[str]
    sizes: list[float]
    scores: list[float]

    @classmethod
    def of(cls, names: Sequence[str], groups: Sequence[GroupScores]) -> _GroupRow:
        first = groups[0]
        sizes = [first.segments, *([] if first.words is None else [first.words])]
        scores = [each for of_metric in zip(*(one.scores for one in groups), strict=True)
                  for each in of_metric]  # fmt: skip
        return cls([*names, first.group], sizes, scores)

    def cells(self, scores: Sequence[str]) -> list[str]:
        return [*self.names, *(f"{size:.10g}" for size in self.sizes), *scores]


def _group_table(
    details: Sequence[Details], notes: Sequence[str], sort: str | None, joined: bool
) -> Report:
    """Return a line for each group, or for each system and group."""
    metrics = details[0].system.metrics
    if joined:
        # what the model says, and then what is there
        details = details[::-1]
        kinds = [f"{found.system.name} " for found in details]
        groups = zip(*(found.groups or () for found in details), strict=True)
        rows = [_GroupRow.of([], each) for each in groups]
    else:
        kinds = [""]
        rows = [
            _GroupRow.of([found.system.name], [group])
            for found in details
            for group in found.groups or ()
        ]
    front = [*([] if joined else ["system"]), "group"]
    sizes = ["segments", "words"][: len(rows[0].sizes)]
    shown = [metric for metric in metrics for _ in kinds]
    header = [*front, *sizes, *(of + name for name in score_headings(metrics) for of in kinds)]
    _sort_groups(rows, header, sort)
    # one system needs no column for its name, for people
    hidden = 0 if joined or len(details) > 1 else 1
    return table_part(
        header[hidden:],
        [row.cells(format_scores(shown, row.scores))[hidden:] for row in rows],
        [
            [*front, *sizes, *(f"{of}{metric}" for metric in metrics for of in kinds)],
            *(row.cells(list(map(repr, row.scores))) for row in rows),
        ],
        notes,
        left=range(len(front) - hidden),
    )


def _sort_groups(rows: list[_GroupRow], header: Sequence[str], sort: str | None) -> None:
    """Sort rows by the first column whose heading has these letters, the largest first."""
    if sort is None:
        return
    place = next((at for at, name in enumerate(header) if sort.lower() in name.lower()), None)
    if place is None:
        raise OptionError(f"{argument('sort')} {sort}: the columns are {', '.join(header)}")
    names = len(rows[0].names)
    if place < names:
        rows.sort(key=lambda row: make_sort_key(row.names[place]))
    else:
        rows.sort(key=lambda row: -[*row.sizes, *row.scores][place - names])


def table_part(
    header: list[str],
    rows: list[list[str]],
    for_programs: list[list[str]],
    notes: Sequence[str],
    left: Sequence[int],
) -> Report:
    """Return a table that stands above that of systems, or in its place."""
    return Report(header, rows, notes, lambda: for_programs, dict, left)


def alignments(
    systems: Sequence[System], *, every: bool, colour: bool, width: int = 110
) -> list[str]:
    """Return the sentences of all systems below their references, word below word."""
    # systems may be closest to different references
    blocks: dict[str, dict[tuple[str, ...], list[tuple[str, Sequence[Edit]]]]] = {}
    for system in systems:
        label = "" if len(systems) == 1 else f"  {system.name}"
        for id, found in system.judgements():
            words = tuple(each.reference for each in found.edits if each.operation != "insertion")
            blocks.setdefault(id, {}).setdefault(words, []).append((label, found.edits))
    texts = []
    for id, by_reference in blocks.items():
        for words, aligned in by_reference.items():
            is_wrong = any(each.operation != "match" for _, edits in aligned for each in edits)
            if is_wrong or every:
                lines = side_by_side(words, aligned, label=id, width=width, colour=colour)
                texts.append("".join(line + "\n" for line in lines))
    return [*texts, legend(colour) + "\n"] if texts else []


def write_alignments(arguments: argparse.Namespace, systems: Sequence[System]) -> None:
    """Write the alignments of all systems to the file of ``--pra``, if there is one."""
    if not arguments.pra:
        return
    from lattices.formats.streams import open_output

    # all are made before the file is: one may not align
    texts = [
        pra(system.name, ((id, found.edits) for id, found in system.judgements(sclite_aligner)))
        for system in systems
    ]
    with open_output(arguments.pra) as output:
        output.write("".join(texts).encode("utf-8"))


@dataclass
class Breakdown:
    """Sentences of a run over a corpus, as systems to look into."""

    metrics: tuple[Metric, ...]
    #: from the kinds of the summary, in the order of the sentences of lines, to their names
    kinds: Mapping[str, str]
    #: as in :func:`details_of`
    by: str | None
    top: int | None
    #: of the kinds, when all segments are there
    details: list[Details] = field(default_factory=list)
    _systems: list[System] = field(init=False)
    _group_of: Callable[[str], str] | None = field(init=False)
    #: by id, what segments have in the field that groups are named by
    _fields: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Make the groups ready: what is wrong with them is said before the work."""
        self._group_of = grouping(self.by) if self.by and self.by != LENGTH else None
        self._systems = [System(name, self.metrics) for name in self.kinds.values()]

    def watch(
        self, outcomes: Iterator[Done[Results] | Failure]
    ) -> Iterator[Done[Results] | Failure]:
        """Iterate over the outcomes, and keep what is looked into."""
        for outcome in outcomes:
            if isinstance(outcome, Done):
                references = outcome.result["references"]
                id = outcome.id or str(outcome.position + 1)
                if self.by is not None and self.by in outcome.result["metadata"]:
                    self._fields[id] = str(outcome.result["metadata"][self.by])
                elif self._group_of is not None and not self._fields:
                    # one that has none is told before its line is written
                    self._group_of(id)
                evaluators = [metric.against(references) for metric in self.metrics]
                for system, words in zip(self._systems, outcome.result["sentences"], strict=True):
                    system.sentences[id] = Sentence(words, references)
                    system.stats[id] = [evaluator.stats(words) for evaluator in evaluators]
            yield outcome

    def conclude(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Return the summary with what was found."""
        groups = dict.fromkeys(self._systems[0].sentences, OTHERS) | self._fields
        self.details = details_of(
            self._systems, self.by, self.top, groups if self._fields else None
        )
        contents = {
            kind: found.content() for kind, found in zip(self.kinds, self.details, strict=True)
        }
        return {**summary, "breakdown": contents} if self.by or self.top else summary
