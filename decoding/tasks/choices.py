"""What could be chosen of a corpus, side by side: 1-best, oracles and MBR under every metric."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from decoding.corpus.outcomes import Done, Failure, Segment
from decoding.corpus.table import Results, SumsLayout, Table, Totals
from decoding.extraction.corpus_oracle import (
    FrontCandidates,
    candidates,
    choose,
    find_list_front,
    join_lists,
)
from decoding.extraction.oracle_search import Oracle, search_oracles
from decoding.extraction.ranking import Sentences, rank_places
from decoding.extraction.search import SEARCH, Search, SearchOptions
from decoding.tasks.segments import is_unscored, make_evaluators, references_of, space_size
from fstmetrics import BLEU, Evaluator, Metric
from fstmetrics.alignment.metric import is_word_error
from fstmetrics.contract import METRIC, can_search, decomposes, nbest_stats
from fstmetrics.references import Reference
from fstmetrics.statistics.resampling import OnDrawn
from fstmetrics.statistics.significance import (
    Comparison,
    Estimate,
    bootstrap,
    paired_bootstrap,
)
from lattices.algorithms import best_words
from lattices.algorithms.kbest import k_best_lists
from lattices.arrays import FloatColumn, floats
from lattices.caching import cached_property
from lattices.errors import OptionError, TooLargeError, argument
from lattices.formats.references import References
from lattices.records import PlainRecord
from lattices.spaces import Forest, Hypothesis, Lattice, NBest, Space
from lattices.spaces.arguments import SPACES, WHOLE, Each, takes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from decoding.minimum_risk.evidence import Evidence
    from decoding.minimum_risk.method import Consensus, Method

#: what is compared beside the model's own best
KINDS = ("oracle", "corpus", "mbr")
#: which sentences there are to choose from
AMONG = ("list", "space")
#: labels that a search under BLEU keeps: a comparison has many searches
BUDGET = 100_000
#: segments that are worked on at a time from Python
_BATCH = 64

Kind = Literal["one_best", "oracle", "corpus", "mbr"]


class Way(NamedTuple):
    """A way to choose a sentence of every segment: a row of the comparison."""

    choice: Kind
    #: whether from the k best sentences or from all
    among: str = ""
    #: the metric that is to be best; empty for the model's own best
    under: str = ""

    def __str__(self) -> str:
        """Return its name among the kinds of a layout."""
        return " ".join(part for part in self if part)


ONE_BEST = Way("one_best")


@dataclass(frozen=True)
class Choice(PlainRecord):
    """What one way to choose scores over a corpus.

    Attributes
    ----------
    choice : {"one_best", "oracle", "corpus", "mbr"}
        The model's own best; the sentence of each segment that is best under a metric; the
        sentences that make the best corpus under it; or those with the best expectation of it.
    among : {"", "list", "space"}
        Whether from the k best sentences or from the whole lattice or forest.
    under : str
        The metric; empty for the model's own best.
    method : str
        Who chose: the methods of MBR, or the engines that searched.
    unproven : int
        Segments for which a better sentence may exist; of a corpus all or none.
    bound : float or None
        Of a corpus oracle, what no choice surpasses.
    scores : dict of str to float
        The score of the corpus under each metric.
    """

    choice: Kind
    among: str
    under: str
    method: str
    unproven: int
    bound: float | None
    scores: dict[str, float]
    #: of each metric a row of statistics a segment
    _stats: tuple[FloatColumn, ...] = field(default=(), repr=False, compare=False)

    @property
    def exact(self) -> bool:
        """Whether no other choice is better under its metric."""
        return not self.unproven


@dataclass(frozen=True)
class Choices(PlainRecord, Sequence[Choice]):
    """A comparison of what could be chosen; as a sequence, the model's own best and then the rest.

    Attributes
    ----------
    metrics : tuple of Metric
    segments : int
    nbest : int
        Sentences of the lists.
    kinds : tuple of str
        What the whole spaces are: ``lattice``, ``forest``; none if all are lists.
    unscored : int
        Segments whose model has no scores, so that its best is arbitrary.
    rows : tuple of Choice
    left_out : tuple of Way and int
        What could not be compared, and how many segments have none of it.
    """

    metrics: tuple[Metric, ...]
    segments: int
    nbest: int
    kinds: tuple[str, ...]
    unscored: int
    rows: tuple[Choice, ...]
    left_out: tuple[tuple[Way, int], ...] = ()

    def __len__(self) -> int:
        """Return how many ways to choose there are."""
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        """Return one of them, or some."""
        return self.rows[place]

    def find(self, choice: Kind, under: Metric | str = "", among: str = "") -> Choice:
        """Return one way to choose.

        Raises
        ------
        OptionError
            If it is not part of the comparison.
        """
        for each in self.rows:
            if (each.choice, each.among, each.under) == (choice, among, str(under)):
                return each
        known = ", ".join(str(Way(each.choice, each.among, each.under)) for each in self.rows)
        raise OptionError(f"there is no {Way(choice, among, str(under))}: {known}")

    def estimates(
        self, *, samples: int = 1000, level: float = 0.95, seed: int = 0
    ) -> list[list[Estimate]]:
        """Return the scores of each row with bootstrap intervals, metric by metric."""
        options: dict[str, Any] = {"samples": samples, "level": level, "seed": seed}
        return [
            [
                bootstrap(metric, stats, **options)
                for metric, stats in zip(self.metrics, row._stats, strict=True)
            ]
            for row in self.rows
        ]

    def differences(
        self,
        *,
        samples: int = 1000,
        level: float = 0.95,
        seed: int = 0,
        on_drawn: OnDrawn | None = None,
    ) -> list[list[Comparison]]:
        """Return how each row but the first differs from it, the model's own best, by paired
        bootstrap, metric by metric.
        """
        first, *others = self.rows
        return [
            [
                paired_bootstrap(
                    metric, stats, own, samples=samples, level=level, seed=seed, on_drawn=on_drawn
                )
                for metric, stats, own in zip(self.metrics, row._stats, first._stats, strict=True)
            ]
            for row in others
        ]


@dataclass(frozen=True)
class ChoicesTask:
    """Choose a sentence of every segment in all ways, and score each under all metrics.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1], references=["the"]
    ... )
    >>> found, = ChoicesTask((WER(),)).process([Segment(0, "", 0, lattice)])
    >>> {str(way): " ".join(words) for way, words in found["sentences"].items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'one_best': 'a', 'oracle list wer': 'the', 'oracle space wer': 'the', 'mbr list wer': 'a',
     'mbr space wer': 'a'}
    """

    #: each has oracles and MBR decisions of its own
    metrics: tuple[Metric, ...]
    #: those of the segments themselves if None
    references: References | None = None
    #: how many sentences lists have
    nbest: int = 100
    #: of the model scores, before MBR takes them for probabilities
    scale: float = 1.0
    #: what is compared with the model's own best
    choose: tuple[str, ...] = KINDS
    search: Search = SEARCH

    def __post_init__(self) -> None:
        """Refuse what makes no list, and ways to choose that are none."""
        if self.nbest < 1:
            raise OptionError(f"{argument('nbest')} is at least 1, not {self.nbest}")
        for each in self.choose:
            if each not in KINDS:
                raise OptionError(f"{argument('choose', each)}: expected {', '.join(KINDS)}")

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """All ways to choose, whether or not the segments allow them."""
        return ONE_BEST, *(
            Way(kind, among, str(metric))  # type: ignore[arg-type]
            for kind in KINDS
            if kind in self.choose
            for among in AMONG
            for metric in self.metrics
        )

    @cached_property
    def layout(self) -> SumsLayout:
        """What the sums are."""
        counts = ["arcs", "unscored", *_SHAPES]
        ways = [str(way) for way in self.ways]
        return SumsLayout(
            self.metrics, (*counts, *(f"unproven {way}" for way in ways)), tuple(ways)
        )

    def process(self, segments: Sequence[Segment]) -> Table:
        """Return what is chosen of each segment; of corpus oracles, what there is to choose."""
        references = references_of(segments, self.references)
        spaces = [segment.space for segment in segments]
        batch = _Batch(self, spaces, references)
        batch.choose_all()
        unproven = [[not flag for flag in batch.proven[way]] for way in self.ways]
        sums = self.layout.sums(
            len(spaces),
            [
                [space_size(space) for space in spaces],
                [is_unscored(space) for space in spaces],
                *([type(space) is kind for space in spaces] for kind in _SHAPES.values()),
                *unproven,
            ],
            *batch.statistics(),
        )
        engines = {way: "+".join(sorted(names)) for way, names in batch.engines.items() if names}
        return Table(
            [segment.id for segment in segments],
            {},
            sizes=[0] * len(segments),
            about={
                "sentences": [
                    {way: words[place] for way, words in batch.words.items() if words[place]}
                    for place in range(len(spaces))
                ],
                "corpus": [
                    {way: of_way[place] for way, of_way in batch.corpus.items()}
                    for place in range(len(spaces))
                ],
                "engines": [engines] * len(spaces),
                "engine": ["+".join(sorted(set(engines.values())))] * len(spaces),
            },
            sums=sums,
        )


#: kinds of spaces that are more than lists
_SHAPES = {"lattice": Lattice, "forest": Forest}


class CorpusPart(NamedTuple):
    """What a corpus oracle chooses from in one segment."""

    #: without the sentences
    front: FrontCandidates
    #: of each candidate the statistics under all metrics, one after the other
    stats: FloatColumn
    #: whether the best sentence of the segment is part of the best corpus
    decomposes: bool


class _Pending(NamedTuple):
    """A corpus oracle's sentences that are still to be scored under all metrics."""

    way: Way
    place: int
    front: FrontCandidates
    sentences: NBest
    decomposes: bool


