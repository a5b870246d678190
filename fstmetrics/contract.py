"""The contract of a metric, and what follows from it for a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeGuard, TypeVar, cast

import numpy as np

from fstmetrics.corpora import pair_segments
from fstmetrics.machine import Machine as Machine
from fstmetrics.references import Reference, lattices_by_length
from fstmetrics.signature import METRICS as METRICS
from fstmetrics.signature import NORMALISERS as NORMALISERS
from fstmetrics.signature import SIMILARITIES as SIMILARITIES
from lattices import _native
from lattices.arrays import FloatColumn, IntColumn, ints
from lattices.errors import OptionError
from lattices.intersection.engine import TargetSides
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.arguments import Each, Kind
from lattices.spaces.forest import order_rows
from lattices.vocabulary import Vocabulary

if TYPE_CHECKING:
    from fstmetrics.alignment.metric import Judgement, WordAlignment

#: a space that a machine can search
S = TypeVar("S", bound=Lattice | Forest)


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


class CompiledEvaluator(Evaluator, Protocol):
    """An evaluator that can search lattices and forests."""

    def machine(self, vocabulary: Vocabulary, labels: IntColumn | None = None) -> Machine:
        """Return the machine over the words of a space, or over those that ``labels`` lists."""

    def prepare(self, space: S) -> Prepared[S]:
        """Return the lattice or forest in the metric's own tokens: words, or characters."""


class NumberStats(NamedTuple):
    """Statistics of sentences whose words are numbers of the evaluator's own, 0 for any other."""

    #: the words that have a number, as those of a vocabulary, ascending; and the numbers
    words: IntColumn
    numbers: IntColumn
    #: one row for each sentence, of their numbers and where those of each begin
    rows: Callable[[IntColumn, IntColumn], FloatColumn]


class ClippedMatches(NamedTuple):
    """A score that grows with the clipped n-gram matches of a sentence, for each length of it."""

    #: the references, in units
    references: tuple[tuple[str, ...], ...]
    #: one for each order of n-grams, of sum 1
    weights: FloatColumn
    #: its number among :data:`fstmetrics.ngram.bleu.SMOOTHINGS`, its value, whether orders for
    #: which a sentence is too short are left out, whether the mean is arithmetic
    smoothing: tuple[int, float, bool, bool]
    #: the number of the effective length among :data:`fstmetrics.ngram.bleu.LENGTHS` (as many as
    #: these for no brevity penalty), and whether the penalty is strict
    lengths: tuple[int, bool]
    #: what the units are: characters, with blanks or without, or words; in lower case or not
    characters: bool
    spaces: bool
    lowercase: bool
    #: the units of a word in themselves, lower case and characters included, where they are not the
    #: word or its characters; those of a sentence are those of its words
    units: Callable[[str], Sequence[str]] | None = None
    #: in place of smoothing and lengths, of chrF: beta, and whether each order has an F-score. The
    #: reference that scores best counts.
    f_score: tuple[float, bool] | None = None
    #: the score counts so often, beside what is added
    weight: float = 1.0
    #: a metric with a machine, whose value is added
    added: CompiledEvaluator | None = None
    #: whether this is BLEU or its kin: then a corpus is chosen from fronts of statistics
    fronts: bool = True


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


#: scores closer than this, of metrics that do not count in whole units, differ by rounding
ROUNDING = 1e-12
#: what the score of a metric, and of an evaluator, is made of
SCORING = frozenset(["stats", "score", "scores", "against", "units", "possible", "implementation"])
_JUDGING = frozenset(["stats", "score", "judge", "list_stats"])
_NOTHING: frozenset[str] = frozenset()


class Abilities(NamedTuple):
    """What the evaluators of a class can do beside what all can.

    An ability is an optional method or attribute of the class, of the same name. Here it is a
    function of an evaluator, or None: ``abilities.list_stats(evaluator, nbest)``.

    Attributes
    ----------
    machine
        Of a vocabulary and labels: the machine over the words of a space, which the evaluator
        prepares (:class:`CompiledEvaluator`).
    clipped_matches
        What the score is made of, where it grows with clipped n-gram matches, or OptionError if
        it does not as the metric is set. Evaluators with a machine are not searched so.
    list_stats
        Of a list: one row of statistics for each entry, the same as ``stats`` gives.
    number_stats
        Of a vocabulary: how :meth:`list_stats` is had of words that are numbers of it, or None.
    list_values
        Of a list: the machine's value of each entry, in whole units and so without rounding.
    rounded
        Whether costs are too fine for whole units, so that ``list_values`` does not hold.
    judge
        Of a sentence: its alignment to the reference it fits best, with statistics and score.
    word_alignment
        The metric and the references as native code takes them, where only equal words count.
    inner
        The evaluator that sees normalised sentences, where it is this one that normalises them.
    """

    machine: Callable[[Evaluator, Vocabulary, IntColumn | None], Machine] | None
    clipped_matches: Callable[[Evaluator], ClippedMatches] | None
    list_stats: Callable[[Evaluator, NBest], FloatColumn] | None
    number_stats: Callable[[Evaluator, Vocabulary], NumberStats | None] | None
    list_values: Callable[[Evaluator, NBest], FloatColumn] | None
    rounded: Callable[[Evaluator], bool] | None
    judge: Callable[[Evaluator, str | Sequence[str]], Judgement] | None
    word_alignment: Callable[[Evaluator], WordAlignment | None] | None
    inner: Callable[[Evaluator], Evaluator] | None


