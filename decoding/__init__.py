"""What to choose: oracles, minimum-Bayes-risk decisions, and training, alone and over a corpus.

Names are listed in ``__init__.pyi`` and loaded when they are first used: the import costs nothing.
"""

from lattices.registry import attach

#: where names are that were here before
_MOVED = {
    "DensityPoint": "decoding.extraction.oracle",
    "Search": "decoding:PrefixSearch",
    "SizePoint": "decoding.extraction.oracle",
    "evidence_of": "decoding.minimum_risk.evidence",
    "statistics_front": "decoding.extraction.corpus_oracle",
}
__getattr__, __dir__, __all__ = attach(__name__, __file__, _MOVED)
