"""The arcs of a lattice in JSON, read from its bytes by one kernel.

:func:`arc_bytes` knows what arcs usually look like, in any spelling of numbers and with any
blanks between them. Of anything else it says so and no more: then the record is for a reader
that understands JSON, and knows what is wrong with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lattices.arrays import Array, kernel
from lattices.formats.byte_kernels import byte_kernel, numbered, same, slots_for
from lattices.formats.decimal_numbers import REAL, WHOLE, number_at

#: more digits may not fit in 64 bits
_MOST_DIGITS = 18
#: more than the columns of lattices can hold
_HUGE = 2**31


@byte_kernel
def _past_blanks(data, place):  # type: ignore[no-untyped-def]
    """Return the place of the next byte that is no blank, or the end."""
    while place < len(data) and (
        data[place] == 32 or data[place] == 10 or data[place] == 13 or data[place] == 9
    ):
        place += 1
    return place


@byte_kernel
def _byte(data, place):  # type: ignore[no-untyped-def]
    """Return the byte at a place, 0 at the end."""
    return data[place] if place < len(data) else np.uint8(0)


@byte_kernel
def _string_end(data, place):  # type: ignore[no-untyped-def]
    """Return the place of the quote that ends a string, or the end."""
    while place < len(data) and data[place] != 34:
        # what is escaped may be a quote
        place += 2 if data[place] == 92 else 1
    return min(place, len(data))


@byte_kernel
def _value_end(data, place):  # type: ignore[no-untyped-def]
    """Return the place of the comma or bracket behind a value, or the end."""
    depth = 0
    while place < len(data):
        byte = data[place]
        if byte == 34:
            place = _string_end(data, place + 1)
        elif byte == 91 or byte == 123:
            depth += 1
        elif depth == 0 and (byte == 44 or byte == 93 or byte == 125):
            break
        elif byte == 93 or byte == 125:
            depth -= 1
        place += 1
    return place


@byte_kernel
def _arcs_at(data):  # type: ignore[no-untyped-def]
    """Return the place of the bracket that opens ``"arcs"`` of the outer object, or -1."""
    place = _past_blanks(data, 0)
    if _byte(data, place) != 123:
        return -1
    while True:
        place = _past_blanks(data, place + 1)
        if _byte(data, place) != 34:
            return -1
        first = place + 1
        end = _string_end(data, first)
        place = _past_blanks(data, end + 1)
        if _byte(data, place) != 58:
            return -1
        place = _past_blanks(data, place + 1)
        if (
            end - first == 4
            and data[first] == 97
            and data[first + 1] == 114
            and data[first + 2] == 99
            and data[first + 3] == 115
        ):
            return place if _byte(data, place) == 91 else -1
        place = _value_end(data, place)
        if _byte(data, place) != 44:
            return -1


@byte_kernel
def _state(data, place):  # type: ignore[no-untyped-def]
    """Return a whole number from 0, and the place behind it; -1 if it is none."""
    value, first = 0, place
    while place < len(data) and 48 <= data[place] <= 57:
        value = 10 * value + np.int64(data[place] - 48)
        place += 1
    odd = place == first or place - first > _MOST_DIGITS or value >= _HUGE
    if odd or (data[first] == 48 and place - first > 1):
        value = -1
    return value, place


@byte_kernel
def _text_end(data, place):  # type: ignore[no-untyped-def]
    """Return the place of the quote that ends a string without control characters, or -1."""
    while place < len(data):
        byte = data[place]
        if byte == 34:
            return place
        if byte < 32:
            return -1
        place += 2 if byte == 92 else 1
    return -1


@byte_kernel
def _number(data, place, bits):  # type: ignore[no-untyped-def]
    """Return a number, the place behind it or -1 if it is none, and whether it is sure."""
    value, end, kind, sure = number_at(data, place, len(data), bits)
    if kind == WHOLE:
        # whole numbers have no -0, and large ones are no business of floats
        if value == 0.0:
            value = 0.0
        if end - place > _MOST_DIGITS:
            end = -1
    elif kind != REAL:
        end = -1
    return value, end, sure


class _Features(NamedTuple):
    """What is being collected: see :func:`arc_bytes`.

    ``last_arc`` is the arc on which a name was seen last, and ``follower`` the name that came
    behind it; what comes first on an arc is in the last place.
    """

    column: Array
    value: Array
    unsure: Array
    names: Array
    slots: Array
    last_arc: Array
    follower: Array


@byte_kernel
def _feature_bytes(data, place, arc, found, counts, bits):  # type: ignore[no-untyped-def]
    """Read an object of features; return the place behind it, or -1.

    ``counts`` are those of features, names and unsure numbers.
    """
    place = _past_blanks(data, place + 1)
    if _byte(data, place) == 125:
        return place + 1
    known = np.int64(-1)
    while _byte(data, place) == 34:
        first = place + 1
        # names come in the same order on most arcs
        name = np.int64(found.follower[known])
        last = np.int64(-1)
        if name >= 0:
            other = found.names[name, 0]
            last = first + found.names[name, 1] - other
            if _byte(data, last) != 34 or not same(data, first, other, last - first):
                last = np.int64(-1)
        if last < 0:
            last = _text_end(data, first)
            if last < 0:
                return -1
            name, total = numbered(data, first, last, found.slots, found.names, counts[1])
            if total > counts[1]:
                counts[1] = total
                found.last_arc[name] = -1
                found.follower[name] = -1
            found.follower[known] = name
        if found.last_arc[name] == arc:
            return -1
        found.last_arc[name] = arc
        known = name
        place = _past_blanks(data, last + 1)
        if _byte(data, place) != 58:
            return -1
        first = _past_blanks(data, place + 1)
        value, place, sure = _number(data, first, bits)
        if place < 0:
            return -1
        if not sure:
            _doubt(found.unsure, counts, counts[0], first, place)
        found.column[counts[0]] = name
        found.value[counts[0]] = value
        counts[0] += 1
        place = _past_blanks(data, place)
        if _byte(data, place) == 125:
            return place + 1
        if _byte(data, place) != 44:
            return -1
        place = _past_blanks(data, place + 1)
    return -1


@byte_kernel
def _doubt(unsure, counts, number, begin, end):  # type: ignore[no-untyped-def]
    """Note a number that was not found."""
    doubt = counts[2]
    unsure[doubt, 0], unsure[doubt, 1], unsure[doubt, 2] = number, begin, end
    counts[2] = doubt + 1


@byte_kernel
def _read_arcs(  # type: ignore[no-untyped-def]
    data, src, dst, word, score, offset, words, slots, found, counts, bits
):
    """Read the list of arcs; return where it begins and ends, and how many arcs and words.

    The end is -1 if anything is odd.
    """
    arc = different = 0
    offset[0] = 0
    begin = _arcs_at(data)
    end = -1
    place = _past_blanks(data, begin + 1)
    if begin >= 0 and _byte(data, place) == 93:
        end = place + 1
    while begin >= 0 and _byte(data, place) == 91 and end < 0:
        src[arc], place = _state(data, _past_blanks(data, place + 1))
        place = _past_blanks(data, place)
        if src[arc] < 0 or _byte(data, place) != 44:
            break
        dst[arc], place = _state(data, _past_blanks(data, place + 1))
        place = _past_blanks(data, place)
        if dst[arc] < 0 or _byte(data, place) != 44:
            break
        first = _past_blanks(data, place + 1) + 1
        last = _text_end(data, first)
        if _byte(data, first - 1) != 34 or last < 0:
            break
        word[arc], different = numbered(data, first, last, slots, words, different)
        place = _past_blanks(data, last + 1)
        score[arc] = 0.0
        if _byte(data, place) == 44:
            first = _past_blanks(data, place + 1)
            score[arc], place, sure = _number(data, first, bits)
            if place < 0:
                break
            if not sure:
                _doubt(found.unsure, counts, -1 - arc, first, place)
            place = _past_blanks(data, place)
            if _byte(data, place) == 44:
                place = _past_blanks(data, place + 1)
                if _byte(data, place) != 123:
                    break
                place = _feature_bytes(data, place, arc, found, counts, bits)
                if place < 0:
                    break
                place = _past_blanks(data, place)
        if _byte(data, place) != 93:
            break
        arc += 1
        offset[arc] = counts[0]
        place = _past_blanks(data, place + 1)
        if _byte(data, place) == 93:
            end = place + 1
        elif _byte(data, place) != 44:
            break
        else:
            place = _past_blanks(data, place + 1)
    return begin, end, arc, different


@byte_kernel
def _room(data):  # type: ignore[no-untyped-def]
    """Return numbers that those of the arcs and of the features are not above."""
    arcs = features = 1
    for place in range(len(data)):
        arcs += data[place] == 91
        features += data[place] == 58
    return arcs, features


@kernel
def arc_bytes(data):  # type: ignore[no-untyped-def]
    """Return the arcs of a record in columns.

    Parameters
    ----------
    data : uint8 column
        One JSON object. What stands before ``"arcs"`` is but skipped, and what stands behind
        not looked at: whoever decodes the rest finds out what is wrong there.

    Returns
    -------
    begin, end : int
        Where the list of arcs begins, and the place behind it; -1 for the end if it is not what
        this reader knows, and then nothing else means anything.
    src, dst, word : int32 arrays
    score : float64 array
    offset, index, value : int32, int32 and float64 arrays
        The features as a sparse matrix, entries in the order of the file.
    words, names : int64 arrays of places
        Where each different word and name begins and ends, in the order of the file; some may
        be one string in two spellings.
    unsure : int64 array of (number, begin, end)
        Where the values are that ``float`` has to find: that of feature ``number``, or if it is
        negative the score of arc ``-1 - number``.
    """
    arcs, features = _room(data)
    src, dst, word = np.empty(arcs, np.int32), np.empty(arcs, np.int32), np.empty(arcs, np.int32)
    score, offset = np.empty(arcs), np.empty(arcs + 1, np.int32)
    words, slots = np.empty((arcs, 2), np.int64), np.full(slots_for(arcs), -1, np.int32)
    found = _Features(
        np.empty(features, np.int32),
        np.empty(features),
        np.empty((arcs + features, 3), np.int64),
        np.empty((features, 2), np.int64),
        np.full(slots_for(features), -1, np.int32),
        np.empty(features, np.int32),
        np.full(features + 1, -1, np.int32),
    )
    bits, counts = np.zeros(1, np.uint64), np.zeros(3, np.int64)
    begin, end, arc, different = _read_arcs(
        data, src, dst, word, score, offset, words, slots, found, counts, bits
    )
    return (
        begin,
        end,
        src[:arc].copy(),
        dst[:arc].copy(),
        word[:arc].copy(),
        score[:arc].copy(),
        offset[: arc + 1].copy(),
        found.column[: counts[0]].copy(),
        found.value[: counts[0]].copy(),
        words[:different].copy(),
        found.names[: counts[1]].copy(),
        found.unsure[: counts[2]].copy(),
    )
