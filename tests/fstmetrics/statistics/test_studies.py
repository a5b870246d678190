"""BLEU in characters against BLEU in words, and systems under many values of an option."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from fstmetrics import (
    BLEU,
    BLEUSBP,
    GRR,
    TBLEU,
    WER,
    WRR,
    AffixSimilarity,
    corpus_score,
    corpus_stats,
)
from fstmetrics.statistics import correlate_systems
from fstmetrics.statistics.studies.characters import (
    Equivalents,
    char_bleu_equivalents,
    char_bleu_metrics,
    char_bleu_study,
)
from fstmetrics.statistics.studies.sweeps import replace_option, sweep_systems
from lattices.errors import OptionError

WORDS = ["a", "an", "the", "cat", "hat", "mat", "sat", "on", "in", "it", "was", "house", "garden"]


def corpus(count: int, seed: int = 1) -> tuple[list[str], list[list[str]]]:
    """Return random references and hypotheses that change some of their words."""
    rng = random.Random(seed)
    hypotheses, references = [], []
    for _ in range(count):
        words = [rng.choice(WORDS) for _ in range(rng.randint(3, 9))]
        references.append([" ".join(words)])
        changed = [rng.choice(WORDS) if rng.random() < 0.25 else word for word in words]
        hypotheses.append(" ".join(changed[: rng.randint(2, 9)]))
    return hypotheses, references


# BLEU in characters


@pytest.mark.parametrize("spaces", [True, False])
def test_the_study_is_what_scoring_each_order_says(spaces: bool) -> None:
    hypotheses, references = corpus(60)
    found = char_bleu_study(hypotheses, references, max_n=3, max_m=7, spaces=spaces)

    def scores(**options: object) -> list[float]:
        metric = BLEU(**options)  # type: ignore[arg-type]
        return [
            metric.against(refs).score(hyp)
            for hyp, refs in zip(hypotheses, references, strict=True)
        ]

    assert [one.order for one in found] == [1, 2, 3]
    for one in found:
        words = scores(order=one.order)
        for m in range(1, 8):
            characters = scores(order=m, unit="char", spaces=spaces)
            assert one.pearson[m - 1] == pytest.approx(np.corrcoef(words, characters)[0, 1])
            assert one.kappa[m - 1] == pytest.approx(naive_kappa(words, characters))
            if one.order > 1:
                fewer = scores(order=one.order - 1)
                below = sum(c <= w for c, w in zip(characters, fewer, strict=True))
                assert one.below[m - 1] == below / len(hypotheses)
        assert one.best_pearson == 1 + int(np.argmax(one.pearson))
        assert one.best_kappa == 1 + int(np.argmax(one.kappa))
    assert found[0].below == ()
    assert found[0].first_below is None


def naive_kappa(one: list[float], other: list[float]) -> float:
    grades = [[min(int(score * 10), 9) for score in column] for column in (one, other)]
    points = len(one)
    agreed = sum(a == b for a, b in zip(*grades, strict=True)) / points
    chance = sum(grades[0].count(g) * grades[1].count(g) for g in range(10)) / points**2
    return (agreed - chance) / (1 - chance)


def test_words_of_one_letter_without_blanks_are_characters() -> None:
    rng = random.Random(3)
    references = [[" ".join(rng.choices("abc", k=8))] for _ in range(50)]
    hypotheses = [" ".join(rng.choices("abc", k=8)) for _ in range(50)]
    for one in char_bleu_study(hypotheses, references, max_m=6, spaces=False):
        assert one.best_pearson == one.best_kappa == one.order
        assert one.pearson[one.order - 1] == pytest.approx(1)
        assert one.kappa[one.order - 1] == pytest.approx(1)
        if one.order > 1:
            # what nearly always holds in words
            assert one.below[one.order - 1] == 1
            assert one.first_below is not None
            assert one.first_below <= one.order


def test_a_higher_order_may_score_higher() -> None:
    # both bigrams match, but not all words: 0.667 for one word, 0.816 for two
    _, two = char_bleu_study(["a b a"] * 3, [["b a b"]] * 3, max_n=2, max_m=2, spaces=False)
    assert two.below == (1.0, 0.0)


def test_the_first_order_that_is_below_often_enough() -> None:
    found = Equivalents(2, (math.nan, 0.5, 0.7, 0.7), (0.1, 0.3, 0.2, 0.0), (0.2, 0.9, 0.8, 1), 0.9)
    assert (found.best_pearson, found.best_kappa, found.first_below) == (3, 2, 2)
    nothing = Equivalents(2, (math.nan,) * 2, (math.nan,) * 2, (0.2, 0.3), 0.9)
    assert (nothing.best_pearson, nothing.best_kappa, nothing.first_below) == (None, None, None)


def test_perfect_outputs_have_no_correlation_but_are_below() -> None:
    references = [["a cat sat down"], ["on the mat now"], ["and it was so"]]
    found = char_bleu_study([refs[0] for refs in references], references, max_n=2, max_m=3)
    assert math.isnan(found[1].pearson[0])
    assert math.isnan(found[1].kappa[0])
    assert found[1].below == (1.0, 1.0, 1.0)
    assert found[1].first_below == 1


def test_options_of_the_base_are_kept() -> None:
    words, characters = char_bleu_metrics(BLEUSBP(lowercase=True), max_n=3, max_m=9, spaces=False)
    assert str(words).startswith("bleu-sbp:order=3,")
    assert words.lowercase
    assert (characters.order, characters.unit, characters.spaces) == (9, "char", False)
    hypotheses, references = corpus(30)
    shouted = [line.upper() for line in hypotheses]
    deaf = BLEU(lowercase=True)
    assert char_bleu_study(shouted, references, base=deaf) == char_bleu_study(
        hypotheses, references
    )


def test_wrong_bases_shares_and_counts() -> None:
    hypotheses, references = corpus(5)
    with pytest.raises(OptionError, match="by itself"):
        char_bleu_study(hypotheses, references, base=BLEU(unit="char"))
    with pytest.raises(OptionError, match="weigh the same"):
        char_bleu_study(hypotheses, references, base=BLEU(weights="0.4/0.3/0.2/0.1"))
    with pytest.raises(OptionError, match="share=0"):
        char_bleu_study(hypotheses, references, share=0)
    with pytest.raises(OptionError, match="5 hypotheses"):
        char_bleu_study(hypotheses, references[:4])
    with pytest.raises(OptionError, match="2 points"):
        char_bleu_study(hypotheses[:2], references[:2])
    with pytest.raises(OptionError, match="compares words"):
        char_bleu_study(hypotheses, references, base=TBLEU())


def test_equivalents_of_real_outputs(shared_data: Path) -> None:
    """One system of WMT15 is enough for the paper's neighbourhood."""
    folder = shared_data / "wmt15" / "fr-en"
    (output,) = folder.glob("*online-A*")
    (reference,) = folder.glob("*-ref.*")
    hypotheses, lines = (
        path.read_text(encoding="utf-8-sig").split("\n")[:-1] for path in (output, reference)
    )
    found = char_bleu_study(
        hypotheses, [[line] for line in lines], base=BLEU(tokenize="13a"), max_m=24
    )
    # the paper: 5, 8, 10, 17 by Pearson, and 9, 14, 18 by the 90 % rule
    for one, paper in zip(found, (5, 8, 10, 17), strict=True):
        assert one.best_pearson is not None
        assert abs(one.best_pearson - paper) <= 3
    for one, paper in zip(found[1:], (9, 14, 18), strict=True):
        assert one.first_below is not None
        assert abs(one.first_below - paper) <= 3


