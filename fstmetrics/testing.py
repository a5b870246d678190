"""Laws of metrics, normalisers and engines, to test one with.

:func:`check_metric`, :func:`check_normaliser` and :func:`check_engine` raise an ``AssertionError``
that says which law is broken and by what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from fstmetrics.alignment.rates import GRR, WER
from fstmetrics.contract import Metric, compile_for, corpus_score, has_machine, quality
from fstmetrics.normalisation.normalisers import Normaliser, TextFunction
from fstmetrics.signature import METRICS, parse_metric
from lattices.errors import Error, SpaceError
from lattices.intersection import Engine, RankingEngine, SearchMachine, choose
from lattices.intersection.engine import Found
from lattices.registry import list_missing
from lattices.spaces import Forest, Hypothesis, Lattice
from lattices.testing import expect, pickle_again

_WORDS = ("the", "cat", "sat", "on", "mat", "hat")
#: words that normalisers change
_SPELLINGS = (
    "The",
    "don't",
    "...",
    "co-op",
    "ﬁn",
    "3.5",
    "[noise]",
    "(uh)",
    "日本語",
    "é",
    "a\u00a0b",
)
#: of values that are equal but for rounding
_ROUNDING = 1e-6


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
    if str(pickle_again(metric)) != str(metric):
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


def check_normaliser(
    normaliser: Normaliser | Callable[[str], str],
    words: Iterable[str] = (),
    *,
    seed: int = 0,
    rounds: int = 200,
) -> None:
    """Check a normaliser, or a function from text to text, on random sentences.

    - It takes words, as a tuple of str, to words: none is empty or has an ASCII blank in it. The
      same words always become the same, and those of the empty sentence none.
    - ``waits(a)`` tells whether what the words ``a`` become may hang on the next: where it is
      False, and ``covers(words)`` is True for all words there are, ``sentence(a + b)`` is
      ``sentence(a) + sentence(b)``, so that lattices can be searched word by word.
    - It survives pickling.

    Parameters
    ----------
    normaliser
        As commands make it of ``NAME`` or ``NAME:FILE``.
    words
        Those that it changes, beside a few spellings that many change: of every other sentence all
        words are of these.
    seed, rounds : int
        Of the random sentences, and how many of them.

    Raises
    ------
    AssertionError
        If a law is broken.

    Examples
    --------
    >>> from fstmetrics.normalisation.normalisers import Drop
    >>> check_normaliser(Drop("uh|um"), ["uh"])
    >>> check_normaliser(str.lower)
    >>> check_normaliser(str.split)
    Traceback (most recent call last):
    AssertionError: <method 'split' of 'str' objects>: a normaliser makes ['The'] of 'The', \
