from __future__ import annotations

import copy
import dataclasses
import pickle
import warnings
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

from lattices import (
    Error,
    Forest,
    FormatError,
    Hypothesis,
    Lattice,
    NBest,
    OptionError,
    SpaceError,
    Vocabulary,
    from_generate,
    from_hypotheses,
    from_rows,
    k_best,
    posteriors,
    write,
)
from tests.strategies import small_lattices

ARCS = [(0, 1, "a", -1.0), (1, 2, "b", -0.5)]


def test_states_out_of_order_are_renumbered_and_arcs_sorted():
    lattice = Lattice.from_arcs(
        [(2, 1, "c", 0.0), (5, 2, "b", 0.0), (5, 1, "a", 0.0)],
        finals={1: -1.0},
        states=6,
        start=5,
        times=[0.0, 3.0, 2.0, 0.0, 0.0, 1.0],
    )
    assert (lattice.src < lattice.dst).all()
    assert (np.diff(lattice.src) >= 0).all()
    assert {path.text for path in lattice.paths()} == {"a", "b c"}
    assert lattice.times[lattice.start] == 1.0
    assert lattice.times[lattice.finals].tolist() == [3.0]


def test_an_ordered_lattice_is_kept_as_it_is():
    lattice = Lattice.from_arcs([(0, 3, "a"), (0, 3, "b"), (3, 7, "c")], finals=[7])
    assert lattice.src.tolist() == [0, 0, 3]
    assert [lattice.vocabulary.word(word) for word in lattice.label] == ["a", "b", "c"]
    assert lattice.num_states == 8


@given(small_lattices())
def test_the_index_of_incoming_arcs_is_complete(lattice):
    seen = []
    for state in range(lattice.num_states):
        incoming = lattice.in_arc[lattice.in_offset[state] : lattice.in_offset[state + 1]]
        assert (lattice.dst[incoming] == state).all()
        outgoing = slice(lattice.out_offset[state], lattice.out_offset[state + 1])
        assert (lattice.src[outgoing] == state).all()
        seen.extend(incoming.tolist())
    assert sorted(seen) == list(range(lattice.num_arcs))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arcs": [(0, 1, "a"), (1, 0, "b")]}, "cycle"),
        ({"arcs": [(0, 0, "a")], "finals": [0]}, "cycle"),
        ({"finals": []}, "no state is final"),
        ({"finals": {9: 0.0}, "states": 3}, "final state 9"),
        ({"arcs": [(0, 5, "a")], "finals": [0], "states": 2}, "target state 5"),
        ({"arcs": [(-1, 1, "a")]}, "source state -1"),
        ({"start": 3, "states": 3}, "start state 3"),
        ({"arcs": [(0, 1, "a", float("nan")), (1, 2, "b")]}, "score nan"),
        ({"arcs": [(0, 1, "a", float("inf")), (1, 2, "b")]}, "score inf"),
        ({"finals": {2: float("inf")}}, "infinite"),
        ({"finals": {2: float("nan")}}, "not a number"),
        ({"times": [0.0]}, "1 times for 3 states"),
    ],
)
def test_a_malformed_lattice_is_a_clear_error(change, message):
    options = {"arcs": ARCS, "finals": [2], **change}
    with pytest.raises(SpaceError, match=message):
        Lattice.from_arcs(options.pop("arcs"), **options)


def test_columns_of_different_length_and_unknown_words_are_refused():
    good = {"src": [0], "dst": [1], "label": [1], "score": [0.0], "final": [-np.inf, 0.0]}
    words = Vocabulary(["a"])
    Lattice(words, **good)
    for change, message in (
        ({"score": [0.0, 1.0]}, "2 entries in 'score' for 1 arcs"),
        ({"label": [2]}, "word 2"),
        ({"final": []}, "at least one state"),
    ):
        with pytest.raises(SpaceError, match=message):
            Lattice(words, **{**good, **change})
    with pytest.raises(SpaceError, match="shape"):
        Lattice(words, **good, features=csr_array(np.ones((2, 1))), feature_names=["x"])
    with pytest.raises(SpaceError, match="not finite"):
        Lattice(words, **good, features=csr_array([[np.inf]]), feature_names=["x"])


