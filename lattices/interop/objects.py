"""One door for objects of other libraries: which of the ``from_*`` functions takes them.

Nothing is imported to find out: objects are known by what they have.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, NamedTuple

from lattices.errors import SpaceError
from lattices.formats.lists.recognisers import ALTERNATIVES, PARTS, get, get_text
from lattices.spaces import Hypothesis, Lattice, NBest, Space

#: fields of what holds the hypotheses of one segment
_HOLDERS = (
    "n_best_hypotheses", "outputs", "choices", "hypotheses", "sequences", *ALTERNATIVES, *PARTS,
)  # fmt: skip


class _Door(NamedTuple):
    name: str
    takes: str
    fits: Callable[[Any], bool]


def _has(thing: Any, *names: str) -> bool:
    return all(hasattr(thing, name) for name in names)


def _is_fst(thing: Any) -> bool:
    # whole numbers have to_bytes, too
    return _has(thing, "write_to_string") or _has(thing, "to_bytes", "set_output_symbols")


def _is_list(thing: Any) -> bool:
    """Tell whether something holds hypotheses, of whatever kind."""
    if isinstance(thing, str | Generator):
        return True
    if isinstance(thing, list | tuple):
        first = thing[0] if thing else None
        # a list of numbers, or of rows (a matrix, several segments), holds no hypotheses
        kinds = (str, tuple, Mapping, Hypothesis, Generator)
        return isinstance(first, kinds) or hasattr(first, "__dict__")
    return get_text(thing) is not None or get(thing, *_HOLDERS) is not None


#: in the order in which they are asked
_DOORS = (
    _Door(
        "from_pocketsphinx",
        "a decoder of PocketSphinx or its lattice",
        lambda thing: _has(thing, "get_lattice") or _has(thing, "write_htk"),
    ),
    _Door("from_k2", "an Fsa of k2", lambda thing: _has(thing, "arcs", "labels", "scores")),
    _Door("from_fst", "an FST of pynini, pywrapfst or rustfst", _is_fst),
    _Door(
        "from_kaldi",
        "a lattice of kaldifst or PyKaldi",
        lambda thing: _has(thing, "write", "start", "num_states"),
    ),
    _Door(
        "from_networkx",
        "a directed graph of networkx",
        lambda thing: _has(thing, "nodes", "edges", "is_directed"),
    ),
    _Door(
        "from_arrow",
        "a table of pyarrow, or a data frame",
        lambda thing: (
            _has(thing, "to_batches")
            or _has(thing, "__arrow_c_stream__")
            or _has(thing, "__arrow_c_array__")
            or _has(thing, "__dataframe__")
        ),
    ),
    _Door(
        "from_generate",
        "an output of generate()",
        lambda thing: (
            _has(thing, "sequences") and (_has(thing, "sequences_scores") or _has(thing, "logits"))
        ),
    ),
    _Door("from_hypotheses", "the hypotheses of one segment", _is_list),
)


def from_object(
    thing: Any, *args: Any, **options: Any
) -> Space | list[NBest] | list[Lattice] | Iterator[Space]:
    """Return what a decoder's object says, by the function that takes objects of its kind.

    ===================  ==================================================================
    function             objects
    ===================  ==================================================================
    from_pocketsphinx    a decoder of PocketSphinx, or its lattice
    from_k2              an ``Fsa`` of k2
    from_fst             an FST of pynini, pywrapfst or rustfst
    from_kaldi           a lattice of kaldifst or PyKaldi
    from_networkx        a directed graph of networkx
    from_arrow           a table of pyarrow, or a data frame: iterates over its segments
    from_generate        an output of ``model.generate()``: a list for each input
    from_hypotheses      the hypotheses of one segment, as :func:`from_hypotheses` lists them
    ===================  ==================================================================

    Parameters
    ----------
    thing
        The object.
    *args, **options
        Of the function, such as ``vocabulary``, ``symbols`` or the tokenizer.

    Raises
    ------
    SpaceError
        If none of them takes it, or what that function raises.

    See Also
    --------
    from_rows : rows of a data set.
    from_posteriors : the matrix of a CTC model.

    Examples
    --------
    >>> from_object([("a cat", -0.5), ("the cat", -1.5)], id="utterance-1")
    <NBest 'utterance-1' of 2 hypotheses>
    >>> from_object(3.5)
    Traceback (most recent call last):
    lattices.errors.SpaceError: a float is none of: a decoder of PocketSphinx or its lattice ...
    """
    import lattices

    for door in _DOORS:
        if door.fits(thing):
            found: Space | list[NBest] | list[Lattice] | Iterator[Space]
            found = getattr(lattices, door.name)(thing, *args, **options)
            return found
    kind = type(thing)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    known = ", ".join(f"{door.takes} ({door.name})" for door in _DOORS)
    raise SpaceError(f"a {name} is none of: {known}")
