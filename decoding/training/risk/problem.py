"""Risk problem: a space and its references, prepared for many weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, cast, get_args

import numpy as np
from scipy.sparse import csr_array, vstack

from decoding.extraction.search import DEFAULT_BUDGET
from decoding.training.risk.graphs import (
    DerivationGraph,
    forest_graph,
    lattice_graph,
    nbest_graph,
    plain_graph,
)
from decoding.training.risk.sentence_lists import DerivationList, best_list, draw_list
from fstmetrics import Evaluator
from fstmetrics.contract import has_machine
from lattices.algorithms.paths import explain_no_path
from lattices.algorithms.trimming import find_useful_states
from lattices.arrays import FloatColumn, floats
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.limits import Limits
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.arguments import WHOLE, check_filled
from lattices.spaces.features import FeatureMatrix, Weights

Beyond = Literal["k-best", "sample", "raise"]


class EstimationOptions(TypedDict, total=False):
    """The fields of :class:`Estimation`, as functions take them by name."""

    temperature: float
    budget: int
    beyond: Beyond
    k: int
    samples: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Estimation:
    """Of what distribution risk is the mean, and what to do where it cannot be exact."""

    #: scores are divided by it: towards 0 the best path takes all, at infinity all paths are
    #: equally likely
    temperature: float = 1.0
    #: the most pairs of a state (or node) and a row (or matrix of rows)
    budget: int = DEFAULT_BUDGET
    #: what to do beyond the budget
    beyond: Beyond = "k-best"
    #: how many paths are looked at then, and the seed of those that are drawn
    k: int = 1000
    samples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        for name in ("budget", "k", "samples"):
            WHOLE.check("risk", name, getattr(self, name))
        if not 0.0 < self.temperature < np.inf:
            raise OptionError(f"a temperature is finite and greater than 0, not {self.temperature}")
        if self.budget < 1:
            raise OptionError(f"a budget is at least 1, not {self.budget}")
        if self.beyond not in get_args(Beyond):
            raise OptionError(
                f"beyond={self.beyond}: expected one of {', '.join(get_args(Beyond))}"
            )
        if self.k < 1:
            raise OptionError(f"k is at least 1, not {self.k}")
        if self.samples < 2:
            raise OptionError(f"at least 2 samples are drawn, not {self.samples}")


class RiskProblem:
    """A space, a metric and references; what does not depend on scores is computed once.

    Scores are in *slots*: one for each arc of a lattice and then one for each state, for ending
    there; one for each edge of a forest; one for each entry of a list.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -0.5)], finals=[1])
    >>> problem = RiskProblem(lattice, WER().against(["a"]))
    >>> problem.scores().tolist(), problem.graph.num_nodes
    ([-1.0, -0.5, 0.0, 0.0], 3)
    """

    def __init__(self, space: Space, evaluator: Evaluator, *, budget: int = DEFAULT_BUDGET) -> None:
        self.space, self.evaluator, self.budget = space, evaluator, budget
        check_filled([space])
        if isinstance(space, Lattice) and not find_useful_states(space)[space.start]:
            raise explain_no_path(space)

    @property
    def is_list(self) -> bool:
        """Whether the space is a list, which needs no rows."""
        return isinstance(self.space, NBest)

    @cached_property
    def plain(self) -> DerivationGraph:
        """The space without values."""
        return plain_graph(self.space)

    @cached_property
    def graph(self) -> DerivationGraph | None:
        """All derivations with their values; None if the budget, or the metric, forbids it."""
        if isinstance(self.space, NBest):
            return nbest_graph(self.space, self.evaluator)
        if not has_machine(self.evaluator):
            return None
        if isinstance(self.space, Forest):
            return forest_graph(self.space, self.evaluator, Limits(self.budget))
        return lattice_graph(self.space, self.evaluator, Limits(self.budget))

    def forget(self) -> None:
        """Drop :attr:`graph`, which may be large; it is made again when it is asked for."""
        self.__dict__.pop("graph", None)

    def exact_graph(self) -> DerivationGraph:
        """Return :attr:`graph`, or say why there is none."""
        if self.graph is None:
            name = f"{type(self.space).__name__} {self.space.id!r}"
            if not has_machine(self.evaluator):
                raise OptionError(
                    f"{self.evaluator.metric} has no machine: its mean over {name} is not to be "
                    "had exactly; take the k best, samples, or an n-best list"
                )
            raise OptionError(
                f"the mean of {self.evaluator.metric} over {name} takes more than {self.budget} "
                "pairs, or its machine is not exact: raise the budget, prune, or take the k best "
                "or samples"
            )
        return self.graph

    @property
    def slots(self) -> int:
        """How many scores there are."""
        if isinstance(self.space, NBest):
            return len(self.space)
        if isinstance(self.space, Forest):
            return self.space.num_edges
        return self.space.num_arcs + self.space.num_states

    @cached_property
    def features(self) -> FeatureMatrix:
        """The features of every slot."""
        width = len(self.space.feature_names)
        rows = self.space.features
        if not isinstance(self.space, Lattice):
            return csr_array((self.slots, width)) if rows is None else rows
        last = self.space.final_features
        arcs, states = self.space.num_arcs, self.space.num_states
        parts = [
            csr_array((arcs, width)) if rows is None else rows,
            csr_array((states, width)) if last is None else last,
        ]
        return csr_array(vstack(parts, format="csr"))

    def scores(self, weights: Weights | None = None) -> FloatColumn:
        """Return the scores of the space, or those under weights of its features."""
        space = self.space if weights is None else self.space.reweighted(weights)
        if isinstance(space, Lattice):
            return floats(np.append(space.score, np.where(space.final > -np.inf, space.final, 0.0)))
        return space.score

    def to_feature_gradient(self, gradient: FloatColumn) -> FloatColumn:
        """Return a gradient by scores as one by the weights of features."""
        return floats(self.features.T @ gradient)

    def rescore(self, score: FloatColumn) -> Space:
        """Return the space with the scores of its slots."""
        if not isinstance(self.space, Lattice):
            return self.space.replaced(score=score)
        arcs = self.space.num_arcs
        final = np.where(self.space.final > -np.inf, score[arcs:], -np.inf)
        return self.space.replaced(score=score[:arcs], final=final)

    def scale(self, score: FloatColumn, temperature: float) -> float:
        """Return one over the temperature, if scores so divided are still numbers."""
        scale = 1.0 / temperature
        most = float(np.abs(score).max(initial=0.0)) * max(1.0, len(score))
        if not (np.isfinite(scale) and np.isfinite(most * scale)):
            raise OptionError(
                f"scores of up to {np.abs(score).max(initial=0.0):g} overflow at "
                f"temperature {temperature:g}"
            )
        return scale

    def list_substitutes(
        self,
        score: FloatColumn,
        how: Estimation,
        seed: int | Sequence[int] | np.random.Generator,
    ) -> DerivationList | None:
        """Return derivations to use in place of the space; None if it is within the budget."""
        if self.graph is not None or how.beyond == "raise":
            self.exact_graph()
            return None
        # lists are always within the budget
        space = cast("Lattice | Forest", self.rescore(score))
        if how.beyond == "k-best":
            return best_list(space, self.evaluator, how.k)
        scale = self.scale(score, how.temperature)
        return draw_list(space, self.evaluator, how.samples, np.random.default_rng(seed), scale)
