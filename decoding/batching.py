"""Units of the input put together to batches, the pieces that workers are given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from decoding import pace as sizes
from decoding.outcomes import Failure
from decoding.pace import Pace
from decoding.units import Range, Unit, unit_count
from lattices.errors import OptionError

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
