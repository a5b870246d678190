"""Algorithms over forests against all their derivations, and against those over lattices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from lattices import Forest, Hypothesis, OptionError, SpaceError
from lattices.algorithms import (
    Trimmed,
    best,
    best_path,
    density,
    density_masks,
    hypotheses,
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
    sample,
    sentence_count,
    subset,
    to_lattice,
    total,
    trim,
    union,
)
from lattices.algorithms.semirings import COUNT, LOG, VITERBI, Semiring
from tests.strategies import small_forests, small_lattices

semirings = st.sampled_from([VITERBI, LOG, COUNT])
scales = st.sampled_from([1.0, 0.5, 3.0, 0.0, -1.0])


def in_order(found: Hypothesis) -> tuple[float, int, tuple[str, ...], tuple[int, ...]]:
    return -found.score, len(found.tokens), found.tokens, found.arcs


def contents(found: list[Hypothesis]) -> Counter[tuple[object, ...]]:
    return Counter((one.tokens, one.score, tuple(sorted(one.features.items()))) for one in found)


def by_sentence(forest: Forest) -> list[Hypothesis]:
    first: dict[tuple[str, ...], Hypothesis] = {}
    for found in sorted(forest.derivations(), key=in_order):
        first.setdefault(found.tokens, found)
    return list(first.values())


def rooted(forest: Forest, node: int) -> list[tuple[int, ...]]:
    """Return the derivations of any node, by recursion."""
    found: list[tuple[int, ...]] = []
    for edge in np.flatnonzero(forest.head == node).tolist():
        parts: list[tuple[int, ...]] = [(edge,)]
        for tail in forest.tail[forest.tail_offset[edge] : forest.tail_offset[edge + 1]].tolist():
            parts = [(*part, *rest) for part in parts for rest in rooted(forest, tail)]
        found += parts
    return found


def around(forest: Forest, node: int) -> list[tuple[int, ...]]:
    """Return all ways to stand around one use of a node, by recursion from the top."""

    def below(top: int) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = [()] if top == node else []
        for edge in np.flatnonzero(forest.head == top).tolist():
            tails = forest.tail[forest.tail_offset[edge] : forest.tail_offset[edge + 1]].tolist()
            for hole in range(len(tails)):
                parts: list[tuple[int, ...]] = [(edge,)]
                for place, tail in enumerate(tails):
                    rests = below(tail) if place == hole else rooted(forest, tail)
                    parts = [(*part, *rest) for part in parts for rest in rests]
                found += parts
        return found

    return below(forest.root)


def summed(semiring: Semiring, forest: Forest, uses: list[tuple[int, ...]], scale: float) -> float:
    value = semiring.zero
    for edges in uses:
        score = scale * float(forest.score[list(edges)].sum())
        value = semiring.plus(value, 1.0 if semiring is COUNT else score)
    return value


def shares(found: list[Hypothesis], scale: float) -> np.ndarray:
    scores = scale * np.array([one.score for one in found])
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def within(forest: Forest, keep: Callable[[int], bool]) -> list[Hypothesis]:
    return [found for found in forest.derivations() if all(map(keep, found.arcs))]


def best_by_edge(forest: Forest) -> dict[int, float]:
    """Return the score of the best derivation that uses each edge."""
    found: dict[int, float] = {}
    for one in forest.derivations():
        for edge in one.arcs:
            found[edge] = max(found.get(edge, -np.inf), one.score)
    return found


def assert_trimmed(forest: Forest) -> None:
    used = {edge for found in forest.derivations() for edge in found.arcs}
    assert used == set(range(forest.num_edges))
    assert {forest.root, *forest.head.tolist()} == set(range(forest.num_nodes))


@given(small_forests(), semirings, scales)
def test_inside_sums_over_the_derivations_of_each_node(forest, semiring, scale):
    expected = [
        summed(semiring, forest, rooted(forest, node), scale) for node in range(forest.num_nodes)
    ]
    np.testing.assert_allclose(inside(forest, semiring, scale), expected, rtol=0, atol=1e-12)
    assert total(forest, semiring, scale) == pytest.approx(expected[forest.root], abs=1e-12)


@given(small_forests(), semirings, scales)
def test_outside_sums_over_all_that_stands_around_each_node(forest, semiring, scale):
    expected = [
        summed(semiring, forest, around(forest, node), scale) for node in range(forest.num_nodes)
    ]
    np.testing.assert_allclose(outside(forest, semiring, scale), expected, rtol=0, atol=1e-11)


@given(small_forests(), scales)
def test_posteriors_are_expected_counts(forest, scale):
    found = list(forest.derivations())
    edges, nodes = np.zeros(forest.num_edges), np.zeros(forest.num_nodes)
    for one, share in zip(found, shares(found, scale), strict=True):
        for edge in one.arcs:
            edges[edge] += share
            nodes[forest.head[edge]] += share
    counts = posteriors(forest, scale)
    np.testing.assert_allclose(counts.edges, edges, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(counts.nodes, nodes, rtol=1e-10, atol=1e-12)
    assert counts.edges[forest.head == forest.root].sum() == pytest.approx(1.0, abs=1e-12)


@given(small_forests(exact=True))
def test_the_best_is_a_derivation_of_the_highest_score(forest):
    found, derivations = best(forest), list(forest.derivations())
    assert found in derivations
    assert found.score == max(one.score for one in derivations)
    # among ties always the same
    assert found == best(forest) == best(forest.replaced(id="again"))


@given(small_forests(exact=False))
def test_the_score_is_the_highest_there_is(forest):
    assert best(forest).score == max(found.score for found in forest.derivations())


@given(small_forests(exact=True), st.randoms(use_true_random=False))
def test_the_order_of_edges_changes_no_sentence(forest, random):
    rows = [
        (
            int(forest.head[edge]),
            forest.tail[forest.tail_offset[edge] : forest.tail_offset[edge + 1]].tolist(),
            [
                forest.vocabulary.word(symbol) if symbol > 0 else -1 - symbol
                for symbol in forest.symbol[
                    forest.symbol_offset[edge] : forest.symbol_offset[edge + 1]
                ].tolist()
            ],
            float(forest.score[edge]),
        )
        for edge in range(forest.num_edges)
    ]
    random.shuffle(rows)
    shuffled = Forest.from_edges(rows, root=forest.root, nodes=forest.num_nodes)
    for distinct in (False, True):
        expected, found = k_best(forest, 20, distinct), k_best(shuffled, 20, distinct)
        assert [one.score for one in found] == [one.score for one in expected]
        # the last score may have others that tie with it, and any of them may be given
        last = expected[-1].score
        assert Counter((one.tokens, one.score) for one in found if one.score > last) == Counter(
            (one.tokens, one.score) for one in expected if one.score > last
        )


@given(small_forests(exact=True), st.integers(1, 80))
def test_all_derivations_in_order(forest, k):
    every = {found.arcs: found for found in forest.derivations()}
    found = k_best(forest, k)
    assert [one.score for one in found] == sorted(
        (one.score for one in every.values()), reverse=True
    )[:k]
    assert len({one.arcs for one in found}) == len(found)
    assert all(every[one.arcs] == one for one in found)
    assert k_best(forest, k) == found


@given(small_forests(exact=True, words="ab"), st.integers(1, 80))
def test_all_sentences_in_order(forest, k):
    every = {found.arcs: found for found in forest.derivations()}
    best_of = {found.tokens: found.score for found in by_sentence(forest)}
    found = k_best(forest, k, distinct=True)
    assert [one.score for one in found] == sorted(best_of.values(), reverse=True)[:k]
    assert len({one.tokens for one in found}) == len(found)
    assert all(best_of[one.tokens] == one.score for one in found)
    assert all(every[one.arcs] == one for one in found)
    assert k_best(forest, k, distinct=True) == found


@given(small_forests(exact=False))
def test_scores_are_exact_whatever_the_rounding(forest):
    everything = k_best(forest, 10**6)
    assert [found.score for found in everything] == sorted(
        (found.score for found in forest.derivations()), reverse=True
    )
    assert len({found.arcs for found in everything}) == len(everything)
    sentences = k_best(forest, 10**6, distinct=True)
    assert [found.score for found in sentences] == [found.score for found in by_sentence(forest)]
    assert everything[0].score == sentences[0].score == best(forest).score


@given(small_forests())
def test_many_hypotheses_are_those_made_one_by_one(forest):
    found = list(forest.derivations())
    made = hypotheses(forest, k_best_paths(forest, 100))
    assert contents(made) == contents(found)
    assert {one.arcs for one in made} == {one.arcs for one in found}


def walked(forest: Forest, rng: np.random.Generator, scale: float) -> tuple[int, ...]:
    """Draw one derivation by inverting the distribution over all of them, edge by edge."""
    left = [(one.arcs, math.exp(scale * one.score)) for one in forest.derivations()]
    walk: tuple[int, ...] = ()
    while True:
        if left[0][0] == walk:
            return walk
        masses: dict[int, float] = {}
        for edges, mass in left:
            masses[edges[len(walk)]] = masses.get(edges[len(walk)], 0.0) + mass
        point = rng.random() * sum(masses.values())
        for step in sorted(masses):
            point -= masses[step]
            if point < 0:
                break
        walk = (*walk, step)
        left = [(edges, mass) for edges, mass in left if edges[: len(walk)] == walk]


@given(small_forests(), st.integers(0, 2**32), st.sampled_from([1.0, 0.0, 2.0, -1.0]))
def test_every_choice_inverts_the_distribution_function(forest, seed, scale):
    found = sample(forest, 10, np.random.default_rng(seed), scale)
    rng = np.random.default_rng(seed)
    assert found == [forest.hypothesis(walked(forest, rng, scale)) for _ in range(10)]


def test_frequencies_are_the_probabilities():
    forest = Forest.from_edges(
        [
            (0, [], ["a"], -0.5),
            (0, [], ["b"], -1.0),
            (1, [0], ["c", 0], -0.2),
            (1, [], [], 0.1),
            (2, [0, 1], [1, 0], 0.0),
            (2, [0, 0], [0, "d", 1], -0.7),
        ]
    )
    found = list(forest.derivations())
    draws = Counter(one.arcs for one in sample(forest, 20_000, np.random.default_rng(20), 2.0))
    expected = 20_000 * shares(found, 2.0)
    assert chisquare([draws[one.arcs] for one in found], expected).pvalue > 0.001


@given(small_forests(), st.data())
def test_a_subset_has_the_derivations_that_use_nothing_else(forest, data):
    mask = data.draw(
        st.lists(
            st.sampled_from([True, True, True, False]),
            min_size=forest.num_edges,
            max_size=forest.num_edges,
        )
    )
    expected = within(forest, mask.__getitem__)
    if expected:
        found = subset(forest, mask)
        assert contents(list(found.derivations())) == contents(expected)
        assert_trimmed(found)
        assert (found.vocabulary, found.id) == (forest.vocabulary, forest.id)
    else:
        with pytest.raises(SpaceError, match="no derivation left"):
            subset(forest, mask)


@given(small_forests())
def test_trimming_removes_all_that_no_derivation_uses(forest):
    trimmed = trim(forest)
    found, nodes, edges = trimmed.space, trimmed.states_removed, trimmed.arcs_removed
    assert_trimmed(found)
    assert found.num_nodes + nodes == forest.num_nodes
    assert found.num_edges + edges == forest.num_edges
    assert contents(list(found.derivations())) == contents(list(forest.derivations()))
    assert trim(found) == Trimmed(found, 0, 0)


@given(small_forests())
def test_max_marginals_are_the_scores_of_best_derivations(forest):
    expected = best_by_edge(forest)
    found = max_marginals(forest)
    assert found.best == best(forest).score
    np.testing.assert_allclose(
        found.arcs, [expected.get(edge, -np.inf) for edge in range(forest.num_edges)], atol=1e-12
    )
    assert (found.arc_loss[best_path(forest)] == 0.0).all()


@given(small_forests(exact=True), st.sampled_from([0.0, 0.25, 1.0, 2.5, np.inf]))
def test_a_beam_keeps_what_a_derivation_within_it_uses(forest, beam):
    scores = best_by_edge(forest)
    limit = best(forest).score - beam
    found = prune(forest, beam=beam)
    expected = within(forest, lambda edge: scores[edge] >= limit)
    assert contents(list(found.derivations())) == contents(expected)
    assert found.num_edges == sum(score >= limit for score in scores.values())
    assert_trimmed(found)


@given(small_forests(), st.floats(0.0, 1.0), st.sampled_from([1.0, 0.2, 5.0]))
def test_a_posterior_threshold_keeps_likely_edges_and_the_best(forest, threshold, scale):
    counts = posteriors(forest, scale).edges
    assume((abs(counts - threshold) > 1e-9).all())
    chosen = best(forest).arcs
    found = prune(forest, posterior=threshold, scale=scale)
    expected = within(forest, lambda edge: counts[edge] > threshold or edge in chosen)
    assert contents(list(found.derivations())) == contents(expected)
    assert_trimmed(found)


@given(small_forests(exact=True), st.sampled_from([0.1, 0.5, 1.0, 1.5, 2.0, 4.0, 50.0]))
def test_a_density_keeps_the_best_edges_that_fit(forest, wanted):
    scores = best_by_edge(forest)
    chosen = best(forest)
    assert density(forest) == forest.num_edges / max(1, len(chosen.tokens))
    budget = wanted * max(1, len(chosen.tokens))
    # all levels of scores that the budget allows, from the best down
    kept: set[int] = set()
    for level in sorted(set(scores.values()), reverse=True):
        larger = {edge for edge, score in scores.items() if score >= level}
        if len(larger) > budget:
            break
        kept = larger
    kept |= set(chosen.arcs)
    found = prune(forest, density=wanted)
    assert contents(list(found.derivations())) == contents(within(forest, kept.__contains__))
    assert found.num_edges == len(kept)
    assert best(found).tokens == chosen.tokens
    mask = density_masks(forest, wanted, max_marginals(forest))[0]
    assert set(np.flatnonzero(mask).tolist()) & set(scores) == kept


@given(small_forests())
def test_derivations_sentences_and_words_are_counted(forest):
    found = list(forest.derivations())
    assert path_count(forest) == len(found)
    assert log_path_count(forest) == pytest.approx(math.log(len(found)), abs=1e-12)
    assert sentence_count(forest) == len({one.tokens for one in found})
    lengths = [len(one.tokens) for one in found]
    assert path_lengths(forest) == (min(lengths), max(lengths))


@given(small_lattices())
def test_the_sentences_of_lattices_are_counted(lattice):
    assert sentence_count(lattice) == len({path.tokens for path in lattice.paths()})


@given(st.lists(small_forests(max_derivations=20), min_size=1, max_size=3))
def test_a_union_has_the_derivations_of_all(parts):
    expected = contents([found for part in parts for found in part.derivations()])
    assert contents(list(union(parts).derivations())) == expected


@given(small_forests(exact=True))
def test_a_forest_as_a_lattice_has_the_same_sentences(forest):
    lattice = to_lattice(forest)
    assert contents(list(lattice.paths())) == contents(list(forest.derivations()))
    assert lattice.id == forest.id
    assert trim(lattice) == Trimmed(lattice, 0, 0)
    smaller = lattice.num_states - 1
    if smaller:
        with pytest.raises(SpaceError, match=f"more than {smaller} states"):
            to_lattice(forest, max_states=smaller)
    else:
        with pytest.raises(OptionError, match="max_states"):
            to_lattice(forest, max_states=smaller)


@given(small_lattices(exact=True))
def test_a_lattice_as_a_forest_gives_the_same_answers(lattice):
    forest = Forest.from_lattice(lattice)
    assert contents(list(forest.derivations())) == contents(list(lattice.paths()))
    assert best(forest).score == best(lattice).score
    assert [one.score for one in k_best(forest, 50)] == [one.score for one in k_best(lattice, 50)]
    assert contents(k_best(forest, 10**4)) == contents(k_best(lattice, 10**4))
    assert {one.tokens: one.score for one in k_best(forest, 10**4, distinct=True)} == {
        one.tokens: one.score for one in k_best(lattice, 10**4, distinct=True)
    }
    assert (path_count(forest), path_lengths(forest)) == (
        path_count(lattice),
        path_lengths(lattice),
    )
    assert total(forest) == pytest.approx(total(lattice), abs=1e-12)
    expected = posteriors(lattice)
    # the edge that starts comes first among those with its head, the ends come last
    heads = np.concatenate(([lattice.start], lattice.dst[lattice.in_arc]))
    values = np.concatenate(([expected.states[lattice.start]], expected.arcs[lattice.in_arc]))
    ordered = values[np.argsort(heads, kind="stable")]
    found = posteriors(forest)
    np.testing.assert_allclose(found.arcs[: len(ordered)], ordered, atol=1e-12)
    np.testing.assert_allclose(found.arcs[len(ordered) :], expected.finals[lattice.finals])


@given(small_lattices(exact=True))
def test_a_lattice_comes_back_from_a_forest(lattice):
    back = to_lattice(Forest.from_lattice(lattice))
    assert contents(list(back.paths())) == contents(list(lattice.paths()))
    assert back.num_states <= trim(lattice).space.num_states + lattice.num_arcs + 2
