"""Feature columns of a training task, and sentences with their quality."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
from scipy.sparse import csr_array

from decoding.training.envelope import EnvelopeCorpus, LineCorpus, feature_rows, path_rows
from decoding.training.learner import Learner, TrainingTask
from fstmetrics import BLEU, DocumentBLEU, Evaluator, Metric, parse_metric
from fstmetrics.contract import nbest_stats, scores_of
from fstmetrics.ngram.bleu import BLEUEvaluator
from lattices.algorithms import best_words
from lattices.arrays import Array, FloatColumn, floats
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.spaces import NBest, Space
from lattices.spaces.features import FeatureMatrix, widen_rows

#: a function of a corpus, the places of some of its spaces and more, with a result for each
Spread: TypeAlias = "Callable[..., list[Any]]"


def sentence_metric(metric: Metric, judge: str | None = None, brevity: str = "standard") -> Metric:
    """Return the metric by which single sentences are judged.

    That is the metric itself; but one whose smoothing is off, as that of BLEU, gives most
    sentences 0, and is smoothed by adding one (Lin & Och 2004), as Hopkins & May (2011) do.

    Examples
    --------
    >>> from fstmetrics import BLEU
    >>> str(sentence_metric(BLEU()))
    'bleu:order=4,length=closest,smooth=add-k,smooth_value=1,tokenize=none'
    >>> str(sentence_metric(BLEU(), "grr:n=2"))
    'grr:n=2,alpha=1,beta=0'
    """
    if judge is not None:
        return parse_metric(judge)
    options: Any = metric
    if getattr(metric, "smooth", None) == "none" and any(
        each.name == "smooth" for each in fields(options)
    ):
        metric = replace(options, smooth="add-k")
        if isinstance(metric, BLEU) and metric.brevity == "standard":
            metric = replace(metric, brevity=brevity)
    return metric


class LearnerCorpus:
    """The spaces of a task, made ready to be weighted often.

    Attributes
    ----------
    names : tuple of str
        The features of all spaces, in the order of their first occurrence.
    number : dict of str to int
        The place of each in :attr:`names`.
    document : DocumentBLEU or None
        The document that sentences are judged within, if any; to be set.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> from lattices import Hypothesis
    >>> nbest = NBest.from_hypotheses(
    ...     [Hypothesis(("a",), 0.0, {"lm": 1.0}), Hypothesis(("b",), 0.0, {"tm": 2.0})]
    ... )
    >>> corpus = LearnerCorpus(TrainingTask([nbest], [["b"]], WER()))
    >>> corpus.names, corpus.qualities(0).tolist(), corpus.deviations.tolist()
    (('lm', 'tm'), [-1.0, 0.0], [0.5, 1.0])
    >>> corpus.reweight(0, floats([1.0, 2.0])).score.tolist()
    [1.0, 4.0]
    """

    def __init__(
        self,
        task: TrainingTask,
        judge: str | None = None,
        brevity: str = "standard",
        names: Sequence[str] | None = None,
    ) -> None:
        self.spaces = task.spaces
        lines = EnvelopeCorpus(task.spaces, task.evaluators, names=names)
        self._set_up(task, judge, brevity, lines)
        self._columns = [
            np.array([self.number[name] for name in space.feature_names], dtype=np.int32)
            for space in task.spaces
        ]
        self._list_rows: dict[int, FloatColumn] = {}
        self._qualities: dict[int, FloatColumn] = {}

    def _set_up(
        self, task: TrainingTask, judge: str | None, brevity: str, lines: LineCorpus
    ) -> None:
        """Set what does not depend on where the spaces are."""
        self._judged = lines
        self._task_evaluators = task.evaluators
        self.names = lines.names
        #: what a learner keeps of the spaces from round to round
        self.kept: dict[str, Any] = {}
        self.number = {name: place for place, name in enumerate(self.names)}
        self.document: DocumentBLEU | None = None
        self._metric = sentence_metric(task.metric, judge, brevity)
        self._evaluators = task.evaluators
        if self._metric != task.metric:
            self._evaluators = tuple(
                self._metric.against(each.references) for each in task.evaluators
            )

    @property
    def is_spread(self) -> bool:
        """Whether other processes hold the spaces."""
        return False

    def spread(
        self,
        function: Spread,
        places: Iterable[int],
        *arguments: Any,
        each: Sequence[Any] | None = None,
    ) -> list[Any]:
        """Return what a function returns for some spaces, computed where they are.

        It is called with a corpus, places in it, what ``each`` has for these, and arguments.
        """
        own = () if each is None else (each,)
        return function(self, list(places), *own, *arguments)

    @property
    def metric(self) -> Metric:
        """The judge of sentences."""
        return self._metric if self.document is None else self.document

    def evaluator(self, place: int) -> Evaluator:
        """Return that metric against the references of one space."""
        alone = self._evaluators[place]
        if self.document is None:
            return alone
        return self.document.around(cast(BLEUEvaluator, alone))

    @property
    def evaluators(self) -> tuple[Evaluator, ...]:
        """The evaluators of all spaces."""
        return tuple(map(self.evaluator, range(len(self.spaces))))

    def serves(self, task: TrainingTask) -> bool:
        """Tell whether this is the corpus of a task."""
        return self._task_evaluators is task.evaluators

    def vector(self, weights: Mapping[str, float]) -> FloatColumn:
        """Return weights in the order of :attr:`names`, to be written to."""
        return np.array([weights[name] for name in self.names], dtype=np.float64)

    def mapping(self, vector: FloatColumn) -> dict[str, float]:
        """Return weights by name."""
        return dict(zip(self.names, vector.tolist(), strict=True))

    def feature_vector(self, features: Mapping[str, float]) -> FloatColumn:
        """Return features by name as a dense vector."""
        found = np.zeros(len(self.names))
        for name, value in features.items():
            found[self.number[name]] = value
        return found

    def widen(self, features: FeatureMatrix, feature_names: Sequence[str]) -> FeatureMatrix:
        """Return rows of features in the columns of the corpus."""
        return widen_rows(features, feature_names, self.number, features.shape[0])

    def reweight(self, place: int, vector: FloatColumn) -> Space:
        """Return one space with its scores set to its features times the weights."""
        return self.spaces[place].reweighted(vector[self._columns[place]])

    def qualities(self, place: int) -> FloatColumn:
        """Return how good each entry of a list is, higher is better; counted once."""
        if place not in self._list_rows:
            nbest = self.spaces[place]
            if not isinstance(nbest, NBest):
                raise OptionError(f"space {nbest.id!r} is no list")
            self._list_rows[place] = nbest_stats(self._evaluators[place], nbest)
            self._qualities[place] = row_qualities(self._metric, self._list_rows[place])
        if self.document is None:
            return self._qualities[place]
        return row_qualities(self.document, self._list_rows[place])

    def score_best(self, places: Iterable[int], vector: FloatColumn) -> FloatColumn:
        """Return the judge's statistics of the best sentences of some spaces under weights."""
        return floats(self.spread(_score_best, places, vector))

    def statistics(self, place: int, words: Sequence[str]) -> FloatColumn:
        """Return the judge's statistics of a sentence by itself."""
        return self._evaluators[place].stats(words)

    def judge_within(self, statistics: Sequence[float] | FloatColumn, segments: float) -> None:
        """Judge sentences within a document from now on."""
        if not self.has_documents:
            raise OptionError(f"a document is for BLEU, not for {self._metric}")
        self.document = DocumentBLEU(cast(BLEU, self._metric), floats(statistics), segments)

    @property
    def has_documents(self) -> bool:
        """Whether the judge is BLEU."""
        return isinstance(self._metric, BLEU) and isinstance(self._evaluators[0], BLEUEvaluator)

    def score(self, weights: FloatColumn) -> float:
        """Return the metric of the task for the best sentences under the weights."""
        return self._judged.score(weights)

    @cached_property
    def deviations(self) -> FloatColumn:
        """How much each feature varies among the sentences of a space in which it varies."""
        found = LearnerVariation.none(len(self.names))
        self.add_variation(found, range(len(self.spaces)))
        return found.deviations

    def add_variation(self, found: LearnerVariation, places: Iterable[int]) -> None:
        """Add how much features vary in some of the spaces."""
        for place in places:
            found.add(self.spaces[place], self._columns[place])


