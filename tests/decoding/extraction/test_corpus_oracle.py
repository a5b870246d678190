from __future__ import annotations

import math
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lattices
from decoding import corpus_oracle, oracle
from decoding.extraction import bleu_bound as corpus_bleu
from decoding.extraction import corpus_selection as choosing
from decoding.extraction.bleu_bound import bleu_bound
from decoding.extraction.corpus_selection import corpus_choice, find_undominated
from fstmetrics import BLEU, BLEUSBP, CER, GRR, PER, TBLEU, WER, WRR, corpus_score
from fstmetrics.contract import nbest_stats
from lattices import Forest, Hypothesis, Lattice, NBest, OptionError
from tests.strategies import examples, small_forests, small_lattices

texts = st.lists(st.sampled_from("abc"), max_size=5).map(tuple)
lists = st.lists(
    st.builds(Hypothesis, texts, st.sampled_from([-1.0, -2.0, 0.0])), min_size=1, max_size=4
).map(NBest.from_hypotheses)
several = st.lists(texts, min_size=1, max_size=3)
corpora = st.lists(st.tuples(lists, several), min_size=1, max_size=4)
bleus = st.sampled_from(
    [
        BLEU(order=1),
        BLEU(order=2),
        BLEU(),
        BLEU(smooth="exp"),
        BLEU(smooth="add-k", effective_order=True),
        BLEU(effective_order=True),
        BLEU(order=3, weights="1/0/1", effective_order=True),
        BLEU(order=2, smooth="floor", effective_order=True),
        BLEU(order=2, smooth="floor", smooth_value=3),
        BLEU(order=3, weights="0/2/1", smooth="add-k", smooth_value=0.5),
        BLEU(order=2, length="average"),
        BLEU(order=2, length="shortest"),
        BLEU(order=2, brevity="none"),
        BLEU(order=2, smooth="add-k", brevity="smooth"),
        BLEUSBP(order=1),
        BLEUSBP(order=2),
        BLEUSBP(order=2, smooth="exp", length="closest"),
        TBLEU(order=2, epsilon=0.6, smooth="exp"),
    ]
)
fractions = st.sampled_from(
    [WER(), WRR(), CER(), GRR(n=2), GRR(alpha=-0.9, beta=1.0), GRR(n=3, alpha=1 / 3)]
)
others = st.sampled_from([PER(), BLEU(order=2, mean="arithmetic")])


def sign(metric):
    return 1 if metric.higher_is_better else -1


def sentences_of(space):
    if isinstance(space, NBest):
        return {space.tokens(entry) for entry in range(len(space))}
    if isinstance(space, Lattice):
        return {path.tokens for path in space.paths()}
    return {each.tokens for each in lattices.k_best(space, 10_000, distinct=True)}


def best_of_all(metric, spaces, references):
    """Return the best score of all selections of sentences, by trying them."""
    rows = [
        np.unique([metric.stats(each, some) for each in sentences_of(space)], axis=0)
        for space, some in zip(spaces, references, strict=True)
    ]
    return max(sign(metric) * metric.score(np.sum(chosen, axis=0)) for chosen in product(*rows))


def check(found, metric, spaces, references):
    """Check an answer against all selections, and what it says of itself."""
    truth = best_of_all(metric, spaces, references)
    chosen = [each.tokens for each in found.hypotheses]
    for space, tokens in zip(spaces, chosen, strict=True):
        assert tokens in sentences_of(space)
    score = sign(metric) * found.score
    assert found.score == pytest.approx(corpus_score(metric, chosen, references), abs=1e-12)
    assert found.score == metric.score(found.stats)
    starts = [found.sentence_score, found.first_score]
    assert score >= max(sign(metric) * start for start in starts) - 1e-12
    assert score <= truth + 1e-9
    sentence = [
        oracle(space, metric.against(some)).tokens
        for space, some in zip(spaces, references, strict=True)
    ]
    assert found.sentence_score == pytest.approx(corpus_score(metric, sentence, references))
    if found.bound is not None:
        assert sign(metric) * found.bound >= truth - 1e-9
        assert found.gap == abs(found.bound - found.score)
    if found.exact:
        assert score == pytest.approx(truth, abs=1e-9)
    return truth


@settings(max_examples=examples(300))
@given(corpora, st.one_of(bleus, fractions, others))
def test_few_selections_are_all_tried(corpus, metric):
    spaces, references = map(list, zip(*corpus, strict=True))
    found = corpus_oracle(spaces, references, metric)
    check(found, metric, spaces, references)
    assert found.exact


