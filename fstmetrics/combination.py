"""Sums of metrics: ``0.5*bleu + 0.5*grr``, ``bleu - ter``."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, cast

import numpy as np

from fstmetrics.alignment.metric import AlignmentMetric
from fstmetrics.contract import (
    ClippedMatches,
    CompiledEvaluator,
    Evaluator,
    Metric,
    Prepared,
    S,
    abilities_of,
    can_search,
    clipped_matches,
    corpus_stats,
    has_machine,
    metric_abilities_of,
    nbest_stats,
    scores_of,
)
from fstmetrics.machine import Machine, Relation
from fstmetrics.normalisation.metric import Normalised, NormalisedEvaluator
from fstmetrics.references import Reference, check_references
from fstmetrics.signature import Summable, terms
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.intersection.automata import ANY, FINEST_UNIT, Automaton, Part, make_explicit
from lattices.registry import check_requirements
from lattices.spaces import Lattice, NBest
from lattices.vocabulary import Vocabulary

#: a product of more arcs is refused
_MOST_ARCS = 5_000_000
#: weights with a larger denominator are rounded, and gains in more units to one
_LARGEST_DENOMINATOR = 10_000
_LARGEST_UNIT = 2**33
_RELATIONS: tuple[Relation, ...] = ("exact", "bound", "proxy")


@dataclass(frozen=True)
class Combination(Summable):
    """A weighted sum of metrics.

    The score is what is written, ``sum of weight * score``: nothing is turned, so an error rate is
    subtracted from what it should lower. A sum has to have one direction: ``bleu - ter`` is better
    if higher, ``wer + cer`` if lower, and ``bleu + ter`` is refused. Statistics are those of all
    parts, one after the other, and the score of a corpus is the sum of those of the parts.

    Where all parts have machines that read the same (words: WER, WRR, GRR, soft ones, LinearBLEU;
    or characters), the sum has one, too: the product of theirs. The best alignment of one part does
    not depend on that of another, so one search finds the best sentence of a lattice or forest
    under the sum, exactly where the parts' are exact. The size of a product is the product of the
    sizes, and of the numbers of references.

    BLEU or chrF and metrics with machines, as in ``0.5*bleu + 0.5*grr``, are searched together: the
    search by labels (:mod:`decoding.extraction.bleu_search`) has the machine's rows beside the
    matches, and the sum of both bounds. Any other sum is for sentences and lists: take the n-best
    list of a lattice for, say, ``bleu - ter``, since TER has no machine.

    Parameters
    ----------
    terms : sequence of (float, Metric)
        Weights and metrics; sums among them are taken apart. ``2 * WER() + CER()`` says the same.

    Raises
    ------
    OptionError
        For weights that are 0 or no numbers, and for parts of different directions.

    Examples
    --------
    >>> from fstmetrics import BLEU, GRR, WER
    >>> metric = 0.5 * BLEU() + GRR(n=2)
    >>> str(metric), metric.higher_is_better
    ('0.5*bleu:order=4,length=closest,smooth=none,tokenize=none + grr:n=2,alpha=1,beta=0', True)
    >>> (GRR(n=2) - WER()).against(["the cat sat"]).score("the cat slept")
    0.26666666666666666
    >>> round(3 / 5 - 1 / 3, 4)
    0.2667
    >>> GRR() + WER()
    Traceback (most recent call last):
        ...
    lattices.errors.OptionError: grr:n=4,alpha=1,beta=0 + wer: of the first higher is better, of \
