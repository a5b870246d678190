"""The n-best list: sentences with scores and features, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lattices._native import FeatureColumns
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import SpaceError, expecting
from lattices.spaces.base import SpaceBase
from lattices.spaces.features import (
    FeatureMatrix,
    Features,
    check_features,
    feature_columns,
    feature_matrix,
    make_rows,
)
from lattices.spaces.hypothesis import Hypothesis
from lattices.vocabulary import EPSILON, Vocabulary


@dataclass(frozen=True, eq=False, repr=False)
class NBest(SpaceBase):
    """The sentences a decoder offered for one segment, in its order, in read-only columns.

    Attributes
    ----------
    vocabulary : Vocabulary
    label : int32 column
        The words of all entries, one after the other.
    offset : int32 column
        Entry ``i`` is ``label[offset[i]:offset[i + 1]]``.
    score : float64 column, one entry a hypothesis
        The model's log-score, higher is better.
    features : scipy.sparse.csr_array or None
        One row a hypothesis, one column a feature name.
    feature_names : tuple of str
    id, source, references, metadata
        As in :class:`Lattice`.

    Examples
    --------
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat"), -1.0), Hypothesis((), -3.0)])
    >>> len(nbest), nbest[0].text, nbest[1].tokens
    (2, 'a cat', ())
    """

    kind = "nbest"

    vocabulary: Vocabulary
    label: IntColumn
    offset: IntColumn
    score: FloatColumn
    features: FeatureMatrix | None = Features()  # noqa: RUF009
    feature_names: tuple[str, ...] = ()
    id: str = ""
    source: str = ""
    references: tuple[Any, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the columns."""
        put = self.__dict__.__setitem__
        self._take_columns(ints, "label", "offset")
        self._take_columns(floats, "score")
        self._take_names("feature_names", "references")
        if len(self.offset) != len(self.score) + 1 or self.offset[0] != 0:
            raise SpaceError(f"{len(self.offset)} offsets for {len(self.score)} hypotheses")
        if (np.diff(self.offset) < 0).any() or self.offset[-1] != len(self.label):
            raise SpaceError("the offsets do not cut the words into hypotheses")
        if len(self.label) and (
            self.label.min() <= EPSILON or self.label.max() >= len(self.vocabulary)
        ):
            raise SpaceError("a hypothesis holds a label that is no word of the vocabulary")
        self._check_values()
        given = self.__dict__["features"]
        if given is not None:
            put("features", check_features(given, len(self), self.feature_names, "features"))

    def _check_values(self) -> None:
        self._check_scores("hypothesis")

    @classmethod
    def from_hypotheses(
        cls,
        hypotheses: Iterable[Hypothesis],
        *,
        vocabulary: Vocabulary | None = None,
        feature_names: Iterable[str] = (),
        **rest: Any,
    ) -> NBest:
        """Build a list from hypotheses; ``vocabulary`` grows by the new words."""
        words = Vocabulary() if vocabulary is None else vocabulary
        with expecting("hypotheses are objects of the class Hypothesis"):
            entries = list(hypotheses)
            names = list(feature_names)
            features = None
            if names or any(entry.features for entry in entries):
                features = feature_matrix((entry.features for entry in entries), names)
            label = words.add_all(token for entry in entries for token in entry.tokens)
            sizes = [len(entry.tokens) for entry in entries]
            score = floats([entry.score for entry in entries], "the scores of hypotheses")
        return cls(
            vocabulary=words,
            label=ints(label),
            offset=ints(np.cumsum([0, *sizes])),
            score=score,
            features=features,
            feature_names=tuple(names),
            **rest,
        )

    @classmethod
    def from_columns(
        cls,
        vocabulary: Vocabulary,
        label: IntColumn,
        offset: IntColumn,
        score: FloatColumn,
        features: FeatureColumns | None,
        **about: Any,
    ) -> NBest:
        """Return a list of columns that native code has made: nothing is checked or copied.

        ``about`` has ``feature_names`` and what else is known of the segment.
        """
        return cls.from_normal_form(
            vocabulary=vocabulary,
            label=label,
            offset=offset,
            score=score,
            feature_columns=features,
            **about,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: arrays, whoever owns them."""
        make_rows(self)
        return super().__getstate__()

    @cached_property
    def feature_columns(self) -> FeatureColumns | None:
        """The features as native code takes them, or None if there are none."""
        return feature_columns(self.feature_names, len(self), make_rows(self), None)

    def tokens(self, entry: int) -> tuple[str, ...]:
        """Return the words of one entry."""
        bounds = self.offset[entry : entry + 2]
        return self.vocabulary.decode(self.label[bounds[0] : bounds[1]].tolist())

    def original(self, entry: int) -> str:
        r"""Return the text of an entry as it came: with line breaks and tabs, where it had any.

        ``metadata["texts"]`` has the texts of lists whose words, with blanks between them, are not
        all that was said, such as code.

        Examples
        --------
        >>> from lattices import from_hypotheses
        >>> nbest = from_hypotheses(["if x:\n\treturn y", "return y"])
        >>> nbest[0].text, nbest.original(0)
        ('if x: return y', 'if x:\n\treturn y')
        """
        texts = self.metadata.get("texts")
        found = (
            texts[entry] if isinstance(texts, list | tuple) and len(texts) == len(self) else None
        )
        return found if isinstance(found, str) else self[entry].text

    def __len__(self) -> int:
        """Return how many hypotheses there are."""
        return len(self.score)

    def __getitem__(self, entry: int) -> Hypothesis:
        """Return one hypothesis, counted from 0, or from the end if negative."""
        if not -len(self) <= entry < len(self):
            raise IndexError(f"hypothesis {entry} of {len(self)}")
        entry %= len(self)
        rows = self.feature_columns
        features = {} if rows is None else rows.row(entry)
        return Hypothesis(self.tokens(entry), float(self.score[entry]), features, index=entry)

    def __iter__(self) -> Iterator[Hypothesis]:
        """Iterate over the hypotheses in the decoder's order."""
        return (self[entry] for entry in range(len(self)))

    def __repr__(self) -> str:
        """Return the segment's name and the size."""
        return f"<NBest {self.id!r} of {len(self)} hypotheses>"
