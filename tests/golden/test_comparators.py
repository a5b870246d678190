"""What other programs answer, for CDER, RIBES, CharacTER and LeBLEU.

Each line of ``comparators.tsv``: the distance of the function ``computeCD`` of Moses'
``CderScorer``; the score of the function ``kendall`` of RIBES.py 1.03.1; that of the package
``cer`` 1.2.0 (CharacTER, cut at 1); that of the class of LeBLEU's ``lebleu.py`` with
``-n 4 -t 0.4``, with a plain edit distance; hypothesis and reference. Only ``cer`` was run as it is
distributed, of the others these functions alone.

``ribes-nltk.tsv``: the score of ``nltk.translate.ribes_score`` of NLTK 3.10.4, as distributed;
hypothesis and reference. NLTK takes pairs to be in order only within runs of neighbouring words,
and aligns repeated words in its own way. So hypotheses are blocks of the reference in the opposite
order with other words between them: there it is the same as RIBES.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fstmetrics import CDER, RIBES, CharacTER, LeBLEU, corpus_score


def lines_of(name: str) -> list[list[str]]:
    text = (Path(__file__).parent / name).read_text("utf-8")
    return [line.split("\t") for line in text.splitlines()]


LINES = lines_of("comparators.tsv")


@pytest.mark.parametrize("line", LINES, ids=lambda line: "|".join(line[4:]))
def test_a_segment(line):
    cder, ribes, character, lebleu = map(float, line[:4])
    hypothesis, reference = line[4:]
    assert CDER().stats(hypothesis, [reference])[0] == cder
    assert RIBES().against([reference]).score(hypothesis) == pytest.approx(ribes, abs=1e-12)
    found = CharacTER().against([reference]).score(hypothesis)
    assert min(1.0, found) == pytest.approx(character, abs=1e-12)
    assert LeBLEU().against([reference]).score(hypothesis) == pytest.approx(lebleu, abs=1e-12)


@pytest.mark.parametrize(("score", "hypothesis", "reference"), lines_of("ribes-nltk.tsv"))
def test_ribes_is_that_of_nltk(score, hypothesis, reference):
    found = RIBES().against([reference]).score(hypothesis)
    assert found == pytest.approx(float(score), abs=1e-12)


def test_a_corpus():
    hypotheses, references = [line[4] for line in LINES], [[line[5]] for line in LINES]
    # from the same run of lebleu.py, over all lines
    assert corpus_score(LeBLEU(), hypotheses, references) == pytest.approx(0.6789954732409873)
    # RIBES.py prints the mean
    mean = sum(float(line[1]) for line in LINES) / len(LINES)
    assert corpus_score(RIBES(), hypotheses, references) == pytest.approx(mean, abs=1e-12)
