"""BLEU oracles of real lattices, forests and lists: writes ``docs/experiments/bleu-oracles.md``.

Run as ``python -m benchmarks.bleu_oracles``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time

import numpy as np

import lattices
from benchmarks.data import DATA, MULTI30K, Corpus, referenced
from benchmarks.pages import write_page
from decoding import corpus_oracle, oracles
from decoding.extraction.bleu_search import WantedFront, make_problems, search
from fstmetrics import BLEU, GRR, LinearBLEU, Metric, corpus_score
from lattices import Forest, Lattice, NBest, Space
from lattices.algorithms import density_masks, max_marginals, subset
from lattices.arrays import floats

#: what sentences are searched by, and what a corpus is scored by
ADDED, HALVED, CORPUS = BLEU(smooth="add-k"), BLEU(smooth="exp"), BLEU()
#: Denoual and Lepage's
CHARACTERS = BLEU(order=18, unit="char", smooth="add-k")
#: segments of the set of lattices that has fewest
FIRST = 300
#: where fronts of characters take a third of a second and more, and how many are made there
LONG, FEW = ("multi30k d50", "multi30k d200"), 10
FILES = {
    "multi30k 100-best": "multi30k-deen/val.de-en.100best.gz",
    **{f"multi30k {name}": path for name, path in MULTI30K.items()},
    "HiFST": "hifst-ruen/lattices.jsonl.gz",
    "Hiero forests d10": "multi30k-deen/hiero150.de-en.forest.d10.jsonl.gz",
    "Hiero forests d50": "multi30k-deen/hiero150.de-en.forest.d50.jsonl.gz",
}

TEXT = """# BLEU oracles

Written by `python -m benchmarks.bleu_oracles`. Scores are those of the corpus, in per cent, under
BLEU as it is reported for a corpus, without smoothing. The columns name what the oracles were
searched with. *4-GRR* was proposed by Chiang et al. (2008); *linear* is linear BLEU (Tromble et al.
2008; Sokolov et al. 2012) with the precisions of the 1-best; *add-k* and *exp* are sentence BLEU,
smoothed by adding 1 (Lin and Och 2004) and by halves (sacreBLEU's). *Corpus* is the best choice of
one sentence from each segment, *bound* what no choice can surpass, *gap* their difference.

{scores}

- The best of 100 sentences is far from the best of the lattice: their corpus oracle has
  {short:.1f} points less than that of `d50`, where the 1-best has {first:.1f}. (Lattices of `d10`
  have fewer sentences than the lists, and less to offer.)
- 4-GRR as a stand-in for BLEU: on `d50` its oracles are {stand_in:.1f} points below the best
  corpus, those of linear BLEU {linear:.1f}, those of smoothed sentence BLEU {added:.1f} (`add-k`)
  and {halved:.1f} (`exp`).

The searches, one thread: how many are proven within the default budget, the largest distance of a
sentence's score from its bound, labels and milliseconds for a segment (median and most, the search
alone); the same for the whole front of statistics, with the rows it has; and the seconds of the
corpus oracle, all included.

{times}

