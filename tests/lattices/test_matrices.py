"""Matrices from files: numpy's, Kaldi's as PyLaia writes them, and what is wrong with some."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from lattices import FormatError, read_matrices

MATRIX = np.log(np.array([[0.25, 0.75], [0.5, 0.5], [0.125, 0.875]]))


def kaldi(name: str, matrix: np.ndarray) -> bytes:
    """Return what Kaldi's tables have: a key, and a binary matrix."""
    kind = b"DM " if matrix.dtype == np.float64 else b"FM "
    head = struct.pack("<3sbibi", kind, 4, matrix.shape[0], 4, matrix.shape[1])
    return name.encode() + b" \0B" + head + matrix.tobytes()


def test_archives_of_kaldi(tmp_path: Path) -> None:
    path = tmp_path / "out.ark"
    single, none = MATRIX.astype(np.float32), np.zeros((0, 2))
    text = "text  [\n  1 -2.5\n  3e-1 4 ]\n"
    path.write_bytes(
        kaldi("a", MATRIX) + kaldi("b", single) + text.encode() + kaldi("none", none) + b"e [ ]\n"
    )
    found = dict(read_matrices(path))
    assert [*found] == ["a", "b", "text", "none", "e"]
    np.testing.assert_array_equal(found["a"], MATRIX)
    np.testing.assert_array_equal(found["b"], single)
    np.testing.assert_array_equal(found["text"], [[1, -2.5], [0.3, 4]])
    assert found["none"].shape == (0, 2)
    packed = tmp_path / "out.ark.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert [*dict(read_matrices(packed))] == [*found]


def test_arrays_of_numpy(tmp_path: Path) -> None:
    np.save(tmp_path / "u1.npy", MATRIX)
    np.savez(tmp_path / "all.npz", x=MATRIX, y=MATRIX[:1])
    [(name, matrix)] = read_matrices(tmp_path / "u1.npy")
    assert name == "u1"
    np.testing.assert_array_equal(matrix, MATRIX)
    assert [(name, len(m)) for name, m in read_matrices(tmp_path / "all.npz")] == [
        ("x", 3),
        ("y", 1),
    ]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.ark", kaldi("a", MATRIX)[:-1], r"'a' is no matrix: .* within its 3 x 2 numbers"),
        ("x.ark", kaldi("a", MATRIX)[:8], "within its size"),
        ("x.ark", kaldi("a", MATRIX).replace(b"DM ", b"CM "), "b'CM ', expected FM or DM"),
        ("x.ark", b"a [ 1 2\n 3 ]", "rows of different lengths"),
        ("x.ark", b"a [ 1 x ]", "could not convert"),
        ("x.ark", b"a 1 2", "no . and . around its rows"),
        ("x.ark", b"abc", "no key and matrix after byte 0"),
        ("x.npy", b"abc", "no arrays of numpy"),
        ("x.npz", b"PK\3\4abc", "no arrays of numpy"),
    ],
)
def test_what_is_wrong(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=message):
        list(read_matrices(tmp_path / name))


def test_objects_and_vectors_are_refused(tmp_path: Path) -> None:
    for array in (np.array([{}], object), np.zeros(3), np.zeros((2, 2), int)):
        np.save(tmp_path / "x.npy", array)
        with pytest.raises(FormatError, match=r"x\.npy"):
            list(read_matrices(tmp_path / "x.npy"))
