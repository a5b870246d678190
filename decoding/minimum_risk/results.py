"""Methods of minimum-risk decoding: their contract, their options, and their results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import ClassVar

from decoding.minimum_risk.evidence import Evidence, Spaces
from fstmetrics import Metric
from fstmetrics.alignment.metric import AlignmentMetric
from lattices.errors import OptionError, argument
from lattices.records import Record
from lattices.spaces import Hypothesis, Space

#: the types of options by the annotation of their fields, and how they are called
_TYPES: dict[str, tuple[type, str]] = {
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "bool": (bool, "true or false"),
}
_MOST, _MOST_BUDGET = 2**31 - 1, 2**63 - 1


@dataclass(frozen=True)
class Consensus(Record):
    """A sentence chosen for what can be expected of it.

    Attributes
    ----------
    hypothesis : Hypothesis
        The sentence with its model score; with features and path where the space has them.
        Of several spaces, those of the first that has the sentence.
    expected : float
        What the method maximised or minimised for it: the expected metric in the metric's own
        direction; the metric against the average of the evidence for ``aggregate``; the linear
        gain for ``linear``; for ``edit`` the expected number of edits.
    method : str
        ``pairwise``, ``aggregate``, ``linear``, ``consensus``, ``edit``, ``exact`` or ``search``.
    exact : bool
        Whether no candidate of the method is better by its own objective.
    candidates : int
        How many sentences could have been chosen; -1 if all of the space could.
    evidence : int
        How many weighted sentences were averaged over; -1 if all of the space were.
    """

    hypothesis: Hypothesis
    expected: float
    method: str
    exact: bool
    candidates: int
    evidence: int

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words."""
        return self.hypothesis.tokens

    @property
    def text(self) -> str:
        """The words, joined by blanks."""
        return self.hypothesis.text


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way to choose by minimum Bayes risk; its fields are its options.

    What all methods are asked, the spaces, the evidence, the scale and the weights of systems, are
    arguments of :func:`decoding.mbr`, which takes any object of this kind as its ``method``.

    Attributes
    ----------
    name : str
        How :func:`decoding.mbr` and the command know it by name.
    own_objective : bool
        Whether it decides by something of its own, and not by a metric that it is given.
    takes_evidence : bool
        Whether it can average over something else than what it chooses from.
    ranks : bool
        Whether it can return several, best first.
    """

    name: ClassVar[str]
    own_objective: ClassVar[bool] = False
    takes_evidence: ClassVar[bool] = True
    ranks: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse options of another type than their field's, and numbers that no search takes."""
        for each in fields(self):
            value, kind = getattr(self, each.name), str(each.type)
            if value is None and kind.endswith("| None"):
                continue
            types, expected = _TYPES.get(kind.removesuffix(" | None"), (object, ""))
            if not isinstance(value, types) or (types is Integral and isinstance(value, bool)):
                raise OptionError(f"{argument(each.name)} is {expected}, not {value!r}")
            most = _MOST_BUDGET if each.name == "budget" else _MOST
            if isinstance(value, int) and value > most:
                raise OptionError(f"{argument(each.name)} is at most {most}, not {value}")
            if each.name == "seed" and isinstance(value, int) and value < 0:
                raise OptionError(f"{argument(each.name)} is 0 or more, not {value}")

    @abstractmethod
    def decide(
        self,
        spaces: Sequence[Space],
        metric: Metric | None = None,
        k: int = 1,
        *,
        evidence: Evidence | Spaces | None = None,
        scale: float = 1.0,
        system_weights: Sequence[float] | None = None,
    ) -> Sequence[Consensus]:
        """Return the ``k`` best; arguments are as of :func:`decoding.mbr`."""

    def given(self, metric: Metric | None) -> Metric:
        """Return the metric, which this method cannot do without."""
        if metric is None:
            raise OptionError(f"method {self.name} needs a metric")
        return metric

    def check_bleu(self, metric: Metric | None) -> None:
        """Refuse a metric that is not BLEU, for which the method's own objective stands."""
        from fstmetrics import BLEU

        if metric is not None and not isinstance(metric, BLEU):
            raise OptionError(f"{self.name} stands for bleu, not for {metric}")


def is_word_error(metric: Metric | None) -> bool:
    """Tell whether a metric is WER or WRR over words, with hard matches."""
    return (
        isinstance(metric, AlignmentMetric)
        and not metric.characters
        and metric.similarity is None
        and (metric.order, metric.insertion, metric.deletion) == (1, 1.0, 0.0)
    )
