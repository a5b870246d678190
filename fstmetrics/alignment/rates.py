"""Error and recognition rates: WER, WRR, CER and the n-gram recognition rate GRR."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fstmetrics.alignment.metric import AlignmentMetric
from fstmetrics.contract import Metric
from fstmetrics.signature import option
from lattices.arrays import Array, FloatColumn
from lattices.errors import OptionError

if TYPE_CHECKING:
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


@dataclass(frozen=True, kw_only=True)
class GRR(AlignmentMetric):
    """n-gram recognition rate, 4-GRR by default.

    ``max over alignments of (M_1 + ... + M_n - alpha I - beta D) / (|g_1(r)| + ... + |g_n(r)|)``

    where M_k counts k-grams matched in a row under the alignment, I insertions, D
    deletions, and |g_k(r)| the reference's k-grams. Over a corpus, numerators and
    denominators are summed. An exact machine: O(n x arcs x reference length) on a lattice.

    Parameters
    ----------
    n : int
        The longest n-gram that is counted.
    alpha, beta : float
        Costs of insertions and deletions; the paper also tries -0.9 and 1.
    similarity : Similarity, optional
        Makes matches soft: every k-gram match weighs as much as its last word.

    References
    ----------
    Chiang, DeNeefe, Chan and Ng. Decomposability of translation metrics for improved
    evaluation and efficient algorithms. EMNLP 2008, equation 6.

    Examples
    --------
    The reference has 3 + 2 + 1 n-grams; two words match in a row, one is inserted:

    >>> GRR().against(["the cat sat"]).score("oh the cat") == (2 + 1 - 1) / 6
    True
    """

    name: ClassVar[str] = "grr"
    n: int = option(4, always=True)
    alpha: float = option(1.0, always=True)
    beta: float = option(0.0, always=True)
    similarity: Similarity | None = None

    def __post_init__(self) -> None:
        """Refuse orders and costs that mean nothing."""
        if not isinstance(self.n, int) or isinstance(self.n, bool) or not 1 <= self.n <= 100:
            raise OptionError(f"n is a whole number from 1 to 100, not {self.n!r}")
        for name in ("alpha", "beta"):
            if not math.isfinite(getattr(self, name)):
                raise OptionError(f"{name} is a finite number, not {getattr(self, name)!r}")

    @property
    def label(self) -> str:
        """The name in headings of tables, such as 4-GRR."""
        return f"{self.n}-GRR"

    @property
    def order(self) -> int:
        """The longest n-gram that is counted."""
        return self.n

    @property
    def insertion(self) -> float:
        """The cost of an insertion."""
        return self.alpha

    @property
    def deletion(self) -> float:
        """The cost of a deletion."""
        return self.beta


#: aligns as NIST's sclite does, which minimises 4 S + 3 (D + I) over substitutions, deletions and
#: insertions: with M + S + D and M + S + I given, that is to maximise M - I / 2. Of alignments with
#: the fewest errors it has one with the most matches, or one with an error more and more matches.
SCLITE = GRR(n=1, alpha=0.5)


#: the statistics that count errors
ERRORS = ("insertions", "deletions", "substitutions")


def counts_errors(metric: Metric) -> bool:
    """Tell whether the statistics of a metric are those of an alignment.

    Examples
    --------
    >>> from fstmetrics import BLEU
    >>> counts_errors(WER()), counts_errors(BLEU())
    (True, False)
    """
    return {"matches", *ERRORS} <= {*metric.stat_names}


def find_wrong(metric: Metric, rows: FloatColumn) -> Array:
    """Return of each row of statistics whether it has an error, for a metric that counts them."""
    columns = [metric.stat_names.index(name) for name in ERRORS]
    found: Array = np.asarray(rows)[..., columns].sum(axis=-1) > 0
    return found


def count_reference_units(metric: Metric, stats: FloatColumn) -> float:
    """Return the words of the references (characters under CER), from rows of statistics."""
    counts = dict(zip(metric.stat_names, stats.tolist(), strict=True))
    whole: float = counts["matches"] + counts["deletions"] + counts["substitutions"]
    return whole if "2-gram matches" in counts else counts.get("possible", whole)


def format_rates(
    metric: Metric, stats: FloatColumn, sentences: int, wrong: int, of: str = ""
) -> list[str]:
    """Return what Kaldi's ``compute-wer`` prints, for any metric that counts errors.

    Parameters
    ----------
    metric
        Such as :class:`WER`; of a recognition rate the fraction is that of what is gained.
    stats
        The sum of its statistics.
    sentences, wrong
        How many there are, and how many of them have an error.
    of
        Stands at the end of each line.

    Examples
    --------
    >>> from fstmetrics import corpus_stats
    >>> rows = corpus_stats(WER(), ["the cat", "it sat down"], [["the cat"], ["it sat"]])
    >>> wrong = int(find_wrong(WER(), rows).sum())
    >>> for line in format_rates(WER(), rows.sum(axis=0), 2, wrong):
    ...     print(line)
    %WER 25.00 [ 1 / 4, 1 ins, 0 del, 0 sub ]
    %SER 50.00 [ 1 / 2 ]
    """
    counts = dict(zip(metric.stat_names, stats.tolist(), strict=True))
    score = metric.score(stats)
    possible = counts.get("possible", count_reference_units(metric, stats))
    errors = ", ".join(f"{_shorten(counts[name])} {name[:3]}" for name in ERRORS)
    label = getattr(metric, "label", str(metric).partition(":")[0])
    fraction = f"{_shorten(score * max(possible, 1.0))} / {_shorten(possible)}"
    end = f" {of}" if of else ""
    share = 100.0 * wrong / max(sentences, 1)
    return [
        f"%{label} {100 * score:.2f} [ {fraction}, {errors} ]{end}",
        f"%SER {share:.2f} [ {wrong} / {sentences} ]{end}",
    ]


def _shorten(number: float) -> str:
    """Return a count, which soft matches make a fraction."""
    return f"{round(number, 4):.12g}"
