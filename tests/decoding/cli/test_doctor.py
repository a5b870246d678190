"""The check of an installation, in environments that have something wrong with them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from decoding.cli.about.doctor import BROKEN, MISSING, OK, findings
from tests.decoding.cli.commandline import command

doctor = command("doctor")


def run(site: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "decoding.cli.main", "doctor", *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=site,
    )


def distribution(site: Path, name: str, *, points: str = "", files: str = "") -> None:
    about = site / f"{name.replace('-', '_')}-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    (about / "entry_points.txt").write_text(points)
    (about / "RECORD").write_text(files)


def test_all_is_well_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor() == 0
    shown = capsys.readouterr().out
    assert shown.endswith("\nall is well\n")
    for what in ("python", "numpy", "lattices._native", "formats", "self-test of kernel"):
        assert f"\n{OK:<8} {what} " in "\n" + shown


def test_extras_are_there_or_have_a_command() -> None:
    from importlib.metadata import PackageNotFoundError, version

    found = {one.what: one for one in findings() if one.what.startswith("extra")}
    assert not {"extra [dev]", "extra [test]", "extra [all]"} & found.keys()
    for extra, package in (("arrow", "pyarrow"), ("torch", "torch"), ("plot", "matplotlib")):
        line = found[f"extra [{extra}]"]
        try:
            assert line[1:] == (OK, f"{package} {version(package)}")
        except PackageNotFoundError:
            assert line[1:] == (MISSING, f"{package}: pip install 'fstmetrics[{extra}]'")


def test_quiet_has_nothing_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor("-q") == 0
    assert capsys.readouterr() == ("", "")


def test_broken_plugins_are_named_by_their_distribution(tmp_path: Path) -> None:
    distribution(tmp_path, "odd-parts", points="[fstmetrics.metrics]\nodd = odd_parts_gone:ODD\n")
    done = run(tmp_path)
    assert done.returncode == 1
    (line,) = (one for one in done.stdout.splitlines() if one.startswith(BROKEN))
    assert "metric odd" in line
    assert "of odd-parts 1.5 (odd_parts_gone:ODD) cannot be loaded" in line
    assert done.stdout.endswith("\n1 broken\n")
    assert run(tmp_path, "-q").stdout == line + "\n"


def test_an_engine_that_is_wrong_fails_the_self_test(tmp_path: Path) -> None:
    (tmp_path / "lazy_engine.py").write_text(
        "class Lazy:\n"
        "    name = 'lazy'\n"
        "    def can_run(self, space, machine): return True\n"
        "    def best(self, problems, **options): raise RuntimeError('too lazy')\n"
        "ENGINE = Lazy()\n"
    )
    distribution(tmp_path, "lazy", points="[lattices.engines]\nlazy = lazy_engine:ENGINE\n")
    done = run(tmp_path)
    assert done.returncode == 1
    assert f"{BROKEN:<8} self-test of lazy" in done.stdout
    assert "RuntimeError: too lazy" in done.stdout
    assert f"{OK:<8} self-test of kernel" in done.stdout


def test_other_packages_of_our_names(tmp_path: Path) -> None:
    """Installed by another distribution: broken; a folder later on the path: told."""
    distribution(tmp_path, "latticework", files="lattices/__init__.py,,\n")
    folder = tmp_path / "later"
    (folder / "decoding").mkdir(parents=True)
    (folder / "decoding" / "__init__.py").write_text("")
    program = (
        f"import sys; sys.path.append({str(folder)!r});"
        "from decoding.cli.main import main; sys.exit(main(['doctor']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1
    lines = {line[9:33].strip(): line for line in done.stdout.splitlines()}
    assert lines["package lattices"].startswith(BROKEN)
    assert "latticework installs a package of this name, too" in lines["package lattices"]
    assert lines["package decoding"].startswith(OK)
    assert f"hides {folder / 'decoding' / '__init__.py'}" in lines["package decoding"]


def test_a_package_of_our_name_that_stands_before_ours(tmp_path: Path) -> None:
    (tmp_path / "fstmetrics").mkdir()
    (tmp_path / "fstmetrics" / "__init__.py").write_text("METRICS = None\n")
    # first whatever finds ours: the path, or the finder of an editable installation
    program = (
        "import sys; from importlib.machinery import PathFinder\n"
        "class First:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        found = name == 'fstmetrics'\n"
        f"        return PathFinder.find_spec(name, [{str(tmp_path)!r}]) if found else None\n"
        "sys.meta_path.insert(0, First)\n"
        "from decoding.cli.main import main; sys.exit(main(['doctor']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"{BROKEN:<8} package fstmetrics" in done.stdout
    assert str(tmp_path) in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["pynini", "scipy"])
def test_what_cannot_be_imported(tmp_path: Path, name: str) -> None:
    program = (
        f"import sys; sys.modules[{name!r}] = None;"
        "from decoding.cli.main import main; sys.exit(main(['doctor']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    lines = {line[9:33].strip(): line for line in done.stdout.splitlines()}
    if name == "pynini":
        # everything works without it but the engine
        assert (done.returncode, lines[name][:8].strip()) == (0, MISSING)
        assert lines["self-test of openfst"].startswith(MISSING)
    else:
        assert (done.returncode, lines[name][:8].strip()) == (1, BROKEN)
