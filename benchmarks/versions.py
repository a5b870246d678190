"""The working tree beside the last version with numba, and how long it takes to start.

The other version is optional: `make baseline` installs it from git into an environment of its
own, and the environment variable ``FSTMETRICS_BASELINE`` names the interpreter of another one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks import kaldi
from benchmarks.data import DATA, ROOT, pocketsphinx

#: the last version with numba
COMMIT = "b8e52fd"
ENVIRONMENT = ROOT / f".venv-{COMMIT}"
SCRIPT = Path(__file__).with_name("version_jobs.py")
ROUNDS = 5
#: seconds in which more rounds are made, and after which there are no more
SHORT, LONG = 2.0, 30.0
#: how the names of jobs end that run in two threads
TWO = ", 2 threads"


def baseline() -> Path | None:
    """Return the interpreter of the other version, if there is one."""
    path = Path(os.environ.get("FSTMETRICS_BASELINE", ENVIRONMENT / "bin" / "python"))
    return path if path.exists() else None


def install() -> None:
    """Install the other version from git into an environment of its own."""
    if baseline():
        return
    with tempfile.TemporaryDirectory() as folder:
        run(["git", "-C", ROOT, "archive", "-o", f"{folder}/source.zip", COMMIT])
        shutil.unpack_archive(f"{folder}/source.zip", f"{folder}/source")
        new_environment(ENVIRONMENT, [f"{folder}/source[arrow,sacrebleu]"])


def new_environment(folder: Path, packages: Sequence[str]) -> None:
    """Make an environment of its own for some packages."""
    try:
        run([sys.executable, "-m", "venv", folder])
        run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *packages])
    except BaseException:
        # half an installation would be taken for a whole one
        shutil.rmtree(folder, ignore_errors=True)
        raise


def run(command: Sequence[object]) -> None:
    """Run a command that must succeed."""
    subprocess.run(list(map(str, command)), check=True)


class Measured(NamedTuple):
    """What two versions took for a job, and what they answered."""

    #: milliseconds of the fastest round, of the processor or by the clock where there are threads
    old: float
    new: float
    items: int
    #: the sums of scores and of model scores
    old_sums: list[float]
    new_sums: list[float]

    @property
    def ratio(self) -> float:
        """How many times as fast the new version is."""
        return self.old / self.new


def measure(wanted: str = "", rounds: int = ROUNDS) -> list[str]:
    """Return the table of all jobs whose names have these words in them, or why there is none.

    Each job has a process of either version; they take turns, and the fastest round counts.
    What follows from the table for Kaldi is below it.
    """
    old = baseline()
    if old is None:
        return [f"Not measured: version {COMMIT} is not here; `make baseline` installs it."]
    if not (DATA / "multi30k-deen").exists():
        return ["Not measured: the lattices of Multi30k are not here."]
    rows = [
        "| job | items | old, ms | new, ms | old / new | answers |",
        "|---|--:|--:|--:|--:|---|",
    ]
    print("\n".join(rows))
    found: dict[str, Measured] = {}
    for name in _output([sys.executable, SCRIPT, DATA]).splitlines():
        if wanted not in name:
            continue
        try:
            found[name] = _measured(name, (old, Path(sys.executable)), rounds)
            rows.append(_row(name, found[name]))
        except (EOFError, BrokenPipeError):
            # its own words are on standard error
            rows.append(f"| {name} | | | | | failed |")
        print(rows[-1], flush=True)
    return [*rows, "", *kaldi.reported(found)]


def _row(name: str, one: Measured) -> str:
    return (
        f"| {name} | {one.items:,} | {one.old:.2f} | {one.new:.2f} | {one.ratio:.2f} "
        f"| {_difference(one.old_sums, one.new_sums)} |"
    )


def _measured(name: str, pythons: Sequence[Path], rounds: int) -> Measured:
    """Let either version do a job several times, in turns.

    There are at least so many rounds, and more as long as they are short: a disturbance of
    a millisecond is nothing to a second. What takes minutes is done once.
    """
    answers: list[list[list[float]]] = [[] for _ in pythons]
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker(python, name)) for python in pythons]
        for worker in workers:
            # they may get ready at the same time
            _line(worker)
        begin = time.perf_counter()
        while len(answers[0]) < rounds or (
            len(answers[0]) < 5 * rounds and time.perf_counter() - begin < SHORT
        ):
            for worker, some in zip(workers, answers, strict=True):
                print(file=worker.stdin, flush=True)
                some.append(json.loads(_line(worker)))
            if time.perf_counter() - begin > LONG:
                break
    kind = 1 if name.endswith(TWO) else 0
    before, after = (1e3 * min(each[kind] for each in some) for some in answers)
    (_, _, _, count, *first), (_, _, _, _, *second) = (some[0] for some in answers)
    return Measured(before, after, int(count), first, second)


def _line(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise EOFError
    return line


def _difference(first: Sequence[float], second: Sequence[float]) -> str:
    """Say whether two versions had the same sums of scores and of model scores."""
    pairs = zip(first, second, strict=True)
    if all(a == b or abs(a - b) <= 1e-6 * max(1.0, abs(a)) for a, b in pairs):
        return "equal"
    return ", ".join(f"{a:.6g} → {b:.6g}" for a, b in zip(first, second, strict=True))


@contextmanager
def _worker(python: Path, name: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that says when it is ready, and does the job for each line it gets."""
    command: list[str | Path] = [python, SCRIPT, DATA, name]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # not the working tree, which the other version would import
        cwd=tempfile.gettempdir(),
        env=environment,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def threads() -> list[str]:
    """Return how long batches take on one thread and on two, by the clock, in turns."""
    rows = ["| job | items | 1 thread, ms | 2 threads, ms | ratio |", "|---|--:|--:|--:|--:|"]
    print("\n".join(rows))
    for name in _output([sys.executable, SCRIPT, DATA]).splitlines():
        if not name.endswith(TWO):
            continue
        answers: list[list[float]] = []
        with _worker(Path(sys.executable), name) as worker:
            _line(worker)
            begin = time.perf_counter()
            while time.perf_counter() - begin < 4 * SHORT:
                print(file=worker.stdin, flush=True)
                answers.append(json.loads(_line(worker)))
        two, one = (1e3 * min(each[kind] for each in answers) for kind in (1, 2))
        count = int(answers[0][3])
        job = name.removesuffix(TWO)
        rows.append(f"| {job} | {count:,} | {one:.2f} | {two:.2f} | {one / two:.2f} |")
        print(rows[-1], flush=True)
    rows.append(_hashing())
    print(rows[-1], flush=True)
    return rows


