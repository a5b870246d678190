"""ARPA's n-gram models: what is read, what it scores, and files that are none."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import pytest

from lattices.errors import FormatError, SpaceError
from lattices.formats.arpa import read_arpa

MODEL = """
\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-1.0 <s> -0.5
-0.75 </s>
-0.5 a -0.25
-1.25\tb\t-0.125
-2.0 <unk>

\\2-grams:
-0.25 <s> a -0.0625
-0.5 a b -0.03125
-0.125 b </s>

\\3-grams:
-0.0625 <s> a b

\\end\\
"""


def test_the_longest_known_ngram_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.arpa.gz"
    path.write_bytes(gzip.compress(MODEL.encode()))
    model = read_arpa(path)
    assert model.order == 3
    for history, word, decimal in [
        (("<s>",), "a", -0.25),
        (("<s>", "a"), "b", -0.0625),
        # after back-off, once and twice, and as an unknown word
        (("a", "b"), "</s>", -0.03125 - 0.125),
        (("<s>", "a"), "a", -0.0625 - 0.25 - 0.5),
        (("a",), "zebra", -0.25 - 2.0),
    ]:
        assert model.score(history, word) == pytest.approx(decimal * math.log(10.0))
    assert model.extend_history(("<s>", "a"), "b") == ("a", "b")
    assert model.extend_history(("<s>",), "zebra") == ("<unk>",)
    path = tmp_path / "y.arpa"
    path.write_text(MODEL.replace("-2.0 <unk>", ""))
    closed = read_arpa(path)
    with pytest.raises(SpaceError, match="the word 'zebra' is not in the language model, nor is"):
        closed.score((), "zebra")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("-0.5 a b", "a b", r"x\.arpa:16: 'a b -0\.03125', expected a log-probability, 2 words"),
        ("-0.5 a b", "nan a b", r"x\.arpa:16: 'nan a b -0\.03125', expected a log-prob"),
        ("-0.75 </s>", "-0.75 </s> 1 2", r"x\.arpa:9: .*, expected a log-prob"),
        ("\\end\\", "", "no ARPA model"),
        (MODEL, "\\data\\\n\\end\\\n", "no ARPA model"),
    ],
)
def test_bad_files_say_what_is_wrong(
    tmp_path: Path, before: str, after: str, expected: str
) -> None:
    path = tmp_path / "x.arpa"
    path.write_text(MODEL.replace(before, after))
    with pytest.raises(FormatError, match=expected):
        read_arpa(path)


def test_bytes_that_are_no_text_name_their_line(tmp_path: Path) -> None:
    path = tmp_path / "x.arpa"
    path.write_bytes(MODEL.encode().replace(b"-0.5 a b", b"-0.5 \xff b"))
    with pytest.raises(FormatError, match=r"x\.arpa:16: invalid UTF-8"):
        read_arpa(path)
