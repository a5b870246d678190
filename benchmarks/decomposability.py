"""Where BLEU does not decompose: writes ``docs/experiments/decomposability.md``.

Run as ``python -m benchmarks.decomposability``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from time import process_time
from typing import Any, cast

import numpy as np

import lattices
from benchmarks.data import DATA
from benchmarks.decomposability_text import TEXT
from benchmarks.pages import write_page
from benchmarks.wmt15_data import FOLDER, PAIRS, Pair, read_pair, tokenized
from fstmetrics import BLEU, BLEUSBP, GRR, GTM, MAXSIM, METEOR, NIST, WER, Metric, corpus_stats
from fstmetrics.contract import scores_of
from fstmetrics.matching.ter import TER
from fstmetrics.ngram.nist import ReferenceSet
from fstmetrics.references import Reference
from fstmetrics.statistics import Comparison, paired_bootstrap, substitution_test
from fstmetrics.statistics.studies.genres import GenreMixing, genre_mixing
from fstmetrics.statistics.studies.silence import attack, least_agreed
from lattices import Lattice, NBest
from lattices.arrays import Array, FloatColumn

#: what is counted over all systems, and attacked; the others are slower by far
METRICS: dict[str, Metric] = {"BLEU": BLEU(), "BLEU-SBP": BLEUSBP(), "4-GRR": GRR(), "WER": WER()}
#: stemmers by the language that is translated into
STEMMERS = {"en": "porter", "de": "german", "fr": "french"}
LEVEL = 0.05
#: what is added to a model score for each word
BONUSES = np.linspace(-3.0, 3.0, 61)
PARTS = ("news", "discussions", "both")
SHARES = (0.03, 0.05, 0.08, 0.10)
DELETING = (("en-de", "Neural-MT"), ("fr-en", "uedin-jhu-phrase"))


def metrics_of(references: Sequence[Sequence[Reference]], name: str) -> dict[str, Metric]:
    """Return the metrics that are compared, for a language pair or two into the same language."""
    stemmer = STEMMERS[name[-2:]]
    return METRICS | {
        "METEOR": METEOR(stemmer=stemmer),
        "GTM": GTM(e=1.2),
        "MAXSIM": MAXSIM(stemmer=stemmer),
        "NIST": NIST(references=ReferenceSet(cast(Any, references), name)),
        "TER": TER(),
    }


def metrics_of_pair(pair: Pair, name: str) -> dict[str, Metric]:
    """Return the metrics that are compared on one language pair."""
    return metrics_of([[line] for line in pair.references], name)


def shown(metric: Metric, score: float) -> str:
    """Return a score as tables have it: in per cent, but NIST's as it is."""
    return f"{score if isinstance(metric, NIST) else 100 * score:.2f}"


def contradictions(metric: Metric, pair: Pair) -> Iterator[tuple[str, str, Comparison, Comparison]]:
    """Yield the systems of which each is significantly better than the other."""
    stats = dict(zip(pair.outputs, pair.stats(metric), strict=True))
    for a, b in combinations(stats, 2):
        tests = [substitution_test(metric, stats[x], stats[y]) for x, y in ((a, b), (b, a))]
        if all(one.p_value < LEVEL and (one.wins or 0) > (one.losses or 0) for one in tests):
            yield a, b, tests[0], tests[1]


def mixing(metric: Metric, genres: Sequence[Pair]) -> GenreMixing:
    """Return how often one choice of systems is better on both genres, and worse together."""
    totals = {
        name: dict(
            zip(pair.outputs, (rows.sum(axis=0) for rows in pair.stats(metric)), strict=True)
        )
        for name, pair in zip(PARTS, genres, strict=False)
    }
    return genre_mixing(metric, totals)


def lists_of_genres() -> dict[str, tuple[list[NBest], list[Sequence[Reference]]]]:
    """Return n-best lists and references, German captions and Russian sentences."""
    folder = DATA / "multi30k-deen"
    captions = [*lattices.read(folder / "val.de-en.100best.gz")]
    lines = (folder / "val.en").read_text(encoding="utf-8").splitlines()
    russian = [*lattices.read(DATA / "hifst-ruen" / "lattices.jsonl.gz")]
    best = [
        NBest.from_hypotheses(lattices.k_best(lattice, 100))
        for lattice in russian
        if isinstance(lattice, Lattice)
    ]
    return {
        "captions": ([one for one in captions if isinstance(one, NBest)], [[x] for x in lines]),
        "Russian": (best, [lattice.references for lattice in russian]),
    }


def totals_by_bonus(
    metric: Metric, lists: Sequence[NBest], references: Sequence[Sequence[Reference]]
) -> FloatColumn:
    """Return the statistics of the best entries under each bonus for words."""
    totals = np.zeros((len(BONUSES), len(metric.stat_names)))
    for nbest, of_segment in zip(lists, references, strict=True):
        scores = np.array([entry.score for entry in nbest])
        lengths = np.array([len(entry.tokens) for entry in nbest])
        # few entries of a list are ever the best, and some metrics are slow
        entries, place = np.unique(
            np.argmax(scores + BONUSES[:, None] * lengths, axis=1), return_inverse=True
        )
        evaluator = metric.against(of_segment)
        totals += np.array([evaluator.stats(nbest.tokens(entry)) for entry in entries])[place]
    return totals


