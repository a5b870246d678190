"""Search spaces of the oracle bench: ``python make.py FOLDER [--most ARCS]``.

Only Python is needed. The numbers come from splitmix64, so that every machine makes the same
files; ``answers.tsv`` has their checksums.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Draws:
    """Numbers of splitmix64 (Steele, Lea and Flood 2014), from a seed."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def bits(self) -> int:
        """Return 64 bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
        return mixed ^ (mixed >> 31)

    def below(self, count: int) -> int:
        """Return a whole number from 0 on, below ``count``."""
        return self.bits() % count

    def score(self) -> float:
        """Return a log-score from -4 up to 0, in eighths: sums of them have no rounding."""
        return -self.below(33) / 8

    def word(self, size: int) -> str:
        """Return a word; the lower its number, the more frequent."""
        return f"w{self.below(1 + self.below(size))}"


def lattice(name: str, places: int, width: int, seed: int) -> dict[str, Any]:
    """Return a lattice of places with ``width`` arcs each, which lead one to three places on.

    The reference is a path with every fifth word replaced, dropped or doubled.
    """
    draw = Draws(seed)
    arcs, by_place = [], []
    for place in range(places):
        here = []
        for number in range(width):
            # the first arc keeps every place within reach
            onward = 1 if number == 0 else 1 + draw.below(min(3, places - place))
            here.append([place, place + onward, draw.word(50 + places), draw.score()])
        arcs += here
        by_place.append(here)
    words, place = [], 0
    while place < places:
        arc = by_place[place][draw.below(width)]
        words.append(arc[2])
        place = arc[1]
    return {
        "id": name,
        "refs": [" ".join(disturb(words, draw, 50 + places))],
        "finals": {str(places): 0.0},
        "arcs": arcs,
    }


def disturb(words: list[str], draw: Draws, size: int) -> list[str]:
    """Return words of which every fifth is replaced, dropped or doubled."""
    found = []
    for word in words:
        change = draw.below(15)
        if change == 0:
            found.append(draw.word(size))
        elif change == 1:
            found += [word, word]
        elif change != 2:
            found.append(word)
    return found or words


def forest(name: str, length: int, edges: int, seed: int) -> dict[str, Any]:
    """Return a forest with a node for each span of up to 6 words and for each beginning.

    Every node has ``edges`` edges: of one word, or of two smaller spans in either order, with a
    word in between now and then.
    """
    draw = Draws(seed)
    number: dict[tuple[int, int], int] = {}
    rows: list[dict[str, Any]] = []
    best: list[list[str]] = []
    spans = [(begin, begin + wide) for wide in range(1, 7) for begin in range(length - wide + 1)]
    spans += [(0, end) for end in range(7, length + 1)]
    for begin, end in spans:
        node = number[begin, end] = len(number)
        some: list[dict[str, Any]] = []
        for _ in range(edges):
            if end - begin == 1:
                row = {"head": node, "rhs": [draw.word(60)], "score": draw.score()}
            else:
                # the right one is a span of its own
                cut = max(begin + 1, end - 1 - draw.below(min(6, end - begin - 1)))
                parts: list[Any] = [0, 1] if draw.below(3) else [1, 0]
                if draw.below(4) == 0:
                    parts.insert(1, draw.word(60))
                tails = [number[begin, cut], number[cut, end]]
                row = {"head": node, "tails": tails, "rhs": parts, "score": draw.score()}
            some.append(row)
        rows += some
        chosen = some[draw.below(edges)]
        said: list[str] = []
        for part in chosen["rhs"]:
            said += best[chosen["tails"][part]] if isinstance(part, int) else [part]
        best.append(said)
    reference = " ".join(disturb(best[-1], draw, 60))
    return {"id": name, "refs": [reference], "nodes": len(number), "edges": rows}


def nbest(name: str, entries: int, length: int, seed: int) -> dict[str, Any]:
    """Return a list of entries, each of which differs from one sentence in a few words."""
    draw = Draws(seed)
    said = [draw.word(200) for _ in range(length)]
    rows = [
        {"words": " ".join(disturb(said, draw, 200)), "score": draw.score()} for _ in range(entries)
    ]
    return {"id": name, "refs": [" ".join(disturb(said, draw, 200))], "nbest": rows}


def spaces() -> Iterator[tuple[str, int, list[dict[str, Any]]]]:
    """Iterate over files: a name, about how many arcs a segment has, and the segments."""
    for size, count in (
        (10, 10),
        (100, 10),
        (1_000, 10),
        (10_000, 3),
        (100_000, 1),
        (1_000_000, 1),
    ):
        width = {10: 2, 1_000_000: 40}.get(size, 4)
        places = size // width
        yield (
            f"lattices-{size}",
            size,
            [lattice(f"l{size}-{number}", places, width, size + number) for number in range(count)],
        )
    for size, count, length, edges in (
        (10, 10, 3, 2), (100, 10, 5, 7), (1_000, 10, 20, 9), (10_000, 3, 60, 27),
    ):  # fmt: skip
        yield (
            f"forests-{size}",
            size,
            [forest(f"f{size}-{number}", length, edges, size + number) for number in range(count)],
        )
    yield "lists-100", 100, [nbest(f"n100-{number}", 100, 25, number) for number in range(20)]
    yield "lists-1000", 1_000, [nbest(f"n1000-{number}", 1_000, 25, number) for number in range(5)]


def card(name: str, lines: bytes) -> str:
    """Return the sizes of a file: segments; nodes, arcs and words of references, least and most."""
    some = [json.loads(line) for line in lines.splitlines()]
    sizes = (
        [each.get("nodes") or 1 + max((arc[1] for arc in each.get("arcs", ())), default=-1)
         for each in some],
        [max(len(each.get(part, ())) for part in ("arcs", "edges", "nbest")) for each in some],
        [len(each["refs"][0].split()) for each in some],
    )  # fmt: skip
    ranges = (f"{min(each)}-{max(each)}" for each in sizes)
    return "\t".join([name, str(len(some)), *ranges])


def main() -> None:
    """Write the files of up to so many arcs a segment, and their checksums to standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=10**6, help="arcs a segment (default: 10^6)")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    made = {
        name: "".join(json.dumps(each) + "\n" for each in some).encode()
        for name, size, some in spaces()
        if size <= arguments.most
    }
    speech = Path(__file__).with_name("speech.jsonl.gz")
    if arguments.most >= 1_000:
        made["speech"] = gzip.decompress(speech.read_bytes())
    for name, content in made.items():
        (arguments.folder / f"{name}.jsonl").write_bytes(content)
        print(f"{name}\t{hashlib.sha256(content).hexdigest()}")
    cards = [card(name, content) for name, content in made.items()]
    head = "file\tsegments\tnodes\tarcs, edges or entries\treference words"
    (arguments.folder / "cards.tsv").write_text("\n".join([head, *cards]) + "\n")


if __name__ == "__main__":
    main()
