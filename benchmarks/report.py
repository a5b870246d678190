"""The report page: how long it takes to make, how large it is, how soon a browser can use it."""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data import DATA, MULTI30K
from tests.browser import Browser, browser, missing

#: lists of LibriSpeech, repeated under new ids until there are so many
LISTS = 20_000
ROUNDS = 3
_SPEECH = DATA / "librispeech-nbest"


def measure() -> list[str]:
    """Return a row for translation lattices and one for many lists of speech."""
    rows = [
        "| input | segments | processor, s | clock, s | page, MB | usable after, ms "
        "| segment opened, ms | searched, ms | sorted, ms |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lists, references = _many_lists(folder)
        for label, segments, argv in (
            ("Multi30k `d50`, WER and 4-GRR", 1014, [DATA / MULTI30K["d50"], "--scale", "15"]),
            ("LibriSpeech, ten best, WER", LISTS,
             [lists, "--refs", references, "--metric", "wer", "--by", "speaker"]),
        ):  # fmt: skip
            page = folder / "report.html"
            processor, clock = _made(page, list(map(str, argv)))
            size = f"{page.stat().st_size / 1e6:.1f}"
            cells = [label, f"{segments:,}", f"{processor:.1f}", f"{clock:.1f}", size]
            rows.append(f"| {' | '.join([*cells, *_used(page)])} |")
            print(rows[-1], flush=True)
    return rows


def _many_lists(folder: Path) -> tuple[Path, Path]:
    """Write the lists of dev-clean and dev-other again and again, and their references."""
    entries: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for part in ("dev_clean", "dev_other"):
        with gzip.open(_SPEECH / f"{part}.nbest.tsv.gz", "rt", encoding="utf-8") as stream:
            for line in stream:
                id, rest = line.split("\t", 1)
                entries.setdefault(id, []).append(rest)
        for line in (_SPEECH / f"{part}.ref.txt").read_text(encoding="utf-8").splitlines():
            id, _, texts[id] = line.partition(" ")
    lists, references = folder / "lists.tsv", folder / "refs.txt"
    ids = list(entries)
    with lists.open("w") as stream, references.open("w") as other:
        for number in range(LISTS):
            id = ids[number % len(ids)]
            new = f"{id}-{number // len(ids)}"
            stream.writelines(f"{new}\t{rest}" for rest in entries[id])
            other.write(f"{new} {texts[id]}\n")
    return lists, references


def _made(page: Path, argv: list[str]) -> tuple[float, float]:
    """Return what the command takes with two workers: of the processors, and by the clock."""
    command = [sys.executable, "-m", "fstmetrics", "report", *argv]
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "--workers", "2", "-q", "-o", str(page)], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return processor, time.perf_counter() - started


def _used(page: Path) -> list[str]:
    """Return how soon the page can be used, and how long it takes to do things, as cells."""
    if missing():
        return [missing(), "", "", ""]
    with browser() as window:
        ready = min(window.open(page) for _ in range(ROUNDS))
        opened = min(_opened(window, place) for place in range(ROUNDS))
        # a second search has what is searched in lower case already, as the next letter has
        searched = [_timed(window, _SEARCH, word) for word in ("the", "the m", "of the")]
        ordered = min(_timed(window, _SORT) for _ in range(ROUNDS))
    return [f"{ready:.0f}", f"{opened:.0f}", f"{min(searched):.0f}", f"{ordered:.0f}"]


_SEARCH = (
    "const box = document.querySelector('#search'); box.value = argument;"
    "box.dispatchEvent(new Event('input'));"
)
_SORT = """document.querySelector('[data-key="0:0"]').click();"""


def _timed(window: Browser, script: str, argument: str = "") -> float:
    """Return the milliseconds until what a script has changed is laid out."""
    timed = (
        "const argument = arguments[0], begin = performance.now();"
        f"{script} document.body.getBoundingClientRect(); return performance.now() - begin"
    )
    return float(window.run(timed, argument))


def _opened(window: Browser, place: int) -> float:
    """Return the milliseconds from a click on a row, its block still packed, to its alignment."""
    script = """
      const done = arguments[1], list = document.querySelector("#list");
      list.scrollTop = (arguments[0] + 1) * list.scrollHeight / 5;
      requestAnimationFrame(() => requestAnimationFrame(() => {
        const row = list.querySelectorAll("[role=row]")[8];
        const id = row.querySelector(".col-id").textContent;
        const begin = performance.now();
        row.click();
        const look = () => document.querySelector("#segment h2")?.textContent === id
          ? done(performance.now() - begin) : setTimeout(look, 0);
        look();
      }));"""
    return float(window.driver.execute_async_script(script, place))
