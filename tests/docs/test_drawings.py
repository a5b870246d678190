"""The drawings that README and docs show are those that ``make drawings`` draws."""

from __future__ import annotations

import importlib.util
import re

import pytest

from tests.docs.snippets import PAGES, ROOT

FOLDER = ROOT / "docs" / "drawings"


def test_drawings_are_fresh() -> None:
    pytest.importorskip("pynini")
    spec = importlib.util.spec_from_file_location("drawings", ROOT / "docs/make/drawings.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    drawn = {f"{name}.svg": str(picture) for name, picture in module.draw_all().items()}
    there = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.svg")}
    assert "matplotlib" in there.pop("density.svg")  # whose versions draw it differently
    assert drawn == there


def test_drawings_are_shown() -> None:
    """Each is on some page, and a page shows none that is not there."""
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    shown = set(re.findall(r"\]\((?:docs/)?drawings/([\w-]+\.svg)\)", text))
    assert shown == {path.name for path in FOLDER.glob("*.svg")}
