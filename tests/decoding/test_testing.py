"""The laws of methods and learners, and what breaks them."""

from __future__ import annotations

import dataclasses
import random
from typing import Any, ClassVar

import pytest

from decoding.minimum_risk import METHODS
from decoding.minimum_risk.method import Method
from decoding.minimum_risk.pairwise import Pairwise
from decoding.testing import check_learner, check_method
from decoding.training.learners import LEARNERS
from decoding.training.perceptron import Perceptron
from fstmetrics import BLEU, GRR
from lattices import OptionError
from tests.decoding.training.test_learner import SHORT

#: methods that need more of a space than random ones have
METHOD_NAMES = [name for name in METHODS.names() if name != "rover"]


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_methods_obey_the_laws(name):
    check_method(METHODS.get(name)(), BLEU() if name == "consensus" else None)


def test_of_systems_that_said_no_one_sentence_nothing_is_decided():
    with pytest.raises(AssertionError, match="rover decides no kind of space"):
        check_method(METHODS.get("rover")())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind(Pairwise):
    """Pairwise, and what each of those below does wrong."""


class Empty(Kind):
    def decide(self, problem, k=1):
        return []


class Many(Kind):
    def decide(self, problem, k=1):
        return super().decide(problem, k + 1)


class Last(Kind):
    def decide(self, problem, k=1):
        return super().decide(problem, k)[::-1]


class Twice(Kind):
    def decide(self, problem, k=1):
        return super().decide(problem, 1) * k


class Text(Kind):
    def decide(self, problem, k=1):
        return [each.text for each in super().decide(problem, k)]


class Inventive(Kind):
    def decide(self, problem, k=1):
        return [
            dataclasses.replace(
                each, hypothesis=dataclasses.replace(each.hypothesis, tokens=("x",))
            )
            for each in super().decide(problem, k)
        ]


class Infinite(Kind):
    def decide(self, problem, k=1):
        return [dataclasses.replace(each, expected=-1e999) for each in super().decide(problem, k)]


class Moody(Kind):
    def decide(self, problem, k=1):
        some = super().decide(problem, k)
        return [dataclasses.replace(each, expected=random.random()) for each in some[:1]]


class Contrary(Kind):
    """The sentence with the worst expectation."""

    def decide(self, problem, k=1):
        return super().decide(problem, 100)[-1:]


class Batch(Kind):
    def decide_batch(self, problems, k=1):
        return super().decide_batch(problems, k)[::-1]


class Changed(Kind):
    def __reduce__(self):
        return Pairwise, ()


class Refusing(Kind):
    def decide(self, problem, k=1):
        raise OptionError("not today")


class Forgotten(Method):
    """Options without the decorator."""

    name = "forgotten"
    strength: float = 0.5

    def decide(self, problem, k=1):
        return []


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Empty, r"decide gives \[\], expected a list of Consensus"),
        (Many, "with k=1: 2 decisions"),
        (Last, "pairwise: the first of three is"),
        (Twice, "ranks a sentence twice"),
        (Text, "expected a Consensus"),
        (Inventive, "'x' has words of nowhere"),
        (Infinite, "the expectation is -inf"),
        (Moody, "decide_batch differs from decide"),
        (Contrary, "whose model is certain of"),
        (Batch, "decide_batch differs from decide"),
        (Changed, "is another after pickling"),
        (Refusing, "decides no kind of space: {'list': 'not today'"),
        (Forgotten, "Forgotten is no dataclass, and has strength"),
    ],
)
def test_a_method_that_breaks_a_law_is_caught(kind, message):
    with pytest.raises(AssertionError, match=message):
        check_method(kind())


@pytest.mark.parametrize("name", [name for name in LEARNERS.names() if name != "pro"])
def test_learners_obey_the_laws(name):
    metric = BLEU(order=2) if name == "xbleu" else GRR(n=2)
    check_learner(LEARNERS.get(name)(**SHORT[name]), metric)


@dataclasses.dataclass(kw_only=True, eq=False)
class Learning(Perceptron):
    """The perceptron, and what each of those below does wrong."""

    name: ClassVar[str] = "learning"
    epochs: int = 3


class Secretive(Learning):
    """Keeps something that changes out of its state."""

    rate = 0.1

    def round(self, task):
        self.rate *= 0.1
        return super().round(task)

    def options(self):
        return {**super().options(), "rate": 0.1}


class Optimist(Learning):
    def round(self, task):
        score, details = super().round(task)
        return score / 2.0, details


class Unrepeatable(Learning):
    def round(self, task):
        self.weights["x"] += random.random()
        return super().round(task)


class Endless(Learning):
    def begin(self, task):
        self.initial = dict(self.weights)
        return super().begin(task)

    def finish(self, chosen):
        self.weights = {}


class Wordy(Learning):
    def round(self, task):
        return "good"


class Boundless(Learning):
    def round(self, task):
        found = super().round(task)
        self.weights["x"] = float("inf")
        return found

    def result(self):
        return dict(self.weights)


class Opaque(Learning):
    def options(self) -> dict[str, Any]:
        return {**super().options(), "rate": {1, 2}}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Secretive, "something that changes is not in state, weights or random"),
        (Optimist, "round 1 says that wer is"),
        (Unrepeatable, "and with the same seed"),
        (Endless, "expected finite ones of"),
        (Wordy, "round gives 'good', expected a score and a dict"),
        (Boundless, "expected finite weights"),
        (Opaque, "are no JSON"),
    ],
)
def test_a_learner_that_breaks_a_law_is_caught(kind, message):
    with pytest.raises(AssertionError, match=message):
        check_learner(kind())
