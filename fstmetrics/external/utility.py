"""A utility of one's own, scored in batches: a neural metric, or a distance of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fstmetrics.external.cache import ScoreCache, Texts
from fstmetrics.external.function import PythonFunction, call_with, count_arguments, numbers_of
from fstmetrics.references import Reference, split_tokens
from fstmetrics.signature import Summable
from lattices.arrays import Array, FloatColumn, floats
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.options import read_options
from lattices.records import PlainRecord
from lattices.registry import PREFIX, check_requirements
from lattices.spaces import Lattice, NBest

#: texts whose vectors are kept
_KEPT = 20_000


@dataclass
class Calls(PlainRecord):
    """What a utility has been asked for and has done so far, all of its segments together.

    Attributes
    ----------
    pairs : int
        Pairs that were asked for; each once, where a search asks for many.
    cached : int
        Those of them that were in the cache.
    calls : int
        Calls of the function.
    encoded, encodings : int
        Texts that were encoded, and the calls of the encoder.
    """

    pairs: int = 0
    cached: int = 0
    calls: int = 0
    encoded: int = 0
    encodings: int = 0


class Asked(NamedTuple):
    """What a utility is asked for: what it has to compute for that, and what the answer is then."""

    #: texts to encode, or pairs and triples to score; each once
    items: list[Any]
    #: from what :meth:`Utility.compute` has found for each to the answer
    finish: Callable[[dict[Any, Any]], Array]


@dataclass(frozen=True)
class Utility(Summable):
    """A metric made of a function that scores many pairs at once.

    For minimum-risk decoding the function is called once a segment, with every distinct pair of
    a candidate and a sentence of evidence: that is how neural utilities want to be called. With a
    ``batch`` it is called with so many pairs, of several segments where one has not enough. A
    corpus has the mean of its segments, a segment the score of its best reference. As
    ``python:module:function`` it is a metric of the command line.

    Parameters
    ----------
    scores : function
        Given texts, returns one number for each pair. What it takes is seen by its signature:
        ``scores(pairs)`` a list of pairs ``(hypothesis, reference)``,
        ``scores(hypotheses, references)`` two lists, ``scores(hypotheses, references, sources)``
        three, the last of the source of each pair.
    name : str
        What it is called in messages and results; its signature, by which scores are found in a
        cache: another model needs another name, or another ``version``.
    higher_is_better : bool
    cache : str, optional
        A file to keep scores in, by the name, the version and all texts that the function was
        given. What is there is not scored again, in this run or any other; processes can share it.
        It is made where it is not there.
    source : bool
        Whether the source of the segment counts, as it always does for a function of three lists;
        a function of one list is then given triples ``(hypothesis, reference, source)``. The
        source is that of the space that is decoded or searched (``src`` of JSON lines); elsewhere
        :meth:`with_source` says it.
    version : str, optional
        What tells apart, in a cache, functions of one name that depend on more than their texts. A
        cache sees neither free variables nor defaults nor objects: it takes a function that has
        any, as lambdas, partials and methods do, only with a version.
    encode : function, optional
        From a list of texts to an array with a row for each, a vector. ``scores`` is then given
        arrays in place of lists of texts: it is a head over vectors, as COMET's is. So the ``n``
        texts of a segment are encoded once each, not once for each of ``n^2`` pairs. By default
        the method ``encode`` of ``scores``, where that is an object that has one.
    batch : int, optional
        How many pairs ``scores`` is given in a call, and texts ``encode``; fewer only where no more
        are needed. By default all that there are.
    segment_source : str, optional
        The source of the segment at hand; see :meth:`with_source`.

    Attributes
    ----------
    calls : Calls
        How many pairs, calls and encoded texts there have been.

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

    With an encoder, which is called with each text once:

    >>> def encode(texts):
    ...     return [[text.count(letter) for letter in "act"] for text in texts]
    >>> def head(hypotheses, references):
    ...     return -abs(hypotheses - references).sum(axis=1)
    >>> metric = Utility(head, "letters", encode=encode)
    >>> metric.scored([("a cat", "the cat"), ("the cat", "a cat"), ("cat", "a cat")]).tolist()
    [-2.0, -2.0, -1.0]
    >>> metric.calls
    Calls(pairs=3, cached=0, calls=1, encoded=3, encodings=1)
    """

    scores: Callable[[list[Any]], ArrayLike]
    name: str = "utility"
    higher_is_better: bool = True
    cache: str | None = None
    source: bool = field(default=False, kw_only=True)
    version: str | None = field(default=None, kw_only=True)
    encode: Callable[[list[str]], Any] | None = field(default=None, kw_only=True)
    batch: int | None = field(default=None, kw_only=True)
    segment_source: str | None = field(default=None, kw_only=True)
    calls: Calls = field(default_factory=Calls, kw_only=True, compare=False, repr=False)
    #: of texts, the last ones; shared by the utilities of all segments, as the counts are
    _vectors: dict[str, Array] = field(
        default_factory=dict, kw_only=True, compare=False, repr=False
    )

    stat_names: ClassVar[tuple[str, ...]] = ("utility", "segments")

    def __post_init__(self) -> None:
        """Refuse a cache whose keys would not tell this utility from another."""
        if self.cache is not None and self.name == "utility":
            raise OptionError("scores are cached by the name of a utility: name=... is needed")
        if self.batch is not None and self.batch < 1:
            raise OptionError(f"a batch has at least 1 pair, not {self.batch}")
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
            f",batch={self.batch}" if self.batch is not None else "",
        ]
        return self.name + "".join(options)

    @classmethod
    def of_function(cls, name: str, options: Iterable[tuple[str, str]] = ()) -> Utility:
        """Return the utility ``python:module:function``, with its options as text.

        They are ``higher_is_better=false``, ``source=true``, ``version=TEXT``, ``batch=N`` and
        ``cache=FILE``.

        Examples
        --------
        >>> str(Utility.of_function("python:my_module:comet", [("higher_is_better", "false")]))
        'python:my_module:comet,higher_is_better=false'
        """
        skip = ("scores", "name", "segment_source", "encode", "calls", "_vectors")
        given = read_options(cls, options, name, skip=skip)
        return cls(PythonFunction(name), name, **given)

    def require(self) -> None:
        """Find the function and open the cache."""
        check_requirements(self.scores, ScoreCache(self.cache) if self.cache else None)
        if isinstance(self.scores, PythonFunction):
            self._check_cached(self.scores.function)
        _ = self._columns

    @cached_property
    def encoder(self) -> Callable[[list[str]], Any] | None:
        """What makes vectors of texts, if there is one."""
        function = self.scores
        if self.encode is None and isinstance(function, PythonFunction):
            function = function.function
        found = getattr(function, "encode", None) if self.encode is None else self.encode
        return found if callable(found) else None

    @cached_property
    def _columns(self) -> int:
        """How many lists or arrays the function takes; 0 if it takes one list of tuples."""
        count = count_arguments(self.scores)
        forms = {2: "(hypotheses, references)", 3: "(hypotheses, references, sources)"}
        if self.source:
            del forms[2]
        if self.encoder is None:
            forms[1] = "(triples)" if self.source else "(pairs)"
        if count not in forms:
            expected = " or ".join(sorted(forms.values(), key=len))
            raise OptionError(f"{self.name} takes {count} arguments, expected {expected}")
        return 0 if count == 1 else count

    @property
    def takes_source(self) -> bool:
        """Whether the source of the segment counts."""
        return self._columns == 3 or self.source

    def with_source(self, source: str) -> Utility:
        """Return the utility for a segment with this source; itself, if sources do not count.

        Raises
        ------
        OptionError
            If it counts and there is none.
        """
        if not self.takes_source:
            return self
        if not source:
            raise OptionError(
                f"{self.name} takes the source of a segment, and this one has none (src in JSON "
                "lines, source=... of a space, --sources FILE)"
            )
        return replace(self, segment_source=source)

    def scored(self, pairs: Sequence[tuple[str, str]]) -> FloatColumn:
        """Return the score of each pair; the function is given each of them once.

        Raises
        ------
        OptionError
            If it does not return one finite number for each; without the source that it takes.
        """
        asked = self.ask(pairs)
        return asked.finish(self.compute(asked.items))

    def ask(self, pairs: Sequence[tuple[str, str]]) -> Asked:
        """Return what has to be computed for the score of each pair."""
        given: list[Texts] = list(dict.fromkeys(pairs))
        if self.takes_source:
            given = [(*pair, self._its_source) for pair in given]
        known: dict[Texts, float] = {}
        if self.cache is not None:
            if isinstance(self.scores, PythonFunction):
                self._check_cached(self.scores.function)
            known = ScoreCache(self.cache).get(self._signature, given)
        self.calls.pairs += len(given)
        self.calls.cached += len(known)
        missing = [texts for texts in given if texts not in known]

        def finish(found: dict[Texts, float]) -> FloatColumn:
            scores = {texts[:2]: score for texts, score in (known | found).items()}
            return floats([scores[pair] for pair in pairs])

        if self.encoder is None:
            return Asked(missing, finish)
        items, held = self._missing_vectors(text for texts in missing for text in texts)
        return Asked(items, lambda found: finish(self._score_vectors(missing, held | found)))

    def ask_vectors(self, texts: Sequence[str]) -> Asked:
        """Return what has to be computed for the vector of each text, a row each."""
        items, held = self._missing_vectors(texts)

        def finish(found: dict[str, Array]) -> Array:
            vectors = held | found
            return np.array([vectors[text] for text in texts])

        return Asked(items, finish)

    def _missing_vectors(self, texts: Iterable[str]) -> tuple[list[str], dict[str, Array]]:
        """Return the texts that have to be encoded, each once, and the vectors of the others."""
        each = dict.fromkeys(texts)
        held = {text: self._vectors[text] for text in each if text in self._vectors}
        return [text for text in each if text not in held], held

    def compute(self, items: Sequence[Any]) -> dict[Any, Any]:
        """Return the score of texts, or the vector of a text, of all items that were asked for."""
        found: dict[Any, Any] = {}
        for some in self._batches(items):
            found |= self._score_texts(some) if self.encoder is None else self._encode(some)
        return found

    def vector_scores(self, hypotheses: Array, references: Array) -> FloatColumn:
        """Return what the head gives each row of one array with that of the other."""
        columns = [hypotheses, references]
        if self.takes_source:
            asked = self.ask_vectors([self._its_source])
            row = asked.finish(self.compute(asked.items))
            columns.append(np.broadcast_to(row, (len(hypotheses), row.shape[1])))
        self.calls.pairs += len(hypotheses)
        found = [
            self._call(
                some, "pairs of vectors", [column[some[0] : some[-1] + 1] for column in columns]
            )
            for some in self._batches(range(len(hypotheses)))
        ]
        return floats(np.concatenate([np.empty(0), *found]))

    def _score_texts(self, some: Sequence[Texts]) -> dict[Texts, float]:
        columns = [list(column) for column in zip(*some, strict=True)] if self._columns else None
        things = "triples" if self.takes_source else "pairs"
        return self._remember(some, self._call(some, things, columns))

    def _score_vectors(
        self, missing: Sequence[Texts], vectors: dict[str, Array]
    ) -> dict[Texts, float]:
        found: dict[Texts, float] = {}
        for some in self._batches(missing):
            columns = [
                np.array([vectors[text] for text in texts]) for texts in zip(*some, strict=True)
            ]
            found |= self._remember(some, self._call(some, "pairs of vectors", columns))
        return found

    def _encode(self, texts: Sequence[str]) -> dict[str, Array]:
        given = list(texts)
        found = call_with(self.encoder or list, [given], f"the encoder of {self.name}")
        if found.ndim != 2 or len(found) != len(given) or not np.isfinite(found).all():
            raise OptionError(
                f"the encoder of {self.name} was given {len(given)} texts and returned an array of "
                f"shape {found.shape}, expected a row of finite numbers for each"
            )
        self.calls.encoded += len(given)
        self.calls.encodings += 1
        made = dict(zip(given, found, strict=True))
        self._vectors.update(made)
        for text in [*islice(self._vectors, max(0, len(self._vectors) - _KEPT))]:
            del self._vectors[text]
        return made

    def _batches(self, items: Sequence[Any]) -> Iterator[Sequence[Any]]:
        step = self.batch or max(1, len(items))
        return (items[first : first + step] for first in range(0, len(items), step))

    def _call(
        self, given: Sequence[Any], things: str, columns: Sequence[Any] | None
    ) -> FloatColumn:
        self.calls.calls += 1
        return numbers_of(self.scores, given, self.name, things, columns)

    def _remember(self, texts: Sequence[Texts], numbers: FloatColumn) -> dict[Texts, float]:
        fresh = dict(zip(texts, numbers.tolist(), strict=True))
        if self.cache is not None:
            ScoreCache(self.cache).add(self._signature, fresh)
        return fresh

    @property
    def _signature(self) -> str:
        """What scores in a cache belong to."""
        return self.name if self.version is None else f"{self.name}\0{self.version}"

    @property
    def _its_source(self) -> str:
        if self.segment_source is None:
            raise OptionError(
                f"{self.name} takes the source of a segment, and none is known here "
                "(with_source(text) of a utility says it)"
            )
        return self.segment_source

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        said, expected = texts_of(candidates), texts_of(evidence)
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


def texts_of(nbest: NBest) -> list[str]:
    """Return the sentences of a list."""
    return [" ".join(nbest.tokens(entry)) for entry in range(len(nbest))]


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
        texts = texts_of(nbest)
        found = self.metric.scored([(text, one) for text in texts for one in self._texts])
        rows = found.reshape(len(texts), len(self._texts))
        best = rows.max(axis=1) if self.metric.higher_is_better else rows.min(axis=1)
        return floats(np.column_stack([best, np.ones(len(texts))]))
