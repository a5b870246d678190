"""File format protocol: records that are cut cheaply, and parsed one by one.

Cutting a file needs no understanding of it beyond where one segment ends and the next
begins. A record is plain data, so it can be pickled and parsed in another process, and a
record that does not parse loses nothing but itself.
"""

from __future__ import annotations

import re
import warnings
from abc import abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, Protocol, TypeVar, runtime_checkable

from lattices.errors import FormatError, argument
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.features import make_rows
from lattices.vocabulary import Vocabulary

S = TypeVar("S", Lattice, NBest, Forest)

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: What separates words. ``str.split`` would also cut at U+00A0, U+2028 and U+3000, which
#: tokenizers leave inside words; ``str.strip`` would take them away.
BLANKS = " \t\n\v\f\r"
_LONGEST_MESSAGE = 400
_FEATURES = ("features", "final_features")
_WORD = re.compile(f"[^{BLANKS}]+")


class LossWarning(UserWarning):
    """Something a file could not hold was left out, as ``lossy=True`` allowed."""


@dataclass(frozen=True)
class Record:
    """One segment as it stands in the file.

    Attributes
    ----------
    payload : bytes
        The segment's bytes, decompressed.
    path : str
        The file, as it appears in error messages.
    line : int
        The first line of the segment, from 1; 0 where lines mean nothing.
    number : int
        The position of the segment in the file, from 0.
    """

    payload: bytes
    path: str
    line: int
    number: int

    def error(self, problem: str, after: int = 0) -> FormatError:
        """Return an error placed ``after`` lines below the first line of the record."""
        if len(problem) > _LONGEST_MESSAGE:
            # a word of 100,000 characters is a line of the file, but no message
            problem = f"{problem[: _LONGEST_MESSAGE // 2]} ... {problem[-_LONGEST_MESSAGE // 2 :]}"
        return FormatError(problem, self.path, self.line + after)

    def text(self) -> str:
        """Return the payload as UTF-8 text; the error for invalid bytes names their line."""
        try:
            return self.payload.decode("utf-8")
        except UnicodeDecodeError as problem:
            above = self.payload.count(b"\n", 0, problem.start)
            raise self.error(f"invalid UTF-8: {problem.reason}", above) from problem


class Unsupported:
    """What a writer had to leave out: an error, unless losses are allowed.

    A format calls :meth:`add`; :func:`lattices.formats.write` emits the one warning.

    Parameters
    ----------
    format_name : str
        The format that cannot hold it.
    allowed : bool
        Whether a loss is collected (True) or raised as a FormatError (False).

    Examples
    --------
    >>> losses = Unsupported("plain", allowed=True)
    >>> losses.add("features", "segment 'a'")
    >>> losses.add("features", "segment 'b'")
    >>> losses.message
    "plain cannot hold, and left out: features (first in segment 'a')"
    >>> Unsupported("plain", allowed=False).add("times", "segment 'a'")
    Traceback (most recent call last):
    lattices.errors.FormatError: plain cannot hold the times of segment 'a'; lossy=True leaves ...
    """

    def __init__(self, format_name: str, allowed: bool = False) -> None:
        self.format_name, self.allowed = format_name, allowed
        self._first: dict[str, str] = {}

    def add(self, what: str, where: str) -> None:
        """Note that ``what`` (a plural noun) of ``where`` is left out, or raise FormatError."""
        if not self.allowed:
            raise FormatError(
                f"{self.format_name} cannot hold the {what} of {where}; "
                f"{argument('write.lossy', True)} leaves them out"
            )
        self._first.setdefault(what, where)

    @property
    def message(self) -> str:
        """What was lost, and where first; empty when nothing was."""
        if not self._first:
            return ""
        listed = "; ".join(f"{what} (first in {where})" for what, where in self._first.items())
        return f"{self.format_name} cannot hold, and left out: {listed}"

    def warn(self) -> None:
        """Emit one :class:`LossWarning` if anything was lost."""
        if self._first:
            warnings.warn(self.message, LossWarning, stacklevel=3)


def require_kind(kind: type[S], spaces: Iterable[Space], losses: Unsupported) -> Iterator[S]:
    """Iterate over segments that a writer can hold; one of another kind is a FormatError."""
    for space in spaces:
        if not isinstance(space, kind):
            raise FormatError(
                f"{losses.format_name} holds no {type(space).__name__} ({space.id!r})"
            )
        yield space


