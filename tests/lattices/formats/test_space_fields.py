"""Segments as fields: whatever the encoding, all of it comes back, and what cannot is a loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lattices.errors import FormatError
from lattices.formats import FORMATS, Format, LossWarning, read, write
from lattices.formats.space_fields import FIELDS, HEIGHTS, JSON_KEYS, KINDS, MATRICES, NEEDED
from lattices.spaces import Hypothesis, Lattice, NBest, Space
from lattices.testing import check_format, sample_forests, sample_lattices, sample_nbests
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import packed, parts, read_bytes, written
from tests.lattices.forests import chain, real_forests, small_forests
from tests.strategies import small_lattices

pytest.importorskip("pyarrow")

ENCODINGS = pytest.mark.parametrize(
    "fmt", [FORMATS.get(name) for name in ("jsonl", "arrow", "parquet")], ids=lambda fmt: fmt.name
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
WORDS = st.lists(TEXT.filter(bool), min_size=1, max_size=4, unique=True)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
KEYS = TEXT.filter(lambda key: all(key not in keys for keys in JSON_KEYS.values()))


@st.composite
def rich_lattices(draw: st.DrawFn) -> Lattice:
    bare = draw(small_lattices(words=draw(WORDS), exact=False))
    times = draw(st.none() | st.lists(NUMBERS, min_size=bare.num_states, max_size=bare.num_states))
    return Lattice(
        bare.vocabulary,
        bare.src,
        bare.dst,
        bare.label,
        np.array(draw(st.lists(NUMBERS, min_size=bare.num_arcs, max_size=bare.num_arcs))),
        bare.final,
        bare.start,
        bare.features,
        bare.final_features,
        bare.feature_names,
        None if times is None else np.array(times),
        draw(TEXT.filter(bool)),
        draw(TEXT),
        tuple(draw(st.lists(TEXT | st.just(bare), max_size=3))),
        draw(st.dictionaries(KEYS, TEXT | NUMBERS | st.lists(st.booleans()), max_size=2)),
    )


HYPOTHESES = st.builds(
    Hypothesis,
    st.lists(TEXT.filter(bool), max_size=3).map(tuple),
    NUMBERS,
    st.dictionaries(TEXT, NUMBERS.filter(bool), max_size=3),
)
NBESTS = st.builds(
    lambda entries, names, name: NBest.from_hypotheses(
        entries, feature_names=names, id=name, source="s", references=["r"], metadata={"k": [1]}
    ),
    st.lists(HYPOTHESES, max_size=4),
    st.lists(TEXT, unique=True, max_size=3),
    TEXT.filter(bool),
)
FORESTS = small_forests(words=["the", "new york", "日本", "|||", "[1]", "0"], rich=True)
CORPORA: st.SearchStrategy[list[Space]] = st.lists(
    rich_lattices() | NBESTS | FORESTS, min_size=1, max_size=5, unique_by=lambda space: space.id
)


@ENCODINGS
def test_laws(fmt: Format) -> None:
    check_format(fmt)
    check_format(fmt, sample_forests())
    assert FORMATS.get(fmt.name) is fmt


@ENCODINGS
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spaces=CORPORA)
def test_everything_comes_back_exactly(tmp_path: Path, fmt: Format, spaces: list[Space]) -> None:
    data = written(fmt, *spaces)
    expected = [parts(space) for space in spaces]
    assert [parts(one) for one in read_bytes(tmp_path, data, fmt.name)] == expected
    assert [parts(one) for one in read_bytes(tmp_path, packed(data), None)] == expected


@ENCODINGS
@pytest.mark.parametrize("name", ["d10", "urdu", "0", "small", "perro"])
def test_real_forests_come_back(shared_data: Path, tmp_path: Path, fmt: Format, name: str) -> None:
    forests = [*real_forests(shared_data, name)[:40], chain(20_000)]
    write(tmp_path / "x", forests, fmt)
    for one, other in zip(read(tmp_path / "x", fmt), forests, strict=True):
        same, expected = parts(one), parts(other)
        assert same == expected


@ENCODINGS
def test_deep_forests(tmp_path: Path, fmt: Format) -> None:
    write(tmp_path / "x", [chain(20_000)], fmt)
    (found,) = read(tmp_path / "x", fmt)
    same, expected = parts(found), parts(chain(20_000).replaced(id=found.id))
    assert same == expected


@ENCODINGS
def test_the_bytes_do_not_depend_on_what_was_read_before(tmp_path: Path, fmt: Format) -> None:
    """Segments share the vocabulary of a batch, and batches are as large as time allows."""
    vocabulary = Vocabulary()
    vocabulary.add_all(["hat", "the", "cat"])
    found = set()
    for known in (Vocabulary(), vocabulary):
        arcs = [(0, 1, "the"), (0, 1, "a"), (1, 2, "cat"), (1, 2, "hat")]
        space = Lattice.from_arcs(arcs, finals=[2], id="x", vocabulary=known)
        write(tmp_path / "x", [space], fmt)
        found.add((tmp_path / "x").read_bytes())
    assert len(found) == 1


@ENCODINGS
def test_ids(tmp_path: Path, fmt: Format) -> None:
    lattice = sample_lattices()[1]
    path = tmp_path / "x"
    write(path, [lattice.replaced(id=name) for name in ("a", "", "a", "b")], fmt)
    found: list[FormatError] = []
    assert [space.id for space in read(path, fmt, on_error=found.append)] == ["a", "1", "b"]
    (problem,) = map(str, found)
    assert "the id is that of " in problem


@ENCODINGS
def test_one_vocabulary_for_all_files(tmp_path: Path, fmt: Format) -> None:
    for name, words in (("1", "a b"), ("2", "b c")):
        arcs = [(place, place + 1, word) for place, word in enumerate(words.split())]
        write(tmp_path / name, [Lattice.from_arcs(arcs, [2], id=name)], fmt)
    known = Vocabulary(["z", "c"])
    spaces = list(read(tmp_path, fmt, known))
    assert [space.vocabulary is known for space in spaces] == [True, True]
    assert list(known) == ["z", "c", "a", "b"]
    assert [parts(space)["words"] for space in spaces] == [["a", "b"], ["b", "c"]]


@ENCODINGS
@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_held_is_a_loss(tmp_path: Path, fmt: Format, kind: str) -> None:
    of_kind: dict[str, Any] = {
        "lattice": sample_lattices()[1], "nbest": sample_nbests()[0], "forest": sample_forests()[1],
    }  # fmt: skip
    space: Space = of_kind[kind]
    for name, value in {"x": object(), "y": float("nan"), "z": np.float32(1), 1: 2}.items():
        odd = space.replaced(metadata={name: value, "kept": [1]})
        with pytest.raises(FormatError, match=f"cannot hold the metadata {name!r} of segment"):
            write(tmp_path / "x", [odd], fmt)
        assert not list(tmp_path.iterdir())
        with pytest.warns(LossWarning, match=f"metadata {name!r}"):
            write(tmp_path / "x", [odd], fmt, lossy=True)
        (back,) = read(tmp_path / "x", fmt)
        assert dict(back.metadata) == {"kept": [1]}
        (tmp_path / "x").unlink()
    odd = space.replaced(references=["a", ("b", "c")])
    with pytest.raises(FormatError, match="references of type tuple"):
        write(tmp_path / "x", [odd], fmt)
    with pytest.warns(LossWarning, match="references of type tuple"):
        write(tmp_path / "x", [odd], fmt, lossy=True)
    (back,) = read(tmp_path / "x", fmt)
    assert back.references == ("a",)
    for name in ("id", "source"):
        with pytest.raises(FormatError, match=r"is no Unicode text|ends with half of a surrogate"):
            write(tmp_path / "x", [space.replaced(**{name: "\ud800"})], fmt)


def test_the_documentation_names_every_field() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    named = page[page.index("\n## Arrow and Parquet\n") : page.index("\n## HTK lattices\n")]
    missing = [field.name for field in FIELDS if f"`{field.name}`" not in named]
    assert missing == ["final_feature_index", "final_feature_value"]  # "likewise"


def test_the_model_agrees_with_itself() -> None:
    names = [field.name for field in FIELDS]
    assert len(set(names)) == len(names)
    assert {part for some in MATRICES.values() for part in some} <= set(names)
    assert HEIGHTS.keys() == MATRICES.keys()
    assert all("label" in some and "score" in some for some in NEEDED.values())
