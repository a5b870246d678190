"""How much a batch holds: little at first and where the work is slow, much where it is fast."""

from __future__ import annotations

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
