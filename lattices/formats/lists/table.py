"""N-best lists in rows of named columns: CSV, and JSON lines such as manifests of NeMo.

A row is one hypothesis, with columns for id, text and score; rows of one id that follow one
another are one list. Or a row is a segment, and one column has the list (``nbest``): of texts,
of ``[text, score]`` as in manifests of NeMo (``beams``), or of objects; scores may also stand in a
list of their own.

Columns are known by usual names. ``text=``, ``score=``, ``nbest=``, ``reference=`` and ``source=``
give others; the id is the first column where none has a usual name. What has no score has 0.

Rows that commands of this package have written, results, are known by their columns
(:func:`is_result`): of several ranks of a segment the first counts, since their scores are those of
a metric, of which less may be better.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, BinaryIO

from lattices.errors import OptionError, SpaceError, expecting
from lattices.formats.base import (
    BYTE_ORDER_MARK,
    AssembledFormat,
    Format,
    Record,
    Unsupported,
    cut_lines,
    join_words,
    split_words,
    text_lines,
)
from lattices.formats.fields import finite_number
from lattices.formats.json.fields import decode
from lattices.formats.lists.moses import check_id, lists_to_write
from lattices.options import Option
from lattices.spaces import Hypothesis, NBest, Space
from lattices.vocabulary import Vocabulary

#: the name of a field of an object, up to its value
_KEY = re.compile(r'[\s,]*"([^"\\]*)"\s*:\s*')
#: usual names of columns, the likeliest first
NAMES: Mapping[str, tuple[str, ...]] = {
    "id": (
        "id", "utt_id", "utterance_id", "uttid", "segment_id", "segment", "key", "audio_filepath",
    ),
    "nbest": (
        "nbest", "beams", "n_best", "hypotheses", "hyps", "candidates", "predictions", "samples",
        "outputs", "alternatives",
    ),
    "text": (
        "pred_text", "hypothesis", "hyp", "prediction", "transcription", "transcript",
        "translation", "text", "sentence", "words",
    ),
    "score": (
        "score", "scores", "total_score", "logprob", "log_prob", "logp", "cumulative_logprob",
        "confidence",
    ),
    "reference": ("reference", "references", "ref", "refs", "target", "text"),
    "source": ("source", "src"),
}  # fmt: skip
OPTIONS: Mapping[str, str] = {
    "text": "the column of the words, where it has no usual name",
    "score": "the column of the score",
    "nbest": "the column of the list, where a row has one",
    "reference": "the column of the reference",
    "source": "the column of what was translated",
    "features": Option("columns of numbers that become features", list[str]),
}


@dataclass(frozen=True)
class Columns:
    """Which columns mean what; empty where there is none."""

    id: str = ""
    nbest: str = ""
    text: str = ""
    score: str = ""
    reference: str = ""
    source: str = ""
    features: tuple[str, ...] = ()
    rank: str = ""

    @classmethod
    def match_header(cls, names: Sequence[str], given: Mapping[str, Any]) -> Columns:
        """Return the columns that are given, and of the others those with usual names."""
        if not given and is_result(names):
            return cls("id", text="words", rank="rank" if "rank" in names else "")
        found: dict[str, str] = {}
        for what, usual in NAMES.items():
            wanted = given.get(what)
            if wanted is not None and wanted not in names:
                raise SpaceError(f"{what}={wanted!r}, expected one of {', '.join(names)}")
            taken = {found.get("text"), found.get("nbest"), found.get("id")}
            likely = (name for name in usual if name in names and name not in taken)
            found[what] = str(wanted) if wanted is not None else next(likely, "")
        if not found["nbest"] and not found["text"]:
            raise SpaceError(f"no column for the words among {', '.join(names)}; text=NAME says")
        others = {name for what, name in found.items() if what != "source"}
        if not found["id"] and names and names[0] not in others:
            found["id"] = names[0]
        features = tuple(given.get("features", ()))
        for name in features:
            if name not in names:
                raise SpaceError(f"features={name!r}, expected one of {', '.join(names)}")
        return cls(**found, features=features)

    def key(self, row: Mapping[str, Any]) -> str | None:
        """Return the id of a row, or None: then it is a segment of its own."""
        value = row.get(self.id) if self.id else None
        return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None

    def hypotheses(self, row: Mapping[str, Any]) -> list[Hypothesis]:
        """Return the hypotheses of a row: of its list where it has one, else one."""
        entries = row.get(self.nbest) if self.nbest else None
        features = {name: _number(row.get(name), name) for name in self.features}
        if entries is None:
            words = row.get(self.text)
            if self.text == "words" and "text" in row:
                words = _result_words(row)
            return [Hypothesis(_words(words), self._score(row.get(self.score)), features)]
        if not isinstance(entries, list | tuple):
            raise SpaceError(f"{entries!r:.40} for {self.nbest!r}, expected a list")
        scores = row.get(self.score)
        if not isinstance(scores, list | tuple):
            scores = [None] * len(entries)
        elif len(scores) != len(entries):
            raise SpaceError(f"{len(scores)} scores for {len(entries)} hypotheses")
        return [
            self._entry(entry, score, features)
            for entry, score in zip(entries, scores, strict=True)
        ]

    def _entry(self, entry: Any, score: Any, features: Mapping[str, float]) -> Hypothesis:
        if isinstance(entry, Mapping):
            inner = Columns.match_header(list(entry), {})
            return Hypothesis(
                _words(entry.get(inner.text)), self._score(entry.get(inner.score)), features
            )
        if isinstance(entry, list | tuple) and len(entry) == 2 and not isinstance(entry[1], str):
            entry, score = entry
        return Hypothesis(_words(entry), self._score(score), features)

    def _score(self, value: Any) -> float:
        return 0.0 if value is None or value == "" else _number(value, self.score or "score")

    def nbest_of(self, rows: Sequence[Mapping[str, Any]], vocabulary: Vocabulary) -> NBest:
        """Return the list of rows of one id; of results, the one of the first rank."""
        if self.rank:
            rows = [min(rows, key=lambda row: _number(row.get(self.rank), self.rank))]
        references: tuple[str, ...] = ()
        for row in rows:
            found = row.get(self.reference) if self.reference else None
            some = found if isinstance(found, list | tuple) else [found]
            texts = tuple(text for text in some if isinstance(text, str) and text)
            references = references or texts
        return NBest.from_hypotheses(
            [each for row in rows for each in self.hypotheses(row)],
            vocabulary=vocabulary,
            feature_names=self.features,
            id=self.key(rows[0]) or "",
            source=next(filter(None, (self._source(row) for row in rows)), ""),
            references=references,
        )

    def _source(self, row: Mapping[str, Any]) -> str:
        found = row.get(self.source) if self.source else None
        return found if isinstance(found, str) else ""


@expecting("rows are mappings from columns to values")
def from_rows(
    rows: Iterable[Mapping[str, Any]], *, vocabulary: Vocabulary | None = None, **columns: Any
) -> list[NBest]:
    """Return the n-best lists of rows in memory, such as those of a Hugging Face dataset.

    Parameters
    ----------
    rows
        Mappings from names of columns to values, as iterating over a ``datasets.Dataset``,
        ``csv.DictReader`` or ``frame.to_dict("records")`` gives them.
    vocabulary : Vocabulary, optional
        Grows by the new words; the lists share it.
    **columns
        ``id``, ``text``, ``score``, ``nbest``, ``reference``, ``source`` and ``features``, where
        they have no usual names: see :mod:`lattices.formats.lists.table`.

    Raises
    ------
    OptionError
        For what is no kind of column.
    SpaceError
        If a column is not there, or a value is not what its column should hold.

    Examples
    --------
    >>> rows = [{"utt": "a", "hyp": "the cat", "lp": -0.5}, {"utt": "a", "hyp": "a cat", "lp": -2}]
    >>> [nbest] = from_rows(rows, id="utt", score="lp")
    >>> nbest.id, [(each.text, each.score) for each in nbest]
    ('a', [('the cat', -0.5), ('a cat', -2.0)])
    """
    unknown = sorted(columns.keys() - {*NAMES, "features"})
    if unknown:
        raise OptionError(f"no column {', '.join(unknown)} (known: {', '.join(NAMES)}, features)")
    words = Vocabulary() if vocabulary is None else vocabulary
    known = [(row, Columns.match_header(list(row), columns)) for row in rows]
    lists = []
    for _, some in groupby(enumerate(known), lambda each: each[1][1].key(each[1][0]) or each[0]):
        together = [pair for _, pair in some]
        lists.append(together[0][1].nbest_of([row for row, _ in together], words))
    return lists


def has_usual_names(names: Sequence[str]) -> bool:
    """Tell whether columns have usual names: one has the words, another ids or scores."""
    words, others = {*NAMES["text"]}, {*NAMES["id"], *NAMES["score"]}
    return not words.isdisjoint(names) and not others.isdisjoint(names)


def is_result(names: Sequence[str]) -> bool:
    """Tell whether columns are those of results that ``oracle``, ``mbr``, ... have written."""
    return {"id", "words", "text"} <= {*names} and (
        not {"metric", "bins"}.isdisjoint(names) or [*names[:2]] == ["id", "score"]
    )


def _result_words(row: Mapping[str, Any]) -> Any:
    """Return the words of a result one by one, or its text where they are more than words."""
    words = row["words"]
    if isinstance(words, str):
        try:
            # a cell of CSV
            words = json.loads(words)
        except (ValueError, RecursionError):
            words = None
    alone = isinstance(words, list) and all(isinstance(word, str) for word in words)
    return words if alone else row["text"]


def _words(text: Any) -> tuple[str, ...]:
    if isinstance(text, str):
        return tuple(split_words(text))
    if isinstance(text, list | tuple) and all(isinstance(word, str) and word for word in text):
        return tuple(text)
    raise SpaceError(f"{text!r:.40} for the words of a hypothesis, expected a text")


def _number(value: Any, name: str) -> float:
    number = None
    if isinstance(value, str):
        number = finite_number(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = finite_number(repr(value))
    if number is None:
        raise SpaceError(f"{value!r:.40} for {name!r}, expected a finite number")
    return number


class JsonRows(Format):
    """JSON lines whose objects are rows."""

    name = "json-rows"
    description = "n-best lists as JSON lines of id, text, score; manifests of NeMo"
    kind = "nbest"
    suffixes = (".json", ".manifest")
    options = OPTIONS
    writable = False

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first line is an object with words, and none of our JSON lines."""
        return is_row(head)

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut where the id changes; a line that is no row is a record of its own."""
        current: str | None = None

        def begins(text: bytes) -> bool:
            nonlocal current
            before, current = current, _json_key(text)
            return current is None or current != before

        return cut_lines(stream, path, begins)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> NBest:
        """Return the list, in time linear in its length."""
        rows = []
        columns = None
        for place, line in enumerate(record.payload.split(b"\n")):
            if not line.strip():
                continue
            try:
                row = decode(Record(line, record.path, record.line + place, record.number))
                if not isinstance(row, dict):
                    raise SpaceError(f"{row!r:.40}, expected an object")
                columns = columns or Columns.match_header(list(row), options)
                columns.hypotheses(row)
            except SpaceError as problem:
                raise record.error(str(problem), place) from problem
            rows.append(row)
        if columns is None:
            raise record.error("no row")
        return columns.nbest_of(rows, vocabulary)


def leading_fields(head: bytes) -> tuple[dict[str, Any], bool]:
    """Return the fields of the object in the first line, and whether they are all there.

    A line may be longer than the head: of the value that is cut, only the kind is told. What is no
    object has no fields.
    """
    first, end, _ = head.lstrip().partition(b"\n")
    text = first.decode("utf-8", "ignore").strip()
    try:
        row = json.loads(text)
        return (row, True) if isinstance(row, dict) else ({}, True)
    except (ValueError, RecursionError):
        if end:
            return {}, True
    fields: dict[str, Any] = {}
    decode, place = json.JSONDecoder().raw_decode, 1
    while key := _KEY.match(text, place):
        name = key[1]
        try:
            fields[name], place = decode(text, key.end())
        except (ValueError, RecursionError):
            kinds: dict[str, Any] = {'"': "", "[": [], "{": {}}
            fields[name] = kinds.get(text[key.end() : key.end() + 1])
            break
    return fields, False


def is_row(head: bytes) -> bool:
    """Tell whether a file begins with a row of named columns, and no segment of our JSON lines."""
    row, whole = leading_fields(head)
    if not whole:
        # of a row that goes on beyond the head, only results are known for sure
        return "id" in row and (isinstance(row.get("words"), list) or [*row] == ["id", "text"])
    ours = {"arcs", "edges", "nodes", "states", "finals"}
    if ours & row.keys():
        return False
    entries = row.get("nbest")
    if isinstance(entries, list) and all(isinstance(each, dict) for each in entries):
        return bool(entries) and "words" not in entries[0]
    texts = [row[name] for name in NAMES["text"] if name in row]
    lists = [row[name] for name in NAMES["nbest"] if name in row]
    # vosk and whisper have these names, too, beside others
    others = {"segments", "result", "alternatives"}
    rows = any(isinstance(text, str) for text in texts) or any(isinstance(x, list) for x in lists)
    return rows and not others & row.keys()


def _json_key(line: bytes) -> str | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    try:
        return Columns.match_header(list(row), {}).key(row)
    except SpaceError:
        first = next(iter(row), None)
        return Columns(id=first or "").key(row)


@dataclass(frozen=True)
class CsvRecord(Record):
    """The rows of one id, and the header that names their columns."""

    header: bytes = b""


class CsvRows(AssembledFormat):
    """Comma-, tab- or semicolon-separated rows below a line of names."""

    name = "csv"
    description = "n-best lists in CSV with a header: columns id, text, score, by any names"
    kind = "nbest"
    suffixes = (".csv",)
    options = OPTIONS
    exact = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first line names columns, a usual one for the words among them."""
        names = csv_names(head)
        return len(set(names)) == len(names) > 1 and has_usual_names(names)

    def records(self, stream: BinaryIO, path: str) -> Iterator[CsvRecord]:
        """Cut where the id changes."""
        rows = _csv_rows(stream)
        header = next(rows, (0, b""))[1]
        delimiter = _delimiter(header)
        names = _cells(header, delimiter)
        place = next((names.index(name) for name in NAMES["id"] if name in names), 0)
        grouped = groupby(rows, lambda row: _csv_key(row[1], delimiter, place))
        for number, (_, some) in enumerate(grouped):
            lines: list[bytes] = []
            first = last = 0
            for line, row in some:
                first = first or line
                # blank lines between rows count
                lines += [b""] * (line - last - 1 if last else 0) + [row]
                last = line + row.count(b"\n")
            yield CsvRecord(b"\n".join(lines), path, first, number, header)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> NBest:
        """Return the list, in time linear in its length."""
        if not isinstance(record, CsvRecord):
            raise TypeError("a record of a table is needed, and made by records()")
        delimiter = _delimiter(record.header)
        names = _cells(record.header, delimiter)
        try:
            columns = Columns.match_header(names, options)
            if len(set(names)) < len(names):
                raise SpaceError("a name twice in the header")
        except SpaceError as problem:
            raise record.error(str(problem), 1 - record.line) from problem
        text = io.StringIO(record.text(), newline="")
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        rows: list[dict[str, str]] = []
        place = 0
        try:
            for cells in reader:
                if cells and len(cells) != len(names):
                    raise SpaceError(f"{len(cells)} columns, where the header names {len(names)}")
                if cells:
                    rows.append(dict(zip(names, cells, strict=True)))
                    columns.hypotheses(rows[-1])
                place = reader.line_num
        except SpaceError as problem:
            raise record.error(str(problem), place) from problem
        except csv.Error as problem:
            raise record.error(f"not CSV: {problem}", place) from problem
        return columns.nbest_of(rows, vocabulary)

    def encode(self, space: Space, losses: Unsupported, **options: Any) -> tuple[str, bytes]:
        """Return the id, and one row for each hypothesis with every digit of its score."""
        out = csv.writer(buffer := io.StringIO(newline=""), lineterminator="\n")
        (nbest,) = lists_to_write([space], losses, "\n")
        for entry, score in enumerate(nbest.score.tolist()):
            text = join_words(nbest.tokens(entry), losses, f"segment {nbest.id!r}")
            out.writerow((nbest.id, text, score))
        return nbest.id, buffer.getvalue().encode("utf-8")

    def assemble(
        self, stream: BinaryIO, parts: Iterable[tuple[str, bytes]], **options: Any
    ) -> None:
        """Write the header and the rows."""
        stream.write(b"id,text,score\n")
        previous = None
        for name, rows in parts:
            check_id(name, previous, "\n")
            previous = name
            stream.write(rows)


