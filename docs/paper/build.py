"""Build the report: ``make paper``. Its numbers are read from pages that commands wrote.

``{{page | row | column}}`` in report.md is a cell of a table of docs/experiments/page.md or
docs/page.md. A row is named by some of its cells, with commas; a column by its title, with ``:2``
if it is the second of that name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
REPORT = Path(__file__).with_name("report.md")
PLACE = re.compile(r"\{\{([^|{}]+)\|([^|{}]+)\|([^|{}]+)\}\}")


@cache
def tables(page: str) -> list[tuple[list[str], list[list[str]]]]:
    """Return the titles and rows of all tables of a page."""
    for folder in (DOCS / "experiments", DOCS):
        if (path := folder / f"{page}.md").exists():
            break
    else:
        raise ValueError(f"there is no page {page}")
    found: list[tuple[list[str], list[list[str]]]] = []
    before = ""
    for line in path.read_text("utf-8").splitlines():
        cells = [each.strip() for each in line.strip().strip("|").split("|")]
        if line.startswith("|") and not before.startswith("|"):
            found.append((cells, []))
        elif line.startswith("|") and not set(line) <= set("|-: "):
            found[-1][1].append(cells)
        before = line
    return found


def look_up(page: str, row: str, column: str) -> str:
    """Return one cell."""
    title, _, which = column.partition(":")
    keys = row.split(", ")
    found = [
        cells[[place for place, each in enumerate(head) if each == title][int(which or 1) - 1]]
        for head, rows in tables(page)
        if head.count(title) >= int(which or 1)
        for cells in rows
        if cells[0] == row or all(key in cells for key in keys)
    ]
    if len(found) != 1:
        raise ValueError(f"{page} | {row} | {column}: {len(found)} cells, expected one")
    return found[0]


def fill(text: str) -> str:
    """Return the report with its numbers."""
    return PLACE.sub(lambda found: look_up(*(part.strip() for part in found.groups())), text)


def typed_numbers(text: str) -> Iterator[str]:
    """Iterate over numbers that stand in the report itself: measured ones should be read."""
    text = text.partition("\n# References")[0]
    for part in (
        PLACE.pattern,
        r"\$\$.*?\$\$",
        r"\$[^$]*\$",
        r"`[^`]*`",
        r"\((?:19|20)\d\d[^)]*\)",
    ):
        text = re.sub(part, " ", text, flags=re.DOTALL)
    text = re.sub(r"\b(?:19|20)\d\d\b", " ", text)
    yield from re.findall(r"(?<!\w)(?:\d+[.,]\d+|\d{3,}|\d+ ?%)", text)


def main() -> None:
    """Write the report as PDF: pandoc and typst come from PyPI."""
    import pypandoc
    import typst

    output = Path(sys.argv[1])
    output.parent.mkdir(parents=True, exist_ok=True)
    markdown = output.with_suffix(".md")
    markdown.write_text(fill(REPORT.read_text("utf-8")), encoding="utf-8")
    source = pypandoc.convert_file(
        markdown, "typst", format="markdown-implicit_figures", extra_args=["--standalone"]
    )
    # pictures are those of the documentation
    source = re.sub(r'image\("\.\./', 'image("/', source)
    typ = output.with_suffix(".typ")
    typ.write_text(source, encoding="utf-8")
    output.write_bytes(typst.compile(source.encode(), root=str(DOCS)))
    print(f"{output}: {output.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