@settings(max_examples=examples(300))
@given(corpora, st.one_of(bleus, others))
@example(
    # the only match is of an order without weight
    [(NBest.from_hypotheses([Hypothesis(("a",), 0.0)]), [("a",)])],
    BLEU(order=2, weights="0/1", smooth="add-k"),
)
@example(
    # no word is within a reference's length
    [
        (NBest.from_hypotheses([Hypothesis((), 0.0)]), [("a",)]),
        (NBest.from_hypotheses([Hypothesis(("a",), 0.0)]), [(), ("a", "a")]),
    ],
    BLEUSBP(order=2, smooth="exp", length="closest"),
)
def test_a_search_is_bounded(corpus, metric):
    spaces, references = map(list, zip(*corpus, strict=True))
    bounds = []

    def recorded(*arguments):
        bounds.append(bleu_bound(*arguments))
        return bounds[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choosing, "_MOST_SELECTIONS", 0)
        patch.setattr(corpus_bleu, "bleu_bound", recorded)
        found = corpus_oracle(spaces, references, metric)
    truth = check(found, metric, spaces, references)
    # as it was found: what is returned is never below the score
    assert all(bound is None or bound >= truth - 1e-9 for bound in bounds)
    assert (found.bound is None) == (getattr(metric, "mean", "geometric") == "arithmetic")


def test_orders_that_short_segments_leave_out():
    short = NBest.from_hypotheses([Hypothesis(("a", "b"), 0.0)])
    # "a" matches in five words, or in two; only then no 3-gram lacks a match
    both = NBest.from_hypotheses([Hypothesis(tuple("azzzz"), 0.0), Hypothesis(("b", "a"), -1.0)])
    metric = BLEU(effective_order=True)
    found = corpus_oracle([both] * 13 + [short] * 13, [["a b"]] * 26, metric)
    assert (found.score, found.exact) == (pytest.approx(0.5**0.5), True)
    assert {each.text for each in found.hypotheses[:13]} == {"b a"}
    # no segment is longer: the order is 2
    lists = [NBest.from_hypotheses([Hypothesis(tuple(text), 0.0) for text in ("ba", "ab")])] * 13
    found = corpus_oracle(lists, [["a b"]] * 13, metric)
    assert (found.score, found.exact) == (1.0, True)


