"""Studies of metrics: the tables and pictures of ``fstmetrics study``."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from decoding.cli.output.correlate import show
from decoding.cli.tables import (
    Report,
    format_score,
    headings,
    number_cell,
    p_value,
    percent,
    resampling_note,
    score_headings,
)
from decoding.plots import Curve, Panel
from fstmetrics.statistics.human import short_names

if TYPE_CHECKING:
    from decoding.word_deletion import DeletionResult
    from fstmetrics import BLEU, Metric
    from fstmetrics.statistics.significance import Comparison
    from fstmetrics.statistics.studies.characters import Equivalents
    from fstmetrics.statistics.studies.disagreements import Disagreements
    from fstmetrics.statistics.studies.genres import GenreMixing
    from fstmetrics.statistics.studies.ranks import RankedSystem
    from fstmetrics.statistics.studies.silence import Silence
    from fstmetrics.statistics.studies.sweeps import SystemsSweep
    from fstmetrics.statistics.systems import System


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


#: what tables call the coefficient of a sweep
_COEFFICIENTS = {"pearson": "Pearson", "wmt14": "tau"}


def _describe_resampling(sweep: SystemsSweep) -> str:
    return "systems" if sweep.coefficient == "pearson" else "segments"


def _sweep_resampling(sweep: SystemsSweep, arguments: argparse.Namespace) -> str:
    of = _describe_resampling(sweep)
    return resampling_note(arguments.samples, arguments.seed, arguments.level, of)


def sweep_report(sweep: SystemsSweep, arguments: argparse.Namespace) -> Report:
    """Return a sweep, one row a value."""
    correlated = bool(sweep.coefficient)
    name = [_COEFFICIENTS[sweep.coefficient]] if correlated else []
    header = [sweep.option, *name, *short_names(sweep.systems)]
    rows = []
    for point in sweep.points:
        correlation = [] if point.correlation is None else [show(point.correlation)]
        scores = [f"{score:.4f}" for score in point.scores]
        rows.append([f"{point.value:g}", *correlation, *scores])
    notes = [f"the first row is of {sweep.points[0].metric}"]
    if correlated:
        notes.append(_sweep_resampling(sweep, arguments))
    return Report(
        header,
        rows,
        notes,
        tsv_rows=lambda: _sweep_rows(sweep),
        content=lambda: _sweep_content(sweep, arguments),
        left=(1,) if correlated else (),
    )


def _sweep_rows(sweep: SystemsSweep) -> list[list[str]]:
    """Return one row for each value and system, the correlation of the value with each."""
    said = ["human"] if sweep.human is not None else []
    correlated = [*said, sweep.coefficient, "low", "high"] if sweep.coefficient else []
    rows = [["metric", "option", "value", "system", "score", *correlated]]
    for point in sweep.points:
        found = point.correlation
        for place, (system, score) in enumerate(zip(sweep.systems, point.scores, strict=True)):
            row = [str(point.metric), sweep.option, repr(point.value), system, repr(score)]
            if sweep.human is not None:
                row.append(repr(sweep.human[place]))
            if found is not None:
                ends = found.interval
                interval = (ends.low, ends.high) if ends else (math.nan, math.nan)
                row += map(number_cell, (found.value, *interval))
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
            content[sweep.coefficient] = found.value
            content["interval"] = None if ends is None else [ends.low, ends.high]
        points.append(content)
    whole: dict[str, Any] = {
        "option": sweep.option,
        "higher_is_better": sweep.metric.higher_is_better,
    }
    if sweep.human is not None:
        whole["human"] = dict(zip(sweep.systems, sweep.human, strict=True))
    if sweep.coefficient:
        whole["resampling"] = {
            "of": _describe_resampling(sweep),
            "samples": arguments.samples,
            "seed": arguments.seed,
            "level": arguments.level,
        }
    return {**whole, "points": points}


def _upwards(sweep: SystemsSweep) -> str:
    return "Pearson's r" if sweep.coefficient == "pearson" else "Kendall's tau (WMT14)"


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
            Panel("Correlation with people", sweep.option, _upwards(sweep), places, [curve])
        )
    return panels


def grid_report(
    sweeps: Sequence[SystemsSweep],
    option: str,
    values: Sequence[float],
    arguments: argparse.Namespace,
) -> Report:
    """Return sweeps of one option, one for each value of another: a column each.

    Cells are correlations, or, without human scores, the scores of the one system.
    """
    first = sweeps[0]

    def cell(sweep: SystemsSweep, place: int) -> str:
        point = sweep.points[place]
        if point.correlation is None:
            return f"{point.scores[0]:.4f}"
        value = point.correlation.value
        return "undefined" if math.isnan(value) else f"{value:.4f}"

    header = [f"{first.option} / {option}", *(f"{value:g}" for value in values)]
    rows = [
        [f"{point.value:g}", *(cell(sweep, place) for sweep in sweeps)]
        for place, point in enumerate(first.points)
    ]
    notes = [f"{first.option} in rows, {option} in columns; the first cell is of "
             f"{first.points[0].metric}"]  # fmt: skip
    if first.coefficient:
        notes.append(f"{_COEFFICIENTS[first.coefficient]} with people; intervals are in tsv")
        notes.append(_sweep_resampling(first, arguments))

    def tsv_rows() -> list[list[str]]:
        tables = [_sweep_rows(sweep) for sweep in sweeps]
        head = [tables[0][0][0], option, *tables[0][0][1:]]
        return [head, *([row[0], repr(value), *row[1:]]
                        for value, table in zip(values, tables, strict=True)
                        for row in table[1:])]  # fmt: skip

    def content() -> dict[str, Any]:
        parts = zip(values, sweeps, strict=True)
        grid = [{"value": value, **_sweep_content(sweep, arguments)} for value, sweep in parts]
        return {"option": option, "sweeps": grid}

    return Report(header, rows, notes, tsv_rows=tsv_rows, content=content, left=())


def grid_panels(
    sweeps: Sequence[SystemsSweep], option: str, values: Sequence[float]
) -> list[Panel]:
    """Return a curve over the first option for each value of the second."""
    first = sweeps[0]
    name = str(first.metric).partition(":")[0]
    correlated = bool(first.coefficient)
    curves = [
        Curve(
            f"{option}={value:g}",
            [
                point.scores[0] if point.correlation is None else point.correlation.value
                for point in sweep.points
            ],
        )
        for value, sweep in zip(values, sweeps, strict=True)
    ]
    title, upwards = (f"{name} and people", _upwards(first)) if correlated else (name, name)
    places = [point.value for point in first.points]
    return [Panel(title, first.option, upwards, places, curves)]


def genres_report(found: Sequence[GenreMixing], sizes: Mapping[str, int]) -> Report:
    """Return how often each metric contradicts itself, and its worst example."""
    metrics = [one.metric for one in found]
    labels, notes = score_headings(metrics), headings(metrics)[1]
    rows, shown = [], []
    for label, one in zip(labels, found, strict=True):
        counts: dict[str, Any] = {"better": one.better, "inverted": one.inverted}
        row: dict[str, Any] = {"metric": str(one.metric), **counts}
        visible: dict[str, Any] = {"metric": label, **counts}
        for side, choice in (("first", one.first), ("second", one.second)):
            names = "" if choice is None else " + ".join(choice.systems)
            scores = [None] * len(one.genres) if choice is None else [*choice.scores]
            together = None if choice is None else choice.together
            of_genres = zip([*one.genres, "together"], [*scores, together], strict=True)
            row |= {side: names, **{f"{side} {genre}": score for genre, score in of_genres}}
            visible[side] = names
        for place, genre in enumerate([*one.genres, "together"]):
            pair = [
                [*choice.scores, choice.together][place]
                for choice in (one.first, one.second)
                if choice is not None
            ]
            visible[genre] = " / ".join(format_score(one.metric, score) for score in pair)
        rows.append(row)
        shown.append(visible)
    notes = [
        "genres: " + ", ".join(f"{name} ({size} segments)" for name, size in sizes.items()),
        "better: pairs of choices of which the first is better on each genre; inverted: those of "
        "them of which it is worse together; beside it that which loses most",
        *notes,
    ]
    return Report.of_rows(rows, notes, shown=shown)


def _versus(metric: Metric, comparison: Comparison | None) -> str:
    """Return an effect with its p-value."""
    if comparison is None:
        return ""
    return f"{format_score(metric, comparison.effect, '+')} (p {p_value(comparison.p_value)})"


def _comparison_cells(comparison: Comparison | None) -> dict[str, Any]:
    if comparison is None:
        return dict.fromkeys(("effect", "low", "high", "p_value"))
    ends = comparison.interval
    return {
        "effect": comparison.effect,
        "low": None if ends is None else ends.low,
        "high": None if ends is None else ends.high,
        "p_value": comparison.p_value,
    }


def deletion_report(found: Sequence[Silence], arguments: argparse.Namespace) -> Report:
    """Return what each metric says of systems with empty segments: a column each."""
    metrics = list({str(one.metric): one.metric for one in found}.values())
    labels, notes = score_headings(metrics), headings(metrics)[1]
    label_of = {str(metric): label for metric, label in zip(metrics, labels, strict=True)}
    rows = []
    visible: dict[tuple[object, ...], dict[str, Any]] = {}
    for one in found:
        about: dict[str, Any] = {"system": one.system}
        if one.attacked is not None:
            about["attack on"] = str(one.attacked)
        about |= {"segments": one.segments, "deleted": one.share}
        rows.append(
            {**about, "metric": str(one.metric), "score": one.score,
             **_comparison_cells(one.comparison),
             **({} if one.attacked is None else {"free": one.free})}
        )  # fmt: skip
        about["deleted"] = percent(one.share)
        if one.attacked is not None:
            about["attack on"] = label_of[str(one.attacked)].removesuffix(" %")
            about["for nothing"] = percent(one.free)
        key = (one.system, str(one.attacked), one.segments)
        visible.setdefault(key, about)[label_of[str(one.metric)]] = _versus(
            one.metric, one.comparison
        )
    notes = [
        "deleted: the share of words; cells: the score less that of the whole output",
        *(["for nothing: the share that can go before the attacked metric is back at its score"]
          if found[0].attacked is not None else []),
        *notes,
        resampling_note(arguments.samples, arguments.seed, arguments.level),
    ]  # fmt: skip
    return Report.of_rows(rows, notes, shown=[*visible.values()])


def deletion_panels(found: Sequence[Silence]) -> list[Panel]:
    """Return a picture for each system: the effect on each metric over the share of words."""
    panels = []
    for system in dict.fromkeys(one.system for one in found):
        some = [one for one in found if one.system == system]
        curves = []
        for metric in dict.fromkeys(str(one.metric) for one in some):
            of_metric = sorted(
                (one for one in some if str(one.metric) == metric), key=lambda one: one.share
            )
            curves.append(
                Curve(
                    metric.partition(":")[0],
                    [one.comparison.effect for one in of_metric],
                    places=[one.share for one in of_metric],
                )
            )
        panels.append(Panel(system, "share of words deleted", "change", (), curves, 0.0))
    return panels


def word_deletion_report(found: Sequence[DeletionResult], arguments: argparse.Namespace) -> Report:
    """Return what training came to with each kind of deletion: a column for each metric."""
    metrics = list({str(one.metric): one.metric for one in found}.values())
    labels, notes = score_headings(metrics), headings(metrics)[1]
    label_of = {str(metric): label for metric, label in zip(metrics, labels, strict=True)}
    visible: dict[tuple[object, ...], dict[str, Any]] = {}
    rows = []
    for one in found:
        about = {"trained": str(one.trained), "deletion": one.kind, "corpus": one.corpus}
        rows.append(
            {**about, "deleted": one.deleted, "metric": str(one.metric), "score": one.score,
             **_comparison_cells(one.comparison)}
        )  # fmt: skip
        key = tuple(about.values())
        if key not in visible:
            about["trained"] = label_of[about["trained"]].removesuffix(" %")
            empty = dict.fromkeys(labels, "")
            visible[key] = {**about, "deleted": percent(one.deleted), **empty}
        effect = _versus(one.metric, one.comparison)
        visible[key][label_of[str(one.metric)]] = (
            f"{format_score(one.metric, one.score)} {effect}".rstrip()
        )
    notes = [
        "deleted: the share of words; in brackets the p-value of the difference to no deletion",
        *notes,
        resampling_note(arguments.samples, arguments.seed, arguments.level),
    ]
    return Report.of_rows(rows, notes, shown=[*visible.values()])


def ranks_report(found: Sequence[RankedSystem], metrics: Sequence[Metric]) -> Report:
    """Return scores and ranks of systems."""
    labels, notes = score_headings(metrics), headings(metrics)[1]
    rows, shown = [], []
    for one in found:
        row: dict[str, Any] = {"system": one.system}
        if one.human is not None:
            row |= {"human": one.human, "human rank": one.human_rank}
        visible = dict(row)
        for place, (metric, label) in enumerate(zip(metrics, labels, strict=True)):
            row |= {str(metric): one.scores[place], f"{metric} rank": one.ranks[place]}
            score = format_score(metric, one.scores[place])
            visible |= {label: score, f"{label.removesuffix(' %')} rank": one.ranks[place]}
        rows.append(row)
        shown.append(visible)
    return Report.of_rows(rows, notes, shown=shown)


def ranks_panel(found: Sequence[RankedSystem], metrics: Sequence[Metric]) -> Panel:
    """Return a line for each system through its ranks, 1 above."""
    correlated = found[0].human_rank is not None
    columns = [*(["people"] if correlated else []), *headings(metrics)[0]]
    curves = [
        Curve(one.system, [*([one.human_rank or 0] if correlated else []), *one.ranks])
        for one in found
    ]
    places = [*range(len(columns))]
    return Panel("Ranks of systems", "", "rank", places, curves, names=columns)


def disagreements_report(
    found: Disagreements,
    metrics: Sequence[Metric],
    places: Sequence[tuple[System, str]],
    top: int,
) -> Report:
    """Return where two metrics disagree; programs get all segments, with their texts."""
    labels, notes = headings(metrics)
    correlated = any(not math.isnan(one.human) for one in found.found)
    rows = []
    for one in found.found:
        system, id = places[one.point]
        row: dict[str, Any] = {"system": system.name, "segment": id}
        for label, score, z in zip(labels, one.scores, one.z, strict=True):
            row |= {label: score, f"{label} z": z}
        if correlated:
            row |= {"human z": one.human,
                    "right": "" if one.right is None else labels[one.right]}  # fmt: skip
        rows.append(row)
    whole = [*dict.fromkeys(system.name for system, _ in places)]
    names = dict(zip(whole, short_names(whole), strict=True))
    shown = [{**row, "system": names[row["system"]]} for row in rows[:top]]
    for row, one in zip(rows, found.found, strict=True):
        words, references = places[one.point][0].sentences[row["segment"]]
        row |= {"hypothesis": " ".join(words), "reference": str(references[0])}
    about = [
        f"{len(rows)} of {found.points} segments ({percent(len(rows) / found.points)}), those "
        f"farthest apart first" + (f"; {top} shown (--top)" if len(rows) > top else ""),
        *(
            f"{label}: mean {mean:.4f}, standard deviation {deviation:.4f}"
            for label, mean, deviation in zip(labels, found.means, found.deviations, strict=True)
        ),
    ]
    if correlated:
        right = zip(labels, found.right, strict=True)
        about.append("on the side of people: " + ", ".join(f"{n} {count}" for n, count in right))
    return Report.of_rows(rows, [*about, *notes], shown=shown)
