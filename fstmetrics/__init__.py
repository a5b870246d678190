"""What is good: metrics as direct scorers and as weighted automata over lattices."""

from __future__ import annotations

from fstmetrics.alignment import AlignmentEvaluator, AlignmentMetric
from fstmetrics.bleu import BLEU, BLEUSBP, BLEUEvaluator
from fstmetrics.bllip import Bllip, bllip_score
from fstmetrics.correlation import correlate, correlate_systems, graded_kappa, kappa, wmt_tau
from fstmetrics.dependencies import Parse, ParseTable, load_parses
from fstmetrics.dependencies_parsers import PARSERS
from fstmetrics.edit import CER, WER, WRR
from fstmetrics.embedding import BLEUModif, WERModif
from fstmetrics.judgement import Edit, Judgement
from fstmetrics.machines import Machine
from fstmetrics.metric import (
    CompiledEvaluator,
    Evaluator,
    ListEvaluator,
    Metric,
    corpus_score,
    corpus_stats,
    has_machine,
    nbest_stats,
    quality,
)
from fstmetrics.ngram import GRR
from fstmetrics.per import PER
from fstmetrics.row_scores import RowScorer, scores_of
from fstmetrics.signature import METRICS, SIMILARITIES, parse_metric
from fstmetrics.significance import (
    Comparison,
    Estimate,
    Interval,
    bootstrap,
    paired_bootstrap,
    randomization,
    sign_test,
    substitution_test,
)
from fstmetrics.similarity import AffixSimilarity, Similarity, affix_distance, affix_distances
from fstmetrics.sweeps import SweepPoint, threshold_sweep
from fstmetrics.tbleu import TBLEU
from fstmetrics.vectors import EmbeddingSimilarity, WordVectors, load_vectors

__all__ = [
    "BLEU",
    "BLEUSBP",
    "CER",
    "GRR",
    "METRICS",
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
    "Comparison",
    "CompiledEvaluator",
    "Edit",
    "EmbeddingSimilarity",
    "Estimate",
    "Evaluator",
    "Interval",
    "Judgement",
    "ListEvaluator",
    "Machine",
    "Metric",
    "Parse",
    "ParseTable",
    "RowScorer",
    "Similarity",
    "SweepPoint",
    "WERModif",
    "WordVectors",
    "affix_distance",
    "affix_distances",
    "bllip_score",
    "bootstrap",
    "corpus_score",
    "corpus_stats",
    "correlate",
    "correlate_systems",
    "graded_kappa",
    "has_machine",
    "kappa",
    "load_parses",
    "load_vectors",
    "nbest_stats",
    "paired_bootstrap",
    "parse_metric",
    "quality",
    "randomization",
    "scores_of",
    "sign_test",
    "substitution_test",
    "threshold_sweep",
    "wmt_tau",
]
