from __future__ import annotations

import math
import pickle
import sys
from collections import Counter
from importlib.util import find_spec
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import BLEU, BLEUSBP, GRR, WRR, corpus_score, corpus_stats, parse_metric
from fstmetrics.ngram.bleu import BREVITIES, BLEUEvaluator
from fstmetrics.testing import check_metric
from lattices import Lattice, OptionError
from lattices.errors import MissingDependencyError
from tests.strategies import sentences

WORDS = ("a", "b", "A", "c", "Straße", "ΑΣ", "İx")

corpora = st.lists(
    st.tuples(sentences(WORDS, max_size=9), st.lists(sentences(WORDS), min_size=1, max_size=3)),
    min_size=1,
    max_size=4,
)
metrics = st.builds(
    dict,
    order=st.integers(1, 6),
    length=st.sampled_from(["closest", "shortest", "average"]),
    mean=st.sampled_from(["geometric", "arithmetic"]),
    smooth=st.sampled_from(["none", "floor", "add-k", "exp"]),
    effective_order=st.booleans(),
    lowercase=st.booleans(),
).flatmap(
    lambda options: st.builds(
        lambda weights, spaces: {
            **options,
            "weights": weights,
            **({} if spaces is None else {"unit": "char", "spaces": spaces}),
        },
        st.just("uniform")
        | st.lists(
            st.sampled_from([0.0, 0.1, 0.25, 2.0]),
            min_size=options["order"],
            max_size=options["order"],
        )
        .filter(any)
        .map(tuple),
        st.sampled_from([None, True, False]),
    )
)


def ngrams(units, n):
    return Counter(tuple(units[i : i + n]) for i in range(len(units) - n + 1))


def by_definition(metric, corpus):
    """BLEU by Papineni's pages: counters, sums, one formula."""
    order = metric.order
    matches, totals, length, reference_length = [0.0] * order, [0.0] * order, 0.0, 0.0
    for hypothesis, references in corpus:
        cut = [
            list((" " if metric.spaces else "").join(each)) if metric.unit == "char" else each
            for each in (
                [token.lower() if metric.lowercase else token for token in sentence]
                for sentence in [hypothesis, *references]
            )
        ]
        words, others = cut[0], cut[1:]
        lengths = [len(other) + (metric.brevity == "smooth") for other in others]
        effective = {
            "closest": min(lengths, key=lambda other: (abs(other - len(words)), other)),
            "shortest": min(lengths),
            "average": sum(lengths) / len(lengths),
        }[metric.length]
        if metric.brevity == "none":
            effective = 0
        length += min(len(words), effective) if metric.strict else len(words)
        reference_length += effective
        for n in range(1, order + 1):
            most = Counter()
            for other in others:
                most |= ngrams(other, n)
            matches[n - 1] += (ngrams(words, n) & most).total()
            totals[n - 1] += ngrams(words, n).total()
    if not any(matches):
        return 0.0
    halves = 1
    precisions = []
    for n, (matched, total) in enumerate(zip(matches, totals, strict=True), 1):
        if metric.smooth == "add-k" and n > 1:
            matched, total = matched + metric.smooth_value, total + metric.smooth_value
        if not total:
            if metric.effective_order:
                break
            precisions.append(0.0)
        elif matched:
            precisions.append(matched / total)
        elif metric.smooth == "floor":
            precisions.append(metric.smooth_value / total)
        elif metric.smooth == "exp":
            halves *= 2
            precisions.append(1 / (halves * total))
        else:
            precisions.append(0.0)
    weights = (
        [1.0] * order
        if metric.weights == "uniform"
        else list(map(float, metric.weights.split("/")))
    )[: len(precisions)]
    if not sum(weights):
        return 0.0
    if metric.mean == "arithmetic":
        mean = sum(map(math.prod, zip(weights, precisions, strict=True))) / sum(weights)
    else:
        mean = math.prod(
            p ** (w / sum(weights)) for w, p in zip(weights, precisions, strict=True) if w
        )
    if length >= reference_length:
        return mean
    return mean * math.exp(1 - reference_length / length) if length else 0.0


