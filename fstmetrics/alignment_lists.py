"""Alignment statistics of a whole n-best list in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fstmetrics.aligning import list_statistics
from fstmetrics.judgement import ReferenceWords
from fstmetrics.list_units import ListUnits
from lattices.arrays import FloatColumn, floats
from lattices.spaces import NBest

if TYPE_CHECKING:
    from fstmetrics.alignment import AlignmentMetric


def aligned_list(
    metric: AlignmentMetric,
    nbest: NBest,
    references: Sequence[ReferenceWords],
) -> FloatColumn:
    """Return one row of statistics for each entry, against the reference that scores it best.

    Each distinct word of the list is compared with the references once. Of references that
    score equally the first is taken, as for one sentence.

    Parameters
    ----------
    metric : AlignmentMetric
    nbest : NBest
    references : sequence of ReferenceWords
        In the metric's units.
    """
    units = ListUnits.of_words(nbest)
    if metric.characters:
        units = units.characters(metric.spaces)
    best, highest = np.empty((0, 0)), np.empty(0)
    for number, reference in enumerate(references):
        rows = list_statistics(
            floats(reference.weights(units.symbols)), units.unit, units.offset,
            metric.order, float(metric.insertion), float(metric.deletion),
        )  # fmt: skip
        rows[:, -1] = metric.possible(len(reference))
        worth = metric.scores(rows) * (1.0 if metric.higher_is_better else -1.0)
        if number:
            better = worth > highest
            best[better], highest[better] = rows[better], worth[better]
        else:
            best, highest = rows, worth
    return floats(best)
