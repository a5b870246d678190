"""Oracles, minimum risk and training over lattices and forests."""

from collections.abc import Sequence
from typing import Annotated, overload

import fstmetrics._native
import lattices._native
import numpy
import numpy.typing
from numpy.typing import NDArray


class OracleTable:
    """The oracles of a batch, a row a space."""

    def rows(self) -> list[tuple[tuple[str, ...], float, float]]:
        """Return words, metric and model score of each."""

    def texts(self) -> list[str]:
        """Return the words of each, joined by blanks."""

    def scores(self) -> list[float]:
        """Return the metric of each."""

    def stats_rows(self, of_one_best: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        Return the statistics of each, or of the model's own choices, of one metric.
        """

    @property
    def has_one_best(self) -> bool:
        """Whether the model's own choices were scored."""

    def one_best(self, place: int) -> tuple[str, ...]:
        """Return the words of the model's own choice."""

    def arcs(self, place: int) -> tuple[int, ...]:
        """Return the arcs of the path."""

    def features(self, place: int) -> dict[str, float]:
        """Return the features of the path that are not zero, by name."""

    def reference(self, place: int) -> int:
        """Return the reference it was scored against."""

    def stats(self, place: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
        """Return the statistics."""

def search_words(problems: Sequence[tuple[lattices._native.LatticeColumns | lattices._native.ForestColumns, lattices._native.FeatureColumns | None, dict[str, int], list[str], fstmetrics._native.WordMetric, tuple[object, ...]]], model_weight: float, memory: int, workers: int, one_best: bool) -> tuple[OracleTable, list[tuple[int, int, list[int]]]]:
    """
    Compile the references of each space, search it, and score what was found.

    A problem has the columns of a lattice or forest, those of its features or None, the
    numbers and the strings of its vocabulary, the metric, and the references:
    texts, or tuples of words. Each search may take so many bytes. Returns a row for each
    problem, and where there is no oracle the place, the outcome and the arcs in a list: 1, no
    path is complete; 2, the path's model score overflows; 3, it takes more memory, or a forest
    cannot be searched. With `one_best` the model's own choice is scored, too.
    """

UNPLACED: float = 1e-09

TIE: float = 1e-12

GAIN: float = 1e-07

class EditTable:
    """Sentences of a batch with few expected edits, a row a space."""

    def rows(self) -> list[tuple[tuple[str, ...], float, tuple[float, ...], bool, bool, tuple[str, ...] | None]]:
        """
        Return of each the words, the model score (-inf for a sentence that is not there), the
        expected edits of all sentences on the way, whether no change is left that lowers
        them, whether bands were proven wide enough, and the words of the model's best path, if the search began with them.
        """

    def arcs(self, place: int) -> tuple[int, ...]:
        """Return the arcs of the best path of the sentence, if it has one."""

    def features(self, place: int) -> dict[str, float]:
        """Return the features of that path that are not zero, by name."""

def decide_edits(problems: list[tuple[lattices._native.LatticeColumns, lattices._native.FeatureColumns | None, list[str], float, list[numpy.typing.NDArray[numpy.int32]]]], likely: bool, changes: int, swaps: int, memory: int, workers: int) -> tuple[EditTable, list[tuple[int, str]]]:
    """
    Find the sentence with few expected edits of each lattice that some sentences lead to.

    A problem has the columns of a lattice, those of its features or None, the strings of its
    vocabulary, the scale of its scores, and the sentences to begin with: where none is given,
    the model's best; and where asked for (`likely`) the path of the most probable arcs, too.
    So many `changes` are made, and so many of the closest alternatives of bins are tried at a
    minimum (`swaps`). Each search may take so many bytes. Returns a row for each problem, and
    where there is no sentence the place and what took more memory: nothing, if the sum of the
    masses of all paths is not finite.
    """

def edit_bins(lattice: lattices._native.LatticeColumns, scale: float, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], memory: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return the alternatives of all bins of a sentence: labels, posteriors and times weighted by
    them, where bins begin, and the sentence's own alternatives.
    """

def prefix_tree(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], mass: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]:
    """
    Return the tree of the prefixes of a list's entries: the state before and the word into each
    state but the first, and the mass and the best score of the entries that end in each.
    """

def search_bleu(problems: Sequence[tuple[lattices._native.LatticeColumns | lattices._native.ForestColumns, Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], float, tuple[lattices._native.RowTables, lattices._native.RowAutomatonColumns, float, Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None]], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scoring: tuple[int, float, bool, bool, int, bool] | tuple[float, bool], wanted: tuple[int, bool, bool, float], limits: tuple[int, int, int], workers: int) -> list[tuple[list[list[int]], Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))], float, bool, bool, int]]:
    """
    Search spaces for their best sentences under BLEU or chrF.

    A problem has a space's columns, the unit and the word of each arc or symbol, the
    units of the references and where each reference begins, the weight of the score, and
    a machine that is added to it, if any: its rows, its columns, its unit, and the words
    that it reads. Scoring of BLEU: smoothing, its value, effective order or not,
    arithmetic mean or not, which the effective length is, a strict penalty or not; of
    chrF: beta, the mean of all orders or not; wanted: k, the worst or not, the whole
    front or not, the weight of the model score; limits: labels, bytes, and labels
    that are searched without a bound.
    Returns for each problem paths, their statistics, rows that dominate all others, a
    bound, whether a search was completed, whether it is proven, how many labels there
    were.
    """

@overload
def most_gaining(space: lattices._native.LatticeColumns, unfolded: lattices._native.Unfolded, value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], unit: float, k: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]: ...

@overload
def most_gaining(space: lattices._native.ForestColumns, unfolded: lattices._native.Unfolded, value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], unit: float, k: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return the k sentences of the highest linear BLEU: what they gain, their edges, offsets.
    """

def sentence_gains(trie: lattices._native.NgramTrie, gram: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], unit: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """Return the linear BLEU of each sentence of a list."""

def ranked_sentences(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
    """
    Return the entries of the k sentences of the highest values, each sentence once.
    """

def expected_bleu(trie: lattices._native.NgramTrie, gram: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], expected: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: float, order: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """Return the BLEU of each sentence against expected counts and length."""

def average_matches(unit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], other_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    Return the matches of sentences by order, clipped by the expected counts of others.
    """

def envelopes(spaces: Sequence[lattices._native.LatticeColumns | lattices._native.ForestColumns | tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]]], features: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], direction: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], int, int]:
    """
    Return the envelopes of lattices, forests and lists (words, offsets) along a line of weights,
    end to end: where each begins, slopes, intercepts, steps, edges and words of the segments;
    then the first space of which there is none, and why. Space i has the rows of features from
    offset[i] up to offset[i + 1].
    """

class SentenceNumbers:
    """Numbers of sentences, the same for the same words of the same space."""

    def __init__(self) -> None: ...

    def number(self, count: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
        """
        Return the number of each sentence, those of space i from count[i] up to count[i + 1],
        and the places of those that are new, in their order.
        """

class DerivationColumns:
    """The columns of a graph of derivations, checked."""

    def __init__(self, in_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], tail: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], tail_offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], slot: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], root: int) -> None: ...

def expectation(graph: DerivationColumns, score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, tilt: float, surprise: bool) -> tuple[float, float, float, Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]:
    """
    Return the logarithm of the sum over all derivations, mean and variance of the value, and
    of each slot the derivative of the mean and how often it is used.
    """

def expectations(graphs: Sequence[DerivationColumns], offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, tilt: float, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]:
    """
    Return `expectation` of each graph, without the variance, end to end: graph i has the scores
    from offset[i] up to offset[i + 1].
    """

def lattice_derivations(lattice: lattices._native.LatticeColumns) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]]:
    """Return a lattice as a graph of derivations, all gains 0."""

def word_states(units: lattices._native.LatticeColumns, origin: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], lattice: lattices._native.LatticeColumns) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
    """
    Return the state of the lattice of words for each state of that of characters; right for
    those between words, where alone a path may end.
    """

def row_derivations(lattice: lattices._native.LatticeColumns, machine: lattices._native.RowTables, pairs: int, bytes: int, factor: float, arc_slot: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], final_slot: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]], float] | None:
    """
    Return the product of a lattice with rows as a graph of derivations, and its opening gain;
    None beyond the budget. Gains are multiplied by the factor.
    """

def distinct_sentences(label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
    """
    Return which sentence each entry is, and the first entry of each sentence.
    """

def path_masses(lattice: lattices._native.LatticeColumns, label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
    """Return the log of the mass of all paths of each sentence."""

class RiskSearch:
    """The search for the best path under a weighted sum of alignments."""

    def __init__(self, lattice: lattices._native.LatticeColumns, alignments: lattices._native.AlignmentListColumns, share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], memory: int) -> None:
        """The weightiest alignments first make the search fastest."""

    def run(self, floor: float, equal: float, beam: int, budget: int, bytes: int) -> tuple[int, float, Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]]:
        """
        Return how it ended (0: complete, 1: cut, 2: too many), the gain, the arcs.
        """
