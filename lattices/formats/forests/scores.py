r"""Scores of forests in files that have nothing but features, and what such files lose.

The decoders that wrote them know the weights, and the files do not: the score of every edge is
0 until ``weights`` are given, or :meth:`lattices.Forest.reweighted` is called. Weights are a
mapping or a file (:mod:`lattices.formats.weights`); every feature that an edge has needs one.

What we write there has the scores too, as one feature more, called ``score``: it is taken for
the score where it is met, and is no feature then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import FormatError
from lattices.formats.base import Unsupported, split_words
from lattices.formats.json.fields import feature_objects
from lattices.formats.weights import read_weights
from lattices.options import Option
from lattices.spaces import Forest
from lattices.spaces.features import FeatureRows, feature_rows, make_rows, weight_vector

#: what separates the fields of a rule
BAR = "|||"


def nodes_below_root(forest: Forest, losses: Unsupported, where: str) -> int:
    """Return how many nodes to write where the last one has to be the root.

    No derivation uses the nodes behind the root: they are above it, or beside it.
    """
    if forest.root + 1 < forest.num_nodes:
        losses.add("nodes behind the root", where)
    return forest.root + 1


def spell_words(
    forest: Forest, losses: Unsupported, where: str, slot: re.Pattern[str]
) -> dict[int, str]:
    """Return how each word is written where blanks separate words, and brackets mark slots."""
    spelled: dict[int, str] = {}
    for label in np.unique(forest.symbol[forest.symbol > 0]).tolist():
        word = forest.vocabulary.word(label)
        parts = split_words(word)
        for part in parts:
            if part == BAR or slot.fullmatch(part):
                raise FormatError(
                    f"the word {word!r} of {where} means something else in this format"
                )
        if parts != [word]:
            losses.add("words with blanks in them", where)
        spelled[label] = " ".join(parts)
    return spelled


def target_sides(
    forest: Forest, spelled: dict[int, str], slot: Callable[[int, int], str]
) -> list[str]:
    """Return the target side of each edge as text; ``slot`` spells a tail, by edge and index."""
    symbols = forest.symbol.tolist()
    return [
        " ".join(
            [
                spelled[symbol] if symbol > 0 else slot(edge, -1 - symbol)
                for symbol in symbols[low:high]
            ]
        )
        for edge, (low, high) in enumerate(pairwise(forest.symbol_offset.tolist()))
    ]


#: the feature that is the score
SCORE = "score"
WEIGHTS = {"weights": "file with lines 'name value': the weight of each feature"}
SCORES = {
    "scores": Option(f"whether they are written, as the feature {SCORE!r}", ("feature", "none"))
}
TAG_OPTION = {"tags": Option("what becomes of <s> and </s>", ("drop", "keep"))}


def weight_edges(
    features: FeatureRows | None, names: Sequence[str], rows: int, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return ``score``, ``features`` and ``feature_names`` of a forest, as the module says."""
    score = floats(np.zeros(rows))
    if features is not None and SCORE in names:
        place = list(names).index(SCORE)
        score = floats(features.matrix[:, [place]].toarray()[:, 0])
        others = [column for column in range(len(names)) if column != place]
        features = feature_rows(features.matrix[:, others]) if others else None
        names = [names[column] for column in others]
    weights = options.get("weights")
    if weights is not None:
        score = products(features, names, rows, weights)
    return {"score": score, "features": features, "feature_names": tuple(names)}


def products(
    features: FeatureRows | None, names: Sequence[str], rows: int, weights: Any
) -> FloatColumn:
    """Return the weighted sum of the features of each edge."""
    known = weights if isinstance(weights, Mapping) else read_weights(weights)
    if features is None:
        return floats(np.zeros(rows))
    stored = features.data != 0.0
    used = np.bincount(features.indices[stored], minlength=len(names)) > 0
    # a name that no edge uses weighs nothing
    unused = {name: 0.0 for name, there in zip(names, used.tolist(), strict=True) if not there}
    return floats(features.matrix @ weight_vector({**unused, **known}, names, "error"))


def feature_table(
    keys: Sequence[str], values: FloatColumn, counts: Sequence[int], names: list[str]
) -> tuple[FeatureRows | None, int]:
    """Return features as a matrix, and the first row that has one of them twice, or -1."""
    number = {name: place for place, name in enumerate(dict.fromkeys([*names, *keys]))}
    names[:] = number
    if not number:
        return None, -1
    columns: IntColumn = ints([number[key] for key in keys])
    bounds = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    owner = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((columns, owner))
    same = (np.diff(owner[order]) == 0) & (np.diff(columns[order]) == 0)
    if same.any():
        return None, int(owner[order][1:][same][0])
    return FeatureRows(values[order], columns[order], ints(bounds), len(number)), -1


def collect_written_features(
    forest: Forest, losses: Unsupported, where: str, options: Mapping[str, Any]
) -> tuple[list[list[tuple[str, float]]], tuple[str, ...]]:
    """Return the features to write of each edge, the score among them, and all their names."""
    rows: list[list[tuple[str, float]]] = [[] for _ in range(forest.num_edges)]
    with_scores = options.get("scores") != "none"
    if SCORE in forest.feature_names:
        losses.add(f"features {SCORE!r}", where)
    names = tuple(name for name in forest.feature_names if name != SCORE)
    features = make_rows(forest)
    if features is not None:
        for row, found in zip(rows, feature_objects(features, forest.feature_names), strict=True):
            row += [pair for pair in found.items() if pair[0] != SCORE]
    if with_scores and forest.score.any():
        names += (SCORE,)
        for row, score in zip(rows, forest.score.tolist(), strict=True):
            row.append((SCORE, score))
    return rows, names
