from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import lattices
from decoding import oracle, oracle_kbest, worst
from decoding.reranking import rerank
from fstmetrics import BLEU, GRR, WER
from lattices import Forest, Hypothesis, Lattice, NBest, SpaceError
from lattices.algorithms import k_best_paths
from lattices.algorithms.kbest import list_of_paths
from tests.strategies import small_lattices

texts = st.lists(st.sampled_from("abc"), max_size=5).map(tuple)


def parallel_paths(hypotheses):
    """Return the lattice of some sentences, each on arcs of its own; none of them is empty."""
    arcs, states = [], 2
    for tokens, score in hypotheses:
        at = 0
        for place, word in enumerate(tokens):
            to = 1 if place == len(tokens) - 1 else states
            arcs.append((at, to, word, 0.0 if place else score))
            at, states = to, states + 1
    return Lattice.from_arcs(arcs, finals=[1], states=states)


# equal scores that floats make differ: 2/3 as 1 - 1/3 or as (2 + 1 - 3/3) / 3
TIES = [
    (GRR(alpha=1 / 3, beta=-0.5), ["a b", ""], "a a a a b", "a"),
    (GRR(alpha=1 / 3, beta=-0.5), ["a b", ""], "a a a x b", "x x"),
]


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(("metric", "references", "one", "other"), TIES)
def test_ties_are_those_of_lattices(metric, references, one, other, k):
    """Whole units are compared, not floats: of equals the better model score wins."""
    evaluator = metric.against(references)
    assert evaluator.score(one) == pytest.approx(evaluator.score(other), abs=1e-15)
    for first, second in ((one, other), (other, one)):
        some = [(tuple(first.split()), -1.0), (tuple(second.split()), -2.0)]
        nbest = NBest.from_hypotheses([Hypothesis(*each) for each in some])
        for space in (nbest, parallel_paths(some), Forest.from_lattice(parallel_paths(some))):
            for search in (oracle_kbest, worst):
                assert search(space, evaluator, k)[0].text == first


words = st.lists(st.sampled_from("abc"), min_size=1, max_size=5).map(tuple)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(words, st.sampled_from([-1.0, -2.0, -4.0])), min_size=2, max_size=6),
    st.lists(texts, min_size=1, max_size=3),
    st.sampled_from([GRR(n=3, alpha=1 / 3, beta=-0.5), GRR(n=2, alpha=0.7, beta=0.1), WER()]),
    st.sampled_from([oracle_kbest, worst]),
)
def test_lists_rank_as_lattices_do(some, references, metric, search):
    evaluator = metric.against(references)
    nbest = NBest.from_hypotheses([Hypothesis(*each) for each in some])
    (of_list,) = search(nbest, evaluator, 1)
    (of_lattice,) = search(parallel_paths(some), evaluator, 1)
    assert of_list.score == pytest.approx(of_lattice.score, abs=1e-12)
    assert of_list.hypothesis.score == of_lattice.hypothesis.score


def test_scores_that_differ_by_rounding_are_ties_without_a_machine():
    class Noisy(BLEU):
        def scores(self, rows):
            return np.array([0.3, 0.1 + 0.2])[: len(rows)]

    nbest = NBest.from_hypotheses([Hypothesis(("a", "b"), -1.0), Hypothesis(("a",), -2.0)])
    assert oracle(nbest, Noisy().against(["a"])).text == "a b"


def test_reranking():
    rows = [("a", 1.0, 0.0), ("b b", 2.0, 1.0), ("c", 1.0, 0.0), ("", 0.0, 5.0)]
    nbest = NBest.from_hypotheses(
        [Hypothesis(tuple(text.split()), 9.0, {"lm": lm, "tm": tm}) for text, lm, tm in rows],
        id="seg-7",
        metadata={"extra": ["one", "two", "three", "four"]},
    )
    found = rerank(nbest, {"lm": 1.0, "tm": -0.5})
    assert [(each.text, each.score) for each in found] == [
        ("b b", 1.5), ("a", 1.0), ("c", 1.0), ("", -2.5)
    ]  # fmt: skip
    assert found.id == "seg-7"
    assert found.metadata["extra"] == ["two", "one", "three", "four"]
    assert [each.features for each in found] == [nbest[entry].features for entry in (1, 0, 2, 3)]
    with pytest.raises(SpaceError, match="no features"):
        rerank(NBest.from_hypotheses([Hypothesis(("a",), 0.0)]), {"lm": 1.0})


def test_reranking_with_the_decoders_weights_gives_its_order(shared_data):
    folder = shared_data / "multi30k-deen"
    # the list's names are not those of the weights, but their order is
    lines = (folder / "weights.de-en").read_text("utf-8").splitlines()
    weights = [float(line.split()[1]) for line in lines]
    for nbest in islice(lattices.read(folder / "val.de-en.100best.gz"), 5):
        found = rerank(nbest, weights)
        assert found.score == pytest.approx(np.sort(nbest.score)[::-1], abs=1e-3)


@given(small_lattices(features=True), st.integers(1, 5))
def test_features_of_paths_are_the_sums_of_those_of_their_arcs(lattice, k):
    """As a product of sparse matrices has them: bit by bit, and without zeros."""
    paths = k_best_paths(lattice, k)
    bounds = pairwise(paths.offset.tolist())
    ends = [lattice.dst[paths.arcs[b - 1]] if b > a else lattice.start for a, b in bounds]
    used = csr_array(
        (np.ones(len(paths.arcs)), paths.arcs, paths.offset), shape=(len(ends), lattice.num_arcs)
    )
    judge = csr_array(used @ lattice.features + lattice.final_features[ends])
    judge.sort_indices()
    found = list_of_paths(lattice, paths).features
    for name in ("data", "indices", "indptr", "shape"):
        assert np.array_equal(getattr(found, name), getattr(judge, name))
