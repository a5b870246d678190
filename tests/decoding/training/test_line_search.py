"""The line search against the scores of every sentence at every step."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from decoding.training.envelope import EnvelopeCorpus
from decoding.training.mert import line_search
from fstmetrics import BLEU, BLEUSBP, GRR, PER, TBLEU, WER, corpus_score
from fstmetrics.contract import quality
from lattices import Forest, Hypothesis, Lattice, NBest, Vocabulary, best
from lattices.errors import OptionError
from tests.decoding.training.test_envelope import (
    envelope_by_enumeration,
    everything,
    small_lists,
    vectors,
)
from tests.strategies import FEATURE_NAMES, sentences, small_forests, small_lattices

METRICS = [
    BLEU(order=2, smooth="add-k"),
    BLEUSBP(order=2, smooth="floor"),
    GRR(n=2),
    WER(),
    PER(),
    TBLEU(order=2),
]
spaces_of_all_kinds = (
    small_lists()
    | small_lattices(exact=True, features=True, max_arcs=7)
    | small_forests(exact=True, features=True, max_edges=6, max_derivations=20)
)


def chosen_at(space, weights):
    """All sentences that are best under weights, in rational arithmetic."""
    values = {}
    for hypothesis in everything(space):
        value = sum(
            Fraction(weight) * Fraction(hypothesis.features.get(name, 0.0))
            for name, weight in zip(FEATURE_NAMES, weights, strict=True)
        )
        values.setdefault(value, set()).add(hypothesis.tokens)
    return sorted(values[max(values)])


def scores_at(corpus, references, metric, weights):
    """The scores that the best sentences under weights may have: of equals any may be taken."""
    return [
        corpus_score(metric, sentences, references)
        for sentences in product(*(chosen_at(space, weights) for space in corpus))
    ]


@st.composite
def problems(draw):
    corpus = draw(st.lists(spaces_of_all_kinds, min_size=1, max_size=3))
    references = [[draw(sentences("abc", unknown="x"))] for _ in corpus]
    return corpus, references, draw(st.sampled_from(METRICS))


@settings(max_examples=80)
@given(problems(), vectors, vectors)
def test_no_step_is_better(problem, weights, direction):
    """Between any two neighbouring turns of all segments the corpus is scored by enumeration."""
    corpus, references, metric = problem
    evaluators = [metric.against(some) for some in references]
    found = line_search(corpus, evaluators, weights, direction)
    turns = {
        step
        for space in corpus
        for step, *_ in envelope_by_enumeration(space, weights, direction)
        if step is not None
    }
    ordered = sorted(turns)
    middles = [(one + other) / 2 for one, other in pairwise(ordered)]
    outside = [ordered[0] - 1, ordered[-1] + 1] if ordered else [Fraction(0)]

    def along(step):
        pairs = zip(weights, direction, strict=True)
        return [Fraction(weight) + step * Fraction(way) for weight, way in pairs]

    sign = 1 if metric.higher_is_better else -1
    scores = [
        [sign * score for score in scores_at(corpus, references, metric, along(step))]
        for step in (*middles, *outside)
    ]
    # whatever sentences are taken among equals, no step has a better score for them
    assert sign * found.score >= max(map(min, scores)) - 1e-12
    assert sign * found.score <= max(map(max, scores)) + 1e-12
    here = scores_at(corpus, references, metric, along(Fraction(found.step)))
    assert min(abs(score - found.score) for score in here) < 1e-12
    low, high = found.interval
    assert low < found.step < high
    assert found.intervals <= len(ordered) + 1


@settings(max_examples=40)
@given(problems(), vectors, vectors)
def test_the_score_is_that_of_decoding_with_the_weights(problem, weights, direction):
    corpus, references, metric = problem
    evaluators = [metric.against(some) for some in references]
    ready = EnvelopeCorpus(corpus, evaluators)
    found = line_search(ready, None, weights, direction)
    moved = np.array(weights) + found.step * np.array(direction)
    said = [
        max(space.reweighted(moved), key=lambda each: each.score).tokens
        if isinstance(space, NBest)
        else best(space.reweighted(moved)).tokens
        for space in corpus
    ]
    # a tie under rounded weights may fall either way
    values = [sorted({_rounded(each, moved) for each in everything(space)}) for space in corpus]
    assume(all(len(some) < 2 or some[-1] - some[-2] > 1e-9 for some in values))
    assume(all(_is_one_sentence(space, moved) for space in corpus))
    assert corpus_score(metric, said, references) == pytest.approx(found.score, abs=1e-12)
    assert ready.score(moved) == pytest.approx(found.score, abs=1e-12)


def _rounded(hypothesis, weights):
    values = [hypothesis.features.get(name, 0.0) for name in FEATURE_NAMES]
    return round(float(np.dot(values, weights)), 9)


def _is_one_sentence(space, weights):
    top = max(_rounded(each, weights) for each in everything(space))
    return len({each.tokens for each in everything(space) if _rounded(each, weights) == top}) == 1


def a_list(*rows, **rest):
    return NBest.from_hypotheses(
        [Hypothesis(tuple(text.split()), 0.0, row) for text, row in rows], **rest
    )


def test_the_widest_of_equal_intervals_is_taken():
    # good from 0 to 1, bad to 2, good to 4, bad from there on; slopes 0, 1, 2, 3, 4
    rows = [("b", 0, 0.0), ("a", 1, 0.0), ("b", 2, -1.0), ("a", 3, -3.0), ("b", 4, -7.0)]
    nbest = a_list(*((word, {"x": slope, "y": height}) for word, slope, height in rows))
    found = line_search([nbest], [WER().against(["a"])], [0.0, 1.0], [1.0, 0.0])
    assert (found.step, found.score, found.interval) == (3.0, 0.0, (2.0, 4.0))
    assert (found.turns, found.intervals) == (4, 5)
    within = line_search(
        [nbest], [WER().against(["a"])], [0.0, 1.0], [1.0, 0.0], bounds=(-1.0, 2.5)
    )
    assert (within.step, within.score) == (0.5, 0.0)


def test_of_equally_wide_intervals_the_one_near_0_is_taken():
    # bad up to -1, good to 0, bad to 2, good to 3, bad from there on
    rows = [("b", 0, 0.0), ("a", 1, 1.0), ("b", 2, 1.0), ("a", 3, -1.0), ("b", 4, -4.0)]
    nbest = a_list(*((word, {"x": slope, "y": height}) for word, slope, height in rows))
    found = line_search([nbest], [WER().against(["a"])], [0.0, 1.0], [1.0, 0.0])
    assert (found.interval, found.step, found.start_score) == ((-1.0, 0.0), -0.5, 1.0)


def test_infinite_intervals_are_entered_a_tenth_of_what_measures_them():
    nbest = a_list(("a", {"x": 0.0, "y": 3.0}), ("b", {"x": 1.0, "y": 0.0}))
    found = line_search([nbest], [WER().against(["b"])], [0.0, 5.0], [2.0, 0.0])
    assert found.interval == (7.5, np.inf)
    assert found.step == pytest.approx(7.5 + 0.75)
    other = line_search([nbest], [WER().against(["a"])], [0.0, 5.0], [2.0, 0.0])
    assert other.interval == (-np.inf, 7.5)
    assert other.step == pytest.approx(7.5 - 0.75)
    # the weights are long, the turn is near: 5 weights are 50 steps
    near = line_search([nbest], [WER().against(["b"])], [14.8, 5.0], [0.1, 0.0])
    assert near.interval[0] == pytest.approx(2.0)
    assert near.step == pytest.approx(2.0 + 0.1 * np.hypot(14.8, 5.0) / 0.1)
    # no weights at all
    none = line_search([nbest], [WER().against(["b"])], [0.0, 0.0], [2.0, 0.0])
    assert none.step == pytest.approx(0.05)


def test_turns_without_a_change_of_statistics_do_not_count():
    nbest = a_list(("x", {"f": -1.0}), ("y", {"f": 1.0}))
    found = line_search([nbest], [WER().against(["a"])], [0.0], [1.0])
    assert (found.turns, found.intervals, found.step) == (0, 1, 0.0)


def test_no_direction_and_no_way_to_go_stay_where_they_are():
    nbest = a_list(("a", {"f": -1.0}), ("b", {"f": 1.0}))
    evaluators = [WER().against(["a"])]
    still = line_search([nbest], evaluators, [2.0], [0.0])
    assert (still.step, still.score) == (0.0, 1.0)
    stuck = line_search([nbest], evaluators, [2.0], [1.0], bounds=(0.0, 0.0))
    assert (stuck.step, stuck.score) == (0.0, 1.0)


def test_intervals_that_rounding_could_miss_are_passed_over():
    rows = [("b", {"x": -1.0}), ("a", {"x": 0.0, "y": 1e-13}), ("b", {"x": 1.0})]
    nbest = a_list(*rows, feature_names=["x", "y"])
    found = line_search([nbest], [WER().against(["a"])], [0.0, 1.0], [1.0, 0.0])
    assert found.intervals == 3
    assert found.score == 1.0


@dataclass(frozen=True)
class Plain:
    """Somebody's metric, with nothing but the contract: words in common with the reference."""

    higher_is_better: ClassVar[bool] = True
    stat_names: ClassVar[tuple[str, ...]] = ("common",)
    calls: ClassVar[list[tuple[str, ...]]] = []

    def stats(self, hypothesis, references):
        self.calls.append(tuple(hypothesis))
        return np.array([float(len({*hypothesis} & {*next(iter(references)).split()}))])

    def score(self, stats):
        return float(np.sum(stats))

    def against(self, references):
        return PlainEvaluator(self, tuple(references))


