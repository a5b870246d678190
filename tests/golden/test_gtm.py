"""What GTM 1.4 answers, the program of the paper's authors (New York University, 2008).

Each line of ``gtm-1.4.tsv``: match size, F-measure, exponent, hypothesis, references.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fstmetrics import GTM, corpus_score

LINES = [
    line.split("\t")
    for line in (Path(__file__).parent / "gtm-1.4.tsv").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: "|".join(line[2:]))
def test_a_segment(line):
    size, score, e, hypothesis, *references = line
    evaluator = GTM(e=float(e)).against(references)
    assert evaluator.stats(hypothesis)[0] == pytest.approx(float(size), abs=1e-12)
    assert evaluator.score(hypothesis) == pytest.approx(float(score), abs=1e-12)


@pytest.mark.parametrize("e", [1.0, 1.2, 2.0, 3.0])
def test_a_document_is_the_f_measure_of_sums(e):
    lines = [line for line in LINES if float(line[2]) == e]
    size = sum(float(line[0]) for line in lines)
    length = sum(len(line[3].split()) for line in lines)
    reference = sum(
        sum(len(each.split()) for each in line[4:]) / len(line[4:]) for line in lines
    )  # fmt: skip
    found = corpus_score(GTM(e=e), [line[3] for line in lines], [line[4:] for line in lines])
    precision, recall = size / length, size / reference
    assert found == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-12)
