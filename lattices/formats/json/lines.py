"""Lattices, n-best lists and forests as JSON lines: the native format, which loses nothing.

One object a line. A lattice::

    {"id": "7", "src": "das haus", "refs": ["the house"], "states": 3, "start": 0,
     "finals": {"2": -0.1}, "arcs": [[0, 1, "the", -0.5, {"lm": -1.2}], [1, 2, "house", -0.7]]}

Rows of ``arcs`` are source, target, word, score, features; the last two are optional and the
word ``""`` is epsilon. ``finals`` maps a state to its score or to ``[score, {feature:
value}]``; the features may also stand in ``final_features``. ``id``, ``src``, ``refs``,
``states``, ``start``, ``times`` (one number a state, in seconds) and ``feature_names``
(their order) are optional. A reference is a string, or a lattice; ``references`` is read as
``refs`` where there is no ``refs``. An n-best list::

    {"id": "7", "nbest": [{"words": "the house", "score": -1.2, "features": {"lm": -2.0}}]}

where ``words`` may be a list, for words with blanks in them. A forest::

    {"id": "7", "nodes": [{"id": 0, "cat": "X", "span": [1, 2]}, {"id": 1, "cat": "S", "span":
     [0, 2]}], "root": 1, "edges": [{"head": 0, "tails": [], "rhs": ["house"], "score": -0.5},
     {"head": 1, "tails": [0], "rhs": ["the", 0], "score": -0.7, "features": {"lm": -1.2}}]}

In ``rhs`` a string is a word and a whole number an index into ``tails``. ``nodes`` may be how
many there are, and ``root`` is the last of them where it is not given; ``tails``, ``score``,
``features``, ``cat`` and ``span`` are optional, the last two for all nodes or none.

Scores are natural logarithms, higher is better. Keys of a segment that are not named here are
kept in ``metadata`` and written back.

There are two readers of arcs, which agree on every record. :func:`arcs_apart` reads the usual one
from its bytes and leaves the rest of the record, which is short, to JSON. What it cannot read, be
it only unusual or wrong, is decoded as a whole, and looked at by :class:`ArcLists`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, BinaryIO

import numpy as np

from lattices._native import json_arcs
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import SpaceError
from lattices.formats.base import Format, Record, Unsupported, split_words
from lattices.formats.forests.cdec import OPENING as CDEC_OPENING
from lattices.formats.forests.travatar import OPENING as TRAVATAR_OPENING
from lattices.formats.json.fields import (
    ENCODER,
    decode,
    feature_objects,
    feature_rows,
    number_column,
    order_of_names,
    pause_collector,
    strings,
    take_field,
)
from lattices.formats.json.forests import read_forest, write_forest
from lattices.formats.lists.recognisers import is_recogniser
from lattices.formats.lists.table import is_row
from lattices.formats.space_fields import (
    FOREST,
    JSON_KEYS,
    LATTICE,
    NBEST,
    OTHER_REFERENCES,
    VERSION,
    VERSION_KEY,
    fields_of,
    space_of,
)
from lattices.spaces import Lattice, Space
from lattices.spaces.base import check_count
from lattices.spaces.features import FeatureRows, matrix_columns
from lattices.vocabulary import Vocabulary

#: more than the columns of lattices can hold
_HUGE = 2**31


@dataclass(frozen=True, eq=False)
class ArcColumns:
    """Arcs as columns, with nothing wrong in them."""

    # one entry an arc; ``word`` is an index into ``words``
    src: IntColumn
    dst: IntColumn
    word: IntColumn
    score: FloatColumn  # one entry an arc
    # in the order of the file
    words: Sequence[str]
    names: list[str]
    # the features as a sparse matrix with a column for each of ``names``
    offset: IntColumn
    index: IntColumn
    value: FloatColumn

    @classmethod
    def of_lists(cls, arcs: list[Any]) -> ArcColumns:
        """Return arcs that are lists of three to five entries.

        The interpreter's own loops do all work on single arcs: it is the time of reading.
        """
        src, dst, words, scores, rows = _columns(arcs)
        states = *src, *dst
        if states and not -_HUGE < min(states) <= max(states) < _HUGE:
            odd = next(state for state in states if not -_HUGE < state < _HUGE)
            raise SpaceError(f"state {odd!r:.20} of an arc, of {len(arcs)} arcs")
        names: list[str] = []
        score = number_column(scores, "scores of arcs")
        offset, index, value = matrix_columns(feature_rows(rows, names))
        word = ints(np.arange(len(arcs)))
        return cls(ints(src), ints(dst), word, score, words, names, offset, index, value)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.src)

    @property
    def highest(self) -> int:
        """The highest state, -1 if there is none."""
        return max(int(self.src.max(initial=-1)), int(self.dst.max(initial=-1)))

    def labels(self, vocabulary: Vocabulary) -> IntColumn:
        """Return the numbers of the words, which are added."""
        return ints(np.array(vocabulary.add_all(self.words), np.int32)[self.word])

    def features(self, names: list[str]) -> FeatureRows:
        """Return the features, one row an arc; new names are appended to ``names``."""
        index = self.index
        if names:
            number = {name: place for place, name in enumerate(dict.fromkeys(names + self.names))}
            names[:] = number
            index = ints(np.array([number[name] for name in self.names], np.int32)[index])
        else:
            names[:] = self.names
        return FeatureRows(self.value, index, self.offset, len(names))


def _columns(arcs: list[Any]) -> tuple[Sequence[Any], ...]:
    """Return the five columns of rows of three to five entries."""
    if not arcs:
        return (), (), (), (), ()
    if set(map(type, arcs)) != {list}:
        raise SpaceError("an arc is not a list")
    lengths = set(map(len, arcs))
    if not lengths <= {3, 4, 5}:
        raise SpaceError(f"an arc has {min(lengths - {3, 4, 5})} entries, expected 3, 4 or 5")
    if lengths != {5}:
        arcs = [(*arc, 0.0, None)[:5] if len(arc) == 3 else (*arc, None)[:5] for arc in arcs]
    src, dst, words, score, rows = zip(*arcs, strict=True)
    for entries, kind, what in ((src, int, "state"), (dst, int, "state"), (words, str, "word")):
        if set(map(type, entries)) != {kind}:
            odd = next(entry for entry in entries if type(entry) is not kind)
            raise SpaceError(f"{odd!r} for the {what} of an arc, expected {kind.__name__}")
    return src, dst, words, score, rows


def arcs_apart(record: Record) -> tuple[dict[str, Any], ArcColumns] | None:
    """Return the fields of a record, ``arcs`` empty, and the arcs; or None if it is unusual.

    What is found is what :meth:`ArcColumns.of_lists` would find, bit by bit.
    """
    payload = record.payload
    found = json_arcs(payload)
    if found is None:
        return None
    begin, end, src, dst, word, score, offset, index, value, words, names, escaped = found
    try:
        if escaped:
            words, names = _unescape(words), _unescape(names)
        rest = payload[:begin] + b"[]" + payload[end:]
        fields = decode(Record(rest, record.path, record.line, record.number))
    except (ValueError, RecursionError):
        return None
    if len(set(names)) < len(names):
        return None
    arcs = ArcColumns(
        src=src,
        dst=dst,
        word=word,
        score=score,
        words=words,
        names=names,
        offset=offset,
        index=index,
        value=value,
    )
    return fields, arcs


def _unescape(texts: list[str]) -> list[str]:
    """Return what stands between quotes without JSON's escapes."""
    found = [json.loads(f'"{text}"') if "\\" in text else text for text in texts]
    # lone surrogates are no text
    "".join(found).encode("utf-8")
    return found


