"""Run all measurements, or some sections, and write ``docs/benchmarks.md``."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import lru_cache
from time import perf_counter
from typing import NamedTuple

from benchmarks import (
    bleu_oracles,
    commands,
    corpus,
    engines,
    forests,
    kaldi,
    long_spaces,
    mbr,
    nbest,
    report,
    rows,
    scaling,
    scoring,
    training,
    versions,
)
from benchmarks.data import ROOT, Corpus, corpora, machine

TARGET = ROOT / "docs" / "benchmarks.md"
#: lattices of each kind, and of these for OpenFst
MOST, SAMPLE = 1014, 50

HEAD = """# Benchmarks

Written by `make bench`. Times are the fastest of several rounds on one machine; read the ratios,
not the times. A section that was measured again later, by itself, says so.

{machine}
"""


@lru_cache(maxsize=1)
def lattices() -> list[Corpus]:
    """Return the lattices of Multi30k, once for all sections."""
    return corpora(MOST)


def largest() -> Corpus:
    """Return those with the most arcs."""
    return max(lattices(), key=lambda each: each.arcs)


class Section(NamedTuple):
    """A part of the page: its title, what is said before the tables, and what makes them.

    Each of `made` fills a pair of braces in `text`.
    """

    title: str
    text: str
    made: tuple[Callable[[], Sequence[str]], ...]

    def measured(self) -> str:
        """Measure, and return the section."""
        tables = ["\n".join(make()) for make in self.made]
        return f"## {self.title}\n\n{self.text.format(*tables).strip()}\n"


SECTIONS = {
    "starting": Section(
        "Starting",
        "From start to exit, bytecode on disk already, the fastest of ten runs, in turns; the "
        "lattice is in a Kaldi archive:\n\n{}",
        (versions.starting,),
    ),
    "commands": Section(
        "Whole commands",
        "From the shell to a file, by the clock, bytecode on disk already, the fastest of five "
        "runs in turns, as multiples of `import numpy`; in brackets, less what the oracle of one "
        "lattice takes. 1,014 lattices in a Kaldi binary archive:\n\n{}",
        (commands.measure,),
    ),
    "versions": Section(
        "Beside the last version with numba",
        """
Version `b8e52fd`, the last one whose kernels numba compiled, and this one take turns on the same
jobs; the fastest of at least five rounds each, after one that is not counted (of a whole run of
MERT there is one). Evaluators are fresh in every round, and tokens, score and model score of every
result are read. What is measured of batches (`oracles`, hope) is that call: it gets evaluators
that were made before, as one has them, with nothing compiled or cached in them, and compiles,
searches, scores and makes the results. Milliseconds of the processor for all items of a job, in one
thread, and by the clock where there are two. *Answers* compares the sums of scores and of model
scores (for `edit`, of expected edits: fewer are better):

{}
""",
        (versions.measure,),
    ),
    "threads": Section(
        "Threads",
        """
The same batches on one thread and on two, in turns in one process, with fresh evaluators each
time; the fastest of the rounds of eight seconds, by the clock. A thread lives for one call, so that
a core that wakes up late costs the shortest of these jobs most. The last row is work that shares
nothing, for comparison. All ratios scatter by a tenth or more from run to run: the host has a say.

{}
""",
        (versions.threads,),
    ),
    "kaldi": Section(
        "Beside Kaldi",
        """
Kaldi's `lattice-oracle` and `lattice-mbr-decode`, whole programs by the clock less what
`lattice-copy` takes to read, and ours: `oracles` on fresh evaluators, and `edit` one by one at
scale 1:

{}
""",
        (kaldi.measure,),
    ),
    "engines": Section(
        "Best path, kernel against OpenFst and against C",
        """
One reference each, the path included. *OpenFst* is `compose` and `shortestpath` through
pynini on automata compiled beforehand. The engine `openfst` does more: it compiles both
automata, keeps all best paths and applies the tie rule. *plain C* is `benchmarks/plain.c`
with `cc -O3 -march=native`, one thread, on arrays packed beforehand, first path that fits. The
kernel is called on the whole batch of lattices, with machines compiled beforehand and
everything else included: the search, the tie rule, the result objects. *Of this, search* is the
native call, the one to compare with C.

{}
""",
        (lambda: engines.measure(lattices(), SAMPLE),),
    ),
    "growth": Section(
        "Growth",
        "Kernel, 4-GRR, one thread, on pruned lattices of the largest kind:\n\n{}\n\n"
        "Compiling 4-GRR:\n\n{}\n\n"
        "Expected edits, with the confusion network, of lattices end to end:\n\n{}",
        (
            lambda: scaling.measure(largest()),
            lambda: scaling.compiling(largest()),
            lambda: scaling.expected_edits(largest()),
        ),
    ),
    "long": Section(
        "Long lattices",
        """
