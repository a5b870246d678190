"""Names: those of plug-ins, and the public ones of packages; nothing is loaded before it is used.

Plug-ins are the library's own, entry points of others, what is registered at run time, and
``python:MODULE:NAME``, which is looked up where it is named.

Listing names loads nothing, and a plug-in that is broken harms only those who ask for it. What is
installed is looked through when a name is not the library's own, or when all are listed: it takes
longer than to search a lattice.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from importlib import import_module
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lazy_loader import attach_stub

from lattices.errors import (
    DuplicateNameError,
    MissingDependencyError,
    OptionError,
    PluginError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

#: seconds after which a plug-in that is still being imported is named
PATIENCE = 10.0
#: the distribution whose plug-in names others cannot override
OWN = "fstmetrics"
#: what names begin with that say themselves where the plug-in is: ``python:MODULE:NAME``
PREFIX = "python:"
#: what messages call the plug-ins of others that were loaded, by module and name of class or
#: function
LOADED: dict[tuple[str, str], str] = {}


@cache
def _list_installed() -> Any:
    """Return the entry points of all groups: to find one group, every distribution is read."""
    from importlib.metadata import entry_points

    return entry_points()


class Registry(Generic[T]):
    """The plug-ins of one kind: the library's own, and those of an entry-point group."""

    def __init__(
        self,
        group: str,
        kind: str,
        *,
        own: Mapping[str, str] | None = None,
        check: Callable[[Any], str] | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.group, self.kind = group, kind
        self._own = dict(own or {})
        self._check = check
        self._aliases = dict(aliases or {})
        self._loaded: dict[str, T] = {}
        self._points: dict[str, list[EntryPoint]] | None = None

    def _find(self) -> dict[str, list[EntryPoint]]:
        """Return others' entry points by name: more than one where several claim it."""
        if self._points is None:
            self._points = {}
            for point in _list_installed().select(group=self.group):
                claims = self._points.setdefault(point.name, [])
                # the same distribution met twice on the path is no conflict
                values = [self._own.get(point.name), *(other.value for other in claims)]
                if point.value not in values:
                    claims.append(point)
        return self._points

    @property
    def own(self) -> tuple[str, ...]:
        """The names of the library's own, in their order."""
        return tuple(self._own)

    def names(self) -> tuple[str, ...]:
        """Return every known name, sorted; no plug-in is imported."""
        return tuple(sorted({*self._loaded, *self._own, *self._find()}))

    def resolve_name(self, name: str) -> str:
        """Return the name that ``name`` stands for, if only by its case or as an alias."""
        known = (*self._own, *self._loaded)
        found = _match(name, known)
        if found is None:
            known = self.names()
            found = _match(name, known)
        if found is None and self._aliases.get(_fold(name)) in known:
            found = self._aliases[_fold(name)]
        if found is None:
            raise UnknownNameError(self.kind, name, known)
        return found

    def get(self, name: str) -> T:
        """Return the plug-in called ``name``, importing it the first time."""
        if name.startswith(PREFIX):
            return self._accept(load_python(name), name, name)
        if name not in self._loaded:
            name = self.resolve_name(name)
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
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

    def describe(self, name: str) -> str:
        """Return what a message calls a plug-in: its kind, its name, and who brought it."""
        name = self.resolve_name(name)
        what = f"the {self.kind} {name!r}"
        if name in self._own:
            return f"{what} of {OWN} ({self._own[name]})"
        claims = self._find().get(name)
        return f"{what} of {_origin(claims[0])} ({claims[0].value})" if claims else what

    def _choose(self, name: str) -> Callable[[], Any]:
        """Return what loads a plug-in; others that claim a name of the library's are warned of."""
        # names of the library's own are no reason to look through what is installed
        claims = (self._points or {} if name in self._own else self._find()).get(name, [])
        own = [f"{OWN} ({self._own[name]})"] if name in self._own else []
        origins = own + [f"{_origin(point)} ({point.value})" for point in claims]
        if len(origins) > 1:
            problem = f"two {self.kind}s are named {name!r}: those of {' and '.join(origins)}"
            if not own:
                raise DuplicateNameError(f"{problem}; uninstall one of them")
            warnings.warn(f"{problem}; {OWN}'s is taken", stacklevel=4)
        if own:
            module, _, attribute = self._own[name].partition(":")
            return lambda: getattr(import_module(module), attribute)
        return partial(_load_slowly, claims[0], self.describe(name))

    def _load(self, name: str) -> T:
        load = self._choose(name)
        try:
            loaded: Any = load()
        except MissingDependencyError:
            # says what to install
            raise
        except (Exception, SystemExit) as problem:
            raise explain_broken(self.describe(name), problem) from problem
        what = self.describe(name)
        return self._accept(loaded, what, "" if name in self._own else what)

    def _accept(self, plugin: Any, what: str, noted: str) -> T:
        """Return a plug-in that is one of its kind; if others have made it, note who it is."""
        if self._check is not None and (reason := self._check(plugin)):
            raise PluginError(f"{what} is no {self.kind}: {reason}")
        if noted:
            note_plugin(plugin, noted)
        accepted: T = plugin
        return accepted

    def register(self, name: str, plugin: T) -> None:
        """Add a plug-in for this process; a name that is taken is an error."""
        if name in self.names():
            raise DuplicateNameError(f"a {self.kind} named {name!r} exists already")
        self._loaded[name] = self._accept(plugin, repr(name), f"the {self.kind} {name!r}")

    def unregister(self, name: str) -> None:
        """Take back a name given by :meth:`register`."""
        if name not in self._loaded or name in self._own or name in self._find():
            raise UnknownNameError(f"registered {self.kind}", name, self._loaded)
        del self._loaded[name]


def load_python(name: str) -> Any:
    """Return what ``python:MODULE:NAME`` names.

    The module is one that is installed, or a file ``MODULE.py`` of the current directory.
    """
    module, _, attribute = name.removeprefix(PREFIX).partition(":")
    if not (name.startswith(PREFIX) and module and attribute) or ":" in attribute:
        raise OptionError(f"{name!r}, expected python:MODULE:NAME")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found: Any = import_module(module)
    except ImportError as problem:
        raise OptionError(f"{name} cannot be imported ({problem})") from problem
    except (Exception, SystemExit) as problem:
        raise explain_broken(name, problem) from problem
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as problem:
            raise OptionError(f"{name} is not there ({problem})") from problem
    return found


def note_plugin(plugin: object, what: str) -> None:
    """Remember what messages call a plug-in of somebody else's, for :func:`explain_failure`."""
    kind: Any = plugin if isinstance(plugin, type | FunctionType) else type(plugin)
    if not _is_own(kind.__module__):
        LOADED[kind.__module__, kind.__qualname__] = what


def name_plugin(plugin: object, otherwise: str) -> str:
    """Return what messages call a plug-in, with its file if it is somebody else's."""
    kind = plugin if isinstance(plugin, type | FunctionType) else type(plugin)
    what = LOADED.get((kind.__module__, kind.__qualname__))
    if what is None:
        return otherwise
    return f"{what} ({getattr(sys.modules.get(kind.__module__), '__file__', kind.__module__)})"


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in ("lattices", "fstmetrics", "decoding", "builtins")


def explain_failure(problem: BaseException) -> str:
    """Return which plug-in an error comes from, and where; empty if it comes from none.

    The last frame of a plug-in's in the traceback is where: what it calls is its own affair.
    """
    said, what, trace = "", "", problem.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        what, module = _find_plugin(frame) or what, frame.f_globals.get("__name__", "")
        if not what and (others := {LOADED[key] for key in LOADED if key[0] == module}):
            # of a class or a function that no registry knows, beside one that some does
            what = others.pop() if len(others) == 1 else f"a plug-in of {module}"
        if what and module.partition(".")[0] in _plugin_packages():
            where = f"{frame.f_code.co_filename}:{trace.tb_lineno}"
            said = f"{what} has failed: {type(problem).__name__}: {problem} ({where})"
        trace = trace.tb_next
    return said


def _plugin_packages() -> set[str]:
    return {module.partition(".")[0] for module, _ in LOADED}


def _find_plugin(frame: FrameType) -> str:
    """Return the plug-in whose class or function a frame runs; empty if it runs none."""
    kinds = [kind.__qualname__ for kind in type(frame.f_locals.get("self")).__mro__]
    # a class within a function of one is part of that
    names = [each for name in kinds for each in (name, name.partition(".")[0])]
    keys = ((frame.f_globals.get("__name__", ""), name) for name in (*names, frame.f_code.co_name))
    return next((LOADED[key] for key in keys if key in LOADED), "")


def explain_broken(what: str, problem: BaseException) -> PluginError:
    """Return the error that a plug-in cannot be loaded, with the line of the file that fails."""
    where, trace = "", problem.__traceback__
    if isinstance(problem, SyntaxError) and problem.filename:
        where = f"{problem.filename}:{problem.lineno}"
    while trace is not None and not isinstance(problem, SyntaxError):
        code, module = trace.tb_frame.f_code, trace.tb_frame.f_globals.get("__name__", "")
        if not (_is_own(module) or module.startswith("importlib") or code.co_filename[0] == "<"):
            where = f"{code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    message = problem.msg if isinstance(problem, SyntaxError) else problem
    said = f"{what} cannot be loaded: {type(problem).__name__}: {message}"
    return PluginError(f"{said} ({where})" if where else said)


def list_missing(plugin: object, attributes: tuple[str, ...]) -> str:
    """Return which attributes a plug-in lacks, in words; empty if it has them all.

    Examples
    --------
    >>> list_missing("text", ("split", "sniff", "parse"))
    "str has no 'sniff', 'parse'"
    """
    missing = [name for name in attributes if not hasattr(plugin, name)]
    if not missing:
        return ""
    kind = plugin if isinstance(plugin, type) else type(plugin)
    return f"{kind.__name__} has no {', '.join(map(repr, missing))}"


def explain_subclass(plugin: object, base: type) -> str:
    """Return why a plug-in is no class derived from another that can be used; empty if it is."""
    what = f"{base.__module__}.{base.__qualname__}"
    if not (isinstance(plugin, type) and issubclass(plugin, base)):
        return f"it is {plugin!r:.80}, expected a class derived from {what}"
    missing = [*sorted(getattr(plugin, "__abstractmethods__", ()))]
    missing += [] if isinstance(getattr(plugin, "name", None), str) else ["name"]
    if missing:
        return f"{plugin.__name__} has no {', '.join(map(repr, missing))}"
    inherited = getattr(plugin, "__dataclass_fields__", {})
    own = vars(plugin).get("__annotations__", {}).items()
    fields = [name for name, of in own if name not in inherited and "ClassVar" not in str(of)]
    return f"{plugin.__name__} is no dataclass, and has {', '.join(fields)}" if fields else ""


def check_requirements(*users: object) -> None:
    """Look at once whether all is there that plug-ins need: packages, models, files.

    A metric, a format or an engine may have a method ``require``, which imports and opens what it
    needs, or raises. Otherwise it would be found missing in the middle of the work.
    """
    for user in users:
        require_all = getattr(user, "require", None)
        if require_all is not None:
            require_all()


def _fold(name: str) -> str:
    return name.strip().casefold().replace("_", "-").replace(" ", "-")


def _match(name: str, known: Collection[str]) -> str | None:
    """Return the name among those known, if only by its case."""
    if name in known:
        return name
    folded = _fold(name)
    return next((other for other in known if _fold(other) == folded), None)


def _load_slowly(point: EntryPoint, what: str) -> Any:
    """Load an entry point; an import that never ends cannot be ended here, but it can be named."""
    from threading import Timer

    slow = Timer(PATIENCE, warnings.warn, [f"{what} is still being imported"])
    slow.daemon = True
    slow.start()
    try:
        return point.load()
    finally:
        slow.cancel()


def _origin(point: EntryPoint) -> str:
    if point.dist is None:
        return "an unnamed distribution"
    return f"{point.dist.name} {point.dist.version}"


def attach(
    package: str, file: str, moved: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package with an ``__init__.pyi``."""
    load, _, names = attach_stub(package, file)
    public = sorted(name for name in names if not name.startswith("_"))

    def find(name: str) -> Any:
        if name in moved:
            module, _, now = moved[name].partition(":")
            raise AttributeError(f"{package}.{name} is {module}.{now or name} now")
        return load(name)

    return find, public.copy, public
