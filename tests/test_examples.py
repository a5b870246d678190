"""Example plug-ins: installed as anyone's would be, found, and put to their own tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(*argv: object, path: Path, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, argv)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["plugin-metric", "plugin-format"])
def test_a_plugin_is_installed_found_and_passes_its_tests(name: str, tmp_path: Path) -> None:
    pytest.importorskip("flit_core", reason="builds the plug-ins; the extra test has it")
    # a copy, since building leaves files beside the sources
    source, site = tmp_path / name, tmp_path / "site"
    shutil.copytree(EXAMPLES / name, source)
    pip = ["-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    run(*pip, "--disable-pip-version-check", "--target", site, source, path=site, cwd=tmp_path)
    # the tests see what was installed, not the sources
    shutil.move(source / "tests", tmp_path / "tests")
    shutil.rmtree(source)
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules"]
    run(*tests, "tests", *site.glob("*.py"), path=site, cwd=tmp_path)
