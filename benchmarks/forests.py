"""Exact oracles of forests: seconds a forest, and how they grow with forest and reference.

Run as ``python -m benchmarks.forests``. Times are those of the processor, the fastest of
several rounds; the search with its way back and the choice among ties is all in them.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.data import DATA, machine
from fstmetrics import GRR, WRR, AlignmentMetric
from lattices import Vocabulary
from lattices.engines.forest_kernel import ENGINE
from lattices.spaces import Forest

METRICS: dict[str, AlignmentMetric] = {"WRR": WRR(), "2-GRR": GRR(n=2), "4-GRR": GRR()}


def fastest(rounds: int, job: Callable[[], object]) -> float:
    """Return the processor's seconds of the fastest of several rounds."""
    times = []
    for _ in range(rounds):
        begin = process_time()
        job()
        times.append(process_time() - begin)
    return min(times)


def hiero(density: str) -> list[Forest]:
    """Return the German-English forests, with their references."""
    vocabulary = Vocabulary()
    path = DATA / f"multi30k-deen/hiero150.de-en.forest.{density}.jsonl.gz"
    with gzip.open(path, "rt") as lines:
        records = [json.loads(line) for line in lines]
    return [
        Forest.from_edges(
            [(e["head"], e["tails"], e["rhs"], e["score"]) for e in record["edges"]],
            root=record["root"],
            nodes=len(record["nodes"]),
            vocabulary=vocabulary,
            references=record["refs"],
        )
        for record in records
    ]


def cdec(path: Path) -> Forest:
    """Return a forest in cdec's JSON; scores are minus the sums of the features."""
    pairs = json.loads(gzip.decompress(path.read_bytes()), object_pairs_hook=list)
    rules, heads, edges = {}, {}, []
    nodes = 0
    for key, value in pairs:
        if key == "rules":
            rules = dict(zip(value[::2], value[1::2], strict=True))
        elif key == "edges":
            edges.extend(dict(edge) for edge in value)
        elif key == "node":
            heads.update(dict.fromkeys(dict(value)["in_edges"], nodes))
            nodes += 1
    rows = []
    for number, edge in enumerate(edges):
        side = [
            int(part[1:-1]) - 1 if part[0] == "[" and part[1:-1].isdigit() else part
            for part in rules[edge["rule"]].split(" ||| ")[2].split()
        ]
        score = -float(sum((edge.get("feats") or [])[1::2]))
        rows.append((heads[number], edge.get("tail") or [], side, score))
    return Forest.from_edges(rows, root=nodes - 1, nodes=nodes)


def some_sentence(forest: Forest, draw: random.Random) -> tuple[str, ...]:
    """Draw a derivation, every edge of a node as likely as the others."""
    edges, wanted = [], [forest.root]
    while wanted:
        node = wanted.pop()
        edge = draw.randrange(int(forest.in_offset[node]), int(forest.in_offset[node + 1]))
        edges.append(edge)
        tails = forest.tail[forest.tail_offset[edge] : forest.tail_offset[edge + 1]]
        wanted.extend(tails[::-1].tolist())
    return forest.hypothesis(edges).tokens


def side_by_side(forests: Sequence[Forest]) -> Forest:
    """Return one forest that says what any of them says: edges add up, sentences stay as long."""
    rows = []
    base = 0
    roots = []
    for forest in forests:
        for edge in range(forest.num_edges):
            side = forest.symbol[forest.symbol_offset[edge] : forest.symbol_offset[edge + 1]]
            tails = forest.tail[forest.tail_offset[edge] : forest.tail_offset[edge + 1]]
            rows.append(
                (
                    base + int(forest.head[edge]),
                    (base + tails).tolist(),
                    [forest.vocabulary.word(p) if p > 0 else -1 - p for p in side.tolist()],
                    float(forest.score[edge]),
                )
            )
        roots.append(base + forest.root)
        base += forest.num_nodes
    rows.extend((base, [root], [0], 0.0) for root in roots)
    return Forest.from_edges(rows)


def milliseconds(
    forests: Sequence[Forest],
    references: Sequence[Sequence[object]],
    metric: AlignmentMetric,
    rounds: int,
) -> float:
    """Return the milliseconds a forest."""
    machines = [
        metric.against(some).machine(forest.vocabulary)  # type: ignore[arg-type]
        for forest, some in zip(forests, references, strict=True)
    ]
    ENGINE.best(forests[:1], machines[:1])
    return 1000 * fastest(rounds, lambda: ENGINE.best(forests, machines)) / len(forests)


def main() -> None:
    """Print one table."""
    print("\n".join(machine()), end="\n\n")
    print("| forests | edges | reference | " + " | ".join(f"{name}, ms" for name in METRICS) + " |")
    print("|---|---|---|" + "---|" * len(METRICS))

    def report(
        name: str, forests: Sequence[Forest], references: Sequence[Sequence[object]], rounds: int
    ) -> None:
        edges = np.mean([forest.num_edges for forest in forests])
        words = [len(each.split() if isinstance(each, str) else each)  # type: ignore[arg-type]
                 for some in references for each in some]  # fmt: skip
        times = [milliseconds(forests, references, metric, rounds) for metric in METRICS.values()]
        cells = " | ".join(f"{time:.2f}" for time in times)
        print(f"| {name} | {edges:.0f} | {np.mean(words):.1f} words | {cells} |", flush=True)

    for density in ("d10", "d50"):
        forests = hiero(density)
        report(f"Hiero {density}", forests, [forest.references for forest in forests], 5)
    for count in (4, 16, 64):
        larger = side_by_side(forests[:count])
        report(f"{count} of d50 side by side", [larger], [forests[0].references], 5)
    folder = DATA / "cdec-forests"
    references = [(folder / f"0.ref.{number}").read_text().strip() for number in range(4)]
    report("cdec 0, 4 references", [cdec(folder / "0.json.gz")], [references], 5)
    urdu = cdec(folder / "urdu.json.gz")
    draw = random.Random(0)
    words: list[str] = []
    while len(words) < 120:
        words.extend(some_sentence(urdu, draw))
    for length in (7, 15, 30, 60, 120):
        report("cdec urdu", [urdu], [[words[:length]]], 2)


if __name__ == "__main__":
    main()
