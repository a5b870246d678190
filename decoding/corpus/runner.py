"""Runner of one task over a corpus: streamed, parallel, in order, with isolated failures.

The input is cut into chunks here, and chunks are parsed and worked on in batches, by worker
processes or in this one. Cutting is cheap and needs no understanding of the content, so
this process keeps many workers busy; at most a few batches are ever in memory.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from decoding.corpus.inputs import Batch, BatchSizer, Inputs, batches, parse, skip_outcomes
from decoding.corpus.outcomes import Done, Failure, Segment
from fstmetrics.vocabulary_warning import Overlap, overlap
from fstmetrics.vocabulary_warning import VocabularyWarning as VocabularyWarning
from lattices.errors import (
    EngineError,
    Error,
    OptionError,
    argument_spellings,
    spell_arguments,
)
from lattices.formats.ids import SeenIds
from lattices.formats.streams import PathLike
from lattices.registry import LOADED, explain_failure
from lattices.vocabulary import Vocabulary

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from multiprocessing.connection import Connection

    from lattices.spaces import Space

__all__ = ["Done", "Failure", "Inputs", "ResumePoint", "Segment", "run"]

R = TypeVar("R")
T = TypeVar("T", covariant=True)

#: what a task may raise because of one segment; anything else is a fault of the program, or of a
#: plug-in
SEGMENT_ERRORS = (Error, ArithmeticError, LookupError, MemoryError, RuntimeError, ValueError)

#: words of a vocabulary that further batches share: they are not looked up again and again
MOST_WORDS = 1 << 16
#: seconds of work in one process before others are asked for, where nobody said how many
TRIAL = 0.5
#: seconds after the death of a worker in which a signal may still arrive
GRACE = 0.2

#: from the segments of one batch to one result each; picklable, for worker processes
Process: TypeAlias = Callable[[Sequence[Segment]], Sequence[R]]


class Processing(Protocol[T]):
    """A task: see :class:`decoding.corpus.table.Task`."""

    def process(self, segments: Sequence[Segment]) -> Sequence[T]:
        """Return a result for each segment."""


#: the outcomes of a batch, the seconds they took, and the words that references share with spaces
_Worked: TypeAlias = "tuple[list[Done[Any] | Failure], float, Overlap]"


class ResumePoint:
    """What a run that did not come to its end has done, for another one to go on from there.

    Attributes
    ----------
    outcomes : int
        How many outcomes it had, failures included.
    seen : SeenIds
        The ids that have results; the next run adds its own.
    """

    def __init__(self, outcomes: int = 0) -> None:
        self.outcomes, self.seen = outcomes, SeenIds()

    def add(self, outcome: Done[Any] | Failure) -> None:
        """Count one outcome."""
        self.outcomes += 1
        if isinstance(outcome, Done):
            self.seen.add(outcome.id, outcome.path, outcome.line)


def run(
    task: Processing[R] | Process[R],
    paths: Iterable[PathLike] | Inputs,
    *,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    change: Callable[[Space], Space] | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    shared_files: bool = True,
    first: Callable[[Iterator[Segment]], None] | None = None,
    batch_records: int | None = None,
    earlier: ResumePoint | None = None,
    on_read: Callable[[int], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Iterator[Done[R] | Failure]:
    """Do a task for every segment of the given files, and iterate over what becomes of them.

    Outcomes come in the order of the input, whatever the number of workers, and are the
    same. Batches share a vocabulary for as long as it is not large. Where the task fails for a
    batch, its segments are tried one by one, so that only the one at fault is lost. A second
    segment with the id of one that has a result, in whatever file, is a failure.

    Parameters
    ----------
    task
        What has ``process(segments)``, which returns a result for each segment of a batch, such as
        :class:`decoding.OracleTask`; or a function like that. If there are workers it can be
        pickled. It is sent to each worker once, but with every batch if the ``executor`` is yours.
    paths
        Files, directories, or ``-`` for standard input: see
        :func:`lattices.formats.read_records`.
    format, options
        The name of the format (by default it is found for each file) and its options.
    change : function, optional
        What is done to each space before anything else, such as
        :class:`lattices.spaces.scales.Scales`; it can be pickled if there are workers.
    workers : int
        Processes; with 1 everything is done in this one. With 0 it begins there as well, and goes
        on in as many as there are processors if what is left takes long.
    executor
        Any other executor to submit batches to; ``workers`` then says how many it has.
    shared_files : bool
        Whether the workers can open the files as this process does. Then they read
        themselves what can be read by position or by line, and files of one segment; if not,
        all that they work on is sent to them.
    first
        Called in this process with the segments of the first batch that has any, parsed as
        they are asked for, before any batch is sent away: the place to settle what depends
        on the input.
    batch_records : int, optional
        How many segments make a batch; by default the more, the faster the work is.
    earlier
        What was done before: so many outcomes are left out, without parsing their segments.
        The input must be the same. Its ids are added to.
    on_read
        Called with the number of bytes whenever some of the input was read, or left to a
        worker to read; in all :attr:`Inputs.bytes`.
    warn
        Called in the end, once, if no word of the references occurs in any of the spaces, or
        only in another case, for tasks that score (see :mod:`fstmetrics.references`); by default a
        :class:`~fstmetrics.vocabulary_warning.VocabularyWarning`.

    Raises
    ------
    OSError, FormatError
        At once, for a path that does not exist or a directory without files.
    OptionError
        For an option that the format does not know.
    EngineError
        If a worker process dies.
    OptionError
        If the input has fewer outcomes than were done ``earlier``.

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
    if workers < 0:
        raise OptionError(f"workers is at least 0, not {workers}")
    if batch_records is not None and batch_records < 1:
        raise OptionError(f"batch_records is at least 1, not {batch_records}")
    inputs = paths if isinstance(paths, Inputs) else Inputs(paths, format, shared_files)
    pace = BatchSizer(batch_records)
    share = _Share(inputs, on_read)
    cut = batches(inputs.chunks(share.read, pace), pace)
    work = Work(task, dict(options or {}), change)
    done = ResumePoint() if earlier is None else earlier

    def tell(shared: Overlap) -> None:
        if shared.problem:
            (warn or _warn)(shared.problem)

    crew = _Crew(workers, executor, share)
    found = _outcomes(work, cut, pace, crew, first, done.outcomes, tell)
    return _refuse_repeats(found, done.seen)


