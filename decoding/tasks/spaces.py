"""Spaces transformed, and encoded for writing: what ``fstmetrics convert`` and others do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.corpus.encoding import Ready, Target
from decoding.corpus.outcomes import Segment
from decoding.corpus.transforms import Transform
from lattices.spaces import Space


@dataclass(frozen=True)
class SpacesTask:
    """Transform every segment; a transform that has ``together`` is called once for a batch."""

    transform: Transform

    def process(self, segments: Sequence[Segment]) -> list[Space]:
        """Return the space of each segment."""
        together = getattr(self.transform, "together", None)
        if together is not None:
            return list(together(segments))
        return [self.transform(segment) for segment in segments]


@dataclass(frozen=True)
class EncodedTask:
    """Transform every segment, and make it ready to be written."""

    transform: Transform
    target: Target

    def process(self, segments: Sequence[Segment]) -> list[Ready]:
        """Return each segment as it is to be written."""
        return [self.target.ready(space) for space in SpacesTask(self.transform).process(segments)]