Character BLEU is of order 18 (Denoual and Lepage 2005), with 1 added.
"""


@dataclass(frozen=True)
class Scores:
    """Corpus BLEU of what was chosen from a set of spaces, and the seconds of the corpus oracle."""

    first: float
    grr: float
    linear: float
    added: float
    halved: float
    corpus: float
    bound: float
    seconds: float


def spaces() -> Iterator[tuple[str, list[Space]]]:
    """Yield the name and the segments of every set."""
    for name, path in FILES.items():
        some: list[Space] = list(lattices.read(DATA / path))
        if isinstance(some[0], NBest):
            some = list(referenced(some, DATA / "multi30k-deen" / "val.en"))
        yield name, some
        if len(some) > FIRST:
            yield f"{name}, first {FIRST}", some[:FIRST]


def corpus_of(some: Sequence[Space], metric: Metric) -> float:
    """Return the corpus BLEU of the sentence oracles under a metric."""
    references = [space.references for space in some]
    found = oracles(some, [metric.against(each) for each in references])
    return corpus_score(CORPUS, [each.tokens for each in found], references)


def scores_of(some: Sequence[Space]) -> Scores:
    """Return the scores of a set of spaces."""
    begin = process_time()
    found = corpus_oracle(some, [space.references for space in some], CORPUS)
    seconds = process_time() - begin
    first = [CORPUS.stats(lattices.best(space).tokens, space.references) for space in some]
    linear = LinearBLEU().fitted(floats(np.sum(first, axis=0)))
    sentences = [corpus_of(some, metric) for metric in (GRR(), linear, ADDED, HALVED)]
    if isinstance(some[0], NBest):
        sentences[1] = float("nan")  # lists are scored, and linear BLEU scores as BLEU does
    bound = float("nan") if found.bound is None else found.bound
    return Scores(found.first_score, *sentences, found.score, bound, seconds)


def score_row(name: str, count: int, scores: Scores) -> str:
    """Return a line of the table of scores."""
    cells = [
        scores.first, scores.grr, scores.linear, scores.added, scores.halved, scores.corpus,
        scores.bound,
    ]  # fmt: skip
    written = " | ".join(f"{100 * each:.2f}".replace("nan", "-") for each in cells)
    return f"| {name} | {count} | {written} | {100 * (scores.bound - scores.corpus):.4f} |"


@dataclass(frozen=True)
class Search:
    """How searches of some spaces went: times in milliseconds, of the native call alone."""

    times: list[float]
    labels: list[int]
    proven: float
    gap: float
    rows: float

    @staticmethod
    def of(
        some: Sequence[Lattice | Forest], metric: BLEU, wanted: WantedFront, rounds: int = 1
    ) -> Search:
        """Search each space by itself; the fastest of some rounds counts."""
        times, labels, proven, gaps, rows = [], [], [], [0.0], []
        for space in some:
            problems = make_problems([space], [metric.against(space.references)])
            least = float("inf")
            for _ in range(rounds):
                begin = process_time()
                (answer,) = search(problems, wanted)
                least = min(least, 1e3 * (process_time() - begin))
            times.append(least)
            labels.append(answer.labels)
            proven.append(answer.exact)
            rows.append(len(answer.rows))
            if not wanted.front and answer.complete:
                gaps.append(abs(answer.bound - metric.score(answer.rows[0])))
        return Search(times, labels, float(np.mean(proven)), max(gaps), float(np.mean(rows)))

    @property
    def cells(self) -> str:
        """Labels and milliseconds, of the median and at most."""
        return (
            f"{median(self.labels):,.0f} | {max(self.labels):,} "
            f"| {median(self.times):.3f} | {max(self.times):.1f}"
        )


def search_row(
    name: str,
    some: Sequence[Lattice | Forest],
    metric: BLEU,
    seconds: str = "",
    fronts: int | None = None,
) -> str:
    """Return a line of the table of searches: sentences, and fronts of so many segments, or all."""
    best = Search.of(some, metric, WantedFront())
    front = Search.of(some[:fronts], metric, WantedFront(front=True))
    return (
        f"| {name} | {best.proven:.1%} | {best.gap:.4f} | {best.cells} "
        f"| {front.proven:.1%} | {front.rows:.1f} | {front.cells} | {seconds} |"
    )


def main() -> None:
    """Compute, print as it goes, and write the page."""
    scores = [
        "| spaces | segments | 1-best | 4-GRR | linear | add-k | exp | corpus | bound | gap |",
        "|---|" + "--:|" * 9,
    ]
    times = [
        "| spaces, metric | proven | gap | labels | most | ms | most | fronts proven | rows "
        "| labels | most | ms | most | corpus, s |",
        "|---|" + "--:|" * 13,
    ]
    by_name: dict[str, Scores] = {}
    for name, some in spaces():
        found = by_name[name] = scores_of(some)
        scores.append(score_row(name, len(some), found))
        print(scores[-1], flush=True)
        searchable = [space for space in some if not isinstance(space, NBest)]
        if not searchable or "first" in name:
            continue
        for metric, seconds in ((ADDED, f"{found.seconds:.1f}"), (HALVED, "")):
            times.append(search_row(f"{name}, {metric.smooth}", searchable, metric, seconds))
            print(times[-1], flush=True)
        fronts = FEW if name in LONG else None
        title = f"{name}, characters" + (f" (fronts of the first {FEW})" if fronts else "")
        times.append(search_row(title, searchable, CHARACTERS, fronts=fronts))
        print(times[-1], flush=True)
    d50 = by_name["multi30k d50"]
    text = TEXT.format(
        scores="\n".join(scores),
        times="\n".join(times),
        short=100 * (d50.corpus - by_name["multi30k 100-best"].corpus),
        first=100 * d50.first,
        stand_in=100 * (d50.corpus - d50.grr),
        linear=100 * (d50.corpus - d50.linear),
        added=100 * (d50.corpus - d50.added),
        halved=100 * (d50.corpus - d50.halved),
    )
    write_page("bleu-oracles.md", text)


def measure(corpora: Sequence[Corpus]) -> list[str]:
    """Return the times of sentence BLEU oracles as a table, for ``make bench``."""
    lines = [
        "| lattices | arcs | best, ms | most | 10 best, ms | worst, ms | front, ms |",
        "|---|" + "--:|" * 6,
    ]
    for corpus in corpora:
        asked = (WantedFront(), WantedFront(k=10), WantedFront(worst=True), WantedFront(front=True))
        best, *others = (Search.of(corpus.lattices, ADDED, each, rounds=3) for each in asked)
        written = " | ".join(f"{median(each.times):.3f}" for each in others)
        lines.append(
            f"| {corpus.name} | {corpus.arcs:.0f} | {median(best.times):.3f} "
            f"| {max(best.times):.1f} | {written} |"
        )
        print(lines[-1], flush=True)
    return lines


def growth(corpus: Corpus) -> list[str]:
    """Return how the time of a search grows with density and with the length of references."""
    some = corpus.lattices[:FIRST]
    parts: dict[str, list[Lattice]] = {}
    for density in (5, 10, 25, 50, 100, 200):
        parts[f"density {density}"] = [
            subset(lattice, *density_masks(lattice, density, max_marginals(lattice)))
            for lattice in some
        ]
    for lattice in sorted(some, key=lambda each: len(each.references[0].split())):
        words = len(lattice.references[0].split()) // 5 * 5
        parts.setdefault(f"references of {words} to {words + 4} words", []).append(lattice)
    lines = ["| | lattices | arcs | best, ms |", "|---|" + "--:|" * 3]
    for name, members in parts.items():
        arcs = sum(lattice.num_arcs for lattice in members) / len(members)
        times = Search.of(members, ADDED, WantedFront(), rounds=3).times
        lines.append(f"| {name} | {len(members)} | {arcs:.0f} | {median(times):.3f} |")
    return lines


if __name__ == "__main__":
    main()
