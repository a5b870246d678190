"""``fstmetrics metrics``: the list of metrics."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from typing import Any

#: columns of the list
WIDTH = 100

SUMMARY = "list the metrics, or show one"
DESCRIPTION = "List the metrics with their options and defaults, or show what is known of one."
EXAMPLES = """\
examples:
  fstmetrics metrics
  fstmetrics metrics grr
"""
OPTIONS = """\
name NAME: optional  show this metric's documentation
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from fstmetrics.signature import METRICS

    if arguments.name is None:
        broken = METRICS.problems()
        margin = max(map(len, METRICS.names())) + 2
        for name in METRICS.names():
            if name in broken:
                lines = _wrap(f"not available: {broken[name]}", margin)
            else:
                found = METRICS.get(name)
                what = _documentation(found).partition("\n")[0]
                options = ", ".join(_options(found)) or "no options"
                lines = [line for text in (what, options) for line in _wrap(text, margin)]
            print(textwrap.indent("\n".join(lines), " " * margin).replace(" " * len(name), name, 1))
        return 0
    found = METRICS.get(arguments.name)
    print(":".join(filter(None, [METRICS.resolve_name(arguments.name), ",".join(_options(found))])))
    print()
    print(_documentation(found))
    return 0


def _wrap(text: str, margin: int) -> list[str]:
    """Break a text into lines that fit beside a margin; not inside a path or an option."""
    return textwrap.wrap(text, WIDTH - margin, break_long_words=False, break_on_hyphens=False)


def _documentation(metric: Any) -> str:
    """Return the docstring, without the marks that are for documentation tools."""
    return (inspect.getdoc(metric) or "(no documentation)").replace("``", "")


def _options(metric: Any) -> list[str]:
    """Return the options of a metric with their defaults, as a specification has them."""
    from lattices.options import option_texts

    return option_texts(metric)
