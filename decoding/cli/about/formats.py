"""``fstmetrics formats``: the list of file formats."""

from __future__ import annotations

import argparse

SUMMARY = "list the file formats, or show one"
DESCRIPTION = "List the formats of lattices and n-best lists, or show the options of one."
EXAMPLES = """\
examples:
  fstmetrics formats
  fstmetrics formats htk
"""
OPTIONS = """\
name NAME: optional  show this format's options
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from decoding.cli.tables import table
    from lattices.formats import FORMATS, formats

    if arguments.name is None:
        rows = [
            [info.name, info.kind, info.access, " ".join(info.suffixes), info.description]
            for info in formats()
        ]
        print(table(["name", "holds", "access", "suffixes", "what"], rows, left=range(5)))
        return 0
    found = FORMATS.get(arguments.name)
    print(f"{found.name}: {found.description}")
    for title, options in (
        ("reader options (--option KEY=VALUE)", found.options),
        ("writer options", found.write_options),
    ):
        if options:
            print(f"\n{title}:")
            for key, help_line in options.items():
                print(f"  {key}  {help_line}")
    return 0
