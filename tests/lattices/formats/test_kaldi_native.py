"""Kaldi binaries by native code and by Python: the same lattices, and the same refusals."""

from __future__ import annotations

import copy
import pickle
import struct
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices import Lattice, Vocabulary, read, write
from lattices.errors import Error
from lattices.formats import Record, parse_record
from lattices.formats.kaldi import binary
from lattices.formats.kaldi.binary import FORMAT
from lattices.spaces.lattice import NATIVE
from tests.strategies import small_lattices

LAYOUTS = {"compactlattice44": "ff", "compactlattice84": "dd", "lattice4": "ff", "lattice8": "dd"}
#: labels 1 to 4, with a hole
SYMBOLS = "<eps> 0\na 1\nb 2\nd 4\n"


def archive(arc_type: str, start: int, states: list[list[tuple]], finals: list[tuple]) -> bytes:
    """Return an archive of one lattice; an arc is label, costs, number of ids, target."""
    costs, compact = LAYOUTS[arc_type], arc_type.startswith("compact")

    def weight(pair: tuple[float, float], ids: int) -> bytes:
        found = struct.pack(f"<{costs}", *pair)
        return found + struct.pack(f"<i{ids}i", ids, *range(ids)) if compact else found

    def string(text: str) -> bytes:
        return struct.pack("<i", len(text)) + text.encode()

    body = b""
    for arcs, final in zip(states, finals, strict=True):
        body += weight(final, 0) + struct.pack("<q", len(arcs))
        for label, pair, ids, target in arcs:
            body += struct.pack("<ii", label if compact else ids, label)
            body += weight(pair, ids) + struct.pack("<i", target)
    header = struct.pack("<i", 2125659606) + string("vector") + string(arc_type)
    return b"utt-1 " + header + struct.pack("<iiQqqq", 2, 0, 0, start, len(states), 0) + body


costs = st.floats(-50, 50, width=32)
pairs = st.tuples(costs, costs)


@st.composite
def archives(draw: st.DrawFn) -> bytes:
    count = draw(st.integers(1, 5))
    never = (float("inf"), float("inf"))
    states = [
        draw(
            st.lists(
                st.tuples(
                    st.integers(-1, 5), pairs, st.integers(0, 3), st.integers(0, count - 1)
                ).filter(lambda arc, state=state: arc[3] != state),
                max_size=4 if count > 1 else 0,
            )
        )
        for state in range(count)
    ]
    finals = [draw(st.just(never) | pairs) for _ in range(count)]
    arc_type = draw(st.sampled_from(sorted(LAYOUTS)))
    return archive(arc_type, draw(st.integers(-1, count - 1)), states, finals)


def parsed(data: bytes, native: bool, **options: object) -> Lattice | str:
    with mock.patch.object(
        binary, "kaldi_lattice", binary.kaldi_lattice if native else lambda *_: None
    ):
        try:
            return parse_record(FORMAT, Record(data, "file", 0, 0), Vocabulary(), **options)
        except Error as problem:
            return str(problem)


def same(one: Lattice, other: Lattice) -> None:
    assert (one.id, one.start, one.feature_names) == (other.id, other.start, other.feature_names)
    assert one.vocabulary.strings == other.vocabulary.strings
    for name in (*NATIVE, "times"):
        ours, theirs = getattr(one, name), getattr(other, name)
        if ours is None or theirs is None:
            assert ours is theirs
            continue
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
        assert ours.dtype == theirs.dtype
        if not len(ours):
            continue
        assert not ours.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            ours.flags.writeable = True
    for name in ("features", "final_features"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert ours.shape == theirs.shape
        assert (ours.toarray() == theirs.toarray()).all()


@given(data=archives(), numbers=st.booleans())
def test_native_and_python_agree(tmp_path_factory, data, numbers):
    words = tmp_path_factory.getbasetemp() / "kaldi-words.txt"
    words.write_text(SYMBOLS, encoding="utf-8")
    options = {"labels": "numbers"} if numbers else {"symbols": str(words)}
    options |= {"acoustic_scale": "0.1", "frame_shift": "0.03"}
    native, python = (parsed(data, each, **options) for each in (True, False))
    if isinstance(python, str) or isinstance(native, str):
        assert native == python
    else:
        same(native, python)


@given(data=archives(), cut=st.integers(0, 400), at=st.integers(0, 400), byte=st.integers(0, 255))
def test_damaged_ones_are_refused_alike(data, cut, at, byte):
    broken = bytearray(data[: max(1, len(data) - cut)])
    broken[at % len(broken)] = byte
    native, python = (parsed(bytes(broken), each, labels="numbers") for each in (True, False))
    if isinstance(python, str) or isinstance(native, str):
        assert native == python
    else:
        same(native, python)


@given(lattice=small_lattices())
def test_a_lattice_of_native_columns_is_a_lattice(tmp_path_factory, lattice):
    folder = tmp_path_factory.mktemp("native")
    bare = Lattice(
        lattice.vocabulary, lattice.src, lattice.dst, lattice.label, lattice.score, lattice.final,
        lattice.start, id="utt",
    )  # fmt: skip
    write(folder / "a.ark", [bare], symbols=str(folder / "words"))

    def fresh() -> Lattice:
        (found,) = read(folder / "a.ark", symbols=str(folder / "words"))
        assert "columns" in found.__dict__
        assert "src" not in found.__dict__
        return found

    expected = fresh()
    for made in (pickle.loads(pickle.dumps(fresh())), copy.deepcopy(fresh()), copy.copy(fresh())):
        same(made, expected)
    other = fresh().replaced(id="other", score=np.zeros(expected.num_arcs))
    assert (other.id, other.score.any()) == ("other", False)
    np.testing.assert_array_equal(other.dst, expected.dst)
    weights = {"graph": 2.0, "acoustic": 0.0}
    np.testing.assert_array_equal(fresh().reweighted(weights).score, 2.0 * expected.score)
    with pytest.raises(AttributeError, match="no attribute 'arcs'"):
        _ = fresh().arcs


def test_a_wild_label_takes_no_memory(tmp_path: Path) -> None:
    data = archive("lattice4", 0, [[(2**31 - 1, (0.0, 0.0), 0, 1)], []], [(0.0, 0.0)] * 2)
    native, python = (parsed(data, each, labels="numbers") for each in (True, False))
    assert isinstance(native, Lattice)
    assert isinstance(python, Lattice)
    same(native, python)
    assert native.vocabulary.strings == ["", str(2**31 - 1)]