def _hashing(rounds: int = 100) -> str:
    """Return the row of work that shares nothing: what a second thread gives on this machine."""
    text = bytes(5_000_000)

    def run(workers: int) -> float:
        begin = time.perf_counter()
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(hashlib.sha256, [text] * 4))
        return 1e3 * (time.perf_counter() - begin)

    times = [(run(1), run(2)) for _ in range(rounds)]
    one, two = (min(each) for each in zip(*times, strict=True))
    return f"| SHA-256 of 5 MB, nothing shared | 4 | {one:.2f} | {two:.2f} | {one / two:.2f} |"


def starting(rounds: int = 10) -> list[str]:
    """Return how long starting takes, from start to exit, beside importing numpy."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lattice = pocketsphinx()[0]
        import lattices

        text, words = folder / "refs.txt", folder / "words.txt"
        text.write_text(f"{lattice.references[0]}\n", encoding="utf-8")
        bare = replace(
            lattice,
            features=None, final_features=None, feature_names=(), times=None, references=(),
            metadata={},
        )  # fmt: skip
        lattices.write(folder / "one.ark", [bare], "kaldi-binary", symbols=str(words))
        command = str(Path(sys.executable).with_name("fstmetrics"))
        one = (str(folder / "one.ark"), "--option", f"symbols={words}")
        refs = ("--refs", str(text), "--refs-format", "plain")
        made = ("-q", "-o", str(folder / "out.jsonl"))
        asked: dict[str, Sequence[str]] = {
            "`import numpy`": ("-c", "import numpy"),
            "`import lattices, fstmetrics, decoding`": (
                "-c",
                "import lattices, fstmetrics, decoding",
            ),
            "`fstmetrics --version`": (command, "--version"),
            "`fstmetrics completion bash`": (command, "completion", "bash"),
            "`fstmetrics oracle`, one lattice": (command, "oracle", *one, *refs, *made),
            "`fstmetrics mbr --method edit`, one lattice": (
                *(command, "mbr", "--method", "edit", *one, *made),
            ),
            "`fstmetrics nbest`, one lattice": (command, "nbest", *one, *made),
            "`fstmetrics convert`, one lattice": (command, "convert", *one, *made),
            "`fstmetrics score`, one sentence": (command, "score", str(text), *refs, *made),
        }
        times: dict[str, list[float]] = {what: [] for what in asked}
        for _ in range(rounds):
            for what, arguments in asked.items():
                times[what].append(seconds_of([sys.executable, *arguments]))
    least, *_ = (min(some) for some in times.values())
    rows = ["| | ms | ratio |", "|---|--:|--:|"]
    rows += [
        f"| {what} | {1e3 * min(some):.0f} | {min(some) / least:.2f} |"
        for what, some in times.items()
    ]
    print("\n".join(rows), flush=True)
    return rows


def seconds_of(command: Sequence[str]) -> float:
    """Return the seconds of the clock that a command takes."""
    # with the bytecode kept, as it is wherever a package is installed
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - begin


def _output(command: Sequence[str | Path]) -> str:
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, cwd=tempfile.gettempdir()
    )
    return done.stdout


def main() -> None:
    """Measure these two alone, or install the other version."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("jobs", nargs="?", default="", help="those with these words in their names")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--install", action="store_true", help="install the other version, only")
    arguments = parser.parse_args()
    if arguments.install:
        install()
        return
    table = measure(arguments.jobs, arguments.rounds)
    if len(table) == 1:
        print(*table)
    if not arguments.jobs:
        starting()


if __name__ == "__main__":
    main()
