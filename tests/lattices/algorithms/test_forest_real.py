"""Forests of real decoders: the best derivation is the decoder's own."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lattices import Forest, SpaceError, Vocabulary
from lattices.algorithms import (
    best,
    density,
    k_best,
    path_count,
    posteriors,
    prune,
    sentence_count,
    to_lattice,
    total,
)
from lattices.algorithms.semirings import VITERBI


def hiero(shared_data: Path, size: str) -> list[tuple[dict[str, Any], Forest]]:
    """Return the records of the Hiero forests, and the forests."""
    words = Vocabulary()
    found = []
    name = f"hiero150.de-en.forest.{size}.jsonl.gz"
    with gzip.open(shared_data / "multi30k-deen" / name, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            rows = [
                (edge["head"], edge["tails"], edge["rhs"], edge["score"], edge["features"])
                for edge in record["edges"]
            ]
            forest = Forest.from_edges(
                rows,
                root=record["root"],
                nodes=len(record["nodes"]),
                vocabulary=words,
                id=record["id"],
            )
            found.append((record, forest))
    return found


@pytest.fixture(scope="module")
def small(shared_data: Path) -> list[tuple[dict[str, Any], Forest]]:
    return hiero(shared_data, "d10")


@pytest.mark.parametrize("size", ["d10", "d50"])
def test_the_best_derivation_is_the_decoders(shared_data, size):
    for record, forest in hiero(shared_data, size):
        found = best(forest)
        assert found.score == pytest.approx(record["hyp_score"], abs=1e-5)
        # of sentences with the same score the decoder may have taken another one
        tied = [each for each in k_best(forest, 5, distinct=True) if each.score == found.score]
        assert record["hyp"] in [each.text for each in tied]
        assert total(forest, VITERBI) == found.score


def test_lists_samples_and_lattices_agree(small):
    expanded = 0
    for _, forest in small[:40]:
        found = k_best(forest, 200, distinct=True)
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        assert len({one.tokens for one in found}) == len(found)
        counts = posteriors(forest, 10.0)
        assert counts.nodes.max() == pytest.approx(1.0, abs=1e-9)
        assert counts.edges[forest.head == forest.root].sum() == pytest.approx(1.0, abs=1e-9)
        smaller = prune(forest, density=5.0)
        assert density(smaller) <= 5.0
        assert best(smaller).score == found[0].score
        try:
            lattice = to_lattice(forest, max_states=50_000)
        except SpaceError:
            continue
        expanded += 1
        assert path_count(lattice) == path_count(forest)
        assert total(lattice) == pytest.approx(total(forest), abs=1e-9)
        other = k_best(lattice, 200, distinct=True)
        assert [one.score for one in other] == pytest.approx(scores, abs=1e-9)
        if path_count(forest) < 5000:
            everything = {one.tokens for one in k_best(forest, 5000)}
            assert sentence_count(forest) == len(everything)
    assert expanded >= 30


def test_a_beam_keeps_the_list(small):
    for _, forest in small[:20]:
        found = k_best(forest, 50)
        beam = found[0].score - found[-1].score + 1e-9
        kept = k_best(prune(forest, beam=beam), 50)
        assert Counter(one.tokens for one in kept) == Counter(one.tokens for one in found)
        np.testing.assert_allclose([one.score for one in kept], [one.score for one in found])