the second lower: write grr:n=4,alpha=1,beta=0 - wer
    """

    terms: tuple[tuple[float, Metric], ...]

    def __init__(self, terms: Iterable[tuple[float, Metric]]) -> None:
        flat: list[tuple[float, Metric]] = []
        for weight, metric in terms:
            if not (isinstance(weight, int | float) and math.isfinite(weight) and weight):
                raise OptionError(f"a weight is a finite number other than 0, not {weight!r}")
            inner = metric.terms if isinstance(metric, Combination) else ((1.0, metric),)
            flat += [(float(weight) * factor, each) for factor, each in inner]
        if not flat:
            raise OptionError("a sum of no metrics")
        object.__setattr__(self, "terms", tuple(flat))
        for weight, metric in flat[1:]:
            if ((weight > 0) == metric.higher_is_better) is not self.higher_is_better:
                first = _spell(flat[:1], str)
                up, down = ("higher", "lower")[:: 1 if self.higher_is_better else -1]
                raise OptionError(
                    f"{_spell([flat[0], (weight, metric)], str)}: of the first {up} is better, "
                    f"of the second {down}: write {first}{_join_term(-weight, str(metric))}"
                )

    @classmethod
    def parse(cls, specification: str) -> Combination:
        """Return the sum that a specification writes.

        Terms are metrics, with ``weight*`` before them or not, and plus or minus between blanks.

        Examples
        --------
        >>> str(Combination.parse("wrr - 2*cer"))
        'wrr - 2*cer'
        """
        from fstmetrics.signature import parse_metric

        return cls((weight, parse_metric(text)) for weight, text in terms(specification))

    def require(self) -> None:
        """Import and open what the parts need."""
        check_requirements(*self.parts)

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The metrics that are added up."""
        return tuple(metric for _, metric in self.terms)

    @property
    def name(self) -> str:
        """The sum of the names."""
        return _spell(self.terms, lambda each: getattr(each, "name", type(each).__name__))

    @property
    def label(self) -> str:
        """The sum of the names in headings of tables."""
        return _spell(self.terms, lambda each: getattr(each, "label", str(each)))

    def __str__(self) -> str:
        """Return the sum of the signatures."""
        return _spell(self.terms, str)

    @property
    def higher_is_better(self) -> bool:
        """Which way is up, for all of the parts."""
        weight, metric = self.terms[0]
        return metric.higher_is_better == (weight > 0)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """What the statistics are: the part and its own name for it."""
        return tuple(f"{part}: {name}" for part in self.parts for name in part.stat_names)

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics of one segment."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return the sum of the parts' scores, from one row of statistics or a sum of rows."""
        scores = zip(self.terms, self._columns(np.asarray(stats)), strict=True)
        return math.fsum(weight * metric.score(row) for (weight, metric), row in scores)

    def scores(self, rows: FloatColumn) -> FloatColumn:
        """Return the score of each row of statistics."""
        total = np.zeros(len(rows))
        for (weight, metric), some in zip(self.terms, self._columns(rows), strict=True):
            total += weight * scores_of(metric, some)
        return floats(total)

    def _columns(self, stats: FloatColumn) -> Iterator[FloatColumn]:
        """Yield the statistics of each part."""
        begin = 0
        for part in self.parts:
            end = begin + len(part.stat_names)
            yield floats(stats[..., begin:end])
            begin = end

    def corpus_stats(
        self,
        hypotheses: Sequence[str | Sequence[str]],
        references: Sequence[Iterable[Reference]],
    ) -> FloatColumn:
        """Return one row of statistics a segment."""
        given = [check_references(some) for some in references]
        return floats(np.hstack([corpus_stats(each, hypotheses, given) for each in self.parts]))

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        total = np.zeros((len(evidence), len(candidates)))
        for weight, metric in self.terms:
            pair_scores = metric_abilities_of(metric).pair_scores
            if pair_scores is not None:
                total += weight * pair_scores(metric, candidates, evidence)
            else:
                for row, other in zip(total, evidence, strict=True):
                    evaluator = metric.against([other.tokens])
                    row += weight * scores_of(metric, nbest_stats(evaluator, candidates))
        return floats(total)

    def with_source(self, source: str) -> Combination:
        """Return the sum for a segment with this source, if a part takes any."""
        terms = []
        for weight, each in self.terms:
            with_source = metric_abilities_of(each).with_source
            terms.append((weight, each if with_source is None else with_source(each, source)))
        same = all(one is other for (_, one), other in zip(terms, self.parts, strict=True))
        return self if same else Combination(terms)

    def against(self, references: Iterable[Reference]) -> CombinedEvaluator:
        """Return an evaluator for one segment."""
        given = check_references(references)
        parts = tuple(part.against(given) for part in self.parts)
        by_labels = [_searches_by_labels(part) for part in parts]
        read = {_read(part) for part, labels in zip(parts, by_labels, strict=True) if not labels}
        if len(read) > 1 or None in read or sum(by_labels) > 1:
            return CombinedEvaluator(self, given, parts)
        kind = CombinedLabels if any(by_labels) else CombinedSearcher
        return kind(self, given, parts)