@dataclass(frozen=True)
class PlainEvaluator:
    metric: Plain
    references: tuple[str, ...]

    def stats(self, hypothesis):
        return self.metric.stats(hypothesis, self.references)

    def score(self, hypothesis):
        return self.metric.score(self.stats(hypothesis))


def test_any_metric_will_do_and_each_sentence_is_scored_once():
    Plain.calls.clear()
    nbest = a_list(("a", {"f": -1.0}), ("b", {"f": 0.0}), ("b", {"f": 1.0}), ("c", {"f": 1.0}))
    corpus = EnvelopeCorpus([nbest], [Plain().against(["b"])])
    for _ in range(3):
        found = line_search(corpus, None, [0.0], [1.0])
        assert (found.score, found.interval) == (1.0, (0.0, np.inf))
    assert sorted(Plain.calls) == [("a",), ("b",)]
    again = EnvelopeCorpus([nbest], [Plain().against(["b"])], earlier=corpus)
    assert line_search(again, None, [0.0], [1.0]).score == 1.0
    assert len(Plain.calls) == 2
    other = EnvelopeCorpus([nbest], [Plain().against(["a"])], earlier=corpus)
    assert line_search(other, None, [0.0], [1.0]).interval == (-np.inf, 0.0)


def test_features_that_a_space_does_not_have_are_0_there():
    words = Vocabulary()
    one = a_list(("a", {"lm": 1.0}), ("b", {"lm": 0.0}), vocabulary=words)
    other = Lattice.from_arcs(
        [(0, 1, "a", 0.0, {"tm": 1.0}), (0, 1, "b", 0.0, {"wp": 1.0})], finals=[1]
    )
    corpus = EnvelopeCorpus([one, other], [WER().against(["b"]), WER().against(["b"])])
    assert corpus.names == ("lm", "tm", "wp")
    assert corpus.score({"lm": -1.0, "tm": 0.0, "wp": 1.0}) == 0.0
    assert corpus.score({"lm": 1.0, "tm": 0.0, "wp": 1.0}) == 0.5


