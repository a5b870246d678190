"""PRO: ranking as classification, on pairs of sentences drawn from lists."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from scipy.sparse import csr_array, vstack

from decoding.training.envelope import feature_rows
from decoding.training.learner import TrainingTask
from decoding.training.loop import extend_list
from decoding.training.margin_updates import Constraint, DocumentLearner, logistic_pulls
from decoding.training.online import minimise
from decoding.training.training_corpus import LearnerCorpus, row_qualities
from fstmetrics.contract import nbest_stats
from lattices.algorithms import k_best
from lattices.arrays import Array, FloatColumn, IntColumn, ints
from lattices.errors import OptionError
from lattices.spaces import Forest, Lattice, NBest
from lattices.spaces.features import FeatureMatrix

#: which of the pairs that differ enough may be kept
KEPT = ("auto", "largest", "random")


def sample_pairs(
    qualities: FloatColumn,
    rng: np.random.Generator,
    *,
    candidates: int = 5000,
    kept: int = 50,
    threshold: float = 0.05,
    keep: str = "largest",
) -> tuple[IntColumn, IntColumn]:
    """Draw pairs of entries that differ enough, and keep some of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> better, worse = sample_pairs(np.array([0.5, 0.1, 0.12]), rng, kept=2)
    >>> better.tolist(), worse.tolist()
    ([0, 0], [1, 1])
    """
    if len(qualities) < 2:
        return ints([]), ints([])
    drawn = draw_candidates(len(qualities), rng, candidates)
    apart = qualities[drawn[0]] - qualities[drawn[1]]
    enough = np.flatnonzero((np.abs(apart) >= threshold) & (apart != 0.0))
    if keep == "largest":
        enough = enough[np.argsort(-np.abs(apart[enough]), kind="stable")]
    chosen = enough[:kept]
    one, other = drawn[:, chosen]
    is_first = apart[chosen] > 0.0
    return ints(np.where(is_first, one, other)), ints(np.where(is_first, other, one))


def draw_candidates(size: int, rng: np.random.Generator, candidates: int) -> Array:
    """Return pairs of entries of a list, in two rows; nothing is drawn from a single entry."""
    return rng.integers(size, size=(2, candidates)) if size > 1 else np.empty((2, 0), np.int64)


def logistic_loss(differences: FeatureMatrix, weights: FloatColumn) -> tuple[float, FloatColumn]:
    """Return the mean of ``log(1 + exp(-margin))`` over pairs, and its gradient.

    ``differences`` has one row a pair: the features of the better minus those of the worse.
    """
    margins = differences @ weights
    value = float(np.logaddexp(0.0, -margins).mean())
    wrong = np.exp(-np.logaddexp(0.0, margins))
    return value, np.asarray(-(differences.T @ wrong) / len(margins))


@dataclass(kw_only=True, eq=False)
class PRO(DocumentLearner):
    """Pairwise ranking optimisation (Hopkins & May 2011).

    A round draws pairs of sentences from the list of every segment
    (:func:`sample_pairs`) and separates the better from the worse by logistic regression:
    the minimum of :func:`logistic_loss` plus ``l2 / 2 * |w| ** 2 + l1 * sum(abs(w))``, by
    L-BFGS, weights measured by the deviations of their features if ``scaled``. The weights
    after the round are ``mix`` of these and the rest of those before.

    Of a lattice or forest, each round takes the ``size`` best sentences under the present
    weights, and adds them to those of earlier rounds.

    The pairs that differ most are kept, as in the paper. Those have the worst sentences of each
    list on one side, and the weights may learn what tells these from all others rather than what
    tells good sentences apart (Nakov, Guzmán & Vogel 2013). That weighs more where lists are not
    those of a good decoder, but hold for good what the first weights said: of lattices, pairs are
    kept as they were drawn. (So they might be of forests, too; held-out ones do not tell.)

    BLEU judges sentences within a document of 9 segments, the mean of what the model says
    (``document``): each by itself, pairs favour short sentences (Nakov, Guzmán & Vogel 2012).

    The score of a round is the metric of the corpus, its details have the loss and the number
    of pairs. Cost: O(candidates) a segment and round, and the regression.

    Parameters
    ----------
    rounds : int
    candidates, kept : int
        Gamma and Xi of the paper.
    threshold : float
        In units of the metric.
    keep : {"auto", "largest", "random"}
        As of :func:`sample_pairs`; ``auto`` is random ones of lattices, and the largest of
        lists and forests.
    mix : float
        Psi of the paper: above 0, at most 1.
    l2, l1 : float
        The paper's MegaM has 1 over the number of pairs for ``l2``.
    most_iterations : int
        Of L-BFGS.
    size : int
    rate : float
        Of :meth:`update`, a step of gradient descent on the logistic loss of a pair.
    document
        As of :class:`decoding.training.margin_updates.DocumentLearner`.
    judge, scaled
        As of :class:`decoding.training.training_corpus.CorpusLearner`.
    start, seed
        As of :class:`decoding.training.learner.Learner`.

    References
    ----------
    Hopkins and May. Tuning as ranking. EMNLP 2011.

    Nakov, Guzmán and Vogel. Optimizing for sentence-level BLEU+1 yields short translations.
    COLING 2012.

    Nakov, Guzmán and Vogel. A tale about PRO and monsters. ACL 2013.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": 1.0}), Hypothesis(("b",), 0.0, {"tm": 1.0})]
    ... )
    >>> learner = PRO(start={"lm": 1.0, "tm": 0.0}).fit([nbest], [["b"]], WER())
    >>> learner.weights["tm"] > learner.weights["lm"], learner.history[-1].score
    (True, 0.0)
    """

    name: ClassVar[str] = "pro"
    in_shards: ClassVar[bool] = True
    own_document: ClassVar[float] = 0.9
    rounds: int = 10
    candidates: int = 5000
    kept: int = 50
    threshold: float = 0.05
    keep: str = "auto"
    mix: float = 0.5
    l2: float = 1e-4
    l1: float = 0.0
    most_iterations: int = 100
    size: int = 100
    rate: float = 0.1

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        self.check_options(
            ("rounds", "candidates", "kept", "most_iterations", "size"),
            ("threshold", "l2", "l1"),
            ("rate",),
            keep=KEPT,
        )
        if not 0.0 < self.mix <= 1.0:
            raise OptionError(f"mix is above 0 and at most 1, not {self.mix}")

    def begin(self, task: TrainingTask) -> float:
        """Begin with the present weights."""
        corpus = self.ready(task)
        self.weights = self.initial_weights(corpus.names)
        self.state = {"round": 0, "decoded": [], "squares": self.square_units()}
        return corpus.score(corpus.vector(self.weights))

    def step(self, constraints: Sequence[Constraint]) -> dict[str, float]:
        """Return a step against the gradient of the logistic loss of some pairs."""
        pulls = logistic_pulls(*self.margins(constraints))
        return self.pull(constraints, pulls, self.rate)

    def round(self, task: TrainingTask) -> tuple[float, dict[str, Any]]:
        """Draw pairs, and separate them."""
        corpus = self.ready(task)
        here = corpus.vector(self.weights)
        if not all(isinstance(space, NBest) for space in corpus.spaces):
            self.state["decoded"].append(corpus.mapping(here))
        places = range(len(corpus.spaces))
        sizes = corpus.spread(_extend_lists, places, self.state["decoded"], self.size)
        units = self.measure(corpus)
        moves = np.flatnonzero(units > 0.0)
        self.open_document(corpus, here)
        pairs = self._pairs(corpus, sizes)
        value = 0.0
        if pairs.shape[0]:
            scaled = csr_array(pairs[:, moves].multiply(1.0 / units[moves]))
            found = minimise(
                lambda point: logistic_loss(scaled, point), here[moves] * units[moves],
                l2=self.l2, l1=self.l1, most_iterations=self.most_iterations,
            )  # fmt: skip
            value = found.value
            here[moves] += self.mix * (found.point / units[moves] - here[moves])
        self.weights = {**self.weights, **corpus.mapping(here)}
        self.state["round"] += 1
        self.finished = self.state["round"] == self.rounds
        details = {"loss": value, "pairs": pairs.shape[0], "judge": str(corpus.metric)}
        return corpus.score(here), details

    def _pairs(self, corpus: LearnerCorpus, sizes: Sequence[int]) -> FeatureMatrix:
        """Return the differences of newly drawn pairs, one row each."""
        options = {"candidates": self.candidates, "kept": self.kept, "threshold": self.threshold}
        draws = [self.random] * len(sizes)
        if corpus.is_spread:
            # each list is drawn from by a generator that stands where the one would have come to
            for place, size in enumerate(sizes):
                draws[place] = copy.deepcopy(self.random)
                draw_candidates(size, self.random, self.candidates)
        parts = corpus.spread(_draw_pairs, range(len(sizes)), self.keep, options, each=draws)
        return csr_array(vstack(parts, format="csr"))


@dataclass
class _KeptList:
    """The list that stands for a space, with its features and statistics."""

    nbest: NBest
    rows: FeatureMatrix = None
    stats: FloatColumn | None = None

    def note(self, corpus: LearnerCorpus, place: int) -> None:
        """Note features and statistics of a list that may have changed."""
        if self.stats is None or len(self.stats) < len(self.nbest):
            self.stats = nbest_stats(corpus.evaluator(place), self.nbest)
            self.rows = corpus.widen(feature_rows(self.nbest), self.nbest.feature_names)


def _extend_lists(
    corpus: LearnerCorpus, places: Sequence[int], decoded: Sequence[Mapping[str, float]], size: int
) -> list[int]:
    """Extend lists by what is best under all these weights; return how long they are."""
    known, lists = corpus.kept.get("pro", ([], {}))
    if known != decoded[: len(known)] or (known and set(lists) != set(places)):
        known, lists = [], {}
    if not lists:
        for place in places:
            space = corpus.spaces[place]
            if not isinstance(space, NBest):
                space = NBest.from_hypotheses([], id=space.id)
            lists[place] = _KeptList(space)
    for weights in decoded[len(known) :]:
        for place in places:
            if isinstance(corpus.spaces[place], NBest):
                continue
            space = cast("Lattice | Forest", corpus.reweight(place, corpus.vector(weights)))
            found = k_best(space, size, distinct=True)
            lists[place].nbest = extend_list(lists[place].nbest, space, found)
    for place in places:
        lists[place].note(corpus, place)
    corpus.kept["pro"] = list(decoded), lists
    return [len(lists[place].nbest) for place in places]


def _draw_pairs(
    corpus: LearnerCorpus,
    places: Sequence[int],
    draws: Sequence[np.random.Generator],
    keep: str,
    options: dict[str, Any],
) -> list[FeatureMatrix]:
    """Return the differences of pairs drawn from each list, one row each."""
    lists = corpus.kept["pro"][1]
    found = []
    for place, rng in zip(places, draws, strict=True):
        chosen = keep
        if keep == "auto":
            chosen = "random" if isinstance(corpus.spaces[place], Lattice) else "largest"
        qualities = row_qualities(corpus.metric, lists[place].stats)
        better, worse = sample_pairs(qualities, rng, keep=chosen, **options)
        found.append(lists[place].rows[better] - lists[place].rows[worse])
    return found
