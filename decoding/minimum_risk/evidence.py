"""Evidence of MBR decoding: the weighted sentences that the metric is averaged over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from decoding import _native
from decoding.extraction.ranking import list_paths
from decoding.minimum_risk.method import Spaces, as_systems, check_scale, system_shares
from decoding.reranking import draw, join_spaces
from lattices.algorithms import k_best, k_best_paths
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError, argument
from lattices.spaces import Hypothesis, Lattice, NBest, Space
from lattices.spaces.forest import order_rows

#: how many sentences stand for a lattice or a forest where nothing else is said
LIST_SIZE = 100


@dataclass(frozen=True, eq=False)
class Listing:
    """The best sentences of one space."""

    space: Space
    #: the sentences; one may come several times only in a list that was given, or of a forest
    nbest: NBest
    #: from an entry of ``nbest`` to the sentence with all that the space knows of it
    hypothesis: Callable[[int], Hypothesis]

    def log_masses(self, scale: float, summed: bool) -> FloatColumn:
        """Return the log-probability of each entry, up to a common constant.

        ``scale * score``; but an entry of a lattice stands for all paths of its sentence if
        they are ``summed``.
        """
        with np.errstate(over="ignore"):
            if summed and isinstance(self.space, Lattice):
                masses = path_masses(self.space, self.nbest, scale)
            else:
                score = self.nbest.score
                masses = scale * (score - score.max(initial=-np.inf))
        if len(masses) and not np.isfinite(masses.max()):
            raise OptionError(f"scale {scale} is too large for the scores of {self.space.id!r}")
        return masses


def listing(space: Space, k: int | None, distinct: bool = True) -> Listing:
    """Return the ``k`` best sentences of a space, best first; of a list all, if k is None."""
    if k is not None and k < 1:
        raise OptionError(f"a list has at least 1 sentence, not {k}")
    if isinstance(space, NBest):
        if k is None or len(space) <= k:
            return Listing(space, space, space.__getitem__)
        best = np.argsort(-space.score, kind="stable")[:k]
        return Listing(space, rows(space, best), lambda entry: space[int(best[entry])])
    if isinstance(space, Lattice):
        paths = k_best_paths(space, k or LIST_SIZE, distinct=True)
        some = list_paths(space, paths.arcs, paths.offset)
        return Listing(space, some.nbest, some.__getitem__)
    found = k_best(space, k or LIST_SIZE, distinct=distinct)
    nbest = NBest.from_hypotheses(
        found,
        vocabulary=space.vocabulary,
        feature_names=space.feature_names,
        id=space.id,
        references=space.references,
    )
    return Listing(space, nbest, found.__getitem__)


@dataclass(frozen=True, eq=False)
class Candidates:
    """What can be chosen."""

    #: the sentences, each once, with the score of its best entry; in the order of their first
    nbest: NBest
    #: for each, its best entry in the lists of all systems, one after the other
    entry: IntColumn
    #: the lists of the systems
    listings: tuple[Listing, ...]

    def hypothesis(self, candidate: int) -> Hypothesis:
        """Return a candidate with all that its space knows of it."""
        entry = int(self.entry[candidate])
        for one in self.listings:
            if entry < len(one.nbest):
                return one.hypothesis(entry)
            entry -= len(one.nbest)
        raise IndexError(f"candidate {candidate}")


def candidates_of(listings: Sequence[Listing]) -> Candidates:
    """Return the sentences of all lists, each once.

    Of equal sentences the one of the highest score counts, the first of equals; of several
    systems, whose scores cannot be compared, that of the first system that has it.
    """
    nbest = join_spaces([one.nbest for one in listings])
    if not len(nbest):
        raise OptionError(f"n-best list {nbest.id!r} is empty: there is nothing to choose from")
    sentence, first = equal_sentences(nbest.label, nbest.offset)
    if len(first) == len(nbest):
        return Candidates(nbest, ints(np.arange(len(nbest))), tuple(listings))
    system = np.repeat(np.arange(len(listings)), [len(one.nbest) for one in listings])
    order = np.lexsort((-nbest.score, system))[::-1]
    best = np.empty(len(first), np.int64)
    # of several that are put into one place the last one stays: the best
    best[sentence[order]] = order
    return Candidates(rows(nbest, best), ints(best), tuple(listings))


def rows(nbest: NBest, entries: Array) -> NBest:
    """Return some entries of a list, in this order, without features and extra data."""
    label, offset = order_rows(nbest.label, nbest.offset, ints(entries))
    return NBest(
        vocabulary=nbest.vocabulary,
        label=label,
        offset=offset,
        score=floats(nbest.score[entries]),
        id=nbest.id,
        references=nbest.references,
    )


def equal_sentences(label: IntColumn, offset: IntColumn) -> tuple[IntColumn, IntColumn]:
    """Return which sentence each entry is, and the first entry of each sentence.

    Entry ``i`` is ``label[offset[i]:offset[i + 1]]``; sentences are numbered as they come. Cost:
    O(words).
    """
    sentence, first = _native.distinct_sentences(ints(label), ints(offset))
    return ints(sentence), ints(first)


def path_masses(lattice: Lattice, nbest: NBest, scale: float) -> FloatColumn:
    """Return the log of the sum of ``exp(scale * score)`` over all paths of each sentence.

    The sentences stand in a trie, and one pass over the lattice carries, at each state, the
    mass of every prefix that leads there: O(sum over arcs of the prefixes at their source). A
    sentence that the lattice does not have gets ``-inf``.
    """
    found = _native.path_masses(lattice.columns, nbest.label, nbest.offset, scale)
    return floats(found)


#: one weight for each entry of a list, or that for the list of each system
EntryWeights: TypeAlias = "Sequence[float] | Sequence[Sequence[float]] | Array"

#: how the probabilities of equal entries become that of the sentence
MERGES = ("sum", "max")


@dataclass(frozen=True, eq=False)
class Evidence:
    """Sentences with the probability of each.

    Attributes
    ----------
    nbest : NBest
        The sentences, each once.
    weight : float64 column, one entry a sentence
        Not negative; the sum is one.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> evidence = Evidence(NBest.from_hypotheses([Hypothesis(("a",)), Hypothesis(("b",))]), [3, 1])
    >>> evidence.weight.tolist()
    [0.75, 0.25]
    """

    nbest: NBest
    weight: FloatColumn

    def __post_init__(self) -> None:
        """Check the weights and make them sum to one."""
        weight = floats(self.weight)
        if weight.shape != (len(self.nbest),):
            raise OptionError(f"{weight.size} weights for {len(self.nbest)} sentences of evidence")
        if not len(weight):
            raise OptionError(f"there is no evidence in {self.nbest.id!r}")
        if not np.isfinite(weight).all() or (weight < 0.0).any():
            wrong = weight[~(np.isfinite(weight) & (weight >= 0.0))][0]
            raise OptionError(f"a weight of evidence is finite and not negative, not {wrong}")
        # the largest first, so that the sum of huge weights is finite and tiny ones are not lost
        largest = weight.max()
        if largest <= 0.0:
            raise OptionError("the weights of the evidence are all zero")
        share = weight / largest
        self.__dict__["weight"] = floats(share / share.sum())


def evidence_of(
    spaces: Spaces,
    *,
    scale: float = 1.0,
    k: int | None = None,
    samples: int | None = None,
    seed: int = 0,
    weights: EntryWeights | None = None,
    uniform: bool = False,
    system_weights: Sequence[float] | None = None,
    merge: str = "sum",
) -> Evidence:
    """Return sentences of one or several spaces with their probabilities.

    The probability of an entry is ``exp(scale * score)`` over the sum of that over all entries
    of its list: the model's posterior, sharper with a larger scale, uniform at scale 0. A
    sentence that occurs several times is there once, with the sum of its probabilities. Those
    of several systems are mixed: ``sum over systems of system_weight * probability``.

    A list stands for a space by all of its entries. A lattice is represented by its ``k`` best
    sentences, and each has the mass of *all* its paths, not of the best alone. A forest is
    represented by its ``k`` best derivations, which may make fewer sentences, each with the
    mass of those derivations that were listed. In samples a sentence has its frequency.

    Parameters
    ----------
    spaces : Lattice, Forest or NBest, or a sequence of them
        What one system, or each of several, said about one segment.
    scale : float
        From 0 on.
    k : int, optional
        The size of the list of each system: by default all entries of a list, and 100 of a
        lattice or forest.
    samples : int, optional
        Draw that many paths, derivations or entries by their probabilities, instead of the
        best. They depend on ``seed``, on the id and the content of the space.
    seed : int
    weights : sequence of float, optional
        The weight of each entry, before equal ones are merged, in place of the model's; for
        several systems one sequence each.
    uniform : bool
        All entries of a list weigh the same.
    system_weights : sequence of float, optional
        One for each system, equal by default; scaled to sum to 1.
    merge : {"sum", "max"}
        With ``max`` a sentence has the probability of its best entry or path alone, as in
        HiFST; what is left sums to 1 again.

    Raises
    ------
    OptionError
        If a list is empty, a weight is negative or not finite, weights are all zero or too many,
        or options contradict each other.

    Examples
    --------
    >>> from lattices import Hypothesis, Lattice
    >>> some = [Hypothesis(("a",), 0.0), Hypothesis(("b",), 0.0), Hypothesis(("a",), 0.0)]
    >>> evidence_of(NBest.from_hypotheses(some)).weight.round(4).tolist()
    [0.6667, 0.3333]
    >>> lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "a"), (0, 1, "b")], finals=[1])
    >>> evidence_of(lattice).weight.round(4).tolist()
    [0.6667, 0.3333]
    >>> evidence_of(lattice, merge="max").weight.tolist()
    [0.5, 0.5]
    """
    systems = as_systems(spaces)
    if samples is not None:
        _check_sampling(samples, k, weights, uniform, merge)
        scale = check_scale(scale)
        lists = [draw(space, samples, seed, scale) for space in systems]
        made = [Listing(one, one, one.__getitem__) for one in lists]
        return evidence_from(made, uniform=True, system_weights=system_weights)
    return evidence_from(
        [evidence_listing(space, k, merge) for space in systems],
        scale=scale,
        weights=weights,
        uniform=uniform,
        system_weights=system_weights,
        merge=merge,
    )


def evidence_listing(space: Space, k: int | None, merge: str) -> Listing:
    """Return the list that stands for a space as evidence.

    For the sum over derivations of a forest these must be in the list, as many as there may be.
    """
    return listing(space, k, distinct=merge == "max")


def evidence_from(
    listings: Sequence[Listing],
    *,
    scale: float = 1.0,
    weights: EntryWeights | None = None,
    uniform: bool = False,
    system_weights: Sequence[float] | None = None,
    merge: str = "sum",
) -> Evidence:
    """Return the evidence in lists that are there already; as :func:`evidence_of`."""
    check_scale(scale)
    if merge not in MERGES:
        raise OptionError(f"{argument('merge', merge)}: expected one of {', '.join(MERGES)}")
    if weights is not None and (uniform or scale != 1.0):
        raise OptionError("the weights are given: there is no scale, and they are not uniform")
    given = _check_weights(weights, len(listings))
    parts = [
        _make_list_evidence(one, scale, own, uniform, merge)
        for one, own in zip(listings, given, strict=True)
    ]
    if len(parts) == 1:
        system_shares(system_weights, 1)
        return parts[0]
    shares = system_shares(system_weights, len(parts))
    together = join_spaces([part.nbest for part in parts])
    mixed = [share * part.weight for share, part in zip(shares, parts, strict=True)]
    return _merge(together, np.concatenate(mixed), "sum")


def _check_sampling(
    samples: int, k: int | None, weights: object, uniform: bool, merge: str
) -> None:
    if samples < 1:
        raise OptionError(f"at least 1 sample is drawn, not {samples}")
    if k is not None:
        raise OptionError("evidence is the k best or samples, not both")
    if weights is not None or uniform or merge != "sum":
        raise OptionError("samples weigh by how often they were drawn, and by nothing else")


def _check_weights(weights: EntryWeights | None, systems: int) -> list[FloatColumn | None]:
    if weights is None:
        return [None] * systems
    columns = [weights] if systems == 1 else list(weights)
    if len(columns) != systems:
        raise OptionError(f"weights of {len(columns)} systems, but there are {systems}")
    try:
        return [floats(np.asarray(each, dtype=np.float64)) for each in columns]
    except (TypeError, ValueError):
        raise OptionError("weights are numbers, one sequence of them for each system") from None


def _make_list_evidence(
    one: Listing, scale: float, own: FloatColumn | None, uniform: bool, merge: str
) -> Evidence:
    if not len(one.nbest):
        raise OptionError(f"there is no evidence in {one.space.id!r}")
    if own is not None:
        # checked before entries of weight zero are left out
        return _merge(one.nbest, Evidence(one.nbest, own).weight, merge)
    if uniform:
        return _merge(one.nbest, np.ones(len(one.nbest)), merge)
    masses = one.log_masses(scale, merge == "sum")
    return _merge(one.nbest, np.exp(masses - masses.max()), merge)


def _merge(nbest: NBest, weight: FloatColumn, merge: str) -> Evidence:
    """Return each sentence once; those without any weight are left out."""
    sentence, first = equal_sentences(nbest.label, nbest.offset)
    if len(first) == len(nbest) and (weight > 0.0).all():
        return Evidence(nbest, floats(weight))
    total = np.zeros(len(first))
    (np.add if merge == "sum" else np.maximum).at(total, sentence, weight)
    kept = total > 0.0
    return Evidence(rows(nbest, first[kept]), floats(total[kept]))
