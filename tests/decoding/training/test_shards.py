"""Training in shards: the same weights as in one process, to the last bit."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

from decoding.training.envelope import EnvelopeCorpus
from decoding.training.learner import TrainingTask
from decoding.training.mert import MERT
from decoding.training.mira import MIRA
from decoding.training.perceptron import Perceptron
from decoding.training.pro import PRO
from decoding.training.risk.learner import Risk
from decoding.training.shards.shard import Shard
from decoding.training.shards.task import ShardedTask
from decoding.training.softmax_margin import SoftmaxMargin
from fstmetrics import BLEU, GRR, WER
from lattices.errors import OptionError
from tests.decoding.training.learner_laws import noisy
from tests.decoding.training.test_mert import UNIFORM


@dataclass(frozen=True)
class Read:
    space: object
    references: tuple[str, ...]


class Here:
    """Workers that are this process, for what is computed where."""

    def __init__(self, shards):
        self.shards = [Shard(number) for number in range(shards)]

    def call(self, calls):
        return {
            number: function(self.shards[number], *arguments)
            for number, (function, *arguments) in calls.items()
        }


def sharded(spaces, references, metric, shards=3, seed=0):
    """The task with its segments dealt out at random, and some in shards that are not of it."""
    rng = random.Random(seed)
    workers, stored = Here(shards), []
    for space, texts in zip(spaces, references, strict=True):
        keep = rng.choice(workers.shards).keep
        if rng.random() < 0.2:
            keep(Read(spaces[0], ("not of the task",)))
        stored.append(keep(Read(space, tuple(texts))).space)
    return ShardedTask(workers, stored, references, metric)


LEARNERS = {
    "mert": lambda: MERT(start=UNIFORM, restarts=1, random_directions=3, seed=5),
    "pro": lambda: PRO(start=UNIFORM, rounds=3, candidates=50, seed=5),
    "pro, both": lambda: PRO(start=UNIFORM, rounds=2, keep="random", document=0.0),
    "risk": lambda: Risk(start=UNIFORM, rounds=2),
    "risk, k-best": lambda: Risk(start=UNIFORM, rounds=2, budget=1, k=3, entropy=0.1),
    "risk, samples": lambda: Risk(
        start=UNIFORM, rounds=2, optimiser="adagrad", budget=1, beyond="sample", samples=7, batch=3
    ),
    "mira": lambda: MIRA(start=UNIFORM, epochs=2, batch=3),
    "perceptron": lambda: Perceptron(start=UNIFORM, epochs=2, batch=2),
}


@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
@pytest.mark.parametrize("metric", [BLEU(order=2), GRR(n=2)], ids=str)
@pytest.mark.parametrize("learner", LEARNERS)
def test_weights_are_those_of_one_process(learner, kind, metric):
    corpus = noisy(kind, segments=11)
    alone = LEARNERS[learner]().fit(*corpus, metric, progress=False)
    for seed in range(2):
        task = sharded(*corpus, metric, seed=seed)
        assert task.digest == TrainingTask(*corpus, metric).digest
        found = LEARNERS[learner]().fit_task(task, progress=False)
        assert found.weights == alone.weights
        assert [(each.score, each.details) for each in found.history] == [
            (each.score, each.details) for each in alone.history
        ]


def test_a_fit_goes_on_elsewhere(tmp_path):
    """From a checkpoint of one process in shards, and the other way round."""
    corpus = noisy("lattice", segments=9)
    whole = LEARNERS["pro"]().fit(*corpus, WER(), progress=False)
    path = tmp_path / "run.json"
    tasks = [TrainingTask(*corpus, WER()), sharded(*corpus, WER())]
    for first, second in (tasks, tasks[::-1]):
        learner = LEARNERS["pro"]()
        learner.begin(first)
        learner.finished, learner._task = False, first.digest
        learner._done_round(first)
        learner.save(path)
        assert PRO.load(path).fit_task(second, progress=False).weights == whole.weights


def test_lines_and_deviations_are_those_of_one_process():
    spaces, references = noisy("lattice", segments=13)
    alone = EnvelopeCorpus(spaces, [WER().against(texts) for texts in references])
    apart = sharded(spaces, references, WER()).lines()
    assert apart.names == alone.names
    assert apart.deviations.tolist() == alone.deviations.tolist()
    rng = np.random.default_rng(1)
    for _ in range(5):
        here, way = rng.normal(size=(2, 3))
        one, other = alone.turns(here, way), apart.turns(here, way)
        assert len(one.step)
        assert all(
            mine.tolist() == theirs.tolist() for mine, theirs in zip(one, other, strict=True)
        )
        assert apart.stats(here).tolist() == alone.stats(here).tolist()


def test_a_learner_of_one_process_says_so():
    with pytest.raises(OptionError, match="softmax-margin trains in one process"):
        SoftmaxMargin(start=UNIFORM).fit_task(sharded(*noisy("list"), WER()))
