"""Algorithms over lattices and forests, one module a family."""

from __future__ import annotations

from lattices.algorithms.characters import CharacterLattice, to_characters
from lattices.algorithms.counting import (
    PathLengths,
    density,
    log_path_count,
    path_count,
    path_lengths,
    sentence_count,
)
from lattices.algorithms.determinize import determinize, minimize, push
from lattices.algorithms.epsilon import remove_epsilon
from lattices.algorithms.expansion import to_lattice
from lattices.algorithms.kbest import best, best_path, best_words, k_best, k_best_paths
from lattices.algorithms.ngrams import NgramPosteriors, ngram_posteriors
from lattices.algorithms.paths import Paths, hypotheses
from lattices.algorithms.posteriors import (
    Posteriors,
    inside,
    outside,
    posteriors,
    total,
)
from lattices.algorithms.pruning import (
    MaxMarginals,
    density_masks,
    max_marginals,
    prune,
    prune_beam,
    prune_density,
    prune_posterior,
)
from lattices.algorithms.sampling import sample, sample_paths
from lattices.algorithms.trimming import Trimmed, subset, trim
from lattices.algorithms.union import union

__all__ = [
    "CharacterLattice",
    "MaxMarginals",
    "NgramPosteriors",
    "PathLengths",
    "Paths",
    "Posteriors",
    "Trimmed",
    "best",
    "best_path",
    "best_words",
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
    "to_lattice",
    "total",
    "trim",
    "union",
]
