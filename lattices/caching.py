"""Attributes that are made when they are first asked for."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:
    from collections.abc import Callable
    from typing import Any, Generic, TypeVar, overload

    T = TypeVar("T")

    class cached_property(Generic[T]):
        """That of :mod:`functools` in Python 3.12, which has no lock.

        The lock of earlier versions is one for all objects of a class: threads wait for each other,
        and forever for one that an interrupt has kept from letting go.
        """

        def __init__(self, make: Callable[[Any], T]) -> None:
            self.func = make
            self.__doc__ = make.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            """Take the name of the attribute."""
            self.attrname = name

        @overload
        def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
        @overload
        def __get__(self, instance: object, owner: type | None = None) -> T: ...
        def __get__(self, instance: Any, owner: type | None = None) -> cached_property[T] | T:
            """Make it; Python does not ask here again for what an object has."""
            if instance is None:
                return self
            made = instance.__dict__[self.attrname] = self.func(instance)
            return made
