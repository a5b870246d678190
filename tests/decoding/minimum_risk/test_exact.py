"""The true expected metric, judged by listing all paths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU as SacreBLEU

from decoding import ExactRisk, mbr
from decoding.minimum_risk.evidence import Evidence
from decoding.minimum_risk.exact import expected_metric
from decoding.reranking import draw
from fstmetrics import BLEU, CER, GRR, TBLEU, WER, WRR, AffixSimilarity
from fstmetrics.alignment.metric import AlignmentMetric
from lattices import Forest, Hypothesis, Lattice, NBest, Vocabulary, best, to_lattice
from lattices.arrays import floats, ints
from lattices.errors import OptionError, SpaceError, TooLargeError
from lattices.intersection.automata import make_explicit
from lattices.intersection.expectations import alignment_set, list_graph
from lattices.intersection.rows import RowMachine
from tests.judges import gain_by_recursion, score_by_recursion
from tests.strategies import sentences, small_forests, small_lattices

METRICS = (WER(), WRR(), GRR(), GRR(n=2, alpha=-0.9, beta=1), GRR(n=3, alpha=0, beta=0.5))
SCALES = st.sampled_from([0.0, 0.5, 1.0, 3.0])


def posteriors(lattice: Lattice, scale: float) -> list[tuple[tuple[str, ...], float]]:
    """Return every path's words with its probability."""
    paths = list(lattice.paths())
    top = max(scale * path.score for path in paths)
    mass = [math.exp(scale * path.score - top) for path in paths]
    return [(path.tokens, part / sum(mass)) for path, part in zip(paths, mass, strict=True)]


def value(candidate: tuple[str, ...], reference: tuple[str, ...], metric: AlignmentMetric) -> float:
    """Return the metric by plain recursion."""
    rate = score_by_recursion(candidate, [reference], metric)
    return 1.0 - rate if metric.error_rate else rate


def expected(
    candidate: tuple[str, ...],
    evidence: list[tuple[tuple[str, ...], float]],
    metric: AlignmentMetric,
) -> float:
    """Return the mean by listing."""
    return sum(part * value(candidate, words, metric) for words, part in evidence)


@settings(max_examples=40)
@given(
    small_lattices(),
    st.lists(sentences(max_size=5), min_size=1, max_size=4),
    st.sampled_from(METRICS),
    SCALES,
)
def test_equals_enumeration(
    lattice: Lattice, candidates: list[list[str]], metric: AlignmentMetric, scale: float
) -> None:
    listed = posteriors(lattice, scale)
    found = expected_metric(lattice, metric, candidates, scale=scale)
    assert found.exact.all()
    assert found.evidence == -1
    for place, candidate in enumerate(map(tuple, candidates)):
        mean = expected(candidate, listed, metric)
        assert found.expected[place] == pytest.approx(mean, abs=1e-9)
        square = sum(part * value(candidate, words, metric) ** 2 for words, part in listed)
        assert found.deviation[place] ** 2 == pytest.approx(square - mean**2, abs=1e-8)
    assert not found.standard_error.any()


@settings(max_examples=60)
@given(
    st.one_of(small_lattices(), small_forests()),
    st.lists(sentences(max_size=5), min_size=1, max_size=3),
    st.sampled_from(["none", "add-k", "exp"]),
    SCALES,
)
def test_bleu_equals_enumeration(
    space: Lattice | Forest, candidates: list[list[str]], smooth: str, scale: float
) -> None:
    listed = posteriors(to_lattice(space), scale)
    scorer = SacreBLEU(max_ngram_order=2, smooth_method=smooth, tokenize="none")
    metric = BLEU(order=2, smooth=smooth)
    found = expected_metric(space, metric, candidates, scale=scale)
    assert found.exact.all()
    assert found.evidence == -1
    for place, candidate in enumerate(candidates):
        scores = [
            (part, scorer.corpus_score([" ".join(candidate)], [[" ".join(words)]]).score / 100.0)
            for words, part in listed
        ]
        mean = sum(part * score for part, score in scores)
        assert found.expected[place] == pytest.approx(mean, abs=1e-9)
        square = sum(part * score**2 for part, score in scores)
        assert found.deviation[place] ** 2 == pytest.approx(square - mean**2, abs=1e-8)
    assert mbr(space, metric, scale=scale, method=ExactRisk(candidates="all")).exact