def test_spaces_are_frozen():
    lattice = Lattice.from_arcs(ARCS, finals=[2])
    with pytest.raises(dataclasses.FrozenInstanceError):
        lattice.start = 1
    with pytest.raises(ValueError, match="read-only"):
        lattice.score[0] = 1.0
    nbest = NBest.from_hypotheses([Hypothesis(("a",))])
    with pytest.raises(ValueError, match="read-only"):
        nbest.score[0] = 1.0


def test_an_array_given_stays_the_givers():
    scores = np.array([1.0])
    Lattice(Vocabulary(["a"]), [0], [1], [1], scores, [-np.inf, 0.0])
    scores[0] = 2.0


@given(small_lattices(features=True))
def test_reweighting_is_a_product_with_the_features(lattice):
    weights = {"lm": 0.5, "tm": -1.0, "wp": 2.0}
    reweighted = lattice.reweighted(weights)
    for old, new in zip(lattice.paths(), reweighted.paths(), strict=True):
        assert old.tokens == new.tokens
        expected = sum(weights[name] * value for name, value in old.features.items())
        assert new.score == pytest.approx(expected, abs=1e-9)
    vector = [weights[name] for name in lattice.feature_names]
    assert lattice.reweighted(vector).score.tolist() == reweighted.score.tolist()


@pytest.mark.parametrize("kind", ["lattice", "forest", "list"])
def test_a_feature_without_a_weight_is_0_with_one_warning_or_an_error(kind):
    lattice = Lattice.from_arcs([(0, 1, "a", 0.0, {"lm": 1.0, "tm": 2.0})], finals=[1])
    space = {
        "lattice": lambda: lattice,
        "forest": lambda: Forest.from_lattice(lattice),
        "list": lambda: NBest.from_hypotheses(lattice.paths()),
    }[kind]()
    expected = space.reweighted({"lm": 0.5, "tm": 0.0}).score.tolist()
    assert expected.count(0.5) == 1
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        found = [space.reweighted({"lm": 0.5}) for _ in range(3)]
    assert all(each.score.tolist() == expected for each in found)
    assert [str(each.message) for each in told] == [
        "no weight for the features tm: they count nothing"
    ]
    assert space.reweighted({"lm": 0.5}, missing="zero").score.tolist() == expected
    with pytest.raises(OptionError, match="no weight for the features tm"):
        space.reweighted({"lm": 0.5}, missing="error")
    with pytest.raises(OptionError, match="missing is one of warn, zero, error, not 'no'"):
        space.reweighted({"lm": 0.5}, missing="no")


def test_weights_that_do_not_fit_are_refused():
    lattice = Lattice.from_arcs([(0, 1, "a", 0.0, {"lm": 1.0})], finals=[1])
    for weights, message in (
        ({}, "no weight for the features lm"),
        ([1.0, 2.0], "2 weights for 1 features"),
        ({"lm": float("nan")}, "not finite"),
    ):
        with pytest.raises(OptionError, match=message):
            lattice.reweighted(weights)
    with pytest.raises(SpaceError, match="no features"):
        Lattice.from_arcs(ARCS, finals=[2]).reweighted({})


def test_a_path_must_be_one():
    lattice = Lattice.from_arcs([*ARCS, (0, 2, "c", 0.0)], finals=[2])
    assert lattice.hypothesis([0, 2]).text == "a b"
    for arcs, message in (
        ([2], "not a path"),
        ([0], "not final"),
        ([0, 1], "not a path"),
        ([7], "arc that is not one of"),
        ([], "state 0, which is not final"),
    ):
        with pytest.raises(SpaceError, match=message):
            lattice.hypothesis(arcs)


@given(small_lattices())
def test_pickling_keeps_everything(lattice):
    copy = pickle.loads(pickle.dumps(lattice))
    assert list(copy.paths()) == list(lattice.paths())
    assert copy.id == lattice.id


def test_replacing_scores_shares_the_structure_and_is_checked():
    lattice = Lattice.from_arcs(ARCS, finals=[2])
    changed = lattice.replaced(score=[0.0, 1.0], id="x", references=["a b"])
    assert (changed.id, changed.references, lattice.id) == ("x", ("a b",), "")
    assert changed.src is lattice.src
    for change, message in (
        ({"score": [1.0]}, "1 entries"),
        ({"score": [np.nan, 0.0]}, "finite"),
        ({"src": [0, 1]}, "can be replaced"),
    ):
        with pytest.raises(SpaceError, match=message):
            lattice.replaced(**change)


