"""How near the bound of ``edit`` is to the expected edits: prints the table of ``docs/mbr.md``.

Run as ``python -m benchmarks.mbr_edit_bound``. All paths of small lattices are enumerated, and
rapidfuzz judges: the expected edits of a sentence are the mean of its distances to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

import lattices
from benchmarks.data import DATA, MULTI30K
from decoding.minimum_risk.edit import edit
from lattices import Lattice
from lattices.algorithms import path_count

SCALES = (1.0, 5.0, 15.0)
STARTS = (10, 30)
#: two sums of the same numbers differ by less
SAME = 1e-9
Words = tuple[str, ...]


class Enumerated(NamedTuple):
    """A lattice and all its sentences, with the scores of all their paths, best first."""

    lattice: Lattice
    paths: dict[Words, list[float]]
    distance: np.ndarray

    @classmethod
    def of(cls, lattice: Lattice) -> Enumerated:
        """Enumerate a lattice, and compare each of its sentences with each."""
        paths: dict[Words, list[float]] = {}
        for path in lattices.k_best(lattice, path_count(lattice)):
            paths.setdefault(path.tokens, []).append(path.score)
        return cls(lattice, paths, _distances(list(paths), list(paths)))

    def probability(self, scale: float) -> np.ndarray:
        """Return the probability of each sentence."""
        best = max(max(scores) for scores in self.paths.values())
        mass = np.array(
            [np.exp(scale * (np.array(scores) - best)).sum() for scores in self.paths.values()]
        )
        return mass / mass.sum()

    def edits(self, words: Words, probability: np.ndarray) -> float:
        """Return the expected edits of a sentence, of the lattice or not."""
        return float(_distances([words], list(self.paths))[0] @ probability)


class Row(NamedTuple):
    """What one lattice adds to the table."""

    objective: float
    expected: float
    one_best: float
    best: float

    @property
    def found(self) -> bool:
        """Whether no path has fewer expected edits."""
        return self.expected <= self.best + SAME


def _distances(some: Sequence[Words], others: Sequence[Words]) -> np.ndarray:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    return np.asarray(
        cdist(some, others, scorer=Levenshtein.distance, dtype=np.int32, workers=1), np.float64
    )


def measured(one: Enumerated, scale: float, starts: int = 1) -> Row:
    """Return the bound and the expected edits of what is chosen, and those of the best paths."""
    probability = one.probability(scale)
    every = one.distance @ probability
    found = edit(one.lattice, scale=scale, starts=starts)
    expected = one.edits(found.tokens, probability)
    # the first path is the model's best
    return Row(found.expected, expected, float(every[0]), float(every.min()))


def table(most: int = 300, paths: int = 5000, few: int = 120) -> list[str]:
    """Return the table and what is said below it.

    Parameters
    ----------
    most : int
        Lattices to read.
    paths : int
        Those with more paths are left out.
    few : int
        Lattices to begin in several places with.
    """
    source = DATA / MULTI30K["d10"]
    if not source.exists():
        return ["Not measured: the lattices of Multi30k are not here."]
    some = [
        Enumerated.of(lattice)
        for lattice in islice(lattices.read(source), most)
        if path_count(lattice) <= paths
    ]
    lines = [
        f"{len(some)} of {most} lattices have at most {paths:,} paths.",
        "",
        "| scale | objective | expected edits | of the 1-best | of the best path | best found |",
        "|---|---|---|---|---|---|",
    ]
    tight, excess = [], []
    for scale in SCALES:
        rows = [measured(one, scale) for one in some]
        total = np.array(rows).sum(axis=0)
        share = np.mean([row.found for row in rows])
        sums = " | ".join(f"{value:.3f}" for value in total)
        lines.append(f"| {scale:g} | {sums} | {share:.1%} |")
        tight.append(sum(row.objective <= row.expected + SAME for row in rows))
        excess.append(total[0] / total[1] - 1.0)
    lines += [
        "",
        f"The bound is at most {max(excess):.4%} above the truth, and equal to it for "
        f"{', '.join(map(str, tight))} lattices (scale {', '.join(f'{at:g}' for at in SCALES)}).",
    ]
    for starts in STARTS:
        for scale in (SCALES[0], SCALES[-1]):
            share = np.mean([measured(one, scale, starts).found for one in some[:few]])
            lines.append(f"starts={starts}, scale {scale:g}: {share:.1%} of {len(some[:few])}.")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
