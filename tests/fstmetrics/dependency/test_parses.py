from __future__ import annotations

import os
import sys
from types import ModuleType, SimpleNamespace

import pytest

from fstmetrics import ParseTable, load_parses
from fstmetrics.dependency.parses import PARSERS, Parse, load_parser, read_conllu
from fstmetrics.dependency.trees import tree_parse
from lattices import FormatError, OptionError
from lattices.errors import MissingDependencyError

SENTENCE = """\
# sent_id = 1
# text = They don't go.
1\tThey\t_\tPRON\t_\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\t_\tAUX\t_\t_\t4\taux\t_\t_
3\tn't\t_\tPART\t_\t_\t4\tadvmod\t_\t_
4\tgo\t_\tVERB\t_\t_\t0\troot\t_\t_
4.1\twent\t_\tVERB\t_\t_\t_\t_\t0:root\t_
5\t.\t_\tPUNCT\t_\t_\t4\tpunct\t_\t_
"""
WORDS = ("They", "do", "n't", "go", ".")


def line(number, form, head):
    return f"{number}\t{form}\t_\t_\t_\t_\t{head}\t_\t_\t_\n"


def test_conllu(tmp_path):
    pytest.importorskip("conllu")
    path = tmp_path / "one.conllu"
    path.write_text("\n\n" + SENTENCE + "\n" + line(1, "Yes", 0))
    first, second = read_conllu(path)
    assert (first.words, first.heads) == (WORDS, (4, 4, 4, 0, 4))
    assert (second.words, second.heads) == (("Yes",), (0,))
    table = load_parses(str(path))
    for spelling in (WORDS, ("They", "don't", "go", "."), ("They", "don't", "go.")):
        assert table.parse(spelling) == first
    assert table.parse(()).words == ()
    with pytest.raises(OptionError, match="has no parse of 'They go'"):
        table.parse(("They", "go"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n" + SENTENCE + "\n1\tonly\n", r":12: no CoNLL-U sentence"),
        (line(1, "a", 5), ":1: .*the head of word 1 is 5"),
        (line(1, "a", 1), ":1: .*the head of word 1 is 1"),
        (line(1, "a", "_"), ":1: .*word 1 has no head"),
        (line(2, "a", 0), ":1: .*word 2 where 1 was expected"),
        (line(1, "a", "x"), ":1: no CoNLL-U sentence"),
        ("1\n", ":1: no CoNLL-U sentence"),
        ("words only\n", ":1: no CoNLL-U sentence"),
        ("# text = a comment only\n", ":1: no CoNLL-U sentence"),
    ],
)
def test_bad_conllu(tmp_path, content, message):
    pytest.importorskip("conllu")
    path = tmp_path / "bad.conllu"
    path.write_text(content)
    with pytest.raises(FormatError, match="bad.conllu" + message):
        load_parses(str(path))


def test_files_that_are_none(tmp_path):
    with pytest.raises(OptionError, match="No such file"):
        load_parses(str(tmp_path / "none.conllu"))
    path = tmp_path / "latin.conllu"
    path.write_bytes(b"\n# text = caf\xe9\n")
    with pytest.raises(FormatError, match=r"latin.conllu:2: invalid UTF-8"):
        load_parses(str(path))


def test_two_parses_of_one_sentence_are_an_error():
    one, other = Parse(("a", "b"), (2, 0)), Parse(("a", "b"), (0, 1))
    assert len(ParseTable([one, one])) == 1
    with pytest.raises(OptionError, match="two parses of 'a b'"):
        ParseTable([one, other], "file")


def test_several_files_and_formats(tmp_path):
    pytest.importorskip("conllu")
    pytest.importorskip("nltk")
    dependencies, trees = tmp_path / "a.conllu", tmp_path / "b.mrg"
    dependencies.write_text(SENTENCE)
    trees.write_text("( (S (NP (PRP It))\n  (VP (VBZ rains))) )\n\n(INTJ (UH Yes))\n")
    table = load_parses(f"{dependencies}{os.pathsep}{trees}")
    assert table.parse(WORDS).heads == (4, 4, 4, 0, 4)
    assert table.parse(("It", "rains")).heads == (2, 0)
    assert table.parse(("Yes",)).heads == (0,)


class FakeSpacy:
    """Enough of spaCy: every word depends on the one before it."""

    def __init__(self, monkeypatch):
        self.loaded = []
        spacy, tokens = ModuleType("spacy"), ModuleType("spacy.tokens")
        spacy.load = self.load
        tokens.Doc = lambda vocab, words: SimpleNamespace(vocab=vocab, words=words)
        monkeypatch.setitem(sys.modules, "spacy", spacy)
        monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)

    def load(self, model):
        if model != "toy":
            raise OSError(f"[E050] Can't find model '{model}'")
        self.loaded.append(model)

        def pipeline(document):
            assert document.vocab == "vocabulary"
            return [
                SimpleNamespace(i=i, head=SimpleNamespace(i=max(0, i - 1)))
                for i, _ in enumerate(document.words)
            ]

        pipeline.vocab = "vocabulary"
        return pipeline


def test_spacy(monkeypatch):
    fake = FakeSpacy(monkeypatch)
    parser = load_parser("spacy:toy")
    assert parser(("a", "b", "c")) == [0, 1, 2]
    assert fake.loaded == ["toy"]
    with pytest.raises(OptionError, match=r"cannot load 'other'.*E050"):
        load_parser("spacy:other")


def test_spacy_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingDependencyError, match=r"pip install spacy.*download en_core_web_sm"):
        load_parser("spacy:en_core_web_sm")
    with pytest.raises(OptionError, match="needs a model"):
        load_parser("spacy")
    assert "spacy" in PARSERS.names()


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    path = tmp_path / "one.conllu"
    path.write_text(SENTENCE)
    monkeypatch.setitem(sys.modules, "conllu", None)
    monkeypatch.setitem(sys.modules, "nltk.tree", None)
    with pytest.raises(MissingDependencyError, match=r"conllu.*fstmetrics\[parsing\]"):
        list(read_conllu(path))
    with pytest.raises(MissingDependencyError, match=r"nltk.*fstmetrics\[parsing\]"):
        tree_parse("(X a)")


def test_treebanks(shared_data):
    pytest.importorskip("conllu")
    for language, sentences in (("en", 1000), ("cs", 1000)):
        path = shared_data / "treebanks" / f"{language}_pud-ud-test.conllu"
        parses = list(read_conllu(path))
        assert len(parses) == sentences
        assert all(parse.heads.count(0) == 1 for parse in parses)
        assert all(parse.bag().total() == len(parse.words) for parse in parses)
        texts = [line[9:] for line in path.read_text().splitlines() if line.startswith("# text = ")]
        table = load_parses(str(path))
        assert [table.parse(text.split()).words for text in texts] == [
            parse.words for parse in parses
        ]
