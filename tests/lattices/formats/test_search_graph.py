"""Search graphs of Moses, as ``OutputSearchNode`` in moses/Manager.cpp writes them."""

from __future__ import annotations

import io
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.errors import FormatError, OptionError
from lattices.formats import FORMATS, formats, read, write
from lattices.formats.base import Unsupported
from lattices.formats.moses.search_graph import FORMAT
from lattices.spaces import Lattice
from lattices.testing import check_format, sentences
from tests.lattices.algorithms.comparing import by_name, problems, read_bytes, words
from tests.lattices.formats.parsing import parser

GRAPH = """0 hyp=0 stack=0
0 hyp=1 stack=1 back=0 score=-1.20 transition=-1.20 forward=9 fscore=-3.10 covered=0-0 out=the
0 hyp=5 stack=1 back=0 score=-1.55 transition=-1.55 recombined=1 forward=9 fscore=-3.10 covered=0-0 out=that
0 hyp=9 stack=3 back=1 score=-4.30 transition=-3.10 forward=-1 fscore=0 covered=1-2 out=small house
0 hyp=7 stack=3 back=1 score=-5.30 transition=-4.10 recombined=9 forward=-1 fscore=0 covered=1-2 out=
0 hyp=8 stack=3 back=0 score=-6.00 transition=-6.00 forward=-1 fscore=0 covered=0-2 out=a house
"""  # noqa: E501
EXTENDED = """3 hyp=0 stack=0 forward=1 fscore=-4.3
3 hyp=1 stack=1 back=0 score=-1.2 transition=-1.2 forward=9 fscore=-3.1 covered=0-0 scores="core=(-1,0.5) " out="das|the"
3 hyp=9 stack=3 back=1 score=-4.3 transition=-3.1 forward=-1 fscore=0 covered=1-2 scores="core=(-2,0) PP_a=b~c=1 x=-0.25" out="kleine Haus|small "house""
"""  # noqa: E501


parsed = parser(FORMAT, Lattice, "g.osg")


def test_laws() -> None:
    check_format(FORMAT)


def test_hypotheses_are_arcs_and_phrases_are_chains() -> None:
    lattice = parsed(GRAPH)
    assert lattice.id == "0"
    assert {" ".join(key): scores for key, scores in sentences(lattice).items()} == {
        "the small house": [pytest.approx(-4.3)],
        "that small house": [pytest.approx(-4.65)],
        "the": [pytest.approx(-5.3)],
        "that": [pytest.approx(-5.65)],
        "a house": [-6.0],
    }
    by_word = dict(zip(words(lattice), lattice.score.tolist(), strict=True))
    assert (by_word["small"], by_word[""]) == (-3.1, -4.1)
    assert lattice.features is None
    assert lattice.num_arcs == 7


def test_one_file_of_several_sentences(tmp_path: Path) -> None:
    data = (GRAPH + EXTENDED).replace("\n", "\r\n").encode()
    found = read_bytes(tmp_path, b"\xef\xbb\xbf" + data, None)
    assert [space.id for space in found] == ["0", "3"]
    assert found[0].vocabulary is found[1].vocabulary
    broken = data.replace(b"transition=-1.55", b"transition=x")
    spaces, messages = problems(tmp_path, broken, "moses-graph")
    assert [space.id for space in spaces] == ["3"]
    assert messages == ["3: transition=x, expected a finite number"]


def test_the_extended_form() -> None:
    lattice = parsed(EXTENDED)
    assert sentences(lattice) == {("the", "small", '"house"'): [pytest.approx(-4.3)]}
    assert lattice.feature_names == ("core_0", "core_1", "PP_a=b~c", "x")
    rows = by_name(lattice.features, lattice.feature_names, lattice.num_arcs)
    assert dict(zip(words(lattice), rows, strict=True)) == {
        "the": {"core_0": -1.0, "core_1": 0.5},
        "small": {"core_0": -2.0, "PP_a=b~c": 1.0, "x": -0.25},
        '"house"': {},
    }


