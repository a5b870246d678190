"""What Travatar answers for expected BLEU over lists, and its gradient.

By ``src/lib/tune-xeval.cc`` and ``eval-measure-bleu.cc`` (neubig/travatar, commits 07f4d791 and
0e7c3c46), built without the rest of it; the first two gradients are published in its
``src/test/test-tune.cc``, too. Travatar clips the n-grams of each hypothesis, as Rosti et al. 2010
do over lists, and we their expected counts, as Rosti et al. 2011 do over lattices. The two are the
same where no hypothesis has an n-gram more often than its reference, as here.

On Multi30k's lists of 100, 12 samples of up to 40 segments under random weights: of such hypotheses
value and gradient are the same up to rounding (5e-16; 5e-12 beside a brevity penalty, which
Travatar smooths), of all hypotheses our value is higher by up to 7e-4.
"""

from __future__ import annotations

import pytest

from decoding.training.risk.xbleu import ExpectedBLEU
from lattices import Hypothesis, NBest

#: references, and sentences with their features
UNIT = [
    ("a b", [("a b", {"fa": 1}), ("a", {"fb": 1}), ("a b c", {"fc": 1}), ("c", {"fd": 1})]),
    ("a b c d", [("a b c d", {"fe": 1})]),
]
WEIGHTED = [
    ("a b", [("a b", {"fa": 1}), ("a", {"fb": 1}), ("c", {"fc": 1})]),
    ("a b c d", [("a b c d", {"fd": 1})]),
]
BOATS = [
    (
        "the boats come home before the storm breaks",
        [
            ("the boats come home before the storm breaks", {"lm": -4.5, "len": 8}),
            ("boats come home before the storm", {"lm": -3.25, "len": 6}),
            ("the boats came home in a storm", {"lm": -3.5, "len": 7}),
            ("a storm breaks before the small boats come home", {"lm": -5, "len": 9}),
        ],
    ),
    (
        "we mended the nets by the light of one lamp",
        [
            ("we mended the nets with a lamp", {"lm": -4, "len": 7}),
            ("we mended the nets by the light of a lamp", {"lm": -6, "len": 10}),
            ("nets we mended by the light of one lamp", {"lm": -5.75, "len": 9}),
        ],
    ),
    (
        "nobody on the quay had seen her leave",
        [
            ("nobody saw her leave the quay", {"lm": -3, "len": 6}),
            ("nobody on the quay had seen her go", {"lm": -4.25, "len": 8}),
            ("nobody had seen her leave", {"lm": -2.5, "len": 5}),
        ],
    ),
]
HALF = {"fb": -0.6931471805599453, "fc": -0.6931471805599453}


@pytest.mark.parametrize(
    ("segments", "weights", "value", "gradient"),
    [
        (
            UNIT,
            {},
            0.89322641839675399,
            {
                "fa": 0.026135523046459767,
                "fb": -0.016376956750715831,
                "fc": 0.017252038293028488,
                "fd": -0.027010604588772424,
                "fe": 0.0,
            },
        ),
        (
            WEIGHTED,
            HALF,
            0.9025428643143415,
            {
                "fa": 0.050614859568986079,
                "fb": -0.01993515083024101,
                "fc": -0.030679708738745065,
                "fd": 0.0,
            },
        ),
        (
            BOATS,
            {},
            0.54199900826721525,
            {"lm": -0.1301320558962957, "len": 0.17700287412051097},
        ),
        (
            BOATS,
            {"lm": 0.5, "len": -0.25},
            0.44365321711313743,
            {"lm": -0.093002815364147423, "len": 0.10720608994639537},
        ),
        (
            BOATS,
            {"lm": 1.0, "len": 0.75},
            0.54636773052853904,
            {"lm": -0.14200262354754262, "len": 0.19741959058539171},
        ),
    ],
)
def test_value_and_gradient_are_those_of_travatar(segments, weights, value, gradient):
    lists = [
        NBest.from_hypotheses(
            [Hypothesis(tuple(text.split()), 0.0, features) for text, features in some],
            feature_names=[*gradient],
        )
        for _, some in segments
    ]
    objective = ExpectedBLEU(lists, [[reference] for reference, _ in segments])
    found, slope = objective.value(weights)
    assert found == pytest.approx(value, abs=1e-12)
    assert dict(zip(objective.names, slope, strict=True)) == pytest.approx(gradient, abs=1e-12)
