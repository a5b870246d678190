"""Spaces as Arrow tables: the same content there and back, whoever had the table in between."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices import Hypothesis, Lattice, NBest, Vocabulary, from_arrow, to_arrow
from lattices.errors import FormatError
from lattices.formats.arrow.schema import (
    Numbering,
    cut_into_batches,
    number_batch,
    row_of,
    table_schema,
)
from lattices.formats.base import Unsupported
from lattices.spaces.features import make_rows
from lattices.spaces.lattice import build_lattice
from lattices.testing import sample_lattices, sample_nbests
from tests.lattices.algorithms.comparing import parts
from tests.strategies import small_lattices

pa = pytest.importorskip("pyarrow")


def test_there_and_back() -> None:
    spaces = [*sample_lattices(), *sample_nbests()]
    table = to_arrow(spaces)
    assert table.schema.equals(table_schema(), check_metadata=True)
    assert table.num_rows == len(spaces)
    words = Vocabulary(["z"])
    back = list(from_arrow(table, words))
    assert [parts(space) for space in back] == [parts(space) for space in spaces]
    assert all(space.vocabulary is words for space in back)
    (batch,) = table.to_batches()
    assert [parts(space) for space in from_arrow(batch)] == [parts(space) for space in spaces]


def test_vocabularies_of_their_own_become_one_dictionary() -> None:
    spaces = [Lattice.from_arcs([(0, 1, word)], [1], id=word) for word in ("b", "a", "b")]
    column = to_arrow([spaces[0], spaces[1], spaces[2].replaced(id="c")]).column("label")
    assert column.to_pylist() == [["b"], ["a"], ["b"]]
    assert column.chunk(0).values.dictionary.to_pylist() == ["", "b", "a"]


@given(st.lists(small_lattices(), max_size=3), st.booleans())
def test_columns_that_native_code_owns_are_written_as_others(
    lattices: list[Lattice], mixed: bool
) -> None:
    """They are joined natively, unless a segment among them has columns of its own."""
    named = [each.replaced(id=str(place)) for place, each in enumerate(lattices)]
    native = [
        build_lattice(
            vocabulary=each.vocabulary, src=each.src, dst=each.dst, label=each.label,
            score=each.score, final=each.final, start=each.start, features=make_rows(each),
            final_features=make_rows(each, "final_features"), feature_names=each.feature_names,
            id=each.id,
        )
        for each in named
    ]  # fmt: skip
    with_features = [each for each in native if each.feature_names]
    assert all(each.native_columns is not None or each.features is None for each in with_features)
    last = [NBest.from_hypotheses([Hypothesis(("a",), -1.0)], id="n")] if mixed else []
    table = to_arrow([*native, *last])
    assert table.equals(to_arrow([*named, *last]))
    pickled = pickle.loads(pickle.dumps([row_of(each, Unsupported("arrow")) for each in native]))
    numbering = Numbering()
    again = [number_batch(piece, numbering) for piece in cut_into_batches(pickled)]
    assert mixed or table.equals(pa.Table.from_batches(numbering.name_words(again), table_schema()))


def test_no_features_are_no_names_and_no_matrix() -> None:
    table = to_arrow([Lattice.from_arcs([(0, 1, "a")], [1], id="a")])
    assert table.select(["feature_names", "feature_value", "times"]).to_pylist() == [
        {"feature_names": [], "feature_value": None, "times": None}
    ]


def test_nothing_at_all() -> None:
    assert to_arrow([]).num_rows == 0
    assert list(from_arrow(to_arrow([]))) == []


def test_filtered_and_sliced_tables() -> None:
    """Rows that begin in the middle of the buffers, with and without dictionaries."""
    spaces = [*sample_lattices(), *(one.replaced(id="n" + one.id) for one in sample_nbests())]
    expected = [parts(space) for space in spaces]
    table = to_arrow(spaces)
    place = table.schema.get_field_index("label")
    texts = table.set_column(place, "label", table["label"].cast(pa.list_(pa.string())))
    bare = texts.replace_schema_metadata(None).drop_columns(["times", "kind"])
    for changed in (table, texts, bare):
        assert [parts(space) for space in from_arrow(changed.slice(1, 3))] == expected[1:4]
        mask = pa.array([True, False, True, False, True])
        assert [parts(space) for space in from_arrow(changed.filter(mask))] == expected[::2]
        twice = pa.concat_tables([changed.slice(3), changed.slice(0, 2)])
        assert [parts(space) for space in from_arrow(twice)] == expected[3:] + expected[:2]


def test_features_are_shared_with_the_table_and_right() -> None:
    rows = [(0, 1, "a", 0.0, {"lm": -1.0}), (0, 1, "b", 0.0, {"tm": 2.0, "lm": 0.5})]
    lattice = Lattice.from_arcs(rows, [1], final_features={1: {"lm": 4.0}})
    (back,) = from_arrow(to_arrow([lattice, lattice]).slice(1))
    assert isinstance(back, Lattice)
    assert back.feature_names == ("lm", "tm")
    assert back.features is not None
    assert back.features.toarray().tolist() == [[-1.0, 0.0], [0.5, 2.0]]
    assert back.features.has_canonical_format
    assert not back.features.data.flags.owndata
    assert back.final_features is not None
    assert back.final_features.toarray().tolist() == [[0.0, 0.0], [4.0, 0.0]]
    assert back.reweighted({"lm": 1.0, "tm": 1.0}).score.tolist() == [-1.0, 2.5]


def test_n_best_lists_are_told_by_their_offsets() -> None:
    table = pa.table({"label": [["a", "b"]], "score": [[-1.0, -2.0]], "offset": [[0, 2, 2]]})
    (nbest,) = from_arrow(table)
    assert isinstance(nbest, NBest)
    assert [(entry.text, entry.score) for entry in nbest] == [("a b", -1.0), ("", -2.0)]


def test_errors() -> None:
    with pytest.raises(FormatError, match="0 columns 'label', expected one"):
        from_arrow(pa.table({"x": [1]}))
    with pytest.raises(FormatError, match="int is no table"):
        from_arrow(3)
    table = pa.table({"label": [["a"]] * 2, "score": [[0.0], [np.nan]], "offset": [[0, 1]] * 2})
    good, bad = from_arrow(table.slice(0, 1)), from_arrow(table)
    assert len(list(good)) == 1
    next(bad)
    with pytest.raises(FormatError, match="row 1: hypothesis 0 has score nan"):
        next(bad)
    with pytest.raises(FormatError, match="an Arrow table cannot hold the metadata 'x'"):
        to_arrow([sample_lattices()[0].replaced(metadata={"x": object()})])
