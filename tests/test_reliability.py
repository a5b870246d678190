"""The page of promises names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reliability.md"


def test_every_test_file_that_is_named_exists() -> None:
    named = set(re.findall(r"tests/[\w/.-]+", PAGE.read_text()))
    assert len(named) > 20
    missing = [name for name in sorted(named) if not (ROOT / name).exists()]
    assert not missing


def test_every_promise_has_tests() -> None:
    _, *sections = PAGE.read_text().split("\n## ")
    assert len(sections) > 5
    for section in sections:
        assert "`tests/" in section, section.split("\n")[0]


def test_the_page_is_in_the_menu() -> None:
    assert "reliability.md" in (ROOT / "mkdocs.yml").read_text()
