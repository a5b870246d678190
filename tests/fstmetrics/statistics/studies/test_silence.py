"""Sentence deletion: what is left empty, and what an attack gains, by enumeration."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from fstmetrics import BLEU, BLEUSBP, WER, corpus_score, corpus_stats
from fstmetrics.contract import quality
from fstmetrics.statistics import paired_bootstrap
from fstmetrics.statistics.studies.silence import Outputs, attack, least_agreed
from lattices.errors import OptionError

WORDS = ["a", "b", "c", "d", "e", "f"]


def corpus(seed: int, segments: int = 6):
    rng = random.Random(seed)
    references = [[" ".join(rng.choices(WORDS, k=rng.randint(2, 6)))] for _ in range(segments)]

    def system():
        lines = []
        for (line,) in references:
            words = [w if rng.random() < 0.7 else rng.choice(WORDS) for w in line.split()]
            lines.append(words + rng.choices(WORDS, k=rng.randint(0, 2)))
        return lines

    return {"s": system(), "t": system(), "u": system()}, references


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("metric", [BLEU(order=2), WER(), BLEUSBP(order=2)])
def test_an_attack_is_greedy(seed: int, metric) -> None:
    said, references = corpus(seed)
    stats = corpus_stats(metric, said["s"], references)
    silent = corpus_stats(metric, [()] * len(references), references)
    order, gains = attack(metric, stats, silent)

    def score(empty):
        lines = [() if at in empty else words for at, words in enumerate(said["s"])]
        return quality(metric, corpus_score(metric, lines, references))

    base = score(())
    for step, gain in enumerate(gains):
        assert score(order[: step + 1]) - base == pytest.approx(gain)
        others = [score([*order[:step], at]) for at in range(6) if at not in order[:step]]
        assert score(order[: step + 1]) == pytest.approx(max(others))
        assert gain >= -1e-12
    rest = [at for at in range(6) if at not in order]
    assert all(score([*order, at]) < base + 1e-12 for at in rest)
    # the best of all subsets is no worse than what greed finds
    every = (score(some) for size in range(7) for some in combinations(range(6), size))
    assert max(every) >= base + max(gains, default=0.0) - 1e-12


def test_least_agreed_goes_by_likeness() -> None:
    said, _ = corpus(1)
    others = [said["t"], said["u"]]
    metric = BLEU(smooth="exp", effective_order=True)
    likeness = [
        metric.against([" ".join(one), " ".join(other)]).score(words)
        for words, one, other in zip(said["s"], *others, strict=True)
    ]
    words = [len(each) for each in said["s"]]
    chosen = least_agreed(said["s"], others, 0.5)
    ranked = sorted(range(6), key=lambda at: likeness[at])
    left, expected = 0.5 * sum(words), []
    for at in ranked:
        left -= words[at]
        if left < 0:
            break
        expected.append(at)
    assert sorted(expected) == np.flatnonzero(chosen).tolist()
    assert 0 < len(expected) < 6


def test_silence_is_what_comparing_says() -> None:
    said, references = corpus(2, 12)
    metrics = (BLEU(order=2), WER())
    outputs = Outputs.of(metrics, said, references)
    found = outputs.silence([0.2, 0.4], samples=30, seed=2)
    assert len(found) == 3 * 2 * 2
    for one in found:
        others = [lines for name, lines in said.items() if name != one.system]
        nearest = min((0.2, 0.4), key=lambda share: abs(share - one.share))
        chosen = least_agreed(said[one.system], others, nearest)
        lines = [() if gone else w for gone, w in zip(chosen, said[one.system], strict=True)]
        assert one.segments == chosen.sum()
        deleted = sum(map(len, said[one.system])) - sum(map(len, lines))
        assert one.share == deleted / sum(map(len, said[one.system]))
        assert one.score == pytest.approx(corpus_score(one.metric, lines, references))
        left = corpus_stats(one.metric, lines, references)
        whole = corpus_stats(one.metric, said[one.system], references)
        assert one.comparison == paired_bootstrap(one.metric, left, whole, samples=30, seed=2)
        assert one.attacked is None


def test_attacks_are_where_each_metric_gains_most() -> None:
    said, references = corpus(3)
    metrics = (BLEU(order=1), WER())
    outputs = Outputs.of(metrics, said, references)
    found = outputs.attacks(samples=20)
    assert len(found) == 3 * 2 * 2
    for one in found:
        assert one.attacked is not None
        order, gains = attack(
            one.attacked,
            corpus_stats(one.attacked, said[one.system], references),
            corpus_stats(one.attacked, [()] * 6, references),
        )
        assert one.segments == (1 + int(np.argmax(gains)) if gains else 0)
        words = [len(each) for each in said[one.system]]
        assert one.free == pytest.approx(sum(words[at] for at in order) / sum(words))
        if one.metric == one.attacked:
            effect = quality(one.metric, one.comparison.effect)
            assert effect == pytest.approx(max(gains, default=0.0))


def test_what_means_nothing() -> None:
    with pytest.raises(OptionError, match="share=1, expected"):
        least_agreed([("a",)], [[("a",)]], 1.0)
    with pytest.raises(OptionError, match="two systems or more"):
        least_agreed([("a",)], [], 0.5)
