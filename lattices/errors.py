"""Errors that the library raises on purpose, with one root.

Each class doubles with the standard exception a caller would expect, so that
``except ValueError`` keeps working for people who do not know the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

#: how the caller gives arguments, where that is not Python's way
_spellings: ContextVar[Mapping[str, str]] = ContextVar("spellings")


@contextmanager
def spell_arguments(spellings: Mapping[str, str]) -> Iterator[None]:
    """Let messages made inside the block name arguments by what ``spellings`` maps them to."""
    before = _spellings.set(spellings)
    try:
        yield
    finally:
        _spellings.reset(before)


def argument_spellings() -> Mapping[str, str]:
    """Return what the innermost :func:`spell_arguments` was given, to take it elsewhere."""
    return _spellings.get({})


def argument(name: str, value: str | bool | None = None) -> str:
    """Return how the caller gives an argument, for a message.

    Parameters
    ----------
    name : str
        The argument; ``read.`` or ``write.`` in front says which of two functions has it, or
        has it as an option of a format. A spelling of what is in front is for all such names.
    value : str or bool, optional
        What it should be, such as ``FILE``.

    Examples
    --------
    >>> argument("workers"), argument("write.lossy", True), argument("read.symbols", "FILE")
    ('workers', 'lossy=True', 'symbols=FILE')
    >>> with spell_arguments({"write.lossy": "--lossy", "read.": "--option"}):
    ...     argument("write.lossy", True), argument("read.symbols", "FILE")
    ('--lossy', '--option symbols=FILE')
    """
    whose, dot, plain = name.rpartition(".")
    shown = plain if value is None else f"{plain}={value}"
    spellings = argument_spellings()
    if option := spellings.get(name):
        return option if value is None or value is True else f"{option} {value}"
    if option := spellings.get(whose + dot):
        return f"{option} {shown}"
    return shown


class Error(Exception):
    """Root of all errors raised on purpose."""


class SpaceError(Error, ValueError):
    """A lattice or n-best list that is not well formed: cyclic, no final state, a NaN score."""


class FormatError(Error, ValueError):
    """A file that does not hold what its format says.

    Parameters
    ----------
    problem : str
        What came and what was expected.
    path, line
        Where; ``line`` counts from 1, and is left out of the message when 0.

    Examples
    --------
    >>> print(FormatError("3 columns, expected 4", "words.txt", 7))
    words.txt:7: 3 columns, expected 4
    """

    def __init__(self, problem: str, path: str = "", line: int = 0) -> None:
        super().__init__(problem, path, line)
        self.problem, self.path, self.line = problem, path, line

    def __str__(self) -> str:
        """Return ``path:line: problem``, the form editors and grep understand."""
        place = f"{self.path}:{self.line}: " if self.line else f"{self.path}: "
        return (place if self.path else "") + self.problem


@contextmanager
def expecting(what: str) -> Iterator[None]:
    """Turn a TypeError of Python's into an error that says what was expected.

    Examples
    --------
    >>> with expecting("an arc is (src, dst, word)"):
    ...     src, dst, word = (0, 1)
    Traceback (most recent call last):
    lattices.errors.SpaceError: an arc is (src, dst, word): not enough values to unpack \
(expected 3, got 2)
    """
    try:
        yield
    except Error:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise SpaceError(f"{what}: {problem}") from problem


class OptionError(Error, ValueError):
    """An argument outside its range, or a metric specification that does not parse."""


class ArgumentTypeError(OptionError, TypeError):
    """An argument of another type than a function takes."""


class UnknownNameError(Error, LookupError):
    """A name no plug-in answers to; the message lists the close ones, then all."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        super().__init__(kind, name, tuple(known))
        self.kind, self.name, self.known = kind, name, tuple(sorted(known))

    def __str__(self) -> str:
        """Return the name that came, the names that are close and the names there are."""
        # most programs make no mistake
        import difflib

        close = difflib.get_close_matches(self.name.lower(), self.known, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        known = ", ".join(self.known) or "none"
        return f"no {self.kind} named {self.name!r}{hint} (known: {known})"


class DuplicateNameError(Error, ValueError):
    """Two plug-ins that claim one name."""


class PluginError(Error, ImportError):
    """A plug-in that cannot be loaded or lacks something; the message names its distribution."""


class MissingDependencyError(Error, ImportError):
    """An optional package that is not installed; the message says how to get it."""


class EngineError(Error, RuntimeError):
    """An engine that cannot run the problem it was given, with the reason."""


class TooLargeError(EngineError, MemoryError):
    """A search that would take more memory than it may, or than there is."""
