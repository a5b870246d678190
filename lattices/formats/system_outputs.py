"""Outputs of systems: one sentence for each segment, in any file that has them.

::

    text   words                  in the order of the segments; or 'id words', if the references
                                  have these ids
    kaldi  id words
    trn    words (id)
    ctm    id channel begin duration word [confidence]
    tsv    id <tab> score <tab> words, which commands write; of several lines of one id the first

Or spaces in any format that holds several of them, of each of which the best sentence counts:
n-best lists, JSON lines, CSV and Parquet, results of commands among them. All are found by content.
An output that could be two things is an error that names both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import BinaryIO, NamedTuple

from lattices.algorithms.kbest import best_words
from lattices.errors import Error, FormatError, argument
from lattices.formats.base import Format, decode_lines, split_words
from lattices.formats.compression import strip_compression
from lattices.formats.lists.table import csv_names, is_result, leading_fields
from lattices.formats.reading import find_claimants, find_format, parse_record, sniffs
from lattices.formats.references import References
from lattices.formats.references.files import RESULTS, is_own_id
from lattices.formats.references.from_results import are_results, look_like_scores, read_results
from lattices.formats.references.ids import IdTemplate, read_table, second_line
from lattices.formats.references.nist import TranscriptLines, looks_like, trn_id
from lattices.formats.streams import display_name, open_input
from lattices.optional import require
from lattices.plugins import LAYOUTS as LAYOUTS
from lattices.spaces import NBest
from lattices.vocabulary import Vocabulary

TEXT, KALDI = "text", "kaldi"
#: layouts of NIST's sclite that hypotheses come in
TRANSCRIPTS = ("trn", "ctm")
#: formats in which commands write results, which are no lists
_ROWS = ("json-rows", "csv", "parquet")
#: formats of one lattice a file that sentences cannot look like
_LATTICES = ("htk", "sphinx", "openfst")
#: segments whose ids may show that references are by id
_LOOKED_AT = 8
_BLANKS = " \t\v\f"

Line = tuple[int, str, list[str]]


class Said(NamedTuple):
    """What a system said of a segment, and where that stands."""

    id: str  # of a line without one, its number
    words: tuple[str, ...]
    line: int  # 0 where lines mean nothing
    position: int  # which segment it is, from 0, counting those that could not be read


@dataclass
class Output:
    """The sentences of a system."""

    path: str
    layout: str  # one of ``LAYOUTS``, or the name of a format of spaces
    said: list[Said] = field(default_factory=list)
    count: int = 0  # how many segments there are, with those that could not be read
    # id, line and problem of each segment that could not be read
    failures: list[tuple[str, int, Error]] = field(default_factory=list)
    note: str = ""  # what a reader of its scores should know

    @property
    def has_ids(self) -> bool:
        """Whether ids are those of the file, and not numbers of lines."""
        return self.layout != TEXT

    def add(self, id: str, words: Sequence[str], line: int) -> None:
        """Add what was said of the next segment."""
        self.said.append(Said(id, tuple(words), line, self.count))
        self.count += 1


def format_of_output(head: bytes, name: str | None) -> Format | None:
    """Return the format of spaces that an output is in, or None for lines of sentences."""
    if name is None:
        # a file of one lattice is no output, and its rows of numbers could be words
        outputs = (each for each in find_claimants(head) if each.kind == "nbest" or not each.single)
        return next((each for each in outputs if sniffs(each, head)), None)
    if name == TEXT or name in TRANSCRIPTS:
        return None
    found, rows = find_format(name), find_format("json-rows")
    if name in LAYOUTS:
        return found if sniffs(found, head) else None
    return rows if found.name == "jsonl" and sniffs(rows, head) else found


def has_results(format: Format, head: bytes, stream: BinaryIO) -> bool:
    """Tell whether a file of spaces has results of commands: one sentence a segment.

    ``stream`` is at its beginning, and may be at its end afterwards.
    """
    if format.name == "json-rows":
        row, whole = leading_fields(head)
        # of rows that are longer than the head, only results are known to be rows
        return not whole or is_result(list(row))
    if format.name == "csv":
        return is_result(csv_names(head))
    if format.name == "parquet":
        with TemporaryFile() as copy:
            copyfileobj(stream, copy)
            return is_result(require("pyarrow.parquet", "arrow").read_schema(copy).names)
    return False


def read_output(
    path: str,
    format: str | None = None,
    references: References | None = None,
    id_template: str | None = None,
    option: str = "read.format",
) -> Output:
    """Return what a system said."""
    name = display_name(path)
    with open_input(path) as (head, stream):
        found = format_of_output(head, format)
        if found is not None:
            return _read_spaces(found, stream, name)
        if format is None:
            _refuse_lattice(head, name)
        rows = list(decode_lines(stream, name))
    if not rows:
        size = "" if references is None else f" for {len(references)} references"
        raise FormatError(f"0 lines{size}", name)
    texts = [text for _, text in rows]
    if format == RESULTS or (format is None and are_results(texts)):
        return _from_results(texts, name, references)
    if format is None and strip_compression(name).endswith(".ctm"):
        # one whose times are whole numbers, or that is damaged, is known by its name alone
        format = "ctm"
    return _read_lines(rows, name, format, references, id_template, option)


def _refuse_lattice(head: bytes, name: str) -> None:
    """Refuse a file of one lattice that cannot be meant as sentences."""
    for each in find_claimants(head):
        if each.name in _LATTICES and sniffs(each, head):
            raise FormatError(
                f"one lattice ({each.name}) and no output of a system; 'fstmetrics oracle' scores "
                f"lattices, and the format {each.name!r}, if it is named, takes its best sentence",
                name,
            )


def _read_spaces(format: Format, stream: BinaryIO, path: str) -> Output:
    output = Output(path, format.name)
    ids: set[str] = set()
    several = ""
    for record in format.records(stream, path):
        id = ""
        try:
            space = parse_record(format, record, Vocabulary())
            id = space.id
            if id in ids:
                raise FormatError("a second list with this id")
            ids.add(id)
            words = best_words(space)
        except Error as problem:
            output.failures.append((id, record.line, problem))
            output.count += 1
            continue
        if not isinstance(space, NBest):
            several = f"the best sentence of each {format.name} segment is scored"
        elif len(space) > 1 or format.name not in _ROWS:
            several = several or f"the best entry of each {format.name} list is scored"
        output.add(id, words, record.line)
    output.note = several
    return output


def _from_results(texts: list[str], path: str, references: References | None) -> Output:
    output = Output(path, RESULTS)
    found = read_results(texts, path)
    if not found:
        raise FormatError("no segment in it", path)
    if references is not None:
        references.settle(list(found)[:_LOOKED_AT])
    for id, (line, text) in found.items():
        output.add(id, split_words(text), line)
    if sum(1 for text in texts if text.strip(_BLANKS)) > len(found):
        output.note = "the first sentence of each segment is scored"
    return output


def _read_lines(
    rows: list[tuple[int, str]],
    path: str,
    format: str | None,
    references: References | None,
    id_template: str | None,
    option: str,
) -> Output:
    found = _transcripts([text for _, text in rows], path, format, references, id_template)
    if found is not None:
        return found
    lines = [(number, text, split_words(text)) for number, text in rows]
    names = [words[0] for _, _, words in lines if words]
    if references is None and format is None:
        by_id = _look_like_ids(names, path, option)
    else:
        by_id = format == KALDI or (
            references is not None and _are_by_id(names, path, format, references, option)
        )
    if not by_id:
        output = Output(path, TEXT)
        for number, _, words in lines:
            output.add(str(number), words, number)
        return output
    if format is None:
        _check_scores(lines, path, references, option)
    output = Output(path, KALDI)
    places: dict[str, int] = {}
    for number, _, words in lines:
        if words:
            first = places.setdefault(words[0], number)
            if first != number:
                raise FormatError(second_line(words[0], path, first), path, number)
            output.add(words[0], words[1:], number)
    if not output.said:
        raise FormatError("no segment in it", path)
    if references is not None:
        references.settle(list(places)[:_LOOKED_AT])
    return output


def _check_scores(lines: list[Line], path: str, references: References | None, option: str) -> None:
    """Refuse lines of id, number and words, unless their references begin with numbers, too."""
    filled = [words for _, _, words in lines if words]
    if not look_like_scores([" ".join(words[1:2]) for words in filled], whole=True):
        return
    same = 0
    for position, words in enumerate(filled):
        try:
            some = () if references is None else references.get(words[0], position)
        except FormatError:
            continue
        same += any(isinstance(one, str) and look_like_scores([one], whole=True) for one in some)
    if 2 * same <= len(filled):
        raise FormatError(
            f"every line is an id, a number and words; {argument(option, KALDI)} takes the number "
            f"for a word, {argument(option, RESULTS)} for a score",
            path,
        )


def make_placeholder(number: int) -> str:
    """Return a name for a line without an id; it has a blank, so no id can equal it."""
    return f"line {number}"


def _look_like_ids(names: list[str], path: str, option: str) -> bool:
    """Tell whether lines begin with ids, where no references tell.

    Ids are different, and most have a digit or a ``_``; what comes twice is none unless all do.
    """
    likely = ["_" in name or any(map(str.isdigit, name)) for name in names]
    if len(set(names)) < len(names):
        return all(likely)
    if 2 * sum(likely) > len(names) or not names:
        return True
    raise FormatError(
        f"the first words of lines, such as {names[0]!r}, may be ids or words: "
        f"{argument(option, KALDI)} takes them for ids, {argument(option, TEXT)} takes line i for "
        "segment i",
        path,
    )


def _are_by_id(
    names: list[str], path: str, format: str | None, references: References, option: str
) -> bool:
    """Tell whether lines of text begin with ids, and settle the layout of the references.

    Two plain files may begin alike: ids are first words with digits that the references have.
    """
    likely = all(any(letter.isdigit() for letter in name) for name in names)
    different = len(set(names)) == len(names)
    references.settle(names[:_LOOKED_AT] if likely and names else [make_placeholder(1)])
    if references.layout == "kaldi":
        return True
    alike = len(names) > 1 or any(map(is_own_id, names))
    if format is None and references.guessed and likely and different and alike:
        raise FormatError(
            f"lines begin with what look like ids ({names[0]!r}), and those of the references do "
            f"not; {argument(option, KALDI)} takes them for ids{references.explain_readings()}",
            path,
        )
    return False


def _transcripts(
    texts: list[str],
    path: str,
    format: str | None,
    references: References | None,
    id_template: str | None,
) -> Output | None:
    """Return an output in a layout of sclite's; None if it is not in one.

    Where it is not named, all lines have to fit, and the references must have some of the ids.
    """
    texts = [text.strip(_BLANKS) for text in texts]
    if format in TRANSCRIPTS:
        found = _read_transcripts(texts, path, str(format), id_template)
        if references is not None:
            references.settle(list(found)[:_LOOKED_AT])
            _check_ids(path, str(format), references)
        return _transcript_output(found, path, str(format), references)
    for layout in TRANSCRIPTS if format is None else ():
        if not looks_like(layout, texts):
            continue
        try:
            found = _read_transcripts(texts, path, layout, id_template)
        except FormatError:
            if references is None:
                raise
            # sentences that end in brackets
            continue
        if references is not None:
            references.settle(list(found)[:_LOOKED_AT])
            by_id = references.layout == "kaldi"
            if found.keys().isdisjoint(references.ids) if by_id else _end_in_brackets(references):
                continue
            _check_ids(path, layout, references)
        return _transcript_output(found, path, layout, references)
    return None


def _check_ids(path: str, layout: str, references: References) -> None:
    """Refuse references without ids: the order of a transcript need not be theirs."""
    if references.layout != "kaldi":
        raise FormatError(f"{layout} goes by id, but the references do not", path)


def _end_in_brackets(references: References) -> bool:
    """Tell whether most of the first references, which have no ids, end as lines of trn do."""
    texts = _take_first_texts(references)
    return 2 * sum(bool(trn_id(one)) for one in texts) > len(texts)


def _take_first_texts(references: References) -> list[str]:
    """Return the first of references that have no ids."""
    places = range(min(_LOOKED_AT, len(references)))
    found = [one for place in places for one in references.get(make_placeholder(place + 1), place)]
    return [one for one in found if isinstance(one, str)]


def _transcript_output(
    found: dict[str, str], path: str, layout: str, references: References | None
) -> Output:
    output = Output(path, layout)
    for id, text in found.items():
        output.add(id, split_words(text), 0)
    if layout == "ctm" and references is not None:
        silent = [id for id in references.ids if id not in found]
        for id in silent:
            output.add(id, (), 0)
        if silent:
            output.note = f"{len(silent)} segments without words in the ctm count as empty"
    return output


def _read_transcripts(
    texts: list[str], path: str, layout: str, id_template: str | None
) -> dict[str, str]:
    template = None if id_template is None else IdTemplate(id_template)
    if template is not None and not template.suits(layout):
        # the option describes the references, which are in another layout
        template = None
    entries = read_table(layout, TranscriptLines(path, texts), template).entries
    if not entries:
        raise FormatError(f"no segment of layout {layout}", path)
    plain = {name: entry for name, entry in entries.items() if isinstance(entry, str)}
    ambiguous = next((name for name in entries if name not in plain), None)
    if ambiguous is not None:
        raise FormatError(f"segment {ambiguous!r}: a hypothesis has alternatives", path)
    return plain
