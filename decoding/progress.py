"""How far a job has come, for someone who waits at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from lattices.errors import MissingDependencyError
from lattices.optional import require

#: seconds between two looks at the clock's hands
REFRESH = 0.2


class Progress(Protocol):
    """What a job tells about itself."""

    def read(self, count: int) -> None:
        """Say that so many bytes of the input were read."""

    def done(self, failed: bool = False) -> None:
        """Say that a segment is finished."""

    def close(self) -> None:
        """Say that all are, and leave the line to others."""


class _Silent:
    def read(self, count: int) -> None:
        pass

    def done(self, failed: bool = False) -> None:
        pass

    def close(self) -> None:
        pass


class _Bar:
    """A bar over the bytes of the input, with the segments in words."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._segments = self._failed = 0
        self._started = self._shown = time.monotonic()

    def read(self, count: int) -> None:
        self._bar.update(count)

    def done(self, failed: bool = False) -> None:
        self._segments += 1
        self._failed += failed
        now = time.monotonic()
        if now - self._shown >= REFRESH:
            self._shown = now
            rate = self._segments / (now - self._started)
            failures = f", {self._failed} failed" if self._failed else ""
            self._bar.set_postfix_str(f"{self._segments:,} segments, {rate:,.0f}/s{failures}")

    def close(self) -> None:
        self._bar.close()


@contextmanager
def progress(total: int | None, *, wanted: bool = True) -> Iterator[Progress]:
    """Show a bar with rate and time left while the block runs, if standard error is a terminal.

    Parameters
    ----------
    total
        The bytes of the input; None if nobody knows, and then there is no time left to tell.
    wanted
        False shows nothing in any case.
    """
    if not wanted or not sys.stderr.isatty():
        yield _Silent()
        return
    try:
        tqdm = require("tqdm", "progress").tqdm
    except MissingDependencyError:
        print("fstmetrics: pip install 'fstmetrics[progress]' shows progress", file=sys.stderr)
        yield _Silent()
        return
    shape = "{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
    with tqdm(
        total=total,
        unit="B",
        unit_scale=True,
        leave=False,
        dynamic_ncols=True,
        bar_format=shape if total else "{n_fmt} read, {elapsed}{postfix}",
    ) as bar:
        yield _Bar(bar)
