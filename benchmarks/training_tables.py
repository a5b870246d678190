"""Learners on real lattices, lists and forests: writes ``docs/experiments/training.md``.

Run as ``python -m benchmarks.training_tables``. ``--workers 2`` trains two at a time, ``--seeds N``
with N seeds each. ``--log FILE`` keeps every finished run as a line of JSON: the same command goes
on after an interruption, and writes the page alone if all runs are there; ``--page`` writes it
from the runs that are there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import lattices
from benchmarks.data import DATA, MULTI30K
from benchmarks.pages import write_page
from benchmarks.training_text import CORPORA, page
from decoding.training.learner import Learner
from decoding.training.learners import LEARNERS as LEARNER_KINDS
from fstmetrics import BLEU, BLEUSBP, GRR, WER, Metric, corpus_stats
from fstmetrics.statistics import paired_bootstrap
from lattices import Space
from lattices.algorithms import best_words
from lattices.formats.weights import read_weights

FOLDER = DATA / "multi30k-deen"
OBJECTIVES: dict[str, Metric] = {"BLEU": BLEU(), "BLEU-SBP": BLEUSBP(), "4-GRR": GRR()}
REPORTED: dict[str, Metric] = {**OBJECTIVES, "WER": WER()}
LEARNERS = ("mert", "mira", "pro", "perceptron", "softmax-margin", "risk")
#: the same within a document of 9 segments
WITHIN = {f"{name} in a document": name for name in ("mira", "perceptron")}
DECAY = 0.9
#: options of a learner on some corpus that differ from its own; chosen for time, not for scores
OPTIONS: dict[tuple[str, str], dict[str, Any]] = {}


@dataclass(frozen=True)
class Run:
    """One training run."""

    corpus: str
    learner: str
    objective: str
    start: str
    seed: int = 0


@dataclass(frozen=True)
class Result:
    """What a run came to.

    Attributes
    ----------
    run : Run
    scores : sequence of float
        The test scores, as :data:`REPORTED` has them, and the ratio of lengths last.
    seconds : float
        Of one processor.
    drew : bool
        Whether the learner drew random numbers: if not, its seed means nothing.
    options : mapping
        Of the learner.
    p : float
        Of the difference from the shipped weights' BLEU, by paired bootstrap.
    """

    run: Run
    scores: Sequence[float]
    seconds: float
    drew: bool
    options: Mapping[str, Any]
    p: float


def shipped(corpus: str) -> dict[str, float]:
    """Return the weights that the decoder had, under the names that a corpus has."""
    name = "weights.hiero.de-en" if corpus.startswith("Hiero") else "weights.de-en"
    weights = dict(read_weights(FOLDER / name))
    if corpus == "100-best":
        # Moses has names of its own, in the same order
        names = spaces(corpus)[0][0].feature_names
        return dict(zip(names, weights.values(), strict=True))
    return weights


@lru_cache(maxsize=2)
def spaces(corpus: str) -> tuple[Sequence[Space], Sequence[Space]]:
    """Return what to train on, and what to test on."""
    if corpus == "100-best":
        texts = (FOLDER / "val.en").read_text(encoding="utf-8").splitlines()
        found: list[Space] = [
            nbest.replaced(references=[text])
            for nbest, text in zip(
                lattices.read(FOLDER / "val.de-en.100best.gz"), texts, strict=True
            )
        ]
        return found[300:], found[:300]
    if corpus in MULTI30K:
        found = list(lattices.read(DATA / MULTI30K[corpus]))
        return found[300:], found[:300]
    found = list(lattices.read(FOLDER / "hiero150.de-en.forest.d50.jsonl.gz"))
    return found[:100], found[100:]


def runs() -> Iterator[Run]:
    """Yield all training runs with the first seed, the long ones first.

    For single sentences BLEU and BLEU-SBP are one number: only MERT, which sees the corpus, is
    trained for both.
    """
    for corpus in ("d50", "d10", "Hiero d50", "100-best"):
        for name in LEARNERS:
            for objective in OBJECTIVES:
                if name == "mert" or objective != "BLEU-SBP":
                    for start in ("uniform", "shipped"):
                        yield Run(corpus, name, objective, start)
            for within, alone in WITHIN.items():
                if alone == name:
                    yield Run(corpus, within, "BLEU", "uniform")


def made(run: Run) -> Learner:
    """Return the learner of a run."""
    start = shipped(run.corpus) if run.start == "shipped" else None
    options = dict(OPTIONS.get((run.learner, run.corpus), {}))
    if run.learner in WITHIN:
        options["document"] = DECAY
    kind = LEARNER_KINDS.get(WITHIN.get(run.learner, run.learner))
    return kind(start=start, seed=run.seed, **options)


def train(run: Run) -> Result:
    """Return the scores of one training run on the test segments."""
    development, _ = spaces(run.corpus)
    taught = made(run)
    untouched = np.random.default_rng(run.seed).bit_generator.state
    begin = process_time()
    taught.fit(
        development,
        [space.references for space in development],
        OBJECTIVES[run.objective],
        progress=False,
    )
    seconds = process_time() - begin
    drew = taught.random.bit_generator.state != untouched
    return Result(
        run, scores(run.corpus, taught.weights), seconds, drew, taught.options(),
        p_value(run.corpus, taught.weights),
    )  # fmt: skip


def said(corpus: str, weights: Mapping[str, float]) -> tuple[list[Any], list[Any]]:
    """Return the best sentences of the test segments under weights, and the references."""
    _, test = spaces(corpus)
    return [best_words(space.reweighted(weights)) for space in test], [
        space.references for space in test
    ]


def p_value(corpus: str, weights: Mapping[str, float]) -> float:
    """Return how likely a BLEU so far from the shipped weights' is, if there is no difference."""
    metric = OBJECTIVES["BLEU"]
    rows = [corpus_stats(metric, *said(corpus, each)) for each in (weights, shipped(corpus))]
    return paired_bootstrap(metric, *rows).p_value


