"""The native readers under libFuzzer: built where there is clang++, from headers without Python.

What atheris runs is Python with native code underneath, whose branches it does not see. Here the
fuzzer does, and sanitizers look at every byte that is read.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path

from tests.fuzz.seeds import BREAKS, NUMBERS, seeds

ROOT = Path(__file__).parent.parent.parent
SOURCE = Path(__file__).parent / "native_readers.cpp"
#: readers, and the formats whose good files they begin with
READERS: dict[str, tuple[str, ...]] = {
    "native-arrow": (),
    "native-fst": (),
    "native-fst-text": ("openfst-text",),
    "native-json": ("jsonl",),
    "native-kaldi-binary": ("kaldi-binary",),
    "native-kaldi-text": ("kaldi",),
    "native-moses": ("moses-nbest",),
    "native-numbers": (),
    "native-slf": ("htk",),
    "native-symbols": (),
}
#: what was found once: every run begins with it
CASES = Path(__file__).parent / "native_cases"


#: older ones do not compile the ranges of C++20
_OLDEST_CLANG = 16


@cache
def find_compiler() -> str | None:
    """Return a clang++ that is new enough, if there is one."""
    for name in ("clang++", *(f"clang++-{version}" for version in range(_OLDEST_CLANG, 40))):
        path = shutil.which(name)
        if path is not None:
            version = subprocess.run([path, "-dumpversion"], capture_output=True, text=True)
            if int(version.stdout.partition(".")[0] or 0) >= _OLDEST_CLANG:
                return path
    return None


def native_names() -> tuple[str, ...]:
    """Return the readers that can be fuzzed here: none without clang++ 16 or newer."""
    return tuple(READERS) if find_compiler() else ()


def built(folder: Path) -> Path:
    """Return the program, compiled into a folder."""
    import nanobind  # what building needs, not what tests need

    program = folder / "native_readers"
    if not program.exists():
        command = [
            find_compiler() or "clang++",
            "-std=c++20",
            "-O1",
            "-g",
            "-ffp-contract=off",
            f"-I{ROOT}",
        ]
        command += ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined"]
        command += ["-isystem", str(Path(nanobind.__file__).parent / "ext/robin_map/include")]
        subprocess.run([*command, str(SOURCE), "-o", str(program)], check=True)
    return program


def native_seeds(name: str) -> list[bytes]:
    """Return good inputs of a reader, and what was found once."""
    found = [case.read_bytes() for case in sorted((CASES / name).glob("*.bin"))]
    if name == "native-numbers":
        return found + [number.encode() for number in NUMBERS]
    if name == "native-symbols":
        head = struct.pack("<ii5sqq", 2125658996, 5, b"words", 9, 2)
        return [*found, head + struct.pack("<i3sqi2sq", 3, b"the", 1, 2, b"a1", 8)]
    if name == "native-arrow":
        return [*found, bytes([2, 0, 1, 2, 1, 2, 2, 5, 6, 2, 3, 4, 3, 128, 128, 0, 1, 0, 1, 0])]
    if name == "native-fst":
        return found + [_states(layout) for layout in range(8)]
    files = [data for each in READERS[name] for data in seeds(each)]
    if name == "native-kaldi-binary":
        return found + files
    if name in ("native-fst-text", "native-slf"):
        # the first byte says which options
        return found + [bytes([option]) + data for data in files for option in (0, 1, 130)]
    return found + [line for data in files for line in data.splitlines()] + files


def _states(layout: int) -> bytes:
    """Return two states and an arc; two bytes say what the weights are, and how many states."""
    real = "d" if layout & 2 else "f"
    weight = struct.pack(f"<2{real}", 0.5, 2.0) if layout & 1 else struct.pack(f"<{real}", 0.5)
    if layout & 5 == 5:
        weight += struct.pack("<iii", 2, 7, 7)
    arc = struct.pack("<ii", 3, 4) + weight + struct.pack("<i", 1)
    states = weight + struct.pack("<q", 1) + arc + weight + struct.pack("<q", 0)
    return bytes([layout, 2]) + states


def native_tokens() -> list[str]:
    """Return what a fuzzer may put into texts."""
    return [
        *NUMBERS,
        *BREAKS,
        '"arcs":',
        '{"',
        "Infinity,Infinity,",
        "],[",
        "\n0 1 ",
        " ||| ",
        "\nJ=0 S=0 E=1 ",
        "\\'",
    ]
