"""The options of BLEU: checked, and spelt as a signature spells them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from lattices.errors import OptionError

UNIFORM = "uniform"
LENGTHS = ("closest", "shortest", "average")
MEANS = ("geometric", "arithmetic")
UNITS = ("word", "char")
#: sacreBLEU's names, and the value each takes by default where it takes one
SMOOTHINGS: dict[str, float | None] = {"none": None, "floor": 0.1, "add-k": 1.0, "exp": None}


def smoothing_number(name: str) -> int:
    """Return the number by which the native functions know a smoothing."""
    return list(SMOOTHINGS).index(name)


def check_choice(name: str, value: object, known: Iterable[str]) -> None:
    """Refuse a value that is none of those known."""
    choices = tuple(known)
    if value not in choices:
        raise OptionError(f"{name}={value}: expected one of {', '.join(choices)}")


def numbers_in(weights: str | Sequence[float]) -> list[float]:
    """Return weights as numbers.

    Examples
    --------
    >>> numbers_in("0.5/0.25/0.25")
    [0.5, 0.25, 0.25]
    """
    return [float(each) for each in (weights.split("/") if isinstance(weights, str) else weights)]


def spelled_weights(weights: str | Sequence[float], order: int) -> str:
    """Return weights as a signature spells them.

    Examples
    --------
    >>> spelled_weights([2, 1, 0.5], order=3)
    '2/1/0.5'
    """
    if isinstance(weights, str) and weights == UNIFORM:
        return UNIFORM
    try:
        values = numbers_in(weights)
    except (TypeError, ValueError):
        values = []
    if not all(math.isfinite(each) and each >= 0 for each in values) or not sum(values):
        raise OptionError(
            f"weights={weights}: expected {UNIFORM}, or numbers as in 0.4/0.3/0.2/0.1, "
            "none negative and not all 0"
        )
    if len(values) != order:
        raise OptionError(f"{len(values)} weights, but n-grams of 1..{order}")
    return "/".join(repr(int(each)) if each.is_integer() else repr(each) for each in values)


def smoothing_value(smooth: str, value: float) -> float:
    """Return the value of a smoothing, its default in place of 0.

    Examples
    --------
    >>> smoothing_value("floor", 0.0), smoothing_value("add-k", 2)
    (0.1, 2.0)
    """
    if not math.isfinite(value) or value < 0:
        raise OptionError(f"smooth_value is a number above 0, not {value}")
    default = SMOOTHINGS[smooth]
    if default is None:
        if value:
            raise OptionError(f"smooth={smooth} takes no smooth_value (floor and add-k do)")
        return 0.0
    return float(value) or default
