"""The n-grams of n-best lists."""

from __future__ import annotations

import numpy as np

from lattices.algorithms.ngram_tables import COUNT, MAX, NgramPosteriors
from lattices.algorithms.ngram_trie import LENGTH, SUFFIX, Ngrams, extended, grown_trie, new_trie
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints, kernel
from lattices.errors import OptionError, SpaceError
from lattices.spaces import NBest


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
    kept = _best_of_each(nbest) if merge == MAX else slice(None)
    with np.errstate(over="ignore"):
        scores = scale * nbest.score[kept]
    if not np.isfinite(scores).all():
        raise OptionError(f"scale {scale} makes the scores of {nbest.id!r} infinite")
    exponentials = np.exp(scores - scores.max())
    weight = np.zeros(len(nbest))
    weight[kept] = exponentials / exponentials.sum()
    return floats(weight)


def _best_of_each(nbest: NBest) -> Array:
    """Return the best entry of each sentence, in order."""
    best: dict[bytes, int] = {}
    bounds, scores = nbest.offset.tolist(), nbest.score.tolist()
    for entry, score in enumerate(scores):
        words = nbest.label[bounds[entry] : bounds[entry + 1]].tobytes()
        if score > scores[best.setdefault(words, entry)]:
            best[words] = entry
    return np.array(sorted(best.values()))


def list_ngrams(nbest: NBest, order: int) -> tuple[Ngrams, IntColumn]:
    """Return the n-grams of a list, and for each of its words the longest that ends there.

    Cost: O(words of the list).
    """
    row, table, gram = _listed(nbest.label, nbest.offset, order)
    return Ngrams.of(row, table), ints(gram)


def list_ngram_posteriors(
    nbest: NBest,
    order: int = 4,
    scale: float = 1.0,
    kind: str = "presence",
    merge: str = "sum",
    ngrams: tuple[Ngrams, IntColumn] | None = None,
) -> NgramPosteriors:
    """Return :func:`~lattices.ngram_posteriors` of a list. Cost: O(words x order).

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> some = [Hypothesis(("a", "a"), 0.0), Hypothesis(("b",), 0.0)]
    >>> nbest = NBest.from_hypotheses(some)
    >>> list_ngram_posteriors(nbest)["a"], list_ngram_posteriors(nbest, kind="count")["a"]
    (0.5, 1.0)
    """
    weight = list_weights(nbest, scale, merge)
    table, gram = list_ngrams(nbest, order) if ngrams is None else ngrams
    value = _expected(nbest.offset, gram, table.row, weight, kind == COUNT)
    return NgramPosteriors(nbest.vocabulary, order, kind, table, floats(value))


@kernel
def _listed(label, offset, order):  # type: ignore[no-untyped-def]
    row, table = new_trie(64)
    grams = 1
    gram = np.empty(len(label), np.int32)
    for entry in range(len(offset) - 1):
        context = np.int32(0)
        for place in range(offset[entry], offset[entry + 1]):
            if grams + order >= len(row):
                row, table = grown_trie(row, table)
            found, grams = extended(row, table, grams, context, label[place])
            gram[place] = found
            context = row[found, SUFFIX] if row[found, LENGTH] == order else found
    return row[:grams].copy(), table, gram


@kernel
def _expected(offset, gram, row, weight, every):  # type: ignore[no-untyped-def]
    """Return the sum of the weights of the entries that have each n-gram, once or every time."""
    value = np.zeros(len(row))
    last = np.full(len(row), -1, np.int64)
    for entry in range(len(offset) - 1):
        for place in range(offset[entry], offset[entry + 1]):
            ending = gram[place]
            while ending > 0:
                if every or last[ending] != entry:
                    value[ending] += weight[entry]
                    last[ending] = entry
                ending = row[ending, SUFFIX]
    if not every:
        for number in range(len(row)):
            value[number] = min(value[number], 1.0)
    return value
