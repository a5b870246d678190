"""Tutorials run, as scripts, in a folder of their own, without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial(path: Path, tmp_path: Path) -> None:
    for name in re.findall(r"^# requires: (\w+)$", path.read_text("utf-8"), re.M):
        pytest.importorskip(name)
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr


def test_all_are_in_the_list() -> None:
    listed = (ROOT / "docs" / "tutorials" / "index.md").read_text("utf-8")
    assert len(TUTORIALS) == 6
    for path in TUTORIALS:
        assert f"({path.stem}.md)" in listed, path.name