def test_an_nbest_list_keeps_its_entries():
    nbest = NBest.from_hypotheses(
        [Hypothesis(("b", "a"), -1.0, {"lm": 2.0}), Hypothesis((), -2.0, {"tm": 1.0})], id="s"
    )
    assert [entry.tokens for entry in nbest] == [("b", "a"), ()]
    assert nbest[-1].features == {"tm": 1.0}
    assert nbest[0].index == 0
    assert nbest.reweighted({"lm": 1.0, "tm": 3.0}).score.tolist() == [2.0, 3.0]
    with pytest.raises(IndexError, match="hypothesis 2 of 2"):
        nbest[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offset": [0, 1]}, "2 offsets for 2 hypotheses"),
        ({"offset": [0, 2, 1]}, "do not cut"),
        ({"offset": [0, 0, 3]}, "do not cut"),
        ({"label": [0, 1]}, "no word"),
        ({"score": [0.0, np.nan]}, "score nan"),
    ],
)
def test_a_malformed_nbest_list_is_a_clear_error(change, message):
    good = {"label": [1, 1], "offset": [0, 1, 2], "score": [0.0, 1.0]}
    with pytest.raises(SpaceError, match=message):
        NBest(Vocabulary(["a"]), **{**good, **change})


def writable_spaces():
    """Return, for each kind, a function that makes a space of columns, and writable columns."""
    words = Vocabulary(["a", "b"])
    features = csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))
    named = {"vocabulary": words, "feature_names": ("x", "y")}
    lattice = {
        "src": np.int32([0, 0]),
        "dst": np.int32([1, 1]),
        "label": np.int32([1, 2]),
        "score": np.array([-1.0, -2.0]),
        "final": np.array([-np.inf, 0.0]),
        "times": np.array([0.0, 1.0]),
        "features": features,
        "final_features": features.copy(),
    }
    forest = {
        "head": np.int32([0, 1]),
        "tail": np.int32([0, 0]),
        "tail_offset": np.int32([0, 0, 2]),
        "symbol": np.int32([1, -1, 2, -2]),
        "symbol_offset": np.int32([0, 1, 4]),
        "score": np.array([-1.0, -2.0]),
        "spans": np.int32([[0, 1], [0, 2]]),
        "features": features.copy(),
    }
    nbest = {
        "label": np.int32([1, 2, 1]),
        "offset": np.int32([0, 1, 3]),
        "score": np.array([-1.0, -2.0]),
        "features": features.copy(),
    }
    return [
        (lambda **columns: Lattice(**named, **columns), lattice),
        (lambda **columns: Forest(**named, num_nodes=2, root=1, **columns), forest),
        (lambda **columns: NBest(**named, **columns), nbest),
    ]


def parts_of(value):
    return [value] if isinstance(value, np.ndarray) else [value.data, value.indices, value.indptr]


def described(space):
    """Return what native code says of a space, with handles made now or before."""
    if isinstance(space, NBest):
        return [(each.tokens, each.score, each.features) for each in space]
    found = [(each.tokens, each.score, each.features) for each in k_best(space, 3)]
    return found, posteriors(space).arcs.tolist(), space.reweighted([1.0, 0.5]).score.tolist()


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("kind", range(3))
def test_nothing_that_the_caller_writes_reaches_a_space(kind, used):
    make, columns = writable_spaces()[kind]
    expected = described(make(**columns))
    for name, column in columns.items():
        for which, part in enumerate(parts_of(column)):
            space = make(**columns)
            if used:
                described(space)
            before = part.copy()
            part[...] = np.nan if part.dtype == np.float64 else 10**8
            assert described(space) == expected, (name, which)
            kept = parts_of(getattr(space, name))[which]
            assert kept.tolist() == before.tolist(), (name, which)
            part[...] = before


