r"""OpenFst's text format, that of AT&T's FSM tools: one arc or final state a line.

Columns are cut at blanks and tabs; weights are costs, and scores their negatives::

    src dst word [cost]              an arc of an acceptor
    src dst input output [cost]      an arc of a transducer
    state [cost]                     a final state; Infinity: a state that is not final

A cost left out is 0. The start is the first state of the first line, whatever its number.
States keep their numbers if these run from 0 without a gap and in topological order; they
are numbered anew otherwise. Arcs of cost Infinity, which no path can take, are left out.

**Acceptor or transducer.** The file does not say, and a line of four columns may be either.
``acceptor=auto`` looks at all arcs: a line of three columns makes it an acceptor, one of
five a transducer. If all have four, it is a transducer if some fourth column is no number,
or if all third and fourth columns are the same whole numbers; if these are whole
numbers that differ nothing can be told, and the option has to say. Else it is an acceptor.

**Labels.** With ``symbols=FILE`` labels are looked up in a symbol table: by number if all
are whole numbers, by name if not. Without, labels are themselves the words, but where all are
whole numbers they are an error: ``labels=words`` or ``labels=numbers`` has to say what these
are. Epsilon is the symbol numbered 0 if there is a table; if there is none, ``0`` with
``labels=numbers`` (the others become words of digits), and ``<eps>`` without.

Features, times and metadata have no place in this format. Scores are written with all
their digits, though OpenFst itself reads them in single precision.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from lattices._native import fst_text
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import FormatError, OptionError, argument
from lattices.formats.base import Format, Record, Unsupported, note_losses, require_kind
from lattices.formats.fields import (
    LABEL_OPTIONS,
    SIDE_OPTION,
    TABLE_OPTION,
    is_number,
    is_whole,
    label_names,
    label_words,
)
from lattices.formats.openfst.codec import FstColumns
from lattices.formats.openfst.symbols import read_symbols
from lattices.interop import from_columns, to_columns
from lattices.options import Option
from lattices.spaces import Lattice, Space
from lattices.vocabulary import EPSILON, EPSILON_NAME, Vocabulary

Rows: TypeAlias = "list[list[bytes]]"

_ACCEPTOR = {"auto": None, "yes": True, "no": False}
_KALDI_COSTS = re.compile(rb"[-+0-9.eEInfity]+,[-+0-9.eEInfity]+(,[0-9_]*)?")


#: the label of arcs into the final state in k2's text, which looks like this format otherwise
_K2_END = b"-1"


class OpenFstText(Format):
    """See the module."""

    name = "openfst-text"
    description = "OpenFst / AT&T text, one lattice a file; cost = -score"
    kind = "lattice"
    suffixes = (".att", ".fst.txt", ".fsm")
    options: Mapping[str, str] = {
        "acceptor": Option("whether arcs have one label", ("auto", "yes", "no")),
        **LABEL_OPTIONS,
        **SIDE_OPTION,
    }
    write_options: Mapping[str, str] = {
        "acceptor": Option(
            "whether each label is written once, or as input and output",
            ("yes", "no"),
        ),
        "labels": Option(
            "numbers need symbols=FILE, where the words are kept",
            ("words", "numbers"),
        ),
        **TABLE_OPTION,
    }
    single = True
    exact = True
    twins = ("k2",)

    def sniff(self, head: bytes) -> bool:
        """Tell whether all lines have one to five columns that begin with state numbers.

        Costs in pairs, with commas, are Kaldi's; the label -1 is k2's.
        """
        lines = head.split(b"\n")
        rows = [row for line in lines[:-1] or lines if (row := line.split())]
        return bool(rows) and all(
            len(row) <= 5
            and all(map(bytes.isdigit, row[: 2 if len(row) > 2 else 1]))
            and not _KALDI_COSTS.fullmatch(row[-1])
            and row[2:3] != [_K2_END]
            for row in rows
        )

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Lattice:
        """Return the lattice; linear in the size of the file."""
        record.text()  # raises if it is none; bytes are cut at ASCII blanks only, unlike text
        side = options.get("side", "output")
        wanted = options.get("acceptor", "auto")
        # what native code does not know is doubtful or wrong, and said below
        native = fst_text(record.payload, _ACCEPTOR[wanted], side == "input")
        if native is not None:
            start, src, dst, which, cost, final, names = native
            words = label_words(names, options, strict=True)
            if len(words) == len(names):
                numbers = np.array(vocabulary.add_all(words.values()), np.int32)[which]
                columns = FstColumns(src, ints(numbers), ints(numbers), cost, dst, final, start)
                return from_columns(columns, vocabulary)
        rows = [line.split() for line in record.payload.split(b"\n")]
        acceptor = _is_acceptor(record, rows, wanted)
        arcs = _full_arcs(rows, acceptor)
        labels = [row[3 if side == "output" else 2] for row in arcs]
        if options.get("labels") != "words" and _is_k2(rows):
            raise record.error(
                "arcs of label -1 lead to a last state: this is k2's text, whose scores are no "
                "costs (format k2); labels=words reads -1 as a word"
            )
        words = label_words(labels, options, strict=True)
        for label in labels:
            if label not in words:
                shown = label.decode("utf-8")
                problem = f"the label {shown!r} is not in the symbol table"
                raise record.error(problem, _count_lines_above(record, label))
        column = ints(vocabulary.add_all(words[label] for label in labels))
        columns = _columns(record, rows, arcs, column)
        return from_columns(columns, vocabulary)

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write the start state first, then the others in order: arcs, then the final cost."""
        twice = options.get("acceptor") == "no"
        kind = options.get("labels", "words")
        if kind == "numbers" and "symbols" not in options:
            needed = argument("write.symbols", "FILE")
            raise OptionError(f"labels=numbers needs {needed}, where the words are kept")
        for lattice in require_kind(Lattice, spaces, losses):
            note_losses(lattice, losses)
            names = _names(lattice, kind, options.get("symbols"))
            stream.write("".join(_lines(lattice, names, twice)).encode("utf-8"))


