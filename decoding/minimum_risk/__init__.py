"""Minimum-Bayes-risk decoding: the sentence with the best expected metric, by several methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lattices.registry import Registry, explain_subclass

if TYPE_CHECKING:
    from decoding.minimum_risk.method import Method


def _check(plugin: Any) -> str:
    from decoding.minimum_risk.method import Method

    return explain_subclass(plugin, Method)


METHODS: Registry[type[Method]] = Registry(
    "decoding.methods",
    "method",
    own={
        "pairwise": "decoding.minimum_risk.pairwise:Pairwise",
        "linear": "decoding.minimum_risk.linear:Linear",
        "consensus": "decoding.minimum_risk.consensus:FastConsensus",
        "edit": "decoding.minimum_risk.edit:EditDistance",
        "exact": "decoding.minimum_risk.exact:ExactRisk",
        "search": "decoding.minimum_risk.search:PrefixSearch",
        "rover": "decoding.minimum_risk.rover:Rover",
    },
    check=_check,
)
