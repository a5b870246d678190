"""Plots of curves, grids, histories and correlations by matplotlib, the extra ``[plot]``."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lattices.errors import OptionError
from lattices.optional import require

if TYPE_CHECKING:
    from decoding.extraction.oracle_search import DensityPoint, SizePoint
    from decoding.minimum_risk.tuning import TuningTable
    from decoding.training.learner import History
    from fstmetrics.statistics.calibration import Quality

#: what a picture can be, by the end of its name
SUFFIXES = (".png", ".svg", ".pdf")
_WIDTH, _HEIGHT = 5.6, 4.6
_COLUMNS = 3
#: where a label may stand: to the sides first, then above and below, then farther away
_PLACES = [
    (math.cos(angle) * away, math.sin(angle) * away)
    for away in (9, 16, 24, 34)
    for angle in (0.0, math.pi, 0.7, -0.7, 2.44, -2.44, math.pi / 2, -math.pi / 2)
]


@dataclass(frozen=True)
class Scatter:
    """One picture: scores of a metric to the right, what people say upwards."""

    title: str
    #: its name, under the axis
    metric: str
    #: one point each
    scores: Sequence[float]
    human: Sequence[float]
    #: the names of the points, if they are few enough to be named
    labels: Sequence[str] | None = None
    #: if not, the axis of the metric runs backwards, so that better is to the right
    higher_is_better: bool = True


def plot_format(path: str) -> str:
    """Return the format of a picture by the end of its name."""
    require("matplotlib", "plot")
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise OptionError(f"{path}: a picture ends in one of {', '.join(SUFFIXES)}")
    return suffix.removeprefix(".")


def scatter_plots(panels: Sequence[Scatter], format: str = "png") -> bytes:
    """Return pictures side by side, as a file of that format; the same input, the same bytes.

    Each has a line of least squares, where the scores vary. Labels are put where they cover
    neither points nor each other, as far as there is room.
    """
    matplotlib = require("matplotlib", "plot")
    figures = require("matplotlib.figure", "plot")
    canvases = require("matplotlib.backends.backend_agg", "plot")
    if not panels:
        raise OptionError("nothing to plot")
    columns = min(len(panels), _COLUMNS)
    rows = -(-len(panels) // columns)
    # ids in svg files are random without a salt
    settings = {"svg.hashsalt": "fstmetrics", "svg.fonttype": "none", "font.size": 9}
    with matplotlib.rc_context(settings):
        figure = figures.Figure(figsize=(columns * _WIDTH, rows * _HEIGHT), layout="constrained")
        # measures texts without a screen, whatever the format
        canvases.FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            _draw(axis, panel)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        # the places of labels depend on those of the axes, which drawing decides
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for axis, panel in zip(axes, panels, strict=False):
            _label(figure, axis, panel)
        content = io.BytesIO()
        dated = {"png": "Software", "svg": "Date", "pdf": "CreationDate"}[format]
        figure.savefig(content, format=format, dpi=150, metadata={dated: None})
    return content.getvalue()


def _draw(axis: Any, panel: Scatter) -> None:
    import numpy as np

    many = panel.labels is None
    axis.scatter(
        panel.scores,
        panel.human,
        s=8 if many else 28,
        alpha=0.35 if many else 0.9,
        color="#1f5a96",
        linewidths=0,
        zorder=3,
    )
    scores = np.asarray(panel.scores, dtype=np.float64)
    if np.ptp(scores) > 0:
        slope, at_mean = np.polyfit(scores - scores.mean(), panel.human, 1)
        ends = np.array([scores.min(), scores.max()])
        axis.plot(ends, at_mean + slope * (ends - scores.mean()), color="#d9a58a", lw=1, zorder=2)
    axis.margins(0.12)
    if not panel.higher_is_better:
        axis.invert_xaxis()
    axis.set_title(panel.title)
    better = "" if panel.higher_is_better else " (lower is better)"
    axis.set_xlabel(panel.metric + better)
    axis.set_ylabel("human score")
    axis.grid(color="#dddddd", lw=0.5, zorder=0)
    axis.set_axisbelow(True)


def _label(figure: Any, axis: Any, panel: Scatter) -> None:
    """Name the points, each at the first place where its name covers nothing."""
    if panel.labels is None:
        return
    transforms = require("matplotlib.transforms", "plot")
    renderer = figure.canvas.get_renderer()
    points = axis.transData.transform(list(zip(panel.scores, panel.human, strict=True)))
    covered = [transforms.Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in points]
    frame = axis.get_window_extent(renderer).padded(-4)
    for (x, y), name in zip(zip(panel.scores, panel.human, strict=True), panel.labels, strict=True):
        best: tuple[float, Any] | None = None
        for right, up in _PLACES:
            text = axis.annotate(
                # names of files are no formulas
                name.replace("$", r"\$"),
                (x, y),
                xytext=(right, up),
                textcoords="offset points",
                ha="left" if right > 1 else "right" if right < -1 else "center",
                va="center" if abs(up) < 1 else "bottom" if up > 0 else "top",
                fontsize=7,
                arrowprops={"arrowstyle": "-", "lw": 0.4, "color": "#888888"}
                if math.hypot(right, up) > 12
                else None,
                zorder=4,
            )
            box = transforms.Bbox(text.get_window_extent(renderer).get_points())
            cost = _overlap(box, covered) + 4 * _outside(box, frame)
            if best is None or cost < best[0]:
                if best is not None:
                    best[1].remove()
                best = cost, text
            else:
                text.remove()
            if cost == 0:
                break
        if best is not None:
            box = transforms.Bbox(best[1].get_window_extent(renderer).get_points())
            covered.append(box)


def _overlap(box: Any, others: Sequence[Any]) -> float:
    """Return the area that a box shares with others."""
    shared: float = sum(
        max(0.0, min(box.x1, other.x1) - max(box.x0, other.x0))
        * max(0.0, min(box.y1, other.y1) - max(box.y0, other.y0))
        for other in others
    )
    return shared


def _outside(box: Any, frame: Any) -> float:
    """Return the area of a box that is outside of a frame."""
    return float(box.width * box.height) - _overlap(box, [frame])


_WIDTH, _HEIGHT = 4.6, 3.6
#: cells of a heat map that have their numbers
_NUMBERED = 80
#: beyond these, colours would come twice
_COLOURS = 10


@dataclass(frozen=True)
class Curve:
    """One line of a picture."""

    #: its name in the legend, none if empty
    label: str
    #: one for each place of the panel; NaN leaves a gap
    values: Sequence[float]
    #: the ends of intervals, drawn as a band
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    #: the place to point out, counted from 0
    mark: int | None = None
    #: its own, where they are not those of the panel; they are marked
    places: Sequence[float] = ()


@dataclass(frozen=True)
class Panel:
    """One picture: curves over the same places."""

    #: over the picture, and along its axes
    title: str
    across: str
    upwards: str
    places: Sequence[float]
    curves: Sequence[Curve]
    #: where a horizontal line is drawn
    level: float | None = None
    #: whether a step to the right is a doubling, and places are marked
    doubling: bool = False
    #: what the places are called; then values are ranks, and 1 is above
    names: Sequence[str] = ()


@dataclass(frozen=True)
class HeatMap:
    """One picture: a colour for each pair of two values, the better the darker."""

    #: over the picture, and along its axes
    title: str
    across: str
    upwards: str
    places: Sequence[float]
    rows: Sequence[float]
    #: values[row][place]
    values: Sequence[Sequence[float]]
    #: whether higher is better
    higher: bool
    #: row and place of the best
    mark: tuple[int, int]


@dataclass(frozen=True)
class Dots:
    """One picture: a value for each of several names, from above to below."""

    #: over the picture, and below it
    title: str
    across: str
    names: Sequence[str]
    #: one for each name; where the first is, a line is drawn
    values: Sequence[float]
    #: the ends of intervals
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    #: which are pointed out
    strong: Sequence[bool] = ()


def reliability_panel(title: str, kinds: Mapping[str, Quality]) -> Panel:
    """Return a reliability diagram: of words with a confidence, how many are right."""
    curves = [Curve("as many as it says", (0.0, 1.0))]
    for name, quality in kinds.items():
        bins = [each for each in quality.bins if each.words]
        curves.append(
            Curve(
                f"{name}: NCE {quality.nce:.3f}, ECE {quality.ece:.3f}",
                [each.correct for each in bins],
                places=[each.confidence for each in bins],
            )
        )
    return Panel(title, "confidence", "share of right words", (0.0, 1.0), curves)


def line_plots(panels: Sequence[Panel | Dots | HeatMap], format: str = "png") -> bytes:
    """Return pictures side by side, as a file of that format; the same input, the same bytes.

    Pictures of dots have one set of names, which stands beside the first.
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
        dots = [panel for panel in panels if isinstance(panel, Dots)]
        if dots:
            size = (_NAMES + len(panels) * _DOTS, 0.8 + _LINE * len(dots[0].names))
        figure = figures.Figure(figsize=size, layout="constrained")
        # draws without a screen, whatever the format
        canvases.FigureCanvasAgg(figure)
        axes = figure.subplots(1, len(panels), squeeze=False, sharey=bool(dots)).ravel()
        for axis, panel in zip(axes, panels, strict=True):
            if isinstance(panel, Dots):
                _draw_dots(axis, panel)
            elif isinstance(panel, HeatMap):
                _draw_heat(axis, panel)
            else:
                _draw_curves(axis, panel)
        content = io.BytesIO()
        dated = {"png": "Software", "svg": "Date", "pdf": "CreationDate"}[format]
        figure.savefig(content, format=format, dpi=150, metadata={dated: None})
    return content.getvalue()


