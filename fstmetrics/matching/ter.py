"""TER: edits and shifts of phrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from fstmetrics._native import Corpus, pair_translation_edits, ter_rows
from fstmetrics.corpora import CorpusMetric, count_workers, join_tokens
from fstmetrics.list_units import ListUnits
from fstmetrics.pairs import JointUnits
from fstmetrics.signature import option
from lattices.arrays import FloatColumn, floats
from lattices.caching import cached_property
from lattices.optional import require
from lattices.spaces import NBest


@dataclass(frozen=True, kw_only=True)
class TER(CorpusMetric):
    """Translation edit rate: edits and shifts of phrases over the mean reference length.

    Lower is better. The fewest edits that Tercom's greedy search for shifts finds, not the
    fewest there are; the same as in sacreBLEU, with its limits and its ways to break ties. Costs
    O(J x L / 64) for each shift that is tried.

    Parameters
    ----------
    normalized, no_punct, asian_support, case_sensitive : bool
        As in sacreBLEU: Tercom's normalisation, without punctuation, with Asian characters
        one by one (these three by sacreBLEU's package), and with case, which is folded otherwise.

    References
    ----------
    Snover, Dorr, Schwartz, Micciulla and Makhoul. A study of translation edit rate with
    targeted human annotation. AMTA 2006.

    Examples
    --------
    One shift of a phrase mends it:

    >>> TER().against(["down sat the cat"]).score("the cat down sat")
    0.25
    """

    name: ClassVar[str] = "ter"
    higher_is_better: ClassVar[bool] = False
    normalized: bool = option(False)
    no_punct: bool = option(False)
    asian_support: bool = option(False)
    case_sensitive: bool = option(False, always=True)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Edits, and the mean length of the references."""
        return ("edits", "reference length")

    def require(self) -> None:
        """Load the tokeniser, if it is asked for, or raise MissingDependencyError."""
        _ = self._tokenize

    @cached_property
    def _tokenize(self) -> Callable[[str], str] | None:
        """SacreBLEU's tokeniser, where more than case counts."""
        if not (self.normalized or self.no_punct):
            return None
        module = require("sacrebleu.tokenizers.tokenizer_ter", "sacrebleu")
        tokenizer = module.TercomTokenizer(
            normalized=self.normalized,
            no_punct=self.no_punct,
            asian_support=self.asian_support,
            case_sensitive=self.case_sensitive,
        )
        return cast("Callable[[str], str]", tokenizer)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is loaded: another process loads it again."""
        return {key: value for key, value in self.__dict__.items() if key != "_tokenize"}

    def prepare(self, sentence: str | Sequence[str]) -> str:
        """Return a sentence as text, tokenised, in lower case or not."""
        text = join_tokens(sentence)
        if self._tokenize is not None:
            return self._tokenize(text.rstrip())
        return text if self.case_sensitive else text.lower()

    def rows(self, corpus: Corpus) -> FloatColumn:
        """Return the fewest edits to a reference, and the mean length, of each segment."""
        found, segment = ter_rows(corpus, count_workers()), corpus.segment
        first = segment[:-1]
        if len(found) == len(first):
            return floats(found)
        edits, lengths = found.T
        means = np.add.reduceat(lengths, first) / np.diff(segment)
        return floats(np.stack([np.minimum.reduceat(edits, first), means], axis=1))

    def scores(self, rows: FloatColumn) -> FloatColumn:
        """Return edits over lengths; without any reference word, 1 if there are edits."""
        edits, lengths = self.fractions(rows)
        some = lengths > 0
        return floats(np.where(some, edits / np.where(some, lengths, 1.0), edits > 0))

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        joint = JointUnits(candidates, evidence, self._units)
        edits = pair_translation_edits(joint.columns)
        lengths = np.broadcast_to(joint.lengths[1][:, None], edits.shape)
        rows = np.stack([edits.ravel(), lengths.ravel()], axis=1)
        return floats(self.scores(floats(rows)).reshape(edits.shape))

    def _units(self, nbest: NBest) -> ListUnits:
        return ListUnits.of_sentences(
            [self.prepare(nbest.tokens(entry)).split() for entry in range(len(nbest))]
        )

    def fractions(self, rows: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
        """Return numerators and denominators: the score of a corpus is sum over sum."""
        return rows[:, 0], rows[:, 1]