class _Batch:
    """The choices of a batch of segments, as they are made.

    Statistics under all metrics stand side by side in one row. Those of a list are computed once,
    for whatever is chosen from it; those of all other sentences of a segment together at the end.
    """

    def __init__(
        self,
        task: ChoicesTask,
        spaces: Sequence[Space],
        references: Sequence[tuple[Reference, ...]],
    ) -> None:
        self.task, self.spaces = task, spaces
        self.lists = _lists_of(spaces, task.nbest)
        #: by metric, then by segment
        self.evaluators = [make_evaluators(each, spaces, references) for each in task.metrics]
        count = len(spaces)
        self.words: dict[Way, list[tuple[str, ...] | None]] = {
            way: [None] * count for way in task.ways
        }
        #: of the same sentences, as far as they come from lists
        self.rows: dict[Way, list[FloatColumn | None]] = {way: [None] * count for way in task.ways}
        self.proven: dict[Way, list[bool]] = {way: [True] * count for way in task.ways}
        self.engines: dict[Way, set[str]] = {way: set() for way in task.ways}
        self.corpus: dict[Way, list[CorpusPart | None]] = {
            way: [None] * count for way in task.ways if way.choice == "corpus"
        }
        #: where the statistics of each metric end in a row of all
        self.ends = np.cumsum([len(each.stat_names) for each in task.metrics])
        self._found: dict[str, list[Oracle | None]] = {}
        self._pending: list[_Pending] = []
        #: decisions that do not depend on the metric, by their method
        self._decided: dict[Method, list[Sequence[Consensus]]] = {}

    def choose_all(self) -> None:
        """Choose in all ways."""
        self.words[ONE_BEST] = [best_words(space) for space in self.spaces]
        numbers = {str(metric): number for number, metric in enumerate(self.task.metrics)}
        for way in self.task.ways[1:]:
            number = numbers[way.under]
            if way.among == "list":
                self._choose_from_lists(way, number)
            else:
                self._choose_from_spaces(way, number)
        self._score_rest()

    @cached_property
    def list_rows(self) -> list[FloatColumn]:
        """The statistics of each list under all metrics."""
        return [self._all_stats(place, nbest) for place, nbest in enumerate(self.lists)]

    def _all_stats(self, place: int, nbest: NBest) -> FloatColumn:
        return floats(np.hstack([nbest_stats(each[place], nbest) for each in self.evaluators]))

    def _own_stats(self, rows: FloatColumn, number: int) -> FloatColumn:
        """Return of rows of statistics those of one metric."""
        width = len(self.task.metrics[number].stat_names)
        return floats(rows[:, self.ends[number] - width : self.ends[number]])

    def _choose_from_lists(self, way: Way, number: int) -> None:
        evaluators, metric = self.evaluators[number], self.task.metrics[number]
        if way.choice == "mbr":
            decided = self._decide(self.lists, metric, "pairwise", self._list_evidence)
            for place, (found, *_) in enumerate(decided):
                self._take(way, place, found.hypothesis.index)
                self.engines[way].add(found.method)
            return
        whole = way.choice == "corpus" and all(map(decomposes, evaluators))
        for place, (nbest, evaluator) in enumerate(zip(self.lists, evaluators, strict=True)):
            rows = self.list_rows[place]
            own = self._own_stats(rows, number)
            self.engines[way].add("scorer")
            if way.choice == "oracle":
                (chosen,) = rank_places(nbest, evaluator, stats=own)
                self._take(way, place, chosen)
                continue
            if whole:
                # the oracles of these segments are part of the best corpus, whatever others are
                places = rank_places(nbest, evaluator, stats=own)
                front = _front_of_one(own[places], "scorer")
            else:
                places, front = find_list_front(nbest, evaluator, own)
            self.corpus[way][place] = CorpusPart(front, rows[places], decomposes(evaluator))

    def _take(self, way: Way, place: int, entry: int) -> None:
        """Choose an entry of a list."""
        self.words[way][place] = self.lists[place].tokens(entry)
        self.rows[way][place] = self.list_rows[place][entry]

    def _choose_from_spaces(self, way: Way, number: int) -> None:
        searched = way.choice != "mbr"
        places = [
            place
            for place, (space, evaluator) in enumerate(
                zip(self.spaces, self.evaluators[number], strict=True)
            )
            if not (isinstance(space, NBest) or (searched and not can_search(evaluator)))
        ]
        if not places:
            return
        spaces = [self.spaces[place] for place in places]
        evaluators = [self.evaluators[number][place] for place in places]
        if way.choice == "mbr":
            self._decide_spaces(way, self.task.metrics[number], spaces, places)
        elif way.choice == "oracle":
            for place, found in zip(places, self._oracles(way, spaces, evaluators), strict=True):
                if found is not None:
                    self.words[way][place] = found.tokens
                    self.proven[way][place] = found.exact
                    self.engines[way].add(found.engine)
        else:
            self._gather(way, number, spaces, evaluators, places)

    def _oracles(
        self, way: Way, spaces: Sequence[Space], evaluators: Sequence[Evaluator]
    ) -> list[Oracle | None]:
        """Return the oracles under a metric, which are searched for once; None for one that takes
        too much.
        """
        if way.under not in self._found:
            self._found[way.under] = _each_found(spaces, evaluators, self.task.search)
        return self._found[way.under]

    def _gather(
        self,
        way: Way,
        number: int,
        spaces: Sequence[Space],
        evaluators: Sequence[Evaluator],
        places: Sequence[int],
    ) -> None:
        """Find what a corpus oracle chooses from."""
        fronts: list[tuple[FrontCandidates, NBest] | None]
        if all(map(decomposes, evaluators)):
            # the oracles of these segments are part of the best corpus, whatever others are
            fronts = [
                None
                if found is None
                else (
                    _front_of_one(floats(found.stats[np.newaxis]), found.engine),
                    _list_sentences(space, [found.tokens]),
                )
                for space, found in zip(spaces, self._oracles(way, spaces, evaluators), strict=True)
            ]
        else:
            try:
                gathered = candidates(spaces, evaluators, self.task.search)
            except TooLargeError:
                return
            fronts = [
                self._complete_front(place, number, front)
                for place, front in zip(places, gathered, strict=True)
            ]
        for place, evaluator, part in zip(places, evaluators, fronts, strict=True):
            if part is not None:
                front, nbest = part
                self.engines[way].add(front.engine)
                self._pending.append(_Pending(way, place, front, nbest, decomposes(evaluator)))

    def _complete_front(
        self, place: int, number: int, front: FrontCandidates
    ) -> tuple[FrontCandidates, NBest]:
        """Return what can be chosen of a space, and the sentences; those of its list, too, where
        there may be better ones than were found.
        """
        some, nbest = front.hypotheses, self.lists[place]
        found = (
            some.nbest
            if isinstance(some, Sentences)
            else _list_sentences(self.spaces[place], [each.tokens for each in some])
        )
        if front.outer is front.rows:
            return front._replace(hypotheses=()), found
        own = self._own_stats(self.list_rows[place], number)
        entries, _ = find_list_front(nbest, self.evaluators[number][place], own)
        listed = _list_sentences(self.spaces[place], [nbest.tokens(entry) for entry in entries])
        rows = floats(np.vstack([front.rows, own[entries]]))
        return front._replace(hypotheses=(), rows=rows), join_lists(found, listed)

    @cached_property
    def _list_evidence(self) -> list[Evidence]:
        from decoding.minimum_risk.evidence import evidence_of

        return [evidence_of(nbest, scale=self.task.scale) for nbest in self.lists]

    @cached_property
    def _samples(self) -> dict[int, Evidence]:
        """Random sentences of the spaces that are more than lists."""
        from decoding.minimum_risk.evidence import evidence_of

        scale, samples = self.task.scale, self.task.nbest
        return {
            place: evidence_of(space, scale=scale, samples=samples)
            for place, space in enumerate(self.spaces)
            if not isinstance(space, NBest)
        }

    def _decide(
        self,
        spaces: Sequence[Space],
        metric: Metric | None,
        method: str | Method,
        evidence: Sequence[Evidence] | None = None,
    ) -> list[Sequence[Consensus]]:
        """Decide by minimum Bayes risk."""
        from decoding.minimum_risk.decisions import decide_batch

        # evidence has its scale already
        scale = self.task.scale if evidence is None else 1.0
        return decide_batch(spaces, metric, evidence=evidence, scale=scale, method=method)

    def _decide_spaces(
        self, way: Way, metric: Metric, spaces: Sequence[Space], places: Sequence[int]
    ) -> None:
        method = space_method(metric, self.task.nbest)
        if method.name == "pairwise":
            # the candidates are the sentences of the lists
            decided = self._decide(
                [self.lists[place] for place in places], metric, "pairwise",
                [self._samples[place] for place in places],
            )  # fmt: skip
        elif method.own_objective:
            if method not in self._decided:
                self._decided[method] = self._decide(spaces, None, method)
            decided = self._decided[method]
        else:
            decided = self._decide(spaces, metric, method)
        for place, (found, *_) in zip(places, decided, strict=True):
            self.words[way][place] = found.tokens
            self.engines[way].add(found.method)

    def _score_rest(self) -> None:
        """Score the sentences that are not from lists: those of a segment together."""
        pending: list[list[_Pending]] = [[] for _ in self.spaces]
        for each in self._pending:
            pending[each.place].append(each)
        for place, (space, fronts) in enumerate(zip(self.spaces, pending, strict=True)):
            ways = [
                way
                for way in self.task.ways
                if self.words[way][place] is not None and self.rows[way][place] is None
            ]
            said = dict.fromkeys(cast("tuple[str, ...]", self.words[way][place]) for way in ways)
            lists = [_list_sentences(space, [*said]), *(each.sentences for each in fronts)]
            rows = self._all_stats(place, join_lists(*lists))
            of_words = dict(zip(said, rows, strict=False))
            for way in ways:
                self.rows[way][place] = of_words[self.words[way][place] or ()]
            begin = len(said)
            for each in fronts:
                end = begin + len(each.sentences)
                self.corpus[each.way][place] = CorpusPart(
                    each.front, floats(rows[begin:end]), each.decomposes
                )
                begin = end

    def statistics(self) -> list[list[list[FloatColumn | None]]]:
        """Return, for each way and metric, the statistics of the sentence of each segment."""
        bounds = [*itertools.pairwise([0, *self.ends.tolist()])]
        return [
            [
                [None if row is None else row[begin:end] for row in self.rows[way]]
                for begin, end in bounds
            ]
            for way in self.task.ways
        ]


