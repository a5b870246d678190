"""SRILM's n-best lists in their three formats."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lattices.errors import FormatError, OptionError
from lattices.formats import FORMATS, parse_record, write
from lattices.formats.base import Record, Unsupported
from lattices.formats.lists.srilm import FORMAT
from lattices.spaces import NBest
from lattices.testing import check_format, sample_nbests
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import read_bytes
from tests.lattices.formats.parsing import parser
from tests.lattices.formats.test_mesh import files_of_other_formats

TOTALS = "NBestList1.0\n(-1000) <s> the cat </s>\n(-1010) -pau- a cat\n(-2000.5)\n"
DETAILED = """\
NBestList2.0
(-50) the ( st: 0.00 et: 0.19 g: -3 a: -10 ) dh ( st: 0.00 et: 0.09 g: 0 a: -4 ) \
dh-1 ( st: 0.00 et: 0.02 g: 0 a: -1 ) ah ( st: 0.10 et: 0.19 g: 0 a: -6 ) \
-pau- ( st: 0.20 et: 0.29 g: 0 a: -7 ) cat ( st: 0.30 et: 0.59 g: -5 a: -25 )
(-60) cat-3 ( st: 0.30 et: 0.59 g: -5 a: -25 )
"""
SCORES = "-100.5 -10.25 2 the cat\n-1.01e2 -9 3 -pau- a\u00a0b cat </s>\n\n-200 0 0\n"

#: What SRILM's own conversion (BytelogToLogP in Prob.h) makes of 1, as a natural logarithm.
UNIT = (1024.0 / 10000.5 / math.log(10.0)) * math.log(10.0)


parsed = parser(FORMAT, NBest)


def texts(nbest: NBest) -> list[str]:
    return [" ".join(nbest.tokens(entry)) for entry in range(len(nbest))]


def column(nbest: NBest, name: str) -> list[float]:
    assert nbest.features is not None
    dense: list[float] = nbest.features.toarray()[:, nbest.feature_names.index(name)].tolist()
    return dense


def test_laws() -> None:
    check_format(FORMAT)
    with pytest.raises(OptionError, match="srilm-nbest can be read, but not written"):
        write("-", sample_nbests(), FORMAT)
    with pytest.raises(FormatError, match="can be read, but not written"):
        FORMAT.write(io.BytesIO(), sample_nbests(), Unsupported("srilm-nbest"))


@pytest.mark.parametrize("text", [TOTALS, DETAILED, SCORES])
def test_files_are_told_from_those_of_others(text: str, tmp_path: Path) -> None:
    assert FORMAT.sniff(text.encode())
    for name, data in files_of_other_formats("srilm-nbest"):
        assert not FORMAT.sniff(data[:4096]), name
        assert not FORMATS.get(name).sniff(text.encode()), name
    (found,) = read_bytes(tmp_path, text.encode(), None, "utt-7.score")
    assert found.id == "utt-7"


def test_a_bytelog_is_a_logarithm_of_base_1_0001_over_1024() -> None:
    assert math.log(1.0001) * 1024 == pytest.approx(UNIT, rel=1e-8)


def test_totals() -> None:
    nbest = parsed(TOTALS)
    assert texts(nbest) == ["the cat", "a cat", ""]
    assert nbest.score.tolist() == pytest.approx([-1000 * UNIT, -1010 * UNIT, -2000.5 * UNIT])
    assert nbest.feature_names == ("total",)
    assert texts(parsed(TOTALS, tags="keep")) == ["<s> the cat </s>", "-pau- a cat", ""]
    bare = parsed(TOTALS.partition("\n")[2])
    assert bare.score.tolist() == nbest.score.tolist()
    with pytest.raises(FormatError, match="lm_scale has no meaning where there are only totals"):
        parsed(TOTALS, lm_scale=1)


def test_words_with_scores_of_their_own() -> None:
    nbest = parsed(DETAILED)
    assert texts(nbest) == ["the cat", ""]
    assert nbest.score.tolist() == pytest.approx([-50 * UNIT, -60 * UNIT])
    assert column(nbest, "acoustic") == pytest.approx([-42 * UNIT, 0.0])
    assert column(nbest, "language") == pytest.approx([-8 * UNIT, 0.0])
    # pauses count as words
    assert column(nbest, "words") == [3.0, 0.0]
    scaled = parsed(DETAILED, lm_scale=2, word_weight=-1)
    expected = [(-42 - 16) * UNIT - 3 * math.log(10), 0.0]
    assert scaled.score.tolist() == pytest.approx(expected)
    assert parsed(DETAILED, word_weight=0).score.tolist()[0] == pytest.approx((-42 - 64) * UNIT)


def test_scores_and_words() -> None:
    nbest = parsed(SCORES)
    ten = math.log(10.0)
    assert texts(nbest) == ["the cat", "a\u00a0b cat", ""]
    assert column(nbest, "acoustic") == pytest.approx([-100.5 * ten, -101 * ten, -200 * ten])
    assert column(nbest, "language") == pytest.approx([-10.25 * ten, -9 * ten, 0.0])
    assert column(nbest, "words") == [2.0, 3.0, 0.0]
    expected = [(-100.5 - 82) * ten, (-101 - 72) * ten, -200 * ten]
    assert nbest.score.tolist() == pytest.approx(expected)
    other = parsed(SCORES, lm_scale="1", word_weight="0.5")
    expected = [(-100.5 - 10.25 + 1) * ten, (-101 - 9 + 1.5) * ten, -200 * ten]
    assert other.score.tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "options"),
    [(TOTALS, {}), (DETAILED, {}), (DETAILED, {"lm_scale": 3}), (SCORES, {"word_weight": 2})],
)
def test_the_weights_give_the_scores(text: str, options: dict[str, Any]) -> None:
    nbest = parsed(text, **options)
    again = nbest.reweighted(nbest.metadata["weights"])
    assert np.allclose(again.score, nbest.score, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NBestList1.0\n", "f:1: no hypothesis follows the header"),
        ("NBestList1.0\n(-1) a\nb\n", "f:3: 'b', expected (score)"),
        ("NBestList1.0\n(-1) a\n\n(x) b\n", "f:4: 'x', expected a finite number"),
        ("NBestList1.0\n(-1) a\n(inf) b\n", "f:3: 'inf', expected a finite number"),
        (DETAILED.replace("g: -3", "h: -3"), "f:2: expected each word with ( st: t et: t g: n a:"),
        (DETAILED.replace("a: -25 )\n(", "a: -25\n("), "f:2: expected each word with"),
        (DETAILED.replace("(-60) cat-3 (", "(-60) cat-3"), "f:3: expected each word with"),
        (DETAILED.replace("a: -7", "a: seven"), "f:2: 'seven', expected a finite number"),
        ("-1 -2 1 a\n-1 -2\n", "f:2: expected acoustic and language score, and a count"),
        ("-1 -2 1 a\n-1 -1_0 1 a\n", "f:2: '-1_0', expected a finite number"),
        ("-1 -2 1 a\n-1 -1 1.5 a\n", "f:2: '1.5', expected a number of words"),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parsed(text)
    assert message in str(caught.value)


def test_options() -> None:
    with pytest.raises(OptionError, match="lm_scale is a finite number, not 'x'"):
        parsed(SCORES, lm_scale="x")
    with pytest.raises(OptionError, match="tags is one of drop, keep, not 'all'"):
        parsed(SCORES, tags="all")
    with pytest.raises(FormatError, match="f:1: invalid UTF-8"):
        parse_record(FORMAT, Record(b"-1 -1 1 \xff\n", "f", 1, 0), Vocabulary())
