"""Reading files of any format: which format a file has, its records, and their spaces."""

from __future__ import annotations

import os
import re
import warnings
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from lattices import plugins
from lattices.errors import DuplicateNameError, FormatError, OptionError, argument
from lattices.formats.base import Format, IndexedFormat, Record
from lattices.formats.compression import strip_compression
from lattices.formats.ids import SeenIds
from lattices.formats.streams import (
    PathLike,
    display_name,
    file_id,
    files_of,
    is_compressed,
    open_input,
    partition_fields,
)
from lattices.options import take_options
from lattices.registry import Registry, list_missing
from lattices.spaces import Space
from lattices.vocabulary import Vocabulary

_KINDS = ("lattice", "nbest", "forest", "any")
_PARTS = (*Format.__annotations__, "sniff", "records", "parse", "write")


def _check(plugin: Any) -> str:
    """Return what a format lacks or has wrong; empty if it is one."""
    reason = list_missing(plugin, _PARTS)
    if reason:
        return f"{reason} (a subclass of lattices.formats.Format has defaults)"
    if plugin.kind not in _KINDS:
        return f"its kind is {plugin.kind!r}, expected one of {', '.join(_KINDS)}"
    # a string would be iterated over letter by letter
    if not isinstance(plugin.suffixes, tuple) or not all(
        isinstance(suffix, str) and suffix for suffix in plugin.suffixes
    ):
        return f"its suffixes are {plugin.suffixes!r}, expected a tuple of texts"
    return ""


FORMATS: Registry[Format] = Registry(
    "lattices.formats",
    "format",
    own=plugins.FORMATS,
    check=_check,
    aliases={
        "slf": "htk",
        "htk-slf": "htk",
        "jsonlines": "jsonl",
        "json-lines": "jsonl",
        "ndjson": "jsonl",
        "fst": "openfst",
        "openfst-binary": "openfst",
        "fst-text": "openfst-text",
        "att": "openfst-text",
        "kaldi-text": "kaldi",
        "kaldi-ark": "kaldi-binary",
        "scp": "kaldi-scp",
        "pocketsphinx": "sphinx",
        "sausage": "sausages",
        "kaldi-sausages": "sausages",
        "srilm-mesh": "mesh",
        "wordmesh": "mesh",
        "osg": "moses-graph",
        "search-graph": "moses-graph",
        "moses-search-graph": "moses-graph",
        "feather": "arrow",
        "ipc": "arrow",
        "cdec": "cdec-forest",
        "joshua": "joshua-forest",
        "tsv": "nbest-tsv",
        "nemo": "json-rows",
        "manifest": "json-rows",
        "vosk": "asr-json",
        "whisper": "asr-json",
        "whisper.cpp": "asr-json",
        "marian": "moses-nbest",
        "page": "page-xml",
        "pagexml": "page-xml",
        "tesseract": "hocr",
    },
)


class FormatInfo(NamedTuple):
    """One line of the listing of formats."""

    name: str
    kind: str
    access: str
    suffixes: tuple[str, ...]
    description: str


def formats() -> tuple[FormatInfo, ...]:
    """Return what is known of every format, by name.

    A plug-in that cannot be imported is listed with the reason in its description, and
    with ``access`` empty.

    Examples
    --------
    >>> [info.suffixes for info in formats() if info.name == "jsonl"]
    [('.jsonl', '.ndjson')]
    """
    listing = []
    broken = FORMATS.problems()
    for name in FORMATS.names():
        if name in broken:
            listing.append(FormatInfo(name, "", "", (), f"not available: {broken[name]}"))
            continue
        found = FORMATS.get(name)
        access = "read, write" if found.writable else "read"
        listing.append(FormatInfo(name, found.kind, access, found.suffixes, found.description))
    return tuple(listing)


def load_formats(own: bool = True) -> list[Format]:
    """Return the formats that can be imported: a broken plug-in must not stop the others.

    With ``own`` false, those of the library are left out.
    """
    found = []
    for name in FORMATS.names():
        if own or name not in plugins.FORMATS:
            with suppress(ImportError, DuplicateNameError):
                found.append(FORMATS.get(name))
    return found


#: a first line of words that no format of the library begins with; see the tests
_PROSE = re.compile(rb"(?!name )[a-zA-Z\x80-\xff]+(?: [a-zA-Z\x80-\xff]+){2,} *(?:\r?\n|\Z)")


