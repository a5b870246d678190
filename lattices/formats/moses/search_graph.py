r"""Search graphs of Moses' phrase-based decoder: ``-output-search-graph`` and its extended form.

One hypothesis a line, all sentences in one file (``OutputSearchNode`` in ``moses/Manager.cpp``)::

    0 hyp=0 stack=0
    0 hyp=9 stack=3 back=1 score=-4.3 transition=-3.1 forward=-1 fscore=0 covered=1-2 out=a house
    0 hyp=8 stack=3 back=1 score=-5 transition=-3.8 recombined=9 forward=-1 ... out=a home

A hypothesis is an arc from ``back`` to itself, or to the one it was ``recombined`` into; its
score is ``transition``. A phrase of several words is a chain with the score on its first arc, an
empty phrase an epsilon. Sentences end in the hypotheses with ``forward=-1`` (a recombined one
repeats what its winner has there). A sentence without any but ``hyp=0`` is the empty sentence,
which is what Moses prints for it.

``out=`` takes the rest of the line, with whatever is in it; words may be ``surface|factor``. The
extended form (``-osgx``) has what the hypothesis adds to each feature, and the source phrase::

    ... covered=1-2 scores="core=(-2,0,-1.5) PP_a~b=1" out="ein Haus|a house"

These become the features ``core_0``, ``core_1``, ... in the order in which the decoder has
registered them, and the sparse ones by name. Where source words have factors, ``source_factors``
says how many, for the bar between the phrases is that between factors.

Older decoders wrote ``out=a house , pC=-0.4, c=-0.9``, whose tail is left out, and ``scores=[ d:
0 -1 lm: -16.1 ] out=ein Haus|a house``, whose features become ``d_0``, ``d_1`` and ``lm``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from lattices.arrays import FloatColumn, IntColumn, chain_arcs, floats, ints
from lattices.errors import FormatError
from lattices.formats.base import BLANKS, Format, Record, group_lines, split_words
from lattices.formats.fields import finite_number
from lattices.options import Option
from lattices.spaces import Lattice, Space
from lattices.spaces.features import FeatureMatrix, FeatureRows, feature_matrix
from lattices.vocabulary import Vocabulary

_START = re.compile(rb"[0-9]+ hyp=[0-9]+ stack=[0-9]+(?:[ \r\n]|$)")
_INITIAL = re.compile(r"\S+ hyp=0 stack=0(?: forward=-?[0-9]+ fscore=\S+)?\s*")
_LINE = re.compile(
    r"\S+ hyp=([0-9]+) stack=[0-9]+ back=([0-9]+) score=\S+ transition=(\S+)"
    r"(?: recombined=([0-9]+))? forward=(-?[0-9]+) fscore=\S+ covered=([0-9]+)-([0-9]+)"
    r'(?: scores=(?:"(.*?)"(?= out=")|\[(.*?)\](?= out=)))? out=(.*)'
)
#: how the target phrases of old decoders end: their probability and future cost
_OLD_TAIL = re.compile(r", pC=\S+, c=\S+\s*$")
_CORE = re.compile(r"core=\(([^)]*)\)")


class MosesGraph(Format):
    """See the module."""

    name = "moses-graph"
    description = "search graphs of Moses' phrase-based decoder (-output-search-graph, -osgx)"
    kind = "lattice"
    suffixes = (".osg", ".osgx")
    options: Mapping[str, str] = {
        "source_factors": Option(
            "how many factors a source word has in the extended form", int, 1, least=1
        )
    }
    writable = False

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first line is a hypothesis."""
        return _START.match(head.lstrip()) is not None

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut where the number of the sentence changes."""
        return group_lines(stream, path, lambda line: line.split(b" ", 1)[0])

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        """Return the lattice, in time linear in the lines."""
        factors = options.get("source_factors", 1)
        text = record.text()
        hypotheses = _Hypotheses(record, text)
        words = [
            split_words(hypotheses.target(row, factors)) for row in range(len(hypotheses.rows))
        ]
        return _chains(hypotheses, words, vocabulary, id=text.lstrip(BLANKS).split(" ", 1)[0])


FORMAT = MosesGraph()


class _Hypotheses:
    """The lines of one sentence, as they stand; the initial hypothesis has no row."""

    def __init__(self, record: Record, text: str) -> None:
        self.record = record
        self.rows: list[tuple[str, ...]] = []
        self.places: list[int] = []
        initial = -1
        for place, line in enumerate(text.split("\n")):
            found = _LINE.fullmatch(line)
            if found is not None:
                self.rows.append(found.groups(""))
                self.places.append(place)
            elif _INITIAL.fullmatch(line):
                if initial >= 0:
                    raise record.error("a second initial hypothesis (hyp=0)", place)
                initial = place
            elif line.strip(BLANKS):
                shown = line if len(line) < 80 else line[:80] + "..."
                raise record.error(
                    f"{shown!r}, expected 'sentence hyp= stack= back= score= transition= "
                    "[recombined=] forward= fscore= covered= [scores=] out='",
                    place,
                )
        if initial < 0:
            raise record.error("no initial hypothesis (hyp=0 stack=0)")

    def _column(self, field: int) -> list[str]:
        return [row[field] for row in self.rows]

    def _error(self, row: int, problem: str) -> FormatError:
        return self.record.error(problem, self.places[row])

    def graph(self) -> tuple[IntColumn, IntColumn, FloatColumn]:
        """Return the ends of every hypothesis as states, and the final scores of the states."""
        names, backs = self._column(0), self._column(1)
        winners, forward = self._column(3), self._column(4)
        state = {"0": 0}
        seen = {"0"}
        for row, (name, winner) in enumerate(zip(names, winners, strict=True)):
            # old decoders name the winner twice
            if name in seen and name != winner:
                raise self._error(row, f"a second hypothesis {name}")
            seen.add(name)
            if not winner:
                state[name] = len(state)
        heads = [winner or name for name, winner in zip(names, winners, strict=True)]
        for key, ends in (("back", backs), ("recombined", heads)):
            if not state.keys() >= set(ends):
                row = next(row for row, name in enumerate(ends) if name not in state)
                raise self._error(row, f"{key}={ends[row]}, but there is no such hypothesis")
        final = np.full(len(state), -np.inf)
        if self.rows:
            ending = [
                state[head] for head, ahead in zip(heads, forward, strict=True) if ahead == "-1"
            ]
            if not ending:
                raise self.record.error("no complete hypothesis (forward=-1)")
            final[ending] = 0.0
        else:
            final[0] = 0.0
        return ints([state[name] for name in backs]), ints([state[name] for name in heads]), final

    def transitions(self) -> FloatColumn:
        """Return the score of every hypothesis over the one before it."""
        return self._numbers(self._column(2), range(len(self.rows)), "transition")

    def _numbers(self, texts: Sequence[str], rows: Sequence[int], what: str) -> FloatColumn:
        """Return finite numbers, or an error in the line of the first that is not."""
        numbers = list(map(finite_number, texts))
        if None in numbers:
            odd = numbers.index(None)
            raise self._error(rows[odd], f"{what}={texts[odd]}, expected a finite number")
        return floats([number for number in numbers if number is not None])

    def target(self, row: int, factors: int) -> str:
        """Return the target phrase of one hypothesis."""
        *_, first, last, quoted, listed, out = self.rows[row]
        if not (quoted or listed):
            return _OLD_TAIL.sub("", out)
        if quoted:
            out = out.rstrip(BLANKS)
            if len(out) < 2 or out[0] != '"' or out[-1] != '"':
                raise self._error(row, f'out={out[:40]}, expected out="source|target"')
            out = out[1:-1]
        # a source word of n factors has n - 1 bars
        bars = 1 if factors == 1 else 1 + (factors - 1) * (int(last) - int(first) + 1)
        parts = out.split("|", bars)
        if len(parts) <= bars:
            raise self._error(
                row, f"out={out[:40]} has {len(parts) - 1} bars, expected {bars} or more"
            )
        return parts[-1]

    def features(self) -> tuple[FeatureMatrix | None, tuple[str, ...]]:
        """Return one row of features for each hypothesis, and their names."""
        quoted, listed = self._column(7), self._column(8)
        if not (any(quoted) or any(listed)):
            return None, ()
        from scipy.sparse import csr_array, hstack

        cores: list[str] = []
        named: list[dict[str, float]] = []
        for row, (new, old) in enumerate(zip(quoted, listed, strict=True)):
            found = _CORE.match(new)
            cores.append(found.group(1) if found else "")
            try:
                named.append(
                    _read_old_features(old) if old else _sparse(new[found.end() if found else 0 :])
                )
            except ValueError:
                raise self._error(
                    row, f"scores={(old or new)[:80]}, expected names and finite numbers"
                ) from None
        counts = [core.count(",") + 1 if core else 0 for core in cores]
        width = max(counts)
        if min(counts) < width:
            odd = next(row for row, count in enumerate(counts) if count < width)
            raise self._error(odd, f"{counts[odd]} core scores, expected {width} as in others")
        owners = np.repeat(np.arange(len(cores)), width).tolist()
        values = self._numbers(",".join(cores).split(",") if width else (), owners, "core")
        names = [f"core_{place}" for place in range(width)]
        sparse_names: list[str] = []
        sparse = feature_matrix(named, sparse_names)
        clash = next((name for name in sparse_names if name in names), None)
        if clash is not None:
            raise self.record.error(f"a sparse feature has the name {clash}, that of a core score")
        dense = csr_array(values.reshape(len(cores), width))
        return csr_array(hstack([dense, sparse.matrix])), (*names, *sparse_names)


def _sparse(text: str) -> dict[str, float]:
    """Return sparse features; a name may have ``=`` in it, a value has none.

    Examples
    --------
    >>> _sparse(" PP_a~==1")
    {'PP_a~=': 1.0}
    """
    found: dict[str, float] = {}
    for token in split_words(text):
        name, equals, value = token.rpartition("=")
        if not (name and equals) or name in found or (number := finite_number(value)) is None:
            raise ValueError(token)
        found[name] = number
    return found


def _read_old_features(text: str) -> dict[str, float]:
    """Return the features of old decoders; several models may have one name.

    Examples
    --------
    >>> _read_old_features(" d: 0 -1 lm: -16.1 d: 2 ")
    {'d_0': 0.0, 'd_1': -1.0, 'd_2': 2.0, 'lm': -16.1}
    """
    values: dict[str, list[float]] = {}
    current: list[float] | None = None
    for token in split_words(text):
        if token[-1] == ":":
            current = values.setdefault(token[:-1], [])
        elif current is None or (number := finite_number(token)) is None:
            raise ValueError(token)
        else:
            current.append(number)
    return {
        (name if len(some) == 1 else f"{name}_{place}"): value
        for name, some in values.items()
        for place, value in enumerate(some)
    }


def _chains(
    hypotheses: _Hypotheses, phrases: Sequence[Sequence[str]], vocabulary: Vocabulary, id: str
) -> Lattice:
    """Return the lattice in which every phrase is a chain of arcs, one for each word."""
    src, dst, final = hypotheses.graph()
    features, feature_names = hypotheses.features()
    length = np.array([max(1, len(phrase)) for phrase in phrases], np.int64)
    tails, heads, first = chain_arcs(src, dst, length, len(final))
    scores = np.zeros(len(first))
    scores[first] = hypotheses.transitions()
    ends = np.append(final, np.full(np.count_nonzero(~first), -np.inf))
    if features is not None:
        bounds = np.concatenate([[0], np.repeat(features.indptr[1:], length)])
        features = FeatureRows(features.data, features.indices, bounds, len(feature_names))
    return Lattice(
        vocabulary=vocabulary,
        src=tails,
        dst=heads,
        label=ints(vocabulary.add_all(chain.from_iterable(phrase or ("",) for phrase in phrases))),
        score=floats(scores),
        final=floats(ends),
        features=features,
        feature_names=feature_names,
        id=id,
    )
