"""Progress bar of a job, on a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: seconds between two looks at the clock's hands
REFRESH = 0.2
#: columns of the bar, if the terminal is that wide
BAR = 40


class Progress:
    """A bar over the bytes of the input, with the segments in words, on one line that goes.

    Parameters
    ----------
    total : int, optional
        The bytes of the input; None if nobody knows, and then there is no time left to tell.
    shown : bool
        Whether anything is shown at all.
    """

    def __init__(self, total: int | None, *, shown: bool) -> None:
        self._total, self._shown = total, shown
        self._bytes = self._segments = self._failed = self._width = 0
        self._started = self._last = time.monotonic()

    def read(self, count: int) -> None:
        """Say that so many bytes of the input were read."""
        self._bytes += count
        self._refresh()

    def done(self, failed: bool = False) -> None:
        """Say that a segment is finished."""
        self._segments += 1
        self._failed += failed
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
        text = f", {self._segments:,} segments, {rate:,.0f}/s{failures}"
        if not self._total:
            read = f"{self._bytes / 1e6:,.1f} MB read, " if self._bytes else ""
            return f"{read}{_clock(seconds)}{text}"
        part = min(1.0, self._bytes / self._total)
        left = _clock(seconds / part - seconds) if part else "?"
        times = f"| {_clock(seconds)}<{left}"
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
def progress(total: int | None, *, wanted: bool = True) -> Iterator[Progress]:
    """Show a bar with rate and time left while the block runs, if standard error is a terminal.

    Parameters
    ----------
    total
        The bytes of the input, if they are known.
    wanted
        False shows nothing in any case.
    """
    bar = Progress(total, shown=wanted and sys.stderr is not None and sys.stderr.isatty())
    try:
        yield bar
    finally:
        bar.close()
