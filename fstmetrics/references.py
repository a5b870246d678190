"""References of a segment: sentences, automata, and how text becomes tokens.

References that are automata themselves, such as ``{ um / uh / @ }`` in NIST's trn files.

Scoring against a reference lattice is scoring against the best of its sentences. Their
lengths differ, and with them the denominators; so a reference lattice is first split into
one lattice for each length, and each of these has one denominator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.formats.base import split_words
from lattices.spaces import Lattice

if TYPE_CHECKING:
    from lattices.intersection import Automaton

#: text (split at white space), tokens, or an acyclic automaton of alternatives
Reference: TypeAlias = "str | Sequence[str] | Lattice"
Tokens: TypeAlias = "tuple[str, ...]"


def split_tokens(sentence: str | Sequence[str]) -> Tokens:
    """Return the tokens of a sentence; text is split at ASCII white space, nothing else is done.

    A no-break space is part of a word here, as it is for the decoders whose files are read.
    """
    if isinstance(sentence, str):
        return tuple(split_words(sentence))
    tokens = tuple(sentence)
    for token in tokens:
        if not isinstance(token, str):
            raise OptionError(f"a token is a string, not {type(token).__name__}: {token!r}")
    return tokens


def parse_variants(sentence: str | Sequence[str | Sequence[str]]) -> Reference:
    """Return a reference that may be said in several ways: a lattice, or text if there is one way.

    Parameters
    ----------
    sentence : str or sequence
        Text in which ``[Anne|Ann]`` stands for either, ``[um|]`` for a word or none; or words and
        lists of variants, each a text of any number of words.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> expected = parse_variants("[Anne|Ann] is [going to|gonna] walk")
    >>> WER().against([expected]).score("Ann is gonna walk")
    0.0
    >>> WER().against([parse_variants([["Anne", "Ann"], "is"])]).score("Ann was")
    0.5
    """
    from lattices.formats.references.nist import join_variants, parse_variants

    try:
        found = parse_variants(sentence) if isinstance(sentence, str) else join_variants(sentence)
    except ValueError as problem:
        raise OptionError(str(problem)) from None
    return found if isinstance(found, str) else found.lattice("")


def split_characters(tokens: Sequence[str], spaces: bool) -> Tokens:
    """Return the characters of a sentence, with or without the blanks between words."""
    return tuple((" " if spaces else "").join(tokens))


def check_references(references: Iterable[Reference]) -> tuple[Reference, ...]:
    """Return the references of one segment, refusing the two ways to get the nesting wrong."""
    # a corpus has one evaluator a segment, and mostly a tuple of texts for each
    if type(references) is tuple and references:
        for reference in references:
            if type(reference) is not str:
                break
        else:
            return references
    if isinstance(references, str):
        raise OptionError(
            f"the references of a segment are a list, not one string: [{references!r}]?"
        )
    if isinstance(references, Lattice):
        raise OptionError("the references of a segment are a list: [lattice]?")
    # a list is made faster than what a generator gives
    result = tuple(
        [
            reference if isinstance(reference, (str, Lattice)) else split_tokens(reference)
            for reference in references
        ]
    )
    if not result:
        raise OptionError("a segment needs at least one reference")
    return result


def lattices_by_length(lattice: Lattice) -> dict[int, Lattice]:
    """Return, for every length that a sentence of the lattice has, the lattice of those sentences.

    Costs O(arcs x longest sentence) for each length.
    """
    before: list[set[int]] = [set() for _ in range(lattice.num_states)]
    before[lattice.start].add(0)
    arcs = list(
        zip(lattice.src.tolist(), lattice.dst.tolist(), lattice.label.tolist(), strict=True)
    )
    for src, dst, label in arcs:  # sorted by source, and states are in topological order
        before[dst].update(words + (label != 0) for words in before[src])
    lengths = sorted({words for state in lattice.finals.tolist() for words in before[state]})
    if not lengths:
        raise OptionError(f"the reference lattice {lattice.id!r} holds no sentence")
    result: dict[int, Lattice] = {}
    for length in lengths:
        # a node is a state and the number of words behind it, alive if it can end at `length`
        alive = {(state, length) for state in lattice.finals.tolist() if length in before[state]}
        kept = []
        for src, dst, label in reversed(arcs):
            for words in before[src]:
                if (dst, words + (label != 0)) in alive:
                    alive.add((src, words))
                    kept.append(((src, words), (dst, words + (label != 0)), label))
        number = {node: index for index, node in enumerate(sorted(alive))}
        final = np.full(len(number), -np.inf)
        final[
            [
                number[state, length]
                for state in lattice.finals.tolist()
                if (state, length) in number
            ]
        ] = 0.0
        result[length] = Lattice(
            vocabulary=lattice.vocabulary,
            src=ints([number[src] for src, _, _ in kept]),
            dst=ints([number[dst] for _, dst, _ in kept]),
            label=ints([label for _, _, label in kept]),
            score=floats(np.zeros(len(kept))),
            final=floats(final),
            start=number[lattice.start, 0],
        )
    return result


def reference_automaton(
    lattice: Lattice,
    order: int,
    insertion: float,
    deletion: float,
    word: IntColumn,
    arc: IntColumn,
    weight: FloatColumn,
) -> Automaton:
    """Return the automaton of all alignments to a sentence of the lattice.

    As :class:`lattices.intersection.Alignment`, with the states of the lattice for positions.
    ``word``, ``arc`` and ``weight`` say which words match the reference word on which arc.
    """
    from lattices.intersection import ANY, Automaton

    states, top = lattice.num_states, order - 1
    spoken = np.flatnonzero(lattice.label != 0)
    silent = np.flatnonzero(lattice.label == 0)
    src, dst = lattice.src, lattice.dst
    everywhere = np.arange(states)
    columns = [
        (src[spoken], dst[spoken], np.zeros(len(spoken)), np.full(len(spoken), -deletion)),
        (src[spoken], dst[spoken], np.full(len(spoken), ANY), np.zeros(len(spoken))),
        (everywhere, everywhere, np.full(states, ANY), np.full(states, -insertion)),
    ]
    for run in range(order):
        here, there = run * states, min(run + 1, top) * states
        columns.append((here + src[arc], there + dst[arc], word, (run + 1) * weight))
        nothing = np.zeros(len(silent))
        columns.append((here + src[silent], here + dst[silent], nothing, nothing))
        if run:
            nothing = np.zeros(states)
            columns.append((here + everywhere, everywhere, nothing, nothing))
    joined = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
    initial = np.full(order * states, -np.inf)
    initial[lattice.start] = 0.0
    final = np.full(order * states, -np.inf)
    final[lattice.finals] = 0.0
    return Automaton(
        ints(joined[0]), ints(joined[1]), ints(joined[2]), floats(joined[3]),
        floats(initial), floats(final),
    )  # fmt: skip
