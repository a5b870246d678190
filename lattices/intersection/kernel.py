"""The fast engine: lattices and forests under machines, in native code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from lattices._native import search_spaces
from lattices.arrays import IntColumn
from lattices.errors import EngineError, TooLargeError
from lattices.intersection.automata import SearchMachine, alignments
from lattices.intersection.engine import Found, Problem, Ranked, TargetSides, explain_too_large
from lattices.intersection.rows import RowMachine, cut_lowest_path, lowest_path
from lattices.limits import MEMORY, NO_LIMIT, Limits
from lattices.spaces import Forest, Lattice

#: pairs of a node and a matrix with which rows are the quicker way to the k best of a forest
QUICK_PAIRS = 20_000
#: pairs of a lattice state and a machine state of which the whole product is searched, and what
#: one takes
WHOLE_PAIRS = 2**22
_PAIR_BYTES = 32


class KernelEngine:
    """Rows in topological order, the path by evaluating again along the best.

    Cost of a lattice: O(arcs x reference length), or O(arcs x machine arcs); a row a state.
    """

    name = "kernel"

    def can_run(self, space: Lattice | Forest, machine: SearchMachine) -> Literal[True] | str:
        """Return True, or the reason why this engine cannot search the space."""
        return True

    def best(
        self,
        problems: Sequence[Problem],
        *,
        model_weight: float = 0.0,
        workers: int = 1,
        memory: int = MEMORY,
    ) -> list[Found | None]:
        """Return the best path or derivation of each space, or None where none is complete."""
        found: dict[int, Found | None] = {}
        own: dict[int, Problem] = {}
        for index, (space, machine) in enumerate(problems):
            if isinstance(space, Lattice) or alignments(machine) is not None:
                own[index] = space, machine
            else:
                from lattices.intersection.forest_as_lattice import search_as_lattice

                found[index] = search_as_lattice(
                    self, space, machine, model_weight=model_weight, memory=memory
                )
        answers = _search(list(own.values()), model_weight, workers, min(memory, NO_LIMIT))
        found.update(zip(own, answers, strict=True))
        return [found[index] for index in range(len(problems))]

    def k_best(
        self,
        problem: Problem,
        k: int,
        *,
        model_weight: float = 0.0,
        budget: int,
        memory: int = MEMORY,
        words: IntColumn | TargetSides | None = None,
    ) -> Ranked | None:
        """Return the ``k`` sentences of the highest value, or None beyond the budget.

        Of a forest by rows, if they are few; else by the product, which lattices always have: of a
        long one, what is near the best of it.
        """
        from lattices.intersection import product_kbest

        space, machine = problem
        weight = model_weight / machine.unit
        if isinstance(space, Lattice):
            column = cast("IntColumn | None", words)
            if is_long(space, machine, memory):
                return product_kbest.best_near(space, machine, k, weight, column, memory=memory)
            paths = product_kbest.best_sentences(
                space, machine.automaton, k, weight, column, memory=memory
            )
            return Ranked(paths, "product")
        has_product = alignments(machine) is not None and not isinstance(words, TargetSides)
        by_rows = product_kbest.rank_forest_sentences(
            space,
            machine.automaton,
            k,
            weight,
            Limits(min(budget, QUICK_PAIRS) if has_product else budget, memory),
            worst=False,
            words=words,
        )
        if by_rows is not None:
            return Ranked(by_rows, "rows")
        if not has_product:
            return None
        column = cast("IntColumn | None", words)
        found = product_kbest.rank_forest(space, machine, k, model_weight, column, memory=memory)
        return Ranked(found.derivations, "product")

    def worst(
        self,
        problem: Problem,
        k: int,
        *,
        model_weight: float = 0.0,
        budget: int,
        memory: int = MEMORY,
        words: IntColumn | TargetSides | None = None,
    ) -> Ranked | None:
        """Return the ``k`` sentences of the lowest value by rows, or None beyond the budget.

        The one worst of a lattice is always found, perhaps among few prefixes and not proven. Long
        ones are searched stretch by stretch (:mod:`.worst_of_stretches`).
        """
        from lattices.intersection import product_kbest

        space, machine = problem
        weight, limits = model_weight / machine.unit, Limits(budget, memory)
        if isinstance(space, Forest):
            paths = product_kbest.rank_forest_sentences(
                space, machine.automaton, k, weight, limits, worst=True, words=words
            )
            return None if paths is None else Ranked(paths, "rows")
        column = cast("IntColumn | None", words)
        long = is_long(space, machine, memory)
        if long:
            from lattices.intersection.worst_of_stretches import worst_of_stretches

            ranked = worst_of_stretches(self, space, machine, k, model_weight, limits, column)
            if ranked is not None:
                return ranked
        rows = RowMachine(machine.automaton, space.num_states)
        # a row a state, at least: the caller takes the worst of the sentences that the model likes
        if long and rows.native.row_bytes <= memory < rows.native.row_bytes * space.num_states:
            return None
        if k > 1:
            paths = product_kbest.worst_sentences(space, rows, k, weight, limits, column)
            return None if paths is None else Ranked(paths, "rows")
        found = lowest_path(space, rows, limits, model_weight=weight)
        if found is not None:
            return Ranked([found[1]], "rows")
        widest = max(1, budget // space.num_states)
        found = cut_lowest_path(space, rows, model_weight=weight, widest=widest, memory=memory)
        return Ranked([found[1]], "rows", proven=False)


ENGINE = KernelEngine()


def is_long(lattice: Lattice, machine: SearchMachine, memory: int) -> bool:
    """Whether a lattice is searched in parts for more than its best sentence."""
    pairs = lattice.num_states * sum(part.automaton.num_states for part in machine.parts)
    return pairs > min(WHOLE_PAIRS, memory // _PAIR_BYTES)


def _search(
    problems: list[Problem], model_weight: float, workers: int, memory: int
) -> list[Found | None]:
    values, parts, offset, arcs, unsolved = search_spaces(
        [space.columns for space, _ in problems],
        [
            [(part.automaton.columns, part.denominator, part.bonus) for part in machine.parts]
            for _, machine in problems
        ],
        model_weight,
        memory,
        workers,
    )
    instead: dict[int, Found] = {}
    for place, problem, beyond in unsolved:
        space, machine = problems[place]
        if not beyond:
            raise EngineError(problem)
        if isinstance(space, Lattice):
            raise explain_too_large(space, problem)
        from lattices.intersection.forest_as_lattice import search_as_lattice

        # items are pairs of places in the reference: a lattice has stretches
        try:
            instead[place] = search_as_lattice(
                ENGINE, space, machine, model_weight=model_weight, memory=memory
            )
        except (EngineError, TooLargeError):
            raise explain_too_large(space, problem) from None
    bounds: list[int] = offset.tolist()
    found = [
        None if part < 0 else Found(value, arcs[begin:end], part)
        for value, part, begin, end in zip(
            values.tolist(), parts.tolist(), bounds[:-1], bounds[1:], strict=True
        )
    ]
    return [instead.get(place, each) for place, each in enumerate(found)]
