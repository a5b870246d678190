"""Tables as text, tab-separated values, JSON, LaTeX and Markdown; sentences with errors marked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from decoding.cli.option_table import TABULAR
from decoding.cli.terminal import SCORE_STYLE, add_colour
from decoding.plain_json import json_text

if TYPE_CHECKING:
    from fstmetrics import Metric
    from fstmetrics.alignment.metric import Edit
    from fstmetrics.statistics.resampling import Interval

_COLOURS = {"substitution": "yellow", "insertion": "cyan", "deletion": "red"}
_GAP = "  "


def display_width(text: str) -> int:
    """Return the columns a text takes on a terminal."""
    import unicodedata

    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[int] = (0,)) -> str:
    """Return aligned columns, each as wide as its widest cell."""
    lines = [list(header), *(list(row) for row in rows)]
    to_the_left = set(left)
    widths = [max(map(display_width, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join(
        _GAP.join(
            _pad(cell, width, column in to_the_left)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def headings(metrics: Sequence[Metric]) -> tuple[list[str], list[str]]:
    """Return a short heading for each metric, and notes on what they stand for.

    Metrics of one label add the options by which they differ.
    """
    # a metric of someone else's need not have a label
    plain = [getattr(each, "label", str(each).partition(":")[0]) for each in metrics]
    options = [str(each).partition(":")[2].split(",") for each in metrics]
    labels = []
    for place, label in enumerate(plain):
        twins = [options[other] for other, name in enumerate(plain) if name == label]
        shared = set(twins[0]).intersection(*twins)
        own = ",".join(each for each in options[place] if each not in shared)
        labels.append(f"{label} {own}".rstrip())
    notes = [
        f"{label} is {metric}"
        for label, metric in zip(labels, metrics, strict=True)
        if label.lower() != str(metric)
    ]
    return labels, notes


def _in_percent(metric: Metric) -> bool:
    """Tell whether scores are shown in percent: rates, of which the statistics count errors."""
    from fstmetrics.alignment.rates import counts_errors

    return not SCORE_STYLE.get().fractions and counts_errors(metric)


def format_score(metric: Metric, score: float, sign: str = "") -> str:
    """Return a score as tables for people have it; ``sign`` is + for differences."""
    decimals = SCORE_STYLE.get().decimals
    if _in_percent(metric):
        return f"{100 * score:{sign}.{decimals}f}"
    return f"{score:{sign}.{decimals + 2}f}"


def format_scores(metrics: Sequence[Metric], scores: Iterable[float]) -> list[str]:
    """Return a score under each metric."""
    return [format_score(*each) for each in zip(metrics, scores, strict=True)]


def format_interval(metric: Metric, interval: Interval) -> str:
    """Return the two ends of an interval of scores or differences."""
    return f"[{format_score(metric, interval.low)}, {format_score(metric, interval.high)}]"


def score_headings(metrics: Sequence[Metric]) -> list[str]:
    """Return a heading for the scores under each metric, which says where they are percentages."""
    return [
        f"{label} %" if _in_percent(metric) else label
        for label, metric in zip(headings(metrics)[0], metrics, strict=True)
    ]


def format_notes(notes: Sequence[str]) -> list[str]:
    """Return the lines that stand below a table: none, or a blank one and the notes."""
    return ["", *notes] if notes else []


def _pad(cell: str, width: int, left: bool = True) -> str:
    blanks = " " * (width - display_width(cell))
    return cell + blanks if left else blanks + cell


def percent(rate: float) -> str:
    """Return a rate in percent."""
    return f"{100 * rate:.1f} %"


def shorten(number: int) -> str:
    """Return a whole number, however large, in at most nine characters or so."""
    if number < 10_000_000:
        return str(number)
    exponent = math.floor(math.log10(number))
    # rounding may have carried the logarithm over a power of ten
    tenths = number // 10 ** (exponent - 5)
    mantissa = f"{tenths / 10**5:.2f}"
    return f"1.00e{exponent + 1}" if mantissa == "10.00" else f"{mantissa}e{exponent}"


class _Cell(NamedTuple):
    text: str
    operation: str

    def show(self, width: int, colour: bool) -> str:
        padding = " " * (width - display_width(self.text))
        if colour and self.operation in _COLOURS:
            return add_colour(self.text, _COLOURS[self.operation]) + padding
        return self.text + padding


_EMPTY = _Cell("", "")


def _cell(edit: Edit) -> _Cell:
    from fstmetrics.alignment.marks import mark

    return _Cell(mark(edit.operation, edit.hypothesis), edit.operation)


def legend(colour: bool = False) -> str:
    """Return what the marks mean, in one line."""
    from fstmetrics.alignment.marks import LEGEND

    return "   ".join(f"{_Cell(mark, name).show(0, colour)} {name}" for mark, name in LEGEND)


def side_by_side(
    reference: Sequence[str],
    alignments: Sequence[tuple[str, Sequence[Edit]]],
    *,
    label: str = "",
    width: int = 100,
    colour: bool = False,
) -> list[str]:
    """Return a reference above the sentences that were aligned to it, word under word."""
    columns = _columns(reference, [edits for _, edits in alignments])
    labels = [label, *(name for name, _ in alignments)]
    margin = max(map(display_width, labels))
    lines: list[str] = []
    for chunk in _chunks(columns, width - margin - len(_GAP)):
        widths = [max(display_width(cell.text) for cell in column) for column in chunk]
        for row, name in enumerate(labels):
            shown = [
                column[row].show(wide, colour) for column, wide in zip(chunk, widths, strict=True)
            ]
            lines.append((_pad(name, margin) + _GAP + " ".join(shown)).rstrip())
        # a line that goes on needs no name
        labels = [""] * len(labels)
    return lines


def _columns(reference: Sequence[str], alignments: list[Sequence[Edit]]) -> list[list[_Cell]]:
    """Return columns of cells: one for each reference word, more where something is inserted."""
    inserted: list[list[list[_Cell]]] = []
    aligned: list[list[_Cell]] = []
    for edits in alignments:
        gaps: list[list[_Cell]] = [[] for _ in range(len(reference) + 1)]
        words: list[_Cell] = []
        for edit in edits:
            if edit.operation == "insertion":
                gaps[len(words)].append(_cell(edit))
            else:
                words.append(_cell(edit))
        inserted.append(gaps)
        aligned.append(words)
    columns: list[list[_Cell]] = []
    for place in range(len(reference) + 1):
        at_once = zip_longest(*(gaps[place] for gaps in inserted), fillvalue=_EMPTY)
        columns.extend([_EMPTY, *cells] for cells in at_once)
        if place < len(reference):
            columns.append([_Cell(reference[place], ""), *(words[place] for words in aligned)])
    return columns


def _chunks(columns: list[list[_Cell]], width: int) -> list[list[list[_Cell]]]:
    """Break columns into lines of a width; no column is broken."""
    chunks: list[list[list[_Cell]]] = [[]]
    used = 0
    for column in columns:
        wide = max(display_width(cell.text) for cell in column)
        if chunks[-1] and used + wide > width:
            chunks.append([])
            used = 0
        chunks[-1].append(column)
        used += wide + 1
    return chunks


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
    from decoding.corpus.writers import tsv_cell

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
    r"""Return a table for LaTeX with the rules of booktabs."""
    to_the_left = set(left)
    columns = "".join("l" if place in to_the_left else "r" for place in range(len(header)))
    lines = [
        *(f"% {' '.join(note.split())}" for note in notes),
        f"\\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_line(header),
        r"\midrule",
        *map(_latex_line, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "".join(line + "\n" for line in lines)


def markdown(
    header: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[int] = (0,)
) -> str:
    r"""Return a table for Markdown, as GitHub, MkDocs and Pandoc read it.

    Examples
    --------
    >>> print(markdown(["a", "b"], [["x|y", "0.5*"]]), end="")
    | a | b |
    | :--- | ---: |
    | x\|y | 0.5\* |
    """
    to_the_left = set(left)
    marks = [":---" if place in to_the_left else "---:" for place in range(len(header))]
    lines = [[_markdown_cell(cell) for cell in header], marks]
    lines += [[_markdown_cell(cell) for cell in row] for row in rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _markdown_cell(text: str) -> str:
    return re.sub(r"([\\|*_<`])", r"\\\1", text)


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(map(_latex_cell, cells)) + r" \\"


def _latex_cell(text: str) -> str:
    # a number, or one with its interval
    parts = re.findall(r"\[[^]]*\]|[^\s\[]+", text)
    if parts and all(map(_NUMBERS.fullmatch, parts)):
        return " ".join(f"${part}$" for part in parts)
    escaped = "".join(_SPECIAL.get(letter, letter) for letter in text)
    # a bracket after the end of a line would be its argument
    return "{}" + escaped if escaped.startswith(("[", "*")) else escaped


def p_value(number: float) -> str:
    """Return a p-value: three digits, or how small it is."""
    return f"{number:.3f}" if number >= 0.001 or math.isnan(number) else f"{number:.1e}"


def resampling_note(samples: int, seed: int, level: float, of: str = "segments") -> str:
    """Return how intervals were made."""
    import decoding

    return (
        f"fstmetrics {decoding.__version__}; {100 * level:g} % intervals by {samples} resamples "
        f"of the {of}, seed {seed}"
    )


def number_cell(value: object) -> str:
    """Return a cell of a table for programs: empty for None and for what is no number."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return value if isinstance(value, str) else repr(value)


