"""Kaldi's names of tables, ``ark:FILE`` and ``scp:FILE``, in the place of files.

``ark,t:`` is text, other letters (``ark,s,cs:``) say how Kaldi reads, which makes no difference
here. A pipe (``ark:gunzip -c lat.1.gz|``) is never run: the error shows the line to type instead.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

_SPECIFIER = re.compile(r"(?P<kind>ark|scp)(?P<letters>(?:,\w+)*):(?P<file>.*)", re.S)
#: arguments that name files which are read
_READ = ("paths", "refs", "evidence", "systems", "dev", "dev_refs")


class Specifier(NamedTuple):
    """A table that Kaldi reads or writes."""

    kind: str
    letters: tuple[str, ...]
    file: str

    @property
    def format(self) -> str:
        """What it is written as."""
        return "kaldi" if "t" in self.letters else "kaldi-binary"


def parse_specifier(text: str) -> Specifier | None:
    """Return the parts of a specifier; None for the name of a file.

    Examples
    --------
    >>> parse_specifier("ark,t:lat.txt")
    Specifier(kind='ark', letters=('t',), file='lat.txt')
    >>> parse_specifier("lat.txt")
    """
    found = _SPECIFIER.fullmatch(text)
    if found is None or os.path.exists(text):
        return None
    letters = tuple(filter(None, found["letters"].split(",")))
    return Specifier(found["kind"], letters, found["file"].strip() or "-")


def take_specifiers(arguments: argparse.Namespace, argv: Sequence[str]) -> None:
    """Replace Kaldi's specifiers by the files they name, and take their formats for the output."""
    for name in _READ:
        value = getattr(arguments, name, None)
        if isinstance(value, str):
            setattr(arguments, name, _file_to_read(value, argv))
        elif value:
            setattr(arguments, name, [_file_to_read(each, argv) for each in value])
    output = str(getattr(arguments, "output", ""))
    found = parse_specifier(output)
    if found is None:
        return
    if found.file.startswith("|"):
        line = f"{_shell_line(argv, output)} {found.file}"
        raise _refuse_pipe(output, line)
    if found.kind == "scp" or "scp" in found.letters:
        from lattices.errors import OptionError

        raise OptionError(
            f"-o {output}: say the script file, and the archive in an option: -o FILE.scp "
            "--to kaldi-scp --write-option archive=FILE.ark"
        )
    arguments.output = found.file
    as_spaces = getattr(arguments, "spaces", False) or getattr(arguments, "k", None)
    if hasattr(arguments, "to") and (as_spaces or not hasattr(arguments, "format")):
        arguments.to = arguments.to or found.format
    elif getattr(arguments, "format", None) in (None, "tsv"):
        # lines of segments: Kaldi's text
        arguments.format = "kaldi"


def _file_to_read(text: str, argv: Sequence[str]) -> str:
    found = parse_specifier(text)
    if found is None:
        return text
    if found.file.endswith("|"):
        raise _refuse_pipe(text, f"{found.file} {_shell_line(argv, text)}")
    return found.file


def _shell_line(argv: Sequence[str], text: str) -> str:
    """Return the command with a dash in the place of a specifier."""
    return shlex.join(["fstmetrics", *("-" if each == text else each for each in argv)])


def _refuse_pipe(text: str, line: str) -> Exception:
    from lattices.errors import OptionError

    return OptionError(f"{text!r} names a pipe, which is never run; type: {line}")
