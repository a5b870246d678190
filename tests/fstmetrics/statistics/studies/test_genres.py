"""Genre mixing: counted by comparing all pairs of choices, and metrics that cannot invert."""

from __future__ import annotations

import random
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics import BLEU, BLEUSBP, GRR, WER, WRR, corpus_score, corpus_stats
from fstmetrics.contract import quality
from fstmetrics.statistics.studies.genres import genre_mixing
from lattices.errors import OptionError

REFERENCES = {
    "news": [["a b c d e f"], ["b a d c"]],
    "web": [["k l m n o p q"], ["a k b l"]],
    "talk": [["x y"], ["z x y b"]],
}


def outputs(rng: random.Random, genres: int, systems: int):
    """Return the outputs of systems that repeat, leave out and change words."""

    def say(line: str) -> str:
        words = []
        for word in line.split():
            words += [rng.choice(["z", word])] * rng.choice([0, 1, 1, 1, 2])
        return " ".join(words)

    return {
        genre: {f"s{n}": [say(line) for (line,) in REFERENCES[genre]] for n in range(systems)}
        for genre in list(REFERENCES)[:genres]
    }


def totals_of(metric, said):
    return {
        genre: {
            name: corpus_stats(metric, lines, REFERENCES[genre]).sum(axis=0)
            for name, lines in of.items()
        }
        for genre, of in said.items()
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("metric", [BLEU(order=2), WER(), GRR(n=2), BLEUSBP(order=2)])
def test_all_pairs_of_choices(seed: int, metric) -> None:
    said = outputs(random.Random(seed), 2 + seed % 2, 3)
    found = genre_mixing(metric, totals_of(metric, said))

    def score(genres, choice):
        lines = [line for g, name in zip(genres, choice, strict=True) for line in said[g][name]]
        references = [each for g in genres for each in REFERENCES[g]]
        return quality(metric, corpus_score(metric, lines, references))

    choices = [*product(*(of for of in said.values()))]
    alone = {c: [score([g], [n]) for g, n in zip(said, c, strict=True)] for c in choices}
    together = {c: score([*said], c) for c in choices}
    better = [
        (one, other)
        for one, other in permutations(choices, 2)
        if all(a > b + 1e-12 for a, b in zip(alone[one], alone[other], strict=True))
    ]
    losses = {pair: together[pair[1]] - together[pair[0]] for pair in better}
    inverted = [pair for pair, loss in losses.items() if loss > 1e-12]
    assert (found.better, found.inverted) == (len(better), len(inverted))
    if inverted:
        assert found.first is not None
        assert found.second is not None
        chosen = losses[found.first.systems, found.second.systems]
        assert chosen == pytest.approx(max(losses.values()))
        assert quality(metric, found.first.together) == pytest.approx(together[found.first.systems])
        assert [quality(metric, s) for s in found.second.scores] == pytest.approx(
            alone[found.second.systems]
        )
    else:
        assert found.first is None


@given(st.integers(0, 10**6), st.sampled_from([WER(), WRR(), GRR(n=2), GRR(alpha=0.5, beta=1)]))
def test_averages_of_sentences_are_never_inverted(seed: int, metric) -> None:
    said = outputs(random.Random(seed), 2, 3)
    assert genre_mixing(metric, totals_of(metric, said)).inverted == 0


def test_bleu_is_inverted() -> None:
    """The surplus of the news makes up for what the web lacks."""
    found = 0
    for seed in range(30):
        said = outputs(random.Random(seed), 2, 4)
        found += genre_mixing(BLEU(order=1), totals_of(BLEU(order=1), said)).inverted
    assert found > 0


def test_wrong_genres() -> None:
    row = corpus_stats(WER(), ["a"], [["a"]]).sum(axis=0)
    with pytest.raises(OptionError, match="1 genres, expected 2 or more"):
        genre_mixing(WER(), {"news": {"a": row}})
    many = {f"g{n}": {f"s{k}": row for k in range(100)} for n in range(9)}
    with pytest.raises(OptionError, match="give fewer systems"):
        genre_mixing(WER(), many)
