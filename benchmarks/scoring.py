"""Scores of corpora, from strings, with other tools on the same strings."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from time import perf_counter, process_time
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import DATA
from decoding import mbr
from fstmetrics import CER, CHRF, METEOR, TER, WER, Metric, corpus_score
from lattices import from_hypotheses

SPEECH = DATA / "librispeech-nbest"
TRANSLATION = DATA / "wmt15" / "de-en"
#: how often everything is measured; the fastest counts
ROUNDS = 5

Texts = Sequence[str]
#: of hypotheses and references: the score, as a rate
Job = Callable[[Texts, Texts], float]


class Seconds(NamedTuple):
    """By the clock, and of the processor."""

    clock: float
    processor: float


def measure(most: int = 100_000, few: int = 500) -> list[str]:
    """Return a table of our metrics beside other tools, on the same pairs of strings.

    Parameters
    ----------
    most : int
        Pairs of speech recognition and half as many of translation, for what is fast.
    few : int
        Pairs for what is slow.
    """
    if not (SPEECH.exists() and TRANSLATION.exists()):
        return ["Not measured: LibriSpeech and WMT15 are not here."]
    speech, translation = _speech(most), _translation(most // 2)
    jobs: list[tuple[str, Metric, str, Job, list[tuple[str, str]]]] = [
        ("WER", WER(), "rapidfuzz", _rapidfuzz_words, speech),
        ("WER", WER(), "editdistance", _editdistance, speech),
        ("WER", WER(), "kaldialign", _kaldialign, speech[: most // 10]),
        ("WER", WER(), "jiwer", _jiwer, speech[: most // 10]),
        ("CER", CER(), "rapidfuzz", _rapidfuzz_characters, speech),
        ("CER", CER(), "jiwer", _jiwer_characters, speech[: most // 10]),
        ("TER", TER(), "sacreBLEU", _sacrebleu("TER"), translation[:few]),
        ("chrF", CHRF(), "sacreBLEU", _sacrebleu("CHRF"), translation[: 4 * few]),
        (
            "chrF++",
            CHRF(word_order=2),
            "sacreBLEU",
            _sacrebleu("CHRF", word_order=2),
            translation[: 4 * few],
        ),
    ]
    lines = [
        f"Other tools on the same pairs of strings: hypotheses of LibriSpeech ({len(speech):,} "
        "pairs, of 18 words), and outputs of WMT15 de-en. From two lists of strings to the score "
        "of the corpus, with the counts of all kinds of errors for WER and CER where a tool has "
        f"them; seconds, the fastest of {ROUNDS}. Ours takes as many threads as there are "
        f"processors ({os.cpu_count()} here), the others one:",
        "",
        "| metric | pairs | tool | its s | ours | ratio | of the processor | difference |",
        "|---|--:|---|--:|--:|--:|--:|--:|",
    ]
    for label, metric, tool, job, pairs in jobs:
        said, expected = ([pair[side] for pair in pairs] for side in (0, 1))
        ours, score = _fastest(lambda: corpus_score(metric, said, list(zip(expected))))  # noqa: B023
        try:
            theirs, other = _fastest(lambda: job(said, expected))  # noqa: B023
        except ImportError:
            lines.append(f"| {label} | {len(pairs):,} | {tool} | not installed | | | | |")
            continue
        lines.append(
            f"| {label} | {len(pairs):,} | {tool} | {theirs.clock:.3f} | {ours.clock:.3f} | "
            f"{theirs.clock / ours.clock:.1f} | {theirs.processor / ours.processor:.1f} | "
            f"{abs(score - other):.0e} |"
        )
        print(lines[-1], flush=True)
    return [*lines, "", *_alone(speech, translation), "", *_decide(translation)]


def _decide(translation: list[tuple[str, str]], size: int = 100, few: int = 20) -> list[str]:
    """Return how long MBR takes over strings, and other tools for the scores of all pairs.

    What is slow gets ``few`` of the strings, and its time is multiplied.
    """
    # what all systems said of some segments: the texts of each segment differ
    texts = list(dict.fromkeys(said for said, _ in translation))[:size]
    lines = [
        f"MBR over {size} strings, scores of all pairs, from strings to the decision; other "
        f"tools make the matrix alone, those marked of {few} strings, times {(size // few) ** 2}. "
        "Seconds of the processor, one thread:",
        "",
        "| metric | tool | its s | ours | ratio |",
        "|---|---|--:|--:|--:|",
    ]
    jobs: list[tuple[str, Metric, str, Callable[[Texts], float], int]] = [
        ("WER", WER(), "rapidfuzz", _rapidfuzz_pairs, size),
        ("TER", TER(), "sacreBLEU, marked", _pairwise(_sacrebleu("TER")), few),
        ("METEOR", METEOR(), "NLTK, marked", _pairwise(_nltk_meteor), few),
    ]
    for label, metric, tool, job, count in jobs:
        ours, _ = _fastest(lambda: _choose(texts, metric))  # noqa: B023
        try:
            theirs, _ = _fastest(lambda: job(texts[:count]), 1 if count < size else ROUNDS)  # noqa: B023
        except ImportError:
            lines.append(f"| {label} | {tool} | not installed | | |")
            continue
        its = theirs.processor * (size / count) ** 2
        lines.append(
            f"| {label} | {tool} | {its:.4f} | {ours.processor:.4f} | {its / ours.processor:.1f} |"
        )
        print(lines[-1], flush=True)
    return lines


def _choose(texts: Texts, metric: Metric) -> float:
    """Return the expected score of the decision among strings."""
    return float(mbr(from_hypotheses(list(texts)), metric, method="pairwise").expected)


def _pairwise(job: Job) -> Callable[[Texts], float]:
    """Return what scores each pair by itself."""
    return lambda texts: sum(job([one], [other]) for one in texts for other in texts)


def _rapidfuzz_pairs(texts: Texts) -> float:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    words = [text.split() for text in texts]
    return float(cdist(words, words, scorer=Levenshtein.distance, workers=1).sum())


def _nltk_meteor(said: Texts, expected: Texts) -> float:
    from nltk.translate.meteor_score import single_meteor_score

    # no synonyms: those need data
    empty = SimpleNamespace(synsets=lambda word: [])
    pairs = zip(said, expected, strict=True)
    return float(
        sum(single_meteor_score(other.split(), one.split(), wordnet=empty) for one, other in pairs)
    )


def _alone(speech: list[tuple[str, str]], translation: list[tuple[str, str]]) -> list[str]:
    """Return how long larger corpora take us."""
    lines = ["| metric | pairs | s | µs a pair, of the processor |", "|---|--:|--:|--:|"]
    jobs: list[tuple[Metric, list[tuple[str, str]]]] = [
        (WER(), speech),
        (CER(), speech),
        (TER(), translation),
        (CHRF(), translation),
        (METEOR(stages="exact"), translation),
    ]
    for metric, pairs in jobs:
        said, expected = [one for one, _ in pairs], [[other] for _, other in pairs]
        ours, _ = _fastest(lambda: corpus_score(metric, said, expected))  # noqa: B023
        each = 1e6 * ours.processor / len(pairs)
        lines.append(f"| `{metric}` | {len(pairs):,} | {ours.clock:.2f} | {each:.2f} |")
    return lines


def _fastest(job: Callable[[], float], rounds: int = ROUNDS) -> tuple[Seconds, float]:
    found = Seconds(np.inf, np.inf)
    score = job() if rounds > 1 else 0.0  # imports what it needs
    for _ in range(rounds):
        clock, before = perf_counter(), process_time()
        score = job()
        processor = process_time() - before
        clock = perf_counter() - clock
        found = Seconds(min(found.clock, clock), min(found.processor, max(processor, 1e-6)))
    return found, score


def _speech(most: int) -> list[tuple[str, str]]:
    """Return hypotheses of n-best lists with their references, again and again."""
    pairs = []
    for part in ("dev_clean", "dev_other"):
        with open(SPEECH / f"{part}.ref.txt", encoding="utf-8") as file:
            expected = dict(line.rstrip("\n").split(" ", 1) for line in file)
        with gzip.open(SPEECH / f"{part}.nbest.tsv.gz", "rt", encoding="utf-8") as file:
            for line in file:
                name, _, _, said = line.rstrip("\n").split("\t")
                # the tools that do not cut texts take all blanks for characters
                pairs.append((" ".join(said.split()), expected[name].strip()))
    return list(islice(cycle(pairs), most))


def _translation(most: int) -> list[tuple[str, str]]:
    """Return the outputs of all systems, a segment of each system in turn."""
    (path,) = TRANSLATION.glob("*-ref.*")
    systems = sorted(each for each in TRANSLATION.glob("*2015.*") if each != path)
    expected, *outputs = (
        each.read_text(encoding="utf-8-sig").splitlines() for each in (path, *systems)
    )
    pairs = [(said, one) for one, *every in zip(expected, *outputs, strict=True) for said in every]
    return list(islice(cycle(pairs), most))


def _rapidfuzz_words(said: Texts, expected: Texts) -> float:
    from rapidfuzz.distance import Levenshtein

    words = [(one.split(), other.split()) for one, other in zip(said, expected, strict=True)]
    edits = sum(Levenshtein.distance(*pair) for pair in words)
    return float(edits / sum(len(other) for _, other in words))


def _rapidfuzz_characters(said: Texts, expected: Texts) -> float:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    edits = cpdist(said, expected, scorer=Levenshtein.distance, workers=1, dtype=np.int32)
    return float(edits.sum() / sum(map(len, expected)))


def _editdistance(said: Texts, expected: Texts) -> float:
    from editdistance import distance

    words = [(one.split(), other.split()) for one, other in zip(said, expected, strict=True)]
    edits = sum(distance(*pair) for pair in words)
    return float(edits / sum(len(other) for _, other in words))


def _kaldialign(said: Texts, expected: Texts) -> float:
    from kaldialign import edit_distance

    words = [(other.split(), one.split()) for one, other in zip(said, expected, strict=True)]
    edits = sum(edit_distance(*pair)["total"] for pair in words)
    return float(edits / sum(len(other) for other, _ in words))


def _jiwer(said: Texts, expected: Texts) -> float:
    import jiwer

    return float(jiwer.wer(list(expected), list(said)))


def _jiwer_characters(said: Texts, expected: Texts) -> float:
    import jiwer

    return float(jiwer.cer(list(expected), list(said)))


def _sacrebleu(name: str, **options: Any) -> Job:
    def score(said: Texts, expected: Texts) -> float:
        from sacrebleu import metrics

        # each pair is new to it: it keeps the tokens of texts
        metric = getattr(metrics, name)(**options)
        return float(metric.corpus_score(said, [expected]).score) / 100.0

    return score
