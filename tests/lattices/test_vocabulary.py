from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices import SpaceError, Vocabulary


@given(st.lists(st.lists(st.text(min_size=1, max_size=3), max_size=30), max_size=6))
def test_keys_stand_in_the_order_of_the_strings_while_the_vocabulary_grows(batches):
    vocabulary = Vocabulary()
    for batch in batches:
        vocabulary.add_all(batch)
        keys = vocabulary.ranks()
        assert len(keys) == len(vocabulary)
        assert keys[0] == 0
        ordered = sorted(["", *vocabulary], key=lambda word: keys[vocabulary.id(word)])
        assert ordered == sorted(["", *vocabulary])
        assert len(set(keys.tolist())) == len(keys)


def test_keys_find_room_for_words_that_come_in_alphabetical_order():
    vocabulary = Vocabulary(["a", "z"] + [f"q{number:05}" for number in range(1000)])
    vocabulary.ranks()
    for number in range(100):
        vocabulary.add(f"b{number:05}")
        keys = vocabulary.ranks()
    words = ["", *vocabulary]
    assert [words[number] for number in np.argsort(keys)] == sorted(words)


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
