"""How probable each n-gram is under a lattice, a forest or a list: exactly."""

from __future__ import annotations

import numpy as np

from lattices.algorithms.forest_ngram_posteriors import forest_ngram_posteriors
from lattices.algorithms.forest_to_lattice import forest_to_lattice
from lattices.algorithms.inside_outside import outside
from lattices.algorithms.ngram_contexts import ContextLattice, checked_order, context_lattice
from lattices.algorithms.ngram_lists import list_ngram_posteriors
from lattices.algorithms.ngram_tables import COUNT, MAX, NgramPosteriors, check_kinds
from lattices.algorithms.ngram_trie import SUFFIX
from lattices.algorithms.openfst_operations import determinize
from lattices.algorithms.paths import no_complete_path
from lattices.arrays import FloatColumn, floats, kernel
from lattices.errors import OptionError
from lattices.semirings import LOG
from lattices.spaces import Forest, Lattice, NBest, Space

#: reachability is not tabulated for more states: the table has a bit for each pair of them
MOST_TABULATED_STATES = 20_000


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

    Both are exact. The lattice is unfolded to contexts of ``order - 1`` words
    (:func:`~lattices.algorithms.ngram_contexts.context_lattice`), and one forward pass of
    probabilities gives all counts. Presence equals count for every n-gram that no path has
    twice, which the reachability of its arcs tells; for each of the others one more pass
    follows the probability of having seen it. Cost: O(unfolded arcs x (1 + n-grams that may
    repeat)); a forest is unfolded to items of first and last words, and a list is read once.

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
    """
    check_kinds(kind, merge)
    order = checked_order(order)
    if isinstance(space, NBest):
        return list_ngram_posteriors(space, order, scale, kind, merge)
    if merge == MAX:
        space = merged_by_best(space)
    if isinstance(space, Forest):
        return forest_ngram_posteriors(space, order, scale, kind)
    return context_posteriors(context_lattice(space, order), scale, kind)


def merged_by_best(space: Lattice | Forest) -> Lattice:
    """Return a lattice that has each sentence once, with the score of its best path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "a", -2.0)], finals=[1])
    >>> [path.score for path in merged_by_best(lattice).paths()]
    [-1.0]
    """
    lattice = forest_to_lattice(space) if isinstance(space, Forest) else space
    return determinize(lattice, drop_features=True)


def context_posteriors(
    unfolded: ContextLattice, scale: float = 1.0, kind: str = "presence"
) -> NgramPosteriors:
    """Return :func:`ngram_posteriors` of a lattice that is unfolded already."""
    lattice = unfolded.lattice
    share = arc_shares(lattice, scale)
    columns = (unfolded.src, unfolded.dst, unfolded.arc, unfolded.gram)
    forward, value = _counts(*columns, len(unfolded.state), share, unfolded.ngrams.row)
    if kind != COUNT:
        tabulated = lattice.num_states <= MOST_TABULATED_STATES
        _correct_for_repeats(
            *columns,
            unfolded.out_offset,
            unfolded.ngrams.row,
            share,
            forward,
            lattice.src,
            lattice.dst,
            lattice.out_offset,
            tabulated,
            value,
        )
    return NgramPosteriors(lattice.vocabulary, unfolded.order, kind, unfolded.ngrams, floats(value))


def arc_shares(lattice: Lattice, scale: float = 1.0) -> FloatColumn:
    """Return the probability of each arc where its source is passed; 0 on no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "c")], finals=[2])
    >>> arc_shares(lattice).round(4).tolist()
    [0.5, 0.5, 1.0]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        backward = outside(lattice, LOG, scale)
        weight = LOG.weights(lattice.score, scale)
    whole = backward[lattice.start]
    if not np.isfinite(whole):
        if outside(lattice, LOG, 0.0)[lattice.start] == -np.inf:
            raise no_complete_path(lattice)
        raise OptionError(f"scale {scale} makes the scores of {lattice.id!r} infinite")
    return floats(_shares(lattice.src, lattice.dst, weight, backward))


@kernel
def _shares(src, dst, weight, backward):  # type: ignore[no-untyped-def]
    share = np.zeros(len(src))
    for arc in range(len(src)):
        if backward[dst[arc]] > -np.inf:
            share[arc] = np.exp(weight[arc] + backward[dst[arc]] - backward[src[arc]])
    return share


@kernel
def _counts(src, dst, arc, gram, states, share, row):  # type: ignore[no-untyped-def]
    """Return the probability of each unfolded state, and the expected count of each n-gram."""
    forward = np.zeros(states)
    forward[0] = 1.0
    count = np.zeros(len(row))
    for step in range(len(src)):
        mass = forward[src[step]] * share[arc[step]]
        forward[dst[step]] += mass
        ending = gram[step]
        while ending > 0:
            count[ending] += mass
            ending = row[ending, SUFFIX]
    return forward, count


