"""Confusion networks: slots of alternatives, one after the other, as lattices and back.

Slot ``i`` is the arcs from state ``i`` to state ``i + 1``; a path takes one of each slot. The
score of an arc is the logarithm of its posterior probability. An alternative without
a word is an epsilon arc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import FormatError
from lattices.formats.base import Unsupported
from lattices.options import Option
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary

READ_OPTIONS: Mapping[str, str] = {
    "zeros": Option(
        "what becomes of alternatives of probability 0, which no path can take",
        ("drop", "error"),
    ),
}


class SlotError(FormatError):
    """What is wrong with one slot; the format knows on which line that stands."""

    def __init__(self, problem: str, slot: int) -> None:
        super().__init__(problem)
        self.slot = slot


@dataclass(frozen=True, eq=False)
class Alternatives:
    """The alternatives of a confusion network, slot by slot."""

    label: IntColumn  # one entry an alternative; the number of its word, 0 for none
    probability: FloatColumn  # one entry an alternative
    # slot ``i`` is the alternatives from ``bounds[i]`` up to ``bounds[i + 1]``
    bounds: Sequence[int]


def lattice_of(
    found: Alternatives, vocabulary: Vocabulary, drop_zeros: bool, **rest: Any
) -> Lattice:
    """Return the lattice; ``rest`` is its id, times, references and metadata."""
    sizes = np.diff(found.bounds)
    slot = np.repeat(np.arange(len(sizes)), sizes)
    probability = found.probability
    fine = (probability >= 0.0) & np.isfinite(probability)
    if not fine.all():
        odd = int(np.flatnonzero(~fine)[0])
        raise SlotError(
            f"probability {probability[odd]:g}, expected a number from 0", int(slot[odd])
        )
    kept = probability > 0.0
    if not drop_zeros and not kept.all():
        odd = int(np.flatnonzero(~kept)[0])
        raise SlotError(
            "probability 0, which no path can take; zeros=drop drops it", int(slot[odd])
        )
    empty = np.flatnonzero(np.bincount(slot[kept], minlength=len(sizes)) == 0)
    if len(empty):
        raise SlotError(f"slot {empty[0]} has no alternative above 0", int(empty[0]))
    final = np.full(len(sizes) + 1, -np.inf)
    final[-1] = 0.0
    return Lattice(
        vocabulary=vocabulary,
        src=ints(slot[kept]),
        dst=ints(slot[kept] + 1),
        label=ints(found.label[kept]),
        score=floats(np.log(probability[kept])),
        final=floats(final),
        **rest,
    )


def list_alternatives(lattice: Lattice, losses: Unsupported, single: bool = False) -> Alternatives:
    """Return the slots of a lattice, each with the most probable alternative first.

    A score of the last state has no place in a slot and is given to ``losses``.
    """
    where = f"segment {lattice.id!r}"
    problem = _explain_misfit(lattice)
    if problem:
        raise FormatError(
            f"{losses.format_name} holds confusion networks, which {where} is not: {problem}"
        )
    if lattice.final[-1] != 0.0:
        losses.add("scores of ending", where)
    kind = np.finfo(np.float32 if single else np.float64)
    # normal numbers only: others would not come back to six digits
    low, high = np.log(float(kind.tiny)), np.log(float(kind.max))
    odd = np.flatnonzero((lattice.score < low) | (lattice.score > high))
    if len(odd):
        raise FormatError(
            f"an arc out of state {lattice.src[odd[0]]} of {where} has the score "
            f"{lattice.score[odd[0]]:g}, whose exponential {losses.format_name} cannot hold"
        )
    order = np.lexsort((-lattice.score, lattice.src))
    return Alternatives(
        label=ints(lattice.label[order]),
        probability=floats(np.exp(lattice.score[order])),
        bounds=lattice.out_offset[:-1].tolist(),
    )


def _explain_misfit(lattice: Lattice) -> str:
    """Return why the states are no chain of slots; nothing if they are."""
    last = lattice.num_states - 1
    if lattice.start:
        return f"it begins in state {lattice.start}, and state 0 cannot be reached"
    skipping = np.flatnonzero(lattice.dst != lattice.src + 1)
    if len(skipping):
        arc = skipping[0]
        return f"an arc goes from state {lattice.src[arc]} to state {lattice.dst[arc]}"
    stuck = np.flatnonzero(np.diff(lattice.out_offset)[:last] == 0)
    if len(stuck):
        return f"no arc leaves state {stuck[0]}"
    if lattice.finals[0] != last:
        return f"a path may end in state {lattice.finals[0]}, before the last, {last}"
    return ""
