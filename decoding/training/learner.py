"""Base class of learners: rounds that can be watched, stopped and resumed.

A learner is made of options and of a state. The options are the fields of its class; the state
is plain JSON and changes once a round. Whoever stops a learner between two rounds, or in one, and
goes on from its checkpoint gets the same weights, to the last bit.
"""

from __future__ import annotations

import copy
import json
import math
import os
import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import numpy as np

from decoding.plain_json import check_seal, read_json, seal_json
from decoding.training.envelope import EnvelopeCorpus, LineCorpus
from fstmetrics import Evaluator, Metric
from fstmetrics.contract import METRIC, quality
from fstmetrics.references import Reference
from lattices.errors import FormatError, OptionError
from lattices.formats.streams import PathLike, open_output
from lattices.records import show
from lattices.registry import name_plugin
from lattices.spaces import Space
from lattices.spaces.arguments import SPACES, check_filled
from lattices.spaces.features import MISSING, check_missing

if TYPE_CHECKING:
    from decoding.training.training_corpus import LearnerCorpus

#: spaces to choose a round by, and the references of each
HeldOut = tuple[Iterable[Space], Iterable[Iterable[Reference]]]
#: of whole numbers: searches are native
_MOST, _MOST_LIMIT = 2**31 - 1, 2**63 - 1


class TrainingTask:
    """What a learner is fitted to: spaces, the references of each, and the metric.

    Attributes
    ----------
    spaces : tuple of Lattice, NBest or Forest
    evaluators : tuple of Evaluator
        The metric against the references, one for each space.
    metric : Metric
    dev : EnvelopeCorpus or None
        What was held out, if anything.
    digest : str
        A name for all of it, by which a checkpoint knows its task again.
    is_sharded : bool
        Whether other processes hold the spaces.
    """

    is_sharded: ClassVar[bool] = False

    def __init__(
        self,
        spaces: Iterable[Space],
        references: Iterable[Iterable[Reference]],
        metric: Metric,
        dev: HeldOut | None = None,
    ) -> None:
        METRIC.check("fit", "metric", metric)
        self.spaces = tuple(spaces)
        SPACES.check("fit", "spaces", self.spaces)
        listed = [tuple(some) for some in _check_lists(references)]
        if len(self.spaces) != len(listed):
            raise OptionError(
                f"{len(self.spaces)} spaces, but references for {len(listed)} segments"
            )
        if not self.spaces:
            raise OptionError("there are no spaces to train on")
        check_filled(self.spaces)
        self._set_up(metric, listed, [describe_space(space) for space in self.spaces], dev)

    def _set_up(
        self,
        metric: Metric,
        references: Iterable[Iterable[Reference]],
        described: Sequence[tuple[Any, ...]],
        dev: HeldOut | None,
    ) -> None:
        """Set what does not depend on where the spaces are."""
        listed = [tuple(some) for some in references]
        self.metric = metric
        self.evaluators: tuple[Evaluator, ...] = tuple(metric.against(some) for some in listed)
        texts = [[repr(each) for each in some] for some in listed]
        named = [str(metric), described, texts]
        self.dev: EnvelopeCorpus | None = None
        if dev is not None:
            held_out: TrainingTask = TrainingTask(*dev, metric)
            self.dev = EnvelopeCorpus(held_out.spaces, held_out.evaluators)
            named.append(held_out.digest)
        self.digest: str = sha256(json.dumps(named).encode()).hexdigest()

    def lines(self, earlier: LineCorpus | None = None, workers: int = 1) -> LineCorpus:
        """Return the spaces, to be searched along lines; what ``earlier`` ones know stays."""
        known = earlier if isinstance(earlier, EnvelopeCorpus) else None
        return EnvelopeCorpus(self.spaces, self.evaluators, earlier=known, workers=workers)

    def columns(self, judge: str | None, brevity: str) -> LearnerCorpus:
        """Return the spaces, to be weighted, with a judge of single sentences."""
        from decoding.training.training_corpus import LearnerCorpus

        return LearnerCorpus(self, judge, brevity)

    def score_held_out(self, weights: Mapping[str, float]) -> float | None:
        """Return the metric on the held-out spaces under weights; a missing weight is 0."""
        if self.dev is None:
            return None
        return self.dev.score([weights.get(name, 0.0) for name in self.dev.names])


