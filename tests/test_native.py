"""The extension modules: their stubs say what is in them."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ["lattices", "fstmetrics", "decoding"]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_stubs_are_fresh(package: str) -> None:
    stubgen = pytest.importorskip("nanobind.stubgen")
    made = stubgen.StubGen(importlib.import_module(f"{package}._native"))
    made.put(made.module)
    assert made.get() == (ROOT / package / "_native.pyi").read_text(), "run `make stubs`"
