"""Training tasks whose segments other processes hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, Protocol

import numpy as np

from decoding.training.envelope import Changes, LineCorpus, Variation, feature_names_of
from decoding.training.learner import HeldOut, TrainingTask
from decoding.training.shards import shard as remote
from decoding.training.shards.shard import StoredSpace
from decoding.training.training_corpus import LearnerCorpus, LearnerVariation, Spread
from fstmetrics import Metric
from fstmetrics.references import Reference
from lattices.arrays import FloatColumn, floats
from lattices.caching import cached_property
from lattices.spaces.features import Weights


class Workers(Protocol):
    """Processes with a :class:`~decoding.training.shards.shard.Shard` each."""

    def call(self, calls: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call ``function(shard, *arguments)`` in some shards at once; return what each returns."""


class ShardedTask(TrainingTask):
    """What a learner is fitted to, with the spaces in shards.

    Learners ask for :meth:`lines` and :meth:`columns`, as of any task; those of a task in shards
    ask the shards. Results come back segment by segment and are put into the order of the corpus
    before anything is added up, so that sums are the same to the last bit.
    """

    is_sharded: ClassVar[bool] = True

    def __init__(
        self,
        workers: Workers,
        stored: Sequence[StoredSpace],
        references: Iterable[Iterable[Reference]],
        metric: Metric,
        dev: HeldOut | None = None,
    ) -> None:
        self.workers, self.stored = workers, tuple(stored)
        self.names = feature_names_of(self.stored)
        self.spaces: Any = self.stored
        self._set_up(metric, references, [space.described for space in self.stored], dev)
        members: dict[int, list[int]] = {}
        self._local: list[int] = []
        for place, space in enumerate(self.stored):
            some = members.setdefault(space.shard, [])
            self._local.append(len(some))
            some.append(place)
        #: the places of each shard's segments in the corpus
        self.members = members
        places = {
            shard: [self.stored[place].place for place in some] for shard, some in members.items()
        }
        workers.call(
            {shard: (remote.settle, some, self.names, metric) for shard, some in places.items()}
        )

    def lines(self, earlier: LineCorpus | None = None, workers: int = 1) -> LineCorpus:
        """Return the spaces, to be searched along lines."""
        return ShardedLines(self)

    def columns(self, judge: str | None, brevity: str) -> LearnerCorpus:
        """Return the spaces, to be weighted."""
        return ShardedColumns(self, judge, brevity)

    def call_all(self, function: Callable[..., Any], *arguments: Any) -> dict[int, Any]:
        """Call a function in all shards at once."""
        return self.workers.call(dict.fromkeys(self.members, (function, *arguments)))

    def in_order(self, found: Mapping[int, Any]) -> list[Any]:
        """Return what shards have for each of their segments, in the order of the corpus."""
        result: list[Any] = [None] * len(self.stored)
        for shard, some in found.items():
            for place, each in zip(self.members[shard], some, strict=True):
                result[place] = each
        return result

    def spread(
        self,
        columns: ShardedColumns,
        function: Spread,
        places: Sequence[int],
        arguments: tuple[Any, ...],
        each: Sequence[Any] | None,
    ) -> list[Any]:
        """Return what a function returns for some segments, computed in their shards."""
        wanted: dict[int, list[int]] = {}
        for number, place in enumerate(places):
            wanted.setdefault(self.stored[place].shard, []).append(number)
        found = self.workers.call(
            {
                shard: (
                    remote.spread, columns.made_by, columns.document, function,
                    [self._local[places[number]] for number in some],
                    arguments if each is None else ([each[number] for number in some], *arguments),
                )
                for shard, some in wanted.items()
            }
        )  # fmt: skip
        result: list[Any] = [None] * len(places)
        for shard, some in wanted.items():
            for number, each in zip(some, found[shard], strict=True):
                result[number] = each
        return result

    def go_through(self, function: Callable[..., Any], found: Any, *arguments: Any) -> Any:
        """Pass sums from shard to shard, so that segments add to them in order."""
        for shard, some in groupby(range(len(self.stored)), lambda at: self.stored[at].shard):
            places = [self._local[place] for place in some]
            found = self.workers.call({shard: (function, found, places, *arguments)})[shard]
        return found


class ShardedLines(LineCorpus):
    """The spaces of shards, to be searched along lines."""

    def __init__(self, task: ShardedTask) -> None:
        self._task, self.names, self.metric = task, task.names, task.metric

    @cached_property
    def deviations(self) -> FloatColumn:
        none = Variation.none(len(self.names))
        found: Variation = self._task.go_through(remote.vary, none)
        return found.deviations

    def changes(self, weights: Weights, direction: Weights) -> Changes:
        found: dict[int, Changes] = self._task.call_all(
            remote.changes, self.vector(weights), self.vector(direction)
        )
        members = self._task.members
        place = np.concatenate(
            [np.array(members[shard])[each.place] for shard, each in found.items()]
        )
        order = np.argsort(place, kind="stable")
        first = self._task.in_order({shard: each.first for shard, each in found.items()})
        step, change = (
            np.concatenate([getattr(each, name) for each in found.values()])
            for name in ("step", "change")
        )
        return Changes(np.array(first), place[order], floats(step[order]), floats(change[order]))

    def stats(self, weights: Weights) -> FloatColumn:
        return np.array(
            self._task.in_order(self._task.call_all(remote.statistics, self.vector(weights)))
        )


class ShardedColumns(LearnerCorpus):
    """The spaces of shards, to be weighted."""

    def __init__(self, task: ShardedTask, judge: str | None, brevity: str) -> None:
        self._task, self.made_by = task, (judge, brevity)
        self._set_up(task, judge, brevity, ShardedLines(task))
        self.spaces: Any = task.stored

    @property
    def is_spread(self) -> bool:
        """Whether other processes hold the spaces."""
        return True

    def spread(
        self,
        function: Spread,
        places: Iterable[int],
        *arguments: Any,
        each: Sequence[Any] | None = None,
    ) -> list[Any]:
        """Return what a function returns for some spaces, computed where they are."""
        return self._task.spread(self, function, list(places), arguments, each)

    @cached_property
    def deviations(self) -> FloatColumn:
        """How much each feature varies among the sentences of a space in which it varies."""
        none = LearnerVariation.none(len(self.names))
        found: LearnerVariation = self._task.go_through(remote.vary_columns, none, self.made_by)
        return found.deviations
