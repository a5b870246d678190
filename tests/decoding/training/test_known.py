"""Learners are found by name."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from decoding.training.known import LEARNERS, learner
from decoding.training.learner import Learner
from lattices.errors import OptionError


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_is_there_under_its_own_name(name):
    module, _, _ = LEARNERS[name].partition(":")
    assert find_spec(module) is not None
    found = learner(name)
    assert issubclass(found, Learner)
    assert found.name == name
    assert found().options() == found(**found().options()).options()


def test_an_unknown_name_says_which_are_close():
    with pytest.raises(OptionError, match="did you mean 'perceptron'"):
        learner("perceptrom")
    with pytest.raises(OptionError, match="there are mert, mira"):
        learner("zzz")