@settings(max_examples=200)
@given(
    corpora,
    metrics,
    st.sampled_from(
        [*((BLEU, each) for each in BREVITIES), (BLEUSBP, "standard"), (BLEUSBP, "smooth")]
    ),
)
def test_bleu_equals_its_definition(corpus, options, kind_and_brevity):
    kind, brevity = kind_and_brevity
    metric = kind(brevity=brevity, **options)
    hypotheses, references = [each for each, _ in corpus], [refs for _, refs in corpus]
    found = corpus_score(metric, hypotheses, references)
    assert found == pytest.approx(by_definition(metric, corpus), abs=1e-9)
    rows = [metric.stats(*segment) for segment in corpus]
    assert np.array_equal(metric.corpus_stats(hypotheses, references), rows)
    for hypothesis, references in corpus:
        score = metric.against(references).score(hypothesis)
        assert score == pytest.approx(by_definition(metric, [(hypothesis, references)]), abs=1e-9)


def sacrebleu_of(**options):
    sacrebleu = pytest.importorskip("sacrebleu")
    return sacrebleu.BLEU(force=True, **options)


def documents(references):
    """Return references as sacreBLEU wants them: a document for each place in the lists."""
    most = max(map(len, references))
    return [
        [" ".join(some[place]) if place < len(some) else None for some in references]
        for place in range(most)
    ]


@settings(max_examples=200)
@given(
    corpora,
    st.integers(1, 6),
    st.sampled_from(
        [("none", 0), ("floor", 0), ("floor", 0.3), ("add-k", 0), ("add-k", 2.5), ("exp", 0)]
    ),
    st.booleans(),
    st.booleans(),
)
def test_bleu_equals_sacrebleu(corpus, order, smoothing, effective, lowercase):
    smooth, value = smoothing
    metric = BLEU(
        order=order, smooth=smooth, smooth_value=value,
        effective_order=effective, lowercase=lowercase,
    )  # fmt: skip
    theirs = sacrebleu_of(
        tokenize="none", max_ngram_order=order, smooth_method=smooth, smooth_value=value or None,
        effective_order=effective, lowercase=lowercase,
    )  # fmt: skip
    hypotheses, references = [each for each, _ in corpus], [refs for _, refs in corpus]
    expected = theirs.corpus_score([" ".join(each) for each in hypotheses], documents(references))
    assert 100 * corpus_score(metric, hypotheses, references) == pytest.approx(
        expected.score, abs=1e-9
    )
    for hypothesis, some in corpus:
        expected = theirs.sentence_score(" ".join(hypothesis), [" ".join(each) for each in some])
        assert 100 * metric.against(some).score(hypothesis) == pytest.approx(
            expected.score, abs=1e-9
        )
        stats = metric.stats(hypothesis, some)
        assert stats[-2:].tolist() == [expected.sys_len, expected.ref_len]


TEXTS = [
    "Well, it's 3.5%  of the U.S. total -- isn't it?",
    "他们说：“3.5公里”。 OK!",
    "&quot;Straße&quot; e\u0301té 10\u00a0000 people\tagain",
    "",
    "   ",
]


