"""README as a new user types it: in a directory of their own, with what pip has installed."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: what a run says of its own time is never the same again
_TIMES = re.compile(r"in [\d.]+ s, [\d,]+ arcs/s")


def blocks() -> list[str]:
    """Return what stands between fences."""
    return re.split(r"^```.*\n", README.read_text("utf-8"), flags=re.M)[1::2]


def shell_lines() -> list[tuple[str, str]]:
    """Return the commands of all blocks, and what each should print, in order."""
    found: list[tuple[str, str]] = []
    for block in blocks():
        for line in block.splitlines() if block.startswith("$ ") else ():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), ""))
            elif found:
                command, printed = found.pop()
                found.append((command, printed + line + "\n"))
    return found


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is not in the tree of the sources, where no module of theirs is found."""
    monkeypatch.chdir(tmp_path)
    scripts = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{scripts}{os.pathsep}{os.environ['PATH']}")
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


def test_shell_lines(elsewhere: Path) -> None:
    if not Path(sys.executable).with_name("fstmetrics").exists():
        pytest.skip("the command is not installed beside the interpreter")
    commands = [(line, shown) for line, shown in shell_lines() if line.startswith("fstmetrics")]
    assert len(commands) >= 3
    for command, shown in commands:
        done = subprocess.run(
            ["bash", "-c", f"{command} 2>&1"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stdout)
        if shown:
            assert _TIMES.sub("", done.stdout) == _TIMES.sub("", shown), command


def test_no_line_needs_the_sources() -> None:
    """Whoever has installed the package from a wheel has neither make nor our folders."""
    for block in blocks():
        if block.startswith("make demo"):
            continue  # for those who have cloned them
        assert "make " not in block
        assert "decoding/" not in block
