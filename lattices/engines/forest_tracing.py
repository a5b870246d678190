"""The forest kernel's choice: of all the best derivations, the one that the tie rule wants.

It is the derivation with the highest model score, then with the smallest sentence, word by
word in the order of the strings, a sentence before its continuations, then with the smallest
edge numbers, from the top down.

Items are settled from the bottom up. Of two sentences of an item with the same score, the
smaller one stays the smaller whatever is put before and behind both; unless it is where the
other begins, since then the next word decides. So an item keeps a chain of candidates: the
smallest sentence, the smallest of those that continue it, and so on. Hardly any chain is
longer than one. Derivations need no chains: none begins with the whole of another.
"""

from __future__ import annotations

import numpy as np

from lattices.arrays import inlined, kernel
from lattices.engines.forest_tight import (
    BEGIN,
    DONE,
    EDGE,
    END,
    FROM,
    JOB_FIELDS,
    LEVEL,
    LINK_FIELDS,
    NONE,
    STATE,
    TO,
    WHAT,
    WORD,
    room,
)
from lattices.engines.tracing import path_hash

# what becomes of a candidate
DROP, INSERT, CUT, SAME = range(4)
# fields of a candidate: where its sentence and its edges begin, how many they are, and the
# next in its chain
TEXT, WORDS, STEPS, EDGES, NEXT = range(5)
FIELDS = 5


@kernel
def _sequence_order(left, begin_left, count_left, right, begin_right, count_right, rank):  # type: ignore[no-untyped-def]
    """Compare two sequences: -2 and 2 at a difference, -1 and 1 if one begins the other, or 0.

    Negative if the left one is smaller. Numbers are compared by ``rank``, if there is one.
    """
    for index in range(min(count_left, count_right)):
        one, other = left[begin_left + index], right[begin_right + index]
        if one != other:
            if len(rank) > 0:
                return -2 if rank[one] < rank[other] else 2
            return -2 if one < other else 2
    if count_left != count_right:
        return -1 if count_left < count_right else 1
    return 0


@kernel
def _place(first, new, worth, fields, text, rank):  # type: ignore[no-untyped-def]
    """Return what becomes of a new member of a chain, with its neighbours there.

    ``INSERT`` it between the two, ``CUT`` all behind the first, ``DROP`` it, or compare it
    with the second one, which is the ``SAME`` sentence.
    """
    before, after = NONE, first
    if first == NONE:
        return INSERT, before, after
    if worth[new] != worth[first]:
        return (CUT if worth[new] > worth[first] else DROP), before, after
    while after != NONE:
        order = _sequence_order(
            text, fields[after * FIELDS + TEXT], fields[after * FIELDS + WORDS],
            text, fields[new * FIELDS + TEXT], fields[new * FIELDS + WORDS], rank,
        )  # fmt: skip
        if order == -1:
            before, after = after, fields[after * FIELDS + NEXT]
        elif order == 0:
            return SAME, before, after
        elif order == 1:
            return INSERT, before, after
        else:
            return (CUT if order == 2 else DROP), before, after
    return INSERT, before, after


@inlined
def _link(heads, key, before, after, new, choice, fields):  # type: ignore[no-untyped-def]
    """Put a new member into its chain."""
    if before == NONE:
        heads[key] = new
    else:
        fields[before * FIELDS + NEXT] = new
    rest = NONE
    if choice == INSERT:
        rest = after
    elif choice == SAME:
        rest = fields[after * FIELDS + NEXT]
    fields[new * FIELDS + NEXT] = rest


@kernel
def _is_known(first, score, mark, worth, marks, fields):  # type: ignore[no-untyped-def]
    """Tell whether a chain is better than ``score``, or has the same derivation already."""
    if first == NONE or worth[first] < score:
        return False
    if worth[first] > score:
        return True
    while first != NONE:
        if marks[first] == mark:
            return True
        first = fields[first * FIELDS + NEXT]
    return False


