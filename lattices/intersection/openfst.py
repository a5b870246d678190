"""The reference engine: OpenFst's own composition and pruning, through pynini.

The lattice becomes a transducer from arc numbers to classes of words; composed with the
machine and pruned to its best weight, its input side is the automaton of all best paths,
among which one of the highest model score is taken. Weights are single precision: exact where
totals are whole numbers below 2**24, as they are for WER, WRR and GRR without a model weight.
Elsewhere they are good to about 1e-6 of the total, and OpenFst's own shortest path is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from lattices._native import in_bytes, topological_numbers
from lattices.algorithms.kbest import best_path
from lattices.arrays import Array, IntColumn, floats, ints
from lattices.errors import MissingDependencyError
from lattices.formats.openfst.codec import FstColumns, decode, encode
from lattices.intersection.automata import (
    ANY,
    SINGLE_PRECISION,
    Automaton,
    SearchMachine,
    make_explicit,
)
from lattices.intersection.engine import Found, Problem, explain_too_large
from lattices.limits import MEMORY
from lattices.optional import require_pynini
from lattices.spaces import Forest, Lattice
from lattices.vocabulary import Vocabulary


def acceptor_columns(automaton: Automaton, classes: IntColumn, unit: float = 1.0) -> FstColumns:
    """Return an automaton as OpenFst columns; costs are negated gains.

    ANY becomes an arc for each of ``classes``; initial gains get a new start before them.
    """
    anything = automaton.label == ANY
    copies = np.where(anything, len(classes), 1)
    src, dst, label, weight = (
        np.repeat(column, copies)
        for column in (automaton.src, automaton.dst, automaton.label, -automaton.gain * unit)
    )
    label[label == ANY] = np.tile(classes, int(anything.sum()))
    read = np.isin(label, classes) | (label == 0)
    src, dst, label, weight = (column[read] for column in (src, dst, label, weight))
    final = -automaton.final * unit
    begin = np.flatnonzero(automaton.initial > -np.inf)
    start = int(begin[0])
    if len(begin) > 1 or automaton.initial[start] != 0:
        start = automaton.num_states
        src = np.append(src, np.full(len(begin), start))
        dst = np.append(dst, begin)
        label = np.append(label, np.zeros(len(begin), np.int32))
        weight = np.append(weight, -automaton.initial[begin] * unit)
        final = np.append(final, np.inf)
    return FstColumns(
        src=ints(src), ilabel=ints(label), olabel=ints(label), weight=floats(weight), dst=ints(dst),
        final=final, start=start,
    )  # fmt: skip


def transducer_columns(lattice: Lattice, classes: Array, other: int, bias: float) -> FstColumns:
    """Return the lattice from arc numbers (from 1) to classes.

    Each end has an arc of its own, whose score is told apart from the machine's.
    """
    arcs, ends = lattice.num_arcs, lattice.finals
    label = np.where(np.isin(lattice.label, classes) | (lattice.label == 0), lattice.label, other)
    final = np.full(lattice.num_states + 1, np.inf)
    final[-1] = 0.0
    return FstColumns(
        src=ints(np.append(lattice.src, ends)),
        dst=ints(np.append(lattice.dst, np.full(len(ends), lattice.num_states))),
        ilabel=ints(np.arange(1, arcs + len(ends) + 1)),
        olabel=ints(np.append(label, np.zeros(len(ends)))),
        weight=-bias * np.append(lattice.score, lattice.final[ends]),
        final=final,
        start=lattice.start,
    )


#: bytes that composition, shortest distance and pruning take for a state and an arc of the product;
#: measured on lattices of 1,500 to 8,000 arcs against WER, GRR and CER, and rounded up
_STATE_BYTES, _ARC_BYTES = 200, 90


def product_bytes(lattice: Lattice, automaton: Automaton) -> float:
    """Return about how many bytes it takes OpenFst to search the product, at most.

    Pairs of arcs with one word, and silent arcs with each state, are arcs of the product.
    """
    anything = int((automaton.label == ANY).sum())
    words, times = np.unique(automaton.label[automaton.label > 0], return_counts=True)
    said = lattice.label[lattice.label > 0]
    read = np.zeros(max(len(lattice.vocabulary), int(words.max(initial=0)) + 1))
    read[words] = times
    left, right = float(lattice.num_states + 1), float(automaton.num_states + 1)
    silent = lattice.num_arcs - len(said) + len(lattice.finals)
    arcs = (read[said] + anything).sum() + silent * right + (automaton.label == 0).sum() * left
    arcs += anything * (len(words) + 1.0)
    return float(_STATE_BYTES * left * right + _ARC_BYTES * arcs)


class OpenFstEngine:
    """Composition and pruning in OpenFst, for any machine; forests as lattices.

    Memory is estimated first: OpenFst ends the interpreter where an allocation fails.
    """

    name = "openfst"

    def require(self) -> None:
        """Raise MissingDependencyError without pynini."""
        require_pynini()

    def can_run(self, space: Lattice | Forest, machine: SearchMachine) -> Literal[True] | str:
        """Return True, or the reason why this engine cannot search the space."""
        try:
            require_pynini()
        except MissingDependencyError as problem:
            return str(problem)
        return True

    def best(
        self,
        problems: Sequence[Problem],
        *,
        model_weight: float = 0.0,
        workers: int = 1,
        memory: int = MEMORY,
    ) -> list[Found | None]:
        """Return the best path or derivation of each space, or None where none is complete.

        ``workers`` has no effect: OpenFst runs under the interpreter's lock.
        """
        from lattices.intersection.forest_as_lattice import search_as_lattice

        return [
            self._best(space, machine, model_weight, memory)
            if isinstance(space, Lattice)
            else search_as_lattice(self, space, machine, model_weight=model_weight, memory=memory)
            for space, machine in problems
        ]

    def _best(
        self, lattice: Lattice, machine: SearchMachine, model_weight: float, memory: int
    ) -> Found | None:
        best: Found | None = None
        best_model = 0.0
        for number, part in enumerate(machine.parts):
            bias = model_weight * part.denominator
            optimal = self.optimal_paths(lattice, make_explicit(part), bias, memory)
            if optimal is None:
                continue
            gain, paths = optimal
            model, arcs = _find_likeliest(lattice, paths)
            value = (gain + part.bonus) / part.denominator
            if best is None or (value, model) > (best.value, best_model):
                best, best_model = Found(value, arcs, number), model
        return best

    def optimal_paths(
        self, lattice: Lattice, automaton: Automaton, bias: float, memory: int = MEMORY
    ) -> tuple[float, FstColumns] | None:
        """Return the best gain and the acceptor, over arc numbers, of the paths that attain it."""
        pynini = require_pynini()
        takes = product_bytes(lattice, automaton)
        if takes > memory:
            raise explain_too_large(
                lattice,
                f"{lattice.num_states} lattice states x {automaton.num_states} machine states may "
                f"take {in_bytes(takes)} of memory in OpenFst, and "
                f"{in_bytes(memory)} are allowed",
            )
        other = len(lattice.vocabulary)
        words = np.unique(automaton.label[automaton.label > 0])
        classes = ints(np.append(words, other))
        right = pynini.Fst.read_from_string(encode(acceptor_columns(automaton, classes)))
        left = pynini.Fst.read_from_string(encode(transducer_columns(lattice, words, other, bias)))
        product = pynini.compose(left, right.arcsort("ilabel"))
        if product.start() < 0:
            return None
        distance = pynini.shortestdistance(product, reverse=True)
        gain = -float(str(distance[product.start()]))
        exact = bias == 0.0 and max(abs(gain), automaton.largest_gain) < SINGLE_PRECISION
        # rounded sums are no ties, and pruning to no slack at all could even lose the best
        paths: Any = product.prune(weight="0") if exact else pynini.shortestpath(product)
        paths = paths.project("input").rmepsilon()
        return gain, decode(paths.write_to_string())


ENGINE = OpenFstEngine()


def _find_likeliest(lattice: Lattice, paths: FstColumns) -> tuple[float, IntColumn]:
    """Return the model score and the arcs of the path that the model likes best."""
    number, _ = topological_numbers(paths.src, paths.dst, paths.num_states)
    src, dst = number[paths.src], number[paths.dst]
    order = np.lexsort((dst, src))
    arc = paths.ilabel[order] - 1
    final = np.full(paths.num_states, -np.inf)
    final[number[paths.final < np.inf]] = 0.0
    chosen = best_path(
        Lattice(
            vocabulary=Vocabulary(),
            src=ints(src[order]),
            dst=ints(dst[order]),
            label=ints(np.zeros(len(arc))),
            score=np.append(lattice.score, lattice.final[lattice.finals])[arc],
            final=final,
            start=int(number[paths.start]),
        )
    )
    path = arc[chosen]
    path = ints(path[path < lattice.num_arcs])
    return lattice.hypothesis(path.tolist()).score, path
