"""Segments of a page: what is computed for each, by workers, and sent as little as can be."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, Protocol, cast

from decoding.corpus.outcomes import Segment
from decoding.corpus.table import Results
from decoding.extraction.oracle_search import Oracle, find_oracles
from decoding.extraction.search import SEARCH, Search
from decoding.minimum_risk.confusion_network import ConfusionNetwork
from decoding.minimum_risk.edit import EditConsensus, edit
from decoding.minimum_risk.method import Consensus, Method
from decoding.plain_json import json_text
from decoding.report.pictures import select_differences, sentences
from decoding.tasks.curve import CurveTask
from decoding.tasks.mbr import MBRTask
from decoding.tasks.segments import is_unscored
from fstmetrics import WER, Evaluator, Metric, Normalised
from fstmetrics.alignment.metric import AlignmentMetric, Edit, Judgement
from fstmetrics.contract import can_search, decomposes
from fstmetrics.references import Reference, split_tokens
from fstmetrics.statistics.matched_pairs import list_mistakes
from fstmetrics.statistics.systems import align_as_sclite, counts_word_errors
from lattices.algorithms import best
from lattices.errors import OptionError, SpaceError
from lattices.formats.references import References
from lattices.spaces import Hypothesis, Lattice, NBest, Space
from lattices.vocabulary import EPSILON

#: sentences of a segment that are compared, and what people call them
KINDS = {"one_best": "1-best", "mbr": "MBR", "oracle": "oracle"}
#: sizes of lists and densities of lattices that a curve has
SIZES = (1, 2, 5, 10, 20, 50, 100)
DENSITIES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)

#: alternatives of a bin that are shown, from which posterior on, and from which sum of posteriors
#: on a bin in which the sentence has no word
_ALTERNATIVES, _LEAST_MASS, _SHOWN_MASS = 6, 0.005, 0.02
_CODES = {"match": "=", "substitution": "s", "insertion": "i", "deletion": "d"}

#: statistics under each metric, None under one that has none
Rows = tuple[tuple[float, ...] | None, ...]


class ErrorCounts(NamedTuple):
    """The words of the reference of an alignment, and its errors by kind."""

    words: int
    substitutions: int
    insertions: int
    deletions: int


class SegmentCurvePoints(NamedTuple):
    """The oracles of a segment in larger and larger parts of its space."""

    #: ``at``: the oracle of the k best sentences; ``densities``: of pruned lattices; ``random`` and
    #: ``decisions``: the expected oracle and the expected MBR decision among k samples
    kind: str
    #: of the model's best
    words: int
    #: sentences or arcs of each part
    sizes: tuple[int, ...]
    #: statistics of the oracle of each part
    stats: tuple[Rows, ...]


class SegmentReport(NamedTuple):
    """What a page has of one segment; plain data, since workers send one for each."""

    #: what is searched in the page: the reference, and the first kind of sentence there is
    reference: str
    hypothesis: str
    #: statistics under each metric by the kind of sentence; oracles are those of each metric
    stats: dict[str, Rows]
    #: words and errors of each kind
    counts: dict[str, ErrorCounts]
    #: the errors of each kind
    errors: dict[str, tuple[Edit, ...]]
    #: of the words of the MBR decision, or of an output: how sure they are, and whether they match
    confidences: tuple[float, ...]
    right: tuple[bool, ...]
    #: what is shown when the segment is opened, as JSON
    detail: str
    curves: tuple[SegmentCurvePoints, ...] = ()
    #: whether all oracles are proven
    exact: bool = True
    #: whether the 1-best is arbitrary, since the model has no scores
    unscored: bool = False
    #: whether the oracles are part of the best corpus, whatever the other segments are
    decomposes: bool = True
    #: the metric that a saved oracle is best under; empty where each metric has its own
    oracle_of: str = ""
    #: of each kind the mistakes that matched pairs are made of, two numbers a place, where they
    #: are asked for and there is one reference
    mistakes: dict[str, array[int]] = {}  # noqa: RUF012


class Chosen(NamedTuple):
    """A sentence to show."""

    #: one of ``KINDS``
    kind: str
    label: str
    tokens: tuple[str, ...]
    model_score: float | None
    #: when each word begins and ends, in seconds, if that is known
    times: tuple[tuple[float, float], ...] = ()


def oracle_label(metrics: Sequence[Metric] | Mapping[str, str], *oracles_of: set[str]) -> str:
    """Return what oracles are called: under what metric they are best, unless there is but one."""
    known = metrics
    if not isinstance(known, Mapping):
        known = {str(metric): str(getattr(metric, "label", metric)) for metric in metrics}
    found = set[str]().union(*oracles_of)
    if len(known) == 1 and found <= {"", *known}:
        return KINDS["oracle"]
    whose = [known.get(each, each) or "own" for each in sorted(found)]
    return " ".join([*whose[:1], *(f"or {each}" for each in whose[1:]), KINDS["oracle"]])


class Aligning(Protocol):
    """An evaluator that aligns words."""

    def judge(self, hypothesis: str | Sequence[str]) -> Judgement:
        """Return the alignment to the best reference."""


def word_aligner(metrics: Sequence[Metric]) -> Metric:
    """Return the metric that aligns words: the first that does, else WER, normalised alike.

    Examples
    --------
    >>> from fstmetrics import BLEU, CER, GRR
    >>> str(word_aligner([CER(), GRR(n=2)])), str(word_aligner([BLEU()]))
    ('grr:n=2,alpha=1,beta=0', 'wer')
    """
    for metric in metrics:
        inner = metric.metric if isinstance(metric, Normalised) else metric
        if isinstance(inner, AlignmentMetric) and not inner.characters:
            return metric
    first = metrics[0]
    return Normalised(WER(), first.normalise) if isinstance(first, Normalised) else WER()


@dataclass(frozen=True)
class ReportTask:
    """Search and decide for every segment, align what is found, and spell out what is shown.

    Examples
    --------
    >>> from lattices import Lattice
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.9)], finals=[1], references=["the"], id="s1"
    ... )
    >>> found, = ReportTask((WER(),)).process([Segment(0, "", 0, lattice)])
    >>> found.hypothesis, found.counts["one_best"].substitutions, found.counts["oracle"]
    ('a', 1, ErrorCounts(words=1, substitutions=0, insertions=0, deletions=0))
    """

    #: each has an oracle of its own; the first one decides by minimum Bayes risk, unless the method
    #: has an objective of its own
    metrics: tuple[Metric, ...]
    #: those of the segments themselves if None
    references: References | None = None
    #: as in :func:`decoding.mbr`; the scale is that of all posteriors
    method: str | Method = "auto"
    scale: float = 1.0
    #: the points of curves, for lists and forests, and for lattices
    at: tuple[int, ...] = SIZES
    densities: tuple[float, ...] = DENSITIES
    #: whether lists are samples: curves are of what to expect among k of them
    random: bool = False
    #: as in :func:`decoding.oracle`
    search: Search = SEARCH
    #: whether mistakes are wanted, for matched pairs of systems
    matched: bool = False

    def process(self, segments: Sequence[Segment]) -> list[SegmentReport]:
        """Return what the page has of each segment."""
        references = [segment.references(self.references, required=True) for segment in segments]
        spaces = [segment.space for segment in segments]
        oracles = [self._oracles(metric, spaces, references) for metric in self.metrics]
        decided = MBRTask(
            self.metrics, self.references, method=self.method, scale=self.scale, oracles=False
        ).process(segments)
        return [
            self._fill_report(segment, some, list(found), decision)
            for segment, some, found, decision in zip(
                segments, references, zip(*oracles, strict=True), decided, strict=True
            )
        ]

    def _oracles(
        self, metric: Metric, spaces: list[Space], references: list[tuple[Reference, ...]]
    ) -> list[Oracle | None]:
        """Return the oracles under a metric, None where it can search no such space."""
        evaluators = [metric.against(some) for some in references]
        places = [
            place
            for place, (space, evaluator) in enumerate(zip(spaces, evaluators, strict=True))
            if isinstance(space, NBest) or can_search(evaluator)
        ]
        found = find_oracles(
            [spaces[place] for place in places],
            [evaluators[place] for place in places],
            self.search,
        )
        by_place = dict(zip(places, found, strict=True))
        return [by_place.get(place) for place in range(len(spaces))]

    def _fill_report(
        self,
        segment: Segment,
        references: tuple[Reference, ...],
        oracles: list[Oracle | None],
        decision: Results,
    ) -> SegmentReport:
        space, choice, one_best = segment.space, decision["consensus"][0], decision["one_best"]
        first = next((found for found in oracles if found is not None), None)
        model = best(space)
        shown = [
            Chosen("one_best", KINDS["one_best"], one_best, model.score, _word_times(space, model)),
            _choose("mbr", KINDS["mbr"], space, choice),
        ]
        for metric, found in zip(self.metrics, oracles, strict=True):
            if found is None or found.tokens in (each.tokens for each in shown[2:]):
                continue
            label = oracle_label(self.metrics, {str(metric)})
            label += "" if found.exact else " (not proven)"
            kind = "oracle" if found is first else ""
            shown.append(_choose(kind, label, space, found))
        stats: dict[str, Rows] = {
            "one_best": score_sentence(one_best, self.metrics, references),
            "mbr": _to_plain(decision["stats"]),
        }
        if first is not None:
            rows = [None if found is None else found.stats for found in oracles]
            stats["oracle"] = _to_plain(rows)
        network, trouble = _network(space, choice, self.scale)
        extra: dict[str, Any] = {
            "method": choice.method,
            "expected": choice.expected,
            "network": None if network is None else network_bins(network),
            **({"trouble": trouble} if trouble else {}),
            **self._picture(space, references, first, choice),
        }
        confidences = () if network is None else tuple(word.confidence for word in network.words)
        return report_of(
            shown,
            stats,
            self.metrics,
            references,
            extra,
            confidences,
            matched=self.matched,
        )._replace(
            curves=tuple(self._curves(segment)),
            exact=all(found.exact for found in oracles if found is not None),
            unscored=is_unscored(space),
            decomposes=all(
                decomposes(metric.against(references))
                for metric, found in zip(self.metrics, oracles, strict=True)
                if found is not None
            ),
        )

    def _picture(
        self,
        space: Space,
        references: tuple[Reference, ...],
        first: Oracle | None,
        choice: Consensus,
    ) -> dict[str, Any]:
        if not isinstance(space, Lattice):
            return {"list": sentences(space, scale=self.scale)}
        shown = best(space) if first is None else first.hypothesis
        judge = cast(Aligning, word_aligner(self.metrics).against(references)).judge
        chosen, edits = choice.hypothesis.arcs, judge(shown.tokens).edits
        picture = select_differences(space, shown.arcs, chosen, edits, scale=self.scale)
        return {"lattice": picture}

    def _curves(self, segment: Segment) -> Iterator[SegmentCurvePoints]:
        space, first = segment.space, self.metrics[0]
        if isinstance(space, Lattice):
            if can_search(first.against([""])):
                task = CurveTask(self.metrics, self.references, densities=self.densities)
                yield _follow(task, segment, "densities", len(self.densities))
            return
        sizes = self.at
        if isinstance(space, NBest):
            # beyond the end of a list there is nothing new
            sizes = sizes[: 1 + sum(k < len(space) for k in sizes)]
        task = CurveTask(self.metrics, self.references, at=sizes)
        if not (self.random and isinstance(space, NBest)):
            yield _follow(task, segment, "at", len(self.at))
            return
        task = replace(task, random=True)
        yield _follow(task, segment, "random", len(self.at))
        yield _follow(replace(task, utility=first), segment, "decisions", len(self.at))


def _follow(task: CurveTask, segment: Segment, kind: str, points: int) -> SegmentCurvePoints:
    """Return the points of a curve; those that are not there are the last that is."""
    (found,) = task.process([segment])
    rows, reached = [_to_plain(row) for row in found["stats"]], found["sizes"]
    more = points - len(rows)
    sizes, stats = (*reached, *[reached[-1]] * more), (*rows, *[rows[-1]] * more)
    return SegmentCurvePoints(kind, found["words"], sizes, stats)


def report_of(
    shown: Sequence[Chosen],
    stats: Mapping[str, Rows],
    metrics: Sequence[Metric],
    references: tuple[Reference, ...],
    extra: Mapping[str, Any],
    confidences: Sequence[float],
    *,
    matched: bool = False,
) -> SegmentReport:
    """Align the sentences of a segment, and spell out what the page has of it.

    Confidences are those of the MBR decision, or of the only sentence if there is none.
    """
    confident = "mbr" if any(each.kind == "mbr" for each in shown) else "one_best"
    judge = cast(Aligning, word_aligner(metrics).against(references)).judge
    others = [metric.against(references) for metric in metrics]
    # what was chosen in several ways is one sentence
    judgements = {each.tokens: judge(each.tokens) for each in shown}
    scores = {
        tokens: [round(evaluator.score(tokens), 6) for evaluator in others] for tokens in judgements
    }
    rows = []
    counts: dict[str, ErrorCounts] = {}
    errors: dict[str, tuple[Edit, ...]] = {}
    right: tuple[bool, ...] = ()
    for each in shown:
        judgement = judgements[each.tokens]
        edits = judgement.edits
        row: dict[str, Any] = {
            "kind": each.kind,
            "label": each.label,
            "model": each.model_score,
            "scores": scores[each.tokens],
            "reference": judgement.reference,
            "edits": [_encode_edit(edit) for edit in edits],
        }
        said = [edit for edit in edits if edit.operation != "deletion"]
        # normalisation may have made more or fewer words of them: which is which cannot be said
        if each.times and len(each.times) == len(said):
            row["times"] = each.times
        rows.append(row)
        if each.kind:
            counts[each.kind] = count_errors(edits)
            errors[each.kind] = tuple(edit for edit in edits if edit.operation != "match")
        if each.kind == confident:
            right = tuple(edit.operation == "match" for edit in said)
    if len(right) != len(confidences):
        confidences, right = (), ()
    first = judgements[shown[0].tokens].edits
    spoken = " ".join(edit.reference for edit in first if edit.operation != "insertion")
    # edits have the words of the references
    detail = {"sentences": rows, **extra}
    return SegmentReport(
        reference=_text(references[0]) or spoken,
        hypothesis=" ".join(shown[0].tokens),
        stats=dict(stats),
        counts=counts,
        errors=errors,
        confidences=tuple(confidences),
        right=right,
        detail=json_text(detail),
        mistakes=_find_mistakes(shown, metrics, references) if matched else {},
    )


def _find_mistakes(
    shown: Sequence[Chosen], metrics: Sequence[Metric], references: tuple[Reference, ...]
) -> dict[str, array[int]]:
    """Return of each kind the mistakes of sclite's alignment, if a metric is a word error rate."""
    metric = next(filter(counts_word_errors, metrics), None)
    if metric is None or len(references) != 1 or isinstance(references[0], Lattice):
        return {}
    by_tokens = {
        tokens: array("I", chain(*list_mistakes(align_as_sclite(metric, tokens, references))))
        for tokens in {each.tokens for each in shown if each.kind}
    }
    return {each.kind: by_tokens[each.tokens] for each in shown if each.kind}


