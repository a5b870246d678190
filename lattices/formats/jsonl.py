"""Lattices and n-best lists as JSON lines: the native format, which loses nothing.

One object a line. A lattice::

    {"id": "7", "src": "das haus", "refs": ["the house"], "states": 3, "start": 0,
     "finals": {"2": -0.1}, "arcs": [[0, 1, "the", -0.5, {"lm": -1.2}], [1, 2, "house", -0.7]]}

Rows of ``arcs`` are source, target, word, score, features; the last two are optional and the
word ``""`` is epsilon. ``finals`` maps a state to its score or to ``[score, {feature:
value}]``; the features may also stand in ``final_features``. ``id``, ``src``, ``refs``,
``states``, ``start``, ``times`` (one number a state, in seconds) and ``feature_names``
(their order) are optional. A reference is a string, or a lattice. An n-best list::

    {"id": "7", "nbest": [{"words": "the house", "score": -1.2, "features": {"lm": -2.0}}]}

where ``words`` may be a list, for words with blanks in them. Scores are natural logarithms,
higher is better. Keys not named here are kept in ``metadata`` and written back.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO, NoReturn

import numpy as np
from scipy.sparse import csr_array

from lattices.arrays import FloatColumn, floats, ints
from lattices.errors import SpaceError
from lattices.formats.base import Format, Losses, Record, split_words, text_lines
from lattices.formats.jsonl_writer import ENCODER, KEYS, json_line
from lattices.spaces import Lattice, NBest, Space
from lattices.spaces.features import FeatureMatrix
from lattices.vocabulary import Vocabulary

STATES_WITHOUT_ARCS = 1_000_000


def _no_constant(name: str) -> NoReturn:
    raise SpaceError(f"{name} is no JSON number")


_OPENING = re.compile(rb'\s*\{\s*["}]')
_DECODER = json.JSONDecoder(parse_constant=_no_constant)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the cycle collector from walking thousands of objects that hold no cycle.

    It would take an eighth of the time of reading.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


class JsonLines(Format):
    """See the module."""

    name = "jsonl"
    description = "JSON lines, lattices and n-best lists; exact and complete"
    kind = "any"
    suffixes = (".jsonl", ".ndjson")
    exact = True
    appendable = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first line begins an object."""
        return _OPENING.match(head) is not None

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut at line ends; blank lines are nothing."""
        lines = ((line, text) for line, text in text_lines(stream) if text.strip())
        for number, (line, text) in enumerate(lines):
            yield Record(text, path, line, number)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        """Return the lattice or n-best list of one line, in time linear in its length."""
        with _collector_paused():
            try:
                fields = _DECODER.decode(record.text())
            except json.JSONDecodeError as problem:
                raise record.error(f"not JSON: {problem.msg}, column {problem.colno}") from problem
            # lone surrogates can be spelled in JSON, but are no text and could not be written
            if b"\\ud" in record.payload or b"\\uD" in record.payload:
                ENCODER.encode(fields).encode("utf-8")
            if not isinstance(fields, dict):
                raise record.error(f"a line holds one object, not {type(fields).__name__}")
            return _space(fields, vocabulary)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Losses, **options: Any
    ) -> None:
        """Write one line for each segment; floats in the digits that read back the same."""
        for space in spaces:
            stream.write(json_line(space, losses))


FORMAT = JsonLines()


def _space(fields: dict[str, Any], vocabulary: Vocabulary) -> Space:
    if "nodes" in fields and "edges" in fields:
        raise SpaceError(
            "this is a forest ('nodes' and 'edges'); jsonl reads lattices and n-best lists"
        )
    if "nbest" in fields:
        if "arcs" in fields:
            raise SpaceError("both 'arcs' and 'nbest' in one object")
        return _nbest(fields, vocabulary)
    return _lattice(fields, vocabulary)


def _lattice(fields: dict[str, Any], vocabulary: Vocabulary) -> Lattice:
    for key in ("arcs", "finals"):
        if key not in fields:
            raise SpaceError(f"no {key!r} in the object")
    src, dst, words, score, rows = _columns(_typed(fields, "arcs", list))
    ending, final_rows = _finals(fields)
    start = _typed(fields, "start", int, 0)
    states = _typed(fields, "states", int, None)
    if states is None:
        states = 1 + max((start, *src, *dst, *ending))
    if not 0 < states <= STATES_WITHOUT_ARCS + 2 * len(src):
        # one wrong digit must not ask for all the memory there is
        raise SpaceError(f"{states} states for {len(src)} arcs")
    if not all(0 <= state < states for state in ending):
        raise SpaceError(f"final states {sorted(ending)}, expected numbers from 0 to {states - 1}")
    final = np.full(states, -np.inf)
    final[list(ending)] = list(ending.values())
    names = _strings(fields, "feature_names")
    features = _feature_rows(rows, names)
    ends = sorted(final_rows)
    last = _feature_rows([final_rows[end] for end in ends], names, ends, states) if ends else None
    if features.shape[1] < len(names):
        # the finals have brought names that no arc uses
        features.resize((len(src), len(names)))
    times = _typed(fields, "times", list, None)
    if times is not None:
        times = _number_column(times, "times")
        if not np.isfinite(times).all():
            raise SpaceError("a time is not finite")
    return Lattice(
        vocabulary=vocabulary,
        src=ints(src),
        dst=ints(dst),
        label=ints(vocabulary.add_all(words)),
        score=_number_column(score, "scores of arcs"),
        final=floats(final),
        start=start,
        features=features if names else None,
        final_features=last if last is not None and last.nnz else None,
        feature_names=tuple(names),
        times=times,
        **_common(fields, vocabulary),
    )


def _columns(arcs: list[Any]) -> tuple[Sequence[Any], ...]:
    """Return the five columns of rows of three to five entries.

    All work on single arcs is done by the interpreter's own loops: this is the time it
    takes to read a corpus.
    """
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
    for column, kind, what in ((src, int, "state"), (dst, int, "state"), (words, str, "word")):
        if set(map(type, column)) != {kind}:
            odd = next(entry for entry in column if type(entry) is not kind)
            raise SpaceError(f"{odd!r} for the {what} of an arc, expected {kind.__name__}")
    return src, dst, words, score, rows


def _finals(fields: dict[str, Any]) -> tuple[dict[int, float], dict[int, Mapping[str, float]]]:
    """Return the scores and the features of ending in a state."""
    scores: dict[int, Any] = {}
    rows = {_state(state): row for state, row in _typed(fields, "final_features", dict, {}).items()}
    for key, value in _typed(fields, "finals", dict).items():
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
    checked = _number_column(list(scores.values()), "scores of final states").tolist()
    return dict(zip(scores, checked, strict=True)), rows


def _state(key: str) -> int:
    if not (key.isascii() and key.isdecimal()):
        raise SpaceError(f"{key!r} for a final state, expected a number from 0")
    return int(key)


def _number_column(values: Sequence[Any], what: str) -> FloatColumn:
    # numpy looks at every entry anyway, so its verdict on the type costs nothing
    column = np.array(values)
    if column.ndim != 1 or column.dtype.kind not in "biuf":
        odd = next((value for value in values if not isinstance(value, int | float)), values)
        raise SpaceError(f"{odd!r:.40} among the {what}, expected a number")
    return floats(column)


def _feature_rows(
    rows: Sequence[Any], names: list[str], places: list[int] | slice | None = None, height: int = 0
) -> FeatureMatrix:
    """Return one sparse row for each mapping or None; new names are appended to ``names``.

    With ``places``, which ascend, these are some of the ``height`` rows and the others empty.
    Few arcs have their set of names to themselves, so names are looked up once for each
    set, not once for each value.
    """
    kinds = set(map(type, rows))
    if not kinds <= {dict, type(None)}:
        odd = next(row for row in rows if type(row) not in (dict, type(None)))
        raise SpaceError(f"{odd!r:.40} for features, expected an object")
    filled = rows if kinds == {dict} else [row or {} for row in rows]
    patterns = list(map(tuple, filled))
    distinct = dict.fromkeys(patterns)
    number = {name: index for index, name in enumerate(dict.fromkeys(chain(names, *distinct)))}
    names[:] = number
    columns = {
        pattern: np.array([number[name] for name in pattern], np.int32) for pattern in distinct
    }
    if places is None:
        height, places = len(rows), slice(None)
    bounds = np.zeros(height + 1, np.int32)
    bounds[1:][places] = list(map(len, filled))
    values = list(chain.from_iterable(map(dict.values, filled)))
    return csr_array(
        (
            _number_column(values, "features"),
            np.concatenate([*map(columns.__getitem__, patterns), np.empty(0, np.int32)]),
            bounds.cumsum(dtype=np.int32),
        ),
        shape=(height, len(number)),
    )


def _nbest(fields: dict[str, Any], vocabulary: Vocabulary) -> NBest:
    entries = _typed(fields, "nbest", list)
    if not {dict}.issuperset(map(type, entries)):
        raise SpaceError("an entry of 'nbest' is not an object")
    words = [_entry_words(entry) for entry in entries]
    names = _strings(fields, "feature_names")
    features = _feature_rows([entry.get("features") for entry in entries], names)
    return NBest(
        vocabulary=vocabulary,
        label=ints(vocabulary.add_all(chain.from_iterable(words))),
        offset=ints(np.cumsum([0, *map(len, words)])),
        score=_number_column([entry.get("score", 0.0) for entry in entries], "scores"),
        features=features if names else None,
        feature_names=tuple(names),
        **_common(fields, vocabulary),
    )


def _entry_words(entry: dict[str, Any]) -> list[str]:
    words = entry.get("words")
    if isinstance(words, str):
        return split_words(words)
    if isinstance(words, list) and all(isinstance(word, str) and word for word in words):
        return words
    raise SpaceError(f"{words!r} for the words of an entry, expected a string or a list of words")


def _common(fields: dict[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    name = fields.get("id", "")
    if type(name) not in (str, int):
        raise SpaceError(f"{name!r} for 'id', expected a string")
    references = [
        _lattice(entry, vocabulary) if isinstance(entry, dict) else entry
        for entry in _typed(fields, "refs", list, [])
    ]
    if not all(isinstance(entry, str | Lattice) for entry in references):
        raise SpaceError("a reference is neither a string nor a lattice")
    return {
        "id": str(name),
        "source": _typed(fields, "src", str, ""),
        "references": tuple(references),
        "metadata": {key: fields[key] for key in fields if key not in KEYS},
    }


_REQUIRED = object()


def _typed(fields: dict[str, Any], key: str, kind: type, default: Any = _REQUIRED) -> Any:
    """Return a field of exactly this type, or the default when it is absent."""
    value = fields[key] if default is _REQUIRED else fields.get(key, default)
    if value is not default and type(value) is not kind:
        raise SpaceError(f"{value!r:.40} for {key!r}, expected {kind.__name__}")
    return value


def _strings(fields: dict[str, Any], key: str) -> list[str]:
    values = _typed(fields, key, list, [])
    if not all(isinstance(value, str) for value in values) or len(set(values)) < len(values):
        raise SpaceError(f"{key!r} are not different strings")
    return list(values)
