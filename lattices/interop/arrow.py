"""Spaces as Arrow tables in memory, for polars, DuckDB and pandas, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lattices.errors import FormatError, SpaceError
from lattices.formats.arrow.conforming import check_schema
from lattices.formats.arrow.schema import (
    BATCH_ROWS,
    Numbering,
    cut_into_batches,
    number_batch,
    pyarrow,
    row_of,
    table_schema,
)
from lattices.formats.arrow.table_rows import DAMAGE, TableRows
from lattices.formats.base import Unsupported
from lattices.spaces import Space
from lattices.vocabulary import Vocabulary


def to_arrow(spaces: Iterable[Space]) -> Any:
    """Return lattices, n-best lists and forests as a ``pyarrow.Table``, one row each.

    The columns are listed in :mod:`lattices.formats.space_fields`. Nothing is lost.

    Parameters
    ----------
    spaces
        All of them are held in memory; :func:`lattices.write` to an ``.arrow`` file holds a
        few at a time.

    Raises
    ------
    FormatError
        For metadata that is no JSON, or a reference that is neither text nor a lattice.
    MissingDependencyError
        Without pyarrow.

    Examples
    --------
    >>> from lattices import Lattice
    >>> table = to_arrow([Lattice.from_arcs([(0, 1, "hi", -0.5)], finals=[1], id="a")])
    >>> table.select(["id", "label", "score"]).to_pylist()
    [{'id': 'a', 'label': ['hi'], 'score': [-0.5]}]
    """
    numbering = Numbering()
    losses = Unsupported("an Arrow table")
    rows = (row_of(space, losses) for space in spaces)
    batches = [number_batch(piece, numbering) for piece in cut_into_batches(rows)]
    return pyarrow().Table.from_batches(numbering.name_words(batches), table_schema())


def from_arrow(table: Any, vocabulary: Vocabulary | None = None) -> Iterator[Space]:
    """Iterate over the lattices, n-best lists and forests of a table.

    Parameters
    ----------
    table
        A ``pyarrow.Table`` or ``RecordBatch``, or whatever ``pyarrow.table`` makes one of
        (data frames of polars and pandas), or a dataset of Hugging Face. ``label``, ``score``, and
        ``src``, ``dst`` and ``final`` or ``offset`` are needed; columns may have other types if
        they can be cast.
    vocabulary
        Grows by the words; a fresh one by default, shared by all.

    Raises
    ------
    FormatError
        If the columns are not those of :mod:`lattices.formats.space_fields`, or for the first row
        that is no segment.
    MissingDependencyError
        Without pyarrow.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"id": ["a"], "src": [[0]], "dst": [[1]], "label": [["hi"]], "score": [[-0.5]],
    ...            "final": [[-float("inf"), 0.0]]}
    >>> list(from_arrow(pa.table(columns)))
    [<Lattice 'a' of 2 states, 1 arcs>]
    """
    pa = pyarrow()
    if hasattr(table, "with_format"):
        words = Vocabulary() if vocabulary is None else vocabulary
        return _of_dataset(table, words)
    try:
        if isinstance(table, pa.RecordBatch):
            # pa.table takes batches only since version 15
            table = pa.Table.from_batches([table])
        whole = table if isinstance(table, pa.Table) else pa.table(table)
    except (pa.ArrowException, *DAMAGE) as problem:
        raise FormatError(f"{type(table).__name__} is no table: {problem}") from problem
    check_schema(whole.schema)
    return _spaces(whole, Vocabulary() if vocabulary is None else vocabulary)


def _of_dataset(dataset: Any, vocabulary: Vocabulary) -> Iterator[Space]:
    """Iterate over the spaces of a dataset of Hugging Face, some rows at a time."""
    for table in dataset.with_format("arrow").iter(batch_size=BATCH_ROWS):
        check_schema(table.schema)
        yield from _spaces(table, vocabulary)


def _spaces(table: Any, vocabulary: Vocabulary) -> Iterator[Space]:
    number = 0
    for batch in table.to_batches():
        for each in TableRows(batch, vocabulary):
            if isinstance(each, SpaceError):
                raise FormatError(f"row {number}: {each}") from each
            yield each
            number += 1
