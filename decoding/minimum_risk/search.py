"""Search of a whole lattice for the sentence with the best expected metric.

Prefixes are extended word by word, each with one row for each sentence of the evidence: where
its alignments stand. Prefixes of one lattice state with equal rows have the same future, and
are one. For each sentence of the evidence the best that can still be gained from a state and a
row is known exactly; the weighted sum of that bounds what a prefix can come to. The best of the
model's first sentences gives a value to beat. Prefixes whose bound is below it are dropped, and
nothing else: what is found then is proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decoding._native import RiskSearch
from decoding.extraction.search import check_limits
from decoding.minimum_risk.evidence import Evidence, candidates_of, evidence_of, listing, rows
from decoding.minimum_risk.exact import FOREST_STATES, check_metric
from decoding.minimum_risk.method import Consensus, MBRProblem, Method, check_scale
from decoding.minimum_risk.pairs.scores import expected_scores, rank
from fstmetrics import Metric
from fstmetrics.alignment.metric import AlignmentMetric
from lattices._native import AlignmentListColumns
from lattices.algorithms import to_lattice, union
from lattices.algorithms.paths import explain_no_path
from lattices.algorithms.trimming import find_useful_states
from lattices.arrays import FloatColumn, floats, ints
from lattices.errors import OptionError
from lattices.intersection import Alignment
from lattices.intersection.automata import alignment_of, list_columns
from lattices.intersection.engine import name_space_in_errors
from lattices.limits import MEMORY
from lattices.spaces import Hypothesis, Lattice, NBest, Space

#: prefixes that an exact search may keep
DEFAULT_BUDGET = 20_000
#: sentences that are scored first, for a lower bound
_FIRST = 100
#: the narrowest beam beyond the budget
_NARROWEST = 8
#: no search keeps more prefixes
_MOST = 2**31 - 1
#: bytes of the rows of prefixes above which a beam is used
_BYTES = 2**28
#: how a search ended: nothing was left out, or there were too many prefixes
_COMPLETE, _TOO_MANY = 0, 2
#: expectations that differ by no more are equal
_EQUAL = 1e-12
#: what rounding may take from a bound; similarities are rounded to 2^-30
_SLACK, _SOFT_SLACK = 1e-9, 1e-6


@dataclass(frozen=True, kw_only=True)
class PrefixSearch(Method):
    """The sentence of a lattice with the best expected metric against listed evidence.

    What is maximised, over all sentences h of the lattice, is ``sum over e of weight(e) *
    metric(h, e)``; an error rate is minimised. The metric is WER, WRR, CER or GRR; under BLEU,
    BLEU-SBP, PER and chrF the sentences of the space are listed and scored one by one. Ties, up to
    1e-12, go to the higher model score. The result says ``exact=True`` if no sentence of the space
    is better, which the search then has proven.

    A forest is made a lattice. Every sentence of a list is scored. Of several systems all
    sentences can be chosen. The evidence is by default the best sentences of the spaces.

    Cost: prefixes x sentences of evidence, after O(arcs x words) for each of these. How many
    prefixes there are depends on how much the evidence disagrees; in the worst case, as many
    as the lattice has.

    Parameters
    ----------
    evidence_size : int, optional
        As ``k`` of :func:`decoding.minimum_risk.evidence.evidence_of`, where evidence is made
        here.
    beam : int, optional
        Keep that many prefixes of each lattice state. The result is exact if that was all.
    budget : int
        How many prefixes may be kept without a beam; beyond it, the widest beam that fits is
        taken, and the result says ``exact=False`` if that left anything out. Where sentences are
        listed, how many; ``exact=False`` if there are more.
    memory : int
        How many bytes the search may take.

    Examples
    --------
    The best sentence need not be in the evidence:

    >>> from decoding import mbr
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a"), (0, 1, "x"), (1, 2, "b"), (1, 2, "y"), (2, 3, "c"), (2, 3, "z")],
    ...     finals=[3],
    ... )
    >>> some = [Hypothesis(tuple(text)) for text in ("abz", "ayc", "xbc")]
    >>> evidence = NBest.from_hypotheses(some)
    >>> found = mbr(lattice, WER(), evidence=evidence, method=PrefixSearch(beam=9))
    >>> found.text, round(found.expected, 3), found.exact
    ('a b c', 0.333, True)
    """

    name = "search"

    evidence_size: int | None = None
    beam: int | None = None
    budget: int = DEFAULT_BUDGET
    memory: int = MEMORY

    def decide(self, problem: MBRProblem, k: int = 1) -> list[Consensus]:
        """Return the best sentence."""
        spaces, metric, evidence, scale, system_weights = problem
        metric = self.require_metric(metric)
        check_metric(metric)
        if self.beam is not None and self.beam < 1:
            raise OptionError(f"a beam is at least 1, not {self.beam}")
        check_limits(self.budget, self.memory)
        check_scale(scale)
        weighted = evidence
        if not isinstance(weighted, Evidence):
            weighted = evidence_of(
                spaces if weighted is None else weighted, scale=scale, k=self.evidence_size,
                system_weights=system_weights,
            )  # fmt: skip
        if not isinstance(metric, AlignmentMetric):
            if self.beam is not None:
                raise OptionError(f"a beam is of alignments, and {metric} has none: set the budget")
            return [_search_lists(spaces, metric, weighted, self.budget)]
        if all(isinstance(space, NBest) for space in spaces):
            return [_search_lists(spaces, metric, weighted)]
        lattice = _join_lattices(spaces)
        arcs, exact = self._find(lattice, metric, weighted)
        hypothesis = lattice.hypothesis(arcs)
        if len(spaces) > 1 or lattice is not spaces[0]:
            # the arcs are those of the lattice made here, not of the caller's
            hypothesis = Hypothesis(hypothesis.tokens, hypothesis.score, hypothesis.features)
        chosen = NBest.from_hypotheses([Hypothesis(hypothesis.tokens)])
        return [
            Consensus(
                hypothesis=hypothesis,
                expected=float(expected_scores(chosen, weighted, metric)[0]),
                method=self.name,
                exact=exact,
                candidates=-1,
                evidence=len(weighted.nbest),
            )
        ]

    def _find(
        self, lattice: Lattice, metric: AlignmentMetric, evidence: Evidence
    ) -> tuple[tuple[int, ...], bool]:
        """Return the arcs of the best path that was found, and whether none is better."""
        memory = min(self.memory, 2**62)
        prepared = metric.against([()]).prepare(lattice)
        units = prepared.space
        alive = find_useful_states(units)
        if not alive[units.start]:
            raise explain_no_path(lattice)
        of = _alignments(units, metric, evidence)
        with name_space_in_errors(lattice):
            search = RiskSearch(units.columns, of.columns, of.share, memory)
        if self.beam is not None:
            ended, _, path = search.run(-np.inf, _EQUAL, min(self.beam, _MOST), self.budget, memory)
            return prepared.original(ints(path)), ended == _COMPLETE
        first, rate = _find_best_in_list(lattice, metric, evidence)
        slack = _SLACK if metric.similarity is None else _SOFT_SLACK
        floor = rate - of.constant - slack
        ended, value, path = search.run(
            floor, _EQUAL, 0, min(self.budget, _MOST), min(_BYTES, memory)
        )
        if ended == _TOO_MANY:
            widest = max(_NARROWEST, self.budget // int(alive.sum()))
            ended, value, path = search.run(floor, _EQUAL, widest, self.budget, memory)
            if ended != _COMPLETE and value + of.constant <= rate:
                return first.arcs, False
        return prepared.original(ints(path)), ended == _COMPLETE


def _search_lists(
    systems: Sequence[Space], metric: Metric, evidence: Evidence, most: int = 0
) -> Consensus:
    """Return the best of all sentences of lists, and of the ``most`` first of other spaces."""
    choices = candidates_of(
        [listing(space, None if isinstance(space, NBest) else most + 1) for space in systems]
    )
    expected = expected_scores(choices.nbest, evidence, metric)
    best = int(rank(choices.nbest, expected, metric)[0])
    return Consensus(
        hypothesis=choices.hypothesis(best),
        expected=float(expected[best]),
        method="search",
        exact=all(
            isinstance(one.space, NBest) or len(one.nbest) <= most for one in choices.listings
        ),
        candidates=len(choices.nbest),
        evidence=len(evidence.nbest),
    )


def _join_lattices(systems: Sequence[Space]) -> Lattice:
    """Return all sentences of the systems; a list without any has none to add."""
    filled = [space for space in systems if not isinstance(space, NBest) or len(space)]
    return union([to_lattice(space, FOREST_STATES) for space in filled])


def _find_best_in_list(
    lattice: Lattice, metric: AlignmentMetric, evidence: Evidence
) -> tuple[Hypothesis, float]:
    """Return the best of the model's first sentences, and its rate: higher is better."""
    listed = listing(lattice, _FIRST)
    expected = expected_scores(listed.nbest, evidence, metric)
    best = int(rank(listed.nbest, expected, metric)[0])
    rate = float(expected[best])
    return listed.hypothesis(best), 1.0 - rate if metric.error_rate else rate


