"""SRILM's word meshes, and what confusion networks of all formats share."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.errors import FormatError, OptionError
from lattices.formats import FORMATS, LossWarning, formats, parse_record, read, write
from lattices.formats.base import Unsupported
from lattices.formats.confusion.mesh import FORMAT
from lattices.spaces import Lattice, Space
from lattices.testing import check_format, sample_forests, sample_lattices, sample_nbests, sentences
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import problems, read_bytes, structure, written
from tests.lattices.formats.parsing import parser
from tests.strategies import small_lattices

SMALL = """\
name utt1
numaligns 3
posterior 1
align 0 hello 0.9 yellow 0.1
reference 0 hello
hyps 0 hello 0 1 2
info 0 hello 0.1 0.4 -120.5 -3.25 hh:ah:l:ow 1:2:3:4
align 2 *DELETE* 1 there 0
posterior 2 0.98
transposterior 2 0.97
reference 2 there
info 2 there 0.9 0.3 0 0 : :
align 1 world 7e-01 *DELETE* 3e-1
reference 1 *DELETE*
info 1 world 0.5 0.4 -20 -1 : :
info 1 word 0.45 0 0 0 : :
"""


def confusion_networks() -> list[Lattice]:
    words = Vocabulary()
    arcs = [
        (0, 1, "the", -0.1),
        (0, 1, "a", -2.0),
        (1, 2, "naïve", -0.5),
        (1, 2, "", -1.0),
        (2, 3, "日本語", 0.0),
    ]
    return [
        Lattice.from_arcs(arcs, [3], vocabulary=words, id="first"),
        Lattice.from_arcs([(0, 1, "yes", 0.25)], [1], vocabulary=words, id="second-1.2"),
        Lattice.from_arcs([], [0], vocabulary=words, id="nothing"),
    ]


@st.composite
def networks(draw: st.DrawFn, words: str = "abcd") -> Lattice:
    """Draw a confusion network whose slots have each word once."""
    labels = st.lists(st.sampled_from([*words, ""]), min_size=1, unique=True)
    scores = st.floats(-60.0, 3.0)
    arcs = [
        (slot, slot + 1, word, draw(scores))
        for slot, some in enumerate(draw(st.lists(labels, max_size=4)))
        for word in some
    ]
    last = arcs[-1][1] if arcs else 0
    return Lattice.from_arcs(arcs, [last], id=draw(st.sampled_from(["x", "utt-1.a"])))


parsed = parser(FORMAT, Lattice, "dir/file.mesh")


def files_of_other_formats(own: str) -> Iterator[tuple[str, bytes]]:
    """Iterate over what all other formats write."""
    for info in formats():
        # files of Kaldi's scripts name others, and need an option to be written
        if info.name == own or info.access != "read, write" or info.name == "kaldi-scp":
            continue
        fmt = FORMATS.get(info.name)
        samples: dict[str, Space] = {"nbest": sample_nbests()[0], "forest": sample_forests()[0]}
        space = samples.get(fmt.kind, sample_lattices()[0])
        if info.name in ("mesh", "sausages"):
            space = confusion_networks()[0]
        yield info.name, written(fmt, space)


def test_laws() -> None:
    check_format(FORMAT, confusion_networks())


def test_files_are_told_from_those_of_others(tmp_path: Path) -> None:
    own = written(FORMAT, *confusion_networks())
    for name, data in files_of_other_formats("mesh"):
        assert not FORMAT.sniff(data[:4096]), name
        assert not FORMATS.get(name).sniff(own[:4096]), name
    assert [space.id for space in read_bytes(tmp_path, own, None)] == [
        "first",
        "second-1.2",
        "nothing",
    ]
    assert not FORMAT.sniff(b"name x\nnodes 3 NULL a b\n")
    assert not FORMAT.sniff(b"version 2\nname x\ninitial 0\n")
    assert FORMAT.sniff(b"## made by hand\n\nnumaligns 2\n")


def test_the_lines_of_a_mesh() -> None:
    lattice = parsed(SMALL)
    assert lattice.id == "utt1"
    assert structure(lattice)["src"] == [0, 0, 1, 1, 2]
    assert structure(lattice)["dst"] == [1, 1, 2, 2, 3]
    assert structure(lattice)["words"] == ["hello", "yellow", "world", "", ""]
    assert lattice.score.tolist() == pytest.approx([math.log(p) for p in (0.9, 0.1, 0.7, 0.3, 1)])
    assert lattice.references == ("hello there",)
    assert lattice.times is not None
    assert lattice.times.tolist() == pytest.approx([0.1, 0.5, 0.9, 1.2])
    assert lattice.metadata == {}
    best = max(lattice.paths(), key=lambda path: path.score)
    assert best.text == "hello world"
    assert best.score == pytest.approx(math.log(0.9 * 0.7))


def test_names_masses_and_times() -> None:
    text = "numaligns 1\nposterior 0.5\nalign 0 a 0.5\ntime 0 2.5\n"
    lattice = parsed(text)
    assert lattice.id == "file"
    assert lattice.metadata == {"posterior": 0.5}
    # without an end there is no time for the last state
    assert lattice.times is None
    timed = parsed(text + "info 0 a 2.75 0.25 0 0 : :\n")
    assert timed.times is not None
    assert timed.times.tolist() == [2.5, 3.0]
    # SRILM takes a duration of 0 for times that are not known
    assert parsed("numaligns 1\nalign 0 a 1\ninfo 0 a 2.75 0 0 0 : :\n").times is None
    backwards = parsed(text.replace("time 0 2.5", "time 0 9") + "info 0 a 2 1 0 0 : :\n")
    assert backwards.times is None
    assert b"posterior 0.5\n" in written(FORMAT, lattice)


def test_alternatives_of_probability_zero() -> None:
    with pytest.raises(FormatError, match=r"file.mesh:8: probability 0, which no path can take"):
        parsed(SMALL, zeros="error")
    with pytest.raises(OptionError, match="zeros is one of drop, error, not 'keep'"):
        parsed(SMALL, zeros="keep")
    with pytest.raises(FormatError, match=r"file.mesh:2: slot 0 has no alternative above 0"):
        parsed("numaligns 1\nalign 0 a 0 b 0.0\n")


def test_several_meshes(tmp_path: Path) -> None:
    data = (
        "\ufeffnumaligns 1\r\nalign 0 a 1\r\n\r\n## a comment\r\nname b c\r\nnumaligns 1\r\n"
        "align 0 x\u00a0y 1\r\nnumaligns 0\r\n"
    ).encode()
    found = read_bytes(tmp_path, data, None, "lone.mesh")
    assert [space.id for space in found] == ["lone", "b c", "lone-2"]
    assert [list(sentences(space)) for space in found] == [[("a",)], [("x\u00a0y",)], [()]]
    both = written(FORMAT, *confusion_networks())
    assert both == b"".join(written(FORMAT, each) for each in confusion_networks())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("numaligns 3", "numaligns 4", "2: 3 slots of 4 announced, slot 3 is missing"),
        ("numaligns 3", "numaligns 2", "2: 3 slots of 2 announced"),
        ("numaligns 3", "numaligns 999999999", "2: 3 slots of 999999999 announced, slot 3 is"),
        ("numaligns 3", "numaligns 9999999999", "2: '9999999999', expected a whole number"),
        ("numaligns 3", "posterior 1", "1: no numaligns: not a whole mesh"),
        ("align 2", "align 5", "2: 3 slots of 3 announced, slot 2 is missing"),
        ("align 2", "align 0", "8: a second slot 0"),
        ("there 0\n", "there\n", "8: a word without a probability"),
        ("there 0\n", "there 0x1\n", "8: probability '0x1', expected a number"),
        ("there 0\n", "there 1_0\n", "8: probability '1_0', expected a number"),
        ("there 0\n", "there nan\n", "8: probability 'nan', expected a number"),
        ("there 0\n", "there inf\n", "8: probability inf, expected a number from 0"),
        ("there 0\n", "there -0.1\n", "8: probability -0.1, expected a number from 0"),
        ("there 0\n", "*DELETE* 0\n", "8: a word stands twice in slot 2"),
        ("hyps 0", "hyps 7", "6: slot 7, beyond the 3 there are"),
        ("hyps 0", "hips 0", "6: 'hips' is no keyword of a mesh"),
        ("posterior 1", "posterior -1", "3: posterior -1, expected a number above 0"),
        ("posterior 1", "posterior", "3: 1 columns, expected 2 or more"),
        ("reference 2 there\n", "", "1: references of 2 slots of 3"),
        ("reference 2", "reference 0", "11: a second reference of slot 0"),
        ("hello 0.1 0.4", "hello x 0.4", "7: 'x', expected a finite number"),
    ],
)
def test_errors_name_the_line(old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(FormatError) as caught:
        parsed(SMALL.replace(old, new, 1))
    assert f"file.mesh:{message}" in str(caught.value)


def test_one_bad_mesh_does_not_lose_the_others(tmp_path: Path) -> None:
    good = written(FORMAT, *confusion_networks())
    data = b"name bad\nnumaligns 1\nalign 0 \xff 1\n" + good
    spaces, messages = problems(tmp_path, data, "mesh")
    assert [space.id for space in spaces] == ["first", "second-1.2", "nothing"]
    assert messages == ["3: invalid UTF-8: invalid start byte"]


@given(networks())
def test_round_trip(network: Lattice) -> None:
    (record,) = FORMAT.records(io.BytesIO(written(FORMAT, network)), "f")
    back = parse_record(FORMAT, record, Vocabulary())
    assert back.id == network.id
    expected = sentences(network)
    found = sentences(back)
    assert found.keys() == expected.keys()
    for tokens, scores in expected.items():
        assert found[tokens] == pytest.approx(scores, abs=1e-9)


@given(small_lattices(features=False))
def test_what_is_written_is_a_chain(lattice: Lattice) -> None:
    """Judge by the arcs alone which lattices are networks; the others are refused."""
    last = lattice.num_states - 1
    steps = set(zip(lattice.src.tolist(), lattice.dst.tolist(), strict=True))
    pairs = list(zip(lattice.src.tolist(), lattice.label.tolist(), strict=True))
    fits = (
        lattice.start == 0
        and steps == {(state, state + 1) for state in range(last)}
        and lattice.finals.tolist() == [last]
        and len(set(pairs)) == len(pairs)
    )
    if fits:
        assert written(FORMAT, lattice, lossy=True).startswith(b"name ")
    else:
        with pytest.raises(FormatError, match=r"confusion networks|a slot of a mesh holds"):
            written(FORMAT, lattice, lossy=True)


@pytest.mark.parametrize(
    ("arcs", "finals", "start", "problem"),
    [
        ([(0, 1, "a"), (0, 2, "b"), (1, 2, "c")], [2], 0, "an arc goes from state 0 to state 2"),
        ([(0, 1, "a"), (1, 2, "b")], [1, 2], 0, "a path may end in state 1, before the last, 2"),
        ([(0, 1, "a"), (1, 2, "b")], [1], 0, "a path may end in state 1, before the last, 2"),
        ([(0, 1, "a"), (2, 3, "b")], [1, 3], 0, "no arc leaves state 1"),
        ([(0, 1, "a"), (1, 2, "b")], [2], 1, "it begins in state 1, and state 0 cannot"),
        ([(0, 1, "a", -1.0), (0, 1, "a")], [1], 0, "two arcs out of state 0 of segment 's' have"),
        (
            [(0, 1, "a", -1000.0)],
            [1],
            0,
            "an arc out of state 0 of segment 's' has the score -1000",
        ),
        ([(0, 1, "a", 1000.0)], [1], 0, "has the score 1000, whose exponential mesh cannot hold"),
        ([(0, 1, "*DELETE*")], [1], 0, "the word '*DELETE*' cannot stand in a mesh"),
        ([(0, 1, "a b")], [1], 0, "the word 'a b' cannot stand in a mesh"),
    ],
)
def test_lattices_that_are_none(arcs: Any, finals: Any, start: int, problem: str) -> None:
    lattice = Lattice.from_arcs(arcs, finals, start=start, id="s")
    with pytest.raises(FormatError) as caught:
        written(FORMAT, lattice)
    assert problem in str(caught.value)


def test_losses(tmp_path: Path) -> None:
    arcs = [(0, 1, "a", -1.0, {"lm": 1.0})]
    rich = Lattice.from_arcs(
        arcs, {1: -0.5}, id="s", times=[0, 1], references=("a",), metadata={"posterior": "x"}
    )
    for what in ("features", "times", "references", "metadata", "scores of ending"):
        with pytest.warns(LossWarning, match=what):
            write(tmp_path / "f.mesh", [rich], lossy=True)
    with pytest.raises(FormatError, match="mesh cannot hold the features of segment 's'"):
        write(tmp_path / "f.mesh", [rich])
    (back,) = read(tmp_path / "f.mesh")
    assert back.score.tolist() == [-1.0]
    with pytest.raises(FormatError, match="mesh holds no NBest"):
        write(tmp_path / "f.mesh", sample_nbests())
    with pytest.raises(FormatError, match="has a blank in it"):
        written(FORMAT, confusion_networks()[0].replaced(id="a b"))
    with pytest.raises(FormatError, match="mesh cannot hold the scores of ending"):
        FORMAT.write(io.BytesIO(b""), [Lattice.from_arcs([], {0: 1.0})], Unsupported("mesh"))