def _draw_curves(axis: Any, panel: Panel) -> None:
    for number, curve in enumerate(panel.curves):
        colour = f"C{number % _COLOURS}"
        places = curve.places or panel.places
        axis.plot(
            places,
            curve.values,
            color=colour,
            lw=1.2,
            ls="-" if number < _COLOURS else "--",
            # a single place makes no line
            marker="."
            if panel.doubling or panel.names or curve.places or len(places) == 1
            else None,
            # names of files are no formulas, and those that begin so would be left out
            label=curve.label.replace("$", r"\$").lstrip("_"),
            zorder=3,
        )
        if curve.low:
            axis.fill_between(
                places, curve.low, curve.high, color=colour, alpha=0.15, lw=0, zorder=1
            )
        if curve.mark is not None and not math.isnan(curve.values[curve.mark]):
            axis.plot(
                places[curve.mark],
                curve.values[curve.mark],
                "o",
                color=colour,
                ms=4,
                zorder=4,
            )
    if panel.level is not None:
        axis.axhline(panel.level, color="#888888", lw=0.8, ls=":", zorder=2)
    if panel.doubling:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter("{x:g}")
    if panel.names:
        _name_ranks(axis, panel)
        # names of metrics are no formulas
        axis.set_xticks(
            panel.places, [name.replace("$", r"\$") for name in panel.names], fontsize=7
        )
        axis.invert_yaxis()
    axis.set_title(panel.title)
    axis.set_xlabel(panel.across)
    axis.set_ylabel(panel.upwards)
    axis.grid(color="#dddddd", lw=0.5, zorder=0)
    axis.set_axisbelow(True)
    if any(curve.label for curve in panel.curves) and not panel.names:
        axis.legend(fontsize=6, ncols=1 + (len(panel.curves) > 8))


