"""Alignments in the layout of sclite's ``pra`` files (NIST, SCTK 2.4).

::

    Speaker sentences   0:  spk1   #utts: 1
    id: (spk1-u1)
    Scores: (#C #S #D #I) 3 2 1 1
    REF:  THE cat SAT ON   the *** mat
    HYP:  A   cat *** SATT the BIG mat
    Eval: S       D   S        I

Every column is as wide as the wider word and one more; what is missing has as many stars as the
other word has letters. Lines are broken before ``WIDTH``, and those that go on begin with ``>>``.

sclite ignores case, prints words in lower case and errors in upper case; with its ``-s`` it prints
words as they are, below ``Attributes: Case_sensitve``. Metrics here never ignore case. Where no two
words of a system and its references differ by case alone that makes no difference, and the layout
is that of plain sclite; otherwise it is that of ``-s``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fstmetrics.alignment.metric import Edit

#: sclite's own
WIDTH = 1000
_EVALUATED = {"match": "", "substitution": "S", "insertion": "I", "deletion": "D"}


def pra(system: str, alignments: Iterable[tuple[str, Sequence[Edit]]], width: int = WIDTH) -> str:
    """Return the alignments of a system as sclite writes them.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> edits = WER().against(["the cat sat"]).judge("the hat sat down").edits
    >>> for line in pra("one", [("s1-u1", edits)]).splitlines()[9:]:
    ...     print(line.rstrip())
    Speaker sentences   0:  s1   #utts: 1
    id: (s1-u1)
    Scores: (#C #S #D #I) 2 1 0 1
    REF:  the CAT sat ****
    HYP:  the HAT sat DOWN
    Eval:     S       I
    <BLANKLINE>
    <BLANKLINE>
    """
    aligned = list(alignments)
    words = {
        word for _, edits in aligned for each in edits for word in (each.reference, each.hypothesis)
    }
    ignores_case = len({_lower(word) for word in words}) == len(words)
    speakers: dict[str, list[tuple[str, Sequence[Edit]]]] = {}
    for id, edits in aligned:
        speakers.setdefault(_speaker(id), []).append((id, edits))
    lines = ["", "", "\t\tDUMP OF SYSTEM ALIGNMENT STRUCTURE", "", f"System name:   {system}", ""]
    lines.append("Speakers: ")
    lines += [f"   {number:2}:  {name}" for number, name in enumerate(speakers)]
    lines.append("")
    for number, (name, segments) in enumerate(speakers.items()):
        lines.append(f"Speaker sentences{number:4}:  {name}   #utts: {len(segments)}")
        for id, edits in segments:
            lines += [*_segment(id, edits, width, ignores_case), ""]
    return "\n".join([*lines, "", ""])


def _speaker(id: str) -> str:
    ends = [place for mark in "-_" if (place := id.find(mark)) >= 0]
    return id[: min(ends)] if ends else ""


def _segment(id: str, edits: Sequence[Edit], width: int, ignores_case: bool) -> list[str]:
    kinds = [each.operation for each in edits]
    counts = [kinds.count(kind) for kind in ("match", "substitution", "deletion", "insertion")]
    lines = [f"id: ({id})", f"Scores: (#C #S #D #I) {' '.join(map(str, counts))}"]
    if not ignores_case:
        # spelt as sclite spells it
        lines.append("Attributes: Case_sensitve ")
    columns = [_column(each, ignores_case) for each in edits]
    mark = ""
    while columns:
        used, count = len(mark) + 6, 0
        while used < width and count < len(columns):
            used += 1 + len(columns[count][0])
            count += 1
        # the last column is on the next line, unless it is the last of all
        count = count if count == len(columns) else max(count - 1, 1)
        here, columns = columns[:count], columns[count:]
        lines += [""] if mark else []
        for row, title in enumerate(("REF:  ", "HYP:  ", "Eval: ")):
            lines.append(mark + title + "".join(f"{column[row]} " for column in here))
        mark = ">> "
    return lines


def _column(edit: Edit, ignores_case: bool) -> tuple[str, str, str]:
    """Return what stands one below the other, equally wide."""
    reference, hypothesis = edit.reference, edit.hypothesis
    if ignores_case:
        shown = _lower if edit.operation == "match" else _upper
        reference, hypothesis = shown(reference), shown(hypothesis)
    reference = reference or "*" * len(hypothesis)
    hypothesis = hypothesis or "*" * len(reference)
    width = max(len(reference), len(hypothesis))
    evaluated = _EVALUATED[edit.operation]
    return reference.ljust(width), hypothesis.ljust(width), evaluated.ljust(width)


def _lower(word: str) -> str:
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in word)


def _upper(word: str) -> str:
    """Return the word in upper case, letter by letter: ß has none of one letter."""
    return "".join(high if len(high := letter.upper()) == 1 else letter for letter in word)
