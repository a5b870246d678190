"""Plug-ins of other distributions, good and broken ones, as pip would have installed them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import lattices
from fstmetrics import WER, parse_metric
from fstmetrics.contract import METRICS, SIMILARITIES
from fstmetrics.dependency.parses import PARSERS
from lattices.errors import FormatError, PluginError, UnknownNameError
from lattices.formats import FORMATS, Format, format_of
from lattices.formats.reading import find_claimants
from lattices.formats.system_outputs import format_of_output
from lattices.intersection import ENGINES
from lattices.registry import Registry
from tests.decoding.cli.commandline import cats

MODULE = '''
from dataclasses import dataclass
from lattices.formats.base import Format
from fstmetrics import WER

class Bare:
    """All that reading takes, but none of the rest."""
    name, description, kind, suffixes = "bare", "bare lines", "nbest", (".bare",)
    def sniff(self, head): return False
    def records(self, stream, path): return iter(())
    def parse(self, record, vocabulary): raise ValueError
    def write(self, stream, spaces, losses): pass

class Nervous(Format):
    name, description, kind, suffixes = "nervous", "cannot look", "lattice", (".nervous",)
    def sniff(self, head): raise IndexError("no such byte")

class Letters(Nervous):
    name, suffixes = "letters", ".jsonl"

class Good(Nervous):
    name, description = "good", "a good one"
    def sniff(self, head): return False

@dataclass(frozen=True, kw_only=True)
class Mine(WER):
    """WER under a name of my own."""
    name = "mine"

@dataclass(frozen=True, kw_only=True)
class Liar(WER):
    """Statistics that are not as many as their names."""
    name = "liar"
    def against(self, references):
        evaluator = super().against(references)
        evaluator.stats = lambda words: ["x"]
        return evaluator

def no_model():
    raise RuntimeError("no model")

def none():
    return lambda text: None

class NoDataclass:
    def against(self, references): pass

BARE, NERVOUS, LETTERS, GOOD, NUMBER = Bare(), Nervous(), Letters(), Good(), 7
'''
POINTS = {
    "odd-parts": """
[lattices.formats]
bare = odd_parts:BARE
letters = odd_parts:LETTERS
nervous = odd_parts:NERVOUS
good = odd_parts:GOOD
gone = odd_parts_gone:FORMAT
raises = odd_parts_raises:FORMAT
exits = odd_parts_exits:FORMAT
nothing = odd_parts:NOTHING
twice = odd_parts:GOOD
jsonl = odd_parts:GOOD
[fstmetrics.metrics]
mine = odd_parts:Mine
liar = odd_parts:Liar
no-dataclass = odd_parts:NoDataclass
number = odd_parts:NUMBER
raises = odd_parts_raises:METRIC
wer = odd_parts:Mine
[fstmetrics.similarities]
raises = odd_parts_raises:SIMILARITY
number = odd_parts:NUMBER
[fstmetrics.parsers]
number = odd_parts:NUMBER
[fstmetrics.normalisers]
no-model = odd_parts:no_model
none = odd_parts:none
[lattices.engines]
aaa = odd_parts_raises:ENGINE
number = odd_parts:NUMBER
""",
    "more-parts": """
