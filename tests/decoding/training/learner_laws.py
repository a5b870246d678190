"""What the tests of several learners share."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from fstmetrics import GRR
from tests.decoding.training.test_mert import UNIFORM, separable

#: what most laws are about
BIGRAMS = GRR(n=2)


class Counter:
    """Lets a function be called some times, and then interrupts."""

    def __init__(self, function, calls):
        self.function, self.left = function, calls

    def __call__(self, *args, **options):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self.function(*args, **options)


def noisy(kind, segments=16, seed=8):
    """A corpus that no weights solve."""
    spaces, references = separable(kind, segments=segments, seed=seed)
    references[::3] = [[text[0].replace("right", "wrong")] for text in references[::3]]
    return spaces, references


def check_interruption(
    make, module, name, calls, tmp_path, monkeypatch, kind="lattice", metric=BIGRAMS
):
    """A fit that was interrupted goes on to the same weights, wherever it was stopped."""
    spaces, references = noisy(kind)
    whole = make().fit(spaces, references, metric)
    assert len(whole.history) > 1
    function = getattr(module, name)
    met = False
    for count in calls:
        path = tmp_path / f"{count}.json"
        monkeypatch.setattr(module, name, Counter(function, count))
        learner = make()
        with pytest.raises(KeyboardInterrupt):
            learner.fit(spaces, references, metric, checkpoint=path)
        met = met or len(learner.history) > 0
        monkeypatch.setattr(module, name, function)
        copies = [pickle.loads(pickle.dumps(learner)), learner]
        if path.exists():
            copies.append(type(learner).load(path))
        for copy in copies:
            copy.fit(spaces, references, metric)
            assert copy.weights == whole.weights
            assert copy.average() == whole.average()
            for one, other in ((copy.chosen, whole.chosen), (copy.began, whole.began)):
                assert replace(one, seconds=0.0) == replace(other, seconds=0.0)
            assert [r.score for r in copy.history] == [r.score for r in whole.history]
            assert [r.details for r in copy.history] == [r.details for r in whole.history]
    # some interruption was in a later round than the first
    assert met


def check_separable(learner, kind, metric):
    """A corpus that some weights solve is solved."""
    spaces, references = separable(kind)
    learner.fit(spaces, references, metric)
    perfect = 1.0 if metric.higher_is_better else 0.0
    assert learner.history[-1].score == pytest.approx(perfect)
    assert learner.finished
    assert all(np.isfinite(list(learner.weights.values())))


def check_seeds(make):
    """The same seed gives the same weights."""
    spaces, references = noisy("list", segments=20)
    one, same, other = (make(seed).fit(spaces, references, GRR(n=2)).weights for seed in (1, 1, 2))
    assert one == same
    assert one != other


__all__ = ["UNIFORM", "check_interruption", "check_seeds", "check_separable", "noisy", "separable"]
