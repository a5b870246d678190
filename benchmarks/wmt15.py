"""Metrics against people on WMT15: writes ``docs/experiments/wmt15.md`` and its picture.

Run as ``python -m benchmarks.wmt15``.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from time import perf_counter

import numpy as np

from benchmarks.data import DATA, machine
from benchmarks.pages import FOLDER, write_page
from benchmarks.wmt15_data import PAIRS, Pair, lowercased, read_pair, tokenized
from decoding.plots import Curve, Panel, line_plots
from fstmetrics import (
    BLEU,
    BLEUSBP,
    CER,
    GRR,
    NIST,
    PER,
    TBLEU,
    WER,
    BLEUModif,
    Metric,
    WERModif,
    corpus_score,
    load_vectors,
)
from fstmetrics.contract import quality, scores_of
from fstmetrics.matching.ter import TER
from fstmetrics.ngram.nist import ReferenceSet
from fstmetrics.similarity.vectors import WordVectors
from fstmetrics.statistics import correlate, correlate_systems
from fstmetrics.statistics.correlation import Correlation
from fstmetrics.statistics.studies.sweeps import SystemsPoint, sweep_systems

VECTORS = DATA / "vectors" / "glove100d.30k.w2v.txt.gz"
INTO_ENGLISH, FROM_ENGLISH = ("de-en", "fr-en"), ("en-de", "en-fr")
METRICS: dict[str, Metric] = {
    "BLEU": BLEU(),
    "BLEU-SBP": BLEUSBP(),
    "BLEU of 18 characters": BLEU(order=18, unit="char"),
    "tBLEU (0.05)": TBLEU(),
    "4-GRR": GRR(),
    "WER": WER(),
    "CER": CER(),
    "PER": PER(),
}
INTERNATIONAL = "BLEU, international tokenisation"
#: Wang and Merlo 2016, Table 2, system level: to English, from English
PUBLISHED = {
    "BLEU": (0.920, 0.760),
    INTERNATIONAL: (0.920, 0.760),
    "WER": (0.930, 0.754),
    "TER": (0.935, 0.756),
    "NIST": (0.941, 0.726),
    "BLEU_modif (0.1)": (0.951, 0.881),
    "WER_modif": (0.949, 0.922),
}
LOWER = ("BLEU", INTERNATIONAL, "NIST", "WER", "TER", "BLEU_modif (0.1)", "WER_modif")
SAMPLES = 1000
#: by language pair and metric: over systems, and over segments
Found = dict[str, dict[str, tuple[Correlation, ...]]]
EPSILONS = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0]
GAMMAS = [0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1.0]


def correlations(pair: Pair, metrics: dict[str, Metric]) -> dict[str, tuple[Correlation, ...]]:
    """Return Pearson's coefficient with its intervals over systems and over segments."""
    found = {}
    for name, metric in metrics.items():
        stats = pair.stats(metric)
        found[name] = tuple(
            correlate_systems(pair.human, metric, stats, resample=what, samples=SAMPLES)
            for what in ("systems", "segments")
        )
    return found


def by_form(name: str) -> dict[str, dict[str, tuple[Correlation, ...]]]:
    """Return the correlations of a language pair for text as it is, tokenised, lower case."""
    pair = read_pair(name)
    cut, small = pair.mapped(tokenized), pair.mapped(lowercased)
    # TER folds case by itself, and is slow
    ter = correlations(cut, {"TER": TER()})
    lower: dict[str, Metric] = {"BLEU": BLEU(), "NIST": _nist(small), "WER": WER()}
    if name in INTO_ENGLISH:
        vectors = load_vectors(VECTORS)
        lower["BLEU_modif (0.1)"] = BLEUModif(vectors=vectors)
        lower["WER_modif"] = WERModif(vectors=vectors)
    international: dict[str, Metric] = {INTERNATIONAL: BLEU(tokenize="intl", lowercase=True)}
    return {
        "plain": correlations(pair, METRICS | {"NIST": _nist(pair)}),
        "tokenized": correlations(cut, METRICS | {"NIST": _nist(cut)}) | ter,
        "lower": correlations(small, lower) | correlations(pair, international) | ter,
    }


def _nist(pair: Pair) -> NIST:
    """Return NIST with the information of a language pair's references."""
    return NIST(references=ReferenceSet([[line] for line in pair.references]))


