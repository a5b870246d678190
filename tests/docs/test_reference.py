"""The API reference has every public name, once."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.docs.snippets import ROOT


@pytest.mark.parametrize("package", ["lattices", "fstmetrics", "decoding"])
def test_all_names(package: str) -> None:
    page = (ROOT / "docs" / "api" / f"{package}.md").read_text("utf-8")
    shown = re.findall(rf"^::: {package}\.([\w.]+)$", page, re.M)
    assert len(shown) == len(set(shown))
    expected = set(importlib.import_module(package).__all__)
    assert expected == {name for name in shown if "." not in name}
