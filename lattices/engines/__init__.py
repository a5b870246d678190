"""Ways to intersect a lattice with a machine: the same answers, at different speeds."""

from __future__ import annotations

from lattices.engines.automata import ANY, Alignment, Automaton, Part, SearchMachine
from lattices.engines.found import Engine, Found
from lattices.errors import EngineError
from lattices.registry import Registry
from lattices.spaces import Lattice

__all__ = [
    "ANY",
    "ENGINES",
    "Alignment",
    "Automaton",
    "Engine",
    "Found",
    "Part",
    "SearchMachine",
    "choose",
]

ENGINES: Registry[Engine] = Registry("lattices.engines", "engine")


def choose(name: str, lattice: Lattice, machine: SearchMachine) -> Engine:
    """Return the engine called ``name``, or with ``auto`` the first that can run the problem.

    ``auto`` tries the kernel first, then the others by name.

    Raises
    ------
    EngineError
        If it cannot run the problem, with its reason.
    """
    if name == "auto":
        names = sorted(ENGINES.names(), key=lambda other: (other != "kernel", other))
    else:
        names = [name]
    reasons = []
    for candidate in names:
        engine = ENGINES.get(candidate)
        answer = engine.can_run(lattice, machine)
        if answer is True:
            return engine
        reasons.append(f"{candidate}: {answer}")
    raise EngineError(f"no engine can search lattice {lattice.id!r}: " + "; ".join(reasons))
