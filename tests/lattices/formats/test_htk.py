"""HTK SLF: the formula of the header, words on nodes or links, quoting, posteriors."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.errors import FormatError
from lattices.formats import LossWarning, read, write
from lattices.formats.htk.slf import FORMAT, POSTERIOR_FLOOR
from lattices.spaces import Lattice
from lattices.testing import sentences
from tests.lattices.algorithms.comparing import problems, read_bytes, structure, written
from tests.lattices.formats.parsing import parser
from tests.strategies import small_lattices

WORDS = [
    "a", "new york", "'em", "it's", '"', 'say "x"', "back\\slash", "#", "x=y", "tab\t", "é\u00a0",
    "\\011", "J=0", "line\nend", "'q'",
]  # fmt: skip


parsed = parser(FORMAT, Lattice, "dir/f.slf")


def tokens(text: str | bytes, **options: Any) -> list[tuple[str, ...]]:
    return sorted(sentences(parsed(text, **options)))


def named(lattice: Lattice) -> list[dict[str, float]]:
    assert lattice.features is not None
    return [
        dict(zip(lattice.feature_names, row, strict=True))
        for row in lattice.features.toarray().tolist()
    ]


SRILM = """VERSION=1.1
UTTERANCE=utt1
base=10
dir=f
lmscale=2 wdpenalty=-0.5
start=0 end=3
N=4 L=4
I=0 t=0.0
I=1 t=0.1
I=2 t=0.25
I=3 t=0.5
J=0 S=0 E=1 W=a   a=-1 l=-0.5
J=1 S=1 E=2 W=!NULL a=-2
J=2 S=2 E=3 W=</s> a=0 x1=7 ds=3
J=3 S=0 E=3 W=b n=-1
"""


def test_the_formula_of_the_header_in_another_base() -> None:
    lattice = parsed(SRILM)
    ten = math.log(10)
    assert lattice.id == "utt1"
    assert lattice.times is not None
    assert lattice.times.tolist() == [0.0, 0.1, 0.25, 0.5]
    by_words = {key: scores[0] for key, scores in sentences(lattice).items()}
    # duscale and x1scale are 0, the penalty is in the file's base and counts real words
    expected = {("a",): (-1 - 2 * 0.5 - 0.5 - 2) * ten, ("b",): (-1 - 0.5) * ten}
    assert by_words == pytest.approx(expected)
    assert lattice.metadata["weights"] == pytest.approx(
        {"acoustic": 1.0, "ngram": 1.0, "language": 2.0, "duration": 0.0, "x1": 0.0,
         "words": -0.5 * ten}
    )  # fmt: skip
    again = lattice.reweighted(lattice.metadata["weights"])
    np.testing.assert_allclose(again.score, lattice.score, rtol=0, atol=1e-12)
    rows = dict(zip(structure(lattice)["words"], named(lattice), strict=True))
    assert rows["a"] == pytest.approx(
        {"acoustic": -ten, "ngram": 0, "language": -0.5 * ten, "duration": 0, "x1": 0, "words": 1}
    )


def test_penalty_before_the_base_and_several_keys_a_line() -> None:
    text = "V=1.0 U=u wdpenalty=-1\nbase=10 acscale=0.5\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=a a=-4"
    assert parsed(text).score[0] == pytest.approx((0.5 * -4 - 1) * math.log(10))


def test_scores_that_are_probabilities() -> None:
    text = "VERSION=1.0\nbase=0\nlmscale=2\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=a a=0.5 l=0.1\n"
    assert parsed(text).score[0] == pytest.approx(math.log(0.5) + 2 * math.log(0.1))
    for bad in ("0", "-0.5"):
        with pytest.raises(FormatError, match="base=0 makes scores probabilities"):
            parsed(text.replace("a=0.5", f"a={bad}"))


NODES = """VERSION=1.0
dir={dir}
N=4 L=4
I=0 W=first a=-1
I=1 W=one a=-2 v=2
I=2 W=two
I=3 W=last a=-8
J=0 S=0 E=1
J=1 S=0 E=2 a=-16
J=2 S=1 E=3
J=3 S=2 E=3
"""


def test_words_on_nodes_forwards_and_backwards() -> None:
    forward = parsed(NODES.format(dir="f"))
    assert sentences(forward) == {
        ("first", "one", "last"): [-1 - 2 - 8],
        ("first", "two", "last"): [-1 - 16 - 8],
    }
    backward = parsed(NODES.format(dir="b"))
    assert sentences(backward) == {
        ("first", "one", "last"): [-1 - 2 - 8],
        ("first", "two", "last"): [-16 - 8],
    }
    with pytest.raises(FormatError, match="dir=x, expected f or b"):
        parsed(NODES.format(dir="x"))


def test_words_on_links_hide_those_on_nodes() -> None:
    text = "VERSION=1.0\nN=3 L=2\nI=0 W=x\nI=1 W=y\nI=2 W=z\nJ=0 S=0 E=1 W=a\nJ=1 S=1 E=2\n"
    assert tokens(text) == [("a", "z")]


def test_tags_are_dropped_or_kept() -> None:
    text = (
        "VERSION=1.0\nwdpenalty=-1\nN=4 L=3\nI=0 W=!SENT_START\nI=1 W=hi\nI=2 W=!NULL\nI=3 W=</s>\n"
        "J=0 S=0 E=1\nJ=1 S=1 E=2\nJ=2 S=2 E=3\n"
    )
    assert sentences(parsed(text)) == {("hi",): [-1.0]}
    assert sentences(parsed(text, tags="keep")) == {("!SENT_START", "hi", "</s>"): [-1.0]}
    assert parsed(text).num_states == 4


def test_nodes_by_any_numbers_and_in_any_order() -> None:
    text = "VERSION=1.0\nI=7\nI=3\nI=20 t=1\nJ=0 START=3 END=7 WORD=a\nJ=1 S=7 E=20 W=b acoustic=-1"
    lattice = parsed(text)
    assert sentences(lattice) == {("a", "b"): [-1.0]}
    assert lattice.times is None
    assert lattice.id == "f"


def test_no_node_lines_at_all() -> None:
    text = (
        "UTTERANCE=some\nVERSION=1.1\nx1scale=0.5\nN=3 L=2\n"
        "J=0 S=0 E=1 W=a x1=-2\nJ=1 S=1 E=2 W=b x1=-4"
    )
    assert sentences(parsed(text)) == {("a", "b"): [-3.0]}


def test_one_node_is_the_empty_sentence() -> None:
    assert sentences(parsed("VERSION=1.0\nN=1 L=0\nI=0 t=0\n")) == {(): [0.0]}


def test_dead_nodes_do_not_hide_the_ends() -> None:
    text = "VERSION=1.0\nN=4 L=1\nI=0\nI=1\nI=2\nI=3\nJ=0 S=2 E=1 W=a\n"
    assert sentences(parsed(text)) == {("a",): [0.0]}


def test_quoting() -> None:
    def word(spelled: str, **options: Any) -> str:
        text = f"VERSION=1.0\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W={spelled} a=-1\n"
        ((only,),) = tokens(text, **options)
        return only

    assert word("'em") == "'em"
    assert word("\\'EM") == "'EM"
    assert word("it's") == "it's"
    assert word("countries'") == "countries'"
    assert word('"new york"') == "new york"
    assert word("'new york'") == "new york"
    assert word('"a \\"b\\" c"') == 'a "b" c'
    assert word('"') == '"'
    assert word("new\\ york") == "new york"
    assert word("caf\\303\\251") == "café"
    assert word("caf\\0303\\0251") == "café"
    assert word("\\'EM", quotes="none") == "\\'EM"
    assert word('"x"', quotes="none") == '"x"'
    assert word("10\u00a0000") == "10\u00a0000"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("W=a ", 'W="a '), "12: a quoted string does not end"),
        (("W=a ", 'W="a\\" '), "12: a quoted string does not end"),
        (("W=a ", "W='a b "), "12: expected key=value, not b"),
        (("W=a ", "W=\\377 "), "12: invalid UTF-8: invalid start byte"),
        (("a=-1 ", "a=-1, -0.4 "), "12: expected key=value, not -0.4"),
        (("a=-1 ", "a=x "), "12: a=x, expected a finite number"),
        (("a=-1 ", "a=nan "), "12: a=nan, expected a finite number"),
        (("a=-2", "a=-inf"), "13: a=-inf, expected a finite number"),
        (("t=0.1", "t=now"), "9: t=now, expected a finite number"),
        (("S=0 E=1", "E=1"), "12: nothing for S=, expected the number of a node"),
        (("S=0 E=1", "S=0 E=one"), "12: one for E=, expected the number of a node"),
        (("S=0 E=1", "S=0 E=9"), "12: no node 9"),
        (("I=1 ", "I=0 "), "9: a second node 0"),
        (("S=1 E=2", "S=1 E=0"), "1: the lattice has a cycle"),
        (("N=4", "N=5"), "1: NODES=5 announced, 4 found: cut short or damaged"),
        (("L=4", "L=3"), "1: LINKS=3 announced, 4 found"),
        (("L=4", "L=x"), "1: LINKS=x, expected a finite number"),
        (("start=0", "start=7"), "1: start=7 is not a node"),
        (("base=10", "base=1"), "1: base=1 is no base of logarithms"),
        (("base=10", "base=nan"), "1: base=nan, expected a finite number"),
        (("lmscale=2", "lmscale=two"), "1: lmscale=two, expected a finite number"),
        (("dir=f", "SUBLAT=x"), "1: sub-lattices are not read"),
        (("dir=f", "words here"), "4: expected key=value, not words"),
    ],
)
def test_bad_files_say_where(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    assert change[0] in SRILM
    spaces, messages = problems(tmp_path, SRILM.replace(*change, 1).encode(), "htk")
    assert spaces == []
    assert len(messages) == 1
    assert expected in messages[0]


def test_ends_that_cannot_be_found() -> None:
    text = "VERSION=1.0\nN=3 L=2\nI=0\nI=1\nI=2\nJ=0 S=0 E=1\nJ=1 S=0 E=2\n"
    with pytest.raises(FormatError, match=r"no end= in the header, .*: 1, 2"):
        parsed(text)
    assert sentences(parsed("end=2\n" + text)) == {(): [0.0]}
    with pytest.raises(FormatError, match="neither nodes"):
        parsed("VERSION=1.0\n")


def test_marks_comments_and_line_ends(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf# made by hand\r\n" + SRILM.replace("\n", "\r\n").encode()
    (lattice,) = read_bytes(tmp_path, data, None)
    assert sorted(sentences(lattice)) == [("a",), ("b",)]
    assert problems(tmp_path, data.replace(b"W=b", b"W=\xff"), "htk")[1] == [
        "16: invalid UTF-8: invalid start byte"
    ]
    long = SRILM.replace("W=b", "W=" + "b" * 100_000).encode()
    (lattice,) = read_bytes(tmp_path, long, None)
    assert sorted(sentences(lattice))[1] == ("b" * 100_000,)


@given(small_lattices(words=WORDS, features=False))
def test_what_is_written_reads_back(lattice: Lattice) -> None:
    back = parsed(written(FORMAT, lattice), tags="keep")
    assert sentences(back) == sentences(lattice)
    assert back.id == (lattice.id or "f")
    one_end = len(lattice.finals) == 1 and lattice.final[lattice.finals[0]] == 0.0
    if one_end and lattice.out_offset[lattice.finals[0]] == lattice.num_arcs:
        assert structure(back) == structure(lattice)


@given(small_lattices(words=["a", "b"], features=False), st.data())
def test_times_and_features_with_a_key_come_back(bare: Lattice, data: st.DataObject) -> None:
    numbers = st.floats(-5, 5, allow_nan=False)
    names = data.draw(st.permutations(["acoustic", "language", "x1", "posterior", "duration"]))[:3]
    times = data.draw(st.lists(numbers, min_size=bare.num_states, max_size=bare.num_states))
    rows = st.lists(
        st.lists(numbers, min_size=3, max_size=3), min_size=bare.num_arcs, max_size=bare.num_arcs
    )
    lattice = Lattice(
        bare.vocabulary, bare.src, bare.dst, bare.label, bare.score, bare.final, bare.start,
        np.array(data.draw(rows)).reshape(-1, 3), None, tuple(names), np.array(times), "x",
    )  # fmt: skip
    back = parsed(written(FORMAT, lattice))
    assert sentences(back) == sentences(lattice)
    assert back.times is not None
    assert back.times.tolist()[: lattice.num_states] == lattice.times.tolist()  # type: ignore[union-attr]
    if lattice.num_arcs:
        assert set(names) <= set(back.feature_names)

    def totals(one: Lattice) -> list[tuple[Any, ...]]:
        return sorted(
            (h.tokens, h.score, *(h.features.get(name, 0.0) for name in sorted(names)))
            for h in one.paths()
        )

    for one, other in zip(totals(back), totals(lattice), strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], abs=1e-9)


def test_a_lattice_that_was_read_is_written_as_it_was(tmp_path: Path) -> None:
    lattice = parsed(SRILM.replace("dir=f", "vocab=/some/list lmname='my lm'"))
    write(tmp_path / "x.slf.gz", [lattice])
    (back,) = read(tmp_path / "x.slf.gz")
    assert isinstance(back, Lattice)
    assert structure(back) == structure(lattice)
    assert back.feature_names == lattice.feature_names
    assert named(back) == named(lattice)
    assert back.metadata == lattice.metadata
    assert back.metadata["header"] == {"vocab": "/some/list", "lmname": "my lm"}
    heavier = lattice.reweighted({**lattice.metadata["weights"], "language": 20.0})
    (again,) = [parsed(written(FORMAT, heavier))]
    assert structure(again) == structure(heavier)


def test_what_has_no_key_is_a_loss(tmp_path: Path) -> None:
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -1.0, {"tm": 1.0, "words": 5.0, "acoustic": -2.0})],
        [1],
        id="x",
        source="s",
        references=["r"],
        metadata={"hyp": "y"},
    )
    with pytest.raises(FormatError, match="htk cannot hold the source"):
        write(tmp_path / "x.slf", [lattice])
    with pytest.warns(
        LossWarning, match=r"source.*references.*metadata.*features tm.*features words"
    ):
        write(tmp_path / "x.slf", [lattice], lossy=True)
    (back,) = read(tmp_path / "x.slf")
    assert isinstance(back, Lattice)
    assert back.score.tolist() == [-1.0]
    assert named(back) == [{"acoustic": -2.0, "x9": -1.0}]
    null = Lattice.from_arcs([(0, 1, "!NULL")], [1])
    with pytest.raises(FormatError, match="words !NULL"):
        written(FORMAT, null)


def test_no_key_left_for_the_score() -> None:
    names = [*(f"x{number}" for number in range(1, 10))]
    names += ["acoustic", "ngram", "language", "pronunciation", "duration"]
    row = dict.fromkeys(names, 1.0)
    lattice = Lattice.from_arcs([(0, 1, "a", -1.0, row)], [1], id="x")
    with pytest.raises(FormatError, match="cannot hold the features"):
        written(FORMAT, lattice)
    assert parsed(written(FORMAT, lattice, lossy=True)).score.tolist() == [-1.0]


def by_posterior(lattice: Lattice, header: str = "") -> tuple[str, dict[tuple[int, ...], float]]:
    """Return a file with the posteriors of links, and the probability of every path."""
    weight = {
        h.arcs: math.exp(h.score - lattice.final[_last(lattice, h.arcs)]) for h in lattice.paths()
    }
    total = sum(weight.values())
    probability = {arcs: value / total for arcs, value in weight.items()}
    posterior: dict[int, float] = defaultdict(float)
    for arcs, value in probability.items():
        for arc in arcs:
            posterior[arc] += value
    # dead arcs are on no path, and have no probability
    rows = zip(lattice.src.tolist(), lattice.dst.tolist(), structure(lattice)["words"], strict=True)
    lines = [
        f"J={arc} S={src} E={dst} W=w{arc}{word or '-'} a=-3.5 p={posterior[arc]!r}"
        for arc, (src, dst, word) in enumerate(rows)
    ]
    nodes = [f"I={node}" for node in range(lattice.num_states)]
    (end,) = lattice.finals.tolist()
    head = ["VERSION=1.0", header, f"start={lattice.start}", f"end={end}"]
    return "\n".join([*head, *nodes, *lines]), probability


def _last(lattice: Lattice, arcs: tuple[int, ...]) -> int:
    return int(lattice.dst[arcs[-1]]) if arcs else lattice.start


@given(small_lattices(words=["a", "b"], features=False).filter(lambda one: len(one.finals) == 1))
def test_posteriors_give_the_distribution_over_paths_back(lattice: Lattice) -> None:
    (end,) = lattice.finals.tolist()
    if lattice.out_offset[end] < lattice.out_offset[end + 1]:
        # SLF ends in its last node: nothing may leave it
        return
    text, probability = by_posterior(lattice)
    found = parsed(text)
    came = {
        tuple(int(word[1:-1]) for word in one.tokens): math.exp(one.score) for one in found.paths()
    }
    assert came == pytest.approx(probability, rel=1e-9, abs=1e-12)


def test_when_posteriors_are_used() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (0, 1, "b", -2.0), (1, 2, "c", 0.0)], [2])
    text, _ = by_posterior(lattice)
    share = math.log(1 + math.exp(-1))
    assert parsed(text).score.tolist() == pytest.approx([-share, -1 - share, 0.0])
    assert "weights" not in parsed(text).metadata
    assert parsed(text, score="header").score.tolist() == [-3.5, -3.5, -3.5]
    for silent in ("acscale=1", "lmscale=10", "wdpenalty=0"):
        assert parsed(by_posterior(lattice, silent)[0]).score.tolist()[0] == -3.5
    with_language = text.replace("a=-3.5", "a=-3.5 l=-1", 1)
    assert parsed(with_language).score.tolist()[0] == -4.5
    assert parsed(with_language, score="posterior").score.tolist()[0] == pytest.approx(-share)
    partly = text.replace(" p=", " x2=", 1)
    assert parsed(partly).score.tolist() == [-3.5, -3.5, -3.5]
    with pytest.raises(FormatError, match="not every link has p="):
        parsed(partly, score="posterior")


def test_posteriors_of_zero_are_floored() -> None:
    text = (
        "VERSION=1.0\nstart=0\nend=2\nI=0\nI=1\nI=2\nJ=0 S=0 E=2 W=a p=1\nJ=1 S=0 E=1 W=b p=0\n"
        "J=2 S=1 E=2 W=c p=0\nJ=3 S=1 E=2 W=d p=0\n"
    )
    scores = {key: one[0] for key, one in sentences(parsed(text)).items()}
    floor = math.log(POSTERIOR_FLOOR)
    assert scores == pytest.approx(
        {("a",): 0.0, ("b", "c"): floor - math.log(2), ("b", "d"): floor - math.log(2)}
    )


# convert_slf.pl of Kaldi (egs/wsj/s5/utils), without an output directory: lattices one after the
# other, an added last node, no base and no scales, tabs, six digits, v= as a float
KALDI = """VERSION=1.1
UTTERANCE=utt-a
N=4\tL=4
I=0\tW=!NULL\tt=0.00
I=1\tW=yes\tt=0.30
I=2\tW=no\tt=0.32
I=3\tW=!NULL\tt=0.32
J=0\tS=0\tE=1\tv=0.000000\ta=-7.500000\tl=-0.250000
J=1\tS=0\tE=2\tv=0.000000\ta=-8.000000\tl=-0.500000
J=2\tS=1\tE=3\tv=0.000000\ta=0.000000\tl=0.000000
J=3\tS=2\tE=3\tv=0.000000\ta=-1.000000\tl=-2.000000

