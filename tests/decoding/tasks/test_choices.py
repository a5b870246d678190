"""The comparison of choices against the functions that make each choice, and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding import compare_choices, corpus_oracle, mbr, oracle
from decoding.corpus.outcomes import Done, Segment
from decoding.tasks.choices import ChoicesTask, Comparing, Way, space_method
from fstmetrics import (
    BLEU,
    BLEUSBP,
    GRR,
    PER,
    TBLEU,
    WER,
    WRR,
    corpus_score,
    corpus_stats,
    parse_metric,
)
from fstmetrics.contract import quality
from fstmetrics.statistics import bootstrap, paired_bootstrap
from lattices import Hypothesis, Lattice, NBest, OptionError
from lattices.algorithms import best_words, k_best
from tests.strategies import sentences, small_forests, small_lattices

#: of each way of MBR over whole spaces at least one, and two that share theirs
METRICS = (
    WER(), WRR(), GRR(n=2), BLEU(order=2), BLEU(order=2, smooth="add-k"), BLEUSBP(order=2), PER()
)  # fmt: skip


def listed(*texts, references=()):
    """Return a list of texts, of which the first ones are more probable."""
    return NBest.from_hypotheses(
        [Hypothesis(tuple(text.split()), -float(place)) for place, text in enumerate(texts)],
        references=references,
    )


def all_sentences(space):
    """Return each sentence once."""
    if isinstance(space, NBest):
        return {space.tokens(entry) for entry in range(len(space))}
    return {each.tokens for each in k_best(space, 10_000, distinct=True)}


def corpora(spaces):
    return st.lists(st.tuples(spaces, sentences()), min_size=1, max_size=3)


@given(corpora(small_lattices()))
def test_a_space_has_no_worse_corpus_than_its_list(corpus):
    """Also under a sum of metrics, of which not all candidates are found."""
    metric = parse_metric("0.5*bleu:order=2,smooth=add-k + 0.5*grr:n=2")
    spaces, references = [space for space, _ in corpus], [[words] for _, words in corpus]
    found = compare_choices(spaces, [metric], references, nbest=3, choose=["corpus"])
    of_list, of_space = (found.find("corpus", metric, among) for among in ("list", "space"))
    assert of_space.scores[str(metric)] >= of_list.scores[str(metric)] - 1e-12


@given(corpora(small_lattices() | small_forests()))
def test_rows_are_what_each_function_chooses(corpus):
    spaces, references = [space for space, _ in corpus], [[words] for _, words in corpus]
    found = compare_choices(spaces, METRICS, references, nbest=3, scale=2.0)
    said = {"one_best": [best_words(space) for space in spaces]}
    lists = [
        NBest.from_hypotheses(k_best(space, 3, distinct=True), vocabulary=space.vocabulary)
        for space in spaces
    ]
    for metric in METRICS:
        evaluators = [metric.against(some) for some in references]
        for among, some in (("list", lists), ("space", spaces)):
            if among == "list" or metric.name != "per":
                said["oracle", among, str(metric)] = [
                    oracle(space, evaluator).tokens
                    for space, evaluator in zip(some, evaluators, strict=True)
                ]
            method = "pairwise" if among == "list" else space_method(metric, 3)
            own = among == "space" and method.own_objective
            said["mbr", among, str(metric)] = [
                mbr(space, None if own else metric, scale=2.0, method=method).tokens
                for space in some
            ]
    for row in found:
        if row.choice == "corpus":
            continue
        key = "one_best" if row.choice == "one_best" else (row.choice, row.among, row.under)
        words = said.pop(key)
        for metric in METRICS:
            expected = corpus_score(metric, words, references)
            assert row.scores[str(metric)] == pytest.approx(expected, abs=1e-12)
    assert not said, "every choice has a row"
    assert [(way, missing) for way, missing in found.left_out if way.choice == "oracle"] == [
        (Way("oracle", "space", "per"), len(spaces))
    ]


@given(corpora(small_lattices()))
def test_corpus_oracles_are_the_best_there_are(corpus):
    spaces, references = [space for space, _ in corpus], [[words] for _, words in corpus]
    metrics = (BLEU(order=2, smooth="add-k"), WER())
    found = compare_choices(spaces, metrics, references, choose=["corpus"])
    # WER decomposes with one reference: its row is that of the segments
    assert {each.under for each in found[1:]} == {str(metrics[0])}
    choices = [sorted(all_sentences(space)) for space in spaces]
    if np.prod([len(some) for some in choices]) <= 2000:
        best = max(
            corpus_score(metrics[0], each, references) for each in itertools.product(*choices)
        )
        row = found.find("corpus", metrics[0], "space")
        assert row.scores[str(metrics[0])] == pytest.approx(best, abs=1e-9)
        assert row.exact
        assert row.bound == pytest.approx(best, abs=1e-9)
    alone = corpus_oracle(spaces, references, metrics[0])
    row = found.find("corpus", metrics[0], "space")
    words = [each.tokens for each in alone.hypotheses]
    for metric in metrics:
        expected = corpus_score(metric, words, references)
        assert row.scores[str(metric)] == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.lists(sentences(), min_size=1, max_size=4), min_size=1, max_size=3))
def test_lists_have_no_whole_space(texts):
    lists = [listed(*map(" ".join, some)) for some in texts]
    references = [[some[-1]] for some in texts]
    found = compare_choices(lists, [WER(), TBLEU(order=2, smooth="add-k")], references)
    assert not found.left_out
    assert not found.kinds
    assert {each.among for each in found[1:]} == {"list"}
    assert found.find("oracle", WER(), "list").scores["wer"] == 0.0


@pytest.mark.parametrize("metric", [BLEU(order=2), WER()], ids=str)
def test_each_row_is_best_in_its_own_column(metric):
    arcs = [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "hat", -0.2), (1, 2, "cat", -0.7)]
    spaces = [Lattice.from_arcs(arcs, finals=[2], references=["the cat"]) for _ in range(3)]
    found = compare_choices(spaces, [metric, GRR(n=2)], nbest=2)
    own = {
        (row.choice, row.among): quality(metric, row.scores[str(metric)])
        for row in found
        if row.under in ("", str(metric))
    }
    assert own["oracle", "space"] >= own["oracle", "list"] >= own["one_best", ""]
    assert own["oracle", "space"] >= own["mbr", "space"]


def test_intervals_and_differences_are_those_of_the_statistics():
    lists = [listed("a b", "a c", text) for text in ("a c d", "b", "a c", "a c d e", "c")]
    references = [["a c d"], ["b c"], ["a c"], ["a c d e"], ["a b c"]]
    found = compare_choices(lists, [WER(), GRR(n=2)], references)
    words = [oracle(each, WER().against(refs)).tokens for each, refs in zip(lists, references)]  # noqa: B905
    place = next(at for at, row in enumerate(found) if (row.choice, row.under) == ("oracle", "wer"))
    options = {"samples": 200, "seed": 3}
    for number, metric in enumerate((WER(), GRR(n=2))):
        own = corpus_stats(metric, words, references)
        first = corpus_stats(metric, ["a b"] * 5, references)
        assert found.estimates(**options)[place][number] == bootstrap(metric, own, **options)
        compared = found.differences(**options)[place - 1][number]
        assert compared == paired_bootstrap(metric, own, first, **options)


@given(corpora(small_lattices()))
def test_batches_make_no_difference(corpus):
    spaces = [
        space.replaced(id=str(place), references=[words])
        for place, (space, words) in enumerate(corpus)
    ]
    task = ChoicesTask((WER(), BLEU(order=2)), nbest=5)
    segments = [Segment(at, "", 0, space) for at, space in enumerate(spaces)]
    comparing = Comparing(task)
    for segment in segments:
        (result,) = task.process([segment])
        comparing.add(Done(segment.position, "", 0, segment.id, result))
    assert comparing.finish() == compare_choices(spaces, task.metrics, nbest=5)


def test_a_search_that_takes_too_much_is_left_out():
    arcs = [
        (at, at + 1, f"{word}{at}", -float(len(word))) for at in range(60) for word in ("a", "bb")
    ]
    large = Lattice.from_arcs(arcs, finals=[60], references=[" ".join(f"a{n}" for n in range(60))])
    small = Lattice.from_arcs([(0, 1, "a", -1.0)], finals=[1], references=["a"])
    found = compare_choices([small, large], [GRR()], choose=["oracle"], memory=20_000)
    assert found.left_out == ((Way("oracle", "space", str(GRR())), 1),)
    assert [(row.choice, row.among) for row in found] == [("one_best", ""), ("oracle", "list")]


def test_several_references_make_wer_a_metric_of_the_corpus():
    lattice = Lattice.from_arcs([(0, 1, "a", -0.1), (0, 1, "b", -0.2)], finals=[1])
    found = compare_choices([lattice] * 2, [WER()], [["a", "b c"], ["a"]])
    assert found.find("corpus", WER(), "space").exact


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [WER()]), "there is no space"),
        (([listed("a")], []), "there is no metric"),
        (([listed("a")], [WER()], []), "1 spaces, but references for 0"),
    ],
)
def test_what_cannot_be_compared(arguments, message):
    with pytest.raises(OptionError, match=message):
        compare_choices(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nbest": 0}, "nbest is at least 1, not 0"),
        ({"choose": ["best"]}, "choose=best: expected oracle, corpus, mbr"),
        ({"budget": 0}, "budget and memory are at least 1"),
        ({"scale": -1.0}, "a scale is a finite number from 0 on"),
    ],
)
def test_options_out_of_range(options, message):
    nbest = listed("a", references=["a"])
    with pytest.raises(OptionError, match=message):
        compare_choices([nbest], [WER()], **options)


def test_a_way_that_is_not_there():
    found = compare_choices([listed("a", references=["a"])], [WER()])
    with pytest.raises(OptionError, match="there is no oracle space wer: one_best, oracle list"):
        found.find("oracle", WER(), "space")
