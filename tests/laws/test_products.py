"""Products of spaces with metrics: every sentence has its score in them, by enumeration."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lattices
from decoding import best_paths, oracle, oracles
from fstmetrics import (
    BLEU,
    CER,
    GRR,
    WER,
    WRR,
    AffixSimilarity,
    LinearBLEU,
    Normalised,
    Wildcards,
    intersect,
    parse_metric,
)
from fstmetrics.combination import Combination
from fstmetrics.contract import Machine, compile_for
from fstmetrics.product import intersect_with_origin
from lattices import Forest, Hypothesis, Lattice
from lattices.errors import EngineError, OptionError, SpaceError, TooLargeError
from lattices.intersection import ENGINES
from lattices.intersection.product import lattice_product
from tests.judges import score_by_recursion
from tests.laws.test_intersection import METRICS
from tests.strategies import sentences, small_forests, small_lattices

#: what has a machine, and its tokens
KINDS = [
    WER(),
    WRR(),
    GRR(),
    GRR(n=2, alpha=-0.9, beta=1.0),
    GRR(n=3, alpha=0.5, similarity=AffixSimilarity(epsilon=0.9)),
    CER(),
    CER(spaces=False),
    LinearBLEU(order=2),
    Normalised(WER(), "lower"),
    Normalised(GRR(n=2), "drop:a|x"),
    WER(similarity=Wildcards(words="a|x")),
    GRR(n=3, similarity=Wildcards(words="b")),
    parse_metric("0.5*wrr + 0.5*grr"),
]

#: what cannot be intersected with forests over alignments, always or at times
NO_ALIGNMENTS = (LinearBLEU, Combination)
FEWER_TOKENS = (CER, Normalised)


def hypotheses(space: Lattice | Forest) -> Iterable[Hypothesis]:
    return space.paths() if isinstance(space, Lattice) else space.derivations()


def possible(space: Lattice | Forest, evaluator: Any) -> Any:
    """Return over what a space and a metric are intersected: alignments, where that can be."""
    metric = evaluator.metric
    if isinstance(space, Forest) and isinstance(metric, NO_ALIGNMENTS + FEWER_TOKENS):
        try:
            intersect(space, evaluator)
        except EngineError:
            return "sentences"
        assert not isinstance(metric, NO_ALIGNMENTS)
    return "alignments"


def value_of(tokens: tuple[str, ...], evaluator: Any) -> float:
    """Return the machine's value of a sentence: that of a lattice with one path."""
    arcs = [(place, place + 1, word) for place, word in enumerate(tokens)]
    line = Lattice.from_arcs(arcs, finals=[len(tokens)])
    prepared, machine = compile_for(line, evaluator)
    (found,) = ENGINES.get("kernel").best([(prepared.space, machine)])
    assert found is not None
    return found.value


def score_of(tokens: tuple[str, ...], evaluator: Any) -> float:
    if isinstance(evaluator.metric, LinearBLEU):
        return value_of(tokens, evaluator)
    score: float = evaluator.score(tokens)
    return score if evaluator.metric.higher_is_better else 1.0 - score


def original(hypothesis: Hypothesis, origin: Any) -> list[int]:
    """Return the arcs of the space behind a path of the product, in the order of the latter."""
    return [arc for arc in origin[list(hypothesis.arcs)].tolist() if arc >= 0]


def check_sums(product: Lattice | Forest, space: Lattice | Forest, origin: Any) -> None:
    """Every path has the score and the features of what is behind it, and its gain."""
    rows = np.zeros((len(space.score), 0)) if space.features is None else space.features.toarray()
    for found in hypotheses(product):
        arcs = original(found, origin)
        score, features = sum(space.score[arcs]), rows[arcs].sum(axis=0)
        if isinstance(space, Lattice):
            before = space.hypothesis(arcs)
            assert found.tokens == before.tokens
            score = before.score
            features = [before.features.get(name, 0.0) for name in space.feature_names]
        expected = dict(zip(space.feature_names, features, strict=False))
        for name, value in {**expected, "model": score, "gain": found.score}.items():
            assert found.features.get(name, 0.0) == pytest.approx(value, abs=1e-9)


def check(space: Lattice | Forest, evaluator: Any, over: Any) -> None:
    product, origin = intersect_with_origin(space, evaluator, over=over)
    assert type(product) is type(space)
    assert product.about == space.about
    assert product.feature_names == (*space.feature_names, "gain", "model")
    best: dict[tuple[str, ...], float] = defaultdict(lambda: -np.inf)
    for found in hypotheses(product):
        best[found.tokens] = max(best[found.tokens], found.score)
    assert best.keys() == {each.tokens for each in hypotheses(space)}
    for tokens, value in best.items():
        assert value == pytest.approx(score_of(tokens, evaluator), abs=1e-6)
    check_sums(product, space, origin)
    if over == "sentences":
        ways = Counter(tuple(sorted(original(each, origin))) for each in hypotheses(product))
        assert ways == Counter(tuple(sorted(each.arcs)) for each in hypotheses(space))
        for found in hypotheses(product):
            assert found.score == pytest.approx(score_of(found.tokens, evaluator), abs=1e-6)