def _front_of_one(rows: FloatColumn, engine: str) -> FrontCandidates:
    """Return what a corpus oracle chooses from where there is no choice."""
    return FrontCandidates((), rows, rows, 0, 0, engine)


def _list_sentences(space: Space, sentences: Sequence[tuple[str, ...]]) -> NBest:
    return NBest.from_hypotheses(map(Hypothesis, sentences), vocabulary=space.vocabulary)


def _lists_of(spaces: Sequence[Space], nbest: int) -> list[NBest]:
    """Return the best sentences of each space, each once; of a list its first by the model."""
    from decoding.minimum_risk.evidence import listing

    graphs = [space for space in spaces if not isinstance(space, NBest)]
    made = iter(k_best_lists(graphs, nbest, distinct=True) if graphs else ())
    return [
        listing(space, nbest).nbest if isinstance(space, NBest) else next(made) for space in spaces
    ]


def _each_found(
    spaces: Sequence[Space], evaluators: Sequence[Evaluator], search: Search
) -> list[Oracle | None]:
    """Return the oracle of each space; None for one that takes more memory than it may."""
    try:
        return [*search_oracles(spaces, evaluators, search)]
    except TooLargeError:
        if len(spaces) == 1:
            return [None]
    return [
        found
        for space, evaluator in zip(spaces, evaluators, strict=True)
        for found in _each_found([space], [evaluator], search)
    ]


