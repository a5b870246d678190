"""Forests made ready for lattice MBR: unfolded once, searched under many gains."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import pairwise

import numpy as np

from decoding.minimum_risk.linear_forest_levels import Parts, best_edges, edge_gains, levels
from decoding.minimum_risk.linear_gains import Ranked
from lattices.algorithms import NgramPosteriors
from lattices.algorithms.forest_best import best_derivation
from lattices.algorithms.forest_ngram_contexts import ContextForest, context_forest
from lattices.algorithms.forest_ngram_posteriors import context_forest_posteriors
from lattices.algorithms.kbest import k_best_derivations
from lattices.algorithms.ngram_contexts import ContextLattice, context_lattice
from lattices.algorithms.ngram_posteriors import context_posteriors, merged_by_best
from lattices.algorithms.ngram_tables import MAX
from lattices.algorithms.ngram_trie import Ngrams
from lattices.arrays import FloatColumn, floats, ints
from lattices.spaces import Forest
from lattices.vocabulary import Vocabulary


class ForestSearch:
    """A forest unfolded to contexts."""

    def __init__(self, forest: Forest, order: int) -> None:
        self.unfolded: ContextForest = context_forest(forest, order)
        self.space = forest
        self.order = order

    @property
    def ngrams(self) -> Ngrams:
        """The n-grams of the forest."""
        return self.unfolded.ngrams

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.space.vocabulary

    @property
    def sentences(self) -> int:
        """-1: all sentences of the forest are searched."""
        return -1

    def posteriors(self, scale: float, kind: str, merge: str) -> NgramPosteriors:
        """Return the posteriors of the n-grams."""
        if merge == MAX:
            return context_posteriors(self._merged, scale, kind)
        return context_forest_posteriors(self.unfolded, scale, kind)

    @cached_property
    def _merged(self) -> ContextLattice:
        """The forest with each sentence once, unfolded."""
        return context_lattice(merged_by_best(self.space), self.order)

    def best(self, gain: FloatColumn, word: float) -> Ranked:
        """Return the sentence that gains most; ties: as of a forest's best derivation."""
        unfolded = self.unfolded
        value, edges = best_edges(unfolded, edge_gains(unfolded, gain, word))
        found = best_derivation(self._part(Parts.of(unfolded, edges), unfolded.root))
        return Ranked(self.space.hypothesis(self._original(edges[found].tolist())), value)

    def k_best(self, gain: FloatColumn, word: float, k: int) -> list[Ranked]:
        """Return the ``k`` sentences that gain most, each once; ties: as of :meth:`best`.

        All derivations of a sentence gain the same. The best ``k`` by what they gain tell which
        gains there are, and how many sentences have each; but which of those that gain the
        same, and by which derivation, is for the scores to say. So derivations are set apart by
        their gains, and of each gain the best by score are taken.
        """
        unfolded = self.unfolded
        own = edge_gains(unfolded, gain, word)
        everything = Parts.of(unfolded, ints(np.arange(len(own))))
        first = k_best_derivations(self._part(everything, unfolded.root, own), k, distinct=True)
        gained = np.add.reduceat(own[first.arcs], first.offset[:-1])
        apart = levels(unfolded, own, float(gained.min()))
        found = []
        for value, number in sorted(Counter(gained.tolist()).items(), reverse=True):
            parts, root = apart.parts.below(apart.root[value])
            some = k_best_derivations(self._part(parts, root), number, distinct=True)
            for begin, end in pairwise(some.offset.tolist()):
                edges = self._original(parts.edge[some.arcs[begin:end]].tolist())
                found.append(Ranked(self.space.hypothesis(edges), value))
        return found

    def _part(self, parts: Parts, root: int, score: FloatColumn | None = None) -> Forest:
        """Return the forest of some unfolded edges, by default with the scores of their own."""
        unfolded, forest, edges = self.unfolded, self.space, parts.edge
        pair = parts.right >= 0
        sizes = unfolded.end[edges] - unfolded.symbol[edges]
        offset = np.concatenate(([0], np.cumsum(2 * pair + sizes)))
        symbol = np.full(offset[-1], -1)
        symbol[offset[:-1][pair] + 1] = -2
        begin = offset[:-1] + 2 * pair
        words = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        symbol[np.repeat(begin, sizes) + words] = forest.symbol[
            np.repeat(unfolded.symbol[edges], sizes) + words
        ]
        tails = np.stack((parts.left[pair], parts.right[pair]), axis=1)
        if score is None:
            # the last part of an edge has the score of the whole
            whole = unfolded.whole[edges] == 1
            score = floats(np.where(whole, forest.score[unfolded.edge[edges]], 0.0))
        return Forest(
            vocabulary=forest.vocabulary,
            head=parts.head,
            tail=ints(tails.ravel()),
            tail_offset=ints(np.concatenate(([0], np.cumsum(2 * pair)))),
            symbol=ints(symbol),
            symbol_offset=ints(offset),
            score=score,
            num_nodes=parts.nodes,
            root=root,
        )

    def _original(self, edges: list[int]) -> list[int]:
        """Return a derivation of unfolded edges as one of the forest's own, in its order.

        Both come from the top down. An unfolded edge is followed by the parts before it, then
        by what fills its slot; slots stand in the order of the words, tails in their own.
        """
        unfolded, forest = self.unfolded, self.space
        # from the last to the first: the derivations that fill the slots of a part so far
        stack: list[list[list[int]]] = []
        for number in reversed(edges):
            filling: list[list[int]] = []
            if unfolded.right[number] >= 0:
                filling = stack.pop()
                inner = stack.pop()[0]
                filling = [*filling, inner]
            edge = int(unfolded.edge[number])
            if unfolded.whole[number]:
                side = forest.symbol[forest.symbol_offset[edge] : forest.symbol_offset[edge + 1]]
                slots = (-1 - side[side < 0]).tolist()
                own = [edge]
                for _, derivation in sorted(zip(slots, filling, strict=True)):
                    own += derivation
                filling = [own]
            stack.append(filling)
        return stack[0][0]
