"""What can be made of each segment on its own: a list of paths, a smaller lattice, a sample.

A transform takes one segment to another search space. The jobs of :mod:`decoding.corpus.encoding`
do it for a batch, and make what comes out ready to be written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, vstack

from decoding import _native
from decoding.corpus.runner import Segment
from lattices.algorithms import Paths, k_best, k_best_paths, prune, sample, sample_paths, union
from lattices.arrays import floats, ints
from lattices.errors import OptionError
from lattices.formats.references import References
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.features import FeatureMatrix

#: metadata with one entry a hypothesis: what Moses writes behind the score
_EXTRA = "extra"


def listed_derivations(forest: Forest, found: Sequence[Hypothesis]) -> NBest:
    """Return derivations of a forest as a list, with their scores and features.

    Examples
    --------
    >>> forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"], -2.0)])
    >>> [each.text for each in listed_derivations(forest, list(forest.derivations()))]
    ['a', 'b']
    """
    return NBest.from_hypotheses(
        found, vocabulary=forest.vocabulary, feature_names=forest.feature_names, **_about(forest)
    )


def listed(lattice: Lattice, paths: Paths) -> NBest:
    """Return complete paths of a lattice as a list, with their scores and features.

    As ``NBest.from_hypotheses(hypotheses(lattice, paths))``, some times faster.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "", -2.0)], finals=[1])
    >>> [(found.text, found.score) for found in listed(lattice, Paths.of([[1], [0]]))]
    [('', -2.0), ('a', -1.0)]
    """
    label, offset, score = _native.path_sentences(lattice.columns, paths.arcs, paths.offset)
    return NBest(
        vocabulary=lattice.vocabulary,
        label=ints(label),
        offset=ints(offset),
        score=floats(score),
        features=_summed(lattice, paths),
        feature_names=lattice.feature_names,
        **_about(lattice),
    )


def _summed(lattice: Lattice, paths: Paths) -> FeatureMatrix | None:
    if lattice.features is None:
        return None
    last = np.full(len(paths.offset) - 1, lattice.start)
    ended = np.diff(paths.offset) > 0
    last[ended] = lattice.dst[paths.arcs[paths.offset[1:][ended] - 1]]
    ones, shape = np.ones(len(paths.arcs)), (len(last), lattice.num_arcs)
    total = csr_array((ones, paths.arcs, paths.offset), shape=shape) @ lattice.features
    if lattice.final_features is not None:
        total = total + lattice.final_features[last]
    total = csr_array(total)
    total.sort_indices()
    return total


def _about(space: Space) -> dict[str, Any]:
    return {
        "id": space.id,
        "source": space.source,
        "references": space.references,
        "metadata": space.metadata,
    }


def chosen(nbest: NBest, entries: Sequence[int]) -> NBest:
    """Return some entries of a list, in this order; one may come several times.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat"), -1.0), Hypothesis(("b",), -3.0)])
    >>> [found.text for found in chosen(nbest, [1, 0, 1])]
    ['b', 'a cat', 'b']
    """
    bounds, places = nbest.offset.tolist(), np.asarray(entries, dtype=np.int64)
    rows = [nbest.label[bounds[entry] : bounds[entry + 1]] for entry in entries]
    about = _about(nbest)
    extra = _extra(nbest)
    if extra is not None:
        about["metadata"] = {**nbest.metadata, _EXTRA: [extra[entry] for entry in entries]}
    return NBest(
        vocabulary=nbest.vocabulary,
        label=ints(np.concatenate([np.empty(0, np.int32), *rows])),
        offset=ints(np.cumsum([0, *map(len, rows)])),
        score=nbest.score[places],
        features=None if nbest.features is None else nbest.features[places],
        feature_names=nbest.feature_names,
        **about,
    )


def _extra(nbest: NBest) -> list[Any] | None:
    found = nbest.metadata.get(_EXTRA)
    return found if isinstance(found, list) and len(found) == len(nbest) else None


def joined(spaces: Sequence[Space]) -> Space:
    """Return what several systems said about one segment as one space.

    Lattices become the union of their paths (see :func:`lattices.union`), lists one list with
    all entries, one system's after the other's. A list among lattices becomes a lattice first,
    with one path for each entry. Forests become one forest, and are joined with forests only.
    Nothing is weighted, and nothing that occurs twice is left out.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0)], finals=[1])
    >>> nbest = NBest.from_hypotheses([Hypothesis(("b", "c"), -2.0), Hypothesis((), -3.0)])
    >>> [(path.text, path.score) for path in joined([lattice, nbest]).paths()]
    [('a', -1.0), ('b c', -2.0), ('', -3.0)]
    """
    if len(spaces) == 1:
        return spaces[0]
    forests = [space for space in spaces if isinstance(space, Forest)]
    if forests and len(forests) == len(spaces):
        return union(forests)
    if forests:
        raise OptionError("forests are joined with forests; make n-best lists of them first")
    known = [space for space in spaces if not isinstance(space, Forest)]
    lists = [space for space in known if isinstance(space, NBest)]
    if known and len(lists) == len(known):
        return _one_list(lists)
    filled = [space for space in known if isinstance(space, Lattice) or len(space)]
    return union([as_lattice(space) if isinstance(space, NBest) else space for space in filled])


def _one_list(lists: Sequence[NBest]) -> NBest:
    words = lists[0].vocabulary
    names = tuple(dict.fromkeys(name for one in lists for name in one.feature_names))
    sizes = [np.diff(one.offset) for one in lists]
    about: dict[str, Any] = {}
    for one in reversed(lists):
        about |= {key: value for key, value in _about(one).items() if value}
    extras = [_extra(one) for one in lists]
    if any(extra is not None for extra in extras):
        rows = [extra or [""] * len(one) for extra, one in zip(extras, lists, strict=True)]
        about["metadata"] = {**about["metadata"], _EXTRA: [each for row in rows for each in row]}
    featured = any(one.features is not None for one in lists)
    return NBest(
        vocabulary=words,
        label=ints(
            words.add_all(
                word for one in lists for word in map(one.vocabulary.word, one.label.tolist())
            )
        ),
        offset=ints(np.cumsum(np.concatenate([[0], *sizes]))),
        score=floats(np.concatenate([one.score for one in lists])),
        features=vstack([_under(names, one) for one in lists], format="csr") if featured else None,
        feature_names=names,
        **about,
    )


def _under(names: tuple[str, ...], nbest: NBest) -> FeatureMatrix:
    """Return the features of a list in the columns of these names."""
    matrix = nbest.features
    if matrix is None:
        return csr_array((len(nbest), len(names)))
    place = np.array([names.index(name) for name in nbest.feature_names], dtype=np.int32)
    columns = place[matrix.indices]
    return csr_array((matrix.data, columns, matrix.indptr), shape=(len(nbest), len(names)))


def as_lattice(nbest: NBest) -> Lattice:
    """Return a lattice with one path for each entry, which has its score and features.

    The paths share nothing but their two ends; score and features are on the last arc.
    """
    if not len(nbest):
        raise OptionError("an empty list has no lattice")
    arcs: list[tuple[Any, ...]] = []
    states = 2
    for entry in nbest:
        state = 0
        *before, word = entry.tokens or ("",)
        for earlier in before:
            arcs.append((state, states, earlier))
            state, states = states, states + 1
        arcs.append((state, 1, word, entry.score, entry.features))
    return Lattice.from_arcs(
        arcs,
        finals=[1],
        vocabulary=nbest.vocabulary,
        feature_names=nbest.feature_names,
        **_about(nbest),
    )


__all__ = [
    "KBest",
    "Pruned",
    "Rescored",
    "Sampled",
    "Transform",
    "WithReferences",
    "as_lattice",
    "chosen",
    "joined",
    "listed",
    "unchanged",
    "unweighted",
]

#: from one segment to the space to write; picklable, for worker processes
Transform: TypeAlias = Callable[[Segment], Space]


def unchanged(segment: Segment) -> Space:
    """Return the space as it was read."""
    return segment.space


@dataclass(frozen=True)
class WithReferences:
    """Attach references, in place of those the segment has."""

    references: References

    def __call__(self, segment: Segment) -> Space:
        """Return the space with its references."""
        found = self.references.get(segment.id, segment.position)
        return segment.space.replaced(references=found)


@dataclass(frozen=True)
class KBest:
    """The k best paths of a lattice or derivations of a forest, or the k best entries of a list.

    Best first.

    Exact, also for distinct sentences: see :func:`lattices.algorithms.kbest.k_best`. Entries
    with equal scores keep their order.

    Examples
    --------
    >>> arcs = [(0, 1, "a", -1.0), (0, 1, "a", -2.0), (0, 1, "b", -3.0)]
    >>> segment = Segment(0, "", 0, Lattice.from_arcs(arcs, finals=[1]))
    >>> [found.text for found in KBest(2)(segment)]
    ['a', 'a']
    >>> [found.text for found in KBest(2, distinct=True)(segment)]
    ['a', 'b']
    """

    k: int
    distinct: bool = False

    def __call__(self, segment: Segment) -> NBest:
        """Return the list."""
        space = segment.space
        if isinstance(space, Forest):
            return listed_derivations(space, k_best(space, self.k, self.distinct))
        if isinstance(space, Lattice):
            return listed(space, k_best_paths(space, self.k, self.distinct))
        order = np.argsort(-space.score, kind="stable").tolist()
        if self.distinct:
            best: dict[tuple[str, ...], int] = {}
            for entry in order:
                best.setdefault(space.tokens(entry), entry)
            order = list(best.values())
        return chosen(space, order[: self.k])


@dataclass(frozen=True)
class Pruned:
    """A smaller lattice or forest, as :func:`lattices.prune` makes it; or a list within a beam.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -3.0)], finals=[1])
    >>> Pruned(beam=1.0)(Segment(0, "", 0, lattice))
    <Lattice '' of 2 states, 1 arcs>
    """

    beam: float | None = None
    density: float | None = None
    posterior: float | None = None
    scale: float = 1.0

    def __call__(self, segment: Segment) -> Space:
        """Return what is left."""
        space = segment.space
        if not isinstance(space, NBest):
            return prune(
                space,
                beam=self.beam,
                density=self.density,
                posterior=self.posterior,
                scale=self.scale,
            )
        if self.beam is None:
            raise OptionError("n-best lists have no arcs to prune; a beam is what they can have")
        lost = space.score.max(initial=-np.inf) - space.score
        return chosen(space, np.flatnonzero(lost <= self.beam).tolist())


@dataclass(frozen=True)
class Sampled:
    """Random paths, derivations or entries, each drawn in proportion to ``exp(scale * score)``.

    What is drawn for a segment depends on the seed, on the segment's id and on the segment,
    and on nothing else: not on the others, nor on who draws it.

    Examples
    --------
    >>> lattice = Lattice.from_arcs([(0, 1, "a", 0.0), (0, 1, "b", 0.0)], finals=[1], id="s1")
    >>> segment = Segment(7, "", 0, lattice)
    >>> len({found.text for found in Sampled(100)(segment)})
    2
    """

    n: int
    seed: int = 0
    scale: float = 1.0

    def __call__(self, segment: Segment) -> NBest:
        """Return the list, in the order of drawing."""
        space, rng = segment.space, _generator(self.seed, segment.id)
        if isinstance(space, Forest):
            return listed_derivations(space, sample(space, self.n, rng, self.scale))
        if isinstance(space, Lattice):
            return listed(space, sample_paths(space, self.n, rng, self.scale))
        if not len(space):
            raise OptionError("nothing can be drawn from an empty list")
        weights = np.exp(self.scale * space.score - (self.scale * space.score).max())
        return chosen(space, rng.choice(len(space), self.n, p=weights / weights.sum()).tolist())


def _generator(seed: int, name: str) -> np.random.Generator:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])


@dataclass(frozen=True)
class Rescored:
    """The space with the scores that weights give it, and perhaps something made of that.

    Every score becomes ``features @ weights``; what it was before is gone. Paths, entries and
    their order stay.

    Attributes
    ----------
    weights : mapping of str to float
        Of the features, by name; names that the space does not have are no harm.
    missing : {"error", "zero"}
        What a feature without a weight is: a fault of this segment, or worth nothing.
    then : Transform, optional
        What to do with the space afterwards, such as :class:`KBest`.

    Examples
    --------
    >>> arcs = [(0, 1, "a", -1.0, {"lm": -3.0}), (0, 1, "b", -2.0, {"lm": -1.0, "tm": 2.0})]
    >>> segment = Segment(0, "", 0, Lattice.from_arcs(arcs, finals=[1]))
    >>> Rescored({"lm": 0.5, "tm": 1.0})(segment).score.tolist()
    [-1.5, 1.5]
    >>> found, = Rescored({"lm": 0.5}, "zero", KBest(1))(segment)
    >>> found.text, found.score
    ('b', -0.5)
    """

    weights: Mapping[str, float]
    missing: str = "error"
    then: Transform | None = None

    def __post_init__(self) -> None:
        """Refuse another way to deal with what is missing."""
        if self.missing not in ("error", "zero"):
            raise OptionError(f"missing is error or zero, not {self.missing!r}")

    def __call__(self, segment: Segment) -> Space:
        """Return what becomes of the space."""
        space, weights = segment.space, self.weights
        if self.missing == "zero":
            weights = {**dict.fromkeys(space.feature_names, 0.0), **weights}
        rescored = space.reweighted(weights)
        return rescored if self.then is None else self.then(replace(segment, space=rescored))


def unweighted(space: Space, weights: Mapping[str, float]) -> tuple[str, ...]:
    """Return the features of a space that have no weight, in their order.

    Examples
    --------
    >>> arcs = [(0, 1, "a", 0.0, {"lm": 1.0, "tm": 2.0})]
    >>> unweighted(Lattice.from_arcs(arcs, finals=[1]), {"tm": 1.0})
    ('lm',)
    """
    return tuple(name for name in space.feature_names if name not in weights)
