"""Term-weighted values, by the definition computed by hand and by trying every matching."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics.statistics.term_detection import BETA, TermSpan, term_weighted_value
from lattices.errors import OptionError

SAID = [
    TermSpan("seven", "u1", 1.0, 1.4),
    TermSpan("seven", "u1", 5.0, 5.4),
    TermSpan("seven", "u2", 0.0, 0.4),
    TermSpan("half past", "u2", 2.0, 2.8),
]
FOUND = [
    TermSpan("seven", "u1", 1.1, 1.5, 0.9),
    TermSpan("seven", "u1", 5.8, 6.2, 0.8),  # its middle is 0.8 s off
    TermSpan("seven", "u2", 0.2, 0.6, 0.3),
    TermSpan("half past", "u2", 2.1, 2.7, 0.6),
    TermSpan("half past", "u1", 2.1, 2.7, 0.2),
    TermSpan("never said", "u1", 2.1, 2.7, 1.0),
]


def test_values_by_hand() -> None:
    """With 1,003 s, beta 10: the equations of the evaluation plan, a term at a time."""
    value = term_weighted_value(FOUND, SAID, 1003.0, beta=10.0)
    # at 0.5: 1 of 3 with a false alarm in 1,000 trials, and 1 of 1 with none
    seven = 1 / 3 - 10 * 1 / 1000
    assert [term.value for term in value.terms] == pytest.approx([1.0, seven])
    assert value.atwv == pytest.approx((1 + seven) / 2)
    assert (value.terms[1].said, value.terms[1].correct, value.terms[1].false) == (3, 1, 1)
    # at 0.3 one more of seven is right; at 0.2 half past has a false alarm in 1,002 trials
    assert value.mtwv == pytest.approx((1 + 2 / 3 - 0.01) / 2)
    assert value.best_threshold == 0.3
    assert value.otwv == pytest.approx((1 + 2 / 3 - 0.01) / 2)
    assert value.stwv == pytest.approx((1 + 2 / 3) / 2)


def test_the_weight_of_nist() -> None:
    assert pytest.approx(999.9) == BETA
    one = [TermSpan("a", "u", 0.0, 1.0)]
    false = [TermSpan("a", "u", 9.0, 10.0, 0.9)]
    # one false alarm in an hour costs 999.9 / 3,599
    assert term_weighted_value(false, one, 3600.0).atwv == pytest.approx(-999.9 / 3599)
    assert term_weighted_value(false, one, 3600.0).mtwv == 0.0
    assert term_weighted_value(false, one, 3600.0).best_threshold == float("inf")
    assert term_weighted_value([], one, 3600.0).atwv == 0.0
    assert term_weighted_value(one, one, 3600.0).atwv == 1.0


TIMES = st.integers(0, 12).map(lambda quarter: quarter / 4)


@given(
    st.lists(TIMES, min_size=1, max_size=4),
    st.lists(st.tuples(TIMES, st.integers(0, 4)), max_size=4),
)
def test_as_many_as_possible_are_matched(said: list[float], found: list[tuple[float, int]]) -> None:
    spans = [TermSpan("a", "u", begin, begin + 0.5) for begin in said]
    hits = [TermSpan("a", "u", begin, begin + 0.5, level / 4) for begin, level in found]
    value = term_weighted_value(hits, spans, 1e6)

    def matched(order: tuple[int, ...]) -> int:
        pairs = zip(order, range(len(spans)), strict=False)
        return sum(abs(found[hit][0] - said[span]) <= 0.5 for hit, span in pairs if hit >= 0)

    places = [*range(len(hits)), *([-1] * len(spans))]
    most = max(matched(order) for order in permutations(places, len(spans)))
    assert value.stwv == pytest.approx(most / len(spans))


def test_what_has_no_value() -> None:
    with pytest.raises(OptionError, match="none of the terms occurs"):
        term_weighted_value(FOUND, [], 100.0)
    with pytest.raises(OptionError, match="2 seconds of speech, and 'seven' is said 3 times"):
        term_weighted_value(FOUND, SAID, 2.0)
