"""Everything but OpenFst's own operations works where pynini is not installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from decoding import sample_data

SCRIPT = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pynini", "_pynini", "pywrapfst", "_pywrapfst"):
            raise ImportError("hidden by the test")

sys.meta_path.insert(0, Hidden())

import lattices
from decoding import density_curve, oracle, oracle_kbest, worst
from fstmetrics import GRR, WER
from lattices.errors import EngineError, MissingDependencyError

lattice = lattices.Lattice.from_arcs(
    [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "hat", -0.2), (1, 2, "cat", -0.7)], finals=[2]
)
for metric in (GRR(), WER()):
    evaluator = metric.against(["the cat"])
    assert oracle(lattice, evaluator).text == "the cat"
    assert worst(lattice, evaluator)[0].text == "a hat"
    assert len(oracle_kbest(lattice, evaluator, 3)) == 3
    assert len(density_curve(lattice, evaluator, [1, 2])) == 2
assert lattices.best(lattices.push(lattice)).text == "a hat"
lattices.write(sys.argv[1], [lattice], "openfst")
assert [each.text for each in next(lattices.read(sys.argv[1])).paths()] == [
    path.text for path in lattice.paths()
]
for operation in (lattices.determinize, lattices.minimize, lattices.to_fst):
    try:
        operation(lattice)
    except MissingDependencyError as problem:
        assert "pip install pynini" in str(problem)
    else:
        raise SystemExit(f"{operation} did without pynini")
try:
    oracle(lattice, evaluator, engine="openfst")
except EngineError as problem:
    assert "pynini" in str(problem)
else:
    raise SystemExit("the openfst engine did without pynini")
assert not any(name.startswith(("pynini", "pywrapfst")) for name in sys.modules)
print("fine")
"""


def test_the_kernel_does_without_pynini(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "lattice.fst")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "fine", done.stderr


COMMANDS = """
import sys
sys.path.append(sys.argv[1])
from decoding.cli.main import main
some = sys.argv[2:]
for argv in (["demo"], ["mbr", *some, "--metric", "wer"], ["nbest", *some, "-k", "2"]):
    assert main(argv) in (0, None), argv
print(sorted({"pynini", "_pynini", "pyarrow"} & sys.modules.keys()), file=sys.stderr)
"""
NEEDED = ("lazy_loader", "networkx", "numpy", "scipy")


def test_commands_do_with_the_needed_packages_alone(tmp_path):
    """In a folder that has these and ours, and with no other on the path."""
    for name in NEEDED:
        place = Path(find_spec(name).origin).parent
        for each in (place, place.with_name(f"{name}.libs")):
            if each.exists():
                (tmp_path / each.name).symlink_to(each)
    for name in ("lattices", "fstmetrics", "decoding"):
        (tmp_path / name).mkdir()
        for each in Path(find_spec(name).origin).parent.iterdir():
            if not each.name.startswith("_native."):
                (tmp_path / name / each.name).symlink_to(each)
        # an editable installation keeps it elsewhere
        native = Path(find_spec(f"{name}._native").origin)
        (tmp_path / name / native.name).symlink_to(native)
    some = [str(each) for each in sorted(sample_data().glob("s03[56].slf.gz"))]
    assert some
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", COMMANDS, str(tmp_path), *some],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip().endswith("[]"), done.stderr
