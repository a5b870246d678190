"""The comparison with other tools: a cell has a link to what shows it, or claims nothing."""

from __future__ import annotations

import re

from tests.docs.snippets import ROOT

PAGE = (ROOT / "docs" / "comparison.md").read_text("utf-8")
#: what needs no link: nothing was found, or it is what anyone can type
_BARE = re.compile(r"not found|no (?:lattices|forests)|from source|`pip install [\w-]+`")
_LINK = re.compile(r"\]\([\w./#-]+\)|\]\[([\w-]+)\]")


def test_cells_are_checkable() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.splitlines()
        if line.startswith("| ") and not line.startswith("| |")
    ]
    assert len(rows) > 25
    for name, *cells in rows:
        assert len(cells) == 4, name
        for cell in cells:
            assert _BARE.fullmatch(cell) or _LINK.search(cell), (name, cell)


def test_links_are_defined_and_used() -> None:
    defined = set(re.findall(r"^\[([\w-]+)\]: https?://", PAGE, re.M))
    used = {match[1] for match in _LINK.finditer(PAGE) if match[1]}
    assert used == defined
