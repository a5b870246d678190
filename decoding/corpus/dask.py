"""Executors of clusters: Dask's, which may lose workers at any time, and any other.

Nothing is shared but the job, which the scheduler keeps and sends to each worker once. What a
lost worker had in its hands, results that were not yet fetched included, the scheduler gives
to another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from typing import Any

from decoding.corpus.runner import count_processors
from lattices.errors import EngineError, OptionError
from lattices.optional import require
from lattices.registry import load_python

#: seconds to wait for the scheduler, and for a first worker
PATIENCE = 30.0


class DaskExecutor(Executor):
    """An executor that hands calls to a Dask cluster.

    A callable that is submitted again and again is sent once: it is a task of its own, on
    which the calls depend, so that a new worker can have it as well.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._callable: Callable[..., Any] | None = None
        self._sent: Any = None

    @property
    def workers(self) -> int:
        """How many batches the cluster works on at a time."""
        return sum(self.client.nthreads().values())

    def can_open(self, files: Iterable[str]) -> bool:
        """Tell whether every worker sees these files as this process does, by size and time.

        A relative path is one from the folder that a worker was started in.
        """
        wanted = {file: _looks(file) for file in files}
        if None in wanted.values():
            return False
        seen = self.client.run(_all_look, wanted)
        return bool(seen) and all(seen.values())

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send a call away."""
        if fn is not self._callable:
            self._callable, self._sent = fn, self.client.submit(_itself, fn, pure=False)
        return _Fetched(self.client.submit(_call, self._sent, args, kwargs, pure=False))


class _Fetched(Future[Any]):
    """A result on the cluster: fetched when it is there or, of an actor, when it is asked for."""

    def __init__(self, future: Any) -> None:
        super().__init__()
        self._future = future
        self._tells = hasattr(future, "add_done_callback")
        if self._tells:
            future.add_done_callback(self._arrive)

    def _arrive(self, future: Any) -> None:
        distributed = require("distributed", "dask")
        try:
            self.set_result(future.result())
        except (distributed.KilledWorker, distributed.CancelledError) as problem:
            self.set_exception(BrokenExecutor(str(problem)))
        except BaseException as problem:
            self.set_exception(problem)

    def result(self, timeout: float | None = None) -> Any:
        if self._tells:
            return super().result(timeout)
        distributed = require("distributed", "dask")
        try:
            return self._future.result(timeout)
        except (distributed.KilledWorker, distributed.CancelledError, OSError) as problem:
            raise BrokenExecutor(str(problem)) from problem
        except ValueError as problem:
            if "Actor was lost" not in str(problem):
                raise
            raise BrokenExecutor(str(problem)) from problem

    def cancel(self) -> bool:
        # what an actor was asked for cannot be taken back
        cancel = getattr(self._future, "cancel", None)
        if cancel is not None:
            cancel()
        return True


def wrap_future(future: Any) -> Future[Any]:
    """Return a future of the cluster, or an actor's, as one of the standard library."""
    return _Fetched(future)


@contextmanager
def make_executor(name: str) -> Iterator[Executor]:
    """Make the executor that ``python:MODULE:NAME`` returns, and shut it down in the end."""
    made = load_python(name)()
    if not hasattr(made, "submit"):
        raise OptionError(f"{name} made {type(made).__name__}, no executor: it has no submit()")
    with made:
        yield made


def can_open(executor: Any, files: Iterable[str]) -> bool:
    """Tell whether the workers see these files as this process does, by size and time.

    Of an executor that is not Dask's one of them is asked.
    """
    if isinstance(executor, DaskExecutor):
        return executor.can_open(files)
    wanted = {file: _looks(file) for file in files}
    return None not in wanted.values() and bool(executor.submit(_all_look, wanted).result())


def count_workers(executor: Any) -> int:
    """Return how many calls an executor works on at a time, as far as it tells."""
    found = getattr(executor, "workers", None) or getattr(executor, "_max_workers", None)
    return int(found or count_processors())


def _itself(value: Any) -> Any:
    return value


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)


def _looks(file: str) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns) if os.path.isfile(file) else None


def _all_look(wanted: dict[str, tuple[int, int]]) -> bool:
    return all(_looks(file) == as_here for file, as_here in wanted.items())


@contextmanager
def dask_executor(
    address: str, on_wait: Callable[[float], None] = lambda seconds: None
) -> Iterator[DaskExecutor]:
    """Connect to a cluster that runs already."""
    distributed = require("distributed", "dask")
    where = {"scheduler_file": address} if os.path.isfile(address) else {"address": address}
    try:
        client = distributed.Client(**where, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as problem:
        raise EngineError(f"no Dask scheduler at {address!r}: {problem}") from problem
    with client:
        if not client.nthreads():
            on_wait(PATIENCE)
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as problem:
            raise EngineError(f"no worker at the Dask scheduler {address!r}") from problem
        yield DaskExecutor(client)
