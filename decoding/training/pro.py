"""PRO: ranking as classification, on pairs of sentences drawn from lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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
from lattices.arrays import FloatColumn, IntColumn, floats, ints
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
    >>> better, worse = sample_pairs(floats([0.5, 0.1, 0.12]), rng, kept=2)
    >>> better.tolist(), worse.tolist()
    ([0, 0], [1, 1])
    """
    if len(qualities) < 2:
        return ints([]), ints([])
    drawn = rng.integers(len(qualities), size=(2, candidates))
    apart = qualities[drawn[0]] - qualities[drawn[1]]
    enough = np.flatnonzero((np.abs(apart) >= threshold) & (apart != 0.0))
    if keep == "largest":
        enough = enough[np.argsort(-np.abs(apart[enough]), kind="stable")]
    chosen = enough[:kept]
    one, other = drawn[:, chosen]
    is_first = apart[chosen] > 0.0
    return ints(np.where(is_first, one, other)), ints(np.where(is_first, other, one))


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
    _lists: list[NBest] = field(init=False, default_factory=list, repr=False)
    _rows: list[FeatureMatrix] = field(init=False, default_factory=list, repr=False)
    _stats: list[FloatColumn] = field(init=False, default_factory=list, repr=False)
    _decoded: int = field(init=False, default=0, repr=False)

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

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what a checkpoint has."""
        return {**super().__getstate__(), "_lists": [], "_rows": [], "_stats": [], "_decoded": 0}

    def begin(self, task: TrainingTask) -> float:
        """Begin with the present weights."""
        corpus = self.ready(task)
        self.weights = self.initial_weights(corpus.names)
        self._lists = []
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
        self._decode(corpus)
        units = self.measure(corpus)
        moves = np.flatnonzero(units > 0.0)
        self.open_document(corpus, here)
        pairs = self._pairs(corpus)
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

    def _pairs(self, corpus: LearnerCorpus) -> FeatureMatrix:
        """Return the differences of newly drawn pairs, one row each."""
        parts = []
        for space, rows, stats in zip(corpus.spaces, self._rows, self._stats, strict=True):
            keep = self.keep
            if keep == "auto":
                keep = "random" if isinstance(space, Lattice) else "largest"
            better, worse = sample_pairs(
                row_qualities(corpus.metric, stats), self.random,
                candidates=self.candidates, kept=self.kept, threshold=self.threshold,
                keep=keep,
            )  # fmt: skip
            parts.append(rows[better] - rows[worse])
        return csr_array(vstack(parts, format="csr"))

    def _decode(self, corpus: LearnerCorpus) -> None:
        """Bring the lists up to date with all weights under which spaces were decoded."""
        if not self._lists:
            self._decoded = 0
            self._lists = [
                space if isinstance(space, NBest) else NBest.from_hypotheses([], id=space.id)
                for space in corpus.spaces
            ]
            self._rows = [csr_array((0, 0))] * len(self._lists)
            self._stats = [floats(np.empty((0, len(corpus.metric.stat_names))))] * len(self._lists)
            self._note(corpus, range(len(self._lists)))
        graphs = [
            place for place, space in enumerate(corpus.spaces) if not isinstance(space, NBest)
        ]
        for weights in self.state["decoded"][self._decoded :]:
            vector = corpus.vector(weights)
            for place in graphs:
                space = cast("Lattice | Forest", corpus.reweight(place, vector))
                found = k_best(space, self.size, distinct=True)
                self._lists[place] = extend_list(self._lists[place], space, found)
            self._decoded += 1
        self._note(corpus, graphs)

    def _note(self, corpus: LearnerCorpus, places: Sequence[int]) -> None:
        """Note features and statistics of lists that have changed."""
        for place in places:
            nbest, known = self._lists[place], len(self._stats[place])
            if len(nbest) == known:
                continue
            self._stats[place] = nbest_stats(corpus.evaluator(place), nbest)
            self._rows[place] = corpus.widen(feature_rows(nbest), nbest.feature_names)