@settings(max_examples=200, deadline=None)
@given(
    small_lattices(max_states=5, max_arcs=7),
    st.lists(sentences(max_size=3), min_size=1, max_size=2),
    st.one_of(METRICS, st.sampled_from(KINDS)),
    st.sampled_from(["alignments", "sentences"]),
)
def test_lattices(lattice, references, metric, over):
    check(lattice, metric.against([" ".join(words) for words in references]), over)


@settings(max_examples=200, deadline=None)
@given(
    small_forests(max_derivations=20),
    st.lists(sentences("abc", max_size=3), min_size=1, max_size=2),
    st.one_of(METRICS, st.sampled_from(KINDS)),
    st.sampled_from(["alignments", "sentences"]),
)
def test_forests(forest, references, metric, over):
    evaluator = metric.against([" ".join(words) for words in references])
    check(forest, evaluator, "sentences" if over == "sentences" else possible(forest, evaluator))


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(small_lattices(max_states=5, max_arcs=7), small_forests(max_derivations=20)),
    small_lattices(max_states=4, max_arcs=4),
    st.sampled_from([WER(), GRR(n=2), CER()]),
)
def test_references_that_are_lattices(space, reference, metric):
    evaluator = metric.against([reference])
    check(space, evaluator, "sentences")
    if isinstance(space, Forest):
        with pytest.raises(EngineError, match="only over=sentences"):
            intersect(space, evaluator)
        return
    check(space, evaluator, "alignments")


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(small_lattices(), small_forests()),
    st.lists(sentences("abc"), min_size=1, max_size=2),
    st.one_of(METRICS, st.sampled_from(KINDS)),
)
def test_the_best_of_the_product_is_an_oracle(space, references, metric):
    evaluator = metric.against([" ".join(words) for words in references])
    found = lattices.best(intersect(space, evaluator, over=possible(space, evaluator)))
    expected = oracle(space, evaluator)
    if not isinstance(metric, LinearBLEU):
        assert evaluator.score(found.tokens) == pytest.approx(expected.score)
    assert found.score == pytest.approx(score_of(expected.tokens, evaluator), abs=1e-6)


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(small_lattices(), small_forests()),
    st.lists(sentences("abc"), min_size=1, max_size=2),
    st.one_of(METRICS, st.sampled_from(KINDS)),
)
def test_best_paths_are_all_that_are_best(space, references, metric):
    evaluator = metric.against([" ".join(words) for words in references])
    values = {path.arcs: score_of(path.tokens, evaluator) for path in hypotheses(space)}
    highest = max(values.values())
    found = best_paths(space, evaluator)
    assert type(found) is type(space)
    assert (found.about, found.feature_names) == (space.about, space.feature_names)
    shown = Counter(
        (each.tokens, each.score, *sorted(each.features.items())) for each in hypotheses(found)
    )
    assert shown == Counter(
        (each.tokens, each.score, *sorted(each.features.items()))
        for each in hypotheses(space)
        if values[each.arcs] >= highest - 1e-7
    )


def test_what_a_lattice_has_is_kept() -> None:
    arcs = [(0, 1, "a", -1.0), (0, 1, "b"), (1, 2, ""), (1, 3, "c")]
    lattice = Lattice.from_arcs(
        arcs, finals={2: -0.5, 3: 0.0}, times=[0.0, 0.5, 0.75, 1.0], id="s1", metadata={"beam": 7}
    )
    evaluator = WER().against(["b"])
    for product in (
        intersect(lattice, evaluator),
        intersect(lattice, evaluator, over="sentences"),
        best_paths(lattice, evaluator),
    ):
        assert product.times is not None
        found = lattices.best(product)
        assert (found.text, product.about) == ("b", lattice.about)
        assert product.times[product.dst[list(found.arcs)]].max() == 0.75
    forest = Forest.from_edges(
        [(0, [], ["cat"]), (0, [], ["dog"]), (1, [0], ["the", 0])],
        categories=["N", "NP"],
        spans=np.array([(1, 2), (0, 2)]),
    )
    made = intersect(forest, WER().against(["the cat"]), over="sentences")
    assert set(made.categories) == {"N", "NP"}
    assert made.spans is not None
    assert made.spans[made.root].tolist() == [0, 2]
    assert "<svg" in str(made.plot())
    assert "<svg" in str(intersect(lattice, evaluator).plot(scores=True))


