from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decoding
from decoding import density_curve, oracle, oracle_at, oracle_kbest, oracles, worst
from decoding.extraction.oracle_search import find_oracles
from fstmetrics import CER, GRR, WER, WRR
from fstmetrics.contract import quality
from lattices import Error, Hypothesis, Lattice, NBest, OptionError, SpaceError, prune
from lattices.errors import EngineError, UnknownNameError
from tests.strategies import examples, sentences, small_lattices


@given(small_lattices(words=("a", "bc", "c", "ab")), sentences(("a", "bc", "c", "ab")))
def test_characters_search_in_characters_and_answer_in_words(lattice, reference):
    for metric in (CER(), CER(spaces=False)):
        evaluator = metric.against([reference])
        best = min(evaluator.score(path.tokens) for path in lattice.paths())
        highest = max(evaluator.score(path.tokens) for path in lattice.paths())
        for engine in ("kernel", "openfst"):
            found = oracle(lattice, evaluator, engine=engine)
            assert found.score == best
            assert lattice.hypothesis(found.hypothesis.arcs) == found.hypothesis
        assert worst(lattice, evaluator)[0].score == highest


nbest_lists = st.lists(
    st.builds(
        Hypothesis,
        st.lists(st.sampled_from("abc"), max_size=3).map(tuple),
        st.sampled_from([-1.0, -2.0, 0.0]),
    ),
    min_size=1,
    max_size=8,
).map(NBest.from_hypotheses)


@settings(max_examples=examples(200))
@given(nbest_lists, sentences("abc"), st.booleans(), st.sampled_from([0.0, 0.5, -1.0]))
def test_nbest_oracles_equal_a_loop(nbest, reference, worst, weight):
    evaluator = GRR(n=2).against([reference])
    sign = 1 if worst else -1

    def key(entry):
        value = evaluator.score(entry.tokens) + weight * entry.score
        return sign * value, -entry.score

    found = (decoding.worst if worst else decoding.oracle_kbest)(
        nbest, evaluator, 1, model_weight=weight
    )[0]
    assert found.hypothesis == nbest[found.hypothesis.index]
    assert key(found.hypothesis) == min(map(key, nbest))
    several = (decoding.worst if worst else decoding.oracle_kbest)(
        nbest, evaluator, 20, model_weight=weight
    )
    assert len(several) == len({entry.tokens for entry in nbest})
    values = [
        quality(evaluator.metric, each.score) + weight * each.hypothesis.score for each in several
    ]
    assert values == sorted(values, reverse=not worst)


@given(small_lattices(exact=True), sentences())
def test_a_density_curve_is_the_oracle_of_each_pruned_lattice(lattice, reference):
    evaluator = WRR().against([reference])
    densities = [0.5, 1.0, 2.0, 100.0]
    curve = density_curve(lattice, evaluator, densities)
    for density, point in zip(densities, curve, strict=True):
        pruned = prune(lattice, density=density)
        assert point.arcs == pruned.num_arcs
        assert point.oracle.score == oracle(pruned, evaluator).score
    scores = [point.oracle.score for point in curve]
    assert scores == sorted(scores)
    assert scores[-1] == oracle(lattice, evaluator).score


@given(small_lattices(exact=True), sentences())
def test_the_oracle_at_k_is_the_best_of_the_k_best_sentences(lattice, reference):
    evaluator = WER().against([reference])
    scores: dict[tuple[str, ...], float] = {}
    for path in lattice.paths():
        scores[path.tokens] = max(path.score, scores.get(path.tokens, -math.inf))
    by_model = sorted(scores.values(), reverse=True)
    for point in oracle_at(lattice, evaluator, [1, 2, 5, 1000]):
        assert point.sentences == min(point.k, len(scores))
        last = by_model[point.sentences - 1]
        # which of those that tie at the border is among the k best is not specified
        inside = [evaluator.score(tokens) for tokens, s in scores.items() if s > last]
        border = [evaluator.score(tokens) for tokens, s in scores.items() if s == last]
        assert point.oracle.score in [min([*inside, each]) for each in border]
    assert point.oracle.score == oracle(lattice, evaluator).score


@given(nbest_lists, sentences("abc"))
def test_the_oracle_at_k_of_a_list_goes_by_its_scores(nbest, reference):
    evaluator = WER().against([reference])
    entries = sorted(nbest, key=lambda entry: -entry.score)
    for point in oracle_at(nbest, evaluator, [3, 1, 1000]):
        among = entries[: point.k]
        assert point.sentences == len(among)
        assert point.oracle.score == min(evaluator.score(entry.tokens) for entry in among)
        assert point.oracle.hypothesis in among


def test_the_oracle_at_no_k_and_at_zero():
    nbest = NBest.from_hypotheses([Hypothesis(("a",), -1.0)])
    assert oracle_at(nbest, WER().against(["a"]), []) == []
    with pytest.raises(OptionError, match="sizes has 0, expected whole numbers from 1 on"):
        oracle_at(nbest, WER().against(["a"]), [1, 0])


@given(small_lattices(features=True), sentences())
def test_the_result_tells_score_features_and_path(lattice, reference):
    found = oracle(lattice, WER().against([reference]))
    assert found.hypothesis == lattice.hypothesis(found.hypothesis.arcs)
    assert found.score == WER().score(found.stats)
    assert [edit.hypothesis for edit in found.edits if edit.hypothesis] == list(found.tokens)
    assert found.reference == 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnGRR(GRR):
    """The same metric with a definition of its own, which batches must not take for granted."""

    def score(self, stats):
        return super().score(stats)


