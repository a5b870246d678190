"""Kaldi's ``lattice-oracle``. Untried: Kaldi installs from no package registry."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from .common import Answer, load, number_words

NEEDS = "lattice-oracle"
HAS = {"oracle:wer": ("lattices", "speech")}
MOST = 20_000


def answer(path: Path, task: str) -> Answer:
    """Run ``lattice-oracle`` over an archive of text."""
    spaces = load(path)
    number, words = number_words(spaces)
    with tempfile.TemporaryDirectory() as folder:
        archive, refs = Path(folder, "lat.txt"), Path(folder, "refs.txt")
        with archive.open("w") as stream:
            for space in spaces:
                print(space["id"], file=stream)
                # the first line of a lattice names its start, which is 0
                for src, dst, word, *_ in sorted(space["arcs"]):
                    print(src, dst, number[word], "0,0,", file=stream)
                for state in space["finals"]:
                    print(state, "0,0,", file=stream)
                print(file=stream)
        with refs.open("w") as stream:
            for space in spaces:
                print(
                    space["id"], *(number[word] for word in space["refs"][0].split()), file=stream
                )
        started = time.perf_counter()
        run = subprocess.run(
            ["lattice-oracle", f"ark,t:{archive}", f"ark,t:{refs}", "ark,t:-"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        spent = time.perf_counter() - started
    said = {
        line.split()[0]: [words[int(each)] for each in line.split()[1:]]
        for line in run.stdout.splitlines()
    }
    return [
        (space["id"], "", "", " ".join(said[space["id"]]))
        for space in spaces
        if space["id"] in said
    ], spent
