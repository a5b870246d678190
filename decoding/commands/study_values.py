"""Lists of numbers on the command line, in equal steps if need be."""

from __future__ import annotations

import argparse
from decimal import Decimal, InvalidOperation

ELLIPSIS = "..."
_MOST = 10_000


def values(text: str) -> list[float]:
    """Return the numbers of a list; for argparse.

    ``0,0.05,...,1`` goes on in the step of the two numbers before the dots, in decimal numbers,
    so that the third is 0.1 and not 0.1000000001; the last one must be met.

    Examples
    --------
    >>> values("0,0.05,...,0.2"), values("1,5,2")
    ([0.0, 0.05, 0.1, 0.15, 0.2], [1.0, 5.0, 2.0])
    """
    found: list[Decimal] = []
    items = [item.strip() for item in text.split(",")]
    for place, item in enumerate(items):
        if item != ELLIPSIS:
            found.append(_number(item))
            continue
        if len(found) < 2 or place + 1 >= len(items) or items[place + 1] == ELLIPSIS:
            raise argparse.ArgumentTypeError(
                f"{text!r}: dots stand between two numbers and the last one"
            )
        _extend(found, _number(items[place + 1]), text)
    if len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"{text!r}: a number comes twice")
    return [float(number) for number in found]


def _number(item: str) -> Decimal:
    try:
        number = Decimal(item)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise argparse.ArgumentTypeError(f"{item!r} is not a number")
    return number


def _extend(found: list[Decimal], last: Decimal, text: str) -> None:
    """Add the numbers up to the last one, without it: it comes next in the list."""
    step = found[-1] - found[-2]
    steps = (last - found[-1]) / step if step else Decimal(0)
    if steps < 1 or steps != steps.to_integral_value():
        raise argparse.ArgumentTypeError(f"{text!r}: steps of {step} do not lead to {last}")
    if steps > _MOST:
        raise argparse.ArgumentTypeError(f"{text!r}: more than {_MOST} numbers")
    begin = found[-1]
    found.extend(begin + step * number for number in range(1, int(steps)))
