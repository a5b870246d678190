"""What could be chosen of a corpus: the tables and pictures of ``fstmetrics choices``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from decoding.cli.running import explain_unscored
from decoding.cli.tables import (
    Report,
    format_interval,
    format_score,
    headings,
    number_cell,
    p_value,
    resampling_note,
    score_headings,
)
from decoding.plots import Dots
from decoding.report.saved_choices import NAMES

if TYPE_CHECKING:
    from decoding.tasks.choices import Choice, Choices
    from fstmetrics.statistics import Comparison, Estimate

Estimates = Sequence[Sequence["Estimate"]] | None
Differences = Sequence[Sequence["Comparison"]] | None


def choices_report(
    found: Choices,
    estimates: Estimates,
    differences: Differences,
    resampling: Mapping[str, Any],
) -> Report:
    """Return the comparison in all forms."""
    labels, notes = headings(found.metrics)
    named = dict(zip(map(str, found.metrics), labels, strict=True))
    marked = False
    rows = []
    for place, row in enumerate(found):
        cells = []
        for number, (metric, score) in enumerate(
            zip(found.metrics, row.scores.values(), strict=True)
        ):
            cell = format_score(metric, score)
            around = None if estimates is None else estimates[place][number].interval
            chance = ""
            if differences is not None and place:
                one = differences[place - 1][number]
                cell, around = format_score(metric, one.effect, "+"), around and one.interval
                chance = f" (p {p_value(one.p_value)})"
            cell += "" if around is None else f" {format_interval(metric, around)}"
            cell += chance
            unproven = bool(row.unproven) and str(metric) == row.under
            marked |= unproven
            cells.append(cell + "*" * unproven)
        rows.append([NAMES[row.choice], _among(row, found), named.get(row.under, ""), *cells])
    if marked:
        notes.append("* not proven: " + "; ".join(_doubts(found, named)))
    notes += _omissions(found, named)
    notes += explain_unscored({"unscored": found.unscored, "segments": found.segments})
    if estimates is not None or differences is not None:
        notes.append(resampling_note(**resampling))
    if differences is not None:
        notes.append("rows below the first: differences from it, p-values by paired bootstrap")
    return Report(
        ["choice", "of", "under", *score_headings(found.metrics)],
        rows,
        notes,
        tsv_rows=lambda: _tsv_rows(found, estimates, differences),
        content=lambda: _content(found, estimates, differences, resampling),
        left=(0, 1, 2),
    )


def _among(row: Choice, found: Choices) -> str:
    """Return what a row chooses from, for people."""
    if row.among == "list":
        return f"{found.nbest}-best"
    whole = " or ".join(found.kinds)
    return f"{whole} ({row.method})" if row.choice == "mbr" else whole if row.among else ""


def _omissions(found: Choices, named: Mapping[str, str]) -> list[str]:
    """Return what could not be compared, for people."""
    never = [way for way, missing in found.left_out if missing == found.segments]
    under = dict.fromkeys(named[way.under] for way in never)
    notes = [f"no search of whole spaces under {', '.join(under)}"] if under else []
    return notes + [
        f"left out: {NAMES[way.choice]} of the {way.among} under {named[way.under]}, which "
        f"{missing} of {found.segments} segments have not"
        for way, missing in found.left_out
        if missing < found.segments
    ]


def _doubts(found: Choices, named: Mapping[str, str]) -> list[str]:
    """Return how far what is not proven may be from the best."""
    doubts = []
    for row in found:
        if row.unproven:
            what = f"{NAMES[row.choice]} of {_among(row, found)} under {named[row.under]}"
            if row.choice == "corpus":
                (under,) = (metric for metric in found.metrics if str(metric) == row.under)
                bound = "no bound is known"
                if row.bound is not None:
                    bound = f"at best {format_score(under, row.bound)}"
                doubts.append(f"{what}: {bound}")
            else:
                doubts.append(f"{what}: {row.unproven} of {found.segments} segments")
    return doubts


_COLUMNS = ("choice", "among", "under", "method", "unproven", "bound")


def _values(found: Choices, estimates: Estimates, differences: Differences) -> list[dict[str, Any]]:
    """Return one mapping for each row and metric."""
    values = []
    for place, row in enumerate(found):
        for number, (metric, score) in enumerate(row.scores.items()):
            cells = {name: getattr(row, name) for name in _COLUMNS}
            cells |= {"metric": metric, "score": score}
            if estimates is not None:
                around = estimates[place][number].interval
                cells |= {"low": around.low, "high": around.high}
            if differences is not None:
                one = differences[place - 1][number] if place else None
                ends = None if one is None or one.interval is None else one.interval
                cells |= {
                    "difference": None if one is None else one.effect,
                    "difference_low": None if ends is None else ends.low,
                    "difference_high": None if ends is None else ends.high,
                    "p_value": None if one is None else one.p_value,
                }
            values.append(cells)
    return values


def _tsv_rows(found: Choices, estimates: Estimates, differences: Differences) -> list[list[str]]:
    values = _values(found, estimates, differences)
    return [
        list(values[0]),
        *([number_cell(cell) for cell in cells.values()] for cells in values),
    ]


def _content(
    found: Choices,
    estimates: Estimates,
    differences: Differences,
    resampling: Mapping[str, Any],
) -> dict[str, Any]:
    drawn = estimates is not None or differences is not None
    return {
        "metrics": [
            {
                "label": label,
                "metric": str(metric),
                "higher_is_better": metric.higher_is_better,
            }
            for metric, label in zip(found.metrics, headings(found.metrics)[0], strict=True)
        ],
        "segments": found.segments,
        "nbest": found.nbest,
        "unscored": found.unscored,
        "left_out": [{**way._asdict(), "segments": missing} for way, missing in found.left_out],
        **({"resampling": dict(resampling)} if drawn else {}),
        "choices": _values(found, estimates, differences),
    }


def choice_panels(found: Choices, estimates: Estimates) -> list[Dots]:
    """Return a picture for each metric: a dot for each way to choose, a line for the 1-best."""
    labels, _ = headings(found.metrics)
    named = dict(zip(map(str, found.metrics), labels, strict=True))
    names = [
        " ".join(
            part
            for part in (NAMES[row.choice], named.get(row.under, ""), _among(row, found))
            if part
        )
        for row in found
    ]
    panels = []
    for number, (metric, label) in enumerate(zip(found.metrics, labels, strict=True)):
        values = [row.scores[str(metric)] for row in found]
        ends: list[tuple[float, float]] = []
        if estimates is not None:
            intervals = [of_row[number].interval for of_row in estimates]
            ends = [(one.low, one.high) for one in intervals]
        better = "higher" if metric.higher_is_better else "lower"
        low, high = zip(*ends, strict=True) if ends else ((), ())
        own = [row.under == str(metric) for row in found]
        if not any(math.isnan(value) for value in values):
            panels.append(Dots(label, f"{better} is better", names, values, low, high, own))
    return panels
