"""Union and concatenation of lattices, and of forests; cuts of lattices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, cast

import numpy as np

from lattices.algorithms.trimming import trim
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice
from lattices.spaces.arguments import GRAPHS, LATTICE, WHOLE, Graph, takes
from lattices.spaces.features import (
    FeatureMatrix,
    FeatureRows,
    make_rows,
    reorder_rows,
    widen_rows,
)
from lattices.vocabulary import EPSILON, Vocabulary


@takes(spaces=GRAPHS)
def union(spaces: Sequence[Graph]) -> Graph:
    """Return one lattice, or one forest, with all paths of several of one segment.

    A new start state has an epsilon arc of score 0 to each lattice's own start, or a new root an
    edge to each forest's own root, so no path changes its words, score or features; one that
    occurs twice stays twice. One space alone comes back as it is. The words are those of the
    first vocabulary, which grows. Feature names are merged, a feature that a space does not have
    being 0 there. ``id``, ``source``, ``references`` and ``metadata`` are those of the first space
    that has any; times, categories and spans are kept if all have them. The new root gets the
    category of the first root, and the span from the first to the last word of all roots.
    Cost: O(arcs), or O(edges, tails and symbols).

    Raises
    ------
    OptionError
        If there is no space at all, or lattices and forests are mixed.

    Examples
    --------
    >>> one = Lattice.from_arcs([(0, 1, "a", -1.0)], finals=[1])
    >>> other = Lattice.from_arcs([(0, 1, "b", -2.0)], finals=[1])
    >>> [(path.text, path.score) for path in union([one, other]).paths()]
    [('a', -1.0), ('b', -2.0)]
    """
    forests = [space for space in spaces if isinstance(space, Forest)]
    lattices = [space for space in spaces if isinstance(space, Lattice)]
    if forests and lattices:
        raise OptionError("the union of lattices with forests, expected either of them alone")
    if not spaces:
        raise OptionError("the union of no lattices at all, expected at least one")
    if len(spaces) == 1:
        return spaces[0]
    return cast(Graph, _forest_union(forests) if forests else _lattice_union(lattices))


def _lattice_union(lattices: Sequence[Lattice]) -> Lattice:
    vocabulary, names = lattices[0].vocabulary, merge_names(lattices)
    count = len(lattices)
    # state 0 is the new start
    shift = np.cumsum([1, *(one.num_states for one in lattices[:-1])]).tolist()
    placed = list(zip(lattices, shift, strict=True))
    starts = [one.start + first for one, first in placed]
    numbers = [map_words(one.label, one.vocabulary, vocabulary) for one in lattices]
    rows = [(make_rows(one), one.feature_names, one.num_arcs) for one in lattices]
    last = [
        (make_rows(one, "final_features"), one.feature_names, one.num_states) for one in lattices
    ]
    return Lattice(
        vocabulary=vocabulary,
        src=ints(np.concatenate([[0] * count, *(one.src + s for one, s in placed)])),
        dst=ints(np.concatenate([starts, *(one.dst + s for one, s in placed)])),
        label=ints(np.concatenate([[EPSILON] * count, *numbers])),
        score=floats(np.concatenate([np.zeros(count), *(one.score for one in lattices)])),
        final=floats(np.concatenate([[-np.inf], *(one.final for one in lattices)])),
        features=stack_features([(None, (), count), *rows], names),
        final_features=stack_features([(None, (), 1), *last], names),
        feature_names=names,
        times=_times(lattices),
        **merge_about(lattices),
    )


def merge_names(spaces: Sequence[Lattice] | Sequence[Forest]) -> tuple[str, ...]:
    """Return the names of all features, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(one.feature_names for one in spaces)))


def merge_about(spaces: Sequence[Lattice] | Sequence[Forest]) -> dict[str, Any]:
    """Return the metadata of the segment: each field from the first space that has it."""
    first = spaces[0].about
    for space in spaces[1:]:
        first = {name: value or space.about[name] for name, value in first.items()}
    return first


