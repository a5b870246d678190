"""Lattices of lists: samples and beams with what they share merged, and recombined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from lattices.errors import OptionError
from lattices.spaces.arguments import NBEST, WHOLE, check_filled, takes
from lattices.spaces.lattice import Lattice
from lattices.spaces.nbest import NBest
from lattices.vocabulary import EPSILON

#: the feature that counts how often a path goes from one sentence over to another
RECOMBINED = "recombined"
#: instead of the number of an entry
_NONE, _MARK = -1, -2
_MARKS: Mapping[int, Mapping[str, float]] = {_MARK: {RECOMBINED: 1.0}}


@takes(nbest=NBEST)
def merge(nbest: NBest, recombine: int = 0) -> Lattice:
    """Return the lattice of a list, where sentences share what they begin and end with.

    Without ``recombine`` there is one path for each distinct sentence, with its score and features.
    Of entries with the same words, such as samples, the probabilities are added; features are
    those of the best. Scores are pushed to the start as :func:`lattices.push` does it, so that ends
    are shared by all that have nothing left to lose. Cost: O(words of the list).

    With ``recombine=n``, where two beginnings have the same last ``n`` words, one may also go on as
    the other does (Xu, Jonnalagadda and Durrett 2022), unless what follows stands earlier in its
    sentence. **The model has no score of such a sentence**: it loses against the best what its
    parts lose, and its feature ``recombined`` counts the changes from one sentence to another. That
    is 0 for the sentences of the list, whose scores stay as they are. No sentence has two paths.
    Cost: O(w v) for w words, v of them different behind the same ones.

    Parameters
    ----------
    nbest
        The list.
    recombine
        How many words have to be the same; 0 recombines nothing.

    Raises
    ------
    OptionError
        If the list is empty, or ``recombine`` is negative.

    References
    ----------
    J. Xu, S. Jonnalagadda and G. Durrett, Massive-scale decoding for text generation using
    lattices, NAACL 2022.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a", "cat", "sat", "here"), -1.0), Hypothesis(("the", "cat", "sat"), -1.5)]
    ... )
    >>> lattice = merge(nbest)
    >>> sorted((path.text, path.score) for path in lattice.paths())
    [('a cat sat here', -1.0), ('the cat sat', -1.5)]
    >>> for path in sorted(merge(nbest, 2).paths(), key=lambda path: path.text):
    ...     print(path.text, path.score, path.features)
    a cat sat -1.5 {'recombined': 1.0}
    a cat sat here -1.0 {}
    the cat sat -1.5 {}
    the cat sat here -1.5 {'recombined': 1.0}
    """
    WHOLE.check("merge", "recombine", recombine)
    if recombine < 0:
        raise OptionError(f"recombine={recombine}, expected 0 or a number of words")
    check_filled([nbest])
    return merge_entries(nbest, recombine)


@dataclass
class _Node:
    """A beginning of sentences: how many have it, the best score of one, what follows it."""

    #: the last words, as many as have to be the same
    words: tuple[int, ...] = ()
    depth: int = 0
    time: float = 0.0
    best: float = -np.inf
    count: int = 0
    #: the entry of one of the sentences, and of the one that ends here
    entry: int = _NONE
    end: int = _NONE
    next: dict[int, _Node] = field(default_factory=dict)
    #: smaller than those of all nodes that it follows
    state: int = _NONE


#: source, target, word, score, and the entry of the list whose features it has
_Arc: TypeAlias = "tuple[int, int, int, float, int]"


def merge_entries(
    nbest: NBest,
    recombine: int = 0,
    *,
    times: Sequence[Sequence[float]] | None = None,
    others: Mapping[int, Sequence[Mapping[str, float]]] | None = None,
) -> Lattice:
    """Return what :func:`merge` does, with what is known of words of entries.

    ``times`` are those of each start, and of the ends of words; ``others`` are other words in the
    place of each, with what they lose against it.
    """
    nodes, scores = _prefix_tree(nbest, recombine, times)
    root, features = nodes[0], [each.features for each in nbest]

    def featured(entry: int) -> int:
        return entry if entry >= 0 and features[entry] else _NONE

    states: dict[Any, int] = {}
    clock: list[float] = []
    arcs: list[_Arc] = []
    #: the score of ending in a state, and the entry whose features that has
    ends: dict[int, tuple[float, int]] = {}
    for node in sorted(nodes, key=lambda node: -node.depth):  # what follows a node is deeper
        parting = node.count > 1 or node is root
        following = sorted(
            (label, after.state, after.best - node.best,
             featured(after.entry) if parting and after.count == 1 else _NONE)
            for label, after in node.next.items()
        )  # fmt: skip
        end = None
        if node.end != _NONE:
            end = (scores[node.end] - node.best, featured(node.end) if parting else _NONE)
        node.state = states.setdefault((node.words, end, node.time, *following), len(states))
        if node.state < len(clock):
            continue
        clock.append(node.time)
        if end is not None:
            ends[node.state] = end
        arcs += ((node.state, state, label, loss, entry) for label, state, loss, entry in following)
    arcs += _replace_words(nbest, nodes, others or {})
    if recombine:
        arcs += _recombine(nodes, scores, recombine, len(clock))
        ends[len(clock)] = (0.0, _NONE)
    whole = {root.state: root.best}

    def named(entry: int) -> Mapping[str, float]:
        return features[entry] if entry >= 0 else _MARKS.get(entry, {})

    return Lattice.from_arcs(
        [
            (src, dst, nbest.vocabulary.word(label), loss + whole.get(src, 0.0), named(entry))
            for src, dst, label, loss, entry in arcs
        ],
        {state: score + whole.get(state, 0.0) for state, (score, _) in ends.items()},
        states=len(clock) + bool(recombine),
        vocabulary=nbest.vocabulary,
        final_features={state: named(entry) for state, (_, entry) in ends.items()},
        feature_names=(*nbest.feature_names, *([RECOMBINED] if recombine or others else [])),
        start=root.state,
        times=clock if times else None,
        **nbest.about,
    )


def _replace_words(
    nbest: NBest, nodes: Sequence[_Node], others: Mapping[int, Sequence[Mapping[str, float]]]
) -> list[_Arc]:
    """Return arcs beside those of entries; of equal ones the first is taken."""
    arcs: dict[tuple[int, int], _Arc] = {}
    for entry, places in others.items():
        node = nodes[0]
        labels = nbest.label[nbest.offset[entry] : nbest.offset[entry + 1]].tolist()
        for label, words in zip(labels, places, strict=True):
            after = node.next[label]
            for word, loss in words.items():
                other = nbest.vocabulary.add(word)
                if other not in node.next:
                    arc = node.state, after.state, other, after.best - node.best + loss, _MARK
                    arcs.setdefault((node.state, other), arc)
            node = after
    return [*arcs.values()]


def _prefix_tree(
    nbest: NBest, recombine: int, times: Sequence[Sequence[float]] | None
) -> tuple[list[_Node], dict[int, float]]:
    """Return the nodes, the root first, and the score of each sentence.

    A sentence is known by its best entry; the probabilities of equal ones are added.
    """
    same: dict[tuple[int, ...], list[int]] = defaultdict(list)
    labels, offset = nbest.label.tolist(), nbest.offset.tolist()
    for number in range(len(nbest)):
        same[tuple(labels[offset[number] : offset[number + 1]])].append(number)
    nodes, scores = [_Node(time=times[0][0] if times else 0.0)], {}
    for sentence, entries in same.items():
        entry = max(entries, key=lambda each: float(nbest.score[each]))
        scores[entry] = float(np.logaddexp.reduce(nbest.score[entries]))
        path = [nodes[0]]
        for place, label in enumerate(sentence):
            node = path[-1]
            if label not in node.next:
                words = (*node.words, label)[-recombine:] if recombine else ()
                time = times[entry][place + 1] if times else 0.0
                node.next[label] = _Node(words, place + 1, time)
                nodes.append(node.next[label])
            path.append(node.next[label])
        path[-1].end = entry
        for node in path:
            node.count += 1
            node.entry, node.best = entry, max(node.best, scores[entry])
    return nodes, scores


def _recombine(
    nodes: Sequence[_Node], scores: Mapping[int, float], recombine: int, last: int
) -> list[_Arc]:
    """Return arcs from beginnings to what follows others with the same last words.

    A word that follows already needs none: behind it the last words are the same again. Of several
    places where a word leads to the best is taken, for the others can be come to later; so no
    sentence has two paths. States go down, so there is no cycle. ``last`` is where sentences end.
    """
    alike: dict[tuple[int, ...], list[_Node]] = defaultdict(list)
    for node in nodes:
        alike[node.words].append(node)
    arcs: list[_Arc] = []
    for words, some in alike.items():
        sources = {node.state: node for node in some}
        if len(words) < recombine or len(sources) < 2:
            continue
        best = max(node.best for node in some)
        ways: dict[int, set[tuple[float, int]]] = defaultdict(set)
        for node in some:
            for label, after in node.next.items():
                ways[label].add((after.best - best, after.state))
            if node.end != _NONE:
                ways[EPSILON].add((scores[node.end] - best, _NONE))
        for state, node in sorted(sources.items()):
            for label, there in sorted(ways.items()):
                if label in node.next or (label == EPSILON and node.end != _NONE):
                    continue
                loss, to = max((each for each in there if each[1] < state), default=(0.0, state))
                if to != state:
                    arcs.append((state, last if to == _NONE else to, label, loss, _MARK))
    return arcs
