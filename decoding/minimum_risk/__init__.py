"""Minimum-Bayes-risk decoding: the sentence with the best expected metric, by several methods."""

from __future__ import annotations

#: where each method is, by its name
METHODS = {
    "pairwise": ("decoding.minimum_risk.pairwise", "Pairwise"),
    "linear": ("decoding.minimum_risk.linear", "Linear"),
    "consensus": ("decoding.minimum_risk.consensus", "FastConsensus"),
    "edit": ("decoding.minimum_risk.edit", "EditDistance"),
    "exact": ("decoding.minimum_risk.exact", "ExactRisk"),
    "search": ("decoding.minimum_risk.search", "PrefixSearch"),
    "rover": ("decoding.minimum_risk.rover", "Rover"),
}