Segments of `d50` put end to end by `lattices.concatenate`, each job in a process of its own:
seconds of the processor, and megabytes at most beside the lattice. *Before* is version `0a68d2e`,
where it is installed (`make baseline-long`):

{}
""",
        (long_spaces.measure,),
    ),
    "rows": Section(
        "Rows",
        """
The product of a lattice with rows of the machine, one pair for each lattice state and row,
and the search for the worst sentence over rows with dominance:

{}
""",
        (lambda: rows.measure([each.first(300) for each in lattices() if each.arcs < 1500]),),
    ),
    "labels": Section(
        "BLEU oracles",
        """
Sentence BLEU with 1 added to the matches, by labels, one thread, the native call alone; median of
the lattices, and the most that one takes (all are proven):

{}

Growth, on pruned lattices of the largest kind, and on those with references of different lengths:

{}

The corpus oracle is in [BLEU oracles](experiments/bleu-oracles.md).
""",
        (
            lambda: bleu_oracles.measure([each.first(100) for each in lattices()]),
            lambda: bleu_oracles.growth(largest()),
        ),
    ),
    "files": Section(
        "Files",
        """
All lattices of `d50`, read to the end in one process. Kaldi's own `lattice-copy` takes 1.1 s
from text to text for them on such a machine (reported, not measured here):

{}
""",
        (corpus.reading,),
    ),
    "corpora": Section(
        "Whole corpora",
        """
The command `fstmetrics oracle --metric grr -o OUT`, from start to exit, on copies of `d50`
under new ids, the fastest of two runs, bytecode on disk already; the last line has one lattice
alone, and shows what starting takes:

{}

Small lattices (4 words, 8 arcs, 217 bytes each) in one file of JSON lines: in order in one
process, and by shards with two workers. What the client takes for a segment bounds how many workers
it keeps busy; the first line is that on standard output.

{}
""",
        (corpus.end_to_end, corpus.shards),
    ),
    "memory": Section(
        "Memory",
        "Peak memory of the same command with two workers, on copies of `d10`:\n\n{}",
        (corpus.memory,),
    ),
    "nbest": Section("N-best lists", "{}", (nbest.measure,)),
    "forests": Section(
        "Forests",
        "Milliseconds a forest for the exact oracle, one thread, with the derivation:\n\n{}",
        (forests.measure,),
    ),
    "scoring": Section("Scoring", "{}", (scoring.measure,)),
    "mbr": Section(
        "Minimum-Bayes-risk decoding",
        """
{}

{}

Not measured here, but reported for such a machine: HiFST's `lmbr` takes 20 ms for a `d50` lattice;
with BLEU and a list of 100, cdec's `mbr_kbest` takes 12 ms.
""",
        (mbr.measure, mbr.of_lattices),
    ),
    "peers": Section(
        "Minimum-Bayes-risk decoding beside other tools",
        "{}\n\n{}",
        (mbr.of_hundred, mbr.of_thousand),
    ),
    "training": Section("Training", "{}", (training.measure,)),
    "report": Section(
        "The report page",
        """
`fstmetrics report` with two workers, from start to exit: seconds of all processors, and by the
clock, which counts whatever else the machine does. Its page in Debian's chromium without a window:
how soon after its address was opened it answers, how long it takes to open a segment whose block
has to be unpacked, to search all references and sentences, and to sort; the fastest of three:

{}
""",
        (report.measure,),
    ),
}


def sections_of(page: str) -> dict[str, str]:
    """Return the text of each section of a page by its title, what stands before them by ``""``."""
    head, *parts = ("\n" + page).split("\n## ")
    found = {part.partition("\n")[0]: f"## {part.strip()}\n" for part in parts}
    return {"": head.strip() + "\n", **found}


def main() -> int:
    """Measure, print as it goes, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; default all"
    )
    asked = parser.parse_args().sections or list(SECTIONS)
    unknown = [name for name in asked if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    whole = set(asked) == set(SECTIONS)
    found = sections_of(TARGET.read_text(encoding="utf-8")) if TARGET.exists() and not whole else {}
    where = "\n".join(machine())
    if whole or "" not in found:
        found[""] = HEAD.format(machine=where)
    order = ["", *(section.title for section in SECTIONS.values())]
    failed = []
    for name in asked:
        section, begin = SECTIONS[name], perf_counter()
        print(f"\n== {section.title}", flush=True)
        try:
            made = section.measured()
        except Exception:
            # the others are worth having
            traceback.print_exc()
            failed.append(name)
            continue
        print(f"-- {name}: {perf_counter() - begin:.0f} s", flush=True)
        if not whole:
            made += f"\nMeasured by itself:\n\n{where}\n"
        found[section.title] = made
        # what is measured is kept, whatever comes next
        page = "\n".join(found[title] for title in order if title in found)
        TARGET.write_text(page, encoding="utf-8")
    print(f"wrote {TARGET.relative_to(ROOT)}")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
