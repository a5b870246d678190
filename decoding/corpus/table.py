"""Tables of results: what a task returns for a batch, in columns, and its sums over a corpus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, overload

import numpy as np

from decoding.corpus.outcomes import Done, Failure, Failures, Segment
from decoding.version import __version__
from fstmetrics import Metric
from fstmetrics.alignment.rates import counts_errors, find_wrong
from lattices.arrays import Array, FloatColumn
from lattices.records import PlainRecord, to_plain

if TYPE_CHECKING:
    from lattices.formats.references import References

Column: TypeAlias = "Sequence[Any] | Array"
#: a column, or what makes it when it is asked for
Columns: TypeAlias = "Mapping[str, Column | Callable[[], Column]]"
#: statistics under each metric, a row a segment; None for a row, or all of them, that is not there
Statistics: TypeAlias = "Sequence[Sequence[FloatColumn | None] | FloatColumn | None] | None"


class Table(Sequence["Results"]):
    """Results of the segments of a batch, in columns; as a sequence, the results of each segment.

    Parameters
    ----------
    ids : sequence of str
        The segments.
    columns
        What there is of each result, such as score and words, in the order in which it is written.
        A column may be a function, which is called when the column is asked for.
    sizes : sequence of int, optional
        How many results each segment has, the first one the best; by default one.
    optional : collection of str
        Columns in which None stands for nothing at all.
    about
        What there is of each segment, and is not written with the results.
    sums : float64 array, optional
        What adds up over segments: see :class:`SumsLayout`.

    Examples
    --------
    >>> table = Table(["s1", "s2"], {"text": ["a", "b", "c"]}, sizes=[2, 1], about={"arcs": [5, 7]})
    >>> table[0].fields()
    [{'id': 's1', 'text': 'a'}, {'id': 's1', 'text': 'b'}]
    >>> table[1]["text"], table[1]["arcs"]
    ('c', 7)
    """

    def __init__(
        self,
        ids: Sequence[str],
        columns: Columns,
        *,
        sizes: Sequence[int] | None = None,
        optional: Sequence[str] = (),
        about: Columns | None = None,
        sums: FloatColumn | None = None,
    ) -> None:
        self.ids, self.sums, self._optional = ids, sums, frozenset(optional)
        self._columns, self._about = dict(columns), dict(about or {})
        self._begin = range(len(ids) + 1) if sizes is None else [0, *np.cumsum(sizes).tolist()]

    def __len__(self) -> int:
        """Return how many segments there are."""
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> Results: ...
    @overload
    def __getitem__(self, place: slice) -> list[Results]: ...
    def __getitem__(self, place: int | slice) -> Results | list[Results]:
        """Return the results of a segment."""
        places = range(len(self.ids))[place]
        if isinstance(places, range):
            return [Results(self, each) for each in places]
        return Results(self, places)

    def __getstate__(self) -> dict[str, Any]:
        """Return all columns as they are: functions do not go from one process to another."""
        for columns in (self._columns, self._about):
            for name in columns:
                _make_column(columns, name)
        return self.__dict__

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of results."""
        return tuple(self._columns)

    def column(self, name: str) -> Column:
        """Return what there is of each result, or of each segment."""
        return _make_column(self._columns if name in self._columns else self._about, name)

    def of(self, place: int) -> range:
        """Return the numbers of the results of a segment."""
        return range(self._begin[place], self._begin[place + 1])

    def value(self, place: int, name: str) -> Any:
        """Return what there is of a segment, or of its first result."""
        if name in self._columns:
            return self.column(name)[self._begin[place]]
        return _make_column(self._about, name)[place]

    def fields(self, place: int) -> list[dict[str, Any]]:
        """Return the fields of each result of a segment, by name; the first one is its id."""
        columns = {name: self.column(name) for name in self._columns}
        return [
            {
                "id": self.ids[place],
                **{
                    name: column[each]
                    for name, column in columns.items()
                    if name not in self._optional or column[each] is not None
                },
            }
            for each in self.of(place)
        ]

    def keep(self, *kept: str, **made: Column) -> Table:
        """Return a table of what was made of this one, with its sums and what is kept of segments.

        It is what workers send.
        """
        about = {name: self.column(name) for name in (*SENT, *kept) if name in self._about}
        return Table(self.ids, {}, about={**about, **made}, sums=self.sums)


