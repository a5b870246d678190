"""Minimum-Bayes-risk decoding: the sentence with the best expected metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from decoding.minimum_risk import METHODS as METHODS
from decoding.minimum_risk.method import (
    Consensus,
    MBRProblem,
    Method,
    Spaces,
    as_systems,
)
from fstmetrics import Metric
from fstmetrics.alignment.metric import is_word_error
from fstmetrics.contract import METRIC_OR_NONE, for_segment
from lattices.errors import OptionError, argument
from lattices.options import unknown_option
from lattices.registry import name_plugin
from lattices.spaces import Lattice, Space
from lattices.spaces.arguments import NUMBER, WHOLE, Kind, takes

if TYPE_CHECKING:
    from decoding.minimum_risk.evidence import Evidence

METHOD = Kind(
    "a method or the name of one",
    lambda value: isinstance(value, str | Method),
    lambda value: f"{value.__name__}() makes one" if isinstance(value, type) else "",
)


@takes(metric=METRIC_OR_NONE, method=METHOD, scale=NUMBER)
def mbr(
    space: Spaces,
    metric: Metric | None = None,
    *,
    evidence: Evidence | Spaces | None = None,
    scale: float = 1.0,
    method: str | Method = "auto",
    system_weights: Sequence[float] | None = None,
) -> Consensus:
    """Return the sentence with the best expected metric under the model's own posterior.

    ``argmax over candidates c of sum over evidence e of P(e) * metric(c, e)`` with ``P(e)``
    proportional to ``exp(scale * score(e))``: the sentence that is best on average, if any
    other sentence that is probable under the model may be right. :func:`mbr_kbest` gives several.

    ========= ==================== ================================================================
    method    with options         what is chosen from, and by what
    ========= ==================== ================================================================
    pairwise  ``Pairwise(...)``      lists, or k best or samples of the space; any metric, exactly
    linear    ``Linear(...)``        all sentences; Tromble et al. (2008), a linear form of BLEU's
                                   log
    consensus ``FastConsensus(...)`` the best by ``linear``'s n-grams; BLEU against expected counts,
                                   DeNero et al. (2009)
    edit      ``EditDistance(...)``  all sentences; expected edit distance bounded as by Xu et al.
                                   (2011)
    exact     ``ExactRisk(...)``     a list; expected WER, WRR or GRR over all paths of the evidence
    search    ``PrefixSearch(...)``  all sentences of a lattice; expected WER, WRR or GRR against a
                                   list of evidence
    ========= ==================== ================================================================

    ``auto`` is ``edit`` for WER and WRR over the words of one or more lattices without other
    evidence, and ``pairwise`` for all else: it takes any metric and any space, and says what it
    compared.

    Parameters
    ----------
    space : Lattice, Forest or NBest, or a sequence of them
        What one system, or each of several, said about one segment. Several are combined.
    metric : Metric, optional
        ``linear``, ``consensus`` and ``edit`` have their own objectives: a metric that is given
        must be the one they stand for, BLEU, or WER and WRR.
    evidence : Evidence or spaces, optional
        What to average over; by default the space itself. ``edit`` takes none.
    scale : float
        Multiplies all scores before they become probabilities; 0 makes them uniform.
    method : str or Method
        A name, for a method with its default options; or the method with others, such as
        ``Pairwise(samples=100)`` or ``Linear(p=0.7)``. ``help(Pairwise)`` lists them.
    system_weights : sequence of float, optional
        One for each space, equal by default.

    Raises
    ------
    OptionError
        For a method that does not exist, an argument that it does not take, or a value out of its
        range.
    SpaceError
        If a lattice has no complete path.

    References
    ----------
    Kumar and Byrne. Minimum Bayes-risk decoding for statistical machine translation. NAACL
    2004.

    Examples
    --------
    >>> from decoding import Pairwise
    >>> from fstmetrics import BLEU
    >>> from lattices import Hypothesis, NBest
    >>> some = [("a cat sat", -0.1), ("the cat sat", -0.3), ("the cat lay", -0.4)]
    >>> nbest = NBest.from_hypotheses([Hypothesis(tuple(text.split()), at) for text, at in some])
    >>> found = mbr(nbest, BLEU(order=2))
    >>> found.text, found.method, found.exact
    ('the cat sat', 'pairwise', True)
    >>> mbr(nbest, BLEU(order=2), method=Pairwise(aggregate=True)).method
    'aggregate'
    """
    [[found]] = decide_batch(
        [space], metric, evidence=[evidence], scale=scale, method=method,
        system_weights=system_weights,
    )  # fmt: skip
    return found


@takes(metric=METRIC_OR_NONE, method=METHOD, k=WHOLE, scale=NUMBER)
def mbr_kbest(
    space: Spaces,
    metric: Metric | None = None,
    *,
    k: int,
    evidence: Evidence | Spaces | None = None,
    scale: float = 1.0,
    method: str | Method = "auto",
    system_weights: Sequence[float] | None = None,
) -> list[Consensus]:
    """Return the ``k`` sentences with the best expected metric, each once, best first.

    Parameters
    ----------
    k : int
        How many; there are fewer if there are fewer candidates.
    space, metric, evidence, scale, method, system_weights
        As of :func:`mbr`; ``pairwise``, ``linear`` and ``consensus`` can, ``auto`` is ``pairwise``.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis, NBest
    >>> nbest = NBest.from_hypotheses([Hypothesis(tuple(text)) for text in ("ab", "ac", "dc")])
    >>> [each.text for each in mbr_kbest(nbest, WER(), k=2)]
    ['a c', 'a b']
    """
    if k < 1:
        raise OptionError(f"{argument('k')} is at least 1, not {k}")
    [found] = decide_batch(
        [space], metric, k=k, evidence=[evidence], scale=scale,
        method="pairwise" if method == "auto" else method, system_weights=system_weights,
    )  # fmt: skip
    return list(found)


def decide_batch(
    segments: Sequence[Spaces],
    metric: Metric | None = None,
    *,
    k: int | None = None,
    evidence: Sequence[Evidence | Spaces | None] | None = None,
    scale: float = 1.0,
    method: str | Method = "auto",
    system_weights: Sequence[float] | None = None,
) -> list[Sequence[Consensus]]:
    """Return what :func:`mbr` does of each segment, or :func:`mbr_kbest` with ``k``.

    Those that one method decides go to it together: ``edit`` takes one native call for them.

    Examples
    --------
    >>> some = [Lattice.from_arcs([(0, 1, word)], finals=[1]) for word in ("a", "b")]
    >>> [found.text for found, in decide_batch(some, method="edit")]
    ['a', 'b']
    """
    by_method: dict[int, tuple[Method, dict[int, MBRProblem]]] = {}
    given = [None] * len(segments) if evidence is None else evidence
    for place, (spaces, own) in enumerate(zip(segments, given, strict=True)):
        systems = as_systems(spaces)
        chosen = _choose(method, systems, metric, own)
        if k is not None and not chosen.ranks:
            raise explain_unknown_option(chosen, "k")
        its = None if metric is None else for_segment(metric, systems)
        problem = MBRProblem(systems, its, own, scale, system_weights)
        by_method.setdefault(id(chosen), (chosen, {}))[1][place] = problem
    found: dict[int, Sequence[Consensus]] = {}
    for chosen, problems in by_method.values():
        decided = chosen.decide_batch(list(problems.values()), 1 if k is None else k)
        _check_decisions(chosen, decided, len(problems))
        found.update(zip(problems, decided, strict=True))
    return [found[place] for place in range(len(segments))]


def _check_decisions(method: Method, decided: Any, segments: int) -> None:
    """Refuse what is no list of sentences for each segment: methods are others', too."""
    what = name_plugin(method, f"method {method.name}")
    if not isinstance(decided, Sequence) or len(decided) != segments:
        raise OptionError(
            f"{what} returns {decided!r:.80}, expected a list for {segments} segments"
        )
    for some in decided:
        if not (isinstance(some, Sequence) and some and isinstance(some[0], Consensus)):
            raise OptionError(
                f"{what} returns {some!r:.80} for a segment, expected a list of Consensus"
            )


