"""The walk of an oracle from the shell: how many modules of ours it enters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.decoding.cli.commandline import cats

ROOT = Path(__file__).resolve().parents[3]
#: as docs/architecture.md tells
MOST = 40

#: prints the modules with a function that is called when nothing is being imported
WALK = """
import sys
from decoding.cli.main import main

entered = set()

def note(frame, event, argument):
    if event != "call":
        return
    name = frame.f_globals.get("__name__", "")
    if name.partition(".")[0] not in ("lattices", "fstmetrics", "decoding"):
        return
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"] != "__main__":
            return
        frame = frame.f_back
    entered.add(name)

sys.setprofile(note)
code = main(sys.argv[1:])
sys.setprofile(None)
print(code, *sorted(entered))
"""


def test_an_oracle_enters_few_modules(tmp_path: Path) -> None:
    path = cats(tmp_path / "some.jsonl")
    argv = ["oracle", str(path), "--metric", "grr", "-o", str(tmp_path / "out"), "-q"]
    found = subprocess.run(
        [sys.executable, "-c", WALK, *argv], capture_output=True, text=True, check=True, cwd=ROOT
    )
    code, *entered = found.stdout.split()
    assert code == "0"
    assert "decoding.extraction.oracle_search" in entered
    assert len(entered) <= MOST, entered
    # the suffix names the format: of the others only the lists in JSON are told apart
    others = [
        name for name in entered if name.startswith("lattices.formats.") and "json" not in name
    ]
    # and the fields of a segment, which JSON lines encode
    allowed = {"base", "compression", "ids", "lists", "reading", "space_fields", "streams"}
    assert {name.split(".")[2] for name in others} <= allowed