class _Alignments(NamedTuple):
    """Alignments to all sentences of evidence."""

    columns: AlignmentListColumns
    #: what a unit of each is worth
    share: FloatColumn
    #: to be added to the weighted sum of gains
    constant: float


def _alignments(lattice: Lattice, metric: AlignmentMetric, evidence: Evidence) -> _Alignments:
    """Return the alignments to the sentences that have a weight, those of the highest first."""
    order = np.argsort(-evidence.weight, kind="stable")
    sentences = rows(evidence.nbest, order[evidence.weight[order] > 0.0])
    weights = np.sort(evidence.weight)[::-1][: len(sentences)]
    if metric.similarity is None:
        return _of_equal_words(lattice, metric, sentences, weights)
    made = [_alignment(lattice, metric, sentences.tokens(entry)) for entry in range(len(sentences))]
    alignments, denominators, bonuses = zip(*made, strict=True)
    return _Alignments(
        list_columns(alignments),
        floats(weights / denominators),
        float(weights / denominators @ bonuses),
    )


def _of_equal_words(
    lattice: Lattice, metric: AlignmentMetric, sentences: NBest, weights: FloatColumn
) -> _Alignments:
    """Return the alignments where words match themselves alone.

    What is left of the machine of a sentence is then its length.
    """
    offset = sentences.offset
    if metric.characters:
        units = [metric.units(sentences.tokens(entry)) for entry in range(len(sentences))]
        offset = ints(np.cumsum([0, *map(len, units)]))
        word = lattice.vocabulary.encode([unit for each in units for unit in each])
    elif sentences.vocabulary is lattice.vocabulary:
        word = sentences.label
    else:
        used, place = np.unique(sentences.label, return_inverse=True)
        word = lattice.vocabulary.encode(sentences.vocabulary.decode(used.tolist()))[place]
    length = np.diff(offset)
    _, first, place = np.unique(length, return_index=True, return_inverse=True)
    made = [_alignment(lattice, metric, sentences.tokens(entry)) for entry in first.tolist()]
    alignment = made[0][0]
    share = weights / np.array([denominator for _, denominator, _ in made])[place]
    bonus = np.array([bonus for _, _, bonus in made])[place]
    known = word > 0
    position = np.arange(len(word)) - np.repeat(offset[:-1], length)
    columns = AlignmentListColumns(
        alignment.order,
        alignment.insertion,
        alignment.deletion,
        alignment.heaviest,
        ints(length),
        ints(np.concatenate([[0], np.cumsum(known)])[offset]),
        ints(word[known]),
        ints(position[known]),
        floats(np.full(int(known.sum()), alignment.heaviest)),
    )
    return _Alignments(
        columns,
        floats(share),
        float(share @ bonus),
    )


def _alignment(
    lattice: Lattice, metric: AlignmentMetric, tokens: Sequence[str]
) -> tuple[Alignment, float, float]:
    """Return the alignment to a sentence, what its gains are divided by, and what is added."""
    [part] = metric.against([tokens]).machine(lattice.vocabulary, lattice.label).parts
    return alignment_of(part), part.denominator, part.bonus
