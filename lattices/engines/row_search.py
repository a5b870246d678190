"""The worst sentence, and fear: one search over rows, with prefixes that cannot win dropped.

At one lattice state, a prefix beats another if it stands no higher in any state of the row:
whatever follows, it ends no higher. It is dropped for one that ends lower, or that has no lower
model score.
"""

from __future__ import annotations

from lattices import _native
from lattices.algorithms.paths import no_complete_path
from lattices.arrays import IntColumn, ints
from lattices.engines.rows import MEMORY, RowMachine
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Lattice

#: as many pairs as there may be
_ANY_NUMBER = 2**31 - 1


def lowest_path(
    lattice: Lattice,
    machine: RowMachine,
    *,
    model_weight: float,
    budget: int,
    memory: int = MEMORY,
) -> tuple[float, IntColumn] | None:
    """Return the lowest gain plus weighted model score of a sentence, and the arcs of its path.

    The model weight is in units of the automaton's gain. None if more than ``budget`` prefixes
    have to be kept, or if they and their rows take more than ``memory`` bytes. Of several
    sentences the one with the highest model score is found.
    """
    return _search(lattice, machine, model_weight, budget, memory, 0)


def cut_lowest_path(
    lattice: Lattice,
    machine: RowMachine,
    *,
    model_weight: float,
    widest: int,
    memory: int = MEMORY,
) -> tuple[float, IntColumn]:
    """Return the lowest value found with at most ``widest`` prefixes kept at a lattice state.

    With fewer, if ``memory`` does not suffice for so many.

    Raises
    ------
    OptionError
        If it does not suffice for one.
    """
    # a prefix that is kept goes on along each arc, at most, and has a row there
    most = memory // (machine.native.row_bytes * max(1, lattice.num_arcs))
    widest = min(widest, max(1, most))
    while widest > 0:
        found = _search(lattice, machine, model_weight, _ANY_NUMBER, memory, widest)
        if found is not None:
            return found
        widest //= 2
    raise OptionError(
        f"lattice {lattice.id!r} with {machine.automaton.num_states} states of references needs "
        f"more than {memory:,} bytes of memory; allow more, or give fewer references"
    )


def _search(
    lattice: Lattice, machine: RowMachine, model_weight: float, pairs: int, memory: int, widest: int
) -> tuple[float, IntColumn] | None:
    weight = float(model_weight) / machine.unit
    try:
        found = _native.lowest_path(lattice.columns, machine.native, weight, pairs, memory, widest)
    except SpaceError:
        raise no_complete_path(lattice) from None
    return None if found is None else (found[0] * machine.unit, ints(found[1]))
