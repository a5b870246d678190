"""Output of ``fstmetrics train``: weights, the table of rounds, and scores."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from decoding.cli.tables import format_score, headings, score_headings, table
from decoding.cli.terminal import print_summary
from decoding.cli.training.corpus import TrainingCorpus
from decoding.training.learner import History, Learner
from fstmetrics import Metric
from fstmetrics.contract import quality
from lattices.formats.streams import open_output
from lattices.formats.weights import write_weights

#: rounds that are all shown; of more, the better ones
MOST_ROUNDS = 30


def write_weights_to(
    arguments: argparse.Namespace, weights: Mapping[str, float], path: str
) -> None:
    """Write weights to any file in the format of the arguments."""
    write_weights(weights, path, arguments.weights_format, arguments.template)


def write_results(
    arguments: argparse.Namespace, weights: Mapping[str, float], learner: Learner
) -> None:
    """Write the weights, and the table and the plot of all rounds if they were asked for."""
    with ExitStack() as stack:
        # takes its name after the weights have theirs
        if arguments.history is not None:
            columns = list_rounds(learner).as_columns()
            stream = stack.enter_context(open_output(arguments.history))
            for row in [columns, *zip(*columns.values(), strict=True)]:
                stream.write("\t".join(map(_cell, row)).encode("utf-8") + b"\n")
            stream.flush()
        write_weights_to(arguments, weights, arguments.output)
    if arguments.plot:
        from decoding.plots import plot

        plot(learner.history).save(arguments.plot)


def list_rounds(learner: Learner) -> History:
    """Return what a learner began with, and its rounds."""
    began = learner.began
    # of later fits the last round before them is the start
    start = [] if began is None or began.number else [began]
    return History([*start, *learner.history])


def print_rounds(learner: Learner, metric: Metric) -> None:
    """Print what each round had, the start first, the one that was chosen marked.

    Of many rounds, those that are the best so far, and the last.
    """
    rounds = list_rounds(learner)
    (label,) = score_headings([metric])
    head = ["round", label, *(["held out"] if rounds[0].held_out is not None else []), ""]
    rows = []
    top = -math.inf
    for each in rounds:
        value = quality(metric, each.decisive)
        if len(rounds) <= MOST_ROUNDS or value > top or each is rounds[-1]:
            name = "start" if each == learner.began else str(each.number)
            scores = [format_score(metric, x) for x in (each.score, each.held_out) if x is not None]
            rows.append([name, *scores, "chosen" if each == learner.chosen else ""])
        top = max(top, value)
    print_summary(table(head, rows, left=(0, len(head) - 1)))
    if len(rows) < len(rounds):
        print_summary(f"{len(rounds) - len(rows)} rounds that were no better are left out")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else " ".join(str(value).split())


def print_scores(
    metrics: Sequence[Metric],
    corpus: TrainingCorpus,
    what: str,
    columns: Sequence[tuple[str, Mapping[str, float] | None]],
) -> None:
    """Print what each of several weights scores, under every metric."""
    found = [corpus.scores(metrics, weights) for _, weights in columns]
    scores = [[each[str(metric)] for each in found] for metric in metrics]
    print_table([what, *(name for name, _ in columns)], metrics, scores)


def print_table(
    head: Sequence[str], metrics: Sequence[Metric], scores: Sequence[Sequence[float]]
) -> None:
    """Print scores, a row for each metric, where people look for them."""
    rows = [
        [label, *(format_score(metric, score) for score in of_metric)]
        for label, metric, of_metric in zip(score_headings(metrics), metrics, scores, strict=True)
    ]
    print_summary("\n".join([table(head, rows), *headings(metrics)[1]]))
