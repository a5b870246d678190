"""A hook of mkdocs: tutorials, which are scripts in the percent format, run and become pages.

A tutorial is a Python file with cells, which Jupyter opens through jupytext, and which runs as it
is: ``python docs/tutorials/oracle-wer.py``. Each is executed in a folder of its own, and an error
in a cell is an error of the build. ``# requires: torch`` names a package without which a tutorial
is shown as it is written, with a sentence that says so. Beside each page is the executed notebook.
"""

from __future__ import annotations

import base64
import os
import re
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient

_REQUIRES = re.compile(r"^# requires: (\w+)$", re.M)
#: for one cell
_SECONDS = 600


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page, a notebook and the pictures of each tutorial."""
    for path in sorted(Path(config.docs_dir, "tutorials").glob("*.py")):
        for name, content in _pages(path).items():
            files.append(File.generated(config, f"tutorials/{name}", content=content))
    return files


def _pages(path: Path) -> dict[str, str | bytes]:
    """Return the files that a tutorial becomes, by name."""
    text = path.read_text("utf-8")
    notebook = jupytext.reads(text, fmt="py:percent")
    missing = [name for name in _REQUIRES.findall(text) if find_spec(name) is None]
    if not missing:
        with tempfile.TemporaryDirectory() as folder:
            # what is printed is the same whatever terminal the site was built from
            os.environ.update(
                {"NO_COLOR": "1", "COLUMNS": "100", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
            )
            resources = {"metadata": {"path": folder}}
            client = NotebookClient(notebook, timeout=_SECONDS, resources=resources)
            client.extra_arguments = ["--log-level=40"]  # errors alone
            client.execute()
    found: dict[str, str | bytes] = {f"{path.stem}.ipynb": nbformat.writes(notebook)}
    lines = [_cell(cell, number, path.stem, found) for number, cell in enumerate(notebook.cells)]
    where = f"[Notebook]({path.stem}.ipynb), made of `docs/tutorials/{path.name}`" + (
        ", with what it printed." if not missing else "."
    )
    if missing:
        needs = " ".join(missing)
        lines.insert(
            1,
            f'!!! note "Not executed here"\n    This page was built without `{needs}`, which it '
            f"needs (`pip install {needs}`): it shows the code alone.",
        )
    found[f"{path.stem}.md"] = "\n\n".join([*lines, "---", where])
    return found


def _cell(cell: Any, number: int, stem: str, files: dict[str, str | bytes]) -> str:
    """Return the Markdown of a cell; pictures become files."""
    if cell.cell_type == "markdown":
        return str(cell.source)
    source = re.sub(r"^# requires:.*\n", "", cell.source, flags=re.M)
    parts = [f"```python\n{source}\n```"]
    for index, output in enumerate(cell.get("outputs", ())):
        data = output.get("data", {})
        name = f"{stem}-{number}-{index}"
        if output.output_type == "stream":
            parts.append(_printed(output.text))
        elif "image/svg+xml" in data:
            files[f"{name}.svg"] = data["image/svg+xml"]
            parts.append(f"![What the cell shows]({name}.svg)")
        elif "image/png" in data:
            files[f"{name}.png"] = base64.b64decode(data["image/png"])
            parts.append(f"![What the cell shows]({name}.png)")
        elif "text/html" in data:
            parts.append(f"<div>{data['text/html']}</div>")
        elif "text/plain" in data:
            parts.append(_printed(data["text/plain"]))
    return "\n\n".join(parts)


def _printed(text: str) -> str:
    return f'```text title="prints"\n{text.rstrip()}\n```'
