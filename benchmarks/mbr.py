"""Minimum-Bayes-risk decoding of n-best lists and lattices, with other tools on the same lists."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import islice, pairwise
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import lattices
from benchmarks.data import DATA, MULTI30K, ROOT
from benchmarks.versions import new_environment
from decoding import (
    EditDistance,
    ExactRisk,
    FastConsensus,
    Linear,
    Pairwise,
    PrefixSearch,
    mbr,
    mbr_kbest,
)
from decoding.minimum_risk.evidence import Evidence, evidence_of
from decoding.minimum_risk.method import Method
from decoding.minimum_risk.pairs.completion import complete_matrix
from decoding.minimum_risk.pairs.scores import score_matrix
from fstmetrics import BLEU, CER, GRR, WER, Metric, parse_metric
from lattices import NBest, Space

FOLDER = DATA / "multi30k-deen"
SCALE = 10.0
SENTENCE_BLEU = BLEU(smooth="exp", effective_order=True)
METRICS: dict[str, tuple[Metric, Pairwise]] = {
    "sentence BLEU": (SENTENCE_BLEU, Pairwise()),
    "BLEU, aggregated": (SENTENCE_BLEU, Pairwise(aggregate=True)),
    "WER": (WER(), Pairwise()),
    "CER": (CER(), Pairwise()),
    "4-GRR": (GRR(), Pairwise()),
    "chrF": (parse_metric("chrf"), Pairwise()),
}
#: other tools, and the metric that they decide by
PEERS: dict[str, Metric] = {
    "fastchrf": parse_metric("chrf"),
    "mbrs BLEU": SENTENCE_BLEU,
    "mbrs chrF": parse_metric("chrf"),
    "mbrs TER": parse_metric("ter"),
}
#: where `make peers` installs them
ENVIRONMENT = ROOT / ".venv-peers"


def measure(most: int = 1014, sample: int = 10) -> list[str]:
    """Return tables for the 100-best lists of Multi30k, or why there are none.

    Parameters
    ----------
    most : int
        Lists to read.
    sample : int
        Lists to give to the double loop, which is slow.
    """
    if not (FOLDER / "val.de-en.100best.gz").exists():
        return ["Not measured: the n-best lists are not here."]
    spaces = list(islice(lattices.read(FOLDER / "val.de-en.100best.gz"), most))
    few = spaces[:: max(1, len(spaces) // sample)][:sample]
    lines = [
        f"{len(spaces):,} lists of {np.mean([len(space) for space in spaces]):.0f} hypotheses, "
        f"scale {SCALE:g}, one thread; ms a list, evidence and choice included. *Double loop* is "
        f"`metric.against([e]).score(c)` for each pair, on {len(few)} of the lists.",
        "",
        "| metric | mean | median | double loop | times faster |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, (metric, method) in METRICS.items():
        ours = _milliseconds(spaces, lambda space: mbr(space, metric, scale=SCALE, method=method))  # noqa: B023
        cells = f"| {name} | {np.mean(ours):.2f} | {np.median(ours):.2f} |"
        if method.aggregate:
            lines.append(f"{cells} | |")
            continue
        same = [ours[spaces.index(space)] for space in few]
        loop = _milliseconds(few, lambda space: _double_loop(space, metric))  # noqa: B023
        lines.append(f"{cells} {np.mean(loop):.0f} | {np.mean(loop) / np.mean(same):.0f} |")
    return [*lines, "", *_by_rapidfuzz(spaces)]


def of_lattices(most: int = 300, few: int = 60) -> list[str]:
    """Return a table of the methods that decode lattices, for lattices of several sizes.

    Parameters
    ----------
    most, few : int
        Lattices of each size for the fast methods, and for those that prove their answers.
    """
    found = {name: DATA / path for name, path in MULTI30K.items() if (DATA / path).exists()}
    if not found:
        return ["Not measured: the lattices of Multi30k are not here."]
    lines = [
        f"Lattices of Multi30k, {most} of each kind ({few} for `exact` and `search`, against 100 "
        f"sentences), scale {SCALE:g}, one thread; ms a lattice, mean / median:",
        "",
        f"| method | {' | '.join(found)} |",
        "|---|" + "--:|" * len(found),
    ]
    spaces = {name: list(islice(lattices.read(path), most)) for name, path in found.items()}
    arcs = [f"{np.mean([space.num_arcs for space in some]):,.0f}" for some in spaces.values()]
    lines.append(f"| arcs | {' | '.join(arcs)} |")
    methods: dict[str, tuple[Method, Metric | None]] = {
        "`edit`": (EditDistance(), None),
        "`linear`": (Linear(), None),
        "`consensus`, 100 candidates": (FastConsensus(candidates=100), None),
        "`pairwise` WER, 100-best": (Pairwise(), WER()),
        "`pairwise` BLEU, 100-best": (Pairwise(), SENTENCE_BLEU),
        "`search` WER": (PrefixSearch(evidence_size=100), WER()),
        "`search` 4-GRR": (PrefixSearch(evidence_size=100), GRR()),
        "`exact` WER, 10 candidates": (ExactRisk(candidates=10), WER()),
        "`exact` 4-GRR, 10 candidates": (ExactRisk(candidates=10), GRR()),
    }
    for title, (method, metric) in methods.items():
        cells = []
        for name, some in spaces.items():
            slow = isinstance(method, ExactRisk | PrefixSearch)
            if slow and name == "d200":
                cells.append("")
                continue

            def decode(space: Space) -> object:
                return mbr(space, metric, method=method, scale=SCALE)  # noqa: B023

            times = _milliseconds(some[:few] if slow else some, decode)
            cells.append(f"{np.mean(times):.2f} / {np.median(times):.2f}")
        lines.append(f"| {title} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def _milliseconds(spaces: Sequence[Any], job: Callable[[Any], object]) -> list[float]:
    """Return the time of each list."""
    job(spaces[0])  # imports what it needs
    times = []
    for space in spaces:
        begin = perf_counter()
        job(space)
        times.append((perf_counter() - begin) * 1e3)
    return times


def _double_loop(space: NBest, metric: Metric) -> list[float]:
    evidence = evidence_of(space, scale=SCALE)
    judges = [
        metric.against([evidence.nbest.tokens(entry)]) for entry in range(len(evidence.nbest))
    ]
    return [
        sum(
            weight * judge.score(words)
            for weight, judge in zip(evidence.weight, judges, strict=True)
        )
        for words in map(space.tokens, range(len(space)))
    ]


def _by_rapidfuzz(spaces: Sequence[NBest]) -> list[str]:
    """Return how long rapidfuzz takes for the matrices of edit distances, over the same ids."""
    try:
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist
    except ImportError:
        return ["rapidfuzz is not installed."]
    rows = {id(space): _ids(space) for space in spaces}
    theirs = _milliseconds(
        spaces,
        lambda space: cdist(
            rows[id(space)], rows[id(space)], scorer=Levenshtein.distance, workers=1
        ),
    )
    ours = _milliseconds(spaces, lambda space: mbr(space, WER(), scale=SCALE))
    return [
        f"The matrices of edit distances alone take rapidfuzz's `cdist` {np.mean(theirs):.2f} ms a "
        f"list, over lists of ids made beforehand; all of MBR with WER takes {np.mean(ours):.2f}: "
        f"{np.mean(theirs) / np.mean(ours):.1f} times faster.",
    ]


def _ids(space: NBest) -> list[list[int]]:
    bounds = space.offset.tolist()
    return [space.label[begin:end].tolist() for begin, end in pairwise(bounds)]


def of_hundred(lists: int = 5) -> list[str]:
    """Return how long other tools take for some of the lists, and what they choose.

    Parameters
    ----------
    lists : int
        How many, spread over the corpus.
    """
    path = FOLDER / "val.de-en.100best.gz"
    if not path.exists():
        return ["Not measured: the n-best lists are not here."]
    few = [*islice(lattices.read(path), 0, None, 1014 // lists)][:lists]
    return [*by_peers(few), "", *by_methods(few)]


def by_methods(few: Sequence[NBest]) -> list[str]:
    """Return how often mbrs chooses the same by its methods that take few calls, and for several.

    Matrices are completed from what it has drawn; the bootstrap draws anew.
    """
    texts = [[each.text for each in space] for space in few]
    found = _ask_peer("methods", texts)
    if isinstance(found, str):
        return [f"mbrs' other methods: {found}."]
    ours: dict[str, list[list[int]]] = {name: [] for name in found if name != "drawn"}
    for space, some, (drawn, factor) in zip(few, texts, found["drawn"], strict=True):
        for name, options in {
            "Pruning": {"confidence": 0.99}, "Aggregate": {"aggregate": True},
            "Diverse": {"diversity": 0.5},
        }.items():  # fmt: skip
            method = Pairwise(uniform=True, **options)  # type: ignore[arg-type]
            chosen = mbr_kbest(space, SENTENCE_BLEU, k=5, method=method) if (
                name == "Diverse"
            ) else [mbr(space, SENTENCE_BLEU, method=method)]  # fmt: skip
            ours[name].append(sorted(some.index(each.text) for each in chosen))
        observed = np.zeros(len(some) ** 2, dtype=bool)
        observed[drawn] = True
        # mbrs has BLEU in per cent, which the penalty is relative to
        scores = 100.0 * score_matrix(space, space, SENTENCE_BLEU).T
        square = observed.reshape(len(some), len(some))
        means = complete_matrix(scores, square, np.array(factor)).mean(axis=1)
        ours["Probabilistic"].append([int(means.argmax())])
    lines = ["| method of mbrs, BLEU | here | same choices |", "|---|---|--:|"]
    names = {
        "Pruning": "`confidence=0.99`", "Aggregate": "`aggregate=True`",
        "Probabilistic": "`complete_matrix` of its draw", "Diverse": "`diversity=0.5`, 5 of each",
    }  # fmt: skip
    for name, here in names.items():
        *theirs, _ = found[name]
        same = [sorted(one) == other for one, other in zip(theirs, ours[name], strict=True)]
        lines.append(f"| {name} | {here} | {np.mean(same):.0%} |")
    return lines


def _ask_peer(name: str, texts: Sequence[Sequence[str]], *how: str) -> Any:
    """Return what the script of other tools prints, or why there is nothing."""
    done = subprocess.run(
        [peers(), Path(__file__).with_name("peer_jobs.py"), name, *how],
        input=json.dumps(texts),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        cwd=tempfile.gettempdir(),
    )
    if done.returncode:
        return "not installed" if done.returncode == 3 else "failed"
    return json.loads(done.stdout)


def of_thousand(most: int = 1000, few: int = 20) -> list[str]:
    """Return how long mbrs takes for a list of 1,000; of TER against some of the evidence only."""
    path = DATA / MULTI30K["d50"]
    if not path.exists():
        return ["Not measured: the lattices of Multi30k are not here."]
    nbest = next(
        found for space in lattices.read(path)
        if len(found := lattices.k_best(space, most, distinct=True)) == most
    )  # fmt: skip
    space = NBest.from_hypotheses(nbest)
    texts = [each.text for each in space]
    lines = [
        f"A list of {most:,} sentences of a `d50` lattice, seconds of the processor. Each is "
        f"compared with all, under TER with {few} of them:",
        "",
        "| tool | its s | ours | ratio | same choice |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, metric in PEERS.items():
        if not name.startswith("mbrs"):
            continue
        heard = few if name == "mbrs TER" else most
        found = _ask_peer(name, [texts, texts[:heard]], "against")
        if isinstance(found, str):
            lines.append(f"| {name} | {found} | | | |")
            continue
        _, theirs, place = found
        evidence = Evidence(NBest.from_hypotheses(nbest[:heard]), np.ones(heard))
        mbr(space, metric, method=Pairwise(), evidence=evidence)
        begin = process_time()
        chosen = mbr(space, metric, method=Pairwise(), evidence=evidence)
        ours = process_time() - begin
        same = "yes" if chosen.text == texts[int(place)] else "no"
        lines.append(f"| {name} | {theirs:.1f} | {ours:.3f} | {theirs / ours:,.0f} | {same} |")
        print(lines[-1], flush=True)
    return lines


def by_peers(few: Sequence[NBest]) -> list[str]:
    """Return how long other tools take for the same choices, where they are installed."""
    texts = [[each.text for each in space] for space in few]
    lines = [
        f"Other tools on {len(few)} lists of 100, each sentence of evidence with the same weight; "
        "ms of the processor a list, all threads and processes together:",
        "",
        "| tool | its ms | ours | ratio | same choices |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, metric in PEERS.items():
        found = _ask_peer(name, texts)
        if isinstance(found, str):
            lines.append(f"| {name} | {found} | | | |")
            continue
        _, theirs, chosen = np.array(found).T
        level = Pairwise(uniform=True)
        begin = process_time()
        ours = [mbr(space, metric, method=level).text for _ in range(5) for space in few]
        each = 1e3 * (process_time() - begin) / len(ours)
        same = np.mean(
            [one == some[int(place)] for one, some, place in zip(ours, texts, chosen, strict=False)]
        )
        mean = 1e3 * theirs.mean()
        lines.append(f"| {name} | {mean:.0f} | {each:.2f} | {mean / each:,.0f} | {same:.0%} |")
        print(lines[-1], flush=True)
    return lines


def peers() -> Path:
    """Return the interpreter that has the other tools: this one, if there is no other."""
    path = Path(os.environ.get("FSTMETRICS_PEERS", ENVIRONMENT / "bin" / "python"))
    return path if path.exists() else Path(sys.executable)


def main() -> None:
    """Measure these alone, or install other tools."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mbr", description=__doc__)
    parser.add_argument("--install", nargs="+", metavar="TOOL", help="install these, only")
    arguments = parser.parse_args()
    if arguments.install:
        new_environment(ENVIRONMENT, arguments.install)
        return
    print("\n".join([*measure(), "", *of_lattices(), "", *of_hundred(), "", *of_thousand()]))


if __name__ == "__main__":
    main()
