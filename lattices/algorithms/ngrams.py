"""N-grams of lattices, forests and lists: how probable each is, exactly.

A space is unfolded so that each of its n-grams belongs to one edge (:func:`unfold`), and whatever
is additive over the n-grams of a sentence is additive over edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lattices import _native
from lattices._native import NgramTrie
from lattices.algorithms.determinize import determinize
from lattices.algorithms.expansion import to_lattice
from lattices.algorithms.paths import explain_no_path
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.arguments import SPACE, takes
from lattices.vocabulary import Vocabulary

#: edges that an unfolded space may have
MOST_EDGES = 2**22
#: the highest order of n-grams
MOST_ORDER = 16

PRESENCE, COUNT = "presence", "count"
KINDS = (PRESENCE, COUNT)
SUM, MAX = "sum", "max"
MERGES = (SUM, MAX)

# the columns of the rows of a trie
_PREFIX, _WORD, _, _LENGTH = range(4)


@dataclass(frozen=True, eq=False, repr=False)
class NgramPosteriors:
    """The n-grams of a space in columns, each with its probability or its expected count.

    Attributes
    ----------
    vocabulary : Vocabulary
    order : int
        The longest n-grams.
    kind : {"presence", "count"}
        Whether ``value`` is the probability that a sentence has the n-gram, or the number of
        times that it has it on average.
    table : NgramTrie
        The trie of the n-grams; its first row is the empty one.
    table_value : float64 column
        One entry a row of the trie; what it says of the empty n-gram has no meaning.

    Examples
    --------
    >>> from lattices import Lattice, ngram_posteriors
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "a")], finals=[2])
    >>> found = ngram_posteriors(lattice, order=2)
    >>> found["a"], found["b", "a"], found["a", "b"]
    (1.0, 0.5, 0.0)
    >>> ngram_posteriors(lattice, order=2, kind="count")["a"]
    1.5
    """

    vocabulary: Vocabulary
    order: int
    kind: str
    table: NgramTrie
    table_value: FloatColumn

    @cached_property
    def length(self) -> IntColumn:
        """How many words each n-gram has."""
        return ints(self.table.rows()[1:, _LENGTH])

    @property
    def value(self) -> FloatColumn:
        """The probability, or the expected count, of each n-gram."""
        return floats(self.table_value[1:])

    @cached_property
    def words(self) -> IntColumn:
        """The numbers of the words of each n-gram, a row each, zeros after the last."""
        rows = self.table.rows()
        words = np.zeros((len(rows), self.order), np.int32)
        for length in range(1, self.order + 1):
            some = rows[:, _LENGTH] == length
            words[some] = words[rows[some, _PREFIX]]
            words[some, length - 1] = rows[some, _WORD]
        return ints(words[1:])

    def __len__(self) -> int:
        """Return how many n-grams there are."""
        return len(self.table_value) - 1

    def __getitem__(self, ngram: str | Sequence[str]) -> float:
        """Return the value of an n-gram, given as its words or as one word; 0 if unknown."""
        words = (ngram,) if isinstance(ngram, str) else tuple(ngram)
        if not 1 <= len(words) <= self.order:
            raise OptionError(f"{len(words)} words, but n-grams have from 1 to {self.order}")
        numbers = tuple(self.vocabulary.id(word) for word in words)
        return self._by_words.get(numbers, 0.0)

    @cached_property
    def _by_words(self) -> dict[tuple[int, ...], float]:
        rows = zip(self.words.tolist(), self.length.tolist(), self.value.tolist(), strict=True)
        return {tuple(words[:length]): value for words, length, value in rows}

    def items(self) -> Iterator[tuple[tuple[str, ...], float]]:
        """Iterate over n-grams and their values: short ones first, then in the order of words."""
        rows = zip(self.words.tolist(), self.value.tolist(), strict=True)
        named = [(self.vocabulary.decode(words), value) for words, value in rows]
        return iter(sorted(named, key=lambda item: (len(item[0]), item[0])))

    def values_of(self, ngrams: NgramTrie, vocabulary: Vocabulary) -> FloatColumn:
        """Return the value of each n-gram of another table, 0 where it is not in this one.

        ``vocabulary`` has the words of the other table. Cost: O(n-grams of that table).
        """
        if ngrams is self.table:
            return self.table_value
        words = ngrams.rows()[:, _WORD]
        numbers = np.arange(1 + words.max(), dtype=np.int32)
        if vocabulary is not self.vocabulary:
            for word in np.unique(words[1:]).tolist():
                numbers[word] = self.vocabulary.id(vocabulary.word(word))
        return ngrams.values_elsewhere(self.table, self.table_value, numbers)

    def __repr__(self) -> str:
        """Return what there is and how much of it."""
        return f"<NgramPosteriors ({self.kind}) of {len(self)} n-grams up to order {self.order}>"


def check_kinds(kind: str, merge: str) -> None:
    """Refuse kinds of expectations, and ways to merge sentences, that do not exist."""
    if kind not in KINDS:
        raise OptionError(f"kind={kind!r}, expected one of {', '.join(KINDS)}")
    if merge not in MERGES:
        raise OptionError(f"merge={merge!r}, expected one of {', '.join(MERGES)}")


def check_order(order: int) -> int:
    """Return an order of n-grams, or raise OptionError if it is none."""
    if isinstance(order, bool) or not isinstance(order, int | np.integer):
        raise OptionError(f"the order of n-grams is a whole number, not {order!r}")
    if not 1 <= order <= MOST_ORDER:
        raise OptionError(f"the order of n-grams is from 1 to {MOST_ORDER}, not {order}")
    return int(order)


@takes(space=SPACE)
def ngram_posteriors(
    space: Space,
    order: int = 4,
    scale: float = 1.0,
    kind: str = "presence",
    merge: str = "sum",
) -> NgramPosteriors:
    """Return the probability of each n-gram of a space, or its expected count.

    A path has the probability ``exp(scale * score)`` divided by the sum of that over all
    complete paths. Of each n-gram ``u`` up to ``order``,

    - *presence* is the probability that a sentence has ``u`` at least once, which lattice MBR
      decoding is defined with (Tromble et al. 2008; Blackwood et al. 2010);
    - *count* is how often a sentence has ``u`` on average, the statistic of consensus decoding
      (DeNero et al. 2009), which is larger where ``u`` can occur twice.

    Both are exact, all paths or derivations of a sentence summed. The space is unfolded to
    contexts of ``order - 1`` words (:func:`~lattices.algorithms.ngrams.unfold`), and one pass
    up and one down give all counts. Presence equals count for every n-gram that no path has
    twice, which passes over bits tell, one bit an n-gram; for each of the others one more pass
    follows the probability of having it. Cost: O(unfolded edges) for counts, and for presence
    times (1 + n-grams / 512 + n-grams that repeat / 8) besides; a list is read once.

    Parameters
    ----------
    space : Lattice, Forest or NBest
    order : int
        The longest n-grams.
    scale : float
        What scores are multiplied by before they become probabilities.
    kind : {"presence", "count"}
    merge : {"sum", "max"}
        What the probability of a sentence is made of when several paths spell it: of all of
        them, or of the best alone. The second is what HiFST's ``lmbr`` does: it determinizes
        the evidence under (max, +), and only then multiplies by ``--alpha`` and sums. (It also
        takes out-of-vocabulary markers for epsilon first.) A forest is made a lattice for it,
        and both need pynini and the memory for the result; scores are then single precision
        (:func:`lattices.determinize`).

    Raises
    ------
    SpaceError
        If the lattice has no complete path, the list is empty, or there are too many contexts.

    References
    ----------
    R. Tromble, S. Kumar, F. Och and W. Macherey. Lattice minimum Bayes-risk decoding for
    statistical machine translation. EMNLP 2008.

    G. Blackwood, A. de Gispert and W. Byrne. Efficient path counting transducers for minimum
    Bayes-risk decoding of statistical machine translation lattices. ACL 2010.

    J. DeNero, D. Chiang and K. Knight. Fast consensus decoding over translation forests.
    ACL 2009.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a"), (0, 1, "b"), (1, 2, "a"), (1, 2, "c")], finals=[2]
    ... )
    >>> list(ngram_posteriors(lattice, order=1).items())
    [(('a',), 0.75), (('b',), 0.5), (('c',), 0.5)]
    >>> list(ngram_posteriors(lattice, order=1, kind="count").items())
    [(('a',), 1.0), (('b',), 0.5), (('c',), 0.5)]
    >>> forest = Forest.from_edges([(0, [], ["a"]), (0, [], ["b"]), (1, [0, 0], [0, 1])])
    >>> ngram_posteriors(forest, 2)["a"], ngram_posteriors(forest, 2)["a", "b"]
    (0.75, 0.25)
    """
    check_kinds(kind, merge)
    order = check_order(order)
    if isinstance(space, NBest):
        return ListNgrams.of(space, order).posteriors(scale, kind, merge)
    if merge == MAX:
        space = merge_sentences(space)
    return unfold(space, order).posteriors(scale, kind)


def merge_sentences(space: Lattice | Forest) -> Lattice:
    """Return a lattice that has each sentence once, with the score of its best path."""
    return determinize(to_lattice(space), drop_features=True)


@dataclass(frozen=True, eq=False)
class Unfolded:
    """A lattice or forest unfolded by contexts, which have one word less than n-grams."""

    space: Lattice | Forest
    order: int
    graph: _native.Unfolded

    @property
    def ngrams(self) -> NgramTrie:
        """The n-grams."""
        return self.graph.ngrams

    def posteriors(self, scale: float = 1.0, kind: str = PRESENCE) -> NgramPosteriors:
        """Return :func:`ngram_posteriors` of the space."""
        value = _native.ngram_values(self.space.columns, self.graph, scale, kind == COUNT)
        if value is None:
            raise OptionError(f"scale {scale} makes the scores of {self.space.id!r} infinite")
        return NgramPosteriors(self.space.vocabulary, self.order, kind, self.ngrams, floats(value))


def unfold(space: Lattice | Forest, order: int = 4) -> Unfolded:
    """Return a space unfolded so that each n-gram of a sentence belongs to one edge.

    Cost: O(edges) times the contexts, or pairs of contexts, in which their parts can stand.
    """
    order = check_order(order)
    if isinstance(space, Lattice):
        size = space.num_arcs
    else:
        size = space.num_edges + len(space.tail) + len(space.symbol)
    most = max(4 * (size + order), MOST_EDGES)
    graph = _native.unfold(space.columns, order, most)
    if graph is None:
        context = "last" if isinstance(space, Lattice) else "outer"
        raise SpaceError(
            f"{space.kind} {space.id!r} has more than {most} edges when each node knows its "
            f"{context} {order - 1} words; prune it, or take n-grams of a lower order"
        )
    if isinstance(space, Lattice) and not graph.complete:
        raise explain_no_path(space)
    return Unfolded(space, order, graph)


@dataclass(frozen=True, eq=False)
class ListNgrams:
    """The n-grams of an n-best list."""

    space: NBest
    order: int
    ngrams: NgramTrie
    gram: IntColumn  # for each word of the list, the longest n-gram that ends with it

    @classmethod
    def of(cls, nbest: NBest, order: int) -> ListNgrams:
        """Return the n-grams of a list. Cost: O(its words)."""
        return cls(nbest, order, *_native.sentence_ngrams(nbest.label, nbest.offset, order))

    def posteriors(
        self, scale: float = 1.0, kind: str = PRESENCE, merge: str = SUM
    ) -> NgramPosteriors:
        """Return :func:`ngram_posteriors` of the list. Cost: O(words x order)."""
        nbest = self.space
        value = _native.sentence_ngram_values(
            self.ngrams, self.gram, nbest.offset, list_weights(nbest, scale, merge), kind == COUNT
        )
        return NgramPosteriors(nbest.vocabulary, self.order, kind, self.ngrams, floats(value))


def list_weights(nbest: NBest, scale: float = 1.0, merge: str = "sum") -> FloatColumn:
    """Return the probability of each entry: ``exp(scale * score)``, made to sum to one.

    Under ``max`` only the best entry of each sentence counts, the first of equals.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> some = [Hypothesis(("a",), 0.0), Hypothesis(("b",), 0.0), Hypothesis(("a",), 0.0)]
    >>> list_weights(NBest.from_hypotheses(some), merge="max").tolist()
    [0.5, 0.5, 0.0]
    """
    if not len(nbest):
        raise SpaceError(f"n-best list {nbest.id!r} is empty")
    if not np.isfinite(scale):
        raise OptionError(f"the scale is {scale}, expected a finite number")
    kept = _keep_best_of_each(nbest) if merge == MAX else slice(None)
    with np.errstate(over="ignore"):
        scores = scale * nbest.score[kept]
    if not np.isfinite(scores).all():
        raise OptionError(f"scale {scale} makes the scores of {nbest.id!r} infinite")
    exponentials = np.exp(scores - scores.max())
    weight = np.zeros(len(nbest))
    weight[kept] = exponentials / exponentials.sum()
    return floats(weight)


def _keep_best_of_each(nbest: NBest) -> Array:
    """Return the best entry of each sentence, in order."""
    best: dict[bytes, int] = {}
    bounds, scores = nbest.offset.tolist(), nbest.score.tolist()
    for entry, score in enumerate(scores):
        words = nbest.label[bounds[entry] : bounds[entry + 1]].tobytes()
        if score > scores[best.setdefault(words, entry)]:
            best[words] = entry
    return np.array(sorted(best.values()))
