"""What a learner is fitted to, checked once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256

import numpy as np

from fstmetrics import Evaluator, Metric
from fstmetrics.references import Reference
from lattices.errors import OptionError
from lattices.spaces import Forest, NBest, Space


class TrainingTask:
    """What a learner is fitted to: spaces, the references of each, and the metric.

    Attributes
    ----------
    spaces : tuple of Lattice, NBest or Forest
    evaluators : tuple of Evaluator
        The metric against the references, one for each space.
    metric : Metric
    digest : str
        A name for all of it, by which a checkpoint knows its task again.
    """

    def __init__(
        self,
        spaces: Iterable[Space],
        references: Iterable[Iterable[Reference]],
        metric: Metric,
    ) -> None:
        self.spaces = tuple(spaces)
        listed = [tuple(some) for some in _checked_lists(references)]
        if len(self.spaces) != len(listed):
            raise OptionError(
                f"{len(self.spaces)} spaces, but references for {len(listed)} segments"
            )
        if not self.spaces:
            raise OptionError("there are no spaces to train on")
        for place, space in enumerate(self.spaces):
            if isinstance(space, NBest) and not len(space):
                raise OptionError(f"n-best list {space.id or place!r} is empty")
        self.metric = metric
        self.evaluators: tuple[Evaluator, ...] = tuple(metric.against(some) for some in listed)
        sizes = [(space.id, space_size(space), *_feature_range(space)) for space in self.spaces]
        texts = [[repr(each) for each in some] for some in listed]
        named = json.dumps([str(metric), sizes, texts]).encode()
        self.digest = sha256(named).hexdigest()


def _checked_lists(references: Iterable[Iterable[Reference]]) -> Iterator[Iterable[Reference]]:
    for some in references:
        if isinstance(some, str):
            raise OptionError(f"a list of references for each segment, not the text {some[:40]!r}")
        yield some


def space_size(space: Space) -> int:
    """Return the number of entries, arcs or edges."""
    if isinstance(space, NBest):
        return len(space)
    return space.num_edges if isinstance(space, Forest) else space.num_arcs


def _feature_range(space: Space) -> tuple[int, float, float]:
    """Return what tells features apart and does not depend on how they are stored."""
    if space.features is None:
        return 0, 0.0, 0.0
    values = space.features.data
    used = int(np.count_nonzero(values))
    return used, float(values.min(initial=0.0)), float(values.max(initial=0.0))
