"""Plug-ins by name: entry points of installed distributions, and names registered at run time.

Listing names loads nothing. The library's own formats, engines and metrics come in by the
same door as anybody else's, and a plug-in that is broken harms only those who ask for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from threading import Timer
from typing import Any, Generic, TypeVar

from lattices.errors import (
    DuplicateNameError,
    MissingDependencyError,
    PluginError,
    UnknownNameError,
)

T = TypeVar("T")

#: seconds after which a plug-in that is still being imported is named
PATIENCE = 10.0
#: the distribution whose names nobody else can take
OWN = "fstmetrics"


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
    check : function, optional
        From what an entry point loads to what is wrong with it, or to an empty text.
    aliases : mapping of str to str, optional
        Other words for names, such as ``slf`` for ``htk``. Case, and whether ``_`` or ``-`` is
        written, makes no difference to any name.

    Examples
    --------
    >>> colours: Registry[str] = Registry("example.colours", "colour", aliases={"rouge": "red"})
    >>> colours.register("red", "#f00")
    >>> colours.get("red"), colours.get("Rouge")
    ('#f00', '#f00')
    >>> colours.get("rad")
    Traceback (most recent call last):
    lattices.errors.UnknownNameError: no colour named 'rad'; did you mean red? (known: red)
    """

    def __init__(
        self,
        group: str,
        kind: str,
        *,
        check: Callable[[Any], str] | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.group, self.kind = group, kind
        self._check = check
        self._aliases = dict(aliases or {})
        self._loaded: dict[str, T] = {}
        self._points: dict[str, list[EntryPoint]] | None = None

    def _found(self) -> dict[str, list[EntryPoint]]:
        """Return the entry points by name: more than one where several claim it."""
        if self._points is None:
            self._points = {}
            for point in _installed().select(group=self.group):
                claims = self._points.setdefault(point.name, [])
                # the same distribution met twice on the path is no conflict
                if all(point.value != other.value for other in claims):
                    claims.append(point)
        return self._points

    def names(self) -> tuple[str, ...]:
        """Return every known name, sorted; no plug-in is imported."""
        return tuple(sorted({*self._loaded, *self._found()}))

    def named(self, name: str) -> str:
        """Return the name that ``name`` stands for, if only by its case or as an alias.

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        known = self.names()
        if name in known:
            return name
        folded = _folded(name)
        for other in known:
            if _folded(other) == folded:
                return other
        if self._aliases.get(folded) in known:
            return self._aliases[folded]
        raise UnknownNameError(self.kind, name, known)

    def get(self, name: str) -> T:
        """Return the plug-in called ``name``, importing it the first time.

        Raises
        ------
        UnknownNameError
            If there is none of that name.
        PluginError
            If it cannot be loaded, or is not what it should be; the message names the
            distribution that brought it.
        DuplicateNameError
            If two distributions claim the name. Those of the library itself stay its own: the
            other claim is warned of.
        """
        if name not in self._loaded:
            name = self.named(name)
        if name not in self._loaded:
            self._loaded[name] = self._load(self._chosen(name))
        return self._loaded[name]

    def problems(self) -> dict[str, str]:
        """Return what is wrong with plug-ins that are broken, by name; this loads them all."""
        found = {}
        for name in self.names():
            try:
                self.get(name)
            except (ImportError, DuplicateNameError) as problem:
                found[name] = " ".join(str(problem).split())
        return found

    def _chosen(self, name: str) -> EntryPoint:
        claims = self._found()[name]
        own = [point for point in claims if _distribution(point) == OWN]
        if len(claims) > 1:
            among = " and ".join(f"{_origin(point)} ({point.value})" for point in claims)
            problem = f"two {self.kind}s are named {name!r}: those of {among}"
            if not own:
                raise DuplicateNameError(f"{problem}; uninstall one of them")
            warnings.warn(f"{problem}; {OWN}'s is taken", stacklevel=3)
        return own[0] if own else claims[0]

    def described(self, name: str) -> str:
        """Return what a message calls a plug-in: its kind, its name, and who brought it."""
        claims = self._found().get(self.named(name))
        return self._what(claims[0]) if claims else f"the {self.kind} {name!r}"

    def _what(self, point: EntryPoint) -> str:
        return f"the {self.kind} {point.name!r} of {_origin(point)} ({point.value})"

    def _load(self, point: EntryPoint) -> T:
        what = self._what(point)
        # an import that never ends cannot be ended here, but it can be named
        slow = Timer(PATIENCE, warnings.warn, [f"{what} is still being imported"])
        slow.daemon = True
        try:
            if _distribution(point) != OWN:
                slow.start()
            loaded: Any = point.load()
        except MissingDependencyError:
            # says what to install
            raise
        except (Exception, SystemExit) as problem:
            raise PluginError(
                f"{what} cannot be loaded: {type(problem).__name__}: {problem}"
            ) from problem
        finally:
            slow.cancel()
        if self._check is not None and (reason := self._check(loaded)):
            raise PluginError(f"{what} is no {self.kind}: {reason}")
        plugin: T = loaded
        return plugin

    def register(self, name: str, plugin: T) -> None:
        """Add a plug-in for this process; a name that is taken is an error."""
        if name in self.names():
            raise DuplicateNameError(f"a {self.kind} named {name!r} exists already")
        if self._check is not None and (reason := self._check(plugin)):
            raise PluginError(f"{name!r} is no {self.kind}: {reason}")
        self._loaded[name] = plugin

    def unregister(self, name: str) -> None:
        """Take back a name given by :meth:`register`."""
        if name not in self._loaded or name in self._found():
            raise UnknownNameError(f"registered {self.kind}", name, self._loaded)
        del self._loaded[name]


def lacking(plugin: object, attributes: tuple[str, ...]) -> str:
    """Return which attributes a plug-in lacks, in words; empty if it has them all.

    Examples
    --------
    >>> lacking("text", ("split", "sniff", "parse"))
    "str has no 'sniff', 'parse'"
    """
    missing = [name for name in attributes if not hasattr(plugin, name)]
    if not missing:
        return ""
    kind = plugin if isinstance(plugin, type) else type(plugin)
    return f"{kind.__name__} has no {', '.join(map(repr, missing))}"


def check_requirements(*users: object) -> None:
    """Look at once whether all is there that plug-ins need: packages, models, files.

    A metric, a format or an engine may have a method ``require``, which imports and opens what it
    needs, or raises. Otherwise it would be found missing in the middle of the work.

    Raises
    ------
    MissingDependencyError
        If a package is missing; the message says how to get it.
    """
    for user in users:
        require_all = getattr(user, "require", None)
        if require_all is not None:
            require_all()


def _folded(name: str) -> str:
    return name.strip().casefold().replace("_", "-").replace(" ", "-")


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else ""


def _origin(point: EntryPoint) -> str:
    if point.dist is None:
        return "an unnamed distribution"
    return f"{point.dist.name} {point.dist.version}"
