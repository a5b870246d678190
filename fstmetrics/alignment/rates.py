"""Error and recognition rates: WER, WRR and CER."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fstmetrics.alignment.family import AlignmentMetric
from fstmetrics.signature import option
from fstmetrics.similarity.affix import Similarity


@dataclass(frozen=True, kw_only=True)
class WRR(AlignmentMetric):
    """Word recognition rate: ``max over alignments of (M - I) / |r|``.

    M is the number of matches and I of insertions; ``1 - WER``. An exact machine: O(arcs x
    reference length) on a lattice.

    Parameters
    ----------
    similarity : Similarity, optional
        Makes matches soft: aligned words count by their similarity.

    References
    ----------
    Chiang, DeNeefe, Chan and Ng. Decomposability of translation metrics for improved
    evaluation and efficient algorithms. EMNLP 2008, equation 5.

    Examples
    --------
    >>> WRR().against(["the cat sat"]).score("the cat sat on")
    0.6666666666666666
    """

    name: ClassVar[str] = "wrr"
    order: ClassVar[int] = 1
    insertion: ClassVar[float] = 1.0
    deletion: ClassVar[float] = 0.0
    similarity: Similarity | None = None


@dataclass(frozen=True, kw_only=True)
class WER(WRR):
    """Word error rate: ``min over alignments of (S + I + D) / |r|``, lower is better.

    With a similarity, a substitution costs one minus the similarity of the words
    (WER_modif of Wang and Merlo 2016).

    Examples
    --------
    >>> WER().against(["the cat sat"]).score("the hat sat on")
    0.6666666666666666
    """

    name: ClassVar[str] = "wer"
    error_rate: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class CER(AlignmentMetric):
    """Character error rate: WER over the characters of the sentence, lower is better.

    Parameters
    ----------
    spaces : bool
        Whether the blanks between words count as characters.

    Examples
    --------
    >>> CER().against(["the cat"]).score("the hat")
    0.14285714285714285
    """

    name: ClassVar[str] = "cer"
    order: ClassVar[int] = 1
    insertion: ClassVar[float] = 1.0
    deletion: ClassVar[float] = 0.0
    characters: ClassVar[bool] = True
    error_rate: ClassVar[bool] = True
    spaces: bool = option(True)
