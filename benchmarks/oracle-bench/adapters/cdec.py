"""cdec's ``mbr_kbest``. Untried: cdec installs from no package registry.

Its loss is TER with the candidate for a reference, so the answer need not be the best.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from .common import Answer, load

NEEDS = "mbr_kbest"
HAS = {"mbr:edits": ("lists",)}


def answer(path: Path, task: str) -> Answer:
    """Write lists as Moses does, each the highest score first, and read a sentence for each."""
    spaces = load(path)
    lines = [
        f"{space['id']} ||| {each['words']} ||| x=0 ||| {each['score']}"
        for space in spaces
        for each in sorted(space["nbest"], key=lambda each: -each["score"])
    ]
    started = time.perf_counter()
    run = subprocess.run(
        ["mbr_kbest", "-l", "ter"], input="\n".join(lines) + "\n",
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    spent = time.perf_counter() - started
    chosen = run.stdout.splitlines()
    return [
        (space["id"], "", "", said.strip()) for space, said in zip(spaces, chosen, strict=True)
    ], spent