def _check_lists(references: Iterable[Iterable[Reference]]) -> Iterator[Iterable[Reference]]:
    for some in references:
        if isinstance(some, str):
            raise OptionError(f"a list of references for each segment, not the text {some[:40]!r}")
        yield some


def describe_space(space: Space) -> tuple[Any, ...]:
    """Return what tells spaces apart and does not depend on how features are stored."""
    if space.features is None:
        return space.id, len(space.score), 0, 0.0, 0.0
    values = space.features.data
    used = int(np.count_nonzero(values))
    least, most = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    return space.id, len(space.score), used, least, most


L = TypeVar("L", bound="Learner")
T = TypeVar("T")

#: of the file that a checkpoint is
_VERSION = 3


class TrainingWarning(UserWarning):
    """A fit whose rounds were all worse than the weights it began with."""


@dataclass(frozen=True)
class Round:
    """What one round of training came to."""

    #: counted from 1, over all that the learner was ever fitted to; of a start, the number of
    #: rounds before it
    number: int
    #: the metric of the best sentences of the training spaces, under the weights
    score: float
    #: how long the round took, by the clock
    seconds: float
    #: those that the learner would return if this were the best round: the average so far, of one
    #: that averages
    weights: Mapping[str, float]
    #: what else the learner tells
    details: Mapping[str, Any]
    #: the metric of the best sentences of the spaces that were held out, if any were
    held_out: float | None = None

    @property
    def decisive(self) -> float:
        """The score by which rounds are compared: on what was held out, if anything was."""
        return self.score if self.held_out is None else self.held_out


class History(Sequence[Round]):
    """All rounds of a learner, as a table.

    Examples
    --------
    >>> history = History([Round(1, 0.25, 0.1, {"lm": 1.0}, {"pass": 1})])
    >>> history.as_columns()
    {'number': [1], 'score': [0.25], 'seconds': [0.1], 'pass': [1], 'weight lm': [1.0]}
    """

    def __init__(self, rounds: Iterable[Round] = ()) -> None:
        self._rounds = tuple(rounds)

    @overload
    def __getitem__(self, index: int) -> Round: ...
    @overload
    def __getitem__(self, index: slice) -> History: ...
    def __getitem__(self, index: int | slice) -> Round | History:
        """Return one round, or some."""
        if isinstance(index, slice):
            return History(self._rounds[index])
        return self._rounds[index]

    def __len__(self) -> int:
        """Return how many rounds there were."""
        return len(self._rounds)

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        from lattices.drawing import html_table

        columns = self.as_columns()
        return html_table(
            ([show(value) for value in row] for row in zip(*columns.values(), strict=True)),
            list(columns),
        )

    def as_columns(self) -> dict[str, list[Any]]:
        """Return one list for each column; None where a round has no such detail or weight."""
        details = dict.fromkeys(name for each in self._rounds for name in each.details)
        weights = dict.fromkeys(name for each in self._rounds for name in each.weights)
        return {
            "number": [each.number for each in self._rounds],
            "score": [each.score for each in self._rounds],
            **(
                {"held_out": [each.held_out for each in self._rounds]}
                if any(each.held_out is not None for each in self._rounds)
                else {}
            ),
            "seconds": [each.seconds for each in self._rounds],
            **{name: [each.details.get(name) for each in self._rounds] for name in details},
            **{
                f"weight {name}": [each.weights.get(name) for each in self._rounds]
                for name in weights
            },
        }


