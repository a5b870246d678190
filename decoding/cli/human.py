"""What people say of systems or of segments, from a file, and which system they mean."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

#: names that a first line may have instead of scores
_HEADER = {"system", "id", "segment", "score", "human", "human_score"}
#: WMT's files have the range of ranks after the score, and a line of these between clusters
_RANKS = re.compile(r"\s+\([^()]*\)\s*$")
_SEPARATOR = re.compile(r"\++")


@dataclass(frozen=True)
class HumanScore:
    """One judgement; ``segment`` is empty where it is of a whole system."""

    system: str
    segment: str
    score: float
    line: int


@dataclass(frozen=True)
class HumanScores:
    """The judgements of a file.

    Attributes
    ----------
    path : str
    by_segment : bool
    entries : sequence of HumanScore
    """

    path: str
    by_segment: bool
    entries: Sequence[HumanScore]


def read_human(path: str, *, one_system: bool) -> HumanScores:
    """Read ``system score``, ``system id score``, or, for one system, ``id score``.

    Columns are parted by tabs, or by blanks where a line has no tab. What WMT's files of system
    scores have besides is left out: ranges of ranks, and lines of ``+``.

    Raises
    ------
    FormatError
        With the line, for a number of columns that differs, a score that is no finite number,
        or a second judgement of the same; for a file without any.
    """
    from lattices.errors import FormatError
    from lattices.formats.base import Record, text_lines
    from lattices.formats.streams import display_name, opened

    name = display_name(path)
    entries: dict[tuple[str, str], HumanScore] = {}
    columns = 0
    with opened(path) as (_, stream):
        for number, line in text_lines(stream):
            text = Record(line, name, number, number - 1).text().strip()
            if not text or text.startswith("#") or _SEPARATOR.fullmatch(text):
                continue
            fields = _fields(text)
            if not columns and {field.lower() for field in fields} <= _HEADER:
                continue
            columns = columns or len(fields)
            if len(fields) != columns or columns not in (2, 3):
                expected = columns if columns in (2, 3) else "2 or 3"
                raise FormatError(f"{len(fields)} columns, expected {expected}", name, number)
            by_segment = one_system or columns == 3
            system = "" if by_segment and columns == 2 else fields[0]
            segment = fields[-2] if by_segment else ""
            if (system, segment) in entries:
                who = " ".join(repr(part) for part in (system, segment) if part)
                raise FormatError(f"a second score for {who}", name, number)
            score = _number(fields[-1])
            if score is None:
                raise FormatError(f"score {fields[-1]!r}, expected a number", name, number)
            entries[system, segment] = HumanScore(system, segment, score, number)
    if not entries:
        raise FormatError("no scores", name)
    return HumanScores(name, one_system or columns == 3, tuple(entries.values()))


def _fields(text: str) -> list[str]:
    if "\t" in text:
        return [field.strip() for field in text.split("\t")]
    from lattices.formats.base import split_words

    return split_words(_RANKS.sub("", text))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def match_systems(human: HumanScores, paths: Sequence[str]) -> dict[str, str]:
    """Return the file of each system that people judged, where there is one.

    A name means the file of that name; else the one that has it without ``.txt`` and ``.gz``;
    else the one whose name has it as a part between dots, or the other way round, such as
    ``online-B`` and ``newstest2015.online-B.0.de-en.txt``; else the one in a folder of that name.

    Raises
    ------
    FormatError
        If a name means several files, or several names one file.
    """
    from lattices.errors import FormatError

    found: dict[str, str] = {}
    taken: dict[str, str] = {}
    lines = {entry.system: entry.line for entry in reversed(human.entries)}
    for name in dict.fromkeys(entry.system for entry in human.entries):
        files = _files_named(name, paths)
        if len(files) > 1:
            listed = ", ".join(files)
            raise FormatError(f"{name!r} may be any of {listed}", human.path, lines[name])
        for file in files:
            if file in taken:
                raise FormatError(
                    f"{name!r} and {taken[file]!r} may both be {file}", human.path, lines[name]
                )
            found[name], taken[file] = file, name
    return found


def _files_named(name: str, paths: Sequence[str]) -> list[str]:
    """Return the files that a name means, by the strictest rule that finds any."""
    parts = _parts(name)
    rules = (
        lambda path: os.path.basename(path) == os.path.basename(name),
        lambda path: _parts(path) == parts,
        lambda path: _within(parts, _parts(path)) or _within(_parts(path), parts),
        lambda path: name in os.path.dirname(path).split(os.sep),
    )
    for rule in rules:
        files = [path for path in dict.fromkeys(paths) if rule(path)]
        if files:
            return files
    return []


def _parts(path: str) -> list[str]:
    return os.path.basename(path).removesuffix(".gz").removesuffix(".txt").split(".")


def _within(some: list[str], all_parts: list[str]) -> bool:
    """Tell whether parts stand in others, in a row."""
    size = len(some)
    return any(all_parts[at : at + size] == some for at in range(len(all_parts) - size + 1))


def short_names(names: Sequence[str]) -> list[str]:
    """Return file names without what they all begin and end with, cut at dots.

    Examples
    --------
    >>> short_names(["d/newstest.KIT.1.de-en.txt", "d/newstest.online-B.2.de-en.txt"])
    ['KIT.1', 'online-B.2']
    """
    parts = [_parts(name) for name in names]
    if len(set(map(tuple, parts))) < len(parts):
        return list(names)
    while all(len(one) > 1 for one in parts) and len({one[0] for one in parts}) == 1:
        parts = [one[1:] for one in parts]
    while all(len(one) > 1 for one in parts) and len({one[-1] for one in parts}) == 1:
        parts = [one[:-1] for one in parts]
    return [".".join(one) for one in parts]
