"""NIST: n-grams that match, weighed by their information."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from fstmetrics.external.tokenizers import NO_TOKENIZER, check_tokenizer
from fstmetrics.ngram.bleu import BLEU
from fstmetrics.references import Reference, Tokens, check_references
from fstmetrics.signature import Signature, option
from lattices.arrays import FloatColumn, floats
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.formats.streams import number_lines
from lattices.spaces import Lattice

SEGMENT = "segment"
#: of the penalty, so that it is one half where two thirds of the words are there
BETA = math.log(0.5) / math.log(1.5) ** 2


class ReferenceSet:
    """All references of a test set, whose n-grams NIST counts.

    Parameters
    ----------
    references : iterable of iterable of str or sequence of str
        The references of each segment, as for :func:`fstmetrics.corpus_score`.
    source : str
        What signatures call it.

    Examples
    --------
    >>> some = ReferenceSet([["a cat", "the cat"], ["a mat"]])
    >>> len(some.sentences), str(some)
    (3, 'memory')
    """

    def __init__(
        self, references: Iterable[Iterable[str | Sequence[str]]], source: str = "memory"
    ) -> None:
        self.sentences = tuple(each for of_segment in references for each in of_segment)
        self.source = source

    def __str__(self) -> str:
        """Return the source, which is what a signature shows."""
        return self.source


def load_references(paths: str) -> ReferenceSet:
    """Return the sentences of text files, one a line; what was read before is not read again."""
    names = tuple(paths.split(os.pathsep))
    try:
        stamps = tuple(Path(name).stat().st_mtime_ns for name in names)
    except OSError as problem:
        raise OptionError(f"references: {problem}") from None
    return _load(names, stamps)


@lru_cache(maxsize=8)
def _load(names: tuple[str, ...], stamps: tuple[int, ...]) -> ReferenceSet:
    lines = ([text] for name in names for _, text in number_lines(name))
    return ReferenceSet(lines, os.pathsep.join(names))


def ngrams(words: Tokens, order: int) -> Counter[Tokens]:
    """Return how often a sentence has each n-gram of at most ``order`` words."""
    return Counter(
        words[begin : begin + n] for n in range(1, order + 1) for begin in range(len(words) - n + 1)
    )


class _Information:
    """The information of n-grams by their counts in some references."""

    def __init__(self, sentences: Iterable[Tokens], order: int) -> None:
        self._count: Counter[Tokens] = Counter()
        for words in sentences:
            self._count.update(ngrams(words, order))
            # all words are what the empty n-gram comes before
            self._count[()] += len(words)

    def of(self, ngram: Tokens) -> float:
        """Return ``log2(count of all but the last word / count)``; nothing is rarer than once."""
        return math.log2(max(self._count[ngram[:-1]], 1) / max(self._count[ngram], 1))


@dataclass(frozen=True, kw_only=True)
class NIST(Signature):
    """NIST: the information of the n-grams that match, a word, times a penalty for being short.

    ``sum over n of (sum over n-grams that match of info / number of n-grams) * BP``, with

    - ``info(w_1 ... w_n) = log2(count(w_1 ... w_(n-1)) / count(w_1 ... w_n))``, counted in all
      references of the test set; above a word alone stands the number of all words;
    - ``BP = exp(beta log(min(c / r, 1))^2)``, for the length c of the hypotheses and the mean
      length r of the references, where beta makes it 1/2 at c = 2/3 r.

    An n-gram matches as often as one reference has it, as in BLEU. All sums are over the corpus.
    Scores are what mteval-v13a prints for the same tokens (which are those of ``tokenize=13a``
    and, by default, lower case); they have no upper limit.

    The counts are the test set's, and a segment does not know it: ``references`` names them.
    Where a match occurs in none of them, it counts as if it occurred once.

    Costs O(order x words). No machine: clipped n-grams do not decompose over a path.

    Parameters
    ----------
    references : str or ReferenceSet
        Text files of all references, a sentence a line, several with a colon between them; or
        ``segment`` for those of each segment alone.
    order : int
        The longest n-grams.
    lowercase : bool
    tokenize : str
        One of sacreBLEU's tokenisers, ``none`` by default.

    References
    ----------
    Doddington. Automatic evaluation of machine translation quality using n-gram co-occurrence
    statistics. HLT 2002.

    Examples
    --------
    >>> references = [["the cat sat"], ["the dog"]]
    >>> metric = NIST(references=ReferenceSet(references), order=2)
    >>> metric.stats("the cat", references[0]).round(4).tolist()
    [3.6439, 1.0, 2.0, 1.0, 2.0, 3.0]
    >>> round(math.log2(5 / 2) + math.log2(5 / 1), 4), math.log2(2 / 1)
    (3.6439, 1.0)
    >>> round(metric.against(references[0]).score("the cat") / (3.6439 / 2 + 1.0 / 1), 4)
    0.5
    """

    name: ClassVar[str] = "nist"
    higher_is_better: ClassVar[bool] = True
    references: str | ReferenceSet = field(default="")
    order: int = option(5, always=True)
    lowercase: bool = option(False)
    tokenize: str = option(NO_TOKENIZER, always=True)

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if self.references == "":
            raise OptionError(
                "nist weighs n-grams by their counts in the references of the test set: "
                "references=FILE, a sentence a line, or references=segment for each by its own"
            )
        if type(self.order) is not int or not 1 <= self.order <= 100:
            raise OptionError(f"order is a whole number from 1 to 100, not {self.order!r}")
        check_tokenizer(self.tokenize)

    def require(self) -> None:
        """Load the tokeniser and the references, or raise what says what is missing."""
        self._bleu.require()
        _ = self.information

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Information of matches and n-grams of each order, the length, that of references."""
        orders = range(1, self.order + 1)
        return (
            *(f"{n}-gram information" for n in orders),
            *(f"{n}-grams" for n in orders),
            "length",
            "reference length",
        )

    @cached_property
    def _bleu(self) -> BLEU:
        """BLEU with the same units."""
        return BLEU(lowercase=self.lowercase, tokenize=self.tokenize)

    @cached_property
    def information(self) -> _Information | None:
        """The information of the test set's n-grams; None if each segment has its own."""
        if self.references == SEGMENT:
            return None
        found = self.references
        known = load_references(found) if isinstance(found, str) else found
        return _Information(map(self._bleu.units, known.sentences), self.order)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is counted: another process counts again."""
        return {key: value for key, value in self.__dict__.items() if key != "information"}

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics of one segment, additive over segments."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return NIST from one row of statistics or a sum of rows."""
        values = [float(value) for value in stats]
        orders = range(self.order)
        mean = math.fsum(
            values[n] / values[self.order + n] for n in orders if values[self.order + n]
        )
        length, reference = values[-2:]
        if length >= reference:
            return mean
        return mean * math.exp(BETA * math.log(length / reference) ** 2) if length else 0.0

    def against(self, references: Iterable[Reference]) -> NISTEvaluator:
        """Return an evaluator for the references of one segment."""
        return NISTEvaluator(self, check_references(references))


class NISTEvaluator:
    """NIST made ready for the references of one segment."""

    def __init__(self, metric: NIST, references: tuple[Reference, ...]) -> None:
        self.metric = metric
        self.references = references
        if any(isinstance(reference, Lattice) for reference in references):
            raise OptionError("nist takes references as sentences, not as a lattice")
        sentences = metric._bleu.reference_units(references)
        most: Counter[Tokens] = Counter()
        for words in sentences:
            most |= ngrams(words, metric.order)
        information = metric.information or _Information(sentences, metric.order)
        self._most = {ngram: (count, information.of(ngram)) for ngram, count in most.items()}
        self._length = sum(map(len, sentences)) / len(sentences)

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis."""
        metric = self.metric
        words = metric._bleu.units(hypothesis)
        matched = [0.0] * metric.order
        for ngram, count in ngrams(words, metric.order).items():
            if ngram in self._most:
                limit, information = self._most[ngram]
                matched[len(ngram) - 1] += min(count, limit) * information
        totals = [max(0, len(words) - n) for n in range(metric.order)]
        return floats([*matched, *totals, len(words), self._length])

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return NIST of one hypothesis."""
        return self.metric.score(self.stats(hypothesis))
