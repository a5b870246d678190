r"""ROVER: votes of systems whose words have confidences.

The systems' sentences are aligned to the one with the fewest expected edits, by
:mod:`decoding.minimum_risk.edit`. In each bin of that network a system :math:`s` of weight
:math:`\lambda_s` has said one word :math:`w_s` with confidence :math:`c_s`, or none, with the
confidence :math:`c_0` that is the same for all bins. The votes for a word are

.. math::

    v(w) = \alpha \, \frac{\sum_{s: w_s = w} \lambda_s}{\sum_s \lambda_s} +
        (1 - \alpha) \, \frac{\sum_{s: w_s = w} \lambda_s c_s}{\sum_s \lambda_s c_s}

its share of the systems and its share of their confidences in this bin. The word of most votes
wins, and its votes are its confidence. With :math:`\alpha = 1` systems are counted, as ``edit``
does.

References
----------
J. Fiscus, A post-processing system to yield reduced word error rates: Recognizer Output Voting
Error Reduction (ROVER), ASRU 1997. The vote is that of ``rover -m avgconf`` of NIST's SCTK with
``-a`` and ``-c``, inferred from what the program does: where it changes its mind fits confidences
that are divided by their sum in the bin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from decoding.minimum_risk.confusion_network import ConfusionNetwork
from decoding.minimum_risk.edit import EditConsensus, EditSpace, edit
from decoding.minimum_risk.method import MBRProblem, Method, as_systems, check_scale
from fstmetrics.alignment.metric import is_word_error
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError, argument
from lattices.spaces import Hypothesis, Lattice, Space
from lattices.vocabulary import EPSILON

#: the feature of arcs that has the confidence of a word
CONFIDENCE = "confidence"


def rover(
    systems: Sequence[Space],
    *,
    alpha: float = 0.5,
    null: float = 0.5,
    system_weights: Sequence[float] | None = None,
) -> EditConsensus:
    """Return the sentence that systems vote for, word by word, with their confidences.

    Cost: that of :func:`decoding.minimum_risk.edit.edit`.
    """
    Rover(alpha=alpha, null=null)
    systems = as_systems(systems)
    for system in systems:
        _check(system)
    found = edit(systems, system_weights=system_weights)
    space = found._space
    aligned = space.lattice.vocabulary.encode(found.tokens)
    network = _vote(space, aligned, found.network, alpha, null)
    labels = network.label[network.chosen]
    words = labels[labels != EPSILON]
    same = np.array_equal(words, aligned)
    said = space.lattice.vocabulary.decode(words.tolist())
    expected = float((1.0 - network.posterior[network.chosen]).sum())
    voted = EditConsensus.__new__(EditConsensus)
    vars(voted).update(
        vars(found),
        hypothesis=found.hypothesis if same else Hypothesis(said, -math.inf),
        expected=expected,
        method=Rover.name,
        exact=False,
        objectives=(*found.objectives, expected),
        network=network,
    )
    return voted


def _check(system: Space) -> None:
    """Refuse what is not one sentence whose words have confidences."""
    if (
        not isinstance(system, Lattice)
        or len(system.finals) > 1
        or any((np.bincount(each, minlength=1) > 1).any() for each in (system.src, system.dst))
    ):
        raise OptionError(
            f"method {Rover.name} is for systems that said one sentence, as a ctm has"
        )
    if not (system.label != EPSILON).any():
        return
    if CONFIDENCE not in system.feature_names:
        raise OptionError(
            f"method {Rover.name} needs a confidence for each word, as a ctm may have; "
            "method edit counts systems"
        )
    confidences = _confidences(system)
    outside = ~((confidences >= 0.0) & (confidences <= 1.0))
    if outside.any():
        raise OptionError(f"a confidence of {confidences[outside][0]}, expected one from 0 to 1")


def _confidences(lattice: Lattice) -> FloatColumn:
    """Return the confidence of each arc."""
    if lattice.features is None:
        return floats(np.zeros(lattice.num_arcs))
    return floats(lattice.features.toarray()[:, lattice.feature_names.index(CONFIDENCE)])


def _vote(
    space: EditSpace, words: IntColumn, network: ConfusionNetwork, alpha: float, null: float
) -> ConfusionNetwork:
    """Return the network with shares of votes as posteriors, and the winners as its sentence."""
    lattice = space.lattice
    # with times an alternative has the sums of begins and of ends of its words; with this potential
    # in their place, which rises along an arc by its confidence, they differ by the confidences
    label, number, offset, chosen = space.bins(_potential(lattice), words)
    counted = number[:, 0]
    confident = np.where(label == EPSILON, null * counted, number[:, 2] - number[:, 1])
    bins = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    sums = np.add.reduceat(confident, offset[:-1])[bins]
    # where all confidences are 0, systems are counted
    shares = np.divide(confident, sums, out=counted.copy(), where=sums > 0.0)
    share = np.clip(alpha * counted + (1.0 - alpha) * shares, 0.0, 1.0)
    is_chosen = np.zeros(len(label), dtype=np.bool_)
    is_chosen[chosen] = True
    # the highest share of a bin comes first, of equals the one that wins if systems are counted
    order = np.lexsort((~is_chosen, -share.round(12), bins))

    def reorder(column: FloatColumn | None) -> FloatColumn | None:
        return None if column is None else floats(column[order])

    return replace(
        network,
        label=ints(label[order]),
        posterior=floats(share[order]),
        chosen=ints(offset[:-1]),
        begin=reorder(network.begin),
        end=reorder(network.end),
    )


def _potential(lattice: Lattice) -> FloatColumn:
    """Return for each state the confidences of all words on the way to it."""
    found = np.zeros(lattice.num_states)
    for source, target, rise in zip(
        lattice.src.tolist(), lattice.dst.tolist(), _confidences(lattice).tolist(), strict=True
    ):
        found[target] = found[source] + rise
    return floats(found)


@dataclass(frozen=True, kw_only=True)
class Rover(Method):
    """Votes of systems whose words have confidences, by :func:`rover`: for WER and WRR over words.

    Parameters
    ----------
    alpha, null
        As of :func:`rover`.
    """

    name = "rover"
    own_objective = True
    takes_evidence = False

    alpha: float = 0.5
    null: float = 0.5

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        super().__post_init__()
        for name, value in (("alpha", self.alpha), ("null", self.null)):
            if not 0.0 <= value <= 1.0:
                raise OptionError(f"{argument(name)} is {value}, expected a number from 0 to 1")

    def decide(self, problem: MBRProblem, k: int = 1) -> list[EditConsensus]:
        """Return the sentence of most votes; where systems say one sentence, no scale matters."""
        spaces, metric, _, scale, system_weights = problem
        check_scale(scale)
        if metric is not None and not is_word_error(metric):
            raise OptionError(f"rover votes on words: wer or wrr, not {metric}")
        return [rover(spaces, alpha=self.alpha, null=self.null, system_weights=system_weights)]