class MetricAbilities(NamedTuple):
    """What the metrics of a class can do beside what all can, as :class:`Abilities` for evaluators.

    Attributes
    ----------
    scores
        Of rows of statistics: the score of each, the same as ``score`` gives.
    corpus_stats
        Of hypotheses and references: one row of statistics for each segment.
    pair_scores
        Of two lists, candidates and evidence: the score of each candidate (columns) against each
        sentence of evidence (rows).
    fractions
        Of rows: the numerator and the denominator, which is not negative, of each. The score of
        a corpus is the sum of numerators over that of denominators; where the latter is 0, it
        depends on the former alone, and in the same direction.
    with_source
        Of a source: the metric for a segment with it, itself if it depends on none.
    units
        Of words: what the metric counts.
    possible, characters
        Of a number of units: the denominator of a reference as long; whether units are characters.
    whole_costs
        The costs in whole units, on which ``list_values`` of evaluators rests.
    plain_over
        Of two lists, candidates and evidence: a metric that scores their pairs the same, and has
        ``pair_scores``; itself if there is none.
    """

    scores: Callable[[Metric, FloatColumn], FloatColumn] | None
    corpus_stats: (
        Callable[
            [Metric, Sequence[str | Sequence[str]], Sequence[Iterable[Reference]]], FloatColumn
        ]
        | None
    )
    pair_scores: Callable[[Metric, NBest, NBest], FloatColumn] | None
    fractions: Callable[[Metric, FloatColumn], tuple[FloatColumn, FloatColumn]] | None
    with_source: Callable[[Metric, str], Metric] | None
    units: Callable[[Metric, Sequence[str]], Sequence[str]] | None
    possible: Callable[[Metric, int], int] | None
    characters: Callable[[Metric], bool] | None
    whole_costs: Callable[[Metric], tuple[float, float, float]] | None
    plain_over: Callable[[Metric, NBest, NBest], Metric] | None


#: for each ability the methods that define what it computes: see :func:`offers`
_EVALUATORS = {
    "machine": _NOTHING,
    "clipped_matches": _JUDGING,
    "list_stats": frozenset(["stats", "judge"]),
    "number_stats": frozenset(["stats", "judge", "list_stats"]),
    "list_values": _JUDGING,
    "rounded": _NOTHING,
    "judge": _NOTHING,
    "word_alignment": _NOTHING,
    "inner": _NOTHING,
}
_METRICS = {
    "scores": frozenset(["score"]),
    "corpus_stats": frozenset(["stats", "against"]),
    "pair_scores": SCORING,
    "fractions": frozenset(["score", "scores"]),
    "with_source": _NOTHING,
    "units": _NOTHING,
    "possible": _NOTHING,
    "characters": _NOTHING,
    "whole_costs": SCORING,
    "plain_over": SCORING,
}
#: abilities that are attributes, or properties
_ATTRIBUTES = frozenset(["rounded", "word_alignment", "inner", "characters", "whole_costs"])


def _ability(kind: type, name: str, rests_on: frozenset[str]) -> Callable[..., Any] | None:
    """Return an ability of a class as a function of its instances, or None."""
    if name in _ATTRIBUTES:
        # a field of a dataclass is no attribute of the class
        is_field = name in getattr(kind, "__dataclass_fields__", ())
        return attrgetter(name) if is_field or offers(kind, name, rests_on) else None
    if not offers(kind, name, rests_on):
        return None
    return lambda each, *given: getattr(each, name)(*given)


@lru_cache(maxsize=512)
def _abilities_of_class(kind: type) -> Abilities:
    found = Abilities(**{name: _ability(kind, name, rests) for name, rests in _EVALUATORS.items()})
    if not offers(kind, "prepare", _NOTHING):
        found = found._replace(machine=None)
    return found if found.machine is None else found._replace(clipped_matches=None)


@lru_cache(maxsize=512)
def _metric_abilities_of_class(kind: type) -> MetricAbilities:
    found = {name: _ability(kind, name, rests) for name, rests in _METRICS.items()}
    return MetricAbilities(**found)


