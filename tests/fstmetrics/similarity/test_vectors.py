from __future__ import annotations

import gzip

import numpy as np
import pytest

from fstmetrics import WER, EmbeddingSimilarity, load_vectors, parse_metric
from fstmetrics.similarity.vectors import WordVectors, save_vectors
from fstmetrics.testing import check_metric
from lattices import FormatError, OptionError
from lattices.errors import MissingDependencyError

WORDS = ["cat", "dog", "ß", "naïve"]
ROWS = np.array([[1, 0, 0.5], [0.6, 0.8, 0], [-1, 0, 0.25], [0, 0, 2]], dtype=np.float32)
LINES = "".join(f"{w} {' '.join(map(str, row))}\n" for w, row in zip(WORDS, ROWS, strict=True))


def gensim_vectors():
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(3)
    keyed.add_vectors(WORDS, ROWS)
    return keyed


def same(vectors):
    return np.array_equal(vectors.rows(WORDS), ROWS) and len(vectors) == len(WORDS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("header.txt", "4 3\n" + LINES),
        ("glove.txt", LINES),
        ("windows.vec", "\ufeff4 3\r\n" + LINES.replace("\n", " \r\n")),
    ],
)
def test_text(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content.encode())
    assert same(load_vectors(path))
    packed = tmp_path / (name + ".gz")
    packed.write_bytes(gzip.compress(content.encode()))
    assert same(load_vectors(packed))


def test_words_with_blanks_in_glove(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("cat 1 2\nat name 3 4\n")
    assert load_vectors(path).rows(["at name"]).tolist() == [[3, 4]]


@pytest.mark.parametrize("binary", [True, False])
def test_what_gensim_writes(tmp_path, binary):
    keyed = gensim_vectors()
    for name in ("vectors.w2v", "vectors.w2v.gz"):
        keyed.save_word2vec_format(str(tmp_path / name), binary=binary)
        assert same(load_vectors(tmp_path / name))
    assert same(WordVectors.from_gensim(keyed))


def test_memory_mapped_arrays(tmp_path):
    path = tmp_path / "vectors.npy"
    save_vectors(path, WORDS, ROWS)
    vectors = load_vectors(path)
    assert same(vectors)
    assert load_vectors(path) is vectors
    save_vectors(path, ["x"], np.array([[7.0]]))
    assert load_vectors(path).rows(["x"]).tolist() == [[7.0]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.txt", b"", "expected 'words dimensions'"),
        ("word.txt", b"cat\n", "word.txt:1: expected 'words dimensions'"),
        ("short.txt", b"2 3\ncat 1 2 3\ndog 1 2\n", r"short.txt:3: 2 numbers, expected 3"),
        ("less.txt", b"3 1\ncat 1\ndog 1\n", r"less.txt:3: 2 vectors, but the header says 3"),
        ("more.txt", b"1 1\ncat 1\ndog 1\n", r"more.txt:3: 2 vectors, but the header says 1"),
        ("letter.txt", b"1 2\ncat 1 x\n", r"letter.txt:2: .*no number"),
        ("glove.txt", b"cat 1 2\ndog 1\n", r"glove.txt:2: 1 numbers, expected 2"),
        ("nan.txt", b"1 2\ncat 1 nan\n", r"nan.txt:2: .*not finite"),
        ("bytes.txt", b"cat 1 2\ndog \xff 2\n", r"bytes.txt:2: invalid UTF-8"),
        ("cut.bin", b"2 2\ncat \x00\x00\x80?\x00\x00", "binary format"),
        ("cut.txt.gz", gzip.compress(b"1 2\ncat 1 2\n", mtime=0)[:-9], "cut short"),
        ("pickled.kv", b"\x80\x04", "pickle"),
        ("text.npy", b"1 2 3", "no array"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    if name.endswith("bin"):
        pytest.importorskip("gensim")
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        load_vectors(path)


def test_bad_arrays(tmp_path):
    path = tmp_path / "vectors.npy"
    with pytest.raises(OptionError, match="No such file"):
        load_vectors(path)
    np.save(path, ROWS)
    with pytest.raises(FormatError, match=r"vectors\.words: the words"):
        load_vectors(path)
    path.with_suffix(".words").write_text("cat\ndog\n")
    with pytest.raises(FormatError, match="2 words for 4 vectors"):
        load_vectors(path)
    np.save(path, np.array(["a", "b"]))
    with pytest.raises(FormatError, match="expected rows of numbers"):
        load_vectors(path)
    with pytest.raises(FormatError, match="cannot be written"):
        save_vectors(path, ["a\nb"], ROWS[:1])
    with pytest.raises(FormatError, match=r"\.npy"):
        save_vectors(tmp_path / "vectors.txt", ["a"], ROWS[:1])
    with pytest.raises(OptionError, match="one row for each word"):
        WordVectors(["a"], ROWS)
    with pytest.raises(OptionError, match="'b' is not finite"):
        WordVectors(["a", "b"], np.array([[1.0], [np.inf]])).rows(["a", "b"])


def test_binary_files_say_that_gensim_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gensim.models", None)
    path = tmp_path / "vectors.bin"
    path.write_bytes(b"1 1\ncat \x00\x00\x80\xbf\n")
    with pytest.raises(MissingDependencyError, match=r"fstmetrics\[embeddings\]"):
        load_vectors(path)


def test_cosines_and_words_without_vectors():
    vectors = WordVectors([*WORDS, "nought", "cat"], np.vstack([ROWS, np.zeros(3), ROWS[1]]))
    words = [*WORDS, "nought", "unknown"]
    matrix = EmbeddingSimilarity(vectors=vectors).matrix(words, [*words, "other"])
    assert matrix.shape == (6, 7)
    assert np.array_equal(np.diag(matrix), np.ones(6))
    expected = 0.6 / np.sqrt(1.25)
    assert matrix[0, 1] == pytest.approx(expected)
    assert matrix[0, 2] == 0.0  # opposite directions
    assert matrix[4, :4].sum() == matrix[5, :5].sum() == matrix[:, 6].sum() == 0.0
    cut = EmbeddingSimilarity(vectors=vectors, gamma=0.6).matrix(words, words)
    assert cut[0, 1] == 0.0
    assert np.array_equal(cut[cut > 0], matrix[:, :6][matrix[:, :6] >= 0.6])


def test_the_signature_names_the_file(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("4 3\n" + LINES)
    metric = WER(similarity=EmbeddingSimilarity(vectors=str(path), gamma=0.2))
    assert str(metric) == f"wer:similarity=embedding(vectors={path},gamma=0.2)"
    assert parse_metric(str(metric)) == metric
    check_metric(metric)
    assert str(EmbeddingSimilarity(vectors=WordVectors(["a"], ROWS[:1], "mine"))).endswith("=mine")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs word vectors"),
        ({"vectors": "a,b"}, "no comma"),
        ({"vectors": "a(1).txt"}, "parenthesis"),
        ({"vectors": " a"}, "blank"),
        ({"vectors": ROWS}, "a path or WordVectors"),
        ({"vectors": "a", "gamma": -0.1}, "gamma"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message):
        EmbeddingSimilarity(**options)
    with pytest.raises(OptionError, match="No such file"):
        EmbeddingSimilarity(vectors="no/such/file").matrix(["a"], ["b"])
