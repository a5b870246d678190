"""What is measured of two versions of the library beside each other.

A script, not a module: ``PYTHON version_jobs.py DATA JOB`` is run by the interpreter of either
version and uses only what both have. It gets ready, and for each line of its standard input it
does the job once and answers with a line of JSON: seconds of the processor and by the clock, how
many items, and two sums, mostly of scores and of model scores, which tell whether both versions did
the same. Results are read to the end: tokens, score and model score of each.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

import lattices
from decoding import mbr, oracle, oracles
from decoding.training.mert import MERT
from fstmetrics import BLEU, CER, GRR, WER, Metric, parse_metric
from fstmetrics.contract import nbest_stats, scores_of
from lattices.formats.weights import read_weights

try:
    from decoding import oracle_kbest, worst
    from decoding.minimum_risk.decisions import method_with
    from decoding.training.envelope import EnvelopeCorpus
    from decoding.training.mert import line_search
    from decoding.training.risk.expected import risk
except ImportError:  # where the last version with numba has them
    from decoding.training.envelope_corpus import EnvelopeCorpus
    from decoding.training.line_search import line_search

    from decoding.training.risk import risk

    def oracle_kbest(*pair: Any, **options: Any) -> Any:
        """Return a list, as an argument of its own has it there."""
        return oracle(*pair, **options)

    worst = partial(oracle_kbest, k=1, worst=True)

    def deciding(method: str, options: Any) -> Any:
        """Return what decides, with the options of the method among those of the function."""
        return partial(mbr, method=method, **options)

else:

    def deciding(method: str, options: Any) -> Any:
        """Return what decides, by a method with its options."""
        return partial(mbr, method=method_with(method, options))


DATA = Path(sys.argv[1])
FOLDER = DATA / "multi30k-deen"
FILES = {
    "d10": FOLDER / "val.de-en.lat.d10.jsonl.gz",
    "d50": FOLDER / "val.de-en.lat.d50.jsonl.gz",
    "d200": FOLDER / "val_first300.de-en.lat.d200.jsonl.gz",
    "Hiero d10": FOLDER / "hiero150.de-en.forest.d10.jsonl.gz",
    "Hiero d50": FOLDER / "hiero150.de-en.forest.d50.jsonl.gz",
    "100-best": FOLDER / "val.de-en.100best.gz",
    "HiFST": DATA / "hifst-ruen" / "lattices.jsonl.gz",
}
SENTENCE_BLEU = BLEU(smooth="exp", effective_order=True)
SCALE = 10.0


class Job(NamedTuple):
    """What is timed, which returns the sums of scores and model scores; and how many items it does.

    ``before`` makes, before the clock starts, what it is called with. ``single`` is what runs on
    several threads, on one.
    """

    run: Callable[..., tuple[float, float]]
    count: int
    before: Callable[[], tuple[Any, ...]] = tuple
    single: Callable[..., tuple[float, float]] | None = None


def spaces_of(name: str, count: int | None = None, weighted: bool = False) -> list[Any]:
    """Return the first spaces of a file, under the decoder's weights if they shall be."""
    some: list[Any] = list(islice(lattices.read(FILES[name]), count))
    if weighted:
        hiero = ".hiero" if name.startswith("Hiero") else ""
        weights = read_weights(FOLDER / f"weights{hiero}.de-en")
        some = [space.reweighted(weights) for space in some]
    return some


def judges_of(spaces: Iterable[Any], metric: Metric) -> list[Any]:
    """Return an evaluator for each, fresh: nothing is compiled."""
    return [metric.against(space.references) for space in spaces]


def read_all(results: Iterable[Any]) -> tuple[float, float]:
    """Read oracles to the end."""
    score = model = 0.0
    for each in results:
        if each.tokens is not None:
            score += each.score
            model += each.hypothesis.score
    return score, model


def read_hypotheses(results: Iterable[Any]) -> tuple[float, float]:
    """Read sentences to the end."""
    words = model = 0.0
    for each in results:
        words += len(each.tokens)
        model += each.score
    return words, model


