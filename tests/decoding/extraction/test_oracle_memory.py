"""Searches for the worst sentence, and worker processes, stay below the memory they may have."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from decoding import worst
from fstmetrics import GRR
from lattices import Forest, Lattice, OptionError


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
