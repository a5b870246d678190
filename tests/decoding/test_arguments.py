"""Arguments of the wrong type to what decides and trains: one sentence that says what to do."""

from __future__ import annotations

import pytest

from decoding import (
    MIRA,
    Pairwise,
    corpus_oracle,
    density_curve,
    hope_fear,
    hope_fears,
    mbr,
    mbr_kbest,
    oracle,
    oracle_kbest,
    oracles,
    rerank,
    worst,
)
from fstmetrics import GRR, WER
from lattices import Lattice
from lattices.errors import ArgumentTypeError

LATTICE = Lattice.from_arcs([(0, 1, "a")], finals=[1])
EVALUATOR = GRR().against(["a"])
AGAINST = "expected an evaluator: metric.against(references) makes one"
READ = "lattices.read(path) reads them from a file"
ANY = "expected a Lattice, a Forest or an NBest"


def said(function, *arguments, **options) -> str:
    with pytest.raises(ArgumentTypeError) as problem:
        function(*arguments, **options)
    return str(problem.value)


@pytest.mark.parametrize("function", [oracle, worst, hope_fear])
def test_of_one_space(function):
    name = function.__name__
    assert said(function, LATTICE, WER()) == f"{name}: evaluator is a WER, {AGAINST}"
    assert said(function, LATTICE, "a") == f"{name}: evaluator is the string 'a', {AGAINST}"
    assert said(function, "a.slf", EVALUATOR) == (
        f"{name}: space is the string 'a.slf', {ANY}: {READ}"
    )


@pytest.mark.parametrize("function", [oracles, hope_fears])
def test_of_several(function):
    name = function.__name__
    assert said(function, [LATTICE], [WER()]) == f"{name}: evaluators[0] is a WER, {AGAINST}"
    assert said(function, [LATTICE, "b"], [EVALUATOR] * 2) == (
        f"{name}: spaces[1] is the string 'b', {ANY}: {READ}"
    )
    assert said(function, "a.slf", [EVALUATOR]) == (
        f"{name}: spaces is the string 'a.slf', "
        f"expected a sequence of Lattices, Forests or NBests: {READ}"
    )


def test_others():
    assert AGAINST in said(oracle_kbest, LATTICE, WER(), 2)
    assert AGAINST in said(density_curve, LATTICE, WER(), [1])
    assert READ in said(corpus_oracle, "a.slf", [["a"]], WER())
    assert "evaluator.metric" in said(corpus_oracle, [LATTICE], [["a"]], EVALUATOR)
    assert said(rerank, LATTICE, {}) == "rerank: nbest is a Lattice, expected an NBest"
    assert READ in said(MIRA().fit, "a.slf", [["a"]], WER())
    assert "fit: metric is the string 'wer'" in said(MIRA().fit, [LATTICE], [["a"]], "wer")


def test_mbr():
    for function, options in ((mbr, {}), (mbr_kbest, {"k": 2})):
        name = function.__name__
        assert said(function, LATTICE, EVALUATOR, **options) == (
            f"{name}: metric is an AlignmentEvaluator, expected a metric: "
            "evaluator.metric is the metric that it came from"
        )
        assert said(function, LATTICE, "wer", **options) == (
            f"{name}: metric is the string 'wer', expected a metric: "
            "fstmetrics.parse_metric(text) makes one"
        )
        assert said(function, LATTICE, WER, **options) == (
            f"{name}: metric is the class WER, expected a metric: WER() makes one"
        )
        assert said(function, "a.slf", WER(), **options).endswith(READ)
        assert said(function, LATTICE, WER(), method=Pairwise, **options) == (
            f"{name}: method is the class Pairwise, expected a method or the name of one: "
            "Pairwise() makes one"
        )
        assert said(function, [LATTICE, 3], WER(), **options) == (f"mbr: space[1] is an int, {ANY}")
