"""BLEU_modif and WER_modif: n-grams and words are compared by their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np

from fstmetrics import _native
from fstmetrics.alignment.metric import AlignmentMetric
from fstmetrics.ngram.bleu import BLEU, BLEUEvaluator
from fstmetrics.references import Reference, Tokens, check_references
from fstmetrics.signature import option
from fstmetrics.similarity.vectors import (
    EmbeddingSimilarity,
    WordVectors,
    check_vectors,
    load_given_vectors,
    prune_cosines,
)
from lattices.arrays import FloatColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.spaces import Lattice, NBest


@dataclass(frozen=True, kw_only=True)
class WERModif(AlignmentMetric):
    """WER_modif: a substitution costs one minus the similarity of the two words.

    ``min over alignments of (sum over substitutions of (1 - sim) + I + D) / |r|``, where sim
    is the cosine of the words' vectors, 0 where that is negative; lower is better. The same
    as ``wer:similarity=embedding(...)``, and so an exact machine over lattices: O(arcs x
    reference length), and one matrix product of the lattice's words and the reference's.

    Words without a vector are like themselves and like no other word.

    Parameters
    ----------
    vectors : str or WordVectors
        A file that :func:`fstmetrics.similarity.vectors.load_vectors` reads, or the vectors.
    gamma : float
        Similarities below it count as none. The paper has no threshold here.

    References
    ----------
    Wang and Merlo. Modifications of machine translation evaluation metrics by using word
    embeddings. HyTra 2016, equation 7.

    Examples
    --------
    >>> vectors = WordVectors(["cat", "dog"], np.array([[1.0, 0.0], [0.6, 0.8]]))
    >>> WERModif(vectors=vectors).against(["the cat sat"]).score("the dog sat")
    0.13333333333333333
    """

    name: ClassVar[str] = "wer-modif"
    heading: ClassVar[str] = "WER_modif"
    order: ClassVar[int] = 1
    insertion: ClassVar[float] = 1.0
    deletion: ClassVar[float] = 0.0
    error_rate: ClassVar[bool] = True
    vectors: str | WordVectors = field(default="")
    gamma: float = option(0.0, always=True)

    def __post_init__(self) -> None:
        """Refuse vectors that are none and a threshold that is no cosine."""
        check_vectors(self.name, self.vectors, self.gamma)

    def require(self) -> None:
        """Load the vectors, or raise what says why they cannot be."""
        load_given_vectors(self.vectors)

    @cached_property
    def similarity(self) -> EmbeddingSimilarity:
        """The similarity that makes the matches soft."""
        return EmbeddingSimilarity(vectors=self.vectors, gamma=self.gamma)


@dataclass(frozen=True, kw_only=True)
class BLEUModif(BLEU):
    """BLEU_modif: each n-gram counts by its similarity to the nearest n-gram of the reference.

    The precision of order n is ``sum over n-grams g of max over reference n-grams h of
    sim(g, h)``, over the number of n-grams of the hypothesis; the rest is BLEU's. The vector
    of an n-gram is the mean of its words' vectors, those without one skipped; sim is the
    cosine, 0 where it is below ``gamma``. An n-gram that the reference has word by word
    counts 1, with or without vectors. Several references: the nearest n-gram of all.

    Nothing is clipped: at ``gamma=1`` the unigram precision is BLEU's without clipping, and
    a hypothesis that repeats one good word has precision 1. And nothing inside an n-gram is
    ordered: the mean of `a b` is that of `b a`, so even a scrambled sentence scores high.

    Costs one matrix product, O(J x L x dimensions), for J and L words: the products of all
    n-grams are sums over blocks of it. No machine: BLEU does not decompose over a path.

    Other options are those of :class:`fstmetrics.BLEU`.

    Parameters
    ----------
    vectors : str or WordVectors
        A file that :func:`fstmetrics.similarity.vectors.load_vectors` reads, or the vectors.
    gamma : float
        Similarities below it count as none, in [0, 1]; the paper's best is 0.1 for CBOW and
        0.2 to 0.6 for skip-gram vectors.

    References
    ----------
    Wang and Merlo. Modifications of machine translation evaluation metrics by using word
    embeddings. HyTra 2016, equations 4 and 5.

    Examples
    --------
    >>> vectors = WordVectors(["cat", "dog"], np.array([[1.0, 0.0], [0.6, 0.8]]))
    >>> metric = BLEUModif(order=1, vectors=vectors)
    >>> metric.against(["the cat sat"]).stats("the dog sat").round(12).tolist()
    [2.6, 3.0, 3.0, 3.0]
    """

    name: ClassVar[str] = "bleu-modif"
    heading: ClassVar[str] = "BLEU_modif"
    vectors: str | WordVectors = field(default="")
    gamma: float = option(0.1, always=True)

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        super().__post_init__()
        check_vectors(self.name, self.vectors, self.gamma)
        if self.unit != "word":
            raise OptionError(f"{self.name} compares words: unit={self.unit} is BLEU's")

    def require(self) -> None:
        """Load the vectors and the tokeniser, or raise what says why they cannot be."""
        super().require()
        load_given_vectors(self.vectors)

    def against(self, references: Iterable[Reference]) -> BLEUModifEvaluator:
        """Return an evaluator for the references of one segment."""
        return BLEUModifEvaluator(self, check_references(references))


class BLEUModifEvaluator(BLEUEvaluator):
    """BLEU_modif made ready for the references of one segment."""

    def __init__(self, metric: BLEUModif, references: tuple[Reference, ...]) -> None:
        super().__init__(metric, references)
        self.gamma = metric.gamma
        self._vectors = load_given_vectors(metric.vectors)
        self._sentences = [
            metric.units(each) for each in references if not isinstance(each, Lattice)
        ]

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis."""
        row: FloatColumn = self._replace_matches([hypothesis], super().stats(hypothesis)[None])[0]
        return row

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row of statistics for each entry of a list."""
        sentences = [nbest.tokens(entry) for entry in range(len(nbest))]
        return self._replace_matches(sentences, super().list_stats(nbest))

    def _replace_matches(
        self, sentences: Sequence[str | Sequence[str]], rows: FloatColumn
    ) -> FloatColumn:
        """Return BLEU's rows with the matches replaced by sums of similarities."""
        order = self.metric.order
        rows = rows.copy()
        for row, sentence in zip(rows, sentences, strict=True):
            words = self.metric.units(sentence)
            nearest = [
                match_nearest_ngrams(words, reference, self._vectors, order)
                for reference in self._sentences
            ]
            row[:order] = prune_cosines(np.max(nearest, axis=0), self.gamma).sum(axis=1)
        return floats(rows)


# room for the references of one segment: a sweep asks for them again for each threshold
@lru_cache(maxsize=64)
def match_nearest_ngrams(
    words: Tokens, reference: Tokens, vectors: WordVectors, order: int
) -> FloatColumn:
    """Return the cosine of each n-gram with the nearest of the reference.

    Row n - 1 is that of order n; what is past its last n-gram is 0. It does not depend on
    any threshold.
    """
    left, right = floats(vectors.rows(words)), floats(vectors.rows(reference))
    number = {word: index for index, word in enumerate(dict.fromkeys(reference))}
    return floats(
        _native.nearest_ngrams(
            floats(left @ right.T),
            ints([number.get(word, -1) for word in words]), left,
            ints([number[word] for word in reference]), right,
            order,
        )
    )  # fmt: skip
