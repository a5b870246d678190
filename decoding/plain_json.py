"""JSON as the standard has it, without Infinity and NaN; and JSON that shows any damage."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from lattices.optional import blake2b

_CHECKSUM = "checksum"


def json_text(content: Any, indent: int | None = None) -> str:
    """Return JSON text; a number that is infinite or not a number becomes null."""
    try:
        return json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_plain(content), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def seal_json(content: Mapping[str, Any]) -> bytes:
    """Return the lines of a JSON object with a checksum of all that it holds.

    Examples
    --------
    >>> data = seal_json({"rounds": 3})
    >>> read_json(data, "state", "file.json")["rounds"]
    3
    >>> check_seal(read_json(data.replace(b"3", b"4", 1), "state", "file.json"), "state", "f.json")
    Traceback (most recent call last):
        ...
    lattices.errors.FormatError: f.json: no whole state: its checksum is that of another
    """
    sealed = {**content, _CHECKSUM: _checksum(content)}
    return json.dumps(sealed, ensure_ascii=False, indent=1).encode() + b"\n"


def read_json(data: bytes, what: str, place: str) -> dict[str, Any]:
    """Return a JSON object, of which nothing is known yet."""
    from lattices.errors import FormatError

    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as problem:
        line = getattr(problem, "lineno", 0)
        raise FormatError(f"no {what}: {problem}", place, line) from None
    if not isinstance(content, dict):
        raise FormatError(f"no {what}: {type(content).__name__}, expected an object", place)
    return content


def check_seal(content: Mapping[str, Any], what: str, place: str) -> None:
    """Refuse an object that is not as :func:`seal_json` had it."""
    from lattices.errors import FormatError

    if _CHECKSUM not in content:
        raise FormatError(f"no whole {what}: it has no checksum", place)
    try:
        is_whole = content[_CHECKSUM] == _checksum(content)
    except RecursionError:
        is_whole = False
    if not is_whole:
        raise FormatError(f"no whole {what}: its checksum is that of another", place)


def _checksum(content: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in content.items() if name != _CHECKSUM}
    return blake2b(json.dumps(rest).encode("ascii"), digest_size=16).hexdigest()
