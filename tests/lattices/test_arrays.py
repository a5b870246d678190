"""Kernels and their columns."""

from __future__ import annotations

import os
import subprocess
import sys

import numba
import numpy as np

from lattices.arrays import inlined, ints, kernel


@kernel
def _next(number):  # type: ignore[no-untyped-def]
    return number + 1


@kernel
def _scaled(values, factor):  # type: ignore[no-untyped-def]
    return values[0] * factor


@inlined
def _twice(number):  # type: ignore[no-untyped-def]
    return 2 * number


# without a cache, so that its calls are looked at again in every run
@numba.njit
def _calls(numbers):  # type: ignore[no-untyped-def]
    found = 0
    for index in range(len(numbers)):
        found = _next(found) + _next(numbers[index]) + _next(0) + _twice(number=numbers[index])
    return found


@numba.njit
def _calls_by_name(numbers):  # type: ignore[no-untyped-def]
    return _scaled(numbers, factor=2) + _scaled(numbers.astype(np.float64), factor=0.5)


def versions(function: object) -> list[tuple[str, ...]]:
    return [tuple(map(str, signature)) for signature in function.signatures]  # type: ignore[attr-defined]


def test_constants_items_and_sums_are_one_type_to_a_kernel() -> None:
    assert _calls(ints([5, 7])) == 1 + (1 + 6 + 1 + 10) + 8 + 1 + 14
    assert versions(_next) == [("int64",)]


def test_other_types_keep_versions_of_their_own() -> None:
    assert _calls_by_name(ints([3])) == 6 + 1.5
    assert len(versions(_scaled)) == 2
    assert {signature[1] for signature in versions(_scaled)} == {"int64", "float64"}


def test_kernels_are_functions_where_compiling_is_disabled() -> None:
    program = (
        "from textwrap import dedent\n"
        "from lattices.arrays import kernel, inlined\n"
        "assert kernel(dedent) is dedent and inlined(dedent) is dedent\n"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
