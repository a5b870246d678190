"""The one door: each kind of object goes to the function that takes it, and others are refused."""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lattices
from lattices import Hypothesis, Lattice, NBest, SpaceError, from_object
from tests.lattices.algorithms.comparing import parts
from tests.lattices.interop import doors

LATTICE = Lattice.from_arcs([(0, 1, "a", -0.5), (0, 1, "the", -1.0), (1, 2, "cat")], [2])


def is_called(monkeypatch: pytest.MonkeyPatch, name: str, thing: Any) -> bool:
    """Tell whether an object goes to the function of that name, with its options."""
    calls: list[tuple[Any, Any]] = []
    monkeypatch.setattr(lattices, name, lambda given, **rest: calls.append((given, rest)))
    from_object(thing, id="s")
    return len(calls) == 1 and calls[0][0] is thing and calls[0][1] == {"id": "s"}


def test_graphs() -> None:
    assert parts(from_object(lattices.to_networkx(LATTICE))) == parts(LATTICE)


def test_automata() -> None:
    pytest.importorskip("pynini")
    found = from_object(lattices.to_fst(LATTICE, symbols=True))
    assert isinstance(found, Lattice)
    assert sorted(path.text for path in found.paths()) == ["a cat", "the cat"]


def test_tables_and_frames() -> None:
    pytest.importorskip("pyarrow")
    table = lattices.to_arrow([LATTICE])
    for thing in (table, table.to_batches()[0]):
        (found,) = from_object(thing)  # type: ignore[misc]
        assert parts(found) == parts(LATTICE)
    polars = pytest.importorskip("polars")
    (found,) = from_object(polars.from_arrow(table))  # type: ignore[misc]
    assert parts(found) == parts(LATTICE)


@pytest.mark.parametrize(
    "thing",
    [
        ["a cat", "the cat"],
        [("a cat", -0.5), ("the cat", -1.5)],
        [{"text": "a cat", "score": -0.5}, {"text": "the cat", "score": -1.5}],
        [SimpleNamespace(text="a cat", score=-0.5), SimpleNamespace(text="the cat", score=-1.0)],
        [Hypothesis(("a", "cat"), -0.5), Hypothesis(("the", "cat"), -1.5)],
        SimpleNamespace(n_best_hypotheses=["a cat", "the cat"]),
        SimpleNamespace(hypotheses=[["a", "cat"], ["the", "cat"]], scores=[-0.5, -1.0]),
        {"choices": [{"text": "a cat"}, {"text": "the cat"}]},
    ],
)
def test_hypotheses(thing: Any) -> None:
    found = from_object(thing, id="s")
    assert isinstance(found, NBest)
    assert ([each.text for each in found], found.id) == (["a cat", "the cat"], "s")


def test_outputs_of_generate() -> None:
    output = SimpleNamespace(sequences=[[0, 1], [0, 2]], sequences_scores=[-0.1, -0.2])
    (nbest,) = from_object(output, {0: "", 1: "cat", 2: "hat"}, 2)  # type: ignore[misc]
    assert isinstance(nbest, NBest)
    assert [each.text for each in nbest] == ["cat", "hat"]


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        ("from_pocketsphinx", SimpleNamespace(get_lattice=None)),
        ("from_pocketsphinx", SimpleNamespace(write_htk=None)),
        ("from_k2", SimpleNamespace(arcs=1, labels=2, scores=3, shape=(2, None))),
        ("from_kaldi", SimpleNamespace(write=None, start=0, num_states=2)),
        ("from_fst", SimpleNamespace(to_bytes=None, set_output_symbols=None)),
        # a decoder of beams has scores of its own, and numbers beside tokens
        ("from_hypotheses", SimpleNamespace(sequences=[["a"]], sequences_ids=[[1]], scores=[0.0])),
    ],
)
def test_decoders(monkeypatch: pytest.MonkeyPatch, name: str, thing: Any) -> None:
    assert is_called(monkeypatch, name, thing)


@pytest.mark.parametrize(
    "thing",
    [
        None,
        5,
        0.5,
        b"a",
        {"a": 1},
        [],
        [1, 2],
        [[1, 2]],
        np.zeros((2, 2)),
        LATTICE,
        object(),
    ],
)
def test_what_no_door_takes(thing: Any) -> None:
    with pytest.raises(
        SpaceError, match=r"^a [\w.]+ is none of: a decoder .* \(from_hypotheses\)$"
    ):
        from_object(thing)


def test_the_name_of_a_class_says_where_it_is_from() -> None:
    with pytest.raises(SpaceError, match=r"^a collections\.OrderedDict is none of"):
        from_object(OrderedDict())


@pytest.mark.door
def test_objects_of_decoders() -> None:
    assert isinstance(from_object(doors.pyctcdecode_beams()), NBest)
    found = from_object(doors.kaldi_decoder_lattice(), ["<eps>", "ab", "ba", "a"])
    assert isinstance(found, Lattice)
    assert isinstance(from_object(doors.rustfst_fst()), Lattice)