def _choose(kind: str, label: str, space: Space, found: Oracle | Consensus) -> Chosen:
    times = _word_times(space, found.hypothesis)
    return Chosen(kind, label, found.tokens, found.hypothesis.score, times)


def _word_times(space: Space, found: Hypothesis) -> tuple[tuple[float, float], ...]:
    """Return when the words of a path begin and end, if the lattice has times."""
    if not isinstance(space, Lattice) or space.times is None:
        return ()
    arcs = [arc for arc in found.arcs if space.label[arc] != EPSILON]
    ends = zip(space.times[space.src[arcs]], space.times[space.dst[arcs]], strict=True)
    return tuple((round(float(begin), 3), round(float(end), 3)) for begin, end in ends)


def count_errors(edits: Sequence[Edit]) -> ErrorCounts:
    """Return the words of the reference and the errors of an alignment."""
    kinds = [edit.operation for edit in edits]
    substitutions, insertions, deletions = (
        kinds.count(kind) for kind in ("substitution", "insertion", "deletion")
    )
    return ErrorCounts(len(kinds) - insertions, substitutions, insertions, deletions)


def score_sentence(
    tokens: Sequence[str], metrics: Sequence[Metric], references: tuple[Reference, ...]
) -> Rows:
    """Return the statistics of a sentence under each metric."""
    evaluators: list[Evaluator] = [metric.against(references) for metric in metrics]
    return _to_plain([evaluator.stats(tokens) for evaluator in evaluators])