def note_losses(
    space: Space, losses: Unsupported, *held: str, metadata: Container[str] = ()
) -> None:
    """Give to ``losses`` what a file cannot hold of a segment.

    Parameters
    ----------
    space, losses
    *held
        What it can hold of features, times, categories, spans, source texts and references.
    metadata
        The keys of the metadata that it can hold.
    """
    for what, is_present in _CARRIED.items():
        if what not in held and is_present(space):
            losses.add(what, f"segment {space.id!r}")
    if "metadata" not in held and any(key not in metadata for key in space.metadata):
        losses.add("metadata", f"segment {space.id!r}")


#: what a segment may have, and how to tell
_CARRIED: Mapping[str, Callable[[Any], bool]] = {
    "features": lambda space: any(make_rows(space, each) is not None for each in _FEATURES),
    "times": lambda space: getattr(space, "times", None) is not None,
    "categories": lambda space: bool(getattr(space, "categories", ())),
    "spans": lambda space: getattr(space, "spans", None) is not None,
    "source texts": lambda space: bool(space.source),
    "references": lambda space: bool(space.references),
}


@runtime_checkable
class Format(Protocol):
    """One file format, reader and writer; registered in the group ``lattices.formats``.

    A format may subclass this protocol or merely look like it. Instances hold no state
    and are shared; a worker process finds its own by name in
    :data:`lattices.formats.FORMATS`.

    Attributes
    ----------
    name, description : str
        The name it is registered under, and one line for listings.
    kind : {"lattice", "nbest", "forest", "any"}
        What it holds.
    suffixes : tuple of str
        File name endings, the usual one first, without that of a compression.
    options, write_options : mapping of str to str
        Reader and writer options with one line of help each, as :class:`lattices.options.Option`,
        which says what its value is: :meth:`parse` and :meth:`write` are given values that
        have been read and checked. Of an option that is plain text, the value is what came: text,
        from the command line. ``lossy`` is no option of a format: see :class:`Unsupported`.
    single : bool
        Whether a file holds exactly one segment.
    concatenated : bool
        Whether a file of a ``single`` format may have several all the same, put one after the
        other by other tools: all are read, and a segment a file is written.
    writable : bool
        Whether :meth:`write` works.
    exact : bool
        Whether scores come back bit by bit; if not, to about 1e-6.
    appendable : bool
        Whether files may be put one after the other: segments written one by one, and then
        put together, are what :meth:`write` makes of all of them at once.
    separable : bool
        Whether each segment may go to a file of its own, as into a directory.
    by_line : bool
        Whether every line that is not blank is one segment.
    twins : tuple of str
        Names of formats whose files may begin the same way; the suffix tells them apart.
    """

    name: str
    description: str
    kind: Literal["lattice", "nbest", "forest", "any"]
    suffixes: tuple[str, ...]
    options: Mapping[str, str] = {}
    write_options: Mapping[str, str] = {}
    single: bool = False
    concatenated: bool = False
    writable: bool = True
    exact: bool = False
    appendable: bool = False
    separable: bool = True
    by_line: bool = False
    twins: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Tell whether a file that begins so looks like this format.

        ``head`` is the first 4 KB or less, decompressed, without a byte order mark; its
        last line may be cut short. Any bytes at all may come; nothing may be raised.
        """
        ...

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut a decompressed stream into records, without holding more than one of them.

        By default a record is a line that is not blank if the format is ``by_line``, and else the
        whole file.
        """
        return _record_lines(stream, path) if self.by_line else whole_file(stream, path)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        """Return the segment; ``vocabulary`` grows by its words.

        Whatever ValueError, LookupError, TypeError, AttributeError or ArithmeticError
        escapes is turned into a FormatError at the record's first line by the caller;
        :meth:`Record.error` says it better. A segment without an id leaves it empty: the
        caller fills in the stem of the file name if ``single``, else the record's number.
        """
        ...

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write the segments (one only, if ``single``) of the right kind to a binary stream.

        What the format cannot hold is given to ``losses`` before it is left out. By default a
        FormatError is raised: the format can only be read.
        """
        raise FormatError(f"{self.name} can be read, but not written")


class IndexedFormat(Format):
    """A format whose files can be read from any segment on, by whatever process can open them.

    :meth:`Format.records` must work all the same, for files that are compressed or piped.
    """

    @abstractmethod
    def count(self, path: str) -> int:
        """Return how many segments a plain (not compressed) file holds, without parsing them.

        Raises
        ------
        FormatError
            If the file is damaged.
        """

    @abstractmethod
    def parse_range(
        self, path: str, start: int, stop: int, vocabulary: Vocabulary | None = None, **options: Any
    ) -> list[Space | FormatError]:
        """Return the segments from number ``start`` up to ``stop``, or why there is none.

        Parameters
        ----------
        path
            A plain file.
        start, stop : int
            Within ``count(path)``.
        vocabulary
            Grows by their words; by default the file's own, which all calls of this process
            for this file share, so that nothing is looked up.

        Raises
        ------
        FormatError
            If the file itself cannot be read.
        """


class AssembledFormat(Format):
    """A format whose files are more than its segments one after the other.

    Whatever may be wrong with a segment is found by :meth:`encode`, in any process and any order;
    so one that cannot be written leaves nothing behind in a file of others.
    """

    @abstractmethod
    def encode(self, space: Space, losses: Unsupported, **options: Any) -> Any:
        """Return a segment as :meth:`assemble` takes it; it can be pickled."""

    @abstractmethod
    def assemble(self, stream: BinaryIO, parts: Iterable[Any], **options: Any) -> None:
        """Write a file of segments that were encoded, which are read once."""

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Encode each segment and put them together."""
        parts = (self.encode(space, losses, **options) for space in spaces)
        self.assemble(stream, parts, **options)


