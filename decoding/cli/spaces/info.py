"""``fstmetrics info``: sizes of lattices, forests and n-best lists."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from decoding.cli.arguments import explain_nothing_done, report_failures
from decoding.cli.running import corpus_outcomes, explain_unscored
from decoding.cli.terminal import note
from decoding.plain_json import json_text

if TYPE_CHECKING:
    from decoding.corpus.table import Results

SUMMARY = "states, arcs, paths, density, depth and vocabulary of lattices"
DESCRIPTION = """\
Measure each lattice or n-best list, and all of them together.

paths       complete paths, exactly (shortened in the table); entries of an n-best list
density     arcs for each word of the model's best path
shortest, longest
            words of the shortest and of the longest path
vocabulary  different words
"""
EXAMPLES = """\
examples:
  fstmetrics info lattices.jsonl.gz
  fstmetrics info lattices/ --input-format htk --option tags=keep --format tsv -o sizes.tsv
"""
OPTIONS = """\
@inputs SPACES
@running
--index  write an index beside each file, by which --ids and lattices.open find segments, and
    nothing else
--format table|tsv|jsonl = table  output format (default: table); in tsv and jsonl the total is the
    last line
@output
"""

COLUMNS = ("states", "arcs", "paths", "density", "shortest", "longest", "vocabulary")


def _write_indices(arguments: argparse.Namespace) -> int:
    """Write an index beside each file."""
    from decoding.corpus.inputs import Inputs
    from lattices.formats.lookup import open as open_segments

    inputs = Inputs(arguments.paths, arguments.input_format, tell=note)
    for file in inputs.files:
        options = dict(arguments.option)
        found = open_segments(file, arguments.input_format, index=True, **options)
        note(f"{file}: {len(found):,} segments can be found by id")
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    if arguments.index:
        return _write_indices(arguments)
    from decoding.corpus.outcomes import Failure, Failures
    from decoding.tasks.info import InfoTask
    from lattices.formats.streams import open_output

    failures = Failures()
    total = _Total()
    with (
        open_output(arguments.output) as output,
        _allow_all_digits(),
        corpus_outcomes(InfoTask(), arguments) as outcomes,
    ):
        write = _WRITERS[arguments.format](output)
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                total.add(outcome.result)
                write(outcome.id, {name: outcome.result[name] for name in COLUMNS})
        if not total.segments:
            raise explain_nothing_done(failures, "nothing could be measured")
        write(None, total.row())
        write.close()
    report_failures(failures)
    for line in explain_unscored(total.row()):
        note(line)
    return 1 if failures else 0


@contextmanager
def _allow_all_digits() -> Iterator[None]:
    """Lift Python's limit on the digits of a printed number."""
    if not hasattr(sys, "set_int_max_str_digits"):
        yield
        return
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)


class _Total:
    """All segments together."""

    def __init__(self) -> None:
        self.segments = 0
        self._states: int | None = None
        self._arcs: int | None = None
        self._paths = 0
        self._best_words = 0.0
        self._lengths: list[int] = []
        self._words: set[str] = set()
        self.unscored = 0

    def add(self, info: Results) -> None:
        self.segments += 1
        arcs, density = info["arcs"], info["density"]
        if arcs is not None:
            self._states = info["states"] + (self._states or 0)
            self._arcs = arcs + (self._arcs or 0)
        self._paths += info["paths"]
        if density:
            self._best_words += (arcs or 0) / density
        if info["shortest"] is not None:
            seen = (*self._lengths, info["shortest"], info["longest"])
            self._lengths = [min(seen), max(seen)]
        self._words |= info["words"]
        self.unscored += info["unscored"]

    def row(self) -> dict[str, Any]:
        shortest, longest = self._lengths or (None, None)
        density = (self._arcs or 0) / self._best_words if self._best_words else None
        values = (self._states, self._arcs, self._paths, density, shortest, longest)
        return {
            "segments": self.segments,
            "unscored": self.unscored,
            **dict(zip(COLUMNS, (*values, len(self._words)), strict=True)),
        }


class _AlignedColumns:
    """Aligned columns, for people: written when all widths are known."""

    def __init__(self, output: Any) -> None:
        self._output = output
        self._rows: list[list[str]] = []

    def __call__(self, name: str | None, row: dict[str, Any]) -> None:
        from decoding.cli.tables import shorten

        shown = f"total of {row['segments']}" if name is None else name
        cells = [
            "-" if value is None else f"{value:.1f}" if isinstance(value, float) else shorten(value)
            for value in (row[column] for column in COLUMNS)
        ]
        self._rows.append([shown, *cells])

    def close(self) -> None:
        from decoding.cli.tables import table

        self._output.write((table(["id", *COLUMNS], self._rows) + "\n").encode("utf-8"))


class _Tsv:
    """Tab-separated columns under a header; what is not known is left empty."""

    def __init__(self, output: Any) -> None:
        self._output = output
        output.write(("\t".join(["id", *COLUMNS]) + "\n").encode("utf-8"))

    def __call__(self, name: str | None, row: dict[str, Any]) -> None:
        cells = ["" if row[column] is None else str(row[column]) for column in COLUMNS]
        from decoding.corpus.writers import tsv_cell

        line = [tsv_cell("total" if name is None else name), *cells]
        self._output.write(("\t".join(line) + "\n").encode("utf-8"))

    def close(self) -> None:
        """Every line is written already."""


class _JsonLines:
    """One object a segment; the last is ``{"total": {...}}``."""

    def __init__(self, output: Any) -> None:
        self._output = output

    def __call__(self, name: str | None, row: dict[str, Any]) -> None:
        line = {"total": row} if name is None else {"id": name, **row}
        self._output.write(json_text(line).encode("utf-8") + b"\n")

    def close(self) -> None:
        """Every line is written already."""


_WRITERS: dict[str, Any] = {"table": _AlignedColumns, "tsv": _Tsv, "jsonl": _JsonLines}
