"""Metrics of normalised text: any metric, after both sides have been made alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, cast

import numpy as np

from fstmetrics.contract import (
    CompiledEvaluator,
    Evaluator,
    Metric,
    Prepared,
    S,
    abilities_of,
    corpus_stats,
    metric_abilities_of,
    nbest_stats,
    rounding_of,
    scores_of,
)
from fstmetrics.machine import Machine
from fstmetrics.normalisation.normalisers import Normaliser, Words, parse_normaliser
from fstmetrics.references import Reference, check_references, split_tokens
from fstmetrics.signature import Summable
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.registry import check_requirements
from lattices.spaces import Forest, Hypothesis, Lattice, NBest
from lattices.spaces.forest import order_rows
from lattices.tokens.transduction import End, Move, transduce, transduce_forest
from lattices.vocabulary import EPSILON, Vocabulary


@dataclass(frozen=True)
class Normalised(Summable):
    """A metric of normalised sentences; hypotheses keep their words.

    Statistics and scores are those of ``metric`` after both sides are normalised, once. A lattice
    or forest is searched through its normalised words, one of which may stand for several or for
    none, and what is found is a path or derivation of it: oracles are exact where the metric's are.

    Parameters
    ----------
    metric : Metric
    normalise : str
        Names of normalisers with ``+`` between them: ``lower``, ``nfkc``, ``punctuation``,
        ``whisper-basic``, ``whisper-english``, ``drop:WORD|WORD``, ``glm:FILE``, ``regex:FILE``, or
        a plug-in's.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> metric = Normalised(WER(), "lower+punctuation")
    >>> str(metric), metric.against(["The cat sat."]).score("the Cat, sat")
    ('wer:normalise=lower+punctuation', 0.0)
    """

    metric: Metric
    normalise: str

    def __post_init__(self) -> None:
        """Look up the normalisers."""
        if isinstance(self.metric, Normalised):
            raise OptionError(f"{self.metric} is normalised already: lower+punctuation is for both")
        from fstmetrics.combination import Combination

        if isinstance(self.metric, Combination):
            raise OptionError(f"of the sum {self.metric} each part is normalised by itself")
        _ = self.normalisers

    @cached_property
    def normalisers(self) -> tuple[Normaliser, ...]:
        """The normalisers, in the order of their application."""
        return parse_normaliser(self.normalise)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the names: normalisers of other packages hold what cannot be."""
        return {"metric": self.metric, "normalise": self.normalise}

    @cached_property
    def _known(self) -> Callable[[Words], Words]:
        """The normalisers, which do not look at one sentence twice."""

        @lru_cache(maxsize=1 << 16)
        def normalise_words(words: Words) -> Words:
            for normaliser in self.normalisers:
                words = normaliser.sentence(words)
            return words

        return normalise_words

    def require(self) -> None:
        """Import and open what the metric and the normalisers need."""
        check_requirements(self.metric, *self.normalisers)

    @property
    def name(self) -> str:
        """The name of the metric."""
        return str(getattr(self.metric, "name", type(self.metric).__name__))

    @property
    def label(self) -> str:
        """The name in headings of tables."""
        return str(getattr(self.metric, "label", self.name.upper()))

    def __str__(self) -> str:
        """Return the signature: that of the metric, and the normalisers."""
        text = str(self.metric)
        return f"{text}{',' if ':' in text else ':'}normalise={self.normalise}"

    @property
    def higher_is_better(self) -> bool:
        """Which way is up."""
        return self.metric.higher_is_better

    @property
    def stat_names(self) -> tuple[str, ...]:
        """What the statistics are."""
        return self.metric.stat_names

    def sentence(self, sentence: str | Sequence[str]) -> Words:
        """Return the words of a normalised sentence."""
        return self._known(split_tokens(sentence))

    def reference(self, reference: Reference) -> Reference:
        """Return a reference normalised; a lattice stays one."""
        if isinstance(reference, Lattice):
            return self.space(reference).space
        return self.sentence(reference)

    def space(self, space: S) -> Prepared[S]:
        """Return the lattice or forest of normalised sentences, and what its arcs come from."""
        prepared = Prepared(space, ints(np.arange(len(space.score))))
        for normaliser in self.normalisers:
            used = np.unique(prepared.labels()).tolist()
            exact = prepared.exact and normaliser.covers(prepared.space.vocabulary.decode(used))
            made, read = _normalise(prepared.space, normaliser)
            prepared = Prepared(cast(S, made), _compose_origins(prepared.origin, read), exact)
        return prepared

    def nbest(self, nbest: NBest) -> NBest:
        """Return the list with its sentences normalised."""
        return NBest.from_hypotheses(
            (
                Hypothesis(self.sentence(nbest.tokens(entry)), score)
                for entry, score in enumerate(nbest.score.tolist())
            ),
            id=nbest.id,
        )

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics of one segment."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return the metric from statistics."""
        return self.metric.score(stats)

    def scores(self, rows: FloatColumn) -> FloatColumn:
        """Return the metric from each row of statistics."""
        return scores_of(self.metric, rows)

    def corpus_stats(
        self,
        hypotheses: Sequence[str | Sequence[str]],
        references: Sequence[Iterable[Reference]],
    ) -> FloatColumn:
        """Return one row of statistics a segment."""
        return corpus_stats(
            self.metric,
            [self.sentence(each) for each in hypotheses],
            [[self.reference(each) for each in check_references(some)] for some in references],
        )

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        some = self.nbest(candidates)
        others = some if evidence is candidates else self.nbest(evidence)
        pair_scores = metric_abilities_of(self.metric).pair_scores
        if pair_scores is not None:
            return pair_scores(self.metric, some, others)
        rows = [
            scores_of(self.metric, nbest_stats(self.metric.against([each.tokens]), some))
            for each in others
        ]
        return floats(np.array(rows).reshape(len(others), len(some)))

    def with_source(self, source: str) -> Normalised:
        """Return the metric for a segment with this source, if the one inside takes any."""
        inner, with_source = self.metric, metric_abilities_of(self.metric).with_source
        found = inner if with_source is None else with_source(inner, source)
        return self if found is inner else replace(self, metric=found)

    def against(self, references: Iterable[Reference]) -> NormalisedEvaluator:
        """Return an evaluator for one segment."""
        given = check_references(references)
        inner = self.metric.against([self.reference(each) for each in given])
        can = abilities_of(inner)
        return _KINDS[can.machine is not None, can.judge is not None](self, given, inner)