def text_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    r"""Iterate over numbered lines, from 1, without line ends or a byte order mark.

    Examples
    --------
    >>> import io
    >>> list(text_lines(io.BytesIO(b"\xef\xbb\xbfa\r\n\nb")))
    [(1, b'a'), (2, b''), (3, b'b')]
    """
    for number, line in enumerate(lines, start=1):
        yield number, (line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line).rstrip(b"\r\n")


def decode_lines(lines: Iterable[bytes], path: str) -> Iterator[tuple[int, str]]:
    r"""Iterate over numbered lines of UTF-8 text, without line ends; others name their line.

    Examples
    --------
    >>> list(decode_lines([b"a\n", b"b\n"], "words.txt"))
    [(1, 'a'), (2, 'b')]
    >>> list(decode_lines([b"a\n", b"\xff\n"], "words.txt"))
    Traceback (most recent call last):
    lattices.errors.FormatError: words.txt:2: invalid UTF-8: invalid start byte
    """
    for number, line in text_lines(lines):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as problem:
            raise FormatError(f"invalid UTF-8: {problem.reason}", path, number) from problem


def _record_lines(stream: BinaryIO, path: str) -> Iterator[Record]:
    lines = ((line, text) for line, text in text_lines(stream) if text.strip())
    for number, (line, text) in enumerate(lines):
        yield Record(text, path, line, number)


def whole_file(stream: BinaryIO, path: str) -> Iterator[Record]:
    """Cut a text file that is one segment: the ``records`` of most ``single`` formats."""
    payload = stream.read().removeprefix(BYTE_ORDER_MARK)
    if payload.strip():
        yield Record(payload, path, 1, 0)


def split_words(text: str) -> list[str]:
    r"""Return the words of a line: cut at ASCII blanks only.

    ``str.split`` also cuts at no-break and ideographic spaces, which are parts of words in
    the output of tokenizers.

    Examples
    --------
    >>> split_words(" 10\u00a0000  people\t")
    ['10\xa0000', 'people']
    """
    return _WORD.findall(text)


def join_words(tokens: Sequence[str], losses: Unsupported, where: str) -> str:
    """Return the words with blanks between them, for formats where blanks separate.

    A word that holds a blank is a loss: it would come back as two.

    Examples
    --------
    >>> join_words(("new york", "city"), Unsupported("plain", allowed=True), "segment 'a'")
    'new york city'
    """
    text = " ".join(tokens)
    found = split_words(text)
    if found != list(tokens):
        losses.add("words with blanks in them", where)
        return " ".join(found)
    return text


def cut_lines(stream: BinaryIO, path: str, begins: Callable[[bytes], bool]) -> Iterator[Record]:
    """Cut a stream before each line, blank ones aside, of which ``begins`` says so.

    Blank lines before the first record are left out.
    """
    lines: list[bytes] = []
    first = number = 0
    for line, text in text_lines(stream):
        filled = bool(text.strip())
        if filled and begins(text) and lines:
            yield Record(b"\n".join(lines), path, first, number)
            number += 1
            lines = []
        if lines or filled:
            first = first if lines else line
            lines.append(text)
    if lines:
        yield Record(b"\n".join(lines), path, first, number)


def group_lines(
    stream: BinaryIO, path: str, key: Callable[[bytes], bytes | None]
) -> Iterator[Record]:
    """Cut a stream into runs of lines with one key; a line without any belongs to the run it is in.

    Line ends are newlines in the payload, and blank lines inside a run stay, so that the
    place of a line in the payload is its place in the file.
    """
    current: bytes | None = None

    def begins(text: bytes) -> bool:
        nonlocal current
        before, found = current, key(text)
        current = before if found is None else found
        return before is not None and current != before

    return cut_lines(stream, path, begins)