@dataclass(kw_only=True, eq=False)
class Learner(ABC):
    """A way to find weights under which a model says what a metric likes.

    A learner of a new kind is a dataclass with its options as fields, of JSON's types, and has
    two methods: :meth:`begin` sets up the state of a fit, :meth:`round` does one round and
    sets :attr:`finished` after the last; both return the metric of the corpus, and keep what must
    outlive a round in :attr:`state`, :attr:`weights` and nowhere else. Random numbers come from
    :attr:`random`, whose state is part of the checkpoint. All but MERT, whose objective is that of
    the corpus, have ``update(pair)`` as well
    (:class:`decoding.training.margin_updates.PairLearner`).

    Parameters
    ----------
    start : mapping of str to float, optional
        The weights to begin with; for every feature the same by default, with a sum of 1.
    missing : {"warn", "zero", "error"}
        What a feature is that ``start`` leaves out: 0 with a warning, 0, or an error.
    seed : int
    """

    name: ClassVar[str]
    #: whether other processes may hold the spaces (:mod:`decoding.training.shards`)
    in_shards: ClassVar[bool] = False
    start: Mapping[str, float] | None = None
    missing: str = "warn"
    seed: int = 0
    #: after a fit those of the best round, :attr:`chosen`; names that no space has keep the weights
    #: they began with
    weights: dict[str, float] = field(init=False)
    history: History = field(init=False)
    #: what the last fit began with, before its first round
    began: Round | None = field(init=False, default=None, repr=False)
    #: the round of the last fit whose metric is best, on what was held out if anything was, and of
    #: equals the first; :attr:`began` if none is better
    chosen: Round | None = field(init=False, default=None, repr=False)
    #: whether the last fit ran to its end
    finished: bool = field(init=False, default=True)
    #: what a round leaves to the next; JSON
    state: dict[str, Any] = field(init=False)
    random: np.random.Generator = field(init=False)
    _task: str = field(init=False, default="", repr=False)

    def __post_init__(self) -> None:
        """Set up the state of a learner that has seen nothing; refuse numbers that none takes."""
        for each in fields(self):
            most = _MOST_LIMIT if each.name in ("budget", "memory") else _MOST
            value = getattr(self, each.name) if each.init and each.name != "seed" else None
            if isinstance(value, int) and value > most:
                raise OptionError(f"{each.name} is at most {most}, not {value}")
        self.check_options(missing=MISSING)
        if self.start is not None:
            self.start = {name: float(value) for name, value in self.start.items()}
            if not np.isfinite(list(self.start.values())).all():
                raise OptionError("a weight to start with is not finite")
        self.weights = dict(self.start or {})
        self.history = History()
        self.state = {}
        self.random = np.random.default_rng(self.seed)

    def check_options(
        self,
        from_one: Iterable[str] = (),
        from_zero: Iterable[str] = (),
        above_zero: Iterable[str] = (),
        **words: Sequence[str],
    ) -> None:
        """Refuse options out of their range, and words that an option does not know."""
        for name, known in words.items():
            value = getattr(self, name)
            if value not in known:
                raise OptionError(f"{name} is one of {', '.join(known)}, not {value!r}")
        for name in from_one:
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is at least 1, not {getattr(self, name)}")
        for name in from_zero:
            if not 0.0 <= getattr(self, name) < np.inf:
                raise OptionError(f"{name} is a number from 0 up, not {getattr(self, name)}")
        for name in above_zero:
            if not 0.0 < getattr(self, name) < np.inf:
                raise OptionError(f"{name} is finite and greater than 0, not {getattr(self, name)}")

    @abstractmethod
    def begin(self, task: TrainingTask) -> float:
        """Begin a fit from the present weights; return the metric of the corpus under them."""

    @abstractmethod
    def round(self, task: TrainingTask) -> tuple[float, dict[str, Any]]:
        """Do one round; return the metric under :meth:`result`, and details for the history."""

    def result(self) -> dict[str, float]:
        """Return the weights that a fit would end with if it ended now."""
        return dict(self.weights)

    def fit(
        self: L,
        spaces: Iterable[Space],
        references: Iterable[Iterable[Reference]],
        metric: Metric,
        *,
        dev: HeldOut | None = None,
        checkpoint: PathLike | None = None,
        progress: bool = True,
        on_round: Callable[[Round], Any] | None = None,
    ) -> L:
        """Train to the end, from the present weights, or from where an unfinished fit was left.

        The weights are then those of the best round by the metric of the corpus, or those it
        began with if no round is better: what a learner minimises is not the metric of the corpus
        (but for MERT), and need not improve it. Those of the last are in :attr:`history`.

        Parameters
        ----------
        spaces : iterable of Lattice, NBest or Forest
            With features.
        references : iterable
            One list of references for each space.
        metric : Metric
        dev : pair of spaces and references, optional
            Held out: the best round is chosen by the metric there, not on the training spaces.
        checkpoint : path, optional
            A file to :meth:`save` to after every round.
        progress : bool
            Whether to say how far it is, if standard error is a terminal.
        on_round : function, optional
            Called with each :class:`Round` when it is done and saved. If it returns True, the fit
            ends there.

        Raises
        ------
        OptionError
            If an unfinished fit was to other spaces, references or dev, or another metric.

        Warns
        -----
        TrainingWarning
            If all rounds are worse than the start.
        """
        task = TrainingTask(spaces, references, metric, dev)
        return self.fit_task(task, checkpoint=checkpoint, progress=progress, on_round=on_round)

    def fit_task(
        self: L,
        task: TrainingTask,
        *,
        checkpoint: PathLike | None = None,
        progress: bool = True,
        on_round: Callable[[Round], Any] | None = None,
    ) -> L:
        """Train as :meth:`fit` does, to a task whose spaces may be elsewhere."""
        metric = task.metric
        if task.is_sharded and not self.in_shards:
            raise OptionError(f"{self.name} trains in one process, and the spaces are in others")
        if self.finished:
            self._change(lambda: self._begin(task))
        elif self._task != task.digest:
            raise OptionError(
                "an unfinished fit goes on with the spaces, references, metric and dev it had"
            )
        with _progress_line(progress) as show:
            while not self.finished:
                done = self._change(lambda: self._done_round(task))
                if checkpoint is not None:
                    self.save(checkpoint)
                numbers = {k: v for k, v in done.details.items() if not isinstance(v, str)}
                if done.held_out is not None:
                    numbers["held out"] = done.held_out
                told = "".join(f", {name} {_show(each)}" for name, each in numbers.items())
                show(f"{self.name}: round {done.number}{told}, {metric} {_show(done.score)}")
                if on_round is not None and on_round(done) is True and not self.finished:
                    self._change(self._end)
                    if checkpoint is not None:
                        self.save(checkpoint)
        self._warn(metric)
        return self

    def _begin(self, task: TrainingTask) -> None:
        begun = time.monotonic()
        score = self._check_score("begin", self.begin(task))
        weights = self._check_weights("begin", self.weights)
        held_out = task.score_held_out(weights)
        seconds = time.monotonic() - begun
        self.began = Round(len(self.history), score, seconds, weights, {}, held_out)
        self.chosen, self.finished, self._task = self.began, False, task.digest

    def _done_round(self, task: TrainingTask) -> Round:
        begun = time.monotonic()
        came: object = self.round(task)
        if not (isinstance(came, tuple) and len(came) == 2 and isinstance(came[1], dict)):
            raise self._wrong("round", came, "a score and a dict of details")
        score, details = self._check_score("round", came[0]), came[1]
        weights = self._check_weights("result", self.result())
        held_out = task.score_held_out(weights)
        seconds = time.monotonic() - begun
        done = Round(len(self.history) + 1, score, seconds, weights, details, held_out)
        self.history = History([*self.history, done])
        chosen, metric = self.chosen, task.metric
        if chosen is None or quality(metric, done.decisive) > quality(metric, chosen.decisive):
            chosen = self.chosen = done
        if self.finished:
            self.finish(chosen)
        return done

    def _check_score(self, where: str, score: object) -> float:
        """Return what a method says the metric is: learners are others', too."""
        if not isinstance(score, int | float) or math.isnan(score):
            raise self._wrong(where, score, "the metric of the corpus, a number")
        return float(score)

    def _check_weights(self, where: str, weights: object) -> dict[str, float]:
        """Return a copy of weights that are some."""
        try:
            found = {str(name): float(value) for name, value in dict(weights).items()}  # type: ignore[call-overload]
        except (TypeError, ValueError):
            raise self._wrong(where, weights, "weights, a number for each name") from None
        if not np.isfinite(list(found.values())).all():
            raise self._wrong(where, weights, "finite weights")
        return found

    def _wrong(self, where: str, came: object, expected: str) -> OptionError:
        what = name_plugin(self, f"learner {self.name}")
        return OptionError(f"{what}: {where} gives {came!r:.80}, expected {expected}")

    def _end(self) -> None:
        """End a fit before its last round."""
        self.finished = True
        if self.chosen is not None:
            self.finish(self.chosen)

    def finish(self, chosen: Round) -> None:
        """End a fit with the weights of its best round."""
        self.weights = dict(chosen.weights)

    def _warn(self, metric: Metric) -> None:
        """Say so if a fit was for nothing."""
        began = self.began
        if began is None or self.chosen != began:
            return
        rounds = [each for each in self.history if each.number > began.number]
        best = max(rounds, key=lambda each: quality(metric, each.decisive))
        if quality(metric, best.decisive) < quality(metric, began.decisive):
            where = "the training spaces" if began.held_out is None else "the held-out spaces"
            warnings.warn(
                f"{self.name} found nothing better than the weights it began with, which are "
                f"kept: {metric} of {where} was {_show(began.decisive)} at the start, and at "
                f"best {_show(best.decisive)}, after round {best.number}",
                TrainingWarning,
                stacklevel=4,
            )

    def _change(self, act: Callable[[], T]) -> T:
        """Do something whole or not at all."""
        weights, finished, history = dict(self.weights), self.finished, self.history
        began, chosen, task = self.began, self.chosen, self._task
        state, drawn = copy.deepcopy(self.state), self.random.bit_generator.state
        try:
            return act()
        except BaseException:
            self.weights, self.finished, self.history = weights, finished, history
            self.began, self.chosen, self._task = began, chosen, task
            self.state, self.random.bit_generator.state = state, drawn
            raise

    def initial_weights(self, names: Sequence[str]) -> dict[str, float]:
        """Return the present weights of all features, to begin a fit with.

        A feature that the weights to start with leave out begins at 0, as ``missing`` says; one
        that first occurs in a later fit begins at 0 without a word.
        """
        if not self.weights:
            return dict.fromkeys(names, 1.0 / max(1, len(names)))
        missing = [name for name in names if name not in self.weights]
        if not self.history:
            check_missing(self.weights, names, self.missing, "no weight to start with")
        return {**self.weights, **dict.fromkeys(missing, 0.0)}

    def average(self) -> dict[str, float]:
        """Return the mean of the weights after each round; a weight not there yet counts as 0."""
        if not self.history:
            return dict(self.weights)
        names = dict.fromkeys(name for each in self.history for name in each.weights)
        return {
            name: float(np.mean([each.weights.get(name, 0.0) for each in self.history]))
            for name in names
        }

    def options(self) -> dict[str, Any]:
        """Return the options by name, as JSON."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def _dump(self) -> dict[str, Any]:
        return {
            "weights": self.weights,
            "finished": self.finished,
            "state": self.state,
            "random": self.random.bit_generator.state,
            "task": self._task,
            "history": [vars(each) for each in self.history],
            "began": self.began and vars(self.began),
            "chosen": self.chosen and vars(self.chosen),
        }

    def _restore(self, saved: Mapping[str, Any]) -> None:
        self.weights, self.finished = dict(saved["weights"]), saved["finished"]
        self.state, self._task = saved["state"], saved["task"]
        self.random.bit_generator.state = saved["random"]
        self.history = History(Round(**each) for each in saved["history"])
        self.began, self.chosen = (
            None if saved[name] is None else Round(**saved[name]) for name in ("began", "chosen")
        )

    def save(self, path: PathLike) -> None:
        """Write options and state to a JSON file, which takes its name when it is complete."""
        content = {
            "learner": self.name, "version": _VERSION, "options": self.options(), **self._dump(),
        }  # fmt: skip
        with open_output(path) as stream:
            stream.write(seal_json(content))

    @classmethod
    def load(cls: type[L], path: PathLike) -> L:
        """Return a learner as it was saved.

        Raises
        ------
        FormatError
            If the file is no checkpoint of this kind of learner.
        """
        place = os.fspath(path)
        with open(path, "rb") as stream:
            data = stream.read()
        content = read_json(data, f"checkpoint of {cls.name!r}", place)
        if content.get("learner") != cls.name:
            found = content.get("learner")
            raise FormatError(f"a checkpoint of {found!r}, expected one of {cls.name!r}", place)
        if content.get("version") != _VERSION:
            raise FormatError(f"version {content.get('version')!r}, expected {_VERSION}", place)
        check_seal(content, "checkpoint", place)
        try:
            learner = cls(**content["options"])
            missing = [name for name in learner.options() if name not in content["options"]]
            learner._restore(content)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise FormatError(f"no whole checkpoint: {problem!r}", place) from None
        if missing:
            # today's defaults may differ from those of the fit
            raise FormatError(f"of another version: no option {', '.join(missing)}", place)
        return learner


def _show(value: object) -> str:
    return f"{value:.5f}" if isinstance(value, float) else str(value)


@contextmanager
def _progress_line(wanted: bool) -> Iterator[Callable[[str], None]]:
    """Give a function that shows a line in the place of the one before, at a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield lambda text: None
        return
    try:
        yield lambda text: print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