def tuned(
    metric: Metric, captions: FloatColumn, russian: FloatColumn
) -> dict[str, tuple[int, int]]:
    """Return the bonuses that are best for each genre, and those best for both together."""
    of_each = [int(np.argmax(_qualities(metric, rows))) for rows in (captions, russian)]
    joint = _qualities(metric, (captions[:, None] + russian).reshape(-1, captions.shape[1]))
    together = np.unravel_index(int(np.argmax(joint)), (len(captions), len(russian)))
    return {
        "by genre": (of_each[0], of_each[1]),
        "together": (int(together[0]), int(together[1])),
    }


def _qualities(metric: Metric, rows: FloatColumn) -> FloatColumn:
    scores = scores_of(metric, rows)
    return scores if metric.higher_is_better else -scores


def silent(metric: Metric, pair: Pair) -> FloatColumn:
    """Return the statistics of empty sentences."""
    return corpus_stats(metric, [""] * len(pair.references), [[r] for r in pair.references])


def blanked(metric: Metric, pair: Pair, system: str, deleted: Array) -> Comparison:
    """Compare a system that says nothing for some segments with the one that always speaks."""
    rows = pair.system_stats(metric, system)
    return paired_bootstrap(metric, np.where(deleted[:, None], silent(metric, pair), rows), rows)


def unlike(pair: Pair, system: str, share: float) -> Array:
    """Return which segments to blank: those least like the other systems', for a share of words."""
    said = {name: [line.split() for line in lines] for name, lines in pair.outputs.items()}
    return least_agreed(said.pop(system), [*said.values()], share)


def attacked(metric: Metric, pair: Pair, system: str) -> tuple[list[int], list[float]]:
    """Return segments in the order in which blanking them helps most, and the gains."""
    return attack(metric, pair.system_stats(metric, system), silent(metric, pair))


def _effect(metric: Metric, comparison: Comparison) -> str:
    p_value = comparison.p_value
    probability = "p < 0.01" if p_value < 0.01 else f"p = {p_value:.2f}"
    effect = shown(metric, comparison.effect)
    return f"{'' if effect.startswith('-') else '+'}{effect} ({probability})"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    rule = "|" + "---|" * left + "--:|" * (len(header) - left)
    return "\n".join(
        ["| " + " | ".join(header) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)]
    )


def _command(pair: str, baseline: str, system: str) -> str:
    """Return the command that makes one test, in the folder of the language pair."""
    (reference,) = (FOLDER / pair).glob("*-ref.*")
    files = [next((FOLDER / pair).glob(f"*2015.{name}.*")).name for name in (baseline, system)]
    return (
        f"fstmetrics compare {' '.join(files)} \\\n    --refs {reference.name} "
        "--test sign-substitution \\\n    --metric bleu:tokenize=13a bleu-sbp:tokenize=13a"
    )


