"""Everything but OpenFst's own operations works where pynini is not installed."""

from __future__ import annotations

import subprocess
import sys

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
