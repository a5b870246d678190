"""The family of alignment metrics: WER, WRR, CER and GRR differ in a few numbers.

All are a maximum over monotone alignments of

    (sum over k of M_k - insertion * I - deletion * D) / sum over k of |g_k(r)|

where M_k counts k-gram matches for k up to ``order`` and |g_k(r)| the reference's k-grams.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from fstmetrics._native import (
    Corpus,
    WordMetric,
    align,
    alignment_rows,
    list_statistics,
    number_statistics,
    soft_statistics,
)
from fstmetrics.contract import ROUNDING, Prepared, S, quality, scores_of, segment_rows
from fstmetrics.corpora import best_rows, count_workers
from fstmetrics.list_units import ListUnits
from fstmetrics.machine import Machine
from fstmetrics.references import (
    Reference,
    Tokens,
    check_references,
    lattices_by_length,
    reference_automaton,
    split_characters,
    split_tokens,
)
from fstmetrics.signature import Signature
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.intersection import ENGINES, Alignment, Automaton, Part
from lattices.intersection.automata import FINEST_UNIT
from lattices.spaces import Lattice, NBest
from lattices.vocabulary import Vocabulary

if TYPE_CHECKING:
    from fstmetrics.similarity.affix import Similarity

Operation = Literal["match", "substitution", "insertion", "deletion"]
OPERATIONS: tuple[Operation, ...] = ("match", "substitution", "insertion", "deletion")
MATCH, SUBSTITUTION, INSERTION, DELETION = range(4)


class Edit(NamedTuple):
    """One step of an alignment.

    Attributes
    ----------
    operation : {"match", "substitution", "insertion", "deletion"}
    hypothesis, reference : str
        The words, empty where there is none on that side.
    weight : float
        1 for a match, the similarity for a soft one, 0 for the rest.
    """

    operation: Operation
    hypothesis: str
    reference: str
    weight: float


@dataclass(frozen=True, eq=False)
class Judgement:
    """One hypothesis against its best reference.

    Attributes
    ----------
    reference : int
        Which reference it is.
    stats : float64 column
    score : float
    edits : tuple of Edit
        The alignment, in order.
    """

    reference: int
    stats: FloatColumn
    score: float
    _words: Tokens
    _against: ReferenceWords
    _metric: AlignmentMetric

    @cached_property
    def edits(self) -> tuple[Edit, ...]:
        """The alignment, in order; looked for when it is first asked for."""
        words, others = self._words, self._against.words
        weight, row, column = self._against.table(words)
        steps = align(weight, row, column, *_costs(self._metric))
        return tuple(
            Edit(
                OPERATIONS[operation],
                words[j] if operation != DELETION else "",
                others[i] if operation != INSERTION else "",
                float(weight[row[j], column[i]]) if operation == MATCH else 0.0,
            )
            for operation, j, i, _ in steps.tolist()
        )

    def _repr_html_(self) -> str:
        """Return the alignment for a notebook, with errors coloured and marked."""
        from fstmetrics.alignment.marks import alignment_html

        name = getattr(self._metric, "label", self._metric)
        return alignment_html(self.edits, f"{name} {self.score:.4f}")


class ReferenceWords:
    """The words of a reference, numbered once for all sentences that are compared with it."""

    def __init__(self, words: Tokens, similarity: Similarity | None) -> None:
        self.words = words
        self._similarity = similarity
        self._number = {word: number for number, word in enumerate(dict.fromkeys(words))}
        self._numbers = self._numbers_of(words)

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.words)

    def table(self, words: Sequence[str]) -> tuple[FloatColumn, IntColumn, IntColumn]:
        """Return what words are worth as matches of reference words: each different word once.

        Beside it, the row of each of the words and the column of each word of the reference.
        """
        rows = {word: number for number, word in enumerate(dict.fromkeys(words))}
        weight = np.zeros((len(rows), len(self._number)))
        for word in rows.keys() & self._number.keys():
            weight[rows[word], self._number[word]] = 1.0
        if self._similarity is not None and weight.size:
            from fstmetrics.similarity.affix import check_matrix

            soft = check_matrix(self._similarity, tuple(rows), tuple(self._number))
            np.maximum(weight, soft, out=weight)
        return weight, ints([rows[word] for word in words]), self._numbers

    def weights(self, words: Sequence[str]) -> FloatColumn:
        """Return what each of some words is worth as a match of each reference word."""
        weight, row, column = self.table(words)
        return weight[row[:, None], column]

    def _numbers_of(self, words: Sequence[str]) -> IntColumn:
        number = self._number.get
        return ints([number(word, -1) for word in words])

    def judge(self, words: Tokens, metric: AlignmentMetric, number: int) -> Judgement:
        """Return what the metric says of a sentence; ``number`` is the reference's."""
        costs = _costs(metric)
        if self._similarity is None:
            stats = number_statistics(self._numbers_of(words), self._numbers, *costs)
        else:
            stats = soft_statistics(*self.table(words), *costs)
        stats = floats(stats)
        return Judgement(number, stats, metric.score(stats), words, self, metric)


