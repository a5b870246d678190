"""The writing half of :mod:`lattices.formats.plf`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from lattices.algorithms.trimming import trim
from lattices.errors import FormatError, SpaceError
from lattices.formats.base import Losses
from lattices.spaces import Lattice

EPSILON_WORD = "*EPS*"
#: What Moses takes for the logarithm of a probability that is lower.
LOWEST_LOG = -100.0
QUOTE_ENTITY = {"&quot;": '"'}
_QUOTE = {'"': "&quot;"}
#: The features that numbers without a name are, and how many an arc may have.
DENSE = re.compile(r"LatticeCost_(0|[1-9][0-9]{0,3})")
MOST_DENSE = 10_000

_SPARSE_NAME = re.compile(r"[^\s,(){}'\"=:]+")


def plf_line(lattice: Lattice, losses: Losses, name: str, probability: bool) -> str:
    """Return the line of one lattice, in ``<seg>`` if it is to carry a name.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "it's", -0.5), (0, 2, "", -1), (1, 2, "so")], [2])
    >>> print(plf_line(lattice, Losses("plf"), "", probability=False), end="")
    ((('it\\'s',-0.5,1),('*EPS*',-1.0,2),),(('so',0.0,1),),)
    """
    where = f"segment {lattice.id!r}"
    _note_losses(lattice, losses, where)
    try:
        lattice = trim(lattice).lattice
    except SpaceError as problem:
        raise FormatError(f"{where} cannot be written: {problem}") from problem
    nodes = _nodes(lattice, losses, where, probability)
    text = "(" + "".join(f"({''.join(arcs)})," for arcs in nodes) + ")"
    if name:
        if "\n" in name or "\r" in name:
            raise FormatError(f"the id {name!r} cannot stand in a line")
        from xml.sax.saxutils import escape  # imports urllib, http and ssl

        text = f'<seg id="{escape(name, _QUOTE)}">{text}</seg>'
    return text + "\n"


def _note_losses(lattice: Lattice, losses: Losses, where: str) -> None:
    carried = {
        "times": lattice.times is not None,
        "source texts": bool(lattice.source),
        "references": bool(lattice.references),
        "metadata": bool(lattice.metadata),
    }
    for what, present in carried.items():
        if present:
            losses.add(what, where)


def _nodes(lattice: Lattice, losses: Losses, where: str, probability: bool) -> list[list[str]]:
    """Return the arcs of every node but the goal, as text."""
    rows = _rows(lattice.features, lattice.feature_names, lattice.num_arcs)
    words = [_quoted(word) for word in _words(lattice, where)]
    goal = lattice.num_states - 1
    finals = lattice.finals.tolist()
    bare = finals == [goal] and goal > 0 and lattice.final[goal] == 0.0 and not _ending(lattice)
    goal += not bare
    nodes: list[list[str]] = [[] for _ in range(goal)]

    def put(source: int, target: int, word: str, score: float, row: dict[str, float]) -> None:
        scores = _scores(score, row, losses, where, probability)
        nodes[source].append(f"({word},{scores},{target - source}),")

    columns = lattice.src.tolist(), lattice.dst.tolist(), words, lattice.score.tolist(), rows
    for source, target, word, score, row in zip(*columns, strict=True):
        put(source, target, word, score, row)
    if not bare:
        last = _rows(lattice.final_features, lattice.feature_names, lattice.num_states)
        for state in finals:
            put(state, goal, f"'{EPSILON_WORD}'", float(lattice.final[state]), last[state])
    return nodes


def _ending(lattice: Lattice) -> bool:
    """Tell whether ending has features that are not zero."""
    return lattice.final_features is not None and bool(lattice.final_features.data.any())


def _rows(matrix: Any, names: tuple[str, ...], count: int) -> list[dict[str, float]]:
    """Return the features of every row that are not zero, by name."""
    if matrix is None:
        return [{} for _ in range(count)]
    matrix = matrix.copy()
    matrix.sum_duplicates()
    bounds, columns, values = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    return [
        {names[columns[entry]]: values[entry] for entry in range(first, last) if values[entry]}
        for first, last in pairwise(bounds)
    ]


def _words(lattice: Lattice, where: str) -> list[str]:
    words = [lattice.vocabulary.word(label) or EPSILON_WORD for label in lattice.label.tolist()]
    for label, word in zip(lattice.label.tolist(), words, strict=True):
        if "\n" in word or (label and word == EPSILON_WORD):
            raise FormatError(f"the word {word!r} of {where} would not come back from a line")
    return words


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _scores(
    score: float, row: Mapping[str, float], losses: Losses, where: str, probability: bool
) -> str:
    """Return what stands between the word and the jump."""
    found = {int(name.rpartition("_")[2]): row[name] for name in row if DENSE.fullmatch(name)}
    dense = [found.get(place, 0.0) for place in range(1 + max(found, default=-1))] or [0.0]
    if float(sum(dense)) != score:
        if found:
            losses.add("LatticeCost features that do not add up to the scores", where)
        dense = [score]
    others = {name: value for name, value in row.items() if not DENSE.fullmatch(name)}
    if probability:
        parts = [_as_probability(value, where) for value in dense]
        for name, value in others.items():
            if _SPARSE_NAME.fullmatch(name):
                parts.append(f"{name}={value!r}")
            else:
                losses.add(f"features {name!r}", where)
        return ",".join(parts)
    numbers = ",".join(map(repr, dense))
    if not others:
        return numbers
    if any("\n" in name for name in others):
        raise FormatError(f"a feature name of {where} has a line end in it")
    listed = ",".join(f"{_quoted(name)}:{value!r}" for name, value in others.items())
    named = ",".join(f"'LatticeCost_{place}':{value!r}" for place, value in enumerate(dense))
    return f"{{{named},{listed}}}"


def _as_probability(score: float, where: str) -> str:
    # lower ones would be read as the lowest, and exp() of high ones overflows
    if not LOWEST_LOG <= score < 700.0:
        raise FormatError(f"the score {score!r} of {where} has no probability that can be written")
    return repr(math.exp(score))
