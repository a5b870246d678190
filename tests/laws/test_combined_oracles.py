"""Oracles under sums of metrics, against enumeration."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lattices
from decoding import oracle, oracle_kbest, worst
from decoding.training.risk.expected import risk
from fstmetrics import BLEU, CER, GRR, WER, WRR
from fstmetrics.contract import quality
from lattices.errors import OptionError
from tests.strategies import sentences, small_forests, small_lattices

METRICS = [
    GRR(n=2) + WRR(),
    GRR(n=3, alpha=0.5) - 0.7 * WER(),
    3 * WER() - GRR(),
    CER() + 0.5 * CER(),
    GRR() + WRR() - WER(),
]
references = st.lists(sentences(), min_size=1, max_size=2)


@given(small_lattices(), references, st.sampled_from(METRICS))
def test_lattices(lattice, references, metric):
    evaluator = metric.against(references)
    scores = [quality(metric, evaluator.score(path.tokens)) for path in lattice.paths()]
    for engine in ("kernel", "openfst"):
        found = oracle(lattice, evaluator, engine=engine)
        assert found.exact
        assert quality(metric, found.score) == pytest.approx(max(scores), abs=1e-9)


@given(small_forests(), references, st.sampled_from(METRICS[:3]))
def test_forests(forest, references, metric):
    evaluator = metric.against(references)
    scores = [quality(metric, evaluator.score(each.tokens)) for each in forest.derivations()]
    found = oracle(forest, evaluator)
    assert found.exact
    assert quality(metric, found.score) == pytest.approx(max(scores), abs=1e-9)


@given(small_lattices(max_arcs=7), references, st.sampled_from(METRICS[:3]))
def test_worst_k_best_and_expectation(lattice, references, metric):
    evaluator = metric.against(references)
    paths = [*lattice.paths()]
    scores = {path.tokens: quality(metric, evaluator.score(path.tokens)) for path in paths}
    lowest = worst(lattice, evaluator)[0]
    assert quality(metric, lowest.score) == pytest.approx(min(scores.values()), abs=1e-9)
    ranked = [quality(metric, each.score) for each in oracle_kbest(lattice, evaluator, 3)]
    assert ranked == pytest.approx(sorted(scores.values(), reverse=True)[:3], abs=1e-9)
    weights = np.exp([path.score for path in paths])
    values = [evaluator.score(path.tokens) for path in paths]
    found = risk(lattice, evaluator)
    assert found.estimator == "rows"
    assert found.expected == pytest.approx(weights @ values / weights.sum(), abs=1e-9)


def test_real_lattices(shared_data):
    """The sum is at most the sum of the best of each, and at least what each one's best has."""
    metric = GRR() - WER()
    path = shared_data / "multi30k-deen" / "val.de-en.lat.d50.jsonl.gz"
    for segment in islice(lattices.read(path), 0, 300, 30):
        evaluator = metric.against(segment.references)
        found = oracle(segment, evaluator)
        assert found.exact
        apart = [oracle(segment, part) for part in evaluator.parts]
        assert found.score <= apart[0].score - apart[1].score + 1e-9
        assert found.score >= max(evaluator.score(each.tokens) for each in apart) - 1e-9


def test_what_has_no_machine_is_refused():
    lattice = lattices.Lattice.from_arcs([(0, 1, "a")], finals=[1])
    with pytest.raises(OptionError, match="has no machine and cannot search a lattice; take its"):
        oracle(lattice, (BLEU() + GRR()).against(["a"]))