def test_many_sentences_are_sampled_for_bleu() -> None:
    lattice, metric = chain(9), BLEU(order=2, smooth="add-k")
    found = expected_metric(lattice, metric, [best(lattice).tokens, ()], samples=400)
    assert not found.exact.any()
    assert found.standard_error[0] > 0.0
    assert mbr(lattice, metric, method=ExactRisk(candidates=3, samples=50)).exact is False


@settings(max_examples=40)
@given(small_lattices(), sentences(max_size=5), st.sampled_from(METRICS))
def test_numerators_equal_enumeration(
    lattice: Lattice, candidate: list[str], metric: AlignmentMetric
) -> None:
    found = expected_metric(lattice, metric, [candidate], normalised=False)
    mean = 0.0
    for words, part in posteriors(lattice, 1.0):
        gain = gain_by_recursion(candidate, words, metric)
        mean += part * (len(words) - gain if metric.error_rate else gain)
    assert found.expected[0] == pytest.approx(mean, abs=1e-9)


@settings(max_examples=40)
@given(sentences(max_size=7), sentences(max_size=7), st.sampled_from(METRICS))
def test_the_numerator_is_the_same_from_either_side(
    one: list[str], other: list[str], metric: AlignmentMetric
) -> None:
    swapped = GRR(n=metric.order, alpha=metric.deletion, beta=metric.insertion)
    here, there = gain_by_recursion(one, other, metric), gain_by_recursion(other, one, swapped)
    assert here == pytest.approx(there, abs=1e-12)


@settings(max_examples=25)
@given(small_lattices(words=["ab", "abc", "b", "c"]), sentences(["ab", "abc", "c"], max_size=4))
def test_characters_and_soft_matches(lattice: Lattice, candidate: list[str]) -> None:
    listed = posteriors(lattice, 1.0)
    for metric in (CER(), CER(spaces=False), WER(similarity=AffixSimilarity())):
        mean = sum(part * metric.against([words]).score(candidate) for words, part in listed)
        found = expected_metric(lattice, metric, [candidate])
        assert found.expected[0] == pytest.approx(mean, abs=1e-7)


@settings(max_examples=40)
@given(small_lattices(), st.sampled_from(METRICS), SCALES)
def test_all_strings_equal_exhaustive_decoding(
    lattice: Lattice, metric: AlignmentMetric, scale: float
) -> None:
    listed = posteriors(lattice, scale)
    sign = -1.0 if metric.higher_is_better else 1.0
    model: dict[tuple[str, ...], float] = {}
    for path in lattice.paths():
        model[path.tokens] = max(path.score, model.get(path.tokens, -math.inf))
    risk = {words: sign * expected(words, listed, metric) for words in model}
    least = min(risk.values())
    tied = [words for words in model if risk[words] <= least + 1e-10]
    found = mbr(lattice, metric, scale=scale, method=ExactRisk(candidates="all"))
    assert found.exact
    assert found.candidates == len(model)
    assert found.tokens in tied
    assert found.expected == pytest.approx(sign * least, abs=1e-9)
    best = max(model[words] for words in tied)
    assert found.hypothesis.score == pytest.approx(best)


@settings(max_examples=25)
@given(small_lattices(), sentences(max_size=4), st.randoms(use_true_random=False))
def test_neither_order_nor_split_mass_matters(
    lattice: Lattice, candidate: list[str], random: object
) -> None:
    arcs = [
        (int(src), int(dst), lattice.vocabulary.word(int(label)), float(score))
        for src, dst, label, score in zip(
            lattice.src, lattice.dst, lattice.label, lattice.score, strict=True
        )
    ]
    halves = [(*arc[:3], arc[3] + math.log(share)) for arc in arcs for share in (0.25, 0.75)]
    random.shuffle(halves)  # type: ignore[attr-defined]
    finals = {int(state): float(lattice.final[state]) for state in lattice.finals}
    split = Lattice.from_arcs(halves, finals=finals, states=lattice.num_states, start=lattice.start)
    for metric in (WER(), GRR()):
        before = expected_metric(lattice, metric, [candidate])
        after = expected_metric(split, metric, [candidate])
        assert after.expected[0] == pytest.approx(before.expected[0], abs=1e-11)


