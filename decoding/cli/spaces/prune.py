"""``fstmetrics prune``: smaller lattices."""

from __future__ import annotations

import argparse

from decoding.cli.writing import transform_and_write

SUMMARY = "smaller lattices, by beam, density or posterior"
DESCRIPTION = """\
Write each lattice without its worst arcs. The best path always stays, and no score changes.

--beam B       arcs stay that are on a path that loses at most B to the best one
--density D    the arcs with the best paths through them stay, at most D for each word of the
               best path
--posterior P  arcs stay that have a posterior of P or more; --scale scales the scores first

Scores are natural logarithms. Of n-best lists, --beam keeps the entries that lose at most B to
the best; the others are for lattices only.
"""
EXAMPLES = """\
examples:
  fstmetrics prune lattices.jsonl.gz --density 10 -o small.jsonl.gz
  fstmetrics prune slf/ --beam 8 -o pruned/ --to htk --workers 4
  fstmetrics prune lattices.jsonl.gz --posterior 1e-3 --scale 10 | fstmetrics oracle -
"""
OPTIONS = """\
@inputs SPACES
--beam B: number, required  largest loss of a path against the best
| --density D: number  largest number of arcs for each word of the best path
| --posterior P: number  smallest posterior of an arc
--scale X: number  scale of the scores for --posterior (default: 1)
@target
@running
@resuming
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    beam, density, posterior = arguments.beam, arguments.density, arguments.posterior
    if beam is not None and beam < 0:
        arguments.parser.error(f"--beam is {beam}, expected 0 or more")
    if density is not None and density <= 0:
        arguments.parser.error(f"--density is {density}, expected more than 0")
    if posterior is not None and not 0 <= posterior <= 1:
        arguments.parser.error(f"--posterior is {posterior}, expected a probability")
    if arguments.scale is not None and posterior is None:
        arguments.parser.error("--scale goes with --posterior")
    from decoding.corpus.transforms import Pruned

    scale = 1.0 if arguments.scale is None else arguments.scale
    return transform_and_write(arguments, Pruned(beam, density, posterior, scale))
