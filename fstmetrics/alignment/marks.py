"""Marks of errors in aligned sentences: in plain text, and coloured in HTML.

``[word]`` is a substitution, ``{word}`` an insertion and ``***`` a deletion: the colours say the
same once more, and nothing is told by them alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lattices.drawing import cell, html_table

if TYPE_CHECKING:
    from fstmetrics.alignment.metric import Edit, Operation

DELETED = "***"
LEGEND = (("[word]", "substitution"), ("{word}", "insertion"), (DELETED, "deletion"))
LEGEND_LINE = "   ".join(f"{mark} {name}" for mark, name in LEGEND)


def mark(operation: Operation, hypothesis: str) -> str:
    """Return the word of a step of an alignment, marked if it is an error."""
    marks = {"substitution": f"[{hypothesis}]", "insertion": f"{{{hypothesis}}}"}
    return marks.get(operation, DELETED if operation == "deletion" else hypothesis)


def sentence_html(steps: Iterable[tuple[Operation, str]]) -> str:
    """Return a sentence as HTML, with its errors coloured and marked.

    Examples
    --------
    >>> sentence_html([("match", "the"), ("match", "<cat>")])
    'the &lt;cat&gt;'
    """
    return " ".join(cell(mark(operation, word), operation) for operation, word in steps)


def alignment_html(edits: Sequence[Edit], caption: str = "") -> str:
    """Return an alignment as HTML: the reference above the sentence, word by word.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> html = alignment_html(WER().against(["the cat"]).judge("the hat").edits)
    >>> "[hat]" in html and "cat" in html
    True
    """
    above = [cell("reference", "muted"), *(cell(edit.reference) for edit in edits)]
    below = [cell("sentence", "muted")]
    below += [cell(mark(edit.operation, edit.hypothesis), edit.operation) for edit in edits]
    wrong = any(edit.operation != "match" for edit in edits)
    lines = [line for line in (caption, LEGEND_LINE if wrong else "") if line]
    return html_table([above, below], caption="; ".join(lines))
