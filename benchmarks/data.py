"""The lattices that are measured, and how to describe the machine that measures."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import lattices
from lattices import Lattice

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("FSTMETRICS_DATA", ROOT.parent / "shared" / "data"))
MULTI30K = {
    "d10": "multi30k-deen/val.de-en.lat.d10.jsonl.gz",
    "d50": "multi30k-deen/val.de-en.lat.d50.jsonl.gz",
    "d200": "multi30k-deen/val_first300.de-en.lat.d200.jsonl.gz",
}


@dataclass(frozen=True)
class Corpus:
    """Lattices with their references, of one kind."""

    name: str
    lattices: list[Lattice]
    references: list[str]

    @property
    def arcs(self) -> float:
        """Arcs per lattice."""
        return sum(lattice.num_arcs for lattice in self.lattices) / len(self.lattices)

    @property
    def words(self) -> float:
        """Words per reference."""
        return sum(len(text.split()) for text in self.references) / len(self.references)

    def first(self, count: int) -> Corpus:
        """Return the first few."""
        return Corpus(self.name, self.lattices[:count], self.references[:count])


def corpora(most: int) -> list[Corpus]:
    """Return the real lattices there are, at most so many of each kind.

    Without the large data, the lattices that come with the package are all there is.
    """
    found = []
    for name, path in MULTI30K.items():
        if (DATA / path).exists():
            some = list(islice(lattices.read(DATA / path), most))
            found.append(Corpus(name, some, [lattice.references[0] for lattice in some]))
    if not found:
        folder = ROOT / "decoding" / "data" / "pocketsphinx"
        some = list(lattices.read(folder, format="htk"))
        spoken = lattices.read_references([folder / "refs.txt"], [each.id for each in some])
        texts = [spoken.get(each.id, place)[0] for place, each in enumerate(some)]
        found.append(Corpus("pocketsphinx", some, texts))
    return found


def machine() -> list[str]:
    """Return lines that say where the numbers come from."""
    processor = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}"
        for name in ("numpy", "numba", "pynini", "fstmetrics")
    )
    return [
        f"- {processor}, {os.cpu_count()} cores, {platform.system()}",
        f"- Python {platform.python_version()}, {versions}",
    ]
