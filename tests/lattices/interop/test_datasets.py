"""Datasets of Hugging Face, as objects that have what we use, and as folders on disk."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lattices
from lattices import Lattice
from lattices.errors import FormatError

pa = pytest.importorskip("pyarrow")

ARCS = [(0, 1, "a", -0.5, {"lm": -1.0}), (0, 1, "the", -0.25, {"lm": -2.0}), (1, 2, "cat", -1.0)]


def some(count: int = 300) -> list[Lattice]:
    return [
        Lattice.from_arcs(ARCS, finals=[2], id=f"s{n}").replaced(references=("the cat",))
        for n in range(count)
    ]


def same(one: Any, other: Any) -> None:
    assert [each.id for each in one] == [each.id for each in other]
    for each, again in zip(one, other, strict=True):
        assert each.references == again.references
        assert each.score.tolist() == again.score.tolist()
        assert (
            each.tokens(each.label) == again.tokens(again.label) if hasattr(each, "tokens") else 1
        )


class Dataset:
    """As ``datasets.Dataset``: words are plain strings there."""

    def __init__(self, table: Any) -> None:
        words = pa.list_(pa.string())
        fields = [
            field.with_type(words) if "dictionary" in str(field.type) else field
            for field in table.schema
        ]
        self.table = table.cast(pa.schema(fields))

    def with_format(self, name: str) -> Dataset:
        assert name == "arrow"
        return self

    def iter(self, batch_size: int) -> Iterator[Any]:
        for start in range(0, len(self.table), batch_size):
            yield self.table.slice(start, batch_size)


def test_a_dataset_comes_back() -> None:
    spaces = some()
    same([*lattices.from_arrow(Dataset(lattices.to_arrow(spaces)))], spaces)
    with pytest.raises(FormatError, match="columns"):
        list(lattices.from_arrow(Dataset(pa.table({"text": ["a"]}))))


def streamed(table: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    return sink.getvalue()


def test_a_dataset_on_disk_is_a_stream(tmp_path: Path) -> None:
    spaces = some()
    folder = tmp_path / "saved"
    folder.mkdir()
    for part, (start, stop) in enumerate([(0, 200), (200, 300)]):
        table = Dataset(lattices.to_arrow(spaces[start:stop])).table
        (folder / f"data-{part:05}-of-00002.arrow").write_bytes(streamed(table))
    (folder / "state.json").write_text('{\n  "_fingerprint": "x"\n}')
    (folder / "dataset_info.json").write_text('{\n  "citation": ""\n}')
    same([*lattices.read(folder)], spaces)
    one = folder / "data-00001-of-00002.arrow"
    assert lattices.open(one)["s250"].id == "s250"
    packed = tmp_path / "x.arrow.gz"
    packed.write_bytes(gzip.compress(one.read_bytes()))
    same([*lattices.read(packed)], spaces[200:])
    one.write_bytes(one.read_bytes()[:-500])
    with pytest.raises(FormatError, match="damaged"):
        list(lattices.read(one))
