"""Scores by groups of segments, and the errors that are made most often."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from fstmetrics.alignment.metric import Edit
from fstmetrics.alignment.rates import count_reference_units, counts_errors
from fstmetrics.contract import compares_words
from fstmetrics.statistics.systems import System
from lattices.errors import FormatError, OptionError
from lattices.formats.base import decode_lines
from lattices.formats.streams import display_name, open_input
from lattices.records import to_plain

SPEAKER, LENGTH = "speaker", "length"
#: the group of ids that a regular expression does not match
OTHERS = "(others)"
OPERATIONS = ("substitution", "insertion", "deletion")


def grouping(by: str) -> Callable[[str], str]:
    """Return what gives the group of a segment by its id."""
    if by == SPEAKER:
        return _speaker
    if os.path.isfile(by):
        return _group_by_file(by)
    try:
        pattern = re.compile(by)
    except re.error as problem:
        raise OptionError(
            f"groups by {by!r}, expected speaker, length, a file of 'id group', or a regular "
            f"expression ({problem})"
        ) from None

    def match_id(id: str) -> str:
        found = pattern.search(id)
        if found is None:
            return OTHERS
        return (found[1] if pattern.groups else found[0]) or OTHERS

    return match_id


def _speaker(id: str) -> str:
    name, *rest = re.split("[-_]", id, maxsplit=1)
    if not rest or not name:
        raise OptionError(
            f"segment {id!r} has no speaker before a - or _ in its id; give a file of 'id speaker'"
        )
    return name


def _group_by_file(path: str) -> Callable[[str], str]:
    groups: dict[str, str] = {}
    with open_input(path) as (_, stream):
        name = display_name(path)
        for number, text in decode_lines(stream, name):
            words = text.split()
            if len(words) not in (1, 2):
                raise FormatError(f"{len(words)} words, expected 'id group'", name, number)
            # without an id it is the group of that line
            id = words[0] if len(words) == 2 else str(number)
            if groups.setdefault(id, words[-1]) != words[-1]:
                raise FormatError(f"a second group of {id!r}", name, number)

    def look_up(id: str) -> str:
        if id not in groups:
            raise OptionError(f"{name} has no group for segment {id!r}")
        return groups[id]

    return look_up


def length_group(words: int) -> str:
    """Return the group of a reference by its length, from a power of two to the next."""
    if words < 2:
        return str(words)
    low = 1 << (words.bit_length() - 1)
    return f"{low}-{2 * low - 1}"


class GroupScores(NamedTuple):
    """A group of segments."""

    group: str
    segments: int
    #: of the references, if a metric counts them
    words: float | None
    #: of the corpus that the group is, under each metric of the system
    scores: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return {name: to_plain(value) for name, value in self._asdict().items()}


def scores_by_group(system: System, group_of: Callable[[str], str]) -> list[GroupScores]:
    """Return the scores of each group of segments, in the order of their names and numbers."""
    members: dict[str, list[str]] = {}
    for id in system.stats:
        members.setdefault(group_of(id), []).append(id)
    return [
        GroupScores(group, len(ids), count_words(system, ids), tuple(system.scores(ids)))
        for group, ids in sorted(members.items(), key=lambda item: make_sort_key(item[0]))
    ]


def count_words(system: System, ids: Sequence[str] | None = None) -> float | None:
    """Return the reference words of segments, by the first metric that aligns words, if any.

    Where all that align do so by character, characters.
    """
    counting = [place for place, metric in enumerate(system.metrics) if counts_errors(metric)]
    if not counting:
        return None
    place = next((each for each in counting if compares_words(system.metrics[each])), counting[0])
    return count_reference_units(system.metrics[place], system.totals(ids)[place])


def make_sort_key(name: str) -> list[tuple[int, int, str]]:
    """Return a key that has 9 before 10; others come last."""
    parts = [part for part in re.split(r"(\d+)", name) if part]
    key = [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]
    return [(2, 0, "")] if name == OTHERS else key


class ErrorCount(NamedTuple):
    """An error that was made."""

    operation: str
    #: the words, empty where there is none
    reference: str
    hypothesis: str
    #: how often
    times: int
    #: the ids of the first segments that have it
    segments: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return {name: to_plain(value) for name, value in self._asdict().items()}


def frequent_errors(
    alignments: Iterable[tuple[str, Sequence[Edit]]], top: int, examples: int = 3
) -> list[ErrorCount]:
    """Return the substitutions, insertions and deletions that come most often, ``top`` of each."""
    counts: dict[tuple[str, str, str], int] = {}
    places: dict[tuple[str, str, str], dict[str, None]] = {}
    for id, edits in alignments:
        for edit in edits:
            if edit.operation not in OPERATIONS:
                continue
            error = (edit.operation, edit.reference, edit.hypothesis)
            counts[error] = counts.get(error, 0) + 1
            seen = places.setdefault(error, {})
            if len(seen) < examples:
                seen[id] = None
    found = []
    for operation in OPERATIONS:
        of_kind = [error for error in counts if error[0] == operation]
        of_kind.sort(key=lambda error: -counts[error])
        found += [
            ErrorCount(*error, counts[error], tuple(places[error])) for error in of_kind[:top]
        ]
    return found
