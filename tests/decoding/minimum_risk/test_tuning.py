"""Tuning lattice MBR: every point is what decoding with its parameters scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import Linear, mbr
from decoding.minimum_risk.tuning import LinearGrid, tune_linear
from fstmetrics import BLEU, GRR, WER, Metric, corpus_score
from fstmetrics.contract import quality
from lattices import Forest, Lattice, NBest, OptionError, Space, read
from lattices.algorithms import best_words
from tests.strategies import sentences, small_forests, small_lattices

METRICS = (WER(), GRR(), BLEU(order=2, smooth="add-k"))


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.one_of(small_lattices(words="ab"), small_forests(words="ab")), sentences("ab")
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(METRICS),
    st.sampled_from([None, 0.05]),
)
def test_every_point_is_what_decoding_scores(
    segments: list[tuple[Space, list[str]]], metric: Metric, word_penalty: float | None
) -> None:
    spaces = [space for space, _ in segments]
    references = [[reference] for _, reference in segments]
    options = {"scales": [0.5, 2.0], "ps": [0.5, 0.9], "rs": [0.7], "Ts": [1.0, 10.0]}
    table = tune_linear(
        spaces, references, metric, LinearGrid(order=2, word_penalty=word_penalty, **options)
    )
    assert len(table.points) == 8
    for point in table.points:
        method = Linear(p=point.p, r=point.r, T=point.T, order=2, word_penalty=word_penalty)
        chosen = [mbr(space, scale=point.scale, method=method).tokens for space in spaces]
        assert point.score == pytest.approx(corpus_score(metric, chosen, references))
    scores = [quality(metric, point.score) for point in table.points]
    assert scores == sorted(scores, reverse=True)
    assert table.best == table.points[0]
    own = [best_words(space) for space in spaces]
    assert table.one_best == pytest.approx(corpus_score(metric, own, references))
    assert (table.metric, table.segments) == (str(metric), len(spaces))


def test_equal_scores_stand_in_the_order_of_the_grid() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    table = tune_linear([lattice], [["a"]], WER(), LinearGrid([2, 1], [0.9, 0.5], [0.7]))
    assert [(point.scale, point.p) for point in table.points] == [
        (2.0, 0.9), (2.0, 0.5), (1.0, 0.9), (1.0, 0.5),
    ]  # fmt: skip


@settings(max_examples=15)
@given(small_lattices(words="abc"), small_forests(words="bca"))
def test_several_systems(one: Lattice, other: Forest) -> None:
    grid = LinearGrid((1.0,), (0.6, 0.9), (0.7,), system_weights=(0.3, 0.7))
    found = [
        mbr([one, other], system_weights=(0.3, 0.7), method=Linear(p=p, r=0.7)).tokens
        for p in (0.6, 0.9)
    ]
    assert grid.choices([one, other]) == found


def test_what_is_refused() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1])
    wrong: Sequence[dict[str, Sequence[float]]] = (
        {"scales": []}, {"ps": [0.0]}, {"rs": [-1.0]}, {"Ts": [0.0]}, {"scales": [float("nan")]},
        {"ps": [0.5, 0.5]},
    )  # fmt: skip
    for options in wrong:
        with pytest.raises(OptionError):
            tune_linear([lattice], [["a"]], WER(), LinearGrid(**options))
    with pytest.raises(OptionError, match="more spaces"):
        tune_linear([lattice] * 2, [["a"]], WER())
    with pytest.raises(OptionError, match="references for 2 segments"):
        tune_linear([lattice], [["a"], ["b"]], WER())
    with pytest.raises(OptionError, match="no segment"):
        tune_linear([], [], WER())


def test_real_lattices_gain_from_tuning(shared_data: Path) -> None:
    file = shared_data / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz"
    spaces = [space for _, space in zip(range(40), read(file), strict=False)]
    assert not any(isinstance(space, NBest) for space in spaces)
    references = [space.references for space in spaces]
    table = tune_linear(
        spaces, references, BLEU(), LinearGrid([1, 10, 30], [0.6, 0.8], [0.6, 0.75])
    )
    assert table.best.score >= table.one_best
