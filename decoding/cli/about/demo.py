"""``fstmetrics demo``: oracles of speech lattices that come with the package."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

from decoding import sample_data

if TYPE_CHECKING:
    from fstmetrics.alignment.metric import AlignmentMetric
    from lattices.spaces import Lattice

SUMMARY = "show what an oracle is, on speech lattices that come with the package"
DESCRIPTION = """\
Read the lattices of 19 utterances that PocketSphinx recognised, find the sentence of each that
is closest to what was said, and compare it with the recogniser's own choice.
"""
EXAMPLES = """\
examples:
  fstmetrics demo
  fstmetrics demo --copy demo
  fstmetrics oracle demo/*.slf.gz --refs demo/refs.txt --metric wer grr
"""
OPTIONS = """\
--copy DIR  copy the lattices and their references into a new directory instead
"""


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    if arguments.copy is not None:
        return _copy_data(arguments.copy)
    from decoding.cli.tables import legend
    from decoding.cli.terminal import wants_colour
    from fstmetrics import GRR, WER, WRR

    lattices, references, reading = _read()
    arcs = sum(lattice.num_arcs for lattice in lattices)
    colour = wants_colour(sys.stdout)
    width = shutil.get_terminal_size((110, 24)).columns
    print(f"{len(lattices)} utterances, one lattice each: what was said, what the recogniser")
    print("chose (1-best), and the best it could have chosen (oracle), with the word error rate.")
    print(f"Errors are marked: {legend(colour)}\n")
    _print_utterances(lattices, references, width, colour)
    searching = _print_corpus(lattices, references, (WER(), WRR(), GRR()))
    print(f"\n{len(lattices)} lattices, {arcs} arcs: read in {reading:.2f} s, "
          f"searched in {1000 * searching:.1f} ms for each metric.")  # fmt: skip
    print("\nNext, the same from files (any lattices and references of yours will do):")
    print("  fstmetrics demo --copy demo")
    print("  fstmetrics oracle demo/*.slf.gz --refs demo/refs.txt --metric wer grr")
    return 0


def _copy_data(folder: str) -> int:
    """Copy the data into a directory that does not exist yet."""
    shutil.copytree(sample_data(), folder)
    print(f"{len(os.listdir(folder))} files in {folder}")
    return 0


def _read() -> tuple[list[Lattice], list[str], float]:
    """Return the lattices, their references, and the seconds it took to read them."""
    from lattices.formats import read
    from lattices.formats.references import read_references
    from lattices.spaces import Lattice
    from lattices.vocabulary import Vocabulary

    started = time.perf_counter()
    data, vocabulary = sample_data(), Vocabulary()
    lattices = [
        space
        for file in sorted(data.glob("*.slf.gz"))
        for space in read(file, "htk", vocabulary)
        if isinstance(space, Lattice)
    ]
    known = read_references([data / "refs.txt"], [lattice.id for lattice in lattices])
    references = [str(known.get(lattice.id, place)[0]) for place, lattice in enumerate(lattices)]
    return lattices, references, time.perf_counter() - started


def _print_utterances(
    lattices: list[Lattice], references: list[str], width: int, colour: bool
) -> None:
    from decoding.cli.tables import percent, side_by_side
    from decoding.extraction.oracle_search import oracles
    from fstmetrics import WER
    from lattices.algorithms import best_words

    evaluators = [WER().against([reference]) for reference in references]
    found = oracles(lattices, evaluators)
    for lattice, evaluator, reference, best in zip(
        lattices, evaluators, references, found, strict=True
    ):
        chosen = evaluator.judge(best_words(lattice))
        alignments = [
            (f"  1-best {percent(chosen.score):>7}", chosen.edits),
            (f"  oracle {percent(best.score):>7}", best.edits),
        ]
        lines = side_by_side(
            reference.split(), alignments, label=lattice.id, width=width, colour=colour
        )
        print("\n".join(lines) + "\n")


def _print_corpus(
    lattices: list[Lattice], references: list[str], metrics: tuple[AlignmentMetric, ...]
) -> float:
    """Print corpus scores, each with the oracles of its own metric; return seconds a search."""
    from decoding.cli.tables import percent, table
    from decoding.extraction.oracle_search import oracles
    from fstmetrics import corpus_score
    from lattices.algorithms import best_words

    chosen = [best_words(lattice) for lattice in lattices]
    each = [[reference] for reference in references]
    rows = []
    seconds = 0.0
    for metric in metrics:
        evaluators = [metric.against(some) for some in each]
        started = time.perf_counter()
        found = oracles(lattices, evaluators)
        seconds += time.perf_counter() - started
        scores = (
            corpus_score(metric, hypotheses, each)
            for hypotheses in (chosen, [best.tokens for best in found])
        )
        better = "higher" if metric.higher_is_better else "lower"
        rows.append([metric.label, *map(percent, scores), f"{better} is better"])
    print(table(["corpus", "1-best", "own oracle", ""], rows, left=(0, 3)))
    return seconds / len(metrics)
