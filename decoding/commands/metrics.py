"""``fstmetrics metrics``: what can be measured."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
from typing import Any

SUMMARY = "list the metrics, or show one"
DESCRIPTION = "List the metrics with their options and defaults, or show what is known of one."
EXAMPLES = """\
examples:
  fstmetrics metrics
  fstmetrics metrics grr
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="show this metric's documentation")


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from decoding.report import table
    from fstmetrics import METRICS

    if arguments.name is None:
        rows = [_row(name) for name in METRICS.names()]
        print(table(["name", "options", "what"], rows, left=range(3)))
        return 0
    found = METRICS.get(arguments.name)
    shown = _options(found)
    print(arguments.name + (f":{shown}" if shown else ""))
    print()
    print(_documentation(found))
    return 0


def _row(name: str) -> list[str]:
    from fstmetrics import METRICS

    try:
        found = METRICS.get(name)
    except ImportError as problem:
        # a plug-in that is broken must not hide the others
        return [name, "", f"not available: {problem}"]
    return [name, _options(found), _documentation(found).partition("\n")[0]]


def _documentation(metric: Any) -> str:
    """Return the docstring, without the marks that are for documentation tools."""
    return (inspect.getdoc(metric) or "(no documentation)").replace("``", "")


def _options(metric: Any) -> str:
    """Return the options of a metric with their defaults, as a specification has them."""
    if not dataclasses.is_dataclass(metric):
        return ""
    return ",".join(_spelled(each.name, each.default) for each in dataclasses.fields(metric))


def _spelled(name: str, default: object) -> str:
    # what is left out by default has no value to show
    return name if default is None else f"{name}={_value(default)}"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
