"""Laws for plug-ins: what any file format has to obey.

Call :func:`check_format` from the tests of a format::

    from lattices.testing import check_format

    def test_laws():
        check_format(FORMAT)
"""

from __future__ import annotations

import gzip
import io
import math
import os
import pickle
import random
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lattices.errors import FormatError
from lattices.formats import parse_range, parse_record, read, write
from lattices.formats.base import Format, IndexedFormat, Record, Unsupported
from lattices.formats.streams import HEAD_SIZE
from lattices.options import take_options
from lattices.spaces import Forest, Hypothesis, Lattice, Space
from lattices.testing.samples import sample_forests, sample_lattices, sample_nbests
from lattices.vocabulary import Vocabulary

__all__ = [
    "check_format",
    "expect",
    "pickle_again",
    "sample_forests",
    "sample_lattices",
    "sample_nbests",
    "sentences",
]

#: Where scores need not come back bit by bit.
TOLERANCE = 1e-6
#: How many places a file is cut at, and how many times it is damaged.
TRIALS = 250


def check_format(
    fmt: Format,
    spaces: Iterable[Space] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    write_options: Mapping[str, Any] | None = None,
) -> None:
    """Check a format against the laws that all of them obey.

    - What is written reads back: ids, the sentences in number, and their scores (to 1e-6, or
      exactly if the format says ``exact``), plain and compressed.
    - Its own files are sniffed; sniffing raises nothing, whatever the bytes.
    - A record parses the same after pickling.
    - A file that is cut anywhere gives a FormatError, or no more segments than it had; a file
      with damaged bytes, and bytes that are no file at all, give a FormatError if any error.
    - A format that is read by position gives the same segments so, from any of them on, in
      the file's vocabulary or in a given one, which grows by the words of these segments only;
      it notices that a file has changed.

    Parameters
    ----------
    fmt : Format
        The format; it need not be registered.
    spaces
        What to write; by default samples that any format of its kind can hold.
    options, write_options
        For reading and writing.

    Raises
    ------
    AssertionError
        With what was expected and what came.
    """
    _check_description(fmt)
    if not fmt.writable:
        _check_garbage(fmt, options or {})
        return
    given = take_options(fmt.write_options, write_options or {}, f"the writer of {fmt.name}")
    samples = _samples(fmt) if spaces is None else list(spaces)
    batches = [[space] for space in samples] if fmt.single else [samples]
    for batch in batches:
        _check_files(fmt, batch, options or {}, given)
        buffer = io.BytesIO()
        fmt.write(buffer, batch, Unsupported(fmt.name), **given)
        data = buffer.getvalue()
        expect(
            fmt.sniff(data[:HEAD_SIZE]), f"{fmt.name} does not sniff what it wrote: {data[:60]!r}"
        )
        _check_records(fmt, data, len(batch), options or {})
        _check_damage(fmt, data, len(batch), options or {})
        if isinstance(fmt, IndexedFormat):
            _check_positions(fmt, data, batch, options or {})
    _check_garbage(fmt, options or {})


def expect(holds: bool, otherwise: str) -> None:
    """Raise an AssertionError that says what is wrong, if a law does not hold."""
    # not an assert statement: those are left out by `python -O`
    if not holds:
        raise AssertionError(otherwise)


def pickle_again(made: Any) -> Any:
    """Return what is read back of a thing's pickle, or raise an AssertionError."""
    try:
        return pickle.loads(pickle.dumps(made))
    except (AttributeError, TypeError, pickle.PicklingError) as problem:
        raise AssertionError(f"{made!r} does not survive pickling: {problem}") from problem


def _check_description(fmt: Format) -> None:
    expect(isinstance(fmt, Format), f"{fmt!r} lacks a method or attribute of Format")
    expect(bool(fmt.name and fmt.description), "name and description may not be empty")
    expect(fmt.kind in ("lattice", "nbest", "forest", "any"), f"kind {fmt.kind!r}")
    expect(
        all(suffix.startswith(".") and suffix != ".gz" for suffix in fmt.suffixes),
        f"suffixes {fmt.suffixes}, expected endings such as '.txt'",
    )


