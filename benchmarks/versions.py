"""The working tree beside the last version with numba, and how long it takes to start.

The other version is optional: `make baseline` installs it from git into an environment of its
own, and the environment variable ``FSTMETRICS_BASELINE`` names the interpreter of another one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.data import DATA, ROOT, pocketsphinx

#: the last version with numba
COMMIT = "b8e52fd"
ENVIRONMENT = ROOT / f".venv-{COMMIT}"
SCRIPT = Path(__file__).with_name("version_jobs.py")
ROUNDS = 5


def baseline() -> Path | None:
    """Return the interpreter of the other version, if there is one."""
    path = Path(os.environ.get("FSTMETRICS_BASELINE", ENVIRONMENT / "bin" / "python"))
    return path if path.exists() else None


def install() -> None:
    """Install the other version from git into an environment of its own."""
    if baseline():
        return
    try:
        _run([sys.executable, "-m", "venv", ENVIRONMENT])
        with tempfile.TemporaryDirectory() as folder:
            _run(["git", "-C", ROOT, "archive", "-o", f"{folder}/source.zip", COMMIT])
            shutil.unpack_archive(f"{folder}/source.zip", f"{folder}/source")
            pip = [ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "--quiet"]
            _run([*pip, f"{folder}/source[arrow,sacrebleu]"])
    except BaseException:
        # half an installation would be taken for a whole one
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        raise


def _run(command: Sequence[object]) -> None:
    subprocess.run(list(map(str, command)), check=True)


def measure(wanted: str = "", rounds: int = ROUNDS) -> list[str]:
    """Return the table of all jobs whose names have these words in them, or why there is none.

    Each job has a process of either version; they take turns, and the fastest round counts.
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
    for name in _output([sys.executable, SCRIPT, DATA]).splitlines():
        if wanted in name:
            rows.append(_row(name, old, rounds))
            print(rows[-1], flush=True)
    return rows


def _row(name: str, old: Path, rounds: int) -> str:
    try:
        before, after = _rounds(name, (old, Path(sys.executable)), rounds)
    except (EOFError, BrokenPipeError):
        # its own words are on standard error
        return f"| {name} | | | | | failed |"
    milliseconds = [1e3 * min(seconds for seconds, *_ in some) for some in (before, after)]
    (_, count, *first), (_, _, *second) = before[0], after[0]
    return (
        f"| {name} | {count:,} | {milliseconds[0]:.2f} | {milliseconds[1]:.2f} "
        f"| {milliseconds[0] / milliseconds[1]:.2f} | {_difference(first, second)} |"
    )


def _rounds(name: str, pythons: Sequence[Path], rounds: int) -> list[list[list[float]]]:
    """Return what either process answers in every round."""
    answers: list[list[list[float]]] = [[] for _ in pythons]
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker(python, name)) for python in pythons]
        for _ in range(rounds):
            for worker, some in zip(workers, answers, strict=True):
                print(file=worker.stdin, flush=True)
                some.append(json.loads(_line(worker)))
    return answers


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
    """Start a process that does the job for each line it gets, and wait until it is ready."""
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
            _line(process)
            yield process
        finally:
            process.kill()


def starting(rounds: int = 10) -> list[str]:
    """Return how long starting takes, from start to exit, beside importing scipy's matrices."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lattice = pocketsphinx()[0]
        import lattices

        lattices.write(folder / "one.jsonl", [lattice.replaced(references=())])
        (folder / "refs.txt").write_text(f"{lattice.references[0]}\n", encoding="utf-8")
        asked = {
            "`import numpy, scipy.sparse`": ["-c", "import numpy, scipy.sparse"],
            "`import lattices, fstmetrics, decoding`": [
                "-c",
                "import lattices, fstmetrics, decoding",
            ],
            "`fstmetrics oracle`, one lattice": [
                str(Path(sys.executable).with_name("fstmetrics")),
                *("oracle", str(folder / "one.jsonl"), "--refs", str(folder / "refs.txt"), "-q"),
            ],
        }
        times: dict[str, list[float]] = {what: [] for what in asked}
        for _ in range(rounds):
            for what, arguments in asked.items():
                times[what].append(_seconds([sys.executable, *arguments]))
    least, *_ = (min(some) for some in times.values())
    rows = ["| | ms | ratio |", "|---|--:|--:|"]
    rows += [
        f"| {what} | {1e3 * min(some):.0f} | {min(some) / least:.2f} |"
        for what, some in times.items()
    ]
    print("\n".join(rows), flush=True)
    return rows


def _seconds(command: Sequence[str]) -> float:
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
