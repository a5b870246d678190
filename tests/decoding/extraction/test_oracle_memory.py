"""Searches for the worst sentence, and worker processes, stay below the memory they may have."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from pathlib import Path

import pytest

from decoding import (
    EditDistance,
    ExactRisk,
    PrefixSearch,
    corpus_oracle,
    density_curve,
    hope_fear,
    mbr,
    oracle,
    oracle_kbest,
    oracles,
    worst,
)  # fmt: skip
from fstmetrics import GRR, WER
from lattices import Forest, Lattice, OptionError
from lattices.errors import TooLargeError


def many_references(count: int = 50, words: int = 15) -> tuple[Lattice, list[str]]:
    """Return a lattice of 45 arcs, and references of which each makes the rows longer."""
    draw = random.Random(1)
    known = [f"w{number}" for number in range(12)]
    arcs = [
        (place, place + 1, word, -float(cost))
        for place in range(words)
        for cost, word in enumerate(draw.sample(known, 3))
    ]
    lengths = [draw.randint(words - 5, words + 5) for _ in range(count)]
    references = [" ".join(draw.choice(known) for _ in range(length)) for length in lengths]
    return Lattice.from_arcs(arcs, finals=[words], id="many"), references


#: prints by how much the peak grows in a search, after one that has loaded everything
GROWTH = """
import sys
from resource import RUSAGE_SELF, getrusage
from decoding import worst
from fstmetrics import GRR
from lattices import Forest
from tests.decoding.extraction.test_oracle_memory import many_references

def peak():
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

make = Forest.from_lattice if sys.argv[1] == "forest" else lambda lattice: lattice
k = int(sys.argv[2])
few, references = many_references(2, 5)
worst(make(few), GRR().against(references), k)
lattice, references = many_references()
evaluator = GRR().against(references)
before = peak()
found = worst(make(lattice), evaluator, k, memory=60_000_000)
print(peak() - before, any(each.exact for each in found))
"""


@pytest.mark.parametrize(("kind", "k"), [("lattice", 1), ("lattice", 3), ("forest", 1)])
def test_the_peak_stays_below_the_limit(kind: str, k: int) -> None:
    command = [sys.executable, "-c", GROWTH, kind, str(k)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    growth, exact = run.stdout.split()
    assert exact == "False"
    # the machine of all references, and what the allocator keeps, are not the search's
    assert int(growth) < 60_000_000 + 20_000_000


def test_more_memory_finds_no_better_sentence() -> None:
    lattice, references = many_references(20, 12)
    evaluator = GRR().against(references)
    scores = [
        worst(lattice, evaluator, memory=memory)[0].score for memory in (3_000_000, 30_000_000)
    ]
    assert scores == sorted(scores, reverse=True)


def test_within_the_limit_the_answer_is_the_same() -> None:
    lattice, references = many_references(2, 6)
    evaluator = GRR().against(references)
    for space in (lattice, Forest.from_lattice(lattice)):
        for k in (1, 4):
            free = worst(space, evaluator, k)
            held = worst(space, evaluator, k, memory=50_000_000)
            assert [(each.text, each.score) for each in held] == [
                (each.text, each.score) for each in free
            ]
            assert all(each.exact for each in held)


def test_too_little_for_any_answer_is_a_clear_error() -> None:
    lattice, references = many_references(20)
    evaluator = GRR().against(references)
    with pytest.raises(OptionError, match=r"lattice 'many' .* needs more than 1,000 bytes"):
        worst(lattice, evaluator, memory=1000)
    with pytest.raises(OptionError, match="at least 1"):
        worst(lattice, evaluator, memory=0)


#: runs the command with two workers, and prints the peak of the larger one in MB
WORKERS = """
import sys
from resource import RUSAGE_CHILDREN, getrusage
from decoding.cli.main import main
code = main(sys.argv[1:])
unit = 2**20 if sys.platform == "darwin" else 2**10
print(getrusage(RUSAGE_CHILDREN).ru_maxrss / unit)
sys.exit(code)
"""


def test_a_worker_is_small(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz"
    command = [sys.executable, "-c", WORKERS, "oracle", str(source), "--metric", "grr"]
    command += ["--workers", "2", "-q", "-o", str(tmp_path / "out.tsv")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert 10.0 < float(run.stdout) < 80.0


#: functions that have the argument, and what they find
SEARCHES = {
    "oracle": lambda space, judge, **given: oracle(space, judge, **given),
    "oracles": lambda space, judge, **given: oracles([space], [judge], workers=2, **given),
    "oracle_kbest": lambda space, judge, **given: oracle_kbest(space, judge, 2, **given),
    "worst": lambda space, judge, **given: worst(space, judge, **given),
    "hope_fear": lambda space, judge, **given: hope_fear(space, judge, **given),
    "corpus_oracle": lambda space, judge, **given: corpus_oracle(
        [space], [judge.references], judge.metric, **given
    ),
    "density_curve": lambda space, judge, **given: density_curve(space, judge, [2], **given),
    "edit": lambda space, judge, **given: mbr(space, WER(), method=EditDistance(**given)),
    "exact": lambda space, judge, **given: mbr(space, WER(), method=ExactRisk(**given)),
    "search": lambda space, judge, **given: mbr(space, WER(), method=PrefixSearch(**given)),
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("kind", ["lattice", "forest"])
def test_every_search_honours_the_memory(name: str, kind: str) -> None:
    lattice, references = many_references(2, 5)
    # densities are for lattices
    of_forest = kind == "forest" and name != "density_curve"
    space = Forest.from_lattice(lattice) if of_forest else lattice
    judge = GRR().against(references)
    assert SEARCHES[name](space, judge, memory=10**8)
    try:
        found = SEARCHES[name](space, judge, memory=100)
    except (TooLargeError, OptionError) as problem:
        told = str(problem)
    else:
        # what is not refused is labelled
        exact = any(each.exact for each in (found if isinstance(found, list) else [found]))
        told = "called exact" if exact else "labelled: beyond the memory"
    assert "memory" in told


#: a search that is allowed more memory than the process can have
NO_MEMORY = """
import resource, sys
from decoding import oracles
from fstmetrics import WER
from lattices import Lattice
from lattices.errors import TooLargeError

# no cut is narrow: each of 40,000 states leads to the last one
wide = [arc for at in range(1, 40_000) for arc in ((0, at, "a"), (at, 40_000, "b"))]
lattice = Lattice.from_arcs(wide, finals=[40_000], id="wide")
judge = WER().against(["a " * 20_000])
resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))
try:
    oracles([lattice] * 2, [judge] * 2, workers=int(sys.argv[1]), memory=10**12)
except TooLargeError as problem:
    print(problem)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is Linux's")
@pytest.mark.parametrize("workers", [1, 2])
def test_an_allocation_that_fails_is_an_error(workers: int) -> None:
    command = [sys.executable, "-c", NO_MEMORY, str(workers)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "not enough memory" in run.stdout


def test_no_assert_is_left_in_the_library() -> None:
    root = Path(__file__).resolve().parents[3]
    for package in ("lattices", "fstmetrics", "decoding"):
        for path in (root / package).rglob("*.py"):
            found = [
                each
                for each in ast.walk(ast.parse(path.read_text()))
                if isinstance(each, ast.Assert)
            ]
            assert not found, f"{path}: raise an error of lattices.errors instead"
