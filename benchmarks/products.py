"""How large products of spaces with 4-GRR are; ``python -m benchmarks.products`` prints it."""

from __future__ import annotations

from itertools import islice

from benchmarks.data import DATA
from decoding import best_paths
from fstmetrics import GRR, intersect
from lattices import read

#: the first segments of each
FILES = {
    "lattices d10": ("val.de-en.lat.d10.jsonl.gz", 50),
    "lattices d50": ("val.de-en.lat.d50.jsonl.gz", 20),
    "lattices d200": ("val_first300.de-en.lat.d200.jsonl.gz", 5),
    "Hiero forests d10": ("hiero150.de-en.forest.d10.jsonl.gz", 20),
    "Hiero forests d50": ("hiero150.de-en.forest.d50.jsonl.gz", 5),
}


def main() -> None:
    """Print how many arcs or edges a space has on average, and its products."""
    print("| | arcs or edges | over alignments | over sentences | all best paths |")
    print("|---|--:|--:|--:|--:|")
    for name, (file, count) in FILES.items():
        totals = [0.0] * 4
        for space in islice(read(DATA / "multi30k-deen" / file), count):
            evaluator = GRR().against(space.references)
            products = (
                space,
                intersect(space, evaluator),
                intersect(space, evaluator, over="sentences"),
                best_paths(space, evaluator),
            )
            for place, each in enumerate(products):
                totals[place] += len(each.score) / count
        print(f"| {name} |", " | ".join(f"{total:,.0f}" for total in totals), "|")


if __name__ == "__main__":
    main()