def find_claimants(head: bytes) -> list[Format]:
    """Return the formats to ask whether a file that begins so is theirs.

    The library's own need not be loaded to say that lines of words are none of theirs.
    """
    return load_formats(own=b"\t" in head or not _PROSE.match(head))


def find_format(format: str | Format) -> Format:
    """Return the format of that name, or the format itself."""
    return FORMATS.get(format) if isinstance(format, str) else format


def find_by_suffix(path: str, among: Iterable[Format]) -> list[Format]:
    """Return the formats whose suffix the file name has, the longest suffix only."""
    name = strip_compression(os.path.basename(path))
    fits = [
        (len(suffix), entry)
        for entry in among
        for suffix in entry.suffixes
        if name.endswith(suffix)
    ]
    longest = max((length for length, _ in fits), default=0)
    return [entry for length, entry in fits if length == longest]


def find_own_format(path: str) -> Format | None:
    """Return the format of the library's own that the suffix of a file names, None if none does."""
    parts = strip_compression(os.path.basename(path)).split(".")
    # the longest suffix first
    found = (plugins.SUFFIXES.get("." + ".".join(parts[place:])) for place in range(1, len(parts)))
    name = next(filter(None, found), None)
    return None if name is None else FORMATS.get(name)


def name_all(some: Iterable[Format]) -> str:
    """Return their names, for a message."""
    return ", ".join(entry.name for entry in some)


def sniff_format(head: bytes, path: str) -> Format:
    """Return the one format the content looks like; the suffix decides where that does not.

    The one that the suffix names is asked first: then others need not be loaded.
    """
    first = find_own_format(path)
    if first is not None and sniffs(first, head):
        return first
    known = load_formats()
    likely = [entry for entry in known if sniffs(entry, head)]
    if len(likely) == 1:
        twins = find_by_suffix(path, (entry for entry in known if entry.name in likely[0].twins))
        return twins[0] if twins else likely[0]
    fitting = find_by_suffix(path, likely or known)
    if len(fitting) == 1:
        return fitting[0]
    if likely:
        raise FormatError(
            f"could be any of {name_all(likely)}; say which by {argument('read.format', 'NAME')}",
            path,
        )
    broken = [f"; {reason}" for reason in FORMATS.problems().values()]
    raise FormatError(
        f"looks like none of the known formats ({name_all(known)}){''.join(broken)}", path
    )


def sniffs(entry: Format, head: bytes) -> bool:
    """Tell whether a file looks like the format; one whose sniffing fails knows no file."""
    try:
        return bool(entry.sniff(head))
    except Exception as problem:
        warnings.warn(
            f"format {entry.name} cannot look at files: {type(problem).__name__}: {problem}",
            stacklevel=2,
        )
        return False


#: segments that are parsed at a time where a file is read by position
RANGE = 64

ErrorHandler: TypeAlias = Callable[[FormatError], None]


def format_of(path: PathLike, format: str | Format | None = None) -> Format:
    """Return the format of a file, found by its content; or the given one, if the file has any.

    Raises
    ------
    FormatError
        If the file is empty, or its format is not known.
    OSError
        If it cannot be opened.
    """
    name = display_name(path)
    with open_input(path) as (head, stream):
        return _format_of(head, stream, name, None if format is None else find_format(format))


def _format_of(head: bytes, stream: BinaryIO, name: str, chosen: Format | None) -> Format:
    if not head:
        # a damaged file raises when it is read; any other is empty
        stream.read(1)
        raise FormatError("the file is empty", name)
    return chosen or sniff_format(head, name)


def space_files(
    path: PathLike, format: Format | None = None, tell: Callable[[str], None] = warnings.warn
) -> list[str]:
    """Return the path itself, or the files of a directory without those that hold no spaces.

    Text that looks like no space, and has a suffix that no file of spaces has, is left out.
    """
    files = files_of(path)
    if files == [os.fspath(path)]:
        return files
    known = load_formats() if format is None else [format]
    found = (file for file in files if find_by_suffix(file, known) or _may_hold_spaces(file, known))
    suffixes = set(map(_suffix, found))
    taken = [file for file in files if _suffix(file) in suffixes] or files
    if len(taken) < len(files):
        left_out = sorted(map(os.path.basename, set(files).difference(taken)))
        more = f" and {len(left_out) - 5} more" if left_out[5:] else ""
        tell(f"{os.fspath(path)}: {', '.join(left_out[:5])}{more} left out: no search spaces")
    return taken


