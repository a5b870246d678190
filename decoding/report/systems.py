"""Systems on a page: scores with intervals, curves, errors and confidences of a whole corpus."""

from __future__ import annotations

import gzip
from array import array
from base64 import b64encode
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, combinations, compress
from typing import Any

import numpy as np

from decoding.corpus.outcomes import Done, Failure, Failures
from decoding.report.segments import KINDS, Rows, SegmentCurvePoints, SegmentReport
from fstmetrics import Metric
from fstmetrics.alignment.metric import Edit
from fstmetrics.alignment.rates import counts_errors, find_wrong, format_rates
from fstmetrics.contract import scores_of
from fstmetrics.statistics import Comparison, bootstrap, matched_pairs
from fstmetrics.statistics.breakdown import frequent_errors, length_group, scores_by_group
from fstmetrics.statistics.calibration import Calibration, measure_quality
from fstmetrics.statistics.matched_pairs import Mistakes
from fstmetrics.statistics.resampling import Resampling, percentiles
from fstmetrics.statistics.significance import paired_bootstraps
from fstmetrics.statistics.systems import System, counts_word_errors
from lattices.arrays import FloatColumn

#: characters of details that are compressed together: what the page decodes to open a segment
BLOCK = 1 << 17
#: failures that the page lists
SHOWN_FAILURES = 200


def pack(text: str) -> str:
    """Return text compressed, in letters that can stand anywhere in a page."""
    # surrogates come from bytes that are no UTF-8: a page cannot hold them
    data = text.encode("utf-8", "replace")
    return b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


@dataclass
class _Curve:
    """What the segments have that have one kind of curve."""

    words: int = 0
    sizes: list[tuple[int, ...]] = field(default_factory=list)
    #: by metric, a row a segment: the statistics of all points
    stats: list[list[list[float]]] = field(default_factory=list)

    def add(self, points: SegmentCurvePoints) -> None:
        self.words += points.words
        self.sizes.append(points.sizes)
        by_metric = [[*chain(*rows)] for rows in zip(*points.stats, strict=True)]
        self.stats = self.stats or [[] for _ in by_metric]
        for rows, row in zip(self.stats, by_metric, strict=True):
            rows.append(row)


