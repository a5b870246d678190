"""Matches of patterns: where a phrase is in a space, and how probably it is there at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from lattices import _native
from lattices.algorithms.expansion import to_lattice
from lattices.algorithms.posteriors import posteriors
from lattices.arrays import IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.intersection.engine import explain_too_large
from lattices.intersection.patterns import Pattern
from lattices.intersection.rows import forest_row_product
from lattices.limits import Limits
from lattices.spaces import Forest, Space
from lattices.spaces.arguments import SPACE, takes

#: pairs of a node and a matrix that the search of a forest may make
MOST_PAIRS = 1_000_000


class Occurrence(NamedTuple):
    """A place where sentences have a match of a pattern.

    Attributes
    ----------
    posterior : float
        The probability that the sentence has a match here.
    begin, end : float or None
        When the matches begin and end, in seconds, on average; None where the space has no times.
    place : float
        How many words stand before them, on average.
    words : tuple of str
        What the most probable of them says.
    """

    posterior: float
    begin: float | None
    end: float | None
    place: float
    words: tuple[str, ...]


class Matches(NamedTuple):
    """What was found of a pattern in a space.

    Attributes
    ----------
    posterior : float
        The probability that the sentence has a match.
    occurrences : tuple of Occurrence
        The most probable first; of a forest none.
    ending : int column
        For each arc of a lattice the occurrence of which a match ends with it, -1 for none; of a
        list, those of :func:`lattices.to_lattice`.
    """

    posterior: float
    occurrences: tuple[Occurrence, ...]
    ending: IntColumn | None = None


@takes(space=SPACE)
def find(
    space: Space, pattern: str | Pattern, scale: float = 1.0, threshold: float = 0.0
) -> Matches:
    r"""Return how probably a sentence has a phrase, and where.

    The pattern is compiled to a deterministic automaton over classes of words and intersected with
    the space, so that each path or entry counts once, however often it has a match:

    .. math:: p(\text{match}) = \sum_{e \text{ has a match}} p(e), \qquad
        p(e) = \frac{\exp(\mathit{scale} \cdot \mathit{score}(e))}
                    {\sum_{e'} \exp(\mathit{scale} \cdot \mathit{score}(e'))}

    A place where a match ends belongs to an *occurrence*; of the matches that end there the
    shortest counts. Those that overlap by at least half of the shorter one are one occurrence,
    whose posterior is the probability that the sentence has at least one of them: exact as well, so
    never above one, and never the sum of what overlaps. Times are those of a lattice's states; the
    words of a list, and of a lattice without times, are compared by their places. Of a forest
    only the posterior is found: its words have no times.

    Cost: O(arcs x states of the automaton) for the posterior, and again for each occurrence of
    several ends; from each end back to where its matches begin. Of a forest, the product with rows.

    Parameters
    ----------
    space : Lattice, Forest or NBest
    pattern : str or Pattern
        See :class:`~lattices.intersection.patterns.Pattern`.
    scale : float
        What scores are multiplied by before they become probabilities.
    threshold : float
        Occurrences of a smaller posterior are left out.

    Raises
    ------
    OptionError
        If the text is no pattern.
    SpaceError
        If the lattice has no complete path, or the list no entry.

    References
    ----------
    D. Can and M. Saraclar. Lattice indexing for spoken term detection. IEEE TASLP 19(8), 2011.
    (Its index adds the posteriors of paths that have a term; here they are those of one lattice.)

    Examples
    --------
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "half"), (0, 1, "have"), (1, 2, "past"), (2, 3, "seven"), (2, 3, "eleven")],
    ...     finals=[3], times=[0.0, 0.3, 0.6, 1.0],
    ... )
    >>> found = find(lattice, "half past (seven|eight)")
    >>> found.posterior, [(one.begin, one.end, one.words) for one in found.occurrences]
    (0.25, [(0.0, 1.0, ('half', 'past', 'seven'))])
    >>> [one.posterior for one in find_all(lattice, ["/.*ve/", "past", "noon"])]
    [0.5, 1.0, 0.0]
    """
    return find_all(space, [pattern], scale, threshold)[0]


@takes(space=SPACE)
def find_all(
    space: Space,
    patterns: Iterable[str | Pattern],
    scale: float = 1.0,
    threshold: float = 0.0,
) -> list[Matches]:
    """Return what :func:`find` does of each of some patterns, in one pass over the space."""
    if isinstance(patterns, str | Pattern):
        raise OptionError(f"find_all: patterns are a list, not one: [{patterns!r:.60}]?")
    given = [each if isinstance(each, Pattern) else Pattern(each) for each in patterns]
    if not 0.0 <= threshold <= 1.0:
        raise OptionError(f"threshold={threshold!r}, expected a probability")
    if isinstance(space, Forest):
        return [Matches(_forest_posterior(space, each, scale), ()) for each in given]
    return _find_in_lattice(space, given, scale, threshold)


def _find_in_lattice(
    space: Space, patterns: Sequence[Pattern], scale: float, threshold: float
) -> list[Matches]:
    lattice = to_lattice(space)
    compiled = [each.compile(lattice.vocabulary) for each in patterns]
    label, timed = lattice.label, lattice.times is not None
    times = floats([]) if lattice.times is None else lattice.times
    result = []
    found = _native.find_matches(lattice.columns, compiled, times, float(scale), float(threshold))
    for posterior, probability, begin, end, before, arcs, offset, ending in found:
        order = np.argsort(-probability, kind="stable")
        number = np.full(len(order) + 1, -1, np.int32)
        number[order] = np.arange(len(order))
        occurrences = tuple(
            Occurrence(
                float(probability[at]),
                float(begin[at]) if timed else None,
                float(end[at]) if timed else None,
                float(before[at]),
                lattice.vocabulary.decode(label[arcs[offset[at] : offset[at + 1]]].tolist()),
            )
            for at in order.tolist()
        )
        result.append(Matches(posterior, occurrences, ints(number[ending])))
    return result


def _forest_posterior(forest: Forest, pattern: Pattern, scale: float) -> float:
    """Return the mean of what the pattern's automaton gains: 1 where there is a match."""
    found = forest_row_product(forest, pattern.automaton(forest.vocabulary), Limits(MOST_PAIRS))
    if found is None:
        raise explain_too_large(
            forest, f"its product with the pattern takes more than {MOST_PAIRS} pairs"
        )
    graph = found.graph
    product = Forest(
        vocabulary=forest.vocabulary,
        head=graph.head,
        tail=graph.tail,
        tail_offset=graph.tail_offset,
        symbol=graph.symbol,
        symbol_offset=graph.symbol_offset,
        score=graph.score,
        num_nodes=found.pairs,
        root=graph.root,
        id=forest.id,
    )
    return min(1.0, float(posteriors(product, scale).edges @ graph.gain))
