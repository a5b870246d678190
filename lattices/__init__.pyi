from .algorithms import (
    best as best,
    concatenate as concatenate,
    cut as cut,
    density as density,
    determinize as determinize,
    k_best as k_best,
    minimize as minimize,
    ngram_posteriors as ngram_posteriors,
    path_count as path_count,
    path_lengths as path_lengths,
    posteriors as posteriors,
    prune as prune,
    push as push,
    remove_epsilon as remove_epsilon,
    sample as sample,
    sentence_count as sentence_count,
    to_characters as to_characters,
    to_lattice as to_lattice,
    trim as trim,
    union as union,
)
from .errors import (
    Error as Error,
    FormatError as FormatError,
    OptionError as OptionError,
    SpaceError as SpaceError,
)
from .formats import read as read, write as write
from .formats.lists.table import from_rows as from_rows
from .formats.lookup import open as open
from .formats.references import read_references as read_references
from .interop import from_fst as from_fst, to_fst as to_fst
from .interop.arrow import from_arrow as from_arrow, to_arrow as to_arrow
from .interop.generate import from_generate as from_generate
from .interop.graphs import from_networkx as from_networkx, to_networkx as to_networkx
from .interop.hypotheses import from_hypotheses as from_hypotheses
from .interop.objects import from_object as from_object
from .interop.pocketsphinx import from_pocketsphinx as from_pocketsphinx
from .interop.speech import from_k2 as from_k2, from_kaldi as from_kaldi
from .intersection.matches import find as find, find_all as find_all
from .intersection.patterns import Pattern as Pattern
from .spaces import (
    Forest as Forest,
    Hypothesis as Hypothesis,
    Lattice as Lattice,
    NBest as NBest,
    Space as Space,
)
from .spaces.features import add_feature as add_feature
from .spaces.merging import merge as merge
from .tokens.matrices import read_matrices as read_matrices
from .tokens.posteriors import from_posteriors as from_posteriors
from .tokens.words import to_words as to_words
from .vocabulary import Vocabulary as Vocabulary
