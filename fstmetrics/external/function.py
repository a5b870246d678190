"""Functions of one's own by name: ``python:module:function``, called with many things at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from lattices.arrays import Array, FloatColumn, floats
from lattices.caching import cached_property
from lattices.errors import Error, OptionError
from lattices.registry import PREFIX, explain_failure, load_python, note_plugin

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class PythonFunction:
    """A function of a module, found when it is first needed; worker processes find it again.

    The module is one that is installed, or a file ``module.py`` of the current directory.
    """

    name: str

    def __post_init__(self) -> None:
        """Refuse a name of another form."""
        parts = self.name.removeprefix(PREFIX).split(":")
        if not self.name.startswith(PREFIX) or len(parts) != 2 or not all(parts):
            raise OptionError(f"{self.name!r}, expected python:MODULE:FUNCTION")

    def require(self) -> None:
        """Import the module and find the function, or say why that cannot be."""
        _ = self.function

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function."""
        found = load_python(self.name)
        if not callable(found):
            raise OptionError(f"{self.name} is {found!r:.60}, expected a function")
        note_plugin(found, self.name)
        function: Callable[..., Any] = found
        return function

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the name."""
        return {"name": self.name}

    def __call__(self, *given: Any) -> Any:
        """Return what the function returns."""
        return self.function(*given)


def count_arguments(function: Callable[..., Any]) -> int:
    """Return how many arguments a function takes by place and without a default; 1 if unknown.

    Examples
    --------
    >>> count_arguments(lambda hypotheses, references: []), count_arguments(len)
    (2, 1)
    """
    from inspect import Parameter, signature

    if isinstance(function, PythonFunction):
        function = function.function
    try:
        given = signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in by_place and each.default is Parameter.empty for each in given) or 1


def call_with(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    name: str,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the numbers that a function returns; an OptionError for whatever it raises."""
    try:
        return np.asarray(function(*arguments), dtype=dtype)
    except Error:
        raise
    except Exception as problem:
        # whatever it is, it is not the library's, and no reason to lose what is done
        failed = f"{name} has failed: {type(problem).__name__}: {problem}"
        known = explain_failure(problem) if isinstance(function, PythonFunction) else ""
        raise OptionError(known or failed) from problem


def numbers_of(
    function: Callable[..., Any],
    given: Sequence[T],
    name: str,
    things: str,
    arguments: Sequence[Any] | None = None,
) -> FloatColumn:
    """Return the number that a function has for each of many things; it is called once.

    It is given the list of those that differ, or ``arguments`` that stand for it.

    Examples
    --------
    >>> numbers_of(lambda words: [len(word) for word in words], ["a", "bb", "a"], "length", "words")
    array([1., 2., 1.])
    """
    number = {thing: place for place, thing in enumerate(dict.fromkeys(given))}
    given_to = [list(number)] if arguments is None else arguments
    found = call_with(function, given_to, name, np.float64)
    if found.shape != (len(number),):
        raise OptionError(
            f"{name} was given {len(number)} {things} and returned an array of shape "
            f"{found.shape}, expected ({len(number)},)"
        )
    if not np.isfinite(found).all():
        wrong = next(thing for thing, place in number.items() if not np.isfinite(found[place]))
        raise OptionError(f"{name} gives {wrong!r:.80} no finite number")
    return floats(found[[number[thing] for thing in given]])
