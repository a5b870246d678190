"""The lattices that are measured, and how to describe the machine that measures."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import lattices
from lattices import Lattice, Space, Vocabulary

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
        some = pocketsphinx()
        found.append(Corpus("pocketsphinx", some, [each.references[0] for each in some]))
    return found


def pocketsphinx() -> list[Lattice]:
    """Return the lattices that come with the package, with their references."""
    folder = ROOT / "decoding" / "data" / "pocketsphinx"
    vocabulary = Vocabulary()
    some = [
        lattice
        for path in sorted(folder.glob("*.slf.gz"))
        for lattice in lattices.read(path, vocabulary=vocabulary)
    ]
    return list(referenced(some, folder / "refs.txt"))


def referenced(segments: Iterable[Space], path: Path) -> Iterator[Any]:
    """Yield the segments with the references of a file."""
    some = list(segments)
    references = lattices.read_references([path], [segment.id for segment in some])
    for place, segment in enumerate(some):
        yield segment.replaced(references=references.get(segment.id, place))


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
        f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "pynini", "fstmetrics")
    )
    return [
        f"- {processor}, {os.cpu_count()} cores, {platform.system()}",
        f"- Python {platform.python_version()}, {versions}",
    ]
