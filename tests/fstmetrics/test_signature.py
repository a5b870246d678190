"""Metrics by their specifications."""

from __future__ import annotations

import dataclasses

import pytest

from fstmetrics import CER, GRR, WER, WRR, AffixSimilarity, parse_metric
from fstmetrics.contract import METRICS
from lattices import OptionError
from lattices.errors import DuplicateNameError, UnknownNameError


@pytest.mark.parametrize(
    ("specification", "metric"),
    [
        ("wer", WER()),
        ("grr", GRR()),
        ("grr:n=2,alpha=0.5", GRR(n=2, alpha=0.5)),
        (" cer:spaces=false", CER(spaces=False)),
        (
            "grr:n=3,similarity=affix(epsilon=0.2),beta=1",
            GRR(n=3, beta=1.0, similarity=AffixSimilarity(epsilon=0.2)),
        ),
        ("wrr:similarity=affix", WRR(similarity=AffixSimilarity())),
    ],
)
def test_specifications_read_and_write(specification, metric):
    assert parse_metric(specification) == metric
    assert parse_metric(str(metric)) == metric


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("grr:n=0", "n is a whole number"),
        ("grr:n=2.5", "grr: n is a whole number, not '2.5'"),
        ("grr:alpha=nan", "finite"),
        ("grr:n", "key=value"),
        ("grr:n=", "key=value"),
        ("grr:n=2,n=3", "twice"),
        ("wer:n=2", "no option 'n'"),
        ("cer:spaces=maybe", "true or false"),
        ("wer:similarity=affix(epsilon=2)", r"\[0, 1\]"),
        ("wer:similarity=affix(epsilon=1", "parentheses"),
    ],
)
def test_bad_specifications_say_what_is_wrong(specification, message):
    with pytest.raises(OptionError, match=message):
        parse_metric(specification)


def test_unknown_names_list_the_close_ones():
    with pytest.raises(UnknownNameError, match=r"no metric named 'gr'; did you mean grr"):
        parse_metric("gr")
    with pytest.raises(UnknownNameError, match="similarity"):
        parse_metric("wer:similarity=afix")


def test_plug_ins_register_and_duplicates_are_refused():
    @dataclasses.dataclass(frozen=True)
    class Mine(WER):
        name = "mine"

    METRICS.register("mine", Mine)
    try:
        assert parse_metric("mine") == Mine()
        with pytest.raises(DuplicateNameError, match="mine"):
            METRICS.register("mine", Mine)
    finally:
        METRICS.unregister("mine")
    with pytest.raises(DuplicateNameError, match="wer"):
        METRICS.register("wer", Mine)