def measured(
    some: Sequence[Space], weights: Mapping[str, float], metric: Metric
) -> tuple[float, float]:
    """Return the score of the best sentences in per cent, and the ratio of their lengths."""
    chosen = [best_words(space.reweighted(weights)) for space in some]
    references = [space.references for space in some]
    score = 100.0 * metric.score(corpus_stats(metric, chosen, references).sum(axis=0))
    return score, sum(map(len, chosen)) / sum(len(str(text[0]).split()) for text in references)


def scores(corpus: str, weights: Mapping[str, float]) -> list[float]:
    """Return the test scores of weights, and the ratio of lengths last."""
    chosen, references = said(corpus, weights)
    found = [
        100.0 * metric.score(corpus_stats(metric, chosen, references).sum(axis=0))
        for metric in REPORTED.values()
    ]
    words = sum(len(str(some[0]).split()) for some in references)
    return [*found, sum(map(len, chosen)) / words]


def logged(path: Path | None) -> dict[Run, Result]:
    """Return the runs that a log has, but those made with other options than now.

    A last line that an interruption cut short is no run.
    """
    found: dict[Run, Result] = {}
    if path is None or not path.exists():
        return found
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError:
            if number == len(lines):
                break
            raise
        result = Result(**{**row, "run": Run(**row["run"])})
        # as JSON has them: a tuple is a list there
        if result.options == json.loads(json.dumps(made(result.run).options())):
            found[result.run] = result
    return found


def write_log(path: Path, results: Iterable[Result]) -> None:
    """Write a log anew, without what :func:`logged` left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(map(_log_line, results)), encoding="utf-8")


def _log_line(result: Result) -> str:
    return json.dumps(asdict(result)) + "\n"


def wanted(results: Mapping[Run, Result], seeds: int) -> list[Run]:
    """Return the runs that are still to be made, as far as is known yet.

    Other seeds than the first are for learners that drew.
    """
    missing = [run for run in runs() if run not in results]
    for run in runs():
        if run in results and results[run].drew:
            others = [replace(run, seed=seed) for seed in range(1, seeds)]
            missing.extend(each for each in others if each not in results)
    return missing


def main() -> None:
    """Train, print as it goes, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training_tables")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3, help="for learners that draw (3)")
    parser.add_argument("--log", type=Path, help="of finished runs; they are not made again")
    parser.add_argument("--page", action="store_true", help="only write it, from the log")
    arguments = parser.parse_args()
    if arguments.seeds < 1 or arguments.workers < 1:
        parser.error("seeds and workers are at least 1")
    results = logged(arguments.log)
    if arguments.page:
        write_page("training.md", rendered(results, arguments.seeds))
        return
    if arguments.log is not None:
        write_log(arguments.log, results.values())
    with ProcessPoolExecutor(arguments.workers) as pool:
        # what draws is known after the first seed
        while missing := wanted(results, arguments.seeds):
            for future in as_completed([pool.submit(train, run) for run in missing]):
                result = future.result()
                results[result.run] = result
                print(result.run, result.scores, f"{result.seconds:.0f} s", flush=True)
                if arguments.log is not None:
                    with arguments.log.open("a", encoding="utf-8") as stream:
                        stream.write(_log_line(result))
    write_page("training.md", rendered(results, arguments.seeds))


def rendered(results: Mapping[Run, Result], seeds: int) -> str:
    """Return the page."""
    baselines = {
        corpus: {
            "shipped": scores(corpus, shipped(corpus)),
            "uniform": scores(corpus, dict.fromkeys(shipped(corpus), 1.0)),
        }
        for corpus in CORPORA
    }
    groups = {
        run: [
            results[each]
            for each in (replace(run, seed=seed) for seed in range(seeds))
            if each in results
        ]
        for run in runs()
    }
    return page(groups, baselines, tuple(REPORTED), tuple(OBJECTIVES), OPTIONS, LEARNERS)


if __name__ == "__main__":
    main()
