"""What stands between fences in README and docs, and which of it is to be run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: what a run says of its own time is never the same again
_TIMES = re.compile(r"[\d.]+ s, [\d,]+ (arcs|segments)/s")
#: a block that is shown and not run says why, in a comment that no reader sees
_WHY_NOT = re.compile(r"<!-- not run: (.+?) -->\s*\Z")
_FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1``` *$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its lines, its place, and why it is not run, if it says so."""

    page: Path
    line: int
    language: str
    text: str
    why_not: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def commands(self) -> list[tuple[str, str]]:
        """Return the lines after ``$``, with what should be printed below each."""
        found: list[tuple[str, str]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), ""))
            elif found:
                command, printed = found.pop()
                if command.endswith("\\") or ("<<'END'" in command and "\nEND" not in command):
                    found.append((f"{command}\n{line}", printed))
                else:
                    found.append((command, printed + line + "\n"))
        return found


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    text = page.read_text("utf-8")
    found = []
    for match in _FENCE.finditer(text):
        indent, language, body = match.groups()
        why = _WHY_NOT.search(text[: match.start()])
        lines = (line.removeprefix(indent) for line in body.splitlines(keepends=True))
        number = text.count("\n", 0, match.start()) + 1
        language = language.split()[0] if language.strip() else ""
        found.append(Block(page, number, language, "".join(lines), why[1] if why else ""))
    return found


def same_output(printed: str, shown: str) -> bool:
    """Compare up to times; a line ``...`` stands for any number of lines."""
    pattern = "".join(
        r"(?:.*\n)*"
        if line == "..."
        else re.escape(_TIMES.sub("", line)).replace(r"\.\.\.", ".*") + "\n"
        for line in shown.splitlines()
    )
    return re.fullmatch(pattern, _TIMES.sub("", printed)) is not None