def _costs(metric: AlignmentMetric) -> tuple[int, float, float]:
    return metric.order, float(metric.insertion), float(metric.deletion)


#: costs with a larger denominator, or common multiple of them, are put on a fine grid instead
_LARGEST_DENOMINATOR = 10_000
_LARGEST_MULTIPLE = 1_000_000
#: how far, in relation to itself, a cost may be moved where matches are soft and no better known
_SOFT_COSTS = 1e-6


#: a metric as native code takes it, with references none of which is a lattice
WordAlignment: TypeAlias = "tuple[WordMetric, tuple[Reference, ...]]"


@lru_cache(maxsize=256)
def _unit(*costs: float) -> float:
    """Return the largest unit of which a match and all costs are whole multiples.

    It is ``FINEST_UNIT`` where there is none, and costs have to be rounded to it.
    """
    if all(float(cost).is_integer() for cost in costs):
        return 1.0
    from fractions import Fraction

    fractions = [Fraction(cost).limit_denominator(_LARGEST_DENOMINATOR) for cost in costs]
    multiple = math.lcm(*(fraction.denominator for fraction in fractions))
    if multiple > _LARGEST_MULTIPLE or any(
        float(fraction) != cost for fraction, cost in zip(fractions, costs, strict=True)
    ):
        return FINEST_UNIT
    return 1.0 / multiple


