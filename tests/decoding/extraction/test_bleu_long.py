"""Oracles under BLEU of lattices that are too long for labels: bounds and answers by relaxation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lattices
from decoding import oracle, oracle_kbest, sample_data, worst
from decoding.extraction import bleu_search
from decoding.extraction.results import Oracle
from fstmetrics import BLEU, CHRF, GRR, Evaluator, LinearBLEU
from lattices import Hypothesis, Lattice, concatenate
from lattices.algorithms import best
from lattices.errors import TooLargeError
from tests.laws.test_bleu_oracles import sentences_of
from tests.strategies import sentences, small_lattices

CLOSE = 1e-9
METRICS: list[Any] = [
    BLEU(smooth="add-k"),
    BLEU(order=2),
    BLEU(order=3, smooth="exp", effective_order=True),
    BLEU(order=2, mean="arithmetic"),
    CHRF(char_order=3),
]


def without_labels(search: Any, space: Lattice, *arguments: Any, **options: Any) -> Any:
    """Return what a search finds that may keep no labels."""
    with mock.patch.object(bleu_search, "QUICK", 1):
        return search(space, *arguments, budget=1, **options)


def value(metric: Any, found: Oracle | Hypothesis, evaluator: Evaluator, weight: float) -> float:
    """Return the metric of a sentence and its model score times a weight."""
    hypothesis = found.hypothesis if isinstance(found, Oracle) else found
    return float(evaluator.score(hypothesis.tokens)) + weight * hypothesis.score


chains = st.lists(small_lattices(max_states=4, max_arcs=6, words="abc"), min_size=1, max_size=3)


@given(
    chains,
    st.lists(sentences("abc", max_size=9), min_size=1, max_size=2),
    st.sampled_from(METRICS),
    st.sampled_from([0.0, 0.3]),
)
def test_no_sentence_surpasses_the_bound(
    parts: list[Lattice], references: list[str], metric: Any, weight: float
) -> None:
    lattice = concatenate(parts)
    evaluator = metric.against(references[:1] if isinstance(metric, CHRF) else references)
    found = without_labels(oracle, lattice, evaluator, model_weight=weight)
    every = [value(metric, each, evaluator, weight) for each in sentences_of(lattice)]
    assert value(metric, found, evaluator, weight) <= max(every) + CLOSE
    if found.exact:
        assert value(metric, found, evaluator, weight) == pytest.approx(max(every), abs=CLOSE)
    else:
        assert found.bound >= max(every) - CLOSE
    # the searches that start it
    starts = [best(lattice)]
    if not isinstance(metric, CHRF):
        starts.append(oracle(lattice, GRR().against(references)).hypothesis)
    for start in starts:
        least = value(metric, start, evaluator, weight)
        assert value(metric, found, evaluator, weight) >= least - CLOSE or least == 0


@given(chains, sentences("abc", max_size=9), st.integers(1, 4))
def test_the_k_best_and_the_worst_are_of_the_space(
    parts: list[Lattice], reference: str, k: int
) -> None:
    lattice = concatenate(parts)
    evaluator = BLEU(smooth="add-k").against([reference])
    every = {each.tokens: evaluator.score(each.tokens) for each in sentences_of(lattice)}
    found = without_labels(oracle_kbest, lattice, evaluator, k)
    assert len({each.tokens for each in found}) == len(found) == min(k, len(every))
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert all(every[each.tokens] == pytest.approx(each.score) for each in found)
    # what the model likes best is looked at, too: here that is every sentence
    highest = sorted(every.values(), reverse=True)
    assert scores == pytest.approx(highest[: len(found)])
    (low,) = without_labels(worst, lattice, evaluator)
    assert low.score == pytest.approx(min(every.values()))


def test_a_chain_of_segments_has_a_small_gap() -> None:
    files = sorted(sample_data().glob("*.slf.gz"))
    texts = (sample_data() / "refs.txt").read_text().splitlines()
    lattice = concatenate([each for file in files for each in lattices.read(file)])
    evaluator = BLEU().against([" ".join(line.split(maxsplit=1)[1] for line in texts)])
    found = oracle(lattice, evaluator)
    for metric in (GRR(), LinearBLEU()):
        other = oracle(lattice, metric.against(evaluator.references))
        assert found.score >= evaluator.score(other.tokens)
    assert found.exact or found.bound - found.score < 0.02


def test_long_lattices(shared_data: Path) -> None:
    folder = shared_data / "multi30k-deen"
    texts = (folder / "val.en").read_text().splitlines()
    segments = [
        segment.replaced(references=(text,))
        for segment, text in zip(
            lattices.read(folder / "val.de-en.lat.d10.jsonl.gz"), texts, strict=False
        )
    ]
    lattice = concatenate(segments[:100])
    assert isinstance(lattice, Lattice)
    evaluator = BLEU().against(list(lattice.references))
    found = oracle(lattice, evaluator)
    assert found.bound is not None
    assert found.bound - found.score < 0.02
    for metric in (GRR(), LinearBLEU()):
        other = oracle(lattice, metric.against(list(lattice.references)))
        assert found.score > evaluator.score(other.tokens)
    several = oracle_kbest(lattice, evaluator, 5)
    assert found.score - several[-1].score < 0.01
    assert worst(lattice, evaluator)[0].score < 0.8 * evaluator.score(best(lattice).tokens)


def test_a_sum_says_what_it_would_take() -> None:
    lattice = concatenate([Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])] * 200)
    evaluator = (0.5 * BLEU() + 0.5 * GRR()).against(["a b " * 100])
    refused = r"(\d+) lattice states x (\d+) states of a machine that is added take .* allowed"
    with pytest.raises(TooLargeError, match=refused) as told:
        oracle(lattice, evaluator, memory=100_000)
    sizes = re.search(refused, str(told.value))
    assert sizes is not None
    # eight bytes each
    least = int(sizes[1]) * int(sizes[2]) * 8
    with pytest.raises(TooLargeError, match=refused):
        oracle(lattice, evaluator, memory=least - 1)
    assert not oracle(lattice, evaluator, memory=least).exact


def test_without_memory_for_prices_the_model_decides() -> None:
    lattice = concatenate([Lattice.from_arcs([(0, 1, "a"), (0, 1, "b", 1.0)], finals=[1])] * 60)
    evaluator = BLEU(order=2).against(["a b c " * 20])
    found = without_labels(oracle, lattice, evaluator, memory=1000)
    assert not found.exact
    assert found.score >= evaluator.score(best(lattice).tokens)
    more = without_labels(oracle, lattice, evaluator, memory=1_000_000)
    assert more.score > found.score
    assert more.bound < found.bound == 1.0


@pytest.mark.parametrize("length", [32_767, 32_768])
def test_sentences_may_be_longer_than_labels_count(length: int) -> None:
    words = [f"w{place % 97}" for place in range(length)]
    arcs = [(place, place + 1, word) for place, word in enumerate(words)]
    lattice = Lattice.from_arcs([*arcs, (5, 6, "x")], finals=[length])
    found = oracle(lattice, BLEU(order=2).against([" ".join(words)]))
    assert found.score == 1.0
    assert found.exact or found.bound == pytest.approx(1.0)