def without_worst(pair: Pair, metric: Metric, count: int = 1) -> float:
    """Return Pearson's coefficient without the systems that people like least."""
    scores = [quality(metric, metric.score(rows.sum(axis=0))) for rows in pair.stats(metric)]
    worst = np.argsort(pair.human)[:count]
    return correlate(np.delete(pair.human, worst), np.delete(scores, worst)).value


def without_penalty(pair: Pair, metric: BLEU) -> float:
    """Return Pearson's coefficient of the precisions alone."""
    totals = np.array([rows.sum(axis=0) for rows in pair.stats(metric)])
    # output as long as the reference is not penalised
    totals[:, -1] = totals[:, -2]
    return correlate(pair.human, scores_of(metric, totals)).value


def _cell(correlation: Correlation) -> str:
    ends = correlation.interval
    return f"{correlation.value:.3f}" + (f" [{ends.low:.2f}, {ends.high:.2f}]" if ends else "")


def _mean(found: Sequence[Correlation]) -> float:
    return float(np.mean([one.value for one in found]))


def _rows(names: Sequence[str], found: Found, intervals: bool) -> list[str]:
    lines = []
    for name in names:
        row = f"| {name} |"
        for pairs in (INTO_ENGLISH, FROM_ENGLISH):
            these = [found[pair][name][0] for pair in pairs if name in found[pair]]
            if these:
                cells = [_cell(one) if intervals else f"{one.value:.3f}" for one in these]
                row += "".join(f" {cell} |" for cell in cells) + f" {_mean(these):.3f} |"
            else:
                row += " | | |"
        said = PUBLISHED.get(name)
        row += f" {said[0]:.3f} | {said[1]:.3f} |" if said else " | |"
        lines.append(row)
    return lines


def _table(names: Sequence[str], found: Found, intervals: bool) -> str:
    return "\n".join([HEAD, *_rows(names, found, intervals)])


HEAD = """\
| metric | de-en | fr-en | mean | en-de | en-fr | mean | paper, to English | from English |
|---|--:|--:|--:|--:|--:|--:|--:|--:|"""

TEXT = """# Metrics against people: WMT15

Written by `python -m benchmarks.wmt15` in {minutes:.0f} minutes (two busy cores). System-level
Pearson correlation of corpus scores with the official human scores of WMT15 (TrueSkill, the files
`wmt15.*.txt`), over all systems that have one: {systems}.
Error rates are negated. In the last two columns the means that Wang and Merlo (2016, Table 2) give
for the same data.

Tokenised as by mteval-v13a, case kept; in brackets 95 % intervals over {samples} resamples of the
systems:

{tokenized}

As it is, cut at blanks only:

{plain}

Tokenised and in lower case, as the vectors are (GloVe, 100 dimensions, 30,000 words of English):

{lower}

## What differs from the paper, and why

- **Means and text.** The paper's means are plain means over two pairs. It says nothing of
  tokenisation or case. BLEU to and from English is {bleu[tokenized]} tokenised, {bleu[plain]} cut
  at blanks, {bleu[lower]} tokenised in lower case, and {intl} in lower case with the international
  tokenisation of mteval-v14; the paper has {bleu[paper]}. WER is {wer[tokenized]}, {wer[plain]} and
  {wer[lower]}; the paper has {wer[paper]}. Averaging BLEU in lower case by Fisher's z would give
  {bleu[fisher]}.
- **NIST and TER** in lower case have {nist[lower]}, and {ter[lower]}; the paper has {nist[paper]},
  and {ter[paper]}.
- **Table 4 of the paper has two numbers swapped.** It gives the English-German systems PROMT and
  online-A BLEU 0.2253 and 0.1859, WER 0.6887 and 0.6284, and says in the text that PROMT falls to
  the tenth or eleventh place. Here they have BLEU {promt[bleu]} (lower case, international) and WER
  {promt[wer]} (tokenised): WER is near, and BLEU is the paper's if the lower one is PROMT's. So the
  paper's BLEU was most likely computed on such text, whose means agree to 0.001, too.
- **One system submitted tokenised text.** Cut at blanks, BLEU on en-de correlates better
  ({ende[0]:.3f}) than tokenised ({ende[1]:.3f}), for the wrong reason: `udsSant` has blanks before
  its punctuation, has BLEU {uds[0]:.3f} cut at blanks and {uds[1]:.3f} tokenised, and people rank
  it low. It moves by {uds[2]:.1f} standard deviations, no other system by more than {others:.1f}.
- **Systems that are far behind.** Without the one that people like least, BLEU and WER (tokenised)
  have {outliers}. On fr-en two are far behind, `online-E` and `online-F`; without both, BLEU has
  {without_two:.3f} over the five that are left.
- **Systems are few, segments are not.** Resampling segments instead of systems, BLEU on de-en stays
  in {segments}.
- **BLEU_modif fails with these vectors at the paper's threshold.** Nothing is clipped and the means
  of frequent words' vectors are much alike, so that its precisions on fr-en are all within
  {precision} and the brevity penalty decides; the system that people like best, `online-B`, is the
  shortest. Without the penalty the correlations would be {unpenalised}. The paper's vectors have
  500 dimensions and were trained on billions of words of news, its threshold was chosen on WMT14.
  WER_modif has no such penalty.

## tBLEU's threshold

By its printed formula two words are within an affix distance of 0.05 only if they share a
substring of twenty letters for each that differs. So tBLEU with the paper's threshold is BLEU in
practice, although the paper reports small differences there. Pearson's coefficient, tokenised,
and in brackets by how much, at most, the score of a system differs from BLEU, in per cent:

| epsilon | {epsilons} |
|---|{epsilon_rules}
{epsilon_rows}

## BLEU_modif's threshold

![Correlation of BLEU_modif with people under many thresholds](wmt15-gamma.svg)

| gamma | {gammas} |
|---|{rules}
| de-en | {sweep[0]} |
| fr-en | {sweep[1]} |

At 1 only n-grams that the reference has count, without clipping.

The same from the shell (for the second command on text in lower case):

```
fstmetrics correlate newstest2015.*.de-en.txt --refs newstest2015-deen-ref.en.txt \\
    --human wmt15.deu-eng.txt --metric bleu:tokenize=13a
fstmetrics study sweep newstest2015.*.de-en.lower --refs newstest2015-deen-ref.en.lower \\
    --human wmt15.deu-eng.txt --metric bleu-modif:tokenize=13a,vectors=glove.txt.gz \\
    --option gamma --values 0,0.1,...,0.9
```

{machine}
"""


