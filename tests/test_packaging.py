"""What an installation asks for: pyproject.toml, the recipe for conda, and the page of names."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def split(requirement: str) -> tuple[str, str]:
    """Return the name and the versions of a requirement, without its marker."""
    found = re.match(r"([\w.-]+) *(?:\[.*\])? *([^; ]*)", requirement)
    assert found is not None
    return found[1], found[2]


def test_pynini_is_wanted_where_it_has_wheels() -> None:
    markers = pytest.importorskip("packaging.requirements")
    [pynini] = [each for each in PROJECT["dependencies"] if each.startswith("pynini")]
    marker = markers.Requirement(pynini).marker
    here = {"sys_platform": "linux", "platform_machine": "x86_64", "python_version": "3.14"}
    assert marker.evaluate(here)
    for change in (
        {"python_version": "3.15"}, {"platform_machine": "aarch64"}, {"sys_platform": "darwin"}
    ):  # fmt: skip
        assert not marker.evaluate(here | change)
    assert [split(each) for each in PROJECT["optional-dependencies"]["openfst"]] == [split(pynini)]


def test_the_recipe_asks_for_the_same() -> None:
    recipe = (ROOT / "conda" / "meta.yaml").read_text("utf-8")
    run, limits = re.findall(r"  run(?:_constrained)?:\n((?:    - .*\n)+)", recipe)
    listed = {tuple(line[6:].split()) for line in (run + limits).splitlines()}
    wanted = {tuple(filter(None, split(each))) for each in PROJECT["dependencies"]}
    assert listed == wanted | {("python",)}
    [script] = PROJECT["scripts"].items()
    assert f"- {script[0]} = {script[1]}" in recipe


def test_names_are_those_that_are_installed() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["scikit-build"]
    page = (ROOT / "docs" / "names.md").read_text("utf-8")
    for package in build["wheel"]["packages"]:
        assert f"`{package}`" in page