@pytest.mark.filterwarnings("ignore::fstmetrics.vocabulary_warning.VocabularyWarning")
@settings(max_examples=examples(200))
@given(
    st.lists(small_lattices(exact=True, features=True), min_size=1, max_size=4),
    st.lists(sentences(), min_size=1, max_size=3),
    st.sampled_from([{}, {"n": 1}, {"n": 2, "alpha": -0.9, "beta": 1.0}]),
    st.sampled_from([0.0, 0.5]),
    st.integers(1, 3),
)
def test_batches_by_words_equal_what_machine_and_scorer_say(
    lattices, references, options, weight, workers
):
    ours = [GRR(**options).against(references)] * len(lattices)
    theirs = [OwnGRR(**options).against(references)] * len(lattices)
    assert ours[0].word_alignment is not None
    assert theirs[0].word_alignment is None
    found = oracles(lattices, ours, model_weight=weight, workers=workers)
    expected = oracles(lattices, theirs, model_weight=weight)
    for one, other, lattice in zip(found, expected, lattices, strict=True):
        assert one.hypothesis == other.hypothesis == lattice.hypothesis(one.hypothesis.arcs)
        assert (one.score, one.reference) == (other.score, other.reference)
        assert one.stats.tolist() == other.stats.tolist()
        assert one.edits == other.edits
        assert (one.exact, one.engine) == (True, "kernel")


def test_an_oracle_of_a_batch_is_pickled_whole():
    lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0)], finals=[1])
    found = oracle(lattice, WER().against(["b"]))
    for copied in (pickle.loads(pickle.dumps(found)), copy.copy(found)):
        assert (copied.text, copied.score, copied.stats.tolist()) == ("b", 0.0, [1, 0, 0, 0, 1])
        assert copied.edits == found.edits
    with pytest.raises(AttributeError, match="no attribute 'words'"):
        found.words  # noqa: B018


def test_an_error_in_one_lattice_ends_all_threads():
    good = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3, id="dead")
    spaces = [good] * 20 + [dead] + [good] * 20
    with pytest.raises(SpaceError, match="dead"):
        oracles(spaces, [WER().against(["a"])] * len(spaces), workers=3)


def test_the_chosen_reference_is_named():
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    assert oracle(lattice, WER().against(["x y", "b"])).reference == 1


def test_fear_is_the_worst_with_a_negative_model_weight():
    lattice = Lattice.from_arcs(
        [(0, 1, "good", -1.0), (0, 1, "bad", -2.0), (0, 1, "worse", -9.0)], finals=[1]
    )
    evaluator = WRR().against(["good"])
    assert worst(lattice, evaluator, model_weight=-1.0)[0].text == "good"
    assert worst(lattice, evaluator, model_weight=-0.1)[0].text == "bad"


def test_without_a_complete_path_there_is_a_clear_error():
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3, id="dead")
    for search in (
        oracle,
        partial(oracle, engine="openfst"),
        partial(oracle_kbest, k=2),
        worst,
        partial(worst, k=2),
    ):
        with pytest.raises(SpaceError, match="dead"):
            search(dead, WER().against(["a"]))


def test_options_are_checked():
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    evaluator = WER().against(["a"])
    with pytest.raises(OptionError, match="k is at least 1"):
        oracle_kbest(lattice, evaluator, 0)
    with pytest.raises(OptionError, match="finite"):
        oracle(lattice, evaluator, model_weight=float("nan"))
    with pytest.raises(UnknownNameError, match="no engine named 'kernal'; did you mean kernel"):
        oracle(lattice, evaluator, engine="kernal")
    with pytest.raises(OptionError, match="2 lattices, but 1 evaluators"):
        oracles([lattice, lattice], [evaluator])
    with pytest.raises(Error, match="empty"):
        oracle(NBest.from_hypotheses([]), evaluator)


def test_a_metric_without_a_machine_searches_lists_but_not_lattices():
    @dataclasses.dataclass(frozen=True)
    class Length:
        higher_is_better = True
        stat_names = ("words",)

        def stats(self, hypothesis, references):
            return [float(len(hypothesis))]

        def score(self, stats):
            return float(stats[0])

        def against(self, references):
            return LengthEvaluator(self, tuple(references))

    @dataclasses.dataclass(frozen=True)
    class LengthEvaluator:
        metric: Length
        references: tuple

        def stats(self, hypothesis):
            return self.metric.stats(hypothesis, self.references)

        def score(self, hypothesis):
            return self.metric.score(self.stats(hypothesis))

    evaluator = Length().against(["a"])
    nbest = NBest.from_hypotheses([Hypothesis(("a",)), Hypothesis(("a", "b"))])
    assert oracle(nbest, evaluator).text == "a b"
    with pytest.raises(OptionError, match="has no machine"):
        oracle(Lattice.from_arcs([(0, 1, "a")], finals=[1]), evaluator)


def test_no_engine_stands_in_for_another():
    pytest.importorskip("pynini")
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    for rank in (lambda *given, **options: oracle_kbest(*given, 2, **options), worst):
        with pytest.raises(EngineError, match="openfst finds the best sentence alone"):
            rank(lattice, WER().against(["a"]), engine="openfst")


class CostlyInsertions(WER):
    insertion = 2.0


class CostlyDeletions(WER):
    deletion = 0.5


class BigramErrors(WER):
    order = 2


@pytest.mark.parametrize("metric", [CostlyInsertions(), CostlyDeletions(), BigramErrors()])
@given(lattice=small_lattices(max_arcs=8), references=st.lists(sentences(), min_size=1, max_size=2))
def test_error_rates_with_costs_of_their_own(metric, lattice, references):
    """The batch search scores natively: as the metric does, and no sentence is better."""
    judge = metric.against(references)
    (found,) = find_oracles([lattice], [judge])
    assert found.score == pytest.approx(judge.score(found.tokens))
    assert found.score == pytest.approx(min(judge.score(path.tokens) for path in lattice.paths()))