def _name_ranks(axis: Any, panel: Panel) -> None:
    """Write the names of curves beside where they begin; those of one rank share a line."""
    named: dict[float, list[str]] = {}
    for curve in panel.curves:
        named.setdefault(curve.values[0], []).append(curve.label.replace("$", r"\$"))
    labels = [f"{', '.join(names)}  {rank:g}" for rank, names in named.items()]
    axis.set_yticks([*named], labels, fontsize=6)


#: inches: the names of dots, a picture of them, the height of each
_NAMES, _DOTS, _LINE = 3.0, 1.9, 0.19


def _draw_heat(axis: Any, panel: HeatMap) -> None:
    axis.imshow(
        panel.values, cmap="Blues" if panel.higher else "Blues_r", aspect="auto", origin="lower"
    )
    few = len(panel.places) * len(panel.rows) <= _NUMBERED
    flat = [value for row in panel.values for value in row]
    middle = (min(flat) + max(flat)) / 2
    for row, values in enumerate(panel.values):
        for place, value in enumerate(values):
            dark = value > middle if panel.higher else value < middle
            best = (row, place) == panel.mark
            if few or best:
                axis.text(
                    place, row, f"{value:.4f}", ha="center", va="center", fontsize=5,
                    color="white" if dark else "black", weight="bold" if best else "normal",
                )  # fmt: skip
    axis.set_xticks(range(len(panel.places)), [f"{each:g}" for each in panel.places], fontsize=7)
    axis.set_yticks(range(len(panel.rows)), [f"{each:g}" for each in panel.rows], fontsize=7)
    axis.set_title(panel.title)
    axis.set_xlabel(panel.across)
    axis.set_ylabel(panel.upwards)


