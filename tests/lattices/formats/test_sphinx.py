"""Lattices of PocketSphinx and Sphinx-III in their own text."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest

from lattices.algorithms import k_best, path_count
from lattices.errors import FormatError, OptionError
from lattices.formats import FORMATS, read, write
from lattices.formats.base import Unsupported
from lattices.formats.htk.sphinx import FORMAT
from lattices.spaces import Lattice
from lattices.testing import check_format, sample_lattices, sentences
from tests.lattices.algorithms.comparing import structure
from tests.lattices.formats.parsing import parser

SMALL = """\
# getcwd: /somewhere
# -logbase 2.0
#
Frames 100
#
Nodes 6 (NODEID WORD STARTFRAME FIRST-ENDFRAME LAST-ENDFRAME)
0 </s> 90 99 99 ; 0
1 cats(2) 50 80 89 ; 0
2 cats 50 80 89
3 [NOISE] 40 45 49 ; 0
4 the 10 30 49 ; 0
5 <s> 0 5 9 ; 0
#
Initial 5
Final 0
#
BestSegAscr 1 (NODEID ENDFRAME ASCORE)
1 2 -3
#
Edges (FROM-NODEID TO-NODEID ASCORE)
5 4 -1
4 3 -4
4 2 -5
3 1 -2
1 0 -3
2 0 -7
End
"""


parsed = parser(FORMAT, Lattice)


def test_laws() -> None:
    check_format(FORMAT)
    with pytest.raises(OptionError, match="sphinx can be read, but not written"):
        write("-", sample_lattices(), FORMAT)
    with pytest.raises(FormatError, match="can be read, but not written"):
        FORMAT.write(io.BytesIO(), sample_lattices(), Unsupported("sphinx"))


def test_words_scores_and_times() -> None:
    lattice = parsed(SMALL)
    found = sentences(lattice)
    assert found.keys() == {("the", "cats")}
    assert found["the", "cats"] == pytest.approx([-13 * math.log(2), -10 * math.log(2)])
    assert lattice.times is not None
    assert lattice.times[lattice.start] == 0.0
    assert sorted(lattice.times.tolist()) == [0.0, 0.1, 0.4, 0.5, 0.5, 0.9]
    ((final,),) = [lattice.finals.tolist()]
    assert lattice.times[final] == 0.9
    # a word is on the arc that begins when it does
    spoken = structure(lattice)["words"].index("the")
    assert lattice.times[lattice.src[spoken]] == 0.1
    assert lattice.feature_names == ("acoustic",)
    assert lattice.reweighted({"acoustic": 0.5}).score.tolist() == (lattice.score / 2).tolist()


def test_variants_and_fillers_can_be_kept() -> None:
    assert sentences(parsed(SMALL, variants="keep")).keys() == {("the", "cats(2)"), ("the", "cats")}
    kept = parsed(SMALL, fillers="keep")
    assert sentences(kept).keys() == {
        ("<s>", "the", "[NOISE]", "cats", "</s>"),
        ("<s>", "the", "cats", "</s>"),
    }
    assert kept.times is not None
    assert kept.times[kept.finals].tolist() == [1.0]
    assert sum(map(len, sentences(kept).values())) == 2
    with pytest.raises(OptionError, match="variants is one of drop, keep, not 'all'"):
        parsed(SMALL, variants="all")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("<sil>", ()),
        ("<sil>(2)", ()),
        ("++COUGH++", ()),
        ("[SPEECH]", ()),
        ("(2)", ("(2)",)),
        ("a(b)", ("a(b)",)),
        ("<unk>", ("<unk>",)),
        ("++", ("++",)),
        ("a\u00a0b", ("a\u00a0b",)),
    ],
)
def test_what_is_a_word(word: str, expected: tuple[str, ...]) -> None:
    assert sentences(parsed(SMALL.replace("4 the 10", f"4 {word} 10"))).keys() == {
        (*expected, "cats")
    }


def test_a_file_without_a_base_needs_the_option() -> None:
    without = SMALL.replace("# -logbase 2.0\n", "")
    with pytest.raises(FormatError, match=r"f:1: no # -logbase in the file; logbase= has to say"):
        parsed(without)
    assert structure(parsed(without, logbase="2.0")) == structure(parsed(SMALL))
    # what the file says goes first
    assert structure(parsed(SMALL, logbase=3)) == structure(parsed(SMALL))
    for base in ("x", "1", "inf", None):
        with pytest.raises(OptionError, match=r"logbase is a finite number, not|a number above 1"):
            parsed(without, logbase=base)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("-logbase 2.0", "-logbase 1.0", "2: -logbase 1.0, expected a number above 1"),
        ("-logbase 2.0", "-logbase", "2: nothing after -logbase"),
        ("Frames 100", "Frames many", "4: 'many', expected a whole number"),
        ("Frames 100\n", "Frames 100\nhello\n", "5: 'hello' is in no section of a lattice"),
        ("Nodes 6", "Nodes 7", "6: 6 nodes, 7 announced"),
        ("2 cats 50 80 89", "2 cats 50", "9: 3 columns, expected 5"),
        ("2 cats 50", "1 cats 50", "9: a second node 1"),
        ("2 cats 50", "2 cats -5", "9: '-5', expected a whole number"),
        ("Initial 5", "Initial 9", "14: no node 9"),
        ("Final 0", "Final", "15: nothing after Final"),
        ("TO-NODEID", "ENDFRAME", "20: edges to frames, expected edges to nodes"),
        ("5 4 -1", "5 4", "21: 2 columns, expected 3"),
        ("5 4 -1", "5 8 -1", "21: no node 8"),
        ("5 4 -1", "5 4 nan", "21: 'nan', expected a finite number"),
        ("5 4 -1", "5 4 x", "21: 'x', expected a finite number"),
        ("End\n", "", "1: no End: not a whole lattice"),
        ("End\n", "Frames 3\nEnd\n", "27: a second Frames"),
        ("3 1 -2", "3 4 -2", "1: the lattice has a cycle"),
    ],
)
def test_errors_say_where(old: str, new: str, problem: str) -> None:
    assert old in SMALL
    with pytest.raises(FormatError) as caught:
        parsed(SMALL.replace(old, new, 1))
    assert str(caught.value).startswith(f"f:{problem}")


def test_any_cut_is_noticed() -> None:
    for place in range(1, len(SMALL) - 1):
        with pytest.raises(FormatError):
            parsed(SMALL[:place])


def test_content_tells_the_format() -> None:
    assert FORMAT.sniff(SMALL.encode())
    assert FORMAT.sniff(SMALL.replace("\n", "\r\n").encode())
    assert structure(parsed(SMALL.replace("\n", "\r\n"))) == structure(parsed(SMALL))
    for name in FORMATS.names():
        if name != "sphinx":
            assert not FORMATS.get(name).sniff(SMALL.encode()), name


def spoken_at(lattice: Lattice) -> list[tuple[str, int, int]]:
    """Return the words of all arcs with the frames of their begins and ends."""
    assert lattice.times is not None
    frames = np.round(100 * lattice.times).astype(int)
    begin, end = frames[lattice.src].tolist(), frames[lattice.dst].tolist()
    words = map(lattice.vocabulary.word, lattice.label.tolist())
    return sorted(zip(words, begin, end, strict=True))


def test_both_files_of_pocketsphinx_hold_the_same_lattice(shared_data: Path) -> None:
    folder = shared_data / "pocketsphinx"
    files = sorted(folder.glob("*.sphinx.gz"))
    assert len(files) == 19
    for file in files:
        (own,) = read(file, FORMAT)
        (slf,) = read(str(file).replace(".sphinx.", ".slf."), "htk", score="header")
        assert isinstance(own, Lattice)
        assert isinstance(slf, Lattice)
        assert own.id == slf.id == file.name.removesuffix(".sphinx.gz")
        assert set(own.vocabulary) == set(slf.vocabulary)
        assert path_count(own) == path_count(slf)
        # the other file rounds to six places
        np.testing.assert_allclose(sorted(own.score), sorted(slf.score), rtol=0, atol=1e-6)
        assert own.times is not None
        assert slf.times is not None
        np.testing.assert_allclose(sorted(own.times), sorted(slf.times), rtol=0, atol=1e-9)
        assert spoken_at(own) == spoken_at(slf)
        ours, theirs = (
            {path.text: path.score for path in k_best(lattice, 20, distinct=True)}
            for lattice in (own, slf)
        )
        assert len(ours) == len(theirs) == 20
        np.testing.assert_allclose([*ours.values()], [*theirs.values()], rtol=0, atol=1e-5)
        # homophones tie here and are split by the rounding there, so the last of the twenty
        # may be others (they are in s044), but never better ones
        for some, others in ((ours, theirs), (theirs, ours)):
            for text in some.keys() - others.keys():
                assert some[text] == pytest.approx(min(others.values()), abs=1e-5)
