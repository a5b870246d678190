"""Units of the input put together to batches, the pieces that workers are given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from decoding.corpus import batches as sizes
from decoding.corpus.outcomes import Failure
from decoding.corpus.units import Range, Unit, unit_count
from lattices.errors import OptionError

#: a batch is full at so many bytes, however few segments they are
BATCH_BYTES = 8_000_000
#: segments of the first batches, and of the largest ones
FIRST_RECORDS = 16
MOST_RECORDS = 256
#: seconds that a batch should take: less, and handing batches around is what takes the time;
#: more, and workers wait for the last one, and much is lost if the run is killed
SHORT = 0.1
LONG = 0.5


class Pace:
    """How many segments make a batch, by how long the batches before took.

    What comes out of a run does not depend on it.

    Parameters
    ----------
    records : int, optional
        So many, in any case.

    Attributes
    ----------
    records : int
        How many at present.

    Examples
    --------
    >>> pace = Pace()
    >>> before = pace.records
    >>> pace.took(before, 0.001)
    >>> pace.records == 2 * before
    True
    >>> pace.took(pace.records, 60.0)
    >>> pace.records == before
    True
    """

    def __init__(self, records: int | None = None) -> None:
        self._fixed = records is not None
        self.records = FIRST_RECORDS if records is None else records

    def took(self, count: int, seconds: float) -> None:
        """Learn that a batch of so many segments took so long."""
        if self._fixed:
            return
        if seconds > LONG:
            self.records = max(1, min(self.records, count // 2))
        # a batch from before the last change, or one cut short by its bytes, says nothing new
        elif seconds < SHORT and count >= self.records:
            self.records = min(MOST_RECORDS, 2 * self.records)


Batch: TypeAlias = "list[Unit]"


def batches(units: Iterable[Unit], pace: Pace) -> Iterator[Batch]:
    """Put units together, up to as many segments as ``pace`` says and to ``BATCH_BYTES``."""
    batch: Batch = []
    count = size = 0
    for unit in units:
        if batch and count + unit_count(unit) > pace.records:
            yield batch
            batch, count, size = [], 0, 0
        batch.append(unit)
        count += unit_count(unit)
        size += 0 if isinstance(unit, Failure) else unit.bytes
        if count >= pace.records or size >= sizes.BATCH_BYTES:
            yield batch
            batch, count, size = [], 0, 0
    if batch:
        yield batch


def without_first(all_batches: Iterable[Batch], skipped: int) -> Iterator[Batch]:
    """Iterate over the batches without the units of the first ``skipped`` outcomes.

    Raises
    ------
    OptionError
        At the end, if there are fewer.
    """
    for batch in all_batches:
        if not skipped:
            yield batch
            continue
        left: Batch = []
        for unit in batch:
            count = unit_count(unit)
            if skipped >= count:
                skipped -= count
            elif skipped and isinstance(unit, Range):
                left.append(unit.without_first(skipped))
                skipped = 0
            else:
                left.append(unit)
        if left:
            yield left
    if skipped:
        raise OptionError(f"{skipped} segments that were done before are not in the input")
