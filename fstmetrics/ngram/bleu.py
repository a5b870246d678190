"""BLEU and BLEU-SBP, in words and in characters, of a corpus and of a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import ClassVar, cast

import numpy as np

from fstmetrics import pairs
from fstmetrics._native import NGrams, bleu_scores, corpus_matches
from fstmetrics.contract import SCORING, ClippedMatches, NumberStats, offers
from fstmetrics.corpora import pair_segments
from fstmetrics.external.tokenizers import NO_TOKENIZER, WORD_BY_WORD, check_tokenizer, tokenizer
from fstmetrics.references import (
    Reference,
    Tokens,
    check_references,
    split_characters,
    split_tokens,
)
from fstmetrics.signature import Signature, option
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.spaces import Lattice, NBest
from lattices.vocabulary import Vocabulary

UNIFORM = "uniform"
LENGTHS = ("closest", "shortest", "average")
BREVITIES = ("standard", "smooth", "none")
#: a unit that no sentence has: code points that are no characters, and two of them
NO_UNIT = "\uffff\uffff"
MEANS = ("geometric", "arithmetic")
UNITS = ("word", "char")
#: sacreBLEU's names, and the value each takes by default where it takes one
SMOOTHINGS: dict[str, float | None] = {"none": None, "floor": 0.1, "add-k": 1.0, "exp": None}


def smoothing_number(name: str) -> int:
    """Return the number by which the native functions know a smoothing."""
    return list(SMOOTHINGS).index(name)


def check_choice(name: str, value: object, known: Iterable[str]) -> None:
    """Refuse a value that is none of those known."""
    choices = tuple(known)
    if value not in choices:
        raise OptionError(f"{name}={value}: expected one of {', '.join(choices)}")


def numbers_in(weights: str | Sequence[float]) -> list[float]:
    """Return weights as numbers."""
    return [float(each) for each in (weights.split("/") if isinstance(weights, str) else weights)]


def spell_weights(weights: str | Sequence[float], order: int) -> str:
    """Return weights as a signature spells them."""
    if isinstance(weights, str) and weights == UNIFORM:
        return UNIFORM
    try:
        values = numbers_in(weights)
    except (TypeError, ValueError):
        values = []
    if not all(math.isfinite(each) and each >= 0 for each in values) or not sum(values):
        raise OptionError(
            f"weights={weights}: expected {UNIFORM}, or numbers as in 0.4/0.3/0.2/0.1, "
            "none negative and not all 0"
        )
    if len(values) != order:
        raise OptionError(f"{len(values)} weights, but n-grams of 1..{order}")
    return "/".join(repr(int(each)) if each.is_integer() else repr(each) for each in values)


def smoothing_value(smooth: str, value: float) -> float:
    """Return the value of a smoothing, its default in place of 0."""
    if not math.isfinite(value) or value < 0:
        raise OptionError(f"smooth_value is a number above 0, not {value}")
    default = SMOOTHINGS[smooth]
    if default is None:
        if value:
            raise OptionError(f"smooth={smooth} takes no smooth_value (floor and add-k do)")
        return 0.0
    return float(value) or default


def corpus_rows(
    metric: BLEU,
    hypotheses: Sequence[str | Sequence[str]],
    references: Sequence[Iterable[Reference]],
) -> FloatColumn:
    """Return one row of statistics a segment, the same as ``metric.stats`` gives.

    All units are numbered in one dictionary, and all n-grams counted in one native call.
    """
    segments = pair_segments(hypotheses, references)
    number: dict[str, int] = {}
    known, get = number.setdefault, number.get
    reference_unit: list[int] = []
    sizes: list[int] = []
    segment_ends = [0]
    for _, of_segment in segments:
        sentences = metric.reference_units(check_references(of_segment))
        for sentence in sentences:
            reference_unit += [known(each, len(number) + 1) for each in sentence]
        sizes += map(len, sentences)
        segment_ends.append(len(sizes))
    unit: list[int] = []
    ends = [0]
    for hypothesis, _ in segments:
        unit += [get(each, 0) for each in metric.units(hypothesis)]
        ends.append(len(unit))
    return floats(corpus_matches(
        ints(unit), ints(ends), ints(reference_unit), ints([0, *accumulate(sizes)]),
        ints(segment_ends), metric.order, metric.length_number, metric.strict,
    ))  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BLEU(Signature):
    """BLEU: a mean of n-gram precisions, times a penalty for being short.

    ``BP * exp(sum over n of w_n log p_n)``, where p_n is the number of n-grams that match,
    each at most as often as one reference has it, over the number of n-grams, and
    ``BP = min(1, exp(1 - r / c))`` for lengths c of the hypotheses and r of the references.
    All four are sums over the corpus. Scores are in [0, 1]; sacreBLEU's are 100 times as
    large, and otherwise the same.

    By default nothing is smoothed, and text is cut at blanks only. What sacreBLEU reports for
    a corpus is ``bleu:smooth=exp,tokenize=13a``, and for a sentence
    ``bleu:smooth=exp,effective_order=true,tokenize=13a``. Lin and Och's smoothing (2004) is
    ``smooth=add-k`` with its default value, 1: it leaves unigrams alone.

    BLEU does not decompose: a better sentence can make the corpus score worse. A machine of
    polynomial size does not exist either (Leusch et al. 2008); lattices and forests are searched
    by labels (:mod:`decoding.extraction.bleu_search`), with a budget. Of sentences without a match
    of some order all score 0 where nothing is smoothed: a search for single sentences wants a
    smoothing.

    Parameters
    ----------
    order : int
        The longest n-grams.
    weights : str or sequence of float
        ``uniform``, or one number for each order, as in ``0.4/0.3/0.2/0.1``; scaled to sum
        to 1.
    length : {"closest", "shortest", "average"}
        The effective reference length where there are several references: the one closest to
        the hypothesis, the shorter of two (Papineni et al. 2002), the shortest (NIST), or
        the mean.
    brevity : {"standard", "smooth", "none"}
        ``smooth`` counts every reference as one unit longer than it is, for single sentences:
        ``add-k`` raises the precisions of short sentences most, and learners that maximise it
        shorten, unless the penalty is smoothed, too (Nakov, Guzman and Vogel 2012). ``none``
        leaves the penalty out: the effective reference length, in the statistics,
        too, is 0, and no hypothesis falls short of it.
    mean : {"geometric", "arithmetic"}
        The mean of the precisions; the arithmetic one is Pozar and Charniak's (2006), for
        single sentences, in lower case and without a penalty:
        ``bleu:brevity=none,mean=arithmetic,lowercase=true``.
    smooth : {"none", "floor", "add-k", "exp"}
        What replaces a precision of 0 (Chen and Cherry 2014, methods 1 to 3): ``floor`` puts
        ``smooth_value`` matches in place of none, ``add-k`` adds it to matches and totals
        of all orders above 1, ``exp`` halves what it puts there with each order that has no
        match. A score without any match is 0 nevertheless.
    smooth_value : float
        Of ``floor`` (0.1 by default) and ``add-k`` (1 by default); 0 stands for the default.
    effective_order : bool
        Whether orders for which the hypothesis is too short are left out of the mean.
    lowercase : bool
    unit : {"word", "char"}
        Count n-grams of words or of characters (Denoual and Lepage 2005, who find that order
        18 in characters behaves as order 4 in words).
    spaces : bool
        Whether the blanks between words count as characters.
    tokenize : str
        One of sacreBLEU's tokenisers, ``none`` by default.

    References
    ----------
    Papineni, Roukos, Ward and Zhu. BLEU: a method for automatic evaluation of machine
    translation. ACL 2002.

    Post. A call for clarity in reporting BLEU scores. WMT 2018.

    Nakov, Guzman and Vogel. Optimizing for sentence-level BLEU+1 yields short translations.
    COLING 2012.

    Examples
    --------
    >>> import math
    >>> evaluator = BLEU(order=2).against(["the cat sat on the mat"])
    >>> evaluator.stats("the the cat sat down").tolist()
    [4.0, 2.0, 5.0, 4.0, 5.0, 6.0]
    >>> evaluator.score("the the cat sat down") == (4 / 5 * 2 / 4) ** 0.5 * math.exp(1 - 6 / 5)
    True
    >>> str(BLEU(order=18, unit="char"))
    'bleu:order=18,length=closest,smooth=none,unit=char,tokenize=none'
    """

    name: ClassVar[str] = "bleu"
    higher_is_better: ClassVar[bool] = True
    strict: ClassVar[bool] = False
    order: int = option(4, always=True)
    weights: str | Sequence[float] = option(UNIFORM)
    length: str = option("closest", always=True)
    brevity: str = option("standard")
    mean: str = option("geometric")
    smooth: str = option("none", always=True)
    smooth_value: float = option(0.0)
    effective_order: bool = option(False)
    lowercase: bool = option(False)
    unit: str = option("word")
    spaces: bool = option(True)
    tokenize: str = option(NO_TOKENIZER, always=True)

    def __post_init__(self) -> None:
        """Refuse what means nothing, and spell out what was left to defaults."""
        if type(self.order) is not int or not 1 <= self.order <= 100:
            raise OptionError(f"order is a whole number from 1 to 100, not {self.order!r}")
        check_choice("length", self.length, LENGTHS)
        check_choice("brevity", self.brevity, BREVITIES)
        if self.strict and self.brevity == "none":
            raise OptionError(f"{self.name} is BLEU with another penalty: brevity=none is bleu's")
        check_choice("mean", self.mean, MEANS)
        check_choice("smooth", self.smooth, SMOOTHINGS)
        check_choice("unit", self.unit, UNITS)
        put = self.__dict__.__setitem__
        put("weights", spell_weights(self.weights, self.order))
        put("smooth_value", smoothing_value(self.smooth, self.smooth_value))
        if self.unit == "word" and not self.spaces:
            raise OptionError("spaces=false is for unit=char: words have no blanks between them")
        check_tokenizer(self.tokenize)

    def require(self) -> None:
        """Load the tokeniser, or raise MissingDependencyError."""
        if self.tokenize != NO_TOKENIZER:
            tokenizer(self.tokenize)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Matches and totals of each order, the length, the effective reference length."""
        orders = range(1, self.order + 1)
        return (
            *(f"{n}-gram matches" for n in orders),
            *(f"{n}-grams" for n in orders),
            "clipped length" if self.strict else "length",
            "reference length",
        )

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics of one segment, additive over segments."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return BLEU from one row of statistics or a sum of rows."""
        return float(self.scores(np.asarray(stats, dtype=np.float64)[None])[0])

    def scores(self, rows: FloatColumn) -> FloatColumn:
        """Return BLEU of each row of statistics."""
        return bleu_scores(floats(rows), *self.scoring)

    @cached_property
    def scoring(self) -> tuple[FloatColumn, int, float, bool, bool]:
        """Weights, smoothing, its value, effective order or not, arithmetic mean or not."""
        shares = (
            np.full(self.order, 1.0 / self.order)
            if self.weights == UNIFORM
            else np.array(numbers_in(self.weights))
        )
        return (
            floats(shares / shares.sum()),
            smoothing_number(self.smooth),
            self.smooth_value,
            self.effective_order,
            self.mean == "arithmetic",
        )

    @property
    def length_number(self) -> int:
        """The number by which native functions know the effective reference length."""
        return len(LENGTHS) if self.brevity == "none" else LENGTHS.index(self.length)

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        return pairs.bleu_scores(candidates, evidence, self)

    def against(self, references: Iterable[Reference]) -> BLEUEvaluator:
        """Return an evaluator for the references of one segment."""
        return BLEUEvaluator(self, check_references(references))

    def corpus_stats(
        self,
        hypotheses: Sequence[str | Sequence[str]],
        references: Sequence[Iterable[Reference]],
    ) -> FloatColumn:
        """Return one row of statistics a segment, counted in one compiled pass.

        A subclass with evaluators of its own counts otherwise, segment by segment.
        """
        if type(self).against is BLEU.against:
            return corpus_rows(self, hypotheses, references)
        rows = [self.stats(*segment) for segment in pair_segments(hypotheses, references)]
        return floats(np.reshape(rows, (len(rows), len(self.stat_names))))

    def reference_units(self, references: Iterable[Reference]) -> list[Tokens]:
        """Return the references of one segment in the metric's units; lattices are refused."""
        sentences = []
        for reference in references:
            if isinstance(reference, Lattice):
                raise OptionError(
                    f"{self.name} takes references as sentences, not as a lattice: "
                    "clipping needs the n-grams of one reference at a time"
                )
            units = self.units(reference)
            # one more for the length, which matches nothing
            sentences.append((*units, NO_UNIT) if self.brevity == "smooth" else units)
        return sentences

    def units(self, sentence: str | Sequence[str]) -> Tokens:
        """Return a sentence in the metric's units: words or characters, lower case or not."""
        if self.tokenize == NO_TOKENIZER:
            tokens = split_tokens(sentence)
            if self.lowercase:
                tokens = tuple(token.lower() for token in tokens)
        else:
            text = sentence if isinstance(sentence, str) else " ".join(split_tokens(sentence))
            if self.lowercase:
                text = text.lower()
            tokens = tuple(tokenizer(self.tokenize)(text.rstrip()).split())
        return split_characters(tokens, self.spaces) if self.unit == "char" else tokens