@kernel
def choose_derivation(  # type: ignore[no-untyped-def]
    jobs, links, items, score, tail_offset, symbol, symbol_offset, size, stride, rank
):
    """Return the chosen derivation of the root, as edges from the top down, and its score."""
    no_rank = rank[:0]
    widest = longest = 0
    for edge in range(len(score)):
        widest = max(widest, tail_offset[edge + 1] - tail_offset[edge])
        longest = max(longest, symbol_offset[edge + 1] - symbol_offset[edge])
    widest = max(widest, 1)
    # candidates of items, their sentences and their edges
    chain = np.full(items, NONE, np.int32)
    worth, marks = np.empty(64), np.empty(64, np.uint64)
    fields = np.empty(64 * FIELDS, np.int64)
    text, steps = np.empty(512, np.int32), np.empty(512, np.int32)
    made = texted = stepped = 0
    # drafts of the job at hand, and the candidates of the tails that each has so far
    heads = np.empty((longest + 1) * size, np.int32)
    draft_worth, draft_marks = np.empty(64), np.empty(64, np.uint64)
    draft_fields = np.empty(64 * FIELDS, np.int64)
    draft_text = np.empty(512, np.int32)
    children = np.empty(64 * widest, np.int32)
    for job in range(len(jobs) // JOB_FIELDS - 1, -1, -1):
        edge = jobs[job * JOB_FIELDS + EDGE]
        state = jobs[job * JOB_FIELDS + STATE]
        first = symbol_offset[edge]
        levels = symbol_offset[edge + 1] - first + 1
        heads[: levels * size] = NONE
        heads[state] = heads[state % stride] = 0
        draft_worth[0], draft_marks[0] = score[edge], np.uint64(edge)
        draft_fields[:FIELDS] = 0
        draft_fields[NEXT] = NONE
        children[:widest] = NONE
        drafts, drafted = 1, 0
        begin, link = jobs[job * JOB_FIELDS + BEGIN], jobs[job * JOB_FIELDS + END]
        while link > begin:
            link -= LINK_FIELDS
            level, what = links[link + LEVEL], links[link + WHAT]
            draft = heads[(level - 1) * size + links[link + FROM]]
            while draft != NONE:
                words = draft_fields[draft * FIELDS + WORDS]
                begin_text = draft_fields[draft * FIELDS + TEXT]
                if what == DONE:
                    item = links[link + TO]
                    total, mark = draft_worth[draft], path_hash(edge, draft_marks[draft])
                    if not _is_known(chain[item], total, mark, worth, marks, fields):
                        count = 1
                        for slot in range(tail_offset[edge + 1] - tail_offset[edge]):
                            count += fields[children[draft * widest + slot] * FIELDS + EDGES]
                        if texted + words > len(text):
                            text = room(text, texted + words)
                        if stepped + count > len(steps):
                            steps = room(steps, stepped + count)
                        if made == len(worth):
                            worth, marks = room(worth, made + 1), room(marks, made + 1)
                            fields = room(fields, FIELDS * len(worth))
                        text[texted : texted + words] = draft_text[begin_text : begin_text + words]
                        steps[stepped] = edge
                        filled = stepped + 1
                        for slot in range(tail_offset[edge + 1] - tail_offset[edge]):
                            child = children[draft * widest + slot] * FIELDS
                            for step in range(fields[child + EDGES]):
                                steps[filled] = steps[fields[child + STEPS] + step]
                                filled += 1
                        worth[made], marks[made] = total, mark
                        fields[made * FIELDS + TEXT] = texted
                        fields[made * FIELDS + WORDS] = words
                        fields[made * FIELDS + STEPS] = stepped
                        fields[made * FIELDS + EDGES] = count
                        choice, before, after = _place(chain[item], made, worth, fields, text, rank)
                        if choice == SAME:
                            there = after * FIELDS
                            order = _sequence_order(
                                steps, stepped, count,
                                steps, fields[there + STEPS], fields[there + EDGES], no_rank,
                            )  # fmt: skip
                            if order > 0:
                                choice = DROP
                        if choice != DROP:
                            _link(chain, item, before, after, made, choice, fields)
                            made += 1
                            texted += words
                            stepped += count
                    draft = draft_fields[draft * FIELDS + NEXT]
                    continue
                key = level * size + links[link + TO]
                child = NONE if what == WORD else chain[what]
                while what == WORD or child != NONE:
                    total, mark = draft_worth[draft], draft_marks[draft]
                    more = 1
                    if what != WORD:
                        total += worth[child]
                        mark = path_hash(links[link + LEVEL], mark ^ marks[child])
                        more = fields[child * FIELDS + WORDS]
                    if not _is_known(
                        heads[key], total, mark, draft_worth, draft_marks, draft_fields
                    ):
                        if drafted + words + more > len(draft_text):
                            draft_text = room(draft_text, drafted + words + more)
                        if drafts == len(draft_worth):
                            draft_worth = room(draft_worth, drafts + 1)
                            draft_marks = room(draft_marks, drafts + 1)
                            draft_fields = room(draft_fields, FIELDS * len(draft_worth))
                            children = room(children, widest * len(draft_worth))
                        for index in range(words):
                            draft_text[drafted + index] = draft_text[begin_text + index]
                        for slot in range(widest):
                            children[drafts * widest + slot] = children[draft * widest + slot]
                        if what == WORD:
                            draft_text[drafted + words] = symbol[first + level - 1]
                        else:
                            begin_more = fields[child * FIELDS + TEXT]
                            for index in range(more):
                                draft_text[drafted + words + index] = text[begin_more + index]
                            children[drafts * widest - 1 - symbol[first + level - 1]] = child
                        draft_worth[drafts], draft_marks[drafts] = total, mark
                        draft_fields[drafts * FIELDS + TEXT] = drafted
                        draft_fields[drafts * FIELDS + WORDS] = words + more
                        choice, before, after = _place(
                            heads[key], drafts, draft_worth, draft_fields, draft_text, rank
                        )
                        if choice == SAME:
                            # the first tail whose derivations differ decides
                            for slot in range(widest):
                                one = children[drafts * widest + slot] * FIELDS
                                other = children[after * widest + slot] * FIELDS
                                if one == other:
                                    continue
                                order = _sequence_order(
                                    steps, fields[one + STEPS], fields[one + EDGES],
                                    steps, fields[other + STEPS], fields[other + EDGES], no_rank,
                                )  # fmt: skip
                                if order != 0:
                                    if order > 0:
                                        choice = DROP
                                    break
                        if choice != DROP:
                            _link(heads, key, before, after, drafts, choice, draft_fields)
                            drafts += 1
                            drafted += words + more
                    if what == WORD:
                        break
                    child = fields[child * FIELDS + NEXT]
                draft = draft_fields[draft * FIELDS + NEXT]
    chosen = chain[0] * FIELDS
    begin = fields[chosen + STEPS]
    return steps[begin : begin + fields[chosen + EDGES]], worth[chain[0]]
