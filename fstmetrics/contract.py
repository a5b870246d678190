"""The contract of a metric, and what follows from it for a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, NamedTuple, Protocol, TypeGuard, TypeVar, cast, runtime_checkable

import numpy as np

from fstmetrics.machine import Machine
from fstmetrics.references import Reference, lattices_by_length
from lattices import _native
from lattices.arrays import FloatColumn, IntColumn, ints
from lattices.errors import OptionError
from lattices.intersection.engine import TargetSides
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.arguments import Each, Kind
from lattices.spaces.forest import rows_in_order
from lattices.vocabulary import Vocabulary

#: a space that a machine can search
S = TypeVar("S", bound=Lattice | Forest)


@runtime_checkable
class Evaluator(Protocol):
    """A metric made ready for the references of one segment."""

    @property
    def metric(self) -> Metric:
        """The metric this came from."""

    @property
    def references(self) -> tuple[Reference, ...]:
        """The references, as given."""

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis, additive over segments."""

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the metric of one hypothesis."""


@runtime_checkable
class Metric(Protocol):
    """What every metric offers."""

    @property
    def higher_is_better(self) -> bool:
        """Which way is up."""

    @property
    def stat_names(self) -> tuple[str, ...]:
        """What the statistics are, one name a column."""

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics of one segment, additive over segments."""

    def score(self, stats: FloatColumn) -> float:
        """Return the metric from the statistics of a segment, or from a sum of them."""

    def against(self, references: Iterable[Reference]) -> Evaluator:
        """Return an evaluator for one segment: prepared once, used often."""


@runtime_checkable
class CompiledEvaluator(Evaluator, Protocol):
    """An evaluator that can search lattices and forests."""

    def machine(self, vocabulary: Vocabulary, labels: IntColumn | None = None) -> Machine:
        """Return the machine over the words of a space, or over those that ``labels`` lists."""

    def prepare(self, space: S) -> Prepared[S]:
        """Return the lattice or forest in the metric's own tokens: words, or characters."""


