"""Wheels on other Pythons and machines: built, installed and tested where that can be done here.

``make platforms`` runs this, which writes ``docs/experiments/platforms.md``. A place is a Python of
this machine, or one in a folder that debootstrap made of a Debian suite (as root); those of another
processor run under qemu. What a place lacks is said on the page, and is no error.

Wheels, environments and systems stay in ``build/platforms``: remove what is to be made anew.

    python -m benchmarks.platforms --only 3.13 arm64
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import ROOT
from benchmarks.pages import write_page

TEXT = """# Platforms

Written by `make platforms`: the wheel of each Python is installed into a new environment without
anything else of this project, and {part} are run there. Wheels are built by zig's compiler from
PyPI, for glibc {glibc} and a baseline processor, without the loops for AVX2 and AVX-512 that a
build with gcc has.

{rows}

A Python *here* is one of this machine; the others come from the Debian suite of that name.
Tests are skipped where the packages that they compare with have no wheel.

{notes}
"""
#: Debian suites, their processor, and their Pythons
SUITES = {
    "trixie": ("x86_64", ("3.13",)),
    "forky": ("x86_64", ("3.14", "3.15")),
    "arm64": ("aarch64", ("3.13",)),
}
MIRROR = "http://deb.debian.org/debian"
GLIBC = "2.28"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t")
#: what the tests need; pynini, pyarrow and others are compared with where they have wheels
TOOLS = ("pytest", "hypothesis", "rapidfuzz", "sacrebleu")
PART = ("tests/laws", "tests/golden", "tests/test_without_pynini.py")
#: variables that name the file of certificates for the network of this machine
CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE")
LOOK = """
import json, sys, importlib.metadata as m, importlib.util as u, os
import lattices, decoding, lattices._native, fstmetrics._native, decoding._native
gil = getattr(sys, "_is_gil_enabled", lambda: True)()
found = {each.metadata["Name"]: each for each in m.distributions()}
needed = ("fstmetrics", "numpy", "scipy", "networkx", "lazy_loader", "pynini")
size = sum(
    os.path.getsize(f) for each in needed if each in found for p in found[each].files or ()
    if os.path.isfile(f := p.locate())
)
print(json.dumps({
    "version": sys.version.split()[0], "gil": gil, "size": size / 1e6,
    "numpy": found["numpy"].version, "pynini": u.find_spec("pynini") is not None,
}))
"""


class LeftOutError(Exception):
    """What cannot be done here, and why."""


class FailedTestsError(Exception):
    """What came of tests that were run."""


@dataclass(frozen=True)
class Place:
    """A Python, on this machine or in a folder with another system."""

    name: str
    version: str
    python: str
    #: of all that is made there, as the place itself has it
    folder: str
    root: Path | None = None
    processor: str = platform.machine()

    def run(self, *command: object, **variables: str) -> str:
        """Run a command there and return what it prints; raise with the end of it if it fails."""
        prefix = ["chroot", str(self.root)] if self.root else []
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in ("PATH", *CERTIFICATES) or name.lower().endswith("_proxy")
        }
        done = subprocess.run(
            [*prefix, "/usr/bin/env", "-C", self.folder, *map(str, command)],
            env={**kept, "HOME": self.folder, "LC_ALL": "C.UTF-8", **variables},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise LeftOutError("; ".join(done.stdout.strip().splitlines()[-3:]))
        return done.stdout

    @property
    def outside(self) -> Path:
        """Where the folder is for this machine."""
        return self.root / self.folder.lstrip("/") if self.root else Path(self.folder)


# ---- places -----------------------------------------------------------------------------------


def find_places(work: Path, wanted: Callable[[str], bool]) -> Iterator[Place | tuple[str, str]]:
    """Iterate over the Pythons of this machine and wanted others; what is left out has a reason."""
    for version in PYTHONS:
        found = _python_here(version)
        if found:
            yield Place(f"{version} here", version, found, str(work / "here"))
        else:
            yield f"{version} here", "no such Python"
    for suite, (processor, versions) in SUITES.items():
        name = suite if processor == platform.machine() else f"{suite} (qemu)"
        if not any(wanted(f"{version} {name}") for version in versions):
            continue
        try:
            root = _root(work / "roots" / suite, suite, processor, versions)
        except (LeftOutError, OSError) as problem:
            yield name, str(problem)
            continue
        for version in versions:
            python = f"/usr/bin/python{version}"
            yield Place(f"{version} {name}", version, python, "/platforms", root, processor)


def _python_here(version: str) -> str | None:
    """Return a Python of this version with its headers, on the path or among those of pyenv."""
    pyenv = Path.home() / ".pyenv" / "versions"
    several = [shutil.which(f"python{version}"), *pyenv.glob(f"*/bin/python{version}")]
    code = (
        "import os, sysconfig; print(os.path.exists(sysconfig.get_path('include') + '/Python.h'))"
    )
    for each in filter(None, several):
        done = subprocess.run([each, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.strip() == "True":
            return str(each)
    return None


def _root(folder: Path, suite: str, processor: str, versions: tuple[str, ...]) -> Path:
    """Return a folder with a Debian suite; make it if there is none."""
    if (folder / "usr/bin" / f"python{versions[0]}").exists():
        return folder
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise LeftOutError("debootstrap makes the system, as root; it is not there")
    foreign = processor != platform.machine()
    if foreign and not Path("/proc/sys/fs/binfmt_misc", f"qemu-{processor}").exists():
        raise LeftOutError(f"no qemu-user-static that runs programs of {processor}")
    packages = [f"python{each}-{kind}" for each in versions for kind in ("venv", "dev")]
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    command = [
        "debootstrap",
        "--variant=minbase",
        f"--include=ca-certificates,{','.join(packages)}",
    ]
    if foreign:
        command += ["--foreign", f"--arch={ {'aarch64': 'arm64'}[processor] }"]
    if subprocess.run(
        [*command, "trixie" if foreign else suite, str(partial), MIRROR], check=False
    ).returncode:
        raise LeftOutError(f"debootstrap could not make {suite}")
    if foreign:
        # unpacked is enough for Python; to configure packages under emulation takes an hour
        for package in sorted(partial.glob("var/cache/apt/archives/*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, partial], check=True)
        shutil.copy2("/etc/resolv.conf", partial / "etc")
    for name in filter(None, map(os.environ.get, CERTIFICATES)):
        shutil.copy2(name, partial / name.lstrip("/"))
    return partial.rename(folder)


# ---- wheels -----------------------------------------------------------------------------------


def build_wheel(place: Place, builder: Place, wheels: Path) -> Path:
    """Return a wheel for a place, compiled by zig at a place of this processor."""
    tag = f"{_tag(place)}-{place.processor}"
    for known in (wheels / tag).glob("*.whl"):
        return known
    work, zig = builder.outside, f"{builder.folder}/zig/bin/python"
    copy_sources(work / "source", ("",))
    if not (work / "zig").exists():
        builder.run(builder.python, "-m", "venv", "zig")
        builder.run(zig, "-m", "pip", "install", "--quiet", "ziglang")
    tools = work / f"tools-{tag}"
    tools.mkdir(exist_ok=True)
    for tool in ("c++", "cc", "ar", "ranlib"):
        target = f" -target {place.processor}-linux-gnu.{GLIBC} -mcpu=baseline"
        script = tools / tool
        target = target if tool in ("c++", "cc") else ""
        script.write_text(f'#!/bin/sh\nexec {zig} -m ziglang {tool}{target} "$@"\n')
        script.chmod(0o755)
    inside = f"{builder.folder}/{tools.name}"
    variables = {
        "CXX": f"{inside}/c++",
        "CC": f"{inside}/cc",
        "CMAKE_ARGS": f"-DCMAKE_AR={inside}/ar -DCMAKE_RANLIB={inside}/ranlib"
        " -DFSTMETRICS_DISPATCH=OFF",
    }
    if place.processor != builder.processor:
        # what a wheel is called, and its extensions; the headers of Python are the same
        soabi = f"cpython-{place.version.replace('.', '')}-{place.processor}-linux-gnu"
        variables["SETUPTOOLS_EXT_SUFFIX"] = f".{soabi}.so"
        variables["_PYTHON_HOST_PLATFORM"] = f"linux-{place.processor}"
    builder.run(
        builder.python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", f"new-{tag}",
        "./source", **variables,
    )  # fmt: skip
    [made] = (work / f"new-{tag}").glob("*.whl")
    (wheels / tag).mkdir(parents=True, exist_ok=True)
    return Path(shutil.move(made, wheels / tag))


def _tag(place: Place) -> str:
    return f"cp{place.version.replace('.', '')}"


def copy_sources(folder: Path, parts: Sequence[str]) -> None:
    """Copy what git knows of some parts of the project."""
    shutil.rmtree(folder, ignore_errors=True)
    names = subprocess.run(
        ["git", "ls-files", "-z", "--", *(part or "." for part in parts)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


# ---- tests ------------------------------------------------------------------------------------


def install(place: Place, environment: Path, wheel: Path) -> None:
    """Make an environment at a place, with a wheel, what it needs and what the tests need."""
    place.run(place.python, "-m", "venv", "--without-pip", environment.name)
    [site] = (environment / "lib").glob("python*/site-packages")
    # pip runs here and installs there, which under emulation would take long
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    pip += ["--target", str(site), "--implementation", "cp"]
    pip += ["--python-version", place.version.rstrip("t")]
    pip += [part for abi in (_tag(place), "abi3", "none") for part in ("--abi", abi)]
    for glibc in ("2_28", "2_27", "2_26", "2_17"):
        pip += ["--platform", f"manylinux_{glibc}_{place.processor}"]
    pip += ["--platform", f"manylinux2014_{place.processor}"]
    pip += ["--platform", f"linux_{place.processor}"]
    needed = ("lazy_loader", "networkx", "numpy", "scipy", str(wheel))
    # others have no wheel for some Pythons
    for wanted in (("--no-deps", *needed), ("pynini",), *((each,) for each in TOOLS)):
        done = subprocess.run([*pip, *wanted], capture_output=True, text=True, check=False)
        if done.returncode and "numpy" in wanted:
            raise LeftOutError(done.stderr.strip().splitlines()[-1])


def test_wheel(place: Place, wheel: Path, part: Sequence[str]) -> str:
    """Install a wheel at a place, run a part of the tests, and return a row of the page."""
    name = f"tests-{place.version}"
    work, environment = place.outside / name, place.outside / f"env-{place.version}"
    copy_sources(work, ("tests", "pyproject.toml", "README.md", "docs/schema.md", "conformance"))
    shutil.copy2(wheel, work)
    python = f"{place.folder}/{environment.name}/bin/python"
    if not environment.exists():
        install(place, environment, work / wheel.name)
    look = json.loads(place.run(python, "-c", LOOK))
    started = os.times()
    try:
        said = place.run(
            "/usr/bin/env", "-C", name, python, "-m", "pytest", "-q", "-p", "no:cacheprovider",
            "--override-ini", "addopts=--import-mode=importlib", *part,
        )  # fmt: skip
    except LeftOutError as problem:
        raise FailedTestsError(f"tests failed: {problem}") from None
    spent = os.times()
    seconds = spent.children_user + spent.children_system
    seconds -= started.children_user + started.children_system
    counts = re.findall(r"(\d+) (passed|skipped|deselected)", said.splitlines()[-1])
    passed, skipped = (
        next((number for number, what in counts if what == wanted), "0")
        for wanted in ("passed", "skipped")
    )
    cells = (
        place.name, look["version"] + ("" if look["gil"] else ", without the lock"), look["numpy"],
        "yes" if look["pynini"] else "no", f"{wheel.stat().st_size / 1e6:.1f}",
        f"{look['size']:.0f}", passed, skipped, f"{seconds:.0f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Build, install and test at every place that can be had, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "platforms")
    parser.add_argument("--only", nargs="+", help="places whose names contain one of these")
    parser.add_argument("--part", nargs="+", default=PART, help="tests (default: %(default)s)")
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    # what earlier runs found out about other places stays
    kept = work / "results.json"
    results: dict[str, dict[str, str]] = json.loads(kept.read_text()) if kept.exists() else {}
    builders: dict[str, Place] = {}

    def wanted(name: str) -> bool:
        return not arguments.only or any(each in name for each in arguments.only)

    failed = False
    for found in find_places(work, wanted):
        name, why = found if isinstance(found, tuple) else (found.name, "")
        if isinstance(found, Place) and found.processor == platform.machine():
            builders.setdefault(found.version, found)
        if not wanted(name):
            continue
        print(name, flush=True)
        row = ""
        if isinstance(found, Place):
            try:
                found.outside.mkdir(parents=True, exist_ok=True)
                if found.version not in builders:
                    raise LeftOutError(f"no Python {found.version} of this processor to build with")
                wheel = build_wheel(found, builders[found.version], work / "wheels")
                row = test_wheel(found, wheel, arguments.part)
            except (LeftOutError, FailedTestsError) as problem:
                why = str(problem)
                failed |= isinstance(problem, FailedTestsError)
        print(row or why, flush=True)
        results[name] = {"row": row, "why": why}
        kept.write_text(json.dumps(results, indent=1))
        write(results, arguments.part)
    if failed:
        sys.exit("tests failed")


def write(results: dict[str, dict[str, str]], part: Sequence[str]) -> None:
    """Write the page of all places."""
    head = ("place", "Python", "numpy", "pynini", "wheel MB", "environment MB", "passed",
            "skipped", "processor s")  # fmt: skip
    rows = [f"| {' | '.join(head)} |", "|---|---|---|---|--:|--:|--:|--:|--:|"]
    rows += [each["row"] for each in results.values() if each["row"]]
    notes = [f"- {name}: {each['why']}" for name, each in results.items() if not each["row"]]
    text = TEXT.format(
        part=", ".join(f"`{each}`" for each in part),
        glibc=GLIBC,
        rows="\n".join(rows),
        notes="\n".join(["Left out where this page was written:\n", *notes] if notes else ()),
    )
    write_page("platforms.md", text)


if __name__ == "__main__":
    main()