def test_source_words_with_factors() -> None:
    text = EXTENDED.replace("das|the", "das|ART|the|DT").replace(
        "kleine Haus|small", "kleine|ADJ Haus|NN|small|JJ"
    )
    factored = parsed(text, source_factors="2")
    assert sentences(factored).keys() == {("the|DT", "small|JJ", '"house"')}
    assert sentences(parsed(text)).keys() == {("ART|the|DT", "ADJ", "Haus|NN|small|JJ", '"house"')}
    with pytest.raises(FormatError, match=r"osg:2: out=das\|the has 1 bars, expected 2 or more"):
        parsed(EXTENDED, source_factors=2)
    for bad in ("0", "two", None):
        with pytest.raises(OptionError, match="source_factors is a whole number from 1 on, not"):
            parsed(EXTENDED, source_factors=bad)


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        ("a=b out=c hyp=3", ("a=b", "out=c", "hyp=3")),
        ("  the   house ", ("the", "house")),
        ("", ()),
        (" ", ()),
        ("Haus|NN der|ART", ("Haus|NN", "der|ART")),
        ("10\u00a0000 x\u2028y", ("10\u00a0000", "x\u2028y")),
        ('"quoted|bar"', ('"quoted|bar"',)),
        ("I am , pC=-0.401291, c=-0.98555", ("I", "am")),
        ("word" * 30_000, ("word" * 30_000,)),
    ],
)
def test_the_phrase_is_the_rest_of_the_line(out: str, expected: tuple[str, ...]) -> None:
    text = GRAPH.split("\n")[0] + (
        "\n0 hyp=9 stack=3 back=0 score=-4 transition=-3.5e+00 forward=-1 fscore=0 covered=1-2 "
        f"out={out}\n"
    )
    assert sentences(parsed(text)) == {expected: [-3.5]}


def test_the_features_of_old_decoders() -> None:
    # lines that scripts for Moses of 2009 quote: the winner's number stands for both
    text = (
        "0 hyp=0 stack=0\n"
        "0 hyp=47 stack=1 back=0 score=-8.651 transition=-8.651 forward=-1 fscore=-17.576 "
        "covered=2-2 scores=[ d: -2.000 w: -2.000 u: 0.000 d: 0.000 -1.609 lm: -16.126 ] "
        "out=70|contributes 70\n"
        "0 hyp=47 stack=1 back=0 score=-9.040 transition=-9.040 recombined=47 forward=-1 "
        "fscore=-17.576 covered=2-2 scores=[ d: -2.000 w: -2.000 u: 0.000 d: 0.000 -0.511 "
        "lm: -16.474 ] out=70|over 70\n"
    )
    lattice = parsed(text)
    assert sentences(lattice) == {("contributes", "70"): [-8.651], ("over", "70"): [-9.04]}
    assert lattice.feature_names == ("d_0", "d_1", "d_2", "w", "u", "lm")
    rows = by_name(lattice.features, lattice.feature_names, lattice.num_arcs)
    assert rows[words(lattice).index("over")] == {"d_0": -2, "w": -2, "d_2": -0.511, "lm": -16.474}


def test_a_sentence_without_hypotheses_is_empty() -> None:
    assert sentences(parsed("7 hyp=0 stack=0\n")) == {(): [0.0]}
    assert sentences(parsed("7 hyp=0 stack=0 forward=-1 fscore=0\n")) == {(): [0.0]}


