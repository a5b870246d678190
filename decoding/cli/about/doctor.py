"""``fstmetrics doctor``: what is installed, what is missing, and whether it works."""

from __future__ import annotations

import argparse
import math
import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

SUMMARY = "check the installation: versions, engines, extras, plug-ins, a self-test"
DESCRIPTION = """\
Print what is installed, what could be, and what is broken, and search a lattice with every engine.
Something missing is no fault, and the command that installs it is printed; something broken is, and
the exit code is 1. Put the output into a bug report.
"""
EXAMPLES = """\
examples:
  fstmetrics doctor
  fstmetrics doctor --quiet && fstmetrics oracle lattices.jsonl.gz
"""
#: none of its own
OPTIONS = ""

OK, MISSING, BROKEN = "ok", "missing", "broken"
_COLOURS = {OK: "green", MISSING: "yellow", BROKEN: "red"}
OWN = "fstmetrics"
PACKAGES = ("lattices", "fstmetrics", "decoding")
CORE = ("numpy", "scipy", "networkx")
#: the best 4-GRR of that lattice: 41 of 54
EXPECTED = 42 / 54
#: extras for those who work on the project itself, or that are sums of others
_NOT_FOR_USERS = {"all", "dev", "docs", "fuzz", "test"}
_REQUIREMENT = re.compile(r"^([\w.-]+).*;.*\bextra\s*==\s*['\"]([\w-]+)['\"]")
#: what compilers write into what they make
_COMPILER = re.compile(rb"GCC: \([^)\0]*\) [\d.]+|clang version [\d.]+")


class Finding(NamedTuple):
    """A line of the report: what was looked at, how it is, and what there is to say."""

    what: str
    state: str
    detail: str


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    from decoding.cli.terminal import add_colour, wants_colour

    colour = wants_colour(sys.stdout)
    broken = 0
    for finding in findings():
        broken += finding.state == BROKEN
        if arguments.quiet and finding.state != BROKEN:
            continue
        state = f"{finding.state:<8}"
        shown = add_colour(state, _COLOURS[finding.state]) if colour else state
        print(f"{shown} {finding.what:<24} {finding.detail}".rstrip(), flush=True)
    if not arguments.quiet:
        print(f"\n{broken} broken" if broken else "\nall is well")
    return 1 if broken else 0


def findings() -> Iterator[Finding]:
    """Iterate over all that is looked at."""
    yield Finding("python", OK, f"{platform.python_version()} on {platform.platform()}")
    yield _distribution(OWN)
    yield from name_clashes()
    for name in PACKAGES:
        yield native_module(name)
    for name in CORE:
        yield _package(name)
    yield _pynini()
    yield from extras()
    for section in (plugins, self_tests):
        try:
            yield from section()
        except Exception as problem:
            # whatever it is, it is what is being looked for
            what = section.__name__.replace("_", "-")
            yield Finding(what, BROKEN, f"{type(problem).__name__}: {_one_line(problem)}")


def _distribution(name: str) -> Finding:
    try:
        return Finding(name, OK, version(name))
    except PackageNotFoundError:
        return Finding(name, BROKEN, f"not installed: pip install {name}")


def _package(name: str) -> Finding:
    """Tell how a package is that can be imported by the name it is installed by."""
    try:
        import_module(name)
    except ImportError as problem:
        return Finding(name, BROKEN, f"{_one_line(problem)}: pip install --force-reinstall {name}")
    return _distribution(name)


def name_clashes() -> Iterator[Finding]:
    """Iterate over our packages: are they ours, and does nobody else install such names?"""
    owners = packages_distributions()
    home = _place("decoding").parent
    for name in PACKAGES:
        found = _place(name)
        others = sorted(set(owners.get(name, ())) - {OWN})
        what = f"package {name}"
        if found.parent != home:
            yield Finding(what, BROKEN, f"{found} is not the one of {home}: it stands before it")
        elif others:
            yield Finding(
                what, BROKEN, f"{', '.join(others)} installs a package of this name, too; "
                f"pip uninstall {' '.join(others)}, then pip install --force-reinstall {OWN}"
            )  # fmt: skip
        else:
            yield Finding(what, OK, f"{found}{_find_others(name, found)}")


def _place(name: str) -> Path:
    """Return the folder that a package would be imported from, without importing it."""
    spec = find_spec(name)
    return Path((spec.origin if spec else None) or "").parent


def _find_others(name: str, found: Path) -> str:
    """Return where else on the path something of this name is: harmless as long as it is later."""
    places = [
        Path(folder or os.curdir) / candidate
        for folder in sys.path
        for candidate in (f"{name}/__init__.py", f"{name}.py")
    ]
    mine = found / "__init__.py"
    others = [str(place) for place in places if place.is_file() and not place.samefile(mine)]
    return f" (hides {', '.join(dict.fromkeys(others))})" if others else ""