def _may_hold_spaces(file: str, known: Iterable[Format]) -> bool:
    """Tell whether a file is other than text that looks like none of the formats."""
    try:
        with open_input(file) as (head, stream):
            if not head:
                return bool(stream.read(1))
            text = getincrementaldecoder("utf-8")().decode(head)
            return "\0" in text or any(sniffs(each, head) for each in known)
    except (FormatError, OSError, UnicodeDecodeError):
        return True


def _suffix(file: str) -> str:
    """Return the suffix of a file; numbers, as in Kaldi's ``lat.1.gz``, are all the same."""
    suffix = os.path.splitext(strip_compression(os.path.basename(file)))[1]
    return "0" if suffix[1:].isdigit() else suffix


def read_records(
    path: PathLike,
    format: str | Format | None = None,
    *,
    on_error: ErrorHandler | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[tuple[Format, Record]]:
    """Iterate over the records of a file, a directory or standard input, not yet parsed.

    Parameters
    ----------
    path
        A file or a URL, plain or compressed by gzip, bz2, xz or zstd (told by content, whatever
        the name); ``-`` for standard input; or a directory, whose visible regular files are read in
        sorted order, but for those that :func:`space_files` leaves out.
    format
        The format or its name; by default it is found for each file by its content, and
        by its suffix where the content does not decide.
    on_error
        Called with a file's error (unknown format, damaged gzip, nothing in it), after
        which the next file is read. By default the error is raised.
    on_read
        Called with the number of bytes whenever some were read from a file.

    Yields
    ------
    format, record
        To be given to :func:`parse_record`, in this process or another.

    Raises
    ------
    FormatError
        If there is no ``on_error``.
    UnknownNameError
        If no format has that name.
    OSError
        If a file cannot be opened.
    """
    chosen = None if format is None else find_format(format)
    return _read_records(space_files(path, chosen), chosen, on_error, on_read)


def _read_records(
    files: list[str],
    chosen: Format | None,
    on_error: ErrorHandler | None,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[tuple[Format, Record]]:
    for file in files:
        name = display_name(file)
        try:
            with open_input(file, on_read) as (head, stream):
                found = _format_of(head, stream, name, chosen)
                any_record = False
                stream.begin_record()
                for record in found.records(stream, name):
                    any_record = True
                    yield found, record
                    stream.begin_record()
                if not any_record:
                    raise FormatError(f"empty: no segment of format {found.name}", name)
        except FormatError as problem:
            if on_error is None:
                raise
            on_error(problem)


def parse_record(format: Format, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
    """Return the lattice, n-best list or forest of one record.

    A segment that does not name itself is called by the stem of the file name if the format
    has one segment a file (if there are more all the same, with their numbers: ``stem-1``), and by
    the number of the record otherwise.

    Raises
    ------
    FormatError
        Whatever is wrong with the record, with file and line.
    OptionError
        For an option the format does not know; the message names those it does.
    """
    options = take_options(format.options, options, f"format {format.name}")
    try:
        space = format.parse(record, vocabulary, **options)
    except OptionError:
        raise
    except FormatError as problem:
        if problem.path:
            raise
        raise FormatError(problem.problem, record.path, problem.line or record.line) from problem
    except KeyError as problem:
        raise record.error(f"no {problem} where one is needed") from problem
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as problem:
        raise record.error(str(problem) or type(problem).__name__) from problem
    space = add_partition(space, record.path)
    if space.id:
        return space
    number = record.number
    name = file_id(record.path, number, format.suffixes) if format.single else str(number)
    return space.replaced(id=name)


def parse_range(
    format: str | Format,
    path: PathLike,
    start: int,
    stop: int,
    vocabulary: Vocabulary | None = None,
    **options: Any,
) -> list[Space | FormatError]:
    """Return some segments of a plain file that can be read by position, or why there is none.

    As :meth:`lattices.formats.base.IndexedFormat.parse_range`, with the options checked, and
    the number of a segment for its name where it has none.
    """
    chosen = find_format(format)
    if not isinstance(chosen, IndexedFormat):
        raise TypeError(f"format {chosen.name} is not read by position")
    options = take_options(chosen.options, options, f"format {chosen.name}")
    found = chosen.parse_range(os.fspath(path), start, stop, vocabulary, **options)
    made = [each if isinstance(each, FormatError) else add_partition(each, path) for each in found]
    return [
        each if isinstance(each, FormatError) or each.id else each.replaced(id=str(number))
        for number, each in enumerate(made, start=start)
    ]


def add_partition(space: Space, path: PathLike) -> Space:
    """Return the space with what the folders ``KEY=VALUE`` of its file say, as metadata.

    What the space says itself counts.
    """
    fields = partition_fields(os.fspath(path))
    if not fields or all(key in space.metadata for key in fields):
        return space
    return space.replaced(metadata={**fields, **space.metadata})


def read(
    path: PathLike,
    format: str | Format | None = None,
    vocabulary: Vocabulary | None = None,
    *,
    on_error: ErrorHandler | None = None,
    **options: Any,
) -> Iterator[Space]:
    """Iterate over the segments of a file, a directory or standard input.

    Parameters
    ----------
    path, format
        See :func:`read_records`.
    vocabulary
        Grows by the words that are read; one fresh vocabulary by default, shared by all
        the spaces of this call.
    on_error
        Called with the error of a bad record, which is then skipped, or of a bad file. By
        default the error is raised.
    **options
        Options of the format, such as ``tags="keep"`` for ``htk``.

    Yields
    ------
    Lattice, NBest or Forest
        In the order of the file; memory is that of one segment, or of a few where a file is
        read by position.

    Raises
    ------
    FormatError
        With file and line, if there is no ``on_error``. Two segments with the same id are an
        error of the second.
    OptionError
        For an option that the format does not know.
    OSError
        If a file cannot be opened.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "two.jsonl")
    >>> _ = file.write_text('{"id": "a", "finals": {"1": 0}, "arcs": [[0, 1, "hi", -0.5]]}\\n')
    >>> list(read(file))
    [<Lattice 'a' of 2 states, 1 arcs>]
    """
    chosen = None if format is None else find_format(format)
    if chosen is not None:
        options = take_options(chosen.options, options, f"format {chosen.name}")
    words = Vocabulary() if vocabulary is None else vocabulary
    return _read(space_files(path, chosen), chosen, words, on_error, options)


def _read(
    files: list[str],
    chosen: Format | None,
    vocabulary: Vocabulary,
    on_error: ErrorHandler | None,
    options: dict[str, Any],
) -> Iterator[Space]:
    seen = SeenIds()
    for file in files:
        indexed = _read_by_position(file, chosen)
        parsed = (
            _parse_records(file, chosen, vocabulary, on_error, options)
            if indexed is None
            else _parse_ranges(file, indexed, vocabulary, on_error, options)
        )
        name = display_name(file)
        for line, number, each in parsed:
            if not isinstance(each, FormatError):
                problem = seen.find_objection(each.id, name, line, number)
                if not problem:
                    yield each
                    continue
                which = f"segment {each.id!r}" if line else f"segment {number}, {each.id!r}"
                each = FormatError(f"{which}: {problem}", name, line)
            if on_error is None:
                raise each
            on_error(each)


def _read_by_position(file: str, chosen: Format | None) -> IndexedFormat | None:
    """Return the format of a file that can be read by position, or None."""
    if chosen is not None and not isinstance(chosen, IndexedFormat):
        return None
    if not os.path.isfile(file) or is_compressed(file):
        return None
    try:
        found = format_of(file, chosen)
    except FormatError:
        # the warning is repeated when the file is read
        return None
    return found if isinstance(found, IndexedFormat) else None


def _parse_records(
    file: str,
    chosen: Format | None,
    vocabulary: Vocabulary,
    on_error: ErrorHandler | None,
    options: dict[str, Any],
) -> Iterator[tuple[int, int, Space | FormatError]]:
    """Iterate over line, number and content of the segments of a file."""
    for found, record in _read_records([file], chosen, on_error):
        each: Space | FormatError
        try:
            each = parse_record(found, record, vocabulary, **options)
        except FormatError as problem:
            each = problem
        yield record.line, record.number, each


def _parse_ranges(
    file: str,
    found: IndexedFormat,
    vocabulary: Vocabulary,
    on_error: ErrorHandler | None,
    options: dict[str, Any],
) -> Iterator[tuple[int, int, Space | FormatError]]:
    """Iterate as :func:`_parse_records` does."""
    try:
        count = found.count(file)
        if not count:
            raise FormatError(f"empty: no segment of format {found.name}", file)
        for start in range(0, count, RANGE):
            stop = min(count, start + RANGE)
            for number, each in enumerate(
                parse_range(found, file, start, stop, vocabulary, **options), start
            ):
                yield 0, number, each
    except FormatError as problem:
        if on_error is None:
            raise
        on_error(problem)
