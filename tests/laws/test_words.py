"""Words of pieces: the sentences, scores, features and times of lattices, by enumeration."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices import Hypothesis, Lattice, NBest, OptionError, to_words
from tests.strategies import small_lattices

#: for every convention, pieces, and the words of a sentence of them by replacing in its text
CONVENTIONS: dict[str, tuple[list[str], Any]] = {
    "▁": (["▁a", "b", "▁", "c▁d"], lambda pieces: _joined(pieces, "▁", " ", "c▁d")),
    "Ġ": (["Ġa", "b", "Ġ", "Ã©"], lambda pieces: "".join(pieces).replace("Ã©", "é").split("Ġ")),
    "@@": (
        ["a", "b@@", "c@@", "d"],
        lambda pieces: f"{' '.join(pieces)} ".replace("@@ ", "").split(),
    ),
    "##": (["a", "##b", "c", "##d"], lambda pieces: _wordpieces(pieces)),
    " ": (["a", "b", " ", "é"], lambda pieces: "".join(pieces).split(" ")),
    "|": (["a", "b", "|", " "], lambda pieces: "".join(pieces).split("|")),
}  # fmt: skip


def _joined(pieces: tuple[str, ...], mark: str, space: str, whole: str) -> list[str]:
    # a mark within a piece is a letter
    text = "".join("c_d" if piece == whole else piece for piece in pieces)
    return text.replace(mark, space).replace("_", mark).split(space)


def _wordpieces(pieces: tuple[str, ...]) -> list[str]:
    return " ".join(pieces).replace(" ##", "").removeprefix("##").split(" ")


def spoken(pieces: tuple[str, ...], boundary: str) -> tuple[str, ...]:
    return tuple(word for word in CONVENTIONS[boundary][1](pieces) if word)


def of_pieces(lattice: Lattice, pieces: list[str]) -> Lattice:
    """Return a lattice over the words a, b, c and d with pieces in their places."""
    names = dict(zip("abcd", pieces, strict=True))
    words = [names.get(word, word) for word in lattice.vocabulary]
    rows = zip(lattice.src, lattice.dst, lattice.label, lattice.score, strict=True)
    return Lattice.from_arcs(
        [(int(s), int(d), ["", *words][w], float(x), {"f": float(x) * 2}) for s, d, w, x in rows],
        {int(state): float(lattice.final[state]) for state in lattice.finals},
        states=lattice.num_states,
        start=lattice.start,
        times=[float(state) for state in range(lattice.num_states)],
        id="u",
    )


@pytest.mark.parametrize("boundary", CONVENTIONS)
@given(lattice=small_lattices(features=False, exact=True))
def test_lattices(boundary: str, lattice: Lattice) -> None:
    pieces = of_pieces(lattice, CONVENTIONS[boundary][0])
    found = to_words(pieces, boundary)
    expected = sorted(
        (spoken(path.tokens, boundary), path.score, path.features.get("f", 0.0))
        for path in pieces.paths()
    )
    ours = [
        (path.tokens, path.score, path.features.get("f", 0.0), path.arcs) for path in found.paths()
    ]
    assert sorted(each[:3] for each in ours) == expected
    assert found.id == "u"
    # every state stands where it stood
    assert found.times is not None
    assert pieces.times is not None
    ends = {float(pieces.times[state]) for state in pieces.finals}
    for *_, arcs in ours:
        times = [0.0, *(float(found.times[found.dst[arc]]) for arc in arcs)]
        assert times[-1] in ends or not arcs
        assert times == sorted(times)


@pytest.mark.parametrize("boundary", CONVENTIONS)
@given(data=st.data())
def test_lists(boundary: str, data: st.DataObject) -> None:
    pieces = st.lists(st.sampled_from(CONVENTIONS[boundary][0]), max_size=6).map(tuple)
    entries = [Hypothesis(each, -1.0, {"f": 2.0}) for each in data.draw(st.lists(pieces))]
    found = to_words(NBest.from_hypotheses(entries, id="u"), boundary)
    assert [each.tokens for each in found] == [spoken(each.tokens, boundary) for each in entries]
    assert [(each.score, each.features) for each in found] == [(-1.0, {"f": 2.0})] * len(entries)


def test_words_stand_where_they_end() -> None:
    arcs = [(0, 1, "▁the"), (1, 2, ""), (2, 3, "▁c"), (3, 4, "at"), (4, 5, "▁sat")]
    lattice = Lattice.from_arcs(arcs, [5], times=[0.0, 0.5, 0.75, 1.0, 1.5, 2.0])
    found = to_words(lattice)
    assert found.times is not None
    spoken = {
        found.vocabulary.word(label): (found.times[src], found.times[dst])
        for src, dst, label in zip(found.src, found.dst, found.label, strict=True)
        if label
    }
    assert spoken == {"the": (0.0, 0.5), "cat": (1.0, 1.5), "sat": (1.5, 2.0)}


def test_no_boundary() -> None:
    with pytest.raises(OptionError, match="empty boundary"):
        to_words(Lattice.from_arcs([], [0]), "")
