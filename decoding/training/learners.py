"""Learners by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lattices.registry import Registry, explain_subclass

if TYPE_CHECKING:
    from decoding.training.learner import Learner


def _check(plugin: Any) -> str:
    from decoding.training.learner import Learner

    return explain_subclass(plugin, Learner)


LEARNERS: Registry[type[Learner]] = Registry(
    "decoding.learners",
    "learner",
    own={
        "mert": "decoding.training.mert:MERT",
        "mira": "decoding.training.mira:MIRA",
        "perceptron": "decoding.training.perceptron:Perceptron",
        "pro": "decoding.training.pro:PRO",
        "risk": "decoding.training.risk.learner:Risk",
        "softmax-margin": "decoding.training.softmax_margin:SoftmaxMargin",
        "xbleu": "decoding.training.risk.xbleu:XBLEU",
    },
    check=_check,
)
