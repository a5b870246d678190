from __future__ import annotations

import pickle

import pytest

from lattices import SpaceError, Vocabulary


def test_what_looks_like_syntax_is_a_word():
    vocabulary = Vocabulary(["<eps>", "[x]", "<s>"])
    assert vocabulary.encode(["<eps>", "", "<s>", "new"]).tolist() == [1, 0, 3, -1]
    assert vocabulary.decode([1, 0, 2]) == ("<eps>", "[x]")


def test_pickling_keeps_the_numbers():
    vocabulary = Vocabulary(["b", "a"])
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert [copy.id(word) for word in ("b", "a", "c")] == [1, 2, -1]


@pytest.mark.parametrize("bad", [3, None, b"bytes"])
def test_only_strings_are_words(bad):
    with pytest.raises(SpaceError, match="a word is a string"):
        Vocabulary().add(bad)


def test_a_number_without_a_word_is_an_error():
    with pytest.raises(SpaceError, match="no word has the number 7"):
        Vocabulary(["a"]).word(7)
