"""Words that references and spaces share, and a warning where a corpus has none.

Scores against references in other words are all as bad as they can be, whatever the decoder
said: labels are numbers, one side is in upper case, or the references are those of another
corpus. One word in common shows that it is none of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from fstmetrics.references import Reference, tokens_of
from lattices.errors import Error
from lattices.spaces import Lattice, Space

if TYPE_CHECKING:
    from decoding.corpus.outcomes import Segment


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


def overlap(space: Space, references: Iterable[Reference]) -> Overlap:
    """Return what references share with the vocabulary of a space; ends at the first word.

    The vocabulary may be that of many spaces: it is the corpus that is asked about.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "the"), (1, 2, "CAT")], finals=[2])
    >>> [overlap(lattice, [text]).name for text in ("on the mat", "cat", "dog", "")]
    ['WORDS', 'OTHER_CASE', 'NOTHING', 'UNKNOWN']
    """
    known = space.vocabulary
    found = Overlap.UNKNOWN
    for reference in references:
        some = reference.vocabulary if isinstance(reference, Lattice) else tokens_of(reference)
        for word in some:
            if word in known:
                return Overlap.WORDS
            if found < Overlap.OTHER_CASE:
                variants = (word.lower(), word.upper(), word.capitalize())
                other = any(variant in known for variant in variants)
                found = Overlap.OTHER_CASE if other else Overlap.NOTHING
    return found


def overlap_of_segments(job: Any, segments: Sequence[Segment]) -> Overlap:
    """Return the overlap of segments with the references that a job judges them by.

    Such a job has ``references``, None for those of the segments, and ``metrics``, one of which
    has to compare words as they are.
    """
    metrics = getattr(job, "metrics", ())
    if not hasattr(job, "references") or (metrics and not any(map(compares_words, metrics))):
        return Overlap.UNKNOWN
    found = Overlap.UNKNOWN
    for segment in segments:
        try:
            given = segment.space.references
            if job.references is not None:
                given = job.references.get(segment.id, segment.position)
            found = max(found, overlap(segment.space, given))
        except Error:
            # the job has the same to say
            continue
        if found is Overlap.WORDS:
            break
    return found


def compares_words(metric: Any) -> bool:
    """Tell whether a metric takes words as they are: no characters, no lower case."""
    units = getattr(metric, "units", None)
    return units is not None and tuple(units(("Ab",))) == ("Ab",)
