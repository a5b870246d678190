"""The fast engine: numba over whole batches of acyclic lattices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any, Literal, TypeAlias

import numpy as np

from lattices.arrays import Array, column, floats, ints
from lattices.engines.automata import (
    SINGLE_PRECISION,
    Alignment,
    Automaton,
    Machines,
    SearchMachine,
    explicit,
)
from lattices.engines.batch import path_comes_first, search_alignments, search_automaton
from lattices.engines.found import Found
from lattices.spaces import Lattice

Precision: TypeAlias = "type[np.floating[Any]]"

#: the most cells (lattice states x machine states) one search may ask memory for
MOST_CELLS = 2**28
#: arcs that are packed and searched at a time
CHUNK_ARCS = 2**15


class KernelEngine:
    """Rows in topological order, the path by evaluating again along the best.

    Cost: O(arcs x reference length) for alignments, O(arcs x machine arcs) for other
    automata, and memory of one row a lattice state. Batches are cut over threads; the
    kernels do not hold the interpreter's lock.
    """

    name = "kernel"

    def can_run(self, lattice: Lattice, machine: SearchMachine) -> Literal[True] | str:
        """Return True, or the reason why this engine cannot search the lattice."""
        widest = max(part.automaton.num_states for part in machine.parts)
        if lattice.num_states * widest > MOST_CELLS:
            return (
                f"{lattice.num_states} lattice states x {widest} machine states "
                f"are more than {MOST_CELLS} cells"
            )
        return True

    def best(
        self,
        lattices: Sequence[Lattice],
        machines: Machines,
        *,
        model_weight: float = 0.0,
        workers: int = 1,
    ) -> list[Found | None]:
        """Return the best path of each lattice, or None where no path is complete."""
        found: list[Found | None] = [None] * len(lattices)
        batches: dict[tuple[int, Precision], list[int]] = {}
        for index, (lattice, machine) in enumerate(zip(lattices, machines, strict=True)):
            precision = _precision(lattice, machine, model_weight)
            if precision is None:
                found[index] = _search_one(lattice, machine, model_weight)
            else:
                batches.setdefault((id(lattice.vocabulary), precision), []).append(index)
        jobs = [
            (chunk, precision)
            for (_, precision), members in batches.items()
            for chunk in _chunks(members, lattices)
        ]

        def search(job: tuple[list[int], Precision]) -> None:
            chunk, precision = job
            results = _search_batch(
                [lattices[index] for index in chunk],
                [machines[index] for index in chunk],
                precision,
                model_weight,
            )
            for index, result in zip(chunk, results, strict=True):
                found[index] = result

        if workers > 1 and len(jobs) > 1:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(search, jobs))
        else:
            for job in jobs:
                search(job)
        return found


ENGINE = KernelEngine()


def _precision(lattice: Lattice, machine: SearchMachine, model_weight: float) -> Precision | None:
    """Return what rows are to be kept in, or None if a part is no alignment."""
    steps, gain = 0, 0.0
    for part in machine.parts:
        automaton = part.automaton
        if not isinstance(automaton, Alignment):
            return None
        steps = max(steps, automaton.num_states)
        gain = max(gain, automaton.largest_gain)
    largest_total = (lattice.num_states + steps) * gain
    whole = model_weight == 0.0 and largest_total < SINGLE_PRECISION
    return np.float32 if whole else np.float64


def _starts(sizes: Iterable[int]) -> Array:
    return column(list(accumulate(sizes, initial=0)), np.int64)


def _joined(objects: Sequence[Any], name: str, dtype: Any) -> Array:
    if len(objects) == 1:
        return column(getattr(objects[0], name), dtype)
    return column(np.concatenate([getattr(item, name) for item in objects]), dtype)


def _chunks(members: list[int], lattices: Sequence[Lattice]) -> Iterator[list[int]]:
    """Cut a batch into runs that fit the cache, so that packing one warms it for the search."""
    chunk: list[int] = []
    arcs = 0
    for index in members:
        chunk.append(index)
        arcs += lattices[index].num_arcs
        if arcs >= CHUNK_ARCS:
            yield chunk
            chunk, arcs = [], 0
    if chunk:
        yield chunk


def _search_batch(
    lattices: list[Lattice],
    machines: list[SearchMachine],
    precision: Precision,
    model_weight: float,
) -> list[Found | None]:
    """Search lattices over one vocabulary with machines made of alignments."""
    parts = [part for machine in machines for part in machine.parts]
    alignments = [part.automaton for part in parts if isinstance(part.automaton, Alignment)]
    arc_start = _starts(lattice.num_arcs for lattice in lattices)
    state_start = _starts(lattice.num_states for lattice in lattices)
    columns = (
        arc_start,
        state_start,
        ints([lattice.start for lattice in lattices]),
        _joined(lattices, "src", np.int32),
        _joined(lattices, "label", np.int32),
        _joined(lattices, "score", np.float64),
        _joined(lattices, "in_arc", np.int32),
        _joined(lattices, "in_offset", np.int32),
        _joined(lattices, "final", np.float64),
        lattices[0].vocabulary.ranks(),
        _starts(len(machine.parts) for machine in machines),
        floats(
            [
                (each.length, each.order, each.insertion, each.deletion, denominator, bonus)
                for each, (_, denominator, bonus) in zip(alignments, parts, strict=True)
            ]
        ),
        _starts(len(alignment.word) for alignment in alignments),
        _joined(alignments, "word", np.int32),
        _joined(alignments, "position", np.int32),
        _joined(alignments, "weight", precision),
        float(model_weight),
    )
    values = np.empty(len(lattices))
    chosen = np.zeros(len(lattices), np.int32)
    # a path has fewer arcs than the lattice has states
    paths = np.empty(int(state_start[-1]), np.int32)
    steps = np.zeros(len(lattices), np.int32)
    like = np.empty(0, precision)
    search_alignments(like, *columns, values, chosen, paths, steps)
    return [
        Found(value, paths[begin : begin + count], part) if value > -np.inf else None
        for value, begin, count, part in zip(
            values.tolist(), state_start[:-1].tolist(), steps.tolist(), chosen.tolist(), strict=True
        )
    ]


def _search_one(lattice: Lattice, machine: SearchMachine, model_weight: float) -> Found | None:
    """Search one lattice with a machine that has a part of unknown shape."""
    best: Found | None = None
    best_model = 0.0
    rank = lattice.vocabulary.ranks()
    path = np.empty(lattice.num_states, np.int32)
    for number, part in enumerate(machine.parts):
        automaton = explicit(part)
        gain, count, model = search_automaton(
            lattice.start,
            lattice.src,
            lattice.label,
            lattice.score,
            lattice.in_arc,
            lattice.in_offset,
            lattice.final,
            rank,
            float(model_weight * part.denominator),
            automaton.initial,
            automaton.final,
            automaton.order,
            *_arcs_by_source(automaton),
            *_arcs_by_target(automaton),
            path,
        )
        if gain == -np.inf:
            continue
        value = (gain + part.bonus) / part.denominator
        if best is None or path_comes_first(
            value, model, path, count,
            best.value, best_model, best.arcs, len(best.arcs), lattice.label, rank,
        ):  # fmt: skip
            best, best_model = Found(value, path[:count].copy(), number), model
    return best


def _arcs_by_source(automaton: Automaton) -> tuple[Array, ...]:
    """Return where the arcs out of each state begin, and the columns in that order."""
    order = np.argsort(automaton.src, kind="stable")
    offset = np.searchsorted(automaton.src[order], np.arange(automaton.num_states + 1))
    return (
        ints(offset),
        ints(automaton.src[order]),
        ints(automaton.dst[order]),
        ints(automaton.label[order]),
        floats(automaton.gain[order]),
    )


def _arcs_by_target(automaton: Automaton) -> tuple[Array, ...]:
    """Return the arcs into each state, epsilon arcs first, as ``expand_alignment`` does."""
    bucket = 2 * automaton.dst + (automaton.label != 0)
    order = np.argsort(bucket, kind="stable")
    offset = np.searchsorted(bucket[order], np.arange(2 * automaton.num_states + 1))
    return (
        ints(offset),
        ints(automaton.src[order]),
        ints(automaton.label[order]),
        floats(automaton.gain[order]),
    )