@runtime_checkable
class ListEvaluator(Evaluator, Protocol):
    """An evaluator that scores whole n-best lists in one pass."""

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row of statistics for each entry, the same as ``stats`` gives."""


class ClippedMatches(NamedTuple):
    """A score that grows with the clipped n-gram matches of a sentence, for each length of it.

    Attributes
    ----------
    references : tuple
        The references, in units.
    weights : float64 column
        One for each order of n-grams, of sum 1.
    smoothing : tuple
        Its number among :data:`fstmetrics.ngram.bleu.SMOOTHINGS`, its value, whether orders for
        which a sentence is too short are left out, whether the mean is arithmetic.
    lengths : tuple
        The number of the effective length among :data:`fstmetrics.ngram.bleu.LENGTHS` (as many as
        these for no brevity penalty), and whether the penalty is strict.
    characters, spaces, lowercase : bool
        What the units are: characters, with blanks or without, or words; in lower case or not.
    units : function or None
        The units of a word in themselves, lower case and characters included, where they are not
        the word or its characters; those of a sentence are those of its words.
    """

    references: tuple[tuple[str, ...], ...]
    weights: FloatColumn
    smoothing: tuple[int, float, bool, bool]
    lengths: tuple[int, bool]
    characters: bool
    spaces: bool
    lowercase: bool
    units: Callable[[str], Sequence[str]] | None = None


@runtime_checkable
class MatchEvaluator(Evaluator, Protocol):
    """An evaluator whose score grows with clipped n-gram matches, which labels can search for."""

    def clipped_matches(self) -> ClippedMatches:
        """Return what the score is made of, or raise OptionError if it does not grow so."""


@lru_cache(maxsize=512)
def offers(kind: type, ability: str, rests_on: frozenset[str]) -> bool:
    """Tell whether a class has an ability that fits the rest of it.

    An ability computes what other methods define. A subclass that changes one of those, and not
    the ability, has lost it.

    Parameters
    ----------
    kind : type
    ability : str
        The name of a method.
    rests_on : frozenset of str
        The names of the methods that define what it computes.

    Examples
    --------
    >>> class Counts:
    ...     def count(self, word): return 1
    ...     def counts(self, words): return [1] * len(words)
    >>> class Twice(Counts):
    ...     def count(self, word): return 2
    >>> [offers(kind, "counts", frozenset(["count"])) for kind in (Counts, Twice)]
    [True, False]
    """
    for part in kind.__mro__:
        if ability in vars(part):
            return True
        if not rests_on.isdisjoint(vars(part)):
            return False
    return False


def has_machine(evaluator: Evaluator) -> TypeGuard[CompiledEvaluator]:
    """Tell whether an evaluator can search spaces; much cheaper than ``isinstance``."""
    return hasattr(evaluator, "machine") and hasattr(evaluator, "prepare")


def has_matches(evaluator: Evaluator) -> TypeGuard[MatchEvaluator]:
    """Tell whether an evaluator is searched by clipped n-gram matches; a machine goes first."""
    return offers(type(evaluator), "clipped_matches", _JUDGING) and not has_machine(evaluator)


def can_search(evaluator: Evaluator) -> bool:
    """Tell whether an evaluator, as it is set, searches lattices and forests by any means.

    Examples
    --------
    >>> from fstmetrics import BLEU, TBLEU, WER
    >>> some = WER(), BLEU(), BLEU(tokenize="13a"), BLEU(tokenize="intl"), TBLEU()
    >>> [can_search(metric.against(["a b"])) for metric in some]
    [True, True, True, False, False]
    """
    if not has_matches(evaluator):
        return has_machine(evaluator)
    try:
        evaluator.clipped_matches()
    except OptionError:
        return False
    return True


def quality(metric: Metric, score: float) -> float:
    """Return a score turned so that higher is better: an error rate is negated."""
    return score if metric.higher_is_better else -score


@dataclass(frozen=True)
class Prepared(Generic[S]):
    """A lattice or forest in the tokens of a metric, and the way back to the original.

    Attributes
    ----------
    space : Lattice or Forest
    origin : int32 column, optional
        The arc or edge of the original behind each of :attr:`space`, -1 for none; nothing where
        the space is the original itself.
    exact : bool
        Whether every sentence is what the metric would make of it; if not, a machine over the
        space is merely like the metric.
    """

    space: S
    origin: IntColumn | None = None
    exact: bool = True

    def original(self, arcs: IntColumn) -> tuple[int, ...]:
        """Return a path or derivation of the prepared space as one of the original."""
        if self.origin is None:
            return tuple(arcs.tolist())
        origin = self.origin[arcs]
        return tuple(origin[origin >= 0].tolist())

    def labels(self) -> IntColumn:
        """Return the tokens of the space, in any order: the labels of arcs, or of target sides."""
        if isinstance(self.space, Lattice):
            return self.space.label
        return ints(self.space.symbol[self.space.symbol > 0])

    def words(self, original: S) -> IntColumn | TargetSides | None:
        """Return the words that the labels stand for; None if labels are the words.

        For each label the word that it begins, 0 for none. Where words of a forest have become
        fewer labels, there is not a place for each: then the target sides in words.
        """
        if self.origin is None:
            return None
        if isinstance(original, Lattice):
            return ints(np.where(self.origin < 0, 0, original.label[self.origin]))
        sides = TargetSides(*rows_in_order(original.symbol, original.symbol_offset, self.origin))
        spelt = cast(Forest, self.space)
        places, words = (
            _words_between_tails(*each)
            for each in (TargetSides(spelt.symbol, spelt.symbol_offset), sides)
        )
        if (places < words).any():
            return sides
        return ints(_native.words_said(spelt.columns, original.columns, self.origin))


def _words_between_tails(symbol: IntColumn, offset: IntColumn) -> IntColumn:
    """Return how many words each target side has before, between and after its tails."""
    edge = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    stretch = edge + np.cumsum(symbol < 0)
    count = len(offset) - 1 + int((symbol < 0).sum())
    return ints(np.bincount(stretch[symbol > 0], minlength=count))


def compile_for(space: S, evaluator: CompiledEvaluator) -> tuple[Prepared[S], Machine]:
    """Return a space in the tokens of a metric, and the metric's machine over them.

    Examples
    --------
    >>> from fstmetrics import CER
    >>> forest = Forest.from_edges([(0, [], ["on"]), (0, [], ["in"])])
    >>> prepared, machine = compile_for(forest, CER().against(["in"]))
    >>> prepared.space.vocabulary.decode([1, 2, 3]), machine.relation
    (('o', 'n', 'i'), 'exact')
    """
    prepared = evaluator.prepare(space)
    machine = evaluator.machine(prepared.space.vocabulary, prepared.labels())
    return prepared, machine if prepared.exact else replace(machine, relation="proxy")


#: scores closer than this, of metrics that do not count in whole units, differ by rounding
ROUNDING = 1e-12
#: what the score of a metric, and of an evaluator, is made of
SCORING = frozenset(["stats", "score", "scores", "against", "units", "possible", "implementation"])
_JUDGING = frozenset(["stats", "score", "judge", "list_stats"])


def nbest_values(evaluator: Evaluator, nbest: NBest) -> tuple[FloatColumn, float]:
    """Return what each entry of a list is worth, higher is better, and what counts as rounding.

    Metrics that count in whole units (an evaluator with ``list_values``) give what their machines
    give, so that ties are the same in lists, lattices and forests, and nothing is rounding. Of
    other metrics it is the score, turned so that higher is better.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat"), -1.0), Hypothesis(("the",), -2.0)])
    >>> nbest_values(WER().against(["the cat"]), nbest)
    (array([0.5, 0.5]), 0.0)
    """
    metric = evaluator.metric
    whole = getattr(evaluator, "list_values", None)
    if (
        whole is not None
        and offers(type(evaluator), "list_values", _JUDGING)
        and offers(type(metric), "whole_costs", SCORING)
        and not getattr(evaluator, "rounded", False)
    ):
        values: FloatColumn = whole(nbest)
        return values, 0.0
    scores = scores_of(metric, nbest_stats(evaluator, nbest))
    # scores from costs that had to be rounded to the unit differ for real: they are not grouped
    rounding = 0.0 if getattr(evaluator, "rounded", False) else ROUNDING
    return (scores if metric.higher_is_better else -scores), rounding


def nbest_stats(evaluator: Evaluator, nbest: NBest) -> FloatColumn:
    """Return one row of statistics for each entry of a list; in one pass, if the metric can.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat"), -1.0), Hypothesis(("the",), -2.0)])
    >>> rows = nbest_stats(WER().against(["the cat"]), nbest)
    >>> [WER().score(row) for row in rows]
    [0.5, 0.5]
    """
    if isinstance(evaluator, ListEvaluator):
        return evaluator.list_stats(nbest)
    rows = [evaluator.stats(nbest.tokens(entry)) for entry in range(len(nbest))]
    return checked_rows(evaluator.metric, rows)


def checked_rows(metric: Metric, rows: Sequence[FloatColumn]) -> FloatColumn:
    """Return rows of statistics as a matrix, or raise OptionError if they are not as named."""
    names = metric.stat_names
    try:
        found = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if rows and found.shape != (len(rows), len(names)):
        odd = next((row for row in rows if np.shape(row) != (len(names),)), rows[0])
        raise OptionError(
            f"the metric {metric} has the statistics {odd!r:.80} for a segment, expected "
            f"{len(names)} numbers: {', '.join(names)}"
        )
    return found.reshape(len(rows), len(names))


def corpus_stats(
    metric: Metric,
    hypotheses: Sequence[str | Sequence[str]],
    references: Sequence[Iterable[Reference]],
) -> FloatColumn:
    """Return one row of statistics a segment; in one pass, if the metric can.

    A metric that has ``corpus_stats`` with the same arguments, as BLEU has, is asked itself.

    Raises
    ------
    OptionError
        If there are not as many lists of references as hypotheses.
    """
    in_one_pass = getattr(metric, "corpus_stats", None)
    if in_one_pass is not None:
        rows_of_all: FloatColumn = in_one_pass(hypotheses, references)
        return rows_of_all
    if len(hypotheses) != len(references):
        raise OptionError(
            f"{len(hypotheses)} hypotheses, but references for {len(references)} segments"
        )
    rows = [
        metric.stats(hypothesis, of_segment)
        for hypothesis, of_segment in zip(hypotheses, references, strict=True)
    ]
    return checked_rows(metric, rows)


def corpus_score(
    metric: Metric,
    hypotheses: Sequence[str | Sequence[str]],
    references: Sequence[Iterable[Reference]],
) -> float:
    """Return the metric of a corpus: the score of the summed statistics.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> corpus_score(WER(), ["a cat", "sat"], [["the cat"], ["sat down"]])
    0.5
    """
    return metric.score(corpus_stats(metric, hypotheses, references).sum(axis=0))


_SCORE = frozenset(["score"])


@runtime_checkable
class RowScorer(Protocol):
    """A metric that scores many rows in one pass."""

    def scores(self, rows: FloatColumn) -> FloatColumn:
        """Return the score of each row of statistics, the same as ``score`` gives."""


def scores_of(metric: Metric, rows: FloatColumn) -> FloatColumn:
    """Return the score of each row; in one pass if the metric can, row by row if not.

    A subclass that has changed ``score`` alone is scored row by row.

    Examples
    --------
    >>> from fstmetrics import BLEU
    >>> evaluator = BLEU(order=1).against(["the cat"])
    >>> rows = np.array([evaluator.stats("the cat"), evaluator.stats("the hat")])
    >>> scores_of(BLEU(order=1), rows).tolist()
    [1.0, 0.5]
    """
    if offers(type(metric), "scores", _SCORE):
        return cast(RowScorer, metric).scores(rows)
    return np.array([metric.score(row) for row in rows], dtype=np.float64)


@runtime_checkable
class FractionMetric(Metric, Protocol):
    """A metric whose corpus score is a sum over a sum."""

    def fractions(self, rows: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
        """Return the numerator and the denominator, which is not negative, of each row.

        The score of a corpus is the sum of numerators over that of denominators. Where the
        latter is 0, it depends on the former alone, and in the same direction.
        """


def has_fractions(metric: Metric) -> TypeGuard[FractionMetric]:
    """Tell whether the corpus score is a sum of numerators over a sum of denominators.

    So it is for WER, WRR, CER, GRR, PER and TER.

    Examples
    --------
    >>> from fstmetrics import BLEU, GRR
    >>> has_fractions(GRR()), has_fractions(BLEU())
    (True, False)
    """
    return offers(type(metric), "fractions", frozenset(["score", "scores"]))


class SourceMetric(Metric, Protocol):
    """A metric that may depend on the source of a segment."""

    def with_source(self, source: str) -> Metric:
        """Return the metric for a segment with this source, itself if it depends on none."""


def takes_source(metric: Metric) -> TypeGuard[SourceMetric]:
    """Tell whether a metric may depend on the source of a segment, as a utility does."""
    return offers(type(metric), "with_source", frozenset())


def for_segment(metric: Metric, spaces: Sequence[Space]) -> Metric:
    """Return the metric for one segment: with the source of its spaces, if it takes one.

    Examples
    --------
    >>> from fstmetrics import Utility
    >>> lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1], source="ein")
    >>> metric = Utility(lambda triples: [len(source) for *_, source in triples], source=True)
    >>> for_segment(metric, [lattice]).against(["an"]).score("a")
    3.0
    """
    if not takes_source(metric):
        return metric
    said = (space.source or str(space.metadata.get("source", "")) for space in spaces)
    sources = list(dict.fromkeys(filter(None, said)))
    found = metric.with_source(sources[0] if sources else "")
    if len(sources) > 1 and found is not metric:
        one, other, *_ = sources
        raise OptionError(f"spaces of one segment have two sources, {one!r:.60} and {other!r:.60}")
    return found


def by_denominator(evaluator: Evaluator) -> list[Evaluator] | None:
    """Return evaluators of the same metric that have one denominator each, whatever the sentence.

    One if the denominator does not depend on the sentence at all. None where the score of a
    corpus is no fraction, or the denominators of a reference lattice are not those of its
    lengths in words.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> [each.references for each in by_denominator(WER().against(["a cat", "cat", "my cat"]))]
    [('a cat', 'my cat'), ('cat',)]
    """
    metric = evaluator.metric
    if not has_fractions(metric):
        return None
    if len(evaluator.references) == 1 and not isinstance(evaluator.references[0], Lattice):
        return [evaluator]
    alike: dict[float, list[Reference]] = {}
    for reference in evaluator.references:
        if not isinstance(reference, Lattice):
            row = metric.against([reference]).stats(())
            alike.setdefault(float(metric.fractions(row[None])[1][0]), []).append(reference)
            continue
        possible = getattr(metric, "possible", None)
        if possible is None or getattr(metric, "characters", False):
            return None
        for length, sentences in lattices_by_length(reference).items():
            alike.setdefault(float(possible(length)), []).append(sentences)
    if len(alike) == 1:
        return [evaluator]
    return [metric.against(some) for some in alike.values()]


def decomposes(evaluator: Evaluator) -> bool:
    """Tell whether the best sentence of a segment is part of the best corpus, whatever the rest.

    Examples
    --------
    >>> from fstmetrics import BLEU, WER
    >>> [decomposes(WER().against(some)) for some in (["a cat"], ["a cat", "cat"])]
    [True, False]
    >>> decomposes(BLEU().against(["a cat"]))
    False
    """
    # normalising both sides changes no denominator of the metric that is inside
    parts = by_denominator(getattr(evaluator, "inner", evaluator))
    return parts is not None and len(parts) == 1


def _has(*names: str) -> Callable[[object], bool]:
    """Return what tells whether a value, and not a class, has these attributes."""
    return lambda value: not isinstance(value, type) and all(hasattr(value, n) for n in names)


_is_metric = _has("higher_is_better", "stats", "score", "against")
_is_evaluator = _has("metric", "references", "stats", "score")


def _how_to_get_a_metric(value: object) -> str:
    if _is_evaluator(value):
        return "evaluator.metric is the metric that it came from"
    if isinstance(value, str):
        return "fstmetrics.parse_metric(text) makes one"
    return f"{value.__name__}() makes one" if isinstance(value, type) else ""


#: what functions take for metrics and evaluators, and say where something else came
METRIC = Kind("a metric", _is_metric, _how_to_get_a_metric)
METRIC_OR_NONE = Kind(
    "a metric", lambda value: value is None or _is_metric(value), _how_to_get_a_metric
)
EVALUATOR = Kind("an evaluator", _is_evaluator, lambda _: "metric.against(references) makes one")
EVALUATORS = Each(EVALUATOR, "a sequence of evaluators")