class AlignmentMetric(Signature):
    """A metric that scores the best monotone alignment; the family's common part.

    Subclasses are frozen dataclasses that say which member they are by the attributes below.

    Attributes
    ----------
    characters : bool
        Whether the units are characters, with blanks between words if ``spaces``.
    error_rate : bool
        Whether the score is 1 minus the rate, lower is better: with order 1,
        ``(S + insertion * I + (1 + deletion) * D) / |r|``.
    """

    characters: ClassVar[bool] = False
    spaces: bool = True
    error_rate: ClassVar[bool] = False

    @property
    def order(self) -> int:
        """The longest k-grams that are counted, beside all shorter ones."""
        raise NotImplementedError

    @property
    def insertion(self) -> float:
        """The cost of an insertion, in matches."""
        raise NotImplementedError

    @property
    def deletion(self) -> float:
        """The cost of a deletion, in matches."""
        raise NotImplementedError

    @property
    def similarity(self) -> Similarity | None:
        """What makes matches soft, if anything.

        Aligning words of similarity s > 0 counts as s matches, of each k-gram that ends there.
        """
        return None

    @property
    def higher_is_better(self) -> bool:
        """False for error rates."""
        return not self.error_rate

    @property
    def stat_names(self) -> tuple[str, ...]:
        """k-gram matches, substitutions, insertions, deletions, and the denominator."""
        matches = ("matches", *(f"{k}-gram matches" for k in range(2, self.order + 1)))
        return (*matches, "substitutions", "insertions", "deletions", "possible")

    def possible(self, length: int) -> int:
        """Return the number of k-grams, k = 1..order, of a reference of ``length`` words."""
        longest = min(self.order, length)
        return longest * length - longest * (longest - 1) // 2

    @cached_property
    def word_metric(self) -> WordMetric | None:
        """The metric as native code takes it; None where more than equal words counts.

        So it is where a subclass has a definition of its own.
        """
        defining = ("higher_is_better", "possible", "score", "fractions", "units")
        plain = all(
            getattr(type(self), name) is getattr(AlignmentMetric, name) for name in defining
        )
        if not plain or self.characters or self.similarity is not None:
            return None
        insertion, deletion = float(self.insertion), float(self.deletion)
        unit = _unit(insertion, deletion)
        if unit == FINEST_UNIT:
            return None  # costs that were rounded prove nothing
        costs = (float(round(insertion / unit)), float(round(deletion / unit)))
        return WordMetric(
            self.order, insertion, deletion, *costs, float(round(1.0 / unit)), self.error_rate
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: all but what is made again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "word_metric"}

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics against the reference that scores best, the first of equals."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return the score from one row of statistics or a sum of rows.

        Without any reference word the rate is 1 minus the cost of what was inserted: an
        empty sentence is right, and each word in a place without words is an error.
        """
        counts: list[float] = np.asarray(stats, dtype=np.float64).tolist()
        *matches, substitutions, insertions, deletions, possible = counts
        if self.error_rate and self.order == 1:
            # what is not gained: every reference word is matched, substituted or deleted
            costs = self.insertion * insertions + (1.0 + self.deletion) * deletions
            return (substitutions + costs) / max(possible, 1.0)
        gain = 0.0
        for count in matches:
            gain += count
        gain -= self.insertion * insertions + self.deletion * deletions
        if self.error_rate:
            return (possible - gain) / max(possible, 1.0)
        return gain / possible if possible else 1.0 + gain

    def scores(self, rows: FloatColumn) -> FloatColumn:
        """Return the score of each row of statistics, the same as :meth:`score` gives."""
        numerator, possible = self.fractions(rows)
        if self.error_rate:
            return floats(numerator / np.maximum(possible, 1.0))
        some = possible > 0
        return floats(np.where(some, numerator / np.where(some, possible, 1.0), 1.0 + numerator))

    def fractions(self, rows: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
        """Return numerators and denominators: the score of a corpus is sum over sum."""
        *_, substitutions, insertions, deletions, possible = rows.T
        if self.error_rate and self.order == 1:
            costs = self.insertion * insertions + (1.0 + self.deletion) * deletions
            return substitutions + costs, possible
        gain = rows[:, : self.order].sum(axis=1)
        gain -= self.insertion * insertions + self.deletion * deletions
        return (possible - gain if self.error_rate else gain), possible

    def corpus_stats(
        self,
        hypotheses: Sequence[str | Sequence[str]],
        references: Sequence[Iterable[Reference]],
    ) -> FloatColumn:
        """Return one row of statistics a segment, in one native call.

        Segment by segment where a match is more than equality, or a reference is a lattice.
        """
        kind = type(self)
        defining = ("against", "units", "possible")
        if self.similarity is None and all(
            getattr(kind, name) is getattr(AlignmentMetric, name) for name in defining
        ):
            corpus = Corpus(hypotheses, references)
            if corpus.plain:
                rows = alignment_rows(
                    corpus, self.characters, self.spaces, *_costs(self), count_workers()
                )
                sign = 1.0 if self.higher_is_better else -1.0
                rounding = 0.0 if _unit(self.insertion, self.deletion) == FINEST_UNIT else ROUNDING
                return best_rows(
                    rows, corpus.segment, lambda found: sign * scores_of(self, found), rounding
                )
        return segment_rows(self, hypotheses, references)

    def against(self, references: Iterable[Reference]) -> AlignmentEvaluator:
        """Return an evaluator for the references of one segment."""
        return AlignmentEvaluator(self, check_references(references))

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        costs = (self.order, self.insertion, self.deletion)
        hard_edits = self.similarity is None and costs == (1, 1.0, 0.0)
        from fstmetrics.pairs import alignment_scores, edit_scores

        return (edit_scores if hard_edits else alignment_scores)(candidates, evidence, self)

    @property
    def whole_costs(self) -> tuple[float, float, float]:
        """Insertion, deletion and a match in a unit of which all are whole multiples.

        Where there is none, the costs in matches, and 0.
        """
        insertion, deletion = float(self.insertion), float(self.deletion)
        unit = _unit(insertion, deletion)
        if self.similarity is not None or unit == FINEST_UNIT:
            return insertion, deletion, 0.0
        return float(round(insertion / unit)), float(round(deletion / unit)), float(round(1 / unit))

    def units(self, tokens: Sequence[str]) -> Tokens:
        """Return a sentence in the metric's units: its words, or their characters."""
        return split_characters(tokens, self.spaces) if self.characters else tuple(tokens)


