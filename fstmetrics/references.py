"""What counts as a reference, and how text becomes tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from lattices.errors import OptionError
from lattices.formats.base import split_words
from lattices.spaces import Lattice

#: text (split at white space), tokens, or an acyclic automaton of alternatives
Reference: TypeAlias = "str | Sequence[str] | Lattice"
Tokens: TypeAlias = "tuple[str, ...]"


def tokens_of(sentence: str | Sequence[str]) -> Tokens:
    """Return the tokens of a sentence; text is split at ASCII white space, nothing else is done.

    A no-break space is part of a word here, as it is for the decoders whose files are read.

    Examples
    --------
    >>> tokens_of("a  cat"), tokens_of(["New York", "sat"])
    (('a', 'cat'), ('New York', 'sat'))
    """
    if isinstance(sentence, str):
        return tuple(split_words(sentence))
    tokens = tuple(sentence)
    for token in tokens:
        if not isinstance(token, str):
            raise OptionError(f"a token is a string, not {type(token).__name__}: {token!r}")
    return tokens


def characters_of(tokens: Sequence[str], spaces: bool) -> Tokens:
    """Return the characters of a sentence, with or without the blanks between words.

    Examples
    --------
    >>> characters_of(["a", "cat"], spaces=True)
    ('a', ' ', 'c', 'a', 't')
    """
    return tuple((" " if spaces else "").join(tokens))


def checked_references(references: Iterable[Reference]) -> tuple[Reference, ...]:
    """Return the references of one segment, refusing the two ways to get the nesting wrong.

    Examples
    --------
    >>> checked_references("a cat")
    Traceback (most recent call last):
    lattices.errors.OptionError: the references of a segment are a list, not one string: ['a cat']?
    """
    if isinstance(references, str):
        raise OptionError(
            f"the references of a segment are a list, not one string: [{references!r}]?"
        )
    if isinstance(references, Lattice):
        raise OptionError("the references of a segment are a list: [lattice]?")
    # a list is made faster than what a generator gives
    result = tuple(
        [
            reference if isinstance(reference, (str, Lattice)) else tokens_of(reference)
            for reference in references
        ]
    )
    if not result:
        raise OptionError("a segment needs at least one reference")
    return result