def test_published_scores_of_two_systems(shared_data: Path) -> None:
    """Wang and Merlo 2016, Table 4, which has the two BLEU scores swapped."""
    folder = shared_data / "wmt15" / "en-de"
    (reference,) = folder.glob("*-ref.*")
    references = [[line] for line in reference.read_text(encoding="utf-8-sig").split("\n")[:-1]]
    metric = BLEU(tokenize="intl", lowercase=True)
    for system, published in (("PROMT-Rule-based", 0.1859), ("online-A", 0.2253)):
        (output,) = folder.glob(f"*2015.{system}.*")
        lines = output.read_text(encoding="utf-8-sig").split("\n")[:-1]
        assert corpus_score(metric, lines, references) == pytest.approx(published, abs=5e-5)


# options


def test_options_change_and_the_rest_stays() -> None:
    metric = replace_option(TBLEU(lowercase=True, order=2), "epsilon", 0.3)
    assert metric == TBLEU(lowercase=True, order=2, epsilon=0.3)
    assert replace_option(GRR(), "n", 2.0) == GRR(n=2)
    soft = WRR(similarity=AffixSimilarity(epsilon=0.1))
    changed = replace_option(soft, "similarity.epsilon", 0.4)
    assert changed == WRR(similarity=AffixSimilarity(epsilon=0.4))


