"""References from text files: one file a reference.

Two layouts have one line a segment, and nothing in a file says which it is: Kaldi's ``text``,
where a line is ``id words`` in any order, and plain parallel files, where line i belongs to
segment i. Three more are those of NIST's sclite, whose transcripts may have alternatives: trn,
ctm and stm, see :mod:`lattices.formats.references.nist`. What commands write is known by its
content as well: tsv, see :mod:`lattices.formats.references.from_results`, and lists of one sentence
(JSON lines, CSV, Parquet, ...).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from lattices.errors import FormatError, OptionError, UnknownNameError
from lattices.formats.references.files import (
    RESULTS,
    ReferenceFile,
    find_other_case,
    first_column,
    hint,
    read_file,
)
from lattices.formats.references.ids import FIELDS, READERS, IdTemplate, ReferenceTable
from lattices.formats.streams import PathLike
from lattices.spaces import Lattice

LAYOUTS = ("auto", "kaldi", "plain", *FIELDS, RESULTS)


class References:
    """The references of all segments, looked up one segment at a time.

    Made by :func:`read_references`.

    Attributes
    ----------
    guessed : bool
        Whether the layout was not given, but is found by what is in the files.
    """

    def __init__(
        self,
        files: Sequence[ReferenceFile],
        layout: str,
        option: str = "format=",
        variants: bool = False,
        what: str = "reference",
    ) -> None:
        self._files = tuple(files)
        self._option, self._variants, self._what = option, variants, what
        self.guessed = layout == "auto"
        self._tables: list[ReferenceTable] = []
        self._layouts: tuple[str, ...] = (layout,) * len(self._files)
        if layout not in ("auto", "plain"):
            self._use(self._layouts)

    @property
    def layout(self) -> str:
        """``kaldi`` for references by id, whatever the file; ``plain``; ``auto`` if undecided."""
        return "kaldi" if self._tables else self._layouts[0]

    @property
    def layouts(self) -> tuple[str, ...]:
        """The layout of each file, ``auto`` as long as it is not decided."""
        return self._layouts

    def __len__(self) -> int:
        """Return the number of ids of the first file, or of its lines if they have none."""
        return len(self._tables[0].entries) if self._tables else len(self._files[0].lines)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the first file, in its order; none if the layout is plain or undecided."""
        return tuple(self._tables[0].entries) if self._tables else ()

    def _use(self, layouts: Sequence[str], note: str = "") -> None:
        pairs = list(zip(self._files, layouts, strict=True))
        for file, layout in pairs:
            if self.guessed and layout == "kaldi" and file.has_scores():
                raise FormatError(
                    f"every line is an id, a number and words; {self._option}kaldi takes the "
                    f"number for a word, {self._option}{RESULTS} for a score",
                    file.path,
                )
        self._tables = [
            file.kaldi(note) if layout == "kaldi" else file.tables[layout] for file, layout in pairs
        ]
        self._layouts = tuple(layouts)

    def explain_readings(self) -> str:
        """Return how to say whether lines begin with ids, to be put behind what is wrong."""
        return (
            f"; {self._option}kaldi takes the first word of each line for its id, "
            f"{self._option}plain takes line i for segment i, all of its words"
        )

    def _refuse_ids(self, ids: Sequence[str]) -> None:
        """Raise FormatError if some file is by id to all appearances, but not all have the ids."""
        by_id = next((file for file in self._files if file.tables), None)
        if by_id is None:
            return
        file = next(file for file in self._files if not file.layout_for_all(ids))
        for layout, table in file.tables.items():
            missing = next(name for name in ids if name not in table)
            raise FormatError(
                f"no {self._what} for {missing!r}, though it looks like {layout}"
                f"{hint(layout, table, missing)}; if it is plain text, {self._option}plain",
                file.path,
            )
        raise FormatError(
            f"{file.find_objection('kaldi', ids)}, but {by_id.path} is by id", file.path
        )

    def settle(self, ids: Iterable[str]) -> None:
        """Decide the layout from the first few segments: by id if the files have their ids."""
        names = list(ids)
        if self.layout != "auto" or not names:
            return
        layouts = [file.layout_for(names) for file in self._files]
        if all(layouts) and "plain" not in layouts:
            self._use(layouts, self.explain_readings())
        elif set(layouts) == {"plain"}:
            self._layouts = tuple(layouts)
        else:
            self._refuse_ids([name for name in names if not self._have(name)] or names[:1])
            self._refuse(layouts, names)

    def _have(self, name: str) -> bool:
        return all(file.layout_for_all([name]) for file in self._files)

    def _refuse(self, layouts: Sequence[str], names: Sequence[str]) -> NoReturn:
        """Raise the error of the first file in doubt, or of a plain one among others."""
        file = self._files[layouts.index("" if "" in layouts else "plain")]
        pairs = zip(self._files, layouts, strict=True)
        by_id = next((one for one, layout in pairs if layout not in ("", "plain")), None)
        found = next((name for name in names if name in file.first_words), "")
        missing = next((name for name in names if name not in file.first_words), "")
        if not file.first_words:
            problem = f"no words in {len(file.lines)} lines"
        elif not file.last_ids.isdisjoint(names):
            problem = "some lines end in ids, as those of a trn do, and others do not"
        elif by_id is not None:
            problem = f"no line begins with {missing!r}, but {by_id.path} is by id"
        elif found:
            problem = f"a line begins with the id {found!r}, but none with {missing!r}"
        elif file.begins_with_ids():
            unnamed = first_column(missing) != missing or not missing
            nothing = "segments have no ids" if unnamed else f"no line for {missing!r}"
            problem = (
                f"{nothing}, though lines begin with what look like ids "
                f"({next(iter(file.first_words))!r})"
            )
        else:
            problem = (
                f"no line begins with {missing!r}, and first words, which are all different, could "
                f"be other ids ({next(iter(file.first_words))!r})"
            )
        case = "" if found else find_other_case(missing, file.first_words)
        raise FormatError(problem + case + self.explain_readings(), file.path)

    def decide(self, ids: Sequence[str]) -> None:
        """Settle the layout for these segments, which are all there are."""
        if self.layout == "auto":
            layouts = [file.layout_for_all(ids) for file in self._files]
            if all(layouts):
                self._use(layouts)
            else:
                self._refuse_ids(ids)
                if len(ids) != len(self):
                    file = self._files[layouts.index("")]
                    raise FormatError(
                        f"{len(self)} lines for {len(ids)} segments, and "
                        f"{file.find_objection('kaldi', ids)}: neither plain nor by id",
                        file.path,
                    )
                self.settle(ids)
        for position, name in enumerate(ids):
            self.get(name, position)
        self.finish(len(ids))

    def get(self, id: str, position: int) -> tuple[str | Lattice, ...]:
        """Return the references of one segment, one for each file."""
        self.settle([id])
        if not self._tables:
            if not 0 <= position < len(self):
                raise FormatError(
                    f"{len(self)} lines, and no {self._what} for segment {position + 1} ({id!r})",
                    self._files[0].path,
                )
            return tuple(
                self._take_variants(file.lines[position], id, file) for file in self._files
            )
        found: list[str | Lattice] = []
        for file, table, layout in zip(self._files, self._tables, self._layouts, strict=True):
            if id in table.excluded:
                raise FormatError(f"{id!r} is excluded from scoring", file.path, table.excluded[id])
            if id not in table.entries:
                what = "lines" if layout == "kaldi" else f"segments ({layout})"
                raise FormatError(
                    f"no {self._what} for {id!r} in {len(table.entries)} {what}"
                    + hint(layout, table, id),
                    file.path,
                )
            entry = table.entries[id]
            found.append(
                self._take_variants(entry, id, file)
                if isinstance(entry, str)
                else entry.lattice(id)
            )
        return tuple(found)

    def _take_variants(self, text: str, id: str, file: ReferenceFile) -> str | Lattice:
        """Return a reference; one with variants is a lattice."""
        if not self._variants or "|" not in text:
            return text
        from lattices.formats.references.nist import parse_variants

        try:
            found = parse_variants(text)
        except ValueError as problem:
            raise FormatError(f"the reference has {problem}", file.path) from None
        return found if isinstance(found, str) else found.lattice(id)

    def finish(self, segments: int) -> None:
        """Check that plain files had a line for each segment and none left over."""
        if self.layout == "plain" and segments != len(self):
            raise FormatError(f"{len(self)} lines for {segments} segments", self._files[0].path)