def test_dead_ends_stay() -> None:
    dead = (
        "0 hyp=11 stack=1 back=0 score=-1 transition=-1 forward=12 fscore=-1 covered=0-0 out=dead"
    )
    lattice = parsed(GRAPH + dead + "\n")
    assert sentences(lattice) == sentences(parsed(GRAPH))
    assert "dead" in words(lattice)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("0 hyp=0 stack=0\n", ""), "1: no initial hypothesis (hyp=0 stack=0)"),
        (("hyp=1 ", "hyp=0 stack=0\n0 hyp=1 "), "2: a second initial hypothesis"),
        (("back=1", "back=2"), "4: back=2, but there is no such hypothesis"),
        (("back=1", "back=5"), "4: back=5, but there is no such hypothesis"),
        (("recombined=1", "recombined=3"), "3: recombined=3, but there is no such hypothesis"),
        (("recombined=9", "recombined=5"), "5: recombined=5, but there is no such hypothesis"),
        (("hyp=9", "hyp=1"), "4: a second hypothesis 1"),
        (("hyp=7", "hyp=5"), "5: a second hypothesis 5"),
        (("back=0 score=-1.20", "back=9 score=-1.20"), "1: the lattice has a cycle"),
        (("transition=-3.10", "transition=nan"), "4: transition=nan, expected a finite number"),
        (("transition=-3.10", "transition=-inf"), "4: transition=-inf, expected a finite number"),
        (("stack=1 back=0", "stack=1"), "2: '0 hyp=1 stack=1 score=-1.20"),
        (("covered=0-0 out=the", "covered=0-0"), "2: '0 hyp=1 stack=1 back=0"),
    ],
)
def test_bad_files_say_where(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    assert change[0] in GRAPH
    spaces, messages = problems(tmp_path, GRAPH.replace(*change, 1).encode(), "moses-graph")
    assert spaces == []
    assert len(messages) == 1
    assert messages[0].startswith(expected)


def test_more_bad_files(tmp_path: Path) -> None:
    never = GRAPH.replace("forward=-1", "forward=3").encode()
    assert problems(tmp_path, never, "moses-graph")[1] == ["1: no complete hypothesis (forward=-1)"]
    for old, new, expected in [
        ("core=(-2,0)", "core=(-2)", "3: 1 core scores, expected 2 as in others"),
        ("core=(-2,0)", "core=(-2,x)", "3: core=x, expected a finite number"),
        ("core=(-2,0)", "core=(-2,inf)", "3: core=inf, expected a finite number"),
        ("x=-0.25", "x=much", "3: scores=core=(-2,0) PP_a=b~c=1 x=much, expected names and"),
        ("x=-0.25", "core_1=2", "1: a sparse feature has the name core_1"),
        ('"das|the"', '"das"', "2: out=das has 0 bars, expected 1 or more"),
        ('"das|the"', '"das|the', '2: out="das|the, expected out="source|target"'),
        ('scores="core=(-1,0.5) "', 'scores="core=(-1,0.5) ', "2: '3 hyp=1"),
    ]:
        assert old in EXTENDED
        spaces, messages = problems(tmp_path, EXTENDED.replace(old, new).encode(), "moses-graph")
        assert spaces == []
        assert len(messages) == 1
        assert messages[0].startswith(expected), messages
    bad = GRAPH.encode().replace(b"=the", b"=\xff")
    assert problems(tmp_path, bad, "moses-graph")[1] == ["2: invalid UTF-8: invalid start byte"]


def test_reading_only(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="moses-graph can be read, but not written"):
        write(tmp_path / "x.osg", [parsed(GRAPH)], "moses-graph")
    with pytest.raises(FormatError, match="can be read, but not written"):
        FORMAT.write(io.BytesIO(), [parsed(GRAPH)], Unsupported("moses-graph"))


def test_other_formats_do_not_claim_it() -> None:
    for name in [info.name for info in formats() if info.access]:
        for text in (GRAPH, EXTENDED):
            assert FORMATS.get(name).sniff(text.encode()) == (name == "moses-graph"), name


@given(st.integers(0, 2**32), st.booleans())
def test_any_graph_has_the_sentences_of_its_hypotheses(seed: int, extended: bool) -> None:
    """Compare with the derivations that recombination stands for, enumerated line by line."""
    chance = random.Random(seed)
    lines = ["5 hyp=0 stack=0" + (" forward=3 fscore=-1" if extended else "")]
    length = chance.randrange(1, 4)
    winners: dict[int, int] = {0: 0}
    into: dict[int, list[tuple[int, tuple[str, ...], float]]] = {0: []}
    for number in range(1, chance.randrange(2, 9)):
        back = chance.choice([one for one, stack in winners.items() if stack < length])
        stack = winners[back] + chance.randrange(1, length - winners[back] + 1)
        phrase = tuple(chance.choice(["a", "b=c", "out=", "|"]) for _ in range(chance.randrange(4)))
        score = chance.randrange(-8, 3) / 4
        same = [one for one in winners if one and winners[one] == stack]
        winner = chance.choice(same) if same and chance.random() < 0.5 else number
        if winner == number:
            winners[number] = stack
        into.setdefault(winner, []).append((back, phrase, score))
        lines.append(
            f"5 hyp={number} stack={stack} back={back} score=-9.5 transition={score} "
            + (f"recombined={winner} " if winner != number else "")
            + f"forward={-1 if stack == length else 4} fscore=0 covered=0-0 "
            + ('scores="core=(0.5) " ' if extended else "")
            + (f'out="x|{" ".join(phrase)}"' if extended else f"out={' '.join(phrase)}")
        )
    expected: dict[tuple[str, ...], list[float]] = {}

    def derive(state: int, after: tuple[str, ...], score: float) -> None:
        if state == 0:
            expected.setdefault(after, []).append(score)
        for back, phrase, more in into[state]:
            derive(back, phrase + after, score + more)

    ending = [one for one, stack in winners.items() if stack == length]
    for one in ending:
        derive(one, (), 0.0)
    if not ending:
        with pytest.raises(FormatError, match=re.escape("no complete hypothesis")):
            parsed("\n".join(lines))
        return
    lattice = parsed("\n".join(lines))
    # quarters are exact, so sums are the same in any order
    assert sentences(lattice) == {key: sorted(scores) for key, scores in expected.items()}


def test_real_files_of_others_are_not_claimed(shared_data: Path) -> None:
    for path in sorted(shared_data.rglob("*")):
        if path.is_file() and path.suffix not in (".gz", ".md"):
            with path.open("rb") as file:
                assert not FORMAT.sniff(file.read(4096)), path


def test_it_is_found_by_content(tmp_path: Path) -> None:
    (tmp_path / "graph").write_text(GRAPH)
    assert [space.id for space in read(tmp_path / "graph")] == ["0"]
