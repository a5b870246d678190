"""Every snippet of README and docs is run, or parsed, or says why not."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from decoding.cli.main import build_parser
from tests.docs.snippets import PAGES, ROOT, Block, blocks, same_output

#: languages of blocks that are data or diagrams, and nothing that could be run
_DATA = {"json", "toml", "text", "bibtex", "ini"}


def _with_commands() -> list[Path]:
    return [page for page in PAGES if any(block.text.startswith("$ ") for block in blocks(page))]


@pytest.mark.parametrize("page", _with_commands(), ids=lambda page: page.name)
def test_shell(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of a page, typed in order in a folder that is empty at first."""
    scripts = Path(sys.executable).parent
    if not (scripts / "fstmetrics").exists():
        pytest.skip("the command is not installed beside the interpreter")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{scripts}{os.pathsep}{os.environ['PATH']}")
    for block in blocks(page):
        if block.why_not or not block.text.startswith("$ "):
            continue
        for command, shown in block.commands():
            if command.startswith("pip install "):
                continue  # `make stopwatch` types these, too, in a fresh environment
            done = subprocess.run(
                ["bash", "-c", f"{{ {command}\n}} 2>&1"],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, (block.place, command, done.stdout)
            if shown:
                assert same_output(done.stdout, shown), (block.place, command, done.stdout)


def _parsed() -> list[tuple[Block, str]]:
    """Commands on files that a reader has and we do not: one a line, continued by a backslash."""
    return [
        (block, line)
        for page in PAGES
        for block in blocks(page)
        for line in re.sub(r"\\\n\s*", "", block.text).splitlines()
        if re.search(r"(^|\| )fstmetrics ", line) and not block.why_not
        if not block.text.startswith("$ ") and block.language not in _DATA
    ]


@pytest.mark.parametrize(
    ("block", "line"), _parsed(), ids=lambda value: getattr(value, "place", "")
)
def test_command_lines_are_possible(block: Block, line: str) -> None:
    """Options that are shown exist, and take what is shown."""
    for command in line.split(" | "):
        words = shlex.split(command, comments=True)
        if not words or words[0] != "fstmetrics":
            continue
        said = io.StringIO()
        code: object = 0
        with contextlib.redirect_stderr(said):
            try:
                build_parser([words[1]]).parse_args(words[1:])
            except SystemExit as ended:
                code = ended.code
        assert code == 0, (block.place, command, said.getvalue())


def test_every_block_is_something() -> None:
    """No block is shown that nobody looks at: it is run, parsed, data, or says why not."""
    strange = [
        block.place
        for page in PAGES
        for block in blocks(page)
        if not (
            block.why_not
            or block.language in _DATA
            or ">>> " in block.text
            or block.text.startswith(("$ ", "fstmetrics ", "make ", "pip install "))
        )
    ]
    assert not strange, strange


def test_targets_of_make_are_there() -> None:
    """A target that is named in a block is one of the Makefile's."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    texts = [block.text for page in [*PAGES, ROOT / "CONTRIBUTING.md"] for block in blocks(page)]
    named = {name for text in texts for name in re.findall(r"^make ([a-z-]+)", text, re.M)}
    assert named
    assert named <= targets, named - targets


def test_fences_are_found() -> None:
    """What the other tests loop over is there."""
    found = [block for page in PAGES for block in blocks(page)]
    assert len(found) > 70
    assert {block.language for block in found} >= {"python", "json", "toml"}
    assert (ROOT / "docs" / "start.md") in _with_commands()
