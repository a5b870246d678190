"""A utility of one's own, scored in batches: a neural metric, or a distance of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.external.cache import ScoreCache
from fstmetrics.external.function import PREFIX, PythonFunction, numbers_of
from fstmetrics.references import Reference, tokens_of
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.registry import check_requirements
from lattices.spaces import Lattice, NBest

#: a hypothesis and a reference, as texts
Pair = tuple[str, str]


@dataclass(frozen=True)
class Utility:
    """A metric made of a function that scores many pairs at once.

    For minimum-risk decoding the function is called once a segment, with every distinct pair of
    a candidate and a sentence of evidence: that is how neural utilities want to be called. A
    corpus has the mean of its segments, a segment the score of its best reference. As
    ``python:module:function`` it is a metric of the command line.

    Parameters
    ----------
    scores : function
        Given a list of pairs ``(hypothesis, reference)`` of texts, returns one number each.
    name : str
        What it is called in messages and results; its signature, by which scores are found in a
        cache: another model, or version of it, needs another name.
    higher_is_better : bool
    cache : str, optional
        A file to keep scores in. Pairs that are there are not scored again, in this run or any
        other; processes can share it. It is made where it is not there.

    Examples
    --------
    >>> def scores(pairs):
    ...     return [len({*a.split()} & {*b.split()}) for a, b in pairs]
    >>> Utility(scores, "common").against(["the cat", "a cat"]).score("the cat sat")
    2.0
    """

    scores: Callable[[list[Pair]], ArrayLike]
    name: str = "utility"
    higher_is_better: bool = True
    cache: str | None = None

    stat_names: ClassVar[tuple[str, ...]] = ("utility", "segments")

    def __post_init__(self) -> None:
        """Refuse a cache in which nobody could tell this utility from another."""
        if self.cache is not None and self.name == "utility":
            raise OptionError("scores are cached by the name of a utility: name=... is needed")

    def __str__(self) -> str:
        """Return the name; of a function of the command line, what makes it again."""
        worse = self.name.startswith(PREFIX) and not self.higher_is_better
        return f"{self.name},higher_is_better=false" if worse else self.name

    @classmethod
    def parse(cls, specification: str) -> Utility:
        """Return the utility ``python:module:function[,higher_is_better=false][,cache=FILE]``.

        Examples
        --------
        >>> str(Utility.parse("python:my_module:comet,higher_is_better=false"))
        'python:my_module:comet,higher_is_better=false'
        """
        name, *options = specification.split(",")
        given = dict(option.partition("=")[::2] for option in options)
        cache, higher = given.pop("cache", None), given.pop("higher_is_better", "true")
        if given or higher.lower() not in ("true", "false") or cache == "":
            raise OptionError(
                f"{specification!r}, expected "
                "python:MODULE:FUNCTION[,higher_is_better=false][,cache=FILE]"
            )
        return cls(PythonFunction(name), name, higher.lower() == "true", cache)

    def require(self) -> None:
        """Find the function and open the cache."""
        check_requirements(self.scores, ScoreCache(self.cache) if self.cache else None)

    def scored(self, pairs: Sequence[Pair]) -> FloatColumn:
        """Return the score of each pair; the function is given each of them once.

        Raises
        ------
        OptionError
            If it does not return one finite number for each.
        """
        known: dict[Pair, float] = {}
        cache = None if self.cache is None else ScoreCache(self.cache)
        if cache is not None:
            known = cache.get(self.name, list(dict.fromkeys(pairs)))
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if missing:
            new = numbers_of(self.scores, missing, self.name, "pairs").tolist()
            fresh = dict(zip(missing, new, strict=True))
            if cache is not None:
                cache.add(self.name, fresh)
            known |= fresh
        return floats([known[pair] for pair in pairs])

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        said, expected = (
            [" ".join(some.tokens(entry)) for entry in range(len(some))]
            for some in (candidates, evidence)
        )
        pairs = [(one, other) for other in expected for one in said]
        return self.scored(pairs).reshape(len(expected), len(said))

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the score of a segment, and 1."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return the mean of the segments."""
        return float(stats[0] / stats[1]) if stats[1] else 0.0

    def against(self, references: Iterable[Reference]) -> UtilityEvaluator:
        """Return an evaluator for one segment."""
        given = tuple(references)
        if not given:
            raise OptionError(f"{self.name} needs a reference")
        if any(isinstance(one, Lattice) for one in given):
            raise OptionError(f"{self.name} compares texts, and a reference has alternatives")
        return UtilityEvaluator(self, given)


@dataclass(frozen=True)
class UtilityEvaluator:
    """A utility with the references of one segment."""

    metric: Utility
    references: tuple[Reference, ...]

    @property
    def _texts(self) -> list[str]:
        return [" ".join(tokens_of(one)) for one in self.references if not isinstance(one, Lattice)]

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the score against the best reference, and 1."""
        said = " ".join(tokens_of(hypothesis))
        found = self.metric.scored([(said, one) for one in self._texts])
        return floats([found.max() if self.metric.higher_is_better else found.min(), 1.0])

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the score against the best reference."""
        return self.metric.score(self.stats(hypothesis))

    def list_stats(self, nbest: NBest) -> FloatColumn:
        """Return one row for each entry, by one call of the function."""
        texts = [" ".join(nbest.tokens(entry)) for entry in range(len(nbest))]
        found = self.metric.scored([(text, one) for text in texts for one in self._texts])
        rows = found.reshape(len(texts), len(self._texts))
        best = rows.max(axis=1) if self.metric.higher_is_better else rows.min(axis=1)
        return floats(np.column_stack([best, np.ones(len(texts))]))
