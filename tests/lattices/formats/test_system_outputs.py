"""Outputs of systems: which layout a file has, by its content."""

from __future__ import annotations

from pathlib import Path

import pytest

from lattices.errors import FormatError
from lattices.formats.references import read_references
from lattices.formats.references.from_results import are_results, look_like_scores, read_results
from lattices.formats.system_outputs import read_output

SAID = {"u1": ("the", "cat"), "u2": ()}


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("kaldi", "u1 the cat\nu2\n"),
        ("kaldi", "\ufeffu1\tthe cat\r\n\r\nu2\r\n"),
        ("trn", "the cat (u1)\n(u2)\n"),
        ("ctm", "u1 1 0.0 0.5 the\nu1 1 0.5 0.5 cat\n"),
        ("tsv", "u1\t0.5\tthe cat\nu1\t1.5\tthe hat\nu2\t-inf\t\n"),
        ("tsv", "u1\t0.5\tthe cat\nu2\t1e-05\n"),
        ("json-rows", '{"id": "u1", "rank": 1, "score": 0.5, "words": ["the", "cat"], "text": '
         '"the cat", "metric": "wer"}\n{"id": "u1", "rank": 2, "score": 1.5, "words": ["x"], '
         '"text": "x", "metric": "wer"}\n{"id": "u2", "rank": 1, "score": 0.5, "words": [], '
         '"text": "", "metric": "wer"}\n'),
        ("csv", 'id,rank,expected,words,text,candidates,metric\n'
         'u1,1,0.5,"[""the"", ""cat""]",the cat,7,wer\nu2,1,0.5,[],,3,wer\n'),
        ("csv", 'id,score,words,text\nu1,0.5,"[""the"", ""cat""]",the cat\nu2,0.5,[],\n'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["system", "system.tsv", "system.txt"])
def test_layouts_are_known_by_content(layout: str, text: str, name: str, tmp_path: Path) -> None:
    path, refs = tmp_path / name, tmp_path / "refs"
    path.write_text(text)
    refs.write_text("u1 the cat\nu2 no\n")
    output = read_output(str(path), references=read_references([refs]))
    assert output.layout == layout
    assert {each.id: each.words for each in output.said} == SAID
    if layout != "ctm":
        # silence is not in a ctm
        assert {each.id: each.words for each in read_output(str(path)).said} == SAID


@pytest.mark.parametrize("layout", ["trn", "ctm"])
def test_transcripts_beside_references_without_ids(layout: str, tmp_path: Path) -> None:
    """They are not taken for words, unless the references end in brackets, too."""
    path, refs = tmp_path / "system", tmp_path / "refs"
    trn, ctm = "the cat (s-1)\n(s-2)\n", "u1 1 0.0 0.5 the\nu1 1 0.5 0.5 cat\n"
    path.write_text(trn if layout == "trn" else ctm)
    refs.write_text("a cat\nno\n")
    with pytest.raises(FormatError, match=f"{layout} goes by id, but the references do not"):
        read_output(str(path), references=read_references([refs], format="plain"))
    if layout == "trn":
        refs.write_text("a (b)\nc (d)\n")
        output = read_output(str(path), references=read_references([refs], format="plain"))
        assert output.layout == "text"
        assert output.said[0].words == ("the", "cat", "(s-1)")


def test_words_with_blanks_in_results(tmp_path: Path) -> None:
    path = tmp_path / "system"
    path.write_text('{"id": "u1", "score": 0.5, "words": ["new york"], "text": "new york"}\n')
    assert read_output(str(path)).said[0].words == ("new york",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("u1\t0.5\ta\nu2\t0.5\tb\nu1\t0.5\tc\n", "system:3: a second line for the id 'u1'"),
        ("u1 0.5 a\nu2 3 b\n", "every line is an id, a number and words; format=kaldi"),
        ("the cat\na dog\n", "may be ids or words: format=kaldi"),
        ("", "0 lines"),
    ],
)
def test_what_is_wrong(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "system").write_text(text)
    with pytest.raises(FormatError) as raised:
        read_output(str(tmp_path / "system"))
    assert problem in str(raised.value)


def test_lines_that_are_no_results() -> None:
    assert not are_results(["u1\t0.5\ta", "u2 0.5 b"])
    assert not are_results(["u1\t0.5\ta\tb"])
    assert not are_results(["u1\t0.5"])
    assert not are_results(["\t0.5\ta"])
    assert not are_results([])
    assert not look_like_scores([])
    assert look_like_scores(["3 x"], whole=True)
    with pytest.raises(FormatError, match="f:2: expected an id, a score and words"):
        read_results(["u1 0.5 a", "u2 b"], "f")