def batch(
    name: str, metric: Metric, count: int | None = None, workers: int = 1, hope: bool = False
) -> Job:
    """All oracles by one call, on fresh evaluators: they are there, and nothing is compiled."""
    spaces = spaces_of(name, count, weighted=hope)
    weight = 1.0 if hope else 0.0

    def run(judges: Sequence[Any], threads: int = workers) -> tuple[float, float]:
        return read_all(oracles(spaces, judges, model_weight=weight, workers=threads))

    single = partial(run, threads=1) if workers > 1 else None
    return Job(run, len(spaces), lambda: (judges_of(spaces, metric),), single)


def one_by_one(
    name: str,
    metric: Metric,
    count: int | None = None,
    weighted: bool = False,
    *,
    search: Callable[..., Any] = oracle,
    **options: Any,
) -> Job:
    """One oracle, worst, hope or fear after the other."""
    spaces = spaces_of(name, count, weighted)

    def run() -> tuple[float, float]:
        pairs = zip(spaces, judges_of(spaces, metric), strict=True)
        found: Iterable[Any] = (search(*pair, **options) for pair in pairs)
        if search is not oracle:
            found = (each for some in found for each in some)
        return read_all(found)

    return Job(run, len(spaces))


def urdu(words: int) -> Job:
    """The oracle of a huge forest, against so many words of its own."""
    (forest,) = lattices.read(DATA / "cdec-forests" / "urdu.json.gz")
    drawn = lattices.sample(forest, 20, np.random.default_rng(0))  # type: ignore[arg-type]
    text = [word for found in drawn for word in found.tokens][:words]

    def run() -> tuple[float, float]:
        return read_all([oracle(forest, GRR().against([text]))])

    return Job(run, 1)


def risks(name: str, count: int) -> Job:
    """Expected metric and its gradient."""
    spaces = spaces_of(name, count, weighted=True)

    def run() -> tuple[float, float]:
        found = [
            risk(space, judge, temperature=0.1)
            for space, judge in zip(spaces, judges_of(spaces, GRR()), strict=True)
        ]
        return sum(each.expected for each in found), sum(
            float(np.abs(each.gradient).sum()) for each in found
        )

    return Job(run, len(spaces))


def decisions(
    name: str,
    count: int,
    method: str,
    metric: str | None = None,
    *,
    scale: float = SCALE,
    **options: Any,
) -> Job:
    """Minimum Bayes risk."""
    spaces = spaces_of(name, count)
    chosen = SENTENCE_BLEU if metric == "bleu" else metric and parse_metric(metric)
    decide = deciding(method, options)

    def run() -> tuple[float, float]:
        expected = model = 0.0
        for space in spaces:
            found: Any = decide(space, chosen, scale=scale)
            if found.tokens is not None:
                expected += found.expected
                model += found.hypothesis.score
        return expected, model

    return Job(run, len(spaces))


def lines(name: str, count: int | None = None) -> Job:
    """MERT's exact line searches over a corpus: the first, and four more."""
    spaces = spaces_of(name, count)
    texts = (FOLDER / "val.en").read_text(encoding="utf-8").splitlines()
    judges = [BLEU().against([text]) for text in texts[: len(spaces)]]

    def run() -> tuple[float, float]:
        corpus = EnvelopeCorpus(spaces, judges)
        ways = np.random.default_rng(0).standard_normal((5, len(corpus.names)))
        start = np.full(len(corpus.names), 0.1)
        found = [line_search(corpus, None, start, way) for way in ways]
        return sum(each.score for each in found), sum(each.step for each in found)

    return Job(run, 5)


def mert(name: str, count: int | None = None, **options: Any) -> Job:
    """A run of MERT, from uniform weights."""
    spaces = spaces_of(name, count)
    references = [space.references for space in spaces]

    def run() -> tuple[float, float]:
        learner = MERT(**options)
        learner.fit(spaces, references, BLEU(), progress=False)
        return learner.history[-1].score, float(len(learner.history))

    return Job(run, 1)


