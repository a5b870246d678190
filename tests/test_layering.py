"""``lattices`` <- ``fstmetrics`` <- ``decoding``: imports go one way only."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FORBIDDEN = {
    "lattices": {"fstmetrics", "decoding"},
    "fstmetrics": {"decoding"},
    "decoding": set(),
}
OPTIONAL = {"pynini", "pyarrow", "distributed", "torch", "gensim", "sacrebleu", "matplotlib"}


def modules():
    return [path for package in FORBIDDEN for path in sorted((ROOT / package).rglob("*.py"))]


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    package = path.relative_to(ROOT).parts[0]
    tops = {name.partition(".")[0] for name in imported(ast.parse(path.read_text()))}
    assert not tops & FORBIDDEN[package]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_optional_packages_are_imported_when_used(path):
    tree = ast.parse(path.read_text())
    at_import = ast.Module([node for node in tree.body if not isinstance(node, ast.If)], [])
    for node in at_import.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            tops = {name.partition(".")[0] for name in imported(ast.Module([node], []))}
            assert not tops & OPTIONAL


def native_sources():
    return [path for package in FORBIDDEN for path in sorted((ROOT / package).glob("native/*.?pp"))]


@pytest.mark.parametrize("path", native_sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_includes_go_one_way(path):
    package = path.relative_to(ROOT).parts[0]
    tops = set(re.findall(r'^#include "(\w+)/', path.read_text(), re.MULTILINE))
    assert not tops & FORBIDDEN[package]