def map_words(words: IntColumn, known: Vocabulary, vocabulary: Vocabulary) -> IntColumn:
    """Return words as numbers of ``vocabulary``; what is no word, below 0, stays."""
    if known is vocabulary:
        return words
    used, place = np.unique(words, return_inverse=True)
    numbers = used.copy()
    numbers[used > 0] = vocabulary.add_all(known.decode(used[used > 0].tolist()))
    return ints(numbers[place])


def stack_features(
    parts: list[tuple[FeatureRows | None, tuple[str, ...], int]], names: tuple[str, ...]
) -> FeatureMatrix | None:
    """Return the rows of all parts under the merged names; None if no part has any."""
    if all(matrix is None for matrix, _, _ in parts):
        return None
    from scipy.sparse import vstack

    place = {name: column for column, name in enumerate(names)}
    rows = [widen_rows(matrix, known, place, count) for matrix, known, count in parts]
    return vstack(rows, format="csr")


def _times(lattices: Sequence[Lattice]) -> FloatColumn | None:
    times = [lattice.times for lattice in lattices if lattice.times is not None]
    if len(times) < len(lattices):
        return None
    begin = min(float(own[lattice.start]) for own, lattice in zip(times, lattices, strict=True))
    return floats(np.concatenate([[begin], *times]))


def _forest_union(forests: Sequence[Forest]) -> Forest:
    tops = [one.categories[one.root] for one in forests if one.categories]
    categories: tuple[str, ...] = ()
    if len(tops) == len(forests):
        categories = (*chain.from_iterable(one.categories for one in forests), tops[0])
    about = {"categories": categories, "spans": _spans(forests), **merge_about(forests)}
    return _add_root(forests, 1, about)


def _add_root(forests: Sequence[Forest], arity: int, about: dict[str, Any]) -> Forest:
    """Return forests below one root, whose edges have so many of the roots each, in turn."""
    vocabulary, names = forests[0].vocabulary, merge_names(forests)
    count, nodes = len(forests), sum(one.num_nodes for one in forests)
    edges = count // arity
    shift = np.cumsum([0, *(one.num_nodes for one in forests[:-1])]).tolist()
    placed = list(zip(forests, shift, strict=True))
    roots = [one.root + first for one, first in placed]
    ends = ints(arity * np.arange(1, edges + 1))
    slots = np.tile(np.arange(-1, -1 - arity, -1), edges)
    numbers = [map_words(one.symbol, one.vocabulary, vocabulary) for one in forests]
    rows = [(make_rows(one), one.feature_names, one.num_edges) for one in forests]
    return Forest(
        vocabulary=vocabulary,
        head=ints(np.concatenate([*(one.head + s for one, s in placed), [nodes] * edges])),
        tail=ints(np.concatenate([*(one.tail + s for one, s in placed), roots])),
        tail_offset=join_offsets([one.tail_offset for one in forests], ends),
        symbol=ints(np.concatenate([*numbers, slots])),
        symbol_offset=join_offsets([one.symbol_offset for one in forests], ends),
        score=floats(np.concatenate([*(one.score for one in forests), np.zeros(edges)])),
        num_nodes=nodes + 1,
        root=nodes,
        features=stack_features([*rows, (None, (), edges)], names),
        feature_names=names,
        **about,
    )


