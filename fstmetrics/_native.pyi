"""Statistics of metrics."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def align(weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], column: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: int, insertion: float, deletion: float) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
    """
    Return the best alignment: rows (operation, hypothesis, reference, run).

    Word j is worth weight[row[j], column[i]] as a match of word i of the reference.
    """

def soft_statistics(weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], column: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: int, insertion: float, deletion: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """
    Return the statistics of the best alignment under a table of weights, as `align`.
    """

def number_statistics(hypothesis: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], reference: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: int, insertion: float, deletion: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """Return the statistics of the best alignment of words given as numbers."""

def list_statistics(table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], unit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: int, insertion: float, deletion: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Return one row of statistics for each sentence of a list."""

class WordMetric:
    """An alignment metric under which equal words match, and no others."""

    def __init__(self, order: int, insertion: float, deletion: float, insertion_units: float, deletion_units: float, one: float, error_rate: bool) -> None: ...

def distinct(unit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return the distinct units, first seen first, and the place of each unit.
    """

def spell(unit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], letter: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], letter_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], spaces: bool) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return sentences of words as sentences of letters; letter 0 is a blank.
    """

class NGrams:
    """The n-grams of some references, with the most times that one has each."""

    def __init__(self, unit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: int, length: int) -> None: ...

    def matches(self, unit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], strict: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        Return a row for each sentence: clipped matches and n-grams of each order, the length, the effective reference length.
        """

def corpus_matches(unit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], reference: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], reference_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], segment: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: int, length: int, strict: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Return a row, as NGrams.matches does, for each segment of a corpus."""

def bleu_scores(rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], smoothing: int, value: float, effective_order: bool, arithmetic: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """Return the BLEU of each row of statistics, in [0, 1]."""

class Pairs:
    """Candidates and evidence over one numbering of units."""

    def __init__(self, unit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], other_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def edit_distances(pairs: Pairs) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
    """Return the edit distance of each pair."""

def alignment_gains(pairs: Pairs, order: int, insertion: float, deletion: float, one: float, worth: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    Return the best gain of each pair, in matches. Costs are whole multiples of 1 / one, or in matches if that is 0; worth is empty, or says what units are worth as matches.
    """

class PairMatches:
    """Clipped n-gram matches of each pair."""

    def __init__(self, pairs: Pairs, order: int) -> None: ...

    def of_order(self, order: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
        """Return the matches of one order."""

    def bleu(self, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], smoothing: int, value: float, effective_order: bool, arithmetic: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Return the sentence BLEU of each pair."""

def pair_chrf(parts: Sequence[PairMatches], beta: float, smooth: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Return the chrF of each pair, from matches of characters and words."""

def chrf_scores(matches: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], own: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: float, smooth: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """
    Return chrF of candidates against one reference, from counts, a row for each order.
    """

def affix_distances(point: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], other_point: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], other_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], limit: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Return the affix distances of all pairs, those above the limit as 1."""

def tolerant_matches(word: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], reference: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """Return the weighted, clipped matches of a corrected sentence by order."""

def nearest_ngrams(product: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], word: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], vector: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], other_vector: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Return the largest cosine of each n-gram with one of the reference."""

class Corpus:
    """Hypotheses and references as strings, or as lists or tuples of words."""

    def __init__(self, hypotheses: object, references: object) -> None: ...

    @property
    def plain(self) -> bool:
        """
        Whether it is one: each segment has references, and all are strings or words.
        """

    @property
    def segment(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """Where the references of each segment begin, and end."""

    def words(self) -> tuple[tuple[str, ...], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
        """
        Return all words, and hypotheses and references as numbers of words, from 1 on.
        """

def alignment_rows(corpus: Corpus, characters: bool, spaces: bool, order: int, insertion: float, deletion: float, workers: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Return a row of statistics for each reference."""

def ter_rows(corpus: Corpus, workers: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Return the edits of TER, and the length, for each reference."""

def ngram_rows(corpus: Corpus, characters: bool, whitespace: bool, order: int, workers: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    Return what chrF counts of each order, of characters or words, for each reference.
    """

def meteor_rows(unit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], reference: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], reference_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], segment: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], stages: Sequence[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]]], workers: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Return matches, chunks and both lengths for each reference."""

def meteor_places(words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], reference: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], stages: Sequence[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]]]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
    """Return the place that each word is matched with, -1 for none."""

def pair_meteor(pairs: Pairs, stages: Sequence[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]]], alpha: float, beta: float, gamma: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Return the METEOR of each pair."""

def meteor_scores(rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], alpha: float, beta: float, gamma: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """Return the METEOR of each row of statistics."""

def pair_translation_edits(pairs: Pairs) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
    """Return the edits of TER of each pair."""
