"""Weight files: what is written is read back, and what is no weight is refused with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.errors import FormatError, OptionError
from lattices.formats.weights import FORMATS, read_weights, write_weights

names = st.text(st.characters(categories=["L", "N"], include_characters=":+~"), min_size=1)
values = st.floats(allow_nan=False, allow_infinity=False)
INI = "[input-factors]\n0\n\n[weight]\n# tuned\nLM0= 1\nTM0= 1 2\n\n[distortion-limit]\n6\n"


@pytest.mark.parametrize("format", FORMATS)
@given(st.dictionaries(names, values, min_size=1))
def test_weights_come_back_exactly(tmp_path_factory, format, weights):
    file = tmp_path_factory.mktemp("weights") / "file"
    write_weights(weights, file, format)
    assert list(read_weights(file).items()) == list(weights.items())


@given(st.lists(st.lists(values, min_size=2, max_size=4), min_size=1, max_size=3))
def test_moses_keeps_several_weights_of_a_name_in_one_line(tmp_path_factory, groups):
    weights = {
        f"TM{family}_{place}": value
        for family, group in enumerate(groups)
        for place, value in enumerate(group)
    }
    file = tmp_path_factory.mktemp("weights") / "moses.ini"
    write_weights(weights, file, "moses")
    assert dict(read_weights(file)) == weights
    assert len(file.read_text().splitlines()) == 1 + len(groups)


def test_a_template_keeps_everything_but_the_weights(tmp_path):
    template, file = tmp_path / "old.ini", tmp_path / "new.ini"
    template.write_text(INI)
    write_weights({"LM0": 0.25, "TM0_0": 3.0, "TM0_1": -4.0}, file, "moses", template)
    assert file.read_text() == INI.replace("# tuned\nLM0= 1\nTM0= 1 2", "LM0= 0.25\nTM0= 3.0 -4.0")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a 1\nb\n", 2, "expected a feature and its weight"),
        ("a 1\na=2\n", 2, "a second weight of 'a'"),
        ("a nan\n", 1, "expected a feature and its weight"),
        ("a 1 2\n", 1, "expected a feature and its weight"),
        ("=1\n", 1, "expected a feature and its weight"),
        ("[weight]\nLM0 1\n", 2, "expected a feature, = and weights"),
        ("[weight]\nLM0= 1 x\n", 2, "expected a feature, = and weights"),
        ("[weight]\nLM0=\n", 2, "expected a feature, = and weights"),
        ("[weight-l]\n0.5\n", 1, "before 2013"),
    ],
)
def test_what_is_no_weight_is_refused_with_its_line(tmp_path, text, line, message):
    file = tmp_path / "weights"
    file.write_text(text)
    with pytest.raises(FormatError, match=f":{line}: .*{message}"):
        read_weights(file)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    file = tmp_path / "weights"
    file.write_bytes(b"a 1\n\xff 2\n")
    with pytest.raises(FormatError, match=":2: invalid UTF-8"):
        read_weights(file)


@pytest.mark.parametrize(
    ("weights", "format", "message"),
    [
        ({"a b": 1.0}, "plain", "cannot hold a feature called 'a b'"),
        ({"#a": 1.0}, "plain", "cannot hold"),
        ({"TM0_1": 1.0}, "moses", "comes too soon"),
        ({"TM0_0": 1.0}, "moses", "would read the one weight"),
        ({"TM0_0": 1.0, "TM0_1": 1.0, "TM0": 1.0}, "moses", "both"),
        ({"a": 1.0}, "kaldi", "unknown format of weights 'kaldi'"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(tmp_path, weights, format, message):
    with pytest.raises(OptionError, match=message):
        write_weights(weights, tmp_path / "weights", format)
    assert not (tmp_path / "weights").exists()


def test_a_template_without_weights_is_refused(tmp_path):
    template = tmp_path / "moses.ini"
    template.write_text("[threads]\n1\n")
    with pytest.raises(OptionError, match=r"has no section \[weight\]"):
        write_weights({"a": 1.0}, tmp_path / "new.ini", "moses", template)
    with pytest.raises(OptionError, match="only format moses"):
        write_weights({"a": 1.0}, tmp_path / "new", "plain", template)
