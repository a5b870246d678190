"""The interchange format: its conformance files, read by us and by a reader that shares no code.

The other one is ``conformance/reader.mjs``, written from ``docs/schema.md``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import lattices
from lattices.errors import FormatError
from lattices.formats.space_fields import FIELDS, VERSION_KEY
from lattices.spaces import Forest, Lattice, NBest, Space

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "conformance"
FILES = sorted([*FOLDER.glob("jsonl/*.jsonl"), *FOLDER.glob("arrow/*.arrow")])
SENTENCES = {"lattice": "paths", "nbest": "entries", "forest": "derivations"}


def expected(path: Path) -> dict[str, Any]:
    return json.loads(path.with_suffix(".json").read_text("utf-8"))


def normal(segment: dict[str, Any]) -> dict[str, Any]:
    """Return contents with all that may be left out, and paths in an order of their own."""
    if "error" in segment:
        return {"error": True}
    made = {"source": "", "references": [], "metadata": {}, **segment}
    made["references"] = [
        each if isinstance(each, str) else sentences(each["paths"]) for each in made["references"]
    ]
    key = SENTENCES[made["kind"]]
    made[key] = sentences(made[key])
    return made


def sentences(some: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rounded = [
        {
            "words": each["words"],
            "score": round(each["score"], 9),
            "features": {name: round(value, 9) for name, value in each.get("features", {}).items()},
            "times": each.get("times"),
        }
        for each in some
    ]
    return sorted(rounded, key=lambda each: json.dumps(each, sort_keys=True))


def contents(space: Space) -> dict[str, Any]:
    """Return what a segment holds, as the expected contents say it."""
    made: dict[str, Any] = {
        "kind": space.kind,
        "id": space.id,
        "source": space.source,
        "references": [
            each if isinstance(each, str) else {"paths": contents(each)["paths"]}
            for each in space.references
        ],
        "metadata": dict(space.metadata),
    }
    if isinstance(space, NBest):
        return made | {"entries": [sentence(each) for each in space]}
    if isinstance(space, Forest):
        found = [sentence(each) for each in space.derivations()]
        return made | {"nodes": space.num_nodes, "edges": space.num_edges, "derivations": found}
    made |= {"states": space.num_states, "arcs": space.num_arcs}
    return made | {"paths": [sentence(each, space) for each in space.paths()]}


def sentence(found: Any, lattice: Lattice | None = None) -> dict[str, Any]:
    made = {"words": list(found.tokens), "score": found.score, "features": dict(found.features)}
    if lattice is not None and lattice.times is not None:
        states = [lattice.start, *(int(lattice.dst[arc]) for arc in found.arcs)]
        made["times"] = [float(lattice.times[state]) for state in states]
    return made


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_we_read_what_is_meant(path: Path) -> None:
    wanted = expected(path)
    if path.suffix == ".arrow":
        pytest.importorskip("pyarrow")
    failures: list[FormatError] = []
    found = list(lattices.read(path, on_error=failures.append))
    if "error" in wanted:
        assert not found
        assert len(failures) == 1
        return
    # a failure in the place of its segment
    good = iter(found)
    ours = [each if "error" in each else contents(next(good)) for each in wanted["segments"]]
    assert next(good, None) is None
    assert [normal(each) for each in ours] == [normal(each) for each in wanted["segments"]]
    bad = [place for place, each in enumerate(wanted["segments"]) if "error" in each]
    assert len(failures) == len(bad)
    for place, failure in zip(bad, failures, strict=True):
        assert f"{path}:{place + 1}: " in str(failure) or f"row {place}: " in str(failure)


@cache
def packages() -> str:
    """Return a folder with Node's package apache-arrow, which is installed if it is not there."""
    folder = Path(os.environ.get("FSTMETRICS_NODE", ROOT / "build" / "conformance"))
    if not (folder / "node_modules" / "apache-arrow").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "apache-arrow@21"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            pytest.skip(f"npm cannot install apache-arrow: {run.stderr or run.stdout:.200}")
    return str(folder)


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node")
@pytest.mark.parametrize("suffix", [".jsonl", ".arrow"])
def test_a_reader_that_shares_no_code_agrees(suffix: str) -> None:
    paths = [path for path in FILES if path.suffix == suffix]
    where = packages() if suffix == ".arrow" else ""
    command = ["node", str(FOLDER / "reader.mjs"), *map(str, paths)]
    run = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "NODE_PATH": where}
    )
    found = json.loads(run.stdout)
    for path in paths:
        wanted = expected(path)
        if "error" in wanted:
            assert "error" in found[str(path)], path
            continue
        theirs = [normal(each) for each in found[str(path)]["segments"]]
        assert theirs == [normal(each) for each in wanted["segments"]], path


def test_arrow_files_are_those_of_their_maker(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    command = [sys.executable, str(FOLDER / "make_arrow.py"), str(tmp_path)]
    subprocess.run(command, check=True)
    made = {path.name: path.read_text("utf-8") for path in tmp_path.glob("*.json")}
    kept = {path.name: path.read_text("utf-8") for path in FOLDER.glob("arrow/*.json")}
    assert made == kept
    for path in tmp_path.glob("*.arrow"):
        import pyarrow as pa

        theirs = pa.ipc.open_file(FOLDER / "arrow" / path.name).read_all()
        ours = pa.ipc.open_file(path).read_all()
        assert ours.schema.equals(theirs.schema, check_metadata=True)
        # NaN is not equal to itself
        assert str(ours) == str(theirs)


def test_the_specification_names_every_field_and_key() -> None:
    text = (ROOT / "docs" / "schema.md").read_text("utf-8")
    for field in FIELDS:
        assert f"`{field.name}`" in text, field.name
    assert f"`{VERSION_KEY}`" in text


def test_every_error_is_of_its_own() -> None:
    for path in FILES:
        told = [each["error"] for each in expected(path).get("segments", []) if "error" in each]
        assert all(one != other for one, other in pairwise(told) if "score" not in one)
