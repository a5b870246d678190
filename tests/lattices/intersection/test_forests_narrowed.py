"""Beams and bands of the forest kernel: what they find is there, and what they prove is so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from decoding.extraction.forests import best_derivations
from fstmetrics import CER, GRR, WER, WRR, AffixSimilarity, quality
from lattices import Forest, OptionError
from lattices._native import word_ranges
from lattices.errors import EngineError
from lattices.intersection.forests import ENGINE
from tests.strategies import small_forests

REFERENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=9).map(" ".join), min_size=1)
METRICS = st.sampled_from(
    [
        WER(),
        WRR(),
        GRR(),
        GRR(n=2, alpha=0.0),
        GRR(n=3, alpha=-0.9, beta=1.0),
        GRR(n=2, beta=0.5),
        GRR(similarity=AffixSimilarity(epsilon=0.5)),
    ]
)
BEAMS = st.none() | st.sampled_from([0.0, 0.05, 0.3, 1.0])
BANDS = st.none() | st.integers(0, 4)


def value_of(found, evaluator, model_weight):
    score = quality(evaluator.metric, evaluator.score(found.tokens))
    return score + model_weight * found.score


@settings(max_examples=150, deadline=None)
@given(
    small_forests(),
    REFERENCES.map(lambda some: some[:2]),
    METRICS,
    BEAMS,
    BANDS,
    st.sampled_from([0.0, 0.0, 0.5, -1.0]),
)
def test_what_is_proven_is_the_best(forest, references, metric, beam, band, model_weight):
    evaluator = metric.against(references)
    options = {"beam": beam, "band": band, "model_weight": model_weight}
    best = max(value_of(one, evaluator, model_weight) for one in forest.derivations())
    try:
        (found,) = best_derivations([forest], [evaluator], **options)
    except EngineError:
        assume(False)
    assert found.hypothesis.arcs in {one.arcs for one in forest.derivations()}
    value = value_of(found.hypothesis, evaluator, model_weight)
    if found.exact:
        assert value == pytest.approx(best, abs=1e-6)
    else:
        assert value <= best + 1e-6


@settings(max_examples=60, deadline=None)
@given(small_forests(exact=True), REFERENCES, METRICS)
def test_wide_ones_change_nothing(forest, references, metric):
    evaluator = metric.against(references)
    (plain,) = best_derivations([forest], [evaluator])
    (wide,) = best_derivations([forest], [evaluator], beam=1e6, band=10_000)
    found = [evaluator.score(one.hypothesis.tokens) for one in (wide, plain)]
    assert found[0] == found[1]
    assert wide.hypothesis.score == plain.hypothesis.score
    assert wide.exact


@settings(max_examples=60, deadline=None)
@given(small_forests(exact=True))
def test_ranges_hold_what_stands_around_nodes(forest):
    ranges, below, around = word_ranges(forest.columns, forest.score)
    used = set()
    for found in forest.derivations():
        for node, before, own, score in uses(forest, found.arcs):
            used.add(node)
            behind = len(found.tokens) - before - own
            for place, words in enumerate((own, before, behind)):
                fewest, most = ranges[node, 2 * place : 2 * place + 2]
                assert fewest <= words <= most
            assert score <= below[node] + 1e-9
            assert found.score - score <= around[node] + 1e-9
    assert {node for node in range(forest.num_nodes) if around[node] > -np.inf} >= used


def uses(forest, edges):
    """Return node, words before it, words of its own and its score, for all of a derivation."""
    rest = iter(edges)

    def subtree():
        edge = next(rest)
        tails = forest.tail_offset[edge + 1] - forest.tail_offset[edge]
        below = [subtree() for _ in range(tails)]
        side = forest.symbol[forest.symbol_offset[edge] : forest.symbol_offset[edge + 1]].tolist()
        words = sum(1 if symbol > 0 else below[-1 - symbol][0] for symbol in side)
        score = float(forest.score[edge]) + sum(part[1] for part in below)
        return words, score, edge, side, below

    found = []

    def place(tree, before):
        words, score, edge, side, below = tree
        found.append((int(forest.head[edge]), before, words, score))
        for symbol in side:
            if symbol > 0:
                before += 1
            else:
                place(below[-1 - symbol], before)
                before += below[-1 - symbol][0]

    place(subtree(), 0)
    return found


def test_a_narrow_band_misses_what_is_moved_and_says_so():
    words = [f"w{place}" for place in range(12)]
    moved = Forest.from_edges(
        [
            (0, [], words[6:]),
            (1, [], words[:6]),
            (1, [], ["x"] * 6),
            (2, [0, 1], [0, 1]),
        ]
    )
    evaluator = WRR().against([" ".join(words)])
    (exact,) = best_derivations([moved], [evaluator])
    (narrow,) = best_derivations([moved], [evaluator], band=0)
    (wide,) = best_derivations([moved], [evaluator], band=12)
    assert exact.exact
    assert not narrow.exact
    assert wide.exact
    assert wide.hypothesis == exact.hypothesis


@pytest.mark.parametrize("beam", [0.0, 0.5])
@pytest.mark.parametrize("band", [None, 0, 1])
def test_a_perfect_sentence_is_proven_by_narrow_ones(beam, band):
    forest = Forest.from_edges(
        [(0, [], ["cat"]), (0, [], ["dog"]), (1, [0], ["the", 0]), (1, [0], [0])]
    )
    (found,) = best_derivations([forest], [GRR().against(["the dog"])], beam=beam, band=band)
    assert (found.hypothesis.text, found.exact) == ("the dog", True)


def test_nothing_may_be_left():
    # in proportion three words stand for nine, which they cannot reach without a match
    forest = Forest.from_edges([(0, [], ["a"]), (1, [0], [0, "b", "c"])], id="seg")
    evaluator = WRR().against([" ".join("x" * 9)])
    with pytest.raises(EngineError, match=r"'seg'.* a band of 0 leave no derivation"):
        best_derivations([forest], [evaluator], band=0)
    (found,) = best_derivations([forest], [evaluator], band=6)
    assert found.hypothesis.text == "a b c"


@pytest.mark.parametrize("band", [2, 5])
def test_a_band_keeps_substitutions_even_where_they_earn_nothing(band):
    words = [f"w{place}" for place in range(12)]
    forest = Forest.from_edges([(0, [], ["x"] * 9), (1, [0], [0, *words[9:]])])
    machine = GRR(n=1, alpha=0.0).against([" ".join(words)]).machine(forest.vocabulary)
    ((found, _),) = ENGINE.search([forest], [machine], band=band)
    assert found.value == pytest.approx(3 / 12)


def test_options_that_cannot_be():
    forest = Forest.from_edges([(0, [], ["a"])], id="seg")
    evaluator = CER().against(["a"])
    for options in ({"beam": -1.0}, {"band": -1}, {"beam": float("nan")}):
        with pytest.raises(OptionError, match="at least 0"):
            best_derivations([forest], [evaluator], **options)
    with pytest.raises(OptionError, match="'openfst' has no beam"):
        best_derivations([forest], [evaluator], beam=1.0, engine="openfst")


def test_urdu_with_its_own_words(shared_data):
    import lattices

    (urdu,) = lattices.read(shared_data / "cdec-forests" / "urdu.json.gz")
    words = lattices.k_best(urdu, 1)[0].tokens[:30]
    machine = GRR().against([words]).machine(urdu.vocabulary)
    ((full, _),) = ENGINE.search([urdu], [machine])
    for options in ({"beam": 0.2}, {"band": 5}, {"beam": 0.2, "band": 10}):
        ((found, proven),) = ENGINE.search([urdu], [machine], **options)
        assert found.value <= full.value
        if proven:
            assert found.value == full.value
