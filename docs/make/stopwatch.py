"""Type the quick start into a fresh environment, compare what is printed, write down the times.

``python docs/make/stopwatch.py dist/fstmetrics-*.whl`` (or ``make stopwatch``) makes a virtual
environment in a folder of its own, runs every command and every Python snippet of docs/start.md in
order, and writes docs/stopwatch.md. ``pip install fstmetrics`` is typed as it stands; a constraint
makes pip take the wheel. A command that fails, or prints something else, ends it with an error.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.docs.snippets import blocks, same_output  # noqa: E402

PAGE = ROOT / "docs" / "stopwatch.md"
_MINUTES = 5
_SNIPPETS = (
    "import doctest, sys; sys.exit(doctest.testfile(sys.argv[1], module_relative=False).failed)"
)
_TEXT = """\
# The quick start, timed

`make stopwatch` types [start here](start.md) as it stands: a fresh virtual environment, the wheel,
every command and every line of Python, in an empty folder. What is printed is compared with what
the page shows. It wrote this page.

| | seconds |
|---|--:|
{rows}
| **all of it** | **{total:.1f}** |

Python {python} on {machine}; the packages came from {index}. The limit is {minutes} minutes.
"""


def main(wheel: Path) -> None:
    """Time all steps and write the page."""
    rows: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "constraint.txt").write_text(f"fstmetrics @ {wheel.resolve().as_uri()}\n")
        empty = folder / "empty"
        empty.mkdir()
        begin = time.perf_counter()
        venv.create(folder / "env", with_pip=True)
        rows.append(("`python -m venv`", time.perf_counter() - begin))
        scripts = folder / "env" / "bin"
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "PIP_CONSTRAINT": str(folder / "constraint.txt"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_CACHE_DIR": "1",
        }
        for command, shown in _commands():
            begin = time.perf_counter()
            done = subprocess.run(
                ["bash", "-c", f"{{ {command}\n}} 2>&1"],
                capture_output=True,
                text=True,
                check=False,
                cwd=empty,
                env=environment,
            )
            rows.append((f"`{command.splitlines()[0]}`", time.perf_counter() - begin))
            if done.returncode or (shown and not same_output(done.stdout, shown)):
                sys.exit(f"{command}\nshould print\n{shown}\nand printed\n{done.stdout}")
        begin = time.perf_counter()
        subprocess.run(
            [scripts / "python", "-I", "-c", _SNIPPETS, ROOT / "docs" / "start.md"],
            check=True,
            cwd=empty,
            env=environment,
        )
        rows.append(("the lines of Python", time.perf_counter() - begin))
    total = sum(seconds for _, seconds in rows)
    text = _TEXT.format(
        rows="\n".join(f"| {step} | {seconds:.1f} |" for step, seconds in rows),
        total=total,
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        index=_index(),
        minutes=_MINUTES,
    )
    PAGE.write_text(text, "utf-8")
    print(f"{total:.1f} seconds, written to {PAGE.relative_to(ROOT)}")
    if total > 60 * _MINUTES:
        sys.exit(f"that is more than {_MINUTES} minutes")


def _index() -> str:
    asked = [sys.executable, "-m", "pip", "config", "list"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return "a mirror of PyPI" if "index-url" in told or "find-links" in told else "PyPI"


def _commands() -> list[tuple[str, str]]:
    page = ROOT / "docs" / "start.md"
    return [
        each for block in blocks(page) if block.text.startswith("$ ") for each in block.commands()
    ]


if __name__ == "__main__":
    # an earlier version's wheel may be there, too
    main(max(map(Path, sys.argv[1:]), key=lambda path: path.stat().st_mtime))
