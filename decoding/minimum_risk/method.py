"""Methods of minimum-risk decoding: what they are asked, their options, and their results."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

import numpy as np

from fstmetrics import Metric
from lattices.arrays import FloatColumn, floats
from lattices.errors import OptionError, argument
from lattices.records import PlainRecord
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.arguments import SPACE, Each

if TYPE_CHECKING:
    from decoding.minimum_risk.evidence import Evidence

#: one space, or those of several systems for the same segment
Spaces: TypeAlias = "Space | Sequence[Space]"

#: the types of options by the annotation of their fields, and how they are called
_TYPES: dict[str, tuple[type, str]] = {
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "bool": (bool, "true or false"),
}
_MOST, _MOST_LIMIT = 2**31 - 1, 2**63 - 1

SYSTEMS = Each(SPACE, f"{SPACE.expected}, or a sequence of them")


def as_systems(spaces: Spaces, name: str = "space") -> tuple[Space, ...]:
    """Return the spaces of all systems, of one as of several; ``name`` is for the message."""
    if isinstance(spaces, Lattice | Forest | NBest):
        return (spaces,)
    SYSTEMS.check("mbr", name, spaces)
    if not spaces:
        raise OptionError("there is no space to decode")
    return tuple(spaces)


def check_scale(scale: float) -> float:
    """Return the scale of a posterior if it is one: a finite number that is not negative.

    All methods of minimum-risk decoding ask here, so that they refuse the same numbers. At 0
    all paths, derivations or entries are equally probable.

    Examples
    --------
    >>> check_scale(0.0)
    0.0
    >>> check_scale(-1.0)
    Traceback (most recent call last):
    lattices.errors.OptionError: a scale is a finite number from 0 on, not -1.0
    """
    if not (math.isfinite(scale) and scale >= 0.0):
        raise OptionError(f"a scale is a finite number from 0 on, not {scale}")
    return scale


def system_shares(weights: Sequence[float] | None, systems: int) -> FloatColumn:
    """Return the weights of systems, made to sum to one; all alike if none are given.

    Examples
    --------
    >>> system_shares([1.0, 3.0], 2).tolist(), system_shares(None, 2).tolist()
    ([0.25, 0.75], [0.5, 0.5])
    """
    shares = floats(np.ones(systems) if weights is None else weights)
    if shares.shape != (systems,):
        raise OptionError(f"{shares.size} weights of systems, but there are {systems}")
    if not (np.isfinite(shares).all() and (shares >= 0.0).all() and shares.any()):
        raise OptionError(
            f"weights of systems are finite, not negative and not all zero, not {shares.tolist()}"
        )
    # by the largest first: the sum of large ones is not finite
    shares = floats(shares / shares.max())
    return floats(shares / shares.sum())


@dataclass(frozen=True)
class Consensus(PlainRecord):
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
        ``pairwise``, ``halving``, ``low-rank``, ``centroids``, ``aggregate``, ``linear``,
        ``consensus``, ``edit``, ``exact`` or ``search``.
    exact : bool
        Whether no candidate of the method is better by its own objective.
    candidates : int
        How many sentences could have been chosen; -1 if all of the space could.
    evidence : int
        How many weighted sentences were averaged over; -1 if all of the space were.
    pairs : int
        How many pairs of a candidate and a sentence of evidence were scored; -1 where none are.
    """

    hypothesis: Hypothesis
    expected: float
    method: str
    exact: bool
    candidates: int
    evidence: int
    pairs: int = field(default=-1, kw_only=True)

    @property
    def beside(self) -> tuple[str, ...] | None:
        """The words of the model's own choice, where the method has come by them."""
        return None

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words."""
        return self.hypothesis.tokens

    @property
    def text(self) -> str:
        """The words, joined by blanks."""
        return self.hypothesis.text


class MBRProblem(NamedTuple):
    """What is decided for one segment."""

    #: what the systems said, of which one sentence is chosen
    spaces: Sequence[Space]
    #: with the source of the segment, if it takes one
    metric: Metric | None = None
    #: what to average over; the spaces if None
    evidence: Evidence | Spaces | None = None
    #: of all scores, before they become probabilities
    scale: float = 1.0
    #: one for each space; all the same if None
    system_weights: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way to choose by minimum Bayes risk; its fields are its options.

    What all methods are asked is a :class:`MBRProblem`, which :func:`decoding.mbr` makes of its
    arguments; it takes any object of this kind as its ``method``.
    """

    #: how :func:`decoding.mbr` and the command know it by name
    name: ClassVar[str]
    #: whether it decides by something of its own, and not by a metric that it is given
    own_objective: ClassVar[bool] = False
    #: whether it can average over something else than what it chooses from
    takes_evidence: ClassVar[bool] = True
    #: whether it can return several, best first
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
            most = _MOST_LIMIT if each.name in ("budget", "memory") else _MOST
            if isinstance(value, int) and value > most:
                raise OptionError(f"{argument(each.name)} is at most {most}, not {value}")
            if each.name == "seed" and isinstance(value, int) and value < 0:
                raise OptionError(f"{argument(each.name)} is 0 or more, not {value}")

    @abstractmethod
    def decide(self, problem: MBRProblem, k: int = 1) -> Sequence[Consensus]:
        """Return the ``k`` best."""

    def decide_batch(
        self, problems: Sequence[MBRProblem], k: int = 1
    ) -> Sequence[Sequence[Consensus]]:
        """Return what :meth:`decide` does for each segment; a method may do it in one go."""
        return [self.decide(problem, k) for problem in problems]

    def require_metric(self, metric: Metric | None) -> Metric:
        """Return the metric, which this method cannot do without."""
        if metric is None:
            raise OptionError(f"method {self.name} needs a metric")
        return metric

    def check_bleu(self, metric: Metric | None) -> None:
        """Refuse a metric that is not BLEU, for which the method's own objective stands."""
        from fstmetrics import BLEU

        if metric is not None and not isinstance(metric, BLEU):
            raise OptionError(f"{self.name} stands for bleu, not for {metric}")
