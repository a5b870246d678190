"""Lines of results: a sentence of a segment, in the formats that commands share."""

from __future__ import annotations

from decoding.cli.arguments import tsv_cell
from lattices.errors import FormatError, OptionError
from lattices.formats.base import split_words
from lattices.formats.references.nist import READERS, Lines


def sentence_line(format: str, id: str, score: float, text: str) -> str:
    r"""Return the line of a sentence; what could not be read back is an error.

    Parameters
    ----------
    format : {"tsv", "text", "kaldi", "trn"}
        See :mod:`lattices.formats.outputs`, which reads them.
    id, score, text
        Of the sentence. Words are separated by blanks.

    Raises
    ------
    OptionError
        For tabs or line ends; for an id with blanks in it, where blanks separate; and for words
        that are signs of alternatives in trn.

    Examples
    --------
    >>> [sentence_line(each, "u1", 0.5, "the cat") for each in ("tsv", "text", "kaldi", "trn")]
    ['u1\t0.5\tthe cat\n', 'the cat\n', 'u1 the cat\n', 'the cat (u1)\n']
    """
    words = tsv_cell(text, format)
    if format == "text":
        return words + "\n"
    name = tsv_cell(id, format)
    if format == "tsv":
        return f"{name}\t{score!r}\t{words}\n"
    if split_words(name) != [name]:
        raise OptionError(f"{id!r} is no id that {format} can hold; use --format jsonl")
    if format == "kaldi":
        return f"{name} {words}".rstrip(" ") + "\n"
    line = f"{words} ({name})"
    if not _comes_back(line, name, words):
        raise OptionError(
            f"{line!r} means something else in trn, where ( ) {{ / }} and @ are signs; use "
            "--format jsonl"
        )
    return line + "\n"


def _comes_back(line: str, id: str, text: str) -> bool:
    try:
        found = READERS["trn"](Lines("", [line.strip(" ")]), None).entries
    except FormatError:
        return False
    return found == {id: " ".join(split_words(text))}
