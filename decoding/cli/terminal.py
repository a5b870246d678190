"""The terminal: what is said on standard error, how much of it, and in what colours.

Commands speak through four functions: :func:`say` for what a user must know, :func:`note` and
:func:`print_summary` for what ``--quiet`` leaves out, :func:`detail` for what only ``--verbose``
shows.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

QUIET, NORMAL, VERBOSE = -1, 0, 1
_VOLUME: ContextVar[int] = ContextVar("volume", default=NORMAL)

#: numbers of ECMA-48
COLOURS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "faint": "2"}


def wants_colour(stream: TextIO) -> bool:
    """Tell whether to colour what goes to a stream.

    ``NO_COLOR`` (https://no-color.org) forbids it, ``FORCE_COLOR`` and ``CLICOLOR_FORCE`` ask for
    it wherever the stream goes; otherwise it is done on a terminal that is not ``TERM=dumb``.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if any(
        os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")
    ):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def coloured(text: str, colour: str) -> str:
    """Return a text in a colour, for a stream that wants it.

    Examples
    --------
    >>> coloured("no", "red")
    '\\x1b[31mno\\x1b[0m'
    """
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


def add_volume(parser: argparse.ArgumentParser) -> None:
    """Add how much is told."""
    given = parser.add_mutually_exclusive_group()
    given.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="print only errors and warnings to standard error",
    )
    given.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also print what is read, what it is searched with, and how long it takes",
    )


@contextmanager
def volume(arguments: argparse.Namespace) -> Iterator[None]:
    """Speak as loud as the arguments say, in this block."""
    level = QUIET if arguments.quiet else VERBOSE if arguments.verbose else NORMAL
    token = _VOLUME.set(level)
    try:
        yield
    finally:
        _VOLUME.reset(token)


def say(text: str) -> None:
    """Print a line that the user has to know: an error, a warning, a failure."""
    name = "fstmetrics:"
    for word, colour in (("error:", "red"), ("warning:", "yellow")):
        if text.startswith(word) and wants_colour(sys.stderr):
            text = coloured(word, colour) + text.removeprefix(word)
    print(name, text, file=sys.stderr)


def note(text: str) -> None:
    """Print a line that explains, unless ``--quiet``."""
    if _VOLUME.get() > QUIET:
        say(text)


def print_summary(text: str) -> None:
    """Print lines for people on standard error, unless ``--quiet``."""
    if _VOLUME.get() > QUIET:
        print(text, file=sys.stderr)


def detail(text: str) -> None:
    """Print a line of ``--verbose``."""
    if _VOLUME.get() >= VERBOSE:
        shown = f"fstmetrics: {text}"
        print(coloured(shown, "faint") if wants_colour(sys.stderr) else shown, file=sys.stderr)


def is_verbose() -> bool:
    """Tell whether details are shown, for those that cost something to find out."""
    return _VOLUME.get() >= VERBOSE
