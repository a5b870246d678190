"""Run all measurements and write ``docs/benchmarks.md``."""

from __future__ import annotations

import argparse

from benchmarks import corpus, engines, forests, mbr, nbest, rows, scaling, training, versions
from benchmarks.data import ROOT, corpora, machine

TEXT = """# Benchmarks

Written by `make bench`. Times are the fastest of several rounds in one run on one machine;
read the ratios, not the times.

{machine}

## Starting

From start to exit, bytecode on disk already, the fastest of ten runs:

{starting}

## Beside the last version with numba

Version `b8e52fd`, the last one whose kernels numba compiled, and this one take turns on the same
jobs; the fastest of five rounds each, after one that is not counted. Evaluators are fresh in every
round, and tokens, score and model score of every result are read. Milliseconds of the processor
for all items of a job, in one thread; by the clock where there are two. *Answers* compares the
sums of scores and of model scores:

{versions}

## Best path, kernel against OpenFst and against C

One reference each, the path included. *OpenFst* is `compose` and `shortestpath` through
pynini on automata compiled beforehand. The engine `openfst` does more: it compiles both
automata, keeps all best paths and applies the tie rule. *plain C* is `benchmarks/plain.c`
with `cc -O3 -march=native`, one thread, on arrays packed beforehand, first path that fits. The
kernel is called on the whole batch of lattices, with machines compiled beforehand and
everything else included: the search, the tie rule, the result objects. *Of this, search* is the
native call, the one to compare with C.

{engines}

## Growth

Kernel, 4-GRR, one thread, on pruned lattices of `{largest}`:

{scaling}

## Compiling 4-GRR

{compiling}

## Rows

The product of a lattice with rows of the machine, one pair for each lattice state and row,
and the search for the worst sentence over rows with dominance:

{rows}

## Files

All lattices of `d50`, read to the end in one process. Kaldi's own `lattice-copy` takes 1.1 s
from text to text for them on such a machine:

{reading}

## Whole corpora

The command `fstmetrics oracle --metric grr -o OUT`, from start to exit, on copies of `d50`
under new ids, the fastest of three runs, bytecode on disk already; the last line has one lattice
alone, and shows what starting takes:

{end_to_end}

Its peak memory with two workers, on copies of `d10`:

{memory}

## N-best lists

{nbest}

## Forests

Milliseconds a forest for the exact oracle, one thread, with the derivation:

{forests}

## Minimum-Bayes-risk decoding

{mbr_lists}

{mbr_lattices}

Not measured here, but reported for such a machine: Kaldi's `lattice-mbr-decode` takes 0.9 ms for a
`d50` lattice and 3.7 ms for a `d200` one after reading, HiFST's `lmbr` 20 ms for `d50`; with BLEU
and a list of 100, mbrs takes 64 ms and cdec's `mbr_kbest` 22 ms.

## Training

{training}
"""


def main() -> None:
    """Measure, print as it goes, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--most", type=int, default=1014, help="lattices of each kind")
    parser.add_argument("--sample", type=int, default=100, help="of these, for OpenFst")
    arguments = parser.parse_args()
    found = corpora(arguments.most)
    small = [each for each in found if each.arcs < 1500]
    largest = max(found, key=lambda each: each.arcs)
    page = TEXT.format(
        machine="\n".join(machine()),
        starting="\n".join(versions.starting()),
        versions="\n".join(versions.measure()),
        engines="\n".join(engines.measure(found, min(arguments.sample, arguments.most))),
        largest=largest.name,
        scaling="\n".join(scaling.measure(largest)),
        compiling="\n".join(scaling.compiling(largest)),
        rows="\n".join(rows.measure([each.first(300) for each in small])),
        reading="\n".join(corpus.reading()),
        end_to_end="\n".join(corpus.end_to_end()),
        memory="\n".join(corpus.memory()),
        nbest="\n".join(nbest.measure()),
        forests="\n".join(forests.measure()),
        mbr_lists="\n".join(mbr.measure()),
        mbr_lattices="\n".join(mbr.of_lattices()),
        training="\n".join(training.measure()),
    )
    target = ROOT / "docs" / "benchmarks.md"
    target.write_text(page, encoding="utf-8")
    print(f"wrote {target.relative_to(ROOT)}")


main()