FORMAT = OpenFstText()


def _is_k2(rows: Rows) -> bool:
    """Tell whether a state stands alone at the end, and arcs into it, only, have the label -1."""
    filled = [row for row in rows if row]
    if len(filled[-1]) != 1:
        return False
    last = filled[-1][0]
    ends = [(row[2] == _K2_END, row[1] == last) for row in filled if len(row) > 2]
    return any(marked for marked, _ in ends) and all(marked == end for marked, end in ends)


def _first(rows: Rows, *widths: int) -> int:
    """Return the place of the first line with so many columns."""
    return next(place for place, row in enumerate(rows) if len(row) in widths)


def _is_acceptor(record: Record, rows: Rows, wanted: str) -> bool:
    widths = set(map(len, rows))
    odd = widths - set(range(6))
    if odd:
        raise record.error(f"{min(odd)} columns, expected 1 to 5", _first(rows, *odd))
    if wanted == "auto":
        if {3, 5} <= widths:
            raise record.error(
                f"3 columns, an arc of an acceptor, where line {1 + _first(rows, 5)} has 5, an arc "
                "of a transducer",
                _first(rows, 3),
            )
        acceptor = _guess_acceptor(record, rows) if widths.isdisjoint((3, 5)) else 3 in widths
    else:
        acceptor = wanted == "yes"
    refused = 5 if acceptor else 3
    if refused in widths:
        what = "an acceptor" if acceptor else "a transducer"
        raise record.error(f"{refused} columns in {what}", _first(rows, refused))
    return acceptor


def _guess_acceptor(record: Record, rows: Rows) -> bool:
    """Decide what arcs of four columns are, as the module describes."""
    arcs = [row for row in rows if len(row) == 4]
    if not all(is_number(row[3]) for row in arcs):
        return False
    if all(row[2].isdigit() and row[3].isdigit() for row in arcs):
        if any(row[2] != row[3] for row in arcs):
            raise record.error(
                "third and fourth columns are whole numbers: input and output, or label and "
                "cost? acceptor=yes or acceptor=no says which",
                _first(rows, 4),
            )
        return False
    return True


def _full_arcs(rows: Rows, acceptor: bool) -> Rows:
    """Return the arcs with all five columns: source, target, input, output, cost."""
    arcs = [row for row in rows if len(row) > 2]
    if acceptor:
        return [[*row[:3], *row[2:], b"0"][:5] for row in arcs]
    return [row if len(row) == 5 else [*row, b"0"] for row in arcs]