@settings(max_examples=100)
@given(corpora, bleus)
def test_no_single_change_improves_a_search(corpus, metric):
    spaces, references = map(list, zip(*corpus, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choosing, "_MOST_SELECTIONS", 0)
        found = corpus_oracle(spaces, references, metric)
    chosen = [each.tokens for each in found.hypotheses]
    for segment, space in enumerate(spaces):
        for other in sentences_of(space):
            score = corpus_score(
                metric, [*chosen[:segment], other, *chosen[segment + 1 :]], references
            )
            assert score <= found.score + 1e-9


graphs = st.one_of(
    small_lattices(words="abc", max_arcs=7), small_forests(max_derivations=12, max_edges=6)
)


@settings(max_examples=examples(300))
@given(st.lists(st.tuples(graphs, several), min_size=1, max_size=3), fractions)
def test_lattices_and_forests_with_several_references(corpus, metric):
    spaces, references = map(list, zip(*corpus, strict=True))
    found = corpus_oracle(spaces, references, metric)
    truth = check(found, metric, spaces, references)
    # small as they are, no sentence is out of reach
    assert found.exact
    assert sign(metric) * found.score == pytest.approx(truth, abs=1e-9)


@settings(max_examples=60)
@given(st.lists(st.tuples(graphs, texts), min_size=1, max_size=3), fractions)
def test_with_one_reference_the_sentence_oracles_are_the_corpus_oracle(corpus, metric):
    spaces, references = [space for space, _ in corpus], [[text] for _, text in corpus]
    found = corpus_oracle(spaces, references, metric)
    assert found.exact
    assert found.score == found.sentence_score
    assert [each.tokens for each in found.hypotheses] == [
        oracle(space, metric.against(some)).tokens
        for space, some in zip(spaces, references, strict=True)
    ]


@settings(max_examples=100)
@given(
    st.lists(st.tuples(graphs, small_lattices(words="abc", max_arcs=6), several), max_size=2),
    fractions,
)
def test_reference_lattices_have_references_of_several_lengths(corpus, metric):
    spaces = [space for space, _, _ in corpus]
    references = [[one, *some] for _, one, some in corpus]
    if not corpus:
        return
    found = corpus_oracle(spaces, references, metric)
    check(found, metric, spaces, references)


def word(text):
    return Lattice.from_arcs(
        [(place, place + 1, each) for place, each in enumerate(text.split())],
        finals=[len(text.split())],
    )


def test_the_denominator_follows_the_reference():
    """The sentence oracle has the shorter reference, the corpus oracle one more error."""
    one = lattices.union([word("a b c"), word("a b c d e f g x y")])
    other = word("p q x x x x")
    references = [["a b c", "a b c d e f g h i j"], ["p q r s t u"]]
    for spaces in (
        [one, other],
        [Forest.from_lattice(one), other],
        [NBest.from_hypotheses(lattices.k_best(each, 9)) for each in (one, other)],
    ):
        found = corpus_oracle(spaces, references, WER())
        assert found.sentence_score == pytest.approx(4 / 9)
        assert found.score == pytest.approx(7 / 16)
        assert (found.bound, found.exact) == (found.score, True)
        assert found.hypotheses[0].text == "a b c d e f g x y"


def test_a_single_change_is_not_always_enough():
    # together "b a" and "b" are long enough; from "b" and "a a b c" one change leads nowhere
    spaces = [
        NBest.from_hypotheses([Hypothesis(tuple(text.split()), 0.0) for text in texts])
        for texts in (["b a", "b"], ["a a b c", "b"])
    ]
    found = corpus_oracle(spaces, [["c"], ["b b b"]], BLEU(order=1))
    assert [each.index for each in found.hypotheses] == [0, 1]
    assert found.score == pytest.approx(math.exp(1 - 4 / 3) / 3)
    assert found.exact


def test_equal_statistics_are_told_apart_by_the_model():
    lists = [NBest.from_hypotheses([Hypothesis(("x",), -2.0), Hypothesis(("y",), -1.0)])] * 2
    for metric in (BLEU(order=1), WER()):
        found = corpus_oracle(lists, [["a"], ["b", "c d"]], metric)
        assert [each.text for each in found.hypotheses] == ["y", "y"]


@settings(max_examples=100)
@given(lists, several, st.one_of(bleus, fractions, others), texts, texts)
def test_a_dominated_row_is_never_needed(some, references, metric, other, its_reference):
    rows = nbest_stats(metric.against(references), some)
    rest = metric.stats(other, [its_reference])
    kept = find_undominated(rows, metric)
    assert sorted(set(kept.tolist())) == kept.tolist()
    scores = [sign(metric) * metric.score(row + rest) for row in rows]
    assert max(scores) == pytest.approx(max(scores[place] for place in kept.tolist()))


def test_real_lists(shared_data):
    folder = shared_data / "multi30k-deen"
    spaces = list(islice(lattices.read(folder / "val.de-en.100best.gz"), 60))
    references = [[line] for line in (folder / "val.en").read_text("utf-8").splitlines()[:60]]
    found = corpus_oracle(spaces, references, BLEU())
    assert found.first_score < found.sentence_score < found.score
    assert found.gap < 1e-3
    smoothed = corpus_oracle(spaces, references, BLEU(smooth="add-k"))
    assert smoothed.sentence_score > found.sentence_score


def test_the_corpus_oracle_of_all_lists_is_proven(shared_data):
    folder = shared_data / "multi30k-deen"
    spaces = list(lattices.read(folder / "val.de-en.100best.gz"))
    references = [[line] for line in (folder / "val.en").read_text("utf-8").splitlines()]
    found = corpus_oracle(spaces, references, BLEU())
    scores = (found.first_score, found.sentence_score, found.score)
    assert scores == pytest.approx((0.4057, 0.6022, 0.6089), abs=5e-5)
    assert found.gap < 1e-6
    assert corpus_oracle(spaces, references, BLEUSBP()).gap < 1e-6


def test_several_references_of_different_lengths_under_bleu(shared_data):
    """Effective reference lengths that depend on the choice are bounded closely, too."""
    folder = shared_data / "multi30k-deen"
    spaces = list(islice(lattices.read(folder / "val.de-en.100best.gz"), 300))
    lines = (folder / "val.en").read_text("utf-8").splitlines()
    references = [[line, " ".join(line.split()[:-3])] for line in lines[:300]]
    assert corpus_oracle(spaces, references, BLEU()).gap < 1e-4
    assert corpus_oracle(spaces, references, BLEUSBP()).gap < 1e-4


def test_what_a_corpus_oracle_refuses():
    some = NBest.from_hypotheses([Hypothesis(("a",), 0.0)])
    with pytest.raises(OptionError, match="1 lists, but references for 2 segments"):
        corpus_oracle([some], [["a"], ["b"]], BLEU())
    with pytest.raises(OptionError, match="n-best list 1 is empty"):
        corpus_oracle([some, NBest.from_hypotheses([])], [["a"], ["b"]], BLEU())
    with pytest.raises(OptionError, match="a list, not one string"):
        corpus_oracle([some], ["a"], BLEU())
    with pytest.raises(OptionError, match="has no machine"):
        corpus_oracle([word("a")], [["a"]], TBLEU())
    with pytest.raises(OptionError, match="at least one segment"):
        corpus_choice([], BLEU())