def _draw_dots(axis: Any, panel: Dots) -> None:
    places = range(len(panel.names))
    if panel.low:
        axis.hlines(places, panel.low, panel.high, color="#9db8d4", lw=2, zorder=2)
    strong = panel.strong or [False] * len(panel.names)
    for place, value, pointed in zip(places, panel.values, strong, strict=True):
        colour = "#c2562b" if pointed else "#1f5a96"
        axis.plot(value, place, "o", ms=5 if pointed else 3.5, color=colour, zorder=3)
    axis.axvline(panel.values[0], color="#888888", lw=0.8, ls=":", zorder=1)
    # names of files are no formulas
    axis.set_yticks(places, [name.replace("$", r"\$") for name in panel.names], fontsize=7)
    # the first stands above; axes that share their names are turned once
    axis.set_ylim(len(panel.names) - 0.5, -0.5)
    axis.set_title(panel.title)
    axis.set_xlabel(panel.across, fontsize=7)
    axis.tick_params(axis="x", labelsize=7)
    axis.grid(axis="x", color="#dddddd", lw=0.5, zorder=0)
    axis.set_axisbelow(True)


@dataclass(frozen=True, repr=False)
class Plot:
    """Panels side by side: a notebook shows them, ``str()`` is SVG, :meth:`save` writes a file."""

    panels: tuple[Panel | HeatMap, ...]

    def __str__(self) -> str:
        """Return the picture as SVG."""
        return line_plots(self.panels, "svg").decode()

    def __repr__(self) -> str:
        """Return how much there is to see."""
        return f"<Plot of {', '.join(repr(panel.title) for panel in self.panels)}>"

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file whose name ends in .png, .svg or .pdf."""
        from lattices.formats.streams import open_output

        content = line_plots(self.panels, plot_format(os.fspath(path)))
        with open_output(path) as stream:
            stream.write(content)


def plot(results: Sequence[DensityPoint] | Sequence[SizePoint] | TuningTable | History) -> Plot:
    """Return a picture of results over something: a curve, a grid, or the rounds of training.

    Parameters
    ----------
    results
        What :func:`decoding.density_curve` or :func:`decoding.oracle_at` returns: the oracle
        over arcs a word, or over k. What ``tune_linear`` of :mod:`decoding.minimum_risk.tuning`
        returns: the score over scales, a curve for each p with its best r and T, the best point
        marked, and the 1-best as a dotted line. The ``history`` of a learner: its objective and its
        weights, the ten largest, over the rounds.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    OptionError
        For other results, or none.

    Examples
    --------
    >>> from decoding import density_curve
    >>> from fstmetrics import WER
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1])
    >>> plot(density_curve(lattice, WER().against(["the"]), [1, 2]))
    <Plot of 'oracle'>
    """
    from decoding.extraction.oracle_search import DensityPoint, SizePoint
    from decoding.minimum_risk.tuning import TuningTable
    from decoding.training.learner import History

    require("matplotlib", "plot")
    if isinstance(results, TuningTable):
        weights = hasattr(results.best, "weights")
        return Plot((_weights_panel(results) if weights else _grid_panel(results),))
    rows: list[Any] = list(results) if isinstance(results, Sequence) else []
    if not rows:
        raise OptionError("nothing to plot")
    if isinstance(results, History):
        return Plot(_history_panels(results))
    if all(isinstance(row, DensityPoint) for row in rows):
        return Plot((oracle_panel("oracle", "arcs a word", [
            (row.density, row.oracle.score) for row in rows]),))  # fmt: skip
    if all(isinstance(row, SizePoint) for row in rows):
        return Plot((oracle_panel("oracle", BEST_K, [
            (row.k, row.oracle.score) for row in rows]),))  # fmt: skip
    raise OptionError(
        f"a list of {type(rows[0]).__name__} to plot, expected a density curve, oracles at k, "
        "a table of tuning or a history"
    )


#: along the axis of a curve of oracles among the first sentences
BEST_K = "k best sentences"


def oracle_panel(
    title: str, across: str, points: Sequence[tuple[float, float]], note: str = ""
) -> Panel:
    """Return the panel of oracles over sizes, whose steps are doublings."""
    places, values = zip(*points, strict=True)
    return Panel(title, across, f"oracle{note}", places, [Curve("", values)], doubling=True)


def _grid_panel(table: TuningTable) -> Panel:
    # the best is first, whichever direction that is
    best = table.points[0]
    choose = max if best.score >= table.points[-1].score else min
    scales = sorted({point.scale for point in table.points})
    curves = []
    for p in sorted({point.p for point in table.points}):
        values = [
            choose(point.score for point in table.points if (point.scale, point.p) == (scale, p))
            for scale in scales
        ]
        curves.append(
            Curve(f"p = {p:g}", values, mark=scales.index(best.scale) if p == best.p else None)
        )
    # a scale of 0 has no place on an axis of doublings
    doubling = scales[0] > 0
    return Panel(table.metric, "scale", "score", scales, curves, table.one_best, doubling=doubling)


def _weights_panel(table: TuningTable) -> Panel | HeatMap:
    """Return a heat map of the two axes with most values, or a curve over the only one.

    Of what other axes have, the best.
    """
    best = table.points[0]
    higher = best.score >= table.points[-1].score
    sides = {name: sorted({one.values[name] for one in table.points}) for name in best.values}
    names = sorted(sides, key=lambda name: -len(sides[name]))[:2]
    if len(names) < 2 or len(sides[names[1]]) < 2:
        (name,) = names[:1]
        points = {one.values[name]: one.score for one in reversed(table.points)}
        mark = sides[name].index(best.values[name])
        curve = Curve("", [points[x] for x in sides[name]], mark=mark)
        return Panel(table.metric, name, "score", sides[name], [curve], table.one_best)
    across, upwards = names
    # the best comes last, and stays
    found = {(one.values[upwards], one.values[across]): one.score for one in reversed(table.points)}
    return HeatMap(
        table.metric, across, upwards, sides[across], sides[upwards],
        [[found[y, x] for x in sides[across]] for y in sides[upwards]], higher,
        (sides[upwards].index(best.values[upwards]), sides[across].index(best.values[across])),
    )  # fmt: skip


def _history_panels(history: History) -> tuple[Panel, Panel]:
    rounds = [one.number for one in history]
    objective = Panel(
        "Training", "round", "objective", rounds, [Curve("", [one.score for one in history])]
    )
    last = history[-1].weights
    names = sorted(last, key=lambda name: -abs(last[name]))[:_COLOURS]
    curves = [Curve(name, [one.weights.get(name, math.nan) for one in history]) for name in names]
    return objective, Panel("Weights", "round", "weight", rounds, curves)
