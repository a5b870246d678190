"""The command, and small corpora in files, for its tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from decoding.cli.main import main

Arc = tuple[int, int, str, float]

CAT: list[Arc] = [
    (0, 1, "a", -0.1),
    (0, 1, "the", -0.9),
    (1, 2, "hat", -0.2),
    (1, 2, "cat", -0.7),
]


def command(*names: str) -> Callable[..., int]:
    """Return a function that runs the command, or a subcommand, and returns the exit code."""

    def run(*argv: object) -> int:
        return main([*names, *map(str, argv)])

    return run


def lattice_line(name: str, arcs: list[Arc], refs: list[str] | None = None, **rest: Any) -> str:
    """Return one line of our JSON format; the last state is final."""
    last = max((arc[1] for arc in arcs), default=0)
    fields: dict[str, Any] = {"id": name, "finals": {str(last): 0.0}, "arcs": arcs, **rest}
    if refs is not None:
        fields["refs"] = refs
    return json.dumps(fields) + "\n"


def cats(path: Path, count: int = 3, refs: bool = True) -> Path:
    """Write that many segments, whose 1-best is "a hat" and whose oracle is "the cat"."""
    lines = [lattice_line(f"s{n}", CAT, ["the cat"] if refs else None) for n in range(count)]
    path.write_text("".join(lines))
    return path


def words(path: Path, *lines: str) -> Path:
    """Write lines of text."""
    path.write_text("".join(line + "\n" for line in lines))
    return path


#: a command line of each command, for files of :func:`every_input`; OUT is what it writes
EVERY = {
    "oracle": "oracle a.jsonl --metric bleu wer -o OUT --summary s.json",
    "mbr": "mbr a.jsonl -o OUT --matrix m.jsonl",
    "tune": "tune a.jsonl --scale 1,2 -o OUT",
    "tune-mbr": "tune-mbr a.jsonl -o OUT",
    "train": "train a.jsonl --metric wer -o OUT --history h.tsv",
    "rescore": "rescore a.jsonl --weights weights -o OUT",
    "score": "score h1 h2 --refs refs --metric wer --intervals -o OUT",
    "compare": "compare h1 h2 --refs refs --metric wer -o OUT",
    "choices": "choices a.jsonl --metric wer bleu -o OUT",
    "report": "report a.jsonl --metric wer -o OUT",
    "correlate": "correlate h1 h2 h3 --refs refs --human human -o OUT",
    "calibrate": "calibrate a.jsonl -o OUT --summary s.json",
    "study": "study sweep h1 --refs refs --metric grr --option n --values 1,2 -o OUT",
    "info": "info a.jsonl -o OUT",
    "convert": "convert a.jsonl --to jsonl -o OUT",
    "features": "features n.jsonl --add more=values --to jsonl -o OUT",
    "nbest": "nbest a.jsonl -k 3 --to jsonl -o OUT",
    "prune": "prune a.jsonl --beam 1 --to jsonl -o OUT",
    "sample": "sample a.jsonl -n 3 --to jsonl -o OUT",
    "union": "union a.jsonl b.jsonl --to jsonl -o OUT",
    "confusion": "confusion a.jsonl -o OUT",
    "find": "find cat a.jsonl -o OUT",
    "compile": "compile --ref the_cat -o OUT",
    "formats": "formats",
    "metrics": "metrics",
    "demo": "demo",
    "doctor": "doctor",
    "completion": "completion bash",
}


def every_input(folder: Path) -> None:
    """Write the files that the commands of ``EVERY`` read."""
    arcs = [(*arc, {"lm": arc[3]}) for arc in CAT]
    lines = [lattice_line(f"s{n}", arcs, ["the cat"]) for n in range(40)]
    for name in ("a.jsonl", "b.jsonl"):
        (folder / name).write_text("".join(lines))
    lists = [{"id": str(n), "nbest": [{"words": "a hat"}, {"words": "the cat"}]} for n in range(9)]
    (folder / "n.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lists))
    words(folder / "values", *map(str, range(18)))
    words(folder / "weights", "lm 1.0")
    words(folder / "refs", *["the cat", "a hat on a cat"] * 10)
    for name, line in (("h1", "the hat"), ("h2", "the cat"), ("h3", "a cat")):
        words(folder / name, *[line] * 20)
    words(folder / "human", "h1 1", "h2 2", "h3 3")