def _warn(problem: str) -> None:
    warnings.warn(problem, VocabularyWarning, stacklevel=2)


def run_share(
    work: Work, share: Inputs, seen: SeenIds, tell: Callable[[Overlap], None]
) -> Iterator[Done[Any] | Failure]:
    """Do some work here for a share of a corpus, whose segments may not have the ids ``seen``.

    ``tell`` is called in the end with what references and spaces have in common.
    """
    pace = BatchSizer()
    cut = batches(share.chunks(pace=pace), pace)
    return _refuse_repeats(_outcomes(work, cut, pace, _Crew(1), None, 0, tell), seen)


def show_first(work: Work, inputs: Inputs, first: Callable[[Iterator[Segment]], None]) -> None:
    """Call a function with the segments of the first batch that has any."""
    pace = BatchSizer()
    for batch in batches(inputs.chunks(pace=pace), pace):
        if _show(work, batch, first):
            return


def _show(work: Work, batch: Batch, first: Callable[[Iterator[Segment]], None]) -> bool:
    segments = (part for part in work.parse(batch) if isinstance(part, Segment))
    segment = next(segments, None)
    if segment is not None:
        first(chain([segment], segments))
    return segment is not None


class Work:
    """What is done with a batch, wherever that is."""

    def __init__(
        self,
        task: Any,
        options: dict[str, Any],
        change: Callable[[Space], Space] | None = None,
    ) -> None:
        self.task, self.options, self.spellings = task, options, dict(argument_spellings())
        self.change = change
        self.overlap, self.vocabulary = Overlap.UNKNOWN, Vocabulary()
        self.plugins = LOADED

    def __getstate__(self) -> dict[str, Any]:
        """Return what workers get: each has words of its own."""
        return {**self.__dict__, "vocabulary": Vocabulary()}

    def __call__(self, batch: Batch) -> _Worked:
        """Parse a batch and process it; return the outcomes, and how long it took."""
        started = time.perf_counter()
        LOADED.update(self.plugins)
        with spell_arguments(self.spellings):
            parts = list(self.parse(batch))
            segments = [part for part in parts if isinstance(part, Segment)]
            if self.overlap < Overlap.WORDS:
                # one word is enough, and nothing is asked after it
                self.overlap = max(self.overlap, overlap_of_segments(self.task, segments))
            outcomes = iter(_isolate(self.task, segments))
        all_of_them = [next(outcomes) if isinstance(part, Segment) else part for part in parts]
        return all_of_them, time.perf_counter() - started, self.overlap

    def parse(self, batch: Batch) -> Iterator[Segment | Failure]:
        """Iterate over the segments of a batch, parsed as they are asked for."""
        if len(self.vocabulary) > MOST_WORDS:
            self.vocabulary = Vocabulary()
        for chunk in batch:
            for part in parse(chunk, self.vocabulary, self.options):
                if self.change is None or isinstance(part, Failure):
                    yield part
                else:
                    yield self._change_space(part, self.change)

    @staticmethod
    def _change_space(segment: Segment, change: Callable[[Space], Space]) -> Segment | Failure:
        place = segment.position, segment.path, segment.line, segment.id
        try:
            return Segment(*place[:3], change(segment.space))
        except SEGMENT_ERRORS as problem:
            return Failure(*place, explain(problem))


