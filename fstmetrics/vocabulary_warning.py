"""The warning that references share no word with what a decoder said."""

from __future__ import annotations

from collections.abc import Container, Iterable
from enum import IntEnum

from fstmetrics.references import Reference, split_tokens
from lattices.spaces import Lattice


class VocabularyWarning(UserWarning):
    """No word of the references occurs in the spaces of a corpus, or only in another case."""


class Overlap(IntEnum):
    """What the references of a corpus, or of a part of it, have in common with the spaces."""

    #: nothing can be said: there are no words in the references, or no references
    UNKNOWN = 0
    NOTHING = 1
    OTHER_CASE = 2
    WORDS = 3

    @property
    def problem(self) -> str:
        """What is to be said if it is so in a whole corpus; empty if all is well."""
        if self is Overlap.NOTHING:
            return (
                "no word of the references occurs in what the decoder said: are they those of this "
                "corpus, and are its labels words?"
            )
        if self is Overlap.OTHER_CASE:
            return (
                "words of the references occur in what the decoder said in another case only: "
                "upper and lower case are different words here"
            )
        return ""


def overlap(known: Container[str], references: Iterable[Reference]) -> Overlap:
    """Return what references share with the words of a space; ends at the first one.

    The words may be those of many spaces: it is the corpus that is asked about.
    """
    found = Overlap.UNKNOWN
    for reference in references:
        some = reference.vocabulary if isinstance(reference, Lattice) else split_tokens(reference)
        for word in some:
            if word in known:
                return Overlap.WORDS
            if found < Overlap.OTHER_CASE:
                variants = (word.lower(), word.upper(), word.capitalize())
                other = any(variant in known for variant in variants)
                found = Overlap.OTHER_CASE if other else Overlap.NOTHING
    return found
