"""The k best or worst sentences of a lattice under a machine, each once."""

from __future__ import annotations

from lattices import _native
from lattices.algorithms.kbest import k_best_ranked, paths_found, rows
from lattices.arrays import IntColumn, ints
from lattices.intersection.automata import Automaton
from lattices.intersection.rows import MEMORY, RowMachine, row_product
from lattices.spaces import Lattice


def best_sentences(
    lattice: Lattice,
    automaton: Automaton,
    k: int,
    model_weight: float,
    words: IntColumn | None = None,
) -> list[IntColumn]:
    """Return the paths of the ``k`` sentences of the highest gain plus weighted model score.

    One path a sentence, best first, ties as in :mod:`.found`. A maximum over sentences of a
    maximum over alignments is one maximum, so the plain product serves, whatever its size:
    O(arcs x machine arcs), and O(k x arcs x log(arcs)) of the product for the rest.

    Parameters
    ----------
    words : int32 column, optional
        What the arcs say, where the machine reads something else, as characters: one entry an
        arc, 0 for nothing. Sentences are different if their words are.
    """
    word = lattice.label if words is None else words
    found = _native.best_in_product(lattice.columns, word, automaton, model_weight, k)
    return rows(paths_found(lattice, found))


def worst_sentences(
    lattice: Lattice,
    machine: RowMachine,
    k: int,
    model_weight: float,
    budget: int,
    words: IntColumn | None = None,
    *,
    memory: int = MEMORY,
) -> list[IntColumn] | None:
    """Return the paths of the ``k`` sentences of the lowest gain plus weighted model score.

    None if the product with rows has more than ``budget`` pairs, or takes more than ``memory``
    bytes. The other parameters are those of :func:`best_sentences`.
    """
    product = row_product(lattice, machine, budget, memory=memory)
    if product is None:
        return None
    word = lattice.label if words is None else words
    paths = k_best_ranked(
        product.graph,
        product.gain,
        product.final_gain,
        k,
        sign=-1.0,
        weight=model_weight,
        words=ints(word[product.origin]),
    )
    return [ints(product.origin[path]) for path in paths]
