"""What all learners share: they end with their best round, and say when that is the start."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from decoding.training.learner import TrainingWarning
from decoding.training.learners import LEARNERS
from decoding.training.loop import DecoderLoop
from decoding.training.mert import MERT
from decoding.training.pro import PRO
from fstmetrics import BLEU, WER
from fstmetrics.contract import quality
from lattices import Lattice
from lattices.algorithms import best
from lattices.errors import OptionError
from lattices.spaces.features import MissingWeightWarning
from tests.decoding.training.learner_laws import BIGRAMS, UNIFORM, Counter, noisy

#: for short fits
SHORT = {
    "mert": {"restarts": 1, "random_directions": 2},
    "mira": {"epochs": 4},
    "perceptron": {"epochs": 4},
    "pro": {"rounds": 4},
    "risk": {"rounds": 3},
    "softmax-margin": {"rounds": 4},
    "xbleu": {"rounds": 3, "order": 2},
}
METRICS = [WER(), BLEU(order=2)]
SOLUTION = {"x": 1.0, "y": -2.0, "z": 1.0}


def judged(metric, spaces, references, weights):
    """The judge: the metric of the best sentences, one segment at a time."""
    said = [best(space.reweighted(weights)).tokens for space in spaces]
    rows = [metric.stats(*each) for each in zip(said, references, strict=True)]
    return metric.score(np.sum(rows, axis=0))


@pytest.mark.filterwarnings("ignore::decoding.training.learner.TrainingWarning")
@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
@pytest.mark.parametrize("metric", METRICS, ids=["wer", "bleu"])
@pytest.mark.parametrize("name", LEARNERS.names())
def test_a_fit_ends_with_its_best_round(name, metric, kind):
    spaces, references = noisy(kind)
    held_out = noisy(kind, segments=7, seed=3)
    for start in (UNIFORM, SOLUTION):
        for dev in (None, held_out):
            made = LEARNERS.get(name)(start=start, **SHORT[name])
            made.fit(spaces, references, metric, dev=dev)
            rounds = [made.began, *made.history]
            assert made.began.weights == start
            assert [each.number for each in rounds] == list(range(len(rounds)))
            deciding = []
            for each in rounds:
                score = judged(metric, spaces, references, each.weights)
                assert each.score == pytest.approx(score, abs=1e-12)
                if dev is None:
                    assert each.held_out is None
                else:
                    score = judged(metric, *dev, each.weights)
                    assert each.held_out == pytest.approx(score, abs=1e-12)
                deciding.append(quality(metric, score))
            first = rounds[int(np.argmax(np.round(deciding, 9)))]
            assert made.chosen.number == first.number
            assert made.weights == first.weights


@pytest.mark.parametrize(
    ("name", "likely"), [("mira", 980), ("perceptron", 409), ("softmax-margin", 423)]
)
def test_a_learner_says_when_nothing_beats_its_start(name, likely):
    # a start that MERT has tuned
    for seed in (1, 2, likely, *range(3, 100)):
        spaces, references = noisy("list", segments=6, seed=seed)
        start = MERT(start=UNIFORM, restarts=6).fit(spaces, references, BLEU(order=2)).weights
        made = LEARNERS.get(name)(start=start, **SHORT[name])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made.fit(spaces, references, BLEU(order=2))
        worse = all(each.score < made.began.score for each in made.history)
        assert len(told) == worse
        if worse:
            assert issubclass(told[0].category, TrainingWarning)
            top = max(each.score for each in made.history)
            assert f"was {made.began.score:.5f} at the start, and at best {top:.5f}" in str(
                told[0].message
            )
            assert made.chosen is made.began
            assert made.weights == start
            return
    raise AssertionError("no fit was for nothing")


@pytest.mark.filterwarnings("ignore::decoding.training.learner.TrainingWarning")
@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("name", ["mira", "perceptron"])
def test_the_average_is_that_of_the_updates_whichever_round_is_best(name, averaged):
    spaces, references = noisy("list")
    seen = []

    class Watched(LEARNERS.get(name)):
        def update(self, pair, **options):
            moved = super().update(pair, **options)
            seen.append(dict(self.weights))
            return moved

    # the start solves the clean part, so that an early round is the best
    made = Watched(start=SOLUTION, epochs=4, averaged=averaged).fit(spaces, references, WER())
    late = seen[2 * len(spaces) :]
    mean = {each: np.mean([weights[each] for weights in late]) for each in UNIFORM}
    assert made.average() == pytest.approx(mean, rel=1e-9)
    assert made.history[-1].weights == pytest.approx(mean if averaged else seen[-1], rel=1e-9)
    assert made.weights == made.chosen.weights
    assert made.average() != made.weights
    # a new fit, and updates by hand, go on from the weights
    before = dict(made.weights)
    assert made.fit(spaces, references, WER()).began.weights == before


@pytest.mark.filterwarnings("ignore::decoding.training.learner.TrainingWarning")
@pytest.mark.parametrize("name", LEARNERS.names())
def test_an_interrupted_fit_keeps_its_best_round(name, tmp_path, monkeypatch):
    spaces, references = noisy("list")
    dev = noisy("list", segments=7, seed=3)
    kind, path = LEARNERS.get(name), tmp_path / "run.json"

    def made():
        return kind(start=SOLUTION, **SHORT[name])

    whole = made().fit(spaces, references, WER(), dev=dev)
    with monkeypatch.context() as patch:
        stopped = Counter(kind.round, 1)
        patch.setattr(kind, "round", lambda self, task: stopped(self, task))
        with pytest.raises(KeyboardInterrupt):
            made().fit(spaces, references, WER(), dev=dev, checkpoint=path)
    with pytest.raises(OptionError, match="goes on with the spaces"):
        kind.load(path).fit(spaces, references, WER())
    again = kind.load(path).fit(spaces, references, WER(), dev=dev)
    assert again.chosen.number == whole.chosen.number
    assert again.weights == whole.weights
    assert [each.held_out for each in again.history] == [each.held_out for each in whole.history]


@pytest.mark.filterwarnings("ignore::decoding.training.learner.TrainingWarning")
def test_a_loop_chooses_by_what_is_held_out(tmp_path):
    spaces, references = noisy("lattice")
    dev = noisy("lattice", segments=5, seed=4)

    def decode(weights):
        return [space.reweighted(weights) for space in spaces]

    def made():
        mira = LEARNERS.get("mira")(start=UNIFORM, epochs=2, C=3.0)
        return DecoderLoop(decode=decode, learner=mira, most_decodes=4, keep=False)

    loop = made()
    weights = loop.run(references, WER(), dev=dev, checkpoint=tmp_path / "run")
    scores = [judged(WER(), *dev, each.weights) for each in loop.decodings]
    assert [each.held_out for each in loop.decodings] == scores
    assert judged(WER(), *dev, weights) == min(scores)
    assert made().run(references, WER(), dev=dev, checkpoint=tmp_path / "run") == weights
    with pytest.raises(OptionError, match="has other spaces held out"):
        made().run(references, WER(), checkpoint=tmp_path / "run")


def test_a_function_sees_every_round_and_may_end_the_fit(tmp_path):
    spaces, references = noisy("lattice")
    rounds = []
    whole = PRO(start=UNIFORM, rounds=4).fit(spaces, references, BIGRAMS, on_round=rounds.append)
    assert rounds == list(whole.history)

    path = tmp_path / "run.json"
    short = PRO(start=UNIFORM, rounds=4).fit(
        spaces, references, BIGRAMS, checkpoint=path, on_round=lambda each: each.number == 2
    )
    assert [each.weights for each in short.history] == [each.weights for each in rounds[:2]]
    assert short.finished
    assert short.weights == short.chosen.weights
    assert PRO.load(path).weights == short.weights
    assert PRO.load(path).finished

    def fail(each):
        raise RuntimeError("no more")

    learner = PRO(start=UNIFORM, rounds=4)
    with pytest.raises(RuntimeError, match="no more"):
        learner.fit(spaces, references, BIGRAMS, on_round=fail)
    assert len(learner.history) == 1
    assert learner.fit(spaces, references, BIGRAMS).weights == whole.weights


@pytest.mark.parametrize("name", SHORT)
def test_segments_may_have_other_features(name):
    """A feature that a segment does not have is 0 there; one without a start begins at 0."""
    spaces, references = noisy("lattice")
    one = Lattice.from_arcs(
        [(0, 1, "right", 0.0, {"x": 1.0, "more": 0.5}), (0, 1, "wrong", 0.0, {"more": 1.0})],
        finals=[1],
    )
    learner = LEARNERS.get(name)(start=UNIFORM, seed=1, **SHORT[name])
    with pytest.warns(MissingWeightWarning, match="no weight to start with for the features more"):
        learner.fit([*spaces, one], [*references, ["right right"]], METRICS[1], progress=False)
    assert set(learner.weights) == {"x", "y", "z", "more"}
    assert learner.began.weights["more"] == 0.0
