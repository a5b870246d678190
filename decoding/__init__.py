"""What to choose: oracles over search spaces, alone and over a whole corpus.

The names below are loaded when they are first used: ``import decoding`` costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoding.corpus import Done, Failure, Segment, run
    from decoding.jobs import InfoJob, OracleJob
    from decoding.nbest import CorpusOracle, corpus_oracle, rerank
    from decoding.oracle import DensityPoint, Oracle, density_curve, oracle, oracles

__all__ = [
    "CorpusOracle",
    "DensityPoint",
    "Done",
    "Failure",
    "InfoJob",
    "Oracle",
    "OracleJob",
    "Segment",
    "corpus_oracle",
    "density_curve",
    "oracle",
    "oracles",
    "rerank",
    "run",
]

_HOMES = {
    "CorpusOracle": "nbest",
    "DensityPoint": "oracle",
    "Done": "corpus",
    "Failure": "corpus",
    "InfoJob": "jobs",
    "Oracle": "oracle",
    "OracleJob": "jobs",
    "Segment": "corpus",
    "corpus_oracle": "nbest",
    "density_curve": "oracle",
    "oracle": "oracle",
    "oracles": "oracle",
    "rerank": "nbest",
    "run": "corpus",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("fstmetrics")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


class _Package(ModuleType):
    """The package itself, where ``decoding.oracle`` is the function, whoever was imported first.

    The import system puts a submodule into its package as an attribute, and two functions
    have their module's name.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("mbr", "oracle") and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
