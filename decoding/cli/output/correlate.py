"""Correlations with human scores: the tables and pictures of ``fstmetrics correlate``."""

from __future__ import annotations

import argparse
import math
from typing import Any

from decoding.cli.tables import Report, headings, number_cell, resampling_note
from decoding.plots import Scatter
from fstmetrics.statistics.correlation import Correlation
from fstmetrics.statistics.human import HumanCorrelations, short_names
from fstmetrics.statistics.pairwise import CalibratedAccuracy


def report_of(found: HumanCorrelations, arguments: argparse.Namespace) -> Report:
    """Return what was found in the forms in which it can be written."""
    resample = arguments.resample if found.level == "system" else "segments"
    labels, notes = headings([one.metric for one in found.found])
    methods = [each.method for each in found.found[0].coefficients]
    counted = {"system": "systems", "segment": "points", "ranking": "judgements"}[found.level]
    header = ["metric", counted, *methods]
    rows = [
        [label, str(len(found.points)), *map(show, one.coefficients)]
        for label, one in zip(labels, found.found, strict=True)
    ]
    notes.append(resampling_note(arguments.samples, arguments.seed, arguments.level, resample))
    resampling = {
        "of": resample,
        "samples": arguments.samples,
        "seed": arguments.seed,
        "level": arguments.level,
    }
    return Report(
        header,
        rows,
        notes,
        tsv_rows=lambda: _tsv_rows(found),
        content=lambda: _content(found, resampling),
    )


def show(coefficient: Correlation) -> str:
    """Return value and interval, as tables have them."""
    return "undefined" if math.isnan(coefficient.value) else str(coefficient)


def _tsv_rows(found: HumanCorrelations) -> list[list[str]]:
    rows = [["metric", "level", "method", "value", "low", "high", "p_value", "points"]]
    for one in found.found:
        for each in one.coefficients:
            ends = [each.interval.low, each.interval.high] if each.interval else [math.nan] * 2
            numbers = (each.value, *ends, each.p_value)
            cells = [*map(number_cell, numbers), str(each.points)]
            rows.append([str(one.metric), found.level, each.method, *cells])
    return rows


def _content(found: HumanCorrelations, resampling: dict[str, Any]) -> dict[str, Any]:
    return {
        "level": found.level,
        "resampling": resampling,
        "correlations": [
            {
                "metric": str(one.metric),
                "method": each.method,
                "value": each.value,
                "interval": None
                if each.interval is None
                else [each.interval.low, each.interval.high],
                "p_value": each.p_value,
                "points": each.points,
                **({"epsilon": each.epsilon} if isinstance(each, CalibratedAccuracy) else {}),
                **({"note": each.note} if each.note else {}),
            }
            for one in found.found
            for each in one.coefficients
        ],
        "points": [
            {
                "system": system,
                **({"segment": segment} if segment else {}),
                "human": said,
                "scores": {str(one.metric): one.scores[place] for one in found.found},
            }
            for place, ((system, segment), said) in enumerate(
                zip(found.points, found.human, strict=True)
            )
        ],
    }


def pictures(found: HumanCorrelations) -> list[Scatter]:
    """Return one picture for each metric; systems are named, segments are not."""
    labels = None
    if found.level == "system":
        labels = short_names([system for system, _ in found.points])
    return [
        Scatter(
            f"Pearson {show(one.coefficients[0])}",
            str(one.metric),
            one.scores,
            found.human,
            labels,
            one.metric.higher_is_better,
        )
        for one in found.found
    ]