def sign_tests(pairs: dict[str, Pair]) -> dict[str, str]:
    """Return the first scenario: how often the test contradicts itself, and where most."""
    of_pairs = {name: metrics_of_pair(pair, name) for name, pair in pairs.items()}
    found = {
        metric: [
            (name, *one)
            for name, pair in pairs.items()
            for one in contradictions(of_pairs[name][metric], pair)
        ]
        for metric in METRICS
    }
    comparisons = sum(len(pair.outputs) * (len(pair.outputs) - 1) // 2 for pair in pairs.values())
    where, a, b, _, _ = min(found["BLEU"], key=lambda one: max(one[3].p_value, one[4].p_value))
    pair, rows = pairs[where], []
    for name, metric in of_pairs[where].items():
        stats = {system: pair.system_stats(metric, system) for system in (a, b)}
        row = [name]
        for x, y in ((a, b), (b, a)):
            test = substitution_test(metric, stats[x], stats[y])
            score = shown(metric, metric.score(stats[x].sum(axis=0)))
            row += [score, f"{test.wins} : {test.losses}", f"{test.p_value:.1g}"]
        rows.append(row)
    header = ["metric", a, "won : lost", "p", b, "won : lost", "p"]
    lengths = [rows.sum(axis=0)[-2:] for rows in pair.stats(BLEU())]
    ratios = {name: row[0] / row[1] for name, row in zip(pair.outputs, lengths, strict=True)}
    return {
        "sign_counts": ", ".join(f"{metric} {len(some)}" for metric, some in found.items()),
        "comparisons": str(comparisons),
        "sign_table": _table(header, rows),
        "sign_pair": where,
        "sign_commands": "\n".join(_command(where, *two) for two in ((b, a), (a, b))),
        "sign_lengths": f"{ratios[a]:.3f} and {ratios[b]:.3f}",
    }


def genres(pairs: dict[str, Pair]) -> dict[str, str]:
    """Return the second scenario: choices of real systems, and a bonus for words that is tuned."""
    counts: list[str] = []
    example: tuple[str, ...] = ()
    both = [pairs["de-en"], pairs["fr-en"]]
    metrics = metrics_of([[line] for pair in both for line in pair.references], "de-en and fr-en")
    for name, metric in METRICS.items():
        found = mixing(metric, both)
        counts.append(f"{name} {found.inverted} of {found.better}")
        if not example and found.first and found.second:
            example = found.first.systems + found.second.systems
    rows = []
    for name, metric in metrics.items():
        scores: list[list[float]] = []
        for choice in (example[:2], example[2:]):
            parts = [
                pair.system_stats(metric, system).sum(axis=0)
                for pair, system in zip(both, choice, strict=True)
            ]
            scores.append([metric.score(part) for part in (*parts, parts[0] + parts[1])])
        rows.append(
            [name, *(shown(metric, score) for two in zip(*scores, strict=True) for score in two)]
        )
    tuning = []
    lists = lists_of_genres()
    texts = [each for _, references in lists.values() for each in references]
    for name, metric in metrics_of(texts, "captions and Russian into en").items():
        captions, russian = (totals_by_bonus(metric, *of_genre) for of_genre in lists.values())
        for what, (first, second) in tuned(metric, captions, russian).items():
            chosen = captions[first], russian[second], captions[first] + russian[second]
            tuning.append(
                [
                    name,
                    what,
                    f"{BONUSES[first]:+.1f}, {BONUSES[second]:+.1f}",
                    *(shown(metric, metric.score(row)) for row in chosen),
                ]
            )
    return {
        "inversions": ", ".join(counts),
        "first": " with ".join(example[:2]),
        "second": " with ".join(example[2:]),
        "genre_table": _table(
            ["metric", *(f"{part}: {which}" for part in PARTS for which in ("first", "second"))],
            rows,
        ),
        "penalty_table": _table(
            ["metric", "tuned", "bonus a word", "captions", "Russian", "both"], tuning, 2
        ),
    }


def deletions(pairs: dict[str, Pair]) -> dict[str, str]:
    """Return the third scenario: by agreement, and by an attack on each metric."""
    rows = []
    for name, system in DELETING:
        pair = pairs[name]
        metrics = metrics_of_pair(pair, name)
        for share in SHARES:
            deleted = unlike(pair, system, share)
            effects = [
                _effect(one, blanked(one, pair, system, deleted)) for one in metrics.values()
            ]
            rows.append([f"{name} {system}", f"{share:.0%}", str(deleted.sum()), *effects])
    attacks = []
    for name, system in DELETING:
        pair = pairs[name]
        words = np.array([len(line.split()) for line in pair.outputs[system]])
        for label, metric in METRICS.items():
            order, gains = attacked(metric, pair, system)
            most = int(np.argmax(gains)) + 1 if gains else 0
            deleted = np.zeros(len(words), dtype=bool)
            deleted[order[:most]] = True
            effects = [
                _effect(one, blanked(one, pair, system, deleted)) for one in METRICS.values()
            ]
            parts = (words[order[:most]].sum() / words.sum(), words[order].sum() / words.sum())
            attacks.append(
                [f"{name} {system}", label, f"{parts[0]:.1%}", *effects, f"{parts[1]:.1%}"]
            )
    long_gains: list[float] = []
    short_gains: list[float] = []
    for pair in pairs.values():
        for system, stats in zip(pair.outputs, pair.stats(BLEU()), strict=True):
            length, expected = stats.sum(axis=0)[-2:]
            _, gains = attacked(BLEU(), pair, system)
            (long_gains if length > expected else short_gains).append(100 * max(gains, default=0.0))
    header = ["system", "words deleted", "segments", *metrics]
    return {
        "deletion_table": _table(header, rows),
        "attack_table": _table(
            ["system", "attack on", "words deleted", *METRICS, "words for nothing"], attacks, 2
        ),
        "long": f"{len(long_gains)}",
        "long_gains": f"{min(long_gains):.2f} to {max(long_gains):.2f}",
        "short": f"{len(short_gains)}",
        "short_gain": f"{max(short_gains):.2f}",
    }


def main() -> None:
    """Compute, and write the page."""
    begin = process_time()
    pairs = {name: read_pair(name).mapped(tokenized) for name in PAIRS}
    parts: dict[str, str] = {}
    for scenario in (sign_tests, genres, deletions):
        parts |= scenario(pairs)
        print(scenario.__name__, f"{process_time() - begin:.0f} s", flush=True)
    minutes = (process_time() - begin) / 60
    write_page("decomposability.md", TEXT.format(**parts, minutes=minutes))


if __name__ == "__main__":
    main()
