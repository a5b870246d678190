"""Corpus oracles of real lattices and n-best lists: writes ``docs/experiments/oracles.md``.

Run as ``python -m benchmarks.oracles``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from time import perf_counter

import numpy as np

import lattices
from benchmarks.data import DATA, MULTI30K, ROOT, pocketsphinx, referenced
from decoding.extraction.oracle_search import oracle, oracles, worst
from fstmetrics import GRR, WER, WRR, Metric
from lattices import Lattice, NBest, Space

METRICS: tuple[Metric, ...] = (WER(), WRR(), GRR())
TEXT = """# Oracles of real lattices

Written by `python -m benchmarks.oracles`. For each metric, in per cent: the model's best path,
the exact oracle under that metric, and the exact worst sentence. Corpus scores are sums of
numerators over sums of denominators. The time is that of the three oracles of all segments
under one metric, on one core, averaged over the metrics.

{table}

- `multi30k`: German-English phrase-based lattices at 10, 50 and 200 arcs per word, one
  reference. The best path of a model whose scores do not know the references.
- `hifst`: Russian-English lattices of HiFST; references and lattices carry `<s>` and `</s>`.
- `pocketsphinx`: the 19 utterances of the demonstration; the 1-best is what the
  recogniser said.
- `librispeech`: 10-best lists of ESPnet; the oracle is the best entry of each list.
"""


def spaces() -> Iterator[tuple[str, list[Space]]]:
    """Yield the name and the segments of every corpus that is there."""
    for name, path in MULTI30K.items():
        if (DATA / path).exists():
            yield f"multi30k {name}", list(lattices.read(DATA / path))
    hifst = DATA / "hifst-ruen" / "lattices.jsonl.gz"
    if hifst.exists():
        yield "hifst", list(lattices.read(hifst))
    yield "pocketsphinx", list(pocketsphinx())
    for part in ("dev_clean", "dev_other"):
        path = DATA / "librispeech-nbest" / f"{part}.nbest.tsv.gz"
        if path.exists():
            segments = lattices.read(path)
            references = DATA / "librispeech-nbest" / f"{part}.ref.txt"
            yield f"librispeech {part}", list(referenced(segments, references))


def corpus(segments: list[Space], metric: Metric) -> tuple[float, float, float, float, int]:
    """Return the scores of 1-best, oracle and worst, the seconds, and how many are proven."""
    evaluators = [metric.against(segment.references) for segment in segments]
    first = [
        evaluator.stats(best_of(segment))
        for segment, evaluator in zip(segments, evaluators, strict=True)
    ]
    begin = perf_counter()
    if isinstance(segments[0], Lattice):
        found = oracles(segments, evaluators)
    else:
        found = [oracle(*pair) for pair in zip(segments, evaluators, strict=True)]
    lowest = [
        worst(segment, evaluator)[0]
        for segment, evaluator in zip(segments, evaluators, strict=True)
    ]
    seconds = perf_counter() - begin
    scores = (
        metric.score(np.sum(rows, axis=0))
        for rows in (first, [each.stats for each in found], [each.stats for each in lowest])
    )
    return *scores, seconds, sum(each.exact for each in lowest)


def best_of(segment: Space) -> tuple[str, ...]:
    """Return the model's best sentence."""
    if isinstance(segment, NBest):
        return max(segment, key=lambda entry: entry.score).tokens
    return lattices.best(segment).tokens


def main() -> None:
    """Compute, print as it goes, and write the page."""
    head = "| corpus | segments |"
    for metric in METRICS:
        name = str(metric).partition(":")[0].upper().replace("GRR", "4-GRR")
        head += f" {name} 1-best | oracle | worst |"
    lines = [head + " worst proven | time |", "|---|--:|" + "--:|" * 11]
    for name, segments in spaces():
        row, total, proven = f"| {name} | {len(segments)} |", 0.0, len(segments)
        for metric in METRICS:
            list(islice((worst(s, metric.against(s.references))[0] for s in segments), 1))
            *scores, seconds, exact = corpus(segments, metric)
            row += "".join(f" {100 * score:.2f} |" for score in scores)
            total += seconds
            proven = min(proven, exact)
        row += f" {proven / len(segments):.1%} | {total / len(METRICS):.1f} s |"
        lines.append(row)
        print(row, flush=True)
    target = ROOT / "docs" / "experiments" / "oracles.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(TEXT.format(table="\n".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
