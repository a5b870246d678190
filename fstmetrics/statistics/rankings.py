"""Human rankings: what WMT's files of ranks say of pairs of outputs of a segment.

Two layouts of csv, told apart by their headers: the ranks of up to five outputs a line (2010 to
2015), and those of two outputs (2016)::

    srclang,trglang,srcIndex,documentId,segmentId,judgeId,system1Number,system1Id,...,system1rank,...
    srclang,trglang,srcIndex,segmentId,judgeId,system1Id,system1rank,system2Id,system2rank,rankingID
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from lattices.errors import FormatError

_ID = re.compile(r"system(\d+)id")
_MISSING = ("", "-1")


class Preference(NamedTuple):
    """What a judge said of two outputs of a segment: the first is better, unless they are tied."""

    segment: str
    first: str
    second: str
    tie: bool
    line: int


def is_header(text: str) -> bool:
    """Tell whether a line begins a file of ranks."""
    return text.lower().startswith("srclang,trglang,")


def read_preferences(lines: Iterable[tuple[int, str]], name: str) -> list[Preference]:
    """Return the judgements of numbered lines, the header first.

    Each line gives one for each pair of its outputs; a rank of -1 is none, and a lower one better.
    Segments are named by ``srcIndex``, which counts lines from 1.

    Raises
    ------
    FormatError
        For columns that are missing, what is no rank, a system that two language pairs have, or no
        judgement at all.
    """
    columns: dict[str, int] = {}
    places: list[tuple[int, int]] = []
    languages: dict[str, tuple[str, str]] = {}
    found: list[Preference] = []
    for number, line in lines:
        if not line.strip():
            continue
        (fields,) = csv.reader([line])
        if not columns:
            columns = {field.strip().lower(): at for at, field in enumerate(fields)}
            places = [*_places(columns, name, number)]
            continue
        if len(fields) != len(columns):
            raise FormatError(
                f"{len(fields)} columns, expected {len(columns)} as in the header", name, number
            )
        ranked = [*_ranks(fields, places, name, number)]
        for system, _ in ranked:
            pair = (fields[columns["srclang"]], fields[columns["trglang"]])
            if languages.setdefault(system, pair) != pair:
                both = " and ".join("-".join(each) for each in (languages[system], pair))
                raise FormatError(
                    f"{system!r} is a system of {both}: keep the lines of one", name, number
                )
        segment = fields[columns["srcindex"]].strip()
        for (one, rank), (other, than) in combinations(ranked, 2):
            if one != other:
                first, second = (one, other) if rank <= than else (other, one)
                found.append(Preference(segment, first, second, rank == than, number))
    if not found:
        raise FormatError("no judgement of two systems", name)
    return found


def _places(columns: dict[str, int], name: str, number: int) -> Iterator[tuple[int, int]]:
    """Yield the columns of each system's name and rank."""
    systems = [match[1] for match in map(_ID.fullmatch, columns) if match]
    ranks = [f"system{each}rank" for each in systems]
    missing = [each for each in ("srcindex", *ranks) if each not in columns]
    if missing or len(systems) < 2:
        what = ", ".join(missing) or "system2Id"
        raise FormatError(f"the header of ranks lacks {what}", name, number)
    for system, rank in zip(systems, ranks, strict=True):
        yield columns[f"system{system}id"], columns[rank]


def _ranks(
    fields: Sequence[str], places: Iterable[tuple[int, int]], name: str, number: int
) -> Iterator[tuple[str, int]]:
    """Yield the systems of a line that have a rank."""
    for system, rank in places:
        text = fields[rank].strip()
        if text in _MISSING or fields[system].strip() in _MISSING:
            continue
        if not text.isdecimal():
            raise FormatError(f"rank {text!r}, expected a whole number", name, number)
        yield fields[system].strip(), int(text)


def expected_wins(preferences: Iterable[Preference]) -> dict[str, float]:
    """Return how often a system is better than another one that is drawn at random.

    The mean over the other systems of wins / (wins + losses) against each; ties do not count, nor
    do systems against which there is nothing but ties.

    References
    ----------
    Koehn. Simulating human judgment in machine translation evaluation campaigns. IWSLT 2012.

    Examples
    --------
    >>> judged = [("1", "a", "b", False, 2), ("2", "a", "b", False, 3), ("3", "b", "a", False, 4),
    ...           ("3", "a", "c", False, 5)]
    >>> expected_wins([Preference(*one) for one in judged])
    {'a': 0.8333333333333333, 'b': 0.3333333333333333, 'c': 0.0}
    """
    systems: dict[str, None] = {}
    wins: Counter[tuple[str, str]] = Counter()
    for one in preferences:
        systems |= {one.first: None, one.second: None}
        wins[one.first, one.second] += not one.tie
    scores = {}
    for system in systems:
        shares = [
            wins[system, other] / decided
            for other in systems
            if other != system and (decided := wins[system, other] + wins[other, system])
        ]
        scores[system] = sum(shares) / len(shares) if shares else 0.5
    return scores
