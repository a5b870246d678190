"""The kernel against OpenFst and against a plain C loop, on the same problems."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pynini

from benchmarks.data import Corpus
from fstmetrics import GRR, WER
from fstmetrics.alignment.metric import AlignmentMetric
from fstmetrics.contract import Machine
from lattices.formats.openfst.codec import encode
from lattices.intersection import ENGINES, Engine, Problem
from lattices.intersection import kernel as kernel_module
from lattices.intersection.openfst import acceptor_columns, transducer_columns

METRICS = {"WER": WER(), "4-GRR": GRR()}


def fastest(rounds: int, job: Callable[..., object], *arguments: Any, **options: Any) -> float:
    """Return the seconds of the fastest of several rounds: the one least disturbed."""
    times = []
    for _ in range(rounds):
        begin = perf_counter()
        job(*arguments, **options)
        times.append(perf_counter() - begin)
    return min(times)


def machines_of(corpus: Corpus, metric: AlignmentMetric) -> list[Machine]:
    """Compile every reference."""
    return [
        metric.against([text]).machine(lattice.vocabulary)
        for lattice, text in zip(corpus.lattices, corpus.references, strict=True)
    ]


def problems_of(corpus: Corpus, machines: list[Machine]) -> list[Problem]:
    """Pair every lattice with its machine."""
    return list(zip(corpus.lattices, machines, strict=True))


def compose_and_search(corpus: Corpus, machines: list[Machine]) -> tuple[float, list[float]]:
    """Return OpenFst's seconds a lattice for compose and shortest path, and the best gains.

    Both automata are compiled before the clock starts, the machine's arcs are sorted: what a
    user who knows OpenFst would write.
    """
    pairs = []
    for lattice, machine in zip(corpus.lattices, machines, strict=True):
        automaton = machine.parts[0].automaton.automaton
        other = len(lattice.vocabulary)
        right = pynini.Fst.read_from_string(encode(acceptor_columns(automaton, other)))
        left = transducer_columns(lattice, np.unique(automaton.label), other, 0.0)
        pairs.append((pynini.Fst.read_from_string(encode(left)), right.arcsort("ilabel")))
    gains: list[float] = []

    def search() -> None:
        gains.clear()
        for left, right in pairs:
            path = pynini.shortestpath(pynini.compose(left, right))
            gains.append(-float(str(pynini.shortestdistance(path, reverse=True)[path.start()])))

    return fastest(3, search) / len(pairs), gains


class PlainC:
    """``plain.c``, compiled with ``cc -O3 -march=native``."""

    def __init__(self) -> None:
        source = Path(__file__).with_name("plain.c")
        self.folder = tempfile.TemporaryDirectory()
        library = Path(self.folder.name) / "plain.so"
        subprocess.run(
            ["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source, "-lm"],
            check=True,
        )
        self.search = ctypes.CDLL(str(library)).search_batch
        self.search.restype = None

    def seconds(self, corpus: Corpus, metric: AlignmentMetric) -> tuple[float, list[float]]:
        """Return the seconds a lattice, one thread, and the best gains."""
        lattices = corpus.lattices
        texts = [
            lattice.vocabulary.encode(text.split())
            for lattice, text in zip(lattices, corpus.references, strict=True)
        ]

        def joined(name: str) -> np.ndarray:
            return np.concatenate([getattr(lattice, name) for lattice in lattices])

        def starts(sizes: list[int]) -> np.ndarray:
            return np.cumsum([0, *sizes], dtype=np.int64)

        states = starts([lattice.num_states for lattice in lattices])
        cells = max(
            lattice.num_states * metric.order * (len(text) + 1)
            for lattice, text in zip(lattices, texts, strict=True)
        )
        values = np.empty(len(lattices), np.float32)
        arrays = [
            np.empty(cells, np.float32),
            len(lattices),
            starts([lattice.num_arcs for lattice in lattices]),
            states,
            np.array([lattice.start for lattice in lattices], np.int32),
            *(joined(name) for name in ("src", "label", "in_arc", "in_offset", "final")),
            starts([len(text) for text in texts]),
            np.concatenate(texts),
            metric.order,
            values,
            np.empty(states[-1], np.int32),
            np.empty(len(lattices), np.int32),
        ]
        arguments = [
            array.ctypes.data_as(ctypes.c_void_p) if isinstance(array, np.ndarray) else array
            for array in arrays
        ]
        seconds = fastest(7, self.search, *arguments) / len(lattices)
        return seconds, values.tolist()


def measure(corpora: list[Corpus], sample: int) -> list[str]:
    """Return the table of all engines on all corpora."""
    lines = [
        "| lattices | arcs | words | metric | OpenFst | engine `openfst` | plain C | kernel | "
        "of this, search | kernel, 2 threads | OpenFst / kernel | OpenFst / 2 threads "
        "| `openfst` / 2 threads | search / C |",
        "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    plain = PlainC()
    kernel, openfst = ENGINES.get("kernel"), ENGINES.get("openfst")
    for corpus in corpora:
        for name, metric in METRICS.items():
            machines = machines_of(corpus, metric)
            few = corpus.first(sample)
            composed, gains = compose_and_search(few, machines[:sample])
            ours = fastest(2, openfst.best, problems_of(few, machines[:sample])) / sample
            in_c, c_gains = plain.seconds(corpus, metric)
            found = kernel.best(problems_of(corpus, machines))
            for result, machine, gain in zip(found, machines, c_gains, strict=True):
                if result.value * machine.parts[0].denominator - gain > 1e-6:
                    raise SystemExit(f"{corpus.name}: the kernel and the C loop disagree")
            for result, machine, gain in zip(found, machines, gains, strict=False):
                if abs(result.value * machine.parts[0].denominator - gain) > 1e-6:
                    raise SystemExit(f"{corpus.name}: the kernel and OpenFst disagree")
            count = len(corpus.lattices)
            one, search = (part / count for part in _fastest_call(kernel, corpus, machines))
            problems = problems_of(corpus, machines)
            two = fastest(7, kernel.best, problems, workers=2) / count
            lines.append(
                f"| {corpus.name} | {corpus.arcs:.0f} | {corpus.words:.0f} | {name} "
                f"| {composed * 1e3:.2f} ms | {ours * 1e3:.2f} ms | {in_c * 1e6:.1f} µs "
                f"| {one * 1e6:.1f} µs | {search * 1e6:.1f} µs | {two * 1e6:.1f} µs "
                f"| {composed / one:.0f}x | {composed / two:.0f}x | {ours / two:.0f}x "
                f"| {search / in_c:.2f} |"
            )
            print(lines[-1], flush=True)
    return lines


def _fastest_call(engine: Engine, corpus: Corpus, machines: list[Machine]) -> tuple[float, float]:
    """Return the seconds of the fastest call, and of the native search in it."""
    engine.best(problems_of(corpus, machines))
    return min(_timed(engine, corpus, machines) for _ in range(15))


def _timed(engine: Engine, corpus: Corpus, machines: list[Machine]) -> tuple[float, float]:
    """Return the seconds of one call of the engine, and those spent in the native search."""
    inside = 0.0
    search = kernel_module.search_lattices

    def timed(*arguments: Any) -> Any:
        nonlocal inside
        begin = perf_counter()
        found = search(*arguments)
        inside += perf_counter() - begin
        return found

    kernel_module.search_lattices = timed
    try:
        begin = perf_counter()
        engine.best(problems_of(corpus, machines))
        return perf_counter() - begin, inside
    finally:
        kernel_module.search_lattices = search
