"""What can be asked of a lattice or a forest, and what can be made of it: one module a family."""

from __future__ import annotations

from lattices.algorithms.characters import CharacterLattice, to_characters
from lattices.algorithms.counting import PathLengths
from lattices.algorithms.epsilon import remove_epsilon
from lattices.algorithms.forest_counting import sentence_count
from lattices.algorithms.forest_inside_outside import ForestPosteriors
from lattices.algorithms.forest_or_lattice import (
    best,
    best_path,
    density,
    hypotheses,
    inside,
    k_best,
    k_best_paths,
    log_path_count,
    outside,
    path_count,
    path_lengths,
    posteriors,
    sample,
    sample_paths,
    total,
)
from lattices.algorithms.forest_or_lattice_parts import (
    prune,
    prune_beam,
    prune_density,
    prune_posterior,
    trim,
    union,
)
from lattices.algorithms.forest_pruning import (
    ForestMaxMarginals,
    forest_density_mask,
    forest_max_marginals,
)
from lattices.algorithms.forest_to_lattice import forest_to_lattice
from lattices.algorithms.forest_trimming import TrimmedForest, forest_subset
from lattices.algorithms.inside_outside import Posteriors
from lattices.algorithms.ngrams import NgramPosteriors, ngram_posteriors
from lattices.algorithms.openfst_operations import determinize, minimize
from lattices.algorithms.paths import Paths
from lattices.algorithms.pruning import MaxMarginals, density_masks, max_marginals
from lattices.algorithms.push import push
from lattices.algorithms.trimming import Trimmed, subset

__all__ = [
    "CharacterLattice",
    "ForestMaxMarginals",
    "ForestPosteriors",
    "MaxMarginals",
    "NgramPosteriors",
    "PathLengths",
    "Paths",
    "Posteriors",
    "Trimmed",
    "TrimmedForest",
    "best",
    "best_path",
    "density",
    "density_masks",
    "determinize",
    "forest_density_mask",
    "forest_max_marginals",
    "forest_subset",
    "forest_to_lattice",
    "hypotheses",
    "inside",
    "k_best",
    "k_best_paths",
    "log_path_count",
    "max_marginals",
    "minimize",
    "ngram_posteriors",
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
    "sentence_count",
    "subset",
    "to_characters",
    "total",
    "trim",
    "union",
]
