"""Functions of one's own by name: ``python:module:function``, called with many things at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from lattices.arrays import FloatColumn, floats
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


def numbers_of(
    function: Callable[[list[T]], Any], given: Sequence[T], name: str, things: str
) -> FloatColumn:
    """Return the number that a function has for each of many things; it is called once.

    Examples
    --------
    >>> numbers_of(lambda words: [len(word) for word in words], ["a", "bb", "a"], "length", "words")
    array([1., 2., 1.])
    """
    number = {thing: place for place, thing in enumerate(dict.fromkeys(given))}
    try:
        found = np.asarray(function(list(number)), dtype=np.float64)
    except Error:
        raise
    except Exception as problem:
        # whatever it is, it is not the library's, and no reason to lose what is done
        failed = f"{name} has failed: {type(problem).__name__}: {problem}"
        known = explain_failure(problem) if isinstance(function, PythonFunction) else ""
        raise OptionError(known or failed) from problem
    if found.shape != (len(number),):
        raise OptionError(
            f"{name} was given {len(number)} {things} and returned an array of shape "
            f"{found.shape}, expected ({len(number)},)"
        )
    if not np.isfinite(found).all():
        wrong = next(thing for thing, place in number.items() if not np.isfinite(found[place]))
        raise OptionError(f"{name} gives {wrong!r:.80} no finite number")
    return floats(found[[number[thing] for thing in given]])