def _count_lines_above(record: Record, label: bytes) -> int:
    """Return how many lines stand above the first arc with this label."""
    lines = record.payload.split(b"\n")
    return next(place for place, line in enumerate(lines) if label in line.split()[2:4])


def _columns(record: Record, rows: Rows, arcs: Rows, label: IntColumn) -> FstColumns:
    ends = [row for row in rows if 0 < len(row) < 3]
    named = [*(row[0] for row in arcs), *(row[1] for row in arcs), *(row[0] for row in ends)]
    if not all(map(is_whole, named)):
        raise _bad_state(record, rows)
    # the numbers of files that are not numbered from 0 are closed up, in their order
    states, state = np.unique(np.array(list(map(int, named)), dtype=np.int64), return_inverse=True)
    count = len(arcs)
    arcs_at = [place for place, row in enumerate(rows) if len(row) > 2]
    ends_at = [place for place, row in enumerate(rows) if 0 < len(row) < 3]
    final = np.full(len(states), np.inf)
    # of several final costs of one state the last counts, as in OpenFst
    final[state[2 * count :]] = _costs(
        record, [row[1] if len(row) == 2 else b"0" for row in ends], ends_at
    )
    first = next(row for row in rows if row)
    return FstColumns(
        src=ints(state[:count]),
        ilabel=label,
        olabel=label,
        weight=_costs(record, [row[4] for row in arcs], arcs_at),
        dst=ints(state[count : 2 * count]),
        final=final,
        start=int(np.searchsorted(states, int(first[0]))),
    )


def _bad_state(record: Record, rows: Rows) -> FormatError:
    """Return the error of the first state that is no number."""
    states = (
        (place, text) for place, row in enumerate(rows) for text in row[: 2 if len(row) > 2 else 1]
    )
    place, text = next((place, text) for place, text in states if not is_whole(text))
    return record.error(f"state {text.decode('utf-8')!r}, expected a number from 0", place)


def _costs(record: Record, texts: list[bytes], places: list[int]) -> FloatColumn:
    """Return the costs, which stand so many lines below the first of the record."""
    try:
        costs = floats(list(map(float, texts)))
    except ValueError:
        costs = floats([float(text) if is_number(text) else np.nan for text in texts])
    bad = np.isnan(costs) | (costs == -np.inf)
    if b"_" in b"".join(texts):
        bad |= np.array([not is_number(text) for text in texts])
    if bad.any():
        odd = int(np.flatnonzero(bad)[0])
        shown = texts[odd].decode("utf-8")
        raise record.error(f"cost {shown!r}, expected a number or Infinity", places[odd])
    return costs


def _names(lattice: Lattice, kind: str, table: str | None) -> Mapping[int, str]:
    """Return how each label of the lattice is written."""
    numbers = {} if table is None else label_names(lattice, table)
    if kind == "numbers":
        return numbers
    given = argument("write.labels", "numbers"), argument("write.symbols", "FILE")
    remedy = " with ".join(given)
    names = label_names(lattice, None, remedy=remedy)
    if table is not None:
        names[EPSILON] = read_symbols(table).get(EPSILON, EPSILON_NAME)
        used = [names[label] for label in np.unique(lattice.label).tolist()]
        if used and all(name.encode("utf-8").isdigit() for name in used):
            raise FormatError(
                f"the words of segment {lattice.id!r} are whole numbers, and would be read as "
                f"numbers of the symbol table; {remedy} keeps them"
            )
    return names


def _lines(lattice: Lattice, names: Mapping[int, str], twice: bool) -> list[str]:
    columns = to_columns(lattice)
    targets, labels, costs = (
        part.tolist() for part in (columns.dst, columns.olabel, columns.weight)
    )
    final, bounds = columns.final.tolist(), lattice.out_offset.tolist()
    shown = {label: f"{name}\t{name}" if twice else name for label, name in names.items()}
    order = [lattice.start, *(q for q in range(lattice.num_states) if q != lattice.start)]
    lines: list[str] = []
    for state in order:
        arcs = range(bounds[state], bounds[state + 1])
        lines += [f"{state}\t{targets[a]}\t{shown[labels[a]]}\t{costs[a]!r}\n" for a in arcs]
        if final[state] < np.inf:
            lines.append(f"{state}\t{final[state]!r}\n")
        elif not arcs:
            lines.append(f"{state}\tInfinity\n")
    return lines
