"""Exact oracles of forests: milliseconds a forest, and how they grow with forest and reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time

import numpy as np

import lattices
from benchmarks.data import DATA
from fstmetrics import GRR, WRR
from fstmetrics.alignment.metric import AlignmentMetric
from fstmetrics.references import Reference, split_tokens
from lattices import Forest
from lattices.intersection.kernel import ENGINE

METRICS: dict[str, AlignmentMetric] = {"WRR": WRR(), "2-GRR": GRR(n=2), "4-GRR": GRR()}


def measure() -> list[str]:
    """Return one table, or why there is none.

    Times are those of the processor, the fastest of several rounds; the search with its way
    back and the choice among ties is all in them, machines are compiled beforehand.
    """
    if not (DATA / "cdec-forests").exists():
        return ["Not measured: the forests are not here."]
    lines = ["| forests | edges | reference words | " + " | ".join(METRICS) + " |"]
    lines.append("|---|--:|--:|" + "--:|" * len(METRICS))
    forests: list[Forest] = []
    for density in ("d10", "d50"):
        forests = _read(f"multi30k-deen/hiero150.de-en.forest.{density}.jsonl.gz")
        references = [forest.references for forest in forests]
        lines.append(_row(f"Hiero {density}", forests, references, rounds=5))
    for count in (4, 16, 64):
        larger = lattices.union(forests[:count])
        name = f"{count} of d50, united"
        lines.append(_row(name, [larger], [forests[0].references], rounds=5))
    folder = DATA / "cdec-forests"
    four = [(folder / f"0.ref.{number}").read_text().strip() for number in range(4)]
    (small,) = _read("cdec-forests/0.json.gz")
    lines.append(_row("cdec 0, 4 references", [small], [four], rounds=5))
    (urdu,) = _read("cdec-forests/urdu.json.gz")
    drawn = lattices.sample(urdu, 20, np.random.default_rng(0))
    words = [word for found in drawn for word in found.tokens]
    for length in (7, 15, 30, 60, 120):
        lines.append(_row("cdec urdu, its own words", [urdu], [[words[:length]]], rounds=2))
    strange = [f"no word of it {number}" for number in range(30)]
    lines.append(_row("cdec urdu, nothing matches", [urdu], [[strange]], rounds=1))
    steps = [(node, [node - 1], [0, "a"]) for node in range(1, 20_000)]
    chain = Forest.from_edges([(0, [], ["b"]), (0, [], ["c"]), *steps])
    lines.append(_row("a chain of 20,000 nodes", [chain], [[["c", "a", "a", "a"]]], rounds=2))
    return lines


def _read(path: str) -> list[Forest]:
    return [space for space in lattices.read(DATA / path) if isinstance(space, Forest)]


def _row(
    name: str, forests: Sequence[Forest], references: Sequence[Sequence[Reference]], rounds: int
) -> str:
    edges = np.mean([forest.num_edges for forest in forests])
    words = [len(split_tokens(each)) for some in references for each in some]  # type: ignore[arg-type]
    times = [_milliseconds(forests, references, metric, rounds) for metric in METRICS.values()]
    cells = " | ".join(f"{time:.2f}" for time in times)
    row = f"| {name} | {edges:,.0f} | {np.mean(words):.0f} | {cells} |"
    print(row, flush=True)
    return row


def _milliseconds(
    forests: Sequence[Forest],
    references: Sequence[Sequence[Reference]],
    metric: AlignmentMetric,
    rounds: int,
) -> float:
    machines = [
        metric.against(some).machine(forest.vocabulary)
        for forest, some in zip(forests, references, strict=True)
    ]
    problems = list(zip(forests, machines, strict=True))
    ENGINE.best(problems[:1])
    return 1000 * _fastest(rounds, lambda: ENGINE.best(problems)) / len(forests)


def _fastest(rounds: int, job: Callable[[], object]) -> float:
    times = []
    for _ in range(rounds):
        begin = process_time()
        job()
        times.append(process_time() - begin)
    return min(times)
