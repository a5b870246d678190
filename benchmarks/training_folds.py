"""Options of learners on folds of the training segments: writes ``training-folds.md``.

Run as ``python -m benchmarks.training_folds --log FILE``; a log is gone on with, and ``--page``
writes ``docs/experiments/training-folds.md`` from it alone. Test segments are not read.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from time import process_time
from typing import Any

from benchmarks.pages import write_page
from benchmarks.training_tables import measured, shipped, spaces
from decoding.training.learners import LEARNERS
from fstmetrics import BLEU
from lattices import Space

CORPORA = ("100-best", "Hiero d50", "d10", "d50")
FOLDS = 3
SEEDS = 3
SMOOTHED = "bleu:smooth=add-k,brevity=smooth"
#: the options of each learner that are compared, the first being the plain ones
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "pro": {
        "alone": {"document": 0.0},
        "in a document": {"document": 0.9},
        "smoothed brevity": {"judge": SMOOTHED, "document": 0.0},
    },
    "mira": {
        "alone": {},
        "in a document": {"document": 0.9},
        "smoothed brevity": {"judge": SMOOTHED},
    },
    "perceptron": {
        "alone": {},
        "in a document": {"document": 0.9},
        "smoothed brevity": {"judge": SMOOTHED},
    },
    "risk": {"alone": {}, "smoothed brevity": {"judge": SMOOTHED}},
}
#: what uses no random numbers needs one seed
DRAWS = ("pro", "mira", "perceptron")
TEXT = """# Options of learners on folds

Written by `python -m benchmarks.training_folds`. BLEU in per cent on held-out segments of the
training part of [the corpora](training.md), the mean of {folds} folds and {seeds} seeds each; risk,
which draws no random numbers, and the smoothed penalty of MIRA and the perceptron have one.
*Smoothed brevity* is `judge="bleu:smooth=add-k,brevity=smooth"`. Of lattices a third is fitted to
and the rest held out; of lists and forests a third is held out. Test segments are not used.
Weights are those of the best
round by BLEU on what is fitted to, as learners return them; *last* are those of the last round,
*ratio* is their length for each word of the reference. *Gain* is the mean difference from the first
line of the learner on the same fold with the same seed, with its standard error over these pairs;
pairs share segments, so that the true error is larger.

{tables}
"""


@dataclass(frozen=True)
class Fit:
    """One fit to a fold, and its scores on what was held out."""

    corpus: str
    learner: str
    option: str
    start: str
    fold: int
    seed: int
    chosen: float = field(compare=False, default=0.0)
    last: float = field(compare=False, default=0.0)
    ratio: float = field(compare=False, default=0.0)
    seconds: float = field(compare=False, default=0.0)


def fits() -> Iterator[Fit]:
    """Yield all that are to be made, one seed after the other."""
    for seed in range(SEEDS):
        for corpus in CORPORA:
            for name, options in OPTIONS.items():
                if seed and name not in DRAWS:
                    continue
                for option in options:
                    if seed and option == "smoothed brevity" and name != "pro":
                        continue  # one seed shows that it does not help everywhere
                    for start in ("uniform", "shipped"):
                        for fold in range(FOLDS):
                            yield Fit(corpus, name, option, start, fold, seed)


def parts(corpus: str, fold: int) -> tuple[Sequence[Space], Sequence[Space]]:
    """Return what a fold is fitted to, and what it holds out."""
    training, _ = spaces(corpus)
    one = training[fold::FOLDS]
    others = [space for place, space in enumerate(training) if place % FOLDS != fold]
    return (one, others) if corpus in ("d10", "d50") else (others, one)


def fit(asked: Fit) -> Fit:
    """Make a fit."""
    fitted, held_out = parts(asked.corpus, asked.fold)
    start = shipped(asked.corpus) if asked.start == "shipped" else None
    taught = LEARNERS.get(asked.learner)(
        start=start, seed=asked.seed, **OPTIONS[asked.learner][asked.option]
    )
    begin = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no round beat the start is a result here
        taught.fit(fitted, [space.references for space in fitted], BLEU(), progress=False)
    seconds = process_time() - begin
    chosen, _ = measured(held_out, taught.weights, BLEU())
    last, ratio = measured(held_out, taught.history[-1].weights, BLEU())
    return Fit(
        asked.corpus, asked.learner, asked.option, asked.start, asked.fold, asked.seed,
        chosen, last, ratio, seconds,
    )  # fmt: skip


def table(corpus: str, made: Mapping[Fit, Fit]) -> list[str]:
    """Return the table of a corpus."""
    lines = [
        "| learner | option | from | fits | BLEU | gain | last | gain | ratio | time |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for start in ("uniform", "shipped"):
        untouched = [
            measured(parts(corpus, fold)[1], _start(corpus, start), BLEU()) for fold in range(FOLDS)
        ]
        score, ratio = (fmean(column) for column in zip(*untouched, strict=True))
        lines.append(f"| *start* | | {start} | | {score:.2f} | | | | {ratio:.3f} | |")
        for name, options in OPTIONS.items():
            plain = next(iter(options))
            for option in options:
                runs = [
                    each
                    for each in made.values()
                    if (each.corpus, each.learner, each.option, each.start)
                    == (corpus, name, option, start)
                ]
                if not runs:
                    continue
                pairs = [
                    (each, made[base])
                    for each in runs
                    if (base := Fit(corpus, name, plain, start, each.fold, each.seed)) in made
                ]
                chosen = [one.chosen - other.chosen for one, other in pairs]
                last = [one.last - other.last for one, other in pairs]
                told = ("", "") if option == plain else (_gain(chosen), _gain(last))
                lines.append(
                    f"| {name} | {option} | {start} | {len(runs)} "
                    f"| {fmean(each.chosen for each in runs):.2f} | {told[0]} "
                    f"| {fmean(each.last for each in runs):.2f} | {told[1]} "
                    f"| {fmean(each.ratio for each in runs):.3f} "
                    f"| {fmean(each.seconds for each in runs):.1f} s |"
                )
    return lines


def _start(corpus: str, start: str) -> dict[str, float]:
    weights = shipped(corpus)
    return weights if start == "shipped" else dict.fromkeys(weights, 1.0)


def _gain(differences: Sequence[float]) -> str:
    if len(differences) < 2:
        return ""
    return f"{fmean(differences):+.2f} ± {stdev(differences) / len(differences) ** 0.5:.2f}"


def read_log(path: Path) -> dict[Fit, Fit]:
    """Return the fits that a log has."""
    if not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {fit: fit for fit in (Fit(**row) for row in rows)}


def main() -> None:
    """Fit, print as it goes, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training_folds")
    parser.add_argument("--log", type=Path, required=True, help="of finished fits")
    parser.add_argument("--page", action="store_true", help="only write it, from the log")
    arguments = parser.parse_args()
    made = read_log(arguments.log)
    for asked in [] if arguments.page else fits():
        if asked in made:
            continue
        found = fit(asked)
        made[found] = found
        with arguments.log.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(found)) + "\n")
        print(found, flush=True)
    tables = [
        "\n".join([f"## {corpus}", "", *table(corpus, made)])
        for corpus in CORPORA
        if any(each.corpus == corpus for each in made)
    ]
    text = TEXT.format(folds=FOLDS, seeds=SEEDS, tables="\n\n".join(tables))
    write_page("training-folds.md", text)


if __name__ == "__main__":
    main()
