"""The writing half of :mod:`lattices.formats.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from lattices.formats.base import Losses, split_words
from lattices.formats.json_fields import ENCODER, feature_objects, order_of_names
from lattices.formats.jsonl_forests import COMMON_KEYS, FOREST_KEYS, forest_fields
from lattices.spaces import Forest, Lattice, NBest, Space

#: Keys with a meaning of their own; metadata cannot have these names.
KEYS = COMMON_KEYS | {"states", "start", "finals", "final_features", "times"}


def json_line(space: Space, losses: Losses) -> bytes:
    """Return one segment as a line."""
    if isinstance(space, Lattice):
        fields = _lattice_fields(space)
    elif isinstance(space, NBest):
        fields = _nbest_fields(space)
    else:
        fields = forest_fields(space)
    return ENCODER.encode({**_common_fields(space, losses), **fields}).encode("utf-8") + b"\n"


def _common_fields(space: Space, losses: Losses) -> dict[str, Any]:
    where = f"segment {space.id!r}"
    taken = FOREST_KEYS if isinstance(space, Forest) else KEYS
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
            if not isinstance(key, str) or key in taken:
                raise TypeError("a key that is taken")
            ENCODER.encode(value)
        except (TypeError, ValueError):
            losses.add(f"metadata {key!r}", where)
        else:
            fields[key] = value
    return fields


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
        rows = feature_objects(lattice.features, lattice.feature_names)
        columns.append(rows)
    if lattice.final_features is not None:
        objects = feature_objects(lattice.final_features, lattice.feature_names)
        last = {str(state): objects[state] for state in lattice.finals.tolist() if objects[state]}
    fields: dict[str, Any] = {
        "states": lattice.num_states,
        "start": lattice.start,
        "finals": {str(state): float(lattice.final[state]) for state in lattice.finals.tolist()},
    }
    if last:
        fields["final_features"] = last
    fields |= order_of_names(lattice.feature_names, chain(rows, last.values()))
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
        rows = feature_objects(nbest.features, nbest.feature_names)
        for fields, row in zip(entries, rows, strict=True):
            fields["features"] = row
    return {**order_of_names(nbest.feature_names, rows), "nbest": entries}
