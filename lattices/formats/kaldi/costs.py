"""Costs of Kaldi's archives: two an arc; labels, frames and options.

An arc of a Kaldi lattice has a graph cost (language model, transitions, pronunciation) and
an unscaled acoustic cost. Both are kept, negated, as the features ``graph`` and
``acoustic``, and the score is their weighted sum::

    score = -(lm_scale * graph + acoustic_scale * acoustic)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from lattices._native import FeatureColumns, kaldi_costs, kaldi_frames, kaldi_scores
from lattices.arrays import FloatColumn, IntColumn, floats
from lattices.errors import FormatError
from lattices.formats.base import BLANKS, Unsupported, note_losses
from lattices.formats.fields import LABEL_OPTIONS
from lattices.options import Option
from lattices.spaces import Lattice
from lattices.spaces.features import FeatureRows, make_rows
from lattices.spaces.lattice import build_lattice
from lattices.vocabulary import Vocabulary

FEATURES = ("graph", "acoustic")

READ_OPTIONS: Mapping[str, str] = {
    **LABEL_OPTIONS,
    "acoustic_scale": Option("the weight of acoustic costs in the score", float, 1.0),
    "frame_shift": Option("seconds a frame", float, 0.01),
    "lm_scale": Option("the weight of graph costs in the score", float, 1.0),
}

#: how far, relatively, scores may be from a weighted sum of the costs: single precision
_TOLERANCE = 1e-5


class Costs(NamedTuple):
    """The graph and acoustic costs of a lattice, in columns."""

    # one entry an arc
    graph: FloatColumn
    acoustic: FloatColumn
    # one entry a state; ``inf`` where a path may not end
    final_graph: FloatColumn
    final_acoustic: FloatColumn


class KaldiArcs(NamedTuple):
    """The arcs of a Kaldi lattice, in the order of the file."""

    # one entry an arc
    src: IntColumn
    dst: IntColumn
    frames: IntColumn  # one entry an arc; the number of transition-ids on it
    costs: Costs
    start: int


def scales_of(options: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the scales of graph and acoustic costs, and the seconds a frame."""
    return (
        options.get("lm_scale", 1.0),
        options.get("acoustic_scale", 1.0),
        options.get("frame_shift", 0.01),
    )


def lattice_of(
    arcs: KaldiArcs,
    label: IntColumn,
    vocabulary: Vocabulary,
    name: str,
    options: Mapping[str, Any],
) -> Lattice:
    """Return the lattice with its two features, and with times if the frames allow it.

    That is if all paths to a state have one number of frames, and there are any.
    """
    *scales, shift = scales_of(options)
    costs = arcs.costs
    score, features = kaldi_scores(costs.graph, costs.acoustic, *scales)
    final, final_features = kaldi_scores(costs.final_graph, costs.final_acoustic, *scales)
    frames = kaldi_frames(arcs.src, arcs.dst, arcs.frames, arcs.start, len(final))
    return build_lattice(
        vocabulary=vocabulary,
        src=arcs.src,
        dst=arcs.dst,
        label=label,
        score=score,
        final=final,
        start=arcs.start,
        features=FeatureRows.dense(features.reshape(-1, 2)),
        final_features=FeatureRows.dense(final_features.reshape(-1, 2)),
        feature_names=FEATURES,
        times=None if frames is None else floats(frames * shift),
        id=name,
    )


def choose_key(lattice: Lattice, number: int) -> str:
    """Return the key of a lattice in an archive: its id, or its place if it has none."""
    if any(blank in lattice.id for blank in BLANKS):
        raise FormatError(f"the id {lattice.id!r} has a blank in it, which ends a key here")
    return lattice.id or str(number)


def cost_features(
    lattice: Lattice, losses: Unsupported
) -> tuple[FeatureColumns | None, int, int, float]:
    """Return features, the places of both costs among them, and how far scores may be from sums.

    The features are None where the negated score is the graph cost.
    """
    names = lattice.feature_names
    both = "graph" in names and "acoustic" in names and make_rows(lattice) is not None
    others = len(names) > len(FEATURES) if both else bool(names)
    note_losses(lattice, losses, "" if others else "features")
    if not both:
        return None, 0, 0, _TOLERANCE
    graph, acoustic = map(names.index, FEATURES)
    return lattice.feature_columns, graph, acoustic, _TOLERANCE


def costs_of(lattice: Lattice, losses: Unsupported) -> Costs:
    """Return the costs to write, after giving to ``losses`` what an archive cannot hold.

    Scores that are no weighted sum of ``graph`` and ``acoustic`` are such a thing.
    """
    summed, *columns = kaldi_costs(lattice.columns, *cost_features(lattice, losses))
    costs = Costs(*columns)
    if not summed and not _is_weighted_sum(lattice, costs):
        where = f"segment {lattice.id!r}"
        losses.add("scores that are no weighted sums of graph and acoustic", where)
    return costs


def _is_weighted_sum(lattice: Lattice, costs: Costs) -> bool:
    ending = lattice.final > -np.inf
    rows = np.column_stack(
        (
            np.concatenate((costs.graph, costs.final_graph[ending])),
            np.concatenate((costs.acoustic, costs.final_acoustic[ending])),
        )
    )
    wanted = 0.0 - np.concatenate((lattice.score, lattice.final[ending]))
    scales = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    allowed = _TOLERANCE * max(1.0, float(np.abs(wanted).max()))
    return bool((np.abs(rows @ scales - wanted) <= allowed).all())
