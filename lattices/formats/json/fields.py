"""JSON fields: decoding, and values of a given type in bulk."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import Any, NoReturn

import numpy as np

from lattices.arrays import FloatColumn, floats, ints
from lattices.errors import SpaceError
from lattices.formats.base import Record
from lattices.spaces.features import FeatureRows

#: for output: no blanks, and no numbers but finite ones
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ANY_NUMBERS = json.JSONEncoder(ensure_ascii=False)


def _no_constant(name: str) -> NoReturn:
    raise SpaceError(f"{name} is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        again = next(name for name, count in counts.items() if count > 1)
        raise SpaceError(f"{again!r:.40} twice in one object")
    return fields


def _decoder(make_object: Callable[[list[tuple[str, Any]]], Any] | None) -> json.JSONDecoder:
    return json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=make_object)


_FAST, _STRICT, _PAIRS = _decoder(None), _decoder(_object), _decoder(tuple)


def _value(record: Record, text: str) -> Any:
    """Return the JSON value, after a second and careful look if a key may be there twice.

    The fast decoder keeps the last of equal keys: so keys are counted in the text as well.
    """
    payload = record.payload
    value = _FAST.decode(text)
    sure = b'\\"' not in payload and b"\\\\" not in payload
    if sure and payload.count(b'":') == _count_usual_keys(value):
        return value
    return _STRICT.decode(text)


def _count_usual_keys(value: Any) -> int:
    """Return the number of keys of a line of a lattice, forest or list; an upper bound."""
    if type(value) is not dict:
        return 0
    count = len(value)
    for part in value.values():
        if type(part) is dict:
            count += len(part) + _keys_within(part.values())
        elif type(part) is list:
            count += _keys_within(part)
            inner = [row.values() for row in part if type(row) is dict]
            count += sum(map(_keys_within, inner))
    return count


def _keys_within(rows: Iterable[Any]) -> int:
    """Count the keys of objects, and of those that stand at the end of lists."""
    ends = [row[-1] if type(row) is list and row else row for row in rows]
    return sum([len(end) for end in ends if type(end) is dict])


def decode(record: Record, *, pairs: bool = False) -> Any:
    """Return the JSON value of a record, or say what is wrong with it."""
    text = record.text()
    try:
        value = _PAIRS.decode(text) if pairs else _value(record, text)
    except json.JSONDecodeError as problem:
        raise record.error(
            f"not JSON: {problem.msg}, column {problem.colno}", problem.lineno - 1
        ) from problem
    except SpaceError:
        raise
    except ValueError as problem:
        # what else json raises: there is a limit to what Python takes for a number
        raise record.error("a whole number of thousands of digits") from problem
    except RecursionError as problem:
        raise record.error("lists or objects in one another, too many (recursion)") from problem
    # lone surrogates can be spelled in JSON, but are no text and could not be written
    if b"\\ud" in record.payload or b"\\uD" in record.payload:
        _ANY_NUMBERS.encode(value).encode("utf-8")
    return value


@contextmanager
def pause_collector() -> Iterator[None]:
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


_REQUIRED = object()


def take_field(fields: dict[str, Any], key: str, kind: type, default: Any = _REQUIRED) -> Any:
    """Return a field of exactly this type, or the default when it is absent."""
    if default is _REQUIRED and key not in fields:
        raise SpaceError(f"no {key!r} in the object")
    value = fields.get(key, default)
    if value is not default and type(value) is not kind:
        raise SpaceError(f"{value!r:.40} for {key!r}, expected {kind.__name__}")
    return value


def strings(fields: dict[str, Any], key: str) -> list[str]:
    """Return a field that is a list of different strings, or nothing."""
    values = take_field(fields, key, list, [])
    if not all(isinstance(value, str) for value in values) or len(set(values)) < len(values):
        raise SpaceError(f"{key!r} are not different strings")
    return list(values)


def check_types(values: Sequence[Any], kinds: set[type], what: str) -> None:
    """Raise SpaceError for the first value that is of none of the types."""
    if not kinds.issuperset(map(type, values)):
        odd = next(value for value in values if type(value) not in kinds)
        expected = " or ".join(sorted(kind.__name__ for kind in kinds))
        raise SpaceError(f"{odd!r:.40} for {what}, expected {expected}")


def number_column(values: Sequence[Any], what: str) -> FloatColumn:
    """Return a column of numbers, or raise SpaceError for what is none."""
    if not {int, float}.issuperset(map(type, values)):
        odd = next(value for value in values if type(value) not in (int, float))
        raise SpaceError(f"{odd!r:.40} among the {what}, expected a number")
    column = np.array(values)
    if column.dtype.kind not in "iuf":
        digits = len(str(max(map(abs, values))))
        raise SpaceError(f"a whole number of {digits} digits among the {what}, expected 18 at most")
    return floats(column)


def feature_rows(
    rows: Sequence[Any], names: list[str], places: list[int] | slice | None = None, height: int = 0
) -> FeatureRows:
    """Return one sparse row for each mapping or None; new names are appended to ``names``.

    With ``places``, which ascend, these are some of the ``height`` rows and the others empty.
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
    return FeatureRows(
        number_column(values, "features"),
        ints(np.concatenate([*map(columns.__getitem__, patterns), np.empty(0, np.int32)])),
        ints(bounds.cumsum(dtype=np.int32)),
        len(number),
    )


def feature_objects(matrix: FeatureRows, names: Sequence[str]) -> list[dict[str, float]]:
    """Return the features that each row stores, by name, zeros among them."""
    matrix = matrix.canonicalize()
    used = [names[index] for index in matrix.indices.tolist()]
    values = matrix.data.tolist()
    return [
        dict(zip(used[low:high], values[low:high], strict=True))
        for low, high in pairwise(matrix.indptr.tolist())
    ]


def order_of_names(names: tuple[str, ...], rows: Iterable[Mapping[str, float]]) -> dict[str, Any]:
    """Return the names as a field, unless a reader would find them in this order by itself."""
    met = tuple(dict.fromkeys(chain.from_iterable(rows)))
    return {} if met == names else {"feature_names": list(names)}
