"""``fstmetrics sample``: random paths of lattices."""

from __future__ import annotations

import argparse

from decoding.cli.writing import transform_and_write

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
OPTIONS = """\
@inputs SPACES
-n N: whole number = 100  number of samples of each segment
--seed S: seed = 0  random seed, from 0 on
--scale X: number = 1  scale of the model scores
@target
@running
@resuming
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from decoding.corpus.transforms import Sampled

    return transform_and_write(arguments, Sampled(arguments.n, arguments.seed, arguments.scale))
