"""Markup as text: SVG and HTML that notebooks show and files hold, with everything escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path

#: what XML 1.0 cannot hold, not even escaped
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape_text(text: str) -> str:
    """Return a text for markup: escaped, and U+FFFD in the place of what markup cannot hold."""
    return escape(_ILLEGAL.sub("\ufffd", text))


@dataclass(frozen=True, repr=False)
class _Markup:
    """A text of markup: ``str()`` returns it, :meth:`save` writes it."""

    content: str

    def __str__(self) -> str:
        """Return the markup."""
        return self.content

    def __repr__(self) -> str:
        """Return what it is, and its size."""
        return f"<{type(self).__name__} of {len(self.content):,} characters>"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the markup to a file."""
        Path(path).write_bytes(self.content.encode())


class Svg(_Markup):
    """A picture as SVG; a notebook shows it."""

    def _repr_svg_(self) -> str:
        return self.content


class Html(_Markup):
    """A piece of a page as HTML; a notebook shows it."""

    def _repr_html_(self) -> str:
        return self.content


#: marks of errors: for a notebook in light and in dark, and for those who do not see the colours
_CELLS = {
    "match": "",
    "substitution": "background:#d98e0440;border-bottom:2px solid #d98e04",
    "insertion": "background:#2f81f740;border-bottom:2px dashed #2f81f7",
    "deletion": "background:#e5534b40;border-bottom:2px dotted #e5534b",
    "muted": "opacity:0.65",
    "strong": "font-weight:bold",
}


def cell(text: str, kind: str = "match") -> str:
    """Return a text as a piece of HTML, marked as an error, as strong or as muted."""
    style = _CELLS[kind]
    return f'<span style="{style}">{escape_text(text)}</span>' if style else escape_text(text)


def html_table(
    rows: Iterable[Sequence[str]], header: Sequence[str] = (), *, caption: str = ""
) -> str:
    """Return a table in HTML."""
    padding = "padding:1px 6px;text-align:left;white-space:nowrap"
    lines = ['<table style="border-collapse:collapse">']
    if caption:
        side = "caption-side:bottom;text-align:left;opacity:0.75"
        lines.append(f'<caption style="{side}">{escape_text(caption)}</caption>')
    if header:
        cells = "".join(f'<th style="{padding}">{escape_text(name)}</th>' for name in header)
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    lines.append("<tbody>")
    for row in rows:
        cells = "".join(f'<td style="{padding}">{content}</td>' for content in row)
        lines.append(f"<tr>{cells}</tr>")
    lines.append("</tbody></table>")
    return "\n".join(lines)
