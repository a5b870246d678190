"""Decimal numbers in bytes to doubles, correctly rounded, inside kernels.

A number of up to 19 significant digits is a whole number times a power of ten. If both are
exact as doubles one operation gives the nearest double (Clinger, PLDI 1990); otherwise the
128 leading bits of the power do, but for a few numbers which are found out and left to
Python's ``float`` (Lemire, Software: Practice and Experience 2021, "Number parsing at a
gigabyte per second", after Eisel).
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import column, inlined, kernel

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


@inlined
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


@kernel
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


@kernel
def decimal(data, place, stop, bits):  # type: ignore[no-untyped-def]
    """Return the number that stands in some bytes, and whether it is sure.

    Not sure is what Python's ``float`` has to look at: numbers with many digits or large
    exponents, infinities, and whatever is no number.

    Parameters
    ----------
    data : uint8 column
    place, stop : int
        Where it begins, and the place behind it.
    bits : uint64 array of one entry
        Scratch memory.
    """
    negative = False
    if place < stop and (data[place] == 45 or data[place] == 43):
        negative = data[place] == 45
        place += 1
    digits, count, power = np.uint64(0), 0, 0
    fraction, any_digit = False, False
    while place < stop:
        byte = data[place]
        if 48 <= byte <= 57:
            any_digit = True
            if count or byte != 48:
                count += 1
                if count > _MOST_DIGITS:
                    return 0.0, False
            digits = digits * np.uint64(10) + np.uint64(byte - 48)
            if fraction:
                power -= 1
        elif byte == 46 and not fraction:
            fraction = True
        else:
            break
        place += 1
    if not any_digit:
        return 0.0, False
    if place < stop:
        # what follows the digits is an exponent or nothing that is known here
        shift, sure = _exponent(data, place, stop)
        if not sure:
            return 0.0, False
        power += shift
    value, sure = _nearest(digits, power, bits)
    return (-value if negative else value), sure


@kernel
def _exponent(data, place, stop):  # type: ignore[no-untyped-def]
    """Return the number behind the letter e, and whether it is one of few digits."""
    if data[place] != 101 and data[place] != 69:
        return 0, False
    place += 1
    negative = False
    if place < stop and (data[place] == 45 or data[place] == 43):
        negative = data[place] == 45
        place += 1
    if not 0 < stop - place < 4:
        return 0, False
    value = 0
    while place < stop:
        if not 48 <= data[place] <= 57:
            return 0, False
        value = 10 * value + np.int64(data[place] - 48)
        place += 1
    return (-value if negative else value), True
