"""Fuzz one target after the other: ``python -m tests.fuzz [--seconds N] [TARGET...]``.

Prints a line for each; what was found is kept in ``cases/TARGET/`` (``native_cases/TARGET/`` for
the native readers, which are fuzzed where there is clang++) and makes the exit code 1.
The corpus is thrown away unless ``--corpus`` says where to keep it.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz import native
from tests.fuzz.seeds import seeds, tokens, write_inputs
from tests.fuzz.targets import target_names

CASES = Path(__file__).parent / "cases"
#: an input that takes longer, in seconds, or more memory, in MB, is a finding
LONGEST, LARGEST = 20, 3000


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all by default")
    parser.add_argument("--seconds", type=int, default=10, help="for each target (default: 10)")
    parser.add_argument("--corpus", type=Path, help="a folder to keep interesting inputs in")
    arguments = parser.parse_args()
    names = (*target_names(), *native.native_names())
    unknown = sorted(set(arguments.targets).difference(names))
    if unknown:
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(names)}")
    with tempfile.TemporaryDirectory() as scratch:
        corpus = arguments.corpus or Path(scratch)
        found = [
            _fuzz(name, corpus / name, arguments.seconds) for name in arguments.targets or names
        ]
    return int(any(found))


def _fuzz(name: str, corpus: Path, seconds: int) -> bool:
    """Fuzz one target; return whether something was found."""
    if name in native.READERS:
        program = [str(native.built(corpus.parent)), name.removeprefix("native-")]
        cases, inputs, words = native.CASES, native.native_seeds(name), native.native_tokens()
    else:
        program = [sys.executable, "-m", "tests.fuzz.child", name]
        cases, inputs, words = CASES, seeds(name), tokens(name)
    largest_seed = write_inputs(corpus, inputs, words)
    artifact = corpus.with_suffix(".found")
    artifact.unlink(missing_ok=True)
    options = [
        f"-max_total_time={seconds}",
        f"-dict={corpus.with_suffix('.dict')}",
        f"-max_len={max(1024, 2 * largest_seed)}",
        f"-timeout={LONGEST}",
        f"-rss_limit_mb={LARGEST}",
        f"-exact_artifact_path={artifact}",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    run = subprocess.run([*program, *options, str(corpus)], capture_output=True, check=False)
    said = run.stderr.decode("utf-8", "replace") + run.stdout.decode("utf-8", "replace")
    executed = re.search(r"stat::number_of_executed_units:\s*([0-9]+)", said)
    count = f"{int(executed[1]):,} inputs" if executed else "no count"
    if run.returncode == 0:
        print(f"{name}: nothing found, {count} in {seconds} s", flush=True)
        return False
    kept = "nothing kept"
    if artifact.exists():
        data = artifact.read_bytes()
        case = cases / name / f"found-{hashlib.sha256(data).hexdigest()[:12]}.bin"
        case.parent.mkdir(parents=True, exist_ok=True)
        case.write_bytes(data)
        kept = str(case)
    what = "FOUND" if executed or artifact.exists() else "DID NOT RUN"
    print(f"{name}: {what} ({kept}, {count})\n{_summary(said)}", flush=True)
    return True


def _summary(said: str) -> str:
    """Return the traceback of what was found, without what libFuzzer says around it."""
    lines = said.splitlines()
    marks = ("Uncaught Python exception", "broken promise", "runtime error:", "ERROR: ")
    first = next((n for n, line in enumerate(lines) if any(m in line for m in marks)), None)
    if first is None:
        body = lines[-30:]
    elif marks[0] in lines[first]:
        rest = lines[first + 1 :]
        body = rest[: next((n for n, line in enumerate(rest) if line.startswith("==")), len(rest))]
    else:
        body = lines[first : first + 15]
    return "\n".join(f"    {line[:400]}" for line in body)


if __name__ == "__main__":
    sys.exit(main())
