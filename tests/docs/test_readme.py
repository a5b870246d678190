"""README as a new user types it: in a directory of their own, with what pip has installed."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT, blocks

README = ROOT / "README.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is not in the tree of the sources, where no module of theirs is found."""
    monkeypatch.chdir(tmp_path)
    assert README.parent not in tmp_path.resolve().parents
    return tmp_path


def test_python_snippets(elsewhere: Path) -> None:
    program = (
        "import doctest, sys; "
        f"found = doctest.testfile({str(README)!r}, module_relative=False, optionflags={FLAGS}); "
        "print(found.attempted); sys.exit(found.failed > 0)"
    )
    # isolated: neither the directory nor the environment leads to the sources
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) >= 9


def test_no_line_needs_the_sources() -> None:
    """Whoever has installed the package from a wheel has neither make nor our folders."""
    for block in (each.text for each in blocks(README)):
        if block.startswith("make demo"):
            continue  # for those who have cloned them
        assert "make " not in block
        assert "decoding/" not in block


def test_ratios_are_measured() -> None:
    """What is said beside other tools stands in the page that ``make bench`` writes."""
    measured = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    rows = {
        "OpenFst": r"\| d50 \| .* 4-GRR .* \| ([\d.]+)x \| [\d.]+x \| [\d.]+x",
        "Kaldi's `lattice-oracle`": r"\| d50 \| WER oracle \|(?: [\d.]+ \|){4} ([\d.]+) \|",
        "Kaldi's `lattice-mbr-decode`": r"\| d50 \| `edit` MBR \|(?: [\d.]+ \|){4} ([\d.]+) \|",
        "fastchrf": r"\| fastchrf \|(?: [\d.]+ \|){2} ([\d.]+) \|",
        "mbrs": r"\| mbrs BLEU \| [\d.]+ \| [\d.]+ \| ([\d.]+) \|",
    }
    for tool, row in rows.items():
        [found] = re.findall(row, measured)
        [said] = re.findall(
            rf"^\| {re.escape(tool)}[^|]*\|[^|]*\| ([\d.]+) \|", README.read_text("utf-8"), re.M
        )
        assert said == found, tool
