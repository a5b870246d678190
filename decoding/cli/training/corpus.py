"""Training data of ``fstmetrics train``: segments in memory, each with its references."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from decoding.cli.arguments import (
    explain_nothing_done,
    make_settler,
    open_references,
    report_failures,
)
from decoding.cli.running import corpus_outcomes, say_waiting
from decoding.corpus.outcomes import Done, Failures, Segment
from decoding.corpus.transforms import Rescored
from decoding.training.learner import HeldOut, TrainingTask
from fstmetrics import Metric, parse_metric
from fstmetrics.references import Reference
from lattices.algorithms import best_words
from lattices.errors import FormatError, OptionError, SpaceError
from lattices.formats.references import References
from lattices.spaces import Space

if TYPE_CHECKING:
    from decoding.corpus.actors import Actors


@dataclass(frozen=True)
class TrainingSegment:
    """One segment to train on, or to be judged by."""

    #: with features
    space: Space
    references: tuple[Reference, ...]
    #: what was best by the scores in the file
    one_best: tuple[str, ...]


@dataclass(frozen=True)
class _Referenced:
    """The task that refuses, one by one, segments that nobody can train on."""

    references: References | None
    metrics: tuple[Metric, ...]

    def process(self, segments: Sequence[Segment]) -> list[TrainingSegment]:
        return [self._check(segment) for segment in segments]

    def _check(self, segment: Segment) -> TrainingSegment:
        space = segment.space
        found = segment.references(self.references, required=True)
        if space.features is None or not space.feature_names:
            raise SpaceError("no features to weight")
        return TrainingSegment(space, found, best_words(space))


@dataclass(frozen=True)
class TrainingCorpus:
    """The segments that can be trained on, and what became of the others."""

    segments: tuple[TrainingSegment, ...]
    failures: Failures
    actors: Actors | None = None

    def task(self, metric: Metric, dev: HeldOut | None) -> TrainingTask:
        """Return what a learner is fitted to."""
        if self.actors is None:
            return TrainingTask(self.spaces, self.references, metric, dev)
        from decoding.training.shards.task import ShardedTask

        stored: list[Any] = self.spaces
        return ShardedTask(self.actors, stored, self.references, metric, dev)

    @property
    def spaces(self) -> list[Space]:
        """The search spaces."""
        return [segment.space for segment in self.segments]

    @property
    def references(self) -> list[tuple[Reference, ...]]:
        """The references of each."""
        return [segment.references for segment in self.segments]

    @property
    def pair(self) -> HeldOut:
        """Both, as a learner takes what is held out."""
        return self.spaces, self.references

    @property
    def feature_names(self) -> list[str]:
        """The features of all spaces, in the order of their first occurrence."""
        return list(dict.fromkeys(name for space in self.spaces for name in space.feature_names))

    def scores(
        self, metrics: Sequence[Metric], weights: Mapping[str, float] | None = None
    ) -> dict[str, float]:
        """Return what the best sentences under the weights score, a feature without one being 0.

        By the scores in the file if there are no weights.
        """
        said = [segment.one_best for segment in self.segments]
        if weights is not None:
            said = self._say(weights)
        result = {}
        for metric in metrics:
            rows = [
                metric.against(references).stats(words)
                for references, words in zip(self.references, said, strict=True)
            ]
            result[str(metric)] = metric.score(np.sum(rows, axis=0))
        return result

    def _say(self, weights: Mapping[str, float]) -> list[tuple[str, ...]]:
        """Return the best sentences under weights."""
        if self.actors is None:
            rescored = Rescored(weights, "zero")
            return [
                best_words(rescored(Segment(place, "", 0, space)))
                for place, space in enumerate(self.spaces)
            ]
        from decoding.training.shards.shard import say

        members: dict[int, list[Any]] = {}
        stored: list[Any] = self.spaces
        for space in stored:
            members.setdefault(space.shard, []).append(space)
        found = self.actors.call(
            {
                shard: (say, [space.place for space in some], weights)
                for shard, some in members.items()
            }
        )
        words = {
            (space.shard, space.place): each
            for shard, some in members.items()
            for space, each in zip(some, found[shard], strict=True)
        }
        return [words[space.shard, space.place] for space in stored]


@contextmanager
def open_actors(arguments: argparse.Namespace) -> Iterator[Actors | None]:
    """Start those that hold segments and work on them; None if that is this process."""
    # segments would be sent back by workers that nobody asked for
    arguments.workers = arguments.workers or 1
    if not arguments.dask and arguments.workers == 1:
        yield None
        return
    from decoding.corpus.actors import dask_actors, process_actors
    from decoding.training.shards.shard import Shard

    if arguments.dask:
        opened = dask_actors(arguments.dask, Shard, lambda seconds: say_waiting(arguments, seconds))
    else:
        opened = process_actors(arguments.workers, Shard)
    with opened as actors:
        yield actors


def read_corpus(
    arguments: argparse.Namespace, references: References | None, actors: Actors | None = None
) -> TrainingCorpus:
    """Read all segments as the arguments say, into the memory of actors if there are any."""
    segments: list[TrainingSegment] = []
    failures = Failures()
    records = 0
    task = _Referenced(references, tuple(map(parse_metric, arguments.metric or [])))
    first = make_settler(references, arguments, required=True)
    with corpus_outcomes(task, arguments, first=first, actors=actors) as outcomes:
        for outcome in outcomes:
            records += outcome.position >= 0
            if isinstance(outcome, Done):
                segments.append(outcome.result)
            else:
                failures.append(outcome)
    if references is not None and records:
        try:
            references.finish(records)
        except FormatError:
            # a file that could not be read may be what makes the numbers differ
            report_failures(failures)
            raise
    if not segments:
        raise explain_nothing_done(failures, "nothing to train on")
    check_one_model([segment.space for segment in segments])
    return TrainingCorpus(tuple(segments), failures, actors)


def read_held_out(
    arguments: argparse.Namespace, paths: Sequence[str], refs: Sequence[str] | None
) -> TrainingCorpus:
    """Return other spaces, read in the same way, by this process."""
    # in the memory of this process
    others = {"paths": paths, "refs": refs, "workers": 1, "dask": None}
    asked = argparse.Namespace(**{**vars(arguments), **others})
    return read_corpus(asked, open_references(asked))


def check_one_model(spaces: Sequence[Space]) -> None:
    """Refuse spaces that fall into groups without a feature in common.

    A feature that a space does not have is 0 there, as sparse features are; but weights for two
    sets of names that never meet would be those of two models.

    Examples
    --------
    >>> from lattices import Lattice
    >>> def space(id, *names):
    ...     features = dict.fromkeys(names, 1.0)
    ...     return Lattice.from_arcs([(0, 1, "a", 0.0, features)], finals=[1], id=id)
    >>> check_one_model([space("s1", "lm", "a"), space("s2", "b", "c"), space("s3", "b", "lm")])
    >>> check_one_model([space("s1", "lm", "tm"), space("s2", "LM", "TM")])
    Traceback (most recent call last):
    ...
    lattices.errors.OptionError: segment 's1' has the features lm, tm and segment 's2' LM, TM:
    ...
    """
    above: dict[str, str] = {}

    def root(name: str) -> str:
        while above.setdefault(name, name) != name:
            # halves the way for those who come after
            above[name] = above[above[name]]
            name = above[name]
        return name

    for space in spaces:
        first = root(space.feature_names[0])
        for name in space.feature_names[1:]:
            above[root(name)] = first
    home = root(spaces[0].feature_names[0])
    for space in spaces:
        if root(space.feature_names[0]) != home:
            raise OptionError(
                f"segment {spaces[0].id!r} has the features {_list(spaces[0])} and segment "
                f"{space.id!r} {_list(space)}: they are not of one model"
            )


def _list(space: Space) -> str:
    names = space.feature_names
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
