"""Statistics of n-best lists and of plain corpora, against sacreBLEU on the same text."""

from __future__ import annotations

from itertools import islice
from time import perf_counter

import numpy as np

import lattices
from benchmarks.data import DATA
from benchmarks.engines import fastest
from decoding import corpus_oracle
from fstmetrics import BLEU, CER, GRR, WER, Metric
from fstmetrics.contract import nbest_stats, scores_of
from lattices import NBest

SENTENCE_BLEU = BLEU(smooth="exp", effective_order=True)
METRICS = {
    "sentence BLEU": SENTENCE_BLEU,
    "sentence BLEU, lower case": BLEU(smooth="exp", effective_order=True, lowercase=True),
    "BLEU of 18 characters": BLEU(order=18, unit="char"),
    "WER": WER(),
    "4-GRR": GRR(),
    "CER": CER(),
}
FOLDER = DATA / "multi30k-deen"
WMT15 = DATA / "wmt15" / "de-en"


def measure(most: int = 1014, sample: int = 20, rounds: int = 3) -> list[str]:
    """Return tables for the lists of Multi30k and a system of WMT15, or why there are none.

    Parameters
    ----------
    most : int
        Lists to read.
    sample : int
        Lists to give to sacreBLEU and to the loops, which are slow.
    rounds : int
        The fastest round counts.
    """
    if not (FOLDER / "val.de-en.100best.gz").exists():
        return ["Not measured: the n-best lists are not here."]
    begin = perf_counter()
    spaces = list(islice(lattices.read(FOLDER / "val.de-en.100best.gz"), most))
    reading = perf_counter() - begin
    references = (FOLDER / "val.en").read_text(encoding="utf-8").splitlines()[: len(spaces)]
    sample = min(sample, len(spaces))
    count, some = (sum(map(len, chosen)) for chosen in (spaces, spaces[:sample]))
    lines = [
        f"{len(spaces):,} lists, {count:,} hypotheses, one reference each, one thread; "
        f"µs a hypothesis. Reading the lists took {reading / count * 1e6:.1f}.",
        "",
        "| metric | references | statistics | scores | one by one | whole lists, times faster |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    whole = 0.0
    for name, metric in METRICS.items():
        parts = _parts(metric, spaces, references, rounds)
        loop = fastest(rounds, _one_by_one, metric, spaces[:sample], references)
        preparing, counting, scoring = (seconds / count * 1e6 for seconds in parts)
        ours, single = sum(parts) / count, loop / some
        if metric is SENTENCE_BLEU:
            whole = ours
        lines.append(
            f"| {name} | {preparing:.2f} | {counting:.2f} | {scoring:.2f} | {single * 1e6:.1f} "
            f"| {single / ours:.0f} |"
        )
    theirs = fastest(rounds, _by_sacrebleu, spaces[:sample], references) / some
    lines += [
        "",
        f"sacreBLEU's `sentence_score` on the same tokens: {theirs * 1e6:.0f}; "
        f"sentence BLEU of whole lists is {theirs / whole:.0f} times faster.",
        "",
        *_oracle(spaces, references),
        "",
        *_corpus(rounds),
    ]
    return lines


def _parts(
    metric: Metric, spaces: list[NBest], references: list[str], rounds: int
) -> tuple[float, float, float]:
    """Return the seconds of preparing references, counting and scoring."""
    evaluators = [metric.against([text]) for text in references]
    rows = [
        nbest_stats(evaluator, space) for evaluator, space in zip(evaluators, spaces, strict=True)
    ]
    return (
        fastest(rounds, lambda: [metric.against([text]) for text in references]),
        fastest(rounds, lambda: list(map(nbest_stats, evaluators, spaces))),
        fastest(rounds, lambda: [scores_of(metric, each) for each in rows]),
    )


def _one_by_one(metric: Metric, spaces: list[NBest], references: list[str]) -> None:
    for space, text in zip(spaces, references, strict=False):
        evaluator = metric.against([text])
        for entry in range(len(space)):
            evaluator.score(space.tokens(entry))


def _by_sacrebleu(spaces: list[NBest], references: list[str]) -> list[float]:
    from sacrebleu.metrics import BLEU as SacreBLEU

    metric = SacreBLEU(tokenize="none", effective_order=True, force=True)
    return [
        metric.sentence_score(" ".join(space.tokens(entry)), [text]).score
        for space, text in zip(spaces, references, strict=False)
        for entry in range(len(space))
    ]


def _oracle(spaces: list[NBest], references: list[str]) -> list[str]:
    """Return what the search for the corpus oracle costs and brings."""
    lines = [
        "Corpus BLEU of the lists, statistics included:",
        "",
        "| metric | 1-best | sentence oracles | corpus oracle | gap | seconds |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for metric in (BLEU(), BLEU(smooth="add-k")):
        begin = perf_counter()
        found = corpus_oracle(spaces, [[text] for text in references], metric)
        seconds = perf_counter() - begin
        lines.append(
            f"| `{metric}` | {found.first_score:.4f} | {found.sentence_score:.4f} "
            f"| {found.score:.4f} | {found.gap:.0e} | {seconds:.2f} |"
        )
    return lines


def _corpus(rounds: int) -> list[str]:
    """Return corpus BLEU of one system, and sacreBLEU's time for the same."""
    if not WMT15.is_dir():
        return []
    from sacrebleu.metrics import BLEU as SacreBLEU

    (reference,) = WMT15.glob("*-ref.*")
    system = sorted(path for path in WMT15.glob("newstest2015.*.txt"))[0]
    texts, others = (
        path.read_text(encoding="utf-8").split("\n")[:-1] for path in (system, reference)
    )
    segments = [[text] for text in others]
    ours = fastest(rounds, BLEU().corpus_stats, texts, segments)
    theirs = SacreBLEU(tokenize="none", smooth_method="none", force=True)
    seconds = fastest(rounds, theirs.corpus_score, texts, [others])
    found = BLEU().score(np.sum(BLEU().corpus_stats(texts, segments), axis=0))
    expected = theirs.corpus_score(texts, [others]).score / 100
    return [
        f"A system of WMT15 de-en, {len(texts):,} segments, cut at blanks: corpus BLEU in "
        f"{ours * 1e3:.0f} ms, sacreBLEU in {seconds * 1e3:.0f} ms, {seconds / ours:.1f} times as "
        f"long (difference {abs(found - expected):.1e}).",
    ]


if __name__ == "__main__":
    print("\n".join(measure()))
