"""Minimum-Bayes-risk decoding: the sentence with the best expected metric."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, overload

from decoding.minimum_risk.evidence import Evidence, Spaces, as_systems
from decoding.minimum_risk.results import Consensus
from fstmetrics import BLEU, AlignmentMetric, Metric
from lattices.errors import OptionError, argument
from lattices.spaces import Lattice

#: who decodes: the module of each method has a function of its name
METHODS = {
    "pairwise": "decoding.minimum_risk.pairwise",
    "linear": "decoding.minimum_risk.linear",
    "consensus": "decoding.minimum_risk.consensus",
    "edit": "decoding.minimum_risk.edit",
    "exact": "decoding.minimum_risk.exact",
    "search": "decoding.minimum_risk.search",
}


@overload
def mbr(
    space: Spaces,
    metric: Metric | None = None,
    *,
    evidence: Evidence | Spaces | None = None,
    scale: float = 1.0,
    method: str = "auto",
    candidates: int | Spaces | None = None,
    system_weights: Sequence[float] | None = None,
    k: None = None,
    **options: Any,
) -> Consensus: ...
@overload
def mbr(
    space: Spaces,
    metric: Metric | None = None,
    *,
    evidence: Evidence | Spaces | None = None,
    scale: float = 1.0,
    method: str = "auto",
    candidates: int | Spaces | None = None,
    system_weights: Sequence[float] | None = None,
    k: int,
    **options: Any,
) -> list[Consensus]: ...
def mbr(
    space: Spaces,
    metric: Metric | None = None,
    *,
    evidence: Evidence | Spaces | None = None,
    scale: float = 1.0,
    method: str = "auto",
    candidates: int | Spaces | None = None,
    system_weights: Sequence[float] | None = None,
    k: int | None = None,
    **options: Any,
) -> Consensus | list[Consensus]:
    """Return the sentence with the best expected metric under the model's own posterior.

    ``argmax over candidates c of sum over evidence e of P(e) * metric(c, e)`` with ``P(e)``
    proportional to ``exp(scale * score(e))``: the sentence that is best on average, if any
    other that the model believes in may be right.

    ========== ==================================================================================
    method     what is chosen from, and by what
    ========== ==================================================================================
    pairwise   lists, or k best or samples of the space; any metric, exactly
    linear     all sentences of the space; Tromble et al. (2008), a linear form of BLEU's log
    consensus  the best by ``linear``'s n-grams; BLEU against expected counts, DeNero et al. (2009)
    edit       all sentences; expected edit distance bounded as by Xu et al. (2011)
    exact      a list; expected WER, WRR or GRR over all paths of the evidence
    search     all sentences of a lattice; expected WER, WRR or GRR against a list of evidence
    ========== ==================================================================================

    ``auto`` is ``edit`` for WER and WRR over the words of one or more lattices, where all options
    that are given are ones it has, and ``pairwise`` for all else: it takes any metric and any
    space, and says what it compared.

    Parameters
    ----------
    space : Lattice, Forest or NBest, or a sequence of them
        What one system, or each of several, said about one segment. Several are combined.
    metric : Metric, optional
        ``linear``, ``consensus`` and ``edit`` have their own objectives: a metric that is given
        must be the one they stand for, BLEU, or WER and WRR.
    evidence : Evidence or spaces, optional
        What to average over; by default the space itself.
    scale : float
        Multiplies all scores before they become probabilities; 0 makes them uniform.
    method : {"auto", "pairwise", "linear", "consensus", "edit", "exact", "search"}
    candidates : int or spaces, optional
        How many sentences can be chosen where a method has a list of them, or which.
    system_weights : sequence of float, optional
        One for each space, equal by default.
    k : int, optional
        Return a list of that many, best first, where the method can.
    **options
        Those of the method, as its function takes them: ``samples``, ``uniform``, ``weights``,
        ``merge``, ``aggregate``, ``confidence`` ... of ``pairwise``
        (:func:`decoding.minimum_risk.pairwise.pairwise`), ``theta``, ``p``, ``r``,
        ``T`` ... of ``linear``, ``start`` ... of ``edit``.

    Raises
    ------
    OptionError
        For a method that does not exist, or an option that the method does not have.

    References
    ----------
    Kumar and Byrne. Minimum Bayes-risk decoding for statistical machine translation. NAACL
    2004.

    Examples
    --------
    >>> from fstmetrics import BLEU
    >>> from lattices import Hypothesis, NBest
    >>> some = [("a cat sat", -0.1), ("the cat sat", -0.3), ("the cat lay", -0.4)]
    >>> nbest = NBest.from_hypotheses([Hypothesis(tuple(text.split()), at) for text, at in some])
    >>> found = mbr(nbest, BLEU(order=2))
    >>> found.text, found.method, found.exact
    ('the cat sat', 'pairwise', True)
    >>> mbr(nbest, BLEU(), temperature=3)
    Traceback (most recent call last):
    lattices.errors.OptionError: no method of mbr has the option 'temperature'
    """
    given = options
    if evidence is not None:
        given["evidence"] = evidence
    if candidates is not None:
        given["candidates"] = candidates
    if system_weights is not None:
        given["system_weights"] = system_weights
    if k is not None:
        given["k"] = k
    if scale != 1.0:
        given["scale"] = scale
    chosen = _automatic(space, metric, given) if method == "auto" else method
    function, known = method_options(chosen)
    for name in given:
        if name not in known or name == "metric":
            raise OptionError(no_such_option(chosen, name))
    if "metric" in known:
        if metric is None:
            raise OptionError(f"method {chosen} needs a metric")
        given["metric"] = metric
    elif metric is not None:
        _check_objective(chosen, metric)
    found: Consensus | list[Consensus] = function(space, **given)
    return found


@lru_cache(maxsize=len(METHODS))
def method_options(method: str) -> tuple[Callable[..., Any], frozenset[str]]:
    """Return the function of a method, and the names of its options.

    Examples
    --------
    >>> function, options = method_options("pairwise")
    >>> function.__name__, "samples" in options
    ('pairwise', True)
    """
    if method not in METHODS:
        named = argument("method", method)
        raise OptionError(f"{named}: expected one of auto, {', '.join(METHODS)}")
    function = getattr(import_module(METHODS[method]), method)
    # the first is the space
    _, *names = inspect.signature(function).parameters
    return function, frozenset(names)


def no_such_option(method: str, name: str) -> str:
    """Return the message that a method has no option of that name, but others."""
    _, known = method_options(method)
    others = ", ".join(map(argument, sorted(known - {"metric"})))
    return f"method {method} has no option {argument(name)!r} (it has {others})"


def is_word_error(metric: Metric | None) -> bool:
    """Tell whether a metric is WER or WRR over words, with hard matches."""
    return (
        isinstance(metric, AlignmentMetric)
        and not metric.characters
        and metric.similarity is None
        and (metric.order, metric.insertion, metric.deletion) == (1, 1.0, 0.0)
    )


def _automatic(space: Spaces, metric: Metric | None, given: dict[str, Any]) -> str:
    if metric is None:
        raise OptionError("auto needs a metric to choose a method by; or name the method")
    if is_word_error(metric) and all(isinstance(one, Lattice) for one in as_systems(space)):
        _, known = method_options("edit")
        if known.issuperset(given):
            return "edit"
    _, known = method_options("pairwise")
    for name in given:
        if name not in known:
            raise OptionError(_of_others(name))
    return "pairwise"


def _of_others(name: str) -> str:
    having = [method for method in METHODS if _has(method, name)]
    if not having:
        return f"no method of mbr has the option {argument(name)!r}"
    return f"{argument(name)!r} is an option of method {' or '.join(having)}: name it"


def _has(method: str, name: str) -> bool:
    return name in method_options(method)[1]


def _check_objective(method: str, metric: Metric) -> None:
    """Refuse a metric that a method with an objective of its own does not stand for."""
    if method == "edit" and not is_word_error(metric):
        raise OptionError(f"edit minimises the expected word errors: wer or wrr, not {metric}")
    if method in ("linear", "consensus") and not isinstance(metric, BLEU):
        raise OptionError(f"{method} stands for bleu, not for {metric}")
