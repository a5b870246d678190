"""Training: what one step of each learner costs, and how it grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from time import perf_counter, process_time

import numpy as np

import lattices
from benchmarks.data import DATA, MULTI30K
from decoding.extraction.oracle_search import oracle, oracles, worst
from decoding.training.envelope import EnvelopeCorpus
from decoding.training.mert import line_search
from decoding.training.risk.expected import risk
from fstmetrics import BLEU, BLEUSBP, GRR, Evaluator, Metric
from lattices import Space
from lattices.arrays import FloatColumn, floats
from lattices.formats.weights import read_weights

FOLDER = DATA / "multi30k-deen"
#: sentences before this one are for testing
FIRST_OF_TUNING = 300
#: how often the whole corpus is searched in one call
BATCHES = 11
METRICS: dict[str, Metric] = {"BLEU": BLEU(), "BLEU-SBP": BLEUSBP(), "4-GRR": GRR()}


def measure(rounds: int = 5) -> list[str]:
    """Return the tables, or why there are none."""
    if not FOLDER.exists():
        return ["Not measured: the lattices of Multi30k are not here."]
    return [
        *searches(),
        "",
        "MERT's line searches, in seconds of the processor:",
        "",
        *line_searches(rounds),
    ]


def searches() -> list[str]:
    """Return the times of hope, fear and risk on the lattices that are tuned on, in one thread."""
    spaces = list(lattices.read(DATA / MULTI30K["d50"]))[FIRST_OF_TUNING:]
    evaluators = [GRR().against(space.references) for space in spaces]
    weights = read_weights(FOLDER / "weights.de-en")
    pairs = list(zip(spaces, evaluators, strict=True))
    scored = [(space.reweighted(weights), evaluator) for space, evaluator in pairs]
    lines = [
        f"{len(spaces)} lattices `d50`, 4-GRR, the decoder's weights; ms of the processor for "
        "each, the search and all that its result has. One at a time, hope compiles the machine of "
        "each reference, too; the others, and batches, find it made, as every epoch does but the "
        "first:",
        "",
        "| | mean | median | 90 % below | proven |",
        "|---|--:|--:|--:|--:|",
    ]
    asked: dict[str, tuple[Callable[[Space, Evaluator], object], int]] = {
        "hope": (lambda space, judge: oracle(space, judge, model_weight=1.0), len(scored)),
        "fear": (
            lambda space, judge: worst(space, judge, model_weight=-1.0)[0],
            len(scored),
        ),
        "risk and gradient, temperature 0.1": (partial(risk, temperature=0.1), len(scored)),
    }
    for name, (job, most) in asked.items():
        job(*scored[0])
        times, proven = [], 0
        for pair in scored[:most]:
            begin = process_time()
            found = job(*pair)
            times.append(1000 * (process_time() - begin))
            proven += found.exact  # type: ignore[attr-defined]
        lines.append(
            f"| {name} | {np.mean(times):.3f} | {median(times):.3f} "
            f"| {np.quantile(times, 0.9):.3f} | {proven / len(times):.1%} |"
        )
        print(lines[-1], flush=True)
    batch = [space for space, _ in scored]
    judges = [evaluator for _, evaluator in scored]
    for workers in (1, 2):
        times = []
        for _ in range(BATCHES):
            begin = perf_counter()
            oracles(batch, judges, model_weight=1.0, workers=workers)
            times.append(1000 * (perf_counter() - begin) / len(batch))
        lines.append(
            f"| hope, {BATCHES} batches of all, threads: {workers}, by the clock "
            f"| {np.mean(times):.3f} | {median(times):.3f} | {np.quantile(times, 0.9):.3f} | |"
        )
        print(lines[-1], flush=True)
    return lines


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
    weights = read_weights(path)
    if isinstance(spaces[0], lattices.NBest):
        # Moses has names of its own, in the same order
        return floats(list(weights.values()))
    return floats([weights[name] for name in names])


if __name__ == "__main__":
    print("\n".join(measure()))