def _outcomes(
    work: Work,
    cut: Iterator[Batch],
    pace: BatchSizer,
    crew: _Crew,
    first: Callable[[Iterator[Segment]], None] | None,
    skipped: int,
    tell: Callable[[Overlap], None],
) -> Iterator[Done[Any] | Failure]:
    if first is not None:
        for batch in cut:
            if _show(work, batch, first):
                cut = chain([batch], cut)
                break
            # nothing in it can be parsed: there is nothing to process
            failures, *_ = work(batch)
            yield from failures[skipped:]
            skipped = max(0, skipped - len(failures))
    shared = Overlap.UNKNOWN
    with closing(crew.work_all(work, skip_outcomes(cut, skipped))) as worked:
        for outcomes, seconds, overlap in worked:
            pace.learn(len(outcomes), seconds)
            shared = max(shared, overlap)
            yield from outcomes
    tell(shared)


class _Share:
    """How much of the input was read."""

    def __init__(self, inputs: Inputs, on_read: Callable[[int], None] | None) -> None:
        self._inputs, self._on_read, self._bytes = inputs, on_read, 0

    def read(self, count: int) -> None:
        self._bytes += count
        if self._on_read is not None:
            self._on_read(count)

    def estimate_rest(self, seconds: float) -> float:
        """Return how long the rest takes, if so far it was so many; endless if nobody knows."""
        whole = self._inputs.bytes
        return math.inf if whole is None else seconds * (whole / max(1, self._bytes) - 1)


class _Crew(NamedTuple):
    """Who works on batches: this process, others, or an executor."""

    workers: int
    executor: Executor | None = None
    share: _Share | None = None

    def work_all(self, work: Work, left: Iterator[Batch]) -> Generator[_Worked, None, None]:
        """Iterate over what becomes of batches, in their order."""
        if self.executor is not None:
            submit, workers = self.executor.submit, self.workers or 1
            yield from _in_order(lambda batch: submit(work, batch), left, workers, cancels=True)
            return
        workers = self.workers
        if workers < 2:
            started = time.perf_counter()
            for batch in left:
                yield work(batch)
                if not workers and (found := self._find_helpers(time.perf_counter() - started)):
                    workers = found
                    break
            else:
                return
        with process_pool(workers, work) as submit_held:
            yield from _in_order(lambda batch: submit_held(_employ_pool, batch), left, workers)

    def _find_helpers(self, seconds: float) -> int:
        """Return how many processes would help, after so many seconds in this one; 0 if none."""
        processors = count_processors() if seconds > TRIAL else 1
        if processors == 1 or self.share is None or not _may_fork():
            return 0
        left = self.share.estimate_rest(seconds)
        return int(min(processors, left)) if left > 2 else 0


