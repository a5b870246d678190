"""Whole commands, from the shell to a file, by the clock."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import lattices
from benchmarks.data import DATA, MULTI30K
from benchmarks.versions import seconds_of
from lattices import Lattice

#: ``fstmetrics`` of another version, to be measured in turns with this one
BEFORE = "FSTMETRICS_BEFORE"
CORPORA = ("d10", "d50")
#: the command that shows what starting takes
ONE = "oracle, one lattice"


def measure(rounds: int = 5) -> list[str]:
    """Return the table, or why there is none."""
    if not (DATA / MULTI30K["d10"]).exists():
        return ["Not measured: the lattices of Multi30k are not here."]
    here = str(Path(sys.executable).with_name("fstmetrics"))
    versions = (
        {"before": os.environ[BEFORE], "now": here} if BEFORE in os.environ else {"now": here}
    )
    lines = [
        "| lattices | command | " + " | ".join(versions) + " |",
        "|---|---|" + "--:|" * len(versions),
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for corpus in CORPORA:
            _write(folder, corpus)
            jobs = list(_jobs(folder, corpus))
            numpy, times = [], {(job, version): [] for job, _ in jobs for version in versions}
            for _ in range(rounds):
                numpy.append(seconds_of([sys.executable, "-c", "import numpy"]))
                for job, arguments in jobs:
                    for version, command in versions.items():
                        times[job, version].append(seconds_of([command, *arguments]))
            for job, _ in jobs:
                start = {
                    version: min(times["oracle, one lattice", version]) for version in versions
                }
                found = {version: min(times[job, version]) for version in versions}
                cells = [
                    f"{found[version] / min(numpy):.2f}"
                    + (
                        f" ({(found[version] - start[version]) / min(numpy):.2f})"
                        if job != "oracle, one lattice"
                        else ""
                    )
                    for version in versions
                ]
                lines.append(f"| {corpus} | {job} | {' | '.join(cells)} |")
                print(lines[-1], flush=True)
    return lines


def _write(folder: Path, corpus: str) -> None:
    """Write the lattices as Kaldi has them, and their references."""
    some = [space for space in lattices.read(DATA / MULTI30K[corpus]) if isinstance(space, Lattice)]
    bare = [
        replace(
            lattice,
            features=None, final_features=None, feature_names=(), source="", references=(),
            metadata={},
        )
        for lattice in some
    ]  # fmt: skip
    symbols = str(folder / f"{corpus}.words")
    lattices.write(folder / f"{corpus}.ark", bare, "kaldi-binary", symbols=symbols)
    lattices.write(folder / f"{corpus}.one.ark", bare[:1], "kaldi-binary", symbols=symbols)
    text = "".join(f"{lattice.references[0]}\n" for lattice in some)
    (folder / f"{corpus}.refs").write_text(text, encoding="utf-8")
    (folder / f"{corpus}.one.refs").write_text(text.partition("\n")[0] + "\n", encoding="utf-8")


def _jobs(folder: Path, corpus: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the arguments of each command."""
    archive = [str(folder / f"{corpus}.ark"), "--option", f"symbols={folder / corpus}.words", "-q"]
    one = [str(folder / f"{corpus}.one.ark"), *archive[1:]]
    out = str(folder / "out")
    refs = ["--refs-format", "plain", "--refs"]
    yield ONE, ["oracle", *one, *refs, f"{folder / corpus}.one.refs", "-o", out]
    oracle = ["oracle", *archive, *refs, f"{folder / corpus}.refs", "-o", out]
    yield "oracle", oracle
    yield "oracle, two workers", [*oracle, "--workers", "2"]
    yield "mbr --method edit", ["mbr", *archive, "--metric", "wer", "--method", "edit", "-o", out]
    yield "nbest -k 100 to Moses", ["nbest", *archive, "-k", "100", "-o", f"{out}.nbest"]
    yield "convert to Kaldi text", ["convert", *archive, "--to", "kaldi", "-o", out]
    yield "convert to Arrow", ["convert", *archive, "-o", f"{out}.arrow"]


if __name__ == "__main__":
    print("\n".join(measure()))
