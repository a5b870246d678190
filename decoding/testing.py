"""Laws of methods of minimum-risk decoding and of learners, to test one with.

:func:`check_method` and :func:`check_learner` raise an ``AssertionError`` that says which law is
broken and by what.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from decoding.minimum_risk.method import Consensus, MBRProblem, Method
from decoding.training.learner import Learner, TrainingTask, TrainingWarning
from fstmetrics import Metric
from fstmetrics.alignment.rates import WER
from lattices.algorithms import best, to_lattice
from lattices.errors import Error
from lattices.registry import explain_subclass
from lattices.spaces import Forest, Hypothesis, NBest, Space
from lattices.testing import expect, pickle_again

_WORDS = ("the", "cat", "sat", "on", "mat", "hat")
#: a difference of model scores that leaves nothing to the others
_CERTAIN = 200.0
_ROUNDING = 1e-9


def check_method(
    method: Method, metric: Metric | None = None, *, seed: int = 0, rounds: int = 10
) -> None:
    """Check a method of minimum-risk decoding, on small random lists, lattices and forests.

    - Its class is a dataclass derived from :class:`decoding.minimum_risk.method.Method`, with a
      ``name``; it survives pickling as its equal.
    - It decides lists, lattices or forests, and refuses the others by an error of
      :mod:`lattices.errors`. A decision has words that occur in the space, a finite expectation,
      and counts from -1 up.
    - ``decide(problem, k)`` returns one decision or more; with ``ranks`` at most ``k``, each
      sentence once, the first of them that for ``k=1``, with expectations from the best on. Without
      ``ranks`` it returns one.
    - ``decide_batch`` returns for each problem what ``decide`` does, and the same whenever asked.
    - Where all that a space has is one sentence, that is chosen; by methods without an objective of
      their own also one that the model is certain of.

    Parameters
    ----------
    method : Method
        With the options that it is to be checked with.
    metric : Metric, optional
        What it is given; by default WER, or none if it has an objective of its own.
    seed, rounds : int
        Of the random spaces, and how many of each kind.

    Raises
    ------
    AssertionError
        If a law is broken.

    Examples
    --------
    >>> from decoding import Pairwise
    >>> check_method(Pairwise())
    """
    _check_class(method, Method)
    expect(pickle_again(method) == method, f"{method!r} is another after pickling")
    given = metric if metric is not None or method.own_objective else WER()
    rng = np.random.default_rng(seed)
    refused: dict[str, str] = {}
    for kind in ("list", "lattice", "forest"):
        spaces = [_make_space(kind, _draw_texts(rng), rng.normal(size=5)) for _ in range(rounds)]
        asked = [MBRProblem((space,), given) for space in spaces]
        try:
            decided = [method.decide(each) for each in asked]
        except Error as problem:
            refused[kind] = str(problem)
            continue
        for space, each, said in zip(spaces, asked, decided, strict=True):
            _check_decisions(method, space, said, 1)
            if method.ranks:
                ranked = method.decide(each, 3)
                _check_decisions(method, space, ranked, 3)
                _check_order(method, given, ranked, said[0])
        again = [list(map(_answer, some)) for some in method.decide_batch(asked)]
        expect(
            again == [list(map(_answer, some)) for some in decided],
            f"{method.name}: decide_batch differs from decide, or one call from the next",
        )
        alone = _make_space(kind, ["the cat sat"] * 5, rng.normal(size=5))
        texts = _draw_texts(rng, distinct=True)
        certain = _make_space(kind, texts, np.array([0.0, 0.0, _CERTAIN, 0.0, 0.0]))
        only = [(alone, "the cat sat"), (certain, texts[2])]
        for space, expected in only[: 1 if method.own_objective else 2]:
            found = method.decide(MBRProblem((space,), given))[0].text
            expect(
                found == expected,
                f"{method.name} chooses {found!r} of a {kind} whose model is certain of "
                f"{expected!r}",
            )
    expect(len(refused) < 3, f"{method.name} decides no kind of space: {refused}")


def _check_class(made: object, base: type) -> None:
    reason = explain_subclass(type(made), base)
    expect(not reason, f"{type(made).__name__}: {reason}")


def _draw_texts(rng: np.random.Generator, distinct: bool = False) -> list[str]:
    """Return five sentences of one to five words."""
    found: list[str] = []
    while len(found) < 5:
        text = " ".join(rng.choice(_WORDS, rng.integers(1, 6)).tolist())
        found += [] if distinct and text in found else [text]
    return found


def _make_space(
    kind: str, texts: Sequence[str], scores: Any, features: Sequence[dict[str, float]] = ()
) -> Space:
    """Return a space of one kind that has these sentences."""
    rows = features or [{} for _ in texts]
    if kind == "forest":
        edges: list[Any] = []
        for number, (text, score, row) in enumerate(zip(texts, scores, rows, strict=True)):
            edges += [(number, [], text.split(), float(score), row), (len(texts), [number], [0])]
        return Forest.from_edges(edges, root=len(texts), id="s")
    nbest = NBest.from_hypotheses(
        [
            Hypothesis(tuple(text.split()), float(score), row)
            for text, score, row in zip(texts, scores, rows, strict=True)
        ],
        id="s",
    )
    return to_lattice(nbest) if kind == "lattice" else nbest


def _check_decisions(method: Method, space: Space, decided: object, k: int) -> None:
    case = f"{method.name} on {space!r} with k={k}"
    if not (isinstance(decided, Sequence) and decided):
        raise AssertionError(f"{case}: decide gives {decided!r:.60}, expected a list of Consensus")
    expect(len(decided) <= (k if method.ranks else 1), f"{case}: {len(decided)} decisions")
    known = {word for word in space.vocabulary if word}
    for each in decided:
        if not isinstance(each, Consensus):
            raise AssertionError(f"{case}: decide gives {each!r:.60}, expected a Consensus")
        expect(known.issuperset(each.tokens), f"{case}: {each.text!r} has words of nowhere")
        expect(math.isfinite(each.expected), f"{case}: the expectation is {each.expected}")
        counts = min(each.candidates, each.evidence) >= -1
        expect(counts and isinstance(each.method, str), f"{case}: {each!r:.200}")


def _check_order(
    method: Method, metric: Metric | None, ranked: Sequence[Consensus], first: Consensus
) -> None:
    texts = [each.text for each in ranked]
    expect(len(set(texts)) == len(texts), f"{method.name} ranks a sentence twice: {texts}")
    expect(
        texts[0] == first.text,
        f"{method.name}: the first of three is {texts[0]!r}, of one {first.text!r}",
    )
    if metric is not None:
        sign = 1.0 if metric.higher_is_better else -1.0
        falls = np.diff([sign * each.expected for each in ranked])
        expect(
            bool((falls <= _ROUNDING).all()),
            f"{method.name}: expectations are not from the best on: {ranked!r:.300}",
        )


def _answer(found: Consensus) -> tuple[str, float]:
    return found.text, found.expected


class _Stopped(Exception):
    """What stops a fit between two rounds."""


def check_learner(learner: Learner, metric: Metric | None = None, *, seed: int = 0) -> None:
    """Check a learner on a small corpus of lists, of lattices and of forests.

    - Its class is a dataclass derived from :class:`decoding.training.learner.Learner`, with a
      ``name``; options are JSON, and a learner made of ``options()`` has the same.
    - It is fitted to lists, lattices or forests, and refuses the others by an error of
      :mod:`lattices.errors`. After a fit it is ``finished``, with at least one round in its
      history, and a finite weight for each feature.
    - ``begin`` returns the metric of the best sentences under the weights to start with, and
      ``round`` that under the weights of :meth:`~decoding.training.learner.Learner.result`.
    - Two fits with the same options and the same ``seed`` give the same weights.
    - A fit that is stopped between two rounds and goes on from its checkpoint gives the same
      weights, to the last bit: what a round leaves to the next is in ``state``, ``weights`` and
      ``random``.

    Parameters
    ----------
    learner : Learner
        With the options that it is to be checked with, such as few rounds; it is not fitted.
    metric : Metric, optional
        WER by default.
    seed : int
        Of the random corpus.

    Raises
    ------
    AssertionError
        If a law is broken.

    Examples
    --------
    >>> from decoding.training.mert import MERT
    >>> check_learner(MERT(restarts=1, random_directions=2))
    """
    _check_class(learner, Learner)
    options = learner.options()
    try:
        same = json.loads(json.dumps(options))
    except TypeError as problem:
        raise AssertionError(f"{learner.name}: options {options} are no JSON") from problem
    kind = type(learner)
    expect(
        json.dumps(kind(**same).options()) == json.dumps(options),
        f"{learner.name}: a learner made of its options has others: {options}",
    )
    judge = WER() if metric is None else metric
    refused: dict[str, str] = {}
    for space_kind in ("list", "lattice", "forest"):
        spaces, references = _make_corpus(space_kind, seed)
        with warnings.catch_warnings():
            # nothing better than the start may be found
            warnings.simplefilter("ignore", TrainingWarning)
            try:
                whole = kind(**same).fit(spaces, references, judge, progress=False)
            except Error as problem:
                refused[space_kind] = str(problem)
                continue
            _check_fit(whole, spaces, references, judge)
            again = kind(**same).fit(spaces, references, judge, progress=False)
            expect(
                again.weights == whole.weights,
                f"{learner.name}: {again.weights}, and with the same seed {whole.weights}",
            )
            for done in range(1, len(whole.history)):
                _check_stopped(kind(**same), done, whole, TrainingTask(spaces, references, judge))
    expect(len(refused) < 3, f"{learner.name} is fitted to no kind of space: {refused}")


def _make_corpus(kind: str, seed: int) -> tuple[list[Space], list[list[str]]]:
    """Return spaces of five sentences with three features, and one of them as the reference."""
    rng = np.random.default_rng(seed)
    spaces, references = [], []
    for _ in range(6):
        texts, rows = _draw_texts(rng, distinct=True), rng.normal(size=(5, 3)).round(3)
        features = [dict(zip("xyz", map(float, row), strict=True)) for row in rows]
        spaces.append(_make_space(kind, texts, np.zeros(5), features))
        # most are those that some weights like best
        right = int(np.argmax(rows @ [1.0, -2.0, 1.0])) if rng.random() < 0.7 else 0
        references.append([texts[right]])
    return spaces, references


def _check_fit(
    learner: Learner, spaces: Sequence[Space], references: Sequence[list[str]], metric: Metric
) -> None:
    names = set().union(*(space.feature_names for space in spaces))
    expect(
        learner.finished and len(learner.history) > 0,
        f"{learner.name}: a fit ends with {len(learner.history)} rounds, unfinished",
    )
    weights = learner.weights
    expect(
        names <= weights.keys() and all(map(math.isfinite, weights.values())),
        f"{learner.name}: weights {weights}, expected finite ones of {sorted(names)}",
    )
    if learner.began is None:
        raise AssertionError(f"{learner.name} does not say what it began with")
    for each in (learner.began, *learner.history):
        said = [best(space.reweighted(dict(each.weights))).tokens for space in spaces]
        stats = [metric.stats(*pair) for pair in zip(said, references, strict=True)]
        score = metric.score(np.sum(stats, axis=0))
        expect(
            abs(score - each.score) <= _ROUNDING * max(1.0, abs(score)),
            f"{learner.name}: round {each.number} says that {metric} is {each.score} under "
            f"{dict(each.weights)}, where it is {score}",
        )


def _check_stopped(learner: Learner, done: int, whole: Learner, task: TrainingTask) -> None:
    """Stop a fit after some rounds, go on from the checkpoint, and compare with the whole fit."""
    round_of, left = learner.round, done

    def stop(task: TrainingTask) -> tuple[float, dict[str, Any]]:
        nonlocal left
        if not left:
            raise _Stopped
        left -= 1
        return round_of(task)

    given = (task.spaces, [list(each.references) for each in task.evaluators], task.metric)
    learner.round = stop  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.json")
        with suppress(_Stopped):
            learner.fit(*given, checkpoint=path, progress=False)
        resumed = type(learner).load(path).fit(*given, progress=False)
    expect(
        resumed.weights == whole.weights and len(resumed.history) == len(whole.history),
        f"{learner.name}: stopped after round {done} and resumed, a fit gives {resumed.weights}, "
        f"without a stop {whole.weights}: something that changes is not in state, weights or "
        "random",
    )
