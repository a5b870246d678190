"""Derivations as shared trees, and which of two comes first.

A tree is the beginning of an edge's target side, and of one that is finished what the edge
derives. It is made of a shorter beginning and one symbol more, a word or the tree of a tail,
so that making it takes the same time however much is below it. Equal trees are made once, as
far as a table of recent ones remembers; and each has three numbers that stand for the whole:

- how many words it has, and a polynomial of them modulo a prime of 61 bits (Karp and Rabin
  1987), by which equal sentences are known to be equal without reading them;
- a hash of its edges, by which equal derivations are.

Two sentences that differ are read from the left, over all that is equal, down to their first
difference. What was found out on the way is remembered for the trees that were passed, hence
a comparison does not go all the way down again when both have grown.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel
from lattices.engines.tracing import path_hash

NONE = -1
# fields of a tree: its edge, the tree of one symbol less, the last symbol (a tree, or
# ``-1 - word``), and how many words there are
EDGE, SHORTER, LAST, WORDS = range(4)
TREE_FIELDS = 4
# what stands for a tree: its words as a polynomial, the power by which that of words before
# it is to be multiplied, and the hash of its edges
TEXT, POWER, MARK = range(3)
DIGEST_FIELDS = 3

_PRIME = np.uint64(2**61 - 1)
_BASE = np.uint64(0x0C6BC279692B5CC3)
_LOW31 = np.uint64(2**31 - 1)
_LOW30 = np.uint64(2**30 - 1)
_ONE, _THIRTY, _THIRTY_ONE, _SIXTY_ONE = (np.uint64(bits) for bits in (1, 30, 31, 61))


@kernel
def _times(left, right):  # type: ignore[no-untyped-def]
    """Return the product of two numbers modulo the prime."""
    left_high, left_low = left >> _THIRTY_ONE, left & _LOW31
    right_high, right_low = right >> _THIRTY_ONE, right & _LOW31
    middle = left_low * right_high + left_high * right_low
    product = (left_high * right_high << _ONE) + (middle >> _THIRTY)
    product += ((middle & _LOW30) << _THIRTY_ONE) + left_low * right_low
    product = (product & _PRIME) + (product >> _SIXTY_ONE)
    return product - _PRIME if product >= _PRIME else product


@kernel
def _words_of(element, tree):  # type: ignore[no-untyped-def]
    return 1 if element < 0 else tree[element * TREE_FIELDS + WORDS]


@kernel
def _text_of(element, digest):  # type: ignore[no-untyped-def]
    return np.uint64(-1 - element) if element < 0 else digest[element * DIGEST_FIELDS + TEXT]


@kernel
def plant(edge, score, new, tree, digest, worth):  # type: ignore[no-untyped-def]
    """Make the tree of an edge of which nothing is read yet."""
    tree[new * TREE_FIELDS + EDGE] = edge
    tree[new * TREE_FIELDS + SHORTER] = tree[new * TREE_FIELDS + LAST] = NONE
    tree[new * TREE_FIELDS + WORDS] = 0
    digest[new * DIGEST_FIELDS + TEXT] = np.uint64(0)
    digest[new * DIGEST_FIELDS + POWER] = _ONE
    digest[new * DIGEST_FIELDS + MARK] = path_hash(edge, np.uint64(0))
    worth[new] = score


@kernel
def grow(shorter, last, new, tree, digest, worth):  # type: ignore[no-untyped-def]
    """Make the tree of one symbol more."""
    there, here = shorter * TREE_FIELDS, new * TREE_FIELDS
    tree[here + EDGE] = tree[there + EDGE]
    tree[here + SHORTER], tree[here + LAST] = shorter, last
    tree[here + WORDS] = tree[there + WORDS] + _words_of(last, tree)
    before, after = shorter * DIGEST_FIELDS, new * DIGEST_FIELDS
    power = _BASE if last < 0 else digest[last * DIGEST_FIELDS + POWER]
    text = _times(digest[before + TEXT], power) + _text_of(last, digest)
    digest[after + TEXT] = text - _PRIME if text >= _PRIME else text
    digest[after + POWER] = _times(digest[before + POWER], power)
    mark = digest[before + MARK]
    worth[new] = worth[shorter]
    if last >= 0:
        mark = path_hash(0, path_hash(1, mark) ^ digest[last * DIGEST_FIELDS + MARK])
        worth[new] = worth[shorter] + worth[last]
    digest[after + MARK] = mark


@kernel
def cache_slot(left, right, cache):  # type: ignore[no-untyped-def]
    """Return where a table of recent pairs, of a power of two entries, would have this one."""
    mixed = path_hash(right, np.uint64(left) * np.uint64(0xBF58476D1CE4E5B9))
    return np.int64(mixed & np.uint64(len(cache) - 1))


@kernel
def _pair(left, right):  # type: ignore[no-untyped-def]
    """Return two trees as one number."""
    return (np.int64(left) << 32) | np.int64(right)


@kernel
def _recalled(left, right, pairs, orders):  # type: ignore[no-untyped-def]
    """Return the order of two trees that was put down last, or 3 if it is forgotten."""
    slot = cache_slot(left, right, pairs)
    return orders[slot] if pairs[slot] == _pair(left, right) else 3


@kernel
def _put_down(left, right, order, pairs, orders):  # type: ignore[no-untyped-def]
    slot = cache_slot(left, right, pairs)
    pairs[slot], orders[slot] = _pair(left, right), order


@kernel
def _pushed(stack, height, element, tree):  # type: ignore[no-untyped-def]
    """Put the parts of a tree on a stack, the first on top."""
    if height + 2 > len(stack):
        higher = np.empty(2 * len(stack), np.int64)
        higher[:height] = stack[:height]
        stack = higher
    if tree[element * TREE_FIELDS + SHORTER] != NONE:
        stack[height] = tree[element * TREE_FIELDS + LAST]
        stack[height + 1] = tree[element * TREE_FIELDS + SHORTER]
        height += 2
    return stack, height


@kernel
def text_order(left, right, tree, digest, rank, pairs, orders):  # type: ignore[no-untyped-def]
    """Compare two sentences: -2 and 2 at a difference, -1 and 1 if one begins the other, or 0.

    Negative if the left one is smaller. Words are compared by ``rank``.
    """
    known = _recalled(left, right, pairs, orders)
    if known != 3:
        return known
    one, other = np.empty(64, np.int64), np.empty(64, np.int64)
    one[0], other[0] = left, right
    height, other_height = 1, 1
    # trees passed at the same word, and the word up to which both of them reach
    passed = np.empty(3 * 64, np.int64)
    count = 0
    word = reach = 0
    order = 0
    while height > 0 and other_height > 0:
        here, there = one[height - 1], other[other_height - 1]
        words, other_words = _words_of(here, tree), _words_of(there, tree)
        if words == 0:
            height -= 1
            continue
        if other_words == 0:
            other_height -= 1
            continue
        if here == there or (
            words == other_words and _text_of(here, digest) == _text_of(there, digest)
        ):
            height -= 1
            other_height -= 1
            word += words
            continue
        if here < 0 and there < 0:
            order = -2 if rank[-1 - here] < rank[-1 - there] else 2
            reach = word + 1
            break
        if here >= 0 and there >= 0:
            known = _recalled(here, there, pairs, orders)
            if known == 2 or known == -2:
                order = known
                reach = word + min(words, other_words)
                break
            if 3 * (count + 1) > len(passed):
                longer = np.empty(2 * len(passed), np.int64)
                longer[: 3 * count] = passed[: 3 * count]
                passed = longer
            passed[3 * count], passed[3 * count + 1] = here, there
            passed[3 * count + 2] = word + min(words, other_words)
            count += 1
        if here >= 0 and (words >= other_words or there < 0):
            one, height = _pushed(one, height - 1, here, tree)
        else:
            other, other_height = _pushed(other, other_height - 1, there, tree)
    if order == 0:
        while height > 0 and _words_of(one[height - 1], tree) == 0:
            height -= 1
        while other_height > 0 and _words_of(other[other_height - 1], tree) == 0:
            other_height -= 1
        order = (1 if height > 0 else 0) - (1 if other_height > 0 else 0)
    else:
        # trees differ inside if both reach as far as the words in which the difference is
        for index in range(count):
            if passed[3 * index + 2] >= reach:
                _put_down(passed[3 * index], passed[3 * index + 1], order, pairs, orders)
    _put_down(left, right, order, pairs, orders)
    return order


@kernel
def _tail_of(element, slot, place, tree, symbol):  # type: ignore[no-untyped-def]
    """Return the tree of a tail, or NONE; ``place`` is that of the last symbol that is read."""
    while tree[element * TREE_FIELDS + SHORTER] != NONE:
        if symbol[place] == -1 - slot:
            return tree[element * TREE_FIELDS + LAST]
        element = tree[element * TREE_FIELDS + SHORTER]
        place -= 1
    return NONE


@kernel
def _last_place(element, tree, symbol_offset):  # type: ignore[no-untyped-def]
    """Return the place of the last symbol that a tree has read."""
    place = symbol_offset[tree[element * TREE_FIELDS + EDGE]] - 1
    while tree[element * TREE_FIELDS + SHORTER] != NONE:
        element = tree[element * TREE_FIELDS + SHORTER]
        place += 1
    return place


@kernel
def derivation_order(  # type: ignore[no-untyped-def]
    left, right, tree, digest, symbol, symbol_offset, tail_offset, pairs, orders
):
    """Compare the edges of two trees of one node from the top down; negative if left is smaller.

    Of one edge, both have read as many symbols.
    """
    one, other = left, right
    order = 0
    while order == 0 and one != other:
        if digest[one * DIGEST_FIELDS + MARK] == digest[other * DIGEST_FIELDS + MARK]:
            break
        known = _recalled(one, other, pairs, orders)
        if known != 3:
            order = known
            break
        edge, other_edge = tree[one * TREE_FIELDS + EDGE], tree[other * TREE_FIELDS + EDGE]
        if edge != other_edge:
            order = -2 if edge < other_edge else 2
            break
        place = _last_place(one, tree, symbol_offset)
        for slot in range(tail_offset[edge + 1] - tail_offset[edge]):
            below = _tail_of(one, slot, place, tree, symbol)
            other_below = _tail_of(other, slot, place, tree, symbol)
            if below in (NONE, other_below):
                continue
            if digest[below * DIGEST_FIELDS + MARK] != digest[other_below * DIGEST_FIELDS + MARK]:
                one, other = below, other_below
                break
    _put_down(left, right, order, pairs, orders)
    return order


@kernel
def edges_of(top, tree, symbol, symbol_offset, tail_offset):  # type: ignore[no-untyped-def]
    """Return the edges of a derivation, from the top down."""
    edges, waiting = np.empty(64, np.int32), np.empty(64, np.int64)
    waiting[0] = top
    height, count = 1, 0
    while height > 0:
        height -= 1
        element = waiting[height]
        edge = tree[element * TREE_FIELDS + EDGE]
        tails = tail_offset[edge + 1] - tail_offset[edge]
        if count == len(edges):
            longer = np.empty(2 * count, np.int32)
            longer[:count] = edges
            edges = longer
        edges[count] = edge
        count += 1
        if height + tails > len(waiting):
            higher = np.empty(2 * (height + tails), np.int64)
            higher[:height] = waiting[:height]
            waiting = higher
        place = symbol_offset[edge + 1] - 1
        while tree[element * TREE_FIELDS + SHORTER] != NONE:
            if symbol[place] < 0:
                waiting[height + tails + symbol[place]] = tree[element * TREE_FIELDS + LAST]
            element = tree[element * TREE_FIELDS + SHORTER]
            place -= 1
        height += tails
    return edges[:count]
