"""Oracles under WER with soft matches, by both engines."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given

import lattices
from decoding import oracle
from fstmetrics import (
    WER,
    WERModif,
    load_vectors,
)
from tests.fstmetrics.similarity.test_modif import GLOVE, KNOWN, TABLE, references
from tests.strategies import small_lattices


@given(small_lattices(words=(*KNOWN, "hat")), references)
def test_oracles_of_both_engines_are_the_best_of_all_sentences(lattice, references):
    evaluator = WERModif(vectors=TABLE).against(references)
    best = min(evaluator.score(path.tokens) for path in lattice.paths())
    for engine in ("kernel", "openfst"):
        found = oracle(lattice, evaluator, engine=engine)
        assert found.exact
        assert found.score == pytest.approx(best, abs=1e-6)


def test_oracles_of_real_lattices(shared_data):
    table = load_vectors(shared_data / GLOVE)
    metric = WERModif(vectors=table)
    path = shared_data / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz"
    nearer = 0
    for segment in islice(lattices.read(path), 0, 300, 25):
        evaluator = metric.against(segment.references)
        ours = oracle(segment, evaluator, engine="kernel")
        theirs = oracle(segment, evaluator, engine="openfst")
        # single precision, so no ties there: the values are the same, the paths need not be
        assert ours.score == pytest.approx(theirs.score, abs=1e-6)
        strict = oracle(segment, WER().against(segment.references))
        assert ours.score <= evaluator.score(strict.tokens) + 1e-9
        nearer += ours.score < strict.score
    assert nearer > 6
