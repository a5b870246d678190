"""Decimal numbers in bytes to doubles, correctly rounded, inside kernels.

A number of up to 19 significant digits is a whole number times a power of ten. If both are
exact as doubles one operation gives the nearest double (Clinger, PLDI 1990); otherwise the
128 leading bits of the power do, but for a few numbers which are found out and left to
Python's ``float`` (Lemire, Software: Practice and Experience 2021, "Number parsing at a
gigabyte per second", after Eisel).
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import column
from lattices.formats.byte_kernels import byte_kernel

_LARGEST_POWER = 64
_MOST_DIGITS = 19
_EXACT_POWERS = column([10.0**power for power in range(23)], np.float64)


def _leading_bits(power: int) -> int:
    """Return the 128 leading bits of a power of ten, the rest cut off."""
    value: int = 10 ** abs(power)
    if power < 0:
        value = (1 << (127 + value.bit_length())) // value
    excess = value.bit_length() - 128
    return value >> excess if excess >= 0 else value << -excess


_POWERS = column(
    [divmod(_leading_bits(power), 1 << 64) for power in range(-_LARGEST_POWER, _LARGEST_POWER + 1)],
    np.uint64,
)


@byte_kernel
def _product(one, other):  # type: ignore[no-untyped-def]
    """Return the upper and the lower half of the 128-bit product."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    low_low = (one & low) * (other & low)
    high_low = (one >> half) * (other & low)
    low_high = (one & low) * (other >> half)
    middle = (low_low >> half) + (high_low & low) + (low_high & low)
    upper = (one >> half) * (other >> half)
    upper += (high_low >> half) + (low_high >> half) + (middle >> half)
    return upper, (middle << half) | (low_low & low)


@byte_kernel
def _nearest(digits, power, bits):  # type: ignore[no-untyped-def]
    """Return the double nearest to ``digits * 10**power``, and whether it is sure.

    ``bits`` is a scratch array of one entry.
    """
    if digits == np.uint64(0):
        return 0.0, True
    if digits <= np.uint64(1 << 53) and -23 < power < 23:
        exact = np.float64(digits)
        return (exact * _EXACT_POWERS[power] if power >= 0 else exact / _EXACT_POWERS[-power]), True
    if power < -_LARGEST_POWER or power > _LARGEST_POWER:
        return 0.0, False
    zeros = 0
    while not digits >> np.uint64(63):
        digits <<= np.uint64(1)
        zeros += 1
    # 217706 / 2**16 is close enough to log2(10)
    exponent = ((217706 * power) >> 16) + 64 + 1023 - zeros
    fringe, one = np.uint64(0x1FF), np.uint64(1)
    upper, lower = _product(digits, _POWERS[power + _LARGEST_POWER, 0])
    if upper & fringe == fringe and lower + digits < digits:
        more, least = _product(digits, _POWERS[power + _LARGEST_POWER, 1])
        merged = lower + more
        if merged < lower:
            upper += one
        lower = merged
        if upper & fringe == fringe and lower + one == np.uint64(0) and least + digits < digits:
            return 0.0, False
    top = upper >> np.uint64(63)
    mantissa = upper >> (top + np.uint64(9))
    if not top:
        exponent -= 1
    if lower == np.uint64(0) and upper & fringe == np.uint64(0) and mantissa & np.uint64(3) == one:
        return 0.0, False
    mantissa = (mantissa + (mantissa & one)) >> one
    if mantissa >> np.uint64(53):
        mantissa >>= one
        exponent += 1
    # no subnormal numbers, no infinities: the powers are too small for them
    bits[0] = (np.uint64(exponent) << np.uint64(52)) | (mantissa & np.uint64((1 << 52) - 1))
    return bits.view(np.float64)[0], True


#: what stands at a place: no number; a whole number and any other, as JSON spells them; or one
#: that is not spelled so, such as ``+1``, ``.5``, ``5.`` and ``007``
NONE, WHOLE, REAL, LOOSE = 0, 1, 2, 3


@byte_kernel
def number_at(data, place, stop, bits):  # type: ignore[no-untyped-def]
    """Return the number that begins at a place, where it ends, what it is, and if it is sure.

    Not sure is what Python's ``float`` has to look at, between the place and the end: numbers
    with many digits or large exponents.

    Parameters
    ----------
    data : uint8 column
    place, stop : int
        Where it begins, and the place behind the last byte that may belong to it.
    bits : uint64 array of one entry
        Scratch memory.

    Returns
    -------
    value : float
    end : int
    kind : int
        One of :data:`NONE`, :data:`WHOLE`, :data:`REAL` and :data:`LOOSE`.
    sure : bool
    """
    negative, kind = False, WHOLE
    if place < stop and (data[place] == 45 or data[place] == 43):
        negative = data[place] == 45
        if not negative:
            kind = LOOSE
        place += 1
    first = place
    digits, power = np.uint64(0), 0
    while place < stop and 48 <= data[place] <= 57:
        digits = digits * np.uint64(10) + np.uint64(data[place] - 48)
        place += 1
    written = place - first
    if written == 0 or (written > 1 and data[first] == 48):
        kind = LOOSE
    if place < stop and data[place] == 46:
        place += 1
        point = place
        while place < stop and 48 <= data[place] <= 57:
            digits = digits * np.uint64(10) + np.uint64(data[place] - 48)
            place += 1
        power = point - place
        kind = REAL if kind == WHOLE and power else LOOSE
        written -= power
    if written == 0:
        return 0.0, place, NONE, False
    sure = written <= _MOST_DIGITS or _significant(data, first, place) <= _MOST_DIGITS
    if place < stop and (data[place] == 101 or data[place] == 69):
        shift, place, few = _exponent(data, place, stop)
        if place < 0:
            return 0.0, place, NONE, False
        kind = REAL if kind == WHOLE else kind
        power += shift
        sure &= few
    if not sure:
        return 0.0, place, kind, False
    value, sure = _nearest(digits, power, bits)
    return (-value if negative else value), place, kind, sure


@byte_kernel
def _significant(data, place, end):  # type: ignore[no-untyped-def]
    """Return how many digits there are from the first on that is not 0."""
    count = 0
    for at in range(place, end):
        if data[at] != 46 and (count or data[at] != 48):
            count += 1
    return count


@byte_kernel
def _exponent(data, place, stop):  # type: ignore[no-untyped-def]
    """Return the number behind the letter e, its end, and whether it has few digits.

    The end is -1 if there are no digits.
    """
    place += 1
    negative = False
    if place < stop and (data[place] == 45 or data[place] == 43):
        negative = data[place] == 45
        place += 1
    first, value = place, 0
    while place < stop and 48 <= data[place] <= 57:
        value = 10 * value + np.int64(data[place] - 48)
        place += 1
    if place == first:
        return 0, -1, False
    return (-value if negative else value), place, place - first < 4


@byte_kernel
def decimal(data, place, stop, bits):  # type: ignore[no-untyped-def]
    """Return the number that fills some bytes, and whether it is sure.

    Not sure is what Python's ``float`` has to look at: what is not sure at
    :func:`number_at`, infinities, and whatever is no number. The arguments are the same.
    """
    value, end, kind, sure = number_at(data, place, stop, bits)
    return value, sure and kind != NONE and end == stop
