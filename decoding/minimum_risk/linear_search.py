"""Spaces made ready for lattice MBR: unfolded once, searched under many gains.

Each kind of space has its n-grams in a table, gives their posteriors, and finds the sentences
that gain most when each n-gram gains something wherever it occurs, and each word too.
"""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

import numpy as np

from decoding.minimum_risk.linear_forests import ForestSearch
from decoding.minimum_risk.linear_gains import Ranked
from lattices.algorithms import NgramPosteriors
from lattices.algorithms.best import best_arcs
from lattices.algorithms.kbest import k_best_ranked
from lattices.algorithms.ngram_contexts import ContextLattice, context_lattice
from lattices.algorithms.ngram_lists import list_ngram_posteriors, list_ngrams
from lattices.algorithms.ngram_posteriors import context_posteriors, merged_by_best
from lattices.algorithms.ngram_tables import MAX
from lattices.algorithms.ngram_trie import Ngrams, chain_sums
from lattices.arrays import FloatColumn, floats, ints, kernel
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.order import counting_sort
from lattices.vocabulary import Vocabulary


class LatticeSearch:
    """A lattice unfolded to contexts."""

    def __init__(self, lattice: Lattice, order: int) -> None:
        self.unfolded: ContextLattice = context_lattice(lattice, order)
        self.space = lattice
        self.order = order

    @property
    def ngrams(self) -> Ngrams:
        """The n-grams of the lattice."""
        return self.unfolded.ngrams

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.space.vocabulary

    @property
    def sentences(self) -> int:
        """-1: all sentences of the lattice are searched."""
        return -1

    def posteriors(self, scale: float, kind: str, merge: str) -> NgramPosteriors:
        """Return the posteriors of the n-grams."""
        if merge == MAX:
            return context_posteriors(self._merged, scale, kind)
        return context_posteriors(self.unfolded, scale, kind)

    @cached_property
    def _merged(self) -> ContextLattice:
        """The lattice with each sentence once, unfolded."""
        return context_lattice(merged_by_best(self.space), self.order)

    def best(self, gain: FloatColumn, word: float) -> Ranked:
        """Return the sentence that gains most; ties: higher score, then words, then arcs."""
        unfolded, lattice = self.unfolded, self.space
        on_arc = _arc_gains(unfolded.gram, chain_sums(self.ngrams.row, gain), word)
        value, score, final = _best_arcs_kept(
            unfolded.src, unfolded.dst, unfolded.arc, unfolded.state, on_arc,
            lattice.score, lattice.final,
        )  # fmt: skip
        arcs = ints(np.arange(len(unfolded.arc)))
        in_arc, in_offset = counting_sort(unfolded.dst, arcs, len(final))
        rank = ints(self.vocabulary.ranks()[lattice.label] - 1)[unfolded.arc]
        _, path = best_arcs(
            unfolded.src, unfolded.dst, ints(in_arc), ints(in_offset), ints(rank),
            floats(score), floats(final), 0, unfolded.arc,
        )  # fmt: skip
        return Ranked(lattice.hypothesis(unfolded.arc[path].tolist()), float(value))

    def k_best(self, gain: FloatColumn, word: float, k: int) -> list[Ranked]:
        """Return the ``k`` sentences that gain most, each once."""
        unfolded, lattice = self.unfolded, self.space
        on_arc = _arc_gains(unfolded.gram, chain_sums(self.ngrams.row, gain), word)
        graph = Lattice(
            vocabulary=self.vocabulary,
            src=unfolded.src,
            dst=unfolded.dst,
            label=ints(lattice.label[unfolded.arc]),
            score=floats(lattice.score[unfolded.arc]),
            final=unfolded.final,
        )
        # building a lattice sorts arcs of one state by target: the gains must go along
        order = np.lexsort((unfolded.dst, unfolded.src))
        ending = np.where(unfolded.final > -np.inf, 0.0, -np.inf)
        paths = k_best_ranked(graph, floats(on_arc[order]), floats(ending), k)
        return [
            Ranked(
                lattice.hypothesis(unfolded.arc[order[path]].tolist()),
                float(on_arc[order[path]].sum()),
            )
            for path in paths
        ]


