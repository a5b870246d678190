from __future__ import annotations

from threading import Event, Thread

from lattices.caching import cached_property


class Slow:
    def __init__(self, entered: Event, leave: Event) -> None:
        self.entered, self.leave, self.made = entered, leave, 0

    @cached_property
    def value(self) -> int:
        """Wait until it may be made."""
        self.made += 1
        self.entered.set()
        assert self.leave.wait(10)
        return 7


def test_it_is_made_once() -> None:
    ready = Event()
    ready.set()
    slow = Slow(Event(), ready)
    assert (slow.value, slow.value, slow.made) == (7, 7, 1)
    assert Slow.value.__doc__ == "Wait until it may be made."


def test_one_object_does_not_wait_for_another() -> None:
    """A lock of the class would have the second wait for the first."""
    ready, never_yet = Event(), Event()
    ready.set()
    first, second = Slow(Event(), never_yet), Slow(Event(), ready)
    thread = Thread(target=lambda: first.value)
    thread.start()
    assert first.entered.wait(10)
    found: list[int] = []
    other = Thread(target=lambda: found.append(second.value))
    other.start()
    other.join(10)
    assert found == [7]
    never_yet.set()
    thread.join(10)
    assert first.value == 7