def _samples(fmt: Format) -> list[Space]:
    samples: list[Space] = list(sample_lattices())
    samples += [space.replaced(id=f"list-{space.id}") for space in sample_nbests()]
    samples += [space.replaced(id=f"forest-{space.id}") for space in sample_forests()]
    return [space for space in samples if fmt.kind in (space.kind, "any")]


def sentences(space: Space) -> dict[tuple[str, ...], list[float]]:
    """Return the scores of every sentence, sorted: one for each path, derivation or entry."""
    found: dict[tuple[str, ...], list[float]] = {}
    if isinstance(space, Lattice):
        hypotheses: Iterable[Hypothesis] = space.paths()
    else:
        hypotheses = space.derivations() if isinstance(space, Forest) else space
    for hypothesis in hypotheses:
        found.setdefault(hypothesis.tokens, []).append(hypothesis.score)
    return {tokens: sorted(scores) for tokens, scores in found.items()}


def _require_same(fmt: Format, came: Sequence[Space], expected: Sequence[Space], how: str) -> None:
    ids = [space.id for space in came]
    wanted = [space.id for space in expected]
    expect(ids == wanted, f"{fmt.name}, {how}: ids {ids}, expected {wanted}")
    for one, other in zip(came, expected, strict=True):
        where = f"{fmt.name}, {how}, segment {other.id!r}"
        expect(type(one) is type(other), f"{where}: {one!r}, expected {other!r}")
        found, known = sentences(one), sentences(other)
        expect(
            found.keys() == known.keys(),
            f"{where}: sentences {sorted(found)}, expected {sorted(known)}",
        )
        for tokens, scores in known.items():
            expect(
                _same_scores(found[tokens], scores, fmt.exact),
                f"{where}: {tokens} has scores {found[tokens]}, expected {scores}",
            )


def _same_scores(came: list[float], expected: list[float], exact: bool) -> bool:
    if exact or len(came) != len(expected):
        return came == expected
    return all(
        math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        for one, other in zip(came, expected, strict=True)
    )


def _check_files(
    fmt: Format, batch: list[Space], options: Mapping[str, Any], write_options: Mapping[str, Any]
) -> None:
    suffix = fmt.suffixes[0] if fmt.suffixes else ""
    # a format of one segment a file may leave the id to the name of the file
    stem = batch[0].id if fmt.single else "segments"
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, stem + suffix)
        packed = plain + ".gz"
        for path in (plain, packed):
            write(path, batch, fmt, **write_options)
            how = os.path.basename(path)
            _require_same(fmt, list(read(path, fmt, **options)), batch, f"written as {how}")
        with open(plain, "rb") as one, gzip.open(packed, "rb") as other:
            expect(one.read() == other.read(), f"{fmt.name}: .gz has other content than plain")


def _parse(fmt: Format, data: bytes, options: Mapping[str, Any]) -> tuple[list[Space], bool]:
    """Return the segments that parse, and whether there was an error."""
    found: list[Space] = []
    failed = False
    try:
        for record in fmt.records(io.BytesIO(data), "data"):
            try:
                found.append(parse_record(fmt, record, Vocabulary(), **options))
            except FormatError:
                failed = True
    except FormatError:
        failed = True
    return found, failed


def _check_records(fmt: Format, data: bytes, count: int, options: Mapping[str, Any]) -> None:
    records = list(fmt.records(io.BytesIO(data), "data"))
    expect(len(records) == count, f"{fmt.name}: {len(records)} records, expected {count} segments")
    for number, record in enumerate(records):
        expect(record.number == number, f"{fmt.name}: record {number} says {record.number}")
        copy: Record = pickle.loads(pickle.dumps(record))
        one = parse_record(fmt, record, Vocabulary(), **options)
        other = parse_record(fmt, copy, Vocabulary(), **options)
        _require_same(fmt, [other], [one], "record after pickling")