def _to_plain(rows: Sequence[Any]) -> Rows:
    """Return plain numbers: an array takes longer to pickle."""
    return tuple(None if row is None else tuple(row.tolist()) for row in rows)


def _encode_edit(edit: Edit) -> list[str]:
    """Return an edit as the page has it: its code, the word or words."""
    code = _CODES[edit.operation]
    if code == "=":
        same = edit.hypothesis == edit.reference
        return [code, edit.reference] if same else ["~", edit.hypothesis, edit.reference]
    if code == "s":
        return [code, edit.hypothesis, edit.reference]
    return [code, edit.hypothesis or edit.reference]


def _text(reference: Reference) -> str:
    """Return a reference as text; of one that has alternatives nothing."""
    return "" if isinstance(reference, Lattice) else " ".join(split_tokens(reference))


def _network(space: Space, choice: Consensus, scale: float) -> tuple[ConfusionNetwork | None, str]:
    """Return the network to which the space is aligned for a decision, or why there is none."""
    if isinstance(choice, EditConsensus):
        return choice.network, ""
    try:
        return edit(space, scale=scale, start=choice.tokens, decode=False).network, ""
    except (SpaceError, OptionError) as problem:
        return None, f"no confusion network: {problem}"


def network_bins(network: ConfusionNetwork) -> list[list[Any]]:
    """Return the bins that are worth showing: those of words, and others that have some mass.

    A bin is the word of the sentence, "" for none; begin and end, or None; and pairs of the most
    probable alternatives and their posteriors.
    """
    times: Sequence[tuple[float | None, float | None]]
    times = network.times or [(None, None)] * len(network)
    word, found = network.vocabulary.word, []
    labels = network.label[network.chosen].tolist()
    for (begin, end), label, bin in zip(times, labels, network.bins, strict=True):
        chosen = word(label)
        if not chosen and 1.0 - bin[0].posterior < _SHOWN_MASS and not bin[0].word:
            continue
        rows = [
            [each.word, round(each.posterior, 4)]
            for each in bin[:_ALTERNATIVES]
            if each.posterior >= _LEAST_MASS or each.word == chosen
        ]
        ends = [None if moment is None else round(moment, 3) for moment in (begin, end)]
        found.append([chosen, *ends, rows])
    return found
