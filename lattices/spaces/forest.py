"""The shared forest: an acyclic weighted hypergraph over words, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from lattices._native import (
    FeatureColumns,
    ForestColumns,
    has_derivation,
    path_fields,
    topological_numbers,
)
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import SpaceError, expecting
from lattices.spaces.base import SpaceBase, check_count, check_whole
from lattices.spaces.features import (
    FeatureMatrix,
    Features,
    check_features,
    feature_columns,
    feature_matrix,
    make_rows,
    reorder_rows,
)
from lattices.spaces.hypothesis import Hypothesis
from lattices.spaces.lattice import Lattice
from lattices.vocabulary import EPSILON, Vocabulary

if TYPE_CHECKING:
    from lattices.drawing import Svg


@dataclass(frozen=True, eq=False, repr=False)
class Forest(SpaceBase):
    """An acyclic weighted hypergraph over words, stored in read-only columns.

    An edge makes its head node of its tail nodes, in the manner of a grammar rule: its target
    side has words, and a slot for each of its tails, in any order. A derivation chooses an
    edge for the root and for every tail in turn; its words are those of the target sides, put
    into one another, and its score is the sum of the scores of its edges.

    Building one checks it and puts it in normal form: nodes are numbered bottom-up, tails
    before heads (kept as they are if they already are), and edges are sorted by head, those
    of one head staying in the order given. Nodes that no derivation uses are kept.

    Attributes
    ----------
    vocabulary : Vocabulary
        The words behind ``symbol``.
    head : int32 column, one entry an edge
    tail, tail_offset : int32 columns
        Edge ``e`` has the tails ``tail[tail_offset[e]:tail_offset[e + 1]]``.
    symbol, symbol_offset : int32 columns
        The target side of edge ``e`` is ``symbol[symbol_offset[e]:symbol_offset[e + 1]]``:
        numbers of words, and ``-1 - k`` for the slot of its tail ``k``. Each slot occurs once.
    score : float64 column, one entry an edge
        The model's log-score, higher is better.
    num_nodes, root : int
    features : scipy.sparse.csr_array or None
        One row an edge, one column a feature name.
    feature_names : tuple of str
    categories : tuple of str
        The category of each node, or nothing.
    spans : int32 array of two columns, or None
        The words of the source that each node covers, from the first up to the second.
    id, source, references, metadata
        As in :class:`lattices.Lattice`.
    in_offset : int32 column
        Made here: the edges with head ``q`` are ``in_offset[q]`` up to ``in_offset[q + 1]``.

    Raises
    ------
    SpaceError
        If the hypergraph has a cycle, no derivation, a node or word that does not exist, a
        slot that does not occur exactly once, or a score that is not finite.

    Examples
    --------
    >>> forest = Forest.from_edges(
    ...     [(0, [], ["cat"], -0.1), (0, [], ["dog"], -0.5), (1, [0], ["the", 0], -0.2)]
    ... )
    >>> forest
    <Forest '' of 2 nodes, 3 edges>
    >>> [hypothesis.text for hypothesis in forest.derivations()]
    ['the cat', 'the dog']
    """

    kind = "forest"

    vocabulary: Vocabulary
    head: IntColumn
    tail: IntColumn
    tail_offset: IntColumn
    symbol: IntColumn
    symbol_offset: IntColumn
    score: FloatColumn
    num_nodes: int
    root: int
    features: FeatureMatrix | None = Features()  # noqa: RUF009
    feature_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    spans: IntColumn | None = None
    id: str = ""
    source: str = ""
    references: tuple[Any, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    in_offset: IntColumn = field(init=False)

    def __post_init__(self) -> None:
        """Check the columns and put them in normal form."""
        put = self.__dict__.__setitem__
        self._take_columns(ints, "head", "tail", "tail_offset", "symbol", "symbol_offset")
        self._take_columns(floats, "score")
        self._take_names("feature_names", "categories", "references")
        self._check_columns()
        given = self.__dict__["features"]
        if given is not None:
            put("features", check_features(given, self.num_edges, self.feature_names, "features"))
        if self.categories and len(self.categories) != self.num_nodes:
            raise SpaceError(f"{len(self.categories)} categories for {self.num_nodes} nodes")
        if self.spans is not None:
            put("spans", ints(self.spans, "'spans'"))
            if self.spans.shape != (self.num_nodes, 2):
                raise SpaceError(f"spans of shape {self.spans.shape}, for {self.num_nodes} nodes")
        self._normalise()
        if not has_derivation(self.columns):
            raise SpaceError("no derivation of the root: some node that it needs has no edge")

    def _check_columns(self) -> None:
        edges = self.num_edges
        check_count(self.num_nodes, "nodes", edges, "edges")
        check_whole([self.root], "the root")
        if not 0 <= self.root < self.num_nodes:
            raise SpaceError(f"root {self.root}, expected one of {self.num_nodes} nodes")
        if self.score.shape != (edges,):
            raise SpaceError(f"{len(self.score)} scores for {edges} edges")
        for name in ("tail", "symbol"):
            offset, column = getattr(self, f"{name}_offset"), getattr(self, name)
            if len(offset) != edges + 1 or offset[0] != 0 or offset[-1] != len(column):
                raise SpaceError(f"{len(offset)} offsets of {name}s for {edges} edges")
            if (np.diff(offset) < 0).any():
                raise SpaceError(f"the offsets of {name}s do not ascend")
        for name, nodes in (("head", self.head), ("tail", self.tail)):
            if len(nodes) and not 0 <= nodes.min() <= nodes.max() < self.num_nodes:
                raise SpaceError(f"a {name} that is not one of {self.num_nodes} nodes")
        self._check_values()
        self._check_symbols()

    def _check_values(self) -> None:
        self._check_scores("edge")

    def _check_symbols(self) -> None:
        if len(self.symbol) and self.symbol.max() >= len(self.vocabulary):
            raise SpaceError("a target side holds a number that is no word of the vocabulary")
        if (self.symbol == 0).any():
            raise SpaceError("a target side holds epsilon; an empty one has no symbols at all")
        edge = np.repeat(np.arange(self.num_edges), np.diff(self.symbol_offset))
        is_slot = self.symbol < 0
        slot, owner = -1 - self.symbol[is_slot], edge[is_slot]
        arity = np.diff(self.tail_offset)
        bad = slot >= arity[owner]
        if not bad.any():
            times = np.bincount(self.tail_offset[owner] + slot, minlength=len(self.tail))
            bad = times != 1
            owner = np.repeat(np.arange(self.num_edges), arity)
        if bad.any():
            found = int(owner[np.flatnonzero(bad)[0]])
            raise SpaceError(
                f"the target side of edge {found} must have each of its {arity[found]} tails once"
            )

    def _normalise(self) -> None:
        put = self.__dict__.__setitem__
        heads = ints(np.repeat(self.head, np.diff(self.tail_offset)))
        if not (self.tail < heads).all():
            number, done = topological_numbers(self.tail, heads, self.num_nodes)
            if done < self.num_nodes:
                raise SpaceError(
                    f"the forest has a cycle through node {int(np.flatnonzero(number < 0)[0])}"
                )
            put("head", ints(number[self.head]))
            put("tail", ints(number[self.tail]))
            put("root", int(number[self.root]))
            order = np.argsort(number)
            if self.categories:
                put("categories", tuple(self.categories[old] for old in order.tolist()))
            if self.spans is not None:
                put("spans", ints(self.spans[order]))
        if (self.head[1:] < self.head[:-1]).any():
            by_head = ints(np.argsort(self.head, kind="stable"))
            put("head", ints(self.head[by_head]))
            put("score", floats(self.score[by_head]))
            for name in ("tail", "symbol"):
                column, offset = order_rows(
                    getattr(self, name), getattr(self, f"{name}_offset"), by_head
                )
                put(name, column)
                put(f"{name}_offset", offset)
            features = make_rows(self)
            if features is not None:
                put("features", reorder_rows(features, by_head))
        put("in_offset", ints(np.searchsorted(self.head, np.arange(self.num_nodes + 1))))

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Sequence[Any]],
        *,
        root: int | None = None,
        nodes: int | None = None,
        vocabulary: Vocabulary | None = None,
        feature_names: Iterable[str] = (),
        **rest: Any,
    ) -> Forest:
        """Build a forest from rows ``(head, tails, target side, score, features)``.

        Parameters
        ----------
        edges
            A target side has words, and for each tail its index among the tails. Score and
            features are optional.
        root
            By default the node with the highest number.
        nodes
            How many; by default one more than the highest that is named.
        vocabulary
            Grows by the new words; a fresh one by default.
        feature_names
            Names whose order is to be kept; others are appended as they come.
        **rest
            ``categories``, ``spans``, ``id``, ``source``, ``references``, ``metadata``.
        """
        words = Vocabulary() if vocabulary is None else vocabulary
        with expecting("an edge is (head, tails, target side, score, features)"):
            rows = list(edges)
            named = [node for head, tails, *_ in rows for node in (head, *tails)]
            tails = [list(row[1]) for row in rows]
            sides = [
                [~int(part) if isinstance(part, Integral) else words.add(part) for part in row[2]]
                for row in rows
            ]
            score = floats([row[3] if len(row) > 3 else 0.0 for row in rows], "the scores of edges")
            given = [row[4] if len(row) > 4 else None for row in rows]
        check_whole([*named, root or 0], "a node")
        highest = max((*named, root or 0), default=0)
        features = None
        with expecting("features are a mapping from names to numbers"):
            names = list(feature_names)
            if names or any(given):
                features = feature_matrix(given, names)
        return cls(
            vocabulary=words,
            head=ints([row[0] for row in rows]),
            tail=ints([tail for each in tails for tail in each]),
            tail_offset=ints(np.cumsum([0, *map(len, tails)])),
            symbol=ints([symbol for side in sides for symbol in side]),
            symbol_offset=ints(np.cumsum([0, *map(len, sides)])),
            score=score,
            num_nodes=highest + 1 if nodes is None else nodes,
            root=highest if root is None else root,
            features=features,
            feature_names=tuple(names),
            **rest,
        )

    @classmethod
    def from_lattice(cls, lattice: Lattice) -> Forest:
        """Return a forest with one derivation for each path, and its words, score and features.

        A node for each state stands for the paths that lead there; edges follow the order of
        the arcs into each state.

        Examples
        --------
        >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "", -2.0)], {1: -0.5})
        >>> [(found.text, found.score) for found in Forest.from_lattice(lattice).derivations()]
        [('a', -1.5), ('', -2.5)]
        """
        ends, arcs = lattice.finals, lattice.in_arc
        top = lattice.num_states
        label = lattice.label[arcs]
        # the target sides: nothing at the start, then a slot, and the arc's word if it has one
        sizes = np.concatenate(([0], 1 + (label != EPSILON), np.ones(len(ends), np.int64)))
        symbol_offset = np.concatenate(([0], np.cumsum(sizes)))
        symbol = np.full(symbol_offset[-1], -1)
        spoken = np.flatnonzero(label != EPSILON)
        symbol[symbol_offset[1 + spoken] + 1] = label[spoken]
        features = None
        if lattice.features is not None:
            features = _stack(lattice, lattice.features)
        count = 1 + len(arcs) + len(ends)
        return cls(
            vocabulary=lattice.vocabulary,
            head=ints(
                np.concatenate(([lattice.start], lattice.dst[arcs], np.full(len(ends), top)))
            ),
            tail=ints(np.concatenate((lattice.src[arcs], ends))),
            tail_offset=ints(np.concatenate(([0], np.arange(count)))),
            symbol=ints(symbol),
            symbol_offset=ints(symbol_offset),
            score=floats(np.concatenate(([0.0], lattice.score[arcs], lattice.final[ends]))),
            num_nodes=top + 1,
            root=top,
            features=features,
            feature_names=lattice.feature_names,
            **lattice.about,
        )

    @property
    def num_edges(self) -> int:
        """How many edges there are."""
        return len(self.head)

    @cached_property
    def columns(self) -> ForestColumns:
        """The columns as native code takes them: checked once, for any number of calls."""
        return ForestColumns(
            self.head,
            self.tail,
            self.tail_offset,
            self.symbol,
            self.symbol_offset,
            self.score,
            self.in_offset,
            self.root,
            f"forest {self.id!r}",
        )

    @cached_property
    def feature_columns(self) -> FeatureColumns | None:
        """The features as native code takes them, or None if there are none."""
        return feature_columns(self.feature_names, self.num_edges, make_rows(self), None)

    def hypothesis(self, edges: Sequence[int]) -> Hypothesis:
        """Return the sentence of a derivation, given as edges from the top down, left to right.

        Edge by edge: the one of the root, then the whole derivation of its first tail, of its
        second, and so on.

        Raises
        ------
        SpaceError
            If the edges are no derivation of the root, or if its scores add up to infinity.

        Examples
        --------
        >>> forest = Forest.from_edges([(0, [], ["a"], -2.0), (1, [0], ["the", 0], -1.0)])
        >>> forest.hypothesis([1, 0])
        Hypothesis(tokens=('the', 'a'), score=-3.0, features={}, arcs=(1, 0), index=-1)
        """
        strings = self.vocabulary.strings
        with expecting("edges are a sequence of their numbers"):
            return Hypothesis(*path_fields(self.columns, self.feature_columns, strings, edges))

    def derivations(self) -> Iterator[Hypothesis]:
        """Iterate over every derivation: for small forests and for tests."""
        stack: list[tuple[list[int], list[int]]] = [([], [self.root])]
        while stack:
            edges, wanted = stack.pop()
            if not wanted:
                yield self.hypothesis(edges)
                continue
            node, rest = wanted[-1], wanted[:-1]
            for edge in range(int(self.in_offset[node + 1]) - 1, int(self.in_offset[node]) - 1, -1):
                tails = self.tail[self.tail_offset[edge] : self.tail_offset[edge + 1]]
                stack.append(([*edges, edge], [*rest, *tails[::-1].tolist()]))

    def __repr__(self) -> str:
        """Return the segment's name and the size."""
        return f"<Forest {self.id!r} of {self.num_nodes} nodes, {self.num_edges} edges>"

    def plot(
        self,
        best: object = None,
        oracle: object = None,
        mbr: object = None,
        *,
        posteriors: object = None,
        scores: bool = False,
    ) -> Svg:
        """Return a picture of the forest as SVG: a notebook shows it, ``save(path)`` writes it.

        It is an AND/OR graph from left to right: the root and all nodes are pills, edges are
        squares with their target side, in which a slot is the number of the node that fills it. A
        notebook shows forests of up to 300 edges by themselves, and the plain text of larger ones.

        Parameters
        ----------
        best, oracle, mbr
            What to point out: derivations of this forest, or results that have one.
        posteriors, scores
            As of :meth:`lattices.Lattice.plot`, which raises the same errors.

        Examples
        --------
        >>> forest = Forest.from_edges([(0, [], ["cat"]), (0, [], ["dog"]), (1, [0], ["the", 0])])
        >>> picture = forest.plot(oracle=forest.hypothesis([2, 1]))
        >>> "the [0]" in str(picture)
        True
        """
        from lattices.drawing import draw
        from lattices.spaces.pictures import forest_graph

        marks = {"1-best": best, "oracle": oracle, "MBR": mbr}
        return draw(forest_graph(self, marks, posteriors, scores))

    def _repr_svg_(self) -> str | None:
        """Return the picture for a notebook, which shows the plain text of what is too large."""
        from lattices.drawing.graph import READABLE

        return str(self.plot()) if self.num_edges <= READABLE else None


def order_rows(
    column: IntColumn, offset: IntColumn, order: IntColumn
) -> tuple[IntColumn, IntColumn]:
    """Return rows of different lengths in another order."""
    sizes = np.diff(offset)[order]
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    places = np.arange(bounds[-1]) + np.repeat(offset[:-1][order] - bounds[:-1], sizes)
    return ints(column[places]), ints(bounds)


def _stack(lattice: Lattice, features: FeatureMatrix) -> FeatureMatrix:
    """Return the features of a lattice's arcs and ends in the order of the edges of its forest."""
    from scipy.sparse import csr_array, vstack

    width, ends = len(lattice.feature_names), lattice.finals
    last = (
        csr_array((len(ends), width))
        if lattice.final_features is None
        else lattice.final_features[ends]
    )
    return vstack([csr_array((1, width)), features[lattice.in_arc], last], format="csr")
