"""N-best lists: made of paths, drawn, joined, and reranked by weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from lattices.arrays import floats, ints
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice, NBest, Space
from lattices.spaces.arguments import NBEST, check_filled, takes
from lattices.spaces.features import Weights, make_rows, reorder_rows, widen_rows

#: metadata with one entry a hypothesis: what Moses writes behind the score
_EXTRA = "extra"


def choose_entries(nbest: NBest, entries: Sequence[int]) -> NBest:
    """Return entries of a list by index, in this order; indices may repeat.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses([Hypothesis(("a", "cat"), -1.0), Hypothesis(("b",), -3.0)])
    >>> [found.text for found in choose_entries(nbest, [1, 0, 1])]
    ['b', 'a cat', 'b']
    """
    bounds, places = nbest.offset.tolist(), np.asarray(entries, dtype=np.int64)
    rows = [nbest.label[bounds[entry] : bounds[entry + 1]] for entry in entries]
    about = nbest.about
    features, extra = make_rows(nbest), _extra(nbest)
    if extra is not None:
        about["metadata"] = {**nbest.metadata, _EXTRA: [extra[entry] for entry in entries]}
    return NBest(
        vocabulary=nbest.vocabulary,
        label=ints(np.concatenate([np.empty(0, np.int32), *rows])),
        offset=ints(np.cumsum([0, *map(len, rows)])),
        score=nbest.score[places],
        features=None if features is None else reorder_rows(features, ints(places)),
        feature_names=nbest.feature_names,
        **about,
    )


def _extra(nbest: NBest) -> list[Any] | None:
    found = nbest.metadata.get(_EXTRA)
    return found if isinstance(found, list) and len(found) == len(nbest) else None


@overload
def join_spaces(spaces: Sequence[NBest]) -> NBest: ...
@overload
def join_spaces(spaces: Sequence[Space]) -> Space: ...
def join_spaces(spaces: Sequence[Space]) -> Space:
    """Return what several systems said about one segment as one space.

    Lattices become the union of their paths (see :func:`lattices.union`), lists one list with all
    entries, one system's after the other's.
    """
    if len(spaces) == 1:
        return spaces[0]
    from lattices.algorithms import to_lattice, union

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
    return union([to_lattice(space) for space in filled])


def _one_list(lists: Sequence[NBest]) -> NBest:
    words = lists[0].vocabulary
    names = tuple(dict.fromkeys(name for one in lists for name in one.feature_names))
    sizes = [np.diff(one.offset) for one in lists]
    about: dict[str, Any] = {}
    for one in reversed(lists):
        about |= {key: value for key, value in one.about.items() if value}
    extras = [_extra(one) for one in lists]
    if any(extra is not None for extra in extras):
        columns = [extra or [""] * len(one) for extra, one in zip(extras, lists, strict=True)]
        about["metadata"] = {**about["metadata"], _EXTRA: [each for one in columns for each in one]}
    features = None
    if any(make_rows(one) is not None for one in lists):
        place = {name: column for column, name in enumerate(names)}
        rows = [widen_rows(one.features, one.feature_names, place, len(one)) for one in lists]
        from scipy.sparse import vstack

        features = vstack(rows, format="csr")
    return NBest(
        vocabulary=words,
        label=ints(
            words.add_all(
                word for one in lists for word in map(one.vocabulary.word, one.label.tolist())
            )
        ),
        offset=ints(np.cumsum(np.concatenate([[0], *sizes]))),
        score=floats(np.concatenate([one.score for one in lists])),
        features=features,
        feature_names=names,
        **about,
    )


def draw(space: Space, count: int, seed: int = 0, scale: float = 1.0) -> NBest:
    """Return random paths, derivations or entries, drawn in proportion to ``exp(scale * score)``.

    What is drawn depends on the seed, on the id of the space and on the space, and on nothing
    else: not on other segments, nor on who draws.
    """
    import hashlib

    digest = hashlib.sha256(space.id.encode("utf-8", "surrogatepass")).digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest, "big")])
    if not isinstance(space, NBest):
        from lattices.algorithms import sample_paths
        from lattices.algorithms.kbest import list_of_paths

        return list_of_paths(space, sample_paths(space, count, rng, scale))
    check_filled([space])
    weights = np.exp(scale * space.score - (scale * space.score).max())
    return choose_entries(space, rng.choice(len(space), count, p=weights / weights.sum()).tolist())


@takes(nbest=NBEST)
def rerank(nbest: NBest, weights: Weights) -> NBest:
    """Return the list scored by ``features @ weights``, best first; equals keep their order.

    Examples
    --------
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": -2.0}), Hypothesis(("b",), -1.0, {"lm": -1.0})]
    ... )
    >>> [(found.text, found.score) for found in rerank(nbest, {"lm": 0.5})]
    [('b', -0.5), ('a', -1.0)]
    """
    scored = nbest.reweighted(weights)
    return choose_entries(scored, np.argsort(-scored.score, kind="stable").tolist())
