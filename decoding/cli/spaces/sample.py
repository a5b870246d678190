"""``fstmetrics sample``: random paths of lattices."""

from __future__ import annotations

import argparse

from decoding.cli.arguments import (
    add_inputs,
    check_inputs,
    finite,
    natural,
    positive,
)
from decoding.cli.running import add_running, check_running
from decoding.cli.writing import add_target, transform_and_write

SUMMARY = "random paths of lattices as n-best lists"
DESCRIPTION = """\
Draw paths of each lattice, or entries of each n-best list, with replacement and exactly in
proportion to exp(X * score), and write them as n-best lists in the order of drawing.

What is drawn for a segment depends on the seed, on its id and on its scores only: it stays the
same with more workers, in another order, and without the other segments.
"""
EXAMPLES = """\
examples:
  fstmetrics sample lattices.jsonl.gz -n 100 --seed 1 -o samples.jsonl.gz
  fstmetrics sample slf/ -n 20 --scale 0.1 -o samples.tsv --lossy
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_inputs(parser, "SPACES")
    parser.add_argument(
        "-n",
        metavar="N",
        type=positive,
        default=100,
        help="number of samples of each segment (default: 100)",
    )
    parser.add_argument(
        "--seed", metavar="S", type=natural, default=0, help="random seed, from 0 on (default: 0)"
    )
    parser.add_argument(
        "--scale",
        metavar="X",
        type=finite,
        default=1.0,
        help="scale of the model scores (default: 1)",
    )
    add_target(parser)
    add_running(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    check_inputs(arguments, "SPACES")
    check_running(arguments)
    from decoding.corpus.transforms import Sampled

    return transform_and_write(arguments, Sampled(arguments.n, arguments.seed, arguments.scale))
