"""Kaldi's oracles and minimum Bayes risk, measured where it is installed, else as reported."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import lattices
from benchmarks.data import DATA, MULTI30K
from benchmarks.engines import fastest
from decoding.extraction.oracle_search import oracles
from decoding.minimum_risk.decisions import mbr
from fstmetrics import WER
from lattices import Lattice

if TYPE_CHECKING:
    from benchmarks.versions import Measured

#: how many lattices of each kind
COUNTS = {"d10": 300, "d50": 300, "d200": 100, "HiFST": 60}
PROGRAMS = ("lattice-copy", "lattice-oracle", "lattice-mbr-decode")


class Reported(NamedTuple):
    """Kaldi f400766 on a machine of two cores, beside version b8e52fd there.

    Milliseconds a lattice: Kaldi's net of reading, and those of b8e52fd; the mean of the expected
    edits that Kaldi finds at scale 1.
    """

    oracle: float
    oracle_old: float
    edit: float
    edit_old: float
    expected: float


REPORTED = {
    "d10": Reported(1.19, 0.117, 0.40, 0.187, 1.92262),
    "d50": Reported(5.23, 0.152, 0.97, 0.288, 3.75407),
    "d200": Reported(26.1, 0.276, 7.18, 0.889, 5.65519),
    "HiFST": Reported(48.7, 0.268, 7.40, 1.116, 3.53807),
}


def reported(found: Mapping[str, Measured]) -> list[str]:
    """Return the table of how much faster than Kaldi this version is, from reported figures.

    Parameters
    ----------
    found : mapping of str to Measured
        The jobs that were measured of b8e52fd and of this version.
    """
    rows = [
        "Kaldi was measured beside `b8e52fd` on another machine (*reported*, not measured here: "
        "ms a lattice, net of reading). Times differ between machines, their ratios hardly: "
        "*Kaldi / new* is the reported Kaldi / old times the old / new of this page. "
        "Expected edits are means at scale 1, as either recursion reports them, on the "
        "same lattices:",
        "",
        "| lattices | job | Kaldi | old | Kaldi / old | old / new | Kaldi / new "
        "| expected edits: Kaldi | old | new |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, row in REPORTED.items():
        batch = found.get(f"`oracles` {name}, WER")
        if batch is not None:
            rows.append(_derived(name, "WER oracle", row.oracle, row.oracle_old, batch) + " | | |")
        one = found.get(f"MBR `edit`, {name}")
        if one is not None:
            means = [some[0] / one.items for some in (one.old_sums, one.new_sums)]
            cells = " | ".join(f"{mean:.5f}" for mean in (row.expected, *means))
            rows.append(_derived(name, "`edit` MBR", row.edit, row.edit_old, one) + f" {cells} |")
    return rows if len(rows) > 4 else []


def _derived(name: str, job: str, theirs: float, old: float, one: Measured) -> str:
    return (
        f"| {name} | {job} | {theirs:g} | {old:g} | {theirs / old:.1f} | {one.ratio:.2f} "
        f"| {theirs / old * one.ratio:.1f} |"
    )


def measure(rounds: int = 3) -> list[str]:
    """Return the table of Kaldi's programs on the same lattices, or why there is none."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return [f"Not measured: Kaldi's {', '.join(missing)} are not on the `PATH`."]
    rows = [
        "| lattices | job | Kaldi, ms, net of reading | ours, ms | ratio | Kaldi finds | we find |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    paths = MULTI30K | {"HiFST": "hifst-ruen/lattices.jsonl.gz"}
    for name, count in COUNTS.items():
        if (DATA / paths[name]).exists():
            some = list(islice(lattices.read(DATA / paths[name]), count))
            rows += _beside(name, some, rounds)
            print("\n".join(rows[-2:]), flush=True)
    return rows


def _beside(name: str, some: Sequence[Lattice], rounds: int) -> list[str]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        archive = f"ark:{folder / 'x.ark'}"
        _write(folder, some)
        reading = _seconds(rounds, "lattice-copy", archive, "ark:/dev/null")[0]
        texts = f"ark,t:{folder / 'refs.txt'}"
        searching, log = _seconds(rounds, "lattice-oracle", archive, texts, "ark:/dev/null")
        risks = folder / "risks.txt"
        options = ("--acoustic-scale=1", "--lm-scale=1")
        deciding, _ = _seconds(
            rounds, "lattice-mbr-decode", *options, archive, "ark:/dev/null", f"ark,t:{risks}"
        )
        errors = re.search(r"%WER \S+ \[ (\d+) / (\d+)", log)
        theirs = [float(line.split()[1]) for line in risks.read_text().splitlines()]

    words = [len(str(lattice.references[0]).split()) for lattice in some]

    def oracle_errors() -> int:
        judges = [WER().against(lattice.references) for lattice in some]
        rates = [each.score for each in oracles(some, judges)]
        return sum(map(round, np.multiply(rates, words).tolist()))

    def decisions() -> float:
        return sum(mbr(lattice, method="edit").expected for lattice in some) / len(some)

    ours = [fastest(rounds, job) for job in (oracle_errors, decisions)]
    net = [seconds - reading for seconds in (searching, deciding)]
    milliseconds = [
        [1e3 * each / len(some) for each in pair] for pair in zip(net, ours, strict=True)
    ]
    found = [
        ("WER oracle", f"{errors[1]} errors" if errors else "", f"{oracle_errors()} errors"),
        ("`edit` MBR", f"{sum(theirs) / len(theirs):.5f}", f"{decisions():.5f}"),
    ]
    return [
        f"| {name} | {job} | {kaldi:.3f} | {us:.3f} | {kaldi / us:.1f} | {they} | {we} |"
        for (job, they, we), (kaldi, us) in zip(found, milliseconds, strict=True)
    ]


def _write(folder: Path, some: Sequence[Lattice]) -> None:
    """Write lattices in Kaldi's binary form, and their first references in its numbers."""
    symbols = folder / "words.txt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lattices.write(folder / "x.ark", some, lossy=True, symbols=str(symbols))
    numbers = dict(line.split() for line in symbols.read_text(encoding="utf-8").splitlines())
    # words that are in no lattice need a number, too
    lines = [
        f"{lattice.id} "
        + " ".join(
            numbers.setdefault(word, str(len(numbers) + 1))
            for word in str(lattice.references[0]).split()
        )
        for lattice in some
    ]
    (folder / "refs.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")


def _seconds(rounds: int, *command: str) -> tuple[float, str]:
    """Return the seconds of the fastest run of a program, and what it said."""
    times, log = [], ""
    for _ in range(rounds):
        begin = perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        times.append(perf_counter() - begin)
        log = done.stderr
    return min(times), log
