"""Tools beside each other: ``python compare.py SPACES ANSWERS TABLE``, a Markdown table.

ANSWERS and TABLE are what ``run.py SPACES -o ANSWERS > TABLE`` wrote, for any number of tools: time
and memory of each question that two of them were asked, and what the checker says of their answers.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from check import read, verdicts

NAMES = ("file", "task", "tool", "search s", "times ours", "MB", "answers")


def main() -> None:
    """Print the table."""
    sys.setrecursionlimit(100_000)
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("spaces", type=Path)
    parser.add_argument("answers", type=Path, help="as -o of run.py: ANSWERS-TOOL.tsv are read")
    parser.add_argument("table", type=Path)
    arguments = parser.parse_args()
    known = read(Path(__file__).with_name("answers.tsv"))
    with arguments.table.open(encoding="utf-8", newline="") as stream:
        costs = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    said: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for tool in sorted({row["tool"] for row in costs}):
        path = arguments.answers.with_name(f"{arguments.answers.name}-{tool}.tsv")
        asked = {(row["task"], row["file"]) for row in costs if row["tool"] == tool}
        some = {key: row for key, row in known.items() if key[:2] in asked}
        for (task, file, _), verdict, _ in verdicts(arguments.spaces, some, read(path), 10**6):
            said[task, file, tool][verdict] += 1
    shared = Counter((row["task"], row["file"]) for row in costs)
    print(f"| {' | '.join(NAMES)} |")
    print("|---|---|---|--:|--:|--:|---|")
    ours = {
        (row["task"], row["file"]): float(row["search s"] or "nan")
        for row in costs
        if row["tool"] == "ours"
    }
    for row in sorted(costs, key=lambda row: (row["task"], row["file"], row["tool"] != "ours")):
        key = row["task"], row["file"]
        if shared[key] < 2:
            continue
        seconds = float(row["search s"] or "nan")
        ratio = f"{seconds / ours[key]:.1f}" if key in ours and row["tool"] != "ours" else ""
        counts = said[(*key, row["tool"])]
        judged = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        cells = (row["file"], row["task"], row["tool"], row["search s"], ratio, row["MB"],
                 row["error"] or judged)  # fmt: skip
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