def join_offsets(parts: list[IntColumn], last: IntColumn) -> IntColumn:
    """Return offsets of rows one after the other; ``last`` counts from the end of the parts."""
    ends = np.cumsum([0, *(part[-1] for part in parts)])
    rows = [part[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    return ints(np.concatenate([[0], *rows, last + ends[-1]]))


def _spans(forests: Sequence[Forest]) -> IntColumn | None:
    spans = [forest.spans for forest in forests if forest.spans is not None]
    if len(spans) < len(forests):
        return None
    roots = np.array([own[one.root] for own, one in zip(spans, forests, strict=True)])
    return ints(np.concatenate([*spans, [[roots[:, 0].min(), roots[:, 1].max()]]]))


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
        Graph,
        _add_root(forests, len(forests), about) if forests else _join_lattices(lattices, about),
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


@takes(lattice=LATTICE, words=WHOLE)
def cut(lattice: Lattice, words: int = 1) -> list[Lattice]:
    """Return the stretches of a lattice between states that every complete path passes.

    :func:`concatenate` of them has the sentences of the lattice, with its scores, features and
    times. Each is named by the lattice and its number, ``talk-01`` and so on. References, and a
    source, are of the whole: stretches have none. A lattice without such a state is one stretch.
    Cost: O(arcs).

    Parameters
    ----------
    lattice
        What no complete path uses is left out.
    words
        So many words, or more, has every sentence of a stretch, but maybe of the last one.

    Raises
    ------
    SpaceError
        If the lattice has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [
    ...         (0, 1, "good"), (0, 1, "bad"), (1, 2, "day"),
    ...         (2, 3, "to"), (2, 4, "all"), (3, 4, "you"),
    ...     ],
    ...     finals=[4], id="talk",
    ... )
    >>> [(part.id, part.num_arcs) for part in cut(lattice)]
    [('talk-1', 2), ('talk-2', 1), ('talk-3', 3)]
    >>> [(part.id, part.num_arcs) for part in cut(lattice, words=2)]
    [('talk-1', 3), ('talk-2', 3)]
    """
    if words < 1:
        raise OptionError(f"words is at least 1, not {words}")
    whole = trim(lattice).space
    bounds = stretch_bounds(whole, words)
    ends = [*bounds[1:], whole.num_states - 1]
    digits = len(str(len(bounds)))
    rows = make_rows(whole), make_rows(whole, "final_features")
    return [
        _stretch(whole, rows, begin, end, f"{lattice.id}-{number:0{digits}d}")
        for number, (begin, end) in enumerate(zip(bounds, ends, strict=True), start=1)
    ]


def cut_states(lattice: Lattice) -> IntColumn:
    """Return the states that every path passes, of a lattice where each state is on one."""
    # an arc passes over the states between its ends, and an end over all that come later
    passed = np.zeros(lattice.num_states + 2, np.int64)
    np.add.at(passed, lattice.src + 1, 1)
    np.add.at(passed, lattice.dst, -1)
    np.add.at(passed, lattice.finals + 1, 1)
    return ints(np.flatnonzero(np.cumsum(passed)[: lattice.num_states] == 0))


def stretch_bounds(lattice: Lattice, words: int) -> list[int]:
    """Return where the stretches of :func:`cut` begin, of a lattice that :func:`trim` left."""
    candidates = set(cut_states(lattice).tolist()) - {lattice.num_states - 1}
    # the fewest words from the last bound
    fewest = [words] * lattice.num_states
    bounds = [lattice.start]
    fewest[lattice.start] = 0
    src, spoken = lattice.src.tolist(), (lattice.label > 0).tolist()
    for before, after, word in zip(src, lattice.dst.tolist(), spoken, strict=True):
        # arcs come by source
        if before > bounds[-1] and before in candidates and fewest[before] >= words:
            bounds.append(before)
            fewest[before] = 0
        fewest[after] = min(fewest[after], fewest[before] + word)
    return bounds


def _stretch(lattice: Lattice, rows: tuple[Any, Any], begin: int, end: int, name: str) -> Lattice:
    last = end == lattice.num_states - 1
    first, stop = np.searchsorted(lattice.src, [begin, lattice.num_states if last else end])
    final = lattice.final[begin : end + 1].copy()
    of_arcs, of_ends = rows
    if not last:
        final[:] = -np.inf
        final[-1] = 0.0
    picked = None if of_arcs is None else reorder_rows(of_arcs, ints(np.arange(first, stop)))
    ends = reorder_rows(of_ends, ints(np.arange(begin, end + 1))) if last and of_ends else None
    return Lattice(
        vocabulary=lattice.vocabulary,
        src=ints(lattice.src[first:stop] - begin),
        dst=ints(lattice.dst[first:stop] - begin),
        label=lattice.label[first:stop],
        score=lattice.score[first:stop],
        final=floats(final),
        features=picked,
        final_features=ends,
        feature_names=lattice.feature_names,
        times=None if lattice.times is None else lattice.times[begin : end + 1],
        id=name,
        metadata=lattice.metadata,
    )
