"""Work in several threads that stop together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_threads(
    work: Callable[[T], R], items: Sequence[T], workers: int, stop: Callable[[], None]
) -> list[R]:
    """Return the work of each item, done in this thread and ``workers - 1`` others.

    The first error ends them all, be it an interrupt, which reaches the main thread only: ``stop``
    is called to end what the others are doing. While one thread searches without the
    interpreter's lock, another makes objects of what it has found.

    Examples
    --------
    >>> in_threads(lambda number: number * number, range(4), workers=2, stop=lambda: None)
    [0, 1, 4, 9]
    """
    results: dict[int, R] = {}
    errors: list[BaseException] = []
    # threads take the next item in turn: the interpreter's lock is held meanwhile
    waiting = iter(enumerate(items))

    def run() -> None:
        try:
            for place, item in waiting:
                results[place] = work(item)
                if errors:
                    return
        except BaseException as error:
            errors.append(error)
            stop()

    others: list[Thread] = []
    try:
        for _ in range(workers - 1):
            other = Thread(target=run)
            other.start()
            others.append(other)
        run()
        for other in others:
            other.join()
    except BaseException:
        stop()
        for other in others:
            other.join()
        raise
    if errors:
        raise errors[0]
    return [results[place] for place in range(len(items))]
