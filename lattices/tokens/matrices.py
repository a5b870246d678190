"""Matrices of frames by tokens from files: numpy's, and archives of Kaldi."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from lattices.arrays import Array
from lattices.errors import FormatError, expecting
from lattices.formats.streams import open_input

_KEY = re.compile(rb"\s*([^\s]+)[ \t]")
_BINARY = b"\0B"
_HEAD = struct.Struct("<3sbibi")
_KINDS: dict[bytes, np.dtype[Any]] = {b"FM ": np.dtype("<f4"), b"DM ": np.dtype("<f8")}


@expecting("the path is that of a file of matrices")
def read_matrices(path: str | PathLike[str]) -> Iterator[tuple[str, Array]]:
    r"""Iterate over the matrices of a file, with their ids.

    The file holds log-probabilities of frames by tokens, for :func:`from_posteriors`, such as those
    of PyLaia (``pylaia-htr-netout --matrix``), of Kaldi's and ESPnet's tools, or saved by numpy.
    Nothing is executed that stands in it.

    Parameters
    ----------
    path
        ``.npy``: one matrix, named by the file. ``.npz``: those of its keys. All else is read as an
        archive of Kaldi, binary (``FM``, ``DM``; not compressed) or text.

    Raises
    ------
    FormatError
        If the file is damaged, or holds something else.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "out.ark")
    ...     with open(path, "w") as file:
    ...         _ = file.write("line-1 [\n  -0.1 -2.5\n  -3.0 -0.05 ]\n")
    ...     [(name, matrix)] = read_matrices(path)
    >>> name, matrix.tolist()
    ('line-1', [[-0.1, -2.5], [-3.0, -0.05]])
    """
    shown = fspath(path)
    if shown.endswith((".npy", ".npz")):
        with open(shown, "rb") as file:
            try:
                found: Any = np.load(file, allow_pickle=False)
                named = {Path(shown).stem: found} if shown.endswith(".npy") else dict(found)
            except (ValueError, EOFError, BadZipFile) as problem:
                raise FormatError(f"no arrays of numpy: {problem}", shown) from problem
        for name, matrix in named.items():
            if matrix.ndim != 2 or matrix.dtype.kind != "f":
                what = f"{matrix.dtype} of shape {matrix.shape}"
                raise FormatError(f"{name!r} is {what}, expected a matrix of floats", shown)
            yield name, matrix
        return
    with open_input(shown) as (_, stream):
        data = stream.read()
    place = 0
    while data[place:].strip():
        key = _KEY.match(data, place)
        if key is None:
            raise FormatError(f"no key and matrix after byte {place}", shown)
        name = key[1].decode("utf-8", "replace")
        read = _read_binary if data.startswith(_BINARY, key.end()) else _read_text
        try:
            matrix, place = read(data, key.end())
        except ValueError as problem:
            raise FormatError(f"{name!r:.40} is no matrix: {problem}", shown) from problem
        yield name, matrix


def _read_binary(data: bytes, place: int) -> tuple[Array, int]:
    """Return the matrix after a key, and where it ends."""
    place += len(_BINARY)
    if len(data) < place + _HEAD.size:
        raise ValueError("the file ends within its size")
    kind, four, rows, other, columns = _HEAD.unpack_from(data, place)
    if kind not in _KINDS or (four, other) != (4, 4) or min(rows, columns) < 0:
        raise ValueError(f"{kind!r}, expected FM or DM and two sizes")
    place += _HEAD.size
    end = place + rows * columns * _KINDS[kind].itemsize
    if end > len(data):
        raise ValueError(f"the file ends within its {rows} x {columns} numbers")
    return np.frombuffer(data[place:end], _KINDS[kind]).reshape(rows, columns), end


def _read_text(data: bytes, place: int) -> tuple[Array, int]:
    begin, end = data.find(b"[", place), data.find(b"]", place)
    if begin < 0 or end < begin or data[place:begin].strip():
        raise ValueError("no [ and ] around its rows")
    rows = [line.split() for line in data[begin + 1 : end].splitlines() if line.strip()]
    if len({len(row) for row in rows}) > 1:
        raise ValueError("rows of different lengths")
    return np.array(rows, np.float64).reshape(len(rows), -1 if rows else 0), end + 1
