"""xBLEU against enumeration, and its gradient against finite differences."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lattices
from decoding.training.risk.xbleu import XBLEU, ExpectedBLEU
from fstmetrics import BLEU, WER, corpus_score
from lattices import Hypothesis, Lattice, NBest
from lattices.errors import OptionError
from tests.strategies import sentences, small_forests, small_lattices


def ngrams(words, n):
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))


def plain(segments, order):
    """The definition over (sentences with scores, references) of each segment."""
    matches, totals, length, closest = [0.0] * order, [0.0] * order, 0.0, 0.0
    for paths, references in segments:
        weights = np.exp([score for _, score in paths])
        weights /= weights.sum()
        own = sum(p * len(words) for p, (words, _) in zip(weights, paths, strict=True))
        length += own
        closest += min((len(each) for each in references), key=lambda size: abs(size - own))
        for n in range(1, order + 1):
            limits = Counter()
            for each in references:
                limits |= ngrams(each, n)
            counts = Counter()
            for p, (words, _) in zip(weights, paths, strict=True):
                for gram, count in ngrams(words, n).items():
                    counts[gram] += p * count
            totals[n - 1] += sum(counts.values())
            matches[n - 1] += sum(min(counts[gram], limits[gram]) for gram in limits)
    if not all(matches):
        return 0.0
    precision = math.exp(np.mean([math.log(m / t) for m, t in zip(matches, totals, strict=True)]))
    return precision * min(1.0, math.exp(1 - closest / length))


some_references = st.lists(sentences("abc", max_size=5), min_size=1, max_size=2)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.one_of(small_lattices(words="abc"), small_forests(words="abc")), some_references
        ),
        min_size=1,
        max_size=2,
    ),
    st.integers(1, 3),
)
def test_the_value_by_its_definition(segments, order):
    spaces = [lattices.to_lattice(space) for space, _ in segments]
    references = [of_segment for _, of_segment in segments]
    objective = ExpectedBLEU([space for space, _ in segments], references, order=order)
    scores = [
        np.append(each.score, np.where(each.final > -np.inf, each.final, 0.0)) for each in spaces
    ]
    paths = [[(path.tokens, path.score) for path in each.paths()] for each in spaces]
    expected = plain(list(zip(paths, references, strict=True)), order)
    assert objective.of_scores(scores)[0] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=60)
@given(small_lattices(words="abc"), some_references, st.integers(1, 2), st.floats(0.5, 2.0))
def test_the_gradient_by_finite_differences(lattice, references, order, temperature):
    objective = ExpectedBLEU([lattice], [references], order=order, temperature=temperature)
    # scores at which no two of the minima meet, almost surely
    score = np.random.default_rng(7).normal(size=lattice.num_arcs + lattice.num_states)
    value, (slope,) = objective.of_scores([score])
    if not value:
        assert not slope.any()
        return
    for slot in range(len(score)):
        step = np.zeros(len(score))
        step[slot] = 1e-5
        above, below = (objective.of_scores([score + sign * step])[0] for sign in (1, -1))
        assert slope[slot] == pytest.approx((above - below) / 2e-5, abs=1e-6)


def test_a_sure_model_has_the_bleu_of_its_best():
    nbest = NBest.from_hypotheses(
        [
            Hypothesis(("the", "cat", "sat", "down", "here"), 0.0, {"lm": 1.0}),
            Hypothesis(("a", "cat"), 0.0, {"lm": 0.0}),
        ]
    )
    references = ["the cat sat down"]
    objective = ExpectedBLEU([nbest] * 2, [references] * 2)
    value, gradient = objective.value({"lm": 200.0})
    best = corpus_score(BLEU(), ["the cat sat down here"] * 2, [references] * 2)
    assert value == pytest.approx(best)
    assert gradient == pytest.approx([0.0])
    assert objective.value([0.0])[1][0] > 0


def test_what_does_not_fit():
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    for call, message in (
        (lambda: ExpectedBLEU([lattice], []), "1 spaces, but references for 0"),
        (lambda: ExpectedBLEU([lattice], [["a"]], temperature=0.0), "a temperature is"),
        (lambda: ExpectedBLEU([lattice], [[lattice]]), "takes references as sentences"),
        (lambda: ExpectedBLEU([lattice], [["a"]]).value([1.0]), "1 weights for 0 features"),
    ):
        with pytest.raises(OptionError, match=message):
            call()


def test_the_learner():
    lattice = Lattice.from_arcs(
        [(0, 1, "a", 0.0, {"x": 1.0}), (0, 1, "b", 0.0, {"y": 1.0}), (1, 2, "c")], finals=[2]
    )
    learner = XBLEU(start={"x": 0.0, "y": 1.0}, order=2, l2=0.01)
    learner.fit([lattice], [["a c"]], WER())
    assert learner.history[-1].score == 0.0
    assert 0.9 < learner.history[-1].details["xbleu"] <= 1.0
    with pytest.raises(OptionError, match="no path has an n-gram of 3 words"):
        XBLEU(start={"x": 0.0, "y": 0.0}, order=3).fit([lattice], [["a c"]], WER())
    for options in ({"order": 0}, {"temperature": 0.0}, {"l2": -1.0}):
        with pytest.raises(OptionError):
            XBLEU(**options)


def test_training_on_real_lattices(shared_data):
    """A few steps raise xBLEU, and the BLEU of what the model then says best."""
    from scipy.optimize import minimize

    path = shared_data / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz"
    spaces = list(islice(lattices.read(path), 30))
    references = [space.references for space in spaces]
    objective = ExpectedBLEU(spaces, references)
    start = np.zeros(len(objective.names))

    def loss(point):
        value, gradient = objective.value(point)
        return -value, -gradient

    def said(weights):
        named = dict(zip(objective.names, weights, strict=True))
        best = [lattices.best(space.reweighted(named)).tokens for space in spaces]
        return corpus_score(BLEU(), best, references)

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 15})
    assert -found.fun > objective.value(start)[0] + 0.02
    assert said(found.x) > said(start) + 0.02
