"""Sentences that are scored together against sentences that are scored one by one."""

from __future__ import annotations

import numpy as np
import pytest

from decoding.tasks.segments import make_evaluators, score_rows
from fstmetrics import BLEU, CHRF, GRR, METEOR, WER, WRR, Normalised, Utility
from lattices import Lattice
from lattices.spaces import Space

SAID = [("the", "cat"), ("a", "cat", "sat"), (), ("The", "cat"), ("it", "sat", "the", "cat")]
TEXTS = [("the cat sat", "a cat"), ("cat sat",), ("it",), ("the cat",), ("the cat sat", "it sat")]


def with_source(triples):
    return [float(len(source) + len(said)) for said, _, source in triples]


ALIGNING = [WER(), GRR(n=3, alpha=0.5), WRR()]
OTHERS = [BLEU(), CHRF(), METEOR(), Normalised(WER(), "lower"), Utility(with_source, source=True)]


@pytest.mark.parametrize(
    ("metric", "lattice"),
    [*((each, False) for each in [*ALIGNING, *OTHERS]), *((each, True) for each in ALIGNING)],
    ids=str,
)
def test_a_batch_is_scored_as_its_sentences(metric, lattice):
    spaces: list[Space] = [
        Lattice.from_arcs([(0, 1, "a")], finals=[1], id=f"s{place}", source="ein" * (place + 1))
        for place in range(len(SAID))
    ]
    references = [*TEXTS]
    if lattice:
        arcs = [(0, 1, "the"), (0, 1, "a"), (1, 2, "cat"), (1, 2, "")]
        references[1] = (Lattice.from_arcs(arcs, finals=[2]), "cat sat")
    evaluators = make_evaluators(metric, spaces, references)
    rows = np.array(score_rows(evaluators, SAID))
    alone = [evaluator.stats(said) for evaluator, said in zip(evaluators, SAID, strict=True)]
    assert rows.tolist() == np.array(alone).tolist()
