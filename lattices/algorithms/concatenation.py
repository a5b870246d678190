"""Concatenation of lattices, and of forests: segments of a recording or document, end to end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from lattices.algorithms.union import (
    join_offsets,
    map_words,
    merge_about,
    merge_names,
    stack_features,
)
from lattices.arrays import Array, FloatColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice
from lattices.spaces.arguments import GRAPHS, Graph, takes
from lattices.spaces.features import make_rows, reorder_rows
from lattices.vocabulary import EPSILON


@takes(spaces=GRAPHS)
def concatenate(spaces: Sequence[Graph], *, id: str | None = None) -> Graph:
    """Return one lattice, or one forest, whose sentences are those of several, end to end.

    An epsilon arc leads from every final state to the start of the next lattice, with the score
    and the features of ending there; a new root has one edge over the roots of forests. So a path
    keeps its words, score and features. The references are joined in their order: first with
    first, second with second. A lattice's times are moved to begin where the lattice before ends,
    unless they begin later. The words are those of the first vocabulary, which grows; ``id``,
    ``source`` and ``metadata`` are those of the first space that has any. One space alone comes
    back as it is. Cost: O(arcs), or O(edges, tails and symbols).

    Parameters
    ----------
    spaces
        Segments in the order in which they were said.
    id
        The name of the result.

    Raises
    ------
    OptionError
        If there is no space at all, lattices and forests are mixed, or the numbers of references
        differ.

    Examples
    --------
    >>> one = Lattice.from_arcs([(0, 1, "good", -1.0)], finals=[1], references=("good",))
    >>> other = Lattice.from_arcs([(0, 1, "day", -2.0)], finals=[1], references=("bye",))
    >>> both = concatenate([one, other], id="talk")
    >>> [(path.text, path.score) for path in both.paths()], both.references
    ([('good day', -3.0)], ('good bye',))
    """
    forests = [space for space in spaces if isinstance(space, Forest)]
    lattices = [space for space in spaces if isinstance(space, Lattice)]
    if forests and lattices:
        raise OptionError("the concatenation of lattices with forests, expected one kind alone")
    if not spaces:
        raise OptionError("the concatenation of no spaces at all, expected at least one")
    if len(spaces) == 1:
        return cast(Graph, spaces[0] if id is None else spaces[0].replaced(id=id))
    about = merge_about(lattices or forests)
    about["references"] = _join_references(spaces)
    if id is not None:
        about["id"] = id
    return cast(
        Graph, _join_forests(forests, about) if forests else _join_lattices(lattices, about)
    )


def _join_lattices(lattices: Sequence[Lattice], about: dict[str, Any]) -> Lattice:
    vocabulary, names = lattices[0].vocabulary, merge_names(lattices)
    shift = np.cumsum([0, *(one.num_states for one in lattices[:-1])]).tolist()
    placed = list(zip(lattices, shift, strict=True))
    src, dst, label, score = [], [], [], []
    rows, last = [], []
    for number, (one, first) in enumerate(placed):
        src.append(one.src + first)
        dst.append(one.dst + first)
        label.append(map_words(one.label, one.vocabulary, vocabulary))
        score.append(one.score)
        rows.append((make_rows(one), one.feature_names, one.num_arcs))
        endings = make_rows(one, "final_features")
        if number + 1 == len(lattices):
            last.append((endings, one.feature_names, one.num_states))
            continue
        finals = one.finals
        src.append(finals + first)
        dst.append(np.full(len(finals), lattices[number + 1].start + shift[number + 1]))
        label.append(np.full(len(finals), EPSILON))
        score.append(one.final[finals])
        picked = None if endings is None else reorder_rows(endings, finals)
        rows.append((picked, one.feature_names, len(finals)))
        last.append((None, (), one.num_states))
    final = np.full(sum(one.num_states for one in lattices), -np.inf)
    final[shift[-1] :] = lattices[-1].final
    return Lattice(
        vocabulary=vocabulary,
        src=ints(np.concatenate(src)),
        dst=ints(np.concatenate(dst)),
        label=ints(np.concatenate(label)),
        score=floats(np.concatenate(score)),
        final=floats(final),
        start=lattices[0].start,
        features=stack_features(rows, names),
        final_features=stack_features(last, names),
        feature_names=names,
        times=_join_times(lattices),
        **about,
    )


def _join_times(lattices: Sequence[Lattice]) -> FloatColumn | None:
    moved: list[Array] = []
    end = -np.inf
    for one in lattices:
        if one.times is None:
            return None
        moved.append(one.times + max(0.0, end - float(one.times[one.start])))
        end = float(moved[-1].max())
    return floats(np.concatenate(moved))


def _join_references(spaces: Sequence[Graph]) -> tuple[Any, ...]:
    counts = {len(space.references) for space in spaces}
    if len(counts) > 1:
        raise OptionError(
            f"from {min(counts)} to {max(counts)} references a segment, expected equally many"
        )
    joined: list[Any] = []
    for parts in zip(*(space.references for space in spaces), strict=True):
        if all(isinstance(part, str) for part in parts):
            joined.append(" ".join(part for part in parts if part))
        elif all(isinstance(part, Lattice) for part in parts):
            joined.append(concatenate(parts))
        else:
            raise OptionError("references of texts and lattices, expected one kind alone")
    return tuple(joined)


def _join_forests(forests: Sequence[Forest], about: dict[str, Any]) -> Forest:
    vocabulary, names = forests[0].vocabulary, merge_names(forests)
    count, nodes = len(forests), sum(one.num_nodes for one in forests)
    shift = np.cumsum([0, *(one.num_nodes for one in forests[:-1])]).tolist()
    placed = list(zip(forests, shift, strict=True))
    every = ints([count])
    rows = [(make_rows(one), one.feature_names, one.num_edges) for one in forests]
    return Forest(
        vocabulary=vocabulary,
        head=ints(np.concatenate([*(one.head + first for one, first in placed), [nodes]])),
        tail=ints(
            np.concatenate(
                [*(one.tail + s for one, s in placed), [one.root + s for one, s in placed]]
            )
        ),
        tail_offset=join_offsets([one.tail_offset for one in forests], every),
        symbol=ints(
            np.concatenate(
                [
                    *(map_words(one.symbol, one.vocabulary, vocabulary) for one in forests),
                    np.arange(-1, -1 - count, -1),
                ]
            )
        ),
        symbol_offset=join_offsets([one.symbol_offset for one in forests], every),
        score=floats(np.concatenate([*(one.score for one in forests), [0.0]])),
        num_nodes=nodes + 1,
        root=nodes,
        features=stack_features([*rows, (None, (), 1)], names),
        feature_names=names,
        **about,
    )
