r"""Master label files of HTK with alternatives: the n-best lists that ``HVite -n`` writes.

As the HTK Book has them (chapter on label files)::

    #!MLF!#
    "*/utterance-1.rec"
    0 2500000 the -812.5
    2500000 6100000 cat -1630.25
    ///
    0 2500000 a -830.75
    2500000 6100000 cat -1630.25
    .

A label is ``[start [end]] name [score]``; ``///`` begins the next alternative, and a period ends
the entry. The score of a hypothesis is the sum of its labels' scores. The id is the file name of
the pattern without ``.rec`` or ``.lab``. Names may be quoted, and have escapes (``\"``,
``\303\251``). Times, auxiliary labels and comments are not kept, and the null word ``!NULL`` is
dropped. Entries that lead to other files (``->``, ``=>``) are refused.

A hypothesis is written with its score on the first label; one without words is ``!NULL``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from lattices.errors import FormatError
from lattices.formats import Format, Record, Unsupported, finite_number, text_lines
from lattices.spaces import Hypothesis, NBest, Space
from lattices.vocabulary import Vocabulary

HEADER = b"#!MLF!#"
NULL = b"!NULL"
_END, _NEXT = b".", b"///"
#: a field, in quotes or without, and what is left of the line
_FIELD = re.compile(rb"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"']\S*))(?=\s|$)""")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_TIME = re.compile(rb"-?[0-9]+")
_PLAIN = re.compile(r"[^\s\"'\\0-9+./-][^\s\\]*")


class MasterLabelFile(Format):
    """See the module."""

    name = "htk-mlf"
    description = "n-best lists of HTK: master label files with alternatives"
    kind = "nbest"
    suffixes = (".mlf",)
    exact = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the header is there."""
        return head.lstrip().startswith(HEADER)

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut after the period of each entry; only one entry is held at a time."""
        entry: list[bytes] = []
        first = number = 0
        begun = False
        for line, text in text_lines(stream):
            if not begun and text.strip():
                if text.strip() != HEADER:
                    raise FormatError("expected #!MLF!# in the first line", path, line)
                begun = True
            elif entry or text.strip():
                first = first if entry else line
                entry.append(text)
                if text.strip() == _END:
                    yield Record(b"\n".join(entry), path, first, number)
                    entry, number = [], number + 1
        if entry:
            # parse says that its period is missing, and the entries before it are not lost
            yield Record(b"\n".join(entry), path, first, number)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> NBest:
        """Return the list of one entry, in time linear in its length."""
        record.text()  # raises if it is no UTF-8
        pattern, *lines = record.payload.split(b"\n")
        name, rest = _field(pattern, record, 0)
        if rest.strip() or not pattern.lstrip().startswith((b'"', b"'")):
            raise record.error(f"{pattern!r:.60}, expected the quoted name of one label file")
        if not lines or lines.pop().strip() != _END:
            raise record.error("the entry ends without a period", record.payload.count(b"\n"))
        words: list[list[str]] = [[]]
        scores = [0.0]
        for place, line in enumerate(lines, start=1):
            if line.strip() == _NEXT:
                words.append([])
                scores.append(0.0)
            elif line.strip():
                word, score = _label(line, record, place)
                words[-1] += word
                scores[-1] += score
        return NBest.from_hypotheses(
            [Hypothesis(tuple(each), score) for each, score in zip(words, scores, strict=True)],
            vocabulary=vocabulary,
            id=re.sub(r"\.(rec|lab)$", "", _text(name, record, 0).rpartition("/")[2]),
        )

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write each list as an entry; the score of a hypothesis stands on its first label."""
        stream.write(HEADER + b"\n")
        for space in spaces:
            if not isinstance(space, NBest):
                continue
            where = f"segment {space.id!r}"
            for what in ("source", "references", "metadata", "features"):
                held = getattr(space, what)
                if held is not None and len(held if what != "features" else space.feature_names):
                    losses.add(what, where)
            if not len(space):
                losses.add("empty list", where)
            if "/" in space.id or "\n" in space.id or re.search(r"\.(rec|lab)$", space.id):
                raise FormatError(f"the id {space.id!r} would not come back from a file name")
            entries = []
            for entry, score in enumerate(space.score.tolist()):
                tokens = space.tokens(entry)
                if NULL.decode() in tokens:
                    losses.add("words !NULL", where)
                names = [_spelled(token) for token in tokens] or [NULL.decode()]
                entries.append("\n".join([f"{names[0]} {score!r}", *names[1:]]))
            body = "\n///\n".join(entries)
            stream.write(f"{_quoted(f'*/{space.id}.rec')}\n{body}\n.\n".encode())


FORMAT = MasterLabelFile()


def _label(line: bytes, record: Record, place: int) -> tuple[list[str], float]:
    """Return the word of a label, or none, and its score."""
    rest = line
    for _ in range(2):
        time = _TIME.match(rest.lstrip())
        after = rest.lstrip()[time.end() :] if time else b""
        # a number that nothing follows is the name itself
        if after[:1] in (b" ", b"\t") and after.strip():
            rest = after
    name, rest = _field(rest, record, place)
    score = 0.0
    if rest.strip():
        text = rest.split()[0].decode("utf-8")
        number = finite_number(text)
        if number is None:
            raise record.error(f"{text!r:.40}, expected the score of a label", place)
        score = number
    return ([] if name == NULL else [_text(name, record, place)]), score


def _field(line: bytes, record: Record, place: int) -> tuple[bytes, bytes]:
    """Return the next field of a line, without quotes and escapes, and the rest of the line."""
    found = _FIELD.match(line)
    if found is None:
        raise record.error(f"{line.strip()!r:.60}: a quote is missing", place)
    raw = next(group for group in found.groups() if group is not None)
    return _ESCAPE.sub(_unescape, raw), line[found.end() :]


def _unescape(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    return code if len(code) == 1 else bytes([int(code, 8) & 0xFF])


def _text(name: bytes, record: Record, place: int) -> str:
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise record.error(f"{name!r:.60} is no UTF-8: {problem.reason}", place) from problem
    if not text:
        raise record.error("a name is empty", place)
    return text


def _spelled(name: str) -> str:
    """Return a name as it stands in a label: in quotes if it could be taken for something else."""
    return name if _PLAIN.fullmatch(name) else _quoted(name)


def _quoted(name: str) -> str:
    escaped = re.sub(r'["\\]', r"\\\g<0>", name)
    escaped = re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\{ord(found[0]):03o}", escaped)
    return f'"{escaped}"'