def _compose_origins(origin: IntColumn | None, read: IntColumn) -> IntColumn:
    """Return where arcs come from that were made of arcs that come from elsewhere."""
    if origin is None or not len(read):
        return read
    # a place of -1, the last entry, is overwritten
    return ints(np.where(read >= 0, origin[read], -1))


def _normalise(
    space: Lattice | Forest, normaliser: Normaliser
) -> tuple[Lattice | Forest, IntColumn]:
    """Return the space after one normaliser, and the arc or edge behind each of its own."""
    labels = space.label if isinstance(space, Lattice) else space.symbol
    used = np.unique(labels[labels > EPSILON]).tolist()
    words = dict(zip(used, space.vocabulary.decode(used), strict=True))
    known = Vocabulary()
    # what becomes of words that need no other to be known
    single = {
        label: normaliser.sentence((word,))
        for label, word in words.items()
        if not normaliser.waits((word,))
    }
    by_word = len(single) == len(words)

    @cache
    def step(held: Words, word: str) -> tuple[Words, Words]:
        words = (*held, word)
        return (words, ()) if normaliser.waits(words) else ((), normaliser.sentence(words))

    begin: Words = ()
    if isinstance(space, Forest):
        if by_word:
            return _replace_words(space, single, known), ints(np.arange(space.num_edges))
        return transduce_forest(space, begin, step, normaliser.sentence, known)
    if by_word and all(len(each) <= 1 for each in single.values()):
        # none becomes several: the same arcs
        table = np.zeros(1 + max(used, default=0), np.int32)
        for label, each in single.items():
            table[label] = known.add(each[0]) if each else EPSILON
        changed = replace(space, vocabulary=known, label=ints(table[space.label]))
        return changed, ints(np.arange(space.num_arcs))

    def moves(held: Words, word: str) -> Iterable[Move[Words]]:
        return [(*step(held, word), 0.0)]

    def ending(held: Words) -> End:
        return normaliser.sentence(held), 0.0

    found = transduce(space, begin, moves, ending, known)
    return found.lattice, found.origin


def _replace_words(forest: Forest, words: Mapping[int, Words], vocabulary: Vocabulary) -> Forest:
    """Return the forest with others in the places of words: the same edges."""
    used, place = np.unique(forest.symbol, return_inverse=True)
    said = [
        [symbol] if symbol < 0 else vocabulary.add_all(words[symbol]) for symbol in used.tolist()
    ]
    numbers = ints([number for some in said for number in some])
    offset = ints(np.cumsum([0, *map(len, said)]))
    symbol, begin = order_rows(numbers, offset, ints(place))
    return replace(
        forest,
        vocabulary=vocabulary,
        symbol=symbol,
        symbol_offset=ints(begin[forest.symbol_offset]),
    )


class _Aligns:
    """What evaluators have whose metric aligns sentences."""

    metric: Normalised
    inner: Evaluator

    def judge(self, hypothesis: str | Sequence[str]) -> Any:
        """Return the alignment of the normalised sentence."""
        return cast(Any, self.inner).judge(self.metric.sentence(hypothesis))


@dataclass(frozen=True)
class NormalisedEvaluator:
    """A metric of normalised sentences made ready for the references of one segment."""

    metric: Normalised
    references: tuple[Reference, ...]
    inner: Evaluator

    @property
    def rounded(self) -> bool:
        """Whether costs have to be rounded to be compared."""
        return rounding_of(self.inner) == 0.0

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis."""
        return self.inner.stats(self.metric.sentence(hypothesis))

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the metric of one hypothesis."""
        return self.inner.score(self.metric.sentence(hypothesis))

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row of statistics for each entry."""
        return nbest_stats(self.inner, self.metric.nbest(nbest))


class NormalisedSearcher(NormalisedEvaluator):
    """An evaluator whose metric has a machine."""

    def prepare(self, space: S) -> Prepared[S]:
        """Return a lattice or forest in the metric's tokens, after its words are normalised."""
        outer = self.metric.space(space)
        prepared = cast(CompiledEvaluator, self.inner).prepare(outer.space)
        origin = outer.origin
        if prepared.origin is not None:
            origin = _compose_origins(origin, prepared.origin)
        return replace(prepared, origin=origin, exact=outer.exact)

    def machine(self, vocabulary: Vocabulary, labels: IntColumn | None = None) -> Machine:
        """Return the machine over normalised words."""
        return cast(CompiledEvaluator, self.inner).machine(vocabulary, labels)


class NormalisedAligner(NormalisedEvaluator, _Aligns):
    """An evaluator whose metric aligns sentences."""


class NormalisedSearcherAligner(NormalisedSearcher, _Aligns):
    """An evaluator whose metric has a machine and aligns sentences."""


#: evaluators by whether those inside have a machine, and align sentences
_KINDS = {
    (False, False): NormalisedEvaluator,
    (False, True): NormalisedAligner,
    (True, False): NormalisedSearcher,
    (True, True): NormalisedSearcherAligner,
}
