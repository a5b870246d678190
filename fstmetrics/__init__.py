"""What is good: metrics as direct scorers and as weighted automata over lattices."""

from __future__ import annotations

from fstmetrics.aligning import Edit
from fstmetrics.alignment import AlignmentEvaluator, AlignmentMetric, Judgement
from fstmetrics.edit import CER, WER, WRR
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
from fstmetrics.signature import METRICS, SIMILARITIES, parse_metric
from fstmetrics.similarity import AffixSimilarity, Similarity, affix_distance

__all__ = [
    "CER",
    "GRR",
    "METRICS",
    "SIMILARITIES",
    "WER",
    "WRR",
    "AffixSimilarity",
    "AlignmentEvaluator",
    "AlignmentMetric",
    "CompiledEvaluator",
    "Edit",
    "Evaluator",
    "Judgement",
    "ListEvaluator",
    "Machine",
    "Metric",
    "Similarity",
    "affix_distance",
    "corpus_score",
    "corpus_stats",
    "has_machine",
    "nbest_stats",
    "parse_metric",
    "quality",
]
