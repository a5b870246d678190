"""Forests among the tasks and the transforms of the corpus commands."""

from __future__ import annotations

import pytest

from decoding.corpus.encoding import Target
from decoding.corpus.runner import Segment
from decoding.corpus.transforms import KBest, Pruned, Sampled
from decoding.reranking import join_spaces
from decoding.tasks.info import InfoTask
from decoding.tasks.oracle import OracleTask
from decoding.tasks.segments import space_size
from fstmetrics import WER
from lattices.algorithms import best_words
from lattices.errors import FormatError, OptionError
from lattices.spaces import Forest, NBest
from lattices.testing import sample_forests, sample_lattices, sentences

FOREST = Forest.from_edges(
    [
        (0, [], ["cat"], -1.0, {"lm": -2.0}),
        (0, [], ["dog"], -3.0, {"lm": -5.0}),
        (1, [0], ["the", 0], 0.0),
        (1, [0, 0], [1, "and", 0], -0.5),
    ],
    id="s1",
    references=("dog and cat",),
)
SEGMENT = Segment(0, "f", 1, FOREST)


def test_size() -> None:
    (info,) = InfoTask().process([SEGMENT])
    assert [info[name] for name in ("kind", "states", "arcs", "paths")] == ["forest", 2, 4, 6]
    assert [info[name] for name in ("shortest", "longest", "density")] == [2, 3, 2.0]
    assert info["words"] == {"the", "and", "cat", "dog"}


def test_oracle_and_one_best() -> None:
    assert best_words(FOREST) == ("the", "cat")
    (found,) = OracleTask((WER(),)).process([SEGMENT])
    assert (found["text"], found["score"]) == ("dog and cat", 0.0)
    assert (found["one_best"], space_size(FOREST)) == (("the", "cat"), 4)


def test_lists() -> None:
    best = KBest(3)(SEGMENT)
    assert [(entry.text, entry.score) for entry in best] == [
        ("the cat", -1.0),
        ("cat and cat", -2.5),
        ("the dog", -3.0),
    ]
    assert best[1].features == {"lm": -4.0}
    assert (best.id, best.references) == ("s1", ("dog and cat",))
    assert len(KBest(9, distinct=True)(SEGMENT)) == 6
    drawn = Sampled(50)(SEGMENT)
    assert isinstance(drawn, NBest)
    assert {entry.tokens for entry in drawn} <= sentences(FOREST).keys()
    assert [entry.text for entry in Sampled(50)(SEGMENT)] == [entry.text for entry in drawn]


def test_pruned_and_joined() -> None:
    pruned = Pruned(beam=0.5)(SEGMENT)
    assert isinstance(pruned, Forest)
    assert sentences(pruned) == {("the", "cat"): [-1.0]}
    both = join_spaces([FOREST, FOREST])
    assert {tokens: len(scores) for tokens, scores in sentences(both).items()} == dict.fromkeys(
        sentences(FOREST), 2
    )
    with pytest.raises(OptionError, match="forests are joined with forests"):
        join_spaces([FOREST, sample_lattices()[0]])


def test_formats_that_hold_none() -> None:
    with pytest.raises(FormatError, match="plf holds no forests"):
        Target("plf").ready(sample_forests()[0])
    assert Target("jsonl").ready(sample_forests()[0]).data.startswith(b'{"id":"first","nodes":6')