expected text
    """
    own = tuple(words)
    known = (*own, *_SPELLINGS, *_WORDS)
    whole: Any = normaliser
    if list_missing(normaliser, ("sentence", "waits", "covers")):
        expect(callable(normaliser), f"{normaliser!r} is neither a normaliser nor a function")
        whole = TextFunction(normaliser)
    copy = pickle_again(whole)
    rng = np.random.default_rng(seed)
    expect(whole.sentence(()) == (), f"{normaliser!r}: the empty sentence becomes words")
    for number in range(rounds):
        drawn = rng.choice(own if own and number % 2 else known, int(rng.integers(0, 6)))
        given = known[number : number + 1] or tuple(drawn.tolist())
        case = f"{normaliser!r}: {given}"
        try:
            made = whole.sentence(given)
        except Error as problem:
            raise AssertionError(f"{normaliser!r}: {problem}") from problem
        texts = isinstance(made, tuple) and all(isinstance(each, str) for each in made)
        expect(
            texts and all([each] == each.split(" ") and each for each in made),
            f"{case} becomes {made!r}, expected a tuple of words",
        )
        expect(
            made == whole.sentence(given) == copy.sentence(given),
            f"{case} does not always become {made!r}, or not after pickling",
        )
        for cut in range(len(given) + 1):
            left, right = given[:cut], given[cut:]
            if whole.covers(given) and not whole.waits(left):
                apart = whole.sentence(left) + whole.sentence(right)
                expect(
                    made == apart,
                    f"{case} becomes {made!r}, but {left} and {right} become {apart!r}, though "
                    "waits of the former says that it does not hang on the latter",
                )


def check_engine(engine: Engine, *, seed: int = 0, rounds: int = 20) -> None:
    """Check an engine against enumeration, on small lattices and forests with machines of metrics.

    - ``can_run`` returns True, or the reason why not as a text; it is True for some of them.
    - ``best`` returns as many answers as there are problems, in their order; None where no path or
      derivation is complete, else a ``Found``.
    - ``Found.arcs`` is a complete path, or a derivation from the top down. Its value, that of the
      machine plus ``model_weight`` times the model score, is ``Found.value``, and no other has a
      higher one.
    - Of equal values it has the highest model score.
    - The answer is always the same, with several workers, too.
    - If it ranks, ``k_best`` and ``worst`` return different sentences, which have the highest or
      lowest values, best or worst first, unless they say that this is not proven.

    Parameters
    ----------
    engine : Engine
    seed, rounds : int
        Of the random spaces, and how many of each kind.

    Raises
    ------
    AssertionError
        If a law is broken.

    Examples
    --------
    >>> from lattices.intersection import ENGINES
    >>> check_engine(ENGINES.get("kernel"))
    """
    rng = np.random.default_rng(seed)
    expect(isinstance(engine.name, str) and engine.name != "", "an engine has a name")
    problems: list[tuple[Lattice | Forest, SearchMachine]] = []
    metrics = (WER(), GRR(n=2), GRR(n=3, alpha=0.5, beta=0.25))
    for number in range(rounds):
        metric = metrics[number % len(metrics)]
        for space in (_lattice(rng), _forest(rng)):
            references = [_sentence(rng) for _ in range(rng.integers(1, 3))]
            evaluator = metric.against(references)
            machine = compile_for(space, evaluator)[1]
            answer = engine.can_run(space, machine)
            if answer is not True:
                is_reason = isinstance(answer, str) and answer != ""
                expect(
                    is_reason, f"can_run returns {answer!r}, expected True or the reason why not"
                )
                continue
            problems.append((space, machine))

            def value(words: Sequence[str], evaluator: Any = evaluator) -> float:
                score = evaluator.score(words)
                return float(score if evaluator.metric.higher_is_better else 1.0 - score)

            for weight in (0.0, 0.5, -0.5):
                _check_best(engine, space, machine, value, weight)
            if isinstance(engine, RankingEngine):
                _check_ranked(engine, space, machine, value)
    expect(bool(problems), f"can_run refuses every small lattice and forest: {answer}")
    told = list(map(_answer, engine.best(problems)))
    alone = [_answer(engine.best([each])[0]) for each in problems]
    expect(told == alone, "best of many problems differs from best of each alone")
    expect(
        told == list(map(_answer, engine.best(problems, workers=2))),
        "best differs with two workers",
    )
    broken = Lattice.from_arcs([(0, 1, "the")], finals=[2], states=3)
    machine = WER().against(["the"]).machine(broken.vocabulary)
    if engine.can_run(broken, machine) is True:
        expect(engine.best([(broken, machine)]) == [None], "no path is complete: expected None")


def _answer(found: Found | None) -> Any:
    return found and (found.value, list(found.arcs))


def _forest(rng: np.random.Generator) -> Forest:
    edges: list[tuple[int, list[int], list[str | int], float]] = []
    for node in range(4):
        for _ in range(1 + (node < 2) + int(rng.integers(0, 2))):
            tails = rng.choice(node, size=min(node, int(rng.integers(1, 3))), replace=False)
            side: list[str | int] = [*range(len(tails)), *_sentence(rng)[:2]]
            order = rng.permutation(len(side)).tolist()
            edges.append((node, tails.tolist(), [side[each] for each in order], rng.normal()))
    return Forest.from_edges(edges, root=3)


def _sentences(space: Lattice | Forest) -> list[Hypothesis]:
    return list(space.paths() if isinstance(space, Lattice) else space.derivations())


def _check_best(
    engine: Engine,
    space: Lattice | Forest,
    machine: SearchMachine,
    value: Callable[[Sequence[str]], float],
    weight: float,
) -> None:
    [found] = engine.best([(space, machine)], model_weight=weight)
    case = f"{engine.name} on {space!r} with model_weight={weight}"
    if not isinstance(found, Found):
        raise AssertionError(f"{case}: best gives {found!r}, expected a Found")
    try:
        reached = space.hypothesis(found.arcs.tolist())
    except SpaceError as problem:
        raise AssertionError(f"{case}: {problem}") from problem
    values = [(value(one.tokens) + weight * one.score, one.score) for one in _sentences(space)]
    best = max(at for at, _ in values)
    its = value(reached.tokens) + weight * reached.score
    expect(its > best - _ROUNDING, f"{case}: {reached.text!r} has {its}, the best has {best}")
    expect(
        abs(found.value - its) < _ROUNDING,
        f"{case}: it says {found.value} of {reached.text!r}, which has {its}",
    )
    if not weight:
        highest = max(score for at, score in values if at > best - _ROUNDING)
        expect(
            reached.score > highest - _ROUNDING,
            f"{case}: {reached.text!r} has the model score {reached.score}, another one that is "
            f"as good has {highest}",
        )


def _check_ranked(
    engine: RankingEngine,
    space: Lattice | Forest,
    machine: SearchMachine,
    value: Callable[[Sequence[str]], float],
) -> None:
    values = {one.tokens: value(one.tokens) for one in _sentences(space)}
    for name, rank, sign in (("k_best", engine.k_best, -1.0), ("worst", engine.worst, 1.0)):
        found = rank((space, machine), 3, budget=10**6)
        if found is None or not found.proven:
            continue
        said = [space.hypothesis(path.tolist()).tokens for path in found.paths]
        expected = sorted(values.values(), key=lambda at: sign * at)[:3]
        came = [values[words] for words in said]
        expect(
            len(set(said)) == len(said)
            and np.allclose(came, expected[: len(came)])
            and len(came) == len(expected),
            f"{name} of {engine.name} on {space!r}: {said} with {came}, expected {expected}",
        )