def test_deviations_are_those_among_the_hypotheses_of_a_space():
    # three times 0.1 has a mean that is not 0.1
    rows = [{"x": 1.0, "y": 0.1}, {"x": 3.0, "y": 0.1}, {"x": 8.0, "y": 0.1}]
    nbest = a_list(*(("a", row) for row in rows))
    corpus = EnvelopeCorpus([nbest, nbest], [WER().against(["a"])] * 2)
    assert corpus.deviations[0] == pytest.approx(np.std([1.0, 3.0, 8.0]))
    assert corpus.deviations[1] == 0.0
    # one of two arcs and one of two ends: the deviation of a coin, times the feature
    lattice = Lattice.from_arcs(
        [(0, 1, "a", 0.0, {"x": 2.0}), (0, 1, "a", 0.0, {"y": 0.0}), (1, 2, "", 0.0)],
        finals=[1, 2],
        final_features={2: {"z": 4.0}},
    )
    some = [lattice] * 40
    corpus = EnvelopeCorpus(some, [WER().against(["a"])] * 40)
    assert corpus.deviations == pytest.approx([1.0, 0.0, 2.0], rel=0.1)
    forests = EnvelopeCorpus(
        [Forest.from_lattice(each) for each in some], [WER().against(["a"])] * 40
    )
    assert forests.deviations == pytest.approx([1.0, 0.0, 2.0], rel=0.1)
    single = Lattice.from_arcs([], finals=[0], final_features={0: {"z": 4.0}})
    assert EnvelopeCorpus([single], [WER().against(["a"])]).deviations.tolist() == [0.0]


