"""fstmetrics."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .common import Answer, text

ORACLES = {"oracle:wer": "wer", "oracle:wrr": "wrr", "oracle:cer": "cer", "oracle:grr": "grr",
           "oracle:bleu": "bleu:smooth=add-k"}  # fmt: skip
TASKS = (*ORACLES, "corpus:bleu", "mbr:edits", "paths", "ties:wer", "risk:edits", "posterior")
NEEDS = "decoding"
HAS = dict.fromkeys(TASKS, ("lattices", "forests", "lists", "speech"))
#: as :func:`decoding.oracle` has it, and more for the largest
BUDGETS = {"memory": 8_000_000_000}


def answer(path: Path, task: str) -> Answer:
    """Return rows of id, value, bound and words, and the time of the search."""
    import lattices
    from decoding import corpus_oracle, mbr, oracles
    from decoding.extraction.best_paths import best_paths
    from fstmetrics import BLEU, WER, parse_metric

    spaces = list(lattices.read(path))
    references = [list(space.references) for space in spaces]
    started = time.perf_counter()
    rows: list[tuple[str, str, str, str]] = []
    if task in ORACLES:
        metric = parse_metric(ORACLES[task])
        judges = [metric.against(some) for some in references]
        for space, found in zip(spaces, oracles(spaces, judges, **BUDGETS), strict=True):
            bound = found.score if found.exact else found.bound
            rows.append((space.id, text(found.score), text(bound), found.text))
    elif task == "corpus:bleu":
        found = corpus_oracle(spaces, references, BLEU())
        rows.append(("*", text(found.score), text(found.score if found.exact else found.bound), ""))
        rows += [
            (space.id, "", "", each.text)
            for space, each in zip(spaces, found.hypotheses, strict=True)
        ]
    elif task == "mbr:edits":
        for space in spaces:
            chosen = mbr(space, WER())
            value = _risk(space, chosen.tokens)
            rows.append((space.id, text(value), "", chosen.text))
    elif task == "paths":
        rows = [(space.id, str(_paths(space)), "", "") for space in spaces]
    elif task == "ties:wer":
        for space, some in zip(spaces, references, strict=True):
            rows.append((space.id, str(_paths(best_paths(space, WER().against(some)))), "", ""))
    elif task == "risk:edits":
        for space in spaces:
            first = lattices.best(space)
            rows.append((space.id, text(_risk(space, first.tokens)), "", first.text))
    else:
        for space in spaces:
            rows += [
                (f"{space.id} {gram}", text(value), "", "") for gram, value in _posteriors(space)
            ]
    return rows, time.perf_counter() - started


def _paths(space: Any) -> int:
    from lattices.algorithms.counting import path_count

    return len(space) if space.kind == "nbest" else path_count(space)


def _risk(space: Any, words: tuple[str, ...]) -> float:
    """Return the expected edits of a sentence against all paths, NaN where it is not exact."""
    from decoding.minimum_risk.exact import expected_metric
    from fstmetrics import WER

    found = expected_metric(space, WER(), [list(words)], normalised=False, beyond="raise")
    return float(found.expected[0])


def _posteriors(space: Any) -> Iterator[tuple[str, float]]:
    """Iterate over the n-grams of each order whose posterior is nearest to a half."""
    from lattices import ngram_posteriors

    found = ngram_posteriors(space)
    for n in range(1, 5):
        some = [
            (abs(value - 0.5), " ".join(gram), value)
            for gram, value in found.items()
            if len(gram) == n
        ]
        if some:
            _, gram, value = min(some)
            yield gram, value
