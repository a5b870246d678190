"""Learners by name."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from lattices.errors import OptionError

if TYPE_CHECKING:
    from decoding.training.learner import Learner

#: where each learner is; nothing is imported before it is asked for
LEARNERS = {
    "mert": "decoding.training.mert:MERT",
    "mira": "decoding.training.mira:MIRA",
    "perceptron": "decoding.training.perceptron:Perceptron",
    "pro": "decoding.training.pro:PRO",
    "risk": "decoding.training.risk.learner:Risk",
    "softmax-margin": "decoding.training.softmax_margin:SoftmaxMargin",
    "xbleu": "decoding.training.risk.xbleu:XBLEU",
}


def learner(name: str) -> type[Learner]:
    """Return the class of a learner."""
    try:
        module, _, kind = LEARNERS[name].partition(":")
    except KeyError:
        close = get_close_matches(name, LEARNERS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ";"
        raise OptionError(f"no learner {name!r}{hint} there are {', '.join(LEARNERS)}") from None
    found: type[Learner] = getattr(import_module(module), kind)
    return found