def _choose(
    method: str | Method,
    systems: Sequence[Space],
    metric: Metric | None,
    evidence: Evidence | Spaces | None,
) -> Method:
    if isinstance(method, str) and method == "auto":
        if metric is None:
            raise OptionError("auto needs a metric to choose a method by; or name the method")
        words = evidence is None and is_word_error(metric)
        method = (
            "edit" if words and all(isinstance(one, Lattice) for one in systems) else "pairwise"
        )
    chosen = _make_default(METHODS.get(method)) if isinstance(method, str) else method
    if evidence is not None and not chosen.takes_evidence:
        raise explain_unknown_option(chosen, "evidence")
    return chosen


@lru_cache(maxsize=32)
def _make_default(kind: type[Method]) -> Method:
    """Return a method with its default options: one object for all segments of a corpus."""
    return kind()


def method_with(name: str, options: Mapping[str, Any]) -> Method:
    """Return a method by its name, with options by theirs."""
    method = METHODS.get(name)
    for option in options:
        if option not in {each.name for each in fields(method)}:
            raise explain_unknown_option(method, option)
    return method(**options)


def explain_unknown_option(method: Method | type[Method], name: str) -> OptionError:
    """Return the error that a method has no option of that name, but others."""
    known = {each.name for each in fields(method)} | {"scale", "system_weights"}
    known |= {"evidence"} if method.takes_evidence else set()
    known |= {"k"} if method.ranks else set()
    return unknown_option(f"method {method.name}", name, sorted(known), argument)