def main() -> None:
    """Compute, print as it goes, and write the page."""
    begin = perf_counter()
    pairs = {name: read_pair(name) for name in PAIRS}
    found: dict[str, Found] = {"plain": {}, "tokenized": {}, "lower": {}}
    with ProcessPoolExecutor(2) as pool:
        for name, forms in zip(PAIRS, pool.map(by_form, PAIRS), strict=True):
            for form, of_form in forms.items():
                found[form][name] = of_form
                print(name, form, *(f"{one[0].value:.4f}" for one in of_form.values()), flush=True)
    vectors = load_vectors(VECTORS)
    modified = BLEUModif(vectors=vectors)
    lowered = [pairs[name].mapped(lowercased) for name in INTO_ENGLISH]
    sweeps = [_gamma_sweep(pair, vectors) for pair in lowered]
    (FOLDER / "wmt15-gamma.svg").write_bytes(_picture(sweeps))
    uds, others = _moved(pairs["en-de"], "udsSant")
    text = TEXT.format(
        samples=SAMPLES,
        systems=", ".join(f"{len(pair.outputs)} for {name}" for name, pair in pairs.items()),
        tokenized=_table([*METRICS, "NIST", "TER"], found["tokenized"], intervals=True),
        plain=_table([*METRICS, "NIST"], found["plain"], intervals=False),
        lower=_table(LOWER, found["lower"], intervals=True),
        bleu=_means("BLEU", found),
        intl=_means(INTERNATIONAL, {"lower": found["lower"]})["lower"],
        wer=_means("WER", found),
        nist=_means("NIST", {"lower": found["lower"]}),
        ter=_means("TER", {"lower": found["lower"]}),
        promt=_two_systems(pairs["en-de"]),
        ende=[found[form]["en-de"]["BLEU"][0].value for form in ("plain", "tokenized")],
        uds=uds,
        others=others,
        outliers=", ".join(
            " and ".join(
                f"{without_worst(pair.mapped(tokenized), metric):.3f}" for metric in (BLEU(), WER())
            )
            + f" on {name}"
            for name, pair in pairs.items()
        ),
        without_two=without_worst(pairs["fr-en"].mapped(tokenized), BLEU(), 2),
        segments=str(found["tokenized"]["de-en"]["BLEU"][1].interval),
        precision=_precisions(lowered[1], modified),
        unpenalised=" and ".join(
            f"{without_penalty(pair, modified):.3f} on {name}"
            for name, pair in zip(INTO_ENGLISH, lowered, strict=True)
        ),
        epsilons=" | ".join(f"{epsilon:g}" for epsilon in EPSILONS),
        epsilon_rules="--:|" * len(EPSILONS),
        epsilon_rows="\n".join(
            epsilon_row(name, pair.mapped(tokenized)) for name, pair in pairs.items()
        ),
        gammas=" | ".join(f"{gamma:g}" for gamma in GAMMAS),
        rules="--:|" * len(GAMMAS),
        sweep=[" | ".join(f"{_value(point):.3f}" for point in points) for points in sweeps],
        machine="\n".join(machine()),
        minutes=(perf_counter() - begin) / 60,
    )
    write_page("wmt15.md", text)


