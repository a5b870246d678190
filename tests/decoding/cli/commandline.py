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