def count_processors() -> int:
    """Return how many processors this process may use, by its affinity and by its cgroup."""
    try:
        found = len(os.sched_getaffinity(0))
    except AttributeError:
        found = os.cpu_count() or 1
    with suppress(OSError, ValueError):
        with open("/sys/fs/cgroup/cpu.max") as limits:
            quota, period = limits.read().split()
        found = min(found, -(-int(quota) // int(period)))
    return max(1, found)


def _may_fork() -> bool:
    """Tell whether processes can be made of this one: not with threads, nor with a GPU in use."""
    import threading

    # threads of others are not among those that Python knows; numpy's own do no harm
    known = sys._current_frames()
    alone = threading.active_count() == len(known) == 1
    return alone and not _HOLD_DEVICES & sys.modules.keys() and hasattr(os, "fork")


#: modules whose state on a GPU does not survive a fork
_HOLD_DEVICES = {"torch", "tensorflow", "jax"}


@contextmanager
def process_pool(workers: int, work: Work | None = None) -> Iterator[Callable[..., Future[Any]]]:
    """Start processes, and yield what submits a call to them; they end with this one."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import Pipe

    end, stop = Pipe(duplex=False)
    with (
        end,
        stop,
        ProcessPoolExecutor(workers, initializer=_employ, initargs=(work, end)) as pool,
    ):
        results: Any = pool._result_queue

        def submit_held(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
            with hold_signals():
                submitted = pool.submit(function, *arguments)
            if len(pool._processes) == workers:
                # if a worker dies while it writes, the end of the others tells the reader that
                # no more comes; it would wait forever while this process could write, too
                results._writer.close()
            return submitted

        try:
            yield submit_held
        except BaseException:
            # the pool would wait for those at work, and forever for one that waits for a lock
            # which another has died with
            stop.send(None)
            results._writer.close()
            raise


def _in_order(
    submit: Callable[[Batch], Future[_Worked]],
    left: Iterator[Batch],
    workers: int,
    *,
    cancels: bool = False,
) -> Iterator[_Worked]:
    """Keep one batch queued for each worker.

    ``cancels`` is for workers of others, who go on: a pool of processes that ends does not expect
    that what it waits for is cancelled.
    """
    from concurrent.futures import BrokenExecutor

    pending: deque[Future[_Worked]] = deque()
    try:
        for batch in left:
            pending.append(submit(batch))
            if len(pending) > 2 * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenExecutor as problem:
        # a signal that has ended a worker was for this process, too
        time.sleep(GRACE)
        raise EngineError(
            "a worker process died, perhaps for lack of memory: try fewer workers"
        ) from problem
    finally:
        for future in pending if cancels else ():
            future.cancel()


_work: Work


@contextmanager
def hold_signals() -> Iterator[None]:
    """Defer signals: an exception raised during a fork is lost."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ending())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ending() -> list[signal.Signals]:
    """Return the signals that Python has a handler for: those that end a process in order."""
    return [number for number in signal.valid_signals() if callable(signal.getsignal(number))]


def _employ(work: Work | None, end: Connection) -> None:
    """Make a worker process ready: the task comes once, not with every batch."""
    global _work
    if work is not None:
        _work = work
    set_up_worker(end)


def set_up_worker(end: Connection) -> None:
    """Let a worker process end with its parent, and by signals without a word."""
    import threading

    # the parent has its own to say of a signal; what the parent ignores, as nohup has it do, ends
    # neither
    ending = _ending()
    for number in ending:
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, args=[end], daemon=True).start()
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)


def _end_with_parent(end: Connection) -> None:
    """End this process when its parent says so or is killed: its queue would wait forever."""
    import multiprocessing.connection

    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel, end])
        os._exit(1)


def _employ_pool(batch: Batch) -> _Worked:
    return _work(batch)


def _isolate(task: Any, segments: list[Segment]) -> list[Done[Any] | Failure]:
    """Process all segments, or each alone if that fails for all of them."""
    if not segments:
        return []
    try:
        results = getattr(task, "process", task)(segments)
    except ImportError:
        # no fault of the segment's: all the others would fail as well
        raise
    except Exception as problem:
        if not (isinstance(problem, SEGMENT_ERRORS) or explain_failure(problem)):
            raise
        if len(segments) > 1:
            return [outcome for segment in segments for outcome in _isolate(task, [segment])]
        at = segments[0]
        return [Failure(at.position, at.path, at.line, at.id, explain(problem))]
    return [
        Done(at.position, at.path, at.line, at.id, result)
        for at, result in zip(segments, results, strict=True)
    ]


def explain(problem: Exception) -> str:
    """Return why there is no result: the message of an error of ours, or what else was raised."""
    if isinstance(problem, Error):
        return str(problem)
    return explain_failure(problem) or f"{type(problem).__name__}: {problem}"


def _refuse_repeats(
    outcomes: Iterator[Done[R] | Failure], seen: SeenIds
) -> Iterator[Done[R] | Failure]:
    """Turn a second result for one id into a failure, as ``lattices.read`` does."""
    for outcome in outcomes:
        problem = isinstance(outcome, Done) and seen.find_objection(
            outcome.id, outcome.path, outcome.line
        )
        if problem:
            yield Failure(outcome.position, outcome.path, outcome.line, outcome.id, problem)
        else:
            yield outcome


def overlap_of_segments(task: Any, segments: Sequence[Segment]) -> Overlap:
    """Return the overlap of segments with the references that a task scores them by.

    Such a task has ``references``, None for those of the segments, and ``metrics``; if there are
    any, one of them has to compare words as they are.
    """
    metrics = getattr(task, "metrics", None)
    if metrics is None:
        return Overlap.UNKNOWN
    from fstmetrics.contract import compares_words

    if metrics and not any(map(compares_words, metrics)):
        return Overlap.UNKNOWN
    references = task.references
    found = Overlap.UNKNOWN
    for segment in segments:
        try:
            given = segment.space.references
            if references is not None:
                given = references.get(segment.id, segment.position)
            found = max(found, overlap(segment.space.vocabulary, given))
        except Error:
            # the task has the same to say
            continue
        if found is Overlap.WORDS:
            break
    return found