def _show_cell(value: object) -> str:
    """Return a cell of a table for people: numbers with four digits after the point."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def tabular(columns: dict[str, list[Any]], format: str) -> bytes:
    """Return columns as ``csv`` or ``parquet``."""
    from decoding.frames import csv_bytes, parquet_bytes

    return csv_bytes(columns) if format == "csv" else parquet_bytes(columns)


def _parse_cells(cells: Iterable[str]) -> list[Any]:
    """Return the cells of a column as numbers, None where empty, if all of them are numbers.

    Examples
    --------
    >>> _parse_cells(["1", ""]), _parse_cells(["0.5", "2"]), _parse_cells(["a", "1"])
    ([1, None], [0.5, 2.0], ['a', '1'])
    """
    texts = list(cells)
    for number in (int, float):
        try:
            return [number(text) if text else None for text in texts]
        except ValueError:
            continue
    return texts


@dataclass(frozen=True)
class Report:
    """What a command found, in all the forms in which it can be written."""

    #: the table for people and for LaTeX
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: what stands below it
    notes: Sequence[str]
    #: the table for programs, its header first
    tsv_rows: Callable[[], Iterable[Sequence[str]]]
    #: the JSON document
    content: Callable[[], dict[str, Any]]
    #: the columns that are aligned to the left
    left: Sequence[int] = (0,)

    @classmethod
    def of_rows(
        cls,
        rows: Sequence[Mapping[str, Any]],
        notes: Sequence[str],
        *,
        shown: Sequence[Mapping[str, Any]] | None = None,
    ) -> Report:
        """Return a report of rows with the same columns, which are numbers and texts.

        ``shown`` are other rows for people, such as rows of systems with a column for each metric.
        """
        visible = rows if shown is None else shown
        header = list(visible[0]) if visible else []
        return cls(
            header,
            [[_show_cell(value) for value in row.values()] for row in visible],
            notes,
            tsv_rows=lambda: [
                list(rows[0]) if rows else [],
                *([number_cell(value) for value in row.values()] for row in rows),
            ],
            content=lambda: {"rows": [{**row} for row in rows], "notes": [*notes]},
            left=[
                place
                for place, name in enumerate(header)
                if any(isinstance(row[name], str) for row in visible)
            ],
        )

    def write(self, format: str) -> bytes:
        """Return the report in one of the formats of tables."""
        if format in TABULAR:
            header, *rows = self.tsv_rows()
            cells = zip(*rows, strict=True) if rows else ([] for _ in header)
            return tabular(dict(zip(header, map(_parse_cells, cells), strict=True)), format)
        return self._text(format).encode("utf-8")

    def _text(self, format: str) -> str:
        if format == "json":
            return document(self.content())
        if format == "tsv":
            return tsv(self.tsv_rows())
        if format == "latex":
            return latex(self.header, self.rows, self.left, self.notes)
        if format == "markdown":
            below = "".join(f"\n{_markdown_cell(note)}\n" for note in self.notes)
            return markdown(self.header, self.rows, self.left) + below
        return (
            "\n".join([table(self.header, self.rows, self.left), *format_notes(self.notes)]) + "\n"
        )
