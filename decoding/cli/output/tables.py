"""Tables of scores as text, as tab-separated values, as JSON and for LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from decoding.cli.arguments import tsv_cell
from decoding.plain_json import json_text

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}
_NUMBERS = re.compile(r"[-+]?\d[\d.e+-]*|\[[-+]?\d[\d.e+-]*, [-+]?\d[\d.e+-]*\]")


def tsv(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as lines of tab-separated cells."""
    return "".join("\t".join(map(tsv_cell, row)) + "\n" for row in rows)


def document(content: dict[str, Any]) -> str:
    """Return a JSON document with the version in front; what is no number becomes null."""
    import decoding

    whole = {"version": decoding.__version__, **content}
    return json_text(whole, indent=2) + "\n"


def latex(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: Iterable[int] = (0,),
    notes: Iterable[str] = (),
) -> str:
    r"""Return a table for LaTeX with the rules of booktabs.

    Parameters
    ----------
    header
        One name a column.
    rows
        As many cells each; numbers and intervals become formulas, so that a minus is one.
    left
        The columns that are aligned to the left.
    notes
        Lines of comment in front, such as what the table was made with.

    Examples
    --------
    >>> print(latex(["system", "wer"], [["my_system", "-0.1000"]]), end="")
    \begin{tabular}{lr}
    \toprule
    system & wer \\
    \midrule
    my\_system & $-0.1000$ \\
    \bottomrule
    \end{tabular}
    """
    to_the_left = set(left)
    columns = "".join("l" if place in to_the_left else "r" for place in range(len(header)))
    lines = [
        *(f"% {' '.join(note.split())}" for note in notes),
        f"\\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line(header),
        r"\midrule",
        *map(_line, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "".join(line + "\n" for line in lines)


def _line(cells: Sequence[str]) -> str:
    return " & ".join(map(_cell, cells)) + r" \\"


def _cell(text: str) -> str:
    # a number, or one with its interval
    parts = re.findall(r"\[[^]]*\]|[^\s\[]+", text)
    if parts and all(map(_NUMBERS.fullmatch, parts)):
        return " ".join(f"${part}$" for part in parts)
    escaped = "".join(_SPECIAL.get(letter, letter) for letter in text)
    # a bracket after the end of a line would be its argument
    return "{}" + escaped if escaped.startswith(("[", "*")) else escaped


def signed(number: float) -> str:
    """Return a difference of scores."""
    return f"{number:+.4f}"


def p_value(number: float) -> str:
    """Return a p-value: three digits, or how small it is.

    Examples
    --------
    >>> p_value(0.0321), p_value(1.0), p_value(3.2e-7)
    ('0.032', '1.000', '3.2e-07')
    """
    return f"{number:.3f}" if number >= 0.001 or math.isnan(number) else f"{number:.1e}"


def resampling_note(samples: int, seed: int, level: float, of: str = "segments") -> str:
    """Return how intervals were made."""
    import decoding

    return (
        f"fstmetrics {decoding.__version__}; {100 * level:g} % intervals by {samples} resamples "
        f"of the {of}, seed {seed}"
    )
