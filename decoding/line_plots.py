"""Pictures of curves: what a score does as an option changes. Needs matplotlib (``[plot]``)."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lattices.errors import OptionError
from lattices.optional import require

_WIDTH, _HEIGHT = 4.6, 3.6
#: beyond these, colours would come twice
_COLOURS = 10


@dataclass(frozen=True)
class Curve:
    """One line of a picture.

    Attributes
    ----------
    label : str
        Its name in the legend, none if empty.
    values : sequence of float
        One for each place of the panel; NaN leaves a gap.
    low, high : sequence of float
        The ends of intervals, drawn as a band.
    mark : int or None
        The place to point out, counted from 0.
    """

    label: str
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    mark: int | None = None


@dataclass(frozen=True)
class Panel:
    """One picture: curves over the same places.

    Attributes
    ----------
    title, across, upwards : str
        Over the picture, and along its axes.
    places : sequence of float
    curves : sequence of Curve
    level : float or None
        Where a horizontal line is drawn.
    """

    title: str
    across: str
    upwards: str
    places: Sequence[float]
    curves: Sequence[Curve]
    level: float | None = None


def line_plots(panels: Sequence[Panel], format: str = "png") -> bytes:
    """Return pictures side by side, as a file of that format; the same input, the same bytes.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    OptionError
        If there is nothing to draw.
    """
    matplotlib = require("matplotlib", "plot")
    figures = require("matplotlib.figure", "plot")
    canvases = require("matplotlib.backends.backend_agg", "plot")
    if not panels:
        raise OptionError("nothing to plot")
    # ids in svg files are random without a salt
    settings = {"svg.hashsalt": "fstmetrics", "svg.fonttype": "none", "font.size": 9}
    with matplotlib.rc_context(settings):
        size = (len(panels) * _WIDTH, _HEIGHT)
        figure = figures.Figure(figsize=size, layout="constrained")
        # draws without a screen, whatever the format
        canvases.FigureCanvasAgg(figure)
        axes = figure.subplots(1, len(panels), squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=True):
            _draw(axis, panel)
        content = io.BytesIO()
        dated = {"png": "Software", "svg": "Date", "pdf": "CreationDate"}[format]
        figure.savefig(content, format=format, dpi=150, metadata={dated: None})
    return content.getvalue()


def _draw(axis: Any, panel: Panel) -> None:
    for number, curve in enumerate(panel.curves):
        colour = f"C{number % _COLOURS}"
        axis.plot(
            panel.places,
            curve.values,
            color=colour,
            lw=1.2,
            ls="-" if number < _COLOURS else "--",
            # a single place makes no line
            marker="." if len(panel.places) == 1 else None,
            # names of files are no formulas, and those that begin so would be left out
            label=curve.label.replace("$", r"\$").lstrip("_"),
            zorder=3,
        )
        if curve.low:
            axis.fill_between(
                panel.places, curve.low, curve.high, color=colour, alpha=0.15, lw=0, zorder=1
            )
        if curve.mark is not None and not math.isnan(curve.values[curve.mark]):
            axis.plot(
                panel.places[curve.mark],
                curve.values[curve.mark],
                "o",
                color=colour,
                ms=4,
                zorder=4,
            )
    if panel.level is not None:
        axis.axhline(panel.level, color="#888888", lw=0.8, ls=":", zorder=2)
    axis.set_title(panel.title)
    axis.set_xlabel(panel.across)
    axis.set_ylabel(panel.upwards)
    axis.grid(color="#dddddd", lw=0.5, zorder=0)
    axis.set_axisbelow(True)
    if any(curve.label for curve in panel.curves):
        axis.legend(fontsize=6, ncols=1 + (len(panel.curves) > 8))
