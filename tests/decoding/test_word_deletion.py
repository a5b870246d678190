"""Word deletion: the licence is used where it pays, and for the metric that rewards it."""

from __future__ import annotations

import pytest

from decoding.training.mert import MERT
from decoding.word_deletion import word_deletion
from fstmetrics import BLEU, BLEUSBP, WRR, corpus_score
from lattices import Lattice
from lattices.algorithms import allow_deletion, best
from lattices.errors import OptionError

OPTIONS = {"restarts": 1, "random_directions": 4}


def line(*words: tuple[str, float], id: str = "") -> Lattice:
    """Return a lattice of one path."""
    arcs = [(at, at + 1, word, 0.0, {"lm": lm}) for at, (word, lm) in enumerate(words)]
    return Lattice.from_arcs(arcs, finals=[len(words)], id=id)


NOISY = [
    line(("the", -1.0), ("uh", -7.0), ("cat", -2.0), ("sat", -1.5)),
    line(("on", -1.0), ("a", -2.0), ("er", -8.0), ("mat", -2.5)),
]
REFS = [["the cat sat"], ["on a mat"]]


def test_noise_is_left_out() -> None:
    corpora = {"dev": (NOISY, REFS), "test": (NOISY[:1] * 2, REFS[:1] * 2)}
    found = word_deletion(
        corpora, [WRR()], judges=[BLEU(order=2)], start={"lm": 1.0}, options=OPTIONS,
        resampling={"samples": 20},
    )  # fmt: skip
    assert [(one.kind, one.corpus) for one in found[::2]] == [
        (kind, corpus) for kind in ("none", "word", "sentence") for corpus in ("dev", "test")
    ]
    scores = {(one.kind, one.corpus, one.metric.name): one for one in found}
    word = scores["word", "dev", "wrr"]
    assert word.score == 1.0
    assert word.deleted == 2 / 8
    assert word.comparison is not None
    assert word.comparison.effect == pytest.approx(1.0 - scores["none", "dev", "wrr"].score)
    assert scores["word", "test", "bleu"].score == 1.0
    assert scores["none", "dev", "wrr"].comparison is None
    assert scores["sentence", "dev", "wrr"].deleted == 0.0


def test_a_row_is_what_training_by_hand_says() -> None:
    start = {"lm": 1.0}
    found = word_deletion(
        {"dev": (NOISY, REFS)}, [BLEU(order=2)], kinds=["word"], start=start, options=OPTIONS,
        resampling={"samples": 20},
    )  # fmt: skip
    lattices = [allow_deletion(one) for one in NOISY]
    learner = MERT(start={**start, "deletion": -8.0 * 1.01 - 1e-3}, **OPTIONS)
    learner.fit(lattices, REFS, BLEU(order=2))
    assert found[1].weights == learner.weights
    said = [best(one.reweighted(learner.weights)) for one in lattices]
    words = [one.tokens for one in said]
    assert found[1].score == corpus_score(BLEU(order=2), words, REFS)


def test_bleu_rewards_silence_and_its_strict_penalty_does_not() -> None:
    """One output is too long, so that another one may be left out."""
    good = line(*((word, -1.0) for word in "abcdefghabcd"))
    bad = line(("x", -5.0), ("y", -5.0), ("z", -5.0))
    corpora = {"dev": ([good, bad], [["a b c d e f g h"], ["k l m"]])}
    found = word_deletion(
        corpora, [BLEU(order=2), BLEUSBP(order=2)], kinds=["sentence"], start={"lm": 1.0},
        options=OPTIONS, resampling={"samples": 20},
    )  # fmt: skip
    deleted = {one.trained.name: one.deleted for one in found if one.kind == "sentence"}
    assert deleted["bleu"] == 3 / 15
    assert deleted["bleu-sbp"] <= deleted["bleu"]


def test_wrong_options() -> None:
    with pytest.raises(OptionError, match="deletion of 'words', expected one of none, word"):
        word_deletion({"dev": (NOISY, REFS)}, [WRR()], kinds=["words"], start={})
    with pytest.raises(OptionError, match="needs a metric"):
        word_deletion({"dev": (NOISY, REFS)}, [], start={})
