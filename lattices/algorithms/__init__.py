"""What can be asked of a lattice, and what can be made of it: one module a family."""

from __future__ import annotations

from lattices.algorithms.best import best, best_path
from lattices.algorithms.characters import CharacterLattice, to_characters
from lattices.algorithms.counting import (
    PathLengths,
    density,
    log_path_count,
    path_count,
    path_lengths,
)
from lattices.algorithms.epsilon import remove_epsilon
from lattices.algorithms.inside_outside import Posteriors, inside, outside, posteriors, total
from lattices.algorithms.joining import union
from lattices.algorithms.kbest import k_best, k_best_paths
from lattices.algorithms.openfst_operations import determinize, minimize
from lattices.algorithms.paths import Paths, hypotheses
from lattices.algorithms.pruning import (
    MaxMarginals,
    density_masks,
    max_marginals,
    prune,
    prune_beam,
    prune_density,
    prune_posterior,
)
from lattices.algorithms.push import push
from lattices.algorithms.sampling import sample, sample_paths
from lattices.algorithms.trimming import Trimmed, subset, trim

__all__ = [
    "CharacterLattice",
    "MaxMarginals",
    "PathLengths",
    "Paths",
    "Posteriors",
    "Trimmed",
    "best",
    "best_path",
    "density",
    "density_masks",
    "determinize",
    "hypotheses",
    "inside",
    "k_best",
    "k_best_paths",
    "log_path_count",
    "max_marginals",
    "minimize",
    "outside",
    "path_count",
    "path_lengths",
    "posteriors",
    "prune",
    "prune_beam",
    "prune_density",
    "prune_posterior",
    "push",
    "remove_epsilon",
    "sample",
    "sample_paths",
    "subset",
    "to_characters",
    "total",
    "trim",
    "union",
]
