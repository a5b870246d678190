"""PLF: the dialects of Moses, cdec and Joshua, and real lattices."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.algorithms import best, path_count
from lattices.errors import FormatError, OptionError
from lattices.formats import FORMATS, LossWarning, read, write
from lattices.formats.base import Unsupported
from lattices.formats.confusion.plf import FORMAT
from lattices.spaces import Lattice
from lattices.testing import check_format, sample_lattices, sentences
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import by_name, parts, structure
from tests.lattices.formats.parsing import parser
from tests.strategies import small_lattices

MOSES = "((('A',1.0,1),('Z',0.5,2),),(('B',1.0,1),),(('C',0.25,1),),)"
CDEC = r"((('A',0.5,1),('D\'',{'LatticeCost_0':0.1, 'UsesDPrime':1.0,},1),('B', 1)),)"


parsed = parser(FORMAT, Lattice, line=7, number=3)


def written(*lattices: Lattice, lossy: bool = False, **options: Any) -> str:
    stream = io.BytesIO()
    FORMAT.write(stream, lattices, Unsupported("plf", lossy), **options)
    return stream.getvalue().decode()


def arcs(lattice: Lattice) -> list[tuple[int, int, str, float]]:
    found = structure(lattice)
    return list(zip(found["src"], found["dst"], found["words"], found["score"], strict=True))


def features(lattice: Lattice) -> list[dict[str, float]]:
    return by_name(lattice.features, lattice.feature_names, lattice.num_arcs)


def test_laws() -> None:
    check_format(FORMAT)


def test_laws_of_numbered_segments_in_bare_lines() -> None:
    spaces = [space.replaced(id=str(place)) for place, space in enumerate(sample_lattices())]
    check_format(FORMAT, spaces, write_options={"ids": "none"})


def test_moses_probabilities() -> None:
    lattice = parsed(MOSES, scores="probability")
    log = math.log
    assert arcs(lattice) == [
        (0, 1, "A", 0.0),
        (0, 2, "Z", log(0.5)),
        (1, 2, "B", 0.0),
        (2, 3, "C", log(0.25)),
    ]
    assert lattice.finals.tolist() == [3]
    assert lattice.id == "3"
    lowest = parsed("((('a',0,1),('b',1e-50,1),),)", scores="probability")
    assert lowest.score.tolist() == [-100.0, -100.0]
    with pytest.raises(FormatError, match=r"f:7: -0\.5 is no probability; scores=log"):
        parsed("((('a',-0.5,1),),)", scores="probability")


def test_numbers_are_taken_as_they_are_by_default() -> None:
    assert [row[3] for row in arcs(parsed(MOSES))] == [1.0, 0.5, 1.0, 0.25]
    joshua = parsed("((('a', -1.5e-2, 1), ('b', +2, 1),),)")
    assert [row[3] for row in arcs(joshua)] == [-0.015, 2.0]
    with pytest.raises(OptionError, match="scores is one of log, probability, not 'auto'"):
        parsed(MOSES, scores="auto")


def test_moses_sparse_scores_and_several_numbers() -> None:
    lattice = parsed("((('a',0.5,0.25,lm=-3,x.y=1e1,1),),)", scores="probability")
    assert features(lattice) == [
        {"LatticeCost_0": math.log(0.5), "LatticeCost_1": math.log(0.25), "lm": -3.0, "x.y": 10.0}
    ]
    assert lattice.score.tolist() == [math.log(0.5) + math.log(0.25)]


def test_cdec_features_and_arcs_without_a_score() -> None:
    lattice = parsed(CDEC)
    assert arcs(lattice) == [(0, 1, "A", 0.5), (0, 1, "D'", 0.1), (0, 1, "B", 0.0)]
    assert features(lattice) == [
        {"LatticeCost_0": 0.5},
        {"LatticeCost_0": 0.1, "UsesDPrime": 1.0},
        {},
    ]
    again = lattice.reweighted({"LatticeCost_0": -1.0, "UsesDPrime": 2.0})
    assert again.score.tolist() == [-0.5, 1.9, 0.0]
    assert parsed("((('B',1),),)").features is None


def test_eleven_numbers_stay_in_order() -> None:
    lattice = parsed(f"((('a',{','.join(map(str, range(11)))},1),),)")
    assert lattice.feature_names == tuple(f"LatticeCost_{place}" for place in range(11))
    assert lattice.features.toarray().tolist() == [list(range(11))]  # type: ignore[union-attr]
    assert parts(parsed(written(lattice.replaced(id="0"))))["features"] == features(lattice)


@pytest.mark.parametrize(
    ("quoted", "word"),
    [
        (r"'\''", "'"),
        (r"'\\'", "\\"),
        (r"'\\\''", "\\'"),
        (r"'a\n'", r"a\n"),
        ('"it\'s"', "it's"),
        (r'"\""', '"'),
        ("'(,)'", "(,)"),
        ("'日 本'", "日 本"),
        ("'*EPS*'", ""),
        ("''", ""),
        ("'*eps*'", "*eps*"),
    ],
)
def test_words(quoted: str, word: str) -> None:
    assert arcs(parsed(f"((({quoted},0,1),),)")) == [(0, 1, word, 0.0)]


def test_the_empty_lattice_and_a_node_without_arcs() -> None:
    assert sentences(parsed("()")) == {(): [0.0]}
    assert sentences(parsed("((('a',0,1),('b',0,2),),(),)")) == {("b",): [0.0]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the end where '(' was expected (column 1)"),
        ("((('a',1,1),),", "the end where '(' was expected (column 15)"),
        ("((('a',1,1),),))", "')' after the end of the lattice (column 16)"),
        ("((('a',1,0),),)", "jump 0, expected a whole number from 1 (column 3)"),
        ("((('a',1,1.5),),)", "jump 1.5, expected a whole number from 1 (column 3)"),
        ("((('a',1,-1),),)", "jump -1, expected a whole number from 1 (column 3)"),
        ("((('a',1,3),),)", "arc 0 goes from node 0 to 3, beyond the goal, 1"),
        ("((('a',),),)", "an arc that does not begin with a word and end with a jump (column 3)"),
        ("((('a',1,lm=2),),)", "an arc that does not begin with a word and end with a jump"),
        ("((('a',1,{'x':2}),),)", "an arc that does not begin with a word and end with a jump"),
        (f"((('a',{'1' * 100_000}x,1),),)", "'11111111111111111111' is no part of a lattice"),
        ("(((),),)", "an arc that does not begin with a word and end with a jump (column 3)"),
        ("(((1,1),),)", "'1' where a word in quotes was expected (column 4)"),
        ("((('a' 1,1),),)", "'1' where ',' was expected (column 8)"),
        ("((('a',nan,1),),)", "'nan,1),),)' is no part of a lattice (column 8)"),
        ("((('a',1e999,1),),)", "1e999, expected a finite number (column 3)"),
        ("((('a',{'x':1,'x':2},1),),)", "feature 'x' twice on one arc (column 19)"),
        ("((('a',{'x':'y'},1),),)", "'y' where a number was expected (column 14)"),
        ("((('a,1,1),),)", '"\'a,1,1),),)" is no part of a lattice (column 4)'),
        ("((('a',__import__('os'),1),),)", "\"__import__('os'),1),\" is no part of"),
        ('<seg id="1">(((1,1),),)</seg>', "'1' where a word in quotes was expected (column 16)"),
    ],
)
def test_errors_say_where(text: str, problem: str) -> None:
    with pytest.raises(FormatError) as caught:
        parsed(text)
    assert str(caught.value).startswith(f"f:7: {problem}")


def test_too_many_scores() -> None:
    with pytest.raises(FormatError, match="10001 scores on one arc, expected 10000 at most"):
        parsed(f"((('a',{'0,' * 10_001}1),),)")


def test_a_bad_line_loses_itself_and_a_blank_line_moves_no_names(tmp_path: Path) -> None:
    (tmp_path / "x.plf").write_bytes(b"((('a',1),),)\r\n\n(((\n((('b',1),),)\n\n  \n")
    problems: list[FormatError] = []
    found = list(read(tmp_path / "x.plf", FORMAT, on_error=problems.append))
    assert [space.id for space in found] == ["0", "3"]
    assert [problem.line for problem in problems] == [2, 3]


def test_ids(tmp_path: Path) -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], [1])
    spaces = [lattice.replaced(id=name) for name in ("0", "x", "<\"&quot;'>", "")]
    text = written(*spaces)
    line = "((('a',0.0,1),),)"
    assert text.splitlines() == [
        line,
        f'<seg id="x">{line}</seg>',
        f'<seg id="&lt;&quot;&amp;quot;\'&gt;">{line}</seg>',
        line,
    ]
    (tmp_path / "x.plf").write_text(text)
    assert [space.id for space in read(tmp_path / "x.plf", FORMAT)] == [
        "0",
        "x",
        "<\"&quot;'>",
        "3",
    ]
    assert written(*spaces, ids="none").splitlines() == [line] * 4
    assert parsed(f"  <seg lang='en' id='12' > {line} </seg>").id == "12"
    with pytest.raises(FormatError, match="cannot stand in a line"):
        written(lattice.replaced(id="a\nb"))


WORDS = st.text(st.sampled_from("a'\\\"(,){}:= \r日*"), min_size=1, max_size=4)


@given(small_lattices(), st.lists(WORDS, min_size=1))
def test_what_is_written_reads_back(lattice: Lattice, words: list[str]) -> None:
    strange = Vocabulary(words)
    lattice = Lattice(
        vocabulary=strange,
        src=lattice.src,
        dst=lattice.dst,
        label=lattice.label % len(strange),
        score=lattice.score,
        final=lattice.final,
        start=lattice.start,
    )
    assert sentences(parsed(written(lattice).removesuffix("\n"))) == sentences(lattice)
    likely = written(lattice, scores="probability").removesuffix("\n")
    back = sentences(parsed(likely, scores="probability"))
    assert back.keys() == sentences(lattice).keys()
    for tokens, scores in sentences(lattice).items():
        assert back[tokens] == pytest.approx(scores)


def test_features_are_written_in_both_dialects() -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -0.5, {"lm": -2.0, "it's": 1.0}), (1, 2, "b", -1.0)],
        {2: -0.25},
        final_features={2: {"lm": -4.0}},
    )
    back = parsed(written(lattice))
    assert arcs(back) == [(0, 1, "a", -0.5), (1, 2, "b", -1.0), (2, 3, "", -0.25)]
    assert features(back) == [
        {"LatticeCost_0": -0.5, "lm": -2.0, "it's": 1.0},
        {"LatticeCost_0": -1.0},
        {"LatticeCost_0": -0.25, "lm": -4.0},
    ]
    assert written(back, ids="none") == written(lattice)
    with pytest.raises(FormatError, match='plf cannot hold the features "it\'s" of segment'):
        written(lattice, scores="probability")
    sparse = parsed(written(lattice, lossy=True, scores="probability"), scores="probability")
    assert [row.get("lm", 0.0) for row in features(sparse)] == [-2.0, 0.0, -4.0]
    assert sparse.score == pytest.approx([-0.5, -1.0, -0.25])


def test_final_features_alone_need_an_arc() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a")], [1], final_features={1: {"lm": -4.0}})
    assert [row.get("lm") for row in features(parsed(written(lattice)))] == [None, -4.0]


def test_losses(tmp_path: Path) -> None:
    lattice = parsed("((('a',0.5,0.25,1),),)").reweighted([1.0, 3.0]).replaced(source="x")
    with pytest.raises(FormatError, match="LatticeCost features that do not add up"):
        written(lattice.replaced(source=""))
    with pytest.warns(LossWarning, match="source texts .*; LatticeCost features"):
        write(tmp_path / "x.plf", [lattice], FORMAT, lossy=True)
    (back,) = read(tmp_path / "x.plf", FORMAT)
    assert back.score.tolist() == [1.25]
    for word in ("*EPS*", "a\nb"):
        with pytest.raises(FormatError, match="would not come back"):
            written(Lattice.from_arcs([(0, 1, word)], [1]), lossy=True)
    for score in (-100.5, 800.0):
        with pytest.raises(FormatError, match="no probability that can be written"):
            written(Lattice.from_arcs([(0, 1, "a", score)], [1]), scores="probability")
    named = Lattice.from_arcs([(0, 1, "a", 0.0, {"x\ny": 1.0})], [1])
    with pytest.raises(FormatError, match="line end"):
        written(named)


def test_dead_states_are_left_out_and_the_start_comes_first() -> None:
    lattice = Lattice.from_arcs([(0, 1, "x"), (1, 2, "a"), (2, 3, "b"), (2, 4, "y")], [3], start=1)
    assert written(lattice) == "((('a',0.0,1),),(('b',0.0,1),),)\n"


def test_a_lattice_without_a_complete_path_cannot_be_written() -> None:
    with pytest.raises(FormatError, match="segment 'x' cannot be written"):
        written(Lattice.from_arcs([(0, 1, "a"), (2, 3, "b")], [3], id="x"))


def test_content_tells_the_format() -> None:
    assert FORMAT.sniff(MOSES.encode())
    assert FORMAT.sniff(b'\n<seg id="a"> ( ( ( "a", 1 ), ), )')
    for name in FORMATS.names():
        if name != "plf":
            assert not FORMATS.get(name).sniff(MOSES.encode() + b"\n"), name


def test_speech_lattices_of_fisher(shared_data: Path) -> None:
    folder = shared_data / "fisher-plf"
    found = list(read(folder / "fisher_dev1000.plf.gz", FORMAT))
    texts = (folder / "fisher_dev1000.asr").read_text(encoding="utf-8").split("\n")[:1000]
    assert [space.id for space in found] == [str(number) for number in range(1000)]
    same = 0
    for lattice, text in zip(found, texts, strict=True):
        assert isinstance(lattice, Lattice)
        same += best(lattice).text == text
        paths = [1] + [0] * (lattice.num_states - 1)
        for src, dst in zip(lattice.src.tolist(), lattice.dst.tolist(), strict=True):
            paths[dst] += paths[src]
        assert path_count(lattice) == paths[-1]
        again = parsed(written(lattice))
        if lattice.num_arcs:
            assert structure(again) == structure(lattice)
        else:
            # "()" comes back as one epsilon, which every reader of the format knows
            assert sentences(again) == sentences(lattice) == {(): [0.0]}
    # the recognizer's own sentence; of the others three are second by a tie or by less than
    # 0.01, one is second by 0.2, and one is no path
    assert same == 995