@settings(max_examples=25)
@given(small_lattices(max_arcs=7), sentences(max_size=4), st.sampled_from(METRICS))
def test_lists_and_evidence(
    lattice: Lattice, candidate: list[str], metric: AlignmentMetric
) -> None:
    paths = list(lattice.paths())
    whole = expected_metric(lattice, metric, [candidate])
    nbest = NBest.from_hypotheses(paths)
    assert expected_metric(nbest, metric, [candidate]).expected[0] == pytest.approx(
        whole.expected[0], abs=1e-9
    )
    weight = [part for _, part in posteriors(lattice, 1.0)]
    listed = expected_metric(Evidence(nbest, weight), metric, [candidate], budget=1)
    assert listed.expected[0] == pytest.approx(whole.expected[0], abs=1e-9)
    assert listed.evidence == len(paths)


@settings(max_examples=25)
@given(small_lattices(), small_lattices(), sentences(max_size=4))
def test_systems_are_mixed(one: Lattice, other: Lattice, candidate: list[str]) -> None:
    apart = [expected_metric(each, GRR(), [candidate]) for each in (one, other)]
    found = expected_metric([one, other], GRR(), [candidate], system_weights=[3, 1])
    assert found.expected[0] == pytest.approx(
        0.75 * apart[0].expected[0] + 0.25 * apart[1].expected[0]
    )


@settings(max_examples=25)
@given(small_forests(), sentences("abc", max_size=4))
def test_forests(forest: Forest, candidate: list[str]) -> None:
    lattice = to_lattice(forest)
    found = expected_metric(forest, GRR(), [candidate])
    mean = expected(tuple(candidate), posteriors(lattice, 1.0), GRR())
    assert found.expected[0] == pytest.approx(mean, abs=1e-9)


@settings(max_examples=40)
@given(sentences(unknown=(), max_size=7), sentences(max_size=9), st.sampled_from(METRICS))
def test_rows_are_those_of_the_general_machine(
    reference: list[str], sentence: list[str], metric: AlignmentMetric
) -> None:
    vocabulary = Vocabulary([*"abcd", "x", "<s>"])
    machine = metric.against([reference]).machine(vocabulary)
    # without the bonus that an empty reference has
    rows = RowMachine(make_explicit(machine.parts[0]), 9)
    words = ints(np.arange(1, len(vocabulary)))
    columns = alignment_set([machine.parts[0].automaton], words, 9)
    numbers = vocabulary.encode(sentence)
    table, gained = columns.read(0, ints(numbers - 1))
    other, others = rows.native.read(ints(numbers))
    # what is absent is a very low number, which one depends on the width of the integers
    assert np.maximum(table, -(2**29)).tolist() == np.maximum(other, -(2**29)).tolist()
    assert gained.tolist() == others.tolist()


def chain(words: int) -> Lattice:
    """Return a lattice whose rows are many."""
    arcs = [(state, state + 1, word) for state in range(words) for word in "abc"]
    return Lattice.from_arcs(arcs, finals=[words], id="wide")


def test_beyond_the_budget_is_sampled_and_says_so() -> None:
    lattice, candidates = chain(6), ["a b c a b c", "a a a a a a", ""]
    true = expected_metric(lattice, GRR(), candidates)
    found = expected_metric(lattice, GRR(), candidates, budget=20, samples=4000)
    assert true.exact.all()
    assert not found.exact.any()
    assert found.evidence == 4000
    assert (found.standard_error[:2] > 0).all()
    assert (np.abs(found.expected - true.expected) <= 5 * found.standard_error + 1e-12).all()
    again = expected_metric(lattice, GRR(), candidates, budget=20, samples=4000)
    assert again.expected.tolist() == found.expected.tolist()
    with pytest.raises(OptionError, match="'wide' takes more than 20 pairs"):
        expected_metric(lattice, GRR(), candidates, budget=20, beyond="raise")
    assert not mbr(lattice, GRR(), method=ExactRisk(budget=20, samples=100)).exact


def test_what_is_not_followed_is_reported() -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "a", 0.0), (0, 1, "b", -16.0), (1, 2, "c"), (1, 2, "d")], finals=[2]
    )
    found = expected_metric(lattice, WER(), ["a c"], negligible=1e-6)
    assert found.lost == pytest.approx(math.exp(-16.0), rel=1e-5)
    assert not found.exact.any()
    assert found.expected[0] == pytest.approx(0.25)