@dataclass
class SystemReport:
    """What a page has of one system, collected segment by segment.

    Details are compressed as they come; statistics, errors and what is searched are kept.
    """

    name: str
    metrics: tuple[Metric, ...]
    #: gives the group of a segment by its id
    group_of: Callable[[str], str] | None = None
    #: of confidences, to be shown beside them as they are
    calibration: Calibration | None = None
    #: segments of the input
    records: int = 0
    failures: Failures = field(default_factory=Failures)
    #: of the segments that have a result, in order; those without an id are numbered
    ids: list[str] = field(default_factory=list)
    #: the metrics that oracles are best under, "" for each its own
    oracles_of: set[str] = field(default_factory=set)
    #: Details, compressed
    blocks: list[str] = field(default_factory=list)
    _references: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _groups: list[str] = field(default_factory=list)
    _stats: dict[str, list[Rows]] = field(default_factory=dict)
    _counts: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)
    _errors: dict[str, list[tuple[Edit, ...]]] = field(default_factory=dict)
    _confidences: list[float] = field(default_factory=list)
    _right: list[bool] = field(default_factory=list)
    _curves: dict[str, _Curve] = field(default_factory=dict)
    _sizes: list[int] = field(default_factory=list)
    _mistakes: dict[str, list[array[int]]] = field(default_factory=dict)
    _waiting: list[str] = field(default_factory=list)
    _waiting_size: int = 0
    _unconfident: int = 0
    _unproven: int = 0
    _unscored: int = 0
    _sentence_oracles: bool = False

    @property
    def segments(self) -> int:
        """How many segments have a result."""
        return len(self.ids)

    @property
    def kinds(self) -> list[str]:
        """The kinds of sentences that all segments have."""
        return [kind for kind in KINDS if len(self._stats.get(kind, ())) == len(self.ids)]

    def add(self, outcome: Done[SegmentReport] | Failure) -> None:
        """Take in what became of one segment."""
        self.records += outcome.position >= 0
        if isinstance(outcome, Failure):
            self.failures.append(outcome)
            return
        found = outcome.result
        id = outcome.id or str(outcome.position + 1)
        if self.group_of is not None:
            self._groups.append(self.group_of(id))
        self.ids.append(id)
        self._references.append(found.reference)
        self._texts.append(found.hypothesis)
        for kind, rows in found.stats.items():
            self._stats.setdefault(kind, []).append(rows)
            self._counts.setdefault(kind, []).append(found.counts[kind])
            self._errors.setdefault(kind, []).append(found.errors[kind])
            if kind in found.mistakes:
                self._mistakes.setdefault(kind, []).append(found.mistakes[kind])
        self._confidences += found.confidences
        self._right += found.right
        self._unconfident += not found.confidences
        for curve in found.curves:
            self._curves.setdefault(curve.kind, _Curve()).add(curve)
        self._unproven += not found.exact
        self._unscored += found.unscored
        self._sentence_oracles |= not found.decomposes
        if "oracle" in found.stats:
            self.oracles_of.add(found.oracle_of)
        self._waiting.append(found.detail)
        self._waiting_size += len(found.detail)
        if self._waiting_size >= BLOCK:
            self._pack()

    def _pack(self) -> None:
        if self._waiting:
            self.blocks.append(pack(f"[{','.join(self._waiting)}]"))
            self._sizes.append(len(self._waiting))
        self._waiting, self._waiting_size = [], 0

    def matrix(self, kind: str, place: int) -> FloatColumn | None:
        """Return the statistics of a kind under a metric, one row a segment.

        None if some segments have none.
        """
        rows = [row[place] for row in self._stats.get(kind, ())]
        if len(rows) < len(self.ids) or any(row is None for row in rows):
            return None
        return np.array(rows, dtype=np.float64)

    def mistakes(self, kind: str, places: Sequence[int]) -> Mistakes | None:
        """Return what matched pairs are made of; None if some segment has none."""
        known = self._mistakes.get(kind, [])
        if len(known) < len(self.ids):
            return None
        return Mistakes.join(known[place] for place in places)

    def index(self, told: Set[str] = frozenset()) -> dict[str, Any]:
        """Return what the list of segments has: ids, texts, scores, errors, where details are.

        Texts are reference and first sentence by turns: alike, they compress well. ``told`` are ids
        of segments whose references the page has from another system.
        """
        self._pack()
        scores = {
            kind: [self._scores(kind, place) for place in range(len(self.metrics))]
            for kind in self.kinds
        }
        names = list(dict.fromkeys(self._groups))
        number = {name: place for place, name in enumerate(names)}
        return {
            "ids": self.ids,
            "texts": [
                text
                for id, *both in zip(self.ids, self._references, self._texts, strict=True)
                for text in ("" if id in told else both[0], both[1])
            ],
            "groups": names,
            "group": [number[group] for group in self._groups],
            "scores": scores,
            "counts": {
                kind: np.array(self._counts[kind]).reshape(-1, 4).T.tolist() for kind in self.kinds
            },
            "blocks": self._sizes,
        }

    def _scores(self, kind: str, place: int) -> list[float] | None:
        metric = self.metrics[place]
        rows = self.matrix(kind, place)
        return None if rows is None else [round(float(metric.score(row)), 5) for row in rows]

    def content(self, *, samples: int, level: float, seed: int, top: int) -> dict[str, Any]:
        """Return what the page shows of the corpus."""
        options = {"samples": samples, "level": level, "seed": seed}
        return {
            "name": self.name,
            "segments": self.segments,
            "failed": len(self.failures),
            "failures": [
                [failure.id, failure.place, failure.reason]
                for failure in self.failures.first[:SHOWN_FAILURES]
            ],
            "unproven": self._unproven,
            "unscored": self._unscored,
            "sentence_oracles": self._sentence_oracles,
            "scores": {
                kind: [self._estimate(kind, place, options) for place in range(len(self.metrics))]
                for kind in self.kinds
            },
            "curves": [self._curve(kind, options) for kind in self._curves],
            "groups": self._breakdown(self._groups) if self._groups else None,
            "lengths": self._breakdown(self._lengths()),
            "errors": {kind: self._frequent(kind, top) for kind in self.kinds},
            "reliability": self._reliability() if self._right else None,
        }

    def _reliability(self) -> dict[str, Any]:
        """Return words and right words by confidence, as they are and calibrated."""
        given = {"as they are": self._confidences}
        if self.calibration is not None:
            given["calibrated"] = self.calibration(self._confidences).tolist()
        return {
            "kind": "mbr" if "mbr" in self.kinds else "one_best",
            "without": self._unconfident,
            "words": len(self._right),
            "of": [self._measure(name, each) for name, each in given.items()],
        }

    def _measure(self, name: str, confidences: Sequence[float]) -> dict[str, Any]:
        found = measure_quality(confidences, self._right)
        return {
            "name": name,
            "bins": [
                [each.words, each.confidence, round(each.correct * each.words) if each.words else 0]
                for each in found.bins
            ],
            "error": found.ece,
            "cross_entropy": found.nce,
        }

    def _estimate(self, kind: str, place: int, options: dict[str, Any]) -> dict[str, Any] | None:
        """Return a score, its interval, and the lines that Kaldi has of it."""
        metric, rows = self.metrics[place], self.matrix(kind, place)
        if rows is None:
            return None
        total = rows.sum(axis=0)
        found: dict[str, Any] = {"score": float(metric.score(total))}
        if counts_errors(metric):
            wrong = int(find_wrong(metric, rows).sum())
            found["rates"] = format_rates(metric, total, len(rows), wrong)
        # one segment has nothing to draw from
        if len(rows) > 1:
            interval = bootstrap(metric, rows, **options).interval
            found["interval"] = [interval.low, interval.high]
        return found

    def _curve(self, kind: str, options: dict[str, Any]) -> dict[str, Any]:
        """Return the points of a curve, but those at the end that add nothing, and intervals."""
        curve = self._curves[kind]
        whole = max(1, curve.words) if kind == "densities" else len(curve.sizes)
        sizes = (np.array(curve.sizes).sum(axis=0) / whole).tolist()
        last = 1 + next(place for place, size in enumerate(sizes) if size == sizes[-1])
        scores, intervals = [], []
        for metric, rows in zip(self.metrics, curve.stats, strict=True):
            columns = len(metric.stat_names)
            stats = np.array(rows)[:, : last * columns]
            points = np.split(stats, last, axis=1)
            scores.append([float(metric.score(point.sum(axis=0))) for point in points])
            if len(stats) > 1:
                sums = np.split(Resampling(**options).sums(stats), last, axis=1)
                ends = [percentiles(scores_of(metric, each), options["level"]) for each in sums]
                intervals.append([[end.low, end.high] for end in ends])
        return {
            "kind": kind,
            "segments": len(curve.sizes),
            "sizes": sizes[:last],
            "scores": scores,
            "intervals": intervals or None,
        }

    def _lengths(self) -> list[str]:
        first = self._counts[self.kinds[0]]
        return [length_group(words) for words, *_ in first]

    def _breakdown(self, groups: Sequence[str]) -> list[dict[str, Any]]:
        """Return segments, words, errors and scores of each group."""
        group_of = dict(zip(self.ids, groups, strict=True)).__getitem__
        by_kind = {}
        for kind in self.kinds:
            known = [self.matrix(kind, place) is not None for place in range(len(self.metrics))]
            system = System(kind, tuple(compress(self.metrics, known)))
            for id, rows in zip(self.ids, self._stats[kind], strict=True):
                system.stats[id] = [np.array(row) for row in compress(rows, known)]
            by_kind[kind] = (known, scores_by_group(system, group_of))
        of_group = np.array(groups)
        counts = {kind: np.array(self._counts[kind]) for kind in self.kinds}
        found = []
        for place, group in enumerate(by_kind[self.kinds[0]][1]):
            inside = of_group == group.group
            scores = {}
            for kind, (known, of_kind) in by_kind.items():
                there = iter(of_kind[place].scores)
                scores[kind] = [next(there) if one else None for one in known]
            found.append(
                {
                    "group": group.group,
                    "segments": group.segments,
                    "counts": {
                        kind: each[inside].sum(axis=0).tolist() for kind, each in counts.items()
                    },
                    "scores": scores,
                }
            )
        return found

    def _frequent(self, kind: str, top: int) -> list[dict[str, Any]]:
        """Return the most frequent errors, each with the places of all segments that have it."""
        place = {id: number for number, id in enumerate(self.ids)}
        errors = frequent_errors(
            zip(self.ids, self._errors[kind], strict=True), top, examples=len(self.ids)
        )
        return [
            {**each._asdict(), "segments": [place[id] for id in each.segments]} for each in errors
        ]


