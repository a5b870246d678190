"""Lattices to OpenFst's automata, and back.

**The sign.** Scores here are log-scores, higher is better; OpenFst's weights are costs,
smaller is better, with ``+inf`` where a state is not final. :func:`to_columns` and
:func:`from_columns` negate, and nothing else in the library does.

**The precision.** OpenFst's arc types ``standard`` and ``log`` store single precision: a
score comes back to within a relative 6e-8. ``log64`` stores doubles, and scores come back
bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lattices._native import distinct_labels
from lattices.arrays import IntColumn, floats, ints
from lattices.errors import OptionError, SpaceError, expecting
from lattices.formats.openfst.codec import FstColumns, SymbolTable, decode, encode
from lattices.optional import require_pynini
from lattices.spaces import Lattice
from lattices.spaces.arguments import LATTICE, takes
from lattices.spaces.lattice import build_lattice
from lattices.vocabulary import EPSILON, EPSILON_NAME, Vocabulary

__all__ = [
    "from_columns",
    "from_fst",
    "symbol_table",
    "to_columns",
    "to_fst",
]


def to_columns(lattice: Lattice) -> FstColumns:
    """Return the lattice as an acceptor with costs; labels are the vocabulary's numbers."""
    return FstColumns(
        src=lattice.src,
        ilabel=lattice.label,
        olabel=lattice.label,
        # a plain minus would turn the score 0.0 into the cost -0.0
        weight=0.0 - lattice.score,
        dst=lattice.dst,
        final=0.0 - lattice.final,
        start=lattice.start,
    )


def from_columns(
    columns: FstColumns,
    vocabulary: Vocabulary | None = None,
    *,
    side: str = "output",
    symbols: SymbolTable | None = None,
    **fields: Any,
) -> Lattice:
    """Return the lattice of an acyclic automaton with costs.

    Arcs of infinite cost, on which no path can succeed, are left out.
    """
    if side not in ("output", "input"):
        raise OptionError(f"side={side!r}, expected output or input")
    if columns.start < 0:
        raise SpaceError("the automaton is empty: it has no start state")
    label = columns.olabel if side == "output" else columns.ilabel
    if symbols is not None:
        vocabulary = Vocabulary() if vocabulary is None else vocabulary
        label = _translate(label, symbols, vocabulary)
    elif vocabulary is None:
        raise OptionError(
            f"the labels are numbers and no table of {side} symbols is attached: "
            "a vocabulary has to say which words they are"
        )
    src, dst, weight = columns.src, columns.dst, columns.weight
    possible = weight != np.inf
    if not possible.all():
        src, dst, label, weight = src[possible], dst[possible], label[possible], weight[possible]
    return build_lattice(
        vocabulary=vocabulary,
        src=src,
        dst=dst,
        label=label,
        score=0.0 - weight,
        final=0.0 - columns.final,
        start=columns.start,
        **fields,
    )


def _translate(label: IntColumn, symbols: SymbolTable, vocabulary: Vocabulary) -> IntColumn:
    """Return the numbers in ``vocabulary`` of labels that ``symbols`` names."""
    distinct, place = distinct_labels(label)
    order = np.argsort(distinct)
    words = []
    for number in distinct[order].tolist():
        word = "" if number == EPSILON else symbols.get(number)
        if word is None:
            raise SpaceError(f"label {number} is not in the symbol table of {len(symbols)} symbols")
        words.append(word)
    numbers = np.empty(len(words), np.int32)
    numbers[order] = vocabulary.add_all(words)
    return ints(numbers[place])


def symbol_table(vocabulary: Vocabulary, labels: Iterable[int] | None = None) -> dict[int, str]:
    """Return the words by number, with a name for epsilon at 0."""
    name = EPSILON_NAME
    while name in vocabulary:
        # symbols must differ, and a vocabulary may hold "<eps>" as a word
        name = f"<{name}>"
    if labels is None:
        return {EPSILON: name, **dict(enumerate(vocabulary, start=1))}
    return {EPSILON: name, **{label: vocabulary.word(label) for label in labels if label}}


@takes(lattice=LATTICE)
def to_fst(
    lattice: Lattice, arc_type: str = "standard", *, symbols: bool = False, scores: bool = True
) -> Any:
    """Return the lattice as a ``pynini.Fst``: an acceptor, cost = -score.

    Composed with a metric's machine (:meth:`fstmetrics.contract.Machine.to_fst`), its shortest path
    is the best sentence under the metric alone if there are no scores, and under the sum of the
    metric and the model score if there are.

    Labels are the vocabulary's numbers and states keep theirs. Features, times and
    metadata stay behind. Costs O(states + arcs), and O(words) for ``symbols``.

    Parameters
    ----------
    lattice
        The lattice.
    arc_type : {"standard", "log", "log64"}
        The semiring and the precision of OpenFst's weights.
    symbols
        Whether to attach the whole vocabulary as input and output symbol tables.
    scores
        Whether arcs and final states cost what they do in the lattice, or nothing.

    Raises
    ------
    MissingDependencyError
        If pynini is not installed.
    SpaceError
        If a score is too large for single precision.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -0.5), (0, 1, "b", -0.25)], finals=[1])
    >>> fst = to_fst(lattice, symbols=True)
    >>> print(fst)
    0   1   a   a   0.5
    0   1   b   b   0.25
    1
    <BLANKLINE>
    """
    pynini = require_pynini()
    table = symbol_table(lattice.vocabulary) if symbols else None
    columns = to_columns(lattice)
    if not scores:
        columns.weight = floats(np.zeros(columns.num_arcs))
        columns.final = floats(np.where(np.isfinite(columns.final), 0.0, np.inf))
    fst = pynini.Fst.read_from_string(encode(columns, arc_type, osymbols=table))
    if symbols:
        fst.set_input_symbols(fst.output_symbols())
    return fst


@expecting("the automaton is an Fst of pynini")
def from_fst(
    fst: Any, vocabulary: Vocabulary | None = None, side: str = "output", **fields: Any
) -> Lattice:
    """Return the lattice of an acyclic FST of pynini, pywrapfst or rustfst; score = -cost.

    Parameters
    ----------
    fst
        A ``vector`` or ``const`` FST of arc type ``standard``, ``log`` or ``log64``.
    vocabulary
        If a symbol table is attached to that side, it grows by the words that are used;
        if not, labels are its numbers, and it has to be given.
    side : {"output", "input"}
        Which labels of a transducer are the words.
    **fields
        ``id``, ``source``, ``references``, ``times`` and ``metadata`` of the lattice.

    Raises
    ------
    SpaceError
        If the FST is no lattice (cyclic, empty), or a label has no word.
    OptionError
        If neither a symbol table nor a vocabulary says which words the labels are.
    """
    # rustfst's FSTs, which are written like OpenFst's
    encoded = fst.write_to_string if hasattr(fst, "write_to_string") else fst.to_bytes
    found = decode(encoded(), "fst")
    symbols = found.osymbols if side == "output" else found.isymbols
    return from_columns(found, vocabulary, side=side, symbols=symbols, **fields)