def test_empty_sentences() -> None:
    silent = Lattice.from_arcs([(0, 1, "", -1.0)], finals=[1])
    assert expected_metric(silent, WER(), ["", "a b"]).expected.tolist() == [0.0, 2.0]
    assert expected_metric(silent, GRR(), ["", "a b"]).expected.tolist() == [1.0, -1.0]
    assert mbr(silent, GRR(), method="exact").tokens == ()
    only = Lattice.from_arcs([], finals=[0], states=1)
    assert expected_metric(only, WRR(), [""]).expected.tolist() == [1.0]


def test_errors() -> None:
    lattice = chain(2)
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3)
    with pytest.raises(SpaceError, match="no complete path"):
        expected_metric(dead, WER(), ["a"])
    with pytest.raises(OptionError, match="no alignment metric"):
        expected_metric(lattice, TBLEU(), ["a"])
    with pytest.raises(OptionError, match="no numerator of its own"):
        expected_metric(lattice, BLEU(), ["a"], normalised=False)
    with pytest.raises(SpaceError, match="no complete path"):
        expected_metric(dead, BLEU(), ["a"])
    with pytest.raises(OptionError, match="takes more than 3 sentences"):
        expected_metric(lattice, BLEU(), ["a"], budget=30, beyond="raise")
    with pytest.raises(OptionError, match="scale"):
        expected_metric(lattice, WER(), ["a"], scale=math.nan)
    with pytest.raises(OptionError, match="beyond=stop"):
        expected_metric(lattice, WER(), ["a"], beyond="stop")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="budget"):
        expected_metric(lattice, WER(), ["a"], budget=0)
    with pytest.raises(OptionError, match="2 weights of systems"):
        expected_metric(lattice, WER(), ["a"], system_weights=[1, 1])
    with pytest.raises(OptionError, match="empty"):
        mbr(NBest.from_hypotheses([]), WER(), method="exact")
    with pytest.raises(OptionError, match="more than"):
        mbr(chain(9), WER(), method=ExactRisk(candidates="all"))
    nothing = expected_metric(lattice, WER(), [])
    assert nothing.expected.size == 0


def test_huge_scores_and_scales_are_no_problem() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", -1e5), (0, 1, "b", -2e5)], finals=[1])
    found = expected_metric(lattice, WER(), ["a", "b"], scale=20.0)
    assert found.expected.tolist() == [0.0, 1.0]
    assert found.exact.all()


def test_a_million_copies_of_one_entry() -> None:
    one = Hypothesis(("a",), 0.0)
    nbest = NBest.from_hypotheses([one] * 100_000 + [Hypothesis(("b",), 0.0)])
    found = expected_metric(nbest, WER(), ["a", "b"])
    assert found.expected == pytest.approx([1 / 100_001, 100_000 / 100_001])


def test_the_graph_of_many_sentences_has_each_prefix_once() -> None:
    # four words after each of many prefixes: a table of such pairs must not depend on the words
    words = np.random.default_rng(0).integers(1, 5, size=(3000, 20))
    graph = list_graph(
        ints(words.ravel()), ints(np.arange(0, words.size + 1, 20)), floats(np.ones(len(words)))
    )
    prefixes = {tuple(row[:end]) for row in words.tolist() for end in range(21)}
    assert graph.nodes == len(prefixes)
    ending = graph.length == 20
    assert np.array_equal(graph.stop, ending.astype(float))
    assert ending.sum() == len({tuple(row) for row in words.tolist()})


@pytest.mark.parametrize("metric", [WER(), GRR(n=2)], ids=str)
def test_sentences_are_scored_one_by_one_where_rows_take_too_much(metric):
    arcs = [(at, at + 1, word, 0.0) for at in range(12) for word in "abc"]
    lattice = Lattice.from_arcs(arcs, finals=[12])
    said = " ".join("abcabcabcabc")
    found = expected_metric(lattice, metric, [said], memory=500, samples=40)
    drawn = draw(lattice, 40, 0, 1.0)
    scores = [metric.against([drawn.tokens(at)]).score(said) for at in range(40)]
    assert found.expected[0] == pytest.approx(np.mean(scores))
    assert found.deviation[0] == pytest.approx(np.std(scores))
    assert (found.exact.tolist(), found.evidence) == ([False], 40)
    # the same where there is room for rows, of the same sentences
    rows = expected_metric(lattice, metric, [said], budget=1, samples=40)
    assert rows.expected[0] == pytest.approx(found.expected[0])
    with pytest.raises(TooLargeError, match=r"evidence take \d.* more than 500 bytes of memory"):
        expected_metric(lattice, metric, [said], memory=500, samples=40, normalised=False)
