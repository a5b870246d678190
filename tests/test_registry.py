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
from lattices import Hypothesis, NBest
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
#: plug-ins of a module of their own, and what they are called
FAULTY = """
from dataclasses import dataclass
from decoding.minimum_risk.method import Method
from decoding.training.perceptron import Perceptron
from fstmetrics import WER
from fstmetrics.signature import Signature
from lattices.formats import Format
from lattices.intersection.openfst import OpenFstEngine

@dataclass(frozen=True, kw_only=True)
class Dividing(Method):
    name = "dividing"
    by: int = 0
    def decide(self, problem, k=1):
        return divide(1, self.by)

def divide(one, other):
    return one / other

class Saying(Dividing):
    name = "saying"
    def decide(self, problem, k=1):
        return "the cat"

class Asking(Dividing):
    name = "asking"
    def decide(self, problem, k=1):
        return problem.no_such_thing

@dataclass(kw_only=True, eq=False)
class Failing(Perceptron):
    name = "failing"
    def round(self, task):
        return self.no_such_thing

class Vague(Failing):
    name = "vague"
    def begin(self, task):
        return "fine"

class Bad(WER):
    name = "bad"

@dataclass(frozen=True, kw_only=True)
class Nested(WER):
    name = "nested"
    def against(self, references):
        found = super().against(references)
        class Inner(type(found)):
            def stats(self, hypothesis):
                return [][1]
        found.__class__ = Inner
        return found

@dataclass(frozen=True)
class Unlike(Signature):
    name = "unlike"
    def matrix(self, words, others):
        return words @ others

class Normal:
    def sentence(self, words):
        return words.lower()
    def waits(self, words):
        return False
    def covers(self, words):
        return True

class Searcher(OpenFstEngine):
    name = "searcher"
    def best(self, problems, **options):
        return [7 for _ in problems]

class Page(Format):
    name, description, kind, suffixes = "page", "pages", "nbest", (".page",)
    def write(self, stream, spaces, losses):
        return stream.nothing

PAGE, SEARCHER = Page(), Searcher()

def test(metric, stats_a, stats_b):
    return [][0]

def silent_test(metric, stats_a, stats_b):
    return 0.05

def write(table):
    return {}["x"]

def write_words(table):
    return [each.split() for each in table.column("text")] + ["x"]

def layout(file, template):
    return int(file.lines[0])

def layout_of_numbers(file, template):
    return {"s0": 7}
"""
FAULTY_POINTS = """
[decoding.methods]
dividing = faulty_parts:Dividing
saying = faulty_parts:Saying
asking = faulty_parts:Asking
bad = faulty_parts:Bad
pairwise = faulty_parts:Saying
[decoding.learners]
failing = faulty_parts:Failing
vague = faulty_parts:Vague
bad = faulty_parts:Bad
[fstmetrics.significance]
test = faulty_parts:test
silent = faulty_parts:silent_test
[fstmetrics.metrics]
nested = faulty_parts:Nested
[fstmetrics.similarities]
unlike = faulty_parts:Unlike
[fstmetrics.normalisers]
normal = faulty_parts:Normal
[lattices.engines]
searcher = faulty_parts:SEARCHER
[lattices.formats]
page = faulty_parts:PAGE
[decoding.writers]
broken = faulty_parts:write
words = faulty_parts:write_words
[lattices.references]
digits = faulty_parts:layout
numbers = faulty_parts:layout_of_numbers
"""
POINTS["faulty-parts"] = FAULTY_POINTS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two distributions."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "odd_parts.py").write_text(MODULE)
    (folder / "faulty_parts.py").write_text(FAULTY)
    (folder / "faulty_syntax.py").write_text("x = 1\ndef f(:\n")
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


def line_of(text: str) -> int:
    """Return the line of the module of faulty plug-ins that has a text."""
    return next(n for n, line in enumerate(FAULTY.splitlines(), start=1) if text in line)


