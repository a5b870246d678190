"""Writing lattices, n-best lists and forests in any format: whole files, or none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from lattices.errors import FormatError, OptionError, argument
from lattices.formats.base import Format, Unsupported
from lattices.formats.reading import (
    find_by_suffix,
    find_format,
    find_own_format,
    load_formats,
    name_all,
)
from lattices.formats.streams import PathLike, open_output
from lattices.options import take_options
from lattices.spaces import Forest, Lattice, NBest, Space


def write(
    path: PathLike,
    spaces: Iterable[Space],
    format: str | Format | None = None,
    *,
    lossy: bool = False,
    **options: Any,
) -> None:
    """Write lattices, n-best lists or forests to a file, a directory or standard output.

    Parameters
    ----------
    path
        A file or a URL, compressed if its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``;
        ``-`` for standard output; or an existing directory, which gets one file for each segment,
        named by its id. A file takes its name only when it is complete; nothing is left behind by
        a failure.
    spaces
        Read once, one at a time.
    format
        The format or its name; by default it is told by the suffix.
    lossy
        Whether to leave out, with one :class:`LossWarning`, what the format cannot hold.
    **options
        Options of the format's writer.

    Raises
    ------
    FormatError
        If the format cannot hold a segment, or a part of one without ``lossy``.
    OptionError
        For an unknown suffix without ``format``, or an option the writer does not know.
    """
    name = os.fspath(path)
    chosen = format_for_writing(name, format)
    options = take_options(chosen.write_options, options, f"the writer of format {chosen.name}")
    losses = Unsupported(chosen.name, lossy)
    fitting = _fitting(chosen, spaces)
    try:
        if os.path.isdir(name):
            if not chosen.separable:
                raise OptionError(f"{chosen.name} cannot be written to a directory, file by file")
            for space in fitting:
                file = os.path.join(name, file_name(space.id) + chosen.suffixes[0])
                with open_output(file) as stream:
                    chosen.write(stream, [space], losses, **options)
        else:
            with open_output(path) as stream:
                chosen.write(stream, _check_single(fitting, chosen), losses, **options)
    except FormatError as problem:
        if problem.path:
            raise
        raise FormatError(problem.problem, name) from problem
    except UnicodeEncodeError as problem:
        text = problem.object[max(0, problem.start - 20) : problem.end]
        raise FormatError(f"{text!a} ends with half of a surrogate pair", name) from problem
    losses.warn()


def format_for_writing(path: str, format: str | Format | None) -> Format:
    """Return the format to write, told by the suffix if it is not given."""
    if format is not None:
        chosen = find_format(format)
        if not chosen.writable:
            raise OptionError(f"format {chosen.name} can be read, but not written")
        return chosen
    own = find_own_format(path)
    if own is not None and own.writable:
        return own
    known = [entry for entry in load_formats() if entry.writable]
    fitting = find_by_suffix(path, known)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        which = argument("write.format", "NAME")
        raise OptionError(f"{path!r} could be any of {name_all(fitting)}; say which by {which}")
    raise OptionError(
        f"no format by the suffix of {path!r}; {argument('write.format')} is one of "
        f"{name_all(known)}"
    )


def _fitting(chosen: Format, spaces: Iterable[Space]) -> Iterator[Space]:
    """Iterate over ``spaces``, all of the kind that the format holds."""
    for space in spaces:
        if not isinstance(space, Lattice | NBest | Forest):
            raise TypeError(f"{type(space).__name__} is neither a Lattice, an NBest nor a Forest")
        if chosen.kind not in (space.kind, "any"):
            raise FormatError(f"{chosen.name} holds no {type(space).__name__} ({space.id!r})")
        yield space


def _check_single(spaces: Iterator[Space], chosen: Format) -> Iterator[Space]:
    """Iterate over ``spaces``, which must be one if the format holds only one a file."""
    for number, space in enumerate(spaces):
        if number and chosen.single:
            raise FormatError(f"{chosen.name} holds one segment a file; write to a directory")
        yield space


def file_name(segment: str) -> str:
    """Return an id that can be a file name, or raise FormatError: it comes from a file."""
    if (
        not segment
        or segment.startswith(".")
        or "/" in segment
        or os.sep in segment
        or "\0" in segment
    ):
        raise FormatError(f"the id {segment!r} cannot be a file name")
    return segment