def _join_term(weight: float, text: str) -> str:
    """Return a term as it stands behind others."""
    factor = "" if abs(weight) == 1 else f"{_number(abs(weight))}*"
    return f" {'-' if weight < 0 else '+'} {factor}{text}"


def _spell(terms: Sequence[tuple[float, Metric]], spell: Any) -> str:
    """Return terms as they are written."""
    (weight, metric), *rest = terms
    first = spell(metric) if weight == 1 else f"{_number(weight)}*{spell(metric)}"
    return first + "".join(_join_term(factor, spell(each)) for factor, each in rest)


def _number(weight: float) -> str:
    return repr(int(weight)) if weight.is_integer() else repr(weight)


def _searches_by_labels(evaluator: Evaluator) -> bool:
    return abilities_of(evaluator).clipped_matches is not None


def _read(evaluator: Evaluator) -> Hashable:
    """Return what an evaluator's machine reads: words, characters, or either normalised.

    None where there is no machine, or it is not known.
    """
    if not has_machine(evaluator):
        return None
    metric = evaluator.metric
    if isinstance(metric, Normalised):
        inner = _read(cast(NormalisedEvaluator, evaluator).inner)
        return None if inner is None else (metric.normalise, inner)
    if isinstance(metric, AlignmentMetric):
        return ("characters", metric.spaces) if metric.characters else "words"
    space = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    return "words" if evaluator.prepare(space).space is space else None


def normalise_metric(metric: Metric, normalise: str) -> Metric:
    """Return a metric of normalised text; of a sum each part is.

    Examples
    --------
    >>> from fstmetrics import CER, WER
    >>> str(normalise_metric(2 * WER() + CER(), "lower"))
    '2*wer:normalise=lower + cer:normalise=lower'
    """
    if isinstance(metric, Combination):
        return Combination((weight, Normalised(each, normalise)) for weight, each in metric.terms)
    return Normalised(metric, normalise)


@dataclass(frozen=True, eq=False)
class CombinedEvaluator:
    """A sum of metrics made ready for the references of one segment."""

    metric: Combination
    references: tuple[Reference, ...]
    parts: tuple[Evaluator, ...]

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis."""
        return floats(np.concatenate([part.stats(hypothesis) for part in self.parts]))

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the sum for one hypothesis."""
        return self.metric.score(self.stats(hypothesis))

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row of statistics for each entry."""
        return floats(np.hstack([nbest_stats(part, nbest) for part in self.parts]))

    def explain_refusal(self) -> str:
        """Return why lattices and forests are not searched under the sum."""
        for part in self.parts:
            if not can_search(part):
                return f"{part.metric} has no machine"
        if sum(map(_searches_by_labels, self.parts)) > 1:
            return "only one of its parts can be BLEU or chrF"
        return "its parts read different tokens"


class CombinedLabels(CombinedEvaluator):
    """An evaluator with one part that is searched by labels, and others with a machine."""

    def clipped_matches(self) -> ClippedMatches:
        """Return what the one part is made of, with its weight and the sum of the others."""
        by_labels = [_searches_by_labels(part) for part in self.parts]
        place = by_labels.index(True)
        weight, _ = self.metric.terms[place]
        others = [*self.metric.terms[:place], *self.metric.terms[place + 1 :]]
        added = None
        if others:
            added = cast(CompiledEvaluator, Combination(others).against(self.references))
        matches = clipped_matches(self.parts[place])
        read = "words" if added is None else _read(self.parts[place - 1])
        plain = matches.units is None or matches.f_score is not None
        characters = matches.characters and plain and not matches.lowercase
        if read != "words" and not (characters and read == ("characters", matches.spaces)):
            raise OptionError(
                f"{self.metric} cannot search lattices and forests: its parts read different "
                "tokens; take an n-best list (lattices.k_best)"
            )
        return matches._replace(weight=abs(weight), added=added, fronts=False)


class CombinedSearcher(CombinedEvaluator):
    """An evaluator whose parts are searched together."""

    def prepare(self, space: S) -> Prepared[S]:
        """Return the space in the tokens of the parts, which are the same for all."""
        return cast(CompiledEvaluator, self.parts[0]).prepare(space)

    def machine(self, vocabulary: Vocabulary, labels: IntColumn | None = None) -> Machine:
        """Return the product of the parts' machines: a part for each choice of theirs."""
        machines = [
            cast(CompiledEvaluator, part).machine(vocabulary, labels) for part in self.parts
        ]
        weights = [weight for weight, _ in self.metric.terms]
        # of an error rate the value of a machine is 1 minus the score
        errors = [not metric.higher_is_better for metric in self.metric.parts]
        constant = math.fsum(
            weight for weight, is_error in zip(weights, errors, strict=True) if is_error
        )
        if not self.metric.higher_is_better:
            constant = 1.0 - constant
        exact = all(float(_fraction(weight)) == weight for weight in weights)
        parts = []
        for chosen in product(*(machine.parts for machine in machines)):
            shares = [
                _fraction(abs(weight)) / Fraction(part.denominator)
                for weight, part in zip(weights, chosen, strict=True)
            ]
            unit = Fraction(math.lcm(*(share.denominator for share in shares)))
            if unit > _LARGEST_UNIT:
                exact, unit = False, Fraction(1 / FINEST_UNIT)
            found = _explicit(chosen[0], float(shares[0] * unit))
            for part, share in zip(chosen[1:], shares[1:], strict=True):
                found = _multiply(found, _explicit(part, float(share * unit)))
            parts.append(Part(_whole(found), float(unit), round(constant * unit)))
        relation = max((machine.relation for machine in machines), key=_RELATIONS.index)
        rounded = not exact or any(machine.rounded for machine in machines)
        return Machine(tuple(parts), relation, rounded, vocabulary)