@kernel
def _ending_arcs(gram, row):  # type: ignore[no-untyped-def]
    """Return the unfolded arcs on which each n-gram ends, and where those of each begin."""
    offset = np.zeros(len(row) + 1, np.int64)
    for step in range(len(gram)):
        ending = gram[step]
        while ending > 0:
            offset[ending + 1] += 1
            ending = row[ending, SUFFIX]
    for number in range(len(row)):
        offset[number + 1] += offset[number]
    place = offset[:-1].copy()
    steps = np.empty(offset[-1], np.int32)
    for step in range(len(gram)):
        ending = gram[step]
        while ending > 0:
            steps[place[ending]] = step
            place[ending] += 1
            ending = row[ending, SUFFIX]
    return steps, offset


@kernel
def _reachable(dst, out_offset):  # type: ignore[no-untyped-def]
    """Return, for every state of a lattice, the set of states that it leads to, as bits."""
    states = len(out_offset) - 1
    bits = np.zeros((states, (states + 63) // 64), np.uint64)
    for state in range(states - 1, -1, -1):
        bits[state, state >> 6] |= np.uint64(1) << np.uint64(state & 63)
        for arc in range(out_offset[state], out_offset[state + 1]):
            for word in range(dst[arc] >> 6, bits.shape[1]):
                bits[state, word] |= bits[dst[arc], word]
    return bits


@kernel
def _may_repeat(steps, offset, arc, lattice_src, lattice_dst, tabulated, bits):  # type: ignore[no-untyped-def]
    """Tell of each n-gram whether some path may have it twice, or surely does not.

    Its arcs are sorted by source: only from an earlier to a later one can there be a way. Few
    arcs are tried pair by pair; of many, all that the targets lead to is put together.
    """
    repeats = np.zeros(len(offset) - 1, np.bool_)
    union = np.zeros(bits.shape[1], np.uint64)
    for number in range(1, len(repeats)):
        begin, end = offset[number], offset[number + 1]
        if end - begin < 2:
            continue
        latest = lattice_src[arc[steps[end - 1]]]
        while begin < end and lattice_dst[arc[steps[begin]]] > latest:
            begin += 1
        if begin == end or not tabulated:
            repeats[number] = begin < end
        elif end - begin <= 2 * len(union):
            for one in range(begin, end):
                target = lattice_dst[arc[steps[one]]]
                for other in range(end - 1, one, -1):
                    state = lattice_src[arc[steps[other]]]
                    if state < target or repeats[number]:
                        break
                    bit = bits[target, state >> 6] >> np.uint64(state & 63)
                    repeats[number] = (bit & np.uint64(1)) != 0
                if repeats[number]:
                    break
        else:
            union[:] = 0
            for place in range(begin, end):
                target = lattice_dst[arc[steps[place]]]
                for word in range(target >> 6, (latest >> 6) + 1):
                    union[word] |= bits[target, word]
            for place in range(begin, end):
                state = lattice_src[arc[steps[place]]]
                bit = union[state >> 6] >> np.uint64(state & 63)
                if bit & np.uint64(1):
                    repeats[number] = True
                    break
    return repeats


@kernel
def _correct_for_repeats(  # type: ignore[no-untyped-def]
    src, dst, arc, gram, out_offset, row, share, forward,
    lattice_src, lattice_dst, lattice_out_offset, tabulated, value,
):  # fmt: skip
    """Turn expected counts into probabilities of presence, in place."""
    steps, offset = _ending_arcs(gram, row)
    if tabulated:
        bits = _reachable(lattice_dst, lattice_out_offset)
    else:
        bits = np.zeros((1, 1), np.uint64)
    repeats = _may_repeat(steps, offset, arc, lattice_src, lattice_dst, tabulated, bits)
    step_share = np.empty(len(src))
    for step in range(len(src)):
        step_share[step] = share[arc[step]]
    seen = np.zeros(len(forward))
    for number in range(1, len(row)):
        if repeats[number]:
            own = steps[offset[number] : offset[number + 1]]
            value[number] = _first_times(own, src, dst, out_offset, step_share, forward, seen)
        value[number] = min(value[number], 1.0)


@kernel
def _first_times(own, src, dst, out_offset, share, forward, seen):  # type: ignore[no-untyped-def]
    """Return the probability of passing one of the arcs ``own``, which are sorted.

    ``seen[q]`` is the probability of being in state ``q`` after passing one: the rest of what is
    in ``q``, on its way over one of them, passes it for the first time.
    """
    seen[:] = 0.0
    total = 0.0
    place = 0
    # before the first of them nothing is seen, and after the last nothing is asked
    for state in range(src[own[0]], src[own[-1]] + 1):
        before = seen[state]
        mine = len(src)
        if place < len(own) and src[own[place]] == state:
            mine = own[place]
        if before == 0.0 and mine == len(src):
            continue
        for step in range(out_offset[state], out_offset[state + 1]):
            if step == mine:
                total += max(0.0, forward[state] - before) * share[step]
                seen[dst[step]] += forward[state] * share[step]
                place += 1
                mine = own[place] if place < len(own) else len(src)
            else:
                seen[dst[step]] += before * share[step]
    return total
