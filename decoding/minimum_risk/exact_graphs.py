"""Evidence and candidates in the form in which the engine takes expectations.

The metrics are not symmetric: the candidate is the hypothesis, a sentence of the evidence the
reference. But their numerator,

    max over alignments of sum over k of M_k - insertion * I - deletion * D,

is the same from either side: matches in a row are in a row on both sides, what is inserted on
one is deleted on the other. So the automaton of the candidate, with the two costs exchanged,
reads the evidence. What it is divided by depends on the length of the evidence alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decoding.minimum_risk.evidence import Evidence, evidence_of
from decoding.outcomes import Segment
from decoding.transforms import Sampled
from fstmetrics import AlignmentMetric, Metric
from fstmetrics.similarity import checked_matrix
from lattices._native import LengthGraph
from lattices.algorithms import forest_to_lattice
from lattices.arrays import FloatColumn, floats, ints
from lattices.engines import Alignment
from lattices.engines.expectations import length_graph, list_graph
from lattices.errors import OptionError
from lattices.spaces import Forest, NBest, Space
from lattices.vocabulary import Vocabulary

#: the most states that a forest may take as a lattice
FOREST_STATES = 100_000


@dataclass(frozen=True, eq=False)
class EvidenceGraph:
    """Evidence that can be walked, in the units of a metric.

    Attributes
    ----------
    graph : LengthGraph
    vocabulary : Vocabulary
        Of the units.
    sentences : int
        How many there are, if they were listed; -1 for all of a lattice.
    """

    graph: LengthGraph
    vocabulary: Vocabulary
    sentences: int = -1


def checked_metric(metric: Metric) -> AlignmentMetric:
    """Return the metric if it is one whose evidence can be read by rows.

    Raises
    ------
    OptionError
        If it is none.
    """
    if not isinstance(metric, AlignmentMetric):
        raise OptionError(
            f"{metric} is no alignment metric: this takes WER, WRR, CER and GRR; "
            "for others there is method pairwise"
        )
    return metric


def evidence_graph(
    evidence: Evidence | Space, metric: AlignmentMetric, scale: float
) -> EvidenceGraph:
    """Return one system's evidence as a graph.

    Raises
    ------
    SpaceError
        If a lattice has no complete path, or a forest is too large as a lattice.
    OptionError
        If a list is empty.
    """
    if isinstance(evidence, NBest):
        evidence = evidence_of(evidence, scale=scale)
    if isinstance(evidence, Evidence):
        return _of_list(evidence.nbest, evidence.weight, metric)
    lattice = (
        forest_to_lattice(evidence, FOREST_STATES) if isinstance(evidence, Forest) else evidence
    )
    prepared = metric.against([()]).prepare(lattice).lattice
    return EvidenceGraph(length_graph(prepared, scale), prepared.vocabulary)


def sampled_graph(
    space: Space, metric: AlignmentMetric, scale: float, samples: int, seed: int
) -> EvidenceGraph:
    """Return the graph of sentences drawn from a space, each as often as it was drawn."""
    drawn = Sampled(samples, seed, scale)(Segment(0, space.id, 0, space))
    return _of_list(drawn, floats(np.ones(len(drawn))), metric)


def _of_list(nbest: NBest, weight: FloatColumn, metric: AlignmentMetric) -> EvidenceGraph:
    label, offset, vocabulary = nbest.label, nbest.offset, nbest.vocabulary
    if metric.characters:
        vocabulary = Vocabulary()
        spelt = [metric.units(nbest.tokens(entry)) for entry in range(len(nbest))]
        label = ints(vocabulary.add_all(unit for units in spelt for unit in units))
        offset = ints(np.cumsum([0, *map(len, spelt)]))
    return EvidenceGraph(list_graph(label, offset, weight), vocabulary, len(nbest))


def reading_alignments(
    sentences: Sequence[Sequence[str]], evidence: EvidenceGraph, metric: AlignmentMetric
) -> list[Alignment]:
    """Return, for each candidate, the automaton that reads the evidence.

    Examples
    --------
    >>> from fstmetrics import GRR
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    >>> evidence = evidence_graph(lattice, GRR(), 1.0)
    >>> [swapped] = reading_alignments([("b", "a")], evidence, GRR(alpha=1, beta=0))
    >>> swapped.insertion, swapped.deletion, swapped.position.tolist()
    (0.0, 1.0, [1])
    """
    vocabulary = evidence.vocabulary
    like = metric.against([()]).machine(vocabulary).parts[0].automaton
    assert isinstance(like, Alignment)
    one = like.heaviest
    hard = metric.similarity is None
    read = () if hard else vocabulary.decode(evidence.graph.words.tolist())
    result = []
    for sentence in sentences:
        units = metric.units(sentence)
        if metric.similarity is None or not units or not read:
            numbers = vocabulary.encode(units)
            position = np.flatnonzero(numbers > 0)
            word, weight = numbers[position], np.full(len(position), one)
        else:
            distinct = {unit: place for place, unit in enumerate(dict.fromkeys(units))}
            soft = checked_matrix(metric.similarity, tuple(distinct), read)
            soft = np.maximum(soft, np.array([[mine == its for its in read] for mine in distinct]))
            table = np.rint(soft[[distinct[unit] for unit in units]] * one)
            position, place = np.nonzero(table)
            word, weight = evidence.graph.words[place], table[position, place]
        swapped = Alignment(
            len(units), like.order, like.deletion, like.insertion,
            ints(word), ints(position), floats(weight), one,
        )  # fmt: skip
        result.append(swapped)
    return result


def values_by_length(
    metric: AlignmentMetric, longest: int, one: float, normalised: bool
) -> tuple[FloatColumn, FloatColumn]:
    """Return ``a`` and ``b`` for each length: a gain of ``g`` units is worth ``a + b * g``.

    ``one`` match has that many units. Without normalisation the worth is the numerator of the
    metric: matches less costs, or for an error rate the number of errors.
    """
    length = np.arange(longest + 1)
    if normalised:
        possible = np.array([metric.possible(words) for words in length.tolist()], dtype=float)
        constant = np.where(possible > 0.0, 0.0, 1.0)
        factor = 1.0 / (np.maximum(possible, 1.0) * one)
        if metric.error_rate:
            constant, factor = 1.0 - constant, -factor
    else:
        constant = length.astype(float) if metric.error_rate else np.zeros(longest + 1)
        factor = np.full(longest + 1, (-1.0 if metric.error_rate else 1.0) / one)
    return floats(constant), floats(factor)
