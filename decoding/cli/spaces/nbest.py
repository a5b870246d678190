"""``fstmetrics nbest``: the k best paths of lattices."""

from __future__ import annotations

import argparse

from decoding.cli.arguments import add_inputs, check_inputs, positive
from decoding.cli.running import add_running, check_running
from decoding.cli.writing import add_target, transform_and_write

SUMMARY = "the k best paths of lattices as n-best lists"
DESCRIPTION = """\
Write the k best paths of each lattice, best first, with scores and features; of n-best lists,
the k entries with the highest scores. Where there are fewer, all are written.

Lattices often have many paths for one sentence. With --unique each sentence comes once, by its
best path, and k sentences are written where the lattice has as many. Both are exact.
"""
EXAMPLES = """\
examples:
  fstmetrics nbest lattices.jsonl.gz -k 100 --unique -o lists.jsonl.gz
  fstmetrics nbest slf/ -k 10 -o lists.nbest --lossy --workers 4
  fstmetrics nbest lattices.plf -k 1 --to nbest-tsv --lossy | cut -f 4
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_inputs(parser, "SPACES")
    parser.add_argument(
        "-k",
        metavar="K",
        type=positive,
        default=100,
        help="number of paths of each segment (default: 100)",
    )
    parser.add_argument(
        "--unique", action="store_true", help="distinct sentences instead of distinct paths"
    )
    add_target(parser)
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    check_inputs(arguments, "SPACES")
    check_running(arguments)
    from decoding.corpus.transforms import KBest

    return transform_and_write(arguments, KBest(arguments.k, arguments.unique))
