"""Output files that a run can go on with where another one was stopped, whatever stopped it.

While a job runs, what it has written stands in a hidden file beside the target, and a journal
in another: about once a second, how many bytes and outcomes are settled, and what was summed
up so far. The target takes its name when the job has ended; a run that resumes cuts off what
the last entry of the journal does not vouch for, and leaves out what was done.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from decoding.corpus import Earlier
from decoding.outcomes import Done, Failure
from lattices.errors import EngineError, Error, OptionError
from lattices.formats.streams import STANDARD, PathLike, created

#: seconds between two entries; what is done in between is done again after a fall
INTERVAL = 1.0
#: bytes that are held back before they are written
BUFFER = 1 << 18


class Journal:
    """An output, and the record of how far it has come.

    Attributes
    ----------
    earlier : Earlier
        What was done already: to be given to :func:`decoding.corpus.run`.
    states : list
        What the entries of the run that is resumed had for ``state``, oldest first.
    """

    def __init__(self, stream: BinaryIO, log: BinaryIO | None = None) -> None:
        self.earlier = Earlier()
        self.states: list[Any] = []
        self._stream, self._log = stream, log
        self._bytes = self._outcomes = self._entries = 0
        self._files: list[tuple[str, dict[str, int]]] = []
        self._last = time.monotonic()

    def write(self, outcome: Done[Any] | Failure, data: bytes) -> None:
        """Write what there is to write for the next outcome."""
        self._stream.write(data)
        if self._log is None:
            return
        self._bytes += len(data)
        self._outcomes += 1
        if not self._files or self._files[-1][0] != outcome.path:
            self._files.append((outcome.path, {}))
        if isinstance(outcome, Done):
            self._files[-1][1][outcome.id] = outcome.line

    @property
    def is_due(self) -> bool:
        """Whether it is time for an entry."""
        return self._log is not None and time.monotonic() - self._last >= INTERVAL

    @property
    def has_entries(self) -> bool:
        """Whether there is anything to resume."""
        return self._entries > 0

    def enter(self, state: Any) -> None:
        """Make an entry: all outcomes so far are settled, and summed up by ``state`` (JSON)."""
        if self._log is None:
            return
        _flush(self._stream)
        entry = {
            "bytes": self._bytes, "outcomes": self._outcomes, "files": self._files, "state": state,
        }  # fmt: skip
        self._log.write(_line(entry))
        _flush(self._log)
        self._files = []
        self._entries += 1
        self._last = time.monotonic()

    def _restore(self, entries: list[dict[str, Any]]) -> None:
        for entry in entries:
            for path, lines in entry["files"]:
                for id, line in lines.items():
                    self.earlier.seen.add(id, path, line)
            self.states.append(entry["state"])
            self._bytes, self._outcomes = entry["bytes"], entry["outcomes"]
        self._entries = len(entries)
        self.earlier.outcomes = self._outcomes


@contextmanager
def journalled(
    path: PathLike, task: Mapping[str, Any], *, resume: bool = False
) -> Iterator[Journal]:
    """Open an output file that can be resumed; pipes and devices are written to as they are.

    Parameters
    ----------
    path
        The file, compressed if its name ends in ``.gz``; ``-`` for standard output.
    task
        All that the output depends on, as JSON. A run may be resumed only by one that has the
        same.
    resume
        Whether to go on with what an earlier run left; where there is nothing, or without
        it, the job begins at the beginning.

    Raises
    ------
    OptionError
        If ``resume`` is asked for a pipe or a device, for another task than was begun, or if
        another process is writing the same file.

    Notes
    -----
    If the block ends with an error that the same run would end with again, nothing is left
    behind. After an interrupt, the death of a worker or a full disk, the journal stays.
    """
    target = Path(os.path.realpath(path))
    if os.fspath(path) == STANDARD or (target.exists() and not target.is_file()):
        if resume:
            raise OptionError(f"{os.fspath(path)!r} is no file, and cannot be resumed")
        with created(path) as stream:
            yield Journal(stream)
        return
    partial = target.with_name(f".{target.name}.partial")
    log_path = target.with_name(f".{target.name}.journal")
    # read and write, whatever there is: it is emptied only when it is ours
    with open(os.open(partial, os.O_RDWR | os.O_CREAT, 0o666), "r+b", BUFFER) as stream:
        if not _locked(stream):
            raise OptionError(f"another process is writing {os.fspath(path)!r}")
        entries = _entries(log_path, partial, task, path) if resume else []
        with open(log_path, "wb") as log:
            # written anew, so that a line that was cut short does not stay
            log.write(b"".join(map(_line, (dict(task), *entries))))
            stream.truncate(entries[-1]["bytes"] if entries else 0)
            stream.seek(0, os.SEEK_END)
            journal = Journal(stream, log)
            journal._restore(entries)
            try:
                yield journal
                _flush(stream)
                _finish(partial, target)
            except BaseException as problem:
                again = isinstance(problem, Error) and not isinstance(problem, EngineError)
                if again or not journal.has_entries:
                    partial.unlink(missing_ok=True)
                    log_path.unlink()
                raise
        log_path.unlink()


def _locked(stream: BinaryIO) -> bool:
    """Lock a file until it is closed, or tell that somebody else has."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _flush(stream: BinaryIO) -> None:
    stream.flush()
    with suppress(OSError):  # not every file system can
        os.fsync(stream.fileno())


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n"


def _entries(
    log_path: Path, partial: Path, task: Mapping[str, Any], path: PathLike
) -> list[dict[str, Any]]:
    """Return the entries that can be relied on: whole lines, about bytes that are there."""
    try:
        lines = log_path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    found: list[dict[str, Any]] = []
    for line in lines:
        try:
            found.append(json.loads(line.decode("utf-8", "surrogateescape")))
        except ValueError:
            break
    if not found:
        return []
    wanted = json.loads(_line(task).decode("utf-8", "surrogateescape"))
    for name in (*wanted, *found[0]):
        before, now = found[0].get(name), wanted.get(name)
        if before != now:
            raise OptionError(
                f"cannot resume {os.fspath(path)!r}: it was begun with {name} {before!r}, not "
                f"{now!r}; without --resume it begins anew"
            )
    size = partial.stat().st_size
    return [entry for entry in found[1:] if entry["bytes"] <= size]


def _finish(partial: Path, target: Path) -> None:
    """Give the target its content, all at once."""
    if target.suffix != ".gz":
        os.replace(partial, target)
        return
    with open(partial, "rb") as plain, created(target) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)
    partial.unlink()
