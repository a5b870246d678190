"""References: sentences, and automata of them."""

from __future__ import annotations

import pytest

from fstmetrics import (
    WER,
)
from lattices import Error, Lattice, OptionError


def test_a_reference_lattice_is_scored_by_its_best_path():
    reference = Lattice.from_arcs(
        [(0, 1, "i've"), (1, 2, "um"), (1, 2, "uh"), (1, 2, ""), (2, 3, "been")], finals=[3]
    )
    evaluator = WER().against([reference])
    assert evaluator.score("i've uh been") == 0.0
    assert evaluator.score("i've been") == 0.0
    assert evaluator.judge("i've er been").stats[-1] == 3


def test_a_reference_lattice_without_a_sentence_is_an_error():
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3, id="dead")
    with pytest.raises(OptionError, match="'dead' holds no sentence"):
        WER().against([dead]).score("a")


def test_references_must_be_a_list_of_sentences():
    for bad in ("a b", Lattice.from_arcs([], finals=[0]), [], [["a", 3]]):
        with pytest.raises(Error):
            WER().against(bad)