def test_wrong_arguments_are_refused():
    nbest = a_list(("a", {"f": -1.0}))
    evaluators = [WER().against(["a"])]
    with pytest.raises(OptionError, match="1 spaces, but 0 evaluators"):
        line_search([nbest], [], [1.0], [1.0])
    with pytest.raises(OptionError, match="no spaces"):
        line_search([], [], [1.0], [1.0])
    with pytest.raises(OptionError, match="an evaluator each"):
        line_search([nbest], None, [1.0], [1.0])
    with pytest.raises(OptionError, match="already"):
        line_search(EnvelopeCorpus([nbest], evaluators), evaluators, [1.0], [1.0])
    with pytest.raises(OptionError, match="leave out step 0"):
        line_search([nbest], evaluators, [1.0], [1.0], bounds=(1.0, 2.0))
    with pytest.raises(OptionError, match="not finite"):
        line_search([nbest], evaluators, [1.0], [np.nan])
    with pytest.raises(OptionError, match="one metric"):
        EnvelopeCorpus([nbest] * 2, [WER().against(["a"]), PER().against(["a"])])


def test_a_metric_that_is_no_number_is_refused():
    class Broken(Plain):
        def score(self, stats):
            return float("nan")

    with pytest.raises(OptionError, match="no number"):
        line_search([a_list(("a", {"f": -1.0}))], [Broken().against(["a"])], [1.0], [1.0])


def test_quality_of_real_lattices(shared_data):
    """On real lattices the score of the line is that of decoding with the weights."""
    import lattices

    some = list(lattices.read(shared_data / "multi30k-deen" / "tiny20.de-en.lat.d10.jsonl"))
    for metric in (BLEU(), BLEUSBP(), GRR(), WER()):
        corpus = EnvelopeCorpus(some, [metric.against(each.references) for each in some])
        rng = np.random.default_rng(0)
        for _ in range(3):
            here, way = rng.normal(size=(2, len(corpus.names)))
            found = line_search(corpus, None, here, way)
            moved = corpus.mapping(here + found.step * way)
            said = [best(each.reweighted(moved)).tokens for each in some]
            score = corpus_score(metric, said, [each.references for each in some])
            assert score == pytest.approx(found.score, abs=1e-12)
            assert quality(metric, score) >= quality(metric, found.start_score)
