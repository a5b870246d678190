"""Resampling: drawing points with replacement, and the intervals that come of it.

A resample is a vector that says how often each segment was drawn. Since statistics are additive,
the sums of many resamples are one product: that of these vectors and the matrix of statistics.
The same seed and the same number of segments give the same resamples, whatever the system and
the metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from lattices.arrays import Array, FloatColumn
from lattices.errors import OptionError
from lattices.records import PlainRecord
from lattices.spaces.arguments import NUMBER, WHOLE

# numbers in one block of resamples: fits in a cache, and products stay too small for threads, which
# would wait for each other longer than they work
_BLOCK = 1 << 15
#: is told the number of resamples in each block that is done
OnDrawn = Callable[[int], object]
Seed = int | np.random.Generator


@dataclass(frozen=True)
class Interval(PlainRecord):
    """A confidence interval.

    Examples
    --------
    >>> print(Interval(0.25, 0.5, 0.95))
    [0.2500, 0.5000]
    """

    low: float
    high: float
    level: float

    def __str__(self) -> str:
        """Return the two ends."""
        return f"[{self.low:.4f}, {self.high:.4f}]"


class ResamplingOptions(TypedDict, total=False):
    """The fields of :class:`Resampling`, as functions take them by name."""

    samples: int
    level: float
    seed: Seed
    on_drawn: OnDrawn | None


@dataclass(frozen=True)
class Resampling:
    """How often to resample, and what interval to take from it."""

    #: how many resamples; where an interval may be left out, 0 leaves it out
    samples: int = 1000
    #: of the interval
    level: float = 0.95
    seed: Seed = 0
    #: called with the number of resamples in each block that is done, to show progress
    on_drawn: OnDrawn | None = None

    @classmethod
    def of(cls, function: str, options: ResamplingOptions, samples: int = 1000) -> Resampling:
        """Return what the arguments of a function ask for, with its own number by default."""
        for name, value in options.items():
            if name not in ResamplingOptions.__annotations__:
                raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
            if name in _KINDS:
                _KINDS[name].check(function, name, value)
        given: ResamplingOptions = {"samples": samples, **options}
        return cls(**given)

    def draws(self, points: int) -> Iterator[Array]:
        """Iterate over blocks of resamples, each a row of ``points`` numbers."""
        rng = make_generator(self.seed)
        return draws(points, check_samples(self.samples), rng, self.on_drawn)

    def sums(self, stats: FloatColumn) -> FloatColumn:
        """Return the sums of statistics over resamples of the segments, with replacement.

        The counts of a resample are multinomial; they are had by counting what was drawn, which is
        faster than drawing them. Cost: ``samples * segments`` draws, and a matrix product.
        """
        segments = len(stats)
        sums = []
        for drawn in self.draws(segments):
            size = len(drawn)
            drawn += segments * np.arange(size)[:, np.newaxis]
            counts = np.bincount(drawn.ravel(), minlength=size * segments)
            sums.append(counts.astype(np.float64).reshape(size, segments) @ stats)
        return np.concatenate(sums)

    def interval(self, values: FloatColumn) -> tuple[Interval | None, int]:
        """Return the interval of the values that are numbers, and how many they are."""
        known = values[~np.isnan(values)]
        return (percentiles(known, self.level) if len(known) else None), len(known)


_KINDS = {"samples": WHOLE, "level": NUMBER}


def sum_blocks(stats: FloatColumn, blocks: Sequence[str]) -> FloatColumn:
    """Return statistics with one row a block, for resampling blocks instead of segments.

    Segments of one speaker or document depend on one another; drawn one by one, as if they did
    not, they make intervals too narrow. Tests and intervals take what this returns in the place of
    rows of segments.

    Parameters
    ----------
    stats
        One row a segment.
    blocks
        The block of each segment, such as its speaker.

    References
    ----------
    Bisani and Ney. Bootstrap estimates for confidence intervals in ASR performance evaluation.
    ICASSP 2004.

    Examples
    --------
    >>> sum_blocks(np.array([[1.0, 5.0], [0.0, 4.0], [2.0, 6.0]]), ["ann", "bob", "ann"])
    array([[ 3., 11.],
           [ 0.,  4.]])
    """
    if len(stats) != len(blocks):
        raise OptionError(f"blocks of {len(blocks)} segments, but statistics of {len(stats)}")
    numbers = {block: number for number, block in enumerate(dict.fromkeys(blocks))}
    if len(numbers) < 2:
        raise OptionError(f"{len(numbers)} blocks, expected 2 or more: one has nothing to vary")
    sums = np.zeros((len(numbers), stats.shape[1]))
    np.add.at(sums, [numbers[block] for block in blocks], stats)
    return sums


def check_samples(samples: int) -> int:
    """Return a number of samples, or raise OptionError if there are none."""
    if samples < 1:
        raise OptionError(f"samples={samples}, expected 1 or more")
    return samples


def make_generator(seed: Seed) -> np.random.Generator:
    """Return a generator of random numbers, or raise OptionError if a seed makes none."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise OptionError(f"seed={seed!r:.60}, expected a whole number from 0") from None


def percentiles(values: FloatColumn, level: float) -> Interval:
    """Return the interval that leaves out equal shares of the values at both ends."""
    if not 0 < level < 1:
        raise OptionError(f"level={level}, expected a number between 0 and 1")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Interval(low, high, level)


def draws(
    points: int, samples: int, rng: np.random.Generator, on_drawn: OnDrawn | None = None
) -> Iterator[Array]:
    """Iterate over blocks of resamples with replacement, each a row of ``points`` numbers."""
    at_once = max(1, _BLOCK // points)
    for begin in range(0, samples, at_once):
        size = min(at_once, samples - begin)
        yield rng.integers(points, size=(size, points))
        if on_drawn is not None:
            on_drawn(size)


def shuffle_sums(
    stats: FloatColumn, samples: int, rng: np.random.Generator, on_drawn: OnDrawn | None = None
) -> FloatColumn:
    """Return the sums of statistics over random halves: each segment is in or out by a coin.

    Cost: ``samples * segments`` bits, and a matrix product.
    """
    segments = len(stats)
    # whole words of the generator for each row, so that blocks of any size are the same
    width = 8 * -(-segments // 64)
    at_once = max(1, _BLOCK // segments)
    sums = []
    for begin in range(0, samples, at_once):
        size = min(at_once, samples - begin)
        coins = np.frombuffer(rng.bytes(size * width), np.uint8).reshape(size, width)
        sums.append(np.unpackbits(coins, axis=1, count=segments).astype(np.float64) @ stats)
        if on_drawn is not None:
            on_drawn(size)
    return np.concatenate(sums)