def _fraction(weight: float) -> Fraction:
    return Fraction(weight).limit_denominator(_LARGEST_DENOMINATOR)


def _explicit(part: Part, factor: float) -> Automaton:
    """Return the automaton of a part, arc by arc, with gains multiplied, bonus included."""
    found = make_explicit(part)
    final = (found.final + part.bonus) * factor
    return Automaton(
        found.src, found.dst, found.label, found.gain * factor, found.initial * factor, final
    )


def _whole(found: Automaton) -> Automaton:
    """Return the automaton with whole gains, which they are but for rounding."""
    gain, initial, final = (
        floats(np.rint(each)) for each in (found.gain, found.initial, found.final)
    )
    return Automaton(found.src, found.dst, found.label, gain, initial, final)


def _multiply(one: Automaton, other: Automaton) -> Automaton:
    """Return the automaton that reads what both read, at the sum of their gains.

    Its states are pairs. Words are read by both at once, epsilon arcs are taken by one of them.
    Cost: arcs of one times arcs or states of the other.
    """
    width = other.num_states
    silent, aloud = one.label == 0, one.label != 0
    still, also = other.label == 0, other.label != 0
    most = (
        int(silent.sum()) * width
        + one.num_states * int(still.sum())
        + int(aloud.sum()) * int(also.sum())
    )
    if most > _MOST_ARCS:
        raise OptionError(
            f"the machine of a sum would have up to {most:,} arcs, more than {_MOST_ARCS:,}: take "
            "fewer or shorter references, or the n-best list"
        )
    states, others = np.arange(one.num_states), np.arange(width)
    # pairs of arcs that read the same: a word and itself, or what any word is and a word
    first = np.repeat(np.flatnonzero(aloud), int(also.sum()))
    second = np.tile(np.flatnonzero(also), int(aloud.sum()))
    labels, their = one.label[first], other.label[second]
    agree = (labels == their) | (labels == ANY) | (their == ANY)
    first, second, labels, their = first[agree], second[agree], labels[agree], their[agree]
    src = [
        (one.src[silent][:, None] * width + others).ravel(),
        (states[:, None] * width + other.src[still]).ravel(),
        one.src[first] * width + other.src[second],
    ]
    dst = [
        (one.dst[silent][:, None] * width + others).ravel(),
        (states[:, None] * width + other.dst[still]).ravel(),
        one.dst[first] * width + other.dst[second],
    ]
    gain = [
        np.repeat(one.gain[silent], width),
        np.tile(other.gain[still], one.num_states),
        one.gain[first] + other.gain[second],
    ]
    label = [np.zeros(len(src[0])), np.zeros(len(src[1])), np.where(labels == ANY, their, labels)]
    return Automaton(
        ints(np.concatenate(src)),
        ints(np.concatenate(dst)),
        ints(np.concatenate(label)),
        floats(np.concatenate(gain)),
        floats(np.add.outer(one.initial, other.initial).ravel()),
        floats(np.add.outer(one.final, other.final).ravel()),
    )
