"""One job over a whole corpus: streamed, parallel, in order, and no segment lost to another.

Files are cut into records here, and records are parsed and worked on in batches, by worker
processes or in this one. Cutting is cheap and needs no understanding of the content, so
this process keeps many workers busy; at most a few batches are ever in memory.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Generic, TypeAlias, TypeVar

from lattices.errors import EngineError, Error, FormatError, OptionError
from lattices.formats import FORMATS, Format, parse_record, read_records
from lattices.formats.base import Record
from lattices.formats.streams import PathLike
from lattices.spaces import Space
from lattices.vocabulary import Vocabulary

R = TypeVar("R")

#: a batch is full at so many records, or at so many bytes
BATCH_RECORDS = 32
BATCH_BYTES = 4_000_000

#: what a job may raise because of one segment; anything else is a fault of the program
_SEGMENT_ERRORS = (Error, ArithmeticError, LookupError, MemoryError, ValueError)


@dataclass(frozen=True)
class Segment:
    """One segment of the input, parsed.

    Attributes
    ----------
    position : int
        Which segment of the whole input it is, from 0, counting those that cannot be parsed.
    path : str
        The file it stands in.
    line : int
        Its first line, 0 where lines mean nothing.
    space : Lattice or NBest
    """

    position: int
    path: str
    line: int
    space: Space

    @property
    def id(self) -> str:
        """The segment's name."""
        return self.space.id


@dataclass(frozen=True)
class _Outcome:
    """What became of one segment."""

    position: int
    path: str
    line: int
    id: str

    @property
    def place(self) -> str:
        """``file:line``, or the file where lines mean nothing."""
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True)
class Done(_Outcome, Generic[R]):
    """What the job made of one segment; ``position``, ``path``, ``line`` and ``id`` say which."""

    result: R


@dataclass(frozen=True)
class Failure(_Outcome):
    """Why there is no result for a segment, or for a whole file (``position`` -1).

    ``id`` is empty if the segment could not even be parsed.
    """

    reason: str

    def __str__(self) -> str:
        """Return place, name and reason in one line."""
        name = f"segment {self.id!r}: " if self.id else ""
        return f"{self.place}: {name}{self.reason}"


#: from the segments of one batch to one result each; picklable, for worker processes
Job: TypeAlias = Callable[[Sequence[Segment]], Sequence[R]]


@dataclass(frozen=True)
class _Task:
    """A record on its way to a worker."""

    position: int
    format: str
    record: Record


_Batch: TypeAlias = "list[_Task | Failure]"


def run(
    job: Job[R],
    paths: Iterable[PathLike],
    *,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    first: Callable[[Iterator[Segment]], None] | None = None,
    batch_records: int = BATCH_RECORDS,
) -> Iterator[Done[R] | Failure]:
    """Do a job for every segment of the given files, and iterate over what becomes of them.

    Outcomes come in the order of the input, whatever the number of workers, and are the
    same. The vocabulary of a batch is its own. Where the job fails for a batch, its
    segments are tried one by one, so that only the one at fault is lost.

    Parameters
    ----------
    job
        A callable from the segments of a batch to a result for each; a function or an object
        that can be pickled, if there are workers. It is sent to each worker once, but with
        every batch if the ``executor`` is yours.
    paths
        Files, directories, or ``-`` for standard input: see
        :func:`lattices.formats.read_records`.
    format, options
        The name of the format (by default it is found for each file) and its options.
    workers : int
        Processes; with 1 everything is done in this one.
    executor
        Any other executor to submit batches to; ``workers`` then says how many it has.
    first
        Called in this process with the segments of the first batch that has any, parsed as
        they are asked for, before any batch is sent away: the place to settle what depends
        on the input.
    batch_records : int
        How many records make a batch.

    Raises
    ------
    OSError, FormatError
        At once, for a path that does not exist or a directory without files.
    OptionError
        For an option that the format does not know.
    EngineError
        If a worker process dies.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "two.jsonl")
    >>> _ = file.write_text('{"id": "a", "finals": {"1": 0}, "arcs": [[0, 1, "hi"]]}\\nwhat?\\n')
    >>> def arcs(segments):
    ...     return [segment.space.num_arcs for segment in segments]
    >>> [outcome.result if isinstance(outcome, Done) else outcome.line
    ...  for outcome in run(arcs, [file])]
    [1, 2]
    """
    if workers < 1:
        raise OptionError(f"workers is at least 1, not {workers}")
    if batch_records < 1:
        raise OptionError(f"batch_records is at least 1, not {batch_records}")
    damages: list[FormatError] = []
    sources = [read_records(path, format, on_error=damages.append) for path in paths]
    batches = _batches(_tasks(sources, damages), batch_records)
    return _without_repeats(_outcomes(job, dict(options or {}), batches, workers, executor, first))


def _tasks(
    sources: Iterable[Iterator[tuple[Format, Record]]], damages: list[FormatError]
) -> Iterator[_Task | Failure]:
    """Number the records; what is wrong with a whole file stands where its records would."""
    position = 0
    for source in sources:
        for format, record in source:
            yield from _drained(damages)
            yield _Task(position, format.name, record)
            position += 1
        yield from _drained(damages)


