"""BLEU statistics of a whole corpus in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from fstmetrics._native import corpus_matches
from fstmetrics.bleu_options import LENGTHS
from fstmetrics.references import Reference, checked_references
from lattices.arrays import FloatColumn, floats, ints
from lattices.errors import OptionError

if TYPE_CHECKING:
    from fstmetrics.bleu import BLEU


def paired(
    hypotheses: Sequence[str | Sequence[str]], references: Sequence[Iterable[Reference]]
) -> list[tuple[str | Sequence[str], Iterable[Reference]]]:
    """Return the segments of a corpus; as many lists of references as hypotheses."""
    if len(hypotheses) != len(references):
        raise OptionError(
            f"{len(hypotheses)} hypotheses, but references for {len(references)} segments"
        )
    return list(zip(hypotheses, references, strict=True))


def corpus_rows(
    metric: BLEU,
    hypotheses: Sequence[str | Sequence[str]],
    references: Sequence[Iterable[Reference]],
) -> FloatColumn:
    """Return one row of statistics a segment, the same as ``metric.stats`` gives.

    All units are numbered in one dictionary, and all n-grams counted in one native call.

    Examples
    --------
    >>> from fstmetrics import BLEU
    >>> corpus_rows(BLEU(order=1), ["a cat", "cat"], [["the cat"], ["a dog", "cat"]]).tolist()
    [[1.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0]]
    """
    segments = paired(hypotheses, references)
    number: dict[str, int] = {}
    known, get = number.setdefault, number.get
    reference_unit: list[int] = []
    sizes: list[int] = []
    segment_ends = [0]
    for _, of_segment in segments:
        sentences = metric.reference_units(checked_references(of_segment))
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
        ints(segment_ends), metric.order, LENGTHS.index(metric.length), metric.strict,
    ))  # fmt: skip
