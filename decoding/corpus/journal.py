"""Journal of an output file, from which an interrupted run is resumed.

While a job runs, what it has written stands in a hidden file beside the target, and a journal
in another: about once a second, how many bytes and outcomes are settled, and what was summed
up so far. The target takes its name when the job has ended; a run that resumes cuts off what
the last entry of the journal does not vouch for, and leaves out what was done.

The first line of the journal says what the task is; it comes with the first entry.
Every line begins with a checksum of itself and of all lines before it, and every
entry has one of the output up to there. What was changed since, in the journal or in the output,
counts for nothing, and neither does what comes after it.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, cast

from decoding.corpus.outcomes import Done, Failure
from decoding.corpus.runner import ResumePoint
from lattices.errors import EngineError, Error, OptionError
from lattices.formats.compression import compression_of
from lattices.formats.streams import (
    STANDARD,
    NamedFile,
    PathLike,
    is_replaceable,
    is_url,
    make_hidden_path,
    name_file_in_errors,
    open_output,
)
from lattices.optional import blake2b

#: of the journal: an older one is refused
VERSION = 3
#: seconds between two entries; what is done in between is done again after a fall
INTERVAL = 1.0
#: failures after which an entry is made, so that there are never more in memory
MOST_FAILURES = 10_000
#: bytes that are held back before they are written
BUFFER = 1 << 18
#: what a file system answers that cannot be told to write at once
_NO_SYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EROFS)


class Journal:
    """An output, and the record of how far it has come.

    Attributes
    ----------
    earlier : ResumePoint
        What was done already: to be given to :func:`decoding.corpus.runner.run`.
    state
        The ``state`` of the last entry of the run that is resumed; None if there is none.
    """

    def __init__(
        self,
        stream: BinaryIO,
        log: BinaryIO | None = None,
        name: str = "",
        task: Mapping[str, Any] | None = None,
    ) -> None:
        self.earlier = ResumePoint()
        self.state: Any = None
        self._stream, self._log, self._name, self._task = stream, log, name, task or {}
        self._bytes = self._outcomes = self._entries = 0
        self._files: list[tuple[str, dict[str, int]]] = []
        self._failures: list[list[Any]] = []
        self._output, self._chain = blake2b(digest_size=16), b""
        self._last = time.monotonic()

    def write(self, outcome: Done[Any] | Failure, data: bytes) -> None:
        """Write what there is to write for the next outcome."""
        self._stream.write(data)
        if self._log is None:
            return
        self._output.update(data)
        self._bytes += len(data)
        self._outcomes += 1
        if not self._files or self._files[-1][0] != outcome.path:
            self._files.append((outcome.path, {}))
        if isinstance(outcome, Done):
            self._files[-1][1][outcome.id] = outcome.line
        else:
            where = (outcome.position, outcome.path, outcome.line, outcome.id)
            self._failures.append([*where, outcome.reason])

    def write_rest(self, data: bytes) -> None:
        """Write what belongs to no segment, of an output that has no record."""
        self._stream.write(data)

    @property
    def is_due(self) -> bool:
        """Whether it is time for an entry."""
        return self._log is not None and (
            time.monotonic() - self._last >= INTERVAL or len(self._failures) >= MOST_FAILURES
        )

    @property
    def has_entries(self) -> bool:
        """Whether there is anything to resume."""
        return self._entries > 0

    def enter(self, state: Any) -> None:
        """Make an entry: all outcomes so far are settled, and summed up by ``state`` (JSON)."""
        if self._log is None:
            return
        _sync(self._stream, self._name)
        if not self._entries:
            self._append(self._log, {"journal": VERSION, "task": self._task})
        entry = {
            "bytes": self._bytes,
            "outcomes": self._outcomes,
            "output": self._output.hexdigest(),
            "files": self._files,
            "failures": self._failures,
            "state": state,
        }
        self._append(self._log, entry)
        _sync(self._log, self._name)
        self._files, self._failures = [], []
        self._entries += 1
        self._last = time.monotonic()

    def _empty(self, log: BinaryIO) -> None:
        self._chain = b""
        for stream in (self._stream, log):
            stream.truncate(0)
            stream.seek(0)

    def _append(self, log: BinaryIO, content: Mapping[str, Any]) -> None:
        # the output of most runs is written before there is an entry
        import json

        text = json.dumps(content).encode("ascii")
        self._chain = _checksum(self._chain, text)
        log.write(self._chain + b" " + text + b"\n")

    def _take_up(self, log: BinaryIO, on_failure: Callable[[Failure], None]) -> None:
        """Resume the journal of the same task, up to the last entry that matches the output."""
        import json

        line = log.readline()
        if not line.endswith(b"\n"):
            # the earlier run was stopped before it had made an entry
            return
        begun = self._content(line)
        if begun is None or begun.get("journal") != VERSION:
            raise OptionError(
                f"cannot resume {self._name!r}: its journal is damaged, or of another version of "
                "fstmetrics; without --resume it begins anew"
            )
        check_task(self._name, begun["task"], json.loads(json.dumps(self._task)))
        self._chain, end = _seal(line), log.tell()
        for line in log:
            entry = self._content(line)
            if entry is None or not self._vouches(entry):
                break
            for path, lines in entry["files"]:
                for id, number in lines.items():
                    self.earlier.seen.add(id, path, number)
            for failure in entry["failures"]:
                on_failure(Failure(*failure))
            self.state = entry["state"]
            self._bytes, self._outcomes = entry["bytes"], entry["outcomes"]
            self._entries += 1
            self._chain, end = _seal(line), end + len(line)
        self.earlier.outcomes = self._outcomes
        log.truncate(end)
        log.seek(end)
        self._stream.truncate(self._bytes)
        self._stream.seek(self._bytes)

    def _content(self, line: bytes) -> dict[str, Any] | None:
        """Return what a line holds; None if it is not as it was written after the one before."""
        import json

        seal = _seal(line)
        text = line[len(seal) + 1 : -1]
        if line != seal + b" " + text + b"\n" or seal != _checksum(self._chain, text):
            return None
        content: dict[str, Any] = json.loads(text)
        return content

    def _vouches(self, entry: Mapping[str, Any]) -> bool:
        """Tell whether the output is what it was when this next entry was made; read it so far."""
        read, left = self._output.copy(), entry["bytes"] - self._bytes
        while left:
            piece = self._stream.read(min(left, 1 << 20))
            if not piece:
                return False
            read.update(piece)
            left -= len(piece)
        if read.hexdigest() != entry["output"]:
            return False
        self._output = read
        return True


def check_task(
    name: str, begun: Mapping[str, Any] | None, wanted: Mapping[str, Any] | None
) -> None:
    """Refuse to go on with an output of this name that was begun by another task."""
    begun, wanted = begun or {}, wanted or {}
    for key in (*wanted, *begun):
        before, now = begun.get(key), wanted.get(key)
        if before != now:
            raise OptionError(
                f"cannot resume {name!r}: it was begun with {key} {before!r}, not "
                f"{now!r}; without --resume it begins anew"
            )


def _checksum(chain: bytes, text: bytes) -> bytes:
    return blake2b(chain + text, digest_size=16).hexdigest().encode("ascii")


def _seal(line: bytes) -> bytes:
    """Return the checksum that a line begins with."""
    return line[:32]


@contextmanager
def open_journalled(
    path: PathLike,
    task: Mapping[str, Any],
    *,
    resume: bool = False,
    on_failure: Callable[[Failure], None] = lambda failure: None,
) -> Iterator[Journal]:
    """Open an output file that can be resumed; pipes and devices are written to as they are.

    So are files where the system has no locks that end with a process (``fcntl``), as on Windows:
    they take their name when they are whole, but there is no journal to resume from.
    """
    name = os.fspath(path)
    target = os.path.realpath(path)
    compression_of(target)  # one that is not written is an error before any work is done
    with name_file_in_errors(name):
        is_file = name != STANDARD and not is_url(name) and is_replaceable(target)
    if not is_file or not _has_locks():
        if resume and is_file:
            raise OptionError(
                f"cannot resume {name!r}: there are no file locks on this system (no module "
                "fcntl); without --resume it is written as a whole"
            )
        if resume:
            raise OptionError(f"{name!r} is no file, and cannot be resumed")
        with open_output(path) as stream:
            yield Journal(stream)
        return
    partial, log_path = make_hidden_path(target, "partial"), make_hidden_path(target, "journal")
    with _own(partial, name) as stream, _open_hidden(log_path, name) as log:
        journal = Journal(stream, log, name, task)
        if resume:
            journal._take_up(log, on_failure)
        try:
            if not journal.has_entries:
                journal._empty(log)
            yield journal
            stream.flush()
            if journal.has_entries:
                # what took less time than an entry is made again sooner than a disk has it
                _sync(stream, name)
            with name_file_in_errors(name):
                _finish(partial, log_path, target)
        except BaseException as problem:
            again = isinstance(problem, Error) and not isinstance(problem, EngineError)
            if again or not journal.has_entries:
                for hidden in (log_path, partial):
                    with suppress(FileNotFoundError):
                        os.unlink(hidden)
            raise


@contextmanager
def hold_output(path: PathLike) -> Iterator[None]:
    """Keep other runs from writing an output; what an interrupted one has left is dropped."""
    name, target = os.fspath(path), os.path.realpath(path)
    compression_of(target)
    if not _has_locks():
        yield
        return
    partial, log_path = make_hidden_path(target, "partial"), make_hidden_path(target, "journal")
    with _own(partial, name):
        try:
            yield
        finally:
            for hidden in (log_path, partial):
                with suppress(FileNotFoundError):
                    os.unlink(hidden)


def shards_folder(output: PathLike) -> str:
    """Return the hidden folder of the parts of an output."""
    return make_hidden_path(os.path.realpath(output), "shards")


def has_plan(output: PathLike) -> bool:
    """Tell whether a run by shards has begun an output, and has not ended."""
    return os.path.exists(os.path.join(shards_folder(output), "plan"))


def drop_shards(output: PathLike) -> None:
    """Remove what a run by shards has left of an output."""
    import shutil

    shutil.rmtree(shards_folder(output), ignore_errors=True)


def _own(partial: str, name: str) -> BinaryIO:
    """Open and lock the hidden file of an output.

    A run that ends gives the file another name, and only then lets go of it. Whoever has opened
    it before must not touch it: it is the output of that run.
    """
    while True:
        stream = _open_hidden(partial, name)
        try:
            if not _lock(stream):
                raise OptionError(f"another process is writing {name!r}")
            if os.path.samestat(os.fstat(stream.fileno()), os.lstat(partial)):
                return stream
        except FileNotFoundError:
            pass
        except BaseException:
            stream.close()
            raise
        stream.close()


def _open_hidden(path: str, name: str) -> BinaryIO:
    """Open a hidden file for reading and writing, with what is in it; made if there is none.

    A symbolic link in its place is refused: its target would be overwritten.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    refused = OptionError(f"{path!r} is a link or no file at all; remove it first")
    try:
        with name_file_in_errors(name):
            if os.path.islink(path):
                raise refused
            file = NamedFile(os.open(path, flags, 0o666), "r+", name)
    except OSError as problem:
        # a link that was put there just now
        raise refused if problem.errno in (errno.ELOOP, errno.EMLINK) else problem from None
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        file.close()
        raise refused
    return cast(BinaryIO, io.BufferedRandom(file, BUFFER))


def _has_locks() -> bool:
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return False
    return True


def _lock(stream: BinaryIO) -> bool:
    """Lock a file until it is closed; return whether it was free."""
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sync(stream: BinaryIO, name: str) -> None:
    stream.flush()
    try:
        with name_file_in_errors(name):
            os.fsync(stream.fileno())
    except OSError as problem:
        if problem.errno not in _NO_SYNC:
            raise


def _finish(partial: str, log_path: str, target: str) -> None:
    """Give the target its content, all at once.

    The hidden file goes last: as long as it is there, it is locked, and no other run can make
    a journal that would be removed here.
    """
    if compression_of(target) is None:
        os.unlink(log_path)
        os.replace(partial, target)
        return
    with open(partial, "rb") as plain, open_output(target) as packed:
        while block := plain.read(1 << 20):
            packed.write(block)
    os.unlink(log_path)
    os.unlink(partial)
