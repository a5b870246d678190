"""``fstmetrics nbest``: the k best paths of lattices."""

from __future__ import annotations

import argparse

from decoding.cli.writing import transform_and_write

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
OPTIONS = """\
@inputs SPACES
-k K: whole number = 100  number of paths of each segment
--unique  distinct sentences instead of distinct paths
@target
@running
@resuming
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from decoding.corpus.transforms import KBest

    return transform_and_write(arguments, KBest(arguments.k, arguments.unique))
