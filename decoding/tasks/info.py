"""Sizes of lattices, forests and lists: what ``fstmetrics info`` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from decoding.corpus.outcomes import Segment
from decoding.corpus.table import Table
from decoding.tasks.segments import is_unscored
from lattices.spaces import Forest, Lattice, NBest

#: what is known of a space
SIZES = ("states", "arcs", "paths", "density", "shortest", "longest", "vocabulary")


@dataclass(frozen=True)
class InfoTask:
    """Measure every segment.

    The columns are ``states`` and ``arcs``, nodes and edges of a forest, None for an
    n-best list; ``paths``, complete paths or derivations, exactly, or the entries of a list;
    ``density``, arcs for each word of the best path; ``shortest`` and ``longest``, words of such
    paths; and ``vocabulary``, the different words. Of each segment there are its ``kind``, its
    ``words``, and ``unscored``, whether the best path is arbitrary, since the model has no scores.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "a")], finals=[2])
    >>> info, = InfoTask().process([Segment(0, "", 0, lattice)])
    >>> info["paths"], info["density"], info["longest"], sorted(info["words"])
    (2, 1.5, 2, ['a', 'b'])
    """

    references = None

    def process(self, segments: Sequence[Segment]) -> Table:
        """Return the size of each segment."""
        found = [
            _nbest_sizes(space) if isinstance(space, NBest) else _graph_sizes(space)
            for space in (segment.space for segment in segments)
        ]
        words = [
            frozenset(
                segment.space.vocabulary.decode(np.unique(_keep_used(segment.space)).tolist())
            )
            for segment in segments
        ]
        columns: dict[str, list[Any]] = {
            name: [sizes[place] for sizes in found] for place, name in enumerate(SIZES[:-1])
        }
        columns["vocabulary"] = [len(some) for some in words]
        unscored = [is_unscored(segment.space) for segment in segments]
        ids = [segment.id for segment in segments]
        kinds = [segment.space.kind for segment in segments]
        return Table(ids, columns, about={"kind": kinds, "words": words, "unscored": unscored})


def _keep_used(space: Lattice | Forest | NBest) -> Any:
    return space.symbol[space.symbol > 0] if isinstance(space, Forest) else space.label


def _graph_sizes(space: Lattice | Forest) -> tuple[Any, ...]:
    from lattices.algorithms import density, path_count, path_lengths

    paths = path_count(space)
    lengths = path_lengths(space) if paths else None
    if isinstance(space, Lattice):
        states, arcs = space.num_states, space.num_arcs
    else:
        states, arcs = space.num_nodes, space.num_edges
    return (
        states,
        arcs,
        paths,
        density(space) if paths else None,
        lengths.shortest if lengths else None,
        lengths.longest if lengths else None,
    )


def _nbest_sizes(nbest: NBest) -> tuple[Any, ...]:
    lengths = np.diff(nbest.offset).tolist()
    shortest, longest = min(lengths, default=None), max(lengths, default=None)
    return (None, None, len(nbest), None, shortest, longest)