def abilities_of(evaluator: Evaluator) -> Abilities:
    """Return what an evaluator can do; looked for once in each class.

    Examples
    --------
    >>> from fstmetrics import BLEU, WER
    >>> some = [abilities_of(metric.against(["a cat"])) for metric in (WER(), BLEU())]
    >>> [each.machine is not None for each in some]
    [True, False]
    >>> [each.clipped_matches is not None for each in some]
    [False, True]
    """
    return _abilities_of_class(type(evaluator))


def metric_abilities_of(metric: Metric) -> MetricAbilities:
    """Return what a metric can do; looked for once in each class.

    Corpus scores are fractions for WER, WRR, CER, GRR, PER and TER.

    Examples
    --------
    >>> from fstmetrics import BLEU, GRR, TBLEU
    >>> some = [metric_abilities_of(metric) for metric in (GRR(), BLEU(), TBLEU())]
    >>> [each.fractions is not None for each in some]
    [True, False, False]
    >>> [each.pair_scores is not None for each in some]
    [True, True, False]
    """
    return _metric_abilities_of_class(type(metric))


def has_machine(evaluator: Evaluator) -> TypeGuard[CompiledEvaluator]:
    """Tell whether an evaluator searches spaces by a machine."""
    return abilities_of(evaluator).machine is not None


def clipped_matches(evaluator: Evaluator) -> ClippedMatches:
    """Return what the score is made of, for a search by labels.

    Raises
    ------
    OptionError
        If it does not grow with matches, as the metric is set, or at all.
    """
    matches = abilities_of(evaluator).clipped_matches
    if matches is None:
        raise OptionError(f"{evaluator.metric} is not made of clipped n-gram matches, as BLEU is")
    return matches(evaluator)


def can_search(evaluator: Evaluator) -> bool:
    """Tell whether an evaluator, as it is set, searches lattices and forests by any means.

    Examples
    --------
    >>> from fstmetrics import BLEU, TBLEU, WER
    >>> some = WER(), BLEU(), BLEU(tokenize="13a"), BLEU(tokenize="intl"), TBLEU()
    >>> [can_search(metric.against(["a b"])) for metric in some]
    [True, True, True, False, False]
    """
    abilities = abilities_of(evaluator)
    if abilities.clipped_matches is None:
        return abilities.machine is not None
    try:
        abilities.clipped_matches(evaluator)
    except OptionError:
        return False
    return True


def rounding_of(evaluator: Evaluator) -> float:
    """Return by how much scores differ by rounding alone.

    Scores from costs that had to be rounded to whole units differ for real, by however little.
    """
    rounded = abilities_of(evaluator).rounded
    return 0.0 if rounded is not None and rounded(evaluator) else ROUNDING


def quality(metric: Metric, score: float) -> float:
    """Return a score turned so that higher is better: an error rate is negated."""
    return score if metric.higher_is_better else -score


@dataclass(frozen=True)
class Prepared(Generic[S]):
    """A lattice or forest in the tokens of a metric, and the way back to the original."""

    space: S
    #: the arc or edge of the original behind each of :attr:`space`, -1 for none; nothing where the
    #: space is the original itself
    origin: IntColumn | None = None
    #: whether every sentence is what the metric would make of it; if not, a machine over the space
    #: is merely like the metric
    exact: bool = True

    def original(self, arcs: IntColumn) -> tuple[int, ...]:
        """Return a path or derivation of the prepared space as one of the original."""
        if self.origin is None:
            return tuple(arcs.tolist())
        origin = self.origin[arcs]
        return tuple(origin[origin >= 0].tolist())

    def origins(self, arcs: IntColumn) -> IntColumn:
        """Return the arc or edge of the original behind each of some, -1 for none and of none."""
        return arcs if self.origin is None else ints(np.append(self.origin, -1)[arcs])

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
        sides = TargetSides(*order_rows(original.symbol, original.symbol_offset, self.origin))
        spelt = cast(Forest, self.space)
        places, words = (
            _count_words_between_tails(*each)
            for each in (TargetSides(spelt.symbol, spelt.symbol_offset), sides)
        )
        if (places < words).any():
            return sides
        return ints(_native.words_said(spelt.columns, original.columns, self.origin))


def _count_words_between_tails(symbol: IntColumn, offset: IntColumn) -> IntColumn:
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


