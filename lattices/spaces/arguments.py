"""Kinds of arguments that functions take, and the sentence that says what came instead."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from numbers import Integral, Real
from typing import ParamSpec, TypeVar, cast

from lattices.errors import ArgumentTypeError, OptionError, argument
from lattices.spaces.forest import Forest
from lattices.spaces.lattice import Lattice
from lattices.spaces.nbest import NBest

P = ParamSpec("P")
R = TypeVar("R")
#: what comes back is of the kind that was given
Graph = TypeVar("Graph", bound=Lattice | Forest)


class Kind:
    """What an argument must be."""

    def __init__(
        self,
        expected: str,
        accepts: Callable[[object], bool],
        hint: Callable[[object], str] = lambda _: "",
    ) -> None:
        self.expected, self.accepts, self.hint = expected, accepts, hint
        #: classes that were accepted, so that a call costs one look
        self.known: set[type] = set()

    def check(self, function: str, name: str, value: object) -> None:
        """Raise if an argument of a function is not of this kind."""
        if type(value) in self.known:
            return
        if self.accepts(value):
            self.known.add(type(value))
            return
        hint = self.hint(value)
        raise ArgumentTypeError(
            f"{function}: {argument(name)} is {_describe(value)}, expected {self.expected}"
            + (f": {hint}" if hint else "")
        )


class Each(Kind):
    """A sequence of arguments of one kind."""

    def __init__(self, kind: Kind, expected: str) -> None:
        super().__init__(expected, self._is_sequence, kind.hint)
        self.kind = kind

    @staticmethod
    def _is_sequence(value: object) -> bool:
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)

    def check(self, function: str, name: str, value: object) -> None:
        """Raise if it is no sequence, or if one of its members is not of the kind."""
        super().check(function, name, value)
        members = cast("Sequence[object]", value)
        if not self.kind.known.issuperset(map(type, members)):
            for place, each in enumerate(members):
                self.kind.check(function, f"{name}[{place}]", each)


def takes(**kinds: Kind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function refuse arguments of other kinds, before it does anything, in one sentence."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        names = function.__code__.co_varnames
        checks = [(names.index(name), name, kind) for name, kind in kinds.items()]
        called = function.__name__

        @wraps(function)
        def check_and_call(*args: P.args, **kwargs: P.kwargs) -> R:
            for place, name, kind in checks:
                if place < len(args):
                    kind.check(called, name, args[place])
                elif name in kwargs:
                    kind.check(called, name, kwargs[name])
            return function(*args, **kwargs)

        return check_and_call

    return decorate


def check_filled(spaces: Iterable[Lattice | Forest | NBest]) -> None:
    """Raise if one of the spaces is a list without entries."""
    for place, space in enumerate(spaces):
        if isinstance(space, NBest) and not len(space):
            raise OptionError(f"n-best list {space.id or place!r} is empty")


def _describe(value: object) -> str:
    if isinstance(value, str):
        return f"the string {value!r:.60}"
    if isinstance(value, os.PathLike):
        return f"the path {os.fspath(value)!r:.60}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    article = "an" if type(value).__name__[0] in "AEIOUNaeiou" else "a"
    return "None" if value is None else f"{article} {type(value).__name__}"


def _explain_spaces(value: object) -> str:
    if isinstance(value, str | bytes | os.PathLike):
        return "lattices.read(path) reads them from a file"
    if isinstance(value, Iterator):
        return "next(...) takes the first, a loop one after the other"
    if isinstance(value, Iterable) and not isinstance(value, NBest):
        return "take them one by one"
    return ""


def _name_kinds(*classes: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, classes)


WHOLE = Kind("a whole number", _name_kinds(Integral))
NUMBER = Kind("a number", _name_kinds(Real))
LATTICE = Kind("a Lattice", _name_kinds(Lattice), _explain_spaces)
FOREST = Kind("a Forest", _name_kinds(Forest), _explain_spaces)
NBEST = Kind("an NBest", _name_kinds(NBest), _explain_spaces)
#: what paths and derivations run through
GRAPH = Kind("a Lattice or a Forest", _name_kinds(Lattice, Forest), _explain_spaces)
GRAPHS = Each(GRAPH, "a sequence of Lattices or of Forests")
SPACE = Kind(
    "a Lattice, a Forest or an NBest", _name_kinds(Lattice, Forest, NBest), _explain_spaces
)
SPACES = Each(SPACE, "a sequence of Lattices, Forests or NBests")
