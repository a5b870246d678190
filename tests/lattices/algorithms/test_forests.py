"""Forests that are deep, wide, tied throughout or impossible to write out; and wrong options."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lattices import Forest, Lattice, OptionError, SpaceError, Vocabulary
from lattices.algorithms import (
    best,
    best_path,
    density,
    inside,
    k_best,
    k_best_paths,
    log_path_count,
    max_marginals,
    outside,
    path_count,
    path_lengths,
    posteriors,
    prune,
    prune_beam,
    prune_density,
    prune_posterior,
    sample,
    sample_paths,
    sentence_count,
    subset,
    to_lattice,
    total,
    trim,
    union,
)
from lattices.algorithms.semirings import COUNT, VITERBI

DEEP = 100_000


def chain(length: int, *sides: list[str | int], score: float = 0.0) -> Forest:
    """Return a chain of nodes, each with one edge for each target side, and "x" at its foot."""
    rows = [(0, [], ["x"], 0.0)]
    rows += [
        (node + 1, [node], side, score * place)
        for node in range(length)
        for place, side in enumerate(sides)
    ]
    return Forest.from_edges(rows)


def doubling(depth: int) -> Forest:
    """Return a forest whose derivations have ``2 ** depth`` words, "a" or "b" each."""
    rows = [(0, [], ["a"], -1.0), (0, [], ["b"], -2.0)]
    return Forest.from_edges(
        [*rows, *((node + 1, [node, node], [0, 1], 0.0) for node in range(depth))]
    )


@pytest.mark.parametrize("side", [[0, "a"], ["a", 0]])
def test_a_deep_chain_overflows_nothing(side):
    forest = chain(DEEP, side, [0], score=-1.0)
    found = best(forest)
    assert (len(found.tokens), found.score) == (DEEP + 1, 0.0)
    assert found == forest.hypothesis(found.arcs)
    assert [(len(one.tokens), one.score) for one in k_best(forest, 3)] == [
        (DEEP + 1, 0.0),
        (DEEP, -1.0),
        (DEEP, -1.0),
    ]
    assert total(forest, VITERBI) == 0.0
    assert total(forest) == pytest.approx(DEEP * math.log1p(math.exp(-1.0)), rel=1e-9)
    assert outside(forest)[0] == pytest.approx(total(forest), rel=1e-9)
    counts = posteriors(forest)
    assert counts.nodes == pytest.approx(1.0, abs=1e-6)
    assert counts.edges[forest.head == forest.root].sum() == pytest.approx(1.0, abs=1e-12)
    assert log_path_count(forest) == pytest.approx(DEEP * math.log(2.0), rel=1e-9)
    assert path_lengths(forest) == (1, DEEP + 1)
    drawn = sample(forest, 2, np.random.default_rng(1))
    assert [len(one.arcs) for one in drawn] == [DEEP + 1, DEEP + 1]
    for smaller in (
        prune_beam(forest, 0.5),
        prune_posterior(forest, 0.5),
        prune_density(forest, 1),
    ):
        assert smaller.num_edges == DEEP + 1
        assert sentence_count(smaller) == 1
    assert trim(forest).arcs_removed == 0
    assert to_lattice(forest).num_arcs == 2 * DEEP + 1
    assert union([forest, forest]).num_nodes == 2 * DEEP + 3


def test_a_chain_of_ties():
    forest = chain(2000, [0, "a"], ["a", 0], [0], score=-1.0)
    found = k_best(forest, 3, distinct=True)
    assert [(one.text.index("x"), one.score) for one in found] == [(0, 0.0), (2, -1.0), (0, -2.0)]
    assert path_count(forest) == 3**2000
    tied = chain(2000, [0, "a"], [0, "a"])
    assert best(tied).arcs == (*range(2 * 2000 - 1, 0, -2), 0)


def test_derivations_too_large_to_write_out_are_an_error_and_all_else_is_not():
    forest = doubling(100)
    assert total(forest, VITERBI) == -(2.0**100)
    assert inside(forest, COUNT)[3] == 2.0**8
    assert path_lengths(forest) == (2**100, 2**100)
    assert posteriors(forest).nodes[0] == pytest.approx(2.0**100, rel=1e-9)
    assert log_path_count(forest) == pytest.approx(2.0**100 * math.log(2.0), rel=1e-12)
    assert max_marginals(forest).arc_loss.tolist()[:2] == [0.0, 1.0]
    assert trim(forest).space is forest
    for ask in (
        best,
        best_path,
        density,
        lambda large: k_best(large, 2),
        lambda large: sample(large, 1, np.random.default_rng(0)),
    ):
        with pytest.raises(SpaceError, match="more than 1048576 edges or words"):
            ask(forest)
    with pytest.raises(SpaceError, match="too many to count exactly"):
        path_count(forest)
    for ask in (to_lattice, sentence_count):
        with pytest.raises(SpaceError, match="more than 1000 states"):
            ask(forest, max_states=1000)


def test_counts_beyond_floats_are_exact():
    assert path_count(doubling(5)) == 2**32
    assert path_count(doubling(6)) == 2**64
    # what no derivation uses may be without number, and must not count
    rows = [(0, [], ["a"]), (0, [], ["b"])]
    rows += [(node + 1, [node] * 3, [0, 1, 2]) for node in range(8)]
    dead = [(10, [8, 9], [0, 1]), (10, [1], [0])]
    forest = Forest.from_edges([*rows, *dead], nodes=11)
    assert path_count(forest) == 8
    assert inside(forest, COUNT)[[8, 9, 10]].tolist() == [math.inf, 0.0, 8.0]
    assert outside(forest, COUNT)[[0, 8, 9]].tolist() == [12.0, 0.0, math.inf]


def test_ties_all_come_and_always_in_the_same_order():
    rows = [(0, [], ["b"]), (0, [], ["a", "a"]), (0, [], []), (0, [], ["a"]), (0, [], ["a"])]
    forest = Forest.from_edges(rows)
    found = k_best(forest, 9)
    assert sorted((one.text, one.arcs) for one in found) == [
        ("", (2,)), ("a", (3,)), ("a", (4,)), ("a a", (1,)), ("b", (0,)),
    ]  # fmt: skip
    assert k_best(forest, 9) == found
    assert sorted(one.text for one in k_best(forest, 9, distinct=True)) == ["", "a", "a a", "b"]


def test_reordered_slots_say_their_words_in_the_order_of_the_target_side():
    rows = [(0, [], ["a"]), (1, [], ["b"]), (2, [0, 1], [1, 0]), (2, [1, 0], [1, 0])]
    found = k_best(Forest.from_edges(rows), 2)
    assert {(one.text, one.arcs) for one in found} == {("a b", (3, 1, 0)), ("b a", (2, 0, 1))}


def test_sentences_are_the_same_whatever_their_derivations_are_made_of():
    rows = [(0, [], ["a"]), (0, [], ["a", "b"]), (1, [], ["b", "c"]), (1, [], ["c"]), (2, [], [])]
    rows += [(3, [2, 0, 1], [0, 1, 2]), (3, [0, 1], [0, 1]), (3, [1], ["a", "b", 0])]
    found = k_best(Forest.from_edges(rows), 99, distinct=True)
    assert sorted(one.text for one in found) == ["a b b c", "a b c", "a c"]


def test_empty_parts_make_no_difference_between_sentences():
    rows = [(0, [], []), (0, [], ["a"]), (1, [0, 0], [0, 1])]
    found = k_best(Forest.from_edges(rows), 9, distinct=True)
    assert sorted(one.text for one in found) == ["", "a", "a a"]
    assert len({one.arcs for one in found}) == 3


def test_ties_without_end():
    rows = [(0, [], ["b"]), (0, [], ["a"]), *((n + 1, [0, n], [0, 1]) for n in range(60))]
    forest = Forest.from_edges(rows)
    found = k_best(forest, 4, distinct=True)
    assert len({one.tokens for one in found}) == 4
    assert [one.score for one in found] == [0.0] * 4


def test_sentences_that_fool_a_hash_of_machine_words_are_told_apart():
    # Thue-Morse words collide under every polynomial modulo 2 ** 64
    one, other = ["a"], ["b"]
    for _ in range(11):
        one, other = one + other, other + one
    forest = Forest.from_edges([(0, [], one), (0, [], other), (1, [0, 0], [0, 1])])
    assert len(k_best(forest, 9, distinct=True)) == 4


def test_a_sentence_with_very_many_derivations_comes_once():
    rows = [(0, [], ["a"])] * 5 + [(0, [], ["b"])] * 5
    rows += [(node + 1, [node, 0], [0, 1]) for node in range(39)] * 2
    found = k_best(Forest.from_edges(rows), 50, distinct=True)
    assert len({one.tokens for one in found}) == 50
    only = [(0, [], ["a"])] * 2 + [(node + 1, [node, 0], [0, 1]) for node in range(39)]
    assert [one.text for one in k_best(Forest.from_edges(only), 2, distinct=True)] == [
        "a " * 39 + "a"
    ]


def test_stores_grow():
    rows = [(0, [], ["a"], -0.5), (0, [], ["b"], -0.75), (0, [], ["b"], -1.0)]
    rows += [(node + 1, [node, 0, node], [2, 1, 0]) for node in range(3)]
    forest = Forest.from_edges(rows)
    assert path_count(forest) == 3**15
    derivations = k_best_paths(forest, 20_000)
    assert len({tuple(row) for row in derivations.arcs.reshape(20_000, -1).tolist()}) == 20_000
    scores = forest.score[derivations.arcs].reshape(20_000, -1).sum(1)
    assert (np.diff(scores) <= 0.0).all()
    sentences = k_best(forest, 40_000, distinct=True)
    assert len({one.tokens for one in sentences}) == len(sentences) == 2**15


def test_scores_far_from_zero_neither_overflow_nor_vanish():
    for far in (-1e5, 1e5):
        rows = [(0, [], ["a"], far), (0, [], ["b"], far - math.log(3)), (1, [0, 0], [0, 1])]
        forest = Forest.from_edges(rows)
        np.testing.assert_allclose(posteriors(forest).edges, [1.5, 0.5, 1.0], rtol=1e-9)
        assert total(forest) == pytest.approx(2 * far + 2 * math.log(4 / 3), rel=1e-12)


def test_edges_that_tie_at_the_boundary_go_together():
    rows = [(0, [], ["a"], 0.0), (0, [], ["b"], -1.0), (0, [], ["c"], -1.0), (0, [], ["d"], -2.0)]
    forest = Forest.from_edges(rows)
    kept = {wanted: prune_density(forest, wanted).num_edges for wanted in (1.0, 2.0, 3.0, 3.9, 4.0)}
    assert kept == {1.0: 1, 2.0: 1, 3.0: 3, 3.9: 3, 4.0: 4}


def test_an_empty_best_sentence_counts_as_one_word():
    assert density(Forest.from_edges([(0, [], ["a"], -1.0), (0, [], [])])) == 2.0


def test_a_subset_keeps_what_is_said_of_the_segment_and_its_nodes():
    forest = Forest.from_edges(
        [(0, [], ["a"]), (1, [], ["b"]), (2, [0], [0]), (2, [1], [0])],
        categories=["A", "B", "S"],
        spans=[[0, 1], [1, 2], [0, 2]],
        id="one",
        source="x",
        references=["a"],
        metadata={"key": 1},
    )
    found = subset(forest, [True, True, False, True])
    assert found.categories == ("B", "S")
    assert found.spans is not None
    assert found.spans.tolist() == [[1, 2], [0, 2]]
    assert (found.id, found.source, found.references, found.metadata) == (
        "one",
        "x",
        ("a",),
        {"key": 1},
    )


def test_a_union_merges_names_and_keeps_what_all_have():
    one = Forest.from_edges(
        [(0, [], ["a"], 0.0, {"lm": 1.0, "tm": 2.0})],
        categories=["X"],
        spans=[[0, 1]],
        vocabulary=Vocabulary(["a"]),
    )
    other = Forest.from_edges(
        [(0, [], ["b", "a"], 0.0, {"tm": 3.0, "wp": 4.0}), (1, [0], [0, "b"])],
        categories=["Y", "Z"],
        spans=[[1, 2], [1, 3]],
        id="two",
        source="s",
        references=["r"],
        metadata={"key": 1},
    )
    found = union([one, other])
    assert found.vocabulary is one.vocabulary
    assert found.feature_names == ("lm", "tm", "wp")
    assert {path.text: path.features for path in found.derivations()} == {
        "a": {"lm": 1.0, "tm": 2.0},
        "b a b": {"tm": 3.0, "wp": 4.0},
    }
    assert found.categories == ("X", "Y", "Z", "X")
    assert found.spans is not None
    assert found.spans.tolist() == [[0, 1], [1, 2], [1, 3], [0, 3]]
    assert (found.id, found.source, found.references, found.metadata) == (
        "two",
        "s",
        ("r",),
        {"key": 1},
    )
    plain = union([found, Forest.from_edges([(0, [], ["c"])])])
    assert (plain.categories, plain.spans) == ((), None)
    assert union([one]) is one


def test_only_spaces_of_one_kind_have_a_union():
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    with pytest.raises(OptionError, match="expected either"):
        union([Forest.from_lattice(lattice), lattice])
    with pytest.raises(OptionError, match="no lattices"):
        union([])


def test_the_seed_decides():
    forest = chain(20, [0, "a"], ["a", 0])
    one = sample_paths(forest, 50, np.random.default_rng(3)).arcs.tolist()
    assert one == sample_paths(forest, 50, np.random.default_rng(3)).arcs.tolist()
    assert one != sample_paths(forest, 50, np.random.default_rng(4)).arcs.tolist()
    assert sample(forest, 0, np.random.default_rng(0)) == []


def test_options_are_checked():
    forest = chain(2, [0], [0, "a"])
    with pytest.raises(OptionError, match="k is 0"):
        k_best(forest, 0)
    with pytest.raises(TypeError):
        k_best(forest, 1.5)
    with pytest.raises(OptionError, match="n is -1"):
        sample(forest, -1, np.random.default_rng(0))
    with pytest.raises(OptionError, match="default_rng"):
        sample(forest, 1, 42)
    with pytest.raises(OptionError, match="scale"):
        sample(forest, 1, np.random.default_rng(0), scale=np.nan)
    with pytest.raises(OptionError, match="one bool for each of 5 edges"):
        subset(forest, [True])
    with pytest.raises(OptionError, match="one bool for each of 5 edges"):
        subset(forest, [1, 0, 1, 0, 1])
    with pytest.raises(OptionError, match="0 ways"):
        prune(forest)
    with pytest.raises(OptionError, match="2 ways"):
        prune(forest, beam=1.0, density=2.0)
    for ask, value in ((prune_beam, -1.0), (prune_density, 0.0), (prune_posterior, 1.5)):
        with pytest.raises(OptionError, match="expected"):
            ask(forest, value)
        with pytest.raises(OptionError, match="expected"):
            ask(forest, np.nan)
    for ask in (to_lattice, sentence_count):
        with pytest.raises(OptionError, match="max_states is 0"):
            ask(forest, max_states=0)


def test_no_derivation_is_taken_for_another():
    forest = chain(1, [0, "a"], ["a", 0])
    with pytest.raises(SpaceError, match="more edges"):
        forest.hypothesis([1, 0, 0])
    with pytest.raises(SpaceError, match="fewer edges"):
        forest.hypothesis([1])
    with pytest.raises(SpaceError, match="fewer edges"):
        forest.hypothesis([])
    with pytest.raises(SpaceError, match="edge 0 where one with the head 1 is needed"):
        forest.hypothesis([0, 1])
    with pytest.raises(SpaceError, match="edge 7 where"):
        forest.hypothesis([1, 7])
