"""Pages of experiments, written so that a difference between two runs is easy to read."""

from __future__ import annotations

import textwrap

from benchmarks.data import ROOT

FOLDER = ROOT / "docs" / "experiments"


def write_page(name: str, text: str) -> None:
    """Write a page of experiments, its paragraphs and items filled to lines of 100 characters."""
    (FOLDER / name).write_text(filled(text), encoding="utf-8")


def filled(text: str) -> str:
    """Return Markdown with its paragraphs and items filled; code, tables and titles stay.

    Filling what is filled changes nothing.
    """
    blocks: list[str] = []
    for number, part in enumerate(text.split("```")):
        if number % 2:
            blocks.append(part)
            continue
        blocks.append("\n\n".join(map(_filled_block, part.split("\n\n"))))
    return "```".join(blocks)


def _filled_block(block: str) -> str:
    head = block.lstrip("\n")
    if not head or head[0] in "|#!":
        return block
    before, after = block[: -len(head)], block[len(block.rstrip("\n")) :]
    items: list[list[str]] = []
    for line in head.split("\n"):
        if line.startswith("- ") or not items:
            items.append([])
        items[-1].append(line.strip())
    lines = [
        textwrap.fill(
            " ".join(item),
            width=100,
            subsequent_indent="  " if item[0].startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for item in items
    ]
    return before + "\n".join(lines) + after
