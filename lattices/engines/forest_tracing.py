"""The forest kernel's choice: of all the best derivations, the one that the tie rule wants.

It is the derivation with the highest model score, then with the smallest sentence, word by
word in the order of the strings, a sentence before its continuations, then with the smallest
edge numbers, from the top down.

Items are settled from the bottom up. Of two sentences of an item with the same score, the
smaller one stays the smaller whatever is put before and behind both; unless it is where the
other begins, since then the next word decides. So an item keeps a chain of candidates: the
smallest sentence, the smallest of those that continue it, and so on. Hardly any chain is
longer than one. Derivations need no chains: none begins with the whole of another.

Candidates are the trees of :mod:`.forest_order`. Where much is tied, most links lead to
trees that are known already, and cost a look into a table.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import kernel
from lattices.engines.forest_order import (
    DIGEST_FIELDS,
    LAST,
    MARK,
    NONE,
    SHORTER,
    TREE_FIELDS,
    cache_slot,
    derivation_order,
    edges_of,
    grow,
    plant,
    text_order,
)
from lattices.engines.forest_tight import (
    BEGIN,
    DONE,
    EDGE,
    END,
    FROM,
    JOB_FIELDS,
    LEVEL,
    LINK_FIELDS,
    STATE,
    TO,
    WHAT,
    WORD,
    room,
)

# a member of a chain: its tree, and the next member
WHO, NEXT = range(2)
MEMBER_FIELDS = 2
#: entries of the tables of recent comparisons
_COMPARISONS = 2**12
#: entries of the table of recent trees: as many as there are jobs, but within these
_FEWEST_TREES, _MOST_TREES = 2**8, 2**20


@kernel
def _offer(  # type: ignore[no-untyped-def]
    heads, key, new, members, filled, tree, digest, worth, rank,
    symbol, symbol_offset, tail_offset, texts, text_orders, derivations, derivation_orders,
):  # fmt: skip
    """Put a tree into the chain of a key if it belongs there; return how many members are filled.

    There has to be room for one member.
    """
    before, after = NONE, heads[key]
    rest = NONE
    if after != NONE:
        first = members[after * MEMBER_FIELDS + WHO]
        if first == new or worth[first] > worth[new]:
            return filled
        if worth[first] < worth[new]:
            after = NONE
    while after != NONE:
        other = members[after * MEMBER_FIELDS + WHO]
        if digest[other * DIGEST_FIELDS + MARK] == digest[new * DIGEST_FIELDS + MARK]:
            return filled
        order = text_order(other, new, tree, digest, rank, texts, text_orders)
        if order == -2:
            return filled
        if order == -1:
            before, after = after, members[after * MEMBER_FIELDS + NEXT]
            continue
        if order == 0:
            order = derivation_order(
                other, new, tree, digest, symbol, symbol_offset, tail_offset,
                derivations, derivation_orders,
            )  # fmt: skip
            if order <= 0:
                return filled
            rest = members[after * MEMBER_FIELDS + NEXT]
        elif order == 1:
            rest = after
        break
    members[filled * MEMBER_FIELDS + WHO] = new
    members[filled * MEMBER_FIELDS + NEXT] = rest
    if before == NONE:
        heads[key] = filled
    else:
        members[before * MEMBER_FIELDS + NEXT] = filled
    return filled + 1


@kernel
def _power_of_two(least):  # type: ignore[no-untyped-def]
    size = 1
    while size < least:
        size *= 2
    return size


@kernel
def choose_derivation(  # type: ignore[no-untyped-def]
    jobs, links, items, score, tail_offset, symbol, symbol_offset, size, stride, rank
):
    """Return the chosen derivation of the root, as edges from the top down, and its score."""
    longest = 0
    for edge in range(len(score)):
        longest = max(longest, symbol_offset[edge + 1] - symbol_offset[edge])
    count = len(jobs) // JOB_FIELDS
    recent = np.full(_power_of_two(min(max(4 * count, _FEWEST_TREES), _MOST_TREES)), NONE, np.int32)
    texts, text_orders = np.full(_COMPARISONS, NONE, np.int64), np.empty(_COMPARISONS, np.int8)
    derivations = np.full(_COMPARISONS, NONE, np.int64)
    derivation_orders = np.empty(_COMPARISONS, np.int8)
    tree = np.empty(256 * TREE_FIELDS, np.int64)
    digest = np.empty(256 * DIGEST_FIELDS, np.uint64)
    worth = np.empty(256)
    planted = np.full(len(score), NONE, np.int32)
    trees = 0
    # the chains of items, and of the states after each symbol of the job at hand
    chain = np.full(items, NONE, np.int32)
    members = np.empty(256 * MEMBER_FIELDS, np.int32)
    filled = 0
    heads = np.empty((longest + 1) * size, np.int32)
    drafts = np.empty(256 * MEMBER_FIELDS, np.int32)
    for job in range(count - 1, -1, -1):
        edge = jobs[job * JOB_FIELDS + EDGE]
        state = jobs[job * JOB_FIELDS + STATE]
        first = symbol_offset[edge]
        levels = symbol_offset[edge + 1] - first + 1
        if planted[edge] == NONE:
            if trees == len(worth):
                worth = room(worth, trees + 1)
                tree = room(tree, TREE_FIELDS * len(worth))
                digest = room(digest, DIGEST_FIELDS * len(worth))
            plant(edge, score[edge], trees, tree, digest, worth)
            planted[edge] = trees
            trees += 1
        heads[: levels * size] = NONE
        heads[state] = heads[state % stride] = 0
        drafts[WHO], drafts[NEXT] = planted[edge], NONE
        drafted = 1
        begin, link = jobs[job * JOB_FIELDS + BEGIN], jobs[job * JOB_FIELDS + END]
        while link > begin:
            link -= LINK_FIELDS
            level, what = links[link + LEVEL], links[link + WHAT]
            draft = heads[(level - 1) * size + links[link + FROM]]
            while draft != NONE:
                shorter = drafts[draft * MEMBER_FIELDS + WHO]
                draft = drafts[draft * MEMBER_FIELDS + NEXT]
                if what == DONE:
                    if MEMBER_FIELDS * (filled + 1) > len(members):
                        members = room(members, MEMBER_FIELDS * (filled + 1))
                    filled = _offer(
                        chain, links[link + TO], shorter, members, filled,
                        tree, digest, worth, rank, symbol, symbol_offset, tail_offset,
                        texts, text_orders, derivations, derivation_orders,
                    )  # fmt: skip
                    continue
                key = level * size + links[link + TO]
                member = NONE if what == WORD else chain[what]
                while what == WORD or member != NONE:
                    last = -1 - np.int64(symbol[first + level - 1])
                    if what != WORD:
                        last = np.int64(members[member * MEMBER_FIELDS + WHO])
                        member = members[member * MEMBER_FIELDS + NEXT]
                    slot = cache_slot(shorter, last, recent)
                    grown = recent[slot]
                    if (
                        grown == NONE
                        or tree[grown * TREE_FIELDS + SHORTER] != shorter
                        or tree[grown * TREE_FIELDS + LAST] != last
                    ):
                        if trees == len(worth):
                            worth = room(worth, trees + 1)
                            tree = room(tree, TREE_FIELDS * len(worth))
                            digest = room(digest, DIGEST_FIELDS * len(worth))
                        grown = trees
                        grow(shorter, last, grown, tree, digest, worth)
                        recent[slot] = grown
                        trees += 1
                    if MEMBER_FIELDS * (drafted + 1) > len(drafts):
                        drafts = room(drafts, MEMBER_FIELDS * (drafted + 1))
                    drafted = _offer(
                        heads, key, grown, drafts, drafted,
                        tree, digest, worth, rank, symbol, symbol_offset, tail_offset,
                        texts, text_orders, derivations, derivation_orders,
                    )  # fmt: skip
                    if what == WORD:
                        break
    chosen = members[chain[0] * MEMBER_FIELDS + WHO]
    return edges_of(chosen, tree, symbol, symbol_offset, tail_offset), worth[chosen]
