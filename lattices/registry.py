"""Plug-ins by name: entry points of installed distributions, and names registered at run time.

Listing names loads nothing. The library's own formats, engines and metrics come in by the
same door as anybody else's.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from lattices.errors import DuplicateNameError, UnknownNameError

T = TypeVar("T")


@cache
def _installed() -> Any:
    """Return the entry points of all groups: to find one group, every distribution is read."""
    return entry_points()


class Registry(Generic[T]):
    """The plug-ins of one entry-point group.

    Parameters
    ----------
    group : str
        The entry-point group, such as ``lattices.formats``.
    kind : str
        What one plug-in is called in messages, such as ``format``.

    Examples
    --------
    >>> colours: Registry[str] = Registry("example.colours", "colour")
    >>> colours.register("red", "#f00")
    >>> colours.get("red")
    '#f00'
    >>> colours.get("rad")
    Traceback (most recent call last):
    lattices.errors.UnknownNameError: no colour named 'rad'; did you mean red? (known: red)
    """

    def __init__(self, group: str, kind: str) -> None:
        self.group, self.kind = group, kind
        self._loaded: dict[str, T] = {}
        self._points: dict[str, EntryPoint] | None = None

    def _found(self) -> dict[str, EntryPoint]:
        if self._points is None:
            points: dict[str, EntryPoint] = {}
            for point in _installed().select(group=self.group):
                other = points.setdefault(point.name, point)
                # the same distribution met twice on the path is no conflict
                if other.value != point.value:
                    raise DuplicateNameError(
                        f"two {self.kind}s are named {point.name!r}: "
                        f"{other.value} and {point.value}"
                    )
            self._points = points
        return self._points

    def names(self) -> tuple[str, ...]:
        """Return every known name, sorted; no plug-in is imported."""
        return tuple(sorted({*self._loaded, *self._found()}))

    def get(self, name: str) -> T:
        """Return the plug-in called ``name``, importing it the first time."""
        if name not in self._loaded:
            point = self._found().get(name)
            if point is None:
                raise UnknownNameError(self.kind, name, self.names())
            loaded: Any = point.load()
            self._loaded[name] = loaded
        return self._loaded[name]

    def register(self, name: str, plugin: T) -> None:
        """Add a plug-in for this process; a name that is taken is an error."""
        if name in self._loaded or name in self._found():
            raise DuplicateNameError(f"a {self.kind} named {name!r} exists already")
        self._loaded[name] = plugin

    def unregister(self, name: str) -> None:
        """Take back a name given by :meth:`register`."""
        if name not in self._loaded or name in self._found():
            raise UnknownNameError(f"registered {self.kind}", name, self._loaded)
        del self._loaded[name]
