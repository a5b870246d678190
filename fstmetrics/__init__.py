"""What is good: metrics as direct scorers and as weighted automata over lattices.

Metrics, their contract and :func:`parse_metric`; what is computed from scores, intervals, tests and
correlations, is in :mod:`fstmetrics.statistics`.
"""

from __future__ import annotations

from fstmetrics.alignment.family import AlignmentEvaluator, AlignmentMetric, Edit, Judgement
from fstmetrics.alignment.rates import CER, GRR, WER, WRR
from fstmetrics.contract import (
    CompiledEvaluator,
    Evaluator,
    ListEvaluator,
    Metric,
    RowScorer,
    corpus_score,
    corpus_stats,
    has_machine,
    nbest_stats,
    quality,
    scores_of,
)
from fstmetrics.dependency.bllip import Bllip, bllip_score
from fstmetrics.dependency.parses import PARSERS, Parse, ParseTable, load_parses
from fstmetrics.external.utility import Utility
from fstmetrics.machine import Machine
from fstmetrics.matching.gtm import GTM
from fstmetrics.matching.maxsim import MAXSIM
from fstmetrics.matching.meteor import METEOR
from fstmetrics.ngram.bleu import BLEU, BLEUSBP, BLEUEvaluator
from fstmetrics.ngram.document import DocumentBLEU
from fstmetrics.ngram.linear import LinearBLEU
from fstmetrics.ngram.nist import NIST, ReferenceSet
from fstmetrics.ngram.per import PER
from fstmetrics.ngram.tbleu import TBLEU
from fstmetrics.normalisation.metric import Normalised
from fstmetrics.normalisation.normalisers import NORMALISERS
from fstmetrics.signature import METRICS, SIMILARITIES, parse_metric
from fstmetrics.similarity.affix import AffixSimilarity, Similarity, affix_distance, affix_distances
from fstmetrics.similarity.modif import BLEUModif, WERModif
from fstmetrics.similarity.vectors import EmbeddingSimilarity, WordVectors, load_vectors

__all__ = [
    "BLEU",
    "BLEUSBP",
    "CER",
    "GRR",
    "GTM",
    "MAXSIM",
    "METEOR",
    "METRICS",
    "NIST",
    "NORMALISERS",
    "PARSERS",
    "PER",
    "SIMILARITIES",
    "TBLEU",
    "WER",
    "WRR",
    "AffixSimilarity",
    "AlignmentEvaluator",
    "AlignmentMetric",
    "BLEUEvaluator",
    "BLEUModif",
    "Bllip",
    "CompiledEvaluator",
    "DocumentBLEU",
    "Edit",
    "EmbeddingSimilarity",
    "Evaluator",
    "Judgement",
    "LinearBLEU",
    "ListEvaluator",
    "Machine",
    "Metric",
    "Normalised",
    "Parse",
    "ParseTable",
    "ReferenceSet",
    "RowScorer",
    "Similarity",
    "Utility",
    "WERModif",
    "WordVectors",
    "affix_distance",
    "affix_distances",
    "bllip_score",
    "corpus_score",
    "corpus_stats",
    "has_machine",
    "load_parses",
    "load_vectors",
    "nbest_stats",
    "parse_metric",
    "quality",
    "scores_of",
]
