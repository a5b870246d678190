"""What the decoder said: search spaces, their files, and exact algorithms over them."""

from __future__ import annotations

from lattices.algorithms import (
    best,
    density,
    determinize,
    inside,
    k_best,
    log_path_count,
    minimize,
    ngram_posteriors,
    outside,
    path_count,
    path_lengths,
    posteriors,
    prune,
    push,
    remove_epsilon,
    sample,
    sentence_count,
    to_characters,
    to_lattice,
    trim,
    union,
)
from lattices.algorithms.semirings import COUNT, LOG, VITERBI
from lattices.errors import Error, FormatError, OptionError, SpaceError
from lattices.formats import read, write
from lattices.formats.lists.rows import from_rows
from lattices.formats.references import read_references
from lattices.interop import from_fst, from_networkx, to_fst, to_networkx
from lattices.interop.arrow import from_arrow, to_arrow
from lattices.interop.generate import from_generate
from lattices.interop.hypotheses import from_hypotheses
from lattices.interop.pocketsphinx import from_pocketsphinx
from lattices.interop.speech import from_k2, from_kaldi
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.features import add_feature
from lattices.tokens.posteriors import from_posteriors
from lattices.tokens.words import to_words
from lattices.vocabulary import Vocabulary

__all__ = [
    "COUNT",
    "LOG",
    "VITERBI",
    "Error",
    "Forest",
    "FormatError",
    "Hypothesis",
    "Lattice",
    "NBest",
    "OptionError",
    "Space",
    "SpaceError",
    "Vocabulary",
    "add_feature",
    "best",
    "density",
    "determinize",
    "from_arrow",
    "from_fst",
    "from_generate",
    "from_hypotheses",
    "from_k2",
    "from_kaldi",
    "from_networkx",
    "from_pocketsphinx",
    "from_posteriors",
    "from_rows",
    "inside",
    "k_best",
    "log_path_count",
    "minimize",
    "ngram_posteriors",
    "outside",
    "path_count",
    "path_lengths",
    "posteriors",
    "prune",
    "push",
    "read",
    "read_references",
    "remove_epsilon",
    "sample",
    "sentence_count",
    "to_arrow",
    "to_characters",
    "to_fst",
    "to_lattice",
    "to_networkx",
    "to_words",
    "trim",
    "union",
    "write",
]