def _score_best(corpus: LearnerCorpus, places: list[int], vector: FloatColumn) -> list[FloatColumn]:
    return [
        corpus.statistics(place, best_words(corpus.reweight(place, vector))) for place in places
    ]


@dataclass
class LearnerVariation:
    """How much features vary, summed up over spaces: see :attr:`LearnerCorpus.deviations`."""

    rng: np.random.Generator
    #: variance, spaces in which it is not 0, mean squares; of what was not drawn as well, and how
    #: often it is there
    sums: FloatColumn

    @classmethod
    def none(cls, features: int) -> LearnerVariation:
        """Return the sums over no space."""
        return cls(np.random.default_rng(0), np.zeros((5, features)))

    def add(self, space: Space, columns: Array) -> None:
        """Add a space whose features have these columns."""
        variance, varied, drawn, square, there = self.sums
        rows = feature_rows(space)
        if not isinstance(space, NBest):
            np.add.at(square, columns[rows.indices], np.square(rows.data))
            np.add.at(there, columns[rows.indices], rows.data != 0.0)
            rows = csr_array(path_rows(space, self.rng) @ rows)
        mean = rows.sum(axis=0) / rows.shape[0]
        mean_square = rows.multiply(rows).sum(axis=0) / rows.shape[0]
        local = np.maximum(0.0, mean_square - np.square(mean))
        # what is always the same varies by rounding alone
        local[local <= 1e-12 * mean_square] = 0.0
        variance[columns] += local
        varied[columns] += local > 0.0
        drawn[columns] += mean_square

    @property
    def deviations(self) -> FloatColumn:
        """The root of the mean variance, or of the mean square of what was not drawn."""
        variance, varied, drawn, square, there = self.sums
        found = np.sqrt(variance / np.maximum(1.0, varied))
        missed = (there > 0.0) & (drawn == 0.0)
        found[missed] = np.sqrt(square[missed] / there[missed])
        return floats(found)


