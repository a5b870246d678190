"""What adapters share: how spaces are read, and what an answer is."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, TypeAlias

#: rows of id, value, bound and words, and the seconds of the search
Answer: TypeAlias = tuple[list[tuple[str, str, str, str]], float]


def load(path: Path) -> list[dict[str, Any]]:
    """Return the spaces of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def text(value: float | None) -> str:
    """Return a number as it stands in answers; nothing where there is none."""
    return "" if value is None or math.isnan(value) else f"{value:.12g}"


def number_words(spaces: list[dict[str, Any]]) -> tuple[dict[str, int], dict[int, str]]:
    """Return numbers of the words of lattices and references, from 1, and the way back."""
    words = {arc[2] for space in spaces for arc in space["arcs"]}
    words |= {word for space in spaces for word in space["refs"][0].split()}
    number = {word: place for place, word in enumerate(sorted(words - {""}), 1)}
    return {"": 0, **number}, {place: word for word, place in number.items()}
