"""A wheel in a fresh environment: what it holds, what it takes, and the README typed as it stands.

``make fresh`` builds the wheel and runs this, which writes ``docs/experiments/install.md``. The
installed files are made read-only, there is no home folder, and no file may be written but where
the user asked for one.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from benchmarks.data import ROOT
from benchmarks.pages import write_page
from benchmarks.versions import new_environment
from tests.docs.snippets import blocks

TEXT = """# What an install takes

Written by `make fresh`: the wheel is installed into a new environment, the installed files are
made read-only, there is no home folder, and the commands of the README are typed as they stand,
with a few more. All of them work, and no file is written but where one was asked for.

The wheel has {wheel:.1f} MB, and neither tests nor C++ in it. What is on the disk afterwards:

{sizes}

pynini's own libraries are most of it; where there is no wheel of pynini, it is not installed. To do
without it on Linux x86-64 (no `openfst` engine, `determinize` and `minimize`; {small:.0f} MB):

```
pip install numpy scipy networkx
pip install --no-deps fstmetrics
```

| command | seconds |
|---|--:|
{rows}

Seconds of the clock, {where}. The first line depends on the network.
"""
#: beside those of the README
COMMANDS = [
    "fstmetrics --version",
    "fstmetrics metrics",
    "fstmetrics formats",
    "fstmetrics oracle demo/s03?.slf.gz --refs demo/refs.txt --workers 2 -o oracle.tsv",
    "fstmetrics oracle demo/s035.slf.gz --refs demo/refs.txt --engine openfst",
    "fstmetrics mbr demo/s03?.slf.gz --metric wer --confidences --format jsonl -o mbr.jsonl",
    "fstmetrics convert demo/s035.slf.gz -o s035.fst --lossy",
    "python -m fstmetrics compile --metric grr --ref 'the cat sat' -o cat.fst",
]
SIZES = """
import importlib.metadata as m, json, os
print(json.dumps({
    d.metadata["Name"]: sum(
        os.path.getsize(f) for p in d.files or () if os.path.isfile(f := p.locate())
    )
    for d in m.distributions()
}))
"""


def check_content(wheel: Path) -> None:
    """Refuse a wheel with sources of native code or with tests."""
    names = zipfile.ZipFile(wheel).namelist()
    wrong = [
        name
        for name in names
        if name.endswith((".cpp", ".hpp", ".c", ".h"))
        or {"tests", "native", "benchmarks", "examples"} & set(name.split("/")[:-1])
    ]
    if wrong:
        sys.exit(f"{wheel.name} holds {len(wrong)} files that do not belong there, as {wrong[0]}")


def snapshot(folder: Path) -> dict[str, int]:
    return {str(each): each.stat().st_mtime_ns for each in folder.rglob("*")}


def main() -> None:
    """Install, measure, and write the page."""
    [wheel] = (ROOT / "dist").glob("*.whl")
    check_content(wheel)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        environment, home = Path(name) / "env", Path(name) / "work"
        home.mkdir()
        began = time.perf_counter()
        new_environment(environment, [str(wheel)])
        rows.append((f"pip install {wheel.name.split('-')[0]}", time.perf_counter() - began))
        python = environment / "bin" / "python"
        said = subprocess.run([python, "-c", SIZES], check=True, capture_output=True, text=True)
        sizes = {name: size / 1e6 for name, size in json.loads(said.stdout).items()}
        for tool in ("pip", "setuptools"):
            sizes.pop(tool, None)
        for each in environment.rglob("*"):
            if not each.is_symlink():
                each.chmod(each.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
        before = snapshot(environment)
        env = {
            "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": "/nonexistent",
        }
        typed = [line for block in blocks(ROOT / "README.md") for line, _ in block.commands()]
        readme = [line for line in typed if line.startswith("fstmetrics")]
        for command in [*readme, *COMMANDS]:
            began = time.perf_counter()
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=home,
                env=env,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode or "Traceback" in done.stderr:
                sys.exit(f"{command}: {done.stderr}")
            rows.append((command.partition(" #")[0].strip(), time.perf_counter() - began))
            print(f"{rows[-1][1]:6.2f} s  {rows[-1][0]}", flush=True)
        changed = {path for path, _ in snapshot(environment).items() ^ before.items()}
        if changed:
            sys.exit(f"{len(changed)} installed files were written or changed, as {min(changed)}")
        for each in [environment, *environment.rglob("*")]:
            if not each.is_symlink():
                each.chmod(each.stat().st_mode | stat.S_IWUSR)  # so that it can be removed
    listed = sorted(sizes.items(), key=lambda item: -item[1])
    table = [
        "| package | MB |",
        "|---|--:|",
        *(f"| {name} | {size:.0f} |" for name, size in listed),
    ]
    total = sum(sizes.values())
    table.append(f"| together | {total:.0f} |")
    write_page(
        "install.md",
        TEXT.format(
            wheel=wheel.stat().st_size / 1e6,
            sizes="\n".join(table),
            small=total - sizes.get("pynini", 0.0),
            rows="\n".join(f"| `{command}` | {seconds:.1f} |" for command, seconds in rows),
            where=f"with Python {sys.version.split()[0]} on {os.cpu_count()} cores",
        ),
    )
    print(f"{total:.0f} MB, {sum(seconds for _, seconds in rows):.0f} s in all")


if __name__ == "__main__":
    main()
