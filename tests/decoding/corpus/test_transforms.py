"""What is made of each segment, judged by enumerating paths; and how it is made ready."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.corpus.runner import Segment
from decoding.corpus.transforms import (
    KBest,
    Pruned,
    Rescored,
    Sampled,
    list_unweighted,
)
from decoding.reranking import choose_entries, join_spaces
from lattices import Forest, Hypothesis, Lattice, NBest, Space, Vocabulary
from lattices.algorithms import Paths, hypotheses, k_best_paths, to_lattice
from lattices.algorithms.kbest import list_of_paths
from lattices.errors import OptionError, SpaceError
from tests.strategies import FEATURE_NAMES, GRID, small_forests, small_lattices


def segment(space: Space) -> Segment:
    return Segment(0, "file", 1, space)


def entries(space: Space) -> list[tuple[tuple[str, ...], float, tuple[tuple[str, float], ...]]]:
    """Return the words, score and features of every path or entry."""
    found = space.paths() if isinstance(space, Lattice) else space
    return [
        (each.tokens, round(each.score, 9), tuple(sorted(_rounded(each.features).items())))
        for each in found
    ]


def _rounded(features: object) -> dict[str, float]:
    assert isinstance(features, dict)
    return {name: round(value, 9) for name, value in features.items() if round(value, 9)}


LIST = NBest.from_hypotheses(
    [
        Hypothesis(("a", "b"), -2.0, {"lm": -1.0}),
        Hypothesis(("a",), -1.0, {"lm": -2.0}),
        Hypothesis(("a", "b"), -1.5, {"tm": 1.0}),
        Hypothesis((), -1.0),
    ],
    id="s1",
    source="quelle",
    references=["a b"],
    metadata={"extra": ["0-0", "", "0-1", "1-1"], "other": 7},
)


@given(small_lattices(), st.integers(1, 12), st.booleans())
def test_the_k_best_of_lattices(lattice: Lattice, k: int, distinct: bool) -> None:
    came = KBest(k, distinct)(segment(lattice))
    scores: dict[object, list[float]] = {}
    for number, path in enumerate(lattice.paths()):
        scores.setdefault(path.tokens if distinct else number, []).append(path.score)
    best = sorted((max(some) for some in scores.values()), reverse=True)
    assert came.score.tolist() == pytest.approx(best[:k], abs=1e-12)
    assert not Counter(entries(came)) - Counter(entries(lattice))
    if distinct:
        assert len({each.tokens for each in came}) == len(came)


@given(small_lattices(), st.integers(1, 12))
def test_columns_are_those_of_the_hypotheses(lattice: Lattice, k: int) -> None:
    paths = k_best_paths(lattice, k)
    slow = NBest.from_hypotheses(hypotheses(lattice, paths), feature_names=lattice.feature_names)
    fast = list_of_paths(lattice, paths)
    assert entries(fast) == entries(slow)
    assert fast.score.tolist() == slow.score.tolist()
    assert (fast.features is None) == (lattice.features is None)
    assert fast.id == lattice.id


def test_paths_without_words_or_arcs_are_listed() -> None:
    lattice = Lattice.from_arcs([(0, 1, "", -1.0)], {0: -3.0, 1: -0.5}, id="x", source="s")
    found = list_of_paths(lattice, Paths.of([[], [0]]))
    assert [(each.tokens, each.score) for each in found] == [((), -3.0), ((), -1.5)]
    assert (found.id, found.source) == ("x", "s")


def test_the_k_best_of_lists() -> None:
    found = KBest(3)(segment(LIST))
    assert [each.tokens for each in found] == [("a",), (), ("a", "b")]
    assert found.score.tolist() == [-1.0, -1.0, -1.5]
    assert found[2].features == {"tm": 1.0}
    assert found.metadata == {"extra": ["", "1-1", "0-1"], "other": 7}
    assert (found.source, found.references) == ("quelle", ("a b",))
    found = KBest(9, distinct=True)(segment(LIST))
    assert [(each.tokens, each.score) for each in found] == [
        (("a",), -1.0), ((), -1.0), (("a", "b"), -1.5),
    ]  # fmt: skip


@given(small_lattices(exact=True), st.integers(0, 20))
def test_a_beam_keeps_what_loses_no_more(lattice: Lattice, quarters: int) -> None:
    beam = quarters / 4
    paths = entries(lattice)
    best = max(score for _, score, _ in paths)
    found = Counter(entries(Pruned(beam=beam)(segment(lattice))))
    assert not found - Counter(paths)
    assert not Counter(path for path in paths if path[1] >= best - beam) - found


@pytest.mark.parametrize(("beam", "kept"), [(0.0, [1, 3]), (0.5, [1, 2, 3]), (9.0, [0, 1, 2, 3])])
def test_a_beam_for_lists(beam: float, kept: list[int]) -> None:
    found = Pruned(beam=beam)(segment(LIST))
    assert entries(found) == [entries(LIST)[entry] for entry in kept]
    assert found.metadata["extra"] == [LIST.metadata["extra"][entry] for entry in kept]


@pytest.mark.parametrize("how", [Pruned(density=2.0), Pruned(posterior=0.1)])
def test_what_is_for_lattices_only(how: Pruned) -> None:
    with pytest.raises(OptionError, match="n-best lists have no arcs to prune"):
        how(segment(LIST))


def test_an_empty_list_stays_or_says_so() -> None:
    empty = NBest.from_hypotheses([], id="e")
    assert len(Pruned(beam=1.0)(segment(empty))) == 0
    assert len(KBest(3)(segment(empty))) == 0
    for call in (lambda: Sampled(3)(segment(empty)), lambda: to_lattice(empty)):
        with pytest.raises(OptionError, match="n-best list 'e' is empty"):
            call()


@pytest.mark.parametrize(
    "space",
    [
        Lattice.from_arcs([(0, 1, "a", 0.0), (0, 1, "b", -1.0), (0, 1, "c", -3.0)], [1], id="s"),
        NBest.from_hypotheses(
            [Hypothesis(("a",), 0.0), Hypothesis(("b",), -1.0), Hypothesis(("c",), -3.0)], id="s"
        ),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_samples_are_in_proportion(space: Space, scale: float) -> None:
    found = Counter(each.text for each in Sampled(20_000, seed=5, scale=scale)(segment(space)))
    weights = {word: np.exp(scale * score) for word, score in zip("abc", (0, -1, -3), strict=True)}
    for word, weight in weights.items():
        # four standard deviations
        expected = weight / sum(weights.values())
        assert abs(found[word] / 20_000 - expected) < 4 * np.sqrt(expected / 20_000)


def test_draws_depend_on_seed_and_id_only() -> None:
    def drawn(seed: int, name: str, position: int = 0) -> list[str]:
        arcs = [(0, 1, word, 0.0) for word in "abcdefgh"]
        lattice = Lattice.from_arcs(arcs, [1], id=name)
        return [each.text for each in Sampled(40, seed)(Segment(position, "f", 0, lattice))]

    assert drawn(1, "s1") == drawn(1, "s1", position=9)
    assert drawn(1, "s1") != drawn(1, "s2")
    assert drawn(1, "s1") != drawn(2, "s1")


@given(st.lists(small_lattices(), min_size=1, max_size=3))
def test_the_union_has_all_paths(lattices: list[Lattice]) -> None:
    expected = Counter(path for lattice in lattices for path in entries(lattice))
    assert Counter(entries(join_spaces(lattices))) == expected


@given(small_lattices(), st.lists(st.integers(0, 3), max_size=5))
def test_a_union_with_a_list_has_its_entries(lattice: Lattice, some: list[int]) -> None:
    nbest = choose_entries(LIST, some)
    found = join_spaces([lattice, nbest])
    assert isinstance(found, Lattice)
    assert Counter(entries(found)) == Counter(entries(lattice) + entries(nbest))
    assert found.references == (("a b",) if some else ())


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=3))
def test_the_union_of_lists_is_a_list(choices: list[list[int]]) -> None:
    lists = [choose_entries(LIST, some) for some in choices]
    lists.append(
        NBest.from_hypotheses(
            [Hypothesis(("new", "a"), -4.0, {"wp": 2.0, "lm": 1.0})],
            vocabulary=Vocabulary(["zzz", "new"]),
        )
    )
    found = join_spaces(lists)
    assert isinstance(found, NBest)
    assert entries(found) == [entry for each in lists for entry in entries(each)]
    assert found.metadata["extra"] == [
        *(LIST.metadata["extra"][entry] for some in choices for entry in some), "",
    ]  # fmt: skip
    assert (found.id, found.references) == ("s1", ("a b",))


@settings(max_examples=40)
@given(
    st.one_of(small_lattices(features=True, exact=True), small_forests(features=True, exact=True)),
    st.lists(GRID, min_size=3, max_size=3),
    st.integers(0, 3),
)
def test_scores_are_features_by_weights(
    space: Lattice | Forest, values: list[float], known: int
) -> None:
    weights = dict(zip(FEATURE_NAMES[:known], values, strict=False))

    def every(some: Space) -> list[Hypothesis]:
        return list(some.derivations() if isinstance(some, Forest) else some.paths())

    found = Rescored(weights, "zero")(segment(space))
    assert [each.score for each in every(found)] == pytest.approx(
        [
            sum(weights.get(name, 0.0) * value for name, value in each.features.items())
            for each in every(space)
        ],
        abs=1e-12,
    )
    assert [each.tokens for each in every(found)] == [each.tokens for each in every(space)]
    missing = set(space.feature_names) - set(weights)
    assert set(list_unweighted(space, weights)) == missing
    if missing:
        with pytest.raises(OptionError, match="no weight for the features"):
            Rescored(weights, "error")(segment(space))
    if len(missing) == len(space.feature_names) > 0:
        with pytest.raises(OptionError, match="no weight for the features"):
            Rescored(weights)(segment(space))
    else:
        again = every(Rescored(weights)(segment(space)))
        assert [each.score for each in again] == [each.score for each in every(found)]
    some = Rescored(weights, "zero", KBest(2))(segment(space))
    assert isinstance(some, NBest)
    best = sorted((each.score for each in every(found)), reverse=True)
    assert some.score.tolist() == pytest.approx(best[:2], abs=1e-12)


def test_lists_that_are_rescored_keep_their_order() -> None:
    job = pickle.loads(pickle.dumps(Rescored({"lm": 1.0, "tm": 5.0, "unused": 1.0})))
    found = job(segment(LIST))
    assert found.score.tolist() == [-1.0, -2.0, 5.0, 0.0]
    assert [each.tokens for each in found] == [each.tokens for each in LIST]
    assert (found.id, found.references, found.metadata) == (
        LIST.id, LIST.references, LIST.metadata,
    )  # fmt: skip
    assert LIST.score.tolist() == [-2.0, -1.0, -1.5, -1.0]


def test_what_cannot_be_rescored() -> None:
    with pytest.raises(OptionError, match="missing is one of warn, zero, error, not 'none'"):
        Rescored({}, "none")
    bare = Lattice.from_arcs([(0, 1, "a", 1.0)], [1], id="x")
    with pytest.raises(SpaceError, match="lattice 'x' has no features to weight"):
        Rescored({"lm": 1.0}, "zero")(segment(bare))
    with pytest.raises(OptionError, match="a weight is not finite"):
        Rescored({"lm": float("nan"), "tm": 1.0})(segment(LIST))


# ready to be written
