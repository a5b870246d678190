"""The pictures of ``docs/pictures.md``, from the data that come with the package alone.

Run as ``python -m benchmarks.pictures``, which writes ``docs/pictures/*.svg``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import lattices
from decoding import density_curve, oracle, plot, sample_data
from fstmetrics import GRR, WER
from lattices import Forest, Lattice, Vocabulary
from lattices.formats.references import read_references

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SEGMENT = "s036"
#: acoustic scores are of frames: words are a tenth as sure
SCALE = 0.1


def segment() -> tuple[Lattice, str]:
    """Return the lattice that is drawn, and what was said."""
    lattice = next(lattices.read(sample_data() / f"{SEGMENT}.slf.gz"))
    assert isinstance(lattice, Lattice)
    references = read_references([sample_data() / "refs.txt"], [SEGMENT])
    return lattice, str(references.get(SEGMENT, 0)[0])


def pictures() -> Mapping[str, str]:
    """Return the pictures that are drawn without matplotlib, by name."""
    whole, said = segment()
    small = lattices.remove_epsilon(lattices.prune(whole, density=6))
    # one path for each sentence: a smaller picture
    small = lattices.minimize(lattices.determinize(small, drop_features=True))
    against = WER().against([said])
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
    words = Vocabulary(["the", "cat", "sat"])
    return {
        "lattice": str(
            small.plot(
                best=lattices.best(small),
                oracle=oracle(small, against),
                posteriors=lattices.posteriors(small, SCALE),
            )
        ),
        "forest": str(
            forest.plot(
                best=lattices.best(forest),
                oracle=oracle(forest, WER().against(["a cat looks at the house"])),
                scores=True,
            )
        ),
        "machine-wer": str(WER().against(["the cat sat"]).machine(words).plot(words)),
        "machine-grr": str(GRR().against(["the cat sat"]).machine(words).plot(words)),
    }


def main() -> None:
    """Write them all, and the curve that matplotlib draws."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / f"{name}.svg").write_text(text)
    whole, said = segment()
    curve = density_curve(whole, WER().against([said]), [1, 1.5, 2, 3, 4, 6, 8, 16, 32])
    plot(curve).save(FOLDER / "density.svg")


if __name__ == "__main__":
    main()
