"""N-best lists reranked by weights."""

from __future__ import annotations

import numpy as np

from decoding.corpus.transforms import chosen
from lattices.spaces import NBest
from lattices.spaces.features import Weights


def rerank(nbest: NBest, weights: Weights) -> NBest:
    """Return the list scored by ``features @ weights``, best first; equals keep their order.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": -2.0}), Hypothesis(("b",), -1.0, {"lm": -1.0})]
    ... )
    >>> [(found.text, found.score) for found in rerank(nbest, {"lm": 0.5})]
    [('b', -0.5), ('a', -1.0)]
    """
    scored = nbest.reweighted(weights)
    return chosen(scored, np.argsort(-scored.score, kind="stable").tolist())
