"""References from text files: one file a reference, one line a segment.

Two layouts are in use, and nothing in a file says which it is: Kaldi's ``text``, where
a line is ``id words`` in any order, and plain parallel files, where line i belongs to segment i.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lattices.errors import FormatError, OptionError
from lattices.formats.base import text_lines
from lattices.formats.streams import PathLike, display_name, opened

_BLANKS = " \t\v\f"
_LAYOUTS = ("auto", "kaldi", "plain")


@dataclass(frozen=True)
class _File:
    """The lines of one file."""

    path: str
    lines: tuple[str, ...]

    def repeated(self) -> tuple[str, int] | None:
        """Return the first id that occurs again, and its line."""
        seen: set[str] = set()
        for number, line in enumerate(self.lines, start=1):
            name = _id(line)
            if name in seen:
                return name, number
            if name:
                seen.add(name)
        return None

    def begins_with_ids(self) -> bool:
        """Tell whether all lines begin with different words, each with a digit and words after."""
        first = [_id(line) for line in self.lines if line]
        return (
            len(first) > 1
            and len(set(first)) == len(first)
            and all(any(map(str.isdigit, name)) for name in first)
            and any(len(_id(line)) < len(line.strip(_BLANKS)) for line in self.lines)
        )

    def by_id(self) -> dict[str, str]:
        return {_id(line): line[len(_id(line)) :].strip(_BLANKS) for line in self.lines if line}


def _id(line: str) -> str:
    for place, character in enumerate(line):
        if character in _BLANKS:
            return line[:place]
    return line


class References:
    """The references of all segments, looked up one segment at a time.

    Made by :func:`read_references`. Where the layout was not given and the ids were not
    known, :meth:`settle` decides by a few segments, or the first one that is looked up:
    Kaldi's if its id is one of the first columns, which are all different, in every file;
    plain if not, unless the lines begin with what look like ids.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "text")
    >>> _ = file.write_text("utt1 a small house\\nutt2\\n")
    >>> references = read_references([file])
    >>> references.get("utt2", 0), references.get("utt1", 1), references.layout
    (('',), ('a small house',), 'kaldi')
    >>> references.finish(2)
    """

    def __init__(self, files: Sequence[_File], layout: str) -> None:
        self._files = tuple(files)
        self._tables: list[dict[str, str]] = []
        self._layout = layout
        if layout == "kaldi":
            self._use_ids()

    @property
    def layout(self) -> str:
        """``kaldi``, ``plain``, or ``auto`` as long as it is not decided."""
        return self._layout

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self._files[0].lines)

    def _use_ids(self) -> None:
        for file in self._files:
            again = file.repeated()
            if again:
                raise FormatError(f"a second line for the id {again[0]!r}", file.path, again[1])
        self._layout = "kaldi"
        self._tables = [file.by_id() for file in self._files]

    def settle(self, ids: Iterable[str]) -> None:
        """Settle the layout by the first few segments: by id if the files have any of them.

        Raises
        ------
        FormatError
            If the files have none of them, but look as if they began their lines with ids:
            taking ids for words would give every segment wrong references without a word.
        """
        names = list(ids)
        if self._layout != "auto" or not names:
            return
        if any(not self._objection([name]) for name in names):
            self._use_ids()
            return
        for file in self._files:
            if file.begins_with_ids():
                raise FormatError(
                    f"no line for {names[0]!r}, though lines begin with what look like ids "
                    f"({_id(file.lines[0])!r}); if they are plain text, say so (format plain)",
                    file.path,
                )
        self._layout = "plain"

    def _objection(self, ids: Iterable[str]) -> str:
        """Return why the files cannot be Kaldi's for these segments; empty if they can."""
        for file in self._files:
            again = file.repeated()
            if again:
                return f"lines that begin with {again[0]!r} twice"
            known = set(map(_id, file.lines))
            missing = next((name for name in ids if name not in known), None)
            if missing is not None:
                return f"no line that begins with {missing!r}"
        return ""

    def decide(self, ids: Sequence[str]) -> None:
        """Settle the layout for these segments, which are all there are.

        Raises
        ------
        FormatError
            If the files fit in neither layout; the message has the counts and the first id
            that no line begins with.
        """
        if self._layout == "auto":
            objection = self._objection(ids)
            if not objection:
                self._use_ids()
            elif len(ids) == len(self):
                self._layout = "plain"
            else:
                raise FormatError(
                    f"{len(self)} lines for {len(ids)} segments, and {objection}: neither plain "
                    "nor by id",
                    self._files[0].path,
                )
        for position, name in enumerate(ids):
            self.get(name, position)
        self.finish(len(ids))

    def get(self, id: str, position: int) -> tuple[str, ...]:
        """Return the references of one segment, one for each file.

        Parameters
        ----------
        id : str
            The segment's name, which decides in Kaldi's layout.
        position : int
            Which segment it is, from 0, counting those that were skipped: it decides in the
            plain layout.

        Raises
        ------
        FormatError
            If there is none.
        """
        self.settle([id])
        if self._layout == "plain":
            if not 0 <= position < len(self):
                raise FormatError(
                    f"{len(self)} lines, and no reference for segment {position + 1} ({id!r})",
                    self._files[0].path,
                )
            return tuple(file.lines[position] for file in self._files)
        for file, table in zip(self._files, self._tables, strict=True):
            if id not in table:
                raise FormatError(f"no reference for {id!r} in {len(table)} lines", file.path)
        return tuple(table[id] for table in self._tables)

    def finish(self, segments: int) -> None:
        """Check that plain files had a line for each segment and none left over.

        Raises
        ------
        FormatError
            If the numbers differ.
        """
        if self._layout == "plain" and segments != len(self):
            raise FormatError(f"{len(self)} lines for {segments} segments", self._files[0].path)


def read_references(
    paths: Sequence[PathLike], ids: Sequence[str] | None = None, *, format: str = "auto"
) -> References:
    """Read the references of a set of segments, one from each file.

    Parameters
    ----------
    paths
        One file for each reference of a segment; plain or gzip, UTF-8, with or without a
        byte order mark.
    ids
        All the segments, if they are known: then everything is checked now.
    format : {"auto", "kaldi", "plain"}
        The layout. ``auto`` takes Kaldi's if the first columns are all different and the
        ids are among them; else plain, if there are as many lines as segments.

    Raises
    ------
    FormatError
        For files of different lengths, invalid UTF-8, a second line of one id, or what fits
        in neither layout.
    OSError
        If a file cannot be opened.
    """
    if format not in _LAYOUTS:
        raise OptionError(f"format={format!r}, expected one of {', '.join(_LAYOUTS)}")
    if isinstance(paths, str) or not paths:
        raise OptionError("expected a list of one reference file or more")
    files = [_read(path) for path in paths]
    for file in files[1:]:
        if len(file.lines) != len(files[0].lines):
            raise FormatError(
                f"{len(file.lines)} lines, but {len(files[0].lines)} in {files[0].path}", file.path
            )
    references = References(files, format)
    if ids is not None:
        references.decide(ids)
    return references


def _read(path: PathLike) -> _File:
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
    return _File(name, tuple(lines))
