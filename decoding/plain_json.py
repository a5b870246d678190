"""JSON as the standard has it: without Infinity and NaN."""

from __future__ import annotations

import json
import math
from typing import Any


def json_text(content: Any, indent: int | None = None) -> str:
    """Return JSON text; a number that is infinite or not a number becomes null.

    Examples
    --------
    >>> json_text({"score": float("inf"), "words": ["a", "é"], "stats": (1.5, float("nan"))})
    '{"score": null, "words": ["a", "é"], "stats": [1.5, null]}'
    """
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