def space_method(metric: Metric, samples: int) -> Method:
    """Return the method by which MBR chooses from a whole lattice or forest under a metric.

    WER and WRR have a search of all sentences, ``edit``, and BLEU fast consensus, whose evidence is
    all sentences. Under other metrics the best sentences are judged by random ones, ``samples`` of
    them, whose mean is that of all but for chance.
    """
    from decoding.minimum_risk.consensus import FastConsensus
    from decoding.minimum_risk.edit import EditDistance
    from decoding.minimum_risk.pairwise import Pairwise

    if is_word_error(metric):
        return EditDistance()
    if type(metric) is BLEU and replace(metric, order=4) == BLEU():
        return FastConsensus(order=metric.order, candidates=samples)
    return Pairwise(candidates=samples, samples=samples)


class Comparing:
    """The comparison, as results of segments come in."""

    def __init__(self, task: ChoicesTask) -> None:
        self.task = task
        self.totals = Totals(task.layout)
        self._sums: list[FloatColumn] = []
        self._corpus: dict[Way, list[CorpusPart | None]] = {
            way: [] for way in task.ways if way.choice == "corpus"
        }
        self._engines: dict[Way, set[str]] = {way: set() for way in task.ways}

    def add(self, outcome: Done[Results] | Failure) -> None:
        """Count an outcome, and keep what is compared."""
        self.totals.add(outcome)
        if isinstance(outcome, Done):
            self.keep(outcome.result)

    def keep(self, found: Results) -> None:
        """Keep the results of a segment."""
        sums = found.sums
        if sums is not None:
            self._sums.append(sums)
        for way, parts in self._corpus.items():
            parts.append(found["corpus"][way])
        for way, name in found["engines"].items():
            self._engines[way].add(name)

    def finish(self) -> Choices:
        """Choose the corpus oracles, and return the comparison."""
        layout, metrics = self.task.layout, self.task.metrics
        sums = np.array(self._sums)
        counts, _ = layout.split(sums.sum(axis=0))
        ends = np.cumsum([len(layout.counts), *layout.widths])[:-1]
        columns = iter(np.split(sums, ends, axis=1)[1:])
        graphs = sum(counts[name] for name in _SHAPES)
        rows: list[Choice] = []
        left_out: list[tuple[Way, int]] = []
        for way in self.task.ways:
            stats = [next(columns) for _ in metrics]
            row: Choice | int
            name = "+".join(sorted(self._engines[way]))
            if way.choice == "corpus":
                row = self._choose(way, name)
            elif all(each[:, 0].all() for each in stats):
                unproven = int(counts[f"unproven {way}"])
                row = self._row(way, name, unproven, None, [each[:, 2:] for each in stats])
            else:
                row = len(sums) - int(stats[0][:, 0].sum())
            if isinstance(row, Choice):
                rows.append(row)
            elif row and not (way.among == "space" and graphs < len(sums)):
                left_out.append((way, row))
        return Choices(
            metrics,
            len(sums),
            self.task.nbest,
            tuple(name for name in _SHAPES if counts[name]),
            int(counts["unscored"]),
            tuple(rows),
            tuple(left_out),
        )

    def _row(
        self,
        way: Way,
        method: str,
        unproven: int,
        bound: float | None,
        stats: Sequence[FloatColumn],
    ) -> Choice:
        scores = {
            str(metric): float(metric.score(rows.sum(axis=0)))
            for metric, rows in zip(self.task.metrics, stats, strict=True)
        }
        return Choice(*way, method, unproven, bound, scores, tuple(stats))

    def _choose(self, way: Way, method: str) -> Choice | int:
        """Return the corpus oracle, or how many segments have none; 0 if theirs are the same."""
        parts = [part for part in self._corpus[way] if part is not None]
        if len(parts) < len(self._sums):
            return len(self._sums) - len(parts)
        if all(part.decomposes for part in parts):
            return 0
        metrics = self.task.metrics
        metric = next(each for each in metrics if str(each) == way.under)
        choice = choose([part.front for part in parts], metric)
        chosen = np.array(
            [part.stats[place] for part, place in zip(parts, choice.places.tolist(), strict=True)]
        )
        ends = np.cumsum([len(each.stat_names) for each in metrics])[:-1]
        unproven = 0 if choice.exact else len(parts)
        return self._row(way, method, unproven, choice.bound, np.split(chosen, ends, axis=1))


