"""Deletion arcs: every subset of words may be left out, and is counted."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given

from lattices import Lattice
from lattices.algorithms import allow_deletion, best_words
from lattices.errors import OptionError
from tests.strategies import small_lattices


def tally(lattice: Lattice) -> Counter:
    """Return all paths: words, score, features."""
    return Counter(
        (path.tokens, round(path.score, 9), tuple(sorted(_known(path.features).items())))
        for path in lattice.paths()
    )


def _known(features) -> dict[str, float]:
    return {name: round(value, 9) for name, value in (features or {}).items() if value}


@given(small_lattices(features=True))
def test_words_are_left_out_in_all_ways(lattice: Lattice) -> None:
    found = tally(allow_deletion(lattice))
    expected: Counter = Counter()
    for path in lattice.paths():
        arcs = list(path.arcs)
        spoken = [arc for arc in arcs if lattice.label[arc] != 0]
        for kept in product((True, False), repeat=len(spoken)):
            gone = {arc for arc, keep in zip(spoken, kept, strict=True) if not keep}
            left = [arc for arc in arcs if arc not in gone]
            said = [int(lattice.label[arc]) for arc in left if arc in spoken]
            words = lattice.vocabulary.decode(said)
            last = int(lattice.dst[arcs[-1]]) if arcs else lattice.start
            score = float(lattice.final[last]) + float(sum(lattice.score[arc] for arc in left))
            features: Counter = Counter()
            if lattice.features is not None:
                rows = lattice.features[left].sum(axis=0) if left else []
                features.update(dict(zip(lattice.feature_names, rows, strict=False)))
            if lattice.final_features is not None:
                row = lattice.final_features[[last]].sum(axis=0)
                features.update(dict(zip(lattice.feature_names, row, strict=True)))
            features["deletion"] = len(gone)
            key = tuple(sorted(_known(features).items()))
            expected[tuple(words), round(score, 9), key] += 1
    assert found == expected


@given(small_lattices(features=True))
def test_all_or_none(lattice: Lattice) -> None:
    found = tally(allow_deletion(lattice, whole=True))
    count = float(len(best_words(lattice)))
    silence = ((), 0.0, (("deletion", count),) if count else ())
    assert found == tally(lattice) + Counter([silence])


def test_a_name_that_is_taken() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", 0.0, {"lm": 1.0})], finals=[1], id="x")
    with pytest.raises(OptionError, match="lattice 'x' has a feature 'lm' already"):
        allow_deletion(lattice, feature="lm")


def test_times_are_kept() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", 0.0)], finals=[1], times=[0.0, 0.5])
    assert allow_deletion(lattice).times.tolist() == [0.0, 0.5]
    assert allow_deletion(lattice, whole=True).times.tolist() == [0.0, 0.5, 0.5]
