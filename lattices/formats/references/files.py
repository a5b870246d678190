"""One file of references: what layouts it may have, and what ids."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import BinaryIO

from lattices.caching import cached_property
from lattices.errors import FormatError, argument
from lattices.formats.base import Format, decode_lines
from lattices.formats.reading import load_formats, parse_record, sniffs
from lattices.formats.references.from_results import are_results, look_like_scores, read_results
from lattices.formats.references.ids import (
    FIELDS,
    IdTemplate,
    ReferenceTable,
    read_table,
    second_line,
    strip_speaker,
)
from lattices.formats.streams import PathLike, display_name, open_input
from lattices.spaces import NBest
from lattices.vocabulary import Vocabulary

#: the layout of our own results in columns
RESULTS = "tsv"

_BLANKS = " \t\v\f"
#: the separator in the first line of all lists; only a table of single words has no blank
_MARKS = re.compile(rb"^\s*\{|\t|\|\|\||[^\x09-\x0d\x20-\xff]")


class ReferenceFile:
    """The lines of one file, and the tables it may be by its content."""

    def __init__(
        self, path: str, lines: Sequence[str], tables: Mapping[str, ReferenceTable], by_lines: bool
    ) -> None:
        self.path, self.lines, self.tables, self.by_lines = path, lines, tables, by_lines

    @cached_property
    def first_words(self) -> dict[str, int]:
        """What stands before the first blank of each line that has words, and its first line."""
        found: dict[str, int] = {}
        for number, line in enumerate(self.lines, start=1):
            if line:
                found.setdefault(first_column(line), number)
        return found

    @cached_property
    def repeated(self) -> tuple[str, int] | None:
        """The first word before a blank that begins a line again, and that line."""
        numbered = ((first_column(line), n) for n, line in enumerate(self.lines, start=1) if line)
        return next(((name, n) for name, n in numbered if n != self.first_words[name]), None)

    @cached_property
    def last_ids(self) -> frozenset[str]:
        """What stands in brackets at the end of lines; all lines of a trn have their ids there."""
        from lattices.formats.references.nist import trn_id

        return frozenset(id for line in self.lines if (id := trn_id(line)))

    def begins_with_ids(self) -> bool:
        """Tell whether most lines begin with a word that has a digit or a ``_``, as ids have."""
        first = [first_column(line) for line in self.lines if line]
        like_ids = [name for name in first if "_" in name or any(map(str.isdigit, name))]
        return 2 * len(like_ids) > len(first)

    def has_scores(self) -> bool:
        """Tell whether what follows the first word of each line looks like a score."""
        return look_like_scores([line[len(first_column(line)) :] for line in self.lines if line])

    def kaldi(self, note: str = "") -> ReferenceTable:
        """Return the table of a file in Kaldi's layout."""
        if self.repeated:
            name, line = self.repeated
            problem = second_line(name, self.path, self.first_words[name]) + note
            raise FormatError(problem, self.path, line)
        return ReferenceTable(
            {
                first_column(line): line[len(first_column(line)) :].strip(_BLANKS)
                for line in self.lines
                if line
            }
        )

    def find_objection(self, layout: str, ids: Iterable[str]) -> str:
        """Return why the file cannot have this layout for these segments; empty if it can."""
        if layout in self.tables:
            known: Container[str] = self.tables[layout]
        elif layout == "kaldi" and self.by_lines:
            if self.repeated:
                return f"lines that begin with {self.repeated[0]!r} twice"
            known = self.first_words
        else:
            return f"no {layout}"
        missing = next((name for name in ids if name not in known), None)
        if missing is None:
            return ""
        return f"no {'line that begins with' if layout == 'kaldi' else 'id'} {missing!r}"

    def layout_for_all(self, ids: Sequence[str]) -> str:
        """Return the layout in which the file has all of these ids; empty if there is none."""
        fitting = (one for one in (*self.tables, "kaldi") if not self.find_objection(one, ids))
        return next(fitting, "")

    def layout_for(self, ids: Sequence[str]) -> str:
        """Return the layout of a file for some of the segments; empty where there is a doubt.

        By id is a file that has half of these ids, or one whose lines seem to begin with ids.
        """
        by_table = (one for one, table in self.tables.items() if any(id in table for id in ids))
        found = next(by_table, "")
        if found or not self.by_lines:
            return found
        hits = sum(name in self.first_words for name in ids)
        like_ids = self.begins_with_ids()
        if hits and (like_ids or 2 * hits >= len(ids)):
            return "kaldi"
        if self.tables or like_ids or not self.last_ids.isdisjoint(ids):
            return ""
        in_order = bool(self.first_words) and not hits and not any(map(is_own_id, ids))
        return "plain" if self.repeated or in_order else ""