@pytest.mark.parametrize("by_name", [True, False], ids=["entry point", "python"])
@pytest.mark.parametrize(
    ("argv", "kind", "name", "attribute", "problem", "line"),
    [
        (["mbr", "CATS", "--method", "NAME"], "method", "dividing", "Dividing",
         "has failed: ZeroDivisionError: division by zero", "one / other"),
        (["mbr", "CATS", "--method", "NAME", "--workers", "2"], "method", "dividing", "Dividing",
         "has failed: ZeroDivisionError: division by zero", "one / other"),
        (["mbr", "CATS", "--method", "NAME"], "method", "asking", "Asking",
         "has failed: AttributeError: 'MBRProblem' object has no attribute", "problem.no_such"),
        (["mbr", "CATS", "--method", "NAME"], "method", "saying", "Saying", "returns 't", ""),
        (["train", "CATS", "--metric", "wer", "--learner", "NAME"], "learner", "failing", "Failing",
         "has failed: AttributeError: 'Failing' object has no attribute", "self.no_such"),
        (["train", "CATS", "--metric", "wer", "--learner", "NAME"], "learner", "vague", "Vague",
         "begin gives 'fine', expected the metric of the corpus, a number", ""),
        (["compare", "text", "text", "--refs", "text", "--test", "NAME"], "significance test",
         "test", "test", "has failed: IndexError: list index out of range", "[][0]"),
        (["compare", "text", "text", "--refs", "text", "--test", "NAME"], "significance test",
         "silent", "silent_test", "returns 0.05, expected a fstmetrics.statistics.Comp", ""),
        (["oracle", "CATS", "--format", "NAME"], "writer", "broken", "write",
         "has failed: KeyError: 'x'", '{}["x"]'),
        (["oracle", "CATS", "--format", "NAME"], "writer", "words", "write_words",
         "expected a list for 1 segments", ""),
        (["score", "text", "--refs", "text", "--metric", "NAME"], "metric", "nested", "Nested",
         "has failed: IndexError: list index out of range", "[][1]"),
        (["score", "text", "--refs", "text", "--metric", "wer:similarity=NAME"], "similarity",
         "unlike", "Unlike", "has failed: TypeError: unsupported operand", "words @ others"),
        (["score", "text", "--refs", "text", "--metric", "wer:normalise=NAME"], "normaliser",
         "normal", "Normal", "has failed: AttributeError: 'tuple' object", "words.lower()"),
        (["oracle", "LATTICE", "--engine", "NAME"], "engine", "searcher", "SEARCHER",
         "returns 7 for a problem, expected a Found", ""),
        (["convert", "CATS", "--to", "NAME", "-o", "out"], "format", "page", "PAGE",
         "has failed: AttributeError: '_io.BufferedWriter' obj", "stream.nothing"),
        (["oracle", "CATS", "--refs", "text", "--refs-format", "NAME"], "reference layout",
         "digits", "layout", "has failed: ValueError: invalid literal for int()", "int(file"),
        (["oracle", "CATS", "--refs", "text", "--refs-format", "NAME"], "reference layout",
         "numbers", "layout_of_numbers", "returns ('s0', 7), expected a text for each id", ""),
    ],
)  # fmt: skip
def test_what_fails_is_named_with_its_file(
    site: Path, tmp_path: Path, argv: list[str], kind: str, name: str, attribute: str,
    problem: str, line: str, by_name: bool, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """One sentence: which plug-in, what is wrong, the file, and the line where something raised."""
    monkeypatch.chdir(tmp_path)
    spaces = [
        NBest.from_hypotheses(
            [Hypothesis(("the", "cat"), 0.0, {"x": 1.0}), Hypothesis(("a",), 0.5, {"x": -1.0})],
            id=f"s{number}", references=["the cat"],
        )
        for number in range(2)
    ]  # fmt: skip
    lattices.write(tmp_path / "cats.jsonl", spaces)
    (tmp_path / "text").write_text("s0 the cat\ns1 a cat\n")
    full = f"python:faulty_parts:{attribute}"
    what = f"the {kind} '{name}' of faulty-parts 1.5 (faulty_parts:{attribute})"
    cats(tmp_path / "lattice.jsonl", 1)
    given = {"NAME": name if by_name else full, "CATS": "cats.jsonl", "LATTICE": "lattice.jsonl"}
    for word, meant in given.items():
        argv = [each.replace(word, meant) for each in argv]
    done = run(site, *argv)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert f"{what if by_name else full} " in last
    assert problem in last
    file = site / "faulty_parts.py"
    assert (f"({file}:{line_of(line)})" if line else f"({file})") in last


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--method", "bad"], "the method 'bad' of faulty-parts 1.5 (faulty_parts:Bad) is no "),
        (["--method", "python:faulty_parts:Bad"], "python:faulty_parts:Bad is no method: it is "),
        (["--method", "python:faulty_parts:Badd"], "python:faulty_parts:Badd is not there ("),
        (["--method", "python:faulty_parts"], "'python:faulty_parts', expected python:MODULE:NAME"),
        (["--method", "python:faulty:X"], "python:faulty:X cannot be imported (No module named "),
        (["--method", "python:odd_parts_raises:X"], "python:odd_parts_raises:X cannot be loaded: "
         "ZeroDivisionError: division by zero (SITE/odd_parts_raises.py:1)"),
        (["--method", "python:odd_parts_exits:X"], "python:odd_parts_exits:X cannot be loaded: "
         "SystemExit: 3 (SITE/odd_parts_exits.py:1)"),
        (["--method", "python:faulty_syntax:X"], "python:faulty_syntax:X cannot be loaded: "
         "SyntaxError: invalid syntax (SITE/faulty_syntax.py:2)"),
        (["--method", "dividing:two=2"], "method dividing has no option '--set two' (it has "),
        (["--method", "python:faulty_parts:Dividing,by=x"], "by is a whole number, not 'x'"),
        (["--format", "xml"], "argument --format: invalid choice: 'xml'"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said_before_any_work(
    site: Path, tmp_path: Path, argv: list[str], message: str
) -> None:
    done = run(site, "mbr", cats(tmp_path / "cats.jsonl", 1), *argv)
    assert done.returncode == 2
    assert message.replace("SITE", str(site)) in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_metric_is_a_class_of_a_module(site: Path, tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 2)
    for metric in ("mine", "python:odd_parts:Mine"):
        done = run(site, "oracle", path, "--metric", metric, "--format", "text", "--workers", 2)
        assert (done.returncode, done.stdout) == (0, "the cat\nthe cat\n")
    for metric, message in {
        "python:odd_parts:NoDataclass": "python:odd_parts:NoDataclass is no metric: it is <class",
        "python:odd_parts:Mine,x=1": "python:odd_parts:Mine has no option 'x' (it has similarity)",
        "python:odd_parts_raises:Mine": "python:odd_parts_raises:Mine cannot be loaded: Zero",
    }.items():
        done = run(site, "oracle", path, "--metric", metric)
        assert done.returncode == 2
        assert message in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr


def test_one_segment_that_fails_does_not_lose_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module of the current directory, which no distribution knows."""
    (tmp_path / "mine.py").write_text(
        "from decoding import Pairwise\n"
        "class Picky(Pairwise):\n"
        "    name = 'picky'\n"
        "    def decide(self, problem, k=1):\n"
        "        if problem.spaces[0].id == 's1':\n"
        "            raise TypeError('not this one')\n"
        "        return super().decide(problem, k)\n"
    )
    monkeypatch.chdir(tmp_path)
    cats(tmp_path / "cats.jsonl", 3)
    for workers in (1, 2):
        asked = ["--method", "python:mine:Picky", "--metric", "wer", "--workers", workers]
        done = run(tmp_path, "mbr", "cats.jsonl", *asked, "--format", "kaldi")
        assert done.returncode == 1
        assert [line.split()[0] for line in done.stdout.splitlines()] == ["s0", "s2"]
        assert (
            "cats.jsonl:2: segment 's1': python:mine:Picky has failed: TypeError: not this one "
            f"({tmp_path}/mine.py:6)"
        ) in done.stderr


def test_doctor_names_what_is_broken(site: Path) -> None:
    done = run(site, "doctor")
    assert done.returncode == 1
    text = " ".join(done.stdout.split())
    for line in (
        "ok methods 11: asking, bad, consensus, dividing, edit, exact, linear, pairwise,",
        "ok learners 10: bad, failing, mert,",
        "ok significance 6: bootstrap, randomization, sign, sign-substitution, silent, test",
        "ok writers 9: broken, csv,",
        "ok references 5: ctm, digits, numbers, stm, trn",
        "broken method bad the method 'bad' of faulty-parts 1.5 (faulty_parts:Bad) is no method",
        "broken learner bad the learner 'bad' of faulty-parts 1.5 (faulty_parts:Bad) is no learner",
    ):
        assert line in text
    # a name of the library's stays its own
    assert "broken method pairwise" not in text


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
