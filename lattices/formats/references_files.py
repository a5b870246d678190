"""One file of references: what layouts it may have, and what ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lattices.errors import FormatError
from lattices.formats.base import text_lines
from lattices.formats.references_ids import FIELDS, IdTemplate, utterance_of
from lattices.formats.references_nist import READERS, Lines, Table, looks_like
from lattices.formats.streams import PathLike, display_name, opened

_BLANKS = " \t\v\f"


@dataclass(frozen=True)
class ReferenceFile:
    """The lines of one file, and the tables it may be by its content."""

    path: str
    lines: tuple[str, ...]
    tables: dict[str, Table] = field(default_factory=dict)
    by_lines: bool = True

    def repeated(self) -> tuple[str, int] | None:
        """Return the first id that occurs again, and its line."""
        seen: set[str] = set()
        for number, line in enumerate(self.lines, start=1):
            name = first_column(line)
            if name in seen:
                return name, number
            if name:
                seen.add(name)
        return None

    def begins_with_ids(self) -> bool:
        """Tell whether all lines begin with different words, each with a digit and words after."""
        first = [first_column(line) for line in self.lines if line]
        return (
            len(first) > 1
            and len(set(first)) == len(first)
            and all(any(map(str.isdigit, name)) for name in first)
            and any(len(first_column(line)) < len(line.strip(_BLANKS)) for line in self.lines)
        )

    def kaldi(self) -> Table:
        """Return the table of a file in Kaldi's layout."""
        again = self.repeated()
        if again:
            raise FormatError(f"a second line for the id {again[0]!r}", self.path, again[1])
        return Table(
            {
                first_column(line): line[len(first_column(line)) :].strip(_BLANKS)
                for line in self.lines
                if line
            }
        )

    def objection(self, layout: str, ids: Iterable[str]) -> str:
        """Return why the file cannot have this layout for these segments; empty if it can."""
        if layout in self.tables:
            known: Table | set[str] = self.tables[layout]
        elif layout == "kaldi" and self.by_lines:
            again = self.repeated()
            if again:
                return f"lines that begin with {again[0]!r} twice"
            known = set(map(first_column, self.lines))
        else:
            return f"no {layout}"
        missing = next((name for name in ids if name not in known), None)
        if missing is None:
            return ""
        return f"no {'line that begins with' if layout == 'kaldi' else 'id'} {missing!r}"

    def layout_for(self, ids: Sequence[str]) -> str:
        """Return the layout in which the file has these ids; empty if there is none."""
        fitting = (one for one in (*self.tables, "kaldi") if not self.objection(one, ids))
        return next(fitting, "")


def first_column(line: str) -> str:
    """Return what stands before the first blank."""
    for place, character in enumerate(line):
        if character in _BLANKS:
            return line[:place]
    return line


def hint(layout: str, table: Table, id: str) -> str:
    """Return what may help where an id is not found."""
    example = next(iter((*table.entries, *table.excluded)), "")
    if layout == "trn":
        ending = (name for name in table.entries if name.endswith(f"-{id}"))
        longer = next((name for name in ending if utterance_of(name) == id), "")
        if longer:
            return (
                f"; {longer!r} has the speaker in front, which the id template {{utterance}} drops"
            )
    if layout in FIELDS:
        fields = " ".join(f"{{{name}}}" for name in FIELDS[layout])
        return f"; its ids are such as {example!r}, an id template makes others of {fields}"
    return ""


def read_file(path: PathLike, format: str, template: IdTemplate | None) -> ReferenceFile:
    """Return a file, with the tables of its layout, or of those that its content fits in."""
    name = display_name(path)
    lines: list[str] = []
    with opened(path) as (_, stream):
        for number, line in text_lines(stream):
            try:
                lines.append(line.decode("utf-8").strip(_BLANKS))
            except UnicodeDecodeError as problem:
                raise FormatError(f"invalid UTF-8: {problem.reason}", name, number) from problem
    if not lines:
        raise FormatError("the file is empty", name)
    layouts = [format] if format in FIELDS else []
    if format == "auto":
        layouts = [
            layout
            for layout in FIELDS
            if looks_like(layout, lines) and (template is None or template.suits(layout))
        ]
        if {"ctm", "stm"} <= set(layouts):
            raise FormatError("could be ctm as well as stm; say which (format)", name)
        if template is not None and not layouts:
            raise FormatError("an id template, but not a trn, ctm or stm with its fields", name)
    tables = {layout: READERS[layout](Lines(name, lines), template) for layout in layouts}
    for layout, table in tables.items():
        if not (table.entries or table.excluded):
            raise FormatError(f"no segment of layout {layout}", name)
    return ReferenceFile(name, tuple(lines), tables, template is None)