class AlignmentEvaluator:
    """An alignment metric made ready for the references of one segment.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> evaluator = WER().against(["the cat sat", "a cat sat down"])
    >>> evaluator.score("the cat sat down")
    0.25
    >>> judgement = evaluator.judge("the cat sat down")
    >>> judgement.reference, [edit.operation for edit in judgement.edits]
    (1, ['substitution', 'match', 'match', 'match'])
    """

    def __init__(self, metric: AlignmentMetric, references: tuple[Reference, ...]) -> None:
        self.metric = metric
        self.references = references

    @cached_property
    def _sentences(self) -> list[ReferenceWords | dict[int, Lattice]]:
        """The references in the metric's units; a lattice as one lattice for each length."""
        return [
            lattices_by_length(self.prepare(reference).space)
            if isinstance(reference, Lattice)
            else self._number_words(self.metric.units(split_tokens(reference)))
            for reference in self.references
        ]

    def _number_words(self, words: Tokens) -> ReferenceWords:
        return ReferenceWords(words, self.metric.similarity)

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis against its best reference."""
        return self.judge(hypothesis).stats

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the metric of one hypothesis."""
        return self.judge(hypothesis).score

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row of statistics for each entry, against the reference that scores it best.

        One compiled pass, in which each distinct word of the list is compared with the
        references once. Of references that score equally the first is taken, as for one
        sentence. Against a reference lattice the entries are searched one by one.
        """
        metric = self.metric
        sentences = [each for each in self._sentences if not isinstance(each, dict)]
        if len(sentences) < len(self.references):
            return np.array(
                [self.stats(nbest.tokens(entry)) for entry in range(len(nbest))], dtype=np.float64
            ).reshape(len(nbest), len(metric.stat_names))
        units = self._units_of(nbest)
        best, highest = np.empty((0, 0)), np.empty(0)
        for number, sentence in enumerate(sentences):
            rows = list_statistics(
                sentence.weights(units.symbols), units.unit, units.offset,
                metric.order, float(metric.insertion), float(metric.deletion),
            )  # fmt: skip
            objective = metric.scores(rows) * (1.0 if metric.higher_is_better else -1.0)
            if number:
                better = objective > highest + self._rounding
                best[better], highest[better] = rows[better], objective[better]
            else:
                best, highest = rows, objective
        return floats(best)

    def list_values(self, nbest: NBest) -> FloatColumn:
        """Return the machine's value of each entry: 1 minus the rate, for an error rate.

        Gains are counted in the machine's whole units, and so without rounding; a value is one
        division. What is a tie in a lattice is one here.
        """
        units = self._units_of(nbest)
        insertion, deletion = self._costs
        order, values = self.metric.order, np.full(len(nbest), -np.inf)
        for reference in self._sentences:
            if isinstance(reference, dict):
                rows = self.list_stats(nbest).copy()
                rows[:, :order] = np.rint(rows[:, :order] * self._one)
                possible = rows[:, -1] * self._one
            else:
                weights = np.rint(reference.weights(units.symbols) * self._one)
                rows = list_statistics(
                    weights, units.unit, units.offset, order, insertion, deletion
                )
                possible = np.full(len(nbest), self.metric.possible(len(reference)) * self._one)
            gain = rows[:, :order].sum(axis=1)
            gain -= insertion * rows[:, order + 1] + deletion * rows[:, order + 2]
            value = np.where(possible, gain, self._one + gain) / np.where(
                possible, possible, self._one
            )
            np.maximum(values, value, out=values)
        return floats(values)

    def _units_of(self, nbest: NBest) -> ListUnits:
        units = ListUnits.of_words(nbest)
        return units.characters(self.metric.spaces) if self.metric.characters else units

    def judge(self, hypothesis: str | Sequence[str]) -> Judgement:
        """Return the alignment to the best reference, with what follows from it."""
        words = self.metric.units(split_tokens(hypothesis))
        judgements = [
            sentence.judge(words, self.metric, number)
            for number, reference in enumerate(self._sentences)
            for sentence in (
                [self._find_closest(words, lattice) for lattice in reference.values()]
                if isinstance(reference, dict)
                else [reference]
            )
        ]
        best = judgements[0]
        for other in judgements[1:]:
            better = quality(self.metric, other.score) - quality(self.metric, best.score)
            if better > self._rounding:
                best = other
        return best

    @property
    def _rounding(self) -> float:
        """By how much a reference must be better than one before it: -2.1/3 is -3.5/5."""
        return 0.0 if self.rounded else ROUNDING

    @property
    def word_alignment(self) -> WordAlignment | None:
        """The metric as native code takes it and the references, for whole batches.

        None where more than equal words counts, a reference is a lattice, or a subclass has a
        definition of its own: then :meth:`prepare`, :meth:`machine` and :meth:`judge` say what is
        searched and scored.
        """
        metric = self.metric.word_metric
        if metric is None or type(self) is not AlignmentEvaluator:
            return None
        for reference in self.references:
            if isinstance(reference, Lattice):
                return None
        return metric, self.references

    def make_judgement(
        self, words: Tokens, reference: int, stats: FloatColumn, score: float
    ) -> Judgement:
        """Return what :meth:`judge` would, where all but the alignment is known."""
        against = cast(ReferenceWords, self._sentences[reference])
        return Judgement(reference, stats, score, words, against, self.metric)

    def prepare(self, space: S) -> Prepared[S]:
        """Return the lattice or forest in the metric's tokens."""
        if not self.metric.characters:
            return Prepared(space)
        from lattices.algorithms import to_characters

        # a lattice of a lattice, a forest of a forest
        return Prepared(*cast(tuple[S, IntColumn], to_characters(space, self.metric.spaces)))

    def machine(self, vocabulary: Vocabulary, labels: IntColumn | None = None) -> Machine:
        """Return the exact machine over the words of a space.

        Parameters
        ----------
        vocabulary : Vocabulary
            The prepared space's.
        labels : int column, optional
            The words of the space, where a soft metric need not look at all of the
            vocabulary's.
        """
        if self.metric.similarity is not None:
            return self._compile(vocabulary, labels)
        # equal words are what counts: the same for all spaces of a vocabulary, but for new words
        known = self.__dict__.get("_latest")
        if known is None or known[0] is not vocabulary or known[1] != len(vocabulary):
            known = (vocabulary, len(vocabulary), self._compile(vocabulary, labels))
            self.__dict__["_latest"] = known
        return known[2]

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the machine: who needs it compiles it for words of its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_latest"}

    def _compile(self, vocabulary: Vocabulary, labels: IntColumn | None) -> Machine:
        if self.metric.characters:
            words = (
                vocabulary if labels is None else vocabulary.decode(np.unique(labels[labels > 0]))
            )
            longer = next((word for word in words if len(word) > 1), None)
            if longer is not None:
                raise OptionError(
                    f"{self.metric} reads characters, and {longer!r} is a word: take the space in "
                    "characters (fstmetrics.contract.compile_for, or lattices.to_characters)"
                )
        parts: list[Part] = []
        for reference in self._sentences:
            if isinstance(reference, dict):
                for length, lattice in reference.items():
                    spoken = np.flatnonzero(lattice.label != 0)
                    words = lattice.vocabulary.decode(lattice.label[spoken].tolist())
                    word, index, weight = self._matches(words, vocabulary, labels)
                    automaton = reference_automaton(
                        lattice, self.metric.order, *self._costs, word, ints(spoken[index]), weight
                    )
                    parts.append(self._part(automaton, length))
            else:
                insertion, deletion = self._costs
                word, position, weight = self._matches(reference.words, vocabulary, labels)
                alignment = Alignment(
                    len(reference), self.metric.order, insertion, deletion,
                    word, position, weight, self._one,
                )  # fmt: skip
                parts.append(self._part(alignment, len(reference)))
        return Machine(tuple(parts), "exact", self.rounded, vocabulary)

    @cached_property
    def _unit(self) -> float:
        """The largest unit of which all gains are whole multiples."""
        if self.metric.similarity is not None:
            return FINEST_UNIT
        return _unit(float(self.metric.insertion), float(self.metric.deletion))

    @cached_property
    def rounded(self) -> bool:
        """Whether rounding the costs to whole units may change the order of sentences."""
        if self.metric.similarity is None:
            return self._unit == FINEST_UNIT
        costs = (self.metric.insertion, self.metric.deletion)
        return any(
            abs(rounded * self._unit - cost) > _SOFT_COSTS * abs(cost)
            for cost, rounded in zip(costs, self._costs, strict=True)
        )

    @property
    def _one(self) -> float:
        """One match, in units."""
        return float(round(1.0 / self._unit))

    @cached_property
    def _costs(self) -> tuple[float, float]:
        """Insertion and deletion, in units."""
        return (
            float(round(self.metric.insertion / self._unit)),
            float(round(self.metric.deletion / self._unit)),
        )

    def _part(self, automaton: Alignment | Automaton, length: int) -> Part:
        possible = self.metric.possible(length)
        one = self._one
        return Part(automaton, possible * one) if possible else Part(automaton, one, bonus=one)

    def _matches(
        self, reference: Sequence[str], vocabulary: Vocabulary, labels: IntColumn | None
    ) -> tuple[IntColumn, IntColumn, FloatColumn]:
        """Return which words of the vocabulary match which reference words, and by how much."""
        if self.metric.similarity is None:
            numbers = vocabulary.encode(reference)
            known = ints(np.flatnonzero(numbers > 0))
            return ints(numbers[known]), known, floats(np.full(len(known), self._one))
        numbers = ints(np.arange(1, len(vocabulary)) if labels is None else np.unique(labels))
        numbers = numbers[numbers > 0]
        words = vocabulary.decode(numbers.tolist())
        weight, _, column = self._number_words(tuple(reference)).table(words)
        weight = np.rint(weight * self._one)
        word, other = np.nonzero(weight)
        # a word matches a word of the reference wherever that stands
        position = np.argsort(column, kind="stable")
        count = np.bincount(column, minlength=weight.shape[1])
        times = count[other]
        match = np.repeat(np.arange(len(word)), times)
        nth = np.arange(len(match)) - np.repeat(np.cumsum(times) - times, times)
        place = position[(np.cumsum(count) - count)[other[match]] + nth]
        return ints(numbers[word[match]]), ints(place), floats(weight[word, other][match])

    def _find_closest(self, words: Tokens, lattice: Lattice) -> ReferenceWords:
        """Return the sentence of a reference lattice that a hypothesis scores best against.

        The same alignment, seen from the other side: the hypothesis takes the place of the
        reference, and insertions and deletions change theirs.
        """
        vocabulary = lattice.vocabulary
        numbers = np.unique(lattice.label[lattice.label > 0])
        others = vocabulary.decode(numbers.tolist())
        weight = np.rint(self._number_words(others).weights(words) * self._one)
        position, word = np.nonzero(weight)
        insertion, deletion = self._costs
        swapped = Alignment(
            len(words), self.metric.order, deletion, insertion,
            ints(numbers[word]), ints(position), floats(weight[position, word]), self._one,
        )  # fmt: skip
        machine = Machine((Part(swapped, 1.0),))
        found = ENGINES.get("kernel").best([(lattice, machine)])[0]
        closest = vocabulary.decode(lattice.label[found.arcs].tolist()) if found else ()
        return self._number_words(closest)


def is_word_error(metric: object) -> bool:
    """Tell whether a metric is WER or WRR over words, with hard matches."""
    return (
        isinstance(metric, AlignmentMetric)
        and not metric.characters
        and metric.similarity is None
        and (metric.order, metric.insertion, metric.deletion) == (1, 1.0, 0.0)
    )
