"""Options of learners as text, and learners restored from checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from decoding.training.learner import Learner, TrainingTask
from lattices.errors import OptionError

#: options with arguments of their own
_APART = ("start", "seed")
_KINDS = {bool: "true or false", int: "a whole number", float: "a number"}


def learner_options(kind: type[Learner], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return options of a learner, as its fields say what they are.

    Numbers, ``true`` and ``false`` and text are written as they are, ``none`` where there may be
    none, lists with commas between their items, and all else as JSON.

    Raises
    ------
    OptionError
        For an option that the learner does not have, or that is no such thing.

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
    lattices.errors.OptionError: learner mert has no option 'restart' (it has restarts, spread, ...
    """
    hints = get_type_hints(kind)
    known = [each.name for each in fields(kind) if each.init and each.name not in _APART]
    options: dict[str, Any] = {}
    for name, text in given:
        if name in _APART:
            raise OptionError(f"{name} is given by --{name}")
        if name not in known:
            raise OptionError(
                f"learner {kind.name} has no option {name!r} (it has {', '.join(known)})"
            )
        if name in options:
            raise OptionError(f"option {name} of {kind.name} is given twice")
        try:
            options[name] = _value(hints[name], text)
        except ValueError:
            wanted = _KINDS.get(_plain(hints[name]), "a list, or else JSON")
            raise OptionError(f"option {name} of {kind.name} is {wanted}, not {text!r}") from None
    return options


def _plain(hint: Any) -> Any:
    """Return what an optional thing is if it is there."""
    some = get_args(hint)
    if NoneType in some and len(some) == 2:
        return next(each for each in some if each is not NoneType)
    return hint


def _value(hint: Any, text: str) -> Any:
    plain = _plain(hint)
    if plain is not hint and text == "none":
        return None
    if plain is bool:
        if text not in ("true", "false"):
            raise ValueError(text)
        return text == "true"
    if plain in (int, float):
        return plain(text)
    inside = get_args(plain)
    if plain is str or (inside and all(isinstance(each, str) for each in inside)):
        return text
    origin = get_origin(plain)
    is_list = isinstance(origin, type) and issubclass(origin, Iterable)
    if is_list and not issubclass(origin, Mapping) and inside[0] in (str, int, float):
        return [inside[0](each) for each in text.split(",") if each]
    return json.loads(text)


def resume(learner: Learner, path: str, task: TrainingTask) -> Learner:
    """Return the learner of a checkpoint, which has the same options and the same task.

    Raises
    ------
    OptionError
        If it has not.
    FormatError
        If the file is no checkpoint of such a learner.
    """
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