def read_references(
    paths: Sequence[PathLike],
    ids: Sequence[str] | None = None,
    *,
    format: str = "auto",
    id_template: str | None = None,
    variants: bool = False,
    option: str = "format=",
    what: str = "reference",
) -> References:
    """Read the references of a set of segments, one from each file.

    Parameters
    ----------
    paths
        One file for each reference of a segment; plain or gzip, UTF-8, with or without a
        byte order mark.
    ids
        All the segments, if they are known: then everything is checked now.
    format : {"auto", "kaldi", "plain", "trn", "ctm", "stm", "tsv"} or str
        The layout, or that of a plug-in. ``auto`` takes one of these by id in which all lines fit
        and the ids are found; else plain, if there are as many lines as segments and the first
        words cannot be ids: not most of them have a digit or a ``_``, and they are not all
        different, or the segments are mere numbers, none of which is among them. Where that does
        not decide, and for an id that two lines have, it is an error; so it is where every line is
        an id, a number and words.
    id_template : str, optional
        How ids are made of the fields of trn, ctm or stm, such as ``{file}-{channel}``; see
        :mod:`lattices.formats.references.nist`.
    variants : bool
        ``[Anne|Ann]`` in a reference stands for either, ``[um|]`` for a word or none: a lattice.
    option : str
        How messages call ``format``, such as ``--refs-format``.
    what : str
        What messages call the texts.

    Raises
    ------
    FormatError
        For plain files of different lengths, invalid UTF-8, a second line of one id, a transcript
        that is damaged, or what fits in no layout.
    OptionError
        For an unknown layout, or a template that the layout has no fields for.
    OSError
        If a file cannot be opened.
    """
    if format not in LAYOUTS:
        try:
            READERS.get(format)
        except UnknownNameError as problem:
            known = dict.fromkeys((*LAYOUTS, *problem.known))
            raise UnknownNameError("reference layout", format, known) from None
    if isinstance(paths, str) or not paths:
        raise OptionError("expected a list of one reference file or more")
    template = None if id_template is None else IdTemplate(id_template)
    if template is not None and format != "auto" and not template.suits(format):
        fields = ", ".join(FIELDS.get(format, ())) or "none"
        raise OptionError(f"id template {id_template!r}: the fields of {format} are {fields}")
    files = [read_file(path, format, template) for path in paths]
    by_lines = [file for file in files if not file.tables]
    for file in by_lines[1:]:
        if len(file.lines) != len(by_lines[0].lines):
            raise FormatError(
                f"{len(file.lines)} lines, but {len(by_lines[0].lines)} in {by_lines[0].path}",
                file.path,
            )
    references = References(files, format, option, variants, what)
    if ids is not None:
        references.decide(ids)
    return references
