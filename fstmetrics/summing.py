"""Plus, minus and times for metrics, in Python and in text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lattices.errors import OptionError

if TYPE_CHECKING:
    from fstmetrics.combination import Combination

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_WEIGHTED = re.compile(rf"\s*({_NUMBER})\s*\*(.*)", re.DOTALL)
_SIGN = re.compile(r"\s([+-])\s")


class Summable:
    """Gives metrics operators: ``0.5 * BLEU() - WER()`` is a :class:`fstmetrics.Combination`."""

    def __mul__(self, weight: float) -> Combination:
        """Return the metric with a weight."""
        return _sum((weight, self))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Combination:
        """Return the sum with another metric."""
        return _sum((1.0, self), (1.0, other))

    def __sub__(self, other: Any) -> Combination:
        """Return the metric minus another."""
        return _sum((1.0, self), (-1.0, other))


def _sum(*terms: tuple[float, Any]) -> Combination:
    from fstmetrics.combination import Combination

    return Combination(terms)


def is_sum(specification: str) -> bool:
    """Tell whether a specification is that of a sum: it has a weight, or a sign between blanks.

    Examples
    --------
    >>> [is_sum(each) for each in ("grr", "2*grr", "bleu - ter", "wer:normalise=lower+nfkc")]
    [False, True, True, False]
    """
    return _SIGN.search(specification) is not None or _WEIGHTED.fullmatch(specification) is not None


def terms(specification: str) -> list[tuple[float, str]]:
    """Return the weights and metrics of a sum.

    Examples
    --------
    >>> terms("0.5*grr:n=2 - wer:similarity=affix(epsilon=0.5)")
    [(0.5, 'grr:n=2'), (-1.0, 'wer:similarity=affix(epsilon=0.5)')]
    """
    found, sign, begin = [], 1.0, 0
    cuts = [(match[1], *match.span()) for match in _SIGN.finditer(specification)]
    for following, end, after in [*cuts, ("", len(specification), 0)]:
        weighted = _WEIGHTED.fullmatch(specification[begin:end])
        weight, text = (
            (float(weighted[1]), weighted[2]) if weighted else (1.0, specification[begin:end])
        )
        if not text.strip():
            raise OptionError(f"{specification!r}: expected metrics between plus and minus")
        found.append((sign * weight, text.strip()))
        sign, begin = (-1.0 if following == "-" else 1.0), after
    return found
