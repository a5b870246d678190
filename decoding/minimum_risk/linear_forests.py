"""Forests made ready for lattice MBR: unfolded once, searched under many gains."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from decoding.minimum_risk.linear_gains import Ranked
from lattices.algorithms import NgramPosteriors
from lattices.algorithms.forest_best import best_derivation
from lattices.algorithms.forest_ngram_contexts import ContextForest, context_forest
from lattices.algorithms.forest_ngram_posteriors import context_forest_posteriors
from lattices.algorithms.ngram_contexts import ContextLattice, context_lattice
from lattices.algorithms.ngram_posteriors import context_posteriors, merged_by_best
from lattices.algorithms.ngram_tables import MAX
from lattices.algorithms.ngram_trie import Ngrams
from lattices.arrays import FloatColumn, IntColumn, floats, ints, kernel
from lattices.errors import OptionError
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
        value, kept = _best_edges(
            unfolded.left, unfolded.right, unfolded.head, unfolded.symbol, unfolded.end,
            unfolded.gram, unfolded.gram_offset, gain, word, unfolded.items, unfolded.root,
        )  # fmt: skip
        edges = ints(np.flatnonzero(kept))
        found = best_derivation(self._part(edges))
        return Ranked(self.space.hypothesis(self._original(edges[found].tolist())), float(value))

    def k_best(self, gain: FloatColumn, word: float, k: int) -> list[Ranked]:
        """Return the best one; of a forest no others are searched for."""
        if k > 1:
            raise OptionError(
                f"of forest {self.space.id!r} the best sentence is searched for, not the k best; "
                "take its n-best list (lattices.k_best)"
            )
        return [self.best(gain, word)]

    def _part(self, edges: IntColumn) -> Forest:
        """Return the unfolded forest of some of its edges."""
        unfolded, forest = self.unfolded, self.space
        pair = unfolded.right[edges] >= 0
        sizes = unfolded.end[edges] - unfolded.symbol[edges]
        offset = np.concatenate(([0], np.cumsum(2 * pair + sizes)))
        symbol = np.full(offset[-1], -1)
        symbol[offset[:-1][pair] + 1] = -2
        begin = offset[:-1] + 2 * pair
        words = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        symbol[np.repeat(begin, sizes) + words] = forest.symbol[
            np.repeat(unfolded.symbol[edges], sizes) + words
        ]
        tails = np.stack((unfolded.left[edges][pair], unfolded.right[edges][pair]), axis=1)
        return Forest(
            vocabulary=forest.vocabulary,
            head=ints(unfolded.head[edges]),
            tail=ints(tails.ravel()),
            tail_offset=ints(np.concatenate(([0], np.cumsum(2 * pair)))),
            symbol=ints(symbol),
            symbol_offset=ints(offset),
            score=floats(
                np.where(unfolded.whole[edges] == 1, forest.score[unfolded.edge[edges]], 0.0)
            ),
            num_nodes=unfolded.items,
            root=unfolded.root,
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


@kernel
def _best_edges(  # type: ignore[no-untyped-def]
    left, right, head, symbol, end, gram, gram_offset, gain, word, items, root
):
    """Return the highest gain, and which edges are in derivations that have it."""
    edges = len(head)
    own = np.empty(edges)
    below = np.full(items, -np.inf)
    for edge in range(edges):
        own[edge] = word * (end[edge] - symbol[edge])
        for place in range(gram_offset[edge], gram_offset[edge + 1]):
            own[edge] += gain[gram[place]]
        total = own[edge]
        if right[edge] >= 0:
            total += below[left[edge]] + below[right[edge]]
        below[head[edge]] = max(below[head[edge]], total)
    needed = np.zeros(items, np.bool_)
    needed[root] = True
    kept = np.zeros(edges, np.bool_)
    for edge in range(edges - 1, -1, -1):
        if not needed[head[edge]]:
            continue
        total = own[edge]
        if right[edge] >= 0:
            total += below[left[edge]] + below[right[edge]]
        if total == below[head[edge]]:
            kept[edge] = True
            if right[edge] >= 0:
                needed[left[edge]] = needed[right[edge]] = True
    return below[root], kept