def reading(name: str, file: str) -> Job:
    """All of a file."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name, file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lattices.write(path, lattices.read(FILES[name]), lossy=True)

    def run(folder: object = folder) -> tuple[float, float]:
        some: list[Any] = list(lattices.read(path))
        return float(len(some)), float(sum(each.num_arcs for each in some))

    return Job(run, int(run()[0]))


def statistics(metric: Metric) -> Job:
    """Statistics and scores of all hypotheses of n-best lists."""
    spaces = spaces_of("100-best")
    texts = (FOLDER / "val.en").read_text(encoding="utf-8").splitlines()

    def run() -> tuple[float, float]:
        score = total = 0.0
        for space, text in zip(spaces, texts, strict=True):
            rows = nbest_stats(metric.against([text]), space)
            total += float(np.sum(rows))
            score += float(np.sum(scores_of(metric, rows)))
        return score, total

    return Job(run, len(spaces))


def of_spaces(name: str, what: Callable[[Any], tuple[float, float]], count: int = 300) -> Job:
    """Something that lattices are asked for without a metric."""
    spaces = spaces_of(name, count)

    def run() -> tuple[float, float]:
        pairs = [what(space) for space in spaces]
        return sum(one for one, _ in pairs), sum(other for _, other in pairs)

    return Job(run, len(spaces))


def posterior_mass(space: Any) -> tuple[float, float]:
    """Posteriors, summed."""
    found: Any = lattices.posteriors(space)
    column = found.edges if isinstance(space, lattices.Forest) else found.arcs
    return float(np.sum(column)), 0.0


def pruned_size(space: Any) -> tuple[float, float]:
    """What is left at a fifth of the density."""
    left: Any = lattices.prune(space, density=lattices.density(space) / 5)
    return float(left.num_states), float(left.num_arcs)


def drawn_words(space: Any) -> tuple[float, float]:
    """The size of a sample: chance is not the same in every version."""
    return float(len(lattices.sample(space, 100, np.random.default_rng(0)))), 0.0


METRICS = {"WER": WER(), "4-GRR": GRR()}
GRRS = METRICS["4-GRR"]
#: takes minutes: done once, after the short run
WHOLE = "MERT, all of d50, BLEU"
SHORT = "MERT, 100 of d50, BLEU"

JOBS: dict[str, Callable[[], Job]] = {
    **{
        f"`oracles` {name}, {title}": partial(batch, name, metric)
        for name in ("d10", "d50", "d200", "HiFST")
        for title, metric in METRICS.items()
    },
    **{f"`oracles` {name}, 4-GRR, 2 threads": partial(batch, name, GRRS, workers=2)
       for name in ("d10", "d50", "d200")},
    **{f"`oracle` one by one, {name}, 4-GRR": partial(one_by_one, name, GRRS)
       for name in ("d10", "d50")},
    **{f"hope one by one, {name}": partial(one_by_one, name, GRRS, weighted=True, model_weight=1.0)
       for name in ("d10", "d50")},
    **{f"hope, {name}, one batch": partial(batch, name, GRRS, hope=True)
       for name in ("d10", "d50")},
    **{f"hope, {name}, one batch, 2 threads": partial(batch, name, GRRS, hope=True, workers=2)
       for name in ("d10", "d50")},
    **{f"worst, {name}, {title}": partial(one_by_one, name, metric, 300, search=worst)
       for name in ("d10", "d50") for title, metric in METRICS.items()},
    "fear, d50": partial(one_by_one, "d50", GRRS, 300, True, search=worst, model_weight=-1.0),
    **{f"10 best, {name}, {title}":
       partial(one_by_one, name, metric, 100, search=oracle_kbest, k=10)
       for name in ("d10", "d50") for title, metric in METRICS.items()},
    **{f"`oracles` {name}, 4-GRR": partial(batch, name, GRRS)
       for name in ("Hiero d10", "Hiero d50")},
    **{f"`oracles` {name}, 4-GRR, 2 threads": partial(batch, name, GRRS, workers=2)
       for name in ("Hiero d10", "Hiero d50")},
    **{f"`oracle` cdec urdu, {words} words": partial(urdu, words) for words in (30, 60)},
    **{f"10 best, {name}, 4-GRR": partial(one_by_one, name, GRRS, 20, search=oracle_kbest, k=10)
       for name in ("Hiero d10", "Hiero d50")},
    "risk and gradient, d50": partial(risks, "d50", 60),
    **{f"MBR `edit`, {name}": partial(decisions, name, count, "edit", scale=1.0)
       for name, count in (("d10", 300), ("d50", 300), ("d200", 100), ("HiFST", 60))},
    "MBR `linear`, d50": partial(decisions, "d50", 200, "linear"),
    "MBR `consensus`, d50": partial(decisions, "d50", 200, "consensus", candidates=100),
    **{f"MBR `pairwise`, 100-best, {metric}":
           partial(decisions, "100-best", 100, "pairwise", metric)
       for metric in ("wer", "bleu", "cer", "grr", "chrf")},
    "MBR `pairwise`, d50, wer": partial(decisions, "d50", 100, "pairwise", "wer"),
    **{f"MBR `exact`, {name}, {metric}":
           partial(decisions, name, 20, "exact", metric, candidates=10)
       for name in ("d10", "d50") for metric in ("wer", "grr")},
    **{f"MBR `search`, {name}, {metric}":
           partial(decisions, name, 20, "search", metric, evidence_size=100)
       for name in ("d10", "d50") for metric in ("wer", "grr")},
    "line searches, d50, BLEU": partial(lines, "d50", 300),
    "line searches, Hiero d50, BLEU": partial(lines, "Hiero d50"),
    "line searches, 100-best, BLEU": partial(lines, "100-best"),
    SHORT: partial(mert, "d50", 100, restarts=1, random_directions=5, most_passes=3, seed=0),
    WHOLE: partial(mert, "d50", seed=0),
    **{f"reading {title}, d50": partial(reading, "d50", file)
       for title, file in (("jsonl", "x.jsonl"), ("kaldi (text)", "x.ark.txt"),
                           ("kaldi-binary", "x.ark"), ("arrow", "x.arrow"),
                           ("parquet", "x.parquet"))},
    **{f"statistics of 100-best, {title}": partial(statistics, metric)
       for title, metric in (("BLEU", SENTENCE_BLEU), ("WER", WER()), ("4-GRR", GRR()),
                             ("CER", CER()))},
    "`posteriors`, d50": partial(of_spaces, "d50", posterior_mass),
    "`prune`, d50": partial(of_spaces, "d50", pruned_size),
    "`best`, d50": partial(of_spaces, "d50", lambda space: read_hypotheses([lattices.best(space)])),
    "`k_best` (100), d50": partial(
        of_spaces, "d50", lambda space: read_hypotheses(lattices.k_best(space, 100))),
    "`sample` (100), d50": partial(of_spaces, "d50", drawn_words),
    "`k_best` (100), Hiero d50": partial(
        of_spaces, "Hiero d50", lambda space: read_hypotheses(lattices.k_best(space, 100))),
}  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    """List the jobs, or do one as often as it is asked for."""
    if not arguments:
        print("\n".join(JOBS))
        return
    (name,) = arguments
    job = JOBS[name]()
    # what is imported or compiled once is so now
    first = JOBS[SHORT]() if name == WHOLE else job
    first.run(*first.before())
    print("ready", flush=True)
    for _ in sys.stdin:
        alone = timed(job.single, job.before())[1] if job.single else 0.0
        processor, clock, sums = timed(job.run, job.before())
        print(json.dumps([processor, clock, alone, job.count, *sums]), flush=True)


def timed(
    run: Callable[..., tuple[float, float]], given: tuple[Any, ...]
) -> tuple[float, float, tuple[float, float]]:
    """Return the seconds of the processor and by the clock that something took, and its sums."""
    begin = perf_counter(), process_time()
    sums = run(*given)
    return process_time() - begin[1], perf_counter() - begin[0], sums


main(sys.argv[2:])
