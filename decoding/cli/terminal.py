"""The terminal: what is said on standard error, how much of it, in what colours; progress.

Commands speak through four functions: :func:`say` for what a user must know, :func:`note` and
:func:`print_summary` for what ``--quiet`` leaves out, :func:`detail` for what only ``--verbose``
shows.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TextIO

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


def add_colour(text: str, colour: str) -> str:
    """Return a text in a colour, for a stream that wants it."""
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


@contextmanager
def volume(arguments: argparse.Namespace) -> Iterator[None]:
    """Speak as loud as the arguments say, in this block."""
    level = QUIET if arguments.quiet else VERBOSE if arguments.verbose else NORMAL
    token = _VOLUME.set(level)
    try:
        yield
    finally:
        _VOLUME.reset(token)


class ScoreStyle(NamedTuple):
    """How tables for people show scores: with so many digits, percentages or all as fractions."""

    decimals: int = 2
    fractions: bool = False


_DEFAULT_STYLE = ScoreStyle()
SCORE_STYLE = ContextVar("score style", default=_DEFAULT_STYLE)


@contextmanager
def score_style(arguments: argparse.Namespace) -> Iterator[None]:
    """Show scores as the arguments say, in this block."""
    given = {each: getattr(arguments, each, None) for each in ScoreStyle._fields}
    token = SCORE_STYLE.set(
        ScoreStyle(**{name: it for name, it in given.items() if it is not None})
    )
    try:
        yield
    finally:
        SCORE_STYLE.reset(token)


def say(text: str) -> None:
    """Print a line that the user has to know: an error, a warning, a failure."""
    name = "fstmetrics:"
    for word, colour in (("error:", "red"), ("warning:", "yellow")):
        if text.startswith(word) and wants_colour(sys.stderr):
            text = add_colour(word, colour) + text.removeprefix(word)
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
        print(add_colour(shown, "faint") if wants_colour(sys.stderr) else shown, file=sys.stderr)


def is_verbose() -> bool:
    """Tell whether details are shown, for those that cost something to find out."""
    return _VOLUME.get() >= VERBOSE


#: seconds between two looks at the clock's hands
REFRESH = 0.2
#: columns of the bar, if the terminal is that wide
BAR = 40


class Progress:
    """A bar over the bytes of the input, with the segments in words, on one line that goes."""

    def __init__(self, total: int | None, *, shown: bool, what: str = "segments") -> None:
        self._total, self._shown, self._what = total, shown, what
        self._bytes = self._segments = self._failed = self._width = 0
        self._started = self._last = time.monotonic()

    def read(self, count: int) -> None:
        """Say that so many bytes of the input were read."""
        self._bytes += count
        self._refresh()

    def done(self, failed: int = 0, count: int = 1) -> None:
        """Say that a segment is finished, or several."""
        self._segments += count
        self._failed += failed
        self._refresh()

    def draw(self, count: int) -> None:
        """Say that so many resamples of the total are finished."""
        self._bytes += count
        self._segments += count
        self._refresh()

    @property
    def segments(self) -> int:
        """How many segments are finished."""
        return self._segments

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._started

    def close(self) -> None:
        """Say that all are, and leave the line to others."""
        if self._width:
            self._print("")

    def _refresh(self) -> None:
        now = time.monotonic()
        if self._shown and now - self._last >= REFRESH:
            self._last = now
            self._print(self._line(now - self._started))

    def _line(self, seconds: float) -> str:
        failures = f", {self._failed} failed" if self._failed else ""
        rate = self._segments / max(seconds, 1e-9)
        text = f", {self._segments:,} {self._what}, {rate:,.0f}/s{failures}"
        if not self._total:
            read = f"{self._bytes / 1e6:,.1f} MB read, " if self._bytes else ""
            return f"{read}{_clock(seconds)}{text}"
        part = min(1.0, self._bytes / self._total)
        left = _clock(seconds / part - seconds) if part else "?"
        times = f"| {_clock(seconds)}<{left}"
        import shutil

        room = shutil.get_terminal_size().columns - len(times) - len(text) - len("100%|") - 1
        bar = max(0, min(BAR, room))
        return f"{part:4.0%}|{('#' * int(bar * part)).ljust(bar)}{times}{text}"

    def _print(self, line: str) -> None:
        """Put a line in the place of the one before."""
        print(f"\r{' ' * self._width}\r{line}", end="", file=sys.stderr, flush=True)
        self._width = len(line)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


@contextmanager
def progress(
    total: int | None, *, wanted: bool = True, what: str = "segments"
) -> Iterator[Progress]:
    """Show a bar with rate and time left while the block runs, if standard error is a terminal."""
    bar = Progress(
        total, shown=wanted and sys.stderr is not None and sys.stderr.isatty(), what=what
    )
    try:
        yield bar
    finally:
        bar.close()
