"""Weights of the features of speech: acoustic and language scores, and words that are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lattices.arrays import floats
from lattices.errors import OptionError, argument
from lattices.spaces import Lattice, NBest, Space
from lattices.spaces.features import add_feature, feature_column

#: the feature that counts words, as HTK and SRILM have it
WORDS = "words"
ACOUSTIC = ("acoustic",)
#: what formats call language scores
LANGUAGE = ("graph", "language", "ngram", "lm")


def count_words(space: Space) -> Space:
    """Return the space with the feature ``words``, 1 for each, if it has none of that name.

    Examples
    --------
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (1, 2, "", -0.5)], finals=[2])
    >>> count_words(lattice).reweighted({"words": -0.5}).score.tolist()
    [-0.5, 0.0]
    """
    if WORDS in space.feature_names:
        return space
    if isinstance(space, NBest):
        return add_feature(space, WORDS, floats(np.diff(space.offset)))
    labels = space.label if isinstance(space, Lattice) else space.symbol
    return add_feature(space, WORDS, feature_column(space, np.ones(int((labels > 0).sum()))))


def weights_of(space: Space) -> dict[str, float]:
    """Return the weights that the scores of a space are made with; refuse scores without any.

    They are those of its file's header, if it has some, or 1.
    """
    given = space.metadata.get("weights")
    weights = {
        name: float(given.get(name, 1.0)) if isinstance(given, Mapping) else 1.0
        for name in space.feature_names
    }
    made = space.reweighted(weights)
    same = np.allclose(made.score, space.score, rtol=1e-4, atol=1e-3)
    if isinstance(space, Lattice) and isinstance(made, Lattice):
        ends = space.final > -np.inf
        same = same and np.allclose(made.final[ends], space.final[ends], rtol=1e-4, atol=1e-3)
    if not same:
        raise OptionError(
            "the scores are no sum of the features, whose weights have to be given: "
            f"{argument('weights', 'FILE')}"
        )
    return weights


def find_feature(names: tuple[str, ...], known: tuple[str, ...], what: str) -> str:
    """Return the feature of a space that is meant, or raise OptionError if it has none."""
    for name in known:
        if name in names:
            return name
    has = f"it has {', '.join(names)}" if names else "it has none"
    raise OptionError(f"{what} needs a feature {' or '.join(known)}; {has}")


@dataclass(frozen=True)
class Scales:
    """Other scales for the scores of a space, by the names of Kaldi's scripts.

    Attributes
    ----------
    acoustic_scale, lm_scale : float, optional
        The weights of the acoustic and of the language scores.
    word_ins_penalty : float, optional
        What each word costs.

    Examples
    --------
    >>> from lattices import Lattice
    >>> arc = (0, 1, "a", -5.0, {"graph": -2.0, "acoustic": -3.0})
    >>> Scales(acoustic_scale=0.1, word_ins_penalty=0.5)(
    ...     Lattice.from_arcs([arc], finals=[1])
    ... ).score.round(6).tolist()
    [-2.8]
    """

    acoustic_scale: float | None = None
    lm_scale: float | None = None
    word_ins_penalty: float | None = None

    def __call__(self, space: Space) -> Space:
        """Return the space with the scores that these scales make."""
        names = space.feature_names
        changed = {
            find_feature(names, known, argument(name)): value
            for name, known, value in (
                ("acoustic_scale", ACOUSTIC, self.acoustic_scale),
                ("lm_scale", LANGUAGE, self.lm_scale),
            )
            if value is not None
        }
        weights = changed if names and changed.keys() == {*names} else weights_of(space) | changed
        if self.word_ins_penalty is not None:
            space = count_words(space)
            weights[WORDS] = weights.get(WORDS, 0.0) - self.word_ins_penalty
        return space.reweighted(weights)
