"""Systems: the spaces of one segment, the scale of their scores, and what each of them weighs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.arguments import SPACE, Each

#: one space, or those of several systems for the same segment
Spaces: TypeAlias = "Space | Sequence[Space]"

SYSTEMS = Each(SPACE, f"{SPACE.expected}, or a sequence of them")


def as_systems(spaces: Spaces, name: str = "space") -> tuple[Space, ...]:
    """Return the spaces of all systems, of one as of several; ``name`` is for the message.

    Raises
    ------
    OptionError
        If there is none.
    ArgumentTypeError
        If something else is given.
    """
    if isinstance(spaces, Lattice | Forest | NBest):
        return (spaces,)
    SYSTEMS.check("mbr", name, spaces)
    if not spaces:
        raise OptionError("there is no space to decode")
    return tuple(spaces)


def checked_scale(scale: float) -> float:
    """Return the scale of a posterior if it is one: a finite number that is not negative.

    All methods of minimum-risk decoding ask here, so that they refuse the same numbers. At 0
    all paths, derivations or entries are equally probable.

    Examples
    --------
    >>> checked_scale(0.0)
    0.0
    >>> checked_scale(-1.0)
    Traceback (most recent call last):
    lattices.errors.OptionError: a scale is a finite number from 0 on, not -1.0
    """
    if not (math.isfinite(scale) and scale >= 0.0):
        raise OptionError(f"a scale is a finite number from 0 on, not {scale}")
    return scale


def system_shares(weights: Sequence[float] | None, systems: int) -> FloatColumn:
    """Return the weights of systems, made to sum to one; all alike if none are given.

    Examples
    --------
    >>> system_shares([1.0, 3.0], 2).tolist(), system_shares(None, 2).tolist()
    ([0.25, 0.75], [0.5, 0.5])
    """
    shares = floats(np.ones(systems) if weights is None else weights)
    if shares.shape != (systems,):
        raise OptionError(f"{shares.size} weights of systems, but there are {systems}")
    if not (np.isfinite(shares).all() and (shares >= 0.0).all() and shares.any()):
        raise OptionError(
            f"weights of systems are finite, not negative and not all zero, not {shares.tolist()}"
        )
    # by the largest first: the sum of large ones is not finite
    shares = floats(shares / shares.max())
    return floats(shares / shares.sum())
