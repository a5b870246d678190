"""The writing half of :mod:`lattices.formats.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

from lattices.formats.base import Losses, split_words
from lattices.spaces import Lattice, NBest, Space
from lattices.spaces.features import FeatureMatrix

_COMMON_KEYS = ("id", "src", "refs", "feature_names", "nbest")
#: Keys with a meaning of their own; metadata cannot have these names.
KEYS = frozenset((*_COMMON_KEYS, "states", "start", "finals", "final_features", "arcs", "times"))
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_line(space: Space, losses: Losses) -> bytes:
    """Return one segment as a line."""
    fields = _lattice_fields(space) if isinstance(space, Lattice) else _nbest_fields(space)
    return ENCODER.encode({**_common_fields(space, losses), **fields}).encode("utf-8") + b"\n"


def _common_fields(space: Space, losses: Losses) -> dict[str, Any]:
    where = f"segment {space.id!r}"
    fields: dict[str, Any] = {"id": space.id}
    if space.source:
        fields["src"] = space.source
    references: list[Any] = []
    for reference in space.references:
        if isinstance(reference, Lattice):
            references.append({**_common_fields(reference, losses), **_lattice_fields(reference)})
        elif isinstance(reference, str):
            references.append(reference)
        else:
            losses.add(f"references of type {type(reference).__name__}", where)
    if references:
        fields["refs"] = references
    for key, value in space.metadata.items():
        try:
            if not isinstance(key, str) or key in KEYS:
                raise TypeError("a key that is taken")
            ENCODER.encode(value)
        except (TypeError, ValueError):
            losses.add(f"metadata {key!r}", where)
        else:
            fields[key] = value
    return fields


def _feature_objects(matrix: FeatureMatrix, names: Sequence[str]) -> list[dict[str, float]]:
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    used = [names[index] for index in matrix.indices.tolist()]
    values = matrix.data.tolist()
    return [
        dict(zip(used[low:high], values[low:high], strict=True))
        for low, high in pairwise(matrix.indptr.tolist())
    ]


def _order_of_names(space: Space, rows: Iterable[Mapping[str, float]]) -> dict[str, Any]:
    """Return the names as a field, unless a reader would find them in this order by itself."""
    met = tuple(dict.fromkeys(chain.from_iterable(rows)))
    return {} if met == space.feature_names else {"feature_names": list(space.feature_names)}


def _lattice_fields(lattice: Lattice) -> dict[str, Any]:
    words = ["", *lattice.vocabulary]
    columns: list[Iterable[Any]] = [
        lattice.src.tolist(),
        lattice.dst.tolist(),
        [words[label] for label in lattice.label.tolist()],
        lattice.score.tolist(),
    ]
    rows: list[dict[str, float]] = []
    last: dict[str, dict[str, float]] = {}
    if lattice.features is not None:
        rows = _feature_objects(lattice.features, lattice.feature_names)
        columns.append(rows)
    if lattice.final_features is not None:
        objects = _feature_objects(lattice.final_features, lattice.feature_names)
        last = {str(state): objects[state] for state in lattice.finals.tolist() if objects[state]}
    fields: dict[str, Any] = {
        "states": lattice.num_states,
        "start": lattice.start,
        "finals": {str(state): float(lattice.final[state]) for state in lattice.finals.tolist()},
    }
    if last:
        fields["final_features"] = last
    fields |= _order_of_names(lattice, chain(rows, last.values()))
    if lattice.times is not None:
        fields["times"] = lattice.times.tolist()
    fields["arcs"] = list(zip(*columns, strict=True))
    return fields


def _nbest_fields(nbest: NBest) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    for entry, score in enumerate(nbest.score.tolist()):
        tokens = nbest.tokens(entry)
        text = " ".join(tokens)
        words = text if split_words(text) == list(tokens) else list(tokens)
        entries.append({"words": words, "score": score})
    rows: list[dict[str, float]] = []
    if nbest.features is not None:
        rows = _feature_objects(nbest.features, nbest.feature_names)
        for fields, row in zip(entries, rows, strict=True):
            fields["features"] = row
    return {**_order_of_names(nbest, rows), "nbest": entries}