@pytest.mark.parametrize("name", ["13a", "intl", "zh", "char"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_tokenisers_are_sacrebleus(name, lowercase):
    metric = BLEU(tokenize=name, smooth="exp", effective_order=True, lowercase=lowercase)
    theirs = sacrebleu_of(tokenize=name, effective_order=True, lowercase=lowercase)
    for hypothesis, reference in product(TEXTS, TEXTS):
        expected = theirs.sentence_score(hypothesis, [reference, TEXTS[0]]).score
        found = metric.against([reference, TEXTS[0]]).score(hypothesis)
        assert 100 * found == pytest.approx(expected, abs=1e-9)


def test_a_tokeniser_needs_sacrebleu_and_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fstmetrics\[sacrebleu\]'"):
        BLEU(tokenize="13a")
    assert BLEU().against(["a b c d"]).score("a b c d") == 1.0


@pytest.mark.skipif(find_spec("MeCab") is not None, reason="MeCab is installed")
def test_a_tokeniser_that_needs_more_says_so():
    with pytest.raises(MissingDependencyError, match="'ja-mecab'"):
        BLEU(tokenize="ja-mecab").against(["a"])


def test_wmt15_equals_sacrebleu(shared_data):
    folder = shared_data / "wmt15" / "fr-en"

    def lines(path):
        return path.read_text(encoding="utf-8").split("\n")[:-1]

    (reference,) = folder.glob("*ref*")
    systems = sorted(path for path in folder.glob("*.txt") if "-src" not in path.name)
    systems.remove(reference)
    theirs = sacrebleu_of(tokenize="13a", smooth_method="exp", references=[lines(reference)])
    metric = BLEU(tokenize="13a", smooth="exp")
    references = [[line] for line in lines(reference)]
    assert len(systems) > 3
    for path in systems[:2]:
        expected = theirs.corpus_score(lines(path), None)
        rows = corpus_stats(metric, lines(path), references)
        assert rows.sum(axis=0).tolist() == [
            *expected.counts, *expected.totals, expected.sys_len, expected.ref_len
        ]  # fmt: skip
        assert 100 * metric.score(rows.sum(axis=0)) == pytest.approx(expected.score, abs=1e-9)


@pytest.mark.parametrize(
    "metric",
    [
        BLEU(),
        BLEU(order=1),
        BLEU(smooth="exp", effective_order=True),
        BLEU(smooth="floor", smooth_value=0.2, lowercase=True),
        BLEU(weights=(0.4, 0.3, 0.2, 0.1), length="average"),
        BLEU(order=18, unit="char"),
        BLEU(order=6, unit="char", spaces=False, mean="arithmetic"),
        BLEU(tokenize="13a", smooth="add-k"),
        BLEUSBP(),
        BLEUSBP(order=2, length="closest", smooth="exp"),
    ],
    ids=str,
)
def test_the_laws_hold(metric):
    check_metric(metric)


def test_signatures():
    assert str(BLEU()) == "bleu:order=4,length=closest,smooth=none,tokenize=none"
    assert str(BLEUSBP()) == "bleu-sbp:order=4,length=shortest,smooth=none,tokenize=none"
    assert parse_metric("bleu:order=2,weights=3/1") == BLEU(order=2, weights=[3, 1])
    assert parse_metric("bleu:smooth=add-k") == BLEU(smooth="add-k", smooth_value=1.0)
    assert hash(BLEU(weights=[1, 1, 1, 2])) == hash(BLEU(weights="1/1/1/2"))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"order": 0}, "order is a whole number"),
        ({"order": True}, "order is a whole number"),
        ({"weights": "1/2"}, "2 weights, but n-grams of 1..4"),
        ({"weights": (1, 1, -1, 1)}, "none negative"),
        ({"weights": "0/0/0/0"}, "not all 0"),
        ({"weights": "1/x/1/1"}, "expected uniform, or numbers"),
        ({"weights": (1, 1, math.nan, 1)}, "expected uniform, or numbers"),
        ({"length": "longest"}, "length=longest: expected one of closest, shortest, average"),
        ({"mean": "harmonic"}, "mean=harmonic"),
        ({"brevity": "strict"}, "brevity=strict: expected one of standard, smooth, none"),
        ({"smooth": "add-one"}, "smooth=add-one: expected one of none, floor, add-k, exp"),
        ({"smooth": "exp", "smooth_value": 0.5}, "smooth=exp takes no smooth_value"),
        ({"smooth": "floor", "smooth_value": -1.0}, "smooth_value is a number above 0"),
        ({"unit": "byte"}, "unit=byte"),
        ({"spaces": False}, "spaces=false is for unit=char"),
        ({"tokenize": "13b"}, "tokenize=13b: expected one of"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, problem):
    with pytest.raises(OptionError, match=problem):
        BLEU(**options)


def test_a_strict_penalty_is_a_penalty():
    with pytest.raises(OptionError, match="brevity=none is bleu's"):
        BLEUSBP(brevity="none")


def test_reference_lattices_are_refused():
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    with pytest.raises(OptionError, match="not as a lattice"):
        BLEU().against([lattice])


def test_a_corpus_needs_as_many_references_as_hypotheses():
    for count in (corpus_stats, lambda metric, *sides: metric.corpus_stats(*sides)):
        with pytest.raises(OptionError, match="2 hypotheses, but references for 1 segments"):
            count(BLEU(), ["a", "b"], [["a"]])
        assert count(BLEU(), [], []).shape == (0, 10)


