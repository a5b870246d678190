"""Answer the questions of the oracle bench: ``python run.py SPACES -o ANSWERS [--tools ours ...]``.

Each tool answers each question of each file in a process of its own, whose time (of the search
alone, and of the whole process) and memory go into a table on standard output. Tools that are not
installed are left out with a note.

Tools: ``ours`` (fstmetrics), ``openfst`` (an edit transducer made here by hand, in pynini: WER of
lattices of up to 2,000 arcs), ``rapidfuzz`` (WER and CER of lists), ``kaldi`` (``lattice-oracle``,
WER; the words of a lattice become numbers of a table).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

COLUMNS = ("task", "file", "id", "value", "bound", "words")
ORACLES = {"oracle:wer": "wer", "oracle:wrr": "wrr", "oracle:cer": "cer", "oracle:grr": "grr",
           "oracle:bleu": "bleu:smooth=add-k"}  # fmt: skip
NUMBERS = ("paths", "ties:wer", "risk:edits", "posterior")
TASKS = (*ORACLES, "corpus:bleu", "mbr:edits", *NUMBERS)
#: the largest segments of which all is asked; of larger ones these
LARGE = 20_000
#: these are asked up to so many arcs, of forests and of lattices: searches take hours beyond
FEWER = {
    "oracle:bleu": (100, 1_000),
    "corpus:bleu": (100, 100),
    "posterior": (10, 10_000),
    "mbr:edits": (100, 10_000),
}
OF_LARGE = ("oracle:wer", "oracle:wrr", "oracle:grr")
#: as :func:`decoding.oracle` has it, and more for the largest
BUDGETS = {"memory": 8_000_000_000}


def _load(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# ---- ours -------------------------------------------------------------------------------------


def ours(path: Path, task: str) -> tuple[list[tuple[str, str, str, str]], float]:
    """Return rows of id, value, bound and words, and the time of the search."""
    import lattices
    from decoding import corpus_oracle, mbr, oracles
    from decoding.extraction.best_paths import best_paths
    from fstmetrics import BLEU, WER, parse_metric

    spaces = list(lattices.read(path))
    references = [list(space.references) for space in spaces]
    started = time.perf_counter()
    rows: list[tuple[str, str, str, str]] = []
    if task in ORACLES:
        metric = parse_metric(ORACLES[task])
        judges = [metric.against(some) for some in references]
        for space, found in zip(spaces, oracles(spaces, judges, **BUDGETS), strict=True):
            bound = found.score if found.exact else found.bound
            rows.append((space.id, _text(found.score), _text(bound), found.text))
    elif task == "corpus:bleu":
        found = corpus_oracle(spaces, references, BLEU())
        rows.append(
            ("*", _text(found.score), _text(found.score if found.exact else found.bound), "")
        )
        rows += [
            (space.id, "", "", each.text)
            for space, each in zip(spaces, found.hypotheses, strict=True)
        ]
    elif task == "mbr:edits":
        for space in spaces:
            chosen = mbr(space, WER())
            value = _risk(space, chosen.tokens)
            rows.append((space.id, _text(value), "", chosen.text))
    elif task == "paths":
        rows = [(space.id, str(_paths(space)), "", "") for space in spaces]
    elif task == "ties:wer":
        for space, some in zip(spaces, references, strict=True):
            rows.append((space.id, str(_paths(best_paths(space, WER().against(some)))), "", ""))
    elif task == "risk:edits":
        for space in spaces:
            first = lattices.best(space)
            rows.append((space.id, _text(_risk(space, first.tokens)), "", first.text))
    else:
        for space in spaces:
            rows += [
                (f"{space.id} {gram}", _text(value), "", "") for gram, value in _posteriors(space)
            ]
    return rows, time.perf_counter() - started


def _text(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.12g}"


def _paths(space: Any) -> int:
    from lattices.algorithms.counting import path_count

    return len(space) if space.kind == "nbest" else path_count(space)


def _risk(space: Any, words: tuple[str, ...]) -> float:
    """Return the expected edits of a sentence against all paths, NaN where it is not exact."""
    from decoding.minimum_risk.exact import expected_metric
    from fstmetrics import WER

    found = expected_metric(space, WER(), [list(words)], normalised=False, beyond="raise")
    return float(found.expected[0])


def _posteriors(space: Any) -> Iterator[tuple[str, float]]:
    """Iterate over the n-grams of each order whose posterior is nearest to a half."""
    from lattices import ngram_posteriors

    found = ngram_posteriors(space)
    for n in range(1, 5):
        some = [
            (abs(value - 0.5), " ".join(gram), value)
            for gram, value in found.items()
            if len(gram) == n
        ]
        if some:
            _, gram, value = min(some)
            yield gram, value


# ---- others -----------------------------------------------------------------------------------


def openfst(path: Path, task: str) -> tuple[list[tuple[str, str, str, str]], float]:
    """Compose with an edit transducer of one state and the reference, take the shortest path."""
    import pynini

    spent, rows = 0.0, []
    for space in _load(path):
        reference = space["refs"][0].split()
        names = sorted({arc[2] for arc in space["arcs"]} | set(reference))
        number = {"": 0, **{name: place for place, name in enumerate(names, 1) if name}}
        words = {place: name for name, place in number.items()}
        lattice, final = pynini.Fst(), {int(state) for state in space["finals"]}
        states = 1 + max([max(arc[:2]) for arc in space["arcs"]] + [*final])
        lattice.add_states(states)
        lattice.set_start(space.get("start", 0))
        for src, dst, word, *_ in space["arcs"]:
            lattice.add_arc(src, pynini.Arc(number[word], number[word], 0, dst))
        for state in final:
            lattice.set_final(state)
        meant = pynini.Fst()
        meant.add_states(len(reference) + 1)
        meant.set_start(0)
        for place, word in enumerate(reference):
            meant.add_arc(place, pynini.Arc(number[word], number[word], 0, place + 1))
        meant.set_final(len(reference))
        # insertions of the lattice's words, deletions of the reference's, substitutions
        edit = pynini.Fst()
        edit.add_state()
        edit.set_start(0)
        edit.set_final(0)
        said = {number[arc[2]] for arc in space["arcs"]} - {0}
        wanted = {number[word] for word in reference}
        for one in said:
            edit.add_arc(0, pynini.Arc(one, 0, 1, 0))
            for other in wanted:
                edit.add_arc(0, pynini.Arc(one, other, float(one != other), 0))
        for other in wanted:
            edit.add_arc(0, pynini.Arc(0, other, 1, 0))
        started = time.perf_counter()
        edit.arcsort("ilabel")
        product = pynini.compose(lattice, edit)
        product.arcsort("olabel")
        best = pynini.shortestpath(pynini.compose(product, meant))
        spent += time.perf_counter() - started
        sentence, cost, state = [], 0.0, best.start()
        while True:
            arcs = list(best.arcs(state))
            if not arcs:
                break
            cost += float(arcs[0].weight)
            sentence += [words[arcs[0].ilabel]] if arcs[0].ilabel else []
            state = arcs[0].nextstate
        value = _text(cost / len(reference))
        rows.append((space["id"], value, value, " ".join(sentence)))
    return rows, spent


def rapidfuzz(path: Path, task: str) -> tuple[list[tuple[str, str, str, str]], float]:
    """Take the entry of a list with the fewest edits."""
    from rapidfuzz.distance import Levenshtein

    cut = str.split if task == "oracle:wer" else str
    started = time.perf_counter()
    rows = []
    for space in _load(path):
        meant = cut(space["refs"][0])
        costs = [
            (Levenshtein.distance(cut(each["words"]), meant), each["words"])
            for each in space["nbest"]
        ]
        least, said = min(costs)
        rows.append((space["id"], _text(least / len(meant)), _text(least / len(meant)), said))
    return rows, time.perf_counter() - started


def kaldi(path: Path, task: str) -> tuple[list[tuple[str, str, str, str]], float]:
    """Run ``lattice-oracle`` over an archive of text."""
    spaces = _load(path)
    names = sorted(
        {arc[2] for space in spaces for arc in space["arcs"]}
        | {word for space in spaces for word in space["refs"][0].split()}
    )
    number = {name: place for place, name in enumerate((name for name in names if name), 1)}
    number[""] = 0
    words = {place: name for name, place in number.items()}
    with tempfile.TemporaryDirectory() as folder:
        archive, refs = Path(folder, "lat.txt"), Path(folder, "refs.txt")
        with archive.open("w") as stream:
            for space in spaces:
                print(space["id"], file=stream)
                # the first line of a lattice names its start, which is 0
                for src, dst, word, *_ in sorted(space["arcs"]):
                    print(src, dst, number[word], "0,0,", file=stream)
                for state in space["finals"]:
                    print(state, "0,0,", file=stream)
                print(file=stream)
        with refs.open("w") as stream:
            for space in spaces:
                print(
                    space["id"], *(number[word] for word in space["refs"][0].split()), file=stream
                )
        started = time.perf_counter()
        run = subprocess.run(
            ["lattice-oracle", f"ark,t:{archive}", f"ark,t:{refs}", "ark,t:-"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        spent = time.perf_counter() - started
    said = {
        line.split()[0]: [words[int(each)] for each in line.split()[1:]]
        for line in run.stdout.splitlines()
    }
    return [
        (space["id"], "", "", " ".join(said[space["id"]]))
        for space in spaces
        if space["id"] in said
    ], spent


Tool = Callable[[Path, str], tuple[list[tuple[str, str, str, str]], float]]
#: a tool, what it needs, and which tasks it has for which files (by the beginning of their names)
TOOLS: dict[str, tuple[Tool, str, dict[str, tuple[str, ...]]]] = {
    "ours": (
        ours,
        "decoding",
        dict.fromkeys(TASKS, ("lattices", "forests", "lists", "speech")),
    ),
    "openfst": (openfst, "pynini", {"oracle:wer": ("lattices", "speech")}),
    "rapidfuzz": (rapidfuzz, "rapidfuzz", {"oracle:wer": ("lists",), "oracle:cer": ("lists",)}),
    "kaldi": (kaldi, "lattice-oracle", {"oracle:wer": ("lattices", "speech")}),
}
#: the product of a lattice, a reference and their edits takes minutes beyond
MOST = {"openfst": 2_000, "kaldi": 20_000}


def _installed(need: str) -> bool:
    return (
        shutil.which(need) is not None
        if "-" in need
        else importlib.util.find_spec(need) is not None
    )


def _arcs(path: Path) -> int:
    """Return about how many arcs a segment has; reading here would add to the memory of tools."""
    size = path.stem.rpartition("-")[2]
    return int(size) if size.isdigit() else 3_000


def _one(tool: str, path: Path, task: str) -> None:
    """Print the rows of one question, and the time of the search."""
    rows, spent = TOOLS[tool][0](path, task)
    print(spent)
    for row in rows:
        print(*row, sep="\t")


def _ask(tool: str, path: Path, task: str) -> tuple[list[list[str]], str, str]:
    """Return rows; seconds of the search and of the process and the peak in MB; and an error."""
    command = [sys.executable, __file__, "--one", tool, str(path), task]
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as told:
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=printed, stderr=told)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        whole = time.perf_counter() - started
        printed.seek(0)
        told.seek(0)
        if child.returncode != 0:
            lines = told.read().strip().splitlines()
            return [], "", lines[-1] if lines else f"exit code {child.returncode}"
        spent, *rows = printed.read().splitlines()
    cost = f"{float(spent):.4f}\t{whole:.2f}\t{usage.ru_maxrss / 1024:.0f}"
    return [row.split("\t") for row in rows], cost, ""


def main() -> None:
    """Ask tools, write their answers, and print what they took."""
    if sys.argv[1:2] == ["--one"]:
        tool, path, task = sys.argv[2:]
        _one(tool, Path(path), task)
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("spaces", type=Path, help="the folder that make.py has written")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="OUT: answers of TOOL in OUT-TOOL.tsv"
    )
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--most", type=int, default=10**6, help="arcs a segment (default: 10^6)")
    arguments = parser.parse_args()
    print("file", "task", "tool", "search s", "process s", "MB", "error", sep="\t")
    sizes = {path: _arcs(path) for path in sorted(arguments.spaces.glob("*.jsonl"))}
    for tool in arguments.tools:
        _, need, has = TOOLS[tool]
        if not _installed(need):
            print(f"{tool} is left out: there is no {need}", file=sys.stderr)
            continue
        answers = []
        for path, size in sizes.items():
            if size > min(arguments.most, MOST.get(tool, arguments.most)):
                continue
            for task in arguments.tasks:
                if not path.stem.startswith(has.get(task, ("-",))) or (
                    size > LARGE and task not in OF_LARGE
                ):
                    continue
                generated = path.stem.startswith(("forests", "lattices"))
                limits = FEWER.get(task, (size, size)) if generated else (size, size)
                if size > limits[path.stem.startswith("lattices")]:
                    continue
                rows, cost, problem = _ask(tool, path, task)
                answers += [(task, path.stem, *row) for row in rows]
                print(path.stem, task, tool, cost or "\t\t", problem, sep="\t", flush=True)
        name = arguments.output.with_name(f"{arguments.output.name}-{tool}.tsv")
        with name.open("w", encoding="utf-8") as stream:
            for row in (COLUMNS, *answers):
                print(*row, sep="\t", file=stream)


if __name__ == "__main__":
    main()
