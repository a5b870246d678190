"""Workers that keep what they have read: processes of this machine, or actors of a Dask cluster.

An executor for :func:`decoding.corpus.runner.run` whose batches stay where they were parsed: the
results go to an object in the worker, and what that object says of each comes back. Later calls
reach the same objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Protocol

from decoding.corpus.dask import dask_executor, wrap_future
from decoding.corpus.outcomes import Done
from decoding.corpus.runner import hold_signals, set_up_worker
from lattices.errors import EngineError

#: from the number of a worker to the object that it keeps
Make = Callable[[int], Any]


class Actor:
    """The object of one worker, and the work that it does."""

    def __init__(self, make: Make, number: int) -> None:
        self._state = make(number)
        self._work: Any = None

    def learn(self, work: Any) -> None:
        """Take the work that batches are for."""
        self._work = work

    def load(self, batch: Any) -> Any:
        """Work on a batch; keep each result, and return what is said of it."""
        outcomes, *rest = self._work(batch)
        kept = [
            replace(each, result=self._state.keep(each.result)) if isinstance(each, Done) else each
            for each in outcomes
        ]
        return kept, *rest

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Call a function of the object."""
        return function(self._state, *arguments)


class Asked(Protocol):
    """A worker that can be asked to do what its actor can; the answer is fetched later."""

    def __call__(self, what: str, *arguments: Any) -> Future[Any]: ...


class Actors(Executor):
    """Several actors; batches go to them in turn."""

    def __init__(
        self, asked: Sequence[Asked], can_open: Callable[[Iterable[str]], bool] = lambda files: True
    ) -> None:
        self._asked, self.can_open = asked, can_open
        self._fn: Any = None
        self._next = 0

    @property
    def workers(self) -> int:
        """How many there are."""
        return len(self._asked)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Give a batch to the next actor; the work itself is sent once."""
        if fn is not self._fn:
            self._fn = fn
            _results({number: ask("learn", fn) for number, ask in enumerate(self._asked)})
        self._next = (self._next + 1) % len(self._asked)
        return self._asked[self._next]("load", *args)

    def call(self, calls: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call ``function(object, *arguments)`` of some actors at once; return the results."""
        return _results(
            {
                number: self._asked[number]("call", function, arguments)
                for number, (function, *arguments) in calls.items()
            }
        )


def _results(futures: Mapping[int, Future[Any]]) -> dict[int, Any]:
    try:
        return {number: future.result() for number, future in futures.items()}
    except BrokenExecutor as problem:
        raise EngineError(
            "a worker with segments died, perhaps for lack of memory: try more workers, or fewer "
            "segments each"
        ) from problem


_actor: Actor


def _begin(make: Make, number: int, end: Any) -> None:
    global _actor
    set_up_worker(end)
    _actor = Actor(make, number)


def _ask(what: str, *arguments: Any) -> Any:
    return getattr(_actor, what)(*arguments)


@contextmanager
def process_actors(workers: int, make: Make) -> Iterator[Actors]:
    """Start processes of this machine; they end with the block, or with this process."""
    from multiprocessing import Pipe

    end, stop = Pipe(duplex=False)
    pools = []
    with end, stop:
        try:
            asked = []
            for number in range(workers):
                pool = ProcessPoolExecutor(1, initializer=_begin, initargs=(make, number, end))
                pools.append(pool)
                asked.append(_make_asker(pool))
            yield Actors(asked)
        except BaseException:
            # those at work would be waited for
            stop.send(None)
            raise
        finally:
            for pool in pools:
                pool.shutdown(wait=False, cancel_futures=True)


def _make_asker(pool: ProcessPoolExecutor) -> Asked:
    def ask(what: str, *arguments: Any) -> Future[Any]:
        with hold_signals():
            return pool.submit(_ask, what, *arguments)

    return ask


@contextmanager
def dask_actors(
    address: str, make: Make, on_wait: Callable[[float], None] = lambda seconds: None
) -> Iterator[Actors]:
    """Put an actor on each worker of a cluster that runs already."""
    with ExitStack() as stack:
        executor = stack.enter_context(dask_executor(address, on_wait))
        client = executor.client
        # the client whose connection actors use
        stack.enter_context(client.as_current())
        placed = [
            client.submit(Actor, make, number, actor=True, workers=[worker], pure=False)
            for number, worker in enumerate(client.nthreads())
        ]
        actors = [future.result() for future in placed]

        def make_asker(actor: Any) -> Asked:
            return lambda what, *arguments: wrap_future(getattr(actor, what)(*arguments))

        yield Actors([make_asker(actor) for actor in actors], executor.can_open)
