"""One target under atheris: ``python -m tests.fuzz.child TARGET [libFuzzer options]``.

Kernels run as the Python they are written in (``NUMBA_DISABLE_JIT``), for two reasons: the
fuzzer sees their branches, and an index out of bounds is an IndexError, not a wrong number.
"""

from __future__ import annotations

import os
import sys

os.environ["NUMBA_DISABLE_JIT"] = "1"

import warnings

import atheris

with atheris.instrument_imports(include=["lattices"], enable_loader_override=False):
    from lattices.formats import FORMATS
    from tests.fuzz.targets import Target

    for _name in FORMATS.names():
        FORMATS.get(_name)


def main() -> None:
    """Run until something is found, or until the time is up."""
    name = sys.argv.pop(1)
    warnings.simplefilter("error")
    # compiled kernels count modulo 2**64 without a word, numpy's scalars do not
    warnings.filterwarnings("ignore", "overflow encountered in scalar")
    target = Target(name)

    def one_input(data: bytes) -> None:
        target(data)

    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