@dataclass(frozen=True, kw_only=True)
class BLEUSBP(BLEU):
    """BLEU with a strict brevity penalty: a long sentence does not pay for a short one.

    BLEU, but for the penalty's c, which is the sum over segments of ``min(|c_i|, |r_i|)``.
    The effective reference length is the shortest by default, as in the paper.

    References
    ----------
    Chiang, DeNeefe, Chan and Ng. Decomposability of translation metrics for improved
    evaluation and efficient algorithms. EMNLP 2008, equation 4.

    Examples
    --------
    >>> import math
    >>> from fstmetrics import corpus_score
    >>> hypotheses, references = ["a b c", "a"], [["a b"], ["a b"]]
    >>> corpus_score(BLEU(order=1), hypotheses, references)
    0.75
    >>> round(corpus_score(BLEUSBP(order=1), hypotheses, references) / 0.75, 6)
    0.716531
    >>> round(math.exp(1 - 4 / 3), 6)
    0.716531
    """

    name: ClassVar[str] = "bleu-sbp"
    strict: ClassVar[bool] = True
    length: str = option("shortest", always=True)


class BLEUEvaluator:
    """BLEU made ready for the references of one segment.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("the", "cat"), 0.0), Hypothesis((), -1.0)])
    >>> evaluator = BLEU(order=1).against(["the cat sat", "a cat"])
    >>> evaluator.list_stats(nbest).tolist()
    [[2.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 2.0]]
    """

    def __init__(self, metric: BLEU, references: tuple[Reference, ...]) -> None:
        self.metric = metric
        self.references = references
        sentences = metric.reference_units(references)
        self.numbers: dict[str, int] = {}
        number = self.numbers.setdefault
        unit = [number(each, len(self.numbers) + 1) for each in chain(*sentences)]
        offset = [0, *accumulate(map(len, sentences))]
        self._ngrams = NGrams(ints(unit), ints(offset), metric.order, metric.length_number)

    def __reduce__(self) -> tuple[type[BLEUEvaluator], tuple[BLEU, tuple[Reference, ...]]]:
        """Pickle what it is made from: the n-grams are counted anew."""
        return type(self), (self.metric, self.references)

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis."""
        units = self.metric.units(hypothesis)
        row: FloatColumn = self._rows(ints(self._numbers(units)), ints([0, len(units)]))[0]
        return row

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return BLEU of one hypothesis: sentence BLEU."""
        return self.metric.score(self.stats(hypothesis))

    def clipped_matches(self) -> ClippedMatches:
        """Return what the score is made of, for searches (:mod:`decoding.extraction.bleu_search`).

        Raises
        ------
        OptionError
            If a match more may lower the score, or if units are not those of single words.
        """
        metric = self.metric
        problem = ""
        kind: type = type(metric)
        if not offers(kind, "scoring", SCORING):
            problem = "its score is its own"
        elif metric.tokenize not in {NO_TOKENIZER, *WORD_BY_WORD}:
            problem = f"tokenize={metric.tokenize} depends on what stands beside a word"
        elif metric.smooth == "floor" and metric.smooth_value > 1:
            problem = "with a floor above 1 a match may lower the score"
        if problem:
            raise OptionError(
                f"{metric} cannot search lattices and forests: {problem}; "
                "take an n-best list (lattices.k_best)"
            )
        weights, *smoothing = metric.scoring
        return ClippedMatches(
            tuple(metric.reference_units(self.references)),
            weights,
            cast(tuple[int, float, bool, bool], tuple(smoothing)),
            (metric.length_number, metric.strict),
            metric.unit == "char",
            metric.spaces,
            metric.lowercase,
            None if metric.tokenize == NO_TOKENIZER else self._units_of_word,
        )

    def _units_of_word(self, word: str) -> Tokens:
        return self.metric.units((word,))

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row of statistics for each entry of a list.

        Each distinct word of the list is looked up once; the n-grams are counted in one
        compiled pass.
        """
        units = pairs.bleu_units(self.metric)(nbest)
        numbers = np.array(self._numbers(units.symbols), dtype=np.int32)
        return self._rows(ints(numbers[units.unit]), units.offset)

    def number_stats(self, vocabulary: Vocabulary) -> NumberStats | None:
        """Return how sentences of a vocabulary's numbers are counted, where units are words."""
        metric = self.metric
        if metric.tokenize != NO_TOKENIZER or metric.lowercase or metric.unit == "char":
            return None
        known = sorted(
            (vocabulary.numbers[unit], number)
            for unit, number in self.numbers.items()
            if unit in vocabulary.numbers
        )
        words, numbers = np.array(known, np.int32).reshape(-1, 2).T
        return NumberStats(ints(words), ints(numbers), self._rows)

    def _numbers(self, units: Iterable[str]) -> list[int]:
        get = self.numbers.get
        return [get(each, 0) for each in units]

    def _rows(self, unit: IntColumn, offset: IntColumn) -> FloatColumn:
        return floats(self._ngrams.matches(unit, offset, self.metric.strict))
