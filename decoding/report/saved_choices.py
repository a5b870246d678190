"""A comparison of choices for a page: read from what ``fstmetrics choices`` writes as JSON."""

from __future__ import annotations

import json
from typing import Any

from lattices.errors import FormatError
from lattices.formats.streams import display_name, open_input

#: what people call the ways to choose
NAMES = {"one_best": "1-best", "oracle": "oracle", "corpus": "corpus oracle", "mbr": "MBR"}


def read_choices(path: str) -> dict[str, Any]:
    """Return what a page shows of a comparison: metrics, and a row of scores for each choice.

    With intervals, and differences from the 1-best with their intervals and p-values, if the
    document has them; None where not.

    Raises
    ------
    FormatError
        If the file is no document of ``fstmetrics choices --format json``.
    """
    with open_input(path) as (_, stream):
        try:
            document = json.load(stream)
            metrics = [
                {name: each[name] for name in ("label", "metric", "higher_is_better")}
                for each in document["metrics"]
            ]
            columns = {each["metric"]: place for place, each in enumerate(metrics)}
            rows: dict[tuple[str, ...], dict[str, Any]] = {}
            for each in document["choices"]:
                key = tuple(str(each[name]) for name in ("choice", "among", "under", "method"))
                row = rows.setdefault(
                    key,
                    {
                        "label": NAMES[each["choice"]],
                        **{name: each[name] for name in ("among", "method", "unproven")},
                        "own": columns.get(each["under"]),
                        "scores": [None] * len(metrics),
                        "intervals": [None] * len(metrics),
                        "effects": [None] * len(metrics),
                    },
                )
                place = columns[each["metric"]]
                row["scores"][place] = float(each["score"])
                row["intervals"][place] = _ends(each, "")
                if each.get("difference") is not None:
                    effect, p = float(each["difference"]), float(each["p_value"])
                    around = _ends(each, "difference_")
                    row["effects"][place] = {"effect": effect, "interval": around, "p": p}
            sizes = {name: int(document[name]) for name in ("segments", "nbest")}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            what = f"{type(problem).__name__}: {problem}"
            raise FormatError(
                f"expected what 'fstmetrics choices --format json' writes ({what})",
                display_name(path),
            ) from None
    return {"metrics": metrics, "rows": list(rows.values()), **sizes}


def _ends(each: dict[str, Any], of: str) -> list[float] | None:
    """Return the two ends of an interval, if there is one."""
    ends = [each.get(of + name) for name in ("low", "high")]
    return None if None in ends else [float(end) for end in ends if end is not None]