def test_a_subclass_that_counts_otherwise_does_so_over_a_corpus():
    class Generous(BLEUEvaluator):
        def stats(self, hypothesis):
            return super().stats(hypothesis) + 1

    class GenerousBLEU(BLEU):
        def against(self, references):
            return Generous(self, tuple(references))

    rows = GenerousBLEU(order=1).corpus_stats(["a", "b"], [["a"], ["a b"]])
    assert rows.tolist() == [[2, 2, 2, 2], [2, 2, 2, 3]]
    assert GenerousBLEU(order=1).corpus_stats([], []).shape == (0, 4)


def test_evaluators_survive_pickling():
    evaluator = BLEU().against(["the cat sat", "a cat"])
    again = pickle.loads(pickle.dumps(evaluator))
    assert type(again) is BLEUEvaluator
    assert np.array_equal(again.stats("the the cat"), evaluator.stats("the the cat"))


def test_lin_and_och_is_add_k_with_its_default():
    # 2 of 3 unigrams; of 2 bigrams and of 1 trigram none, and one more of each
    stats = BLEU(order=3).stats("a x b", ["a b c"])
    expected = (2 / 3 * 1 / 3 * 1 / 2) ** (1 / 3)
    assert BLEU(order=3, smooth="add-k").score(stats) == pytest.approx(expected)


def nested(order, hypothesis, references):
    return [BLEU(order=n).against(references).score(hypothesis) for n in range(1, order + 1)]


def falls(scores):
    return all(later <= earlier + 1e-12 for earlier, later in pairwise(scores))


distinct = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)
repeating = st.lists(st.sampled_from("abcdef"), max_size=8)


@settings(max_examples=150)
@given(st.one_of(st.tuples(distinct, repeating), st.tuples(repeating, distinct)))
def test_bleu_falls_with_the_order_if_one_side_repeats_no_word(pair):
    hypothesis, reference = pair
    assert falls(nested(5, hypothesis, [reference]))


@settings(max_examples=150)
@given(distinct, st.lists(repeating, min_size=1, max_size=3))
def test_with_several_references_if_the_hypothesis_repeats_no_word(hypothesis, references):
    assert falls(nested(5, hypothesis, references))


@pytest.mark.parametrize(
    "references",
    [
        # both bigrams match, but only one of the two a's
        ["b a b"],
        # the same with references that repeat nothing
        ["a b", "b a"],
    ],
)
def test_bleu_may_rise_with_the_order_if_words_repeat(references):
    # Denoual and Lepage 2005, section 4.3, state that it never does
    stats = BLEU(order=2).stats("a b a", references)
    assert stats[:4].tolist() == [2, 2, 3, 2]
    assert not falls(nested(2, "a b a", references))


def test_bleu_may_rise_with_the_order_over_a_corpus():
    hypotheses, references = ["a b c", "x"], [["a b c"], ["y"]]
    one, two = (corpus_score(BLEU(order=n), hypotheses, references) for n in (1, 2))
    assert one == pytest.approx(3 / 4)
    assert two == pytest.approx((3 / 4) ** 0.5)


segments = st.tuples(
    *[st.lists(st.sampled_from("abc"), max_size=5)] * 2,
    st.lists(st.sampled_from("abc"), min_size=1, max_size=5),
)


@settings(max_examples=150)
@given(segments, st.lists(segments, max_size=3), st.sampled_from([WRR(), GRR(), GRR(n=2, beta=1)]))
def test_recognition_rates_decompose(segment, others, metric):
    one, other, reference = segment
    worse, better = sorted([one, other], key=metric.against([reference]).score)
    references = [[reference], *([each[2]] for each in others)]
    rest = [each[0] for each in others]
    before = corpus_score(metric, [worse, *rest], references)
    assert corpus_score(metric, [better, *rest], references) >= before - 1e-12


@pytest.mark.parametrize(
    ("metric", "worse", "better", "other", "references"),
    [
        # a word more helps the first sentence, which the long second one has paid for already
        (BLEU(order=1), "a b", "a b x", "a b c d y y", ["a b c d", "a b c d"]),
        # a long sentence that matches a little drags a good one down
        (BLEU(order=1), "b", "x x c c", "c", ["c", "c"]),
        (BLEUSBP(order=1), "b", "x x c c", "c", ["c", "c"]),
    ],
)
def test_bleu_does_not_decompose(metric, worse, better, other, references):
    evaluator = metric.against(references[:1])
    assert evaluator.score(better) > evaluator.score(worse)
    before, after = (
        corpus_score(metric, [first, other], [[each] for each in references])
        for first in (worse, better)
    )
    assert after < before
