"""What the contract of a metric means for a corpus."""

from __future__ import annotations

import numpy as np
import pytest

from fstmetrics import (
    WER,
    WRR,
    corpus_score,
    corpus_stats,
)
from lattices import OptionError


def test_corpus_scores_are_sums_over_sums():
    hypotheses = ["a b", "c"]
    references = [["a b c d"], ["c"]]
    assert corpus_score(WRR(), hypotheses, references) == 3 / 5
    assert corpus_stats(WRR(), hypotheses, references).tolist() == [
        [2, 0, 0, 2, 4],
        [1, 0, 0, 0, 1],
    ]
    assert (
        np.mean([WRR().against(r).score(h) for h, r in zip(hypotheses, references, strict=True)])
        == 0.75
    )


def test_a_mismatch_in_length_is_an_error():
    with pytest.raises(OptionError, match="2 hypotheses, but references for 1 segments"):
        corpus_score(WER(), ["a", "b"], [["a"]])
