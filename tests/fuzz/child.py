"""One target under atheris: ``python -m tests.fuzz.child TARGET [libFuzzer options]``.

The fuzzer sees the branches of Python alone; :mod:`tests.fuzz.native` looks into native readers.
"""

from __future__ import annotations

import sys
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
    target = Target(name)

    def one_input(data: bytes) -> None:
        target(data)

    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
