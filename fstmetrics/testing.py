"""Laws of a metric, to test one with.

:func:`check_metric` raises an ``AssertionError`` that says which law is broken and by what.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import numpy as np

from fstmetrics.contract import Metric, compile_for, corpus_score, has_machine, quality
from fstmetrics.signature import METRICS, parse_metric
from lattices.errors import Error
from lattices.intersection import choose
from lattices.spaces import Lattice

_WORDS = ("the", "cat", "sat", "on", "mat", "hat")


def check_metric(metric: Metric, *, seed: int = 0, rounds: int = 20) -> None:
    """Check a metric against the contract, on random sentences and small random lattices.

    - Statistics are finite, as many as they have names, and the score comes from them alone.
    - An evaluator, ``metric.stats`` and a corpus of one segment agree.
    - The score of a corpus is that of the summed statistics.
    - Empty sentences and empty references have a score.
    - One string for a list of references is refused.
    - The metric survives pickling; if it is registered, ``str(metric)`` reads back as itself.
    - If it has a machine that claims to be exact, its best path over a lattice has the best
      score of all the lattice's sentences, and that score is its value (1 minus the score, if
      lower is better); if it claims a bound, no score lies above it.

    Parameters
    ----------
    metric : Metric
    seed, rounds : int
        Of the random sentences, and how many of them.

    Raises
    ------
    AssertionError
        If a law is broken.

    Examples
    --------
    >>> from fstmetrics import GRR
    >>> check_metric(GRR(n=2, alpha=0.5))
    """
    rng = np.random.default_rng(seed)
    segments = [
        (_sentence(rng), [_sentence(rng) for _ in range(rng.integers(1, 4))]) for _ in range(rounds)
    ]
    segments += [((), [_sentence(rng)]), (_sentence(rng), [()]), ((), [()]), (("cat",), [("cat",)])]
    for hypothesis, references in segments:
        _check_segment(metric, hypothesis, references)
    _check_corpus(metric, segments)
    _check_identity(metric)
    try:
        metric.against("the cat")
    except Error:
        pass
    else:
        raise AssertionError(f"{metric}.against('the cat') must be refused: it is no list")
    for hypothesis, references in segments:
        _check_machine(metric, _line(hypothesis), references)
    for _ in range(rounds):
        _check_machine(metric, _lattice(rng), [_sentence(rng) for _ in range(2)])


def _sentence(rng: np.random.Generator) -> tuple[str, ...]:
    return tuple(rng.choice(_WORDS, size=rng.integers(0, 8)).tolist())


def _line(tokens: Sequence[str]) -> Lattice:
    """Return the lattice of one sentence."""
    arcs = [(place, place + 1, token, 0.0) for place, token in enumerate(tokens)]
    return Lattice.from_arcs(arcs, finals=[len(tokens)], states=len(tokens) + 1)


def _lattice(rng: np.random.Generator) -> Lattice:
    states = int(rng.integers(2, 6))
    arcs = [
        (
            state,
            int(rng.integers(state + 1, states)),
            str(rng.choice(["", *_WORDS])),
            float(rng.normal()),
        )
        for state in range(states - 1)
        for _ in range(rng.integers(1, 4))
    ]
    # every state leads on, and only the last one nowhere
    return Lattice.from_arcs(arcs, finals=[states - 1], states=states)


def _same(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= 1e-9 * max(1.0, abs(one), abs(other))


def _check_segment(
    metric: Metric, hypothesis: Sequence[str], references: Sequence[Sequence[str]]
) -> None:
    case = f"{metric} of {hypothesis} against {references}"
    stats = np.asarray(metric.stats(hypothesis, references))
    if stats.shape != (len(metric.stat_names),):
        raise AssertionError(
            f"{case}: {stats.shape} statistics, but {len(metric.stat_names)} names for them"
        )
    if not np.isfinite(stats).all():
        raise AssertionError(f"{case}: statistics {stats} are not finite")
    score = metric.score(stats)
    if not isinstance(score, float) or np.isnan(score):
        raise AssertionError(f"{case}: the score is {score!r}, expected a float")
    evaluator = metric.against(references)
    if not np.array_equal(evaluator.stats(hypothesis), stats):
        raise AssertionError(f"{case}: the evaluator's statistics differ from the metric's")
    if not _same(evaluator.score(hypothesis), score):
        raise AssertionError(
            f"{case}: the evaluator says {evaluator.score(hypothesis)}, not {score}"
        )
    if not _same(corpus_score(metric, [hypothesis], [references]), score):
        raise AssertionError(f"{case}: a corpus of this one segment has another score")


def _check_corpus(
    metric: Metric, segments: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]]
) -> None:
    hypotheses = [hypothesis for hypothesis, _ in segments]
    references = [of_segment for _, of_segment in segments]
    rows = [metric.stats(*segment) for segment in segments]
    if not _same(metric.score(np.sum(rows, axis=0)), corpus_score(metric, hypotheses, references)):
        raise AssertionError(f"{metric}: the corpus score is not that of the summed statistics")


def _check_identity(metric: Metric) -> None:
    if str(pickle.loads(pickle.dumps(metric))) != str(metric):
        raise AssertionError(f"{metric} does not survive pickling")
    name = str(metric).partition(":")[0]
    if name in METRICS.names() and parse_metric(str(metric)) != metric:
        raise AssertionError(f"{metric} is not what its signature reads back as")


def _check_machine(metric: Metric, lattice: Lattice, references: Sequence[Sequence[str]]) -> None:
    evaluator = metric.against(references)
    if not has_machine(evaluator):
        return
    prepared, machine = compile_for(lattice, evaluator)
    found = choose("auto", prepared.space, machine).best([(prepared.space, machine)])[0]
    if found is None:
        raise AssertionError(f"{metric}: no path found in a lattice that has some")
    best = max(quality(metric, evaluator.score(path.tokens)) for path in lattice.paths())
    tokens = lattice.hypothesis(prepared.original(found.arcs)).tokens
    reached = quality(metric, evaluator.score(tokens))
    if machine.relation == "exact" and reached < best - 1e-6:
        raise AssertionError(
            f"{metric} against {references}: the machine's best sentence {tokens} scores "
            f"{reached}, the lattice holds one that scores {best}"
        )
    value = best if metric.higher_is_better else 1.0 + best
    if machine.relation == "exact" and abs(found.value - value) > 1e-6 * max(1.0, abs(value)):
        raise AssertionError(
            f"{metric} against {references}: the machine's value of {tokens} is {found.value}, "
            f"but the score {quality(metric, best)}"
        )
    if machine.relation == "bound" and found.value < best - 1e-6:
        raise AssertionError(f"{metric}: the machine's bound {found.value} lies below {best}")