def comparisons(
    systems: Sequence[SystemReport], *, samples: int, level: float, seed: int
) -> dict[str, Any]:
    """Return the differences of all pairs of answers: the kinds of sentences of all systems.

    Each pair is compared over the segments that both have, under each metric: by the bootstrap and,
    where systems have their mistakes, in matched pairs.
    """
    rows = [{id: place for place, id in enumerate(system.ids)} for system in systems]
    answers = [(number, kind) for number, each in enumerate(systems) for kind in each.kinds]
    everywhere = [id for id in systems[0].ids if all(id in of_system for of_system in rows)]
    same = all(len(everywhere) == len(system.ids) for system in systems)
    some = range(len(systems))
    together = [tuple(some)] if same else [*zip(some), *combinations(some, 2)]
    effects: list[dict[str, Any]] = [{} for _ in systems[0].metrics]
    for numbers in together:
        shared = [id for id in systems[numbers[0]].ids if all(id in rows[one] for one in numbers)]
        if len(shared) < 2:
            continue
        inside = [place for place, (number, _) in enumerate(answers) if number in numbers]
        places = {number: [rows[number][id] for id in shared] for number in numbers}
        for at, (metric, found) in enumerate(zip(systems[0].metrics, effects, strict=True)):
            known = {
                answer: matrix[places[number]]
                for answer in inside
                for number, kind in [answers[answer]]
                if (matrix := systems[number].matrix(kind, at)) is not None
            }
            mistakes = {
                answer: systems[number].mistakes(kind, places[number])
                for answer in known
                for number, kind in [answers[answer]]
                if counts_word_errors(metric)
            }
            if len(known) < 2:
                continue
            names = list(known)
            pairs = paired_bootstraps(
                metric, list(known.values()), samples=samples, level=level, seed=seed
            )
            for (one, other), pair in pairs.items():
                key = names[one], names[other]
                # the segments of one system are all there where it is alone
                found.setdefault(
                    "-".join(map(str, key)),
                    {**_to_plain(pair), **_match(*(mistakes.get(each) for each in key))},
                )
    return {
        "answers": answers,
        "shared": len(everywhere),
        "missing": [len({*chain(*rows)}) - len(system.ids) for system in systems],
        "effects": effects,
    }


def _match(one: Mistakes | None, other: Mistakes | None) -> dict[str, float]:
    """Return the p-value of matched pairs, if both have their mistakes to the same references."""
    if one is None or other is None or not np.array_equal(one.sizes, other.sizes):
        return {}
    return {"mapsswe": matched_pairs(one, other).p_value}


def _to_plain(found: Comparison) -> dict[str, Any]:
    interval = None if found.interval is None else [found.interval.low, found.interval.high]
    return {"effect": found.effect, "interval": interval, "p": found.p_value}
