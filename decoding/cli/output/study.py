"""Studies of metrics: the tables and pictures of ``fstmetrics study``."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from decoding.cli.output.correlate import show
from decoding.cli.tables import Report, number_cell, resampling_note
from decoding.plots import Curve, Panel
from fstmetrics.statistics.human import short_names

if TYPE_CHECKING:
    from fstmetrics import BLEU
    from fstmetrics.statistics.studies import Equivalents, SystemsSweep


def char_bleu_report(
    found: Sequence[Equivalents], metrics: tuple[BLEU, BLEU], segments: int
) -> Report:
    """Return the best orders in characters as a table, and all that was found as tsv or JSON."""
    header = ["words", "by Pearson", "r", "by kappa", "kappa", f"by {100 * found[0].share:g} %"]
    rows = [
        [
            str(one.order),
            _order(one.best_pearson),
            _best(one.pearson, one.best_pearson),
            _order(one.best_kappa),
            _best(one.kappa, one.best_kappa),
            _order(one.first_below) if one.below else "",
        ]
        for one in found
    ]
    notes = [f"{segments} segment scores; characters from 1 to {metrics[1].order}; {metrics[1]}"]
    if any(metrics[1].order in (one.best_pearson, one.best_kappa) for one in found):
        notes.append("the highest order is a best one: higher ones may be better (--max-m)")
    return Report(
        header,
        rows,
        notes,
        tsv_rows=lambda: _char_bleu_rows(found),
        content=lambda: _char_bleu_content(found, metrics, segments),
    )


def _order(order: int | None) -> str:
    return "none" if order is None else str(order)


def _best(values: Sequence[float], order: int | None) -> str:
    return "" if order is None else f"{values[order - 1]:.3f}"


def _char_bleu_rows(found: Sequence[Equivalents]) -> list[list[str]]:
    rows = [["words", "characters", "pearson", "kappa", "below"]]
    for one in found:
        below = one.below or (math.nan,) * len(one.pearson)
        for order, numbers in enumerate(zip(one.pearson, one.kappa, below, strict=True), 1):
            rows.append([str(one.order), str(order), *map(number_cell, numbers)])
    return rows


def _char_bleu_content(
    found: Sequence[Equivalents], metrics: tuple[BLEU, BLEU], segments: int
) -> dict[str, Any]:
    return {
        "words": str(metrics[0]),
        "characters": str(metrics[1]),
        "segments": segments,
        "share": found[0].share,
        "equivalents": [
            {
                "order": one.order,
                "best_pearson": one.best_pearson,
                "best_kappa": one.best_kappa,
                "first_below": one.first_below,
                "pearson": one.pearson,
                "kappa": one.kappa,
                "below": one.below or None,
            }
            for one in found
        ],
    }


def char_bleu_panels(found: Sequence[Equivalents]) -> list[Panel]:
    """Return three pictures over the orders in characters, one curve for each order in words."""
    orders = range(1, len(found[0].pearson) + 1)
    curves: list[list[Curve]] = [[], [], []]
    for one in found:
        label = f"{one.order} word{'s' if one.order > 1 else ''}"
        shown = (
            (one.pearson, one.best_pearson),
            (one.kappa, one.best_kappa),
            (one.below, one.first_below),
        )
        for of_panel, (numbers, best) in zip(curves, shown, strict=True):
            values = numbers or (math.nan,) * len(orders)
            of_panel.append(Curve(label, values, mark=None if best is None else best - 1))
    share = found[0].share
    titles = (
        ("Correlation", "Pearson's r", None),
        ("Agreement", "kappa over ten grades", None),
        ("Behaviour", "share not above one word fewer", share),
    )
    return [
        Panel(title, "order in characters", upwards, orders, of_panel, level)
        for (title, upwards, level), of_panel in zip(titles, curves, strict=True)
    ]


def sweep_report(sweep: SystemsSweep, arguments: argparse.Namespace) -> Report:
    """Return a sweep, one row a value."""
    judged = sweep.human is not None
    header = [sweep.option, *(["Pearson"] if judged else []), *short_names(sweep.systems)]
    rows = []
    for point in sweep.points:
        correlation = [] if point.correlation is None else [show(point.correlation)]
        scores = [f"{score:.4f}" for score in point.scores]
        rows.append([f"{point.value:g}", *correlation, *scores])
    notes = [f"the first row is of {sweep.points[0].metric}"]
    if judged:
        notes.append(resampling_note(arguments.samples, arguments.seed, arguments.level, "systems"))
    return Report(
        header,
        rows,
        notes,
        tsv_rows=lambda: _sweep_rows(sweep),
        content=lambda: _sweep_content(sweep, arguments),
        left=(1,) if judged else (),
    )


def _sweep_rows(sweep: SystemsSweep) -> list[list[str]]:
    """Return one row for each value and system, the correlation of the value with each."""
    columns = ["metric", "option", "value", "system", "score"]
    judged = sweep.human is not None
    rows = [[*columns, *(["human", "pearson", "low", "high"] if judged else [])]]
    for point in sweep.points:
        found = point.correlation
        said: Sequence[float | None] = sweep.human or [None] * len(sweep.systems)
        for system, score, human in zip(sweep.systems, point.scores, said, strict=True):
            row = [str(point.metric), sweep.option, repr(point.value), system, repr(score)]
            if found is not None and human is not None:
                ends = found.interval
                interval = (ends.low, ends.high) if ends else (math.nan, math.nan)
                row += [repr(human), *map(number_cell, (found.value, *interval))]
            rows.append(row)
    return rows


def _sweep_content(sweep: SystemsSweep, arguments: argparse.Namespace) -> dict[str, Any]:
    points = []
    for point in sweep.points:
        found = point.correlation
        content: dict[str, Any] = {
            "value": point.value,
            "metric": str(point.metric),
            "scores": dict(zip(sweep.systems, point.scores, strict=True)),
        }
        if found is not None:
            ends = found.interval
            content["pearson"] = found.value
            content["interval"] = None if ends is None else [ends.low, ends.high]
        points.append(content)
    whole: dict[str, Any] = {
        "option": sweep.option,
        "higher_is_better": sweep.metric.higher_is_better,
    }
    if sweep.human is not None:
        whole["human"] = dict(zip(sweep.systems, sweep.human, strict=True))
        whole["resampling"] = {
            "of": "systems",
            "samples": arguments.samples,
            "seed": arguments.seed,
            "level": arguments.level,
        }
    return {**whole, "points": points}


def sweep_panels(sweep: SystemsSweep) -> list[Panel]:
    """Return the scores of the systems over the values, and beside it the correlation."""
    places = [point.value for point in sweep.points]
    name = str(sweep.metric).partition(":")[0]
    labels = short_names(sweep.systems) if len(sweep.systems) > 1 else [""]
    curves = [
        Curve(label, [point.scores[system] for point in sweep.points])
        for system, label in enumerate(labels)
    ]
    panels = [Panel(f"{name} of systems", sweep.option, name, places, curves)]
    found = [point.correlation for point in sweep.points if point.correlation is not None]
    if found:
        values = [one.value for one in found]
        ends = [
            (one.interval.low, one.interval.high) if one.interval else (math.nan, math.nan)
            for one in found
        ]
        low, high = zip(*ends, strict=True)
        known = [value for value in values if not math.isnan(value)]
        mark = values.index(max(known)) if known else None
        curve = Curve("", values, low, high, mark)
        panels.append(
            Panel("Correlation with people", sweep.option, "Pearson's r", places, [curve])
        )
    return panels