@takes(spaces=SPACES, metrics=Each(METRIC, "metrics"), nbest=WHOLE)
def compare_choices(
    spaces: Sequence[Space],
    metrics: Sequence[Metric],
    references: Sequence[Iterable[Reference]] | None = None,
    *,
    nbest: int = 100,
    scale: float = 1.0,
    choose: Sequence[str] = KINDS,
    **search: Unpack[SearchOptions],
) -> Choices:
    """Compare what could be chosen of a corpus: the model's best, oracles and MBR, under metrics.

    Each metric has rows of its own, and a column in all rows:

    ======== ================================================================================
    one_best what the model likes best
    oracle   the best sentence of each segment under a metric: of the ``nbest`` best, and of
             the whole lattice or forest, if the metric can search it
    corpus   the sentences that make the best corpus, where those of segments need not
             (:func:`decoding.corpus_oracle`)
    mbr      the sentence with the best expectation under the model (:func:`decoding.mbr`): among
             the ``nbest`` best, and against the whole space
    ======== ================================================================================

    MBR over whole spaces is ``edit`` under WER and WRR, and ``consensus`` under BLEU; under others
    the ``nbest`` best are judged by as many samples.

    Costs a search of each space for each metric, and a list of ``nbest`` times ``nbest`` pairs for
    each metric; a sentence that is chosen in several ways is scored once.

    Parameters
    ----------
    spaces : sequence of Lattice, Forest and NBest
    metrics : sequence of Metric
    references : sequence, optional
        One list of references for each space; by default those of the spaces themselves.
    nbest : int
        Sentences of the lists that are made of lattices and forests; of longer lists the best.
    scale : float
        Of the model scores, before MBR takes them for probabilities.
    choose : sequence of {"oracle", "corpus", "mbr"}
        What to compare with the model's best.
    **search
        As in :func:`decoding.oracles`, but for ``budget``, which is 100,000 by default.

    References
    ----------
    Chiang, DeNeefe, Chan and Ng. Decomposability of translation metrics for improved evaluation
    and efficient algorithms. EMNLP 2008.

    Examples
    --------
    >>> from fstmetrics import BLEU, WER
    >>> lattices = [
    ...     Lattice.from_arcs(
    ...         [(0, 1, "a", -0.1), (0, 1, "the", -0.9), (1, 2, "cat", -0.1), (1, 2, "hat", -0.3)],
    ...         finals=[2], references=[text])
    ...     for text in ("the hat", "the cat")
    ... ]
    >>> found = compare_choices(lattices, [WER(), BLEU(order=1)])
    >>> found[0].choice, list(found[0].scores.values())
    ('one_best', [0.75, 0.25])
    >>> found.find("oracle", WER(), among="space").scores["wer"]
    0.0
    """
    if references is not None and len(references) != len(spaces):
        raise OptionError(f"{len(spaces)} spaces, but references for {len(references)} segments")
    if not spaces:
        raise OptionError("there is no space to choose from")
    task = ChoicesTask(
        tuple(metrics),
        nbest=nbest,
        scale=scale,
        choose=tuple(choose),
        search=Search.of("compare_choices", {"budget": BUDGET, **search}),
    )
    if not task.metrics:
        raise OptionError("there is no metric to compare by")
    comparing = Comparing(task)
    for begin in range(0, len(spaces), _BATCH):
        end = begin + _BATCH
        some = list(spaces[begin:end])
        if references is not None:
            given = references[begin:end]
            some = [space.replaced(references=own) for space, own in zip(some, given, strict=True)]
        segments = [Segment(begin + at, "", 0, space) for at, space in enumerate(some)]
        for result in task.process(segments):
            comparing.keep(result)
    return comparing.finish()
