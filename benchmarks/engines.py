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
from fstmetrics import GRR, WER, AlignmentMetric, Machine
from lattices import Lattice
from lattices.engines import ENGINES, Engine
from lattices.engines import kernel as kernel_module
from lattices.engines.forward import forward_alignment
from lattices.engines.openfst import acceptor_columns, transducer_columns
from lattices.openfst_codec import encode

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
            ours = fastest(2, openfst.best, few.lattices, machines[:sample]) / sample
            in_c, c_gains = plain.seconds(corpus, metric)
            found = kernel.best(corpus.lattices, machines)
            for result, machine, gain in zip(found, machines, c_gains, strict=True):
                if result.value * machine.parts[0].denominator - gain > 1e-6:
                    raise SystemExit(f"{corpus.name}: the kernel and the C loop disagree")
            for result, machine, gain in zip(found, machines, gains, strict=False):
                if abs(result.value * machine.parts[0].denominator - gain) > 1e-6:
                    raise SystemExit(f"{corpus.name}: the kernel and OpenFst disagree")
            count = len(corpus.lattices)
            one, search = (part / count for part in _fastest_call(kernel, corpus, machines))
            two = fastest(7, kernel.best, corpus.lattices, machines, workers=2) / count
            lines.append(
                f"| {corpus.name} | {corpus.arcs:.0f} | {corpus.words:.0f} | {name} "
                f"| {composed * 1e3:.2f} ms | {ours * 1e3:.2f} ms | {in_c * 1e6:.1f} µs "
                f"| {one * 1e6:.1f} µs | {search * 1e6:.1f} µs | {two * 1e6:.1f} µs "
                f"| {composed / one:.0f}x | {composed / two:.0f}x | {ours / two:.0f}x "
                f"| {search / in_c:.2f} |"
            )
            print(lines[-1], flush=True)
    return lines


def shares(corpus: Corpus) -> list[str]:
    """Return where the kernel's time goes: packing, forward pass, and the way back."""
    lines = ["| metric | whole | packing and results | forward pass | way back |"]
    lines.append("|---|--:|--:|--:|--:|")
    for name, metric in METRICS.items():
        machines = machines_of(corpus, metric)
        engine = ENGINES.get("kernel")
        whole, inside = _fastest_call(engine, corpus, machines)
        cells = max(
            lattice.num_states * machine.num_states * 8
            for lattice, machine in zip(corpus.lattices, machines, strict=True)
        )
        rows = np.empty(cells, np.float32)  # one for all, as in the engine
        passes = [
            (rows, *_forward_arguments(lattice, machine))
            for lattice, machine in zip(corpus.lattices, machines, strict=True)
        ]
        forward = fastest(15, _all_forward, passes) - fastest(15, _none_forward, passes)
        count = len(corpus.lattices)
        shown = (whole, whole - inside, forward, inside - forward)
        lines.append(
            f"| {name} | " + " | ".join(f"{part / count * 1e6:.1f} µs" for part in shown) + " |"
        )
    return lines


def _fastest_call(engine: Engine, corpus: Corpus, machines: list[Machine]) -> tuple[float, float]:
    """Return the seconds of the fastest call, and of the compiled search in it."""
    engine.best(corpus.lattices, machines)
    return min(_timed(engine, corpus, machines) for _ in range(15))


def _timed(engine: Engine, corpus: Corpus, machines: list[Machine]) -> tuple[float, float]:
    """Return the seconds of one call of the engine, and those spent in the compiled search."""
    inside = 0.0
    search = kernel_module.search_alignments

    def timed(*arguments: object) -> None:
        nonlocal inside
        begin = perf_counter()
        search(*arguments)
        inside += perf_counter() - begin

    kernel_module.search_alignments = timed
    try:
        begin = perf_counter()
        engine.best(corpus.lattices, machines)
        return perf_counter() - begin, inside
    finally:
        kernel_module.search_alignments = search


def _forward_arguments(lattice: Lattice, machine: Machine) -> tuple[object, ...]:
    """Return the arguments of one forward pass, without the rows."""
    alignment = machine.parts[0].automaton
    head = np.full(len(lattice.vocabulary), -1, np.int32)
    follow = np.empty(len(alignment.word), np.int32)
    for entry in range(len(follow) - 1, -1, -1):
        follow[entry] = head[alignment.word[entry]]
        head[alignment.word[entry]] = entry
    return (
        lattice.src, lattice.label,
        np.zeros(lattice.num_arcs, np.float32), lattice.in_arc, lattice.in_offset,
        lattice.start, lattice.num_states, alignment.length, alignment.order,
        np.float32(alignment.insertion), np.float32(alignment.deletion),
        head, follow, alignment.position, alignment.weight.astype(np.float32),
    )  # fmt: skip


def _all_forward(passes: list[tuple[object, ...]]) -> None:
    for arguments in passes:
        forward_alignment(*arguments)


def _none_forward(passes: list[tuple[object, ...]]) -> None:
    """Pay for the calls alone: a lattice without states."""
    for arguments in passes:
        forward_alignment(*arguments[:7], 0, *arguments[8:])