def _make_column(columns: dict[str, Any], name: str) -> Column:
    column = columns[name]
    if callable(column):
        columns[name] = column = column()
    found: Column = column
    return found


#: what a total looks at beside the sums
SENT = ("engine", "unweighted")


class Results(PlainRecord):
    """The results of one segment: a view of a table.

    Parameters
    ----------
    table : Table
    place : int
        Which segment of the table it is.
    """

    __slots__ = ("place", "table")

    def __init__(self, table: Table, place: int) -> None:
        self.table, self.place = table, place

    @property
    def id(self) -> str:
        """The segment."""
        return self.table.ids[self.place]

    def __len__(self) -> int:
        """Return how many results there are."""
        return len(self.table.of(self.place))

    def __getitem__(self, name: str) -> Any:
        """Return what there is of the segment, or of its first result."""
        return self.table.value(self.place, name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the same, or something else where there is nothing of that name."""
        try:
            return self[name]
        except KeyError:
            return default

    def fields(self) -> list[dict[str, Any]]:
        """Return the fields of each result."""
        return self.table.fields(self.place)

    @property
    def sums(self) -> FloatColumn | None:
        """What is added up."""
        return None if self.table.sums is None else self.table.sums[self.place]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the first result as plain data."""
        found: dict[str, Any] = to_plain(self.fields()[0])
        return found


class Sums(NamedTuple):
    """Statistics of some segments under a metric: how many there are, how many of them have an
    error, if it counts errors, and the sum.
    """

    segments: int
    wrong: int
    stats: FloatColumn


class SumsLayout(NamedTuple):
    """What the sums of a table are: counts, and statistics of several kinds under each metric.

    In front of the statistics under a metric stand 1, or 0 where there are none; and 1 where they
    have an error, if the metric counts errors.

    Examples
    --------
    >>> from fstmetrics import WER
    >>> layout = SumsLayout((WER(),), ("arcs",), ("oracle", "one_best"))
    >>> layout.sums(1, [[7]], [[np.arange(5.0)]], None).tolist()
    [[7.0, 1.0, 1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """

    metrics: tuple[Metric, ...]
    #: the names of what is counted
    counts: tuple[str, ...]
    #: whose statistics are summed up, such as ``oracle`` and ``one_best``
    kinds: tuple[str, ...]

    @property
    def widths(self) -> list[int]:
        """The number of columns of each kind and metric."""
        return [2 + len(metric.stat_names) for metric in self.metrics] * len(self.kinds)

    def sums(
        self, segments: int, counts: Sequence[Column | float], *kinds: Statistics
    ) -> FloatColumn:
        """Return a row a segment: of each count the column, of each kind the statistics."""
        found = np.zeros((segments, len(counts) + sum(self.widths)))
        for place, column in enumerate(counts):
            found[:, place] = column
        at = len(counts)
        for of_kind in kinds:
            for number, metric in enumerate(self.metrics):
                end = at + 2 + len(metric.stat_names)
                rows = None if of_kind is None else of_kind[number]
                if isinstance(rows, np.ndarray):
                    found[:, at], found[:, at + 2 : end] = 1.0, rows
                elif rows is not None:
                    for place, row in enumerate(rows):
                        if row is not None:
                            found[place, at], found[place, at + 2 : end] = 1.0, row
                if counts_errors(metric):
                    found[:, at + 1] = find_wrong(metric, found[:, at + 2 : end])
                at = end
        return found

    def split(self, sums: FloatColumn) -> tuple[dict[str, float], dict[str, list[Sums]]]:
        """Return the counts by name, and each kind's sums under each metric.

        ``sums`` are a row, or a sum of rows.
        """
        counts, *rows = np.split(sums, np.cumsum([len(self.counts), *self.widths])[:-1])
        each, count = [Sums(int(row[0]), int(row[1]), row[2:]) for row in rows], len(self.metrics)
        return (
            dict(zip(self.counts, map(_plain_number, counts.tolist()), strict=True)),
            {kind: each[at * count :][:count] for at, kind in enumerate(self.kinds)},
        )


#: a unit is 2^-UNITS; the mantissa of the smallest double has 52 zeros more
UNITS = 1074 + 53
#: rows that are added at a time: as many mantissas of 53 bits fit into 63
ROWS = 512


class ExactSums:
    """Sums of the columns of rows of one length, rounded once, in the end.

    So no order of adding changes them: any other sum would depend on which worker had which
    segments. A finite double is a whole number of units of 2^-1074, so Python's integers hold
    sums without loss.

    Examples
    --------
    >>> found = ExactSums()
    >>> for value in (1e100, 0.1, -1e100, 0.2):
    ...     found.add(np.array([value]))
    >>> found.value().tolist()
    [0.30000000000000004]
    >>> again = ExactSums(found.state())
    >>> again.merge(found)
    >>> again.value().tolist()
    [0.6000000000000001]
    """

    def __init__(self, state: Sequence[Any] | None = None) -> None:
        self._rows: list[FloatColumn] = []
        self._units: list[int] | None = None
        #: sums of what is not finite
        self._odd: list[float] = []
        if state is not None:
            self._units = [number << shift for number, shift, _ in state]
            self._odd = [odd for _, _, odd in state]

    def add(self, row: FloatColumn) -> None:
        """Add a row."""
        self._rows.append(row)
        if len(self._rows) >= ROWS:
            self._settle()

    def merge(self, other: ExactSums) -> None:
        """Add the sums of others."""
        self._settle()
        other._settle()
        if other._units is not None:
            self._take(other._units, other._odd)

    def value(self) -> FloatColumn | None:
        """Return the sums, each rounded to the nearest double; None if there was no row."""
        self._settle()
        if self._units is None:
            return None
        return np.array(
            [
                _round_units(units) + odd if odd == 0 else odd
                for units, odd in zip(self._units, self._odd, strict=True)
            ]
        )

    def state(self) -> list[Any] | None:
        """Return the sums in full, as JSON has them: of each column a number and its shift."""
        self._settle()
        if self._units is None:
            return None
        return [
            [*_shift_zeros(units), odd] for units, odd in zip(self._units, self._odd, strict=True)
        ]

    def _take(self, units: Sequence[int], odd: Sequence[float]) -> None:
        if self._units is None:
            self._units, self._odd = [0] * len(units), [0.0] * len(units)
        self._units = [one + other for one, other in zip(self._units, units, strict=True)]
        self._odd = [one + other for one, other in zip(self._odd, odd, strict=True)]

    def _settle(self) -> None:
        if not self._rows:
            return
        rows = np.array(self._rows)
        self._rows = []
        finite = np.isfinite(rows)
        with np.errstate(invalid="ignore", over="ignore"):
            odd = np.where(finite, 0.0, rows).sum(axis=0).tolist()
            rows[~finite] = 0.0
            sums = rows.sum(axis=0).tolist()
        # the sums of most columns are of small whole numbers, which no rounding touches
        whole = ((rows == np.rint(rows)) & (np.abs(rows) < 2.0**40)).all(axis=0).tolist()
        self._take(
            [
                int(total) << UNITS if simple else _units(rows[:, column])
                for column, (simple, total) in enumerate(zip(whole, sums, strict=True))
            ],
            odd,
        )


def _units(column: FloatColumn) -> int:
    """Return the sum of finite numbers in units."""
    fractions, exponents = np.frexp(column)
    mantissas = (fractions * 2.0**53).astype(np.int64)
    return sum(
        int(mantissas[exponents == exponent].sum()) << (exponent - 53 + UNITS)
        for exponent in np.unique(exponents).tolist()
    )


def _round_units(units: int) -> float:
    try:
        return units / (1 << UNITS)
    except OverflowError:
        return float("inf") if units > 0 else float("-inf")


def _shift_zeros(units: int) -> tuple[int, int]:
    """Return a number and how many zero bits follow it."""
    shift = max(0, (units & -units).bit_length() - 1)
    return units >> shift, shift


class Totals:
    """What is summed up over the segments of a corpus.

    Attributes
    ----------
    layout : Layout
    records, segments : int
        Segments of the input, and those that have a result.
    engines, unweighted
        All that tables name: who searched or decided, features without weights.
    failures : Failures
    """

    def __init__(self, layout: SumsLayout) -> None:
        self.layout, self.records, self.segments = layout, 0, 0
        self._sums = ExactSums()
        self.engines: set[str] = set()
        self.unweighted: dict[str, None] = {}
        self.failures, self.started = Failures(), time.perf_counter()

    def add(self, outcome: Done[Results] | Failure) -> None:
        """Count an outcome."""
        self.records += outcome.position >= 0
        if isinstance(outcome, Failure):
            self.failures.append(outcome)
            return
        self.segments += 1
        results = outcome.result
        self.engines.add(results["engine"])
        if unweighted := results.get("unweighted"):
            self.unweighted.update(dict.fromkeys(unweighted))
        if results.sums is not None:
            self._sums.add(results.sums)

    @property
    def sums(self) -> FloatColumn | None:
        """The sums of those of tables, which do not depend on their order."""
        return self._sums.value()

    def watch(
        self, outcomes: Iterator[Done[Results] | Failure]
    ) -> Iterator[Done[Results] | Failure]:
        """Iterate over outcomes, and count them."""
        for outcome in outcomes:
            self.add(outcome)
            yield outcome

    def state(self) -> dict[str, Any]:
        """Return what :meth:`start` goes on from, but for the failures."""
        return {
            "seconds": time.perf_counter() - self.started,
            "records": self.records,
            "segments": self.segments,
            "sums": self._sums.state(),
            "engines": sorted(self.engines),
            "unweighted": list(self.unweighted),
        }

    def start(self, state: Mapping[str, Any] | None) -> None:
        """Start the clock, and go on from what an earlier run has told of itself."""
        self.started = time.perf_counter()
        if state is not None:
            self.started -= state["seconds"]
            self.merge(state)

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add what others have told of themselves; their failures are added by themselves."""
        self.records += state["records"]
        self.segments += state["segments"]
        self._sums.merge(ExactSums(state["sums"]))
        self.engines.update(state["engines"])
        self.unweighted.update(dict.fromkeys(state["unweighted"]))

    def summary(self) -> dict[str, Any]:
        """Return the counts, and the score of each kind under each metric.

        ``judged`` is how many segments have statistics of the first kind. A kind that has those of
        fewer segments has no score: it could not be compared with the others. ``errors`` are the
        sums of the metrics that count them, and ``wrong`` sentences.
        """
        metrics = self.layout.metrics
        counts, kinds = self.layout.split(np.asarray(self.sums))
        judged = kinds[self.layout.kinds[0]][0].segments if metrics else 0
        scores: dict[str, dict[str, float | None]] = {
            str(metric): {
                kind: metric.score(rows[place].stats)
                if judged and rows[place].segments == judged
                else None
                for kind, rows in kinds.items()
            }
            for place, metric in enumerate(metrics)
        }
        errors = {
            str(metric): {
                kind: {
                    **dict(zip(metric.stat_names, map(_plain_number, stats.tolist()), strict=True)),
                    "sentences": segments,
                    "wrong": wrong,
                }
                for kind, rows in kinds.items()
                for segments, wrong, stats in [rows[place]]
                if judged and segments == judged
            }
            for place, metric in enumerate(metrics)
            if counts_errors(metric)
        }
        return {
            "metric": str(metrics[0]) if metrics else None,
            "segments": self.segments,
            "judged": judged,
            "failed": len(self.failures),
            "seconds": time.perf_counter() - self.started,
            "engine": "+".join(sorted(self.engines)),
            "version": __version__,
            **counts,
            "unweighted": list(self.unweighted),
            "metrics": scores,
            "errors": errors,
        }


def _plain_number(count: float) -> float:
    return int(count) if count.is_integer() else count


if TYPE_CHECKING:
    # what types say only: to make protocols takes longer than a lattice

    class Task(Protocol):
        """What a command does with a corpus: a frozen dataclass, whose fields are its options.

        It can be run on a batch by hand, given to :func:`decoding.run`, or sent to a worker.
        Results of tasks that sum up are tables; others return an object for each segment.
        """

        @property
        def references(self) -> References | None:
            """Those of the segments themselves if None."""

        def process(self, segments: Sequence[Segment]) -> Sequence[Any]:
            """Return the results of each segment."""

    class SummedTask(Task, Protocol):
        """A task with tables, whose sums make a summary of the corpus."""

        @property
        def layout(self) -> SumsLayout:
            """What the sums are."""

        def process(self, segments: Sequence[Segment]) -> Table:
            """Return a table of a batch."""

        def summary(self, totals: Totals) -> dict[str, Any]:
            """Return what there is to tell of a corpus."""
