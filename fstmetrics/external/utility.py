"""A utility of one's own, scored in batches: a neural metric, or a distance of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.external.cache import ScoreCache, Texts
from fstmetrics.external.function import PythonFunction, numbers_of
from fstmetrics.references import Reference, split_tokens
from fstmetrics.signature import Summable
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.options import read_options
from lattices.registry import PREFIX, check_requirements
from lattices.spaces import Lattice, NBest


@dataclass(frozen=True)
class Utility(Summable):
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
        cache: another model needs another name, or another ``version``.
    higher_is_better : bool
    cache : str, optional
        A file to keep scores in, by the name, the version and all texts that the function was
        given. What is there is not scored again, in this run or any other; processes can share it.
        It is made where it is not there.
    source : bool
        Whether the source of the segment counts: the function is then given triples
        ``(hypothesis, reference, source)``. The source is that of the space that is decoded or
        searched (``src`` of JSON lines); elsewhere :meth:`with_source` says it.
    version : str, optional
        What tells apart, in a cache, functions of one name that depend on more than their texts. A
        cache sees neither free variables nor defaults nor objects: it takes a function that has
        any, as lambdas, partials and methods do, only with a version.
    segment_source : str, optional
        The source of the segment at hand; see :meth:`with_source`.

    Examples
    --------
    >>> def scores(pairs):
    ...     return [len({*a.split()} & {*b.split()}) for a, b in pairs]
    >>> Utility(scores, "common").against(["the cat", "a cat"]).score("the cat sat")
    2.0

    With a source:

    >>> def lengths(triples):
    ...     return [-abs(len(hypothesis) - len(source)) for hypothesis, _, source in triples]
    >>> metric = Utility(lengths, "lengths", source=True)
    >>> metric.with_source("die Katze").against(["the cat"]).score("a cat")
    -4.0
    """

    scores: Callable[[list[Any]], ArrayLike]
    name: str = "utility"
    higher_is_better: bool = True
    cache: str | None = None
    source: bool = field(default=False, kw_only=True)
    version: str | None = field(default=None, kw_only=True)
    segment_source: str | None = field(default=None, kw_only=True)

    stat_names: ClassVar[tuple[str, ...]] = ("utility", "segments")

    def __post_init__(self) -> None:
        """Refuse a cache whose keys would not tell this utility from another."""
        if self.cache is not None and self.name == "utility":
            raise OptionError("scores are cached by the name of a utility: name=... is needed")
        if not isinstance(self.scores, PythonFunction):
            self._check_cached(self.scores)

    def _check_cached(self, function: object) -> None:
        """Refuse to cache what a function gives that holds more than its name tells."""
        if self.cache is not None and self.version is None and (held := _find_held_state(function)):
            raise OptionError(
                f"scores of {self.name} are cached by its name and texts, and it is {held}, on "
                "which they may depend: version=... has to tell that apart"
            )

    def __str__(self) -> str:
        """Return the name; of a function of the command line, what makes it again."""
        if not self.name.startswith(PREFIX):
            return self.name
        options = [
            "" if self.higher_is_better else ",higher_is_better=false",
            ",source=true" if self.source else "",
            f",version={self.version}" if self.version is not None else "",
        ]
        return self.name + "".join(options)

    @classmethod
    def of_function(cls, name: str, options: Iterable[tuple[str, str]] = ()) -> Utility:
        """Return the utility ``python:module:function``, with its options as text.

        They are ``higher_is_better=false``, ``source=true``, ``version=TEXT`` and ``cache=FILE``.

        Examples
        --------
        >>> str(Utility.of_function("python:my_module:comet", [("higher_is_better", "false")]))
        'python:my_module:comet,higher_is_better=false'
        """
        skip = ("scores", "name", "segment_source")
        given = read_options(cls, options, name, skip=skip)
        return cls(PythonFunction(name), name, **given)

    def require(self) -> None:
        """Find the function and open the cache."""
        check_requirements(self.scores, ScoreCache(self.cache) if self.cache else None)
        if isinstance(self.scores, PythonFunction):
            self._check_cached(self.scores.function)

    def with_source(self, source: str) -> Utility:
        """Return the utility for a segment with this source; itself, if sources do not count.

        Raises
        ------
        OptionError
            If it counts and there is none.
        """
        if not self.source:
            return self
        if not source:
            raise OptionError(
                f"{self.name} takes the source of a segment, and this one has none (src in JSON "
                "lines, source=... of a space)"
            )
        return replace(self, segment_source=source)

    def scored(self, pairs: Sequence[tuple[str, str]]) -> FloatColumn:
        """Return the score of each pair; the function is given each of them once.

        Raises
        ------
        OptionError
            If it does not return one finite number for each; without the source that it takes.
        """
        given: list[Texts] = list(dict.fromkeys(pairs))
        if self.source:
            if self.segment_source is None:
                raise OptionError(
                    f"{self.name} takes the source of a segment, and none is known here "
                    "(with_source(text) of a utility says it)"
                )
            given = [(*pair, self.segment_source) for pair in given]
        known: dict[Texts, float] = {}
        signature = self.name if self.version is None else f"{self.name}\0{self.version}"
        cache = None if self.cache is None else ScoreCache(self.cache)
        if cache is not None:
            if isinstance(self.scores, PythonFunction):
                self._check_cached(self.scores.function)
            known = cache.get(signature, given)
        missing = [texts for texts in given if texts not in known]
        if missing:
            things = "triples" if self.source else "pairs"
            new = numbers_of(self.scores, missing, self.name, things).tolist()
            fresh = dict(zip(missing, new, strict=True))
            if cache is not None:
                cache.add(signature, fresh)
            known |= fresh
        scores = {texts[:2]: score for texts, score in known.items()}
        return floats([scores[pair] for pair in pairs])

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


def _find_held_state(function: object) -> str | None:
    """Return what a function is that may depend on more than its name and texts tell, if so."""
    if isinstance(function, BuiltinFunctionType) and isinstance(function.__self__, ModuleType):
        return None
    if not isinstance(function, FunctionType):
        return f"an object ({type(function).__name__})"
    if function.__code__.co_freevars:
        return f"a function with free variables ({', '.join(function.__code__.co_freevars)})"
    if function.__defaults__ or function.__kwdefaults__:
        return "a function with defaults"
    return "a lambda" if function.__name__ == "<lambda>" else None


@dataclass(frozen=True)
class UtilityEvaluator:
    """A utility with the references of one segment."""

    metric: Utility
    references: tuple[Reference, ...]

    @property
    def _texts(self) -> list[str]:
        return [
            " ".join(split_tokens(one)) for one in self.references if not isinstance(one, Lattice)
        ]

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the score against the best reference, and 1."""
        said = " ".join(split_tokens(hypothesis))
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