[lattices.formats]
twice = odd_parts:NERVOUS
""",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two distributions."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "odd_parts.py").write_text(MODULE)
    (folder / "odd_parts_raises.py").write_text("1 / 0\n")
    (folder / "odd_parts_exits.py").write_text("raise SystemExit(3)\n")
    for name, points in POINTS.items():
        about = folder / f"{name.replace('-', '_')}-1.5.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        (about / "entry_points.txt").write_text(points)
    return folder


def run(site: Path, *argv: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "decoding.cli.main", *map(str, argv)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(site)},
    )


def test_listing_formats_names_what_is_broken(site: Path) -> None:
    done = run(site, "formats")
    assert done.returncode == 0
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "a good one" in rows["good"]
    for name, reason in {
        "bare": "BARE) is no format: Bare has no 'options', 'write_options', 'single',",
        "letters": "its suffixes are '.jsonl', expected a tuple",
        "gone": "cannot be loaded: ModuleNotFoundError",
        "raises": "cannot be loaded: ZeroDivisionError: division by zero",
        "exits": "cannot be loaded: SystemExit: 3",
        "nothing": "cannot be loaded: AttributeError",
    }.items():
        assert f"not available: the format '{name}' of odd-parts 1.5 (odd_parts" in rows[name]
        assert reason in rows[name]
    assert "two formats are named 'twice': those of " in rows["twice"]
    assert "more-parts 1.5 (odd_parts:NERVOUS)" in rows["twice"]
    assert "odd-parts 1.5 (odd_parts:GOOD)" in rows["twice"]
    # a name of the library's stays its own
    assert "JSON" in rows["jsonl"]
    assert done.stderr.startswith("fstmetrics: warning: two formats are named 'jsonl': those of ")
    assert "odd-parts 1.5 (odd_parts:GOOD)" in done.stderr
    assert done.stderr.count("\n") == 1


def test_listing_metrics_names_what_is_broken(site: Path) -> None:
    done = run(site, "metrics")
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    assert "mine WER under a name of my own." in text
    for reason in (
        "the metric 'no-dataclass' of odd-parts 1.5 (odd_parts:NoDataclass) is no metric: it is",
        "the metric 'number' of odd-parts 1.5 (odd_parts:NUMBER) is no metric: it is 7, expected",
        "the metric 'raises' of odd-parts 1.5 (odd_parts_raises:METRIC) cannot be loaded: Zero",
    ):
        assert f"not available: {reason}" in text
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_what_uses_none_of_them_works(site: Path, tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 2)
    out = tmp_path / "out.jsonl"
    for argv in (
        ["oracle", path, "--metric", "grr", "-q"],
        ["oracle", path, "--metric", "mine", "-q", "--workers", 2],
        ["oracle", path, "--metric", "grr", "-q", "--input-format", "jsonl", "--engine", "kernel"],
        ["mbr", path, "--metric", "grr", "-q"],
        ["convert", path, "-o", out],
        ["info", path],
    ):
        done = run(site, *argv)
        assert done.returncode == 0, (argv, done.stderr)
        assert "Traceback" not in done.stderr
    assert [space.id for space in lattices.read(out)] == ["s0", "s1"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--input-format", "bare"], "the format 'bare' of odd-parts 1.5 (odd_parts:BARE) is no "),
        (["--input-format", "raises"], "the format 'raises' of odd-parts 1.5 (odd_parts_raises:"),
        (["--input-format", "twice"], "two formats are named 'twice': those of "),
        (["--metric", "raises"], "the metric 'raises' of odd-parts 1.5 (odd_parts_raises:METRIC)"),
        (["--metric", "wrr:similarity=raises"], "the similarity 'raises' of odd-parts 1.5"),
        (["--metric", "wrr:similarity=number"], "the similarity 'number' of odd-parts 1.5"),
        (["--metric", "bllip:parser=number:x"], "the parser 'number' of odd-parts 1.5"),
        (["--metric", "wer:normalise=no-model"], "the normaliser 'no-model' of odd-parts 1.5 "
         "(odd_parts:no_model) cannot be made: RuntimeError: no model"),
        (["--engine", "aaa"], "the engine 'aaa' of odd-parts 1.5 (odd_parts_raises:ENGINE) cannot"),
        (["--engine", "number"], "the engine 'number' of odd-parts 1.5 (odd_parts:NUMBER) is no "
         "engine: int has no 'name', 'can_run', 'best'"),
    ],
)  # fmt: skip
def test_what_uses_one_says_which(
    site: Path, tmp_path: Path, flags: list[str], message: str
) -> None:
    done = run(site, "oracle", cats(tmp_path / "cats.jsonl", 2), *flags)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith(f"fstmetrics: error: {message}")
    assert "Traceback" not in done.stderr


def test_what_lies_is_told(site: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("u1 the cat\n")
    for metric, message in {
        "liar": "the metric liar has the statistics ['x'] for a segment, expected 5 numbers: match",
        "wer:normalise=none": "a normaliser makes None of 'the', expected text",
    }.items():
        done = run(
            site, "score", tmp_path / "text", "--refs", tmp_path / "text", "--metric", metric
        )
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_an_import_that_takes_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    told = Event()

    class Slow(EntryPoint):
        def load(self) -> int:
            assert told.wait(60)
            return 7

    def warn(message: str) -> None:
        said.append(message)
        told.set()

    monkeypatch.setattr("lattices.registry.PATIENCE", 0.01)
    monkeypatch.setattr("lattices.registry.warnings.warn", warn)
    numbers: Registry[int] = Registry("example.numbers", "number")
    monkeypatch.setattr(
        numbers, "_points", {"slow": [Slow("slow", "parts:SLOW", "example.numbers")]}
    )
    assert numbers.get("slow") == 7
    place = "an unnamed distribution (parts:SLOW)"
    assert said == [f"the number 'slow' of {place} is still being imported"]


def test_a_file_that_nobody_knows(site: Path, tmp_path: Path) -> None:
    """It may be one of the format that is broken."""
    path = tmp_path / "x.bare"
    path.write_bytes(b"\x00\x01\x02")
    done = run(site, "info", path)
    assert done.returncode == 2
    assert "looks like none of the known formats" in done.stderr
    assert "the format 'bare' of odd-parts 1.5" in done.stderr


def test_listing_loads_nothing(site: Path) -> None:
    program = "from lattices.formats import FORMATS; print(*FORMATS.names())"
    env = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True, text=True, check=True, env=env,
    )  # fmt: skip
    assert {"exits", "raises", "twice", "jsonl"} <= set(done.stdout.split())


@pytest.mark.parametrize("registry", [FORMATS, METRICS, SIMILARITIES, ENGINES, PARSERS])
def test_other_words_for_names(registry: Registry[Any]) -> None:
    """Each stands for a name that there is, and is none itself; case makes no difference."""
    for alias, name in registry._aliases.items():
        assert name in registry.names()
        assert alias not in registry.names()
        assert registry.resolve_name(alias.upper()) == name
    for name in registry.names():
        assert registry.resolve_name(name.upper().replace("-", "_")) == name


def test_names_as_people_write_them(tmp_path: Path) -> None:
    for spec in ("WER", "Wer", "word_error_rate"):
        assert parse_metric(spec) == WER()
    assert str(parse_metric("BLEU_SBP:order=2")).startswith("bleu-sbp:order=2")
    with pytest.raises(UnknownNameError, match="no metric named 'WRE'; did you mean wrr or wer"):
        parse_metric("WRE")
    space = next(lattices.read(cats(tmp_path / "a.jsonl", 1, refs=False)))
    lattices.write(tmp_path / "x", [space], "SLF")
    assert next(lattices.read(tmp_path / "x", "slf")).num_arcs == space.num_arcs


def test_what_is_registered_is_looked_at() -> None:
    with pytest.raises(PluginError, match="'seven' is no metric: it is 7, expected"):
        METRICS.register("seven", 7)
    with pytest.raises(PluginError, match="'seven' is no format: int has no 'name'"):
        FORMATS.register("seven", 7)
    assert "seven" not in METRICS.names()


def test_names_of_the_library_need_no_look_at_what_is_installed(site: Path) -> None:
    program = """
