"""References in the layouts of NIST's sclite, as its doc/infmts.htm has them."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.errors import FormatError, OptionError
from lattices.formats.references import References, read_references
from lattices.formats.references.ids import IdTemplate, strip_speaker
from lattices.formats.references.nist import (
    Transcriber,
    TranscriptAlternatives,
    join_variants,
    parse_variants,
)
from lattices.spaces import Lattice
from tests.lattices.algorithms.comparing import packed

TRN = """she had your dark suit in greasy wash water all year (cmh_sa01)
;; a comment
i've { um / uh / @ } as far as i'm concerned  (cmh_sa02)

(cmh_sa03)
"""
CTM = """;;  Comments follow ';;'

7654 A 11.34 0.2  YES -6.763
7654 A   *    *   <ALT_BEGIN>
7654 A 12.00 0.34 UM
7654 A   *    *   <ALT>
7654 A 12.00 0.34 UH
7654 A   *    *   <ALT>
7654 A   *    *   <ALT_END>
7654 A 13.30 0.5  CAN 2.806418
7654 B 1.34 0.2  I -6.763
7654 B 0.50 0.34 { NA
7655 A 2.00 0.34 ADD 0.5 lex spk
"""
STM = """;; LABEL "M" "Male" "Male Talkers"
2345 A 2345-a 0.10 2.03 uh huh yes i thought
2345 A 2345-b 2.10 3.04 <O,F,00> dog walking { is / was } a very
2345 A 2345-a 3.50 4.59 IGNORE_TIME_SEGMENT_IN_SCORING
2346 A x 0.00 1 <o,f0,male> ignore_time_segment_in_scoring
2347 1 x 5.00 6.5 second
2347 1 y 0.25 7 first
"""


def made(folder: Path, *contents: str) -> list[Path]:
    paths = []
    for number, data in enumerate(contents):
        path = folder / f"ref{number}"
        path.write_text(data)
        paths.append(path)
    return paths


def said(references: References, id: str) -> list[list[str]]:
    """Return the sentences of each reference of a segment."""
    return [
        sorted(path.text for path in one.paths()) if isinstance(one, Lattice) else [one]
        for one in references.get(id, 0)
    ]


@pytest.mark.parametrize("format", ["auto", "trn"])
def test_trn(tmp_path: Path, format: str) -> None:
    paths = made(tmp_path, TRN)
    references = read_references(paths, format=format)
    assert references.get("cmh_sa01", 7) == (
        "she had your dark suit in greasy wash water all year",
    )
    rest = "as far as i'm concerned"
    assert said(references, "cmh_sa02") == [[f"i've {rest}", f"i've uh {rest}", f"i've um {rest}"]]
    assert references.get("cmh_sa03", 0) == ("",)
    assert (references.layout, references.layouts, len(references)) == ("kaldi", ("trn",), 3)
    references.finish(1)
    (lattice,) = references.get("cmh_sa02", 0)
    assert isinstance(lattice, Lattice)
    assert not lattice.score.any()
    assert lattice.id == "cmh_sa02"
    with pytest.raises(FormatError, match=r"ref0: no reference for 'x' in 3 segments \(trn\); its"):
        references.get("x", 0)


def test_it_survives_pickling(tmp_path: Path) -> None:
    for settled in (False, True):
        references = read_references(made(tmp_path, TRN), format="auto")
        if settled:
            references.settle(["cmh_sa01"])
        copy = pickle.loads(pickle.dumps(references))
        assert said(copy, "cmh_sa02") == said(references, "cmh_sa02")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ a b / c }", ["a b", "c"]),
        ("{ a / { b / @ } c } d", ["a d", "b c d", "c d"]),
        ("{ { a / b } / c } { x / @ }", ["a", "a x", "b", "b x", "c", "c x"]),
        ("x { @ / @ }", ["x", "x"]),
        ("the (farmer) said", ["the farmer said", "the said"]),
        ("{ (a) / b }", ["", "a", "b"]),
        ("{ only }", ["only"]),
        ("a @ b", ["a b"]),
        ("and/or / {x} a@b ( ) ()", ["and/or / {x} a@b ( ) ()"]),
        ("", [""]),
    ],
)
def test_alternations(text: str, expected: list[str]) -> None:
    transcriber = Transcriber()
    transcriber.add_text(text)
    result = transcriber.result()
    if isinstance(result, str):
        assert [result] == expected
    else:
        assert sorted(path.text for path in result.lattice("").paths()) == expected


trees = st.recursive(
    st.sampled_from(["a", "b", "@", "(c)"]),
    lambda inner: st.lists(st.lists(inner, min_size=1, max_size=2), min_size=1, max_size=3),
    max_leaves=6,
)


@given(st.lists(trees, max_size=3))
def test_alternations_hold_the_sentences_of_their_grammar(parts: list[object]) -> None:
    def spelt(tree: object) -> str:
        if isinstance(tree, str):
            return tree
        assert isinstance(tree, list)
        return "{ " + " / ".join(" ".join(map(spelt, one)) for one in tree) + " }"

    def sentences(tree: object) -> set[tuple[str, ...]]:
        if isinstance(tree, str):
            without = {()} if tree in ("@", "(c)") else set[tuple[str, ...]]()
            return without | ({(tree.strip("()"),)} if tree != "@" else set())
        assert isinstance(tree, list)
        return {sentence for one in tree for sentence in joined(one)}

    def joined(row: list[object]) -> set[tuple[str, ...]]:
        return {sum(some, ()) for some in itertools.product(*map(sentences, row))}

    transcriber = Transcriber()
    transcriber.add_text(" ".join(map(spelt, parts)))
    result = transcriber.result()
    came = (
        {path.tokens for path in result.lattice("").paths()}
        if isinstance(result, TranscriptAlternatives)
        else {tuple(result.split())}
    )
    assert came == joined(parts)


def test_many_sentences_and_deep_nesting_stay_small() -> None:
    transcriber = Transcriber()
    transcriber.add_text("{ a / b c / @ } " * 100)
    result = transcriber.result()
    assert isinstance(result, TranscriptAlternatives)
    assert len(result.arcs) == 100 * (3 + 3)
    deep = Transcriber()
    deep.add_text("{ a / " * 20_000 + "b" + " }" * 20_000)
    lattice = deep.result()
    assert isinstance(lattice, TranscriptAlternatives)
    assert lattice.lattice("deep").num_arcs == 60_001


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a { b / c (u1)", "a { without its }"),
        ("a } b (u1)", "a } without its {"),
        ("{ a / } (u1)", "an alternative with nothing in it"),
        ("{ / a } (u1)", "an alternative with nothing in it"),
        ("{ } (u1)", "an alternative with nothing in it"),
        ("{ a / b } } (u1)", "a } without its {"),
        ("{ " * 5000 + "(u1)", "a { without its }"),
        ("no id", r"expected 'words (id)'"),
        ("a (u0)", "a second line for the id 'u0'"),
    ],
)
def test_bad_transcripts_say_where(tmp_path: Path, line: str, expected: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_references(made(tmp_path, f"fine (u0)\n{line}\n"), format="trn")
    assert str(caught.value).startswith(f"{tmp_path / 'ref0'}:2: {expected}")


@pytest.mark.parametrize("format", ["auto", "ctm"])
def test_ctm(tmp_path: Path, format: str) -> None:
    (path,) = made(tmp_path, "")
    path.write_bytes(packed(b"\xef\xbb\xbf" + CTM.replace("\n", "\r\n").encode()))
    references = read_references([path], format=format)
    # by file where it has one channel, else by both; in the order of time; words as they stand
    assert references.get("7655", 0) == ("ADD",)
    assert references.get("7654-B", 0) == ("{ I",)
    assert said(references, "7654-A") == [["YES CAN", "YES UH CAN", "YES UM CAN"]]
    assert references.layouts == ("ctm",)
    whole = read_references([path], format=format, id_template="{channel}/{file}")
    assert whole.get("B/7654", 0) == ("{ I",)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("7654 A 1.0 0.2", "4 columns, expected file, channel, begin"),
        ("7654 A x 0.2 word", "begin x, expected seconds"),
        ("7654 A 1.0 -1 word", "duration -1, expected seconds"),
        ("7654 A nan 1 word", "begin nan, expected seconds"),
        ("7654 A * * <ALT>", "<ALT> without <ALT_BEGIN>"),
        ("7654 A * * <ALT_END>", "<ALT_END> without <ALT_BEGIN>"),
        ("7654 A * * <ALT_BEGIN>", "<ALT_BEGIN> without <ALT_END>"),
        ("7654 A * * <ALT_BEGIN>\n7654 A * * <ALT_BEGIN>", "<ALT_BEGIN> inside an alternation"),
    ],
)
def test_bad_ctm(tmp_path: Path, row: str, expected: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_references(made(tmp_path, f"7654 A 0.5 0.2 fine\n{row}\n"), format="ctm")
    line = 1 + row.count("\n") + 1
    assert str(caught.value).startswith(f"{tmp_path / 'ref0'}:{line}: {expected}")


@pytest.mark.parametrize("format", ["auto", "stm"])
def test_stm(tmp_path: Path, format: str) -> None:
    paths = made(tmp_path, STM)
    references = read_references(paths, format=format)
    first = "uh huh yes i thought dog walking"
    assert said(references, "2345") == [[f"{first} is a very", f"{first} was a very"]]
    assert references.get("2347", 0) == ("first second",)
    assert len(references) == 2
    with pytest.raises(FormatError, match=r"ref0:5: '2346' is excluded from scoring"):
        references.get("2346", 0)
    by_time = read_references(
        paths, format=format, id_template="{speaker}_{begin_cs:06}-{end_ms:06d}"
    )
    assert by_time.get("2345-a_000010-002030", 0) == ("uh huh yes i thought",)
    with pytest.raises(FormatError, match=r"ref0:4: .* is excluded from scoring"):
        by_time.get("2345-a_000350-004590", 0)
    as_written = read_references(paths, format=format, id_template="{file}-{channel}-{begin}-{end}")
    assert said(as_written, "2345-A-2.10-3.04") == [
        ["dog walking is a very", "dog walking was a very"]
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("f A s 1.0", "4 columns, expected file, channel, speaker"),
        ("f A s 1.0 x words", "time x, expected seconds"),
        ("f A s 2.0 1.0 words", "begins at 2.0, but ends at 1.0"),
        ("f A s 1.0 2.0 { a / b", "a { without its }"),
    ],
)
def test_bad_stm(tmp_path: Path, row: str, expected: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_references(made(tmp_path, f"f A s 0.0 1.0 fine\n{row}\n"), format="stm")
    assert str(caught.value).startswith(f"{tmp_path / 'ref0'}:2: {expected}")


def test_each_file_has_its_own_layout(tmp_path: Path) -> None:
    paths = made(
        tmp_path,
        "u1 a dog\nu2 the cat\n",
        "{ a / one } dog (u1)\nmore (u0)\nthe (u2)\n",
        "u1 1 0.00 0.5 A\nu1 1 0.50 0.5 HOUND\nu2 1 0.00 0.25 CAT\n",
    )
    references = read_references(paths, ["u2", "u1"])
    assert references.layouts == ("kaldi", "trn", "ctm")
    assert said(references, "u1") == [["a dog"], ["a dog", "one dog"], ["A HOUND"]]
    lazy = read_references(paths)
    lazy.settle(["unheard", "u1"])
    assert lazy.layouts == references.layouts


def test_a_file_without_the_ids_among_others(tmp_path: Path) -> None:
    paths = made(tmp_path, "a (u1)\nb (u2)\n", "a\nb\n")
    message = r"ref1: no line that begins with 'u1', but .*ref0 is by id"
    with pytest.raises(FormatError, match=message):
        read_references(paths, ["u1", "u2"])
    with pytest.raises(FormatError, match=message):
        read_references(paths).get("u1", 0)
    paths = made(tmp_path, "u1 a\nu2 b\n", "a (u1)\n")
    with pytest.raises(FormatError, match=r"ref1: no reference for 'u2', though it looks like trn"):
        read_references(paths, ["u1", "u2"])


def test_what_looks_like_ids_is_not_taken_for_words(tmp_path: Path) -> None:
    paths = made(tmp_path, TRN)
    with pytest.raises(FormatError, match=r"ref0: no reference for 'x', though it looks like trn"):
        read_references(paths).get("x", 0)
    with pytest.raises(FormatError, match=r"no reference for '1', though it looks like trn"):
        read_references(paths, ["1", "2", "3", "4", "5"])
    assert read_references(paths, format="plain").get("x", 1) == (";; a comment",)
    # a text is not taken for times because it has numbers in it
    paths = made(tmp_path, "u1 we have 2 3 apples\nu2 we have 4 5 pears\n")
    assert read_references(paths).get("u1", 0) == ("we have 2 3 apples",)
    both = made(tmp_path, "f A 1.0 2.0 3\n")
    with pytest.raises(FormatError, match="could be ctm as well as stm"):
        read_references(both)
    assert read_references(both, format="ctm").get("f", 0) == ("3",)


def test_the_speaker_in_front(tmp_path: Path) -> None:
    paths = made(tmp_path, "A B\t(12-34-12-34-0001)\nC\t(12-34-12-34-0002)\n")
    hint = r"'12-34-12-34-0002' has the speaker in front, which the id template {utterance} drops"
    for format in ("auto", "trn"):
        with pytest.raises(FormatError, match=hint):
            read_references(paths, format=format).get("12-34-0002", 0)
        found = read_references(paths, format=format, id_template="{utterance}")
        assert found.get("12-34-0002", 0) == ("C",)
    assert strip_speaker("a-a") == "a"
    assert strip_speaker("a-ab") == "ab"
    assert strip_speaker("a_a-1") == strip_speaker("") == strip_speaker("a-") == ""
    with pytest.raises(FormatError, match=r"ref0:1: no speaker in front of the utterance in 'u1'"):
        read_references(made(tmp_path, "a (u1)\n"), format="trn", id_template="{utterance}")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{file.__class__}", "no field 'file.__class__', expected one of id, utterance, file"),
        ("{0}", "no field '0'"),
        ("{}", "no field ''"),
        ("{file", "expected '}' before end of string"),
        ("same", "no field in it"),
        ("{file!r}", "only a width"),
        ("{file:06}", "only a width"),
        ("{begin_cs:999999999}", "only a width"),
        ("{begin_cs:{file}}", "only a width"),
    ],
)
def test_bad_templates(template: str, expected: str) -> None:
    with pytest.raises(OptionError) as caught:
        IdTemplate(template)
    assert expected in str(caught.value)


def test_templates_need_their_layout(tmp_path: Path) -> None:
    paths = made(tmp_path, TRN)
    with pytest.raises(OptionError, match="the fields of trn are id, utterance"):
        read_references(paths, format="trn", id_template="{file}")
    with pytest.raises(OptionError, match="the fields of kaldi are none"):
        read_references(paths, format="kaldi", id_template="{id}")
    with pytest.raises(FormatError, match="an id template, but not a trn, ctm or stm"):
        read_references(paths, id_template="{file}")
    with pytest.raises(FormatError, match="no segment of layout stm"):
        read_references(made(tmp_path, ";; nothing\n"), format="stm")


def test_librispeech(shared_data: Path) -> None:
    folder = shared_data / "librispeech-nbest"
    by_kaldi = read_references([folder / "dev_clean.ref.txt"], format="kaldi")
    trn = read_references([folder / "dev_clean.score_wer.ref.trn"], id_template="{utterance}")
    with open(folder / "dev_clean.ref.txt") as file:
        names = [line.split(" ", 1)[0] for line in file]
    assert len(trn.get(names[0], 0)) == 1
    assert len(trn) == len(names)
    assert [trn.get(name, 0) for name in names] == [by_kaldi.get(name, 0) for name in names]


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["a", "b", "[noise]", "|", "(c)", "@", "{"]),
            st.lists(st.sampled_from(["a", "b c", "", "@", "/"]), min_size=2, max_size=3),
        ),
        max_size=5,
    )
)
def test_variants_are_every_choice(parts: list[str | list[str]]) -> None:
    """In brackets any may be chosen, and nothing else has a meaning."""
    text = " ".join(each if isinstance(each, str) else f"[{'|'.join(each)}]" for each in parts)
    choices = itertools.product(*([each] if isinstance(each, str) else each for each in parts))
    expected = {tuple(" ".join(choice).split()) for choice in choices}
    for found in (parse_variants(text), join_variants(parts)):
        if isinstance(found, str):
            assert {tuple(found.split())} == expected
        else:
            assert {path.tokens for path in found.lattice("").paths()} == expected


@pytest.mark.parametrize("text", ["[a|b].", "x[a|b]", "[a|[b|c]]", "[a|b"])
def test_variants_that_do_not_stand_alone(text: str) -> None:
    with pytest.raises(ValueError, match="variants stand between blanks"):
        parse_variants(text)
