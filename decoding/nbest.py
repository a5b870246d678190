"""N-best lists: reranked by weights, and the best of a whole corpus of them under a metric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from decoding.ranked import ranked_places
from decoding.transforms import chosen
from fstmetrics import Metric, nbest_stats, scores_of
from fstmetrics.references import Reference
from lattices.arrays import FloatColumn
from lattices.errors import OptionError
from lattices.spaces import Hypothesis, NBest
from lattices.spaces.features import Weights

#: a change of the corpus score that is smaller than this is rounding
_SMALLEST_GAIN = 1e-12


def rerank(nbest: NBest, weights: Weights) -> NBest:
    """Return the list scored by ``features @ weights``, best first; equals keep their order.

    Examples
    --------
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": -2.0}), Hypothesis(("b",), -1.0, {"lm": -1.0})]
    ... )
    >>> [(found.text, found.score) for found in rerank(nbest, {"lm": 0.5})]
    [('b', -0.5), ('a', -1.0)]
    """
    scored = nbest.reweighted(weights)
    return chosen(scored, np.argsort(-scored.score, kind="stable").tolist())


@dataclass(frozen=True)
class CorpusOracle:
    """One sentence of each list, chosen for the metric of the corpus.

    Attributes
    ----------
    hypotheses : tuple of Hypothesis
        One for each list; ``hypothesis.index`` is its place there.
    score : float
        The metric of the corpus.
    stats : float64 column
        The summed statistics.
    sentence_score, first_score : float
        The metric of the corpus made of each list's best sentence under the metric, and of
        each list's sentence with the highest model score: never better than ``score``.
    rounds : int
        How often the search went through the corpus; in the last round nothing changed.
    """

    hypotheses: tuple[Hypothesis, ...]
    score: float
    stats: FloatColumn
    sentence_score: float
    first_score: float
    rounds: int


def corpus_oracle(
    lists: Sequence[NBest], references: Sequence[Iterable[Reference]], metric: Metric
) -> CorpusOracle:
    """Return the best selection that changing one sentence at a time leads to.

    For a metric that does not decompose, such as BLEU, the best sentences do not make the
    best corpus. The search goes through the corpus, takes from each list the sentence that
    gives the corpus the highest score as it stands, and ends when no single change
    improves it. It starts twice, from the sentence oracles and from the sentences with the
    highest model scores, and the better end is returned: a local optimum, never worse than
    either start, and not always the true one. Ties keep what is there.

    Statistics are computed once. A round costs one score for each hypothesis, in one
    vectorised call for each list (:func:`fstmetrics.scores_of`).

    Parameters
    ----------
    lists : sequence of NBest
        None of them empty.
    references : sequence
        One list of references for each list.
    metric : Metric

    Examples
    --------
    The sentence oracle of the first list is the longer one. But the second segment is too
    long anyway, and the corpus does better with the shorter one:

    >>> from fstmetrics import BLEU
    >>> lists = [
    ...     NBest.from_hypotheses([Hypothesis(tuple(text.split()), 0.0) for text in texts])
    ...     for texts in (["a b x", "a b"], ["a b c d y y"])
    ... ]
    >>> found = corpus_oracle(lists, [["a b c d"], ["a b c d"]], BLEU(order=1))
    >>> found.hypotheses[0].text, found.score, round(found.sentence_score, 4)
    ('a b', 0.75, 0.6667)
    """
    if len(lists) != len(references):
        raise OptionError(f"{len(lists)} lists, but references for {len(references)} segments")
    for position, nbest in enumerate(lists):
        if not len(nbest):
            raise OptionError(f"n-best list {nbest.id or position!r} is empty")
    evaluators = [metric.against(of_segment) for of_segment in references]
    rows = [
        nbest_stats(evaluator, nbest) for nbest, evaluator in zip(lists, evaluators, strict=True)
    ]
    sign = 1.0 if metric.higher_is_better else -1.0
    first = [int(np.argmax(nbest.score)) for nbest in lists]
    sentence = [
        ranked_places(nbest, evaluator, 1, worst=False, model_weight=0.0)[0]
        for nbest, evaluator in zip(lists, evaluators, strict=True)
    ]
    found = [_ascended(metric, sign, rows, start) for start in (sentence, first)]
    best, rounds = max(found, key=lambda end: sign * _score(metric, rows, end[0]))
    return CorpusOracle(
        tuple(nbest[entry] for nbest, entry in zip(lists, best, strict=True)),
        _score(metric, rows, best),
        _total(metric, rows, best),
        _score(metric, rows, sentence),
        _score(metric, rows, first),
        rounds,
    )


def _ascended(
    metric: Metric, sign: float, rows: Sequence[FloatColumn], start: Sequence[int]
) -> tuple[list[int], int]:
    """Return where single changes lead from a selection, and after how many rounds."""
    now, rounds, changed = list(start), 0, True
    while changed:
        changed = False
        rounds += 1
        total = _total(metric, rows, now)
        for segment, some in enumerate(rows):
            scores = sign * scores_of(metric, total - some[now[segment]] + some)
            entry = int(np.argmax(scores))
            if scores[entry] > scores[now[segment]] + _SMALLEST_GAIN:
                total = total - some[now[segment]] + some[entry]
                now[segment] = entry
                changed = True
    return now, rounds


def _total(metric: Metric, rows: Sequence[FloatColumn], entries: Sequence[int]) -> FloatColumn:
    total = np.zeros(len(metric.stat_names))
    for some, entry in zip(rows, entries, strict=True):
        total += some[entry]
    return total


def _score(metric: Metric, rows: Sequence[FloatColumn], entries: Sequence[int]) -> float:
    return metric.score(_total(metric, rows, entries))
