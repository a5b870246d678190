"""Output of ``fstmetrics train``: weights, the table of rounds, and scores."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from decoding.cli.tables import headings, table
from decoding.cli.terminal import print_summary
from decoding.cli.training.corpus import TrainingCorpus
from decoding.training.learner import History
from fstmetrics import Metric
from lattices.formats.streams import created
from lattices.formats.weights import write_weights


def write_weights_as_asked(
    arguments: argparse.Namespace, weights: Mapping[str, float], path: str
) -> None:
    """Write weights to any file in the format of the arguments."""
    write_weights(weights, path, arguments.weights_format, arguments.template)


def write_results(
    arguments: argparse.Namespace, weights: Mapping[str, float], history: History
) -> None:
    """Write the weights, and the table and the plot of all rounds if they were asked for."""
    with ExitStack() as stack:
        # takes its name after the weights have theirs
        if arguments.history is not None:
            columns = history.as_columns()
            stream = stack.enter_context(created(arguments.history))
            for row in [columns, *zip(*columns.values(), strict=True)]:
                stream.write("\t".join(map(_cell, row)).encode("utf-8") + b"\n")
            stream.flush()
        write_weights_as_asked(arguments, weights, arguments.output)
    if arguments.plot:
        from decoding.plots import plot

        plot(history).save(arguments.plot)


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
    labels, notes = headings(metrics)
    rows = [
        [label, *(f"{score:.4f}" for score in of_metric)]
        for label, of_metric in zip(labels, scores, strict=True)
    ]
    print_summary("\n".join([table(head, rows), *notes]))