class ListSearch:
    """An n-best list with its n-grams."""

    def __init__(self, nbest: NBest, order: int) -> None:
        if not len(nbest):
            raise OptionError(f"n-best list {nbest.id!r} is empty")
        self.ngrams, self.gram = list_ngrams(nbest, order)
        self.space = nbest
        self.order = order

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.space.vocabulary

    @property
    def sentences(self) -> int:
        """The number of entries."""
        return len(self.space)

    def posteriors(self, scale: float, kind: str, merge: str) -> NgramPosteriors:
        """Return the posteriors of the n-grams."""
        return list_ngram_posteriors(
            self.space, self.order, scale, kind, merge, (self.ngrams, self.gram)
        )

    def best(self, gain: FloatColumn, word: float) -> Ranked:
        """Return the entry that gains most; ties: higher score, then words, then the first."""
        return self.k_best(gain, word, 1)[0]

    def k_best(self, gain: FloatColumn, word: float, k: int) -> list[Ranked]:
        """Return the ``k`` sentences that gain most, each once."""
        nbest = self.space
        on_word = _arc_gains(self.gram, chain_sums(self.ngrams.row, gain), word)
        value = _entry_sums(nbest.offset, on_word)
        return [
            Ranked(nbest[entry], float(value[entry])) for entry in ranked_entries(nbest, value, k)
        ]


def ranked_entries(nbest: NBest, value: FloatColumn, k: int) -> list[int]:
    """Return the entries of the ``k`` sentences of the highest values, each sentence once.

    Ties go to the higher score, then to the smaller sentence, then to the first entry.
    """
    order = np.lexsort((-nbest.score, -value))
    ranks = np.stack((value[order], nbest.score[order]))
    ends = [*np.flatnonzero((ranks[:, 1:] != ranks[:, :-1]).any(axis=0)) + 1, len(order)]
    found: dict[tuple[str, ...], int] = {}
    begin = 0
    for end in ends:
        tied = {nbest.tokens(entry): entry for entry in order[begin:end][::-1].tolist()}
        for words in sorted(tied):
            found.setdefault(words, tied[words])
        if len(found) >= k:
            break
        begin = end
    return list(found.values())[:k]


Search: TypeAlias = LatticeSearch | ForestSearch | ListSearch


def search_of(space: Space, order: int) -> Search:
    """Return a space made ready. Cost: that of unfolding it."""
    if isinstance(space, Lattice):
        return LatticeSearch(space, order)
    if isinstance(space, Forest):
        return ForestSearch(space, order)
    if isinstance(space, NBest):
        return ListSearch(space, order)
    raise OptionError(f"a space is a Lattice, a Forest or an NBest, not {type(space).__name__}")


@kernel
def _arc_gains(gram, chain, word):  # type: ignore[no-untyped-def]
    """Return what each arc, or each word of a list, gains."""
    gain = np.zeros(len(gram))
    for place in range(len(gram)):
        if gram[place] > 0:
            gain[place] = chain[gram[place]] + word
    return gain


@kernel
def _entry_sums(offset, gain):  # type: ignore[no-untyped-def]
    total = np.zeros(len(offset) - 1)
    for entry in range(len(total)):
        for place in range(offset[entry], offset[entry + 1]):
            total[entry] += gain[place]
    return total


@kernel
def _best_arcs_kept(src, dst, arc, state, gain, score, final):  # type: ignore[no-untyped-def]
    """Return the highest gain, and the scores of what lies on a path that has it, else -inf.

    Sums of gains are exact, so that a path has the highest gain if all its arcs are kept.
    """
    states, arcs = len(state), len(src)
    value = np.empty(states)
    for number in range(states):
        value[number] = 0.0 if final[state[number]] > -np.inf else -np.inf
    for step in range(arcs - 1, -1, -1):
        value[src[step]] = max(value[src[step]], gain[step] + value[dst[step]])
    kept = np.full(arcs, -np.inf)
    ending = np.full(states, -np.inf)
    for step in range(arcs):
        if gain[step] + value[dst[step]] == value[src[step]]:
            kept[step] = score[arc[step]]
    for number in range(states):
        if final[state[number]] > -np.inf and value[number] == 0.0:
            ending[number] = final[state[number]]
    return value[0], kept, ending
