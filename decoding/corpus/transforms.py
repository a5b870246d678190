"""Transforms of single segments: k best, pruning, sampling, rescoring; recordings of several.

A transform takes one segment to another search space. The jobs of :mod:`decoding.corpus.encoding`
do it for a batch, and make what comes out ready to be written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from decoding.corpus.outcomes import Done, Failure, Segment
from lattices.errors import Error, OptionError
from lattices.spaces import Forest, NBest, Space
from lattices.spaces.features import MISSING
from lattices.spaces.scales import WORDS, count_words

if TYPE_CHECKING:
    from lattices.formats.references import References

#: from one segment to the space to write; picklable, for worker processes
Transform: TypeAlias = Callable[[Segment], Space]


def keep_unchanged(segment: Segment) -> Space:
    """Return the space as it was read."""
    return segment.space


@dataclass(frozen=True)
class WithReferences:
    """Attach references, in place of those the segment has."""

    references: References

    def __call__(self, segment: Segment) -> Space:
        """Return the space with its references."""
        found = self.references.get(segment.id, segment.position)
        return segment.space.replaced(references=found)


@dataclass(frozen=True)
class InWords:
    """The words that the pieces of a lattice or list make, as :func:`lattices.to_words` has it."""

    boundary: str
    then: Transform

    def __call__(self, segment: Segment) -> Space:
        """Return the space of words."""
        from lattices.tokens.words import to_words

        space = self.then(segment)
        if isinstance(space, Forest):
            raise OptionError(
                "the pieces of a forest cannot be put together, those of a lattice can"
            )
        return to_words(space, self.boundary)


@dataclass(frozen=True)
class Merged:
    """The lattice of a list, as :func:`lattices.merge` has it; lattices stay what they are."""

    recombine: int
    then: Transform

    def __call__(self, segment: Segment) -> Space:
        """Return the lattice."""
        from lattices.spaces.merging import merge

        space = self.then(segment)
        return merge(space, self.recombine) if isinstance(space, NBest) else space


@dataclass(frozen=True)
class KBest:
    """The k best paths of a lattice or derivations of a forest, or the k best entries of a list.

    Best first. Exact, also for distinct sentences: see :func:`lattices.algorithms.kbest.k_best`.
    Entries with equal scores keep their order.
    """

    k: int
    distinct: bool = False

    def __call__(self, segment: Segment) -> NBest:
        """Return the list."""
        return self.together([segment])[0]

    def together(self, segments: Sequence[Segment]) -> list[NBest]:
        """Return the lists of a batch, those of its lattices by one native call."""
        from lattices.algorithms.kbest import k_best_lists

        spaces = [segment.space for segment in segments]
        graphs = [space for space in spaces if not isinstance(space, NBest)]
        made = iter(k_best_lists(graphs, self.k, self.distinct))
        return [self._of(space) if isinstance(space, NBest) else next(made) for space in spaces]

    def _of(self, space: NBest) -> NBest:
        from decoding.reranking import choose_entries

        order = np.argsort(-space.score, kind="stable").tolist()
        if self.distinct:
            best: dict[tuple[str, ...], int] = {}
            for entry in order:
                best.setdefault(space.tokens(entry), entry)
            order = list(best.values())
        return choose_entries(space, order[: self.k])


@dataclass(frozen=True)
class Pruned:
    """A smaller lattice or forest, as :func:`lattices.prune` makes it; or a list within a beam.

    Examples
    --------
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -3.0)], finals=[1])
    >>> Pruned(beam=1.0)(Segment(0, "", 0, lattice))
    <Lattice '' of 2 states, 1 arcs>
    """

    beam: float | None = None
    density: float | None = None
    posterior: float | None = None
    scale: float = 1.0

    def __call__(self, segment: Segment) -> Space:
        """Return what is left."""
        from decoding.reranking import choose_entries
        from lattices.algorithms import prune

        space = segment.space
        if not isinstance(space, NBest):
            return prune(
                space,
                beam=self.beam,
                density=self.density,
                posterior=self.posterior,
                scale=self.scale,
            )
        if self.beam is None:
            raise OptionError("n-best lists have no arcs to prune; a beam is what they can have")
        lost = space.score.max(initial=-np.inf) - space.score
        return choose_entries(space, np.flatnonzero(lost <= self.beam).tolist())


@dataclass(frozen=True)
class Sampled:
    """Random paths, derivations or entries, each drawn in proportion to ``exp(scale * score)``.

    What is drawn for a segment depends on the seed, on the segment's id and on the segment,
    and on nothing else: not on the others, nor on who draws it.
    """

    n: int
    seed: int = 0
    scale: float = 1.0

    def __call__(self, segment: Segment) -> NBest:
        """Return the list, in the order of drawing."""
        from decoding.reranking import draw

        return draw(segment.space, self.n, self.seed, self.scale)


@dataclass(frozen=True)
class Rescored:
    """The space with the scores that weights give it, and perhaps something made of that.

    Every score becomes ``features @ weights``; what it was before is gone. Paths, entries and
    their order stay.

    Examples
    --------
    >>> from lattices import Lattice
    >>> arcs = [(0, 1, "a", -1.0, {"lm": -3.0}), (0, 1, "b", -2.0, {"lm": -1.0, "tm": 2.0})]
    >>> segment = Segment(0, "", 0, Lattice.from_arcs(arcs, finals=[1]))
    >>> Rescored({"lm": 0.5, "tm": 1.0})(segment).score.tolist()
    [-1.5, 1.5]
    >>> found, = Rescored({"lm": 0.5}, "zero", KBest(1))(segment)
    >>> found.text, found.score
    ('b', -0.5)
    """

    #: of the features, by name; names that the space does not have are no harm
    weights: Mapping[str, float]
    #: what a feature without a weight is: worth nothing unless none has a weight, worth nothing, or
    #: a fault of this segment
    missing: str = "warn"
    #: what to do with the space afterwards, such as :class:`KBest`
    then: Transform | None = None

    def __post_init__(self) -> None:
        """Refuse another way to deal with what is missing."""
        if self.missing not in MISSING:
            raise OptionError(f"missing is one of {', '.join(MISSING)}, not {self.missing!r}")

    def __call__(self, segment: Segment) -> Space:
        """Return what becomes of the space."""
        space, weights = segment.space, self.weights
        if WORDS in weights and WORDS not in space.feature_names:
            # as `tune` has them for a penalty
            space = count_words(space)
        if self.missing == "zero" or any(name in weights for name in space.feature_names):
            # of a corpus it is said once what has no weight: see list_unweighted
            known = dict.fromkeys(space.feature_names, 0.0) if self.missing != "error" else {}
            weights = {**known, **weights}
        rescored = space.reweighted(weights, missing=self.missing)
        return rescored if self.then is None else self.then(replace(segment, space=rescored))


def list_unweighted(space: Space, weights: Mapping[str, float]) -> tuple[str, ...]:
    """Return the features of a space that have no weight, in their order."""
    return tuple(name for name in space.feature_names if name not in weights)


def recording_pattern(pattern: str) -> re.Pattern[str]:
    """Return the expression for ids, or refuse it."""
    try:
        return re.compile(pattern)
    except re.error as problem:
        raise OptionError(f"--join {pattern!r} is no regular expression: {problem}") from None


def join_segments(
    outcomes: Iterable[Done[Space] | Failure], pattern: re.Pattern[str]
) -> Iterator[Done[Space] | Failure]:
    """Concatenate the segments of each recording, which the whole id names, or a group in it.

    The segments of a recording stand together in the input; one of them that fails, or stands
    elsewhere, fails, and so does its recording: what is left of it would be scored as if nothing
    else had been said.
    """
    recording = _Recording("")
    known: set[str] = set()
    for outcome in outcomes:
        found = pattern.match(outcome.id)
        name = found.group(found.re.groups and 1) if found else None
        if name is None and isinstance(outcome, Done):
            problem = f"the id {outcome.id!r} is not like --join {pattern.pattern!r}"
            outcome = _refuse(outcome, problem)
        elif name is not None and name != recording.name:
            yield from recording.end()
            recording = _Recording(name)
            if name in known and isinstance(outcome, Done):
                outcome = _refuse(
                    outcome,
                    f"the segments of {name!r} do not stand together; sort the input by id",
                )
            known.add(name)
        if isinstance(outcome, Failure):
            recording.broken = True
            yield outcome
        else:
            recording.parts.append(outcome)
    yield from recording.end()


def _refuse(done: Done[Space], problem: str) -> Failure:
    return Failure(done.position, done.path, done.line, done.id, problem)


class _Recording:
    """The segments of a recording so far, and whether one of them failed."""

    def __init__(self, name: str) -> None:
        self.name, self.broken = name, False
        self.parts: list[Done[Space]] = []

    def end(self) -> Iterator[Done[Space] | Failure]:
        """Return the recording, or why there is none; nothing if it had no segments."""
        from lattices.algorithms import concatenate

        if not self.parts:
            return
        first = self.parts[0]
        place = (first.position, first.path, first.line, self.name)
        if self.broken:
            yield Failure(*place, "not joined: a segment of it failed")
            return
        try:
            whole = concatenate([cast(Any, part.result) for part in self.parts], id=self.name)
        except Error as problem:
            yield Failure(*place, str(problem))
        else:
            yield Done(*place, whole)
