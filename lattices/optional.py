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
    """Return the imported ``module``, which the extra ``extra`` of the distribution installs."""
    return _import(module, f"pip install 'fstmetrics[{extra}]'")


def require_pynini() -> Any:
    """Return the imported ``pynini``, Google's Python binding of OpenFst."""
    return _import(
        "pynini",
        "pip install pynini on Linux x86-64, conda install -c conda-forge pynini elsewhere",
    )


def _import(module: str, remedy: str) -> Any:
    try:
        return import_module(module)
    except ImportError as problem:
        raise MissingDependencyError(
            f"{module} is needed here and cannot be imported ({problem}): {remedy}"
        ) from problem
