"""What other programs answer, for CDER, RIBES, CharacTER and LeBLEU.

Each line of ``comparators.tsv``: the distance by Moses' ``mert/CderScorer.cpp`` (commit 00b8c6d7);
the score by RIBES.py 1.03 (nttcslab-nlp/RIBES, commit 0f680289), with case; that of the package
``cer`` 1.2.0 (CharacTER, cut at 1); that of LeBLEU's ``lebleu.py`` (Waino/LeBLEU, commit 09a6d546)
with ``-n 4 -t 0.4``, ``-`` where it fails; hypothesis and reference. All are the programs' own
files. LeBLEU's edit distances are rapidfuzz's, not those of the patched ``python-Levenshtein`` that
it asks for, which needs Python 2; Moses' class was built without the rest of MERT.

Over 4,443 outputs of WMT15 and Multi30k and 3,000 random pairs none of the three differed from
ours where it answers: without reference words Moses and RIBES.py do not, without words, or with
repeated n-grams and a short reference, LeBLEU does not.

``ribes-nltk.tsv``: the score of ``nltk.translate.ribes_score`` of NLTK 3.10.4, as distributed;
hypothesis and reference. NLTK takes pairs to be in order only within runs of neighbouring words,
and aligns repeated words in its own way. So hypotheses are blocks of the reference in the opposite
order with other words between them: there it is the same as RIBES.py.

Where ``cer`` and ``nltk`` are installed, they are asked again, about outputs of WMT15. None of the
other programs is distributed as a package.
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
    cder, ribes, character = map(float, line[:3])
    hypothesis, reference = line[4:]
    assert CDER().stats(hypothesis, [reference])[0] == cder
    assert RIBES().against([reference]).score(hypothesis) == pytest.approx(ribes, abs=1e-12)
    found = CharacTER().against([reference]).score(hypothesis)
    assert min(1.0, found) == pytest.approx(character, abs=1e-12)
    if line[3] != "-":
        found = LeBLEU().against([reference]).score(hypothesis)
        assert found == pytest.approx(float(line[3]), abs=1e-12)


@pytest.mark.parametrize(("score", "hypothesis", "reference"), lines_of("ribes-nltk.tsv"))
def test_ribes_is_that_of_nltk(score, hypothesis, reference):
    found = RIBES().against([reference]).score(hypothesis)
    assert found == pytest.approx(float(score), abs=1e-12)


@pytest.fixture
def outputs(shared_data) -> list[tuple[str, str]]:
    """Outputs of three systems with their references."""
    folder = shared_data / "wmt15" / "fr-en"
    (reference,) = folder.glob("*-ref.*")
    found = []
    for name in ("online-A", "online-E", "UM-nDA"):
        (path,) = folder.glob(f"*2015.{name}.*")
        texts = [each.read_text("utf-8-sig").split("\n")[:-1] for each in (path, reference)]
        found += [pair for pair in zip(*texts, strict=True) if all(map(str.split, pair))]
    return found[::7]


def test_character_is_that_of_the_package(outputs):
    cer = pytest.importorskip("cer")
    for hypothesis, reference in outputs:
        expected = cer.calculate_cer(hypothesis.split(), reference.split())
        found = CharacTER().against([reference]).score(hypothesis)
        assert min(1.0, found) == pytest.approx(expected, abs=1e-12)


def test_ribes_is_that_of_the_package(outputs):
    """Over blocks of references in the opposite order, whose words are all different."""
    ribes = pytest.importorskip("nltk.translate.ribes_score")
    for _, reference in outputs:
        words = list(dict.fromkeys(reference.split()))
        at = len(words) // 2
        hypothesis = [*words[at:], *("x" * (len(words) % 3)), *words[:at]]
        expected = ribes.sentence_ribes([words], hypothesis)
        found = RIBES().against([" ".join(words)]).score(hypothesis)
        if len(words) > 3:
            assert found == pytest.approx(expected, abs=1e-12)


def test_a_corpus():
    answered = [line for line in LINES if line[3] != "-"]
    hypotheses, references = [line[4] for line in answered], [[line[5]] for line in answered]
    # from lebleu.py, over all lines that it answers
    assert corpus_score(LeBLEU(), hypotheses, references) == pytest.approx(0.6808336632909551)
    hypotheses, references = [line[4] for line in LINES], [[line[5]] for line in LINES]
    # RIBES.py prints the mean
    assert corpus_score(RIBES(), hypotheses, references) == pytest.approx(0.457417, abs=5e-7)
