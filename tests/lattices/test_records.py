"""Results as plain data."""

from __future__ import annotations

import json

import numpy as np

from lattices import Hypothesis
from lattices.records import to_plain


def test_a_hypothesis_is_named_as_in_json_lines() -> None:
    found = Hypothesis(("a", "cat"), -1.0, {"lm": -0.5}).to_dict()
    assert found == {
        "text": "a cat",
        "words": ["a", "cat"],
        "model_score": -1.0,
        "features": {"lm": -0.5},
    }


def test_plain_data_are_json() -> None:
    value = to_plain({1: (np.float32(0.5), {"x": np.eye(1)}), "none": None, "other": {3}})
    assert json.loads(json.dumps(value)) == {
        "1": [0.5, {"x": [[1.0]]}],
        "none": None,
        "other": [3],
    }
