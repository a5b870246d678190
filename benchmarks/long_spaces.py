"""Long lattices: segments of ``d50`` put end to end, beside version 0a68d2e where it is installed.

``python -m benchmarks.long_spaces --install`` installs that version into an environment of its own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import lattices
from benchmarks.data import DATA, MULTI30K, ROOT
from benchmarks.versions import new_environment, run
from lattices import concatenate, write

#: the version before long lattices were searched stretch by stretch
COMMIT = "0a68d2e"
ENVIRONMENT = ROOT / f".venv-{COMMIT}"
SCRIPT = Path(__file__).with_name("long_jobs.py")
#: seconds by the clock after which a job is given up
MOST = 200
JOBS = {
    50: ("oracle wer", "oracle grr", "edit", "oracle bleu", "worst bleu"),
    150: ("oracle wer", "oracle grr", "oracle cer", "oracle wer:similarity=affix(epsilon=0.3)",
          "edit", "oracle bleu", "oracle chrf", "worst bleu"),
    974: ("oracle wer", "oracle grr", "edit", "oracle bleu"),
}  # fmt: skip


def install() -> None:
    """Install the other version from git into an environment of its own."""
    if ENVIRONMENT.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        run(["git", "-C", ROOT, "archive", "-o", f"{folder}/source.zip", COMMIT])
        shutil.unpack_archive(f"{folder}/source.zip", f"{folder}/source")
        new_environment(ENVIRONMENT, [f"{folder}/source"])


def measure(most: int = max(JOBS)) -> list[str]:
    """Return a table of jobs, with the ratio to the other version where there is one."""
    path = DATA / MULTI30K["d50"]
    if not path.exists():
        return ["Needs the lattices of Multi30k."]
    other = ENVIRONMENT / "bin" / "python"
    lines = [
        "| segments | arcs | words | job | s | MB | found | s, MB before | found before |",
        "|--:|--:|--:|---|--:|--:|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for count, jobs in JOBS.items():
            if count > most:
                continue
            chained: Any = concatenate(list(islice(lattices.read(path), count)))  # type: ignore[type-var]
            words = len(chained.references[0].split())
            file = Path(folder, f"{count}.jsonl")
            write(file, [chained])
            for job in jobs:
                new = _run(sys.executable, job, file)
                old = _run(other, job, file) if other.exists() else None
                lines.append(
                    f"| {count} | {chained.num_arcs:,} | {words:,} | {job} | {_taken(new)} | "
                    f"{_found(new)} | {_beside(new, old)} | {_found(old) if old else ''} |"
                )
    return lines


def _run(python: str | Path, job: str, file: Path) -> dict[str, Any]:
    command = [python, SCRIPT, job, file]
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=MOST, check=False
        )
    except subprocess.TimeoutExpired:
        return {"refused": f"not done after {MOST} s"}
    if done.returncode:
        return {"refused": f"the interpreter ended with {done.returncode}"}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _taken(answer: dict[str, Any]) -> str:
    if "seconds" not in answer:
        return "– | –"
    return f"{answer['seconds']:.2f} | {answer['megabytes']:,.0f}"


def _found(answer: dict[str, Any]) -> str:
    if "refused" in answer:
        return str(answer["refused"]).partition(";")[0]
    how = "" if answer["exact"] else ", not proven"
    if answer.get("bound") is not None:
        how = f", bound {answer['bound']:.4f}"
    return f"{answer['score']:.4f}{how}"


def _beside(new: dict[str, Any], old: dict[str, Any] | None) -> str:
    if old is None or "seconds" not in old:
        return ""
    shown = f"{old['seconds']:.2f}, {old['megabytes']:,.0f}"
    ratio = old["seconds"] / max(new.get("seconds", 0.0), 1e-3)
    return f"{shown} ({ratio:.1f} times as long)" if "score" in old and "score" in new else shown


def main() -> None:
    """Measure these alone, or install the other version."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_spaces", description=__doc__)
    parser.add_argument("--most", type=int, default=max(JOBS), help="segments of the longest")
    parser.add_argument("--install", action="store_true", help="install the other version, only")
    arguments = parser.parse_args()
    if arguments.install:
        install()
        return
    print("\n".join(measure(arguments.most)))


if __name__ == "__main__":
    main()