def csv_names(head: bytes) -> list[str]:
    """Return the names of columns in the first line of a file."""
    first = head.split(b"\n", 1)[0]
    return _cells(first.rstrip(b"\r"), _delimiter(first))


def _csv_rows(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Iterate over rows and the lines they begin in; a cell in quotes may have line ends in it."""
    row: list[bytes] = []
    line = quotes = 0
    for line, text in text_lines(stream):
        if not row and not text.strip():
            continue
        row.append(text)
        quotes += text.count(b'"')
        if quotes % 2 == 0:
            yield line - len(row) + 1, b"\n".join(row)
            row, quotes = [], 0
    if row:
        yield line - len(row) + 1, b"\n".join(row)


def _delimiter(header: bytes) -> str:
    text = header.removeprefix(BYTE_ORDER_MARK)
    return max(",\t;", key=lambda mark: text.count(mark.encode()))


def _cells(row: bytes, delimiter: str) -> list[str]:
    """Return the cells of a row; none of one that is no CSV, which parsing will say."""
    try:
        text = io.StringIO(row.decode("utf-8"), newline="")
        return next(csv.reader(text, delimiter=delimiter), [])
    except (ValueError, csv.Error):
        return []


def _csv_key(row: bytes, delimiter: str, place: int) -> str:
    return next(iter(_cells(row, delimiter)[place:]), "")


JSON = JsonRows()
CSV = CsvRows()
