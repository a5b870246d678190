"""Coverage-guided fuzzing of every parser: ``make fuzz``, or ``python -m tests.fuzz TARGET...``.

- :mod:`tests.fuzz.targets` says what must hold for any bytes at all. It needs no fuzzer: the
  tests replay what was found once (``cases/TARGET/*.bin``) with it.
- :mod:`tests.fuzz.seeds` makes the good files that the fuzzer begins with.
- :mod:`tests.fuzz.child` is one target under atheris, and ``__main__`` runs one after the other.
- :mod:`tests.fuzz.native` builds and feeds the native readers, which libFuzzer drives directly.
"""
