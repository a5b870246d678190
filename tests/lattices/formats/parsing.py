"""The parser of a format, for its tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lattices.formats import Format, Record, parse_record
from lattices.spaces import Space
from lattices.vocabulary import Vocabulary

S = TypeVar("S", bound=Space)


def parser(
    fmt: Format, kind: type[S], path: str = "f", line: int = 1, number: int = 0
) -> Callable[..., S]:
    """Return a function from the content of a record, and options, to its space."""

    def parsed(data: str | bytes, **options: Any) -> S:
        payload = data.encode() if isinstance(data, str) else data
        found = parse_record(fmt, Record(payload, path, line, number), Vocabulary(), **options)
        assert isinstance(found, kind)
        return found

    return parsed
