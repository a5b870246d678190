"""Rows on real lattices: how many pairs, how long, and how often they fit the budget."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from benchmarks.data import Corpus
from decoding.extraction.search import DEFAULT_BUDGET
from fstmetrics import GRR, WER
from lattices.intersection.rows import RowMachine, lowest_path, row_product
from lattices.limits import Limits


def measure(corpora: list[Corpus]) -> list[str]:
    """Return the table of products, and of the search for the worst sentence."""
    lines = [
        "| lattices | metric | pairs: median | 90 % | 99 % | largest | µs / pair "
        f"| within {DEFAULT_BUDGET:,} pairs | worst: median | 90 % | largest | worst proven |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for corpus in corpora:
        for name, metric in (("WER", WER()), ("4-GRR", GRR())):
            pairs, seconds, worst, proven = [], 0.0, [], 0
            for lattice, text in zip(corpus.lattices, corpus.references, strict=True):
                machine = metric.against([text]).machine(lattice.vocabulary)
                rows = RowMachine(machine.automaton, lattice.num_states)
                begin = perf_counter()
                product = row_product(lattice, rows, Limits(DEFAULT_BUDGET))
                if product is not None:
                    seconds += perf_counter() - begin
                pairs.append(product.pairs if product is not None else np.inf)
                begin = perf_counter()
                found = lowest_path(lattice, rows, Limits(DEFAULT_BUDGET), model_weight=0.0)
                worst.append(perf_counter() - begin)
                proven += found is not None
            known = np.array(pairs)
            within = known[np.isfinite(known)]
            shown = [
                f"{value:,.0f}" if np.isfinite(value) else "beyond"
                for value in (*np.percentile(known, [50, 90, 99], method="lower"), known.max())
            ]
            median, most, largest = np.percentile(worst, [50, 90, 100]) * 1e3
            lines.append(
                f"| {corpus.name} | {name} | {' | '.join(shown)} "
                f"| {seconds / within.sum() * 1e6:.2f} | {len(within) / len(known):.1%} "
                f"| {median:.2f} ms | {most:.1f} ms | {largest:.0f} ms "
                f"| {proven / len(known):.1%} |"
            )
            print(lines[-1], flush=True)
    return lines