def _check_damage(fmt: Format, data: bytes, count: int, options: Mapping[str, Any]) -> None:
    chance = random.Random(0)
    for place in range(0, len(data), 1 + len(data) // TRIALS):
        found, _ = _survives(fmt, data[:place], options, f"cut after {place} of {len(data)} bytes")
        expect(
            len(found) <= count,
            f"{fmt.name}: cut after {place} bytes, {len(found)} segments instead of {count}",
        )
    for _ in range(TRIALS if data else 0):
        place, byte = chance.randrange(len(data)), chance.randrange(256)
        changed = data[:place] + bytes([byte]) + data[place + 1 :]
        _survives(fmt, changed, options, f"byte {place} of {len(data)} set to {byte}")


def _check_positions(
    fmt: IndexedFormat, data: bytes, batch: list[Space], options: Mapping[str, Any]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "segments" + fmt.suffixes[0])
        with open(path, "wb") as file:
            file.write(data)
        came = fmt.count(path)
        expect(came == len(batch), f"{fmt.name}: count {came}, expected {len(batch)}")
        everything = _positions(fmt, path, 0, len(batch), None, options)
        for start in range(len(batch) + 1):
            for stop in range(start, len(batch) + 1):
                how = f"segments {start} up to {stop}"
                own = _positions(fmt, path, start, stop, None, options)
                _require_same(fmt, own, batch[start:stop], how)
                _require_same(fmt, pickle.loads(pickle.dumps(own)), own, f"{how}, pickled")
                words = Vocabulary(["before"])
                given = _positions(fmt, path, start, stop, words, options)
                _require_same(fmt, given, own, f"{how}, vocabulary given")
                used = {word for space in given for word in _words(space)}
                expect(
                    set(words) - {"before"} == used - {"before"}
                    and all(space.vocabulary is words for space in given),
                    f"{fmt.name}, {how}: the vocabulary given has {sorted(words)}, expected "
                    f"'before' and {sorted(used)}",
                )
                expect(
                    all(space.vocabulary is everything[0].vocabulary for space in own),
                    f"{fmt.name}, {how}: calls without a vocabulary do not share the file's",
                )
        _check_damage_by_position(fmt, path, data, options)


def _check_damage_by_position(
    fmt: IndexedFormat, path: str, data: bytes, options: Mapping[str, Any]
) -> None:
    chance = random.Random(1)
    for trial in range(TRIALS):
        place = chance.randrange(len(data))
        changed = data[:place]
        if trial % 2:
            changed += bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
        # beside the file: one that is in use may be mapped into memory, and must not shrink
        other = f"{path}.{trial}"
        with open(other, "wb") as file:
            file.write(changed)
        os.replace(other, path)
        os.utime(path, ns=(trial, trial))
        try:
            parse_range(fmt, path, 0, fmt.count(path), **options)
        except FormatError:
            continue
        except Exception as problem:
            raise AssertionError(
                f"{fmt.name}, damaged at byte {place} of {len(data)}, by position: {problem!r} "
                "was raised, expected a FormatError"
            ) from problem
        expect(
            len(changed) == len(data),
            f"{fmt.name}: cut after {place} bytes, nothing was noticed by position",
        )


def _positions(
    fmt: IndexedFormat,
    path: str,
    start: int,
    stop: int,
    vocabulary: Vocabulary | None,
    options: Mapping[str, Any],
) -> list[Space]:
    """Return the segments, all of which have to be good."""
    found: list[Space] = []
    for each in parse_range(fmt, path, start, stop, vocabulary, **options):
        if isinstance(each, FormatError):
            raise AssertionError(f"{fmt.name}: {each}, expected a segment")
        found.append(each)
    return found


def _words(space: Space) -> set[str]:
    numbers = space.symbol if isinstance(space, Forest) else space.label
    return {space.vocabulary.word(number) for number in set(numbers.tolist()) if number > 0}


def _check_garbage(fmt: Format, options: Mapping[str, Any]) -> None:
    chance = random.Random(0)
    for size in (*range(20), *[chance.randrange(5000) for _ in range(20)]):
        garbage = chance.randbytes(size)
        how = f"{size} random bytes"
        try:
            fmt.sniff(garbage)
        except Exception as problem:
            raise AssertionError(f"{fmt.name}: sniff of {how} raised {problem!r}") from problem
        _survives(fmt, garbage, options, how)


def _survives(
    fmt: Format, data: bytes, options: Mapping[str, Any], how: str
) -> tuple[list[Space], bool]:
    try:
        return _parse(fmt, data, options)
    except Exception as problem:
        raise AssertionError(
            f"{fmt.name}, {how}: {problem!r} was raised, expected a FormatError"
        ) from problem