def _means(name: str, found: dict[str, Found]) -> dict[str, str]:
    """Return the means to and from English, as text, for each form of the text."""
    both = INTO_ENGLISH, FROM_ENGLISH
    means = {}
    for form, of_form in found.items():
        values = [[of_form[pair][name][0].value for pair in pairs] for pairs in both]
        means[form] = " and ".join(f"{np.mean(some):.3f}" for some in values)
    # the last form is that of lower case
    means["fisher"] = " and ".join(f"{np.tanh(np.mean(np.arctanh(some))):.3f}" for some in values)
    means["paper"] = " and ".join(f"{value:.3f}" for value in PUBLISHED[name])
    return means


def _two_systems(pair: Pair) -> dict[str, str]:
    """Return BLEU and WER of the two systems of the paper's Table 4."""
    scores: dict[str, str] = {}
    judges: tuple[tuple[str, Metric, Pair], ...] = (
        ("bleu", BLEU(tokenize="intl", lowercase=True), pair),
        ("wer", WER(), pair.mapped(tokenized)),
    )
    for name, metric, changed in judges:
        references = [[line] for line in changed.references]
        two = [changed.outputs[system] for system in ("PROMT-Rule-based", "online-A")]
        values = [corpus_score(metric, lines, references) for lines in two]
        scores[name] = " and ".join(f"{value:.4f}" for value in values)
    return scores


def _moved(pair: Pair, system: str) -> tuple[tuple[float, float, float], float]:
    """Return one system's BLEU before and after tokenisation and how far it moved, and the others.

    The distance is that of standard scores among the systems; of the others, the largest.
    """
    scores = [
        np.array([BLEU().score(rows.sum(axis=0)) for rows in form.stats(BLEU())])
        for form in (pair, pair.mapped(tokenized))
    ]
    standard = [(one - one.mean()) / one.std() for one in scores]
    distance = np.abs(standard[1] - standard[0])
    place = [*pair.outputs].index(system)
    own = (float(scores[0][place]), float(scores[1][place]), float(distance[place]))
    return own, float(np.delete(distance, place).max())


def _precisions(pair: Pair, metric: BLEU) -> str:
    """Return the range of the mean precisions of the systems on one pair."""
    totals = np.array([rows.sum(axis=0) for rows in pair.stats(metric)])
    totals[:, -1] = totals[:, -2]
    scores = scores_of(metric, totals)
    return f"[{scores.min():.3f}, {scores.max():.3f}]"


def _gamma_sweep(pair: Pair, vectors: WordVectors) -> list[SystemsPoint]:
    references = [[line] for line in pair.references]
    return sweep_systems(
        BLEUModif(vectors=vectors), "gamma", GAMMAS, pair.outputs, references, human=pair.human
    )


def epsilon_row(name: str, pair: Pair) -> str:
    """Return the correlation of tBLEU under each threshold, and how far it is from BLEU."""
    references = [[line] for line in pair.references]
    points = sweep_systems(TBLEU(), "epsilon", EPSILONS, pair.outputs, references, human=pair.human)
    cells = []
    for point in points:
        most = max(abs(a - b) for a, b in zip(point.scores, points[0].scores, strict=True))
        cells.append(f"{_value(point):.3f} ({100 * most:.3f})")
    return f"| {name} | {' | '.join(cells)} |"


def _value(point: SystemsPoint) -> float:
    return float("nan") if point.correlation is None else point.correlation.value


def _picture(sweeps: Sequence[Sequence[SystemsPoint]]) -> bytes:
    curves = [
        Curve(name, [_value(point) for point in points])
        for name, points in zip(INTO_ENGLISH, sweeps, strict=True)
    ]
    panel = Panel("BLEU_modif and people", "gamma", "Pearson's r", GAMMAS, curves)
    return line_plots([panel], "svg")


if __name__ == "__main__":
    main()