def test_what_cannot_be_intersected() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    evaluator = WER().against(["b"])
    product = intersect(lattice, evaluator)
    with pytest.raises(SpaceError, match="two features of the product would have one name"):
        intersect(product, evaluator)
    with pytest.raises(OptionError, match="over='words', expected alignments or sentences"):
        intersect(lattice, evaluator, over="words")  # type: ignore[arg-type]
    for function in (intersect, best_paths):
        with pytest.raises(OptionError, match="has no machine"):
            function(lattice, BLEU().against(["b"]))
        with pytest.raises(TooLargeError, match="2 lattice states"):
            function(lattice, evaluator, memory=10)
    with pytest.raises(TooLargeError, match="rows takes more than 1 pairs"):
        intersect(lattice, evaluator, over="sentences", budget=1)
    forest = Forest.from_lattice(lattice)
    with pytest.raises(TooLargeError):
        intersect(forest, evaluator, memory=10)
    with pytest.raises(TooLargeError, match="rows takes more than 1 pairs"):
        intersect(forest, evaluator, over="sentences", budget=1)
    # the machine reads "b" alone
    graph = evaluator.machine(lattice.vocabulary).to_networkx()
    graph.remove_edges_from([edge for edge in graph.edges if graph.edges[edge]["word"] is None])
    strict = Machine.from_networkx(graph, lattice.vocabulary)
    assert [path.text for path in lattice_product(lattice, strict).space.paths()] == ["b"]
    with pytest.raises(SpaceError, match="reads no sentence of lattice ''"):
        lattice_product(Lattice.from_arcs([(0, 1, "x")], finals=[1]), strict)


@settings(max_examples=200, deadline=None)
@given(
    small_lattices(exact=True),
    st.lists(sentences(), min_size=1, max_size=2),
    st.one_of(METRICS, st.sampled_from(KINDS[:5])),
    st.sampled_from([0.0, 0.5]),
)
def test_openfst_composes_with_the_lattice(lattice, references, metric, weight):
    pynini = pytest.importorskip("pynini")
    evaluator = metric.against([" ".join(words) for words in references])
    machine = evaluator.machine(lattice.vocabulary)
    words = lattices.to_fst(
        lattice.replaced(score=0.5 * lattice.score, final=0.5 * lattice.final),
        scores=weight > 0,
        symbols=True,
    )
    composed = pynini.compose(words, machine.to_fst(lattice, symbols=True))
    found = lattices.best(lattices.from_fst(pynini.shortestpath(composed)))
    expected = oracle(lattice, evaluator, model_weight=weight)
    value = score_of(expected.tokens, evaluator) + weight * expected.hypothesis.score
    assert found.score == pytest.approx(value, abs=1e-4)
    if not weight:
        assert evaluator.score(found.tokens) == pytest.approx(expected.score, abs=1e-5)


@pytest.mark.parametrize("metric", [WER(), GRR()], ids=str)
def test_real_lattices(metric, shared_data) -> None:
    """OpenFst's composition and ours, on all held lattices."""
    pynini = pytest.importorskip("pynini")
    path = shared_data / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz"
    rng = np.random.default_rng(1)
    held = list(islice(lattices.read(path), 200))
    evaluators = [metric.against(lattice.references) for lattice in held]
    for lattice, evaluator, best in zip(held, evaluators, oracles(held, evaluators), strict=True):
        machine = evaluator.machine(lattice.vocabulary)
        words = lattices.to_fst(lattice, scores=False)
        fst = pynini.shortestpath(pynini.compose(words, machine.to_fst(lattice)))
        composed = lattices.best(lattices.from_fst(fst, lattice.vocabulary))
        found = lattices.best(intersect(lattice, evaluator))
        all_best = best_paths(lattice, evaluator)
        for each in (composed, found, lattices.best(all_best)):
            assert evaluator.score(each.tokens) == best.score
        for each in (composed, found):
            assert each.score == pytest.approx(score_of(best.tokens, evaluator), abs=1e-5)
        assert lattices.best(all_best).score == pytest.approx(best.hypothesis.score)
        assert evaluator.score(lattices.sample(all_best, 1, rng)[0].tokens) == best.score


@given(small_lattices(), sentences("abc"), st.sampled_from([WER(), GRR(n=2), BLEU(smooth="add-k")]))
def test_the_best_entries_of_lists(lattice, reference, metric):
    evaluator = metric.against([" ".join(reference)])
    nbest = lattices.NBest.from_hypotheses(lattice.paths())
    scores = [evaluator.score(each.tokens) for each in nbest]
    highest = (max if metric.higher_is_better else min)(scores)
    found = best_paths(nbest, evaluator)
    assert [each.tokens for each in found] == [
        each.tokens
        for each, score in zip(nbest, scores, strict=True)
        if score == pytest.approx(highest, abs=1e-9)
    ]
    assert lattices.best(found).tokens == oracle(nbest, evaluator).tokens


@settings(max_examples=300, deadline=None)
@given(sentences(max_size=4), sentences(max_size=4), st.sampled_from([WER(), WRR(), GRR(n=3)]))
def test_wildcards_match_any_word(hypothesis, reference, metric):
    """By the recursion, where a wildcard is equal to every word."""

    class Wild(str):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = str.__hash__

    wild = replace(metric, similarity=Wildcards(words="a|x"))
    left, right = (
        [Wild(word) if word in ("a", "x") else word for word in words]
        for words in (hypothesis, reference)
    )
    evaluator = wild.against([" ".join(reference)])
    expected = score_by_recursion(left, [right], metric)
    assert score_of(tuple(hypothesis), evaluator) == pytest.approx(expected)
    assert value_of(tuple(hypothesis), evaluator) == pytest.approx(expected)