def _drained(damages: list[FormatError]) -> Iterator[Failure]:
    for problem in damages:
        yield Failure(-1, problem.path, problem.line, "", problem.problem)
    damages.clear()


def _batches(tasks: Iterable[_Task | Failure], most: int) -> Iterator[_Batch]:
    batch: _Batch = []
    size = 0
    for task in tasks:
        batch.append(task)
        size += len(task.record.payload) if isinstance(task, _Task) else 0
        if len(batch) >= most or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _outcomes(
    job: Job[R],
    options: dict[str, Any],
    batches: Iterator[_Batch],
    workers: int,
    executor: Executor | None,
    first: Callable[[Iterator[Segment]], None] | None,
) -> Iterator[Done[R] | Failure]:
    if first is not None:
        for batch in batches:
            segments = _segments(batch, options)
            segment = next(segments, None)
            if segment is not None:
                first(chain([segment], segments))
                batches = chain([batch], batches)
                break
            # nothing in it can be parsed: there is nothing for the job to do
            yield from _processed(job, options, batch)
    work = partial(_processed, job, options)
    if executor is not None:
        submit = executor.submit
        yield from _in_order(lambda batch: submit(work, batch), batches, workers)
    elif workers == 1:
        yield from chain.from_iterable(map(work, batches))
    else:
        with ProcessPoolExecutor(workers, initializer=_employ, initargs=(work,)) as pool:
            yield from _in_order(lambda batch: pool.submit(_employed, batch), batches, workers)


def _segments(batch: _Batch, options: dict[str, Any]) -> Iterator[Segment]:
    """Iterate over those segments of a batch that can be parsed."""
    for task in batch:
        if isinstance(task, _Task):
            try:
                segment = _parsed(task, Vocabulary(), options)
            except FormatError:
                continue
            yield segment


def _in_order(
    submit: Callable[[_Batch], Future[list[Done[R] | Failure]]],
    batches: Iterator[_Batch],
    workers: int,
) -> Iterator[Done[R] | Failure]:
    """Keep every worker busy and one batch ahead, and no more than that."""
    pending: deque[Future[list[Done[R] | Failure]]] = deque()
    try:
        for batch in batches:
            pending.append(submit(batch))
            if len(pending) > 2 * workers:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    except BrokenProcessPool as problem:
        raise EngineError(
            "a worker process died, perhaps for lack of memory: try fewer workers"
        ) from problem
    finally:
        for future in pending:
            future.cancel()


_work: Callable[[_Batch], list[Done[Any] | Failure]]


def _employ(work: Callable[[_Batch], list[Done[Any] | Failure]]) -> None:
    """Make a worker process ready: the job comes once, not with every batch."""
    global _work
    _work = work
    # an interrupt ends a worker without a word: the parent has its own to say
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _employed(batch: _Batch) -> list[Done[Any] | Failure]:
    return _work(batch)


def _processed(job: Job[R], options: dict[str, Any], batch: _Batch) -> list[Done[R] | Failure]:
    """Parse a batch and do the job for it."""
    vocabulary = Vocabulary()
    parsed: list[Segment | Failure] = []
    for task in batch:
        if isinstance(task, Failure):
            parsed.append(task)
            continue
        try:
            parsed.append(_parsed(task, vocabulary, options))
        except FormatError as problem:
            path, line = problem.path or task.record.path, problem.line or task.record.line
            parsed.append(Failure(task.position, path, line, "", problem.problem))
    outcomes = iter(_isolated(job, [each for each in parsed if isinstance(each, Segment)]))
    return [next(outcomes) if isinstance(each, Segment) else each for each in parsed]


def _parsed(task: _Task, vocabulary: Vocabulary, options: dict[str, Any]) -> Segment:
    record = task.record
    space = parse_record(FORMATS.get(task.format), record, vocabulary, **options)
    return Segment(task.position, record.path, record.line, space)


def _isolated(job: Job[R], segments: list[Segment]) -> list[Done[R] | Failure]:
    """Do the job for all segments, or for each alone if it fails for all of them."""
    if not segments:
        return []
    try:
        results = job(segments)
    except _SEGMENT_ERRORS as problem:
        if len(segments) > 1:
            return [outcome for segment in segments for outcome in _isolated(job, [segment])]
        at = segments[0]
        known = isinstance(problem, Error)
        reason = str(problem) if known else f"{type(problem).__name__}: {problem}"
        return [Failure(at.position, at.path, at.line, at.id, reason)]
    return [
        Done(at.position, at.path, at.line, at.id, result)
        for at, result in zip(segments, results, strict=True)
    ]


def _without_repeats(outcomes: Iterator[Done[R] | Failure]) -> Iterator[Done[R] | Failure]:
    """Turn a second result for one id of one file into a failure, as ``lattices.read`` does."""
    path, lines = "", dict[str, str]()
    for outcome in outcomes:
        if outcome.path != path:
            path, lines = outcome.path, {}
        if isinstance(outcome, Done):
            if outcome.id in lines:
                yield Failure(
                    outcome.position, outcome.path, outcome.line, outcome.id,
                    f"the id is that of {lines[outcome.id]} already",
                )  # fmt: skip
                continue
            lines[outcome.id] = outcome.place
        yield outcome