def native_module(name: str) -> Finding:
    """Tell whether the compiled part of a package can be loaded, and what compiled it."""
    what = f"{name}._native"
    try:
        module = import_module(what)
    except ImportError as problem:
        return Finding(what, BROKEN, f"{_one_line(problem)}: pip install --force-reinstall {OWN}")
    path = Path(module.__file__ or "")
    compilers = sorted({one.decode() for one in _COMPILER.findall(path.read_bytes())})
    return Finding(what, OK, "; ".join([path.name, *compilers]))


def _pynini() -> Finding:
    try:
        from lattices.optional import require_pynini

        require_pynini()
    except ImportError as problem:
        return Finding("pynini", MISSING, _one_line(problem))
    return Finding("pynini", OK, f"{version('pynini')}, with its own OpenFst")


def extras() -> Iterator[Finding]:
    """Iterate over the extras: installed, or the command that installs them."""
    wanted: dict[str, list[str]] = {}
    for line in requires(OWN) or ():
        found = _REQUIREMENT.match(line)
        if found is not None and found[2] not in _NOT_FOR_USERS:
            wanted.setdefault(found[2], []).append(found[1])
    for extra, names in sorted(wanted.items()):
        there, absent = [], []
        for name in names:
            try:
                there.append(f"{name} {version(name)}")
            except PackageNotFoundError:
                absent.append(name)
        what = f"extra [{extra}]"
        if absent:
            yield Finding(what, MISSING, f"{', '.join(absent)}: pip install '{OWN}[{extra}]'")
        else:
            yield Finding(what, OK, ", ".join(there))


def plugins() -> Iterator[Finding]:
    """Iterate over the kinds of plug-ins, and over those that cannot be used."""
    from decoding.corpus.writers import WRITERS
    from decoding.minimum_risk import METHODS
    from decoding.training.learners import LEARNERS
    from fstmetrics.dependency.parses import PARSERS
    from fstmetrics.signature import METRICS, NORMALISERS, SIGNIFICANCE_TESTS, SIMILARITIES
    from lattices.errors import DuplicateNameError, MissingDependencyError, PluginError
    from lattices.formats import FORMATS
    from lattices.formats.references.ids import READERS
    from lattices.intersection import ENGINES
    from lattices.registry import Registry

    kinds: tuple[Registry[Any], ...] = (
        FORMATS, READERS, ENGINES, METRICS, NORMALISERS, SIMILARITIES, PARSERS, SIGNIFICANCE_TESTS,
        METHODS, LEARNERS, WRITERS,
    )  # fmt: skip
    for registry in kinds:
        names = registry.names()
        yield Finding(registry.group.rpartition(".")[2], OK, f"{len(names)}: {', '.join(names)}")
        for name in names:
            what = f"{registry.kind} {name}"
            try:
                registry.get(name)
            except MissingDependencyError as problem:
                yield Finding(what, MISSING, _one_line(problem))
            except (PluginError, DuplicateNameError) as problem:
                yield Finding(what, BROKEN, _one_line(problem))


def self_tests() -> Iterator[Finding]:
    """Search a lattice of the demonstration with every engine: all must find the known oracle."""
    from decoding import oracle, sample_data
    from fstmetrics import GRR
    from lattices import read
    from lattices.errors import MissingDependencyError
    from lattices.formats.references import read_references
    from lattices.intersection import ENGINES
    from lattices.registry import check_requirements

    lattice = next(read(sample_data() / "s035.slf.gz"))
    known = read_references([sample_data() / "refs.txt"], [lattice.id])
    evaluator = GRR().against(known.get(lattice.id, 0))
    for name in ENGINES.names():
        what = f"self-test of {name}"
        try:
            check_requirements(ENGINES.get(name))
            found = oracle(lattice, evaluator, engine=name)
        except MissingDependencyError as problem:
            yield Finding(what, MISSING, _one_line(problem))
        except Exception as problem:
            # whatever is wrong with an engine, the others are looked at, too
            yield Finding(what, BROKEN, f"{type(problem).__name__}: {_one_line(problem)}")
        else:
            right = math.isclose(found.score, EXPECTED)
            told = f"oracle of {lattice.id}: 4-GRR {found.score:.4f}"
            rest = "" if right else f", expected {EXPECTED:.4f}"
            yield Finding(what, OK if right else BROKEN, told + rest)


def _one_line(problem: BaseException) -> str:
    return " ".join(str(problem).split())
