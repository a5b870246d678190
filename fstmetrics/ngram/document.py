"""BLEU of a sentence within a document, and its linear form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fstmetrics.contract import Prepared, S, can_search, nbest_stats, scores_of
from fstmetrics.external.tokenizers import NO_TOKENIZER
from fstmetrics.machine import Machine
from fstmetrics.ngram.bleu import BLEU, BLEUEvaluator
from fstmetrics.ngram.linear import Factors, linear_machine
from fstmetrics.references import Reference
from lattices.arrays import FloatColumn, IntColumn, floats
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.spaces import NBest
from lattices.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class DocumentBLEU:
    """BLEU of a document that a sentence is added to.

    With the statistics ``O`` of a document of ``N`` segments, a sentence of statistics ``s`` is
    worth ``(N + 1) * BLEU(O + s)`` (Watanabe et al. 2007; Chiang, Marton & Resnik 2008). Single
    sentences have few n-grams, and most no match of the longest; a document has enough of them,
    and says whether it is too short as a whole, which is all that BLEU punishes. The factor
    makes the difference between two sentences that of the BLEU of one mean sentence, whatever the
    size of the document. (Chiang et al. take the number of source words instead, which is larger
    by those of a mean sentence.)

    Lists are scored so. Lattices and forests are searched by the linear form

    ``theta_0 |E| + sum over n of theta_n * (n-grams of E that a reference has)``,

    where ``theta_n`` is what one match more of order n adds to ``(N + 1) * BLEU(O + O / N)``, and
    ``theta_0`` what one word more adds that matches nothing: BLEU to first order around the
    document with a mean sentence. The brevity penalty is in ``theta_0``; matches are not
    clipped, so that its machine is a *proxy* and never proves a result. What is found has the
    score of the first formula.

    Costs as :class:`fstmetrics.LinearBLEU`.

    Parameters
    ----------
    metric : BLEU
        Any that grows with its matches. One that is not smoothed is 0 for a document
        without matches of some order.
    statistics : float64 column
        Of the document: a row of the metric's statistics, or a sum of rows, of any scale.
    segments : float
        How many segments these are, above 0.

    References
    ----------
    Watanabe, Suzuki, Tsukada and Isozaki. Online large-margin training for statistical machine
    translation. EMNLP 2007.

    Chiang, Marton and Resnik. Online large-margin training of syntactic and structural
    translation features. EMNLP 2008.

    Chiang. Hope and fear for discriminative training of statistical translation models. JMLR
    13, 2012.

    Examples
    --------
    >>> metric = BLEU(order=2)
    >>> rows = metric.stats("the cat sat", ["the cat sat on it"])
    >>> document = DocumentBLEU(metric, rows, 1.0)
    >>> evaluator = document.against(["a dog barks"])
    >>> [round(evaluator.score(said), 4) for said in ("a dog", "a dog here", "a dog barks here")]
    [1.0976, 1.1329, 1.4357]
    >>> document.factors.word > 0     # so short that any word helps
    True
    >>> document.moved(metric.stats("a dog", ["a dog barks"]), 0.5).statistics.tolist()
    [2.5, 1.5, 2.5, 1.5, 2.5, 4.0]
    """

    metric: BLEU
    statistics: FloatColumn
    segments: float
    higher_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse what is no document of the metric."""
        row = floats(self.statistics)
        width = len(self.metric.stat_names)
        if row.shape != (width,) or not (np.isfinite(row) & (row >= 0.0)).all():
            raise OptionError(
                f"a document of {self.metric.name} is {width} numbers from 0 up, not {row.tolist()}"
            )
        if not 0.0 < self.segments < np.inf:
            raise OptionError(f"a document has more than 0 segments, not {self.segments}")
        self.__dict__["statistics"] = row

    def __str__(self) -> str:
        """Return the metric's signature, and the size of the document."""
        return f"{self.metric} in a document of {self.segments:.4g} segments"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Those of the metric."""
        return self.metric.stat_names

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics of one segment, which are the metric's."""
        return self.metric.stats(hypothesis, references)

    def score(self, stats: FloatColumn) -> float:
        """Return what a segment is worth."""
        return float(self.scores(np.asarray(stats, dtype=np.float64)[None])[0])

    def scores(self, rows: FloatColumn) -> FloatColumn:
        """Return what the segment of each row is worth."""
        return floats((self.segments + 1.0) * scores_of(self.metric, self.statistics + rows))

    @cached_property
    def factors(self) -> Factors:
        """What a word, and an n-gram of each length, is worth in the linear form."""
        order = self.metric.order
        steps = np.zeros((order + 2, len(self.stat_names)))
        steps[np.arange(1, order + 1), np.arange(order)] = 1.0
        steps[order + 1, order : 2 * order + 1] = 1.0
        values = self.scores(self.statistics / self.segments + steps)
        more = (values[1:] - values[0]).tolist()
        return Factors(more[-1], tuple(more[:-1]))

    def moved(self, stats: FloatColumn, decay: float) -> DocumentBLEU:
        """Return the document with one segment more, all of it faded: ``decay * (O + s)``."""
        return replace(
            self,
            statistics=floats(decay * (self.statistics + stats)),
            segments=decay * (self.segments + 1.0),
        )

    def against(self, references: Iterable[Reference]) -> DocumentEvaluator:
        """Return an evaluator for the references of one segment."""
        return self.around(self.metric.against(references))

    def around(self, evaluator: BLEUEvaluator) -> DocumentEvaluator:
        """Return the metric's evaluator, within the document: nothing is compiled again."""
        # the machine of the linear form reads words
        words = self.metric.unit == "word" and self.metric.tokenize == NO_TOKENIZER
        searches = words and can_search(evaluator)
        return (LinearDocumentEvaluator if searches else DocumentEvaluator)(self, evaluator)


class DocumentEvaluator:
    """BLEU within a document, made ready for the references of one segment."""

    def __init__(self, metric: DocumentBLEU, evaluator: BLEUEvaluator) -> None:
        self.metric = metric
        self._evaluator = evaluator

    @property
    def references(self) -> tuple[Reference, ...]:
        """The references, as given."""
        return self._evaluator.references

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis."""
        return self._evaluator.stats(hypothesis)

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row of statistics for each entry of a list."""
        return nbest_stats(self._evaluator, nbest)

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return what one hypothesis is worth."""
        return self.metric.score(self.stats(hypothesis))


class LinearDocumentEvaluator(DocumentEvaluator):
    """The same, with the machine of its linear form."""

    def prepare(self, space: S) -> Prepared[S]:
        """Return the lattice or forest as it is: its words are those of the metric."""
        return Prepared(space)

    def machine(self, vocabulary: Vocabulary, labels: IntColumn | None = None) -> Machine:
        """Return the machine over the words of a space, or over those that ``labels`` lists."""
        return linear_machine(self._evaluator, self.metric.factors, vocabulary, labels)
