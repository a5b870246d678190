"""Decoder loop: decode, accumulate the spaces, train, and again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from scipy.sparse import csr_array, vstack

import lattices
from decoding.plain_json import check_seal, read_json, seal_json
from decoding.training.envelope import EnvelopeCorpus
from decoding.training.learner import HeldOut, Learner, TrainingTask
from fstmetrics import Metric
from fstmetrics.contract import quality
from fstmetrics.references import Reference
from lattices.algorithms import union
from lattices.arrays import IntColumn, floats, ints
from lattices.errors import FormatError, OptionError
from lattices.formats.streams import PathLike, open_output
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.features import FeatureMatrix, widen_rows
from lattices.vocabulary import Vocabulary

L = TypeVar("L", bound=Learner)

#: the files of a checkpoint: the state, the learner in its fit, and numbered by the decoding
#: what was decoded and the learner before it is fitted to that
_STATE, _LEARNER = "loop.json", "learner.json"
_SPACES, _BEFORE = "spaces-{}.jsonl.gz", "learner-{}.json"


@dataclass(frozen=True)
class Decoding:
    """One turn of the loop."""

    #: counted from 1
    number: int
    #: those that were decoded with
    weights: Mapping[str, float]
    #: the metric of what the decoder liked best
    score: float
    #: how many entries, arcs or edges there are now, over all segments
    hypotheses: int
    #: how many of them are new
    fresh: int
    #: the metric of what was held out, if anything was, under the weights
    held_out: float | None = None

    @property
    def decisive(self) -> float:
        """The score by which decodings are compared: on what was held out, if anything was."""
        return self.score if self.held_out is None else self.held_out


@dataclass(kw_only=True)
class DecoderLoop(Generic[L]):
    """Training with a decoder in the loop, by any learner.

    So the decoder is asked again, and the learner is given all that it ever said (Och 2003).

    Examples
    --------
    >>> from decoding.training.mert import MERT
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis, NBest
    >>> said = {"a": {"lm": 1.0}, "b": {"tm": 1.0}}
    >>> def decode(weights):
    ...     def score(word):
    ...         return sum(weights[name] * value for name, value in said[word].items())
    ...     word = max(said, key=score)
    ...     some = [Hypothesis((word,), score(word), said[word])]
    ...     yield NBest.from_hypotheses(some, feature_names=["lm", "tm"])
    >>> loop = DecoderLoop(decode=decode, learner=MERT(start={"lm": 0.5, "tm": 1.0}))
    >>> loop.run([["b"]], WER())["tm"], [each.score for each in loop.decodings]
    (1.0, [0.0])
    """

    decode: Callable[[Mapping[str, float]], Iterable[Space]]
    learner: L
    most_decodes: int = 10
    tolerance: float = 1e-4
    keep: bool = True
    decodings: tuple[Decoding, ...] = field(init=False, default=())
    #: those of the best decoding so far
    weights: Mapping[str, float] = field(init=False)

    def __post_init__(self) -> None:
        """Refuse a loop that cannot begin."""
        if self.most_decodes < 1:
            raise OptionError(f"most_decodes is at least 1, not {self.most_decodes}")
        if not self.learner.weights:
            raise OptionError("a decoder needs weights to start with")
        self.weights = dict(self.learner.weights)

    def run(
        self,
        references: Iterable[Iterable[Reference]],
        metric: Metric,
        *,
        dev: HeldOut | None = None,
        checkpoint: PathLike | None = None,
        progress: bool = True,
    ) -> Mapping[str, float]:
        """Decode and train in turn; return the weights whose decoding was best."""
        if dev is not None:
            dev = tuple(dev[0]), tuple(tuple(some) for some in dev[1])
        listed = [tuple(some) for some in references]
        folder = None if checkpoint is None else Path(checkpoint)
        spaces: list[Space] = []
        is_trained = False
        self._forget()
        if folder is not None and (folder / _STATE).exists():
            spaces, is_trained = self._resume(folder, metric, dev)
        while not self._is_over():
            if self.decodings and not is_trained:
                file = None if folder is None else folder / _LEARNER
                self.learner.fit(
                    spaces, listed, metric, dev=dev, checkpoint=file, progress=progress
                )
            is_trained = False
            if self.decodings and self._is_at_rest():
                break
            spaces = self._decode(spaces, listed, metric, dev)
            if folder is not None:
                self._save(folder, spaces, metric, dev)
        return self.weights

    def _forget(self) -> None:
        self.decodings = ()
        self.weights = dict(self.learner.weights)

    def _is_over(self) -> bool:
        done = self.decodings
        return len(done) >= self.most_decodes or (len(done) > 1 and done[-1].fresh == 0)

    def _is_at_rest(self) -> bool:
        """Tell whether the learner's weights are those that were decoded with last."""
        before, now = self.decodings[-1].weights, self.learner.weights
        names = {*before, *now}
        largest = max(map(abs, before.values()), default=0.0)
        moves = (abs(now.get(name, 0.0) - before.get(name, 0.0)) for name in names)
        return max(moves, default=0.0) <= self.tolerance * largest

    def _decode(
        self,
        spaces: list[Space],
        references: list[tuple[Reference, ...]],
        metric: Metric,
        dev: HeldOut | None,
    ) -> list[Space]:
        """Decode with the learner's weights; return the spaces to train on."""
        weights = dict(self.learner.weights)
        said = list(self.decode(weights))
        task = TrainingTask(said, references, metric, dev)
        corpus = EnvelopeCorpus(task.spaces, task.evaluators)
        score = corpus.score([weights.get(name, 0.0) for name in corpus.names])
        together = said
        if spaces and self.keep:
            together = [accumulate_lists(*pair) for pair in zip(spaces, said, strict=True)]
        size = sum(len(space.score) for space in together)
        known = sum(len(space.score) for space in spaces) if self.keep else 0
        done = Decoding(
            len(self.decodings) + 1, weights, score, size, size - known,
            task.score_held_out(weights),
        )  # fmt: skip
        best = max((quality(metric, each.decisive) for each in self.decodings), default=None)
        if best is None or quality(metric, done.decisive) > best:
            self.weights = weights
        self.decodings = (*self.decodings, done)
        return together

    def _save(self, folder: Path, spaces: list[Space], metric: Metric, dev: HeldOut | None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        count = len(self.decodings)
        bare = [space.replaced(references=(), metadata={}) for space in spaces]
        lattices.write(folder / _SPACES.format(count), bare)
        self.learner.save(folder / _BEFORE.format(count))
        content = {
            "metric": str(metric),
            "dev": _digest(dev, metric),
            "decodings": [vars(each) for each in self.decodings],
            "weights": dict(self.weights),
        }
        # from here on the new files are valid, and the old ones are not
        with open_output(folder / _STATE) as stream:
            stream.write(seal_json(content))
        for name in (_SPACES.format(count - 1), _BEFORE.format(count - 1), _LEARNER):
            (folder / name).unlink(missing_ok=True)

    def _resume(
        self, folder: Path, metric: Metric, dev: HeldOut | None
    ) -> tuple[list[Space], bool]:
        """Take up a run; return its spaces, and whether the learner is done with them."""
        place = folder / _STATE
        content = read_json(place.read_bytes(), "state of a loop", os.fspath(place))
        check_seal(content, "state of a loop", os.fspath(place))
        try:
            began, held_out = content["metric"], content["dev"]
            self.decodings = tuple(Decoding(**each) for each in content["decodings"])
            self.weights = content["weights"]
        except (ValueError, KeyError, TypeError) as problem:
            raise FormatError(f"no state of a loop: {problem!r}", os.fspath(place)) from None
        if began != str(metric):
            raise OptionError(f"the run in {os.fspath(folder)!r} is for {began}, not {metric}")
        if held_out != _digest(dev, metric):
            raise OptionError(f"the run in {os.fspath(folder)!r} has other spaces held out")
        count = len(self.decodings)
        spaces = list(lattices.read(folder / _SPACES.format(count), vocabulary=Vocabulary()))
        base = type(self.learner).load(folder / _BEFORE.format(count))
        if json.dumps(base.options()) != json.dumps(self.learner.options()):
            raise OptionError(f"the run in {os.fspath(folder)!r} has other options of the learner")
        self.learner = base
        is_trained = False
        if (folder / _LEARNER).exists():
            later = type(self.learner).load(folder / _LEARNER)
            # after a crash the file may be of the fit before the last decoding
            if len(later.history) > len(base.history):
                self.learner, is_trained = later, later.finished
        return spaces, is_trained


def _digest(dev: HeldOut | None, metric: Metric) -> str | None:
    return None if dev is None else TrainingTask(*dev, metric).digest


def accumulate(old: NBest, new: NBest) -> NBest:
    """Return one list with the entries of two lists of one segment, each once.

    Entries with the same words and the same features are one; the first of them stays, with its
    score, where it was. New entries follow in their order. Cost: O(words and features of both).
    """
    names = tuple(dict.fromkeys((*old.feature_names, *new.feature_names)))
    features = None
    keys = [b""] * (len(old) + len(new))
    if old.features is not None or new.features is not None:
        column = {name: place for place, name in enumerate(names)}
        both = [widen_rows(x.features, x.feature_names, column, len(x)) for x in (old, new)]
        features = csr_array(vstack(both, format="csr"))
        features.sum_duplicates()
        features.eliminate_zeros()
        keys = _row_keys(features)
    label = np.concatenate((old.label, _labels(new, old.vocabulary)))
    offset = np.concatenate((old.offset, old.offset[-1] + new.offset[1:]))
    raw, bounds = label.tobytes(), (label.itemsize * offset).tolist()
    first: dict[tuple[bytes, bytes], int] = {}
    for place, (begin, end) in enumerate(pairwise(bounds)):
        first.setdefault((raw[begin:end], keys[place]), place)
    kept = np.array(sorted(first.values()), dtype=np.int64)
    sizes = np.diff(offset)[kept]
    ends = np.concatenate(([0], np.cumsum(sizes)))
    places = np.arange(ends[-1]) + np.repeat(offset[:-1][kept] - ends[:-1], sizes)
    return NBest(
        vocabulary=old.vocabulary,
        label=ints(label[places]),
        offset=ints(ends),
        score=floats(np.concatenate((old.score, new.score))[kept]),
        features=None if features is None else features[kept],
        feature_names=names,
        id=old.id or new.id,
        source=old.source or new.source,
        references=old.references or new.references,
        metadata=old.metadata or new.metadata,
    )


def extend_list(old: NBest | None, space: Lattice | Forest, found: Iterable[Hypothesis]) -> NBest:
    """Return a k-best list used in place of a space, extended by further sentences."""
    new = NBest.from_hypotheses(
        found, vocabulary=space.vocabulary, feature_names=space.feature_names, id=space.id
    )
    return new if old is None or not len(old) else accumulate(old, new)


def accumulate_lists(old: Space, new: Space) -> Space:
    """Return what two spaces of one segment have, whatever their kind.

    Lists by :func:`accumulate`; lattices and forests by :func:`lattices.union`, in which a path
    that both have is there twice.
    """
    if isinstance(old, NBest) and isinstance(new, NBest):
        return accumulate(old, new)
    if isinstance(old, Lattice) and isinstance(new, Lattice):
        return union([old, new])
    if isinstance(old, Forest) and isinstance(new, Forest):
        return union([old, new])
    raise OptionError(
        f"segment {old.id!r} was a {type(old).__name__} and is now a {type(new).__name__}"
    )


def _labels(nbest: NBest, vocabulary: Vocabulary) -> IntColumn:
    """Return the words of a list as numbers of another vocabulary, which grows."""
    if nbest.vocabulary is vocabulary:
        return nbest.label
    used, place = np.unique(nbest.label, return_inverse=True)
    numbers = vocabulary.add_all(map(nbest.vocabulary.word, used.tolist()))
    return ints(np.array(numbers, dtype=np.int32)[place])


def _row_keys(features: FeatureMatrix) -> list[bytes]:
    """Return the content of each row, for comparison."""
    columns, values = features.indices.astype(np.int64).tobytes(), features.data.tobytes()
    return [
        columns[8 * begin : 8 * end] + values[8 * begin : 8 * end]
        for begin, end in pairwise(features.indptr.tolist())
    ]