def row_qualities(metric: Metric, rows: FloatColumn) -> FloatColumn:
    """Return the metric of each row of statistics, turned so that higher is better."""
    scores = scores_of(metric, rows)
    return floats(scores if metric.higher_is_better else 0.0 - scores)


@dataclass(kw_only=True, eq=False)
class CorpusLearner(Learner):
    """A learner that keeps its task in columns; they are made again after a pickle.

    Parameters
    ----------
    judge : str, optional
        The signature of the metric that judges single sentences, see
        :func:`sentence_metric`.
    scaled : bool
        Whether features are measured by their :attr:`LearnerCorpus.deviations`: a weight
        moves as if its feature had deviation 1, so that a feature in large numbers does not
        drown the others, and one setting of rates and regularisation serves all.
    """

    #: of BLEU for single sentences, see :func:`sentence_metric`
    brevity: ClassVar[str] = "standard"
    judge: str | None = None
    scaled: bool = True
    _corpus: LearnerCorpus | None = field(init=False, default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what a checkpoint has."""
        return {**self.__dict__, "_corpus": None}

    def ready(self, task: TrainingTask) -> LearnerCorpus:
        """Return the task in columns."""
        if self._corpus is None or not self._corpus.serves(task):
            self._corpus = task.columns(self.judge, self.brevity)
        return self._corpus

    def measure(self, corpus: LearnerCorpus) -> FloatColumn:
        """Return the unit of each feature: its deviation, or 1; 0 where it does not vary."""
        if self.scaled:
            return corpus.deviations
        return floats(corpus.deviations > 0.0)
