"""Fields of a segment: the one model that JSON lines, Arrow tables and Parquet files encode.

:data:`FIELDS` says what there is, for which kinds of segments, and what they may not lack. Arrow
and Parquet have a column for each field. JSON lines has them under the keys of
:data:`JSON_KEYS`, where those of an arc, of an entry or of an edge stand together in one row.
A format makes fields of a segment by :func:`fields_of`, and a segment of fields by
:func:`space_of`; how they are spelled is its own affair.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lattices.arrays import IntColumn, ints
from lattices.errors import SpaceError
from lattices.formats.base import Unsupported
from lattices.formats.json.fields import ENCODER
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.base import check_count
from lattices.spaces.features import FeatureRows, make_rows
from lattices.spaces.lattice import build_lattice
from lattices.vocabulary import EPSILON, Vocabulary

#: what says the version of all this: a key of the schema's metadata, or of a JSON object
VERSION_KEY, VERSION = "fstmetrics.format", "1"

LATTICE, NBEST, FOREST = "lattice", "nbest", "forest"
KINDS = (LATTICE, NBEST, FOREST)

#: types of fields: words are texts that many segments share
TEXT, TEXTS, WORDS, INT, INTS, FLOATS = "text", "texts", "words", "int", "ints", "floats"


@dataclass(frozen=True)
class Field:
    """A field of a segment.

    Attributes
    ----------
    name, type : str
    kinds : tuple of str
        The kinds of segments that have it.
    meaning : str
    needed : bool
        Whether these may not lack it.
    """

    name: str
    type: str
    kinds: tuple[str, ...]
    meaning: str
    needed: bool = False


_LATTICE, _FOREST, _WORDY = (LATTICE,), (FOREST,), (NBEST, FOREST)
FIELDS = (
    Field("id", TEXT, KINDS, "name of the segment"),
    Field("kind", TEXT, KINDS, "'lattice', 'nbest' or 'forest'; if null, other fields tell"),
    Field("source", TEXT, KINDS, "the input"),
    Field("references", TEXTS, KINDS, "null in the place of a reference that is a lattice"),
    Field("reference_lattices", TEXTS, KINDS, "those lattices, as JSON lines"),
    Field("metadata", TEXT, KINDS, "a JSON object"),
    # of forests '' is the slot of a tail, of lattices epsilon
    Field("label", WORDS, KINDS, "words of arcs, of all entries, or of all target sides", True),
    Field("score", FLOATS, KINDS, "log-score of each arc, entry or edge", True),
    Field("src", INTS, _LATTICE, "the state each arc leaves", True),
    Field("dst", INTS, _LATTICE, "the state each arc enters", True),
    Field("start", INT, _LATTICE, "the initial state, 0 if null"),
    Field("final", FLOATS, _LATTICE, "log-score of ending in each state, or -inf", True),
    Field("times", FLOATS, _LATTICE, "seconds of each state"),
    Field("offset", INTS, _WORDY, "entry or edge i has words from offset[i] on", True),
    Field("nodes", INT, _FOREST, "how many nodes", True),
    Field("root", INT, _FOREST, "the root, the last node if null"),
    Field("head", INTS, _FOREST, "the node each edge makes", True),
    Field("tail", INTS, _FOREST, "the nodes it is made of, edge by edge", True),
    Field("tail_offset", INTS, _FOREST, "edge i has tails from tail_offset[i] on", True),
    Field("slot", INTS, _FOREST, "for each '' of label, which tail of its edge stands there", True),
    Field("category", WORDS, _FOREST, "category of each node"),
    Field("span", INTS, _FOREST, "begin and end of each node in turn"),
    # sparse matrices: row i has columns index[offset[i] : offset[i + 1]], and values likewise
    Field("feature_names", WORDS, KINDS, "the columns of the features"),
    Field("feature_offset", INTS, KINDS, "features of arcs, entries or edges: where rows begin"),
    Field("feature_index", INTS, KINDS, "the column of each value"),
    Field("feature_value", FLOATS, KINDS, "the values"),
    Field("final_feature_offset", INTS, _LATTICE, "features of ending in each state, likewise"),
    Field("final_feature_index", INTS, _LATTICE, "the column of each value"),
    Field("final_feature_value", FLOATS, _LATTICE, "the values"),
)
#: a matrix, and its three fields
MATRICES: Mapping[str, tuple[str, str, str]] = {
    f"{which}s": (f"{which}_offset", f"{which}_index", f"{which}_value")
    for which in ("feature", "final_feature")
}

#: the field that has as many entries as a matrix has rows
HEIGHTS: Mapping[str, str] = {"features": "score", "final_features": "final"}

#: what may not be missing, by kind
NEEDED: Mapping[str, tuple[str, ...]] = {
    kind: tuple(each.name for each in FIELDS if each.needed and kind in each.kinds)
    for kind in KINDS
}
#: read as ``refs`` in JSON where there are none, and in tables the other way round
OTHER_REFERENCES = "references"
_COMMON_KEYS = frozenset(
    ("id", "src", "refs", "feature_names", "nbest", "arcs", "edges", VERSION_KEY)
)
_STATE_KEYS = frozenset(("states", "start", "finals", "final_features", "times"))
#: keys with a meaning of their own in JSON lines; metadata cannot have these names
JSON_KEYS: Mapping[str, frozenset[str]] = {
    LATTICE: _COMMON_KEYS | _STATE_KEYS,
    NBEST: _COMMON_KEYS | _STATE_KEYS,
    FOREST: _COMMON_KEYS | {"nodes", "root"},
}


def fields_of(
    space: Space, losses: Unsupported, keys: Container[str] | None = None
) -> dict[str, Any]:
    """Return the fields of a segment; what it does not have is None or left out.

    ``label`` are numbers of its vocabulary, ``symbol`` in a forest; the three columns of a matrix
    are one, ``features`` or ``final_features``, perhaps not in order.
    """
    return collect_fields(space, losses, keys) | column_fields(space)


def collect_fields(
    space: Space, losses: Unsupported, keys: Container[str] | None = None
) -> dict[str, Any]:
    """Return the fields that are no columns of arcs, edges, entries or words."""
    return {
        "id": space.id,
        "kind": space.kind,
        "source": space.source,
        "references": _references(space, losses) if space.references else (),
        "metadata": _metadata(space, losses, keys or ()) if space.metadata else {},
        "feature_names": space.feature_names,
        "start": space.start if isinstance(space, Lattice) else None,
        "times": space.times if isinstance(space, Lattice) else None,
    }


def column_fields(space: Space) -> dict[str, Any]:
    """Return the other fields of :func:`fields_of`."""
    fields: dict[str, Any] = {"score": space.score, "features": make_rows(space)}
    if isinstance(space, Lattice):
        fields["label"], fields["final"] = space.label, space.final
        fields["src"], fields["dst"] = space.src, space.dst
        fields["final_features"] = make_rows(space, "final_features")
    elif isinstance(space, NBest):
        fields["label"], fields["offset"] = space.label, space.offset
    else:
        fields["symbol"], fields["offset"] = space.symbol, space.symbol_offset
        fields["nodes"], fields["root"], fields["head"] = space.num_nodes, space.root, space.head
        fields["tail"], fields["tail_offset"] = space.tail, space.tail_offset
        fields["category"], fields["span"] = space.categories or None, space.spans
    return fields


def _references(space: Space, losses: Unsupported) -> tuple[str | Lattice, ...]:
    for reference in space.references:
        if not isinstance(reference, str | Lattice):
            losses.add(f"references of type {type(reference).__name__}", f"segment {space.id!r}")
    return tuple(each for each in space.references if isinstance(each, str | Lattice))


def _metadata(space: Space, losses: Unsupported, keys: Container[str]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in space.metadata.items():
        try:
            if not isinstance(key, str) or key in keys:
                raise TypeError("a key that is taken, or no string")
            ENCODER.encode(value)
        except (TypeError, ValueError):
            losses.add(f"metadata {key!r}", f"segment {space.id!r}")
        else:
            kept[key] = value
    return kept


def space_of(
    kind: str,
    fields: Mapping[str, Any],
    vocabulary: Vocabulary,
    normal_form: Mapping[str, IntColumn] | None = None,
) -> Space:
    """Return the segment of fields as :func:`fields_of` gives them, checked.

    ``normal_form`` is what a lattice makes of its columns, where they are known to be right.
    """
    names: tuple[str, ...] = fields["feature_names"]
    features: FeatureRows | None = fields["features"]
    common: dict[str, Any] = {
        "vocabulary": vocabulary,
        "score": fields["score"],
        "features": features,
        "feature_names": names,
        "id": fields["id"],
        "source": fields["source"],
        "references": fields["references"],
        "metadata": fields["metadata"],
    }
    if kind == NBEST:
        return NBest(label=fields["label"], offset=fields["offset"], **common)
    if kind == FOREST:
        return _forest(fields, common)
    times = fields["times"]
    if times is not None:
        if not np.isfinite(times).all():
            raise SpaceError("a time is not finite")
        if len(times) != len(fields["final"]):
            raise SpaceError(f"{len(times)} times for {len(fields['final'])} states")
    for name in ("label", "src", "dst", "final", "start", "times", "final_features"):
        common[name] = fields[name]
    if normal_form is None:
        return build_lattice(**common)
    return Lattice.from_normal_form(**normal_form, **common)


def _forest(fields: Mapping[str, Any], common: Mapping[str, Any]) -> Forest:
    nodes, root = fields["nodes"], fields["root"]
    check_count(nodes, "nodes", len(fields["head"]), "edges")
    return Forest(
        symbol=fields["symbol"],
        symbol_offset=fields["offset"],
        head=fields["head"],
        tail=fields["tail"],
        tail_offset=fields["tail_offset"],
        num_nodes=nodes,
        root=nodes - 1 if root is None else root,
        categories=fields["category"] or (),
        spans=fields["span"],
        **common,
    )


def labels_and_slots(symbol: IntColumn) -> tuple[IntColumn, IntColumn]:
    """Return the words of target sides, with epsilon for slots, and which tail each slot is."""
    return ints(np.maximum(symbol, EPSILON)), ints(-1 - symbol[symbol < 0])


def symbols_of(label: IntColumn, slot: IntColumn) -> IntColumn:
    """Return words and slots in one column, as :class:`lattices.Forest` has them."""
    places = np.flatnonzero(label == EPSILON)
    if len(places) != len(slot):
        raise SpaceError(f"{len(slot)} in 'slot', but {len(places)} empty words in 'label'")
    if len(slot) and slot.min() < 0:
        raise SpaceError(f"{slot.min()} in 'slot', expected the index of a tail")
    symbol = label.copy()
    symbol[places] = -1 - slot
    return ints(symbol)