def json_line(space: Space, losses: Unsupported) -> bytes:
    """Return one segment as a line."""
    return ENCODER.encode(_object_of(space, losses)).encode("utf-8") + b"\n"


def _object_of(space: Space, losses: Unsupported) -> dict[str, Any]:
    """Return a segment as an object of JSON's."""
    keys = JSON_KEYS[space.kind]
    # the other name of references is theirs only where there are none
    fields = fields_of(space, losses, keys if space.references else keys | {OTHER_REFERENCES})
    made: dict[str, Any] = {"id": fields["id"]}
    if fields["source"]:
        made["src"] = fields["source"]
    if fields["references"]:
        made["refs"] = [
            each if isinstance(each, str) else _object_of(each, losses)
            for each in fields["references"]
        ]
    write = {LATTICE: _write_lattice, NBEST: _write_nbest, FOREST: write_forest}[space.kind]
    return {**made, **fields["metadata"], **write(fields, space.vocabulary.strings)}


def _write_lattice(fields: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    columns: list[Iterable[Any]] = [
        fields["src"].tolist(),
        fields["dst"].tolist(),
        [words[label] for label in fields["label"].tolist()],
        fields["score"].tolist(),
    ]
    rows: list[dict[str, float]] = []
    last: dict[str, dict[str, float]] = {}
    names, final = fields["feature_names"], fields["final"]
    ending = np.flatnonzero(final > -np.inf).tolist()
    if fields["features"] is not None:
        rows = feature_objects(fields["features"], names)
        columns.append(rows)
    if fields["final_features"] is not None:
        objects = feature_objects(fields["final_features"], names)
        last = {str(state): objects[state] for state in ending if objects[state]}
    made: dict[str, Any] = {
        "states": len(final),
        "start": fields["start"],
        "finals": {str(state): float(final[state]) for state in ending},
    }
    if last:
        made["final_features"] = last
    made |= order_of_names(names, chain(rows, last.values()))
    if fields["times"] is not None:
        made["times"] = fields["times"].tolist()
    made["arcs"] = list(zip(*columns, strict=True))
    return made


def _write_nbest(fields: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    spoken = [words[label] for label in fields["label"].tolist()]
    bounds = pairwise(fields["offset"].tolist())
    for (low, high), score in zip(bounds, fields["score"].tolist(), strict=True):
        tokens = spoken[low:high]
        text = " ".join(tokens)
        entries.append({"words": text if split_words(text) == tokens else tokens, "score": score})
    rows: list[dict[str, float]] = []
    if fields["features"] is not None:
        rows = feature_objects(fields["features"], fields["feature_names"])
        for entry, row in zip(entries, rows, strict=True):
            entry["features"] = row
    return {**order_of_names(fields["feature_names"], rows), "nbest": entries}


_OPENING = re.compile(rb'\s*\{\s*["}]')
_OTHERS = (CDEC_OPENING, TRAVATAR_OPENING)
#: a key that no rows and no recognisers have; within a text its quotes would be escaped
_OWN_KEY = re.compile(rb'"(?:arcs|states|finals)"\s*:')


class JsonLines(Format):
    """See the module."""

    name = "jsonl"
    description = "JSON lines, lattices, n-best lists and forests; exact and complete"
    kind = "any"
    suffixes = (".jsonl", ".ndjson")
    exact = True
    appendable = True
    by_line = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first line begins an object, and none of another format."""
        if not _OPENING.match(head) or any(other.match(head) for other in _OTHERS):
            return False
        return bool(_OWN_KEY.search(head)) or not (is_row(head) or is_recogniser(head))

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        """Return the segment of one line, in time linear in its length."""
        usual = arcs_apart(record)
        if usual is not None:
            fields, arcs = usual
            return _space(fields, vocabulary, arcs)
        with pause_collector():
            return parse_carefully(record, vocabulary)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write one line for each segment; floats in the digits that read back the same."""
        for space in spaces:
            stream.write(json_line(space, losses))


FORMAT = JsonLines()


def parse_carefully(record: Record, vocabulary: Vocabulary) -> Space:
    """Return the segment of any line, or say what is wrong with it.

    It is decoded as a whole, however usual it is.
    """
    fields = decode(record)
    if not isinstance(fields, dict):
        raise record.error(f"a line holds one object, not {type(fields).__name__}")
    return _space(fields, vocabulary)


def _space(object: dict[str, Any], vocabulary: Vocabulary, arcs: ArcColumns | None = None) -> Space:
    """Return the segment of an object, whose arcs may have been read already."""
    if VERSION_KEY in object:
        version = object.pop(VERSION_KEY)
        if version not in (VERSION, int(VERSION)) or type(version) not in (str, int):
            raise SpaceError(f"{version!r:.40} for {VERSION_KEY!r}, expected {VERSION}")
    which = [key for key in _KIND_OF if key in object]
    if len(which) > 1:
        raise SpaceError(f"both {which[0]!r} and {which[1]!r} in one object")
    kind = _KIND_OF[which[0]] if which else LATTICE
    if kind == LATTICE:
        fields = _read_lattice(object, vocabulary, arcs)
    elif kind == NBEST:
        fields = _read_nbest(object, vocabulary)
    else:
        fields = read_forest(object, vocabulary)
    return space_of(kind, _common(object, vocabulary, JSON_KEYS[kind]) | fields, vocabulary)


#: what tells the kind of a segment
_KIND_OF = {"arcs": LATTICE, "nbest": NBEST, "edges": FOREST}


def _read_lattice(
    object: dict[str, Any], vocabulary: Vocabulary, apart: ArcColumns | None = None
) -> dict[str, Any]:
    """Return the fields of a lattice, but for those that all kinds of segments have."""
    for key in ("arcs", "finals"):
        if key not in object:
            raise SpaceError(f"no {key!r} in the object")
    arcs = apart or ArcColumns.of_lists(take_field(object, "arcs", list))
    ending, final_rows = _finals(object)
    start = take_field(object, "start", int, 0)
    states = take_field(object, "states", int, None)
    if states is None:
        states = 1 + max((start, arcs.highest, *ending))
    check_count(states, "states", arcs.count, "arcs")
    if not all(0 <= state < states for state in ending):
        raise SpaceError(f"final states {sorted(ending)}, expected numbers from 0 to {states - 1}")
    final = np.full(states, -np.inf)
    final[list(ending)] = list(ending.values())
    names = strings(object, "feature_names")
    features = arcs.features(names)
    ends = sorted(final_rows)
    last = feature_rows([final_rows[end] for end in ends], names, ends, states) if ends else None
    if features.shape[1] < len(names):
        # the finals have brought names that no arc uses
        features = features.widen(len(names))
    times = take_field(object, "times", list, None)
    return {
        "src": arcs.src,
        "dst": arcs.dst,
        "label": arcs.labels(vocabulary),
        "score": arcs.score,
        "final": floats(final),
        "start": start,
        "features": features if names else None,
        "final_features": last if last is not None and last.nnz else None,
        "feature_names": tuple(names),
        "times": None if times is None else number_column(times, "times"),
    }


def _finals(fields: dict[str, Any]) -> tuple[dict[int, float], dict[int, Mapping[str, float]]]:
    """Return the scores and the features of ending in a state."""
    scores: dict[int, Any] = {}
    rows = {
        _state(state): row for state, row in take_field(fields, "final_features", dict, {}).items()
    }
    for key, value in take_field(fields, "finals", dict).items():
        state = _state(key)
        if isinstance(value, list):
            if len(value) != 2 or state in rows:
                raise SpaceError(f"final state {state}: expected a score, or a score and features")
            value, rows[state] = value
        scores[state] = value
    if not rows.keys() <= scores.keys():
        raise SpaceError(
            f"'final_features' of states {sorted(rows.keys() - scores)}, not in 'finals'"
        )
    checked = number_column(list(scores.values()), "scores of final states").tolist()
    return dict(zip(scores, checked, strict=True)), rows


def _state(key: str) -> int:
    if not (key.isascii() and key.isdecimal() and len(key) < 19):
        raise SpaceError(f"{key!r:.40} for a final state, expected a number from 0")
    return int(key)


def _read_nbest(fields: dict[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the fields of an n-best list, but for those that all kinds of segments have."""
    entries = take_field(fields, "nbest", list)
    if not {dict}.issuperset(map(type, entries)):
        raise SpaceError("an entry of 'nbest' is not an object")
    words = [_entry_words(entry) for entry in entries]
    names = strings(fields, "feature_names")
    features = feature_rows([entry.get("features") for entry in entries], names)
    return {
        "label": ints(vocabulary.add_all(chain.from_iterable(words))),
        "offset": ints(np.cumsum([0, *map(len, words)])),
        "score": number_column([entry.get("score", 0.0) for entry in entries], "scores"),
        "features": features if names else None,
        "feature_names": tuple(names),
    }


def _entry_words(entry: dict[str, Any]) -> list[str]:
    words = entry.get("words")
    if isinstance(words, str):
        return split_words(words)
    if isinstance(words, list) and all(isinstance(word, str) and word for word in words):
        return words
    raise SpaceError(f"{words!r} for the words of an entry, expected a string or a list of words")


def _common(object: dict[str, Any], vocabulary: Vocabulary, keys: frozenset[str]) -> dict[str, Any]:
    """Return the fields that all kinds of segments have."""
    name = object.get("id", "")
    if type(name) not in (str, int):
        raise SpaceError(f"{name!r} for 'id', expected a string")
    key = "refs" if "refs" in object else OTHER_REFERENCES
    references = [
        _reference(each, vocabulary) if isinstance(each, dict) else each
        for each in take_field(object, key, list, [])
    ]
    if not all(isinstance(each, str | Lattice) for each in references):
        raise SpaceError("a reference is neither a string nor a lattice")
    return {
        "id": str(name),
        "source": take_field(object, "src", str, ""),
        "references": tuple(references),
        "metadata": {name: object[name] for name in object if name not in keys and name != key},
    }


def _reference(object: dict[str, Any], vocabulary: Vocabulary) -> Space:
    fields = _common(object, vocabulary, JSON_KEYS[LATTICE]) | _read_lattice(object, vocabulary)
    return space_of(LATTICE, fields, vocabulary)
