"""Draw the pictures that README and docs show: ``make drawings`` writes docs/drawings/*.svg."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import lattices  # noqa: E402
from decoding import density_curve, oracle, plot, sample_data  # noqa: E402
from fstmetrics import GRR, WER, WRR  # noqa: E402
from lattices import Forest, Lattice, Vocabulary  # noqa: E402
from lattices.intersection.rows import RowMachine, row_product  # noqa: E402
from lattices.limits import Limits  # noqa: E402
from tests.judges import paper_machine  # noqa: E402

FOLDER = ROOT / "docs" / "drawings"
REFERENCE = "the cat sat"
#: of the bundled lattice that the first page and the one about pictures show
UTTERANCE, SAID = "s036", "she walked slowly down the street and looked into every shop window"


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    drawn = draw_all()
    for name, picture in drawn.items():
        picture.save(FOLDER / f"{name}.svg")
    # matplotlib's own, which differs from one version of it to the next
    curve = density_curve(
        _utterance(UTTERANCE), WER().against([SAID]), [1, 1.5, 2, 3, 4, 6, 8, 16, 32]
    )
    plot(curve).save(FOLDER / "density.svg")
    print(f"{len(drawn) + 1} pictures in {FOLDER.relative_to(ROOT)}")


def draw_all():
    """Return all pictures, by name."""
    return {
        "lattice": _speech(),
        "toy-lattice": _toy().plot(best="a cat sat", oracle="the cat sat", scores=True),
        "speech-lattice": _with_posteriors(),
        "forest": _forest(),
        "rule-forest": _rule_forest(),
        "rows": _rows(),
        **_machines(),
    }


def _utterance(name: str) -> Lattice:
    return next(lattices.read(sample_data() / f"{name}.slf.gz"))


def _one_path_a_sentence(lattice: Lattice, density: float) -> Lattice:
    """Return a pruned lattice that is as small as it gets."""
    small = lattices.remove_epsilon(lattices.prune(lattice, density=density))
    return lattices.minimize(lattices.determinize(small, drop_features=True))


def _with_posteriors():
    small = _one_path_a_sentence(_utterance(UTTERANCE), 6)
    return small.plot(
        best=lattices.best(small),
        oracle=oracle(small, WER().against([SAID])),
        posteriors=lattices.posteriors(small),
    )


def _speech():
    """The end of a real lattice, pruned until it can be read, with best path and oracle."""
    whole = _utterance(UTTERANCE)
    found = oracle(whole, WER().against([SAID]))
    for density in (3, 4, 5, 7, 10, 20):
        small = _one_path_a_sentence(whole, density)
        again = oracle(small, WER().against([SAID]))
        if again.score == found.score:
            end = _tail(small, 5)
            said = SAID.split()[-5:]
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
        "wer": WER().against([REFERENCE]).machine(words).plot(words),
        "grr4": GRR().against([REFERENCE]).machine(words).plot(words),
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


def _rule_forest():
    forest = Forest.from_edges(
        [
            (0, [], ["the", "cat"], -0.1), (0, [], ["a", "cat"], -0.5),
            (1, [], ["the", "house"], -0.2), (1, [], ["home"], -0.9),
            (2, [], ["sees"], -0.1), (2, [], ["looks", "at"], -0.4),
            (3, [2, 1], [0, 1], -0.1), (3, [1, 2], [1, "by", 0], -2.0),
            (4, [0, 3], [0, 1], -0.3), (4, [0, 2, 1], [0, 1, 2], -0.8),
        ],
        categories=("NP", "NP", "V", "VP", "S"),
    )  # fmt: skip
    found = oracle(forest, WER().against(["a cat looks at the house"]))
    return forest.plot(best=lattices.best(forest), oracle=found, scores=True)


def _rows():
    """The lattice in which every path has the value of its sentence."""
    arcs = [(0, 1, "the"), (0, 1, "a"), (0, 1, "one"), (1, 2, "cat"), (1, 2, "hat")]
    space = Lattice.from_arcs([*arcs, (2, 3, "sat"), (2, 3, "sad"), (2, 3, "mad")], finals=[3])
    machine = WRR().against([REFERENCE]).machine(space.vocabulary)
    product = row_product(space, RowMachine(machine.automaton, steps=3), Limits(1000))
    return product.graph.plot()


if __name__ == "__main__":
    main()
