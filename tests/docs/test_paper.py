"""The report in docs/paper: its numbers are those of the pages that commands wrote."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAPER = Path(__file__).parents[2] / "docs" / "paper"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    specification = importlib.util.spec_from_file_location("paper_build", PAPER / "build.py")
    assert specification is not None
    assert specification.loader is not None
    found = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(found)
    return found


def test_numbers_are_read_and_not_typed(build: ModuleType) -> None:
    text = build.REPORT.read_text("utf-8")
    assert list(build.typed_numbers(text)) == []
    assert "{{" not in build.fill(text)
    assert len(build.PLACE.findall(text)) > 50
    said = "We found 12.3 % in (Chiang et al. 2008) on 1014 lattices, $12.5$ and {{a | d200 | c}}."
    assert list(build.typed_numbers(said)) == ["12.3", "1014"]


def test_a_cell_is_that_of_the_page(build: ModuleType) -> None:
    page = (PAPER.parent / "experiments" / "oracles.md").read_text("utf-8")
    [row] = re.findall(r"^\| multi30k d50 \| (.*) \|$", page, re.MULTILINE)
    cells = row.split(" | ")
    assert build.look_up("oracles", "multi30k d50", "oracle:2") == cells[5]
    assert build.look_up("oracles", "multi30k d50", "worst proven") == cells[10]
    for wrong in (("oracles", "multi30k d50", "no such"), ("oracles", "no such", "oracle"),
                  ("benchmarks", "oracle wer", "s"), ("no-such-page", "a", "b")):  # fmt: skip
        with pytest.raises(ValueError, match=r"expected one|no page"):
            build.look_up(*wrong)


def test_the_report_is_typeset(tmp_path: Path) -> None:
    pytest.importorskip("typst", reason="make paper installs it")
    pytest.importorskip("pypandoc", reason="make paper installs it")
    report = tmp_path / "report.pdf"
    subprocess.run([sys.executable, PAPER / "build.py", report], check=True)
    assert report.read_bytes().startswith(b"%PDF")
