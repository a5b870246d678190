"""Whole fits of MIRA, the perceptron and PRO on lists, against plain Python that knows the papers.

The judge goes over the segments in the order of the same seed; all else is its own: the words'
errors, hope and fear, the units of features, the least step by cases, averages, pairs, and the
regression, which scipy solves by another method.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy.optimize import minimize

from decoding.training.mira import MIRA
from decoding.training.perceptron import Perceptron
from decoding.training.pro import PRO
from fstmetrics import WER
from lattices import Hypothesis, NBest

pytestmark = pytest.mark.filterwarnings("ignore::decoding.training.learner.TrainingWarning")


def errors(one, other):
    """The edit distance, row by row."""
    row = list(range(len(other) + 1))
    for number, word in enumerate(one, 1):
        corner, row[0] = row[0], number
        for place, each in enumerate(other, 1):
            corner, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, corner + (word != each)),
            )
    return row[-1]


def drawn(rng):
    """Lists of words with features, references and a start."""
    names = "abc"[: rng.randint(1, 3)]
    references = [rng.choices("xyz", k=rng.randint(1, 3)) for _ in range(rng.randint(1, 4))]
    lists = [
        [
            (rng.choices("xyz", k=rng.randint(1, 3)), [rng.gauss(0, 1) for _ in names])
            for _ in range(rng.randint(1, 5))
        ]
        for _ in references
    ]
    return names, lists, references, [rng.gauss(0, 1) for _ in names]


def fitted(learner, names, lists, references):
    """The weights of every round."""
    spaces = [
        NBest.from_hypotheses(
            [
                Hypothesis(tuple(words), 0.0, dict(zip(names, values, strict=True)))
                for words, values in some
            ]
        )
        for some in lists
    ]
    learner.fit(spaces, [[" ".join(each)] for each in references], WER())
    return [[each.weights[name] for name in names] for each in learner.history]


def qualities(lists, references):
    return [
        [-errors(words, right) / len(right) for words, _ in some]
        for some, right in zip(lists, references, strict=True)
    ]


def units(lists, width, scaled):
    """The root of the mean variance of each feature, over the lists where it has any; or 1."""
    found = []
    for place in range(width):
        columns = [[values[place] for _, values in some] for some in lists]
        varied = [np.var(each) for each in columns if np.ptp(each) > 0.0]
        found.append((math.sqrt(np.mean(varied)) if scaled else 1.0) if varied else 0.0)
    return found


def dot(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def least_step(gram, lacking, most):
    """The best of all that can be the best, for one or two constraints."""

    def value(a):
        return dot(lacking, a) - dot(a, [dot(row, a) for row in gram]) / 2.0

    if not lacking:
        return []
    if len(lacking) == 1:
        return [min(most, max(0.0, lacking[0] / gram[0][0]))]
    (p, q), (_, r) = gram
    one = min(most, max(0.0, lacking[0] / p))
    other = min(most, max(0.0, lacking[1] / r))
    some = [[0.0, 0.0], [one, 0.0], [0.0, other], [most, 0.0], [0.0, most]]
    inside = p * r - q * q
    if inside > 1e-14:
        both = [(lacking[0] * r - lacking[1] * q) / inside]
        both.append((lacking[1] * p - lacking[0] * q) / inside)
        if min(both) >= 0.0 and sum(both) <= most:
            some.append(both)
    bend = p + r - 2.0 * q
    if bend > 0.0:
        share = min(most, max(0.0, (lacking[0] - lacking[1] + most * (r - q)) / bend))
        some.append([share, most - share])
    return max(some, key=value)


def simulated(kind, options, lists, references, start, seed):
    """The weights of every round: the average so far, or the last."""
    objective = qualities(lists, references)
    inverse = [
        1.0 / each**2 if each else 0.0 for each in units(lists, len(start), options["scaled"])
    ]
    weights, order = list(start), np.random.default_rng(seed)
    seen: list[list[float]] = []
    rounds = []
    for epoch in range(options["epochs"]):
        if epoch == math.floor(options["settling"] * options["epochs"]):
            seen.clear()
        for number in order.permutation(len(lists)).tolist():
            some, good = lists[number], objective[number]
            model = [dot(weights, values) for _, values in some]

            def chosen(sign, model=model, good=good):
                aims = [a + sign * options["scale"] * b for a, b in zip(model, good, strict=True)]
                return aims.index(max(aims))

            hope, fear, best = chosen(1.0), chosen(-1.0), chosen(0.0)
            if kind is Perceptron:
                rivals = [fear if options["against"] == "fear" else best]
            else:
                rivals = list(dict.fromkeys([fear, best] if options["against_best"] else [fear]))
            ways = [
                [a - b for a, b in zip(some[hope][1], some[rival][1], strict=True)]
                for rival in rivals
                if rival != hope
            ]
            losses = [good[hope] - good[rival] for rival in rivals if rival != hope]
            if kind is Perceptron:
                steps = [options["rate"] * (loss > 0.0) for loss in losses]
            else:
                scaled = [[a * b for a, b in zip(way, inverse, strict=True)] for way in ways]
                gram = [[dot(one, other) for other in ways] for one in scaled]
                lacking = [loss - dot(weights, way) for loss, way in zip(losses, ways, strict=True)]
                steps = least_step(gram, lacking, options["C"])
            for step, way in zip(steps, ways, strict=True):
                for place, value in enumerate(way):
                    weights[place] += step * inverse[place] * value
            seen.append(list(weights))
        rounds.append(np.mean(seen, axis=0) if options["averaged"] else list(weights))
    return rounds


@pytest.mark.parametrize("kind", [MIRA, Perceptron])
def test_every_round_is_that_of_the_judge(kind):
    for seed in range(40):
        rng = random.Random(seed)
        names, lists, references, start = drawn(rng)
        options = {
            "epochs": rng.randint(1, 4), "averaged": rng.random() < 0.5, "scaled": seed % 2 == 0,
            "settling": rng.choice([0.0, 0.3, 0.5]), "scale": rng.choice([0.5, 1.0, 10.0]),
        }  # fmt: skip
        if kind is MIRA:
            options |= {"C": rng.choice([0.03, 1.0, 10.0]), "against_best": rng.random() < 0.5}
        else:
            options |= {"rate": 0.3, "against": rng.choice(["fear", "best"])}
        learner = kind(start=dict(zip(names, start, strict=True)), seed=seed, **options)
        found = fitted(learner, names, lists, references)
        expected = simulated(kind, options, lists, references, start, seed)
        assert np.allclose(found, expected, rtol=1e-6, atol=1e-8), seed


def test_a_round_of_pro_is_the_regression_of_its_pairs():
    for seed in range(25):
        rng = random.Random(seed)
        names, lists, references, start = drawn(rng)
        options = {
            "candidates": rng.choice([5, 50]), "kept": rng.choice([3, 20]),
            "threshold": rng.choice([0.0, 0.3]), "keep": rng.choice(["largest", "random"]),
            "mix": rng.choice([0.1, 1.0]), "l2": rng.choice([0.01, 0.3]), "scaled": seed % 2 == 0,
        }  # fmt: skip
        learner = PRO(start=dict(zip(names, start, strict=True)), seed=seed, rounds=1, **options)
        (found,) = fitted(learner, names, lists, references)
        draws = np.random.default_rng(seed)
        rows = []
        for some, good in zip(lists, qualities(lists, references), strict=True):
            if len(some) < 2:
                continue
            pairs = draws.integers(len(some), size=(2, options["candidates"])).T.tolist()
            apart = [
                (one, other) if good[one] > good[other] else (other, one)
                for one, other in pairs
                if good[one] != good[other] and abs(good[one] - good[other]) >= options["threshold"]
            ]
            if options["keep"] == "largest":
                apart.sort(key=lambda pair, good=good: good[pair[1]] - good[pair[0]])
            for better, worse in apart[: options["kept"]]:
                rows.append(np.subtract(some[better][1], some[worse][1]))
        expected = np.array(start)
        unit = np.array(units(lists, len(start), options["scaled"]))
        moves = unit > 0.0
        if rows and moves.any():
            scaled = np.array(rows)[:, moves] / unit[moves]

            def loss(point, scaled=scaled, l2=options["l2"]):
                return np.mean(np.log1p(np.exp(-scaled @ point))) + l2 / 2.0 * point @ point

            solved = minimize(loss, np.zeros(moves.sum()), method="BFGS", options={"gtol": 1e-8}).x
            expected[moves] += options["mix"] * (solved / unit[moves] - expected[moves])
        assert np.allclose(found, expected, rtol=2e-3, atol=2e-3), seed
