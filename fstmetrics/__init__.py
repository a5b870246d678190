"""What is good: metrics as direct scorers and as weighted automata over lattices.

Metrics, their contract and :func:`parse_metric`; what is computed from scores, intervals, tests and
correlations, is in :mod:`fstmetrics.statistics`.
Names are listed in ``__init__.pyi`` and loaded when they are first used.
"""

from lattices.registry import attach

#: where names are that were here before
_MOVED = {
    "AlignmentEvaluator": "fstmetrics.alignment.metric",
    "AlignmentMetric": "fstmetrics.alignment.metric",
    "BLEUEvaluator": "fstmetrics.ngram.bleu",
    "CompiledEvaluator": "fstmetrics.contract",
    "METRICS": "fstmetrics.contract",
    "Edit": "fstmetrics.alignment.metric",
    "Judgement": "fstmetrics.alignment.metric",
    "Machine": "fstmetrics.contract",
    "NORMALISERS": "fstmetrics.contract",
    "PARSERS": "fstmetrics.dependency.parses",
    "Parse": "fstmetrics.dependency.parses",
    "ReferenceSet": "fstmetrics.ngram.nist",
    "SIMILARITIES": "fstmetrics.contract",
    "Similarity": "fstmetrics.similarity.affix",
    "WordVectors": "fstmetrics.similarity.vectors",
    "affix_distance": "fstmetrics.similarity.affix",
    "affix_distances": "fstmetrics.similarity.affix",
    "bllip_score": "fstmetrics.dependency.bllip",
    "has_machine": "fstmetrics.contract",
    "intersect_with_origin": "fstmetrics.product",
    "nbest_stats": "fstmetrics.contract",
    "quality": "fstmetrics.contract",
    "scores_of": "fstmetrics.contract",
}
__getattr__, __dir__, __all__ = attach(__name__, __file__, _MOVED)
