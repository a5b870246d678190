"""Lexicons and n-gram models applied to lattices, exactly: no path is lost, and none is added.

Composition with an n-gram model as an acceptor (OpenFst's and Kaldi's way) takes epsilon arcs for
back-off, so that a path may back off where the longer n-gram is known, and scores come out that the
model does not give. Here a state of the result is a pair of a state of the lattice and of the
model's history, and every word is scored as the model defines it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from lattices.arrays import floats
from lattices.errors import FormatError, SpaceError
from lattices.formats.arpa import ArpaModel, read_arpa
from lattices.formats.base import split_words, text_lines
from lattices.formats.streams import open_input
from lattices.spaces import Lattice
from lattices.tokens.transduction import End, Move, transduce
from lattices.vocabulary import EPSILON, Vocabulary

#: the spellings of each word, as tokens with blanks between them or in lists; or a file with lines
#: ``word token token ...``
Lexicon: TypeAlias = "Mapping[str, Any] | str | os.PathLike[str]"
LanguageModel: TypeAlias = "ArpaModel | str | os.PathLike[str]"

_START, _END = "<s>", "</s>"


def apply_language_model(
    lattice: Lattice,
    model: LanguageModel | None,
    *,
    lm_scale: float = 1.0,
    word_score: float = 0.0,
) -> Lattice:
    """Return the lattice with the scores of an n-gram model added to its own.

    A path gains ``lm_scale`` times its log-probability, and ``word_score`` for every word.
    """
    found = model if model is None or isinstance(model, ArpaModel) else read_arpa(model)
    known = {} if found is None else found.scores

    def moves(history: tuple[str, ...], word: str) -> Iterable[Move[tuple[str, ...]]]:
        if found is None:
            return [((), (word,), 0.0)]
        return [(found.extend_history(history, word), (word,), found.score(history, word))]

    def ending(history: tuple[str, ...]) -> End | None:
        ends = found is not None and (_END,) in known
        return (), found.score(history, _END) if found is not None and ends else 0.0

    from scipy.sparse import csr_array

    begin: tuple[str, ...] = ()
    if found is not None and (_START,) in known and found.order > 1:
        begin = (_START,)
    made = transduce(lattice, begin, moves, ending, lattice.vocabulary)
    spoken = made.lattice.label != EPSILON
    ends = made.lattice.final > -np.inf
    columns = [
        np.column_stack((made.lattice.score, made.gain, spoken)),
        np.column_stack((np.where(ends, made.lattice.final, 0.0), made.final_gain, 0.0 * ends)),
    ]
    weights = np.array([1.0, lm_scale, word_score])
    return replace(
        made.lattice,
        score=floats(columns[0] @ weights),
        final=floats(np.where(ends, columns[1] @ weights, -np.inf)),
        features=csr_array(columns[0]),
        final_features=csr_array(columns[1]),
        feature_names=("base", "lm", "words"),
    )


def apply_lexicon(
    lattice: Lattice, lexicon: Lexicon, *, vocabulary: Vocabulary | None = None
) -> Lattice:
    """Return the lattice of words whose spellings are paths of a lattice of tokens.

    Cost: O(arcs x beginnings of words that meet at a state).
    """
    root: dict[str, Any] = {}
    for word, tokens in _spellings(lexicon):
        node = root
        for token in tokens:
            node = node.setdefault(token, {})
        node.setdefault("", []).append(word)  # no token is empty
    nodes: list[dict[str, Any]] = [root]
    number = {id(root): 0}

    def moves(place: int, token: str) -> Iterable[Move[int]]:
        node = nodes[place].get(token)
        if node is None:
            return
        for word in node.get("", ()):
            yield 0, (word,), 0.0
        if len(node) > ("" in node):
            inside = number.setdefault(id(node), len(nodes))
            if inside == len(nodes):
                nodes.append(node)
            yield inside, (), 0.0

    def ending(place: int) -> End | None:
        return ((), 0.0) if place == 0 else None

    words = Vocabulary() if vocabulary is None else vocabulary
    return transduce(lattice, 0, moves, ending, words).lattice


def _spellings(lexicon: Lexicon) -> Iterable[tuple[str, tuple[str, ...]]]:
    if isinstance(lexicon, Mapping):
        for word, given in lexicon.items():
            several = isinstance(given, list)
            for each in given if several else [given]:
                tokens = tuple(split_words(each)) if isinstance(each, str) else tuple(each)
                if not tokens:
                    raise SpaceError(f"the word {word!r} has an empty spelling")
                yield word, tokens
        return
    name = os.fspath(lexicon)
    with open_input(name) as (_, stream):
        for line, data in text_lines(stream):
            columns = split_words(data.decode("utf-8", "replace"))
            if len(columns) == 1:
                raise FormatError(f"{columns[0]!r} without a spelling", name, line)
            if columns:
                yield columns[0], tuple(columns[1:])
