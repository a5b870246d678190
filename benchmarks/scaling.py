"""How searches grow with the lattice and with the reference, and what compiling costs."""

from __future__ import annotations

import numpy as np

from benchmarks.data import Corpus
from benchmarks.engines import fastest
from decoding.minimum_risk.edit import edit
from fstmetrics import GRR
from fstmetrics.alignment.metric import AlignmentEvaluator
from lattices import Lattice, Vocabulary, prune
from lattices.intersection import ENGINES


def measure(corpus: Corpus) -> list[str]:
    """Return tables of time against arcs and against words, with the fitted exponents."""
    kernel = ENGINES.get("kernel")
    lattices = corpus.lattices[:60]
    lines = ["| density | arcs | µs | ns / arc |", "|--:|--:|--:|--:|"]
    sizes, times = [], []
    for density in (10, 20, 40, 80, 160, 1000):
        pruned = [prune(lattice, density=density) for lattice in lattices]
        machines = [
            GRR().against([text]).machine(lattice.vocabulary)
            for lattice, text in zip(pruned, corpus.references, strict=False)
        ]
        arcs = sum(lattice.num_arcs for lattice in pruned) / len(pruned)
        seconds = fastest(7, kernel.best, list(zip(pruned, machines, strict=True))) / len(pruned)
        sizes.append(arcs)
        times.append(seconds)
        lines.append(
            f"| {density} | {arcs:.0f} | {seconds * 1e6:.1f} | {seconds / arcs * 1e9:.0f} |"
        )
    lines += ["", _line(sizes, times, "arc"), ""]
    lines += ["| reference words | µs | ns / arc / word |", "|--:|--:|--:|"]
    sizes, times = [], []
    pool = " ".join(corpus.references).split()
    for words in (5, 10, 20, 40, 80, 160, 320):
        machines = [
            GRR().against([pool[start : start + words]]).machine(lattice.vocabulary)
            for start, lattice in enumerate(lattices)
        ]
        arcs = sum(lattice.num_arcs for lattice in lattices) / len(lattices)
        seconds = fastest(7, kernel.best, list(zip(lattices, machines, strict=True))) / len(
            lattices
        )
        sizes.append(words)
        times.append(seconds)
        lines.append(f"| {words} | {seconds * 1e6:.1f} | {seconds / arcs / words * 1e9:.2f} |")
    lines += ["", _line(sizes, times, "reference word")]
    return lines


def _line(sizes: list[float], times: list[float], unit: str) -> str:
    """Return how well a straight line fits."""
    slope, constant = np.polyfit(sizes, times, 1)
    correlation = float(np.corrcoef(sizes, times)[0, 1])
    return (
        f"A straight line fits: {constant * 1e6:.0f} µs and {slope * 1e9:.0f} ns for each {unit} "
        f"(r = {correlation:.3f})."
    )


def compiling(corpus: Corpus) -> list[str]:
    """Return what it costs to compile 4-GRR for references of 13 and of 40 words."""
    pool = " ".join(corpus.references).split()
    lines = ["| reference words | machine | OpenFst acceptor | its arcs |", "|--:|--:|--:|--:|"]
    vocabulary = corpus.lattices[0].vocabulary
    for words in (13, 40):
        evaluator = GRR().against([pool[:words]])
        lean = fastest(50, evaluator.machine, vocabulary)
        full = fastest(20, _compiled, evaluator, vocabulary)
        fst = evaluator.machine(vocabulary).to_fst(vocabulary)
        arcs = sum(fst.num_arcs(state) for state in fst.states())
        lines.append(f"| {words} | {lean * 1e6:.0f} µs | {full * 1e3:.2f} ms | {arcs} |")
    return lines


def _compiled(evaluator: AlignmentEvaluator, vocabulary: Vocabulary) -> object:
    return evaluator.machine(vocabulary).to_fst(vocabulary)


def expected_edits(corpus: Corpus) -> list[str]:
    """Return what edit MBR and its network take for lattices put end to end."""
    lines = ["| lattices | arcs | words | s | of it the network |", "|--:|--:|--:|--:|--:|"]
    sizes, times = [], []
    for count in (20, 40, 80, 160, 320):
        lattice = _join(corpus.lattices[:count])
        found = edit(lattice)
        # a network is kept, so it is measured with the decision
        alone = fastest(1, edit, lattice)
        whole = fastest(1, lambda: edit(lattice).network)  # noqa: B023
        sizes.append(lattice.num_arcs)
        times.append(whole)
        lines.append(
            f"| {count} | {lattice.num_arcs:,} | {len(found.tokens):,} | {whole:.2f} | "
            f"{whole - alone:.2f} |"
        )
    slope, _ = np.polyfit(np.log(sizes), np.log(times), 1)
    return [*lines, "", f"Time grows with the number of arcs to the power of {slope:.2f}."]


def _join(parts: list[Lattice]) -> Lattice:
    """Return the paths of lattices end to end, by arcs without words."""
    rows: list[tuple[int, int, str, float]] = []
    ends: dict[int, float] = {}
    begin = 0
    for part in parts:
        rows += [(state, begin + part.start, "", score) for state, score in ends.items()]
        columns = (part.src + begin, part.dst + begin, part.label, part.score)
        for src, dst, label, score in zip(*(each.tolist() for each in columns), strict=True):
            rows.append((src, dst, part.vocabulary.word(label), score))
        ends = {begin + int(state): float(part.final[state]) for state in part.finals}
        begin += part.num_states
    return Lattice.from_arcs(rows, ends, states=begin, start=parts[0].start)