VERSION=1.1
UTTERANCE=utt-b
N=3\tL=2
I=0\tt=0.00
I=1\tt=0.10
I=2\tt=0.10
J=0\tS=0\tE=1\tW=UTTERANCE=x\tv=0.000000\ta=-1.000000\tl=-2.000000
J=1\tS=1\tE=2\tW=!NULL\tv=0.000000\ta=0.000000\tl=0.000000

"""


def test_what_the_converter_of_kaldi_prints(tmp_path: Path) -> None:
    one, other = read_bytes(tmp_path, KALDI.encode(), None)
    assert (one.id, other.id) == ("utt-a", "utt-b")
    assert sentences(one) == {("yes",): [-7.75], ("no",): [-11.5]}
    assert sentences(other) == {("UTTERANCE=x",): [-3.0]}
    assert one.times.tolist() == [0.0, 0.3, 0.32, 0.32]
    spaces, messages = problems(tmp_path, KALDI.replace("a=-7.5", "a=x").encode(), "htk")
    assert [space.id for space in spaces] == ["utt-b"]
    assert messages == ["8: a=x00000, expected a finite number"]
    spaces, messages = problems(tmp_path, KALDI.replace("S=1\tE=2", "S=1\tE=9").encode(), "htk")
    assert [space.id for space in spaces] == ["utt-a"]
    assert messages == ["20: no node 9"]


# Lattice::writeHTK of SRILM (lattice/src/HTKLattice.cc): comments, base 10, the penalty in it, only
# scales that are not the default, -htk-words-on-nodes, -htk-quotes (printQuoted), -posterior
SRILM_WRITER = """# Header (generated by SRILM)
VERSION=1.1
UTTERANCE=two\\ words
base=10
dir=f
acscale=0.5
wdpenalty=-0.5
lmname=my\\040lm
start=0
end=2
NODES=3 LINKS=3
# Nodes
I=0\tW=!NULL\tt=0\tp=1
I=1\tW=\\'em\tt=0.25\tv=1\td=:ah,0.1:m,0.15:\tp=0.75
I=2\tW=!NULL\tt=0.5\tp=1
# Links
J=0\tS=0\tE=1\ta=-4\tr=-1\tn=-2
J=1\tS=1\tE=2\ta=0
J=2\tS=0\tE=2\ta=-6\tl=-1e-05
"""


def test_what_srilm_writes() -> None:
    lattice = parsed(SRILM_WRITER)
    ten = math.log(10)
    assert lattice.id == "two words"
    assert {key: scores[0] for key, scores in sentences(lattice).items()} == pytest.approx(
        {("'em",): (0.5 * -4 - 1 - 2 - 0.5) * ten, (): (0.5 * -6 - 1e-5) * ten}
    )
    assert lattice.metadata["header"] == {"lmname": "my lm"}
    assert parsed(SRILM_WRITER.replace("LINKS=3", "LINKS=3 # all")).num_arcs == 3


# OutputSearchGraphAsSLF of Moses (moses/Manager.cpp) for this tree of hypotheses, with three
# features whose values are totals; loser 3 of a recombination with 1 has a node that goes nowhere
#   hyp 1: 0 -> "the" (-1, 0, 2)          hyp 3: 0 -> "that" (-2, 0, 2)
#   hyp 4: 1 -> "small house" adds (-3, 1, 0)   hyp 6: 1 -> "home" adds (-5, 0, 0.5)
MOSES = """UTTERANCE=Sentence_7
VERSION=1.1
base=2.71828182845905
NODES=7
LINKS=7
# Distortion0 Distortion0 1 of 1
x1scale=0.500000
# LexicalReordering0 LexicalReordering0 1 of 1
x2scale=2.000000
# TranslationModel0 TranslationModel0 1 of 1
x10scale=1.000000
J=0 S=0 E=1 W=the x1=-1.000000 x2=0.000000 x10=2.000000\x20
J=1 S=0 E=2 W=that x1=-2.000000 x2=0.000000 x10=2.000000\x20
J=2 S=1 E=3 W=small x1=-4.000000 x2=1.000000 x10=2.000000\x20
J=3 S=3 E=4 W=house x1=0.000000 x2=0.000000 x10=0.000000\x20
J=4 S=4 E=6
J=5 S=1 E=5 W=home x1=-6.000000 x2=0.000000 x10=2.500000\x20
J=6 S=5 E=6
"""


def test_search_graphs_of_moses_as_slf() -> None:
    lattice = parsed(MOSES)
    assert lattice.id == "Sentence_7"
    assert {key: scores[0] for key, scores in sentences(lattice).items()} == pytest.approx(
        {
            ("the", "small", "house"): 0.5 * -4 + 2 * 1 + 2,
            ("the", "home"): 0.5 * -6 + 2.5,
        }
    )
    rows = dict(zip(structure(lattice)["words"], named(lattice), strict=True))
    assert rows["small"] == pytest.approx({"x1": -3.0, "x2": 1.0, "x10": 0.0})
    assert rows["house"] == {"x1": 0.0, "x2": 0.0, "x10": 0.0}
    assert rows["home"] == pytest.approx({"x1": -5.0, "x2": 0.0, "x10": 0.5})
    assert lattice.metadata["weights"] == {"x1": 0.5, "x2": 2.0, "x10": 1.0}
    assert lattice.metadata["header"] == {}
    np.testing.assert_allclose(
        lattice.reweighted(lattice.metadata["weights"]).score, lattice.score, atol=1e-12
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("S=1 E=5", "S=1 E=2"), "17: not a tree whose links come in order"),
        (("S=1 E=3", "S=5 E=3"), "14: not a tree whose links come in order"),
        (("NODES=7", "NODES=9"), "1: no link at node 0 or none at node 8"),
        (("LINKS=7", "LINKS=8"), "1: LINKS=8 announced, 7 found"),
        (("x1=-6.000000", "x1=nan"), "17: x1=nan, expected a finite number"),
    ],
)
def test_damaged_graphs_of_moses(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    assert change[0] in MOSES
    spaces, messages = problems(tmp_path, MOSES.replace(*change, 1).encode(), "htk")
    assert spaces == []
    assert messages[0].startswith(expected)


# OutputWordGraph of Moses (moses/Manager.cpp), with one score and with several in the list of a
# phrase table; the target is the dump of a phrase
@pytest.mark.parametrize("scores", ["-1.2", "-1.2, -0.4"])
def test_word_graphs_of_moses_are_refused(scores: str) -> None:
    text = (
        "VERSION=1.0\nUTTERANCE=0\n"
        f"J=0\tS=0\tE=1\ta={scores}\tl=-3.5-1, 0\tr=0\tw=das|the :\n"
        f"J=1\tS=1\tE=4\ta={scores}\tl=-4\tr=0\tw=Haus|house\n"
    )
    with pytest.raises(
        FormatError, match=r"f.slf:3: a word graph of Moses: .*-output-search-graph"
    ):
        parsed(text)
    plain = text.replace("l=-3.5-1, 0", "l=-3.5").replace("the :", "the")
    with pytest.raises(FormatError, match=r"f.slf:3: a word graph of Moses"):
        parsed(plain)


def test_what_other_readers_need_is_written() -> None:
    """Check by the rules of Lattice::readHTK (SRILM), which refuses fields it does not know."""
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -1.0, {"acoustic": -1.0, "x9": 2.0}), (1, 2, "", -2.0)], [2], id="u"
    )
    header: list[dict[str, str]] = []
    nodes: list[dict[str, str]] = []
    links: list[dict[str, str]] = []
    for line in written(FORMAT, lattice).decode().splitlines():
        fields = dict(field.split("=", 1) for field in line.split())
        kind = links if "J" in fields else nodes if "I" in fields else header
        # all of the header, then all nodes, then all links
        assert not (kind is header and (nodes or links))
        assert not (kind is nodes and links)
        kind.append(fields)
    first = {key: value for fields in header for key, value in fields.items()}
    assert list(header[0]) == ["VERSION"]
    assert float(first["base"]) == math.e
    assert (first["start"], first["end"]) == ("0", "2")
    assert header[-1] == {"N": "3", "L": "2"}
    assert (len(nodes), len(links)) == (3, 2)
    known = {"J", "S", "E", "W", "v", "d", "s", "a", "n", "l", "r", "ds", "p"}
    known |= {f"x{number}" for number in range(1, 10)}
    assert all(fields.keys() <= known for fields in links)
