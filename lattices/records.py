"""Results as plain data: what JSON, tables and data frames are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np


class PlainRecord:
    """A result, whose fields can be had as plain data."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields: numbers, texts, lists, and mappings for what has fields of its own."""
        return public_fields(self)

    def _repr_html_(self) -> str:
        """Return the fields for a notebook, a row each."""
        from lattices.drawing import cell, html_table

        found = self.to_dict()
        if "text" in found:
            # the same once more
            found.pop("words", None)
        return html_table([[cell(name, "muted"), show(value)] for name, value in found.items()])


#: items of a list, and letters of a text, that a cell of a table shows
SHOWN = 12
LETTERS = 200


def show(value: Any) -> str:
    """Return a value as the HTML of a cell: numbers rounded, long lists and texts cut."""
    from lattices.drawing import cell

    text = _text(value)
    return cell(text if len(text) <= LETTERS else text[:LETTERS] + "…")


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        value = [f"{name} = {_text(one)}" for name, one in value.items()]
    if isinstance(value, list):
        rest = f" … {len(value)} in all" if len(value) > SHOWN else ""
        return " ".join(map(_text, value[:SHOWN])) + rest
    return str(value)


def public_fields(record: Any, *others: str) -> dict[str, Any]:
    """Return the fields of a dataclass and some other attributes, without private ones, as plain
    data; a hypothesis among them lends its own.
    """
    found: dict[str, Any] = {}
    for name in [*(each.name for each in fields(record)), *others]:
        if name == "hypothesis":
            found.update(to_plain(getattr(record, name)))
        elif not name.startswith("_"):
            found[name] = to_plain(getattr(record, name))
    return found


def to_plain(value: Any) -> Any:
    """Return a value as plain data; what is neither data nor a result becomes its text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(name): to_plain(one) for name, one in value.items()}
    if hasattr(value, "_asdict"):
        return {name: to_plain(one) for name, one in value._asdict().items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(one) for one in value]
    return str(value)
