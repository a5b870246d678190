"""Ways to intersect a space with a machine: the same answers, at different speeds."""

from __future__ import annotations

from collections.abc import Iterator

from lattices import plugins
from lattices.errors import EngineError, PluginError
from lattices.intersection.automata import ANY, Alignment, Automaton, Part, SearchMachine
from lattices.intersection.engine import Engine, Found, Problem, Ranked, RankingEngine
from lattices.registry import Registry, list_missing
from lattices.spaces import Forest, Lattice

__all__ = [
    "ANY",
    "ENGINES",
    "Alignment",
    "Automaton",
    "Engine",
    "Found",
    "Part",
    "Problem",
    "Ranked",
    "RankingEngine",
    "SearchMachine",
    "choose",
]

ENGINES: Registry[Engine] = Registry(
    "lattices.engines",
    "engine",
    own=plugins.ENGINES,
    check=lambda plugin: list_missing(plugin, ("name", "can_run", "best")),
    aliases={"pynini": "openfst", "fst": "openfst"},
)


def choose(name: str, space: Lattice | Forest, machine: SearchMachine) -> Engine:
    """Return the engine called ``name``, or with ``auto`` the first that can run the problem.

    ``auto`` tries the kernel first, then the others by name.
    """
    reasons = []
    for candidate in _iterate_names() if name == "auto" else [name]:
        try:
            engine = ENGINES.get(candidate)
        except PluginError as problem:
            if name != "auto":
                raise
            reasons.append(str(problem))
            continue
        answer = engine.can_run(space, machine)
        if answer is True:
            return engine
        reasons.append(f"{candidate}: {answer}")
    raise EngineError(f"no engine can search {space.kind} {space.id!r}: " + "; ".join(reasons))


def _iterate_names() -> Iterator[str]:
    """Iterate over the engines' names; the others are looked up only if they are needed."""
    yield "kernel"
    yield from (name for name in ENGINES.names() if name != "kernel")
