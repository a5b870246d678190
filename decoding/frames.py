"""Results as tables: data frames, CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from decoding.plain_json import json_text
from lattices.errors import OptionError
from lattices.optional import require
from lattices.records import show, to_plain

if TYPE_CHECKING:
    from lattices.drawing import Html

KINDS = ("pandas", "polars", "arrow", "html")


def frame(results: Iterable[Any], kind: str = "pandas") -> Any:
    """Return results as a data frame, one row each.

    Parameters
    ----------
    results : iterable
        Objects that have ``to_dict()``, as all results do, or mappings. Fields within a field
        have their own columns, ``features.lm`` and so on; a row that has no such field has null.
    kind : {"pandas", "polars", "arrow", "html"}
        A ``pandas.DataFrame``, a ``polars.DataFrame``, a ``pyarrow.Table``, or a table for
        notebooks, for which no package is needed: ``str()`` of it is HTML, ``save(path)`` writes
        it.

    Raises
    ------
    OptionError
        For another kind, or what is no result.
    MissingDependencyError
        If the package is not installed.

    Examples
    --------
    >>> from decoding import oracle
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1])
    >>> found = oracle(lattice, WER().against(["the"]))
    >>> frame([found], "arrow").select(["text", "score", "model_score"]).to_pylist()
    [{'text': 'the', 'score': 0.0, 'model_score': -0.9}]
    """
    if kind not in KINDS:
        raise OptionError(f"a frame of kind {kind!r}, expected one of {', '.join(KINDS)}")
    if kind == "html":
        return html_frame(results)
    module = require("pyarrow" if kind == "arrow" else kind, kind)
    columns = columns_of(results)
    if kind == "arrow":
        return module.table(columns)
    return module.DataFrame(columns) if kind == "pandas" else _polars(module, columns)


def _polars(module: Any, columns: dict[str, list[Any]]) -> Any:
    # all rows decide on a type: the first hundred may be whole numbers
    return module.DataFrame(columns, strict=False, infer_schema_length=None)


def html_frame(results: Iterable[Any]) -> Html:
    """Return results as a table in HTML, with the errors of alignments coloured and marked.

    Examples
    --------
    >>> print(html_frame([{"text": "a<b", "score": 0.25}]))
    <table style="border-collapse:collapse">...a&lt;b...0.25...</table>
    """
    from lattices.drawing import Html, html_table

    columns = columns_of(results)
    if "text" in columns:
        # the same once more
        columns.pop("words", None)
    rows = zip(*columns.values(), strict=True)
    return Html(
        html_table(
            (
                [_html_cell(name, value) for name, value in zip(columns, row, strict=True)]
                for row in rows
            ),
            list(columns),
        )
    )


def _html_cell(name: str, value: Any) -> str:
    if name == "alignment" and value:
        from fstmetrics.alignment.marks import sentence_html

        return sentence_html((operation, word) for operation, word, _ in value)
    return show(value)


def columns_of(results: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the columns of a table of results, in the order in which their names come up.

    Examples
    --------
    >>> columns_of([{"id": "a", "scores": {"wer": 0.5}}, {"id": "b", "bound": 1.0}])
    {'id': ['a', 'b'], 'scores.wer': [0.5, None], 'bound': [None, 1.0]}
    """
    columns: dict[str, list[Any]] = {}
    count = 0
    for result in results:
        fields = to_plain(result)
        if not isinstance(fields, Mapping):
            raise OptionError(f"{type(result).__name__} is no result: it has no to_dict()")
        for name, value in _flat(fields, ""):
            column = columns.setdefault(name, [])
            column += [None] * (count - len(column))
            column.append(value)
        count += 1
    for column in columns.values():
        column += [None] * (count - len(column))
    return columns


def _flat(fields: Mapping[str, Any], before: str) -> Iterable[tuple[str, Any]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield before + name, value


def csv_bytes(columns: Mapping[str, list[Any]]) -> bytes:
    r"""Return columns as CSV with a header (RFC 4180, UTF-8, lines end in a line feed).

    What is not there is empty; lists and truth values are as in JSON.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    return json_text(value) if isinstance(value, list | bool) else value


def parquet_bytes(columns: Mapping[str, list[Any]]) -> bytes:
    """Return columns as a Parquet file."""
    table = require("pyarrow", "arrow").table(dict(columns))
    stream = io.BytesIO()
    require("pyarrow.parquet", "arrow").write_table(table, stream)
    return stream.getvalue()