def test_what_is_no_numeric_option() -> None:
    with pytest.raises(OptionError, match=r"tbleu has no numeric option 'gamma' \(it has order, "):
        replace_option(TBLEU(), "gamma", 0.1)
    with pytest.raises(OptionError, match="no numeric option 'lowercase'"):
        replace_option(BLEU(), "lowercase", 1)
    with pytest.raises(OptionError, match=r"wer has no numeric option 'n' \(it has none\)"):
        replace_option(WER(), "n", 1)
    soft = WER(similarity=AffixSimilarity())
    with pytest.raises(OptionError, match=r"it has similarity\.epsilon"):
        replace_option(soft, "epsilon", 0.1)
    with pytest.raises(OptionError, match="wer's similarity has no numeric option 'delta'"):
        replace_option(soft, "similarity.delta", 0.1)
    with pytest.raises(OptionError, match=r"order of bleu is a whole number, not 2\.5"):
        replace_option(BLEU(), "order", 2.5)
    with pytest.raises(OptionError, match=r"epsilon is in \[0, 1\]"):
        replace_option(TBLEU(), "epsilon", 2)


def test_a_sweep_is_what_scoring_each_value_says() -> None:
    outputs = {name: corpus(20, seed)[0] for name, seed in (("a", 1), ("b", 2), ("c", 3))}
    references = corpus(20, 1)[1]
    human = [0.5, 0.1, 0.2]
    values = [0.0, 0.3, 0.6]
    points = sweep_systems(
        TBLEU(order=2), "epsilon", values, outputs, references, human=human, samples=50, seed=3
    )
    assert [point.value for point in points] == values
    for point in points:
        metric = TBLEU(order=2, epsilon=point.value)
        assert point.metric == metric
        expected = [corpus_score(metric, lines, references) for lines in outputs.values()]
        assert point.scores == pytest.approx(expected)
        stats = [corpus_stats(metric, lines, references) for lines in outputs.values()]
        assert point.correlation == correlate_systems(human, metric, stats, samples=50, seed=3)
    assert points[0].scores[0] == pytest.approx(
        corpus_score(BLEU(order=2), outputs["a"], references)
    )


def test_sweeps_without_people_and_without_systems() -> None:
    hypotheses, references = corpus(6)
    (point,) = sweep_systems(GRR(), "alpha", [0.5], {"a": hypotheses}, references)
    assert point.correlation is None
    assert point.scores == (corpus_score(GRR(alpha=0.5), hypotheses, references),)
    with pytest.raises(OptionError, match="at least one system"):
        sweep_systems(GRR(), "alpha", [0.5], {}, references)
    with pytest.raises(OptionError, match="at least one value"):
        sweep_systems(GRR(), "alpha", [], {"a": hypotheses}, references)


def test_equivalents_need_statistics_of_both() -> None:
    metrics = char_bleu_metrics(BLEU(), max_m=5)
    hypotheses, references = corpus(10)
    rows = [corpus_stats(metric, hypotheses, references) for metric in metrics]
    assert char_bleu_equivalents(metrics, rows) == char_bleu_study(hypotheses, references, max_m=5)
