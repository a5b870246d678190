"""Options of learners as text, and learners restored from checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from decoding.training.learner import Learner, TrainingTask
from lattices.errors import OptionError, argument
from lattices.options import read_options

#: options with arguments of their own
APART = ("start", "seed")


def learner_options(kind: type[Learner], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return options of a learner from text, as its fields say what they are.

    Examples
    --------
    >>> from decoding.training.mert import MERT
    >>> learner_options(MERT, [("restarts", "2"), ("powell", "true"), ("fixed", "lm,tm")])
    {'restarts': 2, 'powell': True, 'fixed': ['lm', 'tm']}
    >>> learner_options(MERT, [("bounds", '{"lm": [0, null]}')])
    {'bounds': {'lm': [0, None]}}
    >>> learner_options(MERT, [("restart", "2")])
    Traceback (most recent call last):
    ...
    lattices.errors.OptionError: learner mert has no option 'restart' (it has missing, restarts, ...
    """
    options = list(given)
    for name, _ in options:
        if name in APART:
            raise OptionError(f"{name} is given by --{name}")
    return read_options(kind, options, f"learner {kind.name}", skip=APART, spell=argument)


def resume(learner: Learner, path: str, task: TrainingTask) -> Learner:
    """Return the learner of a checkpoint, which has the same options and the same task."""
    found = type(learner).load(path)
    if json.dumps(found.options()) != json.dumps(learner.options()):
        ours, theirs = learner.options(), found.options()
        other = [name for name in ours if json.dumps(ours[name]) != json.dumps(theirs[name])]
        raise OptionError(f"the checkpoint {path} is of a run with another {', '.join(other)}")
    with open(path, "rb") as stream:
        began = json.load(stream)["task"]
    if began != task.digest:
        raise OptionError(
            f"the checkpoint {path} is of a run with other spaces, other references, "
            "other held-out spaces or another metric"
        )
    return found
