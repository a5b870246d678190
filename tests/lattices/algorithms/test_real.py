"""The algorithms on lattices of a real decoder, judged by the decoder and by each other."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from lattices.algorithms import (
    best,
    density,
    hypotheses,
    k_best,
    k_best_paths,
    log_path_count,
    path_count,
    path_lengths,
    posteriors,
    prune,
    remove_epsilon,
    sample,
    to_characters,
    total,
    trim,
    union,
)
from lattices.algorithms.semirings import VITERBI
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary


def parsed(line: str, vocabulary: Vocabulary) -> Lattice:
    row = json.loads(line)
    return Lattice.from_arcs(
        row["arcs"],
        finals={int(state): score for state, score in row["finals"].items()},
        states=row["states"],
        vocabulary=vocabulary,
        final_features={int(state): value for state, value in row["final_features"].items()},
        id=row["id"],
        metadata={"hyp": row["hyp"], "hyp_score": row["hyp_score"]},
    )


@pytest.fixture(scope="module")
def real(shared_data: Path) -> list[Lattice]:
    vocabulary = Vocabulary()
    with gzip.open(shared_data / "multi30k-deen" / "val.de-en.lat.d50.jsonl.gz", "rt") as lines:
        return [parsed(line, vocabulary) for line in islice(lines, 12)]


def test_the_best_path_is_the_decoders(real):
    for lattice in real:
        found = best(lattice)
        assert found.text == lattice.metadata["hyp"]
        assert found.score == pytest.approx(lattice.metadata["hyp_score"], abs=1e-6)
        assert total(lattice, VITERBI) == found.score


def test_sentences_are_paths_seen_once(real):
    for lattice in real:
        paths = k_best(lattice, 3000)
        assert len({path.arcs for path in paths}) == len(paths)
        assert [path.score for path in paths] == sorted((p.score for p in paths), reverse=True)
        first = {}
        for path in paths:
            first.setdefault(path.tokens, path)
        sentences = k_best(lattice, len(first), distinct=True)
        assert sentences == list(first.values())


def test_columns_of_paths_spell_what_the_lattice_says(real):
    lattice = real[0]
    paths = k_best_paths(lattice, 20)
    assert hypotheses(lattice, paths) == [
        lattice.hypothesis(row.tolist()) for row in np.split(paths.arcs, paths.offset[1:-1])
    ]


def test_posteriors_flow_through(real):
    for lattice in real:
        found = posteriors(lattice, scale=15.0)
        inflow = np.bincount(lattice.dst, found.arcs, minlength=lattice.num_states)
        outflow = np.bincount(lattice.src, found.arcs, minlength=lattice.num_states)
        inflow[lattice.start] += 1.0
        np.testing.assert_allclose(inflow, found.states, atol=1e-10)
        np.testing.assert_allclose(outflow + found.finals, found.states, atol=1e-10)
        assert found.finals.sum() == pytest.approx(1.0, abs=1e-10)


def test_samples_have_the_frequencies_of_the_posteriors(real):
    lattice = real[0]
    draws = 4000
    arcs = [
        arc for path in sample(lattice, draws, np.random.default_rng(5), 15.0) for arc in path.arcs
    ]
    shares = posteriors(lattice, scale=15.0).arcs
    spread = np.sqrt(shares * (1 - shares) / draws)
    seen = np.bincount(arcs, minlength=lattice.num_arcs) / draws
    assert (abs(seen - shares) <= 5 * spread + 1e-3).all()


def test_pruned_lattices_keep_the_best_and_the_bound(real):
    for lattice in real:
        for wanted in (1.0, 2.0, 5.0, 20.0):
            pruned = prune(lattice, density=wanted)
            assert density(pruned) <= wanted
            assert best(pruned).text == best(lattice).text
        narrow = prune(lattice, beam=0.5)
        within = [
            path.tokens for path in k_best(lattice, 100) if path.score >= best(lattice).score - 0.5
        ]
        assert {path.tokens for path in k_best(narrow, 2000)}.issuperset(within)
        assert 0 < prune(lattice, posterior=0.05, scale=15.0).num_arcs < lattice.num_arcs


def test_counts_agree(real):
    for lattice in real:
        assert np.log(float(path_count(lattice))) == pytest.approx(log_path_count(lattice))
        assert trim(lattice).states_removed == 0
        shortest, longest = path_lengths(lattice)
        assert shortest <= len(best(lattice).tokens) <= longest


def test_characters_have_the_same_best_and_as_many_paths(real):
    for lattice in real:
        found, origin = to_characters(lattice)
        assert path_count(found) == path_count(lattice)
        path = best(found)
        assert "".join(path.tokens) == best(lattice).text
        arcs = origin[list(path.arcs)]
        assert lattice.hypothesis(arcs[arcs >= 0].tolist()).score == pytest.approx(path.score)


def test_a_union_of_two_prunings_offers_the_same_sentences(real):
    for lattice in real:
        both = union([prune(lattice, density=3.0), prune(lattice, beam=0.3)])
        found = [path.text for path in k_best(remove_epsilon(both), 20, distinct=True)]
        assert found == [path.text for path in k_best(both, 20, distinct=True)]
        assert found[0] == best(lattice).text
