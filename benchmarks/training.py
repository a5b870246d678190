"""Training: what one step of each learner costs, and how it grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from time import process_time

import numpy as np

import lattices
from benchmarks.data import DATA, MULTI30K
from decoding.training.envelope_corpus import EnvelopeCorpus
from decoding.training.line_search import line_search
from fstmetrics import BLEU, BLEUSBP, GRR, Metric
from lattices import Space
from lattices.arrays import FloatColumn, floats

FOLDER = DATA / "multi30k-deen"
#: sentences before this one are for testing
FIRST_OF_TUNING = 300
METRICS: dict[str, Metric] = {"BLEU": BLEU(), "BLEU-SBP": BLEUSBP(), "4-GRR": GRR()}


def measure(rounds: int = 5) -> list[str]:
    """Return the tables, or why there are none."""
    if not FOLDER.exists():
        return ["Not measured: the lattices of Multi30k are not here."]
    return line_searches(rounds)


def line_searches(rounds: int) -> list[str]:
    """Return the times of exact line searches over whole corpora, in one thread.

    Seconds of the processor, median over random directions from the weights that the decoder
    had. *First* includes the statistics of all sentences, *again* is along other directions,
    where most sentences are known.
    """
    lines = [
        "| spaces | segments | arcs each | segments of an envelope | metric | first, s | again, s "
        "| again, ms a space |",
        "|---|--:|--:|--:|---|--:|--:|--:|",
    ]
    for name, spaces, references in corpora():
        size = np.mean([_size(space) for space in spaces])
        for spelled, metric in METRICS.items():
            if name != "d50" and spelled != "BLEU":
                continue
            evaluators = [metric.against([text]) for text in references]
            corpus = EnvelopeCorpus(spaces, evaluators)
            weights = _shipped(spaces, corpus.names)
            rng = np.random.default_rng(0)
            directions = rng.standard_normal((rounds + 2, len(corpus.names)))
            # whatever is to be compiled, is now
            line_search(
                spaces[:1], evaluators[:1], corpus.mapping(weights), corpus.mapping(directions[0])
            )
            times = [
                seconds(partial(line_search, corpus, None, weights, way)) for way in directions
            ]
            count = np.mean([len(each) for each in corpus.envelopes(weights, directions[0])])
            again = median(times[2:])
            row = (
                f"| {name} | {len(spaces)} | {size:,.0f} | {count:.1f} | {spelled} "
                f"| {times[0]:.2f} | {again:.3f} | {again / len(spaces) * 1000:.2f} |"
            )
            print(row, flush=True)
            lines.append(row)
    return lines


def corpora() -> list[tuple[str, Sequence[Space], list[str]]]:
    """Return the spaces that are tuned on, of every kind, with a reference each."""
    texts = (FOLDER / "val.en").read_text(encoding="utf-8").splitlines()
    found: list[tuple[str, Sequence[Space], list[str]]] = []
    best = list(lattices.read(FOLDER / "val.de-en.100best.gz"))[FIRST_OF_TUNING:]
    found.append(("100-best", best, texts[FIRST_OF_TUNING:]))
    for name, path in MULTI30K.items():
        some = list(lattices.read(DATA / path))
        if len(some) > FIRST_OF_TUNING:
            some = some[FIRST_OF_TUNING:]
        found.append((name, some, [str(each.references[0]) for each in some]))
    for name in ("d10", "d50"):
        forests = list(lattices.read(FOLDER / f"hiero150.de-en.forest.{name}.jsonl.gz"))
        found.append((f"Hiero {name}", forests, [str(each.references[0]) for each in forests]))
    return found


def seconds(job: Callable[[], object]) -> float:
    """Return the seconds of the processor that a job takes."""
    begin = process_time()
    job()
    return process_time() - begin


def _size(space: Space) -> int:
    if isinstance(space, lattices.NBest):
        return len(space)
    return space.num_edges if isinstance(space, lattices.Forest) else space.num_arcs


def _shipped(spaces: Sequence[Space], names: Sequence[str]) -> FloatColumn:
    """Return the weights that the decoder had, in the order of the names of its features."""
    forests = isinstance(spaces[0], lattices.Forest)
    path = FOLDER / ("weights.hiero.de-en" if forests else "weights.de-en")
    rows = [line.split() for line in path.read_text().splitlines()]
    weights = {name: float(value) for name, value in rows}
    if isinstance(spaces[0], lattices.NBest):
        # Moses has names of its own, in the same order
        return floats(list(weights.values()))
    return floats([weights[name] for name in names])


if __name__ == "__main__":
    print("\n".join(measure()))
