"""Draw the pictures that README and docs show: ``make drawings`` writes docs/drawings/*.svg."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import lattices  # noqa: E402
from decoding import oracle, sample_data  # noqa: E402
from fstmetrics import GRR, WER, WRR  # noqa: E402
from lattices import Forest, Lattice, Vocabulary  # noqa: E402
from lattices.intersection.rows import RowMachine, row_product  # noqa: E402
from tests.judges import paper_machine  # noqa: E402

FOLDER = ROOT / "docs" / "drawings"
REFERENCE = "the cat sat"
#: of the bundled lattice that the first page shows
UTTERANCE, SAID = "s049", "the train to london leaves from platform nine at half past seven"


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    drawn = draw_all()
    for name, picture in drawn.items():
        picture.save(FOLDER / f"{name}.svg")
    print(f"{len(drawn)} pictures in {FOLDER.relative_to(ROOT)}")


def draw_all():
    """Return all pictures, by name."""
    return {
        "lattice": _speech(),
        "toy-lattice": _toy().plot(best="a cat sat", oracle="the cat sat", scores=True),
        "forest": _forest(),
        "rows": _rows(),
        **_machines(),
    }


def _speech():
    """The end of a real lattice, pruned until it can be read, with best path and oracle."""
    whole = next(lattices.read(sample_data() / f"{UTTERANCE}.slf.gz"))
    found = oracle(whole, WER().against([SAID]))
    for density in (1.5, 2, 2.5, 3, 4, 5, 7, 10, 20):
        small = lattices.remove_epsilon(lattices.prune(whole, density=density))
        # one path for each sentence: a smaller picture
        small = lattices.minimize(lattices.determinize(small, drop_features=True))
        again = oracle(small, WER().against([SAID]))
        if again.score == found.score:
            end = _tail(small, 5)
            said = SAID.split()[-4:]
            return end.plot(best=lattices.best(end), oracle=oracle(end, WER().against([said])))
    raise SystemExit("no pruned lattice holds the oracle")


def _tail(lattice: Lattice, words: int) -> Lattice:
    """Return what follows the last state that all paths share, so many words before the end."""
    arcs = list(zip(lattice.src.tolist(), lattice.dst.tolist(), strict=True))
    left = dict.fromkeys(range(lattice.num_states), 0)  # words to the end, at most
    for src, dst in reversed(arcs):
        left[src] = max(left[src], left[dst] + 1)
    first = max(
        state
        for state in left
        if left[state] >= words and not any(src < state < dst for src, dst in arcs)
    )
    spoken = [lattice.vocabulary.word(label) for label in lattice.label]
    kept = [
        (src - first, dst - first, word, score)
        for (src, dst), word, score in zip(arcs, spoken, lattice.score.tolist(), strict=True)
        if src >= first
    ]
    ends = enumerate(lattice.final.tolist())
    finals = {state - first: score for state, score in ends if score > float("-inf")}
    return Lattice.from_arcs(kept, finals, id=f"the end of {lattice.id}")


def _toy() -> Lattice:
    return Lattice.from_arcs(
        [
            (0, 1, "the", -0.9),
            (0, 1, "a", -0.7),
            (1, 2, "cat", -0.4),
            (1, 2, "hat", -1.1),
            (2, 3, "sat", -0.2),
            (2, 3, "sad", -0.9),
        ],
        finals=[3],
        vocabulary=Vocabulary([*REFERENCE.split(), "a", "hat", "sad"]),
    )


def _machines():
    words = Vocabulary(REFERENCE.split())
    short = "the cat"
    return {
        "wrr": WRR().against([REFERENCE]).machine(words).plot(words),
        "grr-paper": paper_machine(short.split(), GRR(n=2), words).plot(words),
        "grr": GRR(n=2).against([short]).machine(words).plot(words),
    }


def _forest():
    forest = Forest.from_edges(
        [
            (0, [], ["cat"], -0.1),
            (0, [], ["dog"], -0.5),
            (1, [0], ["the", 0], -0.2),
            (1, [0], ["a", 0], -0.1),
            (2, [1], [0, "sleeps"], -0.3),
            (2, [1], ["there", "sleeps", 0], -0.6),
        ]
    )
    found = oracle(forest, WER().against(["the dog sleeps"]))
    return forest.plot(best=lattices.best(forest), oracle=found)


def _rows():
    """The lattice in which every path has the value of its sentence."""
    arcs = [(0, 1, "the"), (0, 1, "a"), (0, 1, "one"), (1, 2, "cat"), (1, 2, "hat")]
    space = Lattice.from_arcs([*arcs, (2, 3, "sat"), (2, 3, "sad"), (2, 3, "mad")], finals=[3])
    machine = WRR().against([REFERENCE]).machine(space.vocabulary)
    product = row_product(space, RowMachine(machine.automaton, steps=3), budget=1000)
    return product.graph.plot()


if __name__ == "__main__":
    main()
