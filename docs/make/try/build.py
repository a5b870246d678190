"""Make docs/try.html: ``make try``. The core is compiled by zig, from PyPI, for WebAssembly."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from base64 import b64encode
from pathlib import Path

import nanobind

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FLAGS = (
    "-target wasm32-wasi -std=c++20 -Oz -msimd128 -ffp-contract=off -DNDEBUG -fvisibility=hidden"
    " -mexec-model=reactor -Wl,--strip-all -Wl,--gc-sections"
)


def main() -> None:
    """Compile the core and write it into the page."""
    robin_map = Path(nanobind.__file__).parent / "ext" / "robin_map" / "include"
    with tempfile.TemporaryDirectory() as folder:
        core = Path(folder, "core.wasm")
        subprocess.run(
            [sys.executable, "-m", "ziglang", "c++", *FLAGS.split(), f"-I{HERE}", f"-I{ROOT}",
             "-isystem", str(robin_map), str(HERE / "core.cpp"), "-o", str(core)],
            check=True,
        )  # fmt: skip
        page = (HERE / "page.html").read_text("utf-8")
        text = page.replace("{{core}}", b64encode(core.read_bytes()).decode())
    (ROOT / "docs" / "try.html").write_text(text, encoding="utf-8")
    print(f"docs/try.html: {len(text) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
