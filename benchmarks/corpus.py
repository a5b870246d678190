"""Files and whole corpora: reading, searching from end to end, two workers, memory."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import lattices
from benchmarks.data import DATA, MULTI30K, pocketsphinx
from lattices import Lattice
from lattices.formats import LossWarning

#: how many lattices the memory of a run is looked at for
SIZES = (1_000, 10_000)
ROUNDS = 2

#: how many small lattices are worked on by shards, and in how many of these
MANY = ((100_000, 100), (1_000_000, 1_000))
#: states, and arcs from each to the next, of a small lattice
STATES, CHOICES = 4, 2

#: runs the command, and prints the peak memory of this process and of its largest worker, and the
#: seconds of the processor that it and they took
_MEASURED = """
import json, re, resource, sys
from decoding.cli.main import main
code = main(sys.argv[1:])
# not ru_maxrss of this process, which begins with that of whoever started it
own = re.search(r"VmHWM:\\s*([0-9]+)", open("/proc/self/status").read())
used, workers = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
spent = [each.ru_utime + each.ru_stime for each in (used, workers)]
print(json.dumps([int(own[1]) / 1024, workers.ru_maxrss / 1024, *spent]))
sys.exit(code)
"""


def _source(name: str) -> list[Lattice]:
    path = DATA / MULTI30K[name]
    if path.exists():
        return [space for space in lattices.read(path) if isinstance(space, Lattice)]
    return pocketsphinx()


def _copies(some: list[Lattice], count: int) -> Iterator[Lattice]:
    """Yield that many lattices, each with an id of its own."""
    for number in range(count):
        yield some[number % len(some)].replaced(id=str(number))


def _oracle(path: Path, folder: Path, workers: int, *more: str) -> tuple[float, float, list[float]]:
    """Return seconds, arcs, and peak megabytes and seconds (parent, workers) of one command."""
    summary = folder / "summary.json"
    command = ["oracle", str(path), "--metric", "grr", "--workers", str(workers), "-q", *more]
    command += ["-o", str(folder / "out.tsv"), "--summary", str(summary)]
    # with the bytecode kept, as it is wherever a package is installed
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *command],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    seconds = time.perf_counter() - started
    return seconds, json.loads(summary.read_text())["arcs"], json.loads(done.stdout)


def reading() -> list[str]:
    """Return how long it takes to read d50 from files of several formats."""
    some = _source("d50")
    arcs = sum(lattice.num_arcs for lattice in some)
    rows = ["| format | MB | ms | million arcs/s |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for name, file in (
            ("jsonl", "x.jsonl"),
            ("kaldi (text)", "x.ark.txt"),
            ("kaldi-binary", "x.ark"),
            ("arrow", "x.arrow"),
            ("parquet", "x.parquet"),
        ):
            path = Path(folder, file)
            _write(path, some)
            seconds = min(_timed(path) for _ in range(ROUNDS))
            size = os.path.getsize(path) / 1e6
            rows.append(
                f"| {name} | {size:.1f} | {seconds * 1e3:.0f} | {arcs / seconds / 1e6:.2f} |"
            )
            print(rows[-1])
    return rows


def _write(path: Path, some: list[Lattice]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LossWarning)
        lattices.write(path, some, lossy=True)


def _timed(path: Path) -> float:
    started = time.perf_counter()
    count = sum(1 for _ in lattices.read(path))
    assert count
    return time.perf_counter() - started


def end_to_end() -> list[str]:
    """Return arcs a second of the whole command, from start to exit, with one and two workers."""
    some = _source("d50")
    rows = [
        "| input | lattices | 1 process, s | 2 workers, s | 1 process, arcs/s | 2 workers, arcs/s "
        "| ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, copies in (("x.jsonl", 20), ("x.arrow", 50), ("x.arrow", 0)):
            path = folder / file
            # a single lattice shows what starting takes
            count = copies * len(some) or 1
            lattices.write(path, _copies(some, count))
            one, two = (
                min((_oracle(path, folder, workers) for _ in range(ROUNDS)), key=lambda run: run[0])
                for workers in (1, 2)
            )
            rows.append(
                f"| {path.suffix[1:]} | {count:,} | {one[0]:.2f} | {two[0]:.2f} | "
                f"{one[1] / one[0]:,.0f} | {two[1] / two[0]:,.0f} | {one[0] / two[0]:.2f} |"
            )
            print(rows[-1])
            path.unlink()
    return rows


def memory() -> list[str]:
    """Return the peak memory of the command over more and more lattices."""
    some = _source("d10")
    rows = ["| input | lattices | parent, MB | largest worker, MB |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("x.jsonl", "x.arrow"):
            for count in SIZES:
                path = folder / file
                lattices.write(path, _copies(some, count))
                _, _, (parent, worker, *_) = _oracle(path, folder, workers=2)
                rows.append(f"| {path.suffix[1:]} | {count:,} | {parent:.0f} | {worker:.0f} |")
                print(rows[-1])
                path.unlink()
    return rows


def _small(count: int) -> Iterator[str]:
    """Yield lines of that many small lattices, with references."""
    draw = random.Random(1)
    words = ["the", "a", "cat", "hat", "on", "in", "mat", "dog", "of", "red"]
    for number in range(count):
        arcs = [
            [state, state + 1, word, -round(draw.random(), 3)]
            for state in range(STATES)
            for word in draw.sample(words, CHOICES)
        ]
        references = [" ".join(draw.choices(words, k=STATES))]
        fields = {"id": f"s{number}", "refs": references, "finals": {STATES: 0}, "arcs": arcs}
        yield json.dumps(fields, separators=(",", ":")) + "\n"


def _first_line(path: Path) -> float:
    """Return the seconds until the first result is on standard output."""
    command = [sys.executable, "-m", "fstmetrics", "oracle", str(path), "--metric", "grr", "-q"]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        seconds = time.perf_counter() - started
        running.kill()
    return seconds


def shards() -> list[str]:
    """Return what many small segments take: in order in one process, and by shards in two."""
    rows = [
        "| segments | shards | s | segments/s | arcs/s | client, us/segment "
        "| workers, us/segment | "
        "client, MB | largest worker, MB | first line, s |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "small.jsonl"
        for count, cut in MANY:
            with open(path, "w") as stream:
                stream.writelines(_small(count))
            first = _first_line(path)
            for workers, of_shards in ((1, None), (2, cut)):
                more = [] if of_shards is None else ["--shards", str(of_shards)]
                seconds, arcs, (own, worker, used, helped) = _oracle(path, folder, workers, *more)
                rows.append(
                    f"| {count:,} | {of_shards or '-'} | {seconds:.0f} | {count / seconds:,.0f} | "
                    f"{arcs / seconds:,.0f} | {used / count * 1e6:.1f} | "
                    f"{helped / count * 1e6:.1f} | {own:.0f} | {worker if of_shards else 0:.0f} | "
                    f"{first if of_shards is None else '-'!s:.4} |"
                )
                print(rows[-1])
    return rows
