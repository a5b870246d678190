"""Lattices of speech decoders that are held in memory: k2 and Kaldi's FSTs.

Each goes by the reader of its own file format, so that scores, features, times and errors are
those of the file that the decoder would have written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from lattices.arrays import ints
from lattices.errors import OptionError, SpaceError, expecting
from lattices.formats.base import Record
from lattices.formats.kaldi.binary import FORMAT as KALDI
from lattices.formats.kaldi.k2 import FORMAT as K2
from lattices.formats.reading import parse_record
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary

#: the word of a number: a mapping, a list, or a table with ``get`` (k2) or ``find`` (OpenFst)
Symbols: TypeAlias = Any


@expecting("the automaton is an Fsa of k2")
def from_k2(
    fsa: Any,
    symbols: Symbols = None,
    *,
    side: str = "auto",
    vocabulary: Vocabulary | None = None,
    **fields: Any,
) -> Lattice:
    """Return the lattice of a ``k2.Fsa``; of an ``FsaVec``, take ``from_k2(fsas[i])``.

    Scores are k2's ``scores``. Its attributes that are numbers, such as ``am_scores`` and
    ``lm_scores``, are no features here.

    Parameters
    ----------
    fsa
        Acyclic, with one final state that arcs of label -1 lead to, as k2 has it.
    symbols
        The word of every number: ``fsa.aux_labels_sym`` or ``fsa.labels_sym`` by default.
    side : {"auto", "aux_labels", "labels"}
        Which labels are the words: the aux_labels where there are any.
    vocabulary : Vocabulary, optional
        Grows by the new words.
    **fields
        ``id``, ``source``, ``references`` and ``metadata`` of the lattice.

    Raises
    ------
    OptionError
        If there is no table of symbols.
    SpaceError
        If it is an ``FsaVec``, cyclic or empty, or a label has no word.
    """
    if len(fsa.shape) != 2:
        raise SpaceError("an FsaVec; expected one of its FSAs, such as from_k2(fsas[0])")
    if side not in ("auto", "aux_labels", "labels"):
        raise OptionError(f"side={side!r}, expected auto, aux_labels or labels")
    if side == "auto":
        side = "labels" if getattr(fsa, "aux_labels", None) is None else "aux_labels"
    if symbols is None:
        symbols = getattr(fsa, f"{side}_sym", None)
    text = "".join(_k2_lines(fsa, side))
    record = Record(text.encode(), "k2.Fsa", 1, 0)
    found = parse_record(K2, record, Vocabulary(), labels="numbers")
    return _name_words(found, symbols, vocabulary, fields)


def _k2_lines(fsa: Any, side: str) -> Iterator[str]:
    """Iterate over the lines that ``k2.to_str`` would write, with every digit of the scores."""
    arcs = fsa.arcs.values()[:, :2].tolist()
    chosen = getattr(fsa, side).tolist()
    columns = arcs, fsa.labels.tolist(), chosen, fsa.scores.double().tolist()
    for (src, dst), label, words, score in zip(*columns, strict=True):
        shown = " ".join(map(str, words)) if isinstance(words, list) else str(words)
        yield f"{src} {dst} {label} [ {shown} ] {score!r}\n"
    yield f"{fsa.shape[0] - 1}\n"


@expecting("the lattice is one of Kaldi")
def from_kaldi(
    fst: Any,
    symbols: Symbols = None,
    *,
    vocabulary: Vocabulary | None = None,
    id: str = "",
    acoustic_scale: float = 1.0,
    lm_scale: float = 1.0,
    frame_shift: float = 0.01,
) -> Lattice:
    """Return the lattice of a ``kaldifst.Lattice``, or of any Kaldi (compact) lattice.

    Graph and acoustic costs, negated, are the features ``graph`` and ``acoustic``; the score is
    their sum, weighted by the scales.

    Parameters
    ----------
    fst
        An object whose ``write(path)`` writes an FST of one of Kaldi's arc types.
    symbols
        The word of every output label: a mapping, a list, or OpenFst's symbol table;
        ``fst.output_symbols`` by default.
    vocabulary : Vocabulary, optional
        Grows by the new words.
    id : str
        Of the segment.
    acoustic_scale, lm_scale, frame_shift : float
        As in :mod:`lattices.formats.kaldi.costs`.

    Raises
    ------
    OptionError
        If there is no table of symbols.
    SpaceError
        If the lattice is empty or cyclic, or a label has no word.
    """
    data = b"_ " + write_to_bytes(fst.write)
    found = parse_record(
        KALDI, Record(data, type(fst).__name__, 0, 0), Vocabulary(), labels="numbers",
        acoustic_scale=acoustic_scale, lm_scale=lm_scale, frame_shift=frame_shift,
    )  # fmt: skip
    if symbols is None:
        symbols = getattr(fst, "output_symbols", None)
    return _name_words(found, symbols, vocabulary, {"id": id})


def write_to_bytes(write: Callable[[str], Any]) -> bytes:
    """Return what an object writes to a file, for objects that can only write files."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lattice")
        write(path)
        with open(path, "rb") as file:
            return file.read()


def _name_words(
    found: Any, symbols: Symbols, vocabulary: Vocabulary | None, fields: Mapping[str, Any]
) -> Lattice:
    """Return a lattice whose words are numbers with the words they stand for."""
    used = np.unique(found.label).tolist()
    if symbols is None and any(used):
        raise OptionError("the labels are numbers: symbols have to say which words they are")
    look = getattr(symbols, "get", None) or getattr(symbols, "find", None)
    words = [""] * len(found.vocabulary)
    for label in filter(None, used):
        number = int(found.vocabulary.word(label))
        try:
            word = symbols[number] if look is None else look(number)
        except LookupError:
            word = None
        if not isinstance(word, str) or not word:
            raise SpaceError(f"the label {number} is not in the table of symbols")
        words[label] = word
    known = Vocabulary() if vocabulary is None else vocabulary
    numbers = np.array(known.add_all(words), np.int32)
    named: Lattice = replace(found, vocabulary=known, label=ints(numbers[found.label]), **fields)
    return named
