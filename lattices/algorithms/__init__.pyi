from .characters import CharacterLattice as CharacterLattice, to_characters as to_characters
from .counting import (
    PathLengths as PathLengths,
    density as density,
    log_path_count as log_path_count,
    path_count as path_count,
    path_lengths as path_lengths,
    sentence_count as sentence_count,
)
from .determinize import determinize as determinize, minimize as minimize, push as push
from .epsilon import allow_deletion as allow_deletion, remove_epsilon as remove_epsilon
from .expansion import to_lattice as to_lattice
from .kbest import (
    best as best,
    best_path as best_path,
    best_words as best_words,
    k_best as k_best,
    k_best_paths as k_best_paths,
)
from .ngrams import NgramPosteriors as NgramPosteriors, ngram_posteriors as ngram_posteriors
from .paths import Paths as Paths, hypotheses as hypotheses
from .posteriors import (
    Posteriors as Posteriors,
    inside as inside,
    outside as outside,
    posteriors as posteriors,
    total as total,
)
from .pruning import (
    MaxMarginals as MaxMarginals,
    density_masks as density_masks,
    max_marginals as max_marginals,
    prune as prune,
    prune_beam as prune_beam,
    prune_density as prune_density,
    prune_posterior as prune_posterior,
)
from .sampling import sample as sample, sample_paths as sample_paths
from .trimming import Trimmed as Trimmed, subset as subset, trim as trim
from .union import concatenate as concatenate, cut as cut, union as union
