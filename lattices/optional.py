"""Packages that are imported when used, with a clear message where one is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lattices.errors import MissingDependencyError

try:
    # hashlib has it from there, and would load OpenSSL with it
    from _blake2 import blake2b as blake2b
except ImportError:
    from hashlib import blake2b as blake2b


def require(module: str, extra: str) -> Any:
    """Return the imported ``module``, which the extra ``extra`` of the distribution installs.

    Raises
    ------
    MissingDependencyError
        If it cannot be imported; the message says which command installs it.

    Examples
    --------
    >>> require("json", "none").loads("[1]")
    [1]
    >>> require("no_such_module", "plot")
    Traceback (most recent call last):
    lattices.errors.MissingDependencyError: no_such_module is needed here and cannot be imported
    (No module named 'no_such_module'): pip install 'fstmetrics[plot]'
    """
    return _imported(module, f"pip install 'fstmetrics[{extra}]'")


def require_pynini() -> Any:
    """Return the imported ``pynini``, Google's Python binding of OpenFst.

    Raises
    ------
    MissingDependencyError
        If it cannot be imported; the message says how to get it on this kind of machine.
    """
    return _imported(
        "pynini",
        "pip install pynini on Linux x86-64, conda install -c conda-forge pynini elsewhere",
    )


def _imported(module: str, remedy: str) -> Any:
    try:
        return import_module(module)
    except ImportError as problem:
        raise MissingDependencyError(
            f"{module} is needed here and cannot be imported ({problem}): {remedy}"
        ) from problem
