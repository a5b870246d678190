"""Exact sums of columns: rounded once, in the end, so that no order of adding changes them.

Of what many workers add up, any other sum would depend on who had which segments. A finite double
is a whole number of units of 2^-1074, so Python's integers hold sums without loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lattices.arrays import FloatColumn

#: a unit is 2^-UNITS; the mantissa of the smallest double has 52 zeros more
UNITS = 1074 + 53
#: rows that are added at a time: as many mantissas of 53 bits fit into 63
ROWS = 512


class ExactSums:
    """Sums of the columns of rows of one length.

    Examples
    --------
    >>> found = ExactSums()
    >>> for value in (1e100, 0.1, -1e100, 0.2):
    ...     found.add(np.array([value]))
    >>> found.value().tolist()
    [0.30000000000000004]
    >>> again = ExactSums(found.state())
    >>> again.merge(found)
    >>> again.value().tolist()
    [0.6000000000000001]
    """

    def __init__(self, state: Sequence[Any] | None = None) -> None:
        self._rows: list[FloatColumn] = []
        self._units: list[int] | None = None
        #: sums of what is not finite
        self._odd: list[float] = []
        if state is not None:
            self._units = [number << shift for number, shift, _ in state]
            self._odd = [odd for _, _, odd in state]

    def add(self, row: FloatColumn) -> None:
        """Add a row."""
        self._rows.append(row)
        if len(self._rows) >= ROWS:
            self._settle()

    def merge(self, other: ExactSums) -> None:
        """Add the sums of others."""
        self._settle()
        other._settle()
        if other._units is not None:
            self._take(other._units, other._odd)

    def value(self) -> FloatColumn | None:
        """Return the sums, each rounded to the nearest double; None if there was no row."""
        self._settle()
        if self._units is None:
            return None
        return np.array(
            [
                _rounded(units) + odd if odd == 0 else odd
                for units, odd in zip(self._units, self._odd, strict=True)
            ]
        )

    def state(self) -> list[Any] | None:
        """Return the sums in full, as JSON has them: of each column a number and its shift."""
        self._settle()
        if self._units is None:
            return None
        return [[*_shifted(units), odd] for units, odd in zip(self._units, self._odd, strict=True)]

    def _take(self, units: Sequence[int], odd: Sequence[float]) -> None:
        if self._units is None:
            self._units, self._odd = [0] * len(units), [0.0] * len(units)
        self._units = [one + other for one, other in zip(self._units, units, strict=True)]
        self._odd = [one + other for one, other in zip(self._odd, odd, strict=True)]

    def _settle(self) -> None:
        if not self._rows:
            return
        rows = np.array(self._rows)
        self._rows = []
        finite = np.isfinite(rows)
        with np.errstate(invalid="ignore", over="ignore"):
            odd = np.where(finite, 0.0, rows).sum(axis=0).tolist()
            rows[~finite] = 0.0
            sums = rows.sum(axis=0).tolist()
        # the sums of most columns are of small whole numbers, which no rounding touches
        whole = ((rows == np.rint(rows)) & (np.abs(rows) < 2.0**40)).all(axis=0).tolist()
        self._take(
            [
                int(total) << UNITS if simple else _units(rows[:, column])
                for column, (simple, total) in enumerate(zip(whole, sums, strict=True))
            ],
            odd,
        )


def _units(column: FloatColumn) -> int:
    """Return the sum of finite numbers in units."""
    fractions, exponents = np.frexp(column)
    mantissas = (fractions * 2.0**53).astype(np.int64)
    return sum(
        int(mantissas[exponents == exponent].sum()) << (exponent - 53 + UNITS)
        for exponent in np.unique(exponents).tolist()
    )


def _rounded(units: int) -> float:
    try:
        return units / (1 << UNITS)
    except OverflowError:
        return float("inf") if units > 0 else float("-inf")


def _shifted(units: int) -> tuple[int, int]:
    """Return a number and how many zero bits follow it."""
    shift = max(0, (units & -units).bit_length() - 1)
    return units >> shift, shift