def nbest_values(
    evaluator: Evaluator, nbest: NBest, stats: FloatColumn | None = None
) -> tuple[FloatColumn, float]:
    """Return what each entry of a list is worth, higher is better, and what counts as rounding.

    Metrics that count in whole units (an evaluator with ``list_values``) give what their machines
    give, so that ties are the same in lists, lattices and forests, and nothing is rounding. Of
    other metrics it is the score, turned so that higher is better. ``stats`` are those of
    :func:`nbest_stats`, if they are there.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat"), -1.0), Hypothesis(("the",), -2.0)])
    >>> nbest_values(WER().against(["the cat"]), nbest)
    (array([0.5, 0.5]), 0.0)
    """
    metric = evaluator.metric
    rounding, whole = rounding_of(evaluator), abilities_of(evaluator).list_values
    if rounding and whole is not None and metric_abilities_of(metric).whole_costs is not None:
        return whole(evaluator, nbest), 0.0
    scores = scores_of(metric, nbest_stats(evaluator, nbest) if stats is None else stats)
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
    in_one_pass = abilities_of(evaluator).list_stats
    if in_one_pass is not None:
        return in_one_pass(evaluator, nbest)
    rows = [evaluator.stats(nbest.tokens(entry)) for entry in range(len(nbest))]
    return check_rows(evaluator.metric, rows)


def check_rows(metric: Metric, rows: Sequence[FloatColumn]) -> FloatColumn:
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
    in_one_pass = metric_abilities_of(metric).corpus_stats
    if in_one_pass is not None:
        return in_one_pass(metric, hypotheses, references)
    return segment_rows(metric, hypotheses, references)


def segment_rows(
    metric: Metric,
    hypotheses: Sequence[str | Sequence[str]],
    references: Sequence[Iterable[Reference]],
) -> FloatColumn:
    """Return one row of statistics a segment, made one by one."""
    segments = pair_segments(hypotheses, references)
    return check_rows(metric, [metric.stats(*segment) for segment in segments])


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
    in_one_pass = metric_abilities_of(metric).scores
    if in_one_pass is not None:
        return in_one_pass(metric, rows)
    return np.array([metric.score(row) for row in rows], dtype=np.float64)


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
    with_source = metric_abilities_of(metric).with_source
    if with_source is None:
        return metric
    said = (space.source or str(space.metadata.get("source", "")) for space in spaces)
    sources = list(dict.fromkeys(filter(None, said)))
    found = with_source(metric, sources[0] if sources else "")
    if len(sources) > 1 and found is not metric:
        one, other, *_ = sources
        raise OptionError(f"spaces of one segment have two sources, {one!r:.60} and {other!r:.60}")
    return found


def compares_words(metric: Metric) -> bool:
    """Tell whether a metric takes words as they are: no characters, no lower case."""
    units = metric_abilities_of(metric).units
    return units is not None and tuple(units(metric, ("Ab",))) == ("Ab",)


def split_denominators(evaluator: Evaluator) -> list[Evaluator] | None:
    """Return evaluators of the same metric that have one denominator each, whatever the sentence.

    One if the denominator does not depend on the sentence at all. None where the score of a
    corpus is no fraction, or the denominators of a reference lattice are not those of its
    lengths in words.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> [each.references for each in split_denominators(WER().against(["a cat", "cat", "my cat"]))]
    [('a cat', 'my cat'), ('cat',)]
    """
    metric = evaluator.metric
    abilities = metric_abilities_of(metric)
    if abilities.fractions is None:
        return None
    if len(evaluator.references) == 1 and not isinstance(evaluator.references[0], Lattice):
        return [evaluator]
    alike: dict[float, list[Reference]] = {}
    for reference in evaluator.references:
        if not isinstance(reference, Lattice):
            row = metric.against([reference]).stats(())
            _, (denominator,) = abilities.fractions(metric, row[None])
            alike.setdefault(float(denominator), []).append(reference)
            continue
        characters = abilities.characters is not None and abilities.characters(metric)
        if abilities.possible is None or characters:
            return None
        for length, sentences in lattices_by_length(reference).items():
            alike.setdefault(float(abilities.possible(metric, length)), []).append(sentences)
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
    inner = abilities_of(evaluator).inner
    parts = split_denominators(evaluator if inner is None else inner(evaluator))
    return parts is not None and len(parts) == 1


def _has(*names: str) -> Callable[[object], bool]:
    """Return what tells whether a value, and not a class, has these attributes."""
    return lambda value: not isinstance(value, type) and all(hasattr(value, n) for n in names)


_is_metric = _has("higher_is_better", "stats", "score", "against")
_is_evaluator = _has("metric", "references", "stats", "score")


def _explain_metrics(value: object) -> str:
    if _is_evaluator(value):
        return "evaluator.metric is the metric that it came from"
    if isinstance(value, str):
        return "fstmetrics.parse_metric(text) makes one"
    return f"{value.__name__}() makes one" if isinstance(value, type) else ""


#: what functions take for metrics and evaluators, and say where something else came
METRIC = Kind("a metric", _is_metric, _explain_metrics)
METRIC_OR_NONE = Kind(
    "a metric", lambda value: value is None or _is_metric(value), _explain_metrics
)
EVALUATOR = Kind("an evaluator", _is_evaluator, lambda _: "metric.against(references) makes one")
EVALUATORS = Each(EVALUATOR, "a sequence of evaluators")