def first_column(line: str) -> str:
    """Return what stands before the first blank."""
    for place, character in enumerate(line):
        if character in _BLANKS:
            return line[:place]
    return line


def is_own_id(id: str) -> bool:
    """Tell whether a file could have this id in its first column, and it is no mere number.

    Numbers are given by readers and decoders, and say no more than the order does.
    """
    return first_column(id) == id != "" and not id.isdecimal()


def find_other_case(id: str, known: Iterable[str]) -> str:
    """Return that an id is there in capitals, or without them; empty if it is not."""
    folded = id.casefold()
    found = next((name for name in known if name.casefold() == folded), None)
    return "" if found is None else f"; {found!r} is it in another case"


def hint(layout: str, table: ReferenceTable, id: str) -> str:
    """Return what may help where an id is not found."""
    case = find_other_case(id, table.entries)
    if case:
        return case
    example = next(iter((*table.entries, *table.excluded)), "")
    if layout == "trn":
        ending = (name for name in table.entries if name.endswith(f"-{id}"))
        longer = next((name for name in ending if strip_speaker(name) == id), "")
        if longer:
            option = argument("references.id_template", "{utterance}")
            return (
                f"; {longer!r} has the speaker in front, which the id template {{utterance}} drops "
                f"({option})"
            )
    if layout in FIELDS:
        fields = " ".join(f"{{{name}}}" for name in FIELDS[layout])
        option = argument("references.id_template", "TEMPLATE")
        return f"; its ids are such as {example!r}, {option} makes others of {fields}"
    return ""


def read_file(path: PathLike, format: str, template: IdTemplate | None) -> ReferenceFile:
    """Return a file, with the tables of its layout, or of those that its content fits in."""
    name = display_name(path)
    with open_input(path) as (head, stream):
        lists = _lists(head) if format == "auto" and template is None else None
        if lists is not None:
            return ReferenceFile(name, (), {lists.name: _sentences(lists, stream, name)}, False)
        rows = [line for _, line in decode_lines(stream, name)]
    if not rows:
        raise FormatError("the file is empty", name)
    if format == RESULTS or (format == "auto" and template is None and are_results(rows)):
        found = read_results(rows, name)
        table = ReferenceTable({id: result.text for id, result in found.items()})
        return ReferenceFile(name, (), {RESULTS: table}, False)
    lines = [row.strip(_BLANKS) for row in rows]
    if format in ("kaldi", "plain"):
        return ReferenceFile(name, lines, {}, template is None)
    from lattices.formats.references.nist import TranscriptLines, looks_like

    layouts = [format]
    if format == "auto":
        layouts = [
            layout
            for layout in FIELDS
            if looks_like(layout, lines) and (template is None or template.suits(layout))
        ]
        if {"ctm", "stm"} <= set(layouts):
            option = argument("references.format", "NAME")
            raise FormatError(f"could be ctm as well as stm; say which ({option})", name)
        if template is not None and not layouts:
            raise FormatError("an id template, but not a trn, ctm or stm with its fields", name)
    tables = {each: read_table(each, TranscriptLines(name, lines), template) for each in layouts}
    for layout, table in tables.items():
        if not (table.entries or table.excluded):
            raise FormatError(f"no segment of layout {layout}", name)
    return ReferenceFile(name, lines, tables, template is None)


def _lists(head: bytes) -> Format | None:
    """Return the format of lists that a file is in; None for lines of text."""
    first = head.split(b"\n", 1)[0]
    if not _MARKS.search(first) and b" " in first:
        # words alone: no need to load all formats
        return None
    some = (
        entry for entry in load_formats() if entry.kind in ("nbest", "any") and not entry.single
    )
    return next((entry for entry in some if sniffs(entry, head)), None)


def _sentences(format: Format, stream: BinaryIO, path: str) -> ReferenceTable:
    """Return the one sentence of each list."""
    table = ReferenceTable()
    for record in format.records(stream, path):
        space = parse_record(format, record, Vocabulary())
        if not isinstance(space, NBest) or len(space) != 1:
            raise record.error(
                f"segment {space.id!r} is no list of one sentence ({format.name}), as a reference "
                "has to be"
            )
        if space.id in table:
            raise record.error(f"a second sentence of segment {space.id!r}")
        table.entries[space.id] = " ".join(space.tokens(0))
    if not table.entries:
        raise FormatError("the file is empty", path)
    return table
