"""What to choose: oracles, minimum-Bayes-risk decisions, and training, alone and over a corpus.

Names are listed in ``__init__.pyi`` and loaded when they are first used: the import costs nothing.
"""

from lattices.registry import attach

#: where names are that were here before
_MOVED = {
    "CorpusOracle": "decoding.extraction.corpus_oracle",
    "DensityPoint": "decoding.extraction.oracle_search",
    "Search": "decoding:PrefixSearch",
    "ExpectedBLEU": "decoding.training.risk.xbleu",
    "HopeFear": "decoding.training.hope_fear",
    "InfoTask": "decoding.tasks.info",
    "VocabularyWarning": "fstmetrics.vocabulary_warning",
    "SizePoint": "decoding.extraction.oracle_search",
    "evidence_of": "decoding.minimum_risk.evidence",
    "statistics_front": "decoding.extraction.corpus_oracle",
}
__getattr__, __dir__, __all__ = attach(__name__, __file__, _MOVED)
