"""Oracles under sums of metrics, against enumeration."""

from __future__ import annotations

from itertools import islice
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lattices
from decoding import oracle, oracle_kbest, worst
from decoding.extraction import bleu_search
from decoding.training.risk.expected import risk
from fstmetrics import BLEU, BLEUSBP, CER, CHRF, GRR, TER, WER, WRR
from fstmetrics.contract import quality
from lattices.errors import OptionError
from tests.strategies import examples, sentences, small_forests, small_lattices

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


# sums of BLEU or chrF, by labels, and of metrics with machines

ADDED = BLEU(smooth="add-k")
WITH_LABELS = [
    0.5 * ADDED + 0.5 * GRR(n=2),
    BLEU(order=2) - WER(),
    BLEU(order=3, smooth="exp", effective_order=True) + WRR() - 0.3 * WER(),
    WER() - 2 * BLEU(order=2, smooth="floor"),
    BLEUSBP(order=2, smooth="add-k", length="average") + 0.25 * WRR(),
    BLEU(order=2, unit="char", smooth="add-k") + GRR(n=2),
    BLEU(order=2, unit="char", smooth="add-k") - CER(),
    BLEU(tokenize="13a", smooth="exp") + WRR(),
    BLEU(order=2, weights=[1, 0]) + 0.5 * WRR(),
    CHRF() + 0.5 * GRR(n=2),
    WER() - CHRF(char_order=3, whitespace=True),
    CHRF(char_order=2) - CER(spaces=False),
    2 * BLEU(order=2, smooth="add-k"),
    -1 * CHRF(char_order=2),
]
with_labels = st.sampled_from(WITH_LABELS)
quick = st.sampled_from([0, 3, 30_000])


def values_of(lattice, metric, references, weight=0.0, sign=1.0):
    """Return the value of each sentence, and with it the best of its model scores."""
    values = {}
    for path in lattice.paths():
        score = quality(metric, metric.against(references).score(path.tokens))
        key = sign * (score + weight * path.score), path.score
        values[path.tokens] = max(values.get(path.tokens, key), key)
    return values


@settings(max_examples=examples(1000))
@given(small_lattices(), references, with_labels, quick)
def test_labels_and_rows(lattice, references, metric, quick):
    with mock.patch.object(bleu_search, "QUICK", quick):
        found = oracle(lattice, metric.against(references))
    values = values_of(lattice, metric, references)
    top = max(value for value, _ in values.values())
    assert found.engine == "labels"
    assert found.exact
    assert quality(metric, found.score) == pytest.approx(top, abs=1e-9)
    # of equals the one with the higher model score
    ties = [model for value, model in values.values() if value >= top - 1e-10]
    assert found.hypothesis.score == pytest.approx(max(ties), abs=1e-9)


@given(
    small_lattices(max_arcs=8),
    references,
    with_labels,
    quick,
    st.sampled_from([0.0, 0.5, -1.0]),
    st.integers(1, 4),
    st.booleans(),
)
def test_labels_and_rows_ranked(lattice, references, metric, quick, weight, k, lowest):
    evaluator = metric.against(references)
    sign = -1.0 if lowest else 1.0
    values = values_of(lattice, metric, references, weight, sign).values()
    with mock.patch.object(bleu_search, "QUICK", quick):
        search = worst if lowest else oracle_kbest
        found = search(lattice, evaluator, k, model_weight=weight)
    got = [sign * (quality(metric, each.score) + weight * each.hypothesis.score) for each in found]
    wanted = sorted((value for value, _ in values), reverse=True)[:k]
    if all(each.exact for each in found):
        assert got == pytest.approx(wanted, abs=1e-9)
    else:
        assert lowest
        assert len(references) > 1
        assert "chrf" in str(metric)


@given(small_lattices(), references, with_labels, quick, st.integers(1, 30), st.booleans())
def test_bounds_of_labels_and_rows(lattice, references, metric, quick, budget, lowest):
    evaluator = metric.against(references)
    values = [value for value, _ in values_of(lattice, metric, references).values()]
    search = worst if lowest else oracle_kbest
    with mock.patch.object(bleu_search, "QUICK", quick):
        (found,) = search(lattice, evaluator, 1, budget=budget)
    top = min(values) if lowest else max(values)
    if found.exact:
        assert quality(metric, found.score) == pytest.approx(top, abs=1e-9)
    elif found.bound is not None:
        bound = quality(metric, found.bound)
        assert bound <= top + 1e-9 if lowest else bound >= top - 1e-9
    else:
        assert lowest


def test_real_lattices_by_labels_and_rows(shared_data):
    """No path of the lattice's 1000 best is better, and no part alone is worse."""
    metric = 0.5 * ADDED + 0.5 * GRR()
    path = shared_data / "multi30k-deen" / "val.de-en.lat.d50.jsonl.gz"
    for segment in islice(lattices.read(path), 0, 300, 60):
        evaluator = metric.against(segment.references)
        found = oracle(segment, evaluator)
        assert found.exact
        apart = [oracle(segment, part) for part in evaluator.parts]
        assert found.score <= sum(each.score for each in apart) / 2 + 1e-9
        some = [*apart, *lattices.k_best(segment, 1000, distinct=True)]
        assert found.score >= max(evaluator.score(each.tokens) for each in some) - 1e-9


@pytest.mark.parametrize(
    ("metric", "why"),
    [
        (BLEU() - TER(), "ter:case_sensitive=false has no machine"),
        (BLEU() + CHRF(), "only one of its parts can be BLEU or chrF"),
        (WRR() - CER(), "its parts read different tokens"),
    ],
)
def test_what_cannot_be_searched_is_refused(metric, why):
    lattice = lattices.Lattice.from_arcs([(0, 1, "a")], finals=[1])
    with pytest.raises(OptionError) as caught:
        oracle(lattice, metric.against(["a"]))
    expected = f"{metric} cannot search a lattice: {why}; take its n-best list (lattices.k_best)"
    assert str(caught.value) == expected


def test_forests_are_refused():
    forest = lattices.Forest.from_edges([(0, [], ["a"])])
    with pytest.raises(OptionError, match="forest '' cannot be searched under a sum"):
        oracle(forest, (ADDED + GRR()).against(["a"]))
    assert oracle(forest, (2 * ADDED).against(["a"])).exact
