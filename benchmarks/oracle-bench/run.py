"""Answer the questions of the oracle bench: ``python run.py SPACES -o ANSWERS [--tools ours ...]``.

Each tool answers each question of each file in a process of its own, whose time (of the search
alone, and of the whole process) and memory go into a table on standard output. Tools that are not
installed are left out with a note. ``adapters`` has a file for each.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

COLUMNS = ("task", "file", "id", "value", "bound", "words")
TOOLS = ("ours", "openfst", "rapidfuzz", "k2", "mbrs", "kaldi", "cdec")
TASKS = ("oracle:wer", "oracle:wrr", "oracle:cer", "oracle:grr", "oracle:bleu", "corpus:bleu",
         "mbr:edits", "paths", "ties:wer", "risk:edits", "posterior")  # fmt: skip
#: the largest segments of which all is asked; of larger ones these
LARGE = 20_000
OF_LARGE = ("oracle:wer", "oracle:wrr", "oracle:grr")
#: these are asked up to so many arcs, of forests and of lattices: searches take hours beyond
FEWER = {
    "oracle:bleu": (100, 1_000),
    "corpus:bleu": (100, 100),
    "posterior": (10, 10_000),
    "mbr:edits": (100, 10_000),
}


def adapter(tool: str) -> Any:
    """Return the module of a tool."""
    return importlib.import_module(f"adapters.{tool}")


def installed(need: str) -> bool:
    """Tell whether there is a program or a module of this name."""
    return (
        shutil.which(need) is not None
        if "-" in need or "_" in need
        else importlib.util.find_spec(need) is not None
    )


def _arcs(path: Path) -> int:
    """Return about how many arcs a segment has; reading here would add to the memory of tools."""
    size = path.stem.rpartition("-")[2]
    return int(size) if size.isdigit() else 3_000


def _one(tool: str, path: Path, task: str) -> None:
    """Print the rows of one question, and the time of the search."""
    rows, spent = adapter(tool).answer(path, task)
    print(spent)
    for row in rows:
        print(*row, sep="\t")


def _ask(tool: str, path: Path, task: str) -> tuple[list[list[str]], str, str]:
    """Return rows; seconds of the search and of the process and the peak in MB; and an error."""
    command = [sys.executable, __file__, "--one", tool, str(path), task]
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as told:
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=printed, stderr=told)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        whole = time.perf_counter() - started
        printed.seek(0)
        told.seek(0)
        if child.returncode != 0:
            lines = told.read().strip().splitlines()
            return [], "", lines[-1] if lines else f"exit code {child.returncode}"
        spent, *rows = printed.read().splitlines()
    cost = f"{float(spent):.4f}\t{whole:.2f}\t{usage.ru_maxrss / 1024:.0f}"
    return [row.split("\t") for row in rows], cost, ""


def main() -> None:
    """Ask tools, write their answers, and print what they took."""
    if sys.argv[1:2] == ["--one"]:
        tool, path, task = sys.argv[2:]
        _one(tool, Path(path), task)
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("spaces", type=Path, help="the folder that make.py has written")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="OUT: answers of TOOL in OUT-TOOL.tsv"
    )
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--most", type=int, default=10**6, help="arcs a segment (default: 10^6)")
    arguments = parser.parse_args()
    print("file", "task", "tool", "search s", "process s", "MB", "error", sep="\t")
    sizes = {path: _arcs(path) for path in sorted(arguments.spaces.glob("*.jsonl"))}
    for tool in arguments.tools:
        asked = adapter(tool)
        if not installed(asked.NEEDS):
            print(f"{tool} is left out: there is no {asked.NEEDS}", file=sys.stderr)
            continue
        answers = []
        for path, size in sizes.items():
            if size > min(arguments.most, getattr(asked, "MOST", arguments.most)):
                continue
            for task in arguments.tasks:
                if not path.stem.startswith(asked.HAS.get(task, ("-",))) or (
                    size > LARGE and task not in OF_LARGE
                ):
                    continue
                generated = path.stem.startswith(("forests", "lattices"))
                limits = FEWER.get(task, (size, size)) if generated else (size, size)
                if size > limits[path.stem.startswith("lattices")]:
                    continue
                rows, cost, problem = _ask(tool, path, task)
                answers += [(task, path.stem, *row) for row in rows]
                print(path.stem, task, tool, cost or "\t\t", problem, sep="\t", flush=True)
        name = arguments.output.with_name(f"{arguments.output.name}-{tool}.tsv")
        with name.open("w", encoding="utf-8") as stream:
            for row in (COLUMNS, *answers):
                print(*row, sep="\t", file=stream)


if __name__ == "__main__":
    main()
