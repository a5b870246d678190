"""Shards of a corpus: who has one reads it, works on it, writes its part, and sends back sums.

The client cuts the input into shards, which takes no look at most of it, and hands them out. What
it gets back of a shard are sums, failures and hashes of ids: a few bytes a segment. In the end it
checks that no id has two results, and puts the parts together, or leaves them as they are.

Parts are in a hidden folder beside the output, each with a record of what it is: the plan it
belongs to, its checksum, its ids and its sums. Both take their names when they are whole. A shard
with a record is done, whoever did it; so a worker or the client may die at any time, two workers
may even do one shard, and another run goes on with the shards that have no record.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import closing, contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, TypeAlias, cast

import numpy as np

from decoding.corpus.inputs import Inputs, Piece, locate
from decoding.corpus.journal import check_task, drop_shards, has_plan, hold_output, shards_folder
from decoding.corpus.outcomes import Done, Failure, Failures
from decoding.corpus.runner import GRACE, Work, process_pool, run_share, show_first
from fstmetrics.vocabulary_warning import Overlap
from lattices.arrays import Array
from lattices.errors import EngineError, Error, OptionError
from lattices.formats.ids import SeenIds, digest_ids
from lattices.formats.streams import PathLike, open_output

if TYPE_CHECKING:
    from decoding.corpus.outcomes import Segment

    Outcome: TypeAlias = Done[Any] | Failure
    #: by number, what of the input it is, and the ids that it may not have with the place of each
    _Shares: TypeAlias = Mapping[int, tuple[Inputs, Mapping[str, tuple[str, int]]]]

#: of plans and records: an older one is refused
VERSION = 1
#: how often a worker process may die without any shard being done in between
DEATHS = 3
#: hashes that are looked through for repeats at a time
HASHES = 1 << 22
#: bytes that are put together at a time
BLOCK = 1 << 20


class Collector(Protocol):
    """What becomes of outcomes: it writes them, and sums up; it can be pickled when it is new."""

    @property
    def failures(self) -> Failures:
        """Those that were collected."""

    def write(self, outcomes: Iterable[Outcome], stream: BinaryIO) -> None:
        """Write all that there is to write of outcomes, and sum them up."""

    def state(self) -> Any:
        """Return the sums as JSON has them, without failures."""

    def merge(self, state: Any) -> None:
        """Add what another one has summed up."""


@dataclass(frozen=True)
class Job:
    """What is done with each shard."""

    #: a task, and how segments are read
    work: Work
    #: a new one
    collector: Collector
    #: what the names of parts end with; it says how they are compressed
    suffix: str = ""


class ShardEnd(NamedTuple):
    """What is told of a shard that is done."""

    number: int
    #: that of its collector
    state: Any
    failures: list[Failure]
    #: of the ids that have a result, sorted
    hashes: Array
    #: what its references and spaces have in common
    overlap: Overlap
    #: how many it has
    outcomes: int
    #: whether an earlier run did it
    was_there: bool = False


@dataclass
class ShardedRun:
    """A run over a corpus by shards."""

    #: the file that the parts make; or a folder, which they are left in
    output: PathLike
    #: whether it is that
    partitioned: bool = False
    #: about how many shards there are to be
    count: int = 1
    #: what the output depends on; a run is resumed by one with the same stamp
    stamp: Mapping[str, Any] | None = None
    #: whether to go on with what an earlier run has done; then its plan is taken
    resume: bool = False
    folder: str = field(init=False)

    def __post_init__(self) -> None:
        """Name the folder of parts."""
        self.folder = shards_folder(self.output)

    def run(
        self,
        job: Job,
        inputs: Inputs,
        *,
        workers: int = 1,
        executor: Executor | None = None,
        first: Callable[[Iterator[Segment]], None] | None = None,
        on_plan: Callable[[Sequence[Inputs]], None] = lambda shards: None,
        on_end: Callable[[Inputs, ShardEnd], None] = lambda shard, end: None,
    ) -> tuple[Collector, list[Failure], Overlap]:
        """Do a job; return what was collected, all failures in order, and the overlap.

        ``first`` is called with the segments of a first batch, ``on_plan`` with all shards, and
        ``on_end`` with each one that is done. The output is not there yet: see :meth:`finish`.
        """
        calls = _Calls(workers, executor)
        if not self.resume:
            drop_shards(self.output)
        if first is not None:
            show_first(job.work, inputs, first)
        os.makedirs(self.folder, exist_ok=True)
        shards, seal = self._plan(job, inputs, calls)
        on_plan(shards)
        ends: dict[int, ShardEnd] = {}
        whole: _Shares = {number: (shard, {}) for number, shard in enumerate(shards)}
        with closing(self._do(calls, seal, whole)) as done:
            for end in done:
                ends[end.number] = end
                on_end(shards[end.number], end)
        refused = self._find_repeats([ends[number].hashes for number in range(len(shards))])
        again: _Shares = {number: (shards[number], ids) for number, ids in refused.items()}
        for end in self._do(calls, seal, again):
            ends[end.number] = end
        failures: list[Failure] = []
        overlap = Overlap.UNKNOWN
        for number in range(len(shards)):
            end = ends.pop(number)
            job.collector.merge(end.state)
            failures += end.failures
            overlap = max(overlap, end.overlap)
        for failure in failures:
            job.collector.failures.append(failure)
        return job.collector, failures, overlap

    def _plan(self, job: Job, inputs: Inputs, calls: _Calls) -> tuple[list[Inputs], str]:
        """Return the shards, and the seal of job and plan, both of which are in the folder."""
        path = os.path.join(self.folder, "plan")
        task = None if self.stamp is None else json.loads(json.dumps(self.stamp))
        content = _read_sealed(path) if self.resume else None
        if content is None:
            if self.resume and os.path.exists(path):
                raise OptionError(
                    f"cannot resume {os.fspath(self.output)!r}: its plan is damaged; without "
                    "--resume it begins anew"
                )
            references = getattr(job.work.task, "references", None)
            by_line = references is not None and references.layout != "kaldi"
            cut = inputs.shards(self.count)
            alone = len(cut) == 1 and not by_line
            shards = cut if alone or inputs.chosen else locate(cut, by_line, calls.map)
            content = {
                "plan": VERSION,
                "task": task,
                # what has no stamp is never gone on with
                "run": None if task is not None else os.urandom(8).hex(),
                "shards": [[shard.position, shard.pieces] for shard in shards],
            }
            _write_sealed(path, content)
        elif content.get("plan") != VERSION:
            raise OptionError(
                f"cannot resume {os.fspath(self.output)!r}: it was begun by another version of "
                "fstmetrics; without --resume it begins anew"
            )
        else:
            check_task(os.fspath(self.output), content["task"], task)
        shards = [
            inputs.part([Piece(*piece) for piece in pieces], position)
            for position, pieces in content["shards"]
        ]
        data = pickle.dumps(job)
        with open_output(os.path.join(self.folder, "job")) as stream:
            stream.write(data)
        made = json.dumps(content).encode()
        return shards, f"{_digest(made)}-{_digest(data)}"

    def _do(self, calls: _Calls, seal: str, left: _Shares) -> Generator[ShardEnd, None, None]:
        wanted = {
            number: (self.folder, seal, number, shard, ids) for number, (shard, ids) in left.items()
        }
        for number, end in calls.run(do_shard, wanted):
            yield end._replace(number=number)

    def _find_repeats(self, hashes: Sequence[Array]) -> dict[int, dict[str, tuple[str, int]]]:
        """Return the ids that shards may not have, and the place of the first of each."""
        suspects = _find_repeated(hashes)
        if not len(suspects):
            return {}
        first: dict[str, tuple[int, tuple[str, int]]] = {}
        refused: dict[int, dict[str, tuple[str, int]]] = {}
        for number, of_shard in enumerate(hashes):
            if not np.isin(suspects, of_shard).any():
                continue
            record = _read_sealed(_record_path(self.folder, number)) or {}
            for path, lines in record["files"]:
                for id, line in lines.items():
                    # several ids may have one hash
                    shard, at = first.setdefault(id, (number, (path, line)))
                    if shard != number:
                        refused.setdefault(number, {})[id] = at
        return refused

    def finish(self, parts: int, suffix: str) -> None:
        """Give the output its name: the parts put together, or the folder of them."""
        paths = [_part_path(self.folder, number, suffix) for number in range(parts)]
        if not self.partitioned:
            with open_output(self.output) as stream:
                for path in paths:
                    with open(path, "rb") as part:
                        shutil.copyfileobj(part, stream, BLOCK)
        else:
            made = os.path.join(self.folder, "parts")
            os.makedirs(made, exist_ok=True)
            for number, path in enumerate(paths):
                os.replace(path, os.path.join(made, f"part-{number:05}{suffix}"))
            target = os.path.realpath(self.output)
            with suppress(FileNotFoundError):
                os.rmdir(target)
            os.rename(made, target)
        drop_shards(self.output)


@contextmanager
def open_sharded(run: ShardedRun) -> Iterator[ShardedRun]:
    """Hold the output of a run, and leave its parts where another run may go on with them."""
    target = os.path.realpath(run.output)
    if (
        run.partitioned
        and os.path.exists(target)
        and (not os.path.isdir(target) or os.listdir(target))
    ):
        raise OptionError(f"{os.fspath(run.output)!r} is there already, and is no empty folder")
    with hold_output(run.output):
        try:
            yield run
        except BaseException as problem:
            again = isinstance(problem, Error) and not isinstance(problem, EngineError)
            if (again and not run.resume) or not has_plan(run.output):
                drop_shards(run.output)
            raise


class _Calls:
    """Calls that are done by worker processes, by an executor, or here."""

    def __init__(self, workers: int, executor: Executor | None) -> None:
        self._workers, self._executor = workers, executor

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return the results of some calls."""
        found = dict(self.run(function, {place: (item,) for place, item in enumerate(items)}))
        return [found[place] for place in range(len(items))]

    def run(
        self, function: Callable[..., Any], calls: Mapping[int, tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Iterate over results as they come, with the numbers of the calls.

        Where worker processes die, others take their place as long as they get on.
        """
        if not calls:
            return
        if self._executor is None and self._workers == 1:
            for number, arguments in calls.items():
                yield number, function(*arguments)
            return
        left, deaths = dict(calls), 0
        while left:
            before = len(left)
            try:
                yield from self._run_once(function, left)
            except BrokenExecutor as problem:
                # a signal that has ended a worker was for this process, too
                time.sleep(GRACE)
                deaths = 1 if len(left) < before else deaths + 1
                if deaths == DEATHS or self._executor is not None:
                    raise EngineError(
                        f"worker processes died, perhaps for lack of memory, and {len(left)} of "
                        f"{len(calls)} shards are not done: try fewer workers or more shards"
                    ) from problem

    def _run_once(
        self, function: Callable[..., Any], left: dict[int, tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Iterate over results, and take their calls out of those that are left.

        What a worker dies of does not keep others from what they can do.
        """
        problem: BrokenExecutor | None = None
        with self._submitting() as submit:
            waiting: dict[Future[Any], int] = {}
            try:
                for number, arguments in left.items():
                    waiting[submit(function, *arguments)] = number
                for future in as_completed(waiting):
                    try:
                        found = future.result()
                    except BrokenExecutor as broken:
                        problem = broken
                        continue
                    number = waiting[future]
                    del left[number]
                    yield number, found
            finally:
                if self._executor is not None:
                    for future in waiting:
                        future.cancel()
            if problem is not None:
                raise problem

    @contextmanager
    def _submitting(self) -> Iterator[Callable[..., Future[Any]]]:
        if self._executor is not None:
            yield self._executor.submit
            return
        with process_pool(self._workers) as submit:
            yield submit


def do_shard(
    folder: str, seal: str, number: int, shard: Inputs, refused: Mapping[str, tuple[str, int]]
) -> ShardEnd:
    """Do a shard, unless that was done; ``refused`` are ids that it may not have, and why."""
    job = _load_job(folder, seal)
    wanted = {"record": VERSION, "plan": seal.partition("-")[0]}
    part, record = _part_path(folder, number, job.suffix), _record_path(folder, number)
    content = _read_sealed(record)
    # one that was done again for ids that others have is the last word
    if (
        content is not None
        and content.items() >= wanted.items()
        and (content["refused"] or not refused)
        and _checksum_of(part) == content["output"]
    ):
        return _end_of(number, content)._replace(was_there=True)
    seen = SeenIds()
    for id, at in refused.items():
        seen.add(id, *at)
    files: list[tuple[str, dict[str, int]]] = []
    failures: list[Failure] = []
    shared = [Overlap.UNKNOWN]

    def note_outcomes() -> Iterator[Outcome]:
        for outcome in run_share(job.work, shard, seen, shared.append):
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                if not files or files[-1][0] != outcome.path:
                    files.append((outcome.path, {}))
                files[-1][1][outcome.id] = outcome.line
            yield outcome

    collector = deepcopy(job.collector)
    with open_output(part) as stream:
        collector.write(note_outcomes(), stream)
    content = {
        **wanted,
        "refused": bool(refused),
        "output": _checksum_of(part),
        "files": files,
        "failures": [
            [each.position, each.path, each.line, each.id, each.reason] for each in failures
        ],
        "overlap": int(max(shared)),
        "state": collector.state(),
    }
    _write_sealed(record, content)
    return _end_of(number, content)


def _end_of(number: int, content: Mapping[str, Any]) -> ShardEnd:
    failures = [Failure(*fields) for fields in content["failures"]]
    ids = [id for _, lines in content["files"] for id in lines]
    overlap, outcomes = Overlap(content["overlap"]), len(ids) + len(failures)
    return ShardEnd(number, content["state"], failures, digest_ids(ids), overlap, outcomes)


#: of each thread the last one, with its seal: what it needs, such as references, is read once
_LAST = threading.local()


def _load_job(folder: str, seal: str) -> Job:
    """Return the job in a folder as it was when it was sealed: nothing else is unpickled."""
    known: tuple[str, Job] | None = getattr(_LAST, "job", None)
    if known is not None and known[0] == seal:
        return known[1]
    path = os.path.join(folder, "job")
    with open(path, "rb") as stream:
        data = stream.read()
    if _digest(data) != seal.partition("-")[2]:
        raise EngineError(f"{path} is not what this run has written")
    job = cast(Job, pickle.loads(data))
    _LAST.job = seal, job
    return job


def _find_repeated(hashes: Sequence[Array]) -> Array:
    """Return the numbers that several sorted arrays have."""
    total = sum(map(len, hashes))
    slices = 1 + total // HASHES
    borders = [(part << 64) // slices for part in range(1, slices)]
    found: list[Array] = [np.empty(0, np.uint64)]
    at = [np.searchsorted(each, np.array(borders, np.uint64)) for each in hashes]
    for part in range(slices):
        some = np.sort(
            np.concatenate(
                [found[0]]
                + [
                    each[cuts[part - 1] if part else 0 : cuts[part] if part < slices - 1 else None]
                    for each, cuts in zip(hashes, at, strict=True)
                ]
            )
        )
        found.append(np.unique(some[1:][some[1:] == some[:-1]]))
    return np.concatenate(found)


def _part_path(folder: str, number: int, suffix: str) -> str:
    return os.path.join(folder, f"{number:05}{suffix}")


def _record_path(folder: str, number: int) -> str:
    return os.path.join(folder, f"{number:05}.record")


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _checksum_of(path: str) -> str | None:
    """Return the checksum of a file, None if there is none."""
    found = blake2b(digest_size=16)
    try:
        with open(path, "rb") as stream:
            while block := stream.read(BLOCK):
                found.update(block)
    except FileNotFoundError:
        return None
    return found.hexdigest()


def _write_sealed(path: str, content: Mapping[str, Any]) -> None:
    text = json.dumps(content).encode("ascii")
    with open_output(path) as stream:
        stream.write(_digest(text).encode("ascii") + b" " + text)


def _read_sealed(path: str) -> dict[str, Any] | None:
    """Return what was written; None if that is not what is there."""
    try:
        with open(path, "rb") as stream:
            seal, _, text = stream.read().partition(b" ")
    except FileNotFoundError:
        return None
    if seal != _digest(text).encode("ascii"):
        return None
    content: dict[str, Any] = json.loads(text)
    return content