@pytest.mark.parametrize("kind", range(3))
def test_no_column_of_a_space_can_be_made_writable(kind):
    make, columns = writable_spaces()[kind]
    space = make(**columns)
    shuffled = Lattice.from_arcs(
        [(1, 0, "a", 0.0, {"x": 1.0})], [0], start=1, final_features={0: {"x": 2.0}}
    )
    copies = [space, pickle.loads(pickle.dumps(space)), copy.deepcopy(space), shuffled]
    for each in copies:
        for value in vars(each).values():
            if isinstance(value, np.ndarray | csr_array):
                for part in parts_of(value):
                    with pytest.raises(ValueError, match="WRITEABLE"):
                        part.flags.writeable = True


def test_scores_that_are_replaced_are_the_space_s_own():
    scores = np.array([-1.0, -2.0])
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], [1]).replaced(score=scores)
    scores[:] = np.nan
    assert lattice.score.tolist() == [-1.0, -2.0]


#: what may come where a number, a word, a name or a list is expected
ODD = [
    *(2**31, 2**31 - 1, -1, 2**40, 10**19, 10**30, 0.5, np.nan, np.inf, -np.inf, 1j),
    *(None, True, "x", "", "\ud800", b"x", [], {}, (), {1: 2}, set(), object()),
    *(np.int64(2**40), np.float32(0.5), np.bool_(True), np.array(3), np.array([[1]])),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: ascii(odd)[:20])
def test_odd_values_give_a_space_or_an_error_of_ours(odd):
    arc, edge = [0, 1, "a", 0.0, {"x": 1.0}], [1, [0], ["b", 0], 0.0, {"x": 1.0}]
    makers = [
        *(partial(Lattice.from_arcs, [[*arc[:at], odd, *arc[at + 1 :]]], [1]) for at in range(5)),
        *(
            partial(Forest.from_edges, [(0, [], ["a"]), [*edge[:at], odd, *edge[at + 1 :]]])
            for at in range(5)
        ),
        *(
            partial(Lattice.from_arcs, [arc], **{"finals": [1], name: odd})
            for name in ("finals", "states", "start", "final_features", "feature_names", "times")
        ),
        *(
            partial(Forest.from_edges, [(0, [], ["a"])], **{name: odd})
            for name in ("root", "nodes", "feature_names", "categories", "spans", "references")
        ),
        partial(Lattice.from_arcs, [arc], {1: odd}),
        partial(Lattice.from_arcs, [arc], [odd]),
        partial(Lattice.from_arcs, [[0, 1, "a", 0.0, {"x": odd}]], [1]),
        partial(Lattice.from_arcs, odd, [1]),
        partial(Lattice.from_arcs, [odd], [1]),
        partial(Forest.from_edges, odd),
        partial(NBest.from_hypotheses, odd),
        partial(NBest.from_hypotheses, [Hypothesis((odd,), 0.0)]),
        partial(NBest.from_hypotheses, [Hypothesis(("a",), odd)]),
        partial(Vocabulary, odd),
        partial(Vocabulary().add, odd),
        partial(Vocabulary().add_all, [odd]),
        partial(from_hypotheses, odd),
        partial(from_hypotheses, [odd]),
        partial(from_hypotheses, [("a", odd)]),
        partial(from_generate, odd, ["a"]),
        partial(from_rows, odd),
        partial(Lattice.from_arcs([arc], [1]).reweighted, {"x": odd}),
        partial(Lattice.from_arcs([arc], [1]).replaced, score=odd),
        partial(Lattice.from_arcs([arc], [1]).hypothesis, [odd]),
    ]
    for make, columns in writable_spaces():
        makers.extend(partial(make, **{**columns, name: odd}) for name in columns)
    for make in makers:
        with suppress(Error):
            make()


def test_half_of_a_surrogate_pair_is_refused_where_words_enter(tmp_path):
    with pytest.raises(SpaceError, match=r"'\\ud800' has half of a surrogate pair"):
        Lattice.from_arcs([(0, 1, "\ud800")], [1])
    assert Vocabulary(["\U0001f600"]).word(1) == "\U0001f600"
    named = Lattice.from_arcs([(0, 1, "a")], [1], id="\ud800")
    with pytest.raises(FormatError, match="half of a surrogate pair"):
        write(tmp_path / "x.jsonl", [named])
