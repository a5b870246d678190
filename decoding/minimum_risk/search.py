"""The best sentence of a whole lattice under the expected metric, not the best of a list.

Prefixes are extended word by word, each with one row for each sentence of the evidence: where
its alignments stand. Prefixes of one lattice state with equal rows have the same future, and
are one. For each sentence of the evidence the best that can still be gained from a state and a
row is known exactly (:mod:`lattices.engines.row_outside`); the weighted sum of that bounds what
a prefix can come to. The best of the model's first sentences gives a value to beat. Prefixes
whose bound is below it are dropped, and nothing else: what is found then is proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from decoding.minimum_risk.evidence import Evidence, checked_scale, evidence_of
from decoding.minimum_risk.evidence_lists import Spaces, as_systems, candidates_of, listing
from decoding.minimum_risk.exact_graphs import FOREST_STATES, checked_metric
from decoding.minimum_risk.pairwise import expected_scores, ranked
from decoding.minimum_risk.results import Consensus
from decoding.minimum_risk.search_kernel import COMPLETE, TOO_MANY, search_paths
from decoding.transforms import joined
from fstmetrics import AlignmentMetric, Metric
from lattices.algorithms import forest_to_lattice
from lattices.algorithms.paths import no_complete_path
from lattices.algorithms.trimming import useful_states
from lattices.arrays import FloatColumn, floats, ints
from lattices.engines import Alignment
from lattices.engines.row_alignments import alignment_columns
from lattices.engines.row_outside import completions
from lattices.errors import OptionError
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space

#: prefixes that a search may keep before it settles for less than a proof
DEFAULT_BUDGET = 20_000
#: how many sentences are scored first, to have something to beat
_FIRST = 100
#: the narrowest beam beyond the budget
_NARROWEST = 8
#: expectations that differ by no more are equal
_EQUAL = 1e-12
#: what rounding may take from a bound; similarities are rounded to 2^-30
_SLACK, _SOFT_SLACK = 1e-9, 1e-6


def search(
    spaces: Spaces,
    metric: Metric,
    evidence: Evidence | Spaces | None = None,
    *,
    scale: float = 1.0,
    evidence_size: int | None = None,
    system_weights: Sequence[float] | None = None,
    beam: int | None = None,
    budget: int = DEFAULT_BUDGET,
) -> Consensus:
    """Return the sentence of a lattice with the best expected metric against listed evidence.

    What is maximised, over all sentences h of the lattice, is ``sum over e of weight(e) *
    metric(h, e)``; an error rate is minimised. Ties, up to 1e-12, go to the higher model score,
    then to the smaller sentence in the order of its words. The result says ``exact=True`` if
    no sentence of the space is better, which the search then has proven.

    Cost: prefixes x sentences of evidence, after O(arcs x words) for each of these. How many
    prefixes there are depends on how much the evidence disagrees; in the worst case, as many
    as the lattice has.

    Parameters
    ----------
    spaces : Lattice, Forest or NBest, or a sequence of them
        What can be chosen. A forest is made a lattice. Every sentence of a list is scored.
        Of several systems all sentences can be chosen.
    metric : WER, WRR, CER or GRR
    evidence : Evidence or spaces, optional
        What to average over; by default the best sentences of the spaces.
    scale, evidence_size, system_weights
        As of :func:`decoding.minimum_risk.evidence.evidence_of`, where evidence is made here.
    beam : int, optional
        Keep that many prefixes of each lattice state. The result is exact if that was all.
    budget : int
        How many prefixes may be kept without a beam; beyond it, the widest beam that fits is
        taken, and the result says ``exact=False`` if that left anything out.

    Raises
    ------
    OptionError
        If the metric is another one, or an option is out of its range.
    SpaceError
        If a lattice has no complete path, or a forest is too large as a lattice.

    Examples
    --------
    The best sentence need not be in the evidence:

    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a"), (0, 1, "x"), (1, 2, "b"), (1, 2, "y"), (2, 3, "c"), (2, 3, "z")],
    ...     finals=[3],
    ... )
    >>> some = [Hypothesis(tuple(text)) for text in ("abz", "ayc", "xbc")]
    >>> found = search(lattice, WER(), NBest.from_hypotheses(some))
    >>> found.text, round(found.expected, 3), found.exact
    ('a b c', 0.333, True)
    """
    if beam is not None and beam < 1:
        raise OptionError(f"a beam is at least 1, not {beam}")
    if budget < 1:
        raise OptionError(f"a budget is at least 1, not {budget}")
    checked_scale(scale)
    known = checked_metric(metric)
    systems = as_systems(spaces)
    judges = evidence
    if not isinstance(judges, Evidence):
        judges = evidence_of(
            systems if judges is None else judges, scale=scale, k=evidence_size,
            system_weights=system_weights,
        )  # fmt: skip
    if all(isinstance(space, NBest) for space in systems):
        return _of_lists(systems, known, judges)
    lattice = _one_lattice(systems)
    arcs, exact = _searched(lattice, known, judges, beam, budget)
    hypothesis = lattice.hypothesis(arcs)
    if len(systems) > 1 or lattice is not systems[0]:
        # the arcs are those of a lattice that nobody else has seen
        hypothesis = Hypothesis(hypothesis.tokens, hypothesis.score, hypothesis.features)
    chosen = NBest.from_hypotheses([Hypothesis(hypothesis.tokens)])
    return Consensus(
        hypothesis=hypothesis,
        expected=float(expected_scores(chosen, judges, metric)[0]),
        method="search",
        exact=exact,
        candidates=-1,
        evidence=len(judges.nbest),
    )


def _of_lists(systems: Sequence[Space], metric: AlignmentMetric, evidence: Evidence) -> Consensus:
    """Return the best of all sentences of lists, which is soon told."""
    choices = candidates_of([listing(space, None) for space in systems])
    expected = expected_scores(choices.nbest, evidence, metric)
    best = int(ranked(choices.nbest, expected, metric)[0])
    return Consensus(
        hypothesis=choices.hypothesis(best),
        expected=float(expected[best]),
        method="search",
        exact=True,
        candidates=len(choices.nbest),
        evidence=len(evidence.nbest),
    )


def _one_lattice(systems: Sequence[Space]) -> Lattice:
    lattices = [
        forest_to_lattice(space, FOREST_STATES) if isinstance(space, Forest) else space
        for space in systems
    ]
    together = joined(lattices)
    assert isinstance(together, Lattice)
    return together


def _searched(
    lattice: Lattice, metric: AlignmentMetric, evidence: Evidence, beam: int | None, budget: int
) -> tuple[tuple[int, ...], bool]:
    """Return the arcs of the best path that was found, and whether none is better."""
    prepared = metric.against([()]).prepare(lattice)
    units = prepared.lattice
    alive = useful_states(units)
    if not alive[units.start]:
        raise no_complete_path(lattice)
    alignments, share, constant = _machines(units, metric, evidence)
    words = np.unique(units.label)
    words = ints(words[words > 0])
    arc_word = ints(np.where(units.label == 0, -1, np.searchsorted(words, units.label)))
    columns = alignment_columns(alignments, words, units.num_states)
    onward = completions(units, columns, arc_word, alive)
    path = np.empty(units.num_states, np.int32)
    run = partial(
        search_paths, columns, share, onward, units.start, alive, units.src, units.label,
        units.score, units.final, units.in_arc, units.in_offset, arc_word,
        units.vocabulary.ranks(),
    )  # fmt: skip
    if beam is not None:
        ended, _, steps = run(-np.inf, _EQUAL, beam, budget, path)
        return prepared.original(ints(path[:steps])), ended == COMPLETE
    first, rate = _best_listed(lattice, metric, evidence)
    slack = _SLACK if metric.similarity is None else _SOFT_SLACK
    floor = rate - constant - slack
    ended, value, steps = run(floor, _EQUAL, 0, budget, path)
    if ended == TOO_MANY:
        widest = max(_NARROWEST, budget // int(alive.sum()))
        ended, value, steps = run(floor, _EQUAL, widest, budget, path)
        if ended != COMPLETE and value + constant <= rate:
            return first.arcs, False
    return prepared.original(ints(path[:steps])), ended == COMPLETE


def _best_listed(
    lattice: Lattice, metric: AlignmentMetric, evidence: Evidence
) -> tuple[Hypothesis, float]:
    """Return the best of the model's first sentences, and its rate: higher is better."""
    listed = listing(lattice, _FIRST)
    expected = expected_scores(listed.nbest, evidence, metric)
    best = int(ranked(listed.nbest, expected, metric)[0])
    rate = float(expected[best])
    return listed.hypothesis(best), 1.0 - rate if metric.error_rate else rate


def _machines(
    lattice: Lattice, metric: AlignmentMetric, evidence: Evidence
) -> tuple[list[Alignment], FloatColumn, float]:
    """Return the automata of the evidence, what a unit of each is worth, and a constant to add."""
    alignments, share, constant = [], [], 0.0
    for entry in np.flatnonzero(evidence.weight > 0.0).tolist():
        evaluator = metric.against([evidence.nbest.tokens(entry)])
        [part] = evaluator.machine(lattice.vocabulary, lattice.label).parts
        assert isinstance(part.automaton, Alignment)
        alignments.append(part.automaton)
        share.append(evidence.weight[entry] / part.denominator)
        constant += share[-1] * part.bonus
    return alignments, floats(share), constant