import sys
from fstmetrics.contract import METRICS, NORMALISERS
from lattices.formats import FORMATS
from lattices.intersection import ENGINES
for registry, name in ((FORMATS, "JSONL"), (ENGINES, "kernel"), (METRICS, "Bleu_SBP"),
                       (NORMALISERS, "nfkc")):
    registry.get(name)
print("importlib.metadata" in sys.modules, METRICS.get("mine").name, FORMATS.get("slf").name)
"""
    env = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True, text=True, check=True, env=env,
    )  # fmt: skip
    assert done.stdout.split() == ["False", "mine", "htk"]


class Prose(Format):
    """Claims every file."""

    name, description, kind, suffixes = "prose", "lines of words", "nbest", (".prose",)

    def sniff(self, head: bytes) -> bool:
        return True


def test_formats_of_others_are_asked(tmp_path: Path) -> None:
    """Unless suffix and content are those of one of the library's."""
    FORMATS.register("prose", Prose())
    try:
        words = b"the cat sat\n"
        assert [entry.name for entry in find_claimants(words)] == ["prose"]
        assert format_of_output(words, None).name == "prose"
        (tmp_path / "x.txt").write_bytes(words)
        assert format_of(tmp_path / "x.txt").name == "prose"
        for name, found in (("a.jsonl", "jsonl"), ("a.prose", "prose")):
            assert format_of(cats(tmp_path / name, 1)).name == found
        with pytest.raises(FormatError, match="could be any of jsonl, prose"):
            format_of(cats(tmp_path / "a.txt", 1))
    finally:
        FORMATS.unregister("prose")
