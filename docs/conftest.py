"""Snippets of the docs run in a folder of their own; tutorials are run by tests/docs."""

from __future__ import annotations

from pathlib import Path

import pytest

collect_ignore_glob = ["*.py", "make/*", "tutorials/*.py"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
