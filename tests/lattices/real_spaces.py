"""Real lattices and n-best lists by name, all of a corpus or a sample of it."""

from __future__ import annotations

import io
import tarfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from lattices import k_best
from lattices.formats import FORMATS, parse_record, read, read_records
from lattices.formats.references import read_references
from lattices.spaces import Lattice, NBest, Space
from lattices.vocabulary import Vocabulary

#: What comes with the package, and is there wherever the tests run.
BUNDLED = Path(__file__).parents[2] / "decoding" / "data" / "pocketsphinx"
#: The size in bytes from which on a segment takes long to write in thirty ways.
FAST = 300_000


def spread(count: int, sizes: Sequence[int]) -> list[int]:
    """Return that many places, at equal distances, and that of the largest that is read fast."""
    largest = max(range(len(sizes)), key=lambda place: sizes[place] * (sizes[place] < FAST))
    return sorted({*range(0, len(sizes), max(1, len(sizes) // count)), largest})


def from_file(path: Path, count: int | None) -> list[Space]:
    records = list(read_records(path))
    sizes = [len(record.payload) for _, record in records]
    words = Vocabulary()
    places = range(len(records)) if count is None else spread(count, sizes)
    found = []
    for place in places:
        fmt, record = records[place]
        space = parse_record(fmt, record, words)
        found.append(space if space.id else space.replaced(id=str(place)))
    return found


def from_files(paths: Sequence[Path], count: int | None) -> list[Space]:
    sizes = [path.stat().st_size for path in paths]
    chosen = [paths[place] for place in spread(count, sizes)] if count else paths
    return [space for path in chosen for space in read(path)]


def with_references(lattices: list[Space], folder: Path) -> list[Space]:
    """Return the lattices with their references, which other formats than ours cannot hold."""
    known = read_references([folder / "refs.txt"])
    return [one.replaced(references=known.get(one.id.split(".")[0], 0)) for one in lattices]


def from_tar(path: Path, table: Path, count: int | None) -> list[Space]:
    """Return AT&T acceptors of an archive, read by a symbol table."""
    fmt, words = FORMATS.get("openfst-text"), Vocabulary()
    found = []
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        sizes = [member.size for member in members]
        for place in range(len(members)) if count is None else spread(count, sizes):
            content = archive.extractfile(members[place])
            payload = b"" if content is None else content.read()
            for record in fmt.records(io.BytesIO(payload), members[place].name):
                lattice = parse_record(fmt, record, words, symbols=table)
                found.append(lattice.replaced(id=members[place].name.split(".")[2]))
    return found


def as_list(lattice: Lattice, entries: int) -> NBest:
    """Return the best paths, with their features, as a list."""
    return NBest.from_hypotheses(
        k_best(lattice, entries), id=lattice.id, references=lattice.references
    )


def as_network(lattice: Lattice) -> Lattice:
    """Return the words of the ten best sentences, place by place, as a confusion network."""
    texts = [path.tokens for path in k_best(lattice, 10, distinct=True)]
    longest = max(map(len, texts))
    arcs = []
    for place in range(longest):
        counts = Counter(text[place] if place < len(text) else "" for text in texts)
        arcs += [
            (place, place + 1, word, np.log(count / len(texts))) for word, count in counts.items()
        ]
    return Lattice.from_arcs(arcs, [longest], id=lattice.id, references=lattice.references)


def bare(lattice: Lattice) -> Lattice:
    """Return the words and scores alone."""
    columns = ("vocabulary", "src", "dst", "label", "score", "final", "start", "id")
    return Lattice(**{name: getattr(lattice, name) for name in columns})


def bundled(count: int | None) -> list[Space]:
    return with_references(from_files(sorted(BUNDLED.glob("*.slf.gz")), count), BUNDLED)


def lattices_of(spaces: list[Space]) -> list[Lattice]:
    return [space for space in spaces if isinstance(space, Lattice)]


OURS: dict[str, Callable[[int | None], list[Space]]] = {
    "speech": bundled,
    "networks": lambda count: [as_network(one) for one in lattices_of(bundled(count))],
    "lists": lambda count: [as_list(one, 20) for one in lattices_of(bundled(count))],
}
DEEN = "multi30k-deen"
SHARED: dict[str, Callable[[Path, int | None], list[Space]]] = {
    "tiny20": lambda at, n: from_file(at / DEEN / "tiny20.de-en.lat.d10.jsonl", n),
    "d10": lambda at, n: from_file(at / DEEN / "val.de-en.lat.d10.jsonl.gz", n),
    "d50": lambda at, n: from_file(at / DEEN / "val.de-en.lat.d50.jsonl.gz", n),
    "d200": lambda at, n: from_file(at / DEEN / "val_first300.de-en.lat.d200.jsonl.gz", n),
    "att": lambda at, n: from_tar(
        at / DEEN / "val.de-en.lat.d10.att.tar.gz", at / DEEN / "words.syms", n
    ),
    "100best": lambda at, n: from_file(at / DEEN / "val.de-en.100best.gz", n),
    "hifst": lambda at, n: from_file(at / "hifst-ruen" / "lattices.jsonl.gz", n),
    "sphinx": lambda at, n: with_references(
        from_files(sorted((at / "pocketsphinx").glob("*.sphinx.gz")), n), at / "pocketsphinx"
    ),
    "ami": lambda at, n: from_files(sorted((at / "ami-slf").glob("*.lat.gz")), n),
    "fisher": lambda at, n: from_file(at / "fisher-plf" / "fisher_dev1000.plf.gz", n),
    "dev_clean": lambda at, n: from_file(at / "librispeech-nbest" / "dev_clean.nbest.tsv.gz", n),
    "dev_other": lambda at, n: from_file(at / "librispeech-nbest" / "dev_other.nbest.tsv.gz", n),
}
