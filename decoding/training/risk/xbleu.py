"""xBLEU: the BLEU of expected n-gram counts, its gradient, and the learner that raises it.

A model says path ``d`` of a lattice with probability in proportion to ``exp(score / temperature)``.
Counts of n-grams are then random, and BLEU of their expectations is smooth in the scores, though
BLEU is neither a mean of sentences nor a machine: expectations add up over segments before the
score is taken (Rosti et al. 2011). With ``E`` for expectations over the paths of segment i,

    m_n = sum over i, n-grams w of min(E c_w, r_i(w))     clipped matches of order n
    t_n = sum over i of E (n-grams of order n)            c = sum over i of E (words)
    xBLEU = exp(mean over n of log(m_n / t_n)) * min(1, exp(1 - r / c))

where ``r_i(w)`` is the most times that a reference has the n-gram, and r the sum of reference
lengths, of several the one nearest to the expected length. Nothing is
smoothed, so the gradient is one-sided where two sides of a minimum meet.

Travatar clips the n-grams of each sentence of a list in place of their expected counts; where no
sentence exceeds a limit both are the same (``tests/golden/test_xbleu.py``). cicada's, over forests,
clips as above, but rounds both minima off within a thousandth.

Each lattice is unfolded once, so that a state knows which n-grams of the references can go on
there; then an evaluation is a pass for expectations, and a pass for the gradient of the linear
function of counts that BLEU is near them. Cost: O(unfolded arcs) for each.

References
----------
Rosti, Zhang, Matsoukas and Schwartz. Expected BLEU training for graphs: BBN system description for
WMT11 system combination task. WMT 2011.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
from scipy.sparse import csr_array

from decoding.training.learner import TrainingTask
from decoding.training.online import minimise
from decoding.training.risk.expected import expectation
from decoding.training.risk.graphs import DerivationGraph
from decoding.training.risk.problem import RiskProblem
from decoding.training.training_corpus import CorpusLearner, LearnerCorpus
from fstmetrics import BLEU
from fstmetrics.references import Reference, Tokens
from lattices.algorithms.expansion import to_lattice
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.errors import OptionError
from lattices.spaces import Lattice, Space
from lattices.spaces.features import Weights, widen_rows
from lattices.vocabulary import EPSILON

#: the longest suffix of what was said that begins n-grams, and how many words were said, at most
#: one less than the order
_Context: TypeAlias = "tuple[Tokens, int]"


@dataclass(frozen=True, eq=False)
class _Segment:
    """A lattice whose arcs know the n-grams that end with them."""

    #: one slot for each edge
    graph: DerivationGraph
    #: the slot of the lattice: an arc, or the number of arcs plus the state that ends there
    origin: IntColumn
    #: how often each n-gram of the references (columns) ends with an edge: 0 or 1
    matches: csr_array
    #: of each of these n-grams
    orders: Array
    #: the most times that a reference has each
    limits: FloatColumn
    #: whether an n-gram of each order (columns) ends with an edge
    ngrams: FloatColumn
    #: of the references
    lengths: FloatColumn


class ExpectedBLEU:
    """xBLEU of a corpus as a function of the weights of its features.

    Parameters
    ----------
    spaces : sequence of Lattice, Forest or NBest
        Forests and lists are expanded to lattices.
    references : sequence of lists of references
        One list a segment.
    order : int
        The longest n-grams.
    temperature : float
        Scores are divided by it.

    Raises
    ------
    OptionError
        For numbers that do not fit, or references that are lattices.
    SpaceError
        If a space has no complete path.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", 0.0, {"x": 1.0}), (0, 1, "b"), (1, 2, "c")], finals=[2])
    >>> objective = ExpectedBLEU([lattice], [["a c"]], order=2)
    >>> value, gradient = objective.value({"x": 0.0})
    >>> round(value, 6), round(float(gradient[0]), 6)
    (0.612372, 0.204124)
    >>> (1.5 / 2 * 0.5 / 1) ** 0.5
    0.6123724356957945

    The weights that make it largest, by scipy:

    >>> from scipy.optimize import minimize
    >>> def loss(weights):
    ...     value, gradient = objective.value(weights)
    ...     return -value, -gradient
    >>> found = minimize(loss, [0.0], jac=True, method="L-BFGS-B", bounds=[(-5.0, 5.0)])
    >>> objective.names, found.x.tolist()
    (('x',), [5.0])
    """

    def __init__(
        self,
        spaces: Sequence[Space],
        references: Sequence[Iterable[Reference]],
        *,
        order: int = 4,
        temperature: float = 1.0,
    ) -> None:
        if len(spaces) != len(references):
            raise OptionError(f"{len(spaces)} spaces, but references for {len(references)}")
        if not 0.0 < temperature < math.inf:
            raise OptionError(f"a temperature is finite and greater than 0, not {temperature}")
        self._metric = BLEU(order=order)
        self._scale = 1.0 / temperature
        #: the features of all spaces, in the order of weights and gradients
        self.names = tuple(dict.fromkeys(name for each in spaces for name in each.feature_names))
        number = {name: place for place, name in enumerate(self.names)}
        self._segments, self._features = [], []
        for space, of_segment in zip(spaces, references, strict=True):
            lattice = to_lattice(space)
            evaluator = self._metric.against(of_segment)
            problem = RiskProblem(lattice, evaluator)
            said = self._metric.reference_units(evaluator.references)
            self._segments.append(_unfold(lattice, said, order))
            rows = problem.features
            self._features.append(widen_rows(rows, lattice.feature_names, number, rows.shape[0]))

    def value(self, weights: Weights) -> tuple[float, FloatColumn]:
        """Return xBLEU and its gradient, for weights by name or in the order of :attr:`names`."""
        if isinstance(weights, Mapping):
            vector = floats([weights.get(name, 0.0) for name in self.names])
        else:
            vector = floats(weights)
        if vector.shape != (len(self.names),):
            raise OptionError(f"{len(vector)} weights for {len(self.names)} features")
        scores = [floats(rows @ vector) for rows in self._features]
        value, slopes = self.of_scores(scores)
        gradient = np.zeros(len(self.names))
        for rows, slope in zip(self._features, slopes, strict=True):
            gradient += rows.T @ slope
        return value, floats(gradient)

    def of_scores(self, scores: Sequence[FloatColumn]) -> tuple[float, list[FloatColumn]]:
        """Return xBLEU and its gradient in the scores of each lattice: arcs, then final states."""
        order = self._metric.order
        on_edges = [
            floats(score[segment.origin])
            for score, segment in zip(scores, self._segments, strict=True)
        ]
        counts, totals = [], np.zeros(order)
        matches, length, reference = np.zeros(order), 0.0, 0.0
        for score, segment in zip(on_edges, self._segments, strict=True):
            used = expectation(segment.graph, score, scale=self._scale).count
            count = segment.matches.T @ used
            counts.append(count)
            matches += np.bincount(
                segment.orders - 1, np.minimum(count, segment.limits), minlength=order
            )
            own = segment.ngrams.T @ used
            totals += own
            length += float(own[0])
            nearest = np.argmin(np.abs(segment.lengths - own[0]))
            reference += float(segment.lengths[nearest])
        slots = [np.zeros(len(score)) for score in scores]
        if not (matches > 0).all():
            return 0.0, [floats(each) for each in slots]
        precision = math.exp(float(np.log(matches / totals).mean()))
        value = precision * min(1.0, math.exp(1.0 - reference / length))
        of_matches, of_totals = value / (order * matches), -value / (order * totals)
        of_totals[0] += value * reference / length**2 if length < reference else 0.0
        for slot, score, count, segment in zip(
            slots, on_edges, counts, self._segments, strict=True
        ):
            wanted = np.where(count < segment.limits, of_matches[segment.orders - 1], 0.0)
            gain = segment.matches @ wanted + segment.ngrams @ of_totals
            linear = replace(segment.graph, gain=floats(gain))
            slope = expectation(linear, score, scale=self._scale).gradient
            slot += np.bincount(segment.origin, slope, minlength=len(slot))
        return value, [floats(each) for each in slots]


def _unfold(lattice: Lattice, references: Sequence[Tokens], order: int) -> _Segment:
    """Return a lattice whose states know what of the references can go on."""
    most: Counter[Tokens] = Counter()
    for said in references:
        most |= Counter(
            said[at : at + n] for n in range(1, order + 1) for at in range(len(said) - n + 1)
        )
    column = {ngram: place for place, ngram in enumerate(most)}
    contexts = {ngram for ngram in most if len(ngram) < order} | {()}
    known = {ngram[0] for ngram in most if len(ngram) == 1}
    numbers = np.unique(lattice.label)
    words = {
        number: lattice.vocabulary.word(number) for number in numbers.tolist() if number > EPSILON
    }

    def move(context: _Context, word: str) -> tuple[_Context, list[int]]:
        """Return the context after a word, and the n-grams of references that end with it."""
        held, said = context
        after = min(said + 1, order - 1)
        if word not in known:
            return ((), after), []
        text = (*held, word)
        suffixes = [text[at:] for at in range(len(text))]
        ended = [column[each] for each in suffixes if each in column]
        return (next(each for each in (*suffixes, ()) if each in contexts), after), ended

    places: list[dict[_Context, int]] = [{} for _ in range(lattice.num_states)]
    places[lattice.start][(), 0] = 0
    nodes = 1
    # edges in the order of their nodes: the node, the next or -1, the slot, what ends with it
    edges: list[tuple[int, int, int, list[int], int]] = []
    dst, label = lattice.dst.tolist(), lattice.label.tolist()
    ends = set(lattice.finals.tolist())
    memory: dict[tuple[_Context, int], tuple[_Context, list[int]]] = {}
    for state in range(lattice.num_states):
        for context, node in places[state].items():
            if state in ends:
                edges.append((node, -1, lattice.num_arcs + state, [], 0))
            for arc in range(*lattice.out_offset[state : state + 2].tolist()):
                after, length = context, 0
                ended: list[int] = []
                if label[arc] > EPSILON:
                    if (context, label[arc]) not in memory:
                        memory[context, label[arc]] = move(context, words[label[arc]])
                    after, ended = memory[context, label[arc]]
                    length = context[1] + 1
                there = places[dst[arc]].setdefault(after, nodes)
                nodes += there == nodes
                edges.append((node, there, arc, ended, length))
    # bottom-up: what is after comes first
    rank = _topological(nodes, edges)
    edges.sort(key=lambda edge: rank[edge[0]])
    heads = np.array([rank[node] for node, *_ in edges])
    tails = [rank[there] for _, there, *_ in edges if there >= 0]
    graph = DerivationGraph(
        ints(np.searchsorted(heads, np.arange(nodes + 1))), ints(tails),
        ints(np.cumsum([0, *(there >= 0 for _, there, *_ in edges)])),
        ints(np.arange(len(edges))), floats(np.zeros(len(edges))), 0.0, rank[0], len(edges),
    )  # fmt: skip
    row = [at for at, (*_, ended, _) in enumerate(edges) for _ in ended]
    col = [each for *_, ended, _ in edges for each in ended]
    shape = (len(edges), len(column))
    lengths = np.array([length for *_, length in edges])
    return _Segment(
        graph, ints([slot for _, _, slot, _, _ in edges]),
        csr_array((np.ones(len(row)), (row, col)), shape=shape),
        np.array([len(ngram) for ngram in column], dtype=np.int64),
        floats(list(most.values())), floats(lengths[:, None] >= np.arange(1, order + 1)),
        floats([len(said) for said in references]),
    )  # fmt: skip


def _topological(nodes: int, edges: Sequence[tuple[int, int, int, list[int], int]]) -> list[int]:
    """Return new numbers of nodes, in which the next of an edge comes before its own."""
    # nodes were met state by state, and states are in topological order; so edges are
    order = list(dict.fromkeys(node for node, *_ in edges))
    seen = set(order)
    order += [node for node in range(nodes) if node not in seen]
    rank = [0] * nodes
    for place, node in enumerate(order):
        rank[node] = nodes - 1 - place
    return rank


@dataclass(kw_only=True, eq=False)
class XBLEU(CorpusLearner):
    """Training by expected BLEU (Rosti et al. 2011).

    Minimises ``-xBLEU(w) + l2 / 2 * |w| ** 2 + l1 * sum(abs(w))`` by L-BFGS, where xBLEU is that of
    :class:`ExpectedBLEU`, over all paths of lattices; forests and lists are expanded to lattices.
    Weights are measured by the deviations of their features if ``scaled``. The objective is BLEU
    whatever the metric of the task is, which judges the rounds.

    A round is a run of L-BFGS from the present weights, of at most ``iterations``; there are
    ``rounds`` of them, fewer if one changes the objective by less than ``epsilon`` of itself. The
    details of a round have the objective.

    Parameters
    ----------
    order : int
        The longest n-grams.
    temperature : float
        Scores are divided by it.
    rounds, iterations : int
    epsilon, l2, l1 : float
    scaled
        As of :class:`decoding.training.training_corpus.CorpusLearner`; ``judge`` plays no part.
    start, seed
        As of :class:`decoding.training.learner.Learner`.

    References
    ----------
    Rosti, Zhang, Matsoukas and Schwartz. Expected BLEU training for graphs: BBN system description
    for WMT11 system combination task. WMT 2011.

    Examples
    --------
    >>> from fstmetrics import BLEU
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", 0.0, {"x": 1.0}), (0, 1, "b", 0.0, {"y": 1.0}), (1, 2, "c")], finals=[2])
    >>> learner = XBLEU(start={"x": 0.0, "y": 1.0}, order=2)
    >>> learner = learner.fit([lattice], [["a c"]], BLEU(order=2))
    >>> learner.weights["x"] > learner.weights["y"], learner.history[-1].score
    (True, 1.0)
    """

    name: ClassVar[str] = "xbleu"
    order: int = 4
    temperature: float = 1.0
    rounds: int = 10
    iterations: int = 20
    epsilon: float = 1e-4
    l2: float = 1e-4
    l1: float = 0.0
    _objective: ExpectedBLEU | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        super().__post_init__()
        self.check_options(
            ("order", "rounds", "iterations"), ("epsilon", "l2", "l1"), ("temperature",)
        )

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what a checkpoint has."""
        return {**super().__getstate__(), "_objective": None}

    def ready(self, task: TrainingTask) -> LearnerCorpus:
        """Return the task in columns, its lattices unfolded."""
        before = self._corpus
        corpus = super().ready(task)
        if corpus is not before or self._objective is None:
            self._objective = ExpectedBLEU(
                corpus.spaces, [each.references for each in corpus.evaluators], order=self.order,
                temperature=self.temperature,
            )  # fmt: skip
        return corpus

    def begin(self, task: TrainingTask) -> float:
        """Begin with the present weights."""
        corpus = self.ready(task)
        self.weights = self.initial_weights(corpus.names)
        self.state = {"round": 0, "loss": None}
        if not cast(ExpectedBLEU, self._objective).value(self.weights)[0]:
            raise OptionError(
                f"no path has an n-gram of {self.order} words that a reference has, so that xBLEU "
                "is 0 under all weights: take a lower order"
            )
        return corpus.score(corpus.vector(self.weights))

    def round(self, task: TrainingTask) -> tuple[float, dict[str, Any]]:
        """Run L-BFGS."""
        corpus = self.ready(task)
        objective = cast(ExpectedBLEU, self._objective)
        here, units = corpus.vector(self.weights), self.measure(corpus)
        moves = np.flatnonzero(units > 0.0)
        place = [objective.names.index(corpus.names[each]) for each in moves]

        def loss(point: FloatColumn) -> tuple[float, FloatColumn]:
            here[moves] = point / units[moves]
            value, gradient = objective.value(corpus.mapping(here))
            return -value, floats(-gradient[place] / units[moves])

        found = minimise(
            loss, floats(here[moves] * units[moves]), l2=self.l2, l1=self.l1,
            most_iterations=self.iterations,
        )  # fmt: skip
        here[moves] = found.point / units[moves]
        self.weights = {**self.weights, **corpus.mapping(here)}
        state, before = self.state, self.state["loss"]
        still = before is not None and abs(before - found.value) <= self.epsilon * abs(before)
        state.update({"round": state["round"] + 1, "loss": found.value})
        self.finished = still or state["round"] == self.rounds
        value, _ = objective.value(corpus.mapping(here))
        return corpus.score(here), {"loss": found.value, "xbleu": value}
